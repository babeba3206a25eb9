// The bricks on the device. Their values live there and come here only when somebody asks (brick_home); of what the host decides,
// where bricks lie and which of their cells are open, only changes go up.
#include "compute/opencl.h"

#include <string.h>

enum {
    BRICK_BYTES = BRICK_CELLS * 4,
    RUNS_WANTED = 1024  // before they get longer than one brick
};

// ---- Room ------------------------------------------------------------------------------------------------------------------

// A buffer of a new size with the beginning of the old one.
static bool resize(device_bricks *d, cl_mem *buffer, int64_t keep, int64_t bytes)
{
    cl_mem fresh = queue_buffer(d->queue, bytes);
    if (!fresh) return false;
    queue_copy(d->queue, *buffer, fresh, *buffer ? keep : 0);
    queue_free(d->queue, buffer);
    *buffer = fresh;
    return true;
}

static weir_status no_room(const device_bricks *d, int32_t capacity)
{
    const opencl_device *device = &d->queue->device;
    return status_fail(WEIR_ERROR_MEMORY, "device %d, %s, has not the memory for %d bricks (%.0f MiB of %.0f)", device->index,
                       device->name, capacity, (double)capacity * d->world->bricks.channel_count * BRICK_BYTES / (1 << 20),
                       (double)device->memory / (1 << 20));
}

// Channels come one by one, so that only one of them is there twice; the nothing's values are zero.
static weir_status make_room(device_bricks *d)
{
    const brick_pool *pool = &d->world->bricks;
    opencl_queue *q = d->queue;
    int32_t capacity = pool->capacity > d->capacity ? pool->capacity : d->capacity;
    int64_t bytes = (int64_t)capacity * BRICK_BYTES;
    if (bytes > q->device.largest_buffer || bytes * pool->channel_count > q->device.memory) return no_room(d, capacity);
    for (int32_t c = 0; c < pool->channel_count; c++) {
        if (c < d->channel_count && d->channel_bytes[c] >= bytes) continue;
        bool new = c >= d->channel_count;
        if (!resize(d, &d->channel[c], new ? 0 : d->channel_bytes[c], bytes)) return no_room(d, capacity);
        if (new) queue_zero(q, d->channel[c], bytes);
        d->channel_bytes[c] = bytes;
        if (new) d->channel_count = c + 1;
    }
    if (capacity > d->capacity) {
        int64_t before = d->capacity, after = capacity;
        if (!resize(d, &d->near, before * 27 * 4, after * 27 * 4) || !resize(d, &d->open, before * 64, after * 64) ||
            !resize(d, &d->coords, before * 12, after * 12) || !resize(d, &d->clear, before, after) ||
            !resize(d, &d->active, before * 64, after * 64) || !resize(d, &d->dry, before, after) ||
            !resize(d, &d->facts, before, after) || !resize(d, &d->list, 0, after * 4))
            return no_room(d, capacity);
        if (before == 0) {
            // The nothing is solid, has no neighbours and no active cells.
            queue_zero(q, d->near, 27 * 4);
            queue_zero(q, d->open, 64);
            queue_zero(q, d->clear, 4);
            queue_zero(q, d->active, 64);
        }
        d->capacity = capacity;
        d->version = UINT64_MAX;
    }
    queue_finish(q);
    return queue_status(q);
}

// A buffer that is at least so large; its content does not matter.
static bool at_least(device_bricks *d, cl_mem *buffer, int64_t *size, int64_t bytes)
{
    if (*size >= bytes) return true;
    queue_free(d->queue, buffer);
    *size = 0;
    *buffer = queue_buffer(d->queue, bytes);
    if (*buffer) *size = bytes;
    return *buffer != NULL;
}

static void *host_room(device_bricks *d, size_t bytes)
{
    if (d->host_bytes >= bytes) return d->host_block;
    memory_free(&d->world->mem, d->host_block, d->host_bytes);
    d->host_block = memory_alloc(&d->world->mem, bytes);
    d->host_bytes = d->host_block ? bytes : 0;
    return d->host_block;
}

// ---- What the host tells ---------------------------------------------------------------------------------------------------

static bool is_clear(const brick_pool *pool, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++)
        if (pool->near[brick][k] == BRICK_NOTHING || !mask_full(&pool->open[pool->near[brick][k]])) return false;
    return true;
}

static void write_news(const brick_pool *pool, int32_t brick, device_news *row)
{
    row->brick = brick;
    memcpy(row->near, pool->near[brick], sizeof row->near);
    memcpy(row->open, &pool->open[brick], sizeof row->open);
    row->coord[0] = pool->coord[brick].x;
    row->coord[1] = pool->coord[brick].y;
    row->coord[2] = pool->coord[brick].z;
    row->clear = pool->alive[brick] && is_clear(pool, brick);
}

// The live bricks as runs along z. Long runs do less work twice, but there must be enough of them to keep the device busy.
static weir_status send_runs(device_bricks *d)
{
    const brick_pool *pool = &d->world->bricks;
    int32_t most = pool->live / RUNS_WANTED;
    most = most < 1 ? 1 : most > DEVICE_RUN ? DEVICE_RUN : most;
    device_run *runs = host_room(d, (size_t)pool->live * sizeof *runs);
    if (!runs) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell the device of %d bricks", pool->live);
    d->run_count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || pool->near[b][NEAR(0, 0, -1)] != BRICK_NOTHING) continue;
        device_run *run = NULL;
        for (int32_t at = b; at != BRICK_NOTHING; at = pool->near[at][NEAR(0, 0, 1)]) {
            if (!run || run->count == most) {
                run = &runs[d->run_count++];
                *run = (device_run){0};
            }
            run->brick[run->count++] = at;
        }
    }
    int64_t bytes = d->run_count * (int64_t)sizeof *runs;
    if (!at_least(d, &d->runs, &d->runs_bytes, bytes)) return no_room(d, d->capacity);
    queue_write(d->queue, d->runs, 0, runs, bytes);
    return queue_status(d->queue);
}

// Rows of changed bricks and the list of live ones.
static weir_status send_news(device_bricks *d)
{
    brick_pool *pool = &d->world->bricks;
    bool all = d->version == UINT64_MAX;
    size_t rows = 0, room = (size_t)pool->end * (sizeof(device_news) > 4 ? sizeof(device_news) : 4);
    device_news *news = host_room(d, room);
    if (!news) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell the device of %d bricks", pool->live);
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->alive[b] && (all || pool->news[b])) write_news(pool, b, &news[rows++]);
        pool->news[b] = 0;
    }
    if (rows > 0) {
        int64_t bytes = (int64_t)(rows * sizeof *news);
        if (!at_least(d, &d->block, &d->block_bytes, bytes)) return no_room(d, d->capacity);
        queue_write(d->queue, d->block, 0, news, bytes);
        LAUNCH(d->queue, take_news, (int32_t)rows, A(d->block), A(d->near), A(d->open), A(d->coords), A(d->clear));
    }
    int32_t *list = host_room(d, room);
    d->live = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) list[d->live++] = b;
    queue_write(d->queue, d->list, 0, list, (int64_t)d->live * 4);
    weir_status status = d->live > 0 ? send_runs(d) : queue_status(d->queue);
    if (status == WEIR_OK) d->version = pool->version;
    return status;
}

weir_status device_bricks_prepare(device_bricks *d)
{
    const brick_pool *pool = &d->world->bricks;
    weir_status status = queue_status(d->queue);
    bool room = pool->capacity <= d->capacity && pool->channel_count == d->channel_count;
    if (status == WEIR_OK && !room) status = make_room(d);
    if (status == WEIR_OK && d->facts_room < pool->capacity) {
        memory_free(&d->world->mem, d->facts_here, (size_t)d->facts_room);
        d->facts_here = memory_alloc_zero(&d->world->mem, (size_t)pool->capacity);
        d->facts_room = d->facts_here ? pool->capacity : 0;
        if (!d->facts_here) status = status_fail(WEIR_ERROR_MEMORY, "no memory for facts of %d bricks", pool->capacity);
    }
    if (status == WEIR_OK && d->version != pool->version) status = send_news(d);
    return status;
}

// ---- Values ----------------------------------------------------------------------------------------------------------------

// The channels that make up the state, which go up and down; the others are scratch within an update.
static int32_t state_channels(const weir_world *world, int32_t channels[CHANNEL_MAX])
{
    static const int32_t fixed[] = {CHANNEL_MASS, CHANNEL_FLOW_X, CHANNEL_FLOW_Y, CHANNEL_FLOW_Z, CHANNEL_PRESSURE};
    int32_t count = sizeof fixed / sizeof *fixed;
    memcpy(channels, fixed, sizeof fixed);
    for (int32_t r = 0; r < world->rule_count; r++)
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++) channels[count++] = world->rules[r].values[i];
    return count;
}

static bool name_bricks(device_bricks *d, const int32_t *bricks, int32_t count)
{
    if (!at_least(d, &d->names, &d->names_bytes, (int64_t)count * 4)) return false;
    queue_write(d->queue, d->names, 0, bricks, (int64_t)count * 4);
    return true;
}

// Makes room here and there for the packed values of some bricks; NULL if there is none.
static uint32_t *room_for_values(device_bricks *d, int32_t count, int32_t channels)
{
    int64_t bytes = (int64_t)count * channels * BRICK_BYTES;
    uint32_t *values = host_room(d, (size_t)bytes);
    if (values && at_least(d, &d->block, &d->block_bytes, bytes)) return values;
    if (d->queue->error == CL_SUCCESS) {
        d->queue->error = CL_OUT_OF_HOST_MEMORY;
        d->queue->what = "bringing bricks";
    }
    return NULL;
}

static void bring(void *user, const int32_t *bricks, int32_t count)
{
    device_bricks *d = user;
    const brick_pool *pool = &d->world->bricks;
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d->world, channels);
    uint32_t *values = room_for_values(d, count, channel_count);
    if (!values || !name_bricks(d, bricks, count)) {
        for (int32_t c = 0; c < channel_count; c++)
            for (int32_t i = 0; i < count; i++) memset(bricks_ints(pool, channels[c], bricks[i]), 0, BRICK_BYTES);
        return;
    }
    for (int32_t c = 0; c < channel_count; c++) {
        cl_int first = c * count;
        LAUNCH(d->queue, pack_bricks, count, A(d->names), A(d->channel[channels[c]]), A(d->block), A(first));
    }
    queue_read(d->queue, d->block, 0, values, (int64_t)count * channel_count * BRICK_BYTES);
    for (int32_t c = 0; c < channel_count; c++)
        for (int32_t i = 0; i < count; i++)
            memcpy(bricks_ints(pool, channels[c], bricks[i]), values + ((size_t)c * count + i) * BRICK_CELLS, BRICK_BYTES);
}

static void send_values(device_bricks *d, const int32_t *bricks, int32_t count)
{
    const brick_pool *pool = &d->world->bricks;
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d->world, channels);
    uint32_t *values = room_for_values(d, count, channel_count);
    if (!values || !name_bricks(d, bricks, count)) return;
    for (int32_t c = 0; c < channel_count; c++)
        for (int32_t i = 0; i < count; i++)
            memcpy(values + ((size_t)c * count + i) * BRICK_CELLS, bricks_ints(pool, channels[c], bricks[i]), BRICK_BYTES);
    queue_write(d->queue, d->block, 0, values, (int64_t)count * channel_count * BRICK_BYTES);
    for (int32_t c = 0; c < channel_count; c++) {
        cl_int first = c * count;
        LAUNCH(d->queue, unpack_bricks, count, A(d->names), A(d->channel[channels[c]]), A(d->block), A(first));
    }
}

static void clear_values(device_bricks *d, const int32_t *bricks, int32_t count)
{
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d->world, channels);
    if (!name_bricks(d, bricks, count)) return;
    for (int32_t c = 0; c < channel_count; c++) LAUNCH(d->queue, clear_bricks, count, A(d->names), A(d->channel[channels[c]]));
}

// Sends or clears the bricks that are in one place, many at a time.
static void settle(device_bricks *d, brick_place place, void (*act)(device_bricks *, const int32_t *, int32_t))
{
    enum { BATCH = 1024 };
    brick_pool *pool = &d->world->bricks;
    int32_t bricks[BATCH], count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->alive[b] && pool->place[b] == place) bricks[count++] = b;
        if (count == 0 || (count < BATCH && b < pool->end - 1)) continue;
        act(d, bricks, count);
        count = 0;
    }
}

void device_bricks_send(device_bricks *d)
{
    settle(d, PLACE_HERE, send_values);
    settle(d, PLACE_NOWHERE, clear_values);
    memset(d->world->bricks.place, PLACE_THERE, (size_t)d->world->bricks.end);
    d->world->bricks.place[BRICK_NOTHING] = PLACE_BOTH;
}

// Every state channel has a scratch twin to move to.
static int32_t twin_of(const weir_world *world, int32_t channel)
{
    if (channel == CHANNEL_MASS) return CHANNEL_MASS_NEXT;
    if (channel == CHANNEL_PRESSURE) return CHANNEL_PRESSURE_NEXT;
    if (channel >= CHANNEL_FLOW_X && channel <= CHANNEL_FLOW_Z) return channel + 3;
    for (int32_t r = 0; r < world->rule_count; r++)
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++)
            if (world->rules[r].values[i] == channel) return world->rules[r].next[i];
    return channel;
}

static void repack(void *user, const int32_t *place, int32_t end)
{
    device_bricks *d = user;
    const brick_pool *pool = &d->world->bricks;
    if (end > d->capacity) end = d->capacity;  // bricks past that were never there
    int32_t *to = host_room(d, (size_t)end * 4);
    if (!to || !at_least(d, &d->names, &d->names_bytes, (int64_t)end * 4)) {
        d->queue->error = CL_OUT_OF_HOST_MEMORY;
        d->queue->what = "packing bricks";
        return;
    }
    for (int32_t b = 0; b < end; b++) to[b] = b > 0 && pool->alive[b] ? place[b] : 0;
    queue_write(d->queue, d->names, 0, to, (int64_t)end * 4);
    int32_t channels[CHANNEL_MAX], channel_count = state_channels(d->world, channels);
    for (int32_t c = 0; c < channel_count; c++) {
        int32_t from = channels[c], twin = twin_of(d->world, from);
        LAUNCH(d->queue, move_bricks, end, A(d->names), A(d->channel[from]), A(d->channel[twin]));
        cl_mem swap = d->channel[from];
        d->channel[from] = d->channel[twin];
        d->channel[twin] = swap;
    }
    d->version = UINT64_MAX;
}

void device_bricks_fetch_channel(device_bricks *d, int32_t channel)
{
    const brick_pool *pool = &d->world->bricks;
    queue_read(d->queue, d->channel[channel], 0, pool->channel[channel], (int64_t)pool->end * BRICK_BYTES);
}

void device_bricks_send_channel(device_bricks *d, int32_t channel)
{
    const brick_pool *pool = &d->world->bricks;
    queue_write(d->queue, d->channel[channel], 0, pool->channel[channel], (int64_t)pool->end * BRICK_BYTES);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

int64_t device_bricks_bytes(const device_bricks *d)
{
    return (int64_t)d->capacity * (27 * 4 + 64 + 12 + 1 + 64 + 1 + 1 + 4) + d->runs_bytes + d->names_bytes + d->block_bytes;
}

void device_bricks_create(device_bricks *d, opencl_queue *queue, weir_world *world)
{
    *d = (device_bricks){.queue = queue, .world = world, .version = UINT64_MAX};
    d->home = (brick_home){d, bring, repack};
    world->bricks.home = &d->home;
}

void device_bricks_destroy(device_bricks *d)
{
    if (!d->queue) return;
    for (int32_t c = 0; c < CHANNEL_MAX; c++) queue_free(d->queue, &d->channel[c]);
    cl_mem *const buffers[] = {&d->near,  &d->open, &d->coords, &d->clear, &d->active, &d->dry,
                               &d->facts, &d->list, &d->runs,   &d->names, &d->block};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(d->queue, buffers[i]);
    memory_free(&d->world->mem, d->host_block, d->host_bytes);
    memory_free(&d->world->mem, d->facts_here, (size_t)d->facts_room);
    d->world->bricks.home = NULL;
}
