// What must hold of fluid in cells between updates, looked at plainly and from scratch: every cell, every brick, every channel.
#include "base/broken.h"
#include "cells/sleep.h"

#include <math.h>
#include <string.h>

// ---- Terrain and topology --------------------------------------------------------------------------------------------------

// That the bricks know the terrain as it is. A game's own may have changed since, which it tells when it likes.
static const char *validate_open(const fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    const terrain *t = &c->world->terrain;
    const weir_coord at = pool->coord[brick];
    brick_mask open;
    if (t->source) return NULL;
    terrain_open(t, at, &open);
    if (memcmp(&open, &pool->open[brick], sizeof open) != 0)
        return broken("the open cells of the brick at (%d, %d, %d) are not those of the terrain", at.x, at.y, at.z);
    for (int32_t k = 0; k < 27; k++)
        if (pool->closed[brick] >> k & 1 && terrain_open(t, brick_neighbour(at, k), &open))
            return broken("the brick at (%d, %d, %d) takes its neighbour %d for solid, where the terrain is open", at.x, at.y,
                          at.z, k);
    return NULL;
}

// That the bricks are those which cells_topology wants: a brick lives if it is not solid throughout, and it or a neighbour is wet.
static const char *validate_wanted(const fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    const weir_coord at = pool->coord[brick];
    bool wanted = pool->wet[brick] || (c->keeps && c->keeps(c, brick));
    for (int32_t k = 0; k < 27; k++) {
        int32_t near = pool->near[brick][k];
        brick_mask open;
        wanted |= pool->wet[near];
        if (near || !pool->wet[brick] || c->world->terrain.source) continue;
        if (terrain_open(&c->world->terrain, brick_neighbour(at, k), &open))
            return broken("the wet brick at (%d, %d, %d) lacks its neighbour %d", at.x, at.y, at.z, k);
    }
    if (!wanted || mask_empty(&pool->open[brick]))
        return broken("the brick at (%d, %d, %d) lives without water near it", at.x, at.y, at.z);
    return NULL;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

static bool values_here(const brick_pool *pool, int32_t brick)
{
    return !pool->remote || pool->place[brick] == PLACE_HERE || pool->place[brick] == PLACE_BOTH;
}

static bool is_valid(const cell_channel *about, double value, double max)
{
    return fabs(value) <= max && (about->type == CHANNEL_FLOAT || value >= 0);
}

// The values of a kept channel in a brick: valid, and nothing in solid cells. Slow builds spend much of their time here.
static const char *validate_channel(const fluid_cells *c, int32_t brick, int32_t channel)
{
    const brick_pool *pool = &c->pool;
    const brick_mask open = pool->open[brick];
    const cell_channel *about = &c->layout->channels[channel];
    const void *values = bricks_values(pool, channel, brick);
    const double max = cells_value_max(c, channel);
    double value = 0;
    int32_t i = 0;
    for (; i < BRICK_CELLS; i++) {
        value = cells_value(about->type, about->bytes, values, i);
        if (!is_valid(about, value, max) || (value != 0 && !mask_has(&open, i))) break;
    }
    if (i == BRICK_CELLS) return NULL;
    const weir_coord at = brick_cell(pool->coord[brick], i);
    if (is_valid(about, value, max))
        return broken("the cell (%d, %d, %d) is solid and holds %s", at.x, at.y, at.z, about->name);
    if (about->type == CHANNEL_UNITS)
        return broken("the cell (%d, %d, %d) holds %.0f drops", at.x, at.y, at.z, value * c->world->solver->unit);
    return broken("%s in the cell (%d, %d, %d) is %g", about->name, at.x, at.y, at.z, value);
}

// Its values, and that wet tells whether there is fluid. Adds its drops.
static const char *validate_values(const fluid_cells *c, int32_t brick, int64_t *held)
{
    const brick_pool *pool = &c->pool;
    for (int32_t i = 0; i < c->layout->count; i++) {
        const char *wrong = c->layout->channels[i].kept ? validate_channel(c, brick, i) : NULL;
        if (wrong) return wrong;
    }
    int32_t room[BRICK_CELLS];
    const int32_t *mass = cells_drops(c, pool, brick, room);
    int64_t drops = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) drops += mass[i];
    *held += drops;
    if (!cells_reported_holds(c, brick))
        return broken("brick %d has changed by more than the threshold, which was not reported", brick);
    if ((drops > 0) == (pool->wet[brick] != 0)) return NULL;
    const weir_coord at = pool->coord[brick];
    return broken("the brick at (%d, %d, %d) holds %lld drops and is noted as %s", at.x, at.y, at.z, (long long)drops,
                  pool->wet[brick] ? "wet" : "dry");
}

static const char *validate_bricks(const fluid_cells *c, int64_t *held, bool *all_here)
{
    const brick_pool *pool = &c->pool;
    const weir_world *world = c->world;
    const bool settled = !pool->topology_dirty && memcmp(pool->wet, pool->wet_seen, (size_t)pool->end) == 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        const char *wrong = validate_open(c, b);
        if (!wrong && settled) wrong = validate_wanted(c, b);
        if (!wrong && values_here(pool, b) && !world->values_lost) wrong = validate_values(c, b, held);
        if (wrong) return wrong;
        *all_here &= values_here(pool, b);
        if (pool->changed[b] > world->change)
            return broken("brick %d changed in change %lld, and there were %lld", b, (long long)pool->changed[b],
                          (long long)world->change);
    }
    return NULL;
}

// ---- Rules -----------------------------------------------------------------------------------------------------------------

static bool is_taken(const fluid_cells *c, uint64_t *taken, int32_t channel)
{
    if (channel < c->layout->count || channel >= c->pool.channel_count || *taken >> channel & 1) return true;
    *taken |= (uint64_t)1 << channel;
    return false;
}

// Every channel that is not the solver's belongs to one rule, to what crosses faces or to what was reported.
static const char *validate_rules(const fluid_cells *c)
{
    int32_t left = c->pool.channel_count - c->layout->count;
    uint64_t taken = 0;
    for (int32_t r = 0; r < c->rule_count; r++) {
        const cell_rule *rule = &c->rules[r];
        for (int32_t i = 0; i < rule->def.channel_count; i++, left -= 2)
            if (is_taken(c, &taken, rule->values[i]) || is_taken(c, &taken, rule->next[i]))
                return broken("the channels of the rule %s are not its own", rule->name);
    }
    for (int32_t axis = 0; axis < 3 && c->moved[0]; axis++, left--)
        if (is_taken(c, &taken, c->moved[axis])) return broken("what crosses faces has no channel of its own");
    // Of a solver whose layout grows the layout has a row for it.
    if (c->reported >= c->layout->count && (left--, is_taken(c, &taken, c->reported)))
        return broken("what was reported has no channel of its own");
    return left == 0 ? NULL : broken("%d channels belong to nobody", left);
}

const char *cells_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here)
{
    (void)cells_only;
    const fluid_cells *c = state;
    const char *wrong = bricks_validate(&c->pool);
    if (!wrong) wrong = deaths_validate(&c->deaths, &c->pool);
    if (!wrong) wrong = validate_rules(c);
    if (!wrong) wrong = sleep_validate(c);
    if (wrong) return wrong;
    held[c->material] += cells_owed(&c->pool);
    return validate_bricks(c, &held[c->material], all_here);
}
