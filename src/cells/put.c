// Fluid that comes from another world, brick by brick (world/delta.h): the fills of whole bricks, and the flow through their faces.
#include "cells/cells.h"

#include <assert.h>

// The bricks that a device has, many at a time.
static void fetch_bricks(const fluid_cells *c, const weir_coord *bricks, int32_t count)
{
    enum { BATCH = 256 };
    int32_t found[BATCH], n = 0;
    for (int32_t i = 0; i < count && c->pool.remote; i++) {
        const int32_t b = bricks_find(&c->pool, bricks[i]);
        if (b != BRICK_NOTHING) found[n++] = b;
        if (n < BATCH && i < count - 1) continue;
        bricks_fetch(&c->pool, found, n);
        n = 0;
    }
}

// Bricks that dried up in the last time end here, since a world that is never stepped has no other time for it.
weir_status cells_put_prepare(void *state, const weir_coord *bricks, int32_t count)
{
    fluid_cells *c = state;
    weir_status status = cells_topology(c);
    if (status == WEIR_OK) status = cells_touch_list(c, bricks, count);
    if (status == WEIR_OK) fetch_bricks(c, bricks, count);
    return status;
}

static bool put_drops(fluid_cells *c, int32_t brick, const fluid_brick *from)
{
    const brick_pool *pool = &c->pool;
    int32_t room[BRICK_CELLS], *mass = cells_drops(c, pool, brick, room);
    float *pressure = c->layout->pressure == CHANNEL_NONE ? NULL : bricks_floats(pool, c->layout->pressure, brick);
    if (memcmp(mass, from->drops, sizeof from->drops) == 0) return false;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t more = from->drops[cell] - mass[cell];
        if (more > 0)
            cells_ledger(c)->added += more;
        else
            cells_ledger(c)->removed -= more;
        mass[cell] = from->drops[cell];
        if (pressure && mass[cell] == 0) pressure[cell] = 0;
    }
    cells_put_drops(c, pool, brick, mass, NULL);
    return true;
}

static bool is_open(const fluid_cells *c, int32_t brick, int32_t cell)
{
    return brick != BRICK_NOTHING && mask_has(&c->pool.open[brick], cell);
}

// Flow between cells that are not open both is none; it is cut to what the solver moves.
static void put_flow(const fluid_cells *c, int32_t brick, const fluid_brick *from)
{
    const brick_pool *pool = &c->pool;
    const float speed = c->world->solver->speed, most = solver_flow_max(c->world);
    for (int32_t axis = 0; axis < 3; axis++) {
        float *to = bricks_floats(pool, c->layout->flow + axis, brick);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            int32_t before, there = fluid_step((const int32_t(*)[27])pool->near, brick, cell, axis, -1, &before);
            float flow = from->flow[axis][cell];
            flow = flow > most ? most : flow < -most ? -most : flow;
            to[cell] = is_open(c, brick, cell) && is_open(c, there, before) ? flow / speed : 0;
        }
    }
}

// Flow of fluid that is gone. It would move the next that comes.
static void stop_flow(const fluid_cells *c, int32_t brick)
{
    for (int32_t axis = 0; axis < 3; axis++)
        memset(bricks_values(&c->pool, c->layout->flow + axis, brick), 0,
               bricks_channel_bytes(&c->pool, c->layout->flow + axis));
}

void cells_put(void *state, fluid_next_brick *next, void *source, fluid_brick *from)
{
    fluid_cells *c = state;
    brick_pool *pool = &c->pool;
    while (next(source, from)) {
        const int32_t brick = bricks_find(pool, from->at);
        const bool wet = from->material != WEIR_NOTHING, flows = from->flows && c->layout->flow != CHANNEL_NONE;
        assert(brick != BRICK_NOTHING || !wet);
        if (brick == BRICK_NOTHING) continue;
        bricks_write(pool, brick);
        const bool changed = put_drops(c, brick, from);
        if (flows) put_flow(c, brick, from);
        if (!flows && !wet && changed && c->layout->flow != CHANNEL_NONE) stop_flow(c, brick);
        if (!changed && !flows) continue;
        cells_count_brick(c, pool, brick);
        pool->changed[brick] = c->world->change;
    }
    cells_topology(c);  // without memory it is done the next time
}
