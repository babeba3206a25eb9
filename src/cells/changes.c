// Which bricks count as changed, where a world has a threshold (weir_world_def.change_threshold).
//
// Water at rest goes on moving by a few drops. So a scratch channel holds the fill of every cell as it was when its brick last counted as
// changed. A solver notes the bricks in which anything changed; at the end of the update these are compared, and those count in which a cell
// is a threshold away from what was reported. Then all of the brick is reported, so that drift adds up and is reported in the end.
//
// An edit always counts, and so do births and loads. What they leave is stale: reported at the end of the next update. Until then the brick is
// read as it is, and if that update changes it, it counts once more, whatever the change.
#include "cells/cells.h"
#include "cells/reported.h"

#include <assert.h>
#include <math.h>

enum { REPORT_GRAIN = 64 };  // bricks per piece of work

weir_status cells_set_threshold(fluid_cells *c, float threshold)
{
    c->reported = CHANNEL_NONE;
    if (threshold <= 0.0f) return WEIR_OK;
    c->threshold = (int32_t)ceilf(threshold * (WEIR_FULL >> REPORTED_BITS));
    assert(c->threshold >= 1);
    return bricks_add_channel(&c->pool, sizeof(uint16_t), &c->reported);
}

int64_t *cells_flags(const fluid_cells *c)
{
    return c->reported == CHANNEL_NONE ? c->pool.changed : c->pool.flagged;
}

bool cells_stale(const fluid_cells *c, int32_t brick)
{
    return c->pool.changed[brick] > c->reported_change;
}

static uint16_t *reported_of(const fluid_cells *c, const brick_pool *pool, int32_t brick)
{
    return bricks_values(pool, c->reported, brick);
}

static bool is_apart(const int32_t *drops, const uint16_t *reported, int32_t threshold)
{
    int32_t most = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        const int32_t apart = reported_apart(reported_steps(drops[i]), reported[i]);
        most = apart > most ? apart : most;
    }
    return most >= threshold;
}

// Compares a brick with what was reported of it, if something changed or it is stale.
static void report_brick(fluid_cells *c, int32_t b)
{
    brick_pool *pool = &c->pool;
    const int64_t change = c->world->change;
    const bool stale = cells_stale(c, b), flagged = pool->flagged[b] == change;
    int32_t room[BRICK_CELLS];
    if (!pool->alive[b] || !(stale || flagged)) return;
    bricks_read(pool, b);
    const int32_t *drops = cells_drops(c, pool, b, room);
    const bool apart = !stale && is_apart(drops, reported_of(c, pool, b), c->threshold);
    if (stale ? flagged : apart) pool->changed[b] = change;
    if (!stale && !apart) return;
    bricks_write(pool, b);
    uint16_t *reported = reported_of(c, pool, b);
    for (int32_t i = 0; i < BRICK_CELLS; i++) reported[i] = (uint16_t)reported_steps(drops[i]);
}

static void report_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    for (int32_t b = begin > 1 ? begin : 1; b < end; b++) report_brick(context, b);
}

// A device has compared the bricks that it works on. Those asleep changed here.
static void report_sleepers(fluid_cells *c)
{
    for (int32_t b = 1; b < c->pool.end && c->pool.awake < c->pool.live; b++)
        if (c->pool.phase[b] == PHASE_ASLEEP) report_brick(c, b);
}

void cells_report_changes(fluid_cells *c)
{
    if (c->reported == CHANNEL_NONE) return;
    if (c->pool.remote)
        report_sleepers(c);
    else
        workers_run(c->world->workers, report_bricks, c, c->pool.end, REPORT_GRAIN);
    c->reported_change = c->world->change;
}

void cells_read_reported(const fluid_view *view, int32_t brick, int32_t *drops)
{
    const fluid_cells *c = view->owner;
    const brick_pool *pool = cells_viewed(view);
    const bool frozen = pool == &c->frozen;
    const bool stale = pool->changed[brick] > (frozen ? c->frozen_reported_change : c->reported_change);
    int32_t room[BRICK_CELLS];
    const int32_t *now = stale ? cells_drops(c, pool, brick, room) : NULL;
    const uint16_t *reported = reported_of(c, pool, brick);
    // In steps either way: to become reported must not look like a change.
    for (int32_t i = 0; i < BRICK_CELLS; i++) drops[i] = (now ? reported_steps(now[i]) : reported[i]) << REPORTED_BITS;
}

bool cells_reported_holds(const fluid_cells *c, int32_t brick)
{
    int32_t room[BRICK_CELLS];
    if (c->reported == CHANNEL_NONE || cells_stale(c, brick)) return true;
    return !is_apart(cells_drops(c, &c->pool, brick, room), reported_of(c, &c->pool, brick), c->threshold);
}
