// Who is awake. A brick is busy until its water has been still for REST_UPDATES updates; awake are the busy bricks and the 26 around each,
// so that what moves always finds awake bricks around it. Awake, too, are the dry bricks at the faces of water that is awake, into which it may
// run, and bricks that were about to sleep and may not yet.
#include "cells/sleep.h"

#include "base/broken.h"
#include "world/edits.h"
#include <assert.h>
#include <string.h>

enum {
    HOLD_UPDATES = 32,
    LOOKS = 3,                     // that water which moved must pass before it may sleep, a hold apart
    RISE_MOST = WEIR_FULL / 50,    // drops that its head may rise or fall from look to look
    SWING_MOST = WEIR_FULL / 200,  // and how much that may change: what rises evenly does not swing
    JOIN_MOST = WEIR_FULL / 50,    // what lies so close to the head of a body beside it is at rest with it
    GENTLE_EVERY = 16,
    LEVEL_RANGE = WEIR_FULL / 10,  // the heads of a body lie within it, which levels then
    SMALL_RANGE = WEIR_FULL / 25,  // and those of a body that does not
};

// What happens to a brick in the update that is planned.
enum { TURN_NONE, TURN_WAKES, TURN_SLEEPS, TURN_HELD };

// What is made of the waves in an awake brick: see find_islands.
enum { WAVES_IGNORED, WAVES_COUNT, WAVES_FOLLOWED, WAVES_FADE, WAVES_DRIVEN };

// Bits of cells_sleep.mark.
enum { MARK_TRIMMED = 4, MARK_TURNED = 8 };

// ---- Room ------------------------------------------------------------------------------------------------------------------

#define SLEEP_TABLES(ITEM) \
    ITEM(body)             \
    ITEM(body_next)        \
    ITEM(members)          \
    ITEM(list)             \
    ITEM(doubled)          \
    ITEM(awake) ITEM(mark) ITEM(motion) ITEM(plan) ITEM(turn) ITEM(waves) ITEM(lull) ITEM(former) ITEM(bodies) ITEM(bodies_next)

static void free_tables(memory *mem, cells_sleep *s)
{
#define FREE(table) memory_free(mem, s->table, (size_t)s->room * sizeof *s->table);
    SLEEP_TABLES(FREE)
#undef FREE
}

weir_status sleep_reserve(fluid_cells *c, int32_t bricks)
{
    memory *mem = &c->world->mem;
    if (!c->sleep || c->sleep->room >= bricks) return WEIR_OK;
    cells_sleep *s = c->sleep, fresh = *s;
    bool got = true;
    fresh.room = bricks;
#define MAKE(table)                                                                 \
    fresh.table = memory_alloc_zero(mem, (size_t)fresh.room * sizeof *fresh.table); \
    got = got && fresh.table;                                                       \
    if (got && s->table) memcpy(fresh.table, s->table, (size_t)s->room * sizeof *s->table);
    SLEEP_TABLES(MAKE)
#undef MAKE
    if (!got) {
        free_tables(mem, &fresh);
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out for what is known of the rest of %d bricks", fresh.room);
    }
    free_tables(mem, s);
    *s = fresh;
    return WEIR_OK;
}

cells_sleep *sleep_create(fluid_cells *c, const float *flow)
{
    cells_sleep *s = c->sleep = memory_alloc_zero(&c->world->mem, sizeof *s);
    if (s) s->version = UINT64_MAX, s->flow = flow;
    return s;
}

void sleep_destroy(fluid_cells *c)
{
    if (!c->sleep) return;
    free_tables(&c->world->mem, c->sleep);
    memory_free(&c->world->mem, c->sleep, sizeof *c->sleep);
    c->sleep = NULL;
}

int64_t sleep_bytes(const fluid_cells *c)
{
    int64_t bytes = 0;
    if (!c->sleep) return 0;
#define ADD(table) bytes += c->sleep->room * (int64_t)sizeof *c->sleep->table;
    SLEEP_TABLES(ADD)
#undef ADD
    return bytes;
}

// Those that were rim when the state was saved become so again.
void sleep_forget(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    if (!c->sleep) return;
    c->sleep->dirty = true;
    c->sleep->version = UINT64_MAX;
    c->sleep->body_count = 0;
    c->sleep->noted = true;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || !pool->rest[b].asleep) continue;
        pool->phase[b] = PHASE_ASLEEP;
        pool->awake--;
        sleep_changed(c, b);
    }
}

// ---- Who is awake next -----------------------------------------------------------------------------------------------------

static bool is_busy(const brick_pool *pool, int32_t b)
{
    return pool->wet[b] && pool->rest[b].calm < REST_UPDATES;
}

static void mark_around(const brick_pool *pool, uint8_t *awake, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++) awake[pool->near[brick][k]] = 1;
}

// Sources act on the bricks of their boxes, and around them; reservoirs let those sleep in which there is water.
static void mark_sources(const fluid_cells *c, uint8_t *awake)
{
    const weir_world *world = c->world;
    fluid_view view;
    cells_view(c, false, &view);
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *source = &world->sources[i];
        weir_box box = source->box;
        if ((source->kind <= SOURCE_DRAIN && !world_source_acts(world, source)) || !world_clip(world, &box)) continue;
        region_walk walk = region_walk_live(&view, box);
        for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
            if (source->kind == SOURCE_FORCE && !c->pool.wet[b]) continue;
            if (source->kind == SOURCE_RESERVOIR && !cells_reservoir_lacks(c, source, b)) continue;
            mark_around(&c->pool, awake, b);
        }
    }
}

// Dry bricks at the faces of a wet one that is awake are awake: what is not busy flows less than a cell in an update.
static void mark_dry_around(const brick_pool *pool, uint8_t *awake, int32_t brick)
{
    for (int32_t face = 0; face < 6; face++) {
        const int32_t n = bodies_neighbour(pool, brick, face);
        if (!pool->wet[n]) awake[n] = 1;
    }
}

// All bricks, or none of them.
static void find_whole_awake(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    uint8_t *awake = c->sleep->awake;
    bool any = false;
    memset(awake, 0, (size_t)pool->end);
    mark_sources(c, awake);
    for (int32_t b = 1; b < pool->end && !any; b++)
        any = awake[b] || (pool->wet[b] && (pool->rest[b].calm < REST_LONG || pool->rest[b].hold > 0));
    memset(awake, any, (size_t)pool->end);
    awake[BRICK_NOTHING] = 0;
}

static void find_awake(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    uint8_t *awake = c->sleep->awake;
    if (c->sleep->whole) {
        find_whole_awake(c);
        return;
    }
    memset(awake, 0, (size_t)pool->end);
    for (int32_t b = 1; b < pool->end; b++) {
        if (is_busy(pool, b)) mark_around(pool, awake, b);
        if (pool->rest[b].hold > 0 && pool->wet[b]) awake[b] = 1;
    }
    mark_sources(c, awake);
    for (int32_t b = 1; b < pool->end; b++)
        if (awake[b] && pool->wet[b]) mark_dry_around(pool, awake, b);
    awake[BRICK_NOTHING] = 0;
}

// Those that sleep and must be awake wake; those that are awake and need not be fall asleep, as far as nothing speaks against it.
static void find_turns(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    int32_t count = 0;
    memset(s->turn, TURN_NONE, (size_t)pool->end);
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || pool->rest[b].asleep != s->awake[b]) continue;
        s->turn[b] = s->awake[b] ? TURN_WAKES : TURN_SLEEPS;
        if (!s->awake[b] && pool->wet[b]) s->list[count++] = b;
        if (s->awake[b]) s->plan[b] = (brick_rest){.head = REST_NO_HEAD};
    }
    if (pool->remote) bricks_fetch(pool, s->list, count);
    for (int32_t b = 1; b < pool->end; b++)
        if (s->turn[b] == TURN_SLEEPS) bodies_look(c, b, &s->plan[b]);
    for (int32_t b = 1; b < pool->end; b++)
        if (s->turn[b] == TURN_SLEEPS) s->plan[b].links = bodies_links(c, b, &s->plan[b], s->awake);
}

// ---- Who may not sleep yet -------------------------------------------------------------------------------------------------

static bool is_within(int64_t a, int64_t b, int64_t most)
{
    return (a > b ? a - b : b - a) <= most;
}

// Whether a brick lies beside a body that sleeps on, at the same height.
static bool lies_beside_body(const fluid_cells *c, int32_t brick)
{
    const cells_sleep *s = c->sleep;
    for (int32_t face = 0; face < 6; face++) {
        const int32_t n = bodies_neighbour(&c->pool, brick, face);
        const brick_rest *rest = &c->pool.rest[n];
        if (!(s->plan[brick].links >> face & 1) || s->turn[n] != TURN_NONE || !rest->asleep || !s->bodies[s->body[n]].open)
            continue;
        if (is_within(rest->head, s->plan[brick].head, JOIN_MOST)) return true;
    }
    return false;
}

// What a brick that is about to fall asleep knows after it was looked at: how often it was found to rest, or to rise or fall evenly.
static brick_rest look_again(const brick_rest *rest, int64_t head)
{
    brick_rest now = *rest;
    const bool known = rest->head != REST_NO_HEAD && head != REST_NO_HEAD;
    const int64_t rise = known ? head - rest->head : 0;
    const bool even = known && is_within(rise, 0, RISE_MOST) && (rest->looks == 0 || is_within(rise, rest->rise, SWING_MOST));
    now.looks = !even ? 0 : rest->looks < LOOKS ? (uint8_t)(rest->looks + 1) : LOOKS;
    now.rise = even ? (int32_t)rise : 0;
    now.head = head;
    return now;
}

// Whether a brick that moved must be looked at again before it may sleep. Without a head it must have been quiet instead.
static bool must_wait(const fluid_cells *c, int32_t brick)
{
    const brick_rest *rest = &c->pool.rest[brick];
    const int64_t head = c->sleep->plan[brick].head;
    if (head == REST_NO_HEAD) return rest->calm < REST_LONG;
    return rest->looks < LOOKS && look_again(rest, head).looks < LOOKS && !lies_beside_body(c, brick);
}

// A brick that was about to fall asleep stays awake, and with it the dry bricks at its faces.
static void refuse(fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    s->turn[brick] = TURN_HELD;
    s->plan[brick] = look_again(&pool->rest[brick], s->plan[brick].head);
    s->plan[brick].hold = HOLD_UPDATES;
    s->awake[brick] = 1;
    // Links lead to bricks that sleep.
    for (int32_t face = 0; face < 6; face++)
        s->plan[bodies_neighbour(pool, brick, face)].links &= (uint8_t) ~(1 << (face + 3) % 6);
    for (int32_t face = 0; face < 6; face++) {
        const int32_t n = bodies_neighbour(pool, brick, face);
        if (n == BRICK_NOTHING || pool->wet[n] || s->awake[n]) continue;
        s->awake[n] = 1;
        s->turn[n] = pool->rest[n].asleep ? TURN_WAKES : TURN_NONE;
        if (s->turn[n]) s->plan[n] = (brick_rest){.head = REST_NO_HEAD};
    }
}

static bool touches_awake(const fluid_cells *c, int32_t brick)
{
    for (int32_t face = 0; face < 6; face++)
        if (c->sleep->awake[bodies_neighbour(&c->pool, brick, face)] && bodies_touch(c, brick, face)) return true;
    return false;
}

// Refuses sleep to bricks that rise and fall, and to those of bodies whose heads lie too far apart, so that water does not fall asleep at the turning
// point of a slow swing; and to those of small bodies beside awake water: water in a pipe rests as a whole. Returns whether there were any.
static bool refuse_some(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    bool any = false;
    for (int32_t i = 1; i <= s->body_next_count; i++) {
        sleep_body *body = &s->bodies_next[i];
        const bool has_heads = body->low != REST_NO_HEAD;
        body->refused = has_heads && body->high - body->low > (body->open ? LEVEL_RANGE : SMALL_RANGE);
    }
    for (int32_t b = 1; b < pool->end; b++) {
        sleep_body *body = &s->bodies_next[s->body_next[b]];
        if (s->body_next[b] && !body->open && !body->refused) body->refused = touches_awake(c, b);
    }
    for (int32_t b = 1; b < pool->end; b++) {
        if (s->turn[b] != TURN_SLEEPS || !s->body_next[b]) continue;
        if (!s->bodies_next[s->body_next[b]].refused && !must_wait(c, b)) continue;
        refuse(c, b);
        any = true;
    }
    return any;
}

// ---- Phases ----------------------------------------------------------------------------------------------------------------

static void find_rim(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    memset(s->mark, 0, (size_t)pool->end);
    for (int32_t b = 1; b < pool->end; b++) {
        if (!s->awake[b]) continue;
        for (int32_t k = 0; k < 27; k++) {
            const int32_t n = pool->near[b][k];
            if (!s->awake[n] && s->body_next[n] && s->bodies_next[s->body_next[n]].open) s->mark[n] = 1;
        }
    }
}

static void link_worked(brick_pool *pool)
{
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->phase[b] == PHASE_ASLEEP) continue;
        for (int32_t k = 0; k < 27; k++) {
            const int32_t n = pool->near[b][k];
            pool->near_worked[b][k] = pool->phase[n] == PHASE_ASLEEP ? BRICK_NOTHING : n;
        }
    }
    memset(pool->near_worked[BRICK_NOTHING], 0, sizeof *pool->near_worked);
}

// Swaps the bricks' phases with others, marks those that turn, and tells the machines.
static void change_phases(brick_pool *pool, uint8_t *phases, uint8_t *mark)
{
    bool changed = false;
    pool->awake = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        const uint8_t before = pool->phase[b], phase = phases[b];
        pool->awake += phase == PHASE_AWAKE;
        mark[b] = phase == before && !pool->rest[b].crossed ? 0 : MARK_TURNED;
        phases[b] = before;
        if (phase == before) continue;
        if (phase == PHASE_AWAKE || before == PHASE_AWAKE) pool->pyramid_dirty[b] = 1;
        pool->phase[b] = phase;
        bricks_mark_dirty(pool, b);
        changed = true;
    }
    if (changed) pool->version++;
    if (pool->awake < pool->live) link_worked(pool);
}

// The phases of the plan: of those that are not awake the marked ones are rim.
static void set_phases(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    uint8_t *next = s->former;  // which takes the former ones in return
    for (int32_t b = 1; b < pool->end; b++)
        next[b] = !pool->alive[b] ? PHASE_ASLEEP : s->awake[b] ? PHASE_AWAKE : s->mark[b] ? PHASE_RIM : PHASE_ASLEEP;
    change_phases(pool, next, s->mark);
}

// Bodies of the bricks as they are now.
static void find_bodies(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    s->body_count = bodies_find(c, s->body, s->bodies, false);
    bodies_list_members(c);
    s->version = c->pool.version;
}

// Nobody looks at how water moves while sleep is off, so that nothing is known of it when it is on again.
static void forget_calm(fluid_cells *c)
{
    for (int32_t b = 1; b < c->pool.end; b++)
        if (!c->pool.rest[b].asleep) c->pool.rest[b] = (brick_rest){.head = REST_NO_HEAD};
}

// Whether a source may wake what sleeps. A reservoir wakes only bricks that have dried up, and then the bricks are others.
static bool acts(const fluid_cells *c)
{
    const weir_world *world = c->world;
    for (int32_t i = 0; i < world->source_count; i++)
        if (world->sources[i].kind != SOURCE_RESERVOIR) return true;
    return false;
}

void sleep_set_laws(fluid_cells *c, sleep_gravity gravity, float film, bool whole)
{
    c->sleep->whole = whole;
    c->sleep->gravity = gravity;
    c->sleep->film = (int32_t)(film * (float)WEIR_FULL);
}

weir_status sleep_plan(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    brick_pool *pool = &c->pool;
    weir_status status = sleep_reserve(c, pool->capacity);
    if (status != WEIR_OK) return status;
    s->planned = false;
    const bool on = s->on = *s->flow > 0.0f && s->gravity.down != 0 && c->rule_count == 0 && c->world->params.noise == 0.0f;
    if (on && pool->awake == 0 && !s->dirty && s->version == pool->version && !acts(c)) return WEIR_OK;
    if (!on && !s->noted) return WEIR_OK;  // and so nobody sleeps
    if (!on) forget_calm(c);
    s->noted = on || pool->awake < pool->live;  // also where an edit woke all that slept, which no plan has seen yet
    if (!s->noted) return WEIR_OK;
    if (s->dirty || s->version != pool->version) find_bodies(c);  // of which bricks may have dried up
    if (on)
        find_awake(c);
    else
        memset(s->awake, 1, (size_t)pool->end);
    find_turns(c);
    do s->body_next_count = bodies_find(c, s->body_next, s->bodies_next, true);
    while (refuse_some(c));
    find_rim(c);
    set_phases(c);
    s->version = pool->version;
    s->planned = true;
    return WEIR_OK;
}

void sleep_cancel(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    if (!s->planned) return;
    s->planned = false;
    change_phases(&c->pool, s->former, s->mark);
    memset(s->mark, 0, (size_t)c->pool.end);
    s->dirty = true;
    s->version = UINT64_MAX;
}

// ---- Turning ---------------------------------------------------------------------------------------------------------------

// Water that wakes has the pressure that its head gives it.
static void wake(fluid_cells *c, int32_t brick)
{
    brick_pool *pool = &c->pool;
    brick_rest *rest = &pool->rest[brick];
    assert(rest->asleep && rest->owed == 0);
    bodies_show_head(c, brick);
    *rest = (brick_rest){.head = REST_NO_HEAD, .calm = rest->calm, .hold = rest->hold, .gentle = REST_FADED};
    rest->looks = rest->calm == 0 ? 0 : LOOKS;  // what only lies beside something that moves may sleep again at once
    for (int32_t face = 0; face < 6; face++)
        pool->rest[bodies_neighbour(pool, brick, face)].links &= (uint8_t) ~(1 << (face + 3) % 6);
}

// Whether water may flow between bricks of two phases: one is awake, and the other at least rim.
static bool flows_between(uint8_t a, uint8_t b)
{
    return a != PHASE_ASLEEP && b != PHASE_ASLEEP && (a == PHASE_AWAKE || b == PHASE_AWAKE);
}

// Takes the flow from the low faces of a brick over which nothing may flow any more.
static void trim(fluid_cells *c, int32_t brick)
{
    brick_pool *pool = &c->pool;
    const uint8_t phase = pool->phase[brick];
    if (brick == BRICK_NOTHING || c->sleep->mark[brick] & MARK_TRIMMED) return;
    c->sleep->mark[brick] |= MARK_TRIMMED;
    bricks_write(pool, brick);
    for (int32_t axis = 0; axis < 3; axis++) {
        float *flow = bricks_floats(pool, c->layout->flow + axis, brick);
        const bool inside = flows_between(phase, phase);
        const bool before = flows_between(phase, pool->phase[bodies_neighbour(pool, brick, axis)]);
        for (int32_t i = 0; i < BRICK_CELLS; i++)
            if (!(i >> 3 * axis & 7 ? inside : before)) flow[i] = 0;
    }
    if (phase != PHASE_AWAKE) sleep_changed(c, brick);
}

// Fetches, all at once, what will be trimmed.
static void fetch_turned(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end && pool->remote; b++) {
        bool trimmed = s->mark[b] & MARK_TURNED;
        for (int32_t axis = 0; axis < 3; axis++) trimmed |= s->mark[bodies_neighbour(pool, b, axis)] & MARK_TURNED;
        if (pool->alive[b] && trimmed) s->list[count++] = b;
    }
    if (count > 0) bricks_fetch(pool, s->list, count);
}

static void turn_all(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    for (int32_t b = 1; b < pool->end; b++)
        if (s->turn[b] == TURN_WAKES && s->body[b]) bodies_settle(c, s->body[b]);
    for (int32_t b = 1; b < pool->end; b++) {
        if (s->turn[b] == TURN_WAKES) wake(c, b);
        if (s->turn[b] == TURN_SLEEPS || s->turn[b] == TURN_HELD) pool->rest[b] = s->plan[b];
    }
    fetch_turned(c);
    for (int32_t b = 1; b < pool->end; b++) {
        if (!(s->mark[b] & MARK_TURNED)) continue;
        pool->rest[b].crossed = 0;
        trim(c, b);
        for (int32_t axis = 0; axis < 3; axis++) trim(c, bodies_neighbour(pool, b, axis + 3));
        const bool shows = pool->phase[b] == PHASE_RIM || s->turn[b] == TURN_SLEEPS;
        if (shows && bodies_show_head(c, b)) sleep_changed(c, b);
    }
}

// Lists the bricks whose values the solver is to double. Edits may have changed some long before, when bricks had other numbers.
static void list_single(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    s->doubled_count = 0;
    for (int32_t b = 1; b < pool->end && s->some_single; b++) {
        if (!pool->rest[b].single) continue;
        pool->rest[b].single = 0;
        if (pool->alive[b] && pool->phase[b] != PHASE_AWAKE) s->doubled[s->doubled_count++] = b;
    }
    s->some_single = false;
}

void sleep_commit(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    if (s->planned) {
        s->dirty = false;
        turn_all(c);
        find_bodies(c);
        s->planned = false;
    }
    bodies_update(c);
    list_single(c);
    memset(s->mark, 0, (size_t)c->pool.end);
}

void sleep_wake(fluid_cells *c, weir_box bricks)
{
    cells_sleep *s = c->sleep;
    brick_pool *pool = &c->pool;
    if (s->planned || (*s->flow == 0.0f && !s->noted)) return;
    fluid_view view;
    const weir_box around = {{8 * (bricks.min.x - 1), 8 * (bricks.min.y - 1), 8 * (bricks.min.z - 1)},
                             {8 * (bricks.max.x + 1), 8 * (bricks.max.y + 1), 8 * (bricks.max.z + 1)}};
    if (s->version != pool->version) find_bodies(c);
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, around);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        pool->rest[b].calm = 0;
        if (!pool->rest[b].asleep) continue;
        if (b < s->room && s->body[b]) bodies_settle(c, s->body[b]);
    }
    walk = region_walk_live(&view, around);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (pool->rest[b].asleep) wake(c, b);
        pool->rest[b].gentle = 0;  // what is done to water counts as wild
    }
    s->dirty = true;
    s->version = UINT64_MAX;
}

void sleep_wake_all(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    weir_box bricks = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}};
    for (int32_t b = 1; b < pool->end; b++) {
        const weir_coord at = pool->coord[b];
        if (!pool->alive[b]) continue;
        if (at.x < bricks.min.x) bricks.min.x = at.x;
        if (at.y < bricks.min.y) bricks.min.y = at.y;
        if (at.z < bricks.min.z) bricks.min.z = at.z;
        if (at.x >= bricks.max.x) bricks.max.x = at.x + 1;
        if (at.y >= bricks.max.y) bricks.max.y = at.y + 1;
        if (at.z >= bricks.max.z) bricks.max.z = at.z + 1;
    }
    if (pool->live > 0) sleep_wake(c, bricks);
}

// ---- The end of an update --------------------------------------------------------------------------------------------------

// All of a body that is pushed wakes.
static void push(fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    const cells_sleep *s = c->sleep;
    for (int32_t face = 0; face < 6; face++) {
        const int32_t n = bodies_neighbour(pool, brick, face), body = s->body[n];
        if (body == 0 || pool->phase[n] != PHASE_ASLEEP) continue;
        for (int32_t i = 0; i < s->bodies[body].bricks; i++) pool->rest[s->members[s->bodies[body].begin + i]].calm = 0;
    }
}

static bool of_island(const brick_pool *pool, int32_t brick)
{
    return pool->alive[brick] && pool->wet[brick] && pool->phase[brick] == PHASE_AWAKE;
}

// For how long a brick has been gentle after this update. Water that runs into a dry one takes nothing from its island's rest by that.
static uint8_t gentle_of(const fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    if (c->sleep->motion[brick] & MOTION_WILD) return 0;
    return pool->wet_seen[brick] ? pool->rest[brick].gentle : REST_FADED;
}

// Islands are awake bricks whose water lies side by side. In one that is not driven, and in which something was wild not long ago, waves
// count; in one that is large besides they are followed over its rim. Small islands let them end there, or all that drips would wake its
// lake. Where it is longer ago they fade, and water sleeps when they have, or after some time.
static void find_islands(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    int32_t *parent = s->list, *area = s->body_next;
    const int32_t above = s->gravity.axis + (s->gravity.down > 0 ? 0 : 3);
    memset(s->waves, WAVES_IGNORED, (size_t)pool->end);
    memset(s->lull, REST_FADED, (size_t)pool->end);
    for (int32_t b = 0; b < pool->end; b++) {
        parent[b] = b;
        area[b] = 0;
    }
    for (int32_t b = 1; b < pool->end; b++)
        for (int32_t face = 0; face < 3 && of_island(pool, b); face++) {
            const int32_t other = bodies_neighbour(pool, b, face);
            if (of_island(pool, other)) parent[bodies_root(parent, b)] = bodies_root(parent, other);
        }
    for (int32_t b = 1; b < pool->end; b++) {
        if (!of_island(pool, b)) continue;
        const int32_t root = bodies_root(parent, b);
        if (gentle_of(c, b) < s->lull[root]) s->lull[root] = gentle_of(c, b);
        if (pool->rest[b].wild == REST_DRIVEN) area[root] = -1;
        if (area[root] >= 0) area[root] += !pool->wet[bodies_neighbour(pool, b, above)];
    }
    for (int32_t b = 1; b < pool->end; b++) {
        if (!of_island(pool, b)) continue;
        const int32_t root = bodies_root(parent, b);
        s->lull[b] = s->lull[root];
        if (s->lull[b] < REST_FADED) s->waves[b] = WAVES_FADE;
        if (s->lull[b] < REST_GENTLE) s->waves[b] = area[root] < REST_AREA ? WAVES_COUNT : WAVES_FOLLOWED;
        if (area[root] < 0) s->waves[b] = WAVES_DRIVEN;
    }
}

// How much a brick moves, with the waves that count in it.
static int32_t motion_of(const cells_sleep *s, int32_t brick)
{
    const int32_t motion = s->motion[brick] % MOTION_PUSHES, waves = s->waves[brick];
    if (waves == WAVES_FOLLOWED && s->motion[brick] & MOTION_SWELLS) return MOTION_MOVES;
    if ((waves == WAVES_COUNT || waves == WAVES_FOLLOWED) && motion != MOTION_QUIET && s->motion[brick] & MOTION_RIPPLES)
        return MOTION_RIPPLES;
    return motion;
}

// For how many updates a brick that is still may have been so: water in which waves fade is one short of rest.
static uint8_t calm_most(const cells_sleep *s, int32_t brick, int32_t motion)
{
    if (motion == MOTION_QUIET) return REST_LONG;
    return s->waves[brick] == WAVES_FADE && s->motion[brick] & MOTION_RIPPLES ? REST_UPDATES - 1 : REST_UPDATES;
}

// What a brick learns of its island. In one that is driven each has its own lull, or the water far from a fall would never rest.
static void learn(const fluid_cells *c, int32_t brick)
{
    const cells_sleep *s = c->sleep;
    brick_rest *rest = &c->pool.rest[brick];
    rest->driven = s->waves[brick] == WAVES_DRIVEN;
    rest->gentle = rest->driven ? gentle_of(c, brick) : s->lull[brick];
    if (rest->gentle < REST_FADED && c->world->update % GENTLE_EVERY == 0) rest->gentle++;
}

// For how long a brick has been wild again and again.
static uint8_t wild_for(const brick_rest *rest)
{
    if (rest->gentle > 1) return 0;
    return rest->wild < REST_DRIVEN ? (uint8_t)(rest->wild + 1) : REST_DRIVEN;
}

void sleep_note(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    bodies_keep_owed_with_water(c);
    find_islands(c);
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->phase[b] != PHASE_AWAKE) continue;
        brick_rest *rest = &pool->rest[b];
        const int32_t motion = motion_of(s, b);
        if (rest->hold > 0) rest->hold--;
        learn(c, b);
        if (c->world->update % GENTLE_EVERY == 0) rest->wild = wild_for(rest);
        if (motion != MOTION_QUIET && rest->calm > REST_UPDATES) rest->calm = REST_UPDATES;
        if (motion == MOTION_RIPPLES && rest->calm < REST_UPDATES) rest->calm = 0;
        if (motion <= MOTION_STILL && rest->calm < calm_most(s, b, motion)) rest->calm++;
        if (motion == MOTION_MOVES || (pool->wet[b] && !pool->wet_seen[b])) {
            rest->calm = rest->looks = 0;
            rest->head = REST_NO_HEAD;
        }
        if (!pool->wet[b]) *rest = (brick_rest){.head = REST_NO_HEAD};
        if (s->motion[b] & MOTION_PUSHES) push(c, b);
    }
}

// ---- State -----------------------------------------------------------------------------------------------------------------

bool sleep_counts(const cells_sleep *s, const brick_rest *rest)
{
    return s && (*s->flow > 0.0f || rest->asleep);
}

static void pack_number(uint8_t *bytes, uint64_t number, int32_t count)
{
    for (int32_t i = 0; i < count; i++) bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t unpack_number(const uint8_t *bytes, int32_t count)
{
    uint64_t number = 0;
    for (int32_t i = 0; i < count; i++) number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

void sleep_pack(const brick_rest *rest, uint8_t bytes[REST_BYTES])
{
    pack_number(bytes, (uint64_t)rest->head, 8);
    pack_number(bytes + 8, (uint64_t)rest->owed, 8);
    pack_number(bytes + 16, rest->surface, 2);
    bytes[18] = rest->links;
    bytes[19] = rest->asleep;
    bytes[20] = rest->calm;
    bytes[21] = rest->hold;
    bytes[22] = rest->gentle;
    bytes[23] = rest->looks;
    pack_number(bytes + 24, (uint32_t)rest->rise, 4);
    pack_number(bytes + 28, (uint64_t)rest->shown, 8);
    bytes[36] = (uint8_t)(rest->wild | rest->driven << 7);
}

bool sleep_unpack(const uint8_t bytes[REST_BYTES], brick_rest *rest)
{
    *rest = (brick_rest){.head = (int64_t)unpack_number(bytes, 8),
                         .owed = (int64_t)unpack_number(bytes + 8, 8),
                         .surface = (uint16_t)unpack_number(bytes + 16, 2),
                         .links = bytes[18],
                         .asleep = bytes[19],
                         .calm = bytes[20],
                         .hold = bytes[21],
                         .gentle = bytes[22],
                         .looks = bytes[23],
                         .rise = (int32_t)unpack_number(bytes + 24, 4),
                         .shown = (int64_t)unpack_number(bytes + 28, 8),
                         .wild = bytes[36] & 127,
                         .driven = bytes[36] >> 7};
    const int64_t most = INT64_C(1) << 54;  // heights of cells fit an int32, and drops of a brick are far fewer
    if (rest->head != REST_NO_HEAD && (rest->head > most || rest->head < -most)) return false;
    if (rest->owed > most || rest->owed < -most) return false;
    if (rest->asleep > 1 || rest->calm > REST_LONG || rest->links > 63 || rest->surface > BRICK_CELLS) return false;
    if (rest->gentle > REST_FADED || rest->wild > REST_DRIVEN || rest->looks > LOOKS || !is_within(rest->rise, 0, RISE_MOST))
        return false;
    return rest->asleep || (rest->owed == 0 && rest->links == 0 && rest->surface == 0);
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

const char *sleep_validate(const fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    for (int32_t b = 1; b < pool->end; b++) {
        const brick_rest *rest = &pool->rest[b];
        if (!pool->alive[b]) continue;
        if (rest->asleep > 1 || rest->calm > REST_LONG || rest->links > 63)
            return broken("the rest of brick %d is noted as asleep %d, calm %d, links %d", b, rest->asleep, rest->calm,
                          rest->links);
        if (!rest->asleep && (rest->owed != 0 || rest->links || rest->surface))
            return broken("brick %d is awake and has links, a surface or drops that it is owed", b);
        if (!pool->wet[b] && rest->owed != 0) return broken("brick %d is dry and has drops that it is owed", b);
        if (rest->asleep && !c->sleep) return broken("brick %d sleeps in a world without sleep", b);
    }
    return NULL;
}
