// Bricks that leave a world and come back (world/regions.c). Water beside a box that has left finds nothing there, as if it were solid. What
// slept goes on sleeping, in both parts: the links of its bricks lead to nobody for a while.
#include "cells/sleep.h"

#include <assert.h>

enum { APART_MOST = WEIR_FULL / 10 };  // of the heads of sleeping water that goes on sleeping side by side

static weir_box around(weir_box bricks)
{
    return (weir_box){{8 * (bricks.min.x - 1), 8 * (bricks.min.y - 1), 8 * (bricks.min.z - 1)},
                      {8 * (bricks.max.x + 1), 8 * (bricks.max.y + 1), 8 * (bricks.max.z + 1)}};
}

static weir_box cells_of(weir_box bricks)
{
    return (weir_box){{8 * bricks.min.x, 8 * bricks.min.y, 8 * bricks.min.z},
                      {8 * bricks.max.x, 8 * bricks.max.y, 8 * bricks.max.z}};
}

void cells_look_around(fluid_cells *c, weir_box bricks)
{
    fluid_view view;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, around(bricks));
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        c->pool.closed[b] = 0;
        c->pool.rest[b].crossed = c->sleep != NULL;
        c->pool.changed[b] = c->world->change;
    }
    c->pool.topology_dirty = true;
    c->pool.version++;
}

// ---- Flow over the border ----------------------------------------------------------------------------------------------------

static weir_coord before(weir_coord at, int32_t axis)
{
    return (weir_coord){at.x - (axis == 0), at.y - (axis == 1), at.z - (axis == 2)};
}

bool cells_is_border(weir_box bricks, weir_coord at, int32_t axis)
{
    return !region_holds(bricks, at) && region_holds(bricks, before(at, axis));
}

// Lower borders are faces of bricks in the box, and go with them.
bool cells_read_border(const fluid_cells *c, weir_box bricks, int32_t brick, int32_t axis, cells_border *border)
{
    const weir_coord at = c->pool.coord[brick];
    if (c->layout->flow == CHANNEL_NONE || !cells_is_border(bricks, at, axis)) return false;
    const float *flow = bricks_floats(&c->pool, c->layout->flow + axis, brick);
    bool any = false;
    *border = (cells_border){.at = at, .axis = axis};
    for (int32_t i = 0; i < 64; i++) {
        border->flow[i] = flow[cells_low_face(axis, i)];
        any |= border->flow[i] != 0;
    }
    return any;
}

// Before flow of a brick is changed.
static float *write_flow(fluid_cells *c, int32_t brick, int32_t axis)
{
    bricks_write(&c->pool, brick);
    if (c->pool.rest[brick].asleep) sleep_changed(c, brick);
    return bricks_floats(&c->pool, c->layout->flow + axis, brick);
}

// Nothing flows to where nothing is.
static void stop_at_border(fluid_cells *c, weir_box bricks)
{
    fluid_view view;
    cells_border border;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, around(bricks));
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        for (int32_t axis = 0; axis < 3; axis++) {
            if (!cells_read_border(c, bricks, b, axis, &border)) continue;
            float *flow = write_flow(c, b, axis);
            for (int32_t i = 0; i < 64; i++) flow[cells_low_face(axis, i)] = 0;
        }
    }
}

// The open cells of a brick, also where none is there: it will be when it is wanted.
static brick_mask find_open(const fluid_cells *c, weir_coord at)
{
    const int32_t brick = bricks_find(&c->pool, at);
    brick_mask open = c->pool.open[brick];
    if (brick == BRICK_NOTHING) terrain_open(&c->world->terrain, at, &open);
    return open;
}

// What flowed goes on, as far as both cells are still open.
static void go_on_at_border(fluid_cells *c, const cells_border *border)
{
    const int32_t brick = bricks_find(&c->pool, border->at);
    if (brick == BRICK_NOTHING) return;
    const brick_mask open = find_open(c, before(border->at, border->axis));
    float *flow = write_flow(c, brick, border->axis);
    for (int32_t i = 0; i < 64; i++) {
        const int32_t cell = cells_low_face(border->axis, i);
        if (mask_has(&c->pool.open[brick], cell) && mask_has(&open, cell + (7 << 3 * border->axis)))
            flow[cell] = border->flow[i];
    }
}

// Not at once when a part comes back: what it flowed into may follow before the next update.
void cells_end_stale_flow(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    if (!c->stale_flow) return;
    c->stale_flow = false;
    if (c->layout->flow == CHANNEL_NONE) return;
    bricks_catch_up(pool);
    for (int32_t b = 1; b < pool->end; b++) {
        for (int32_t axis = 0; pool->alive[b] && axis < 3; axis++) {
            const float *flow = bricks_floats(pool, c->layout->flow + axis, b);
            const brick_mask *open = &pool->open[b], *low = &pool->open[bodies_neighbour(pool, b, axis)];
            for (int32_t i = 0; i < 64; i++) {
                const int32_t cell = cells_low_face(axis, i);
                if (flow[cell] != 0 && !(mask_has(open, cell) && mask_has(low, cell + (7 << 3 * axis))))
                    write_flow(c, b, axis)[cell] = 0;
            }
        }
    }
}

// ---- Leaving ---------------------------------------------------------------------------------------------------------------

void cells_brick_leaves(fluid_cells *c, int32_t brick)
{
    deaths_add(&c->deaths, &c->world->mem, c->pool.coord[brick], c->world->change);
    if (c->ended) c->ended(c, brick);
    bricks_die(&c->pool, brick);
}

void cells_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX])
{
    fluid_cells *c = state;
    fluid_view view;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, cells_of(bricks));
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        held[c->material] += cells_count_brick(c, &c->pool, b) + c->pool.rest[b].owed;
        c->pool.rest[b].owed = 0;
        cells_brick_leaves(c, b);
    }
    if (c->sleep) c->sleep->dirty = true;
    stop_at_border(c, bricks);
    cells_look_around(c, bricks);
}

// ---- Coming back -------------------------------------------------------------------------------------------------------------

int32_t cells_brick_arrives(fluid_cells *c, weir_coord at, const brick_mask *open)
{
    const int32_t brick = bricks_born(&c->pool, at, open);
    c->pool.changed[brick] = c->world->change;
    deaths_remove(&c->deaths, at);
    return brick;
}

static void arrive(fluid_cells *c, const cells_arrival *a, int32_t from)
{
    brick_pool *pool = &c->pool;
    const int32_t b = cells_brick_arrives(c, a->pool.coord[from], &a->pool.open[from]);
    if (pool->remote) bricks_write(pool, b);
    for (int32_t i = 0; i < a->channel_count; i++) {
        const int32_t channel = a->channels[i];
        memcpy(bricks_values(pool, channel, b), bricks_values(&a->pool, channel, from), bricks_channel_bytes(pool, channel));
    }
    pool->wet[b] = a->pool.wet[from];
    pool->rest[b] = a->pool.rest[from];
    if (!pool->rest[b].asleep) return;
    pool->phase[b] = PHASE_ASLEEP;
    pool->awake--;
    sleep_changed(c, b);
}

// Flow over a face to a cell that is not open any more is none.
static void shut_faces(fluid_cells *c, int32_t brick)
{
    for (int32_t axis = 0; axis < 3; axis++) {
        const brick_mask open = find_open(c, before(c->pool.coord[brick], axis));
        float *flow = write_flow(c, brick, axis);
        for (int32_t i = 0; i < 64; i++) {
            const int32_t cell = cells_low_face(axis, i);
            if (!mask_has(&open, cell + (7 << 3 * axis))) flow[cell] = 0;
        }
    }
}

// Whether water of two bricks side by side sleeps at one level.
static bool sleep_alike(const brick_pool *pool, int32_t a, int32_t b)
{
    const brick_rest *r = &pool->rest[a], *s = &pool->rest[b];
    if (!pool->wet[a] || !pool->wet[b] || !r->asleep || !s->asleep) return false;
    if (r->head == REST_NO_HEAD || s->head == REST_NO_HEAD) return false;
    return r->head - s->head <= APART_MOST && s->head - r->head <= APART_MOST;
}

// Something is another beside the box: water there moves, unless it sleeps on as one.
static void stir(fluid_cells *c, weir_box bricks, weir_coord at)
{
    static const int8_t faces[6][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const brick_pool *pool = &c->pool;
    const int32_t outside = bricks_find(pool, at);
    for (int32_t f = 0; f < 6; f++) {
        const weir_coord next = {at.x + faces[f][0], at.y + faces[f][1], at.z + faces[f][2]};
        if (!region_holds(bricks, next)) continue;
        const int32_t inside = bricks_find(pool, next);
        if (inside != BRICK_NOTHING && c->layout->flow != CHANNEL_NONE) shut_faces(c, inside);
        brick_mask open;
        if (!c->sleep || sleep_alike(pool, outside, inside)) continue;
        if (outside == BRICK_NOTHING && !terrain_open(&c->world->terrain, at, &open)) continue;
        if (inside == BRICK_NOTHING && !terrain_open(&c->world->terrain, next, &open)) continue;
        if (pool->wet[outside]) pool->rest[outside].calm = 0;
        if (pool->wet[inside]) pool->rest[inside].calm = 0;
    }
}

void cells_region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes)
{
    fluid_cells *c = state;
    const cells_arrival *a = arrival;
    for (int32_t b = 1; a && b < a->pool.end; b++) arrive(c, a, b);
    for (int32_t i = 0; a && i < a->border_count; i++) go_on_at_border(c, &a->borders[i]);
    cells_look_around(c, bricks);
    c->stale_flow = true;
    for (int32_t i = 0; i < changes->count; i++) stir(c, bricks, changes->stirred[i]);
    if (!c->sleep) return;
    c->sleep->dirty = true;
    c->sleep->noted = true;
    c->sleep->version = UINT64_MAX;
    if (changes->held) sleep_wake(c, bricks);
}
