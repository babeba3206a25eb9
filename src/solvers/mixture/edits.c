// Edits of a mixture: what is put into cells and taken out of them, with its warmth, and what changes of terrain push out.
#include "solvers/mixture/mixture.h"

#include <assert.h>
#include <string.h>

// ---- A cell ------------------------------------------------------------------------------------------------------------------

static uint16_t *amount_at(const mixture *s, int32_t place, int32_t brick, int32_t cell)
{
    return mixture_amounts(&s->cells.pool, &s->order.fluid[place], brick) + cell;
}

static int32_t *heat_at(const mixture *s, int32_t brick, int32_t cell)
{
    return bricks_ints(&s->cells.pool, MIXTURE_HEAT, brick) + cell;
}

static int32_t weight_of(const mixture *s, int32_t brick, int32_t cell)
{
    int32_t weight = 0;
    for (int32_t i = 0; i < s->order.count; i++) weight += *amount_at(s, i, brick, cell) * s->order.fluid[i].heat;
    return weight;
}

// Units of the materials from one place on, below another.
static int32_t sum_of(const mixture *s, int32_t brick, int32_t cell, int32_t first, int32_t end)
{
    int32_t sum = 0;
    for (int32_t i = first; i < end; i++) sum += *amount_at(s, i, brick, cell);
    return sum;
}

static void add(mixture *s, int32_t place, int32_t brick, int32_t cell, int32_t units)
{
    const mixture_fluid *f = &s->order.fluid[place];
    const int32_t heat = units * f->heat * f->warm;
    *amount_at(s, place, brick, cell) = (uint16_t)(*amount_at(s, place, brick, cell) + units);
    *heat_at(s, brick, cell) += heat;
    s->heat.added += heat;
    s->cells.world->ledger[f->material].added += (int64_t)units * MIXTURE_UNIT;
}

// Takes units out, with their part of the heat; returns that. Who calls it books both.
static int32_t take(mixture *s, int32_t place, int32_t brick, int32_t cell, int32_t units)
{
    int32_t *heat = heat_at(s, brick, cell);
    const int32_t taken = rule_mixture_carried(*heat, weight_of(s, brick, cell), units * s->order.fluid[place].heat);
    *amount_at(s, place, brick, cell) = (uint16_t)(*amount_at(s, place, brick, cell) - units);
    *heat -= taken;
    return taken;
}

static void remove_units(mixture *s, int32_t place, int32_t brick, int32_t cell, int32_t units)
{
    if (units == 0) return;
    s->heat.removed += take(s, place, brick, cell, units);
    s->cells.world->ledger[s->order.fluid[place].material].removed += (int64_t)units * MIXTURE_UNIT;
}

// ---- What the cells' functions ask ---------------------------------------------------------------------------------------------

static void read_drops(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t drops[BRICK_CELLS])
{
    const mixture_order *order = mixture_order_of((const mixture *)c, pool);
    memset(drops, 0, BRICK_CELLS * sizeof *drops);
    for (int32_t i = 0; i < order->count; i++) {
        const uint16_t *amount = mixture_amounts(pool, &order->fluid[i], brick);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) drops[cell] += amount[cell] * MIXTURE_UNIT;
    }
}

static void put_drops(fluid_cells *c, int32_t brick, const int32_t drops[BRICK_CELLS], const uint8_t *materials)
{
    (void)c, (void)brick, (void)drops, (void)materials;
    assert(!"drops of several materials are put one by one");
}

static int32_t full_drops(const fluid_cells *c, int32_t brick, int32_t cell)
{
    (void)c, (void)brick, (void)cell;
    return WEIR_FULL;
}

uint32_t mixture_holds(const mixture *s, int32_t brick)
{
    uint32_t holds = 0;
    for (int32_t i = 0; i < s->order.count; i++) {
        const uint16_t *amount = mixture_amounts(&s->cells.pool, &s->order.fluid[i], brick);
        uint16_t any = 0;
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) any |= amount[cell];
        holds |= any ? UINT32_C(1) << s->order.fluid[i].material : 0;
    }
    return holds;
}

// And notes what it holds.
static bool is_wet(const fluid_cells *c, int32_t brick)
{
    const mixture *s = (const mixture *)c;
    if (brick >= s->brick_room || brick >= s->cells.pool.end) return false;
    s->holds[brick] = mixture_holds(s, brick);
    return s->holds[brick] != 0;
}

void mixture_count(mixture *s, int32_t brick)
{
    s->cells.pool.wet[brick] = is_wet(&s->cells, brick);
}

// Solids stay where they are when something is drained.
static int32_t room_for(const fluid_cells *c, int32_t brick, int32_t cell, weir_material material)
{
    const mixture *s = (const mixture *)c;
    const mixture_order *o = &s->order;
    const int32_t gases = o->liquids + o->gases;
    if (material == WEIR_NOTHING) return sum_of(s, brick, cell, 0, gases);
    const int32_t place = mixture_place(o, material);
    if (place < 0) return 0;
    const int32_t liquid = sum_of(s, brick, cell, 0, o->liquids), gas = sum_of(s, brick, cell, o->liquids, gases);
    const int32_t capacity = MIXTURE_FULL - sum_of(s, brick, cell, gases, o->count);
    if (o->fluid[place].kind == WEIR_KIND_SOLID) return rule_mixture_max(0, capacity - liquid);
    if (!rule_mixture_open(capacity) || liquid > capacity) return 0;
    return rule_mixture_max(0, o->fluid[place].kind == WEIR_KIND_GAS ? MIXTURE_FULL - gas : capacity - liquid);
}

// What is taken out is that of which there is most, then the next.
static void move_units(fluid_cells *c, int32_t brick, int32_t cell, weir_material material, int32_t units)
{
    mixture *s = (mixture *)c;
    s->cells.pool.rest[brick].calm = 0;
    if (material != WEIR_NOTHING) {
        add(s, mixture_place(&s->order, material), brick, cell, units);
        return;
    }
    while (units > 0) {
        int32_t most = 0;
        for (int32_t i = 1; i < s->order.liquids + s->order.gases; i++)
            if (*amount_at(s, i, brick, cell) > *amount_at(s, most, brick, cell)) most = i;
        const int32_t part = rule_mixture_min(units, *amount_at(s, most, brick, cell));
        assert(part > 0);
        remove_units(s, most, brick, cell, part);
        units -= part;
    }
}

const cell_store mixture_cell_store = {
    .read = read_drops, .put = put_drops, .full = full_drops, .wet = is_wet, .room = room_for, .move = move_units};

// ---- Fills -------------------------------------------------------------------------------------------------------------------

// What a fill makes of a cell: so many units of the one material, and nothing else. What is there of it stays, as warm as it is.
static bool fill_cell(mixture *s, int32_t brick, int32_t cell, const world_edit *edit)
{
    const int32_t units = cells_wanted(&s->cells, edit, brick, cell) / MIXTURE_UNIT;
    int32_t most = -1, place = units > 0 ? mixture_place(&s->order, edit->material) : -1;
    for (int32_t i = 0; i < s->order.count; i++)
        if (*amount_at(s, i, brick, cell) > (most < 0 ? 0 : *amount_at(s, most, brick, cell))) most = i;
    if (edit->values && most >= 0) {
        if (sum_of(s, brick, cell, 0, s->order.count) == units) return false;
        if (units > 0) place = most;
    }
    bool changed = false;
    for (int32_t i = 0; i < s->order.count; i++) {
        const int32_t there = *amount_at(s, i, brick, cell), wanted = i == place ? units : 0;
        if (there == wanted) continue;
        changed = true;
        if (there > wanted) remove_units(s, i, brick, cell, there - wanted);
    }
    if (place >= 0 && *amount_at(s, place, brick, cell) < units)
        add(s, place, brick, cell, units - *amount_at(s, place, brick, cell));
    return changed;
}

// A reservoir brings its material to the level, beside what else is there: other materials stay. What is pressed into cells below the
// surface stays too.
static bool keep_cell(mixture *s, int32_t brick, int32_t cell, const world_edit *edit)
{
    const mixture_order *o = &s->order;
    const int32_t place = mixture_place(o, edit->material), wanted = cells_wanted(&s->cells, edit, brick, cell) / MIXTURE_UNIT;
    const int32_t has = *amount_at(s, place, brick, cell), gases = o->liquids + o->gases;
    const int32_t volume = sum_of(s, brick, cell, 0, o->liquids) + sum_of(s, brick, cell, gases, o->count);
    const int32_t others = o->fluid[place].kind == WEIR_KIND_GAS ? 0 : volume - has;
    const int32_t more =
        rule_mixture_min(rule_mixture_max(0, wanted - others) - has, room_for(&s->cells, brick, cell, edit->material));
    if (more > 0) {
        add(s, place, brick, cell, more);
        return true;
    }
    if (more >= 0 || wanted == MIXTURE_FULL) return false;
    remove_units(s, place, brick, cell, -more);
    return true;
}

// Brings what a cell holds to a temperature.
static bool warm_cell(mixture *s, int32_t brick, int32_t cell, int32_t quarters)
{
    int32_t *heat = heat_at(s, brick, cell);
    const int32_t more = weight_of(s, brick, cell) * quarters - *heat;
    if (more > 0)
        s->heat.added += more;
    else
        s->heat.removed -= more;
    *heat += more;
    return more != 0;
}

static int32_t quarters_of(float kelvins)
{
    const int32_t quarters = (int32_t)(kelvins * 4 + 0.5f);
    return quarters > 0 ? quarters : 1;
}

static void apply_to_cells(mixture *s, const world_edit *edit)
{
    brick_pool *pool = &s->cells.pool;
    const int32_t quarters = edit->kind == EDIT_WARM ? quarters_of(edit->value) : 0;
    fluid_view view;
    brick_mask mask;
    cells_view(s, false, &view);
    region_walk walk = region_walk_live(&view, edit->place.box);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_mask(&edit->place, pool->coord[b], &mask) || (edit->kind == EDIT_WARM && !pool->wet[b])) continue;
        bool changed = false;
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            if (mask.plane[z] & pool->open[b].plane[z]) bricks_read(pool, b);
            for (uint64_t left = mask.plane[z] & pool->open[b].plane[z]; left;) {
                const int32_t cell = region_take(&left) + 64 * z;
                changed |= edit->kind == EDIT_WARM ? warm_cell(s, b, cell, quarters)
                           : edit->surface.up != 0 ? keep_cell(s, b, cell, edit)
                                                   : fill_cell(s, b, cell, edit);
            }
        }
        if (!changed) continue;
        bricks_write(pool, b);
        pool->rest[b].calm = 0;
        mixture_count(s, b);
        *(edit->kind == EDIT_FILL ? &pool->changed[b] : &cells_flags(&s->cells)[b]) = s->cells.world->change;
    }
}

weir_status mixture_materials_prepare(void *state, uint32_t materials)
{
    return mixture_know(state, materials);
}

weir_status mixture_prepare(void *state, const world_edit *edit)
{
    mixture *s = state;
    weir_status status = WEIR_OK;
    if (edit->kind == EDIT_FILL && (edit->values || edit->drops > 0 || edit->surface.up != 0))
        status = mixture_know(s, UINT32_C(1) << edit->material);
    if (status == WEIR_OK) status = cells_prepare(state, edit);
    return status == WEIR_OK ? mixture_reserve_tables(s) : status;
}

void mixture_apply(void *state, const world_edit *edit)
{
    mixture *s = state;
    switch (edit->kind) {
    case EDIT_FILL:
    case EDIT_KEEP:
    case EDIT_WARM: apply_to_cells(s, edit); break;
    case EDIT_POUR: cells_pour(&s->cells, edit); break;
    default: assert(!"mixture has no such edit");
    }
}

// ---- Terrain and sides -------------------------------------------------------------------------------------------------------

static void empty_cell(mixture *s, int32_t brick, int32_t cell)
{
    for (int32_t i = 0; i < s->order.count; i++) remove_units(s, i, brick, cell, *amount_at(s, i, brick, cell));
}

// What lay in cells that are solid now is taken out before the cells' functions look.
static void empty_shut_cells(mixture *s, int32_t brick)
{
    const brick_pool *pool = &s->cells.pool;
    brick_mask open;
    terrain_open(&s->cells.world->terrain, pool->coord[brick], &open);
    bricks_write(pool, brick);
    for (int32_t z = 0; z < BRICK_EDGE; z++)
        for (uint64_t left = pool->open[brick].plane[z] & ~open.plane[z]; left;)
            empty_cell(s, brick, region_take(&left) + 64 * z);
}

void mixture_terrain_changed(void *state, weir_box bricks)
{
    mixture *s = state;
    fluid_view view;
    cells_view(s, false, &view);
    const weir_box cells = {{8 * bricks.min.x, 8 * bricks.min.y, 8 * bricks.min.z},
                            {8 * bricks.max.x, 8 * bricks.max.y, 8 * bricks.max.z}};
    region_walk walk = region_walk_live(&view, cells);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        s->cells.pool.rest[b].calm = 0;
        if (s->cells.pool.wet[b]) empty_shut_cells(s, b);
    }
    cells_terrain_changed(state, bricks);
}

// A cell's share is 255 when a cell's worth became terrain. A game's own terrain is not Weir's to build.
void mixture_harden(mixture *s)
{
    enum { OF_SHARE = MIXTURE_FULL / 255 };
    weir_world *world = s->cells.world;
    const brick_pool *pool = &s->cells.pool;
    uint8_t shares[BRICK_CELLS];
    for (int32_t b = 1; b < pool->end && s->hardened && s->order.hardens; b++) {
        uint16_t *units = s->hardened + BRICK_CELLS * (size_t)b, any = 0;
        for (int32_t cell = 0; cell < BRICK_CELLS && pool->alive[b]; cell++) any |= units[cell];
        if (!any) continue;
        terrain_shares(&world->terrain, pool->coord[b], shares);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            const int32_t more = (units[cell] + OF_SHARE / 2) / OF_SHARE, share = shares[cell] + more;
            if (more > 0 && world_can_form(world, pool->coord[b]))
                world_form(world, pool->coord[b], cell, (uint8_t)(share < 255 ? share : 255));
        }
        memset(units, 0, BRICK_CELLS * sizeof *units);
    }
}

static bool lies_inside(const terrain *t, weir_coord brick)
{
    const weir_coord low = brick_cell(brick, 0), high = brick_cell(brick, BRICK_CELLS - 1);
    return terrain_inside(t, low) && terrain_inside(t, high);
}

// What lies behind an open side leaves the world.
void mixture_drain_sides(mixture *s)
{
    weir_world *world = s->cells.world;
    brick_pool *pool = &s->cells.pool;
    for (int32_t b = 1; b < pool->end && world->terrain.open_sides; b++) {
        if (!pool->alive[b] || !pool->wet[b] || lies_inside(&world->terrain, pool->coord[b])) continue;
        bool changed = false;
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (terrain_inside(&world->terrain, brick_cell(pool->coord[b], cell))) continue;
            for (int32_t i = 0; i < s->order.count; i++) {
                const int32_t units = *amount_at(s, i, b, cell);
                if (units == 0) continue;
                s->heat.drained += take(s, i, b, cell, units);
                world->ledger[s->order.fluid[i].material].drained += (int64_t)units * MIXTURE_UNIT;
                changed = true;
            }
        }
        if (!changed) continue;
        pool->rest[b].calm = 0;
        cells_flags(&s->cells)[b] = world->change;
        mixture_count(s, b);
    }
}
