// The state of fluid in cells: hashed, saved and loaded by the solver's own list of channels.
//
// Hash: bricks are summed, so that their order does not matter; each is hashed with its coordinate. A brick whose values are all zero does
// not count, since it may be there or not without making a difference.
//
// In a snapshot: names of rules' channels | bricks, in coordinate order, each as its coordinate and 512 values per channel of the state.
#include "base/hash.h"
#include "cells/sleep.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    HASH_GRAIN = 64,  // bricks per piece of work
    NAME_BYTES = 64
};

static bool is_zero(const brick_pool *pool, int32_t channel, int32_t brick)
{
    const char *values = bricks_values(pool, channel, brick);
    uint64_t words[8];
    for (size_t at = 0; at < bricks_channel_bytes(pool, channel); at += sizeof words) {
        memcpy(words, values + at, sizeof words);
        uint64_t any = 0;
        for (int32_t i = 0; i < 8; i++) any |= words[i];
        if (any) return false;
    }
    return true;
}

static bool brick_empty(const brick_pool *pool, int32_t brick, const int32_t *channels, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (!is_zero(pool, channels[i], brick)) return false;
    return true;
}

// ---- Hash ------------------------------------------------------------------------------------------------------------------

typedef struct hash_job {
    const brick_pool *pool;
    const cells_sleep *sleep;
    int32_t channels[CHANNEL_MAX];
    int32_t channel_count;
    _Atomic uint64_t sum;
} hash_job;

static uint64_t hash_brick(const hash_job *job, int32_t brick)
{
    const brick_pool *pool = job->pool;
    if (brick_empty(pool, brick, job->channels, job->channel_count)) return 0;
    uint64_t digests[CHANNEL_MAX];
    for (int32_t i = 0; i < job->channel_count; i++)
        digests[i] = hash_bytes(bricks_values(pool, job->channels[i], brick), bricks_channel_bytes(pool, job->channels[i]), 0);
    uint64_t hash = hash_bytes(&pool->coord[brick], sizeof pool->coord[brick], 0);
    hash = hash_bytes(&pool->open[brick], sizeof pool->open[brick], hash);
    if (sleep_counts(job->sleep, &pool->rest[brick])) {
        uint8_t rest[REST_BYTES];
        sleep_pack(&pool->rest[brick], rest);
        hash = hash_bytes(rest, sizeof rest, hash);
    }
    return hash_bytes(digests, (size_t)job->channel_count * sizeof *digests, hash);
}

static void hash_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    hash_job *job = context;
    uint64_t sum = 0;
    for (int32_t b = begin; b < end; b++)
        if (job->pool->alive[b]) sum += hash_brick(job, b);
    atomic_fetch_add_explicit(&job->sum, sum, memory_order_relaxed);
}

uint64_t cells_hash(const void *state, bool frozen)
{
    const fluid_cells *c = state;
    hash_job job = {.pool = frozen ? &c->frozen : &c->pool, .sleep = c->sleep};
    job.channel_count = cells_state_channels(c, job.channels);
    // While a background step runs the workers are its own.
    if (frozen)
        hash_bricks(&job, 0, job.pool->end, 0);
    else
        workers_run(c->world->workers, hash_bricks, &job, job.pool->end, HASH_GRAIN);
    return atomic_load(&job.sum);
}

// ---- Saving ----------------------------------------------------------------------------------------------------------------

static void put_names(const fluid_cells *c, snapshot_writer *w)
{
    int32_t count = 0;
    for (int32_t r = 0; r < c->rule_count; r++) count += c->rules[r].def.channel_count;
    snapshot_put_number(w, (uint32_t)count, 4);
    for (int32_t r = 0; r < c->rule_count; r++)
        for (int32_t i = 0; i < c->rules[r].def.channel_count; i++) snapshot_put_name(w, c->rules[r].channel_names[i]);
}

static void put_rest(snapshot_writer *w, const brick_rest *rest)
{
    uint8_t bytes[REST_BYTES];
    sleep_pack(rest, bytes);
    snapshot_put_values(w, bytes, REST_BYTES, 1);
}

// Bricks of air around water that sleeps are there for edits that come before the next update: they wake it, it gets what it is owed, and its
// surface is where there is such a brick.
static bool lies_beside_sleep(const brick_pool *pool, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++)
        if (pool->rest[pool->near[brick][k]].asleep) return true;
    return false;
}

// The bricks, or those of a box.
static void put_bricks(const fluid_cells *c, const weir_box *box, snapshot_writer *w)
{
    const brick_pool *pool = &c->pool;
    int32_t channels[CHANNEL_MAX], channel_count = cells_state_channels(c, channels);
    put_names(c, w);
    int32_t *bricks = snapshot_scratch(w, (size_t)pool->live * sizeof *bricks);
    if (pool->live > 0 && !bricks) return;
    if (pool->live > 0) bricks_sorted(pool, bricks);

    // A brick that holds nothing need not be there: the next update makes those it wants. Those of a region come back all, since flow over
    // their upper borders may come back later.
    int32_t count = 0;
    for (int32_t i = 0; i < pool->live; i++) {
        const int32_t b = bricks[i];
        if (mask_empty(&pool->open[b]) || (box && !region_holds(*box, pool->coord[b]))) continue;
        if (box || lies_beside_sleep(pool, b) || !brick_empty(pool, b, channels, channel_count)) bricks[count++] = b;
    }
    snapshot_put_number(w, (uint32_t)count, 4);
    for (int32_t i = 0; i < count; i++) {
        snapshot_put_coord(w, pool->coord[bricks[i]]);
        if (c->sleep) put_rest(w, &pool->rest[bricks[i]]);
        for (int32_t k = 0; k < channel_count; k++)
            snapshot_put_values(w, bricks_values(pool, channels[k], bricks[i]), BRICK_CELLS, pool->channel_bytes[channels[k]]);
    }
    snapshot_scratch_free(w, bricks, (size_t)pool->live * sizeof *bricks);
}

void cells_save(const void *state, snapshot_writer *w)
{
    put_bricks(state, NULL, w);
}

// In coordinate order; 3 instead of an axis ends them.
static void put_borders(const fluid_cells *c, weir_box bricks, snapshot_writer *w)
{
    const size_t size = (size_t)c->pool.live * sizeof(int32_t);
    int32_t *order = snapshot_scratch(w, size);
    cells_border border;
    if (order) bricks_sorted(&c->pool, order);
    for (int32_t i = 0; order && i < c->pool.live; i++) {
        for (int32_t axis = 0; axis < 3; axis++) {
            if (!cells_read_border(c, bricks, order[i], axis, &border)) continue;
            snapshot_put_number(w, (uint32_t)axis, 1);
            snapshot_put_coord(w, border.at);
            snapshot_put_values(w, border.flow, 64, 4);
        }
    }
    snapshot_put_number(w, 3, 1);
    snapshot_scratch_free(w, order, size);
}

void cells_region_save(const void *state, weir_box bricks, snapshot_writer *w)
{
    const fluid_cells *c = state;
    snapshot_put_number(w, (uint32_t)solver_carried(c->world), 4);
    put_bricks(c, &bricks, w);
    put_borders(c, bricks, w);
}

// ---- Loading ---------------------------------------------------------------------------------------------------------------

static weir_status get_names(const fluid_cells *c, snapshot_reader *r, cells_arrival *a)
{
    int32_t of_layout = 0;
    for (int32_t i = 0; i < c->layout->count; i++)
        if (c->layout->channels[i].kept) a->channels[of_layout++] = i;
    a->channel_count = of_layout;
    int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (count < 0 || count > CHANNEL_MAX - of_layout) return snapshot_damaged(r, "it claims %d channels of rules", count);
    for (int32_t i = 0; i < count; i++) {
        char name[NAME_BYTES];
        snapshot_get_name(r, name, sizeof name);
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        if (!name[0]) return snapshot_damaged(r, "channel %d has no sound name", i + 1);
        int32_t channel = cells_find_channel(c, name);
        if (channel < 0) {
            return status_fail(WEIR_ERROR_ARGUMENT, "%s: the snapshot has a channel \"%s\", and no rule of this world does",
                               snapshot_name(r), name);
        }
        for (int32_t j = 0; j < a->channel_count; j++)
            if (a->channels[j] == channel) return snapshot_damaged(r, "it has the channel \"%s\" twice", name);
        a->channels[a->channel_count++] = channel;
    }
    return WEIR_OK;
}

static weir_status check_value(const fluid_cells *c, const snapshot_reader *r, const brick_pool *pool, int32_t channel,
                               int32_t brick, int32_t cell)
{
    const weir_coord at = brick_cell(pool->coord[brick], cell);
    const cell_channel of_rule = {.type = CHANNEL_FLOAT, .bytes = 4};
    const cell_channel *about = channel < c->layout->count ? &c->layout->channels[channel] : &of_rule;
    const double value = cells_value(about->type, about->bytes, bricks_values(pool, channel, brick), cell);
    if (about == &of_rule) {
        // Rules may keep what they like, also in solid cells.
        if (isfinite(value)) return WEIR_OK;
        return snapshot_damaged(r, "a rule's channel at cell (%d, %d, %d) is not a number", at.x, at.y, at.z);
    }
    const bool open = mask_has(&pool->open[brick], cell);
    if (about->type == CHANNEL_UNITS) {
        if (value < 0 || value > cells_value_max(c, channel))
            return snapshot_damaged(r, "cell (%d, %d, %d) holds %.0f drops", at.x, at.y, at.z, value * c->world->solver->unit);
        if (!open && value != 0) return snapshot_damaged(r, "cell (%d, %d, %d) is solid and holds water", at.x, at.y, at.z);
        return WEIR_OK;
    }
    if (!isfinite(value)) return snapshot_damaged(r, "%s at cell (%d, %d, %d) is not a number", about->name, at.x, at.y, at.z);
    if (fabs(value) > about->max || (about->type == CHANNEL_COUNT && value < 0))
        return snapshot_damaged(r, "%s at cell (%d, %d, %d) is %g", about->name, at.x, at.y, at.z, value);
    if (!open && value != 0) return snapshot_damaged(r, "cell (%d, %d, %d) is solid and has %s", at.x, at.y, at.z, about->name);
    return WEIR_OK;
}

static weir_status get_brick(const fluid_cells *c, snapshot_reader *r, const terrain *t, const weir_box *box, cells_arrival *a)
{
    const weir_coord at = snapshot_get_coord(r);
    if (!snapshot_brick_sound(at) || (box && !region_holds(*box, at)))
        return snapshot_damaged(r, "the brick (%d, %d, %d) lies outside any %s", at.x, at.y, at.z, box ? "region" : "world");
    if (bricks_find(&a->pool, at)) return snapshot_damaged(r, "the brick (%d, %d, %d) is there twice", at.x, at.y, at.z);
    brick_mask open;
    if (!terrain_open(t, at, &open)) return snapshot_damaged(r, "the brick (%d, %d, %d) is solid throughout", at.x, at.y, at.z);
    int32_t brick = bricks_born(&a->pool, at, &open);
    if (c->sleep) {
        uint8_t rest[REST_BYTES];
        if (!snapshot_get_values(r, rest, REST_BYTES, 1)) return snapshot_ends_early(r);
        if (!sleep_unpack(rest, &a->pool.rest[brick]))
            return snapshot_damaged(r, "how the brick (%d, %d, %d) sleeps makes no sense", at.x, at.y, at.z);
    }
    for (int32_t k = 0; k < a->channel_count; k++) {
        void *values = bricks_values(&a->pool, a->channels[k], brick);
        if (!snapshot_get_values(r, values, BRICK_CELLS, a->pool.channel_bytes[a->channels[k]])) return snapshot_ends_early(r);
    }
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        for (int32_t k = 0; k < a->channel_count; k++) {
            weir_status status = check_value(c, r, &a->pool, a->channels[k], brick, cell);
            if (status != WEIR_OK) return status;
        }
    }
    return WEIR_OK;
}

static weir_status get_bricks(const fluid_cells *c, snapshot_reader *r, const terrain *t, const weir_box *box, cells_arrival *a)
{
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    size_t brick_bytes = 12 + (c->sleep ? REST_BYTES : 0);
    for (int32_t k = 0; k < a->channel_count; k++) brick_bytes += bricks_channel_bytes(&c->pool, a->channels[k]);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (count < 0 || count > BRICK_MAX)
        return snapshot_damaged(r, "it claims %d bricks; a world holds at most %d", count, BRICK_MAX);
    if ((uint64_t)snapshot_left(r) < (uint64_t)count * brick_bytes)
        return snapshot_damaged(r, "it does not hold the %d bricks it claims", count);
    weir_status status = bricks_create(&c->world->mem, count, c->pool.channel_count, c->pool.channel_bytes, &a->pool);
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) status = get_brick(c, r, t, box, a);
    return status;
}

// The bricks, or those of a box.
static weir_status load_bricks(fluid_cells *c, snapshot_reader *r, const terrain *t, const weir_box *box,
                               int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    cells_arrival *a = *arrival = memory_alloc_zero(&c->world->mem, sizeof *a);
    if (!a) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while loading %s", snapshot_name(r));
    weir_status status = get_names(c, r, a);
    if (status == WEIR_OK) status = get_bricks(c, r, t, box, a);
    const weir_material material = snapshot_material(r, c->world);
    for (int32_t b = 1; b < a->pool.end && status == WEIR_OK; b++) held[material] += cells_count_brick(c, &a->pool, b);
    if (status == WEIR_OK && a->pool.end > 0) held[material] += cells_owed(&a->pool);
    return status;
}

weir_status cells_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    const weir_status status = load_bricks(state, r, t, NULL, held, arrival);
    const cells_arrival *a = *arrival;
    return status == WEIR_OK ? sleep_reserve(state, a->pool.capacity) : status;  // edits may come before the next update
}

static weir_status get_borders(const fluid_cells *c, snapshot_reader *r, weir_box bricks, cells_arrival *a)
{
    for (;;) {
        cells_border border = {.axis = (int32_t)snapshot_get_number(r, 1)};
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        if (border.axis == 3) return WEIR_OK;
        border.at = snapshot_get_coord(r);
        if (!snapshot_get_values(r, border.flow, 64, 4)) return snapshot_ends_early(r);
        bool sound = border.axis < 3 && c->layout->flow != CHANNEL_NONE && snapshot_brick_sound(border.at) &&
                     cells_is_border(bricks, border.at, border.axis);
        for (int32_t i = 0; i < 64 && sound; i++)
            sound = isfinite(border.flow[i]) && fabs((double)border.flow[i]) <= cells_value_max(c, c->layout->flow);
        if (!sound) return snapshot_damaged(r, "the flow over its border makes no sense");
        if (a->border_count == a->border_room) {
            const int32_t room = a->border_room ? 2 * a->border_room : 16;
            cells_border *borders = memory_resize(&c->world->mem, a->borders, (size_t)a->border_room * sizeof *borders,
                                                  (size_t)room * sizeof *borders);
            if (!borders) return status_fail(WEIR_ERROR_MEMORY, "no memory for the flow over the border of a region");
            a->borders = borders;
            a->border_room = room;
        }
        a->borders[a->border_count++] = border;
    }
}

weir_status cells_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                              int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    fluid_cells *c = state;
    const int32_t carried = (int32_t)snapshot_get_number(r, 4);
    if (carried < 0) return snapshot_damaged(r, "a world of %s cannot carry the number %d", c->world->solver->name, carried);
    weir_status status = load_bricks(c, r, t, &bricks, held, arrival);
    cells_arrival *a = *arrival;
    if (a) a->carried = carried;
    if (status == WEIR_OK) status = get_borders(c, r, bricks, a);
    if (status == WEIR_OK) status = bricks_reserve(&c->pool, a->pool.live);
    return status == WEIR_OK ? sleep_reserve(c, c->pool.capacity) : status;
}

// Of the bricks that were there those end that are not there now.
static void tell_deaths(fluid_cells *c, const brick_pool *old)
{
    for (int32_t b = 1; b < c->pool.end; b++) deaths_remove(&c->deaths, c->pool.coord[b]);
    for (int32_t b = 1; b < old->end; b++)
        if (old->alive[b] && !bricks_find(&c->pool, old->coord[b]))
            deaths_add(&c->deaths, &c->world->mem, old->coord[b], c->world->change);
}

// What was built for the old bricks is built anew, a capacity that was asked for stays, and peaks are those of the world.
void cells_adopt_pool(fluid_cells *c, brick_pool *pool)
{
    const brick_pool old = c->pool;
    pool->version += old.version + 1;
    pool->least = old.least;
    pool->remote = old.remote;
    for (int32_t b = 1; b < pool->end; b++) pool->changed[b] = c->world->change;
    for (int32_t b = 1; pool->remote && b < pool->end; b++) pool->place[b] = PLACE_HERE;
    if (pool->peak_live < old.peak_live) pool->peak_live = old.peak_live;
    if (pool->peak_bytes < old.peak_bytes) pool->peak_bytes = old.peak_bytes;
    bricks_catch_up(&old);
    c->pool = *pool;
    *pool = old;
    tell_deaths(c, &old);
}

void cells_adopt(void *state, void *arrival)
{
    fluid_cells *c = state;
    cells_adopt_pool(c, &((cells_arrival *)arrival)->pool);
    c->material = solver_material(c->world->solver, &c->world->params);
    c->stale_flow = true;
    sleep_forget(c);
}

void cells_discard(void *state, void *arrival)
{
    fluid_cells *c = state;
    cells_arrival *a = arrival;
    if (!a) return;
    if (a->pool.mem) bricks_destroy(&a->pool);
    memory_free(&c->world->mem, a->borders, (size_t)a->border_room * sizeof *a->borders);
    memory_free(&c->world->mem, a, sizeof *a);
}
