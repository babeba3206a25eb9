// The momentum solver on an OpenCL device: the pyramid there, and how each of its passes runs.
//
// How large the residual is, is read while later kernels of the same update are running. Where bricks come and go the host has much to do
// before the next update can begin: there it enqueues all cycles of the pressure at once, leaves it to the device which of them are
// needed, and works on the next update's bricks meanwhile.
#include "solvers/momentum/opencl_momentum.h"

#include "solvers/momentum/coarse.h"
#include "solvers/momentum/film.h"
#include "solvers/momentum/gas.h"
#include "solvers/momentum/limit.h"
#include "solvers/momentum/pressure.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { SPECULATIVE_BRICKS = 8192 };  // from so many on it pays to enqueue cycles before they are known to be needed

extern const char opencl_momentum_source[];
static const char *const kernel_names[] = {MOMENTUM_KERNELS(KERNEL_NAME)};
static const opencl_text text = {"momentum", opencl_momentum_source, kernel_names, sizeof kernel_names / sizeof *kernel_names};

// Divergence and floor live in the old flow until the gradient.
#define DIVERGENCE(channels) ((channels).flow[0])
#define FLOOR(channels) ((channels).flow[1])

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

// The lowest brick of a level, awake ones being level 0, on each axis; false if they lie further apart than two bricks. An even number
// where that is possible, so that cells above them pair up.
static bool find_corner(const device_pyramid *p, const brick_pool *pool, int32_t level, int32_t corner[3])
{
    const weir_coord *coord = level == 0 ? pool->coord : p->tables.level[level].coord;
    int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    for (int32_t b = 1; b < p->level[level].count; b++) {
        if (level == 0 && pool->phase[b] != PHASE_AWAKE) continue;
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
        if (below == 0 && pool->phase[b] != PHASE_AWAKE) continue;
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
static int32_t *reserve_tree(momentum_opencl *o, size_t bytes)
{
    device_pyramid *p = &o->pyramid;
    if (p->here_bytes >= bytes) return p->tree_here;
    memory_free(&o->machine->world->mem, p->tree_here, p->here_bytes);
    p->tree_here = memory_alloc(&o->machine->world->mem, bytes + bytes / 8);
    p->here_bytes = p->tree_here ? bytes + bytes / 8 : 0;
    return p->tree_here;
}

static weir_status build_pyramid(momentum_opencl *o)
{
    device_pyramid *p = &o->pyramid;
    brick_pool *pool = &o->machine->cells->pool;
    if (p->version == pool->version) return WEIR_OK;
    p->version = UINT64_MAX;
    weir_status status = pyramid_build(&p->tables, pool);
    if (status != WEIR_OK) return status;
    pyramid_size size = lay_out(p, pool);
    int64_t cell_bytes = size.channels * BRICK_CELLS * 4, tree_bytes = size.ints * 4;
    int32_t *told = reserve_tree(o, (size_t)size.told * 4);
    bool room = told && queue_at_least(&o->machine->queue, &p->cells, &p->cell_bytes, cell_bytes, cell_bytes / 8) &&
                queue_at_least(&o->machine->queue, &p->tree, &p->tree_bytes, tree_bytes, tree_bytes / 8);
    if (room) {
        cl_int levels = p->told, bricks = size.bricks;
        p->tail = first_of_tail(p, pool);
        write_tree(p, pool, told);
        queue_write(&o->machine->queue, p->tree, (int64_t)p->told * 4, told, size.told * 4);
        LAUNCH_ROWS(&o->machine->queue, grow_tree, bricks, ARG(p->cells), ARG(p->tree), ARG(levels), ARG(bricks));
        p->fresh = true;
        p->version = pool->version;
    }
    if (!room) return queue_no_room(&o->machine->queue, "the coarse levels of ", pool->awake, cell_bytes + tree_bytes);
    return queue_status(&o->machine->queue);
}

// The pyramid is built anew whenever that is needed, so it makes way for bricks.
static void drop_pyramid(momentum_opencl *o)
{
    device_pyramid *p = &o->pyramid;
    queue_free(&o->machine->queue, &p->cells);
    queue_free(&o->machine->queue, &p->tree);
    p->cell_bytes = p->tree_bytes = 0;
    p->version = UINT64_MAX;
}

// ---- Statistics of cycles --------------------------------------------------------------------------------------------------

_Static_assert(4 * (DEVICE_FAST_FACES(1) + 8) == DEVICE_HEADER, "so much room the tables have for a header");
_Static_assert(4 * DEVICE_FAST_FACES(0) == DEVICE_HEADER - DEVICE_READ_ALONG, "the counts are read with the flags");

// See device.h.
typedef struct cycle_stats {
    bool ran;
    float begun, left;
    int32_t unconverged;
} cycle_stats;

static int64_t tables_bytes(int64_t room)
{
    return DEVICE_TABLES_END(room);
}

// Begins to read the statistics of the update's cycles, and the bricks' flags with them if they are wanted.
static void prefetch_stats(momentum_opencl *o, bool on_transfer_queue, bool with_flags)
{
    o->stats_cycle = o->cycle;
    if (o->stats_cycle.index == DEVICE_CYCLES) o->stats_cycle.index--;  // behind the last cycle there may be
    o->stats_pending = true;
    device_bricks_prefetch_header(&o->machine->bricks, 4 * DEVICE_CYCLE_STATS(o->stats_cycle.index), with_flags,
                                  on_transfer_queue, &o->stats_read);
}

// Of a cycle of the last update whose statistics were taken.
static cycle_stats stats_of(const momentum_opencl *o, int32_t index)
{
    assert(index >= 0 && index < DEVICE_CYCLES);
    const cl_int *stats = (const cl_int *)o->machine->bricks.tables_here.data + DEVICE_CYCLE_STATS(index);
    return (cycle_stats){stats[DEVICE_RAN] != 0, rule_as_float(stats[DEVICE_BEGUN]), rule_as_float(stats[DEVICE_LEFT]),
                         stats[DEVICE_UNCONVERGED]};
}

// Waits for the statistics, if they are on their way. The cycles are those that were needed, however many were enqueued.
static void take_stats(void *solver)
{
    momentum *m = solver;
    momentum_opencl *o = m->opencl;
    if (!o->stats_pending) return;
    o->stats_pending = false;
    queue_wait(&o->machine->queue, &o->stats_read);
    if (o->machine->queue.error != CL_SUCCESS) return;
    int32_t cycles = 1;
    const device_cycle *of = &o->stats_cycle;
    while (cycles <= of->index && stats_of(o, cycles).ran) cycles++;
    cycle_stats last = stats_of(o, cycles - 1);
    m->cycles = cycles;
    m->residual = last.begun;
    bool follows = rule_cycle_follows(last.begun, last.left, last.unconverged, of->awake, of->tolerance, of->fresh != 0);
    m->cycles_next = cycles + (follows ? 1 : 0);
}

// Whether one read brings flags and statistics. With few bricks the host's calls are what an update waits for, and a read costs as
// much as two launches.
static bool reads_once(const momentum_opencl *o)
{
    return o->machine->bricks.worked < o->machine->transfer_bricks && !o->cycle.speculative;
}

static bool uses_transfer_queue(const momentum_opencl *o)
{
    return o->machine->bricks.worked >= o->machine->transfer_bricks;
}

// ---- An update -------------------------------------------------------------------------------------------------------------

static void set_numbers(const momentum *m)
{
    momentum_opencl *o = m->opencl;
    const weir_momentum_params *p = &m->params.momentum;
    const float share = 1.0f / (float)m->substep_count;
    device_numbers n = opencl_find_numbers(o->machine, &m->params, 1.0f);
    n.force_scale = share * share;
    const bool gas = momentum_is_gas(m);
    const float dust = n.down_sign != 0 && !gas ? p->dust : 0.0f;
    n.max_flow = p->max_flow;
    o->machine->numbers = n;
    o->limits = (device_limits){
        .dust = dust * RULE_DROPS,
        .fill_cap = (gas ? GAS_MOST : p->fill_cap) * RULE_DROPS,
        .empty = (gas ? GAS_FEW : n.empty) * RULE_DROPS,
        .full = rule_full(dust) * RULE_DROPS,
        .falls_above = n.down_sign > 0 ? -1.0f : 0.0f,
        .falls_below = n.down_sign > 0 ? 4.0f * RULE_DROPS : dust * RULE_DROPS,
    };
    o->finish = (device_finish){
        .damping = p->damping,
        .inverse_calm = p->damping_flow > 0.0f ? 1.0f / p->damping_flow : 0.0f,
        .gap = RISING_GAP * n.head,
        .film = n.down_sign != 0 ? p->film : 0.0f,
        .film_drag = rule_film_drag(p->film, share),
        .friction = n.down_sign != 0 ? p->friction : 0.0f,
        .air = p->air,
    };
    o->fast = (device_fast){
        .too_fast = momentum_substep_flow(m) * share,
        .counts = DEVICE_FAST_FACES(o->counted),
        .clears = DEVICE_FAST_FACES(o->counted + 1),
    };
    o->thick = fmaxf(n.empty, fmaxf(RISING_THIN, FILM_SLOWED * p->film));
    o->smooths = p->smooths;
}

static weir_status reserve(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    weir_status status = opencl_prepare(o->machine);
    if (status == WEIR_ERROR_MEMORY && o->pyramid.cells) {
        drop_pyramid(o);
        status = opencl_prepare(o->machine);
    }
    if (status == WEIR_OK && o->machine->cells->pool.awake > 0) status = build_pyramid(o);
    if (status == WEIR_OK) status = opencl_reserve(o->machine);
    if (status == WEIR_OK) status = opencl_sleep_reserve(solver);
    if (status == WEIR_OK) set_numbers(solver);
    return status;
}

#define CYCLE ARG(d->tables), ARG(o->cycle)

#define MOVE_ARGS                                                                                                       \
    ARG(d->runs), ARG(d->near), ARG(d->open), ARG(d->clear), ARG(c.mass), FLOW_ARGS(c), ARG(c.mass_next), NEXT_ARGS(c), \
        MOVED_ARGS(c), ARG(d->tables), ARG(machine->numbers), ARG(o->limits), ARG(fast)

void momentum_opencl_move(void *solver)
{
    const momentum *m = solver;
    momentum_opencl *o = m->opencl;
    device_fast fast = o->fast;
    if (m->substep > 0) fast.counts = -1;
    opencl_machine *machine = o->machine;
    device_bricks *d = &machine->bricks;
    opencl_channels c = opencl_find_channels(machine);
    const size_t items = (size_t)d->run_count * DEVICE_MOVE_GROUP;
    if (momentum_is_gas(m))
        LAUNCH_ITEMS(&machine->queue, move_gas, items, DEVICE_MOVE_GROUP, MOVE_ARGS);
    else
        LAUNCH_ITEMS(&machine->queue, move, items, DEVICE_MOVE_GROUP, MOVE_ARGS);
}

void momentum_opencl_open_sides(void *solver)
{
    momentum *m = solver;
    m->drained = opencl_drain_sides(m->opencl->machine);
}

void momentum_opencl_viscosity(void *solver)
{
    opencl_machine *machine = ((momentum *)solver)->opencl->machine;
    device_bricks *d = &machine->bricks;
    opencl_channels c = opencl_find_channels(machine);
    LAUNCH(&machine->queue, viscosity, d->worked, ARG(d->list), ARG(d->near), ARG(d->open), ARG(d->clear), ARG(c.mass_next),
           NEXT_ARGS(c), FLOW_ARGS(c), ARG(((const momentum *)solver)->params.momentum.viscosity));
    opencl_swap_flow(machine);
}

void momentum_opencl_forces(void *solver)
{
    opencl_forces(((momentum *)solver)->opencl->machine);
}

// Pockets are found here: the cells they are found from come over, and what is found goes back.
void momentum_opencl_air(void *solver)
{
    momentum *m = solver;
    opencl_machine *machine = m->opencl->machine;
    device_bricks *d = &machine->bricks;
    const brick_pool *pool = &m->base.cells.pool;
    device_bricks_fetch_channel(d, CHANNEL_MASS);
    device_bricks_fetch_channel(d, CHANNEL_MASS_NEXT);
    device_bricks_fetch_channel(d, CHANNEL_GAS);
    // Where the floor will be: see FLOOR.
    const air_cells cells = {.before = bricks_ints(pool, CHANNEL_MASS, 0),
                             .after = bricks_ints(pool, CHANNEL_MASS_NEXT, 0),
                             .gas = bricks_ints(pool, CHANNEL_GAS, 0),
                             .air = bricks_floats(pool, CHANNEL_FLOW_Y, 0)};
    pockets_find(m->pockets, &cells, m->substep_count);
    device_bricks_send_channel(d, CHANNEL_GAS);
    device_bricks_send_channel(d, CHANNEL_FLOW_Y);
}

// Where bricks came just now they will soon come again, and the host has better things to do than to wait.
static void begin_cycles(momentum_opencl *o)
{
    const device_pyramid *p = &o->pyramid;
    const int32_t awake = o->machine->bricks.awake;
    o->cycle = (device_cycle){
        .speculative = p->fresh && awake >= o->speculative_bricks,
        .anew = p->fresh,
        .awake = awake,
        .tolerance = o->machine->world->params.momentum.tolerance,
    };
}

// The flags of bricks are those of the last move.
static bool is_last(const momentum *m)
{
    return m->substep + 1 == m->substep_count;
}

void momentum_opencl_divergence(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    opencl_machine *machine = o->machine;
    device_bricks *d = &machine->bricks;
    opencl_channels c = opencl_find_channels(machine);
    const weir_momentum_params *p = &machine->world->params.momentum;
    begin_cycles(o);
    if (!reads_once(o) && is_last(solver)) device_bricks_prefetch_flags(d, uses_transfer_queue(o));
    LAUNCH_ROWS(&machine->queue, divergence, d->worked, ARG(d->near), ARG(d->open), ARG(c.mass_next), NEXT_ARGS(c),
                ARG(c.pressure), ARG(DIVERGENCE(c)), ARG(FLOOR(c)), ARG(c.pressure_next), ARG(d->tables), ARG(machine->numbers),
                ARG(p->excess_rate), ARG(p->excess_cap), ARG(o->thick), ARG(o->fast), ARG(o->finish.air), ARG(o->smooths),
                ARG(d->room), ARG(d->awake), ARG(d->worked));
}

static void smooth(momentum_opencl *o, cl_mem from, cl_mem to)
{
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    cl_int smooths = o->smooths;
    LAUNCH_ROWS(&o->machine->queue, smooth, d->awake, ARG(d->open), ARG(from), ARG(DIVERGENCE(c)), ARG(FLOOR(c)), ARG(to),
                CYCLE, ARG(d->room), ARG(smooths), ARG(d->awake));
}

void momentum_opencl_smooth(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    opencl_channels c = opencl_find_channels(o->machine);
    smooth(o, c.pressure, c.pressure_next);
}

void momentum_opencl_smooth_back(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    opencl_channels c = opencl_find_channels(o->machine);
    smooth(o, c.pressure_next, c.pressure);
}

void momentum_opencl_restrict_fine(void *solver)
{
    const momentum *m = solver;
    momentum_opencl *o = m->opencl;
    o->cycle.fresh = m->fresh;
    device_bricks *d = &o->machine->bricks;
    device_pyramid *p = &o->pyramid;
    opencl_channels c = opencl_find_channels(o->machine);
    LAUNCH_ROWS(&o->machine->queue, restrict_fine, d->awake, ARG(c.pressure_next), ARG(DIVERGENCE(c)), ARG(d->open),
                ARG(p->cells), ARG(p->level[0]), ARG(p->level[1]), ARG(p->tree), CYCLE, ARG(d->room), ARG(d->awake));
    if (!o->cycle.speculative) prefetch_stats(o, uses_transfer_queue(o), reads_once(o) && o->cycle.index == 0 && is_last(m));
}

// ---- Coarse levels ---------------------------------------------------------------------------------------------------------
// From the level `tail` on one work-group does them all at once. Counts, weights and the right side are worked out on the way down,
// corrections when a level is smoothed: they are no launches of their own.

static void level_down(momentum_opencl *o, cl_int level)
{
    device_pyramid *p = &o->pyramid;
    opencl_queue *q = &o->machine->queue;
    device_bricks *d = &o->machine->bricks;
    const device_level *here = &p->level[level];  // and the one above it
    const int32_t bricks = here->count - 1;
    cl_int is_top = level == p->tables.top, smooths = is_top ? 0 : o->smooths;
    assert(bricks >= 1);
    if (level == 1)
        LAUNCH_ROWS(q, first_down, bricks, ARG(p->cells), ARG(here[0]), ARG(here[1]), ARG(p->tree), CYCLE, ARG(smooths));
    else
        LAUNCH_CELLS(q, level_down, bricks, ARG(p->cells), ARG(here[-1]), ARG(here[0]), ARG(here[1]), ARG(p->tree), CYCLE,
                     ARG(is_top), ARG(smooths));
}

static void level_back(momentum_opencl *o, cl_int level)
{
    device_pyramid *p = &o->pyramid;
    opencl_queue *q = &o->machine->queue;
    device_bricks *d = &o->machine->bricks;
    const device_level *here = &p->level[level];
    const int32_t bricks = here->count - 1;
    cl_int from = DEVICE_ERROR, to = DEVICE_ERROR_NEXT, smooths = o->smooths;
    cl_int above = level + 1 == p->tables.top ? DEVICE_ERROR : DEVICE_ERROR_NEXT;
    if (level == 1)
        LAUNCH_ROWS(q, first_smooth, bricks, ARG(p->cells), ARG(here[0]), ARG(here[1]), ARG(p->tree), CYCLE, ARG(smooths),
                    ARG(above));
    else
        LAUNCH_CELLS(q, level_smooth, bricks, ARG(p->cells), ARG(here[0]), ARG(here[1]), ARG(p->tree), CYCLE, ARG(from),
                     ARG(to), ARG(smooths), ARG(above));
}

// Jacobi sweeps on a coarsest level of bricks far apart. They see each other's results, so each is a launch.
static void sweep_coarsest(momentum_opencl *o)
{
    device_pyramid *p = &o->pyramid;
    device_bricks *d = &o->machine->bricks;
    const device_level *here = &p->level[p->tables.top];
    cl_int from = DEVICE_ERROR, to = DEVICE_ERROR_NEXT, sweeps = 1, above = -1;
    for (int32_t i = 0; i < COARSEST_SWEEPS; i++) {
        LAUNCH_CELLS(&o->machine->queue, level_smooth, here->count - 1, ARG(p->cells), ARG(*here), ARG(*here), ARG(p->tree),
                     CYCLE, ARG(from), ARG(to), ARG(sweeps), ARG(above));
        cl_int swap = from;
        from = to;
        to = swap;
    }
}

static void coarse_tail(momentum_opencl *o)
{
    device_pyramid *p = &o->pyramid;
    device_bricks *d = &o->machine->bricks;
    const device_level *here = &p->level[p->tail];
    cl_int level = p->tail, top = p->tables.top, smooths = o->smooths, sweeps = COARSEST_SWEEPS;
    LAUNCH_CELLS(&o->machine->queue, coarse_tail, 1, ARG(p->cells), ARG(here[-1]), ARG(here[0]), ARG(p->tree), CYCLE,
                 ARG(p->box), ARG(p->split), ARG(level), ARG(top), ARG(smooths), ARG(sweeps));
}

void momentum_opencl_coarse_levels(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    const device_pyramid *p = &o->pyramid;
    const int32_t top = p->tables.top, last = p->tail <= top ? p->tail - 1 : top;  // that has launches of its own
    assert(top >= 1 && top < PYRAMID_LEVELS);
    for (int32_t l = 1; l <= last; l++) level_down(o, l);
    if (p->tail <= top)
        coarse_tail(o);
    else
        sweep_coarsest(o);
    for (int32_t l = last < top ? last : top - 1; l >= 1; l--) level_back(o, l);
}

void momentum_opencl_correct(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    device_bricks *d = &o->machine->bricks;
    device_pyramid *p = &o->pyramid;
    opencl_channels c = opencl_find_channels(o->machine);
    cl_int top = p->tables.top;
    const cl_float most = o->finish.air > 0.0f ? PRESSURE_MAX : o->machine->numbers.head;
    LAUNCH_ROWS(&o->machine->queue, correct_fine, d->awake, ARG(c.pressure_next), ARG(FLOOR(c)), ARG(p->cells),
                ARG(p->level[0]), ARG(p->level[1]), ARG(p->tree), CYCLE, ARG(d->room), ARG(top), ARG(most), ARG(d->awake));
}

// ---- Local relaxation ------------------------------------------------------------------------------------------------------

// Nobody waits for the rounds, which do nothing if another cycle follows.
static void local_relax(momentum *m)
{
    momentum_opencl *o = m->opencl;
    opencl_queue *q = &o->machine->queue;
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    o->cycle.may_follow = m->may_follow;
    if (!o->cycle.speculative) {
        take_stats(m);
        if (!rule_residual_is_large(stats_of(o, o->cycle.index).begun, o->cycle.tolerance)) return;
    }
    LAUNCH_ROWS(q, find_unconverged, d->awake, ARG(d->open), ARG(c.pressure), ARG(DIVERGENCE(c)), CYCLE, ARG(d->room));
    if (!o->cycle.speculative) prefetch_stats(o, uses_transfer_queue(o), false);
    cl_int sweeps = o->smooths;
    int32_t several = d->awake < DEVICE_RELAX_BRICKS ? d->awake : DEVICE_RELAX_BRICKS;
    for (cl_int round = 0; round < LOCAL_RELAX_ROUNDS; round++)
        LAUNCH_ROWS(q, local_relax, several, ARG(d->near), ARG(d->clear), ARG(d->open), ARG(c.pressure), ARG(c.pressure_next),
                    ARG(DIVERGENCE(c)), ARG(FLOOR(c)), CYCLE, ARG(d->room), ARG(round), ARG(sweeps));
    LAUNCH_ROWS(q, copy_newest, several, ARG(c.pressure), ARG(c.pressure_next), CYCLE, ARG(d->room));
}

// The device need not know yet whether another cycle is needed: it may be told to run one, and does nothing in it if it is not.
void momentum_opencl_local_relax(void *solver)
{
    momentum *m = solver;
    momentum_opencl *o = m->opencl;
    local_relax(m);
    o->pyramid.fresh = false;
    o->cycle.index = m->cycle + 1;
    o->cycle.anew = 0;
    if (!o->cycle.speculative) take_stats(m);
    m->unsolved = o->machine->queue.error == CL_SUCCESS && (o->cycle.speculative || m->cycles_next > m->cycle + 1);
}

void momentum_opencl_gradient(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    LAUNCH_ROWS_BY(&o->machine->queue, gradient, DEVICE_GRADIENT_GROUP, d->worked, ARG(d->open), ARG(c.mass_next),
                   ARG(c.pressure), NEXT_ARGS(c), FLOW_ARGS(c), ARG(d->tables), ARG(o->machine->numbers), ARG(o->finish),
                   ARG(d->room), ARG(d->worked));
    if (o->cycle.speculative) prefetch_stats(o, false, false);
    opencl_swap_mass(o->machine);
}

// The flags of bricks are all that the host waits for.
void momentum_opencl_gas(void *solver)
{
    const momentum *m = solver;
    momentum_opencl *o = m->opencl;
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    const float k = m->params.momentum.gas;
    const device_gas law = {k, 2.0f * k, o->finish.damping, o->finish.inverse_calm, o->machine->numbers.max_flow};
    o->cycle.speculative = 0;
    if (is_last(m)) device_bricks_prefetch_flags(d, uses_transfer_queue(o));
    LAUNCH(&o->machine->queue, gas, d->worked, ARG(d->tables), ARG(o->fast), ARG(d->list), ARG(d->near), ARG(d->open),
           ARG(c.mass_next), NEXT_ARGS(c), FLOW_ARGS(c), ARG(c.pressure), ARG(law));
    opencl_swap_mass(o->machine);
}

void momentum_opencl_rescale(void *solver)
{
    const momentum *m = solver;
    device_bricks *d = &m->opencl->machine->bricks;
    opencl_channels c = opencl_find_channels(m->opencl->machine);
    const cl_float scale = m->scale, limit = m->flow_limit;
    LAUNCH_ROWS(&m->opencl->machine->queue, rescale, d->worked, FLOW_ARGS(c), ARG(c.pressure), ARG(c.pressure_next),
                ARG(d->tables), ARG(scale), ARG(limit), ARG(d->room), ARG(d->awake), ARG(d->worked));
}

static void finished(void *solver)
{
    momentum *m = solver;
    const opencl_machine *machine = m->opencl->machine;
    const cl_int *fast = (const cl_int *)machine->bricks.tables_here.data + m->opencl->fast.counts;
    if (machine->bricks.awake == 0) return;
    m->substeps_next = rule_substeps(fast, machine->world->params.momentum.substeps);
    m->opencl->counted++;
    opencl_sleep_take(m);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const void *solver)
{
    const momentum_opencl *o = ((const momentum *)solver)->opencl;
    return o->machine->base.bytes(&o->machine->base) + o->pyramid.cell_bytes + o->pyramid.tree_bytes +
           opencl_sleep_bytes(&o->sleep) + pockets_bytes(((const momentum *)solver)->pockets);
}

static const char *validate(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    const char *wrong = pyramid_validate(&o->pyramid.tables, &o->machine->cells->pool);
    return wrong ? wrong : o->machine->base.validate(&o->machine->base);
}

static void destroy(void *solver)
{
    momentum *m = solver;
    momentum_opencl *o = m->opencl;
    if (!o) return;
    memory *mem = &m->base.cells.world->mem;
    pyramid_destroy(&o->pyramid.tables);
    memory_free(mem, o->pyramid.tree_here, o->pyramid.here_bytes);
    if (o->machine) {
        queue_wait(&o->machine->queue, &o->stats_read);
        queue_free(&o->machine->queue, &o->pyramid.cells);
        queue_free(&o->machine->queue, &o->pyramid.tree);
        opencl_sleep_destroy(m);
        o->machine->base.destroy(&o->machine->base);
    }
    memory_free(mem, o, sizeof *o);
}

static weir_status create(void *solver, const char *device)
{
    momentum *m = solver;
    momentum_opencl *o = m->opencl = memory_alloc_zero(&m->base.cells.world->mem, sizeof *o);
    if (!o) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the OpenCL backend");
    pyramid_create(&m->base.cells.world->mem, 0, &o->pyramid.tables);
    o->pyramid.version = UINT64_MAX;
    o->speculative_bricks = opencl_bricks_from("WEIR_DEVICE_SPECULATIVE", SPECULATIVE_BRICKS);
    const device_needs needs = {.tables_bytes = tables_bytes, .run_axis = 2, .catch_up = take_stats, .solver = m};
    weir_status status = opencl_machine_create(&m->base.cells, device, &text, &needs, &o->machine);
    if (status == WEIR_OK) m->base.machine = &o->machine->base;
    return status;
}

const solver_part momentum_on_opencl = {
    .create = create, .destroy = destroy, .reserve = reserve, .validate = validate, .bytes = bytes, .finished = finished};
