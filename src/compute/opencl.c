// The OpenCL backend: the same passes as on the CPU, as kernels on a device.
//
// Nothing waits for the device unless it must: what a kernel found out (which bricks hold water, how large the residual is) is read
// while later kernels of the same update are running. Where bricks come and go the host has much to do before the next update can
// begin: there it asks for all cycles of the pressure at once, leaves it to the device which of them are needed, and works on the next
// update's bricks meanwhile.
#include "compute/opencl.h"

#include "base/clock.h"
#include "compute/rule_host.h"
#include "solvers/momentum/limit.h"
#include "solvers/momentum/pressure.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMED_EVERY = 64,      // updates, of which one is timed
    AHEAD_BRICKS = 8192,   // from so many on it pays to ask for cycles before they are known to be needed
    BESIDE_BRICKS = 1024,  // and to read beside the kernels; fewer are done before the host has asked
    LEVELS_MAX = PYRAMID_LEVELS
};

// The pyramid on the device: one block of floats, one of ints, and a table of levels.
typedef struct device_pyramid {
    pyramid tables;
    device_level level[LEVELS_MAX + 1];  // one more, since kernels get a level with the one above it
    cl_mem cells, tree;
    int64_t cell_bytes, tree_bytes;
    int32_t *tree_here;
    size_t here_bytes;
    int32_t told;      // where the host's part of the tree begins, with the table of levels; before it is what grow_tree finds
    int32_t box;       // where the octants of the tail's first level are: see coarse_tail
    int32_t split;     // axes on which the cells of the tail lie in two bricks: bit 3k + axis for level tail + k
    int32_t tail;      // the first level that coarse_tail does; past the top: none
    bool fresh;        // no cycle has been over it yet
    uint64_t version;  // of the pool it was built for
} device_pyramid;

typedef struct opencl_backend {
    backend base;
    weir_world *world;
    opencl_queue queue;
    device_bricks bricks;
    device_pyramid pyramid;
    device_rules rules;
    device_numbers numbers;
    cl_mem forces;
    int64_t force_bytes;
    cl_mem drained;
    int64_t drained_bytes;
    cl_mem outer;  // bricks that reach over the bounds
    int64_t outer_bytes;
    void *scratch;  // host memory that passes may use
    size_t scratch_bytes;
    int64_t taken;   // by the last DRAIN_SIDES
    int32_t ahead;   // bricks from which on cycles are asked for before they are known to be needed
    int32_t beside;  // and from which on answers are read beside the kernels
    cl_int rest;     // iterations of the classic pressure that are left to the gradient: 0 or 1
} opencl_backend;

// ---- The pyramid -----------------------------------------------------------------------------------------------------------

// How much room the levels take.
typedef struct pyramid_size {
    int64_t channels;  // of a brick each, in the floats
    int64_t ints;      // of the tree
    int64_t told;      // of them, that the host tells
    int32_t bricks;    // of all levels
} pyramid_size;

// Lays out the levels: where each begins in the floats and in the tree. What the host tells lies together, behind the ways up
// of the live bricks and the neighbours of level 1, before the stamps.
static pyramid_size lay_out(device_pyramid *p, const brick_pool *pool)
{
    const int32_t top = p->tables.top, first = p->tables.level[1].count;
    p->told = pool->end + 27 * first;
    pyramid_size size = {.ints = p->told + (top + 1) * (int32_t)(sizeof *p->level / 4)};
    p->level[0] = (device_level){.room = pool->end, .count = pool->end};
    for (int32_t l = 1; l <= top; l++) {
        int32_t count = p->tables.level[l].count;
        device_level *level = &p->level[l];
        *level = (device_level){.first = (int)size.channels, .room = count, .count = count, .stamp = size.bricks};
        level->near = l == 1 ? pool->end : (int)size.ints;
        if (l > 1) size.ints += 27 * (int64_t)count;
        level->up = (int)size.ints;
        size.ints += count;
        level->child = (int)size.ints;
        size.ints += 8 * (int64_t)count;
        size.channels += (int64_t)(l == 1 ? DEVICE_FIRST_CHANNELS : DEVICE_LEVEL_CHANNELS) * count;
        size.bricks += count;
    }
    p->box = (int)size.ints;
    size.ints += 16;
    size.told = size.ints - p->told;
    for (int32_t l = 1; l <= top; l++) p->level[l].stamp += (int)size.ints;
    size.ints += size.bricks;
    assert(size.ints <= INT32_MAX && size.channels <= INT32_MAX);  // kernels count in ints
    return size;
}

// The lowest brick of a level, live ones being level 0, on each axis; false if they lie further apart than two bricks. An even number
// where that is possible, so that cells above them pair up.
static bool find_corner(const device_pyramid *p, const brick_pool *pool, int32_t level, int32_t corner[3])
{
    const weir_coord *coord = level == 0 ? pool->coord : p->tables.level[level].coord;
    int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    for (int32_t b = 1; b < p->level[level].count; b++) {
        if (level == 0 && !pool->alive[b]) continue;
        const int32_t at[3] = {coord[b].x, coord[b].y, coord[b].z};
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] < low[axis]) low[axis] = at[axis];
            if (at[axis] > high[axis]) high[axis] = at[axis];
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        if (high[axis] - low[axis] > 1) return false;
        corner[axis] = high[axis] == low[axis] ? low[axis] & ~1 : low[axis];
    }
    return true;
}

// The first level for coarse_tail, whose cells lie within 8 on each axis because the bricks below it lie within 2; and those of every
// level above lie within half as many, which pair up.
static int32_t first_of_tail(const device_pyramid *p, const brick_pool *pool)
{
    int32_t top = p->tables.top, tail = top + 1, corner[3];
    while (tail > 1 && tail > top + 1 - DEVICE_TAIL_LEVELS && find_corner(p, pool, tail - 2, corner)) {
        bool odd = (corner[0] | corner[1] | corner[2]) & 1;
        if (odd && tail - 1 == top + 1 - DEVICE_TAIL_LEVELS) break;
        tail--;
    }
    return tail;
}

// The bricks below the tail's first level by their octants of it, and their ways up.
static void write_box(device_pyramid *p, const brick_pool *pool, int32_t *box)
{
    int32_t below = p->tail - 1, corner[3];
    memset(box, 0, 16 * sizeof *box);
    p->split = 0;
    if (p->tail > p->tables.top || !find_corner(p, pool, below, corner)) return;
    const weir_coord *coord = below == 0 ? pool->coord : p->tables.level[below].coord;
    for (int32_t b = 1; b < p->level[below].count; b++) {
        if (below == 0 && !pool->alive[b]) continue;
        int32_t octant = (coord[b].x - corner[0]) + 2 * (coord[b].y - corner[1]) + 4 * (coord[b].z - corner[2]);
        assert(octant >= 0 && octant < 8 && box[octant] == 0);
        box[octant] = b;
        box[octant + 8] = 8 * p->tables.level[below].parent[b] + pyramid_octant(coord[b]);
    }
    for (int32_t i = 0; i < 3 * (DEVICE_TAIL_LEVELS - 1); i++) {
        int32_t middle = 4 * (corner[i % 3] + 1) >> i / 3;
        p->split |= (middle & 7) == 0 ? 1 << i : 0;
    }
}

// Writes what the host tells of the tree.
static void write_tree(device_pyramid *p, const brick_pool *pool, int32_t *told)
{
    const int32_t begin = p->told;
    memcpy(told, p->level, (size_t)(p->tables.top + 1) * sizeof *p->level);
    for (int32_t l = 1; l <= p->tables.top; l++) {
        const pyramid_level *from = &p->tables.level[l];
        const device_level *level = &p->level[l];
        const size_t count = (size_t)level->count;
        int32_t *up = told + (level->up - begin);
        assert((l == 1 || level->near >= begin) && level->up >= begin && level->child >= level->up + level->count);
        assert(level->child + 8 * level->count <= p->box);
        if (l > 1) memcpy(told + (level->near - begin), from->near, count * sizeof *from->near);
        memcpy(told + (level->child - begin), from->child, count * sizeof *from->child);
        for (int32_t b = 0; b < level->count; b++)
            up[b] = b > 0 && l < p->tables.top ? 8 * from->parent[b] + pyramid_octant(from->coord[b]) : 0;
    }
    write_box(p, pool, told + (p->box - begin));
}

// Memory in which the host's part of the tree is made; it stays, since making it anew costs as much as filling it.
static int32_t *reserve_tree(opencl_backend *o, size_t bytes)
{
    device_pyramid *p = &o->pyramid;
    if (p->here_bytes >= bytes) return p->tree_here;
    memory_free(&o->world->mem, p->tree_here, p->here_bytes);
    p->tree_here = memory_alloc(&o->world->mem, bytes + bytes / 8);
    p->here_bytes = p->tree_here ? bytes + bytes / 8 : 0;
    return p->tree_here;
}

static weir_status build_pyramid(opencl_backend *o)
{
    device_pyramid *p = &o->pyramid;
    brick_pool *pool = &o->world->bricks;
    if (p->version == pool->version) return WEIR_OK;
    p->version = UINT64_MAX;
    weir_status status = pyramid_build(&p->tables, pool);
    if (status != WEIR_OK) return status;
    pyramid_size size = lay_out(p, pool);
    int64_t cell_bytes = size.channels * BRICK_CELLS * 4, tree_bytes = size.ints * 4;
    int32_t *told = reserve_tree(o, (size_t)size.told * 4);
    bool room = told && queue_at_least(&o->queue, &p->cells, &p->cell_bytes, cell_bytes, cell_bytes / 8) &&
                queue_at_least(&o->queue, &p->tree, &p->tree_bytes, tree_bytes, tree_bytes / 8);
    if (room) {
        cl_int levels = p->told, bricks = size.bricks;
        p->tail = first_of_tail(p, pool);
        write_tree(p, pool, told);
        queue_write(&o->queue, p->tree, (int64_t)p->told * 4, told, size.told * 4);
        LAUNCH_ROWS(&o->queue, grow_tree, bricks, A(p->cells), A(p->tree), A(levels), A(bricks));
        p->fresh = true;
        p->version = pool->version;
    }
    if (!room) return queue_no_room(&o->queue, "the coarse levels of ", pool->live, cell_bytes + tree_bytes);
    return queue_status(&o->queue);
}

// Room for what some passes send and ask besides the bricks: made before the update, because in its middle nothing may fail.
static weir_status reserve(opencl_backend *o)
{
    weir_world *world = o->world;
    int64_t forces = (int64_t)(world->source_count + 1) * (int64_t)sizeof(device_force), live = world->bricks.live + 1;
    size_t bytes = (size_t)(forces > live * 12 ? forces : live * 12);
    if (o->scratch_bytes < bytes) {
        memory_free(&world->mem, o->scratch, o->scratch_bytes);
        o->scratch = memory_alloc(&world->mem, bytes);
        o->scratch_bytes = o->scratch ? bytes : 0;
    }
    bool room = o->scratch && queue_at_least(&o->queue, &o->forces, &o->force_bytes, forces, forces / 8);
    if (room && world->terrain.bounded && world->terrain.open_sides)
        room = queue_at_least(&o->queue, &o->outer, &o->outer_bytes, live * 4, live / 2) &&
               queue_at_least(&o->queue, &o->drained, &o->drained_bytes, live * 8, live);
    if (!room) return status_fail(WEIR_ERROR_MEMORY, "no memory for forces and open sides of %d bricks", world->bricks.live);
    return queue_status(&o->queue);
}

// ---- An update -------------------------------------------------------------------------------------------------------------

static void set_numbers(opencl_backend *o)
{
    const weir_world *world = o->world;
    const weir_params *p = &world->params;
    float scale = 1.0f / world_speed(world);
    backend_down down = backend_find_down(p);
    float dust = down.sign != 0 ? p->dust : 0.0f;
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
        .empty = p->empty,
        .excess_rate = p->excess_rate,
        .excess_cap = p->excess_cap,
        .viscosity = p->viscosity,
        .noise = p->noise,
        .dust = dust * RULE_DROPS,
        .fill_cap = p->fill_cap * RULE_DROPS,
        .full = (LIMIT_FULL - dust) * RULE_DROPS,
        .empty_drops = p->empty * RULE_DROPS,
        .falls_above = down.sign > 0 ? -1.0f : 0.0f,
        .falls_below = down.sign > 0 ? 4.0f * RULE_DROPS : dust * RULE_DROPS,
        .force_scale = scale,
        .noise_seed = p->noise_seed,
        .update = (uint32_t)world->update,
        .smooths = p->smooths,
    };
}

// The pyramid is built anew whenever that is needed, so it makes way for bricks.
static void drop_pyramid(opencl_backend *o)
{
    device_pyramid *p = &o->pyramid;
    queue_free(&o->queue, &p->cells);
    queue_free(&o->queue, &p->tree);
    p->cell_bytes = p->tree_bytes = 0;
    p->version = UINT64_MAX;
}

static weir_status prepare(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    weir_status status = device_bricks_prepare(&o->bricks);
    if (status == WEIR_ERROR_MEMORY && o->pyramid.cells) {
        drop_pyramid(o);
        status = device_bricks_prepare(&o->bricks);
    }
    if (status == WEIR_OK && o->world->solver == WEIR_SOLVER_MOMENTUM && o->world->bricks.live > 0) status = build_pyramid(o);
    if (status == WEIR_OK) status = reserve(o);
    if (status == WEIR_OK) device_rules_prepare(&o->rules, &o->bricks);
    set_numbers(o);
    return status;
}

static void begin(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    device_bricks_send(&o->bricks);
    queue_time(&o->queue, o->world->update % TIMED_EVERY == 0);
}

// Without branches, so that it is done many bricks at a time.
static void take_facts(brick_pool *pool, const uint8_t *facts, int64_t change)
{
    const uint8_t *alive = pool->alive;
    uint8_t *wet = pool->wet;
    int64_t *changed = pool->changed;
    for (int32_t b = 1; b < pool->end; b++) wet[b] = alive[b] & (facts[b] & DEVICE_WET);
    for (int32_t b = 1; b < pool->end; b++) changed[b] = (alive[b] & facts[b] >> 1) ? change : changed[b];
}

static weir_status finish(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    brick_pool *pool = &o->world->bricks;
    const uint8_t *facts = device_bricks_take_facts(&o->bricks);
    if (o->queue.timing) {
        queue_finish(&o->queue);
        queue_book(&o->queue, o->world, TIMED_EVERY);
    }
    weir_status status = queue_status(&o->queue);
    if (status != WEIR_OK) return status;
    if (pool->live > 0) take_facts(pool, facts, o->world->change);
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
    device_force *forces = o->scratch;
    int32_t count = 0;
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *s = &world->sources[i];
        if (s->kind != SOURCE_FORCE) continue;
        forces[count++] = (device_force){s->box.min.x, s->box.min.y, s->box.min.z, s->box.max.x, s->box.max.y,
                                         s->box.max.z, s->force.x,   s->force.y,   s->force.z};
    }
    assert(count * sizeof *forces <= o->scratch_bytes);
    o->numbers.source_count = count;
    queue_write(&o->queue, o->forces, 0, forces, count * (int64_t)sizeof *forces);
    LAUNCH(&o->queue, forces, d->live, A(d->list), A(d->near), A(d->open), A(d->coords), A(c.mass_next), NEXT, A(o->forces),
           A(o->numbers));
}

// Only bricks that reach over the bounds can lose water.
static void drain_sides(opencl_backend *o)
{
    weir_world *world = o->world;
    const brick_pool *pool = &world->bricks;
    device_bricks *d = &o->bricks;
    weir_box box = world->terrain.bounds;
    int32_t *outer = o->scratch;
    int32_t count = 0;
    o->taken = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        weir_coord at = {pool->coord[b].x * 8, pool->coord[b].y * 8, pool->coord[b].z * 8};
        bool inside = at.x >= box.min.x && at.y >= box.min.y && at.z >= box.min.z && at.x + 8 <= box.max.x &&
                      at.y + 8 <= box.max.y && at.z + 8 <= box.max.z;
        if (pool->alive[b] && !inside) outer[count++] = b;
    }
    if (count == 0) return;
    cl_int bounds[8] = {box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z, 0, 0};
    channels c = find_channels(o);
    int64_t *drops = (int64_t *)(outer + (pool->live & ~1));
    assert(count <= pool->live && (char *)(drops + count) <= (char *)o->scratch + o->scratch_bytes);
    queue_write(&o->queue, o->outer, 0, outer, count * 4);
    LAUNCH(&o->queue, drain_sides, count, A(o->outer), A(d->coords), A(c.mass_next), A(d->marks), A(o->drained), A(bounds));
    queue_read(&o->queue, o->drained, 0, drops, count * 8);
    for (int32_t i = 0; i < count; i++) {
        assert(drops[i] >= 0);
        o->taken += drops[i];
    }
}

// Where bricks came just now they will soon come again, and the host has better things to do than to wait.
static void begin_cycles(opencl_backend *o)
{
    const device_pyramid *p = &o->pyramid;
    o->bricks.cycle = (device_cycle){
        .ahead = p->fresh && o->bricks.live >= o->ahead,
        .anew = p->fresh,
        .live = o->bricks.live,
        .tolerance = o->world->params.tolerance,
    };
}

// Whether one read brings facts and notes. With few bricks the host's calls are what an update waits for, and a read costs as
// much as two launches.
static bool reads_once(const opencl_backend *o)
{
    return o->bricks.live < o->beside && !o->bricks.cycle.ahead;
}

static bool unsolved(backend *base, int32_t cycles)
{
    opencl_backend *o = (opencl_backend *)base;
    device_bricks *d = &o->bricks;
    o->pyramid.fresh = false;
    d->cycle.index = cycles;
    d->cycle.anew = 0;
    if (d->cycle.ahead) return o->queue.error == CL_SUCCESS;
    device_bricks_take_notes(d);
    return o->queue.error == CL_SUCCESS && o->world->cycles_next > cycles;
}

_Static_assert(DEVICE_TOUCH_ROUNDS == TOUCH_UP_ROUNDS, "all backends touch up in as many rounds");

#define CYCLE A(o->bricks.marks), A(o->bricks.cycle)

// Nobody waits for the rounds, which do nothing if another cycle follows.
static void touch_up(opencl_backend *o, bool may_follow)
{
    opencl_queue *q = &o->queue;
    device_bricks *d = &o->bricks;
    channels c = find_channels(o);
    d->cycle.may_follow = may_follow;
    if (!d->cycle.ahead) {
        device_bricks_take_notes(d);
        if (!rule_is_wild(device_bricks_note(d, d->cycle.index).begun, d->cycle.tolerance)) return;
    }
    LAUNCH_ROWS(q, look_for_restless, d->live, A(d->open), A(c.pressure), A(c.divergence), CYCLE, A(d->room));
    if (!d->cycle.ahead) device_bricks_ask_notes(d, d->live >= o->beside, false);
    cl_int sweeps = o->numbers.smooths;
    int32_t several = d->live < DEVICE_TOUCH_BRICKS ? d->live : DEVICE_TOUCH_BRICKS;
    for (cl_int round = 0; round < DEVICE_TOUCH_ROUNDS; round++)
        LAUNCH_ROWS(q, touch_up, several, A(d->near), A(d->clear), A(d->open), A(c.pressure), A(c.pressure_next),
                    A(c.divergence), A(c.floor), CYCLE, A(d->room), A(round), A(sweeps));
    LAUNCH_ROWS(q, settle, several, A(c.pressure), A(c.pressure_next), CYCLE, A(d->room));
}

static void restrict_all(opencl_backend *o)
{
    device_bricks *d = &o->bricks;
    device_pyramid *p = &o->pyramid;
    channels c = find_channels(o);
    LAUNCH_ROWS(&o->queue, restrict_fine, d->live, A(c.pressure_next), A(c.divergence), A(d->open), A(p->cells), A(p->level[0]),
                A(p->level[1]), A(p->tree), CYCLE, A(d->room), A(d->live));
    if (!d->cycle.ahead) device_bricks_ask_notes(d, d->live >= o->beside, reads_once(o) && d->cycle.index == 0);
}

// Jacobi sweeps on a coarsest level of bricks far apart. They see each other's results, so each is a launch.
static void sweep_coarsest(opencl_backend *o, cl_int level)
{
    device_pyramid *p = &o->pyramid;
    const device_level *here = &p->level[level];
    cl_int from = DEVICE_ERROR, to = DEVICE_ERROR_NEXT, sweeps = 1, above = -1;
    for (int32_t i = 0; i < COARSEST_SWEEPS; i++) {
        LAUNCH_CELLS(&o->queue, level_smooth, here->count - 1, A(p->cells), A(*here), A(*here), A(p->tree), CYCLE, A(from),
                     A(to), A(sweeps), A(above));
        cl_int swap = from;
        from = to;
        to = swap;
    }
}

// The coarse levels. From the level `tail` on one work-group does them all at once. Counts, weights and the right side are worked out
// on the way down, corrections when a level is smoothed: they are no launches of their own.
static void run_level(opencl_backend *o, pass_id pass, cl_int level)
{
    device_pyramid *p = &o->pyramid;
    opencl_queue *q = &o->queue;
    cl_int top = p->tables.top, smooths = o->numbers.smooths, sweeps = COARSEST_SWEEPS;
    const device_level *here = &p->level[level];  // and the one above it
    int32_t bricks = here->count - 1;
    assert(level >= 1 && level <= top && bricks >= 1);
    if (level > p->tail) return;
    if (level == p->tail) {
        if (pass == PASS_LEVEL_DOWN)
            LAUNCH_CELLS(q, coarse_tail, 1, A(p->cells), A(here[-1]), A(here[0]), A(p->tree), CYCLE, A(p->box), A(p->split),
                         A(level), A(top), A(smooths), A(sweeps));
        return;
    }
    cl_int from = DEVICE_ERROR, to = DEVICE_ERROR_NEXT, above = level + 1 == top ? DEVICE_ERROR : DEVICE_ERROR_NEXT;
    cl_int is_top = level == top;
    if (is_top) smooths = 0;
    switch (pass) {
    case PASS_LEVEL_DOWN:
        if (level == 1)
            LAUNCH_ROWS(q, first_down, bricks, A(p->cells), A(here[0]), A(here[1]), A(p->tree), CYCLE, A(smooths));
        else
            LAUNCH_CELLS(q, level_down, bricks, A(p->cells), A(here[-1]), A(here[0]), A(here[1]), A(p->tree), CYCLE, A(is_top),
                         A(smooths));
        break;
    case PASS_LEVEL_SWEEP: sweep_coarsest(o, level); break;
    case PASS_LEVEL_SMOOTH:
        if (level == 1)
            LAUNCH_ROWS(q, first_smooth, bricks, A(p->cells), A(here[0]), A(here[1]), A(p->tree), CYCLE, A(smooths), A(above));
        else
            LAUNCH_CELLS(q, level_smooth, bricks, A(p->cells), A(here[0]), A(here[1]), A(p->tree), CYCLE, A(from), A(to),
                         A(smooths), A(above));
        break;
    default: break;
    }
}

// Iterations of the classic pressure, two per launch; one that is left over waits for the next call, or for the gradient.
// `follows`: the first of them follows right after the divergence.
static void iterate_pressure(opencl_backend *o, int32_t count, bool follows)
{
    device_bricks *d = &o->bricks;
    size_t items = (size_t)d->run_count * DEVICE_MARCH_GROUP;
    for (o->rest += count; o->rest >= 2; o->rest -= 2, follows = false) {
        channels c = find_channels(o);
        const kernel_arg args[] = {A(d->runs),    A(d->near),      A(d->open),        A(d->clear),
                                   A(c.pressure), A(c.divergence), A(c.pressure_next)};
        queue_launch(&o->queue, follows ? KERNEL_classic_follow : KERNEL_classic_pressure, items, DEVICE_MARCH_GROUP, args,
                     (int32_t)(sizeof args / sizeof *args));
        swap_channels(o, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
    }
    assert(o->rest == 0 || o->rest == 1);
}

static void run(backend *base, pass_id pass, int32_t level)
{
    opencl_backend *o = (opencl_backend *)base;
    opencl_queue *q = &o->queue;
    device_bricks *d = &o->bricks;
    device_pyramid *p = &o->pyramid;
    channels c = find_channels(o);
    cl_int smooths = o->numbers.smooths, top = p->tables.top, follows;
    assert(d->live == o->world->bricks.live && (d->version == o->world->bricks.version || q->error != CL_SUCCESS));
    q->rule = backend_pass_name(pass);
    switch (pass) {
    case PASS_MOVE:
        LAUNCH_ITEMS(q, move, (size_t)d->run_count * DEVICE_MOVE_GROUP, DEVICE_MOVE_GROUP, A(d->runs), A(d->near), A(d->open),
                     A(d->clear), A(c.mass), FLOW, A(c.mass_next), NEXT, MOVED, A(d->marks), A(o->numbers));
        break;
    case PASS_VISCOSITY:
        LAUNCH(q, viscosity, d->live, A(d->list), A(d->near), A(d->open), A(d->clear), A(c.mass_next), NEXT, FLOW,
               A(o->numbers));
        swap_flow(o);
        break;
    case PASS_FORCES: run_forces(o); break;
    case PASS_DRAIN_SIDES: drain_sides(o); break;
    case PASS_DIVERGENCE:
        begin_cycles(o);
        if (!reads_once(o)) device_bricks_ask_facts(d, d->live >= o->beside);
        LAUNCH_ROWS(q, divergence, d->live, A(d->near), A(d->open), A(c.mass_next), NEXT, A(c.pressure), A(c.divergence),
                    A(c.floor), A(c.pressure_next), A(d->marks), A(o->numbers), A(d->room), A(d->live));
        break;
    case PASS_SMOOTH:
        LAUNCH_ROWS(q, smooth, d->live, A(d->open), A(*(level == 0 ? &c.pressure : &c.pressure_next)), A(c.divergence),
                    A(c.floor), A(*(level == 0 ? &c.pressure_next : &c.pressure)), CYCLE, A(d->room), A(smooths), A(d->live));
        break;
    case PASS_RESTRICT: restrict_all(o); break;
    case PASS_CORRECT:
        LAUNCH_ROWS(q, correct_fine, d->live, A(c.pressure_next), A(c.floor), A(p->cells), A(p->level[0]), A(p->level[1]),
                    A(p->tree), CYCLE, A(d->room), A(top), A(o->numbers.head), A(d->live));
        break;
    case PASS_TOUCH_UP: touch_up(o, level == 1); break;
    case PASS_GRADIENT:
        LAUNCH_ROWS_BY(q, gradient, DEVICE_GRADIENT_GROUP, d->live, A(d->open), A(c.pressure), NEXT, FLOW, A(d->marks),
                       A(o->numbers), A(d->room), A(d->live));
        if (d->cycle.ahead) device_bricks_ask_notes(d, false, false);
        swap_channels(o, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        break;
    case PASS_CLASSIC_MOVE:
        LAUNCH(q, classic_move, d->pair_count, A(c.mass), FLOW, A(c.mass_next), NEXT, MOVED, A(d->marks), A(d->open),
               A(d->clear), A(d->pairs), A(o->numbers));
        break;
    case PASS_CLASSIC_DIVERGENCE:
        device_bricks_ask_facts(d, d->live >= o->beside);
        follows = level - 1 >= 2;
        LAUNCH_ROWS_BY(q, classic_divergence, DEVICE_DIVERGENCE_GROUP, d->live, A(d->open), A(c.mass_next), NEXT,
                       A(c.divergence), A(c.pressure), A(d->marks), A(d->room), A(follows), A(d->live));
        o->rest = 0;
        iterate_pressure(o, level - 1, follows);
        break;
    case PASS_CLASSIC_PRESSURE: iterate_pressure(o, level, false); break;
    case PASS_CLASSIC_GRADIENT:
        iterate_pressure(o, level, false);
        c = find_channels(o);
        LAUNCH_ITEMS(q, classic_gradient, (size_t)d->run_count * DEVICE_MARCH_GROUP, DEVICE_MARCH_GROUP, A(d->runs), A(d->near),
                     A(d->open), A(d->clear), A(c.pressure), A(c.divergence), A(c.pressure_next), NEXT, A(o->numbers),
                     A(o->rest));
        if (o->rest > 0) swap_channels(o, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
        swap_channels(o, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        swap_flow(o);
        break;
    default: run_level(o, pass, level); break;
    }
    q->rule = NULL;
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

// On the device where it can. Otherwise it runs here: what it sees is brought over, what it writes is sent back.
static void run_rule(backend *base, world_rule *rule)
{
    opencl_backend *o = (opencl_backend *)base;
    weir_world *world = o->world;
    if (device_rules_run(&o->rules, &o->bricks, rule)) return;
    double before = clock_seconds();
    int32_t seen[CHANNEL_MAX];
    int32_t count = rule_host_channels(world, rule, seen);
    for (int32_t i = 0; i < count; i++) device_bricks_fetch_channel(&o->bricks, seen[i]);
    rule_host_run(world, rule);
    for (int32_t i = 0; i < rule->def.channel_count; i++) device_bricks_send_channel(&o->bricks, rule->values[i]);
    backend_book_time(world, rule->name, clock_seconds() - before);
    for (int32_t i = 0; i < world->rule_time_count; i++)
        if (world->rule_names[i] == rule->name) world->rule_on_host[i] = true;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

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

static const char *validate(backend *base)
{
    const opencl_backend *o = (const opencl_backend *)base;
    const char *wrong = pyramid_validate(&o->pyramid.tables, &o->world->bricks);
    return wrong ? wrong : device_bricks_validate(&o->bricks);
}

static void destroy(backend *base)
{
    opencl_backend *o = (opencl_backend *)base;
    opencl_queue *q = &o->queue;
    if (q->cl) {
        cl_mem *const buffers[] = {&o->pyramid.cells, &o->pyramid.tree, &o->forces, &o->drained, &o->outer};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(q, buffers[i]);
        device_rules_destroy(&o->rules, q);
    }
    device_bricks_destroy(&o->bricks);
    pyramid_destroy(&o->pyramid.tables);
    memory_free(&o->world->mem, o->pyramid.tree_here, o->pyramid.here_bytes);
    queue_destroy(q);
    memory_free(&o->world->mem, o->scratch, o->scratch_bytes);
    memory_free(&o->world->mem, o, sizeof *o);
}

// A number of bricks; tests, whose worlds are small, say another one in the environment.
static int32_t bricks_from(const char *name, int32_t usual)
{
    const char *wish = getenv(name);
    return wish ? atoi(wish) : usual;
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
                        .unsolved = unsolved,
                        .drained = drained,
                        .levels = levels,
                        .bytes = bytes,
                        .validate = validate,
                        .destroy = destroy};
    o->world = world;
    o->ahead = bricks_from("WEIR_DEVICE_AHEAD", AHEAD_BRICKS);
    o->beside = bricks_from("WEIR_DEVICE_BESIDE", BESIDE_BRICKS);
    pyramid_create(&world->mem, true, &o->pyramid.tables);
    o->pyramid.version = UINT64_MAX;
    weir_status status = queue_create(device, world->logger, &world->account, &o->queue);
    if (status != WEIR_OK) {
        destroy(&o->base);
        return status;
    }
    device_bricks_create(&o->bricks, &o->queue, world);
    *out = &o->base;
    return WEIR_OK;
}
