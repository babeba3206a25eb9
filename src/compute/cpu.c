// Passes go over the bricks forwards and backwards in turn, so that what one pass touched last is still near the processor when the
// next one begins. Results never depend on the order: a pass reads some channels and writes others, or only its own cells.
#include "compute/cpu.h"

#include "base/broken.h"
#include "base/clock.h"
#include "compute/rule_host.h"
#include <assert.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN_GRAIN = 2,           // runs in one piece of work
    COLUMN_GRAIN = 1,        // columns in one piece of work
    COLUMNS_PER_WORKER = 4,  // at least
    LEVEL_GRAIN = 8,         // coarse bricks in one piece of work
    SUM_STRIDE = 16          // floats in a cache line
};

// ---- Work over threads -----------------------------------------------------------------------------------------------------

// One pass as a task. Exactly one of the kernels is set.
typedef struct pass_task {
    cpu_machine *cpu;
    const void *args;
    run_kernel *on_run;
    column_kernel *on_column;
    level_kernel *on_level;
    brick_kernel *on_brick;
    const brick_run *runs;
    const int32_t *bricks;  // that it is for; NULL: 1 to count
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
    cpu_machine *cpu = task->cpu;
    assert(worker >= 0 && worker < cpu->workers && begin >= 0 && begin <= end && end <= task->count);
    void *scratch = cpu->scratch + (size_t)worker * cpu->needs.scratch[cpu->width];
    float *largest = &cpu->largest[worker * SUM_STRIDE];
    for (int32_t i = begin; i < end; i++) {
        int32_t item = cpu->backwards ? task->count - 1 - i : i;
        if (task->on_run) {
            task->on_run(task->args, scratch, &task->runs[item]);
        } else if (task->on_column) {
            task->on_column(task->args, scratch, &cpu->columns[item]);
        } else if (task->on_level) {
            task->on_level(task->args, scratch, task->level, item + 1);
        } else if (task->on_brick) {
            float number = task->on_brick(task->args, scratch, task->bricks ? task->bricks[item] : item + 1);
            assert(number >= 0.0f);  // and a number
            if (number > *largest) *largest = number;
        }
    }
    fesetenv(&games);
}

// The lists are those of the bricks that are there, and the solver's arguments see them as they are.
static void must_be_ready(const cpu_machine *cpu, const void *args)
{
    const cpu_bricks *seen = args;
    (void)cpu, (void)seen;
    assert(cpu->version == cpu->cells->pool.version && seen->end == cpu->cells->pool.end);
    assert(seen->near == bricks_near(&cpu->cells->pool) && seen->change == cpu->world->change);
}

static void run_task(cpu_machine *cpu, pass_task *task, int32_t grain)
{
    workers_run(cpu->world->workers, pass_piece, task, task->count, grain);
}

void cpu_over_runs(cpu_machine *cpu, run_kernel *kernel, const void *args)
{
    must_be_ready(cpu, args);
    cpu->backwards = !cpu->backwards;
    run_task(cpu, &(pass_task){.cpu = cpu, .args = args, .on_run = kernel, .runs = cpu->runs, .count = cpu->run_count},
             RUN_GRAIN);
}

void cpu_over_awake_runs(cpu_machine *cpu, run_kernel *kernel, const void *args)
{
    must_be_ready(cpu, args);
    cpu->backwards = !cpu->backwards;
    run_task(cpu,
             &(pass_task){.cpu = cpu, .args = args, .on_run = kernel, .runs = cpu->awake_runs, .count = cpu->awake_run_count},
             RUN_GRAIN);
}

void cpu_over_columns(cpu_machine *cpu, column_kernel *kernel, const void *args)
{
    must_be_ready(cpu, args);
    cpu->backwards = !cpu->backwards;
    run_task(cpu, &(pass_task){.cpu = cpu, .args = args, .on_column = kernel, .count = cpu->column_count}, COLUMN_GRAIN);
}

void cpu_over_level(cpu_machine *cpu, level_kernel *kernel, const void *args, const pyramid *levels, int32_t level)
{
    assert(level >= 1 && level <= levels->top && levels->version == cpu->cells->pool.version);
    const int32_t count = levels->level[level].count - 1;
    run_task(cpu, &(pass_task){.cpu = cpu, .args = args, .on_level = kernel, .level = level, .count = count}, LEVEL_GRAIN);
}

float cpu_over_bricks(cpu_machine *cpu, brick_kernel *kernel, const void *args, const int32_t *bricks, int32_t count,
                      int32_t grain)
{
    must_be_ready(cpu, args);
    for (int32_t w = 0; w < cpu->workers; w++) cpu->largest[w * SUM_STRIDE] = 0.0f;
    run_task(cpu, &(pass_task){.cpu = cpu, .args = args, .on_brick = kernel, .bricks = bricks, .count = count}, grain);
    float largest = 0.0f;
    for (int32_t w = 0; w < cpu->workers; w++)
        if (cpu->largest[w * SUM_STRIDE] > largest) largest = cpu->largest[w * SUM_STRIDE];
    return largest;
}

static void swap_next(cpu_machine *cpu, int32_t channel)
{
    void **all = cpu->cells->pool.channel, *swap = all[channel];
    const int32_t next = cells_next(cpu->cells, channel);
    all[channel] = all[next];
    all[next] = swap;
}

void cpu_swap_mass(cpu_machine *cpu)
{
    swap_next(cpu, cpu->cells->layout->mass);
}

void cpu_swap_flow(cpu_machine *cpu)
{
    for (int32_t axis = 0; axis < 3; axis++) swap_next(cpu, cpu->cells->layout->flow + axis);
}

void cpu_swap_pressure(cpu_machine *cpu)
{
    swap_next(cpu, cpu->cells->layout->pressure);
}

static void run(backend *base, const pass *p, void *solver)
{
    double before = clock_seconds();
    p->on_cpu(solver);
    backend_book_time(((cpu_machine *)base)->world, p->name, clock_seconds() - before);
}

static void run_rule(backend *base, cell_rule *rule)
{
    cpu_machine *cpu = (cpu_machine *)base;
    double before = clock_seconds();
    rule_host_run(cpu->cells, rule);
    backend_book_time(cpu->world, rule->name, clock_seconds() - before);
}

// ---- What solvers with mass and flow share ---------------------------------------------------------------------------------

cpu_forces cpu_find_forces(const cpu_machine *cpu, float scale)
{
    const weir_world *world = cpu->world;
    const weir_params *p = &world->params;
    return (cpu_forces){
        .scale = scale,
        .empty = p->empty,
        .noise = p->noise,
        .down_axis = backend_find_down(p).axis,
        .noise_seed = p->noise_seed,
        .update = world->update,
        .sources = world->sources,
        .source_count = world->source_count,
    };
}

int64_t cpu_drain_sides(cpu_machine *cpu, uint8_t *drained)
{
    const weir_world *world = cpu->world;
    const brick_pool *pool = &cpu->cells->pool;
    const rule_box bounds = backend_box(world->terrain.bounds);
    const int32_t next = cells_next(cpu->cells, cpu->cells->layout->mass);
    const int32_t mass_channel = next == CHANNEL_NONE ? cpu->cells->layout->mass : next;
    assert(pool->channel_bytes[mass_channel] == 4 && world->solver->unit == 1);
    int64_t all = 0;
    if (drained) memset(drained, 0, (size_t)pool->end);
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->phase[b] != PHASE_AWAKE || !pool->wet[b] || !backend_reaches_out(bounds, pool->coord[b])) continue;
        int32_t *mass = bricks_ints(pool, mass_channel, b);
        int32_t left = 0;
        int64_t taken = 0;
        for (int32_t i = 0; i < BRICK_CELLS; i++) {
            const weir_coord c = brick_cell(pool->coord[b], i);
            if (rule_side_takes(bounds, c.x, c.y, c.z)) {
                assert(mass[i] >= 0);
                taken += mass[i];
                mass[i] = 0;
            }
            left |= mass[i];
        }
        pool->wet[b] = left != 0;
        if (drained) drained[b] = taken > 0;
        all += taken;
    }
    return all;
}

// ---- Lists -----------------------------------------------------------------------------------------------------------------

// Finds the bricks that have no terrain near them. First every brick by itself, then with its neighbours.
static void find_clear(cpu_machine *cpu)
{
    const brick_pool *pool = &cpu->cells->pool;
    uint8_t *clear = cpu->clear;
    enum { OPEN = 2, CLEAR = 1 };
    const int32_t(*near)[27] = bricks_near(pool);
    clear[BRICK_NOTHING] = 0;
    for (int32_t b = 1; b < pool->end; b++) clear[b] = pool->phase[b] != PHASE_ASLEEP && mask_full(&pool->open[b]) ? OPEN : 0;
    for (int32_t b = 1; b < pool->end; b++) {
        bool all = pool->phase[b] != PHASE_ASLEEP;
        for (int32_t n = 0; n < 27 && all; n++) all = clear[near[b][n]] & OPEN;
        if (all) clear[b] |= CLEAR;
    }
    for (int32_t b = 1; b < pool->end; b++) clear[b] &= CLEAR;
}

static bool has_columns(const cpu_machine *cpu)
{
    return cpu->needs.column.x > 0;
}

static bool in_column(const brick_column *c, weir_coord at)
{
    return at.x >= c->low.x && at.x < c->low.x + c->size.x && at.y >= c->low.y && at.y < c->low.y + c->size.y &&
           at.z >= c->low.z && at.z < c->low.z + c->size.z;
}

// Gathers the bricks that hang together with `first` inside one box of a grid, and shrinks the box around them. Bricks that touch at an
// edge or a corner hang together too: a sweep writes all bricks of the box that it sees, and it sees the 26 neighbours of its own.
static brick_column make_column(const brick_pool *pool, int32_t *next, int32_t first, weir_coord most)
{
    enum { FREE = -1 };
    weir_coord at = pool->coord[first], low = at, high = at;
    brick_column c = {first, {at.x & -most.x, at.y & -most.y, at.z & -most.z}, most};
    int32_t last = first;
    next[first] = BRICK_NOTHING;
    for (int32_t b = first; b != BRICK_NOTHING; b = next[b]) {
        at = pool->coord[b];
        low = (weir_coord){at.x < low.x ? at.x : low.x, at.y < low.y ? at.y : low.y, at.z < low.z ? at.z : low.z};
        high = (weir_coord){at.x > high.x ? at.x : high.x, at.y > high.y ? at.y : high.y, at.z > high.z ? at.z : high.z};
        for (int32_t k = 0; k < 27; k++) {
            int32_t n = bricks_near(pool)[b][k];
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
static void make_columns(cpu_machine *cpu)
{
    const brick_pool *pool = &cpu->cells->pool;
    int32_t *next = cpu->next;
    weir_coord most = cpu->needs.column;
    while (most.z > 1 && cpu->workers > 1 && pool->awake / (most.x * most.y * most.z) < COLUMNS_PER_WORKER * cpu->workers)
        most.z /= 2;
    for (int32_t b = 0; b < pool->end; b++) next[b] = -1;
    cpu->column_count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->phase[b] != PHASE_ASLEEP && next[b] < 0) cpu->columns[cpu->column_count++] = make_column(pool, next, b, most);
}

static void free_lists(cpu_machine *cpu)
{
    memory *mem = &cpu->world->mem;
    memory_free(mem, cpu->runs, (size_t)cpu->run_room * sizeof *cpu->runs);
    memory_free(mem, cpu->awake_runs, (size_t)cpu->run_room * sizeof *cpu->awake_runs);
    memory_free(mem, cpu->columns, cpu->columns ? (size_t)cpu->run_room * sizeof *cpu->columns : 0);
}

static weir_status reserve_lists(cpu_machine *cpu)
{
    weir_world *world = cpu->world;
    const brick_pool *pool = &cpu->cells->pool;
    if (cpu->run_room < pool->live) {
        int32_t room = pool->live + pool->live / 4;
        brick_run *runs = memory_alloc(&world->mem, (size_t)room * sizeof *runs);
        brick_run *awake_runs = memory_alloc(&world->mem, (size_t)room * sizeof *runs);
        brick_column *columns = has_columns(cpu) ? memory_alloc(&world->mem, (size_t)room * sizeof *columns) : NULL;
        if (!runs || !awake_runs || (has_columns(cpu) && !columns)) {
            memory_free(&world->mem, runs, (size_t)room * sizeof *runs);
            memory_free(&world->mem, awake_runs, (size_t)room * sizeof *runs);
            memory_free(&world->mem, columns, (size_t)room * sizeof *columns);
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a list of %d bricks", pool->live);
        }
        free_lists(cpu);
        cpu->runs = runs;
        cpu->awake_runs = awake_runs;
        cpu->columns = columns;
        cpu->run_room = room;
    }
    if (cpu->room < pool->capacity) {
        uint8_t *clear = memory_alloc(&world->mem, (size_t)pool->capacity);
        int32_t *next = has_columns(cpu) ? memory_alloc(&world->mem, (size_t)pool->capacity * sizeof *next) : NULL;
        if (!clear || (has_columns(cpu) && !next)) {
            memory_free(&world->mem, clear, (size_t)pool->capacity);
            memory_free(&world->mem, next, (size_t)pool->capacity * sizeof *next);
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making tables of %d bricks", pool->capacity);
        }
        memory_free(&world->mem, cpu->clear, (size_t)cpu->room);
        memory_free(&world->mem, cpu->next, (size_t)cpu->room * sizeof *cpu->next);
        cpu->clear = clear;
        cpu->next = next;
        cpu->room = pool->capacity;
    }
    return WEIR_OK;
}

// Cuts the bricks of a phase, and of those after it, into runs along x. A run begins where none of them lies to the left. Returns how many
// runs there are.
static int32_t make_runs(const cpu_machine *cpu, brick_phase least, brick_run *runs)
{
    const brick_pool *pool = &cpu->cells->pool;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->phase[b] < least || pool->phase[pool->near[b][NEAR(-1, 0, 0)]] >= least) continue;
        int32_t length = 0;
        for (int32_t i = b; pool->phase[i] >= least; i = pool->near[i][NEAR(1, 0, 0)]) length++;
        int32_t next = b;
        while (length > 0) {
            brick_run *r = &runs[count++];
            r->count = length >= RUN_MAX ? RUN_MAX : length >= 2 ? 2 : 1;
            for (int32_t k = 0; k < r->count; k++) {
                r->brick[k] = next;
                next = pool->near[next][NEAR(1, 0, 0)];
            }
            length -= r->count;
        }
    }
    assert(count <= cpu->run_room);
    return count;
}

static weir_status make_lists(cpu_machine *cpu)
{
    if (cpu->version == cpu->cells->pool.version) return WEIR_OK;
    weir_status status = reserve_lists(cpu);
    if (status != WEIR_OK) return status;
    find_clear(cpu);
    if (has_columns(cpu)) make_columns(cpu);
    cpu->run_count = make_runs(cpu, PHASE_RIM, cpu->runs);
    cpu->awake_run_count = make_runs(cpu, PHASE_AWAKE, cpu->awake_runs);
    cpu->version = cpu->cells->pool.version;
    return WEIR_OK;
}

// The bricks as kernels see them. The pool's tables move when it grows.
static void look_at_bricks(cpu_machine *cpu)
{
    const brick_pool *pool = &cpu->cells->pool;
    cpu->bricks = (cpu_bricks){
        .end = pool->end,
        .alive = pool->alive,
        .phase = pool->phase,
        .near = bricks_near(pool),
        .coord = pool->coord,
        .open = pool->open,
        .clear = cpu->clear,
        .next = cpu->next,
        .wet = pool->wet,
        .changed = cells_flags(cpu->cells),
        .change = cpu->world->change,
        .flags = (const float(*)[8])cpu->flags,
        .ones = cpu->ones,
    };
}

weir_status cpu_prepare(cpu_machine *cpu)
{
    weir_status status = make_lists(cpu);
    if (status == WEIR_OK) look_at_bricks(cpu);
    return status;
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

// Books that a piece of work writes a brick. `writer` says of each brick which piece does, counted from 1; 0: none so far.
static const char *book_writer(const brick_pool *pool, int32_t *writer, int32_t brick, int32_t piece, const char *pieces)
{
    if (brick < 1 || brick >= pool->end || pool->phase[brick] == PHASE_ASLEEP)
        return broken("%s %d writes brick %d, which is asleep or not there", pieces, piece, brick);
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
        if (pool->phase[b] != PHASE_ASLEEP && writer[b] == 0)
            return broken("no %s writes the brick at (%d, %d, %d)", pieces, c.x, c.y, c.z);
    }
    return NULL;
}

static const char *validate_runs(const cpu_machine *cpu, int32_t *writer)
{
    const brick_pool *pool = &cpu->cells->pool;
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

const char *cpu_validate_columns(cpu_machine *cpu, cpu_try *try_column, void *solver)
{
    enum { UNTOUCHED = 0xff, FEW_BRICKS = 64, MANY_EVERY = 8 };
    const brick_pool *pool = &cpu->cells->pool;
    const int32_t count = cpu->column_count;
    const char *wrong = NULL;
    if (cpu->version != pool->version) return NULL;
    // To try takes as long as to move, so lists are tried once, and in large worlds now and then.
    if (cpu->tried == pool->version || (pool->live > FEW_BRICKS && cpu->world->update % MANY_EVERY != 0)) return NULL;
    if (count > cpu->run_room) return broken("%d columns are more than there is room for", count);
    look_at_bricks(cpu);
    uint8_t *wet = malloc((size_t)pool->end);
    int64_t *changed = calloc((size_t)pool->end, sizeof *changed);
    int32_t *writer = calloc((size_t)pool->end, sizeof *writer);
    const bool room = wet && changed && writer;
    for (int32_t i = 0; i < count && room && !wrong; i++) {
        memset(wet, UNTOUCHED, (size_t)pool->end);
        try_column(solver, &cpu->columns[i], wet, changed);
        for (int32_t b = 0; b < pool->end && !wrong; b++)
            if (wet[b] != UNTOUCHED) wrong = book_writer(pool, writer, b, i + 1, "column");
    }
    if (!wrong && room) wrong = find_unwritten(pool, writer, "column");
    cpu->tried = wrong ? UINT64_MAX : pool->version;
    free(wet);
    free(changed);
    free(writer);
    return wrong;
}

static const char *validate(backend *base)
{
    const cpu_machine *cpu = (const cpu_machine *)base;
    const brick_pool *pool = &cpu->cells->pool;
    // What was made for other bricks is made anew before it is used.
    if (cpu->version != pool->version) return NULL;
    if (cpu->room < pool->end) return broken("%d bricks have room in the tables, and there are %d", cpu->room, pool->end);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->phase[b] != PHASE_ASLEEP && cpu->clear[b] != bricks_clear(pool, b))
            return broken("brick %d is noted as clear %d", b, cpu->clear[b]);
    int32_t *writer = calloc((size_t)pool->end, sizeof *writer);
    const char *wrong = writer ? validate_runs(cpu, writer) : NULL;
    free(writer);
    return wrong;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const backend *base)
{
    const cpu_machine *cpu = (const cpu_machine *)base;
    return cpu->run_room * (int64_t)(2 * sizeof(brick_run) + (cpu->columns ? sizeof(brick_column) : 0)) +
           cpu->room * (int64_t)(1 + (cpu->next ? sizeof(int32_t) : 0));
}

static void destroy(backend *base)
{
    cpu_machine *cpu = (cpu_machine *)base;
    memory *mem = &cpu->world->mem;
    free_lists(cpu);
    memory_free(mem, cpu->clear, (size_t)cpu->room);
    memory_free(mem, cpu->next, (size_t)cpu->room * sizeof *cpu->next);
    memory_free(mem, cpu->ones, cpu->needs.tile);
    memory_free(mem, cpu->scratch, (size_t)cpu->workers * cpu->needs.scratch[cpu->width]);
    memory_free(mem, cpu->largest, (size_t)cpu->workers * SUM_STRIDE * sizeof *cpu->largest);
    memory_free(mem, cpu, sizeof *cpu);
}

weir_status cpu_choose_width(weir_simd asked, weir_simd *chosen)
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
    return WEIR_OK;
}

static float *tile_of_ones(memory *mem, size_t size)
{
    float *tile = memory_alloc(mem, size);
    for (size_t i = 0; tile && i < size / sizeof *tile; i++) tile[i] = 1.0f;
    return tile;
}

weir_status cpu_machine_create(fluid_cells *c, const cpu_needs *needs, cpu_machine **out)
{
    weir_world *world = c->world;
    weir_status status = cpu_choose_width(world->simd, &world->simd);
    if (status != WEIR_OK) return status;
    memory *mem = &world->mem;
    cpu_machine *cpu = memory_alloc_zero(mem, sizeof *cpu);
    if (!cpu) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the CPU backend");
    cpu->base = (backend){.run = run, .run_rule = run_rule, .bytes = bytes, .validate = validate, .destroy = destroy};
    cpu->world = world;
    cpu->cells = c;
    cpu->needs = *needs;
    cpu->width = (int32_t)world->simd - WEIR_SIMD_SCALAR;
    cpu->workers = workers_count(world->workers);
    cpu->version = cpu->tried = UINT64_MAX;
    for (int i = 0; i < 256; i++)
        for (int x = 0; x < 8; x++) cpu->flags[i][x] = (float)(i >> x & 1);
    cpu->ones = tile_of_ones(mem, needs->tile);
    cpu->scratch = memory_alloc_zero(mem, (size_t)cpu->workers * needs->scratch[cpu->width]);
    cpu->largest = memory_alloc_zero(mem, (size_t)cpu->workers * SUM_STRIDE * sizeof *cpu->largest);
    if (!cpu->scratch || !cpu->largest || !cpu->ones) {
        int32_t count = cpu->workers;
        destroy(&cpu->base);
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making room for %d workers", count);
    }
    *out = cpu;
    return WEIR_OK;
}
