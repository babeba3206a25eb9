// Standing pressure at fills. The columns of cells along gravity that a fill added to are gone through from the top of their water to its
// bottom, above and below the fill too. Where the bottom stands on something the pressure of every cell becomes that of the water above
// it; without that the bottom of a deep pool would learn of it wave by wave, and heave.
#include "solvers/momentum/standing.h"

#include "solvers/momentum/momentum.h"
#include "world/edits.h"
#include <assert.h>
#include <string.h>

// The columns of a fill.
typedef struct fill_columns {
    weir_box box;
    int32_t axis, down;       // of gravity: its axis, and its sign on it
    int32_t across, further;  // the other axes
    int32_t width;            // columns along `across`
} fill_columns;

static int32_t part(weir_coord c, int32_t axis)
{
    return axis == 0 ? c.x : axis == 1 ? c.y : c.z;
}

static void set_part(weir_coord *c, int32_t axis, int32_t value)
{
    *(axis == 0 ? &c->x : axis == 1 ? &c->y : &c->z) = value;
}

// False without gravity, if nothing is filled in, and for gas.
static bool find_columns(const momentum *m, const world_edit *edit, fill_columns *f)
{
    const backend_down down = backend_find_down(&m->base.cells.world->params);
    if (edit->kind != EDIT_FILL || down.sign == 0 || momentum_is_gas(m) ||
        (!edit->values && edit->surface.up == 0 && edit->drops == 0))
        return false;
    *f = (fill_columns){.box = edit->place.box, .axis = down.axis, .down = down.sign};
    f->across = down.axis == 0 ? 1 : 0;
    f->further = down.axis == 2 ? 1 : 2;
    f->width = part(f->box.max, f->across) - part(f->box.min, f->across);
    return true;
}

static size_t column_count(const fill_columns *f)
{
    return (size_t)f->width * (size_t)((int64_t)part(f->box.max, f->further) - part(f->box.min, f->further));
}

static size_t column_of(const fill_columns *f, weir_coord c)
{
    return (size_t)(part(c, f->across) - part(f->box.min, f->across)) +
           (size_t)f->width * (size_t)((int64_t)part(c, f->further) - part(f->box.min, f->further));
}

// Adds the drops in the fill's cells to its columns, or takes them off.
static void count_columns(momentum *m, const world_edit *edit, const fill_columns *f, int64_t sign)
{
    fluid_cells *c = &m->base.cells;
    fluid_view view;
    brick_mask mask;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, f->box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_mask(&edit->place, view.coord[brick], &mask)) continue;
        bricks_read(&c->pool, brick);
        int32_t room[BRICK_CELLS];
        const int32_t *drops = cells_drops(c, &c->pool, brick, room);
        for (int32_t z = 0; z < BRICK_EDGE; z++)
            for (uint64_t left = mask.plane[z]; left;) {
                const int32_t cell = region_take(&left) + 64 * z;
                m->filled[column_of(f, brick_cell(view.coord[brick], cell))] += sign * drops[cell];
            }
    }
}

weir_status momentum_prepare(void *state, const world_edit *edit)
{
    momentum *m = state;
    memory *mem = &m->base.cells.world->mem;
    fill_columns f;
    weir_status status = cells_prepare(state, edit);
    if (status != WEIR_OK || !find_columns(m, edit, &f)) return status;
    const size_t count = column_count(&f);
    if (count <= m->filled_room) return WEIR_OK;
    memory_free(mem, m->filled, m->filled_room * sizeof *m->filled);
    m->filled = memory_alloc(mem, count * sizeof *m->filled);
    m->filled_room = m->filled ? count : 0;
    return m->filled ? WEIR_OK
                     : status_fail(WEIR_ERROR_MEMORY, "memory ran out for the pressure of %zu columns of water", count);
}

// A place in a column.
typedef struct cursor {
    weir_coord at;
    int32_t brick, cell;  // the nothing where no brick is
} cursor;

static void go(const brick_pool *pool, cursor *c, int32_t axis, int32_t step)
{
    const int32_t before = part(c->at, axis), now = before + step;
    set_part(&c->at, axis, now);
    if (now >> 3 != before >> 3) {
        c->brick = bricks_find(pool, (weir_coord){c->at.x >> 3, c->at.y >> 3, c->at.z >> 3});
        if (c->brick != BRICK_NOTHING) bricks_read(pool, c->brick);
    }
    c->cell = (c->at.x & 7) + 8 * (c->at.y & 7) + 64 * (c->at.z & 7);
}

static int32_t drops_at(const fluid_cells *c, const cursor *at)
{
    return at->brick == BRICK_NOTHING ? 0 : bricks_ints(&c->pool, c->layout->mass, at->brick)[at->cell];
}

static bool is_open(const fluid_cells *c, const cursor *at)
{
    if (at->brick == BRICK_NOTHING) return terrain_share(&c->world->terrain, at->at) < TERRAIN_SOLID;
    return c->pool.open[at->brick].plane[at->cell >> 6] >> (at->cell & 63) & 1;
}

static float cells_of(int64_t drops)
{
    return (float)((double)drops / WEIR_FULL);
}

// Raises the pressure from the top of some water to its bottom; that of water which sleeps is its body's. Tells whether it did so by much.
static bool raise_run(momentum *m, const fill_columns *f, cursor at, int64_t added)
{
    const fluid_cells *c = &m->base.cells;
    const float g = backend_find_down(&c->world->params).head;
    bool jumped = false;
    int64_t above = 0;
    for (int32_t drops; (drops = drops_at(c, &at)) > 0; go(&c->pool, &at, f->axis, f->down)) {
        float *p = bricks_floats(&c->pool, c->layout->pressure, at.brick) + at.cell;
        above += drops < WEIR_FULL ? drops : WEIR_FULL;
        const float raised = rule_standing(*p, cells_of(above), cells_of(added), g);
        if (raised == *p || c->pool.rest[at.brick].asleep) continue;
        bricks_write(&c->pool, at.brick);
        jumped |= raised - *p > STANDING_JUMP * g;
        *p = raised;
    }
    return jumped;
}

// Goes down a column that a fill added to, water by water.
static bool raise_column(momentum *m, const fill_columns *f, weir_coord top, int64_t added)
{
    const fluid_cells *c = &m->base.cells;
    const int32_t bottom = part(f->down < 0 ? f->box.min : f->box.max, f->axis) - (f->down < 0 ? 0 : 1);
    bool jumped = false;
    cursor at = {top, bricks_find(&c->pool, (weir_coord){top.x >> 3, top.y >> 3, top.z >> 3}), 0};
    if (at.brick != BRICK_NOTHING) bricks_read(&c->pool, at.brick);
    go(&c->pool, &at, f->axis, 0);
    while (drops_at(c, &at) > 0) go(&c->pool, &at, f->axis, -f->down);
    go(&c->pool, &at, f->axis, f->down);
    while ((part(at.at, f->axis) - bottom) * f->down <= 0) {
        const cursor first = at;
        while (drops_at(c, &at) > 0) go(&c->pool, &at, f->axis, f->down);
        const bool wet = part(first.at, f->axis) != part(at.at, f->axis);
        if (wet && !is_open(c, &at)) jumped |= raise_run(m, f, first, added);
        go(&c->pool, &at, f->axis, f->down);
    }
    return jumped;
}

// After the fill: tells whether the pressure has jumped somewhere.
static bool raise_columns(momentum *m, const fill_columns *f)
{
    bool jumped = false;
    weir_coord top = f->down < 0 ? f->box.max : f->box.min;
    set_part(&top, f->axis, part(top, f->axis) - (f->down < 0 ? 1 : 0));
    for (int32_t j = part(f->box.min, f->further); j < part(f->box.max, f->further); j++) {
        for (int32_t i = part(f->box.min, f->across); i < part(f->box.max, f->across); i++) {
            set_part(&top, f->across, i);
            set_part(&top, f->further, j);
            const int64_t added = m->filled[column_of(f, top)];
            if (cells_of(added) >= STANDING_LEAST) jumped |= raise_column(m, f, top, added);
        }
    }
    return jumped;
}

bool momentum_fill(momentum *m, const world_edit *edit)
{
    fill_columns f;
    if (!find_columns(m, edit, &f)) {
        cells_apply(m, edit);
        return false;
    }
    assert(column_count(&f) <= m->filled_room);
    memset(m->filled, 0, column_count(&f) * sizeof *m->filled);
    count_columns(m, edit, &f, -1);
    cells_apply(m, edit);
    count_columns(m, edit, &f, 1);
    return raise_columns(m, &f);
}
