// The life of fluid in cells, and how it is read.
#include "cells/cells.h"

#include "cells/sleep.h"
#include <assert.h>
#include <string.h>

enum { COPY_GRAIN = 64 };  // bricks per piece of work

// ---- Life ------------------------------------------------------------------------------------------------------------------

// What a solver's table and its list of channels must keep to.
static void must_fit(const solver_table *solver, const cell_layout *layout)
{
    assert(solver->unit > 0 && (solver->unit & (solver->unit - 1)) == 0);
    assert(solver->cell_max >= WEIR_FULL && WEIR_FULL % solver->unit == 0 && solver->cell_max % solver->unit == 0);
    assert((int64_t)(float)solver->cell_max == solver->cell_max);  // the limit of fills that are written is a float
    const cell_channel *mass = layout->mass == CHANNEL_NONE ? NULL : &layout->channels[layout->mass];
    assert(!mass || (mass->type == CHANNEL_UNITS && mass->kept));
    assert(!mass || mass->bytes == 4 || solver->cell_max / solver->unit < 1 << (8 * mass->bytes));
    assert(solver->speed == 0 || (layout->flow != CHANNEL_NONE && solver->flow_max));
    for (int32_t i = 0; i < layout->count; i++) {
        const cell_channel *channel = &layout->channels[i];
        assert(channel->bytes == 4 || ((channel->bytes == 1 || channel->bytes == 2) && channel->type != CHANNEL_FLOAT));
        assert(channel->next < layout->count && (channel->next < 0 || layout->channels[channel->next].bytes == channel->bytes));
        (void)channel;
    }
    (void)mass, (void)solver;
}

weir_status cells_create(fluid_cells *c, weir_world *world, const weir_world_def *def, const cell_layout *layout)
{
    uint8_t bytes[CHANNEL_MAX];
    c->world = world;
    c->layout = layout;
    c->material = solver_material(world->solver, &world->params);
    c->reported = CHANNEL_NONE;
    if (layout->count > CHANNEL_MAX)
        return status_fail(WEIR_ERROR_LIMIT, "a world of %d channels; there is room for %d", layout->count, CHANNEL_MAX);
    must_fit(world->solver, layout);
    for (int32_t i = 0; i < layout->count; i++) bytes[i] = (uint8_t)layout->channels[i].bytes;
    weir_status status = bricks_create(&world->mem, def->reserve_bricks, layout->count, bytes, &c->pool);
    return status == WEIR_OK ? cells_set_threshold(c, def->change_threshold) : status;
}

void cells_destroy(fluid_cells *c)
{
    if (c->world) {
        deaths_destroy(&c->deaths, &c->world->mem);
        deaths_destroy(&c->frozen_deaths, &c->world->mem);
        sleep_destroy(c);
    }
    if (c->frozen.mem) bricks_destroy(&c->frozen);
    if (c->pool.mem) bricks_destroy(&c->pool);
}

void cells_count_bytes(fluid_cells *c, int64_t solver_bytes)
{
    c->solver_bytes = solver_bytes;
    const int64_t bytes = bricks_bytes(&c->pool) + deaths_bytes(&c->deaths) + solver_bytes;
    if (bytes > c->peak_bytes) c->peak_bytes = bytes;
}

void cells_stats(const void *state, weir_stats *stats)
{
    const fluid_cells *c = state;
    stats->bricks = c->pool.live;
    stats->peak_bricks = c->pool.peak_live;
    stats->awake_bricks = c->pool.awake;
    for (int32_t i = 0; i < c->layout->count; i++) {
        stats->cell_bytes += c->layout->channels[i].bytes;
        stats->cell_state_bytes += c->layout->channels[i].kept ? c->layout->channels[i].bytes : 0;
    }
    stats->bytes = bricks_bytes(&c->pool) + deaths_bytes(&c->deaths) + c->solver_bytes;
    stats->peak_bytes = c->pool.peak_bytes > c->peak_bytes ? c->pool.peak_bytes : c->peak_bytes;
}

int32_t cells_state_channels(const fluid_cells *c, int32_t channels[CHANNEL_MAX])
{
    int32_t count = 0;
    for (int32_t i = 0; i < c->layout->count; i++)
        if (c->layout->channels[i].kept) channels[count++] = i;
    for (int32_t r = 0; r < c->rule_count; r++)
        for (int32_t i = 0; i < c->rules[r].def.channel_count; i++) channels[count++] = c->rules[r].values[i];
    return count;
}

double cells_value_max(const fluid_cells *c, int32_t channel)
{
    const cell_channel *about = &c->layout->channels[channel];
    const bool mass = about->type == CHANNEL_UNITS && about->max == 0;
    return mass ? (double)(c->world->solver->cell_max / c->world->solver->unit) : about->max;
}

int32_t cells_next(const fluid_cells *c, int32_t channel)
{
    if (channel == CHANNEL_NONE) return CHANNEL_NONE;
    if (channel < c->layout->count) return c->layout->channels[channel].next;
    for (int32_t r = 0; r < c->rule_count; r++)
        for (int32_t i = 0; i < c->rules[r].def.channel_count; i++)
            if (c->rules[r].values[i] == channel) return c->rules[r].next[i];
    return CHANNEL_NONE;
}

static void *array_of(const fluid_cells *c, int32_t channel)
{
    return channel == CHANNEL_NONE ? NULL : c->pool.channel[channel];
}

cell_arrays cells_arrays(const fluid_cells *c)
{
    const cell_layout *layout = c->layout;
    cell_arrays now = {.mass = array_of(c, layout->mass),
                       .mass_next = array_of(c, cells_next(c, layout->mass)),
                       .pressure = array_of(c, layout->pressure),
                       .pressure_next = array_of(c, cells_next(c, layout->pressure))};
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t flow = layout->flow == CHANNEL_NONE ? CHANNEL_NONE : layout->flow + axis;
        now.flow[axis] = array_of(c, flow);
        now.flow_next[axis] = array_of(c, cells_next(c, flow));
        now.moved[axis] = c->moved[axis] ? array_of(c, c->moved[axis]) : NULL;
    }
    assert(now.mass != now.mass_next);
    return now;
}

// ---- Drops -----------------------------------------------------------------------------------------------------------------

static int32_t unit_of(const fluid_cells *c)
{
    return c->world->solver->unit;
}

// Whether the mass channel is drops as it stands.
static bool is_drops(const fluid_cells *c)
{
    return !c->store && c->layout->channels[c->layout->mass].bytes == 4 && unit_of(c) == 1;
}

static void read_drops(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t first, int32_t count,
                       int32_t *drops)
{
    if (c->store) {
        int32_t all[BRICK_CELLS];
        c->store->read(c, pool, brick, count == BRICK_CELLS ? drops : all);
        if (count < BRICK_CELLS) memcpy(drops, all + first, (size_t)count * sizeof *drops);
        return;
    }
    const void *values = bricks_values(pool, c->layout->mass, brick);
    const int32_t unit = unit_of(c);
    switch (pool->channel_bytes[c->layout->mass]) {
    case 1:
        for (int32_t i = 0; i < count; i++) drops[i] = ((const uint8_t *)values)[first + i] * unit;
        break;
    case 2:
        for (int32_t i = 0; i < count; i++) drops[i] = ((const uint16_t *)values)[first + i] * unit;
        break;
    default:
        for (int32_t i = 0; i < count; i++) drops[i] = ((const int32_t *)values)[first + i] * unit;
        break;
    }
}

int32_t *cells_drops(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t room[BRICK_CELLS])
{
    if (is_drops(c)) return bricks_ints(pool, c->layout->mass, brick);
    read_drops(c, pool, brick, 0, BRICK_CELLS, room);
    return room;
}

uint8_t *cells_materials(const fluid_cells *c, int32_t brick, uint8_t room[BRICK_CELLS])
{
    if (!c->store || !c->store->materials) return NULL;
    c->store->materials(c, brick, room);
    return room;
}

void cells_put_drops(fluid_cells *c, const brick_pool *pool, int32_t brick, const int32_t *drops, const uint8_t *materials)
{
    if (c->store) {
        c->store->put(c, brick, drops, materials);
        return;
    }
    void *values = bricks_values(pool, c->layout->mass, brick);
    const int32_t unit = unit_of(c);
    if (drops == values) return;
    switch (pool->channel_bytes[c->layout->mass]) {
    case 1:
        for (int32_t i = 0; i < BRICK_CELLS; i++) ((uint8_t *)values)[i] = (uint8_t)(drops[i] / unit);
        break;
    case 2:
        for (int32_t i = 0; i < BRICK_CELLS; i++) ((uint16_t *)values)[i] = (uint16_t)(drops[i] / unit);
        break;
    default:
        for (int32_t i = 0; i < BRICK_CELLS; i++) ((int32_t *)values)[i] = drops[i] / unit;
        break;
    }
}

int64_t cells_owed(const brick_pool *pool)
{
    int64_t owed = 0;
    for (int32_t b = 1; b < pool->end; b++) owed += pool->alive[b] ? pool->rest[b].owed : 0;
    return owed;
}

int64_t cells_count_brick(const fluid_cells *c, brick_pool *pool, int32_t brick)
{
    bricks_read(pool, brick);
    int32_t room[BRICK_CELLS];
    const int32_t *drops = cells_drops(c, pool, brick, room);
    int64_t sum = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) sum += drops[i];
    pool->wet[brick] = c->store ? c->store->wet(c, brick) : sum > 0;
    return sum;
}

// ---- The view --------------------------------------------------------------------------------------------------------------

static void read_units(const fluid_view *view, fluid_part part, int32_t brick, int32_t first, int32_t count, void *values)
{
    if (part == FLUID_DROPS)
        read_drops(view->owner, cells_viewed(view), brick, first, count, values);
    else
        memset(values, 0, 4 * (size_t)count);
}

static void fetch(const fluid_view *view, const int32_t *bricks, int32_t count)
{
    const fluid_cells *c = view->owner;
    bricks_fetch(&c->pool, bricks, count);
}

static int64_t read_owed(const fluid_view *view, weir_material material)
{
    return material == view->material ? cells_owed(cells_viewed(view)) : 0;
}

void cells_view(const void *state, bool frozen, fluid_view *view)
{
    const fluid_cells *c = state;
    const brick_pool *pool = frozen ? &c->frozen : &c->pool;
    const brick_deaths *deaths = frozen ? &c->frozen_deaths : &c->deaths;
    const cell_layout *layout = c->layout;
    *view = (fluid_view){
        .end = pool->end,
        .live = pool->live,
        .coord = pool->coord,
        .near = (const int32_t(*)[27])pool->near,
        .open = pool->open,
        .alive = pool->alive,
        .wet = pool->wet,
        .changed = pool->changed,
        .gone = deaths->coord,
        .gone_change = deaths->change,
        .gone_end = deaths->end,
        .gone_forgotten = deaths->forgotten,
        .slot = pool->slot,
        .slot_mask = pool->slot_mask,
        .material = c->material,
        .speed = c->world->solver->speed,
        .read = is_drops(c) ? NULL : read_units,
        .read_reported = c->reported == CHANNEL_NONE ? NULL : cells_read_reported,
        .owed = c->sleep ? read_owed : NULL,
        .fetch = pool->remote ? fetch : NULL,
        .owner = c,
    };
    if (is_drops(c)) view->direct[FLUID_DROPS] = pool->channel[layout->mass];
    for (int32_t axis = 0; axis < 3 && layout->flow != CHANNEL_NONE; axis++)
        view->direct[FLUID_FLOW_X + axis] = pool->channel[layout->flow + axis];
    if (layout->pressure != CHANNEL_NONE) view->direct[FLUID_PRESSURE] = pool->channel[layout->pressure];
}

// ---- The frozen copy -------------------------------------------------------------------------------------------------------

typedef struct copy_job {
    const brick_pool *from;
    brick_pool *to;
} copy_job;

static void copy_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const copy_job *job = context;
    for (int32_t channel = 0; channel < job->from->channel_count; channel++) {
        if (!job->to->channel[channel]) continue;
        for (int32_t b = begin; b < end; b++)
            if (job->from->alive[b] || b == BRICK_NOTHING)
                memcpy(bricks_values(job->to, channel, b), bricks_values(job->from, channel, b),
                       bricks_channel_bytes(job->from, channel));
    }
}

// Bricks keep their indices, so tables are copied as they are; of the channels only those of the state, and what meshes are made of.
weir_status cells_freeze(void *state)
{
    fluid_cells *c = state;
    int32_t channels[CHANNEL_MAX];
    const int32_t count = cells_state_channels(c, channels);
    uint64_t kept = 0;
    for (int32_t i = 0; i < count; i++) kept |= (uint64_t)1 << channels[i];
    if (c->reported != CHANNEL_NONE) kept |= (uint64_t)1 << c->reported;
    weir_status status = bricks_mirror(&c->pool, kept, &c->frozen);
    if (status != WEIR_OK) return status;
    c->frozen_reported_change = c->reported_change;
    deaths_copy(&c->deaths, &c->world->mem, c->world->change, &c->frozen_deaths);
    copy_job job = {&c->pool, &c->frozen};
    workers_run(c->world->workers, copy_bricks, &job, c->pool.end, COPY_GRAIN);
    return WEIR_OK;
}

// ---- Devices ---------------------------------------------------------------------------------------------------------------

bool cells_is_remote(const void *state)
{
    return ((const fluid_cells *)state)->pool.remote != NULL;
}

void cells_catch_up(const void *state)
{
    bricks_catch_up(&((const fluid_cells *)state)->pool);
}

weir_status cells_device_status(const void *state)
{
    const brick_remote *remote = ((const fluid_cells *)state)->pool.remote;
    return remote ? remote->status(remote->user) : WEIR_OK;
}

// What a device that is lost brings is zero, and a change of every brick.
void cells_leave_device(void *state)
{
    fluid_cells *c = state;
    bricks_fetch_all(&c->pool);
    for (int32_t b = 1; b < c->pool.end; b++) c->pool.changed[b] = c->world->change;
    c->pool.remote = NULL;
}
