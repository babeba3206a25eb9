// The classic solver on the CPU: what its passes need, and how each of them runs.
#include "solvers/classic/cpu_classic.h"

#include "compute/cpu_column.h"
#include <assert.h>
#include <string.h>

// ---- What an update needs --------------------------------------------------------------------------------------------------

// Points the arguments at the channels as they are now.
static void point_channels(classic_cpu *cpu)
{
    const cell_arrays now = cells_arrays(cpu->machine->cells);
    classic_args *a = &cpu->args;
    a->mass = now.mass;
    a->mass_next = now.mass_next;
    a->pressure = now.pressure;
    a->pressure_next = now.pressure_next;
    for (int axis = 0; axis < 3; axis++) {
        a->flow[axis] = now.flow[axis];
        a->flow_next[axis] = now.flow_next[axis];
        a->moved[axis] = now.moved[axis];
    }
    a->divergence = a->flow[0];
    a->forces.mass = a->mass_next;
    for (int axis = 0; axis < 3; axis++) a->forces.flow[axis] = a->flow_next[axis];
}

static void set_arguments(classic_cpu *cpu)
{
    const weir_params *p = &cpu->machine->world->params;
    const float scale = CLASSIC_PUSH;
    cpu->args = (classic_args){
        .bricks = cpu->machine->bricks,
        .columns = cpu->machine->columns,
        .column_bricks = cpu->columns,
        .held = cpu->held,
        .gravity = {p->gravity.x * scale, p->gravity.y * scale, p->gravity.z * scale},
        .keep = 1.0f - p->classic.damping,
        .max_flow = p->classic.max_flow,
        .empty = p->empty,
        .forces = cpu_find_forces(cpu->machine, scale),
    };
    point_channels(cpu);
}

// The bricks of every column, if others came or some went.
static weir_status find_columns(classic_cpu *cpu)
{
    const cpu_machine *machine = cpu->machine;
    memory *mem = &machine->world->mem;
    const size_t size = sizeof *cpu->columns;
    if (cpu->columns_version == machine->version) return WEIR_OK;
    if (cpu->column_room < machine->column_count) {
        const int32_t room = machine->column_count + machine->column_count / 4;
        column_bricks *columns = memory_alloc(mem, (size_t)room * size);
        if (!columns) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d columns of bricks", room);
        memory_free(mem, cpu->columns, (size_t)cpu->column_room * size);
        cpu->columns = columns;
        cpu->column_room = room;
    }
    for (int32_t i = 0; i < machine->column_count; i++) {
        const brick_column *column = &machine->columns[i];
        column_bricks *c = &cpu->columns[i];
        *c = (column_bricks){.nx = column->size.x, .ny = column->size.y, .nz = column->size.z};
        column_find_bricks(&machine->bricks, column, &c->at[0][0][0], SWEEP_X + 2, (SWEEP_X + 2) * (SWEEP_Y + 2));
    }
    cpu->columns_version = machine->version;
    return WEIR_OK;
}

static weir_status reserve(void *solver)
{
    classic_cpu *cpu = ((classic *)solver)->cpu;
    weir_world *world = cpu->machine->world;
    cpu->ready = UINT64_MAX;
    weir_status status = cpu_prepare(cpu->machine);
    if (status == WEIR_OK) status = find_columns(cpu);
    if (status != WEIR_OK) return status;
    const brick_pool *pool = &cpu->machine->cells->pool;
    if (cpu->room < pool->capacity) {
        uint8_t *held = memory_alloc(&world->mem, (size_t)pool->capacity);
        if (!held) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for flags of %d bricks", pool->capacity);
        memory_free(&world->mem, cpu->held, (size_t)cpu->room);
        cpu->held = held;
        cpu->room = pool->capacity;
    }
    set_arguments(cpu);
    cpu->ready = pool->version;
    return WEIR_OK;
}

// ---- Passes ----------------------------------------------------------------------------------------------------------------

void classic_cpu_move(void *solver)
{
    classic_cpu *cpu = ((classic *)solver)->cpu;
    const brick_pool *pool = &cpu->machine->cells->pool;
    memcpy(cpu->held, pool->wet, (size_t)pool->end);
    cpu_over_columns(cpu->machine, cpu->kernels->move, &cpu->args);
}

void classic_cpu_open_sides(void *solver)
{
    classic *c = solver;
    c->drained = cpu_drain_sides(c->cpu->machine, NULL);
}

void classic_cpu_forces(void *solver)
{
    classic_cpu *cpu = ((classic *)solver)->cpu;
    cpu_over_runs(cpu->machine, cpu->kernels->forces, &cpu->args);
}

void classic_cpu_divergence(void *solver)
{
    classic *c = solver;
    classic_cpu *cpu = c->cpu;
    cpu->args.iterations = c->iterations;
    cpu_over_columns(cpu->machine, cpu->kernels->divergence, &cpu->args);
}

void classic_cpu_pressure(void *solver)
{
    classic *c = solver;
    classic_cpu *cpu = c->cpu;
    cpu->args.iterations = c->iterations;
    cpu_over_columns(cpu->machine, cpu->kernels->pressure, &cpu->args);
    cpu_swap_pressure(cpu->machine);
    point_channels(cpu);
}

void classic_cpu_gradient(void *solver)
{
    classic *c = solver;
    classic_cpu *cpu = c->cpu;
    cpu->args.iterations = c->iterations;
    cpu_over_columns(cpu->machine, cpu->kernels->gradient, &cpu->args);
    if (c->iterations > 0) cpu_swap_pressure(cpu->machine);
    cpu_swap_mass(cpu->machine);
    cpu_swap_flow(cpu->machine);
    point_channels(cpu);
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

// Lets a column move alone, as it does in an update. Values go to channels that are scratch between updates.
static void try_column(void *solver, const brick_column *column, uint8_t *wet, int64_t *changed)
{
    classic_cpu *cpu = ((classic *)solver)->cpu;
    classic_args trial = cpu->args;
    trial.bricks = cpu->machine->bricks;
    trial.bricks.wet = wet;
    trial.bricks.changed = changed;
    trial.held = cpu->machine->cells->pool.wet;
    memset(trial.moved, 0, sizeof trial.moved);
    cpu->kernels->move(&trial, cpu->machine->scratch, column);
}

static const char *validate(void *solver)
{
    classic_cpu *cpu = ((classic *)solver)->cpu;
    cpu_machine *machine = cpu->machine;
    if (cpu->ready != machine->cells->pool.version) return NULL;  // what was made for other bricks is made anew
    const char *wrong = machine->base.validate(&machine->base);
    if (wrong) return wrong;
    point_channels(cpu);
    return cpu_validate_columns(machine, try_column, solver);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const void *solver)
{
    const classic_cpu *cpu = ((const classic *)solver)->cpu;
    return cpu->machine->base.bytes(&cpu->machine->base) + cpu->room + cpu->column_room * (int64_t)sizeof *cpu->columns;
}

static void destroy(void *solver)
{
    classic *c = solver;
    classic_cpu *cpu = c->cpu;
    if (!cpu) return;
    memory_free(&c->base.cells.world->mem, cpu->held, (size_t)cpu->room);
    memory_free(&c->base.cells.world->mem, cpu->columns, (size_t)cpu->column_room * sizeof *cpu->columns);
    if (cpu->machine) cpu->machine->base.destroy(&cpu->machine->base);
    memory_free(&c->base.cells.world->mem, cpu, sizeof *cpu);
}

static const classic_kernels *const kernels[CPU_WIDTHS] = {
    [WEIR_SIMD_SCALAR - WEIR_SIMD_SCALAR] = &classic_kernels_scalar,
#if WEIR_HAVE_AVX2
    [WEIR_SIMD_AVX2 - WEIR_SIMD_SCALAR] = &classic_kernels_avx2,
#endif
#if WEIR_HAVE_AVX512
    [WEIR_SIMD_AVX512 - WEIR_SIMD_SCALAR] = &classic_kernels_avx512,
#endif
};

static weir_status create(void *solver, const char *device)
{
    classic *c = solver;
    classic_cpu *cpu = c->cpu = memory_alloc_zero(&c->base.cells.world->mem, sizeof *cpu);
    (void)device;
    if (!cpu) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the CPU backend");
    cpu_needs needs = {.column = {SWEEP_X, SWEEP_Y, SWEEP_Z}, .tile = kernels[0]->tile_size};
    for (int32_t w = 0; w < CPU_WIDTHS; w++) needs.scratch[w] = kernels[w] ? kernels[w]->scratch_size : 0;
    weir_status status = cpu_machine_create(&c->base.cells, &needs, &cpu->machine);
    if (status != WEIR_OK) return status;
    c->base.machine = &cpu->machine->base;
    cpu->kernels = kernels[cpu->machine->width];
    cpu->ready = cpu->columns_version = UINT64_MAX;
    assert(cpu->kernels);
    return WEIR_OK;
}

const solver_part classic_on_cpu = {
    .create = create, .destroy = destroy, .reserve = reserve, .validate = validate, .bytes = bytes};
