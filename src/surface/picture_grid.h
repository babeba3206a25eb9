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
#include "world/world.h"
#include <weir/picture.h>

#define GRID_SURFACE 0.4f  // below the half, which is where level water ends, so that jets and sheets of a cell are seen

enum {
    GRID_TILE_EDGE = 10,     // a brick and a rim of one cell
    GRID_TILE_CELLS = 1008,  // and room to read four values from the last three on
    GRID_TOP_MOST = 1 << 22  // entries of the top grid
};

typedef struct grid_block {
    weir_coord coord;   // of the brick
    int32_t brick;      // in the pool; BRICK_NOTHING: no water
    bool unborn;        // a place where the water's bricks will have a neighbour
    bool any;           // there is something to see
    bool full;          // water throughout, and no terrain
    brick_mask solid;   // terrain inside the world
    brick_mask water;   // cubes: cells that are drawn. Water look: cells that are in the water throughout
    brick_mask mixed;   // water look: cells that the surface may pass
    brick_mask stops;   // all of them together
    const float *tile;  // smoothed fills, where there are mixed cells
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
    const brick_pool *pool;
    workers *workers;  // NULL: the calling thread alone
    bool smooth;       // the water look
    float least_fill;
    grid_block *blocks;  // [0] stands for none
    int32_t block_count, block_room;
    int32_t water_count;  // of them, the first ones, that water may be in
    float *tiles;
    int32_t tile_count;
    weir_coord origin;  // brick that the top grid begins with
    int32_t size[3];    // of the top grid
    int32_t shift;      // an entry is 2^shift bricks wide
    int32_t *top;       // block, or with a shift 0 or 1
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

// The block at a brick coordinate from the origin; 0 if there is none.
static inline int32_t grid_at(const picture_grid *grid, int32_t x, int32_t y, int32_t z)
{
    uint32_t tx = (uint32_t)x >> grid->shift, ty = (uint32_t)y >> grid->shift, tz = (uint32_t)z >> grid->shift;
    if (tx >= (uint32_t)grid->size[0] || ty >= (uint32_t)grid->size[1] || tz >= (uint32_t)grid->size[2]) return 0;
    int32_t entry = grid->top[tx + (size_t)grid->size[0] * (ty + (size_t)grid->size[1] * tz)];
    if (entry && grid->shift) picture_grid_look(grid, x, y, z, &entry);
    return entry;
}

// ---- The smoothed fill -----------------------------------------------------------------------------------------------------

// Four floats that are computed with at once, where the processor can.
typedef float grid_four __attribute__((vector_size(16)));

static inline grid_four grid_load(const float *values)
{
    grid_four four;
    __builtin_memcpy(&four, values, sizeof four);
    return four;
}

// Weights of a cell and its two neighbours for a point at 0 <= u <= 1 in it, and their derivatives.
typedef struct spline_weights {
    float w[3], d[3];
} spline_weights;

static inline spline_weights spline_at(float u)
{
    float v = 1 - u;
    return (spline_weights){{0.5f * v * v, 0.5f + u * v, 0.5f * u * u}, {-v, v - u, u}};
}

// Where the neighbourhood of a cell begins in a tile.
static inline const float *grid_corner(const float *tile, int32_t x, int32_t y, int32_t z)
{
    return tile + x + GRID_TILE_EDGE * (y + GRID_TILE_EDGE * z);
}

// The smoothed fill at a point of a cell; corner is grid_corner of it, u the place in it.
static inline float grid_fill(const float *corner, weir_vec u)
{
    spline_weights x = spline_at(u.x), y = spline_at(u.y), z = spline_at(u.z);
    grid_four sum = {0, 0, 0, 0};
    for (int32_t k = 0; k < 3; k++) {
        const float *plane = corner + GRID_TILE_EDGE * GRID_TILE_EDGE * k;
        grid_four rows = grid_load(plane) * y.w[0] + grid_load(plane + GRID_TILE_EDGE) * y.w[1] +
                         grid_load(plane + 2 * GRID_TILE_EDGE) * y.w[2];
        sum += rows * z.w[k];
    }
    return sum[0] * x.w[0] + sum[1] * x.w[1] + sum[2] * x.w[2];
}

static inline weir_vec grid_gradient(const float *corner, weir_vec u)
{
    spline_weights x = spline_at(u.x), y = spline_at(u.y), z = spline_at(u.z);
    grid_four along_x = {0, 0, 0, 0}, along_y = along_x, along_z = along_x;
    for (int32_t k = 0; k < 3; k++) {
        const float *plane = corner + GRID_TILE_EDGE * GRID_TILE_EDGE * k;
        grid_four a = grid_load(plane), b = grid_load(plane + GRID_TILE_EDGE), c = grid_load(plane + 2 * GRID_TILE_EDGE);
        grid_four rows = a * y.w[0] + b * y.w[1] + c * y.w[2];
        along_x += rows * z.w[k];
        along_y += (a * y.d[0] + b * y.d[1] + c * y.d[2]) * z.w[k];
        along_z += rows * z.d[k];
    }
    return vec(along_x[0] * x.d[0] + along_x[1] * x.d[1] + along_x[2] * x.d[2],
               along_y[0] * x.w[0] + along_y[1] * x.w[1] + along_y[2] * x.w[2],
               along_z[0] * x.w[0] + along_z[1] * x.w[1] + along_z[2] * x.w[2]);
}

#endif
