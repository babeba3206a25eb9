// Reservoirs: fluid that is held at a level (EDIT_KEEP).
//
// Only what is awake is brought back to the level, since nothing else moves. A sleeping body that reaches into the box keeps its level too: what
// it is owed, which would be spread over it, goes to the account. So a lake that is fed or drained anywhere neither rises nor falls, and
// costs what moves in it.
#include "cells/sleep.h"

#include "world/edits.h"

typedef struct keep_request {
    const fluid_cells *cells;
    weir_box box;
    edit_surface surface;
} keep_request;

// Whether the surface stands in or over an open cell of a brick.
static bool wants_fluid(const void *context, weir_coord brick)
{
    const keep_request *request = context;
    brick_mask mask, open;
    if (!region_box_mask(request->box, brick, &mask)) return false;
    if (!terrain_open(&request->cells->world->terrain, brick, &open)) return false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = mask.plane[z] & open.plane[z]; left;) {
            const weir_coord cell = brick_cell(brick, region_take(&left) + 64 * z);
            if (cells_whole_units(request->cells, edit_drops_under(&request->surface, cell)) > 0) return true;
        }
    }
    return false;
}

static keep_request request_of(const fluid_cells *c, const world_source *source)
{
    const world_edit edit = edit_of_reservoir(c->world, source, EDIT_KEEP);
    return (keep_request){c, source->box, edit.surface};
}

weir_status cells_touch_reservoir(fluid_cells *c, const world_source *source)
{
    const keep_request request = request_of(c, source);
    return cells_touch_some(c, source->box, wants_fluid, &request);
}

bool cells_reservoir_lacks(const fluid_cells *c, const world_source *source, int32_t brick)
{
    const keep_request request = request_of(c, source);
    return !c->pool.wet[brick] && wants_fluid(&request, c->pool.coord[brick]);
}

// What sleeping bodies are owed that reach into the box.
static void keep_sleeping(fluid_cells *c, const fluid_view *view, weir_box box)
{
    region_walk walk = region_walk_live(view, box);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!c->pool.rest[b].asleep || !c->sleep->body[b]) continue;
        const int64_t owed = bodies_forgive(c, c->sleep->body[b]);
        if (owed > 0)
            cells_ledger(c)->removed += owed;
        else
            cells_ledger(c)->added -= owed;
    }
}

static void fetch_awake(const fluid_cells *c, const fluid_view *view, weir_box box)
{
    enum { BATCH = 256 };
    int32_t bricks[BATCH], count = 0;
    region_walk walk = region_walk_live(view, box);
    for (int32_t b; view->fetch && (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (c->pool.phase[b] != PHASE_AWAKE) continue;
        bricks[count++] = b;
        if (count < BATCH) continue;
        fluid_fetch(view, bricks, count);
        count = 0;
    }
    fluid_fetch(view, bricks, count);
}

// What is pressed into cells below the surface stays there. Bricks whose fluid is as it should be are only read: a device need not be told of
// them.
static void keep_brick(fluid_cells *c, int32_t brick, const brick_mask *cells, const world_edit *edit)
{
    brick_pool *pool = &c->pool;
    bricks_read(pool, brick);
    int32_t room[BRICK_CELLS], *mass = cells_drops(c, pool, brick, room);
    bool changed = false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z] & pool->open[brick].plane[z]; left;) {
            const int32_t cell = region_take(&left) + 64 * z;
            const int32_t drops = cells_wanted(c, edit, brick, cell), more = drops - mass[cell];
            const bool below = drops == cells_full(c, brick, cell);
            if (more == 0 || (more < 0 && below)) continue;
            if (!changed) bricks_write(pool, brick);
            changed = true;
            if (more > 0)
                cells_ledger(c)->added += more;
            else
                cells_ledger(c)->removed -= more;
            mass[cell] = drops;
        }
    }
    if (!changed) return;
    cells_put_drops(c, pool, brick, mass, NULL);
    cells_count_brick(c, pool, brick);
    cells_flags(c)[brick] = c->world->change;
}

void cells_keep(fluid_cells *c, const world_edit *edit)
{
    fluid_view view;
    brick_mask mask;
    cells_view(c, false, &view);
    if (c->sleep) keep_sleeping(c, &view, edit->place.box);
    fetch_awake(c, &view, edit->place.box);
    region_walk walk = region_walk_live(&view, edit->place.box);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (c->pool.phase[b] == PHASE_AWAKE && region_box_mask(edit->place.box, view.coord[b], &mask))
            keep_brick(c, b, &mask, edit);
}

void cells_params_change(void *state, const weir_params *next)
{
    fluid_cells *c = state;
    const weir_vec now = c->world->params.gravity, then = next->gravity;
    c->material = solver_material(c->world->solver, next);
    c->pool.topology_dirty |= now.x != then.x || now.y != then.y || now.z != then.z;
}
