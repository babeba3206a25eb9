// What a picture sees of a world, put in order for rays: blocks (bricks with something to see in them), and a grid that says where
// they are.
//
//     top grid        one entry per brick, or per cube of 2^shift bricks where a world is spread too wide for that; then a hash table
//       -> block      knows the cubes of 8^n bricks that are not empty. A block says which cells are solid, which hold water, and
//                     what the smoothed fill is around the water's surface
//
// The water's surface is where the smoothed fill passes GRID_SURFACE. Between cells it is a quadratic B-spline: 27 cells give a value
// and a gradient without kinks, and bounds that tell of most cells that they are inside or outside throughout. So rays look for the
// surface in the few `mixed` cells only.
#ifndef WEIR_SURFACE_PICTURE_GRID_H
#define WEIR_SURFACE_PICTURE_GRID_H

#include "surface/picture_vec.h"
#include "surface/shown.h"
#include "world/world.h"
#include <weir/picture.h>

#define GRID_SURFACE 0.4f  // below the half, which is where level water ends, so that jets and sheets of a cell are seen

enum {
    GRID_TILE_EDGE = 10,      // a brick and a rim of one cell
    GRID_TILE_CELLS = 1008,   // and room to read four values from the last three on
    GRID_TOP_MOST = 1 << 22,  // entries of the top grid
    GRID_OUTSIDE = -1,
    GRID_GAS_MOST = 4  // times as much gas as a cell usually holds, which counts as full
};

typedef struct grid_block {
    // What a ray asks first, and each mask, lies in one line of the cache.
    _Alignas(64) four_doubles corner;  // of the brick, in cells from the grid's origin
    uint64_t stop_groups, dry_groups;  // groups of 2 x 2 x 2 cells that have stops, or are not all water; bit x + 4y + 16z
    const float *tile;                 // smoothed fills, where there are mixed cells
    bool unborn;                       // a place where the water's bricks will have a neighbour
    bool any;                          // there is something to see
    bool full;                         // water throughout, and no terrain
    bool gas;                          // there is gas in it or beside it
    const uint8_t *shares;             // of each kind in each cell, 255 being full; NULL: nothing is in it, or all is water
    brick_mask stops;                  // all of the next three together
    brick_mask solid;                  // terrain inside the world
    brick_mask water;                  // cubes: cells that are drawn. Water look: cells that are in the water throughout
    brick_mask mixed;                  // water look: cells that the surface may pass
    weir_coord coord;                  // of the brick
    int32_t brick;                     // of the fluid; BRICK_NOTHING: no water
} grid_block;

// A cube of 8^n bricks (level 3n bits) with something to see in it.
typedef struct grid_cube {
    int32_t x, y, z;  // its brick coordinate from the origin, shifted by the level
    int32_t level;
    int32_t block;  // level 0: the block; else any number but 0, which marks a free slot
} grid_cube;

typedef struct picture_grid {
    memory mem;
    const weir_world *world;
    fluid_view fluid;
    workers *workers;  // NULL: the calling thread alone
    bool smooth;       // the water look
    shown_part shown;  // what has a surface: all but gases
    // Where there is anything but water: the materials that are there.
    int32_t kinds;
    uint8_t kind[WEIR_MATERIAL_MAX];
    uint8_t *shares;
    float least_fill;
    grid_block *blocks;  // [0] stands for none
    int32_t block_count, block_room;
    int32_t water_count;  // of them, the first ones, that water may be in
    float *tiles;
    int32_t tile_count;
    weir_coord origin;  // brick that the top grid begins with
    int32_t size[3];    // of the top grid, without its rim
    int32_t hop[3];     // from an entry of it to the next along an axis
    int32_t shift;      // an entry is 2^shift bricks wide
    int32_t *top;       // block, or with a shift 0 or 1; GRID_OUTSIDE in the rim of one entry around the others
    grid_cube *slots;   // with a shift: hash table of cubes
    uint32_t slot_mask;
    double low[3], high[3];  // cells that hold blocks, from the origin
    bool bounded;
    double bounds_low[3], bounds_high[3];  // of the world, from the origin; the blocks' if there are none
} picture_grid;

// Reads the world. The grid must be freed also after a failure.
weir_status picture_grid_make(picture_grid *grid, const weir_world *world, weir_look look, float least_fill);
void picture_grid_free(picture_grid *grid);

// Runs a task on the world's threads, or on this one while they are at work on a background step.
void picture_grid_run(const picture_grid *grid, weir_task *task, void *context, int32_t count, int32_t grain);

// With a shift: the block at a brick coordinate from the origin and -1; or no block, and the level of the largest empty cube there.
int32_t picture_grid_look(const picture_grid *grid, int32_t x, int32_t y, int32_t z, int32_t *block);

// Where an entry of the top grid is.
static inline int32_t grid_place(const picture_grid *grid, int32_t x, int32_t y, int32_t z)
{
    return (x + 1) * grid->hop[0] + (y + 1) * grid->hop[1] + (z + 1) * grid->hop[2];
}

// The block at a brick coordinate from the origin; 0 if there is none.
static inline int32_t grid_at(const picture_grid *grid, int32_t x, int32_t y, int32_t z)
{
    uint32_t tx = (uint32_t)x >> grid->shift, ty = (uint32_t)y >> grid->shift, tz = (uint32_t)z >> grid->shift;
    if (tx >= (uint32_t)grid->size[0] || ty >= (uint32_t)grid->size[1] || tz >= (uint32_t)grid->size[2]) return 0;
    int32_t entry = grid->top[grid_place(grid, (int32_t)tx, (int32_t)ty, (int32_t)tz)];
    if (entry && grid->shift) picture_grid_look(grid, x, y, z, &entry);
    return entry;
}

// ---- The smoothed fill -----------------------------------------------------------------------------------------------------

static inline four_floats grid_load(const float *values)
{
    four_floats four;
    __builtin_memcpy(&four, values, sizeof four);
    return four;
}

// Weights of a cell and its two neighbours along each axis for a point at 0 <= u <= 1 in it, and their derivatives.
typedef struct spline_weights {
    four_floats w[3], d[3];
} spline_weights;

static inline spline_weights spline_at(four_floats u)
{
    four_floats v = 1 - u;
    return (spline_weights){{0.5f * v * v, 0.5f + u * v, 0.5f * u * u}, {-v, v - u, u}};
}

// Where the neighbourhood of a cell begins in a tile.
static inline const float *grid_corner(const float *tile, int32_t x, int32_t y, int32_t z)
{
    return tile + x + GRID_TILE_EDGE * (y + GRID_TILE_EDGE * z);
}

// Three rows of a neighbourhood, weighted.
static inline four_floats grid_rows(const float *plane, const four_floats weights[3])
{
    return grid_load(plane) * weights[0][1] + grid_load(plane + GRID_TILE_EDGE) * weights[1][1] +
           grid_load(plane + 2 * GRID_TILE_EDGE) * weights[2][1];
}

static inline float grid_along_x(four_floats row, const four_floats weights[3])
{
    return row[0] * weights[0][0] + row[1] * weights[1][0] + row[2] * weights[2][0];
}

// The smoothed fill at a point of a cell; corner is grid_corner of it, u the place in it.
static inline float grid_fill(const float *corner, four_floats u)
{
    enum { PLANE = GRID_TILE_EDGE * GRID_TILE_EDGE };
    spline_weights at = spline_at(u);
    four_floats row = grid_rows(corner, at.w) * at.w[0][2] + grid_rows(corner + PLANE, at.w) * at.w[1][2] +
                      grid_rows(corner + 2 * PLANE, at.w) * at.w[2][2];
    return grid_along_x(row, at.w);
}

static inline weir_vec grid_gradient(const float *corner, four_floats u)
{
    spline_weights at = spline_at(u);
    four_floats along_x = {0, 0, 0, 0}, along_y = along_x, along_z = along_x;
    for (int32_t k = 0; k < 3; k++) {
        const float *plane = corner + GRID_TILE_EDGE * GRID_TILE_EDGE * k;
        four_floats rows = grid_rows(plane, at.w);
        along_x += rows * at.w[k][2];
        along_y += grid_rows(plane, at.d) * at.w[k][2];
        along_z += rows * at.d[k][2];
    }
    return vec(grid_along_x(along_x, at.d), grid_along_x(along_y, at.w), grid_along_x(along_z, at.w));
}

#endif
