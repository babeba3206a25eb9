#include "compute/rule_host.h"

#include <assert.h>
#include <fenv.h>
#include <string.h>

enum { BRICK_GRAIN = 4 };  // bricks in one piece of work

// Copies one channel around a brick into a rule's tile; mass is turned into fill.
static void gather_tile(const brick_pool *pool, int32_t brick, int32_t channel, bool mass, float *tile)
{
    const int32_t *near = pool->near[brick];
    for (int z = -1; z <= 8; z++) {
        for (int y = -1; y <= 8; y++) {
            for (int x = -1; x <= 8; x++) {
                int side = NEAR((x > 7) - (x < 0), (y > 7) - (y < 0), (z > 7) - (z < 0));
                int at = WEIR_BRICK_INDEX(x & 7, y & 7, z & 7);
                tile[WEIR_TILE_INDEX(x, y, z)] = mass ? (float)bricks_ints(pool, channel, near[side])[at] / (float)WEIR_FULL
                                                      : bricks_floats(pool, channel, near[side])[at];
            }
        }
    }
}

static void gather_open(const brick_pool *pool, int32_t brick, float *tile)
{
    const int32_t *near = pool->near[brick];
    for (int z = -1; z <= 8; z++)
        for (int y = -1; y <= 8; y++)
            for (int x = -1; x <= 8; x++) {
                int side = NEAR((x > 7) - (x < 0), (y > 7) - (y < 0), (z > 7) - (z < 0));
                tile[WEIR_TILE_INDEX(x, y, z)] = mask_has(&pool->open[near[side]], WEIR_BRICK_INDEX(x & 7, y & 7, z & 7));
            }
}

int32_t rule_mass_seen(const fluid_cells *c, const cell_rule *rule)
{
    const int32_t mass = c->layout->mass, next = cells_next(c, mass);
    return rule->def.place == WEIR_PLACE_AFTER_MOVE && next != CHANNEL_NONE ? next : mass;
}

int32_t rule_flow_seen(const fluid_cells *c, const cell_rule *rule)
{
    const int32_t flow = c->layout->flow, next = cells_next(c, flow);
    return rule->def.place == WEIR_PLACE_AFTER_MOVE && next != CHANNEL_NONE ? next : flow;
}

static void run_on_brick(const fluid_cells *c, const cell_rule *rule, int32_t brick)
{
    float tiles[10 + WEIR_RULE_CHANNELS][WEIR_TILE_CELLS];
    const brick_pool *pool = &c->pool;
    uint32_t sees = rule->def.sees;
    weir_rule_brick view = {.update = c->world->update};
    view.origin = (weir_coord){pool->coord[brick].x * 8, pool->coord[brick].y * 8, pool->coord[brick].z * 8};
    if (sees & WEIR_SEES_FILL) {
        gather_tile(pool, brick, rule_mass_seen(c, rule), true, tiles[0]);
        view.fill = tiles[0];
    }
    if (sees & WEIR_SEES_FLOW) {
        for (int axis = 0; axis < 3; axis++) gather_tile(pool, brick, rule_flow_seen(c, rule) + axis, false, tiles[1 + axis]);
        view.flow_x = tiles[1];
        view.flow_y = tiles[2];
        view.flow_z = tiles[3];
    }
    if (sees & WEIR_SEES_PRESSURE) {
        gather_tile(pool, brick, c->layout->pressure, false, tiles[4]);
        view.pressure = tiles[4];
    }
    if (sees & WEIR_SEES_OPEN) {
        gather_open(pool, brick, tiles[5]);
        view.open = tiles[5];
    }
    if (sees & WEIR_SEES_MOVED) {
        assert(c->moved[0] && c->moved[1] && c->moved[2]);
        gather_tile(pool, brick, c->layout->mass, true, tiles[6]);
        for (int axis = 0; axis < 3; axis++) gather_tile(pool, brick, c->moved[axis], false, tiles[7 + axis]);
        view.fill_before = tiles[6];
        view.moved_x = tiles[7];
        view.moved_y = tiles[8];
        view.moved_z = tiles[9];
    }
    for (int32_t i = 0; i < rule->def.channel_count; i++) {
        assert(rule->values[i] >= c->layout->count && rule->values[i] < pool->channel_count);
        assert(rule->next[i] >= c->layout->count && rule->next[i] < pool->channel_count && rule->next[i] != rule->values[i]);
        gather_tile(pool, brick, rule->values[i], false, tiles[10 + i]);
        view.old_values[i] = tiles[10 + i];
        view.new_values[i] = bricks_floats(pool, rule->next[i], brick);
        memcpy(view.new_values[i], bricks_floats(pool, rule->values[i], brick), BRICK_CELLS * sizeof(float));
    }
    rule->def.run(&view, rule->def.user);
}

typedef struct rule_task {
    const fluid_cells *cells;
    const cell_rule *rule;
} rule_task;

static void run_piece(void *context, int32_t begin, int32_t end, int32_t worker)
{
    // A game may have asked its threads to flush small numbers to zero; the bits must not depend on that.
    fenv_t games;
    fegetenv(&games);
    fesetenv(FE_DFL_ENV);
    (void)worker;
    const rule_task *task = context;
    for (int32_t i = begin; i < end; i++)
        if (task->cells->pool.alive[i]) run_on_brick(task->cells, task->rule, i);
    fesetenv(&games);
}

void rule_host_run(fluid_cells *c, cell_rule *rule)
{
    brick_pool *pool = &c->pool;
    rule_task task = {c, rule};
    workers_run(c->world->workers, run_piece, &task, pool->end, BRICK_GRAIN);
    for (int32_t i = 0; i < rule->def.channel_count; i++) {
        void *swap = pool->channel[rule->values[i]];
        pool->channel[rule->values[i]] = pool->channel[rule->next[i]];
        pool->channel[rule->next[i]] = swap;
    }
}

int32_t rule_host_channels(const fluid_cells *c, const cell_rule *rule, int32_t channels[CHANNEL_MAX])
{
    uint32_t sees = rule->def.sees;
    int32_t count = 0;
    if (sees & WEIR_SEES_FILL) channels[count++] = rule_mass_seen(c, rule);
    for (int32_t axis = 0; axis < 3 && sees & WEIR_SEES_FLOW; axis++) channels[count++] = rule_flow_seen(c, rule) + axis;
    if (sees & WEIR_SEES_PRESSURE) channels[count++] = c->layout->pressure;
    if (sees & WEIR_SEES_MOVED) channels[count++] = c->layout->mass;
    for (int32_t axis = 0; axis < 3 && sees & WEIR_SEES_MOVED; axis++) channels[count++] = c->moved[axis];
    for (int32_t i = 0; i < rule->def.channel_count; i++) channels[count++] = rule->values[i];
    return count;
}
