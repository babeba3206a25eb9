// The CPU backend: bricks over threads, kernels by the width of SIMD that the processor has.
//
// Passes go over the bricks forwards and backwards in turn, so that what one pass touched last is still near the processor when the
// next one begins. Results never depend on the order: a pass reads some channels and writes others, or only its own cells.
#include "compute/cpu.h"

#include "base/broken.h"
#include "base/clock.h"
#include "compute/backend.h"
#include "compute/rule_host.h"
#include "solvers/momentum/pressure.h"
#include <assert.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN_GRAIN = 2,         // runs in one piece of work
    BOX_GRAIN = 1,         // boxes in one piece of work
    BOXES_PER_WORKER = 4,  // at least, of boxes or columns
    LEVEL_GRAIN = 8,       // coarse bricks in one piece of work
    BRICK_GRAIN = 4        // live bricks in one piece of work
};

// What the backend notes of every brick.
typedef struct brick_notes {
    brick_mask *active;  // see pass_args
    uint8_t *clear;
    uint8_t *dry;
    uint8_t *held;
    uint8_t *full;
    uint8_t *restless;
    uint8_t *drained;
    uint8_t *listed;  // 1: in a list that is being made
    int32_t *next;
    int32_t *list;  // of bricks to be touched up
    int32_t room;   // bricks there is room for
} brick_notes;

typedef struct cpu_backend {
    backend base;
    weir_world *world;
    const cpu_kernels *kernels;
    pyramid levels;
    brick_run *runs;
    int32_t run_count;
    brick_column *columns;  // momentum only
    int32_t column_count;
    int32_t run_room;  // runs and columns there is room for
    brick_box *boxes;  // classic only
    int32_t box_count, box_room;
    uint64_t runs_version;  // of the pool that runs, columns and boxes were made for
    uint64_t tried;         // and for which validate has tried what columns and boxes write
    brick_notes notes;
    char *scratch;  // one cpu_scratch per worker
    worker_sum *sums;
    int32_t workers;
    int64_t drained;
    bool unsolved;  // the last cycle asks for another one
    bool backwards;
    pass_args args;
    float flags[256][8];
    float *ones;  // see pass_args
    float *sixths;
} cpu_backend;

// ---- Work over threads -----------------------------------------------------------------------------------------------------

// One pass as a task. Exactly one of the kernels is set.
typedef struct pass_task {
    cpu_backend *cpu;
    run_kernel *on_run;
    box_kernel *on_box;
    column_kernel *on_column;
    level_kernel *on_level;
    brick_kernel *on_brick;  // gives a residual
    const int32_t *bricks;   // that it is for; NULL: those of level 1
    int32_t level;
    int32_t count;
} pass_task;

static void pass_piece(void *context, int32_t begin, int32_t end, int32_t worker)
{
    // A game may have asked its threads to flush small numbers to zero; the bits must not depend on that.
    fenv_t games;
    fegetenv(&games);
    fesetenv(FE_DFL_ENV);
    const pass_task *task = context;
    cpu_backend *cpu = task->cpu;
    assert(worker >= 0 && worker < cpu->workers && begin >= 0 && begin <= end && end <= task->count);
    cpu_scratch *scratch = (cpu_scratch *)(cpu->scratch + (size_t)worker * cpu->kernels->scratch_size);
    for (int32_t i = begin; i < end; i++) {
        int32_t item = cpu->backwards ? task->count - 1 - i : i;
        if (task->on_run) {
            task->on_run(&cpu->args, scratch, &cpu->runs[item]);
        } else if (task->on_box) {
            task->on_box(&cpu->args, scratch, &cpu->boxes[item]);
        } else if (task->on_column) {
            task->on_column(&cpu->args, scratch, &cpu->columns[item]);
        } else if (task->on_level) {
            task->on_level(&cpu->args, scratch, task->level, item + 1);
        } else if (task->on_brick) {
            float residual = task->on_brick(&cpu->args, scratch, task->bricks ? task->bricks[item] : item + 1);
            assert(residual >= 0.0f);  // and a number
            if (residual > cpu->sums[worker].residual) cpu->sums[worker].residual = residual;
        }
    }
    fesetenv(&games);
}

// The lists are those of the bricks that are there, and a pass neither reads what it writes nor misses what was swapped.
static void must_be_ready(const cpu_backend *cpu)
{
    const brick_pool *pool = &cpu->world->bricks;
    const pass_args *a = &cpu->args;
    (void)pool, (void)a;
    assert(cpu->runs_version == pool->version && a->end == pool->end && a->near == (const int32_t(*)[27])pool->near);
    assert(a->mass == pool->channel[CHANNEL_MASS] && a->pressure == pool->channel[CHANNEL_PRESSURE]);
    assert(a->mass != a->mass_next && a->pressure != a->pressure_next);
    for (int axis = 0; axis < 3; axis++)
        assert(a->flow[axis] == pool->channel[CHANNEL_FLOW_X + axis] && a->flow[axis] != a->flow_next[axis]);
}

static void over_runs(cpu_backend *cpu, run_kernel *kernel)
{
    must_be_ready(cpu);
    cpu->backwards = !cpu->backwards;
    pass_task task = {.cpu = cpu, .on_run = kernel, .count = cpu->run_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->run_count, RUN_GRAIN);
}

static void over_boxes(cpu_backend *cpu, box_kernel *kernel)
{
    must_be_ready(cpu);
    cpu->backwards = !cpu->backwards;
    pass_task task = {.cpu = cpu, .on_box = kernel, .count = cpu->box_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->box_count, BOX_GRAIN);
}

static void over_columns(cpu_backend *cpu, column_kernel *kernel)
{
    must_be_ready(cpu);
    cpu->backwards = !cpu->backwards;
    pass_task task = {.cpu = cpu, .on_column = kernel, .count = cpu->column_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->column_count, 1);
}

static void over_level(cpu_backend *cpu, level_kernel *kernel, int32_t level)
{
    assert(level >= 1 && level <= cpu->levels.top && cpu->levels.version == cpu->world->bricks.version);
    pass_task task = {.cpu = cpu, .on_level = kernel, .level = level, .count = cpu->levels.level[level].count - 1};
    workers_run(cpu->world->workers, pass_piece, &task, task.count, LEVEL_GRAIN);
}

// Returns the largest residual.
static float over_bricks(cpu_backend *cpu, brick_kernel *kernel, const int32_t *bricks, int32_t count, int32_t grain)
{
    must_be_ready(cpu);
    for (int32_t w = 0; w < cpu->workers; w++) cpu->sums[w].residual = 0.0f;
    pass_task task = {.cpu = cpu, .on_brick = kernel, .bricks = bricks, .count = count};
    workers_run(cpu->world->workers, pass_piece, &task, count, grain);
    float largest = 0.0f;
    for (int32_t w = 0; w < cpu->workers; w++)
        if (cpu->sums[w].residual > largest) largest = cpu->sums[w].residual;
    return largest;
}

// ---- What an update needs --------------------------------------------------------------------------------------------------

static void swap_channels(weir_world *world, channel_id a, channel_id b)
{
    void *swap = world->bricks.channel[a];
    world->bricks.channel[a] = world->bricks.channel[b];
    world->bricks.channel[b] = swap;
}

static void swap_flow(weir_world *world)
{
    for (int axis = 0; axis < 3; axis++)
        swap_channels(world, (channel_id)(CHANNEL_FLOW_X + axis), (channel_id)(CHANNEL_FLOW_X_NEXT + axis));
}

// Points the arguments at the channels as they are now. Scratch that a pass needs only until a later pass lives in channels that are
// free in between: divergence and floor in the old flow until the gradient.
static void point_channels(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    brick_pool *pool = &world->bricks;
    pass_args *a = &cpu->args;
    a->end = pool->end;
    a->alive = pool->alive;
    a->near = (const int32_t(*)[27])pool->near;
    a->coord = pool->coord;
    a->open = pool->open;
    a->active = cpu->notes.active;
    a->clear = cpu->notes.clear;
    a->dry = cpu->notes.dry;
    a->held = cpu->notes.held;
    a->full = cpu->notes.full;
    a->restless = cpu->notes.restless;
    a->drained = world->terrain.open_sides ? cpu->notes.drained : NULL;
    a->next = cpu->notes.next;
    a->ones = cpu->ones;
    a->sixths = cpu->sixths;
    a->wet = pool->wet;
    a->changed = pool->changed;
    a->levels = &cpu->levels;
    a->flags = (const float(*)[8])cpu->flags;
    a->mass = pool->channel[CHANNEL_MASS];
    a->mass_next = pool->channel[CHANNEL_MASS_NEXT];
    for (int axis = 0; axis < 3; axis++) {
        a->flow[axis] = pool->channel[CHANNEL_FLOW_X + axis];
        a->flow_next[axis] = pool->channel[CHANNEL_FLOW_X_NEXT + axis];
        a->moved[axis] = world->moved_channel[axis] ? pool->channel[world->moved_channel[axis]] : NULL;
    }
    a->pressure = pool->channel[CHANNEL_PRESSURE];
    a->pressure_next = pool->channel[CHANNEL_PRESSURE_NEXT];
    a->divergence = a->flow[0];
    a->floor = a->flow[1];
    a->sources = world->sources;
    a->source_count = world->source_count;
}

static void point_numbers(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    const weir_params *p = &world->params;
    pass_args *a = &cpu->args;
    // In the classic rules a flow f moves at the speed f/2, so gravity on it counts double.
    float scale = 1.0f / world_speed(world);
    a->force_scale = scale;
    const float gravity[3] = {p->gravity.x, p->gravity.y, p->gravity.z};
    for (int axis = 0; axis < 3; axis++) a->gravity[axis] = gravity[axis] * scale;
    backend_down down = backend_find_down(p);
    a->down_axis = down.axis;
    a->down_sign = down.sign;
    a->head = down.head;
    a->inverse_head = down.inverse_head;
    a->keep = 1.0f - p->damping;
    a->max_flow = p->max_flow;
    a->dust = a->down_sign != 0 ? p->dust : 0.0f;
    a->fill_cap = p->fill_cap;
    a->empty = p->empty;
    a->excess_rate = p->excess_rate;
    a->excess_cap = p->excess_cap;
    a->viscosity = p->viscosity;
    a->noise = p->noise;
    a->noise_seed = p->noise_seed;
    a->update = world->update;
    a->smooths = p->smooths;
    a->tolerance = p->tolerance;
    a->change = world->change;
}

static void free_notes(memory *mem, brick_notes *notes)
{
    memory_free(mem, notes->active, (size_t)notes->room * sizeof *notes->active);
    memory_free(mem, notes->clear, (size_t)notes->room);
    memory_free(mem, notes->dry, (size_t)notes->room);
    memory_free(mem, notes->held, (size_t)notes->room);
    memory_free(mem, notes->full, (size_t)notes->room);
    memory_free(mem, notes->restless, (size_t)notes->room);
    memory_free(mem, notes->drained, (size_t)notes->room);
    memory_free(mem, notes->listed, (size_t)notes->room);
    memory_free(mem, notes->next, (size_t)notes->room * sizeof *notes->next);
    memory_free(mem, notes->list, (size_t)notes->room * sizeof *notes->list);
}

static bool make_notes(memory *mem, int32_t room, brick_notes *notes)
{
    *notes = (brick_notes){.room = room};
    notes->active = memory_alloc_zero(mem, (size_t)room * sizeof *notes->active);
    notes->clear = memory_alloc(mem, (size_t)room);
    notes->dry = memory_alloc_zero(mem, (size_t)room);
    notes->held = memory_alloc(mem, (size_t)room);
    notes->full = memory_alloc_zero(mem, (size_t)room);
    notes->restless = memory_alloc(mem, (size_t)room);
    notes->drained = memory_alloc_zero(mem, (size_t)room);
    notes->listed = memory_alloc_zero(mem, (size_t)room);
    notes->next = memory_alloc(mem, (size_t)room * sizeof *notes->next);
    notes->list = memory_alloc(mem, (size_t)room * sizeof *notes->list);
    if (notes->active && notes->clear && notes->dry && notes->held && notes->full && notes->restless && notes->drained &&
        notes->listed && notes->next && notes->list) {
        notes->full[BRICK_NOTHING] = 1;
        return true;
    }
    free_notes(mem, notes);
    return false;
}

static void free_runs(cpu_backend *cpu)
{
    memory_free(&cpu->world->mem, cpu->runs, (size_t)cpu->run_room * sizeof *cpu->runs);
    memory_free(&cpu->world->mem, cpu->columns, (size_t)cpu->run_room * sizeof *cpu->columns);
}

// Finds the bricks that have no terrain near them. First every brick by itself, then with its neighbours.
static void find_clear(cpu_backend *cpu)
{
    const brick_pool *pool = &cpu->world->bricks;
    uint8_t *clear = cpu->notes.clear;
    enum { OPEN = 2, CLEAR = 1 };
    clear[BRICK_NOTHING] = 0;
    for (int32_t b = 1; b < pool->end; b++) clear[b] = pool->alive[b] && mask_full(&pool->open[b]) ? OPEN : 0;
    for (int32_t b = 1; b < pool->end; b++) {
        bool all = pool->alive[b];
        for (int32_t n = 0; n < 27 && all; n++) all = clear[pool->near[b][n]] & OPEN;
        if (all) clear[b] |= CLEAR;
    }
    for (int32_t b = 1; b < pool->end; b++) clear[b] &= CLEAR;
}

// Boxes by their place, while they are made: a hash table of indices into the list, plus one.
typedef struct box_table {
    int32_t *slot;
    uint32_t mask;
    int32_t z_bits;
} box_table;

static weir_coord box_of_brick(const box_table *table, weir_coord c)
{
    return (weir_coord){c.x >> BOX_X_BITS, c.y >> BOX_Y_BITS, c.z >> table->z_bits};
}

// The slot of the box in which a brick belongs.
static int32_t *box_slot(const cpu_backend *cpu, const box_table *table, weir_coord brick)
{
    weir_coord c = box_of_brick(table, brick);
    uint32_t hash = (uint32_t)c.x * 0x9e3779b1u ^ (uint32_t)c.y * 0x85ebca77u ^ (uint32_t)c.z * 0xc2b2ae3du;
    for (hash ^= hash >> 15;; hash++) {
        int32_t *slot = &table->slot[hash & table->mask];
        if (*slot == 0) return slot;
        weir_coord there = box_of_brick(table, cpu->boxes[*slot - 1].low);
        if (there.x == c.x && there.y == c.y && there.z == c.z) return slot;
    }
}

// The box in which a brick belongs, made if it is not there yet. NULL when memory ran out.
static brick_box *find_box(cpu_backend *cpu, const box_table *table, weir_coord c)
{
    int32_t *slot = box_slot(cpu, table, c);
    if (*slot) return &cpu->boxes[*slot - 1];
    if (cpu->box_count == cpu->box_room) {
        int32_t room = cpu->box_room ? 2 * cpu->box_room : 16;
        brick_box *boxes =
            memory_resize(&cpu->world->mem, cpu->boxes, (size_t)cpu->box_room * sizeof *boxes, (size_t)room * sizeof *boxes);
        if (!boxes) return NULL;
        cpu->boxes = boxes;
        cpu->box_room = room;
    }
    brick_box *box = &cpu->boxes[cpu->box_count++];
    *slot = cpu->box_count;
    *box = (brick_box){.low = c};
    return box;
}

static void grow_axis(int32_t *low, int32_t *count, int32_t at)
{
    int32_t end = *low + *count > at + 1 ? *low + *count : at + 1;
    if (at < *low) *low = at;
    *count = end - *low;
}

// Puts a brick and all around it into its box.
static void place_in_box(brick_box *box, const brick_pool *pool, int32_t brick)
{
    weir_coord c = pool->coord[brick];
    assert(c.x >= box->low.x && c.x < box->low.x + box->nx && c.y >= box->low.y && c.y < box->low.y + box->ny);
    assert(c.z >= box->low.z && c.z < box->low.z + box->nz && box->nx <= BOX_X && box->ny <= BOX_Y && box->nz <= BOX_Z);
    for (int32_t k = 0; k < 27; k++) {
        weir_coord at = brick_neighbour(c, k);
        box->brick[at.z - box->low.z + 1][at.y - box->low.y + 1][at.x - box->low.x + 1] = pool->near[brick][k];
    }
}

// Cuts the live bricks into boxes, each as large as the bricks in it ask for.
static weir_status make_boxes(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    const brick_pool *pool = &world->bricks;
    uint32_t slots = 16;
    while (slots < 2 * (uint32_t)pool->live) slots *= 2;
    box_table table = {memory_alloc_zero(&world->mem, slots * sizeof(int32_t)), slots - 1, BOX_Z_BITS};
    while (table.z_bits > 0 && pool->live >> (BOX_X_BITS + BOX_Y_BITS + table.z_bits) < BOXES_PER_WORKER * cpu->workers)
        table.z_bits--;
    bool made = table.slot != NULL;
    cpu->box_count = 0;
    for (int32_t b = 1; b < pool->end && made; b++) {
        if (!pool->alive[b]) continue;
        weir_coord c = pool->coord[b];
        brick_box *box = find_box(cpu, &table, c);
        made = box != NULL;
        if (!made) break;
        grow_axis(&box->low.x, &box->nx, c.x);
        grow_axis(&box->low.y, &box->ny, c.y);
        grow_axis(&box->low.z, &box->nz, c.z);
    }
    for (int32_t b = 1; b < pool->end && made; b++)
        if (pool->alive[b]) place_in_box(find_box(cpu, &table, pool->coord[b]), pool, b);
    memory_free(&world->mem, table.slot, slots * sizeof(int32_t));
    if (!made) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making boxes of %d bricks", pool->live);
    return WEIR_OK;
}

static bool in_column(const brick_column *c, weir_coord at)
{
    return at.x >= c->low.x && at.x < c->low.x + c->size.x && at.y >= c->low.y && at.y < c->low.y + c->size.y &&
           at.z >= c->low.z && at.z < c->low.z + c->size.z;
}

// Gathers the bricks that hang together with `first` inside one box of a grid, and shrinks the box around them. Bricks that touch at an
// edge or a corner hang together too: a sweep writes all bricks of the box that it sees, and it sees the 26 neighbours of its own.
static brick_column make_column(const brick_pool *pool, int32_t *next, int32_t first, int32_t depth)
{
    enum { FREE = -1 };
    weir_coord at = pool->coord[first], low = at, high = at;
    brick_column c = {first, {at.x & -COLUMN_X, at.y & -COLUMN_Y, at.z & -depth}, {COLUMN_X, COLUMN_Y, depth}};
    int32_t last = first;
    next[first] = BRICK_NOTHING;
    for (int32_t b = first; b != BRICK_NOTHING; b = next[b]) {
        at = pool->coord[b];
        low = (weir_coord){at.x < low.x ? at.x : low.x, at.y < low.y ? at.y : low.y, at.z < low.z ? at.z : low.z};
        high = (weir_coord){at.x > high.x ? at.x : high.x, at.y > high.y ? at.y : high.y, at.z > high.z ? at.z : high.z};
        for (int32_t k = 0; k < 27; k++) {
            int32_t n = pool->near[b][k];
            if (n == BRICK_NOTHING || next[n] != FREE || !in_column(&c, pool->coord[n])) continue;
            next[last] = n;
            next[n] = BRICK_NOTHING;
            last = n;
        }
    }
    c.low = low;
    c.size = (weir_coord){high.x - low.x + 1, high.y - low.y + 1, high.z - low.z + 1};
    return c;
}

// Cuts the live bricks into columns, as deep as leaves enough of them for every thread.
static void make_columns(cpu_backend *cpu)
{
    const brick_pool *pool = &cpu->world->bricks;
    int32_t *next = cpu->notes.next;
    int32_t depth = COLUMN_Z;
    while (depth > 1 && cpu->workers > 1 && pool->live / (COLUMN_X * COLUMN_Y * depth) < BOXES_PER_WORKER * cpu->workers)
        depth /= 2;
    for (int32_t b = 0; b < pool->end; b++) next[b] = -1;
    cpu->column_count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && next[b] < 0) cpu->columns[cpu->column_count++] = make_column(pool, next, b, depth);
}

// Cuts the live bricks into runs along x. A run begins where no brick lies to the left.
static weir_status make_runs(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    const brick_pool *pool = &world->bricks;
    if (cpu->runs_version == pool->version) return WEIR_OK;
    if (cpu->run_room < pool->live) {
        int32_t room = pool->live + pool->live / 4;
        brick_run *runs = memory_alloc(&world->mem, (size_t)room * sizeof *runs);
        brick_column *columns = memory_alloc(&world->mem, (size_t)room * sizeof *columns);
        if (!runs || !columns) {
            memory_free(&world->mem, runs, (size_t)room * sizeof *runs);
            memory_free(&world->mem, columns, (size_t)room * sizeof *columns);
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a list of %d bricks", pool->live);
        }
        free_runs(cpu);
        cpu->runs = runs;
        cpu->columns = columns;
        cpu->run_room = room;
    }
    if (cpu->notes.room < pool->capacity) {
        brick_notes fresh;
        if (!make_notes(&world->mem, pool->capacity, &fresh))
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making notes of %d bricks", pool->capacity);
        free_notes(&world->mem, &cpu->notes);
        cpu->notes = fresh;
    }
    if (world->solver == WEIR_SOLVER_CLASSIC) {
        weir_status status = make_boxes(cpu);
        if (status != WEIR_OK) return status;
    }
    find_clear(cpu);
    if (world->solver == WEIR_SOLVER_MOMENTUM) make_columns(cpu);
    cpu->run_count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || pool->near[b][NEAR(-1, 0, 0)] != BRICK_NOTHING) continue;
        int32_t length = 0;
        for (int32_t i = b; i != BRICK_NOTHING; i = pool->near[i][NEAR(1, 0, 0)]) length++;
        int32_t next = b;
        while (length > 0) {
            brick_run *r = &cpu->runs[cpu->run_count++];
            r->count = length >= RUN_MAX ? RUN_MAX : length >= 2 ? 2 : 1;
            for (int32_t k = 0; k < r->count; k++) {
                r->brick[k] = next;
                next = pool->near[next][NEAR(1, 0, 0)];
            }
            length -= r->count;
        }
    }
    assert(cpu->run_count <= cpu->run_room && cpu->column_count <= cpu->run_room);
    cpu->runs_version = pool->version;
    return WEIR_OK;
}

static weir_status prepare(backend *base)
{
    cpu_backend *cpu = (cpu_backend *)base;
    weir_status status = make_runs(cpu);
    if (status == WEIR_OK && cpu->world->solver == WEIR_SOLVER_MOMENTUM)
        status = pyramid_build(&cpu->levels, &cpu->world->bricks);
    if (status != WEIR_OK) return status;
    point_channels(cpu);
    point_numbers(cpu);
    return WEIR_OK;
}

// ---- Touching up -----------------------------------------------------------------------------------------------------------

static int32_t list_active(cpu_backend *cpu)
{
    const brick_pool *pool = &cpu->world->bricks;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && !mask_empty(&cpu->notes.active[b])) cpu->notes.list[count++] = b;
    assert(count <= pool->live);
    return count;
}

// Drops the bricks that are not restless from the list.
static int32_t keep_restless(cpu_backend *cpu, int32_t count)
{
    int32_t *list = cpu->notes.list, kept = 0;
    for (int32_t i = 0; i < count; i++)
        if (cpu->notes.restless[list[i]]) list[kept++] = list[i];
    return kept;
}

static float take_over(const pass_args *a, cpu_scratch *s, int32_t brick)
{
    (void)s;
    size_t at = (size_t)brick * BRICK_CELLS;
    memcpy(a->pressure + at, a->pressure_next + at, BRICK_CELLS * sizeof *a->pressure);
    return 0.0f;
}

// Adds the bricks at the faces of those in the list: there, too, more may be left than before.
static int32_t list_beside(cpu_backend *cpu, int32_t count)
{
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    const brick_notes *notes = &cpu->notes;
    int32_t *list = notes->list, all = count;
    for (int32_t i = 0; i < count; i++) notes->listed[list[i]] = 1;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t f = 0; f < 6; f++) {
            int32_t beside = cpu->world->bricks.near[list[i]][faces[f]];
            if (notes->listed[beside] || mask_empty(&notes->active[beside])) continue;
            notes->listed[beside] = 1;
            list[all++] = beside;
        }
    }
    assert(all <= cpu->world->bricks.live);
    for (int32_t i = 0; i < all; i++) notes->listed[list[i]] = 0;
    return all;
}

// After a cycle in wild water: smooths the bricks in which the tolerance or more is left, and again those in which that still is so, or
// now. All of a round see each other as they were before it.
static void touch_up(cpu_backend *cpu, bool may_follow)
{
    weir_world *world = cpu->world;
    const int32_t *list = cpu->notes.list;
    const float begun = world->residual, tolerance = world->params.tolerance;
    assert(begun >= 0.0f && !memchr(cpu->notes.listed, 1, (size_t)world->bricks.end));
    int32_t count = rule_is_wild(begun, tolerance) ? list_active(cpu) : 0;
    float left = over_bricks(cpu, cpu->kernels->touch_up, list, count, BRICK_GRAIN);
    count = keep_restless(cpu, count);
    cpu->unsolved = rule_cycle_follows(begun, left, count, world->bricks.live, tolerance);
    if (cpu->unsolved && may_follow) return;
    for (int32_t round = 1; count > 0; round++) {
        over_bricks(cpu, take_over, list, count, BRICK_GRAIN);
        if (round == TOUCH_UP_ROUNDS) return;
        count = list_beside(cpu, count);
        over_bricks(cpu, cpu->kernels->touch_up, list, count, BRICK_GRAIN);
        count = keep_restless(cpu, count);
    }
}

// ---- Passes ----------------------------------------------------------------------------------------------------------------

// Takes the water out of cells that lie behind an open side.
static void drain_sides(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    brick_pool *pool = &world->bricks;
    cpu->drained = 0;
    memset(cpu->notes.drained, 0, (size_t)pool->end);
    weir_box box = world->terrain.bounds;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || !pool->wet[b]) continue;
        weir_coord o = {pool->coord[b].x * 8, pool->coord[b].y * 8, pool->coord[b].z * 8};
        if (o.x >= box.min.x && o.y >= box.min.y && o.z >= box.min.z && o.x + 8 <= box.max.x && o.y + 8 <= box.max.y &&
            o.z + 8 <= box.max.z)
            continue;
        int32_t *mass = bricks_ints(pool, CHANNEL_MASS_NEXT, b);
        int32_t left = 0;
        int64_t taken = 0;
        for (int32_t i = 0; i < BRICK_CELLS; i++) {
            weir_coord c = {o.x + (i & 7), o.y + (i >> 3 & 7), o.z + (i >> 6)};
            if (!terrain_inside(&world->terrain, c)) {
                assert(mass[i] >= 0);
                taken += mass[i];
                mass[i] = 0;
            }
            left |= mass[i];
        }
        pool->wet[b] = left != 0;
        cpu->notes.drained[b] = taken > 0;
        cpu->drained += taken;
    }
}

static void swap_errors(pyramid_level *level)
{
    float *swap = level->channel[PYRAMID_ERROR];
    level->channel[PYRAMID_ERROR] = level->channel[PYRAMID_ERROR_NEXT];
    level->channel[PYRAMID_ERROR_NEXT] = swap;
}

// The coarsest level, nearly solved. A level of a single brick does all sweeps in one visit.
static void sweep_coarsest(cpu_backend *cpu, int32_t level)
{
    assert(level == cpu->levels.top && COARSEST_SWEEPS % 2 == 0);
    bool single = cpu->levels.level[level].count == 2;
    cpu->args.sweeps = single ? COARSEST_SWEEPS : 1;
    for (int32_t i = 0; i < COARSEST_SWEEPS; i += cpu->args.sweeps) {
        over_level(cpu, cpu->kernels->sweep, level);
        swap_errors(&cpu->levels.level[level]);
    }
}

static void run_pass(cpu_backend *cpu, pass_id pass, int32_t level)
{
    weir_world *world = cpu->world;
    const cpu_kernels *k = cpu->kernels;
    switch (pass) {
    case PASS_MOVE: over_columns(cpu, k->move); break;
    case PASS_VISCOSITY:
        over_runs(cpu, k->viscosity);
        swap_flow(world);
        point_channels(cpu);
        break;
    case PASS_FORCES: over_runs(cpu, k->forces); break;
    case PASS_DIVERGENCE: over_runs(cpu, k->divergence); break;
    case PASS_SMOOTH: over_runs(cpu, level == 0 ? k->smooth : k->smooth_back); break;
    case PASS_RESTRICT: world->residual = over_bricks(cpu, k->restrict_fine, NULL, cpu->levels.level[1].count - 1, 1); break;
    case PASS_LEVEL_BUILD: over_level(cpu, k->build, level); break;
    case PASS_LEVEL_LINK: over_level(cpu, k->link, level); break;
    case PASS_LEVEL_DOWN: over_level(cpu, k->down, level); break;
    case PASS_LEVEL_RESTRICT: over_level(cpu, k->restrict_level, level); break;
    case PASS_LEVEL_SWEEP: sweep_coarsest(cpu, level); break;
    case PASS_LEVEL_SMOOTH:
        over_level(cpu, k->smooth_level, level);
        swap_errors(&cpu->levels.level[level]);
        break;
    case PASS_LEVEL_UP: over_level(cpu, k->up, level); break;
    case PASS_CORRECT: over_level(cpu, k->correct_fine, 1); break;
    case PASS_TOUCH_UP: touch_up(cpu, level == 1); break;
    case PASS_GRADIENT:
        over_runs(cpu, k->gradient);
        swap_channels(world, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        point_channels(cpu);
        break;
    case PASS_CLASSIC_MOVE:
        memcpy(cpu->notes.held, world->bricks.wet, (size_t)world->bricks.end);
        over_boxes(cpu, k->classic_move);
        break;
    case PASS_CLASSIC_DIVERGENCE:
        cpu->args.iterations = level;
        over_boxes(cpu, k->classic_divergence);
        break;
    case PASS_CLASSIC_PRESSURE:
        cpu->args.iterations = level;
        over_boxes(cpu, k->classic_pressure);
        swap_channels(world, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
        point_channels(cpu);
        break;
    case PASS_CLASSIC_GRADIENT:
        cpu->args.iterations = level;
        over_boxes(cpu, k->classic_gradient);
        if (level > 0) swap_channels(world, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
        swap_channels(world, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        swap_flow(world);
        point_channels(cpu);
        break;
    case PASS_DRAIN_SIDES: drain_sides(cpu); break;
    case PASS_COUNT: break;
    }
}

static void run(backend *base, pass_id pass, int32_t level)
{
    cpu_backend *cpu = (cpu_backend *)base;
    double before = clock_seconds();
    run_pass(cpu, pass, level);
    backend_book_time(cpu->world, backend_pass_name(pass), clock_seconds() - before);
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

static void run_rule(backend *base, world_rule *rule)
{
    cpu_backend *cpu = (cpu_backend *)base;
    double before = clock_seconds();
    rule_host_run(cpu->world, rule);
    backend_book_time(cpu->world, rule->name, clock_seconds() - before);
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

// Books that a piece of work writes a brick. `writer` says of each brick which piece does, counted from 1; 0: none so far.
static const char *book_writer(const brick_pool *pool, int32_t *writer, int32_t brick, int32_t piece, const char *pieces)
{
    if (brick < 1 || brick >= pool->end || !pool->alive[brick])
        return broken("%s %d writes brick %d, which is not there", pieces, piece, brick);
    const weir_coord c = pool->coord[brick];
    if (writer[brick] != 0)
        return broken("%ss %d and %d both write the brick at (%d, %d, %d)", pieces, writer[brick], piece, c.x, c.y, c.z);
    writer[brick] = piece;
    return NULL;
}

static const char *find_unwritten(const brick_pool *pool, const int32_t *writer, const char *pieces)
{
    for (int32_t b = 1; b < pool->end; b++) {
        const weir_coord c = pool->coord[b];
        if (pool->alive[b] && writer[b] == 0) return broken("no %s writes the brick at (%d, %d, %d)", pieces, c.x, c.y, c.z);
    }
    return NULL;
}

static const char *validate_runs(const cpu_backend *cpu, int32_t *writer)
{
    const brick_pool *pool = &cpu->world->bricks;
    for (int32_t i = 0; i < cpu->run_count; i++) {
        const brick_run *r = &cpu->runs[i];
        if (r->count != 1 && r->count != 2 && r->count != RUN_MAX) return broken("run %d has %d bricks", i + 1, r->count);
        for (int32_t k = 0; k < r->count; k++) {
            const char *wrong = book_writer(pool, writer, r->brick[k], i + 1, "run");
            if (wrong) return wrong;
            if (k > 0 && pool->near[r->brick[k - 1]][NEAR(1, 0, 0)] != r->brick[k])
                return broken("bricks %d and %d of run %d do not lie side by side", k, k + 1, i + 1);
        }
    }
    return find_unwritten(pool, writer, "run");
}

// Lets a kernel that moves water run on one piece alone, as it does in an update, and books the bricks that it writes: each gets a
// note whether it is wet, which goes to `noted` here. Values go to channels that are scratch between updates.
static const char *try_move(cpu_backend *cpu, const pass_args *trial, int32_t *writer, int32_t piece)
{
    enum { UNTOUCHED = 0xff };
    const brick_pool *pool = &cpu->world->bricks;
    const bool classic = cpu->world->solver == WEIR_SOLVER_CLASSIC;
    memset(trial->wet, UNTOUCHED, (size_t)pool->end);
    if (classic)
        cpu->kernels->classic_move(trial, (cpu_scratch *)cpu->scratch, &cpu->boxes[piece]);
    else
        cpu->kernels->move(trial, (cpu_scratch *)cpu->scratch, &cpu->columns[piece]);
    for (int32_t b = 0; b < pool->end; b++) {
        if (trial->wet[b] == UNTOUCHED) continue;
        const char *wrong = book_writer(pool, writer, b, piece + 1, classic ? "box" : "column");
        if (wrong) return wrong;
    }
    return NULL;
}

// That every live brick is moved once, by the column or box that it belongs to. What a piece lists is not what it writes: so it is
// seen what it does.
static const char *validate_moves(cpu_backend *cpu, int32_t *writer)
{
    const brick_pool *pool = &cpu->world->bricks;
    const bool classic = cpu->world->solver == WEIR_SOLVER_CLASSIC;
    const int32_t pieces = classic ? cpu->box_count : cpu->column_count;
    if (pieces > (classic ? cpu->box_room : cpu->run_room))
        return broken("%d pieces of work are more than there is room for", pieces);
    point_channels(cpu);
    pass_args trial = cpu->args;
    trial.wet = malloc((size_t)pool->end);
    trial.changed = calloc((size_t)pool->end, sizeof *trial.changed);
    trial.held = pool->wet;
    memset(trial.moved, 0, sizeof trial.moved);
    const char *wrong = NULL;
    for (int32_t i = 0; i < pieces && trial.wet && trial.changed && !wrong; i++) wrong = try_move(cpu, &trial, writer, i);
    if (!wrong && trial.wet && trial.changed) wrong = find_unwritten(pool, writer, classic ? "box" : "column");
    free(trial.wet);
    free(trial.changed);
    return wrong;
}

static bool is_clear(const brick_pool *pool, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++)
        if (!mask_full(&pool->open[pool->near[brick][k]])) return false;
    return true;
}

static const char *validate_notes(const cpu_backend *cpu)
{
    const brick_pool *pool = &cpu->world->bricks;
    const brick_notes *notes = &cpu->notes;
    if (notes->room < pool->end) return broken("%d bricks have notes, and there are %d", notes->room, pool->end);
    if (!mask_empty(&notes->active[BRICK_NOTHING]) || notes->dry[BRICK_NOTHING] || notes->full[BRICK_NOTHING] != 1)
        return broken("the nothing is noted as something");
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        if (notes->clear[b] != is_clear(pool, b)) return broken("brick %d is noted as clear %d", b, notes->clear[b]);
        if (notes->listed[b]) return broken("brick %d is still listed", b);
        for (int32_t z = 0; z < BRICK_EDGE; z++)
            if (notes->active[b].plane[z] & ~pool->open[b].plane[z]) return broken("solid cells of brick %d are active", b);
    }
    return NULL;
}

static const char *validate(backend *base)
{
    enum { FEW_BRICKS = 64, MANY_EVERY = 8 };
    cpu_backend *cpu = (cpu_backend *)base;
    const brick_pool *pool = &cpu->world->bricks;
    // What was made for other bricks is made anew before it is used.
    if (cpu->runs_version != pool->version) return NULL;
    const char *wrong = validate_notes(cpu);
    if (!wrong) wrong = pyramid_validate(&cpu->levels, pool);
    int32_t *writers = calloc(2 * (size_t)pool->end, sizeof *writers);
    if (!wrong && writers) wrong = validate_runs(cpu, writers);
    // To try takes as long as to move, so lists are tried once, and in large worlds now and then.
    bool due = cpu->tried != pool->version && (pool->live <= FEW_BRICKS || cpu->world->update % MANY_EVERY == 0);
    if (!wrong && writers && due) {
        wrong = validate_moves(cpu, writers + pool->end);
        cpu->tried = wrong ? UINT64_MAX : pool->version;
    }
    free(writers);
    return wrong;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static bool unsolved(backend *base, int32_t cycles)
{
    const cpu_backend *cpu = (const cpu_backend *)base;
    cpu->world->cycles = cycles;
    cpu->world->cycles_next = cycles + (cpu->unsolved ? 1 : 0);
    return cpu->unsolved;
}

static int64_t drained(const backend *base)
{
    return ((const cpu_backend *)base)->drained;
}

static int32_t levels(const backend *base)
{
    return ((const cpu_backend *)base)->levels.top;
}

static int64_t bytes(const backend *base)
{
    const cpu_backend *cpu = (const cpu_backend *)base;
    return pyramid_bytes(&cpu->levels) + cpu->run_room * (int64_t)(sizeof(brick_run) + sizeof(brick_column)) +
           cpu->box_room * (int64_t)sizeof(brick_box) +
           cpu->notes.room * (int64_t)(sizeof(brick_mask) + 2 * sizeof(int32_t) + 7);
}

static void destroy(backend *base)
{
    cpu_backend *cpu = (cpu_backend *)base;
    memory *mem = &cpu->world->mem;
    pyramid_destroy(&cpu->levels);
    free_runs(cpu);
    memory_free(mem, cpu->boxes, (size_t)cpu->box_room * sizeof(brick_box));
    free_notes(mem, &cpu->notes);
    memory_free(mem, cpu->ones, cpu->kernels->tile_size);
    memory_free(mem, cpu->sixths, cpu->kernels->tile_size);
    memory_free(mem, cpu->scratch, (size_t)cpu->workers * cpu->kernels->scratch_size);
    memory_free(mem, cpu->sums, (size_t)cpu->workers * sizeof(worker_sum));
    memory_free(mem, cpu, sizeof *cpu);
}

// The widest kernels that this build and this processor have, or those that were asked for.
static weir_status choose_kernels(weir_simd asked, weir_simd *chosen, const cpu_kernels **kernels)
{
    bool avx2 = false, avx512 = false;
#if WEIR_HAVE_AVX2
    avx2 = __builtin_cpu_supports("avx2");
#endif
#if WEIR_HAVE_AVX512
    avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw");
#endif
    if (asked == WEIR_SIMD_AUTO) asked = avx512 ? WEIR_SIMD_AVX512 : avx2 ? WEIR_SIMD_AVX2 : WEIR_SIMD_SCALAR;
    if (asked == WEIR_SIMD_AVX2 && !avx2) return status_fail(WEIR_ERROR_UNSUPPORTED, "this processor or build has no AVX2");
    if (asked == WEIR_SIMD_AVX512 && !avx512)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "this processor or build has no AVX-512 (F, VL, DQ and BW)");
    *chosen = asked;
    *kernels = &cpu_kernels_scalar;
#if WEIR_HAVE_AVX2
    if (asked == WEIR_SIMD_AVX2) *kernels = &cpu_kernels_avx2;
#endif
#if WEIR_HAVE_AVX512
    if (asked == WEIR_SIMD_AVX512) *kernels = &cpu_kernels_avx512;
#endif
    return WEIR_OK;
}

static float *constant_tile(memory *mem, size_t size, float value)
{
    float *tile = memory_alloc(mem, size);
    for (size_t i = 0; tile && i < size / sizeof *tile; i++) tile[i] = value;
    return tile;
}

weir_status cpu_backend_create(weir_world *world, backend **out)
{
    const cpu_kernels *kernels = NULL;
    weir_status status = choose_kernels(world->simd, &world->simd, &kernels);
    if (status != WEIR_OK) return status;
    memory *mem = &world->mem;
    cpu_backend *cpu = memory_alloc_zero(mem, sizeof *cpu);
    if (!cpu) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the CPU backend");
    cpu->base = (backend){.prepare = prepare,
                          .run = run,
                          .run_rule = run_rule,
                          .unsolved = unsolved,
                          .drained = drained,
                          .levels = levels,
                          .bytes = bytes,
                          .validate = validate,
                          .destroy = destroy};
    cpu->world = world;
    cpu->kernels = kernels;
    cpu->workers = workers_count(world->workers);
    cpu->runs_version = cpu->tried = UINT64_MAX;
    pyramid_create(mem, false, &cpu->levels);
    for (int i = 0; i < 256; i++)
        for (int x = 0; x < 8; x++) cpu->flags[i][x] = (float)(i >> x & 1);
    cpu->ones = constant_tile(mem, kernels->tile_size, 1.0f);
    cpu->sixths = constant_tile(mem, kernels->tile_size, 1.0f / 6.0f);
    cpu->scratch = memory_alloc_zero(mem, (size_t)cpu->workers * kernels->scratch_size);
    cpu->sums = memory_alloc_zero(mem, (size_t)cpu->workers * sizeof *cpu->sums);
    if (!cpu->scratch || !cpu->sums || !cpu->ones || !cpu->sixths) {
        int32_t count = cpu->workers;
        destroy(&cpu->base);
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making room for %d workers", count);
    }
    *out = &cpu->base;
    return WEIR_OK;
}
