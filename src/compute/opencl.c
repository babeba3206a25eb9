// Nothing waits for the device unless it must: what a kernel found out (which bricks hold water) is read while later kernels of the same
// update are running.
#include "compute/opencl.h"

#include "base/clock.h"
#include "compute/rule_host.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMED_EVERY = 64,             // updates, of which one is timed
    TRANSFER_QUEUE_BRICKS = 1024  // from so many on it pays to read while kernels run; fewer are done before the host has asked
};

// ---- An update -------------------------------------------------------------------------------------------------------------

weir_status opencl_prepare(opencl_machine *o)
{
    return device_bricks_prepare(&o->bricks);
}

// Room here for forces, and for the bricks at open sides and what they lose.
static bool reserve_here(opencl_machine *o, int32_t forces, int32_t bricks)
{
    memory *mem = &o->world->mem;
    if (o->forces_room < forces) {
        memory_free(mem, o->forces_here, (size_t)o->forces_room * sizeof *o->forces_here);
        o->forces_here = memory_alloc(mem, (size_t)forces * sizeof *o->forces_here);
        o->forces_room = o->forces_here ? forces : 0;
    }
    if (o->outer_room < bricks) {
        memory_free(mem, o->outer_here, (size_t)o->outer_room * sizeof *o->outer_here);
        memory_free(mem, o->drops, (size_t)o->outer_room * sizeof *o->drops);
        o->outer_here = memory_alloc(mem, (size_t)bricks * sizeof *o->outer_here);
        o->drops = memory_alloc(mem, (size_t)bricks * sizeof *o->drops);
        o->outer_room = bricks;
        if (!o->outer_here || !o->drops) {
            memory_free(mem, o->outer_here, (size_t)bricks * sizeof *o->outer_here);
            memory_free(mem, o->drops, (size_t)bricks * sizeof *o->drops);
            o->outer_here = NULL;
            o->drops = NULL;
            o->outer_room = 0;
        }
    }
    return o->forces_room >= forces && o->outer_room >= bricks;
}

// Room for what some passes send and ask besides the bricks: made before the update, because in its middle nothing may fail.
static weir_status reserve_buffers(opencl_machine *o)
{
    const weir_world *world = o->world;
    const int32_t forces = world->source_count + 1, bricks = backend_drains(world) ? o->cells->pool.live + 1 : 0;
    const int64_t force_bytes = forces * (int64_t)sizeof(rule_region), live = bricks;
    bool room =
        reserve_here(o, forces, bricks) && queue_at_least(&o->queue, &o->forces, &o->force_bytes, force_bytes, force_bytes / 8);
    if (room && bricks > 0)
        room = queue_at_least(&o->queue, &o->outer, &o->outer_bytes, live * 4, live / 2) &&
               queue_at_least(&o->queue, &o->drained, &o->drained_bytes, live * 8, live);
    if (!room) return status_fail(WEIR_ERROR_MEMORY, "no memory for forces and open sides of %d bricks", o->cells->pool.live);
    return queue_status(&o->queue);
}

weir_status opencl_reserve(opencl_machine *o)
{
    weir_status status = reserve_buffers(o);
    if (status == WEIR_OK) device_rules_prepare(&o->rules, &o->bricks);
    return status;
}

device_numbers opencl_find_numbers(const opencl_machine *o, const weir_params *p, float scale)
{
    const backend_down down = backend_find_down(p);
    return (device_numbers){
        .gravity_x = p->gravity.x * scale,
        .gravity_y = p->gravity.y * scale,
        .gravity_z = p->gravity.z * scale,
        .down_axis = down.axis,
        .down_sign = down.sign,
        .head = down.head,
        .inverse_head = down.inverse_head,
        .empty = p->empty,
        .noise = p->noise,
        .force_scale = scale,
        .noise_seed = p->noise_seed,
        .update = (uint32_t)o->world->update,
    };
}

static void begin(backend *base)
{
    opencl_machine *o = (opencl_machine *)base;
    device_bricks_send(&o->bricks);
    queue_time(&o->queue, o->world->update % TIMED_EVERY == 0);
}

// Without branches, so that it is done many bricks at a time. What is asleep was not moved: it has the flags of an update long ago.
static void take_flags(brick_pool *pool, const uint8_t *brick_flags, int32_t counting, int64_t change)
{
    const uint8_t *phase = pool->phase;
    uint8_t *wet = pool->wet;
    int64_t *changed = pool->changed;
    for (int32_t b = 1; b < pool->end; b++) wet[b] = phase[b] != PHASE_ASLEEP ? brick_flags[b] & DEVICE_WET : wet[b];
    for (int32_t b = 1; b < pool->end; b++)
        changed[b] = ((phase[b] != PHASE_ASLEEP) & ((brick_flags[b] & counting) != 0)) ? change : changed[b];
}

static weir_status finish(backend *base)
{
    opencl_machine *o = (opencl_machine *)base;
    brick_pool *pool = &o->cells->pool;
    const uint8_t *brick_flags = device_bricks_take_flags(&o->bricks);
    if (o->queue.timing) {
        queue_finish(&o->queue);
        queue_book(&o->queue, o->world, TIMED_EVERY);
    }
    weir_status status = queue_status(&o->queue);
    if (status != WEIR_OK) return status;
    if (o->bricks.worked > 0)
        take_flags(pool, brick_flags, o->cells->reported == CHANNEL_NONE ? DEVICE_CHANGED : DEVICE_REPORTS, o->world->change);
    return WEIR_OK;
}

static void run(backend *base, const pass *p, void *solver)
{
    opencl_machine *o = (opencl_machine *)base;
    assert(o->bricks.awake == o->cells->pool.awake);
    assert(o->bricks.version == o->cells->pool.version || o->queue.error != CL_SUCCESS);
    o->queue.rule = p->name;
    p->on_opencl(solver);
    o->queue.rule = NULL;
}

// ---- What solvers with mass and flow share ---------------------------------------------------------------------------------

static void swap_next(opencl_machine *o, int32_t channel)
{
    cl_mem *all = o->bricks.channel, swap = all[channel];
    const int32_t next = cells_next(o->cells, channel);
    all[channel] = all[next];
    all[next] = swap;
}

void opencl_swap_mass(opencl_machine *o)
{
    swap_next(o, o->cells->layout->mass);
}

void opencl_swap_flow(opencl_machine *o)
{
    for (int32_t axis = 0; axis < 3; axis++) swap_next(o, o->cells->layout->flow + axis);
}

void opencl_swap_pressure(opencl_machine *o)
{
    swap_next(o, o->cells->layout->pressure);
}

opencl_channels opencl_find_channels(const opencl_machine *o)
{
    const fluid_cells *cells = o->cells;
    const cell_layout *layout = cells->layout;
    const device_bricks *d = &o->bricks;
    opencl_channels now = {.mass = device_channel(d, layout->mass),
                           .mass_next = device_channel(d, cells_next(cells, layout->mass)),
                           .pressure = device_channel(d, layout->pressure),
                           .pressure_next = device_channel(d, cells_next(cells, layout->pressure))};
    for (int axis = 0; axis < 3; axis++) {
        const int32_t flow = layout->flow == CHANNEL_NONE ? CHANNEL_NONE : layout->flow + axis;
        now.flow[axis] = device_channel(d, flow);
        now.next[axis] = device_channel(d, cells_next(cells, flow));
        now.moved[axis] = cells->moved[axis] ? device_channel(d, cells->moved[axis]) : NULL;
    }
    return now;
}

void opencl_forces(opencl_machine *o)
{
    const weir_world *world = o->world;
    device_bricks *d = &o->bricks;
    opencl_channels c = opencl_find_channels(o);
    rule_region *forces = o->forces_here;
    int32_t count = 0;
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *s = &world->sources[i];
        if (s->kind == SOURCE_FORCE) forces[count++] = backend_region(s);
    }
    assert(count <= o->forces_room);
    o->numbers.source_count = count;
    queue_write(&o->queue, o->forces, 0, forces, count * (int64_t)sizeof *forces);
    LAUNCH(&o->queue, forces, d->worked, ARG(d->list), ARG(d->near), ARG(d->open), ARG(d->coords), ARG(c.mass_next),
           NEXT_ARGS(c), ARG(o->forces), ARG(o->numbers));
}

// Only bricks that reach over the bounds can lose water.
int64_t opencl_drain_sides(opencl_machine *o)
{
    weir_world *world = o->world;
    const brick_pool *pool = &o->cells->pool;
    device_bricks *d = &o->bricks;
    const rule_box bounds = backend_box(world->terrain.bounds);
    int32_t *outer = o->outer_here;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->phase[b] == PHASE_AWAKE && backend_reaches_out(bounds, pool->coord[b])) outer[count++] = b;
    if (count == 0) return 0;
    opencl_channels c = opencl_find_channels(o);
    int64_t *drops = o->drops, taken = 0;
    assert(count <= pool->live);
    queue_write(&o->queue, o->outer, 0, outer, count * 4);
    LAUNCH(&o->queue, drain_sides, count, ARG(o->outer), ARG(d->coords), ARG(c.mass_next), ARG(d->tables), ARG(o->drained),
           ARG(bounds));
    queue_read(&o->queue, o->drained, 0, drops, count * 8);
    for (int32_t i = 0; i < count; i++) {
        assert(drops[i] >= 0);
        taken += drops[i];
    }
    return taken;
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

// On the device where it can. Otherwise it runs here: what it sees is brought over, what it writes is sent back.
static void run_rule(backend *base, cell_rule *rule)
{
    opencl_machine *o = (opencl_machine *)base;
    weir_world *world = o->world;
    if (device_rules_run(&o->rules, &o->bricks, rule)) return;
    double before = clock_seconds();
    int32_t seen[CHANNEL_MAX];
    int32_t count = rule_host_channels(o->cells, rule, seen);
    for (int32_t i = 0; i < count; i++) device_bricks_fetch_channel(&o->bricks, seen[i]);
    rule_host_run(o->cells, rule);
    for (int32_t i = 0; i < rule->def.channel_count; i++) device_bricks_send_channel(&o->bricks, rule->values[i]);
    backend_book_time(world, rule->name, clock_seconds() - before);
    for (int32_t i = 0; i < world->rule_time_count; i++)
        if (world->rule_names[i] == rule->name) world->rule_on_host[i] = true;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const backend *base)
{
    return device_bricks_bytes(&((const opencl_machine *)base)->bricks);
}

static const char *validate(backend *base)
{
    return device_bricks_validate(&((opencl_machine *)base)->bricks);
}

static void destroy(backend *base)
{
    opencl_machine *o = (opencl_machine *)base;
    opencl_queue *q = &o->queue;
    memory *mem = &o->world->mem;
    if (q->cl) {
        cl_mem *const buffers[] = {&o->forces, &o->drained, &o->outer};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(q, buffers[i]);
        device_rules_destroy(&o->rules, q);
    }
    device_bricks_destroy(&o->bricks);
    queue_destroy(q);
    memory_free(mem, o->forces_here, (size_t)o->forces_room * sizeof *o->forces_here);
    memory_free(mem, o->outer_here, (size_t)o->outer_room * sizeof *o->outer_here);
    memory_free(mem, o->drops, (size_t)o->outer_room * sizeof *o->drops);
    memory_free(mem, o, sizeof *o);
}

int32_t opencl_bricks_from(const char *name, int32_t usual)
{
    const char *wish = getenv(name);
    return wish ? atoi(wish) : usual;
}

weir_status opencl_machine_create(fluid_cells *c, const char *device, const opencl_text *text, const device_needs *needs,
                                  opencl_machine **out)
{
    weir_world *world = c->world;
    opencl_machine *o = memory_alloc_zero(&world->mem, sizeof *o);
    if (!o) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the OpenCL backend");
    o->base = (backend){.begin = begin,
                        .finish = finish,
                        .run = run,
                        .run_rule = run_rule,
                        .bytes = bytes,
                        .validate = validate,
                        .destroy = destroy};
    o->world = world;
    o->cells = c;
    o->transfer_bricks = opencl_bricks_from("WEIR_DEVICE_TRANSFER_QUEUE", TRANSFER_QUEUE_BRICKS);
    weir_status status = queue_create(device, text, world->logger, &world->account, &o->queue);
    if (status != WEIR_OK) {
        destroy(&o->base);
        return status;
    }
    device_bricks_create(&o->bricks, needs, &o->queue, c);
    *out = o;
    return WEIR_OK;
}
