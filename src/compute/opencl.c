// The OpenCL backend: the same passes as on the CPU, as kernels on a device.
//
// Nothing waits for the device unless it must: what a kernel found out (which bricks hold water, how large the residual is) is read
// while later kernels of the same update are running.
#include "compute/opencl.h"

#include "base/clock.h"
#include "compute/rule_host.h"
#include <string.h>

enum {
    TIMED_EVERY = 8,  // updates, of which one is timed
    TAIL_BRICKS = 9,  // levels of up to so many bricks, the nothing included, are done by one work-group
    LEVELS_MAX = PYRAMID_LEVELS
};

// The pyramid on the device: one block of floats, one of ints, and a table of levels.
typedef struct device_pyramid {
    pyramid tables;
    device_level level[LEVELS_MAX];
    cl_mem cells, tree, levels;
    int64_t cell_bytes, tree_bytes;
    int32_t tail;      // the first level that coarse_tail does
    uint64_t version;  // of the pool it was built for
} device_pyramid;

typedef struct opencl_backend {
    backend base;
    weir_world *world;
    opencl_queue queue;
    device_bricks bricks;
    device_pyramid pyramid;
    device_numbers numbers;
    cl_mem forces;
    int64_t force_bytes;
    cl_mem residual, drained;
    int64_t drained_bytes;
    cl_event residual_read, facts_read;
    cl_int residual_bits;
    int64_t taken;  // by the last DRAIN_SIDES
    bool told;      // that a rule runs on the host
} opencl_backend;

// ---- The pyramid -----------------------------------------------------------------------------------------------------------

static int32_t octant_of(weir_coord c)
{
    return (c.x & 1) + 2 * (c.y & 1) + 4 * (c.z & 1);
}

// Lays out the levels: where each begins in the floats and ints. Returns the number of ints; *cells gets that of bricks of floats.
static int64_t lay_out(device_pyramid *p, const brick_pool *pool, int64_t *cells)
{
    int64_t ints = 0;
    *cells = 0;
    for (int32_t l = 0; l <= p->tables.top; l++) {
        int32_t count = l == 0 ? pool->end : p->tables.level[l].count;
        device_level *level = &p->level[l];
        *level = (device_level){.first = (int)*cells, .room = count, .count = count};
        if (l > 0) {
            level->near = (int)ints;
            ints += 27 * (int64_t)count;
            *cells += (int64_t)DEVICE_LEVEL_CHANNELS * count;
        }
        level->up = (int)ints;
        ints += count;
    }
    return ints;
}

static void write_tree(const device_pyramid *p, const brick_pool *pool, int32_t *tree)
{
    for (int32_t l = 0; l <= p->tables.top; l++) {
        const pyramid_level *from = &p->tables.level[l];
        const device_level *level = &p->level[l];
        const weir_coord *coord = l == 0 ? pool->coord : from->coord;
        if (l > 0) memcpy(tree + level->near, from->near, 27 * sizeof *tree * (size_t)level->count);
        for (int32_t b = 0; b < level->count; b++) {
            bool there = b > 0 && l < p->tables.top && (l > 0 || pool->alive[b]);
            tree[level->up + b] = there ? 8 * from->parent[b] + octant_of(coord[b]) : 0;
        }
    }
}

static bool at_least(opencl_queue *q, cl_mem *buffer, int64_t *size, int64_t bytes)
{
    if (*size >= bytes) return true;
    queue_free(q, buffer);
    *size = 0;
    *buffer = queue_buffer(q, bytes + bytes / 8);
    if (*buffer) *size = bytes + bytes / 8;
    return *buffer != NULL;
}

static weir_status build_pyramid(opencl_backend *o)
{
    device_pyramid *p = &o->pyramid;
    const brick_pool *pool = &o->world->bricks;
    if (p->version == pool->version) return WEIR_OK;
    p->version = UINT64_MAX;
    weir_status status = pyramid_build(&p->tables, pool);
    if (status != WEIR_OK) return status;
    int64_t bricks, ints = lay_out(p, pool, &bricks), cell_bytes = bricks * BRICK_CELLS * 4;
    int32_t *tree = memory_alloc(&o->world->mem, (size_t)ints * 4);
    bool room = tree && at_least(&o->queue, &p->cells, &p->cell_bytes, cell_bytes) &&
                at_least(&o->queue, &p->tree, &p->tree_bytes, ints * 4);
    if (!p->levels) p->levels = queue_buffer(&o->queue, sizeof p->level);
    if (room && p->levels) {
        write_tree(p, pool, tree);
        queue_write(&o->queue, p->tree, 0, tree, ints * 4);
        queue_write(&o->queue, p->levels, 0, p->level, sizeof p->level);
        queue_zero(&o->queue, p->cells, cell_bytes);
        p->tail = p->tables.top;
        while (p->tail > 1 && p->level[p->tail - 1].count <= TAIL_BRICKS) p->tail--;
        p->version = pool->version;
    }
    memory_free(&o->world->mem, tree, (size_t)ints * 4);
    if (!room) return status_fail(WEIR_ERROR_MEMORY, "no memory on the device for the coarse levels of %d bricks", pool->live);
    return queue_status(&o->queue);
}

// ---- An update -------------------------------------------------------------------------------------------------------------

static void set_numbers(opencl_backend *o)
{
    const weir_world *world = o->world;
    const weir_params *p = &world->params;
    float scale = 1.0f / world_speed(world);
    backend_down down = backend_find_down(p);
    o->numbers = (device_numbers){
        .gravity_x = p->gravity.x * scale,
        .gravity_y = p->gravity.y * scale,
        .gravity_z = p->gravity.z * scale,
        .down_axis = down.axis,
        .down_sign = down.sign,
        .head = down.head,
        .inverse_head = down.inverse_head,
        .keep = 1.0f - p->damping,
        .max_flow = p->max_flow,
        .dust = down.sign != 0 ? p->dust : 0.0f,
        .fill_cap = p->fill_cap,
        .empty = p->empty,
        .excess_rate = p->excess_rate,
        .excess_cap = p->excess_cap,
        .viscosity = p->viscosity,
        .noise = p->noise,
        .force_scale = scale,
        .noise_seed = p->noise_seed,
        .update = (uint32_t)world->update,
        .smooths = p->smooths,
    };
}

static weir_status prepare(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    weir_status status = device_bricks_prepare(&o->bricks);
    if (status == WEIR_OK && o->world->solver == WEIR_SOLVER_MOMENTUM && o->world->bricks.live > 0) status = build_pyramid(o);
    set_numbers(o);
    return status;
}

static void begin(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    device_bricks_send(&o->bricks);
    o->queue.timing = o->world->update % TIMED_EVERY == 0;
}

// Asks for what the move found out of every brick; the answer is waited for at the end of the update.
static void ask_facts(opencl_backend *o)
{
    device_bricks *d = &o->bricks;
    queue_read_later(&o->queue, d->facts, d->facts_here, o->world->bricks.end, &o->facts_read);
}

static weir_status finish(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    brick_pool *pool = &o->world->bricks;
    queue_wait(&o->queue, &o->facts_read);
    if (o->queue.timing) {
        queue_finish(&o->queue);
        queue_book(&o->queue, o->world, TIMED_EVERY);
    }
    weir_status status = queue_status(&o->queue);
    if (status != WEIR_OK) return status;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        pool->wet[b] = (o->bricks.facts_here[b] & DEVICE_WET) != 0;
        if (o->bricks.facts_here[b] & DEVICE_CHANGED) pool->changed[b] = o->world->change;
    }
    return WEIR_OK;
}

// ---- Passes ----------------------------------------------------------------------------------------------------------------

static void swap_channels(opencl_backend *o, int32_t a, int32_t b)
{
    cl_mem swap = o->bricks.channel[a];
    o->bricks.channel[a] = o->bricks.channel[b];
    o->bricks.channel[b] = swap;
}

static void swap_flow(opencl_backend *o)
{
    for (int axis = 0; axis < 3; axis++) swap_channels(o, CHANNEL_FLOW_X + axis, CHANNEL_FLOW_X_NEXT + axis);
}

// The channels by the names that passes use. As on the CPU, divergence and floor live in the old flow until the gradient.
typedef struct channels {
    cl_mem mass, mass_next, flow[3], next[3], pressure, pressure_next, divergence, floor, moved[3];
} channels;

static channels find_channels(const opencl_backend *o)
{
    const cl_mem *c = o->bricks.channel;
    channels now = {.mass = c[CHANNEL_MASS],
                    .mass_next = c[CHANNEL_MASS_NEXT],
                    .pressure = c[CHANNEL_PRESSURE],
                    .pressure_next = c[CHANNEL_PRESSURE_NEXT],
                    .divergence = c[CHANNEL_FLOW_X],
                    .floor = c[CHANNEL_FLOW_Y]};
    for (int axis = 0; axis < 3; axis++) {
        now.flow[axis] = c[CHANNEL_FLOW_X + axis];
        now.next[axis] = c[CHANNEL_FLOW_X_NEXT + axis];
        now.moved[axis] = o->world->moved_channel[axis] ? c[o->world->moved_channel[axis]] : NULL;
    }
    return now;
}

#define FLOW A(c.flow[0]), A(c.flow[1]), A(c.flow[2])
#define NEXT A(c.next[0]), A(c.next[1]), A(c.next[2])
#define MOVED A(c.moved[0]), A(c.moved[1]), A(c.moved[2])

static void run_forces(opencl_backend *o)
{
    const weir_world *world = o->world;
    device_bricks *d = &o->bricks;
    channels c = find_channels(o);
    device_force *forces = memory_alloc(&o->world->mem, (size_t)(world->source_count + 1) * sizeof *forces);
    int32_t count = 0;
    for (int32_t i = 0; forces && i < world->source_count; i++) {
        const world_source *s = &world->sources[i];
        if (s->kind != SOURCE_FORCE) continue;
        forces[count++] = (device_force){s->box.min.x, s->box.min.y, s->box.min.z, s->box.max.x, s->box.max.y,
                                         s->box.max.z, s->force.x,   s->force.y,   s->force.z};
    }
    o->numbers.source_count = count;
    bool room = forces && at_least(&o->queue, &o->forces, &o->force_bytes, (count + 1) * (int64_t)sizeof *forces);
    if (room) {
        queue_write(&o->queue, o->forces, 0, forces, count * (int64_t)sizeof *forces);
        LAUNCH(&o->queue, forces, d->live, A(d->list), A(d->near), A(d->open), A(d->coords), A(c.mass_next), NEXT, A(o->forces),
               A(o->numbers));
    } else if (o->queue.error == CL_SUCCESS) {
        o->queue.error = CL_OUT_OF_HOST_MEMORY;
        o->queue.what = "sending forces";
    }
    memory_free(&o->world->mem, forces, (size_t)(world->source_count + 1) * sizeof *forces);
}

// Only bricks that reach over the bounds can lose water.
static void drain_sides(opencl_backend *o)
{
    weir_world *world = o->world;
    const brick_pool *pool = &world->bricks;
    device_bricks *d = &o->bricks;
    weir_box box = world->terrain.bounds;
    int32_t *outer = memory_alloc(&world->mem, (size_t)(pool->live + 1) * 12);
    int32_t count = 0;
    o->taken = 0;
    for (int32_t b = 1; outer && b < pool->end; b++) {
        weir_coord at = {pool->coord[b].x * 8, pool->coord[b].y * 8, pool->coord[b].z * 8};
        bool inside = at.x >= box.min.x && at.y >= box.min.y && at.z >= box.min.z && at.x + 8 <= box.max.x &&
                      at.y + 8 <= box.max.y && at.z + 8 <= box.max.z;
        if (pool->alive[b] && !inside) outer[count++] = b;
    }
    cl_mem names = NULL;
    if (count > 0) names = queue_buffer(&o->queue, count * 4);
    if (names && at_least(&o->queue, &o->drained, &o->drained_bytes, count * 8)) {
        cl_int bounds[8] = {box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z, 0, 0};
        channels c = find_channels(o);
        int64_t *drops = (int64_t *)(outer + (pool->live & ~1));
        queue_write(&o->queue, names, 0, outer, count * 4);
        LAUNCH(&o->queue, drain_sides, count, A(names), A(d->coords), A(c.mass_next), A(d->facts), A(o->drained), A(bounds));
        queue_read(&o->queue, o->drained, 0, drops, count * 8);
        for (int32_t i = 0; i < count; i++) o->taken += drops[i];
    } else if (count > 0 || !outer) {
        if (o->queue.error == CL_SUCCESS) o->queue.error = CL_OUT_OF_HOST_MEMORY, o->queue.what = "draining open sides";
    }
    if (names) queue_free(&o->queue, &names);
    memory_free(&world->mem, outer, (size_t)(pool->live + 1) * 12);
}

static void restrict_all(opencl_backend *o)
{
    device_bricks *d = &o->bricks;
    device_pyramid *p = &o->pyramid;
    channels c = find_channels(o);
    queue_zero(&o->queue, o->residual, 4);
    LAUNCH(&o->queue, restrict_fine, d->live, A(c.pressure_next), A(c.divergence), A(d->active), A(d->open), A(d->near),
           A(d->list), A(p->cells), A(p->levels), A(p->tree), A(o->residual));
    queue_read_later(&o->queue, o->residual, &o->residual_bits, 4, &o->residual_read);
}

static void sweep_coarsest(opencl_backend *o, int32_t level)
{
    device_pyramid *p = &o->pyramid;
    bool single = p->level[level].count == 2;
    cl_int from = DEVICE_ERROR, to = single ? DEVICE_ERROR : DEVICE_ERROR_NEXT, sweeps = single ? COARSEST_SWEEPS : 1;
    for (int32_t i = 0; i < COARSEST_SWEEPS; i += sweeps) {
        LAUNCH(&o->queue, level_sweep, p->level[level].count - 1, A(p->cells), A(p->levels), A(p->tree), A(level), A(from),
               A(to), A(sweeps));
        cl_int swap = from;
        from = to;
        to = swap;
    }
}

// The coarse levels. From the level `tail` on one work-group does them all at once.
static void run_level(opencl_backend *o, pass_id pass, cl_int level)
{
    device_pyramid *p = &o->pyramid;
    opencl_queue *q = &o->queue;
    cl_int top = p->tables.top, smooths = o->numbers.smooths, sweeps = COARSEST_SWEEPS;
    int32_t groups = p->level[level].count - 1;
    if (pass == PASS_LEVEL_DOWN && level == p->tail && p->tail < top) {
        LAUNCH(q, coarse_tail, 1, A(p->cells), A(p->levels), A(p->tree), A(p->tail), A(top), A(smooths), A(sweeps));
        return;
    }
    bool arrives =
        pass == PASS_LEVEL_BUILD || pass == PASS_LEVEL_UP;  // what leads to the first level of the tail, or out of it
    if (p->tail < top && (arrives ? level > p->tail : level >= p->tail)) return;
    cl_int lower = level - 1;
    if (level == top) smooths = 0;
    switch (pass) {
    case PASS_LEVEL_BUILD:
        LAUNCH(q, level_build, p->level[lower].count - 1, A(p->cells), A(p->levels), A(p->tree), A(lower));
        break;
    case PASS_LEVEL_LINK: LAUNCH(q, level_link, groups, A(p->cells), A(p->levels), A(p->tree), A(level)); break;
    case PASS_LEVEL_DOWN: LAUNCH(q, level_down, groups, A(p->cells), A(p->levels), A(p->tree), A(level), A(smooths)); break;
    case PASS_LEVEL_RESTRICT: LAUNCH(q, level_restrict, groups, A(p->cells), A(p->levels), A(p->tree), A(level)); break;
    case PASS_LEVEL_SWEEP: sweep_coarsest(o, level); break;
    case PASS_LEVEL_SMOOTH: LAUNCH(q, level_smooth, groups, A(p->cells), A(p->levels), A(p->tree), A(level), A(smooths)); break;
    case PASS_LEVEL_UP:
        LAUNCH(q, level_up, p->level[lower].count - 1, A(p->cells), A(p->levels), A(p->tree), A(lower), A(top));
        break;
    default: break;
    }
}

static void run(backend *base, pass_id pass, int32_t level)
{
    opencl_backend *o = (opencl_backend *)base;
    opencl_queue *q = &o->queue;
    device_bricks *d = &o->bricks;
    device_pyramid *p = &o->pyramid;
    channels c = find_channels(o);
    cl_int iterations = level, smooths = o->numbers.smooths, top = p->tables.top;
    q->rule = backend_pass_name(pass);
    switch (pass) {
    case PASS_LIMIT: break;  // within the move
    case PASS_MOVE:
        LAUNCH(q, move, d->run_count, A(d->runs), A(d->near), A(d->open), A(d->clear), A(c.mass), FLOW, A(c.mass_next), NEXT,
               MOVED, A(d->facts), A(o->numbers));
        break;
    case PASS_VISCOSITY:
        LAUNCH(q, viscosity, d->live, A(d->list), A(d->near), A(d->open), A(d->clear), A(c.mass_next), NEXT, FLOW,
               A(o->numbers));
        swap_flow(o);
        break;
    case PASS_FORCES: run_forces(o); break;
    case PASS_DRAIN_SIDES: drain_sides(o); break;
    case PASS_DIVERGENCE:
        ask_facts(o);
        LAUNCH(q, divergence, d->live, A(d->list), A(d->near), A(d->open), A(d->clear), A(c.mass_next), NEXT, A(c.pressure),
               A(c.divergence), A(c.floor), A(c.pressure_next), A(d->active), A(d->dry), A(o->numbers));
        break;
    case PASS_SMOOTH:
        LAUNCH(q, smooth, d->live, A(d->list), A(d->near), A(d->open), A(d->clear), A(d->dry),
               A(*(level == 0 ? &c.pressure : &c.pressure_next)), A(c.divergence), A(c.floor),
               A(*(level == 0 ? &c.pressure_next : &c.pressure)), A(d->active), A(smooths));
        break;
    case PASS_RESTRICT: restrict_all(o); break;
    case PASS_CORRECT:
        LAUNCH(q, correct_fine, d->live, A(c.pressure_next), A(c.floor), A(d->active), A(d->list), A(p->cells), A(p->levels),
               A(p->tree), A(top));
        break;
    case PASS_GRADIENT:
        LAUNCH(q, gradient, d->live, A(d->list), A(d->near), A(d->open), A(d->clear), A(d->dry), A(c.mass_next), A(c.pressure),
               NEXT, FLOW, A(o->numbers));
        swap_channels(o, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        break;
    case PASS_CLASSIC_MOVE:
        LAUNCH(q, classic_move, d->live, A(c.mass), FLOW, A(c.mass_next), NEXT, MOVED, A(d->facts), A(d->open), A(d->near),
               A(d->list), A(o->numbers));
        break;
    case PASS_CLASSIC_DIVERGENCE:
        ask_facts(o);
        LAUNCH(q, classic_divergence, d->live, A(c.mass_next), NEXT, A(c.divergence), A(c.pressure), A(d->open), A(d->near),
               A(d->list));
        break;
    case PASS_CLASSIC_PRESSURE:
        LAUNCH(q, classic_pressure, d->live, A(c.pressure), A(c.pressure_next), A(c.divergence), A(d->open), A(d->near),
               A(d->list), A(iterations));
        swap_channels(o, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
        break;
    case PASS_CLASSIC_GRADIENT:
        LAUNCH(q, classic_gradient, d->live, A(c.pressure), NEXT, A(d->open), A(d->near), A(d->list), A(o->numbers));
        swap_channels(o, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        swap_flow(o);
        break;
    default: run_level(o, pass, level); break;
    }
    q->rule = NULL;
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

// A rule runs here: what it sees is brought over, what it writes is sent back.
static void run_rule(backend *base, world_rule *rule)
{
    opencl_backend *o = (opencl_backend *)base;
    weir_world *world = o->world;
    double before = clock_seconds();
    if (!o->told) {
        world_log(world, WEIR_LOG_WARNING, "the rule %s runs on the host: its channels are brought over in every update",
                  rule->name);
        o->told = true;
    }
    int32_t seen[CHANNEL_MAX];
    int32_t count = rule_host_channels(world, rule, seen);
    for (int32_t i = 0; i < count; i++) device_bricks_fetch_channel(&o->bricks, seen[i]);
    rule_host_run(world, rule);
    for (int32_t i = 0; i < rule->def.channel_count; i++) device_bricks_send_channel(&o->bricks, rule->values[i]);
    backend_book_time(world, rule->name, clock_seconds() - before);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static float residual(const backend *base)
{
    opencl_backend *o = (opencl_backend *)(uintptr_t)base;
    queue_wait(&o->queue, &o->residual_read);
    float value;
    memcpy(&value, &o->residual_bits, sizeof value);
    return o->queue.error == CL_SUCCESS ? value : 0.0f;
}

static int64_t drained(const backend *base)
{
    return ((const opencl_backend *)base)->taken;
}

static int32_t levels(const backend *base)
{
    return ((const opencl_backend *)base)->pyramid.tables.top;
}

static int64_t bytes(const backend *base)
{
    const opencl_backend *o = (const opencl_backend *)base;
    return device_bricks_bytes(&o->bricks) + o->pyramid.cell_bytes + o->pyramid.tree_bytes;
}

static void destroy(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    opencl_queue *q = &o->queue;
    if (q->cl) {
        queue_wait(q, &o->facts_read);
        queue_wait(q, &o->residual_read);
        cl_mem *const buffers[] = {&o->pyramid.cells, &o->pyramid.tree, &o->pyramid.levels,
                                   &o->forces,        &o->residual,     &o->drained};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(q, buffers[i]);
    }
    device_bricks_destroy(&o->bricks);
    pyramid_destroy(&o->pyramid.tables);
    queue_destroy(q);
    memory_free(&o->world->mem, o, sizeof *o);
}

weir_status opencl_backend_create(weir_world *world, const char *device, backend **out)
{
    opencl_backend *o = memory_alloc_zero(&world->mem, sizeof *o);
    if (!o) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the OpenCL backend");
    o->base = (backend){.prepare = prepare,
                        .begin = begin,
                        .finish = finish,
                        .run = run,
                        .run_rule = run_rule,
                        .residual = residual,
                        .drained = drained,
                        .levels = levels,
                        .bytes = bytes,
                        .destroy = destroy};
    o->world = world;
    pyramid_create(&world->mem, true, &o->pyramid.tables);
    o->pyramid.version = UINT64_MAX;
    weir_status status = queue_create(device, world->logger, &o->queue);
    if (status == WEIR_OK) {
        device_bricks_create(&o->bricks, &o->queue, world);
        o->residual = queue_buffer(&o->queue, 4);
        if (!o->residual) status = status_fail(WEIR_ERROR_MEMORY, "no memory on the device");
    }
    if (status != WEIR_OK) {
        destroy(&o->base);
        return status;
    }
    *out = &o->base;
    return WEIR_OK;
}
