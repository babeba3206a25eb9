#include "surface/picture_grid.h"

#include "base/hash.h"
#include "world/region.h"
#include <assert.h>
#include <string.h>

enum {
    EDGE = GRID_TILE_EDGE,
    WIDE = 12,  // a brick and a rim of two: what the smoothed fills of a tile depend on
    BLOCK_GRAIN = 4,
    SOURCE_BRICKS_MOST = 1 << 18,  // most bricks for which a game is asked about its terrain
    SOURCE_MARGIN = 2              // bricks around the water
};

static const float SIDE = 0.2f;         // share of each neighbour in the smoothing, along each axis
static const float SWELL = 1.1f;        // what is nearly full counts as full
static const float FLOOR_FILM = 32.0f;  // a floor counts as full under a film of 1/32
static const float WALL_FILM = 4.0f;    // and a wall behind a sheet of 1/4

// ---- Which bricks ----------------------------------------------------------------------------------------------------------

static weir_status no_memory(void)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out while drawing a picture");
}

static bool add_block(picture_grid *g, weir_coord coord, int32_t brick)
{
    if (g->block_count == g->block_room) {
        size_t size = sizeof *g->blocks, room = (size_t)g->block_room;
        if (g->block_room > INT32_MAX / 2) return false;
        grid_block *blocks = memory_resize(&g->mem, g->blocks, room * size, 2 * room * size);
        if (!blocks) return false;
        g->blocks = blocks;
        g->block_room *= 2;
    }
    g->blocks[g->block_count++] = (grid_block){.coord = coord, .brick = brick};
    return true;
}

static brick_mask solid_of(const terrain *t, weir_coord coord, const brick_mask *open)
{
    brick_mask solid;
    if (!t->bounded || !region_box_mask(t->bounds, coord, &solid)) memset(&solid, t->bounded ? 0 : 0xff, sizeof solid);
    for (int32_t z = 0; z < BRICK_EDGE; z++) solid.plane[z] &= ~open->plane[z];
    return solid;
}

// Whether add_unborn makes a block of a place.
static bool is_unborn(const picture_grid *g, weir_coord coord)
{
    for (int32_t k = 0; k < 27; k++)
        if (g->fluid.wet[fluid_find(&g->fluid, brick_neighbour(coord, k))]) return true;
    return false;
}

// A brick without water that has terrain in it.
static bool add_terrain(picture_grid *g, weir_coord coord)
{
    brick_mask open;
    if (fluid_find(&g->fluid, coord) != BRICK_NOTHING) return true;
    terrain_open(&g->world->terrain, coord, &open);
    brick_mask solid = solid_of(&g->world->terrain, coord, &open);
    if (mask_empty(&solid)) return true;
    if (g->smooth && !g->world->terrain.source && !mask_empty(&open) && is_unborn(g, coord)) return true;
    if (!add_block(g, coord, BRICK_NOTHING)) return false;
    g->blocks[g->block_count - 1].solid = solid;
    return true;
}

// Terrain of the game's own has no end: it is asked for in the world's bounds, or around the water.
static bool add_source_terrain(picture_grid *g)
{
    const terrain *t = &g->world->terrain;
    weir_box box = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}};
    if (t->bounded) {
        box = region_bricks(t->bounds);
    } else {
        if (g->block_count == 1) return true;
        for (int32_t i = 1; i < g->block_count; i++) {
            weir_coord c = g->blocks[i].coord;
            box.min.x = c.x < box.min.x ? c.x : box.min.x, box.max.x = c.x >= box.max.x ? c.x + 1 : box.max.x;
            box.min.y = c.y < box.min.y ? c.y : box.min.y, box.max.y = c.y >= box.max.y ? c.y + 1 : box.max.y;
            box.min.z = c.z < box.min.z ? c.z : box.min.z, box.max.z = c.z >= box.max.z ? c.z + 1 : box.max.z;
        }
        box.min = (weir_coord){box.min.x - SOURCE_MARGIN, box.min.y - SOURCE_MARGIN, box.min.z - SOURCE_MARGIN};
        box.max = (weir_coord){box.max.x + SOURCE_MARGIN, box.max.y + SOURCE_MARGIN, box.max.z + SOURCE_MARGIN};
    }
    if (region_volume(box) > SOURCE_BRICKS_MOST) {
        // Too much to ask for: what lies around each brick must do.
        int32_t live = g->block_count;
        for (int32_t i = 1; i < live; i++)
            for (int32_t k = 0; k < 27; k++) {
                bool missing = g->fluid.near[g->blocks[i].brick][k] == BRICK_NOTHING;
                if (missing && !add_terrain(g, brick_neighbour(g->blocks[i].coord, k))) return false;
            }
        return true;
    }
    for (int32_t z = box.min.z; z < box.max.z; z++)
        for (int32_t y = box.min.y; y < box.max.y; y++)
            for (int32_t x = box.min.x; x < box.max.x; x++)
                if (!add_terrain(g, (weir_coord){x, y, z})) return false;
    return true;
}

// Whether a brick is the first of the wet ones around a place.
static bool first_around(const fluid_view *fluid, weir_coord place, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++) {
        int32_t near = fluid_find(fluid, brick_neighbour(place, k));
        if (fluid->wet[near]) return near == brick;
    }
    return false;
}

// After an edit the bricks around the water may not be born yet, but its smoothed surface reaches into them.
static bool add_unborn(picture_grid *g, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++) {
        if (g->fluid.near[brick][k] != BRICK_NOTHING) continue;
        weir_coord place = brick_neighbour(g->fluid.coord[brick], k);
        brick_mask open, inside;
        const terrain *t = &g->world->terrain;
        if (t->bounded && !region_box_mask(t->bounds, place, &inside)) continue;
        if (t->source || !terrain_open(t, place, &open) || !first_around(&g->fluid, place, brick)) continue;
        if (!add_block(g, place, BRICK_NOTHING)) return false;
        g->blocks[g->block_count - 1].unborn = true;
        g->blocks[g->block_count - 1].solid = solid_of(t, place, &open);
    }
    return true;
}

static bool list_blocks(picture_grid *g)
{
    const terrain *t = &g->world->terrain;
    g->block_room = g->fluid.live + t->brick_count + 16;
    g->blocks = memory_alloc(&g->mem, (size_t)g->block_room * sizeof *g->blocks);
    if (!g->blocks || !add_block(g, (weir_coord){0, 0, 0}, BRICK_NOTHING)) return false;
    for (int32_t b = 1; b < g->fluid.end; b++)
        if (g->fluid.alive[b] && !add_block(g, g->fluid.coord[b], b)) return false;
    for (int32_t b = 1; g->smooth && b < g->fluid.end; b++)
        if (g->fluid.alive[b] && g->fluid.wet[b] && !add_unborn(g, b)) return false;
    g->water_count = g->block_count;
    if (t->source) return add_source_terrain(g);
    for (int32_t i = 0; i < t->slot_count; i++)
        if (t->slot[i].used && !add_terrain(g, t->slot[i].coord)) return false;
    return true;
}

// ---- The smoothed fill -----------------------------------------------------------------------------------------------------

// Fill and open cells of a brick and two cells around it. Beyond the world and in terrain nothing is open.
typedef struct wide_tile {
    float fill[WIDE * WIDE * WIDE], open[WIDE * WIDE * WIDE];
} wide_tile;

typedef struct surroundings {
    int32_t near[27];
    brick_mask open[27];
} surroundings;

static void look_around(const picture_grid *g, const grid_block *block, surroundings *around)
{
    const terrain *t = &g->world->terrain;
    for (int32_t k = 0; k < 27; k++) {
        weir_coord coord = brick_neighbour(block->coord, k);
        int32_t near = block->unborn ? fluid_find(&g->fluid, coord) : g->fluid.near[block->brick][k];
        around->near[k] = near;
        around->open[k] = g->fluid.open[near];
        if (near == BRICK_NOTHING && !t->source) terrain_open(t, coord, &around->open[k]);
        if (!t->bounded || t->open_sides == 0) continue;
        // Cells behind an open side are open, but the water does not go on there.
        brick_mask inside;
        if (!region_box_mask(t->bounds, coord, &inside)) memset(&inside, 0, sizeof inside);
        for (int32_t z = 0; z < BRICK_EDGE; z++) around->open[k].plane[z] &= inside.plane[z];
    }
}

// Writes the drops of `count` cells of a row that are no gas.
static const int32_t *row_drops(const picture_grid *g, int32_t near, int32_t first, int32_t count, int32_t room[BRICK_EDGE])
{
    const int32_t *mass = fluid_values(&g->fluid, FLUID_DROPS, near, first, count, room);
    int32_t gas[BRICK_EDGE];
    if (g->shown.gas_count == 0 || near == BRICK_NOTHING) return mass;
    if (mass != room) memcpy(room, mass, (size_t)count * sizeof *room);
    for (int32_t k = 0; k < g->shown.gas_count; k++) {
        fluid_amounts(&g->fluid, near, g->shown.gases[k], first, count, gas);
        for (int32_t i = 0; i < count; i++) room[i] -= gas[i];
    }
    return room;
}

// Writes `count` cells of a row from cell `x` of a brick on.
static void gather_part(const picture_grid *g, int32_t near, const brick_mask *open, int32_t x, int32_t y, int32_t z,
                        int32_t count, float *fills, float *opens)
{
    int32_t room[BRICK_EDGE];
    const int32_t *mass = row_drops(g, near, 8 * y + 64 * z + x, count, room);
    uint64_t bits = open->plane[z] >> (8 * y + x);
    for (int32_t i = 0; i < count; i++) {
        float is_open = (float)(bits >> i & 1), fill = (float)mass[i] * (SWELL / WEIR_FULL);
        opens[i] = is_open;
        fills[i] = is_open * (fill < 1 ? fill : 1);
    }
}

static void gather(const picture_grid *g, const surroundings *around, wide_tile *wide)
{
    const int32_t *near = around->near;
    const brick_mask *open = around->open;
    for (int32_t z = -2; z < WIDE - 2; z++) {
        for (int32_t y = -2; y < WIDE - 2; y++) {
            int32_t row = BRICK_SELF + 3 * (y >> 3) + 9 * (z >> 3), at = WIDE * (y + 2 + WIDE * (z + 2));
            float *fills = wide->fill + at, *opens = wide->open + at;
            gather_part(g, near[row - 1], &open[row - 1], 6, y & 7, z & 7, 2, fills, opens);
            gather_part(g, near[row], &open[row], 0, y & 7, z & 7, 8, fills + 2, opens + 2);
            gather_part(g, near[row + 1], &open[row + 1], 0, y & 7, z & 7, 2, fills + 10, opens + 10);
        }
    }
}

// One pass of the smoothing along each axis, from 12 cells to 10.
static void blur(const float *wide, float *tile)
{
    enum { ROW = EDGE, PLANE = ROW * WIDE };
    static const float MIDDLE = 1 - 2 * SIDE;
    float along_x[WIDE * PLANE], along_y[WIDE * ROW * EDGE];
    for (int32_t r = 0; r < WIDE * WIDE; r++)
        for (int32_t x = 0; x < EDGE; x++) {
            const float *from = wide + WIDE * r + x;
            along_x[ROW * r + x] = SIDE * (from[0] + from[2]) + MIDDLE * from[1];
        }
    for (int32_t z = 0; z < WIDE; z++)
        for (int32_t i = 0; i < ROW * EDGE; i++) {
            const float *from = along_x + PLANE * z + i;
            along_y[ROW * EDGE * z + i] = SIDE * (from[0] + from[2 * ROW]) + MIDDLE * from[ROW];
        }
    for (int32_t i = 0; i < ROW * EDGE * EDGE; i++) {
        const float *from = along_y + i;
        tile[i] = SIDE * (from[0] + from[2 * ROW * EDGE]) + MIDDLE * from[ROW * EDGE];
    }
}

// A floor under a film of water, or a wall behind a thin sheet, counts as water, so that the film's surface lies at its height: else it
// would be smoothed away. Not so edges, and what is a single cell thick: there it would show on the other side.
static void raise_films(const wide_tile *wide, float *tile)
{
    static const int32_t wide_step[5] = {WIDE, 1, -1, WIDE * WIDE, -WIDE * WIDE};
    static const int32_t tile_step[5] = {EDGE, 1, -1, EDGE * EDGE, -EDGE * EDGE};
    for (int32_t z = 0; z < EDGE; z++) {
        for (int32_t y = 0; y < EDGE; y++) {
            for (int32_t x = 0; x < EDGE; x++) {
                const float *open = wide->open + x + 1 + WIDE * (y + 1 + WIDE * (z + 1));
                if (open[0] != 0) continue;
                float *value = tile + x + EDGE * (y + EDGE * z), count = open[-WIDE];
                for (int32_t k = 0; k < 5; k++) count += open[wide_step[k]];
                if (count != 1 || open[-WIDE] != 0) continue;
                // The one open neighbour, if it lies in the tile.
                const bool within[5] = {y + 1 < EDGE, x + 1 < EDGE, x > 0, z + 1 < EDGE, z > 0};
                for (int32_t k = 0; k < 5; k++) {
                    if (open[wide_step[k]] == 0 || !within[k]) continue;
                    *value = most_of(*value, least_of(1, value[tile_step[k]] * (k == 0 ? FLOOR_FILM : WALL_FILM)));
                }
            }
        }
    }
}

// In a cell a quadratic spline lies between the least and the greatest of its Bezier points. Along an axis those are the cell's value
// and the means with its two neighbours, which cells share: 17 points for the 8 cells of a brick.
enum { POINTS = 17 };

static void points_of_row(const float *values, float *points, int32_t step, int32_t to_step)
{
    for (int32_t k = 0; k < 8; k++) {
        points[2 * k * to_step] = 0.5f * (values[k * step] + values[(k + 1) * step]);
        points[(2 * k + 1) * to_step] = values[(k + 1) * step];
    }
    points[16 * to_step] = 0.5f * (values[8 * step] + values[9 * step]);
}

static void bezier_points(const float *tile, float *points)
{
    float along_x[EDGE * EDGE * POINTS], along_y[EDGE * POINTS * POINTS];
    for (int32_t row = 0; row < EDGE * EDGE; row++) points_of_row(tile + EDGE * row, along_x + POINTS * row, 1, 1);
    for (int32_t z = 0; z < EDGE; z++)
        for (int32_t x = 0; x < POINTS; x++)
            points_of_row(along_x + EDGE * POINTS * z + x, along_y + POINTS * POINTS * z + x, POINTS, POINTS);
    for (int32_t i = 0; i < POINTS * POINTS; i++) points_of_row(along_y + i, points + i, POINTS * POINTS, POINTS * POINTS);
}

// Of each cell's three points along an axis the least, or the greatest. `inner` numbers lie between two of them.
static void spread(const float *from, float *to, int32_t outer, int32_t inner, bool greatest)
{
    for (int32_t r = 0; r < outer; r++) {
        for (int32_t k = 0; k < 8; k++) {
            const float *a = from + (POINTS * r + 2 * k) * inner, *b = a + inner, *c = b + inner;
            float *out = to + (8 * r + k) * inner;
            if (greatest)
                for (int32_t i = 0; i < inner; i++) out[i] = most_of(most_of(a[i], b[i]), c[i]);
            else
                for (int32_t i = 0; i < inner; i++) out[i] = least_of(least_of(a[i], b[i]), c[i]);
        }
    }
}

static void spread_cells(const float *points, float *to, bool greatest)
{
    float along_z[8 * POINTS * POINTS], along_y[64 * POINTS];
    spread(points, along_z, 1, POINTS * POINTS, greatest);
    spread(along_z, along_y, 8, POINTS, greatest);
    spread(along_y, to, 64, 1, greatest);
}

static uint64_t at_least(const float values[64], float level)
{
    uint64_t bits = 0;
    for (int32_t i = 0; i < 64; i++) bits |= (uint64_t)(values[i] >= level) << i;
    return bits;
}

static void divide_cells(grid_block *block, const float *tile, const brick_mask *open)
{
    float low = tile[0], high = tile[0], points[POINTS * POINTS * POINTS], cells[BRICK_CELLS];
    for (int32_t i = 1; i < EDGE * EDGE * EDGE; i++) low = least_of(low, tile[i]), high = most_of(high, tile[i]);
    if (high < GRID_SURFACE) return;
    if (low >= GRID_SURFACE) {
        block->water = *open;
        return;
    }
    bezier_points(tile, points);
    spread_cells(points, cells, false);
    for (int32_t z = 0; z < BRICK_EDGE; z++) block->water.plane[z] = at_least(cells + 64 * z, GRID_SURFACE) & open->plane[z];
    spread_cells(points, cells, true);
    for (int32_t z = 0; z < BRICK_EDGE; z++)
        block->mixed.plane[z] = at_least(cells + 64 * z, GRID_SURFACE) & open->plane[z] & ~block->water.plane[z];
}

static bool wet_around(const fluid_view *fluid, int32_t brick)
{
    uint8_t wet = 0;
    for (int32_t k = 0; k < 27; k++) wet |= fluid->wet[fluid->near[brick][k]];
    return wet;
}

static void smooth_block(picture_grid *g, grid_block *block, float *tile)
{
    wide_tile wide;
    float weight[EDGE * EDGE * EDGE];
    surroundings around;
    look_around(g, block, &around);
    gather(g, &around, &wide);
    blur(wide.fill, tile);
    blur(wide.open, weight);
    // Of the open cells only: so water stands level up to a wall, and terrain has the value of the water beside it.
    for (int32_t i = 0; i < EDGE * EDGE * EDGE; i++) tile[i] = weight[i] > 0 ? tile[i] / weight[i] : 0;
    raise_films(&wide, tile);
    divide_cells(block, tile, &around.open[BRICK_SELF]);
    if (!mask_empty(&block->mixed)) block->tile = tile;
}

static void find_cubes(const picture_grid *g, grid_block *block)
{
    int32_t room[BRICK_CELLS], other[BRICK_CELLS];
    const int32_t *mass = shown_drops(&g->shown, &g->fluid, block->brick, room, other);
    int32_t least = (int32_t)(g->least_fill * WEIR_FULL);
    if (least < 1) least = 1;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        uint64_t bits = 0;
        for (int32_t i = 0; i < 64; i++) bits |= (uint64_t)(mass[64 * z + i] >= least) << i;
        block->water.plane[z] = bits & g->fluid.open[block->brick].plane[z];
    }
}

// Of gases as much as usually fills a cell is a quarter.
static void find_shares(const picture_grid *g, grid_block *block, uint8_t *shares)
{
    int32_t drops[BRICK_CELLS];
    block->shares = shares;
    for (int32_t k = 0; k < g->kinds; k++) {
        const bool gas = g->world->materials[g->kind[k]].def.kind == WEIR_KIND_GAS;
        const float usual = gas && g->fluid.read_amounts ? SHOWN_GAS : 1;
        const float scale = usual * 255.0f / ((gas ? GRID_GAS_MOST : 1) * (float)WEIR_FULL);
        int32_t any = 0;
        fluid_amounts(&g->fluid, block->brick, g->kind[k], 0, BRICK_CELLS, drops);
        for (int32_t i = 0; i < BRICK_CELLS; i++) {
            const float share = (float)drops[i] * scale + 0.5f;
            // What is there at all is seen where it is alone.
            shares[g->kinds * i + k] = (uint8_t)(share > 255 ? 255 : share < 1 && drops[i] > 0 ? 1 : (int32_t)share);
            any |= drops[i];
        }
        block->gas |= gas && any;
    }
}

// Groups of 2 x 2 x 2 cells that have one of a mask, or of its complement if `flip` is all ones.
static uint64_t groups_of(const brick_mask *mask, uint64_t flip)
{
    uint64_t groups = 0;
    for (int32_t z = 0; z < 4; z++) {
        uint64_t cells = (mask->plane[2 * z] ^ flip) | (mask->plane[2 * z + 1] ^ flip);
        cells |= cells >> 1;
        cells |= cells >> 8;
        for (int32_t y = 0; y < 4; y++)
            for (int32_t x = 0; x < 4; x++) groups |= (cells >> (2 * x + 16 * y) & 1) << (x + 4 * y + 16 * z);
    }
    return groups;
}

static void prepare_blocks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    picture_grid *g = context;
    for (int32_t i = begin + 1; i < end + 1; i++) {
        grid_block *block = &g->blocks[i];
        if (block->unborn) {
            smooth_block(g, block, g->tiles + (size_t)i * GRID_TILE_CELLS);
        } else if (block->brick != BRICK_NOTHING) {
            block->solid = solid_of(&g->world->terrain, g->blocks[i].coord, &g->fluid.open[block->brick]);
            if (g->smooth && wet_around(&g->fluid, block->brick))
                smooth_block(g, block, g->tiles + (size_t)i * GRID_TILE_CELLS);
            else if (!g->smooth && g->fluid.wet[block->brick])
                find_cubes(g, block);
            if (g->kinds > 0 && g->fluid.wet[block->brick])
                find_shares(g, block, g->shares + (size_t)i * BRICK_CELLS * (size_t)g->kinds);
        }
        for (int32_t z = 0; z < BRICK_EDGE; z++)
            block->stops.plane[z] = block->solid.plane[z] | block->water.plane[z] | block->mixed.plane[z];
        block->any = !mask_empty(&block->stops) || block->shares;
        block->stop_groups = groups_of(&block->stops, 0);
        block->dry_groups = groups_of(&block->water, UINT64_MAX);
        block->full = mask_full(&block->water);
    }
}

// Between the cells of two bricks there is gas of both.
static bool spread_gas(picture_grid *g)
{
    bool *gas = memory_alloc_zero(&g->mem, (size_t)g->fluid.end);
    if (!gas) return false;
    for (int32_t i = 1; i < g->water_count; i++) gas[g->blocks[i].brick] = g->blocks[i].gas;
    gas[BRICK_NOTHING] = false;
    for (int32_t i = 1; i < g->water_count; i++) {
        grid_block *block = &g->blocks[i];
        for (int32_t k = 0; k < 27 && !block->unborn; k++) block->gas |= gas[g->fluid.near[block->brick][k]];
        block->any |= block->gas;
    }
    memory_free(&g->mem, gas, (size_t)g->fluid.end);
    return true;
}

// The materials of which there is any, unless all is water.
static void list_kinds(picture_grid *g)
{
    const weir_world *world = g->world;
    const world_ledger *ledger = world->busy ? world->frozen.ledger : world->ledger;
    bool several = false;
    for (weir_material m = 1; m < world->material_count; m++) {
        if (world_ledger_held(&ledger[m]) == 0 || (!g->fluid.read_materials && m != g->fluid.material)) continue;
        g->kind[g->kinds++] = (uint8_t)m;
        several |= m != WEIR_WATER;
    }
    if (!several) g->kinds = 0;
}

// ---- The top grid ----------------------------------------------------------------------------------------------------------

enum { LEVEL_STEP = 3 };

// The slot of a cube, or the free one where it would be.
static grid_cube *find_cube(const picture_grid *g, int32_t x, int32_t y, int32_t z, int32_t level)
{
    x >>= level, y >>= level, z >>= level;
    uint32_t key = (uint32_t)x * 0x8da6b343u + (uint32_t)y * 0xd8163841u + (uint32_t)z * 0xcb1ab31fu + (uint32_t)level;
    for (uint32_t i = hash_mix(key) & g->slot_mask;; i = (i + 1) & g->slot_mask) {
        grid_cube *cube = &g->slots[i];
        if (!cube->block || (cube->x == x && cube->y == y && cube->z == z && cube->level == level)) return cube;
    }
}

static int32_t highest_level(const picture_grid *g)
{
    return (g->shift - 1) / LEVEL_STEP * LEVEL_STEP;
}

int32_t picture_grid_look(const picture_grid *g, int32_t x, int32_t y, int32_t z, int32_t *block)
{
    *block = 0;
    for (int32_t level = highest_level(g); level >= 0; level -= LEVEL_STEP) {
        const grid_cube *cube = find_cube(g, x, y, z, level);
        if (!cube->block) return level;
        if (level == 0) *block = cube->block;
    }
    return -1;
}

static void add_cubes(picture_grid *g, int32_t block, int32_t x, int32_t y, int32_t z)
{
    for (int32_t level = 0; level <= highest_level(g); level += LEVEL_STEP) {
        grid_cube *cube = find_cube(g, x, y, z, level);
        *cube = (grid_cube){x >> level, y >> level, z >> level, level, block};
    }
}

// The box of what is to be seen, and how wide an entry must be for it.
static void measure_grid(picture_grid *g)
{
    weir_coord min = {INT32_MAX, INT32_MAX, INT32_MAX}, max = {INT32_MIN, INT32_MIN, INT32_MIN};
    bool any = false;
    for (int32_t i = 1; i < g->block_count; i++) {
        weir_coord c = g->blocks[i].coord;
        if (!g->blocks[i].any) continue;
        any = true;
        min = (weir_coord){c.x < min.x ? c.x : min.x, c.y < min.y ? c.y : min.y, c.z < min.z ? c.z : min.z};
        max = (weir_coord){c.x > max.x ? c.x : max.x, c.y > max.y ? c.y : max.y, c.z > max.z ? c.z : max.z};
    }
    const terrain *t = &g->world->terrain;
    if (!any) min = max = t->bounded ? brick_of_cell(t->bounds.min) : (weir_coord){0, 0, 0};
    g->origin = min;
    double extent[3] = {(double)max.x - min.x + 1, (double)max.y - min.y + 1, (double)max.z - min.z + 1};
    for (g->shift = 0;; g->shift++) {
        double entries = 1, wide = (double)(1 << g->shift);
        for (int32_t axis = 0; axis < 3; axis++) {
            g->size[axis] = (int32_t)((extent[axis] + wide - 1) / wide);
            entries *= g->size[axis] + 2.0;
        }
        if (entries <= GRID_TOP_MOST) break;
    }
    const double origin[3] = {8.0 * min.x, 8.0 * min.y, 8.0 * min.z};
    const weir_coord low = t->bounds.min, high = t->bounds.max;
    const double lows[3] = {low.x, low.y, low.z}, highs[3] = {high.x, high.y, high.z};
    g->bounded = t->bounded;
    for (int32_t axis = 0; axis < 3; axis++) {
        g->low[axis] = 0;
        g->high[axis] = any ? 8 * extent[axis] : 0;
        g->bounds_low[axis] = t->bounded ? lows[axis] - origin[axis] : 0;
        g->bounds_high[axis] = t->bounded ? highs[axis] - origin[axis] : 8 * extent[axis];
        if (!any || !t->bounded) continue;
        g->low[axis] = fmax(0, g->bounds_low[axis]);
        g->high[axis] = fmin(g->high[axis], g->bounds_high[axis]);
    }
}

static size_t top_entries(const picture_grid *g)
{
    return (size_t)g->hop[2] * (size_t)(g->size[2] + 2);
}

static bool make_top(picture_grid *g)
{
    g->hop[0] = 1, g->hop[1] = g->size[0] + 2, g->hop[2] = g->hop[1] * (g->size[1] + 2);
    g->top = memory_alloc(&g->mem, top_entries(g) * sizeof *g->top);
    if (!g->top) return false;
    for (size_t i = 0; i < top_entries(g); i++) g->top[i] = GRID_OUTSIDE;
    for (int32_t z = 0; z < g->size[2]; z++)
        for (int32_t y = 0; y < g->size[1]; y++)
            memset(&g->top[grid_place(g, 0, y, z)], 0, (size_t)g->size[0] * sizeof *g->top);
    return true;
}

static bool fill_grid(picture_grid *g)
{
    if (!make_top(g)) return false;
    if (g->shift) {
        uint64_t cubes = (uint64_t)g->block_count * (uint64_t)(highest_level(g) / LEVEL_STEP + 1), count = 16;
        while (count < 2 * cubes) count *= 2;
        g->slots = memory_alloc_zero(&g->mem, count * sizeof *g->slots);
        if (!g->slots) return false;
        g->slot_mask = (uint32_t)count - 1;
    }
    for (int32_t i = 1; i < g->block_count; i++) {
        if (!g->blocks[i].any) continue;
        weir_coord c = g->blocks[i].coord;
        int32_t x = c.x - g->origin.x, y = c.y - g->origin.y, z = c.z - g->origin.z;
        g->blocks[i].corner = (four_doubles){8.0 * x, 8.0 * y, 8.0 * z, 0};
        g->top[grid_place(g, x >> g->shift, y >> g->shift, z >> g->shift)] = i;
        if (g->shift) add_cubes(g, i, x, y, z);
    }
    return true;
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

static size_t shares_size(const picture_grid *g)
{
    return (size_t)g->water_count * BRICK_CELLS * (size_t)g->kinds;
}

// The world's memory and threads belong to the background step for as long as one runs.
weir_status picture_grid_make(picture_grid *g, const weir_world *world, weir_look look, float least_fill)
{
    *g = (picture_grid){.world = world, .smooth = look == WEIR_LOOK_WATER, .least_fill = least_fill};
    g->mem = memory_make(world->busy ? (weir_allocator){0} : world->mem.hooks);
    g->workers = world->busy ? NULL : world->workers;
    g->fluid = world_fetch_all(world);
    if (world->values_lost) return world_lost(world);

    g->shown = shown_of(world, WEIR_NOTHING);
    list_kinds(g);
    if (!list_blocks(g)) return no_memory();
    if (g->kinds > 0) {
        g->shares = memory_alloc(&g->mem, shares_size(g));
        if (!g->shares) return no_memory();
    }
    if (g->smooth) {
        g->tile_count = g->water_count;
        g->tiles = memory_alloc(&g->mem, (size_t)g->tile_count * GRID_TILE_CELLS * sizeof *g->tiles);
        if (!g->tiles) return no_memory();
    }
    picture_grid_run(g, prepare_blocks, g, g->block_count - 1, BLOCK_GRAIN);
    if (g->kinds > 0 && g->shown.gas_count > 0 && !spread_gas(g)) return no_memory();
    measure_grid(g);
    return fill_grid(g) ? WEIR_OK : no_memory();
}

void picture_grid_free(picture_grid *g)
{
    memory_free(&g->mem, g->blocks, (size_t)g->block_room * sizeof *g->blocks);
    if (g->shares) memory_free(&g->mem, g->shares, shares_size(g));
    memory_free(&g->mem, g->tiles, (size_t)g->tile_count * GRID_TILE_CELLS * sizeof *g->tiles);
    memory_free(&g->mem, g->top, top_entries(g) * sizeof *g->top);
    if (g->slots) memory_free(&g->mem, g->slots, ((size_t)g->slot_mask + 1) * sizeof *g->slots);
    *g = (picture_grid){0};
}

void picture_grid_run(const picture_grid *g, weir_task *task, void *context, int32_t count, int32_t grain)
{
    if (g->workers)
        workers_run(g->workers, task, context, count, grain);
    else
        task(context, 0, count, 0);
}
