// The CPU backend: bricks over threads, kernels by the width of SIMD that the processor has.
//
// Passes go over the bricks forwards and backwards in turn, so that what one pass touched last is still near the processor when the
// next one begins. Results never depend on the order: a pass reads some channels and writes others, or only its own cells.
#include "compute/cpu.h"

#include "base/clock.h"
#include "compute/backend.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

enum {
    RUN_GRAIN = 2,    // runs in one piece of work
    LEVEL_GRAIN = 8,  // coarse bricks in one piece of work
    PIECES = 4        // of work for each thread, at least, that columns are cut for
};

// What the backend notes of every brick.
typedef struct brick_notes {
    brick_mask *active;  // see pass_args
    uint8_t *clear;
    uint8_t *dry;
    int32_t *next;
    int32_t room;  // bricks there is room for
} brick_notes;

typedef struct cpu_backend {
    backend base;
    weir_world *world;
    const cpu_kernels *kernels;
    pyramid levels;
    brick_run *runs;
    int32_t run_count;
    brick_column *columns;
    int32_t column_count;
    int32_t run_room;       // runs and columns there is room for
    uint64_t runs_version;  // of the pool the runs and columns were made for
    brick_notes notes;
    char *scratch;  // one cpu_scratch per worker
    worker_sum *sums;
    int32_t workers;
    int64_t drained;
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
    column_kernel *on_column;
    level_kernel *on_level;
    world_rule *rule;
    int32_t level;
    int32_t count;
    bool restrict_fine;
} pass_task;

static void run_rule_on_brick(cpu_backend *cpu, const world_rule *rule, int32_t brick);

static void pass_piece(void *context, int32_t begin, int32_t end, int32_t worker)
{
    // A game may have asked its threads to flush small numbers to zero; the bits must not depend on that.
    fenv_t games;
    fegetenv(&games);
    fesetenv(FE_DFL_ENV);
    const pass_task *task = context;
    cpu_backend *cpu = task->cpu;
    cpu_scratch *scratch = (cpu_scratch *)(cpu->scratch + (size_t)worker * cpu->kernels->scratch_size);
    for (int32_t i = begin; i < end; i++) {
        int32_t item = cpu->backwards ? task->count - 1 - i : i;
        if (task->on_run) {
            task->on_run(&cpu->args, scratch, &cpu->runs[item]);
        } else if (task->on_column) {
            task->on_column(&cpu->args, scratch, &cpu->columns[item]);
        } else if (task->on_level) {
            task->on_level(&cpu->args, scratch, task->level, item + 1);
        } else if (task->rule) {
            for (int32_t k = 0; k < cpu->runs[item].count; k++) run_rule_on_brick(cpu, task->rule, cpu->runs[item].brick[k]);
        } else if (task->restrict_fine) {
            float residual = cpu->kernels->restrict_fine(&cpu->args, scratch, item + 1);
            if (residual > cpu->sums[worker].residual) cpu->sums[worker].residual = residual;
        }
    }
    fesetenv(&games);
}

static void over_runs(cpu_backend *cpu, run_kernel *kernel)
{
    cpu->backwards = !cpu->backwards;
    pass_task task = {.cpu = cpu, .on_run = kernel, .count = cpu->run_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->run_count, RUN_GRAIN);
}

static void over_columns(cpu_backend *cpu, column_kernel *kernel)
{
    cpu->backwards = !cpu->backwards;
    pass_task task = {.cpu = cpu, .on_column = kernel, .count = cpu->column_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->column_count, 1);
}

static void over_level(cpu_backend *cpu, level_kernel *kernel, int32_t level)
{
    pass_task task = {.cpu = cpu, .on_level = kernel, .level = level, .count = cpu->levels.level[level].count - 1};
    workers_run(cpu->world->workers, pass_piece, &task, task.count, LEVEL_GRAIN);
}

static void restrict_all(cpu_backend *cpu)
{
    for (int32_t w = 0; w < cpu->workers; w++) cpu->sums[w].residual = 0.0f;
    pass_task task = {.cpu = cpu, .restrict_fine = true, .count = cpu->levels.level[1].count - 1};
    workers_run(cpu->world->workers, pass_piece, &task, task.count, 1);
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
    a->near = (const int32_t(*)[27])pool->near;
    a->coord = pool->coord;
    a->open = pool->open;
    a->active = cpu->notes.active;
    a->clear = cpu->notes.clear;
    a->dry = cpu->notes.dry;
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
    a->down_axis = 1;
    for (int axis = 0; axis < 3; axis++) {
        a->gravity[axis] = gravity[axis] * scale;
        if (fabsf(gravity[axis]) > fabsf(gravity[a->down_axis])) a->down_axis = axis;
    }
    float down = gravity[a->down_axis];
    a->down_sign = down < 0.0f ? -1 : down > 0.0f ? 1 : 0;
    a->head = fabsf(down);
    a->inverse_head = 1.0f / (a->head > 1e-9f ? a->head : 1e-9f);
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
    a->change = world->change;
}

static void free_notes(memory *mem, brick_notes *notes)
{
    memory_free(mem, notes->active, (size_t)notes->room * sizeof *notes->active);
    memory_free(mem, notes->clear, (size_t)notes->room);
    memory_free(mem, notes->dry, (size_t)notes->room);
    memory_free(mem, notes->next, (size_t)notes->room * sizeof *notes->next);
}

static bool make_notes(memory *mem, int32_t room, brick_notes *notes)
{
    *notes = (brick_notes){.room = room};
    notes->active = memory_alloc_zero(mem, (size_t)room * sizeof *notes->active);
    notes->clear = memory_alloc(mem, (size_t)room);
    notes->dry = memory_alloc_zero(mem, (size_t)room);
    notes->next = memory_alloc(mem, (size_t)room * sizeof *notes->next);
    if (notes->active && notes->clear && notes->dry && notes->next) return true;
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

static bool in_column(const brick_column *c, weir_coord at)
{
    return at.x >= c->low.x && at.x < c->low.x + c->size.x && at.y >= c->low.y && at.y < c->low.y + c->size.y &&
           at.z >= c->low.z && at.z < c->low.z + c->size.z;
}

// Gathers the bricks that hang together with `first` inside one box of a grid, and shrinks the box around them.
static brick_column make_column(const brick_pool *pool, int32_t *next, int32_t first, int32_t depth)
{
    enum { FREE = -1 };
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    weir_coord at = pool->coord[first], low = at, high = at;
    brick_column c = {first, {at.x & -COLUMN_X, at.y & -COLUMN_Y, at.z & -depth}, {COLUMN_X, COLUMN_Y, depth}};
    int32_t last = first;
    next[first] = BRICK_NOTHING;
    for (int32_t b = first; b != BRICK_NOTHING; b = next[b]) {
        at = pool->coord[b];
        low = (weir_coord){at.x < low.x ? at.x : low.x, at.y < low.y ? at.y : low.y, at.z < low.z ? at.z : low.z};
        high = (weir_coord){at.x > high.x ? at.x : high.x, at.y > high.y ? at.y : high.y, at.z > high.z ? at.z : high.z};
        for (int32_t k = 0; k < 6; k++) {
            int32_t n = pool->near[b][faces[k]];
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
    while (depth > 1 && cpu->workers > 1 && pool->live / (COLUMN_X * COLUMN_Y * depth) < PIECES * cpu->workers) depth /= 2;
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
    find_clear(cpu);
    make_columns(cpu);
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

// ---- Passes ----------------------------------------------------------------------------------------------------------------

// Takes the water out of cells that lie behind an open side.
static void drain_sides(cpu_backend *cpu)
{
    weir_world *world = cpu->world;
    brick_pool *pool = &world->bricks;
    cpu->drained = 0;
    weir_box box = world->terrain.bounds;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || !pool->wet[b]) continue;
        weir_coord o = {pool->coord[b].x * 8, pool->coord[b].y * 8, pool->coord[b].z * 8};
        if (o.x >= box.min.x && o.y >= box.min.y && o.z >= box.min.z && o.x + 8 <= box.max.x && o.y + 8 <= box.max.y &&
            o.z + 8 <= box.max.z)
            continue;
        int32_t *mass = bricks_ints(pool, CHANNEL_MASS_NEXT, b);
        int32_t left = 0;
        for (int32_t i = 0; i < BRICK_CELLS; i++) {
            weir_coord c = {o.x + (i & 7), o.y + (i >> 3 & 7), o.z + (i >> 6)};
            if (!terrain_inside(&world->terrain, c)) {
                cpu->drained += mass[i];
                mass[i] = 0;
            }
            left |= mass[i];
        }
        pool->wet[b] = left != 0;
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
    case PASS_RESTRICT: restrict_all(cpu); break;
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
    case PASS_GRADIENT:
        over_runs(cpu, k->gradient);
        swap_channels(world, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        point_channels(cpu);
        break;
    case PASS_CLASSIC_MOVE: over_runs(cpu, k->classic_move); break;
    case PASS_CLASSIC_DIVERGENCE: over_runs(cpu, k->classic_divergence); break;
    case PASS_CLASSIC_PRESSURE:
        cpu->args.iterations = level;
        over_runs(cpu, k->classic_pressure);
        swap_channels(world, CHANNEL_PRESSURE, CHANNEL_PRESSURE_NEXT);
        point_channels(cpu);
        break;
    case PASS_CLASSIC_GRADIENT:
        over_runs(cpu, k->classic_gradient);
        swap_channels(world, CHANNEL_MASS, CHANNEL_MASS_NEXT);
        swap_flow(world);
        point_channels(cpu);
        break;
    case PASS_DRAIN_SIDES: drain_sides(cpu); break;
    case PASS_COUNT: break;
    }
}

static const char *pass_names[PASS_COUNT] = {
#define PASS_NAME(name, text) [PASS_##name] = text,
    PASS_LIST(PASS_NAME)
#undef PASS_NAME
};

// Books time under a rule's name.
static void book_time(weir_world *world, const char *name, double seconds)
{
    for (int32_t i = 0; i < world->rule_time_count; i++) {
        if (strcmp(world->rule_names[i], name) == 0) {
            world->rule_seconds[i] += seconds;
            return;
        }
    }
    if (world->rule_time_count == WEIR_RULE_TIMES) return;
    world->rule_names[world->rule_time_count] = name;
    world->rule_seconds[world->rule_time_count++] = seconds;
}

static void run(backend *base, pass_id pass, int32_t level)
{
    cpu_backend *cpu = (cpu_backend *)base;
    double before = clock_seconds();
    run_pass(cpu, pass, level);
    book_time(cpu->world, pass_names[pass], clock_seconds() - before);
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

// Copies one channel around a brick into a rule's tile; mass is turned into fill.
static void gather_rule_tile(const cpu_backend *cpu, int32_t brick, const void *channel, bool mass, float *tile)
{
    const int32_t *near = cpu->args.near[brick];
    for (int z = -1; z <= 8; z++) {
        for (int y = -1; y <= 8; y++) {
            for (int x = -1; x <= 8; x++) {
                int side = NEAR((x > 7) - (x < 0), (y > 7) - (y < 0), (z > 7) - (z < 0));
                size_t at = (size_t)near[side] * BRICK_CELLS + (size_t)WEIR_BRICK_INDEX(x & 7, y & 7, z & 7);
                tile[WEIR_TILE_INDEX(x, y, z)] =
                    mass ? (float)((const int32_t *)channel)[at] / (float)WEIR_FULL : ((const float *)channel)[at];
            }
        }
    }
}

static void gather_rule_open(const cpu_backend *cpu, int32_t brick, float *tile)
{
    const int32_t *near = cpu->args.near[brick];
    for (int z = -1; z <= 8; z++)
        for (int y = -1; y <= 8; y++)
            for (int x = -1; x <= 8; x++) {
                int side = NEAR((x > 7) - (x < 0), (y > 7) - (y < 0), (z > 7) - (z < 0));
                tile[WEIR_TILE_INDEX(x, y, z)] = mask_has(&cpu->args.open[near[side]], WEIR_BRICK_INDEX(x & 7, y & 7, z & 7));
            }
}

static void run_rule_on_brick(cpu_backend *cpu, const world_rule *rule, int32_t brick)
{
    float tiles[10 + WEIR_RULE_CHANNELS][WEIR_TILE_CELLS];
    const pass_args *a = &cpu->args;
    brick_pool *pool = &cpu->world->bricks;
    bool moved = rule->def.place == WEIR_PLACE_AFTER_MOVE;
    uint32_t sees = rule->def.sees;
    weir_rule_brick view = {.update = a->update};
    view.origin = (weir_coord){a->coord[brick].x * 8, a->coord[brick].y * 8, a->coord[brick].z * 8};
    if (sees & WEIR_SEES_FILL) {
        gather_rule_tile(cpu, brick, moved ? a->mass_next : a->mass, true, tiles[0]);
        view.fill = tiles[0];
    }
    if (sees & WEIR_SEES_FLOW) {
        for (int axis = 0; axis < 3; axis++)
            gather_rule_tile(cpu, brick, moved ? a->flow_next[axis] : a->flow[axis], false, tiles[1 + axis]);
        view.flow_x = tiles[1];
        view.flow_y = tiles[2];
        view.flow_z = tiles[3];
    }
    if (sees & WEIR_SEES_PRESSURE) {
        gather_rule_tile(cpu, brick, a->pressure, false, tiles[4]);
        view.pressure = tiles[4];
    }
    if (sees & WEIR_SEES_OPEN) {
        gather_rule_open(cpu, brick, tiles[5]);
        view.open = tiles[5];
    }
    if (sees & WEIR_SEES_MOVED) {
        gather_rule_tile(cpu, brick, a->mass, true, tiles[6]);
        for (int axis = 0; axis < 3; axis++) gather_rule_tile(cpu, brick, a->moved[axis], false, tiles[7 + axis]);
        view.fill_before = tiles[6];
        view.moved_x = tiles[7];
        view.moved_y = tiles[8];
        view.moved_z = tiles[9];
    }
    for (int32_t c = 0; c < rule->def.channel_count; c++) {
        gather_rule_tile(cpu, brick, pool->channel[rule->values[c]], false, tiles[10 + c]);
        view.old_values[c] = tiles[10 + c];
        view.new_values[c] = bricks_floats(pool, rule->next[c], brick);
        memcpy(view.new_values[c], bricks_floats(pool, rule->values[c], brick), BRICK_CELLS * sizeof(float));
    }
    rule->def.run(&view, rule->def.user);
}

static void run_rule(backend *base, world_rule *rule)
{
    cpu_backend *cpu = (cpu_backend *)base;
    brick_pool *pool = &cpu->world->bricks;
    double before = clock_seconds();
    pass_task task = {.cpu = cpu, .rule = rule, .count = cpu->run_count};
    workers_run(cpu->world->workers, pass_piece, &task, cpu->run_count, RUN_GRAIN);
    for (int32_t c = 0; c < rule->def.channel_count; c++) {
        void *swap = pool->channel[rule->values[c]];
        pool->channel[rule->values[c]] = pool->channel[rule->next[c]];
        pool->channel[rule->next[c]] = swap;
    }
    book_time(cpu->world, rule->name, clock_seconds() - before);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static float residual(const backend *base)
{
    const cpu_backend *cpu = (const cpu_backend *)base;
    float largest = 0.0f;
    for (int32_t w = 0; w < cpu->workers; w++)
        if (cpu->sums[w].residual > largest) largest = cpu->sums[w].residual;
    return largest;
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
           cpu->notes.room * (int64_t)(sizeof(brick_mask) + sizeof(int32_t) + 2);
}

static void destroy(backend *base)
{
    cpu_backend *cpu = (cpu_backend *)base;
    memory *mem = &cpu->world->mem;
    pyramid_destroy(&cpu->levels);
    free_runs(cpu);
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
    cpu->base = (backend){prepare, run, run_rule, residual, drained, levels, bytes, destroy};
    cpu->world = world;
    cpu->kernels = kernels;
    cpu->workers = workers_count(world->workers);
    cpu->runs_version = UINT64_MAX;
    pyramid_create(mem, &cpu->levels);
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
