// What must hold of a world between updates, looked at plainly and from scratch: every cell, every brick, every entry.
#include "base/broken.h"
#include "world/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Terrain and topology --------------------------------------------------------------------------------------------------

// That the bricks know the terrain as it is. A game's own may have changed since, which it tells when it likes.
static const char *validate_open(const weir_world *world, int32_t brick)
{
    const brick_pool *pool = &world->bricks;
    const weir_coord c = pool->coord[brick];
    brick_mask open;
    if (world->terrain.source) return NULL;
    terrain_open(&world->terrain, c, &open);
    if (memcmp(&open, &pool->open[brick], sizeof open) != 0)
        return broken("the open cells of the brick at (%d, %d, %d) are not those of the terrain", c.x, c.y, c.z);
    for (int32_t k = 0; k < 27; k++)
        if (pool->closed[brick] >> k & 1 && terrain_open(&world->terrain, brick_neighbour(c, k), &open))
            return broken("the brick at (%d, %d, %d) takes its neighbour %d for solid, where the terrain is open", c.x, c.y,
                          c.z, k);
    return NULL;
}

// That the bricks are those which world_topology wants: a brick lives if it is not solid throughout, and it or a neighbour is wet.
static const char *validate_wanted(const weir_world *world, int32_t brick)
{
    const brick_pool *pool = &world->bricks;
    const weir_coord c = pool->coord[brick];
    bool wanted = pool->wet[brick];
    for (int32_t k = 0; k < 27; k++) {
        int32_t near = pool->near[brick][k];
        brick_mask open;
        wanted |= pool->wet[near];
        if (near || !pool->wet[brick] || world->terrain.source) continue;
        if (terrain_open(&world->terrain, brick_neighbour(c, k), &open))
            return broken("the wet brick at (%d, %d, %d) lacks its neighbour %d", c.x, c.y, c.z, k);
    }
    if (!wanted || mask_empty(&pool->open[brick]))
        return broken("the brick at (%d, %d, %d) lives without water near it", c.x, c.y, c.z);
    return NULL;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

static bool values_here(const brick_pool *pool, int32_t brick)
{
    return !pool->home || pool->place[brick] == PLACE_HERE || pool->place[brick] == PLACE_BOTH;
}

// A cell's values. Nothing is in solid cells, and no flow is above 1.
static const char *validate_cell(const weir_world *world, int32_t brick, int32_t cell)
{
    const brick_pool *pool = &world->bricks;
    const weir_coord c = pool->coord[brick];
    const int32_t x = 8 * c.x + (cell & 7), y = 8 * c.y + (cell >> 3 & 7), z = 8 * c.z + (cell >> 6);
    const int32_t mass = bricks_ints(pool, CHANNEL_MASS, brick)[cell];
    const float pressure = bricks_floats(pool, CHANNEL_PRESSURE, brick)[cell];
    if (mass < 0 || mass > world->solver->cell_max) return broken("the cell (%d, %d, %d) holds %d drops", x, y, z, mass);
    if (!isfinite(pressure)) return broken("the pressure in the cell (%d, %d, %d) is %g", x, y, z, (double)pressure);
    bool any = mass != 0 || pressure != 0.0f;
    for (int32_t axis = 0; axis < 3; axis++) {
        float flow = bricks_floats(pool, CHANNEL_FLOW_X + axis, brick)[cell];
        if (!(fabsf(flow) <= 1.0f)) return broken("the flow into the cell (%d, %d, %d) is %g", x, y, z, (double)flow);
        any |= flow != 0.0f;
    }
    if (any && !mask_has(&pool->open[brick], cell))
        return broken("the cell (%d, %d, %d) is solid and holds water, flow or pressure", x, y, z);
    return NULL;
}

// Its values, and that wet tells whether there is water. Adds its drops.
static const char *validate_values(const weir_world *world, int32_t brick, int64_t *held)
{
    const brick_pool *pool = &world->bricks;
    const int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    int64_t drops = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        const char *wrong = validate_cell(world, brick, i);
        if (wrong) return wrong;
        drops += mass[i];
    }
    *held += drops;
    if ((drops > 0) == (pool->wet[brick] != 0)) return NULL;
    const weir_coord c = pool->coord[brick];
    return broken("the brick at (%d, %d, %d) holds %lld drops and is noted as %s", c.x, c.y, c.z, (long long)drops,
                  pool->wet[brick] ? "wet" : "dry");
}

// All bricks; and, if no values are elsewhere, the account: not a drop is lost.
static const char *validate_bricks(const weir_world *world)
{
    const brick_pool *pool = &world->bricks;
    const bool settled = !pool->unsettled && memcmp(pool->wet, pool->wet_seen, (size_t)pool->end) == 0;
    bool all_here = true;
    int64_t held = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        const char *wrong = validate_open(world, b);
        if (!wrong && settled) wrong = validate_wanted(world, b);
        if (!wrong && values_here(pool, b) && !world->gone) wrong = validate_values(world, b, &held);
        if (wrong) return wrong;
        all_here &= values_here(pool, b);
        if (pool->changed[b] > world->change)
            return broken("brick %d changed in change %lld, and there were %lld", b, (long long)pool->changed[b],
                          (long long)world->change);
    }
    const int64_t account = world->added - world->removed - world->drained - world->turned;
    if (all_here && !world->gone && held != account)
        return broken("the world holds %lld drops and its account says %lld", (long long)held, (long long)account);
    return NULL;
}

// ---- Sources and rules -----------------------------------------------------------------------------------------------------

static const char *validate_sources(const weir_world *world)
{
    if (world->source_count < 0 || world->source_count > world->source_room)
        return broken("%d emitters, drains and forces have room for %d", world->source_count, world->source_room);
    for (int32_t i = 0, last = 0; i < world->source_count; last = world->sources[i++].id) {
        const world_source *s = &world->sources[i];
        // The number of one that is just being added counts as taken when its edit is done.
        if (s->id <= last || s->id > world->next_source_id) return broken("source %d comes after source %d", s->id, last);
        if (s->box.min.x >= s->box.max.x || s->box.min.y >= s->box.max.y || s->box.min.z >= s->box.max.z)
            return broken("the box of source %d holds no cell", s->id);
        if (s->kind != SOURCE_FORCE && (s->rate <= 0 || s->owed < 0 || s->owed > 0xffff))
            return broken("source %d moves %lld and owes %lld", s->id, (long long)s->rate, (long long)s->owed);
    }
    return NULL;
}

static bool is_taken(uint64_t *taken, int32_t channel, int32_t count)
{
    if (channel < CHANNEL_FIXED_COUNT || channel >= count || *taken >> channel & 1) return true;
    *taken |= (uint64_t)1 << channel;
    return false;
}

// Every channel that is not fixed belongs to one rule, or to what crosses faces.
static const char *validate_rules(const weir_world *world)
{
    const int32_t count = world->bricks.channel_count;
    int32_t left = count - CHANNEL_FIXED_COUNT;
    uint64_t taken = 0;
    for (int32_t r = 0; r < world->rule_count; r++) {
        const world_rule *rule = &world->rules[r];
        for (int32_t i = 0; i < rule->def.channel_count; i++, left -= 2)
            if (is_taken(&taken, rule->values[i], count) || is_taken(&taken, rule->next[i], count))
                return broken("the channels of the rule %s are not its own", rule->name);
    }
    for (int32_t axis = 0; axis < 3 && world->moved_channel[0]; axis++, left--)
        if (is_taken(&taken, world->moved_channel[axis], count)) return broken("what crosses faces has no channel of its own");
    return left == 0 ? NULL : broken("%d channels belong to nobody", left);
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

const char *world_validate(const weir_world *world)
{
    const char *wrong = bricks_validate(&world->bricks);
    if (!wrong) wrong = terrain_validate(&world->terrain);
    if (!wrong) wrong = validate_sources(world);
    if (!wrong) wrong = validate_rules(world);
    return wrong ? wrong : validate_bricks(world);
}

void world_check_change(const weir_world *world)
{
#ifndef NDEBUG
    enum { FEW_BRICKS = 64 };
    if (world->bricks.live <= FEW_BRICKS) world_must_hold(world, world_validate(world));
#else
    (void)world;
#endif
}

void world_must_hold(const weir_world *world, const char *wrong)
{
    if (!wrong) return;
    world_log(world, WEIR_LOG_ERROR, "after update %lld: %s", (long long)world->update, wrong);
    fprintf(stderr, "Weir is broken after update %lld: %s\n", (long long)world->update, wrong);
    abort();
}
