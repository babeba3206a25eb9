// Bricks of a mixture that leave and come back, and such as come from another world (world/regions.c, world/delta.h).
//
// In a region: materials that the box holds, as bits | bricks in coordinate order that hold something, each as in a snapshot (state.c).
#include "base/broken.h"
#include "solvers/mixture/mixture.h"

#include <assert.h>
#include <string.h>

// ---- Leaving -------------------------------------------------------------------------------------------------------------------

static weir_box cells_of(weir_box bricks, int32_t more)
{
    return (weir_box){{8 * (bricks.min.x - more), 8 * (bricks.min.y - more), 8 * (bricks.min.z - more)},
                      {8 * (bricks.max.x + more), 8 * (bricks.max.y + more), 8 * (bricks.max.z + more)}};
}

static region_walk walk_box(const mixture *s, weir_box bricks, int32_t more, fluid_view *view)
{
    cells_view(s, false, view);
    return region_walk_live(view, cells_of(bricks, more));
}

void mixture_region_save(const void *state, weir_box bricks, snapshot_writer *w)
{
    const mixture *s = state;
    fluid_view view;
    uint32_t materials = 0;
    region_walk walk = walk_box(s, bricks, 0, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (s->cells.pool.wet[b]) materials |= mixture_holds(s, b);  // what is noted of it may be old: a device has it
    snapshot_put_number(w, materials, 4);
    mixture_put_bricks(s, w, &bricks, materials);
}

// What lies beside a box has other neighbours.
static void look_around(mixture *s, weir_box bricks)
{
    fluid_view view;
    cells_look_around(&s->cells, bricks);
    region_walk walk = walk_box(s, bricks, 1, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) s->cells.pool.rest[b].calm = 0;
}

static int64_t sum_heat(const brick_pool *pool, int32_t brick)
{
    int64_t sum = 0;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) sum += bricks_ints(pool, MIXTURE_HEAT, brick)[cell];
    return sum;
}

void mixture_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX])
{
    mixture *s = state;
    const brick_pool *pool = &s->cells.pool;
    fluid_view view;
    region_walk walk = walk_box(s, bricks, 0, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        bricks_read(pool, b);
        for (int32_t i = 0; i < s->order.count && pool->wet[b]; i++) {
            const uint16_t *amount = mixture_amounts(pool, &s->order.fluid[i], b);
            for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
                held[s->order.fluid[i].material] += (int64_t)amount[cell] * MIXTURE_UNIT;
        }
        s->heat.unloaded += sum_heat(pool, b);
        cells_brick_leaves(&s->cells, b);
    }
    look_around(s, bricks);
}

// ---- Coming back ---------------------------------------------------------------------------------------------------------------

weir_status mixture_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                                int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    mixture *s = state;
    const weir_world *world = s->cells.world;
    mixture *a = *arrival = memory_alloc_zero(&s->cells.world->mem, sizeof *a);
    if (!a) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while loading %s", snapshot_name(r));
    a->known = (uint32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (a->known & 1 || a->known >> (world->material_count - 1) > 1)
        return snapshot_damaged(r, "it holds materials that are none, 0x%x", a->known);
    weir_status status = mixture_get_bricks(s, r, t, &bricks, held, a);
    if (status != WEIR_OK) return status;
    const char *wrong = mixture_arrival_fits(state, a, world->materials, world->material_count);
    if (wrong) return snapshot_damaged(r, "%s", wrong);
    status = bricks_reserve(&s->cells.pool, a->cells.pool.live);
    if (status == WEIR_OK) status = mixture_reserve_tables(s);
    return status == WEIR_OK ? mixture_know(s, a->known) : status;
}

static void arrive(mixture *s, const mixture *a, int32_t from)
{
    const brick_pool *pool = &s->cells.pool;
    const int32_t b = cells_brick_arrives(&s->cells, a->cells.pool.coord[from], &a->cells.pool.open[from]);
    bricks_write(pool, b);
    memcpy(bricks_ints(pool, MIXTURE_HEAT, b), bricks_ints(&a->cells.pool, MIXTURE_HEAT, from), BRICK_CELLS * sizeof(int32_t));
    for (int32_t i = 0; i < a->order.count; i++) {
        const mixture_fluid *of = &a->order.fluid[i], *to = &s->order.fluid[mixture_place(&s->order, of->material)];
        memcpy(mixture_amounts(pool, to, b), mixture_amounts(&a->cells.pool, of, from), BRICK_CELLS * sizeof(uint16_t));
    }
    mixture_count(s, b);
    s->heat.unloaded -= sum_heat(pool, b);
}

void mixture_region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes)
{
    (void)changes;  // calm is no part of the state: all of it is looked at
    mixture *s = state;
    const mixture *a = arrival;
    for (int32_t b = 1; a && b < a->cells.pool.end; b++) arrive(s, a, b);
    look_around(s, bricks);
}

// ---- From another world --------------------------------------------------------------------------------------------------------

const char *mixture_put_fits(const void *state, const fluid_brick *brick)
{
    const mixture *s = state;
    const world_material *materials = s->cells.world->materials;
    int32_t channel[WEIR_MATERIAL_MAX] = {0};
    uint32_t known = 0;
    mixture_order order;
    for (int32_t i = 0; i < brick->shares; i++) known |= UINT32_C(1) << brick->share[i].material;
    if (brick->shares > MIXTURE_FLUIDS) return broken("the brick holds %d materials", brick->shares);
    mixture_arrange(materials, known, channel, &order);
    for (int32_t cell = 0; cell < BRICK_CELLS && brick->shares > 0; cell++) {
        int32_t amounts[MIXTURE_FLUIDS] = {0};
        for (int32_t i = 0; i < brick->shares; i++)
            amounts[mixture_place(&order, brick->share[i].material)] = brick->share[i].drops[cell] / MIXTURE_UNIT;
        const char *wrong = mixture_cell_fits(&order, amounts, brick->heat[cell], brick_cell(brick->at, cell));
        if (wrong) return wrong;
    }
    return NULL;
}

weir_status mixture_put_prepare(void *state, const weir_coord *bricks, int32_t count)
{
    const weir_status status = cells_put_prepare(state, bricks, count);
    return status == WEIR_OK ? mixture_reserve_tables(state) : status;
}

static void book(int64_t *added, int64_t *removed, int64_t more)
{
    *(more > 0 ? added : removed) += more > 0 ? more : -more;
}

// Gives a cell the amounts and the heat that it is told to have; true: it had others.
static bool put_cell(mixture *s, int32_t brick, int32_t cell, const int32_t amounts[MIXTURE_FLUIDS], int32_t heat)
{
    const brick_pool *pool = &s->cells.pool;
    int32_t *has = bricks_ints(pool, MIXTURE_HEAT, brick) + cell;
    bool changed = *has != heat;
    book(&s->heat.added, &s->heat.removed, (int64_t)heat - *has);
    *has = heat;
    for (int32_t i = 0; i < s->order.count; i++) {
        uint16_t *amount = mixture_amounts(pool, &s->order.fluid[i], brick) + cell;
        world_ledger *ledger = &s->cells.world->ledger[s->order.fluid[i].material];
        changed |= *amount != amounts[i];
        book(&ledger->added, &ledger->removed, (int64_t)(amounts[i] - *amount) * MIXTURE_UNIT);
        *amount = (uint16_t)amounts[i];
    }
    return changed;
}

// Of a world whose cells hold one material each: what a cell has already keeps its warmth.
static bool put_one(mixture *s, int32_t brick, int32_t cell, weir_material material, int32_t units)
{
    const brick_pool *pool = &s->cells.pool;
    const int32_t place = units > 0 ? mixture_place(&s->order, material) : -1;
    int32_t amounts[MIXTURE_FLUIDS] = {0}, others = 0, had = 0;
    for (int32_t i = 0; i < s->order.count; i++) {
        const int32_t amount = mixture_amounts(pool, &s->order.fluid[i], brick)[cell];
        *(i == place ? &had : &others) += amount;
    }
    if (others == 0 && had == units) return false;
    const int32_t heat = units > 0 ? units * s->order.fluid[place].heat * s->order.fluid[place].warm : 0;
    if (units > 0) amounts[place] = units;
    return put_cell(s, brick, cell, amounts, heat);
}

static bool put_brick(mixture *s, int32_t brick, const fluid_brick *from)
{
    bool changed = false;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        int32_t amounts[MIXTURE_FLUIDS] = {0};
        for (int32_t i = 0; i < from->shares; i++)
            amounts[mixture_place(&s->order, from->share[i].material)] = from->share[i].drops[cell] / MIXTURE_UNIT;
        changed |= from->shares > 0 ? put_cell(s, brick, cell, amounts, from->heat[cell])
                                    : put_one(s, brick, cell, from->materials[cell], from->drops[cell] / MIXTURE_UNIT);
    }
    return changed;
}

void mixture_put(void *state, fluid_next_brick *next, void *source, fluid_brick *from)
{
    mixture *s = state;
    brick_pool *pool = &s->cells.pool;
    while (next(source, from)) {
        const int32_t brick = bricks_find(pool, from->at);
        assert(brick != BRICK_NOTHING || from->material == WEIR_NOTHING);
        if (brick == BRICK_NOTHING) continue;
        bricks_write(pool, brick);
        if (!put_brick(s, brick, from)) continue;
        pool->rest[brick].calm = 0;
        mixture_count(s, brick);
        pool->changed[brick] = s->cells.world->change;
    }
    cells_topology(&s->cells);  // without memory it is done the next time
}
