// The bricks on the device. Their values live there and come here only when somebody asks (brick_remote); of what the host decides,
// where bricks lie and which of their cells are open, only changes go up.
#include "compute/opencl.h"

#include "base/broken.h"
#include "cells/sleep.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLEARED_CHANNELS = 8,  // that a kernel clears in a newborn brick along with its row
    RUNS_WANTED = 1024,    // before they get longer than one brick
    RUNS_LAST = 512,       // that many of a length are still to come when they become shorter
    BATCH = 1024           // bricks that a copy is about, at most; there is always room to name so many
};

// The bytes and words of a brick in a channel.
static int64_t bytes_of(const device_bricks *d, int32_t channel)
{
    return (int64_t)bricks_channel_bytes(&d->cells->pool, channel);
}

static cl_int words_of(const device_bricks *d, int32_t channel)
{
    return (cl_int)(bytes_of(d, channel) / 4);
}

// ---- Room ------------------------------------------------------------------------------------------------------------------

// A buffer of a new size with the beginning of the old one, and zeros after it if they matter. Without memory the old one stays.
static bool resize(device_bricks *d, cl_mem *buffer, int64_t keep, int64_t bytes, bool zero)
{
    opencl_queue *q = d->queue;
    cl_mem fresh = queue_buffer(q, bytes);
    if (!fresh) return false;
    if (zero) queue_zero(q, fresh, bytes);
    queue_copy(q, *buffer, fresh, *buffer ? keep : 0);
    if (q->error != CL_SUCCESS) {
        queue_free(q, &fresh);
        return false;
    }
    queue_free(q, buffer);
    *buffer = fresh;
    return true;
}

_Static_assert(DEVICE_BRICK_FLAGS % 64 == 0, "tables begin with a cache line");
_Static_assert(sizeof(device_place) == 32, "so much room the tables have for a place");

// The tables with room for more bricks. Nothing is kept: bricks have come, so places are told again and a solver makes anew what it
// has there.
static bool grow_tables(device_bricks *d, int32_t capacity)
{
    const int32_t room = (capacity + 63) / 64 * 64;
    if (!resize(d, &d->tables, 0, d->needs.tables_bytes(room), true)) return false;
    d->room = room;
    return true;
}

// Channels come one by one, so that only one of them is there twice. The nothing's values are zero.
static bool grow(device_bricks *d, int32_t capacity)
{
    int32_t channel_count = d->cells->pool.channel_count;
    // Counted before any of them grows: those that did would take the room from a smaller growth. The largest is there twice for a while.
    int64_t others = d->queue->held, all = 0, most = 0;
    for (int32_t c = 0; c < d->channel_count; c++) others -= queue_size(d->queue, d->channel[c]);
    for (int32_t c = 0; c < channel_count; c++) {
        all += capacity * bytes_of(d, c);
        if (bytes_of(d, c) > most) most = bytes_of(d, c);
    }
    if (others + all + capacity * most > d->queue->device.memory) return false;
    for (int32_t c = 0; c < channel_count; c++) {
        const int64_t bytes = capacity * bytes_of(d, c);
        // Asked of the buffer itself: passes swap channels, of which some are larger after a growth that failed halfway.
        bool new = !d->channel[c];
        int64_t before = new ? 0 : queue_size(d->queue, d->channel[c]);
        if (before >= bytes) continue;
        if (!resize(d, &d->channel[c], before, bytes, new)) return false;
        if (c >= d->channel_count) d->channel_count = c + 1;
    }
    d->lean = false;
    if (capacity <= d->capacity) return true;
    // In the tables the nothing is solid and has no neighbours.
    int64_t before = d->capacity, after = capacity;
    bool room = resize(d, &d->near, before * 27 * 4, after * 27 * 4, before == 0) &&
                resize(d, &d->open, before * 64, after * 64, before == 0) &&
                resize(d, &d->coords, before * 12, after * 12, false) && resize(d, &d->clear, before, after, before == 0) &&
                resize(d, &d->list, 0, after * 4, false) &&
                (!d->needs.pairs || resize(d, &d->pairs, 0, after * 36 * 4, false)) && grow_tables(d, capacity);
    if (!room) return false;
    d->capacity = capacity;
    d->version = UINT64_MAX;
    return true;
}

static weir_status no_room(const device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    int64_t bytes = 0;
    for (int32_t c = 0; c < pool->channel_count; c++) bytes += pool->end * bytes_of(d, c);
    return queue_no_room(d->queue, "", pool->end, bytes);
}

// Gives back all that nobody needs between updates, so that what was made too large can be made anew.
static void drop_scratch(device_bricks *d)
{
    int32_t channels[CHANNEL_MAX], count = cells_state_channels(d->cells, channels);
    uint64_t kept = 0;
    for (int32_t i = 0; i < count; i++) kept |= (uint64_t)1 << channels[i];
    if (d->cells->reported != CHANNEL_NONE) kept |= (uint64_t)1 << d->cells->reported;
    for (int32_t c = 0; c < d->channel_count; c++)
        if (!(kept >> c & 1)) queue_free(d->queue, &d->channel[c]);
    queue_free(d->queue, &d->block);
    queue_free(d->queue, &d->names);
    d->block_bytes = d->names_bytes = 0;
    d->lean = d->doubles_lost = true;
}

// Whether bricks must keep their numbers, because a plan of the update goes by them.
static bool has_plan(const fluid_cells *c)
{
    return c->pool.awake < c->pool.live || (c->sleep && c->sleep->planned);
}

// Room for as many bricks as the pool has room for, or at least for those that are there.
static weir_status make_room(device_bricks *d)
{
    brick_pool *pool = &d->cells->pool;
    opencl_queue *q = d->queue;
    bool room = grow(d, pool->capacity > d->capacity ? pool->capacity : d->capacity);
    if (!room && (q->error == CL_SUCCESS || queue_forgive(q))) {
        if (pool->end > d->capacity && pool->live + 1 < pool->end && !has_plan(d->cells)) bricks_close_gaps(pool);
        drop_scratch(d);
        room = grow(d, pool->end > d->capacity ? pool->end : d->capacity);
    }
    if (!room && (q->error == CL_SUCCESS || queue_forgive(q))) return no_room(d);
    queue_finish(q);
    return queue_status(q);
}

static void *host_room(device_bricks *d, size_t bytes)
{
    if (d->host_bytes >= bytes) return d->host_block;
    memory_free(&d->world->mem, d->host_block, d->host_bytes);
    d->host_block = memory_alloc(&d->world->mem, bytes);
    d->host_bytes = d->host_block ? bytes : 0;
    return d->host_block;
}

static bool name_bricks(device_bricks *d, const int32_t *bricks, int32_t count)
{
    if (!queue_at_least(d->queue, &d->names, &d->names_bytes, (int64_t)count * 4, 0)) return false;
    queue_write(d->queue, d->names, 0, bricks, (int64_t)count * 4);
    return true;
}

// ---- What the host tells ---------------------------------------------------------------------------------------------------

static bool is_worked(const brick_pool *pool, int32_t brick)
{
    return pool->phase[brick] != PHASE_ASLEEP;
}

static void write_row(const brick_pool *pool, int32_t brick, device_row *row)
{
    const bool worked = is_worked(pool, brick);
    assert(pool->alive[brick] && (!worked || bricks_near(pool)[brick][BRICK_SELF] == brick));
    row->brick = brick;
    if (worked)
        memcpy(row->near, bricks_near(pool)[brick], sizeof row->near);
    else
        memset(row->near, 0, sizeof row->near);
    memcpy(row->open, &pool->open[brick], sizeof row->open);
    row->coord[0] = pool->coord[brick].x;
    row->coord[1] = pool->coord[brick].y;
    row->coord[2] = pool->coord[brick].z;
    row->clear = worked && bricks_clear(pool, brick);
    row->newborn = pool->place[brick] == PLACE_NOWHERE;
}

// Takes two bricks at a time from every row of bricks along x, and writes the left ones.
static int32_t pair_bricks(const brick_pool *pool, int32_t *pairs)
{
    const int32_t(*near)[27] = bricks_near(pool);
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!is_worked(pool, b) || near[b][NEAR(-1, 0, 0)]) continue;
        for (int32_t left = b; left; left = near[near[left][NEAR(1, 0, 0)]][NEAR(1, 0, 0)]) pairs[count++] = left;
    }
    return count;
}

static bool reserve_lines(device_bricks *d)
{
    int32_t room = d->cells->pool.capacity;
    if (d->behind_room >= room) return true;
    const size_t size = sizeof *d->behind;
    int32_t *behind = memory_resize(&d->world->mem, d->behind, (size_t)d->behind_room * size, (size_t)room * size);
    if (!behind) return false;
    d->behind = behind;
    d->behind_room = room;
    return true;
}

static void keep_line(device_bricks *d, int32_t brick)
{
    const brick_pool *pool = &d->cells->pool;
    d->behind[brick] = 0;
    if (!is_worked(pool, brick)) return;
    const int32_t *near = bricks_near(pool)[brick];
    static const int32_t step[3] = {NEAR(1, 0, 0) - BRICK_SELF, NEAR(0, 1, 0) - BRICK_SELF, NEAR(0, 0, 1) - BRICK_SELF};
    const int32_t before = near[BRICK_SELF - step[d->needs.run_axis]], after = near[BRICK_SELF + step[d->needs.run_axis]];
    d->behind[brick] = 2 * after + (before == BRICK_NOTHING);
}

// The bricks as runs. Long ones do less work twice, but there must be enough of them to keep the device busy; and the last ones are
// short, so that all of its processors end at about the same time.
static weir_status send_runs(device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    int32_t most = d->worked / RUNS_WANTED;
    const bool tapers = most >= DEVICE_RUN;  // shorter runs are many enough as they are
    most = most < 1 ? 1 : tapers ? DEVICE_RUN : most;
    device_run *runs = host_room(d, (size_t)d->worked * sizeof *runs);
    if (!runs) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell the device of %d bricks", pool->live);
    int32_t left = d->worked;
    d->run_count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!(d->behind[b] & 1)) continue;
        device_run *run = NULL;
        for (int32_t at = b; at != BRICK_NOTHING; at = d->behind[at] >> 1) {
            if (!run || run->count == most) {
                while (tapers && most > 1 && left < most * RUNS_LAST) most /= 2;
                run = &runs[d->run_count++];
                *run = (device_run){0};
            }
            run->brick[run->count++] = at;
            left--;
        }
    }
    assert(left == 0 && d->run_count <= d->worked);
    int64_t bytes = d->run_count * (int64_t)sizeof *runs;
    if (!queue_at_least(d->queue, &d->runs, &d->runs_bytes, bytes, bytes / 2)) return no_room(d);
    queue_write(d->queue, d->runs, 0, runs, bytes);
    return queue_status(d->queue);
}

// The channels that make up the state, which go up and down; the others are scratch within an update. Those of a rule that was added
// since the last update are not among them: on the device there is nothing of them yet.
static int32_t state_channels(const device_bricks *d, int32_t channels[CHANNEL_MAX])
{
    int32_t all[CHANNEL_MAX], count = 0;
    const int32_t there = cells_state_channels(d->cells, all);
    for (int32_t i = 0; i < there; i++)
        if (all[i] < d->channel_count) channels[count++] = all[i];
    return count;
}

// Tells of bricks, and clears the first channels of those that are newborn; clear_values sees to the others.
static void launch_rows(device_bricks *d, int32_t rows)
{
    int32_t channels[CHANNEL_MAX];
    const int32_t count = state_channels(d, channels);
    cl_mem c[CLEARED_CHANNELS];
    cl_int words[CLEARED_CHANNELS];
    for (int32_t i = 0; i < CLEARED_CHANNELS; i++) {
        c[i] = d->channel[channels[i < count ? i : 0]];
        words[i] = i < count ? words_of(d, channels[i]) : 0;
    }
    LAUNCH(d->queue, take_rows, rows, ARG(d->block), ARG(d->near), ARG(d->open), ARG(d->coords), ARG(d->clear), ARG(c[0]),
           ARG(c[1]), ARG(c[2]), ARG(c[3]), ARG(c[4]), ARG(c[5]), ARG(c[6]), ARG(c[7]), ARG(words));
}

// Lists the bricks of a phase behind `count` others. Returns how many there are then.
static int32_t list_phase(const brick_pool *pool, brick_phase phase, int32_t *list, int32_t count)
{
    for (int32_t b = 0; (b = bricks_next(pool->phase, (int)phase, b + 1, pool->end)) < pool->end;) list[count++] = b;
    return count;
}

// Rows of changed bricks and the list of those that are worked on.
static weir_status send_rows(device_bricks *d)
{
    brick_pool *pool = &d->cells->pool;
    bool all = d->version == UINT64_MAX;
    size_t rows = 0, room = (size_t)pool->end * (sizeof(device_row) > 4 ? sizeof(device_row) : 4);
    device_row *sent = host_room(d, room);
    if (!sent || !reserve_lines(d))
        return status_fail(WEIR_ERROR_MEMORY, "no memory to tell the device of %d bricks", pool->live);
    if (all) memset(pool->dirty, 1, (size_t)pool->end);
    for (int32_t b = 0; (b = bricks_next(pool->dirty, 1, b + 1, pool->end)) < pool->end;) {
        keep_line(d, b);
        if (pool->alive[b]) write_row(pool, b, &sent[rows++]);
    }
    memset(pool->dirty, 0, (size_t)pool->end);
    if (rows > 0) {
        int64_t bytes = (int64_t)(rows * sizeof *sent);
        if (!queue_at_least(d->queue, &d->block, &d->block_bytes, bytes, 0)) {
            d->version = UINT64_MAX;  // the bricks are no longer marked dirty: next time all rows are sent
            return no_room(d);
        }
        queue_write(d->queue, d->block, 0, sent, bytes);
        launch_rows(d, (int32_t)rows);
    }
    int32_t *list = host_room(d, room);
    d->awake = list_phase(pool, PHASE_AWAKE, list, 0);
    d->worked = pool->awake < pool->live ? list_phase(pool, PHASE_RIM, list, d->awake) : d->awake;
    assert(d->awake == pool->awake && d->worked <= pool->live && pool->end <= d->capacity && pool->end <= d->room);
    queue_write(d->queue, d->list, 0, list, (int64_t)d->worked * 4);
    LAUNCH(d->queue, place_bricks, (d->worked + (int32_t)d->queue->group - 1) / (int32_t)d->queue->group, ARG(d->list),
           ARG(d->near), ARG(d->clear), ARG(d->tables), ARG(d->room), ARG(d->worked));
    if (d->needs.pairs) {
        d->pair_count = pair_bricks(pool, list);
        assert(d->pair_count <= d->worked && 2 * d->pair_count >= d->worked);
        if (!name_bricks(d, list, d->pair_count)) return no_room(d);
        LAUNCH(d->queue, pair_bricks, d->pair_count, ARG(d->names), ARG(d->near), ARG(d->pairs));
    }
    weir_status status = queue_status(d->queue);
    if (status == WEIR_OK && d->worked > 0) status = send_runs(d);
    if (status == WEIR_OK) d->version = pool->version;
    return status;
}

// Room here for the header of the tables and for the flags. Something may still be on its way to where it was.
static bool pin_tables(device_bricks *d)
{
    int64_t bytes = DEVICE_BRICK_FLAGS + d->cells->pool.capacity;
    if (d->tables_here.bytes < bytes && d->needs.catch_up) d->needs.catch_up(d->needs.solver);
    return queue_pin(d->queue, &d->tables_here, bytes);
}

// Room for what the host says before changes are reported.
static bool reserve_flags(device_bricks *d)
{
    const int32_t room = d->cells->pool.capacity;
    const size_t size = sizeof *d->flags_here;
    if (d->cells->reported == CHANNEL_NONE) return true;
    if (d->flags_room < room) {
        int32_t *flags = memory_resize(&d->world->mem, d->flags_here, (size_t)d->flags_room * size, (size_t)room * size);
        if (!flags) return false;
        d->flags_here = flags;
        d->flags_room = room;
    }
    return queue_at_least(d->queue, &d->flags, &d->flags_bytes, room * (int64_t)size, 0);
}

weir_status device_bricks_prepare(device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    weir_status status = queue_status(d->queue);
    bool room = pool->end <= d->capacity && pool->channel_count <= d->channel_count && !d->lean;
    if (status == WEIR_OK && !room) status = make_room(d);
    if (status == WEIR_OK && !pin_tables(d))
        status = status_fail(WEIR_ERROR_MEMORY, "no memory for flags of %d bricks", pool->capacity);
    if (status == WEIR_OK && !reserve_flags(d)) status = no_room(d);
    if (status == WEIR_OK && !queue_at_least(d->queue, &d->names, &d->names_bytes, BATCH * 4, 0)) status = no_room(d);
    if (status == WEIR_OK && d->version != pool->version) status = send_rows(d);
    return status;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

// The state of some bricks, and what was reported of them, packed: channel by channel, brick by brick.
typedef struct packed_state {
    int32_t channels[CHANNEL_MAX], channel_count;
    cl_int first[CHANNEL_MAX];  // word at which each channel begins
    int64_t bytes;
    uint32_t *values;  // NULL: there is no room for it here or there, and bricks must travel one by one
} packed_state;

static packed_state make_packed(device_bricks *d, const int32_t *bricks, int32_t count)
{
    packed_state p = {.bytes = 0};
    p.channel_count = state_channels(d, p.channels);
    if (d->cells->reported != CHANNEL_NONE && d->cells->reported < d->channel_count)
        p.channels[p.channel_count++] = d->cells->reported;
    for (int32_t c = 0; c < p.channel_count; c++) {
        p.first[c] = (cl_int)(p.bytes / 4);
        p.bytes += count * bytes_of(d, p.channels[c]);
    }
    p.values = host_room(d, (size_t)p.bytes);
    const bool room =
        p.values && queue_at_least(d->queue, &d->block, &d->block_bytes, p.bytes, 0) && name_bricks(d, bricks, count);
    if (!room) p.values = NULL;
    return p;
}

// Where a brick's values of the c-th channel are among the packed ones.
static uint32_t *packed_at(const device_bricks *d, const packed_state *p, int32_t c, int32_t brick)
{
    return p->values + p->first[c] + (size_t)brick * (size_t)words_of(d, p->channels[c]);
}

static void fetch(void *user, const int32_t *bricks, int32_t count)
{
    device_bricks *d = user;
    const brick_pool *pool = &d->cells->pool;
    for (int32_t c = d->channel_count; c < pool->channel_count; c++)
        for (int32_t i = 0; i < count; i++) memset(bricks_values(pool, c, bricks[i]), 0, (size_t)bytes_of(d, c));
    const packed_state p = make_packed(d, bricks, count);
    for (int32_t c = 0; c < p.channel_count; c++) {
        const int32_t channel = p.channels[c];
        const cl_int words = words_of(d, channel);
        if (p.values)
            LAUNCH(d->queue, pack_bricks, count, ARG(d->names), ARG(d->channel[channel]), ARG(d->block), ARG(p.first[c]),
                   ARG(words));
        for (int32_t i = 0; i < count && !p.values; i++)
            queue_read(d->queue, d->channel[channel], bricks[i] * bytes_of(d, channel), bricks_values(pool, channel, bricks[i]),
                       bytes_of(d, channel));
    }
    if (!p.values) return;
    queue_read(d->queue, d->block, 0, p.values, p.bytes);
    for (int32_t c = 0; c < p.channel_count; c++)
        for (int32_t i = 0; i < count; i++)
            memcpy(bricks_values(pool, p.channels[c], bricks[i]), packed_at(d, &p, c, i), (size_t)bytes_of(d, p.channels[c]));
}

static void send_values(device_bricks *d, const int32_t *bricks, int32_t count)
{
    const brick_pool *pool = &d->cells->pool;
    const packed_state p = make_packed(d, bricks, count);
    for (int32_t c = 0; c < p.channel_count && p.values; c++)
        for (int32_t i = 0; i < count; i++)
            memcpy(packed_at(d, &p, c, i), bricks_values(pool, p.channels[c], bricks[i]), (size_t)bytes_of(d, p.channels[c]));
    if (p.values) queue_write(d->queue, d->block, 0, p.values, p.bytes);
    for (int32_t c = 0; c < p.channel_count; c++) {
        const int32_t channel = p.channels[c];
        const cl_int words = words_of(d, channel);
        if (p.values)
            LAUNCH(d->queue, unpack_bricks, count, ARG(d->names), ARG(d->channel[channel]), ARG(d->block), ARG(p.first[c]),
                   ARG(words));
        for (int32_t i = 0; i < count && !p.values; i++)
            queue_write(d->queue, d->channel[channel], bricks[i] * bytes_of(d, channel),
                        bricks_values(pool, channel, bricks[i]), bytes_of(d, channel));
    }
}

// The first channels of a newborn brick are cleared along with its row.
static void clear_values(device_bricks *d, const int32_t *bricks, int32_t count)
{
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d, channels);
    static const uint32_t zeros[BRICK_CELLS];
    if (channel_count <= CLEARED_CHANNELS) return;
    bool named = name_bricks(d, bricks, count);
    for (int32_t c = CLEARED_CHANNELS; c < channel_count; c++) {
        const cl_int words = words_of(d, channels[c]);
        if (named) LAUNCH(d->queue, clear_bricks, count, ARG(d->names), ARG(d->channel[channels[c]]), ARG(words));
        for (int32_t i = 0; i < count && !named; i++)
            queue_write(d->queue, d->channel[channels[c]], bricks[i] * bytes_of(d, channels[c]), zeros,
                        bytes_of(d, channels[c]));
    }
}

// Sends or clears the bricks that are in one place, many at a time.
static void act_on(device_bricks *d, brick_place place, void (*act)(device_bricks *, const int32_t *, int32_t))
{
    brick_pool *pool = &d->cells->pool;
    int32_t bricks[BATCH], count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->place, (int)place, b + 1, pool->end)) < pool->end;) {
        if (pool->alive[b]) bricks[count++] = b;
        if (count < BATCH) continue;
        act(d, bricks, count);
        count = 0;
    }
    if (count > 0) act(d, bricks, count);
}

void device_bricks_double(device_bricks *d, const int32_t *bricks, int32_t count)
{
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d, channels);
    for (int32_t begin = 0; begin < count; begin += BATCH) {
        const int32_t some = count - begin < BATCH ? count - begin : BATCH;
        if (!name_bricks(d, bricks + begin, some)) return;
        for (int32_t c = 0; c < channel_count; c++) {
            const int32_t next = cells_next(d->cells, channels[c]);
            const cl_int words = words_of(d, channels[c]);
            if (next != CHANNEL_NONE)
                LAUNCH(d->queue, double_bricks, some, ARG(d->names), ARG(d->channel[channels[c]]), ARG(d->channel[next]),
                       ARG(words));
        }
    }
}

// All that is not awake.
static void double_sleepers(device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    int32_t bricks[BATCH], count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->alive[b] && pool->phase[b] != PHASE_AWAKE) bricks[count++] = b;
        if (count < BATCH && b + 1 < pool->end) continue;
        device_bricks_double(d, bricks, count);
        count = 0;
    }
}

// Where the bricks' values are once all is sent: there, and still here of bricks asleep, which no pass changes.
static void note_sent(brick_pool *pool)
{
    if (pool->awake == pool->live) {
        memset(pool->place, PLACE_THERE, (size_t)pool->end);
    } else {
        for (int32_t b = 1; b < pool->end; b++) {
            const bool here = pool->place[b] == PLACE_HERE || pool->place[b] == PLACE_BOTH;
            pool->place[b] = here && pool->phase[b] == PHASE_ASLEEP ? PLACE_BOTH : PLACE_THERE;
        }
    }
    pool->place[BRICK_NOTHING] = PLACE_BOTH;
}

void device_bricks_send(device_bricks *d)
{
    act_on(d, PLACE_HERE, send_values);
    act_on(d, PLACE_NOWHERE, clear_values);
    note_sent(&d->cells->pool);
    if (d->doubles_lost) double_sleepers(d);
    d->doubles_lost = false;
}

static weir_status remote_status(void *user)
{
    return queue_status(((device_bricks *)user)->queue);
}

// Whether every channel of the state has a scratch one to move to.
static bool all_have_next(const device_bricks *d)
{
    int32_t channels[CHANNEL_MAX], count = state_channels(d, channels);
    for (int32_t i = 0; i < count; i++)
        if (cells_next(d->cells, channels[i]) == CHANNEL_NONE) return false;
    return true;
}

// The scratch through which what was reported moves: that of the mass.
static int32_t reported_scratch(const device_bricks *d)
{
    const int32_t next = cells_next(d->cells, d->cells->layout->mass);
    return next != CHANNEL_NONE && bytes_of(d, next) >= bytes_of(d, d->cells->reported) ? next : CHANNEL_NONE;
}

// Whether all that moves has a place to move to.
static bool can_move(const device_bricks *d)
{
    return !d->lean && all_have_next(d) && (d->cells->reported == CHANNEL_NONE || reported_scratch(d) != CHANNEL_NONE);
}

static void repack(void *user, const int32_t *place, int32_t end)
{
    device_bricks *d = user;
    const brick_pool *pool = &d->cells->pool;
    if (end > d->capacity) end = d->capacity;  // bricks past that were never there
    int32_t *to = host_room(d, (size_t)end * 4);
    d->version = UINT64_MAX;
    d->doubles_lost = true;
    if (!to || !can_move(d) || !queue_at_least(d->queue, &d->names, &d->names_bytes, (int64_t)end * 4, 0)) {
        // Without room there they come here, move here, and are sent again.
        bricks_fetch_all(pool);
        for (int32_t b = 1; b < pool->end; b++)
            if (pool->place[b] == PLACE_BOTH) pool->place[b] = PLACE_HERE;
        return;
    }
    for (int32_t b = 0; b < end; b++) to[b] = b > 0 && pool->alive[b] ? place[b] : 0;
    queue_write(d->queue, d->names, 0, to, (int64_t)end * 4);
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d, channels);
    for (int32_t c = 0; c < channel_count; c++) {
        int32_t from = channels[c], to_channel = cells_next(d->cells, from);
        const cl_int words = words_of(d, from);
        LAUNCH(d->queue, move_bricks, end, ARG(d->names), ARG(d->channel[from]), ARG(d->channel[to_channel]), ARG(words));
        cl_mem swap = d->channel[from];
        d->channel[from] = d->channel[to_channel];
        d->channel[to_channel] = swap;
    }
    const int32_t reported = d->cells->reported;
    if (reported == CHANNEL_NONE) return;
    const cl_int words = words_of(d, reported);
    const int32_t through = reported_scratch(d);
    cl_mem scratch = d->channel[through];
    LAUNCH(d->queue, move_bricks, end, ARG(d->names), ARG(d->channel[reported]), ARG(scratch), ARG(words));
    queue_copy(d->queue, scratch, d->channel[reported], end * bytes_of(d, reported));
    // A brick is larger there, so that the first ones came to lie in the nothing.
    queue_zero(d->queue, scratch, bytes_of(d, through));
}

void device_bricks_fetch_channel(device_bricks *d, int32_t channel)
{
    const brick_pool *pool = &d->cells->pool;
    assert(channel >= 0 && channel < d->channel_count);
    queue_read(d->queue, d->channel[channel], 0, pool->channel[channel], pool->end * bytes_of(d, channel));
}

void device_bricks_send_channel(device_bricks *d, int32_t channel)
{
    const brick_pool *pool = &d->cells->pool;
    assert(channel >= 0 && channel < d->channel_count);
    queue_write(d->queue, d->channel[channel], 0, pool->channel[channel], pool->end * bytes_of(d, channel));
}

// ---- Flags of bricks -------------------------------------------------------------------------------------------------------

// With a threshold: adds to the flags which changes count. What emitters poured and what is stale the host knows.
static void report_changes(device_bricks *d)
{
    const fluid_cells *c = d->cells;
    const brick_pool *pool = &c->pool;
    if (c->reported == CHANNEL_NONE) return;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        const int32_t bits =
            (cells_stale(c, b) ? DEVICE_STALE : 0) | (pool->flagged[b] == c->world->change ? DEVICE_CHANGED : 0);
        if (is_worked(pool, b) && bits) d->flags_here[count++] = 32 * b + bits;
    }
    if (count > 0) {
        const int32_t group = (int32_t)d->queue->group;
        queue_write(d->queue, d->flags, 0, d->flags_here, count * (int64_t)sizeof *d->flags_here);
        LAUNCH(d->queue, flag_bricks, (count + group - 1) / group, ARG(d->flags), ARG(d->tables), ARG(count));
    }
    const int32_t next = cells_next(c, c->layout->mass), mass = next == CHANNEL_NONE ? c->layout->mass : next;
    const bool own = d->needs.mass != NULL;
    cl_mem values = own ? d->needs.mass(d->needs.solver) : d->channel[mass];
    const cl_int bytes = own ? 4 : pool->channel_bytes[mass], unit = own ? 1 : c->world->solver->unit, threshold = c->threshold;
    LAUNCH(d->queue, report_changes, d->worked, ARG(d->list), ARG(values), ARG(d->channel[c->reported]), ARG(d->tables),
           ARG(bytes), ARG(unit), ARG(threshold));
}

void device_bricks_prefetch_flags(device_bricks *d, bool on_transfer_queue)
{
    const int64_t first = DEVICE_BRICK_FLAGS - DEVICE_READ_ALONG;
    char *to = (char *)d->tables_here.data + first;
    report_changes(d);
    d->writes = d->queue->writes;
    queue_read_later(d->queue, d->tables, first, to, DEVICE_READ_ALONG + d->cells->pool.end, on_transfer_queue, &d->flags_read);
}

void device_bricks_prefetch_header(device_bricks *d, int64_t first, bool with_flags, bool on_transfer_queue, cl_event *done)
{
    const int64_t end = with_flags ? DEVICE_BRICK_FLAGS + d->cells->pool.end : DEVICE_HEADER;
    if (with_flags) {
        report_changes(d);
        d->writes = d->queue->writes;
    }
    d->read_along = with_flags ? done : NULL;
    queue_read_later(d->queue, d->tables, first, (char *)d->tables_here.data + first, end - first, on_transfer_queue, done);
}

const uint8_t *device_bricks_take_flags(device_bricks *d)
{
    queue_wait(d->queue, d->read_along ? d->read_along : &d->flags_read);
    d->read_along = NULL;
    // What was written before they were prefetched is out.
    if (d->queue->writes == d->writes) d->queue->staged = 0;
    return (const uint8_t *)d->tables_here.data + DEVICE_BRICK_FLAGS;
}

static void catch_up(void *user)
{
    const device_bricks *d = user;
    if (d->needs.catch_up) d->needs.catch_up(d->needs.solver);
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

// That the lines of bricks, from which runs are cut, hold every brick once that is worked on.
static const char *validate_lines(const device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    const char *wrong = NULL;
    int32_t met = 0;
    uint8_t *seen = calloc((size_t)pool->end, 1);
    for (int32_t b = 1; b < pool->end && seen && !wrong; b++) {
        if (!(d->behind[b] & 1)) continue;
        for (int32_t at = b; at != BRICK_NOTHING; at = d->behind[at] >> 1, met++) {
            bool sound = at < pool->end && is_worked(pool, at) && !seen[at];
            if (!sound) wrong = broken("brick %d lies in two lines, is asleep or not there", at);
            if (!sound) break;
            seen[at] = 1;
        }
    }
    if (!wrong && seen && met != d->worked) wrong = broken("the lines have %d bricks of %d", met, d->worked);
    free(seen);
    return wrong;
}

const char *device_bricks_validate(const device_bricks *d)
{
    const brick_pool *pool = &d->cells->pool;
    if (d->version != pool->version) return NULL;
    if (d->awake != pool->awake || d->capacity < pool->end || d->room < pool->end)
        return broken("the device knows %d awake bricks and has room for %d; %d of %d are awake", d->awake, d->capacity,
                      pool->awake, pool->live);
    if (d->worked > 0 && (d->run_count < 1 || d->run_count > d->worked))
        return broken("%d bricks are cut into %d runs", d->worked, d->run_count);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && pool->place[b] > PLACE_NOWHERE) return broken("brick %d is in place %d", b, pool->place[b]);
    return d->worked > 0 ? validate_lines(d) : NULL;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

int64_t device_bricks_bytes(const device_bricks *d)
{
    int64_t tables = 27 * 4 + 64 + 12 + 1 + 4 + (d->pairs ? 36 * 4 : 0);
    return d->capacity * tables + d->needs.tables_bytes(d->room) + d->runs_bytes + d->names_bytes + d->block_bytes +
           d->flags_bytes;
}

void device_bricks_create(device_bricks *d, const device_needs *needs, opencl_queue *queue, fluid_cells *c)
{
    *d = (device_bricks){.queue = queue, .world = c->world, .cells = c, .needs = *needs, .version = UINT64_MAX};
    d->remote = (brick_remote){d, fetch, remote_status, catch_up, repack};
    c->pool.remote = &d->remote;
}

void device_bricks_destroy(device_bricks *d)
{
    if (!d->queue) return;
    queue_wait(d->queue, &d->flags_read);
    for (int32_t c = 0; c < CHANNEL_MAX; c++) queue_free(d->queue, &d->channel[c]);
    cl_mem *const buffers[] = {&d->near,  &d->open, &d->coords, &d->clear, &d->tables, &d->list,
                               &d->pairs, &d->runs, &d->names,  &d->block, &d->flags};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(d->queue, buffers[i]);
    memory_free(&d->world->mem, d->host_block, d->host_bytes);
    memory_free(&d->world->mem, d->flags_here, (size_t)d->flags_room * sizeof *d->flags_here);
    memory_free(&d->world->mem, d->behind, (size_t)d->behind_room * sizeof *d->behind);
    queue_unpin(d->queue, &d->tables_here);
    d->cells->pool.remote = NULL;
}
