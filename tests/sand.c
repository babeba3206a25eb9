// Falling sand: a solver in one file, written against the seam (world/solver.h) and known to no line of src/.
// docs/adding-a-solver.md goes through it.
//
// A cell holds 0 to 64 grains. An update has two passes, in each of which a cell's new value is a function of the old ones around it:
//
//     fall   grains move into the cell below, as far as it has room
//     slide  those that cannot fall move into the cell below the one at their side, as far as that has room
//
//         | a |              +---+---+        There is one side per update, x + 1, x - 1, z + 1 and z - 1 in turn. So every cell gives
//         +---+              | a |   |        to one cell and gets from one, and both of them work out the same number from the same
//         | b |  a to b      +---+---+        old values: nothing is lost, no cell overflows, and the order of cells cannot show.
//                            |###| b |  a to b
#include "sand.h"

#include "cells/cells.h"
#include <string.h>

// ---- The channels ----------------------------------------------------------------------------------------------------------

enum { GRAINS, GRAINS_NEXT, CHANNELS };

static const cell_channel channels[CHANNELS] = {
    [GRAINS] = {.name = "grains", .type = CHANNEL_UNITS, .bytes = 1, .kept = true, .next = GRAINS_NEXT},
    [GRAINS_NEXT] = {.name = "grains_next", .type = CHANNEL_UNITS, .bytes = 1, .next = CHANNEL_NONE},
};

static const cell_layout layout = {
    .channels = channels, .count = CHANNELS, .mass = GRAINS, .flow = CHANNEL_NONE, .pressure = CHANNEL_NONE};

// ---- The law ---------------------------------------------------------------------------------------------------------------

enum {
    FULL = 64,    // grains in a full cell
    SOLID = 255,  // stands in a tile for a cell of terrain
    EDGE = BRICK_EDGE + 2,
    TILE_CELLS = EDGE * EDGE * EDGE,  // a brick and one cell more on every side
    UP = EDGE,
    DOWN = -EDGE,
    BACK = EDGE * EDGE  // one cell along z
};

static const int32_t sides[4] = {1, -1, BACK, -BACK};

// How many grains go from a cell to another that lies lower. Terrain gives nothing and has no room.
static int32_t passes(uint8_t from, uint8_t to)
{
    if (from == SOLID || to == SOLID) return 0;
    return from < FULL - to ? from : FULL - to;
}

static int32_t falls(const uint8_t *cell)
{
    return passes(cell[0], cell[DOWN]);
}

// Only where the grains rest on something, and not through what fills the cell at the side.
static int32_t slides(const uint8_t *cell, int32_t side)
{
    return cell[DOWN] >= FULL && cell[side] < FULL ? passes(cell[0], cell[side + DOWN]) : 0;
}

static int32_t fall(const uint8_t *cell, int32_t side)
{
    (void)side;
    return cell[0] + falls(cell + UP) - falls(cell);
}

static int32_t slide(const uint8_t *cell, int32_t side)
{
    return cell[0] + slides(cell + UP - side, side) - slides(cell, side);
}

// ---- The state -------------------------------------------------------------------------------------------------------------

typedef struct sand {
    fluid_cells cells;  // first
    int32_t turn;       // to which of the four sides grains slide in the next update
} sand;

static void destroy(void *state)
{
    sand *s = state;
    memory *mem = &s->cells.world->mem;
    cells_destroy(&s->cells);
    memory_free(mem, s, sizeof *s);
}

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
    *state = NULL;
    if (def->backend != WEIR_BACKEND_CPU)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "sand runs on the CPU only; make its world with WEIR_BACKEND_CPU");
    sand *s = memory_alloc_zero(&world->mem, sizeof *s);
    if (!s) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world of sand");
    weir_status status = cells_create(&s->cells, world, def, &layout);
    if (status == WEIR_OK)
        *state = s;
    else
        destroy(s);
    return status;
}

static int32_t carried(const void *state)
{
    return ((const sand *)state)->turn;
}

// It may come from a snapshot that somebody made up.
static void set_carried(void *state, int32_t turn)
{
    ((sand *)state)->turn = turn & 3;
}

// ---- The update ------------------------------------------------------------------------------------------------------------

// One sweep of a law over all bricks.
typedef struct pass {
    sand *sand;
    int32_t (*law)(const uint8_t *cell, int32_t side);
    int32_t side;
} pass;

// The old values of a brick and around it, row by row. A brick that is not there counts as solid.
static void fill_tile(const brick_pool *pool, int32_t brick, uint8_t tile[TILE_CELLS])
{
    for (int32_t z = -1; z <= BRICK_EDGE; z++) {
        for (int32_t y = -1; y <= BRICK_EDGE; y++) {
            for (int32_t dx = -1; dx <= 1; dx++) {
                const int32_t there = pool->near[brick][NEAR(dx, y >> 3, z >> 3)];
                const uint8_t *grains = (uint8_t *)bricks_values(pool, GRAINS, there) + 8 * (y & 7) + 64 * (z & 7);
                const uint64_t open = pool->open[there].plane[z & 7] >> 8 * (y & 7);
                for (int32_t x = dx < 0 ? 7 : 0; x <= (dx > 0 ? 0 : 7); x++) *tile++ = open >> x & 1 ? grains[x] : SOLID;
            }
        }
    }
}

static void move_brick(const pass *p, int32_t brick)
{
    const brick_pool *pool = &p->sand->cells.pool;
    uint8_t tile[TILE_CELLS], *next = bricks_values(pool, GRAINS_NEXT, brick);
    fill_tile(pool, brick, tile);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const uint8_t *at = tile + (cell & 7) + 1 + EDGE * ((cell >> 3 & 7) + 1) + BACK * ((cell >> 6) + 1);
        next[cell] = *at == SOLID ? 0 : (uint8_t)p->law(at, p->side);
    }
    if (memcmp(next, bricks_values(pool, GRAINS, brick), BRICK_CELLS) != 0)
        cells_flags(&p->sand->cells)[brick] = p->sand->cells.world->change;
}

static void move_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const pass *p = context;
    for (int32_t b = begin; b < end; b++)
        if (p->sand->cells.pool.alive[b]) move_brick(p, b);
}

static void run_pass(pass p)
{
    brick_pool *pool = &p.sand->cells.pool;
    workers_run(p.sand->cells.world->workers, move_bricks, &p, pool->end, 8);
    void *old = pool->channel[GRAINS];
    pool->channel[GRAINS] = pool->channel[GRAINS_NEXT];
    pool->channel[GRAINS_NEXT] = old;
}

// What lies behind an open side leaves the world.
static void drain_sides(sand *s)
{
    weir_world *world = s->cells.world;
    const brick_pool *pool = &s->cells.pool;
    for (int32_t b = 1; b < pool->end && world->terrain.open_sides; b++) {
        uint8_t *grains = bricks_values(pool, GRAINS, b);
        for (int32_t cell = 0; cell < BRICK_CELLS && pool->alive[b]; cell++) {
            if (grains[cell] == 0 || terrain_inside(&world->terrain, brick_cell(pool->coord[b], cell))) continue;
            cells_ledger(&s->cells)->drained += (int64_t)grains[cell] * world->solver->unit;
            grains[cell] = 0;
        }
    }
}

static void count_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    sand *s = context;
    for (int32_t b = begin; b < end; b++)
        if (s->cells.pool.alive[b]) cells_count_brick(&s->cells, &s->cells.pool, b);
}

static weir_status update(void *state)
{
    sand *s = state;
    run_pass((pass){s, fall, 0});
    run_pass((pass){s, slide, sides[s->turn]});
    s->turn = (s->turn + 1) & 3;
    drain_sides(s);
    workers_run(s->cells.world->workers, count_bricks, s, s->cells.pool.end, 8);
    cells_report_changes(&s->cells);
    cells_count_bytes(&s->cells, 0);
    return WEIR_OK;
}

// ---- The table -------------------------------------------------------------------------------------------------------------

const solver_table sand_solver = {
    .id = WEIR_SOLVER_COUNT,  // of no list
    .name = "sand",
    .help = "grains that fall and slide",
    .unit = WEIR_FULL / FULL,
    .cell_max = WEIR_FULL,
    .speed = 0,
    .create = create,
    .destroy = destroy,
    .reserve = cells_reserve,
    .update = update,
    .prepare = cells_prepare,
    .apply = cells_apply,
    .terrain_changed = cells_terrain_changed,
    .put_prepare = cells_put_prepare,
    .put = cells_put,
    .region_save = cells_region_save,
    .region_load = cells_region_load,
    .region_adopt = cells_region_adopt,
    .region_discard = cells_discard,
    .unload = cells_unload,
    .view = cells_view,
    .freeze = cells_freeze,
    .hash = cells_hash,
    .carried = carried,
    .set_carried = set_carried,
    .save = cells_save,
    .load = cells_load,
    .adopt = cells_adopt,
    .discard = cells_discard,
    .validate = cells_validate,
    .stats = cells_stats,
};
