// The momentum solver on the CPU: what its passes need, and how each of them runs.
#include "solvers/momentum/cpu_momentum.h"

#include "base/broken.h"
#include "cells/sleep.h"
#include "solvers/momentum/coarse.h"
#include "solvers/momentum/cycles.h"
#include "solvers/momentum/film.h"
#include "solvers/momentum/gas.h"
#include "solvers/momentum/limit.h"
#include "solvers/momentum/pressure.h"
#include "solvers/momentum/substeps.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { BRICK_GRAIN = 4 };  // live bricks in one piece of work

// ---- What an update needs --------------------------------------------------------------------------------------------------

// Points the arguments at the channels as they are now.
static void point_channels(momentum_cpu *cpu)
{
    const cell_arrays now = cells_arrays(cpu->machine->cells);
    momentum_args *a = &cpu->args;
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
    a->floor = a->flow[1];
    a->forces.mass = a->mass_next;
    for (int axis = 0; axis < 3; axis++) a->forces.flow[axis] = a->flow_next[axis];
}

static void set_arguments(momentum *m)
{
    momentum_cpu *cpu = m->cpu;
    const weir_world *world = cpu->machine->world;
    const weir_params *p = &m->params;
    const weir_momentum_params *own = &p->momentum;
    const float share = 1.0f / (float)m->substep_count;
    const backend_down down = backend_find_down(p);
    cpu->args = (momentum_args){
        .bricks = cpu->machine->bricks,
        .active = cpu->flags.active,
        .dry = cpu->flags.dry,
        .thin = cpu->flags.thin,
        .unconverged = cpu->flags.unconverged,
        .drained = backend_drains(world) ? cpu->flags.drained : NULL,
        .levels = &cpu->levels,
        .sixths = cpu->sixths,
        .gravity = {p->gravity.x, p->gravity.y, p->gravity.z},
        .down_axis = down.axis,
        .down_sign = down.sign,
        .head = down.head,
        .inverse_head = down.inverse_head,
        .air = own->air,
        .damping = own->damping,
        .inverse_calm = own->damping_flow > 0.0f ? 1.0f / own->damping_flow : 0.0f,
        .max_flow = own->max_flow,
        .dust = down.sign != 0 && own->gas == 0.0f ? own->dust : 0.0f,
        .fill_cap = own->gas > 0.0f ? GAS_MOST : own->fill_cap,
        .empty = own->gas > 0.0f ? GAS_FEW : p->empty,
        .gas = own->gas,
        .excess_rate = own->excess_rate,
        .excess_cap = own->excess_cap,
        .viscosity = own->viscosity,
        .film = down.sign != 0 ? own->film : 0.0f,
        .film_drag = rule_film_drag(own->film, share),
        .friction = down.sign != 0 ? own->friction : 0.0f,
        .thick = fmaxf(p->empty, fmaxf(RISING_THIN, FILM_SLOWED * own->film)),
        .smooths = own->smooths,
        .tolerance = own->tolerance,
        .forces = cpu_find_forces(cpu->machine, share * share),
        .too_fast = momentum_substep_flow(m) * share,
        .near_all = (const int32_t(*)[27])cpu->machine->cells->pool.near,
        .rest = cpu->machine->cells->pool.rest,
        .motion = cpu->machine->cells->sleep->motion,
        .rest_flux = m->sleep,
    };
    cpu->args.forces.noise = p->noise;
    point_channels(cpu);
}

static void free_flags(memory *mem, brick_flags *flags)
{
    const size_t room = (size_t)flags->room;
    memory_free(mem, flags->active, room * sizeof *flags->active);
    memory_free(mem, flags->dry, room);
    memory_free(mem, flags->thin, room * sizeof *flags->thin);
    memory_free(mem, flags->unconverged, room);
    memory_free(mem, flags->drained, room);
    memory_free(mem, flags->listed, room);
    memory_free(mem, flags->list, room * sizeof *flags->list);
}

static bool make_flags(memory *mem, int32_t count, brick_flags *flags)
{
    const size_t room = (size_t)count;
    *flags = (brick_flags){.room = count};
    flags->active = memory_alloc_zero(mem, room * sizeof *flags->active);
    flags->dry = memory_alloc_zero(mem, room);
    flags->thin = memory_alloc_zero(mem, room * sizeof *flags->thin);
    flags->unconverged = memory_alloc(mem, room);
    flags->drained = memory_alloc_zero(mem, room);
    flags->listed = memory_alloc_zero(mem, room);
    flags->list = memory_alloc(mem, room * sizeof *flags->list);
    if (flags->active && flags->dry && flags->thin && flags->unconverged && flags->drained && flags->listed && flags->list)
        return true;
    free_flags(mem, flags);
    return false;
}

static weir_status reserve_flags(momentum_cpu *cpu)
{
    weir_world *world = cpu->machine->world;
    const int32_t room = cpu->machine->cells->pool.capacity;
    brick_flags fresh;
    if (cpu->flags.room >= room) return WEIR_OK;
    if (!make_flags(&world->mem, room, &fresh))
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out for flags of %d bricks", room);
    free_flags(&world->mem, &cpu->flags);
    cpu->flags = fresh;
    return WEIR_OK;
}

// What is not awake has no active cells, and nothing is known of it.
static void clear_sleepers(momentum_cpu *cpu)
{
    const brick_pool *pool = &cpu->machine->cells->pool;
    const brick_flags *flags = &cpu->flags;
    for (int32_t b = 1; b < pool->end && pool->awake < pool->live; b++) {
        if (pool->phase[b] == PHASE_AWAKE) continue;
        memset(&flags->active[b], 0, sizeof flags->active[b]);
        flags->thin[b] = pool->open[b];
        flags->dry[b] = flags->unconverged[b] = flags->drained[b] = 0;
    }
}

static weir_status reserve(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    brick_pool *pool = &cpu->machine->cells->pool;
    cpu->ready = UINT64_MAX;
    weir_status status = cpu_prepare(cpu->machine);
    if (status == WEIR_OK) status = reserve_flags(cpu);
    if (status == WEIR_OK) status = pyramid_build(&cpu->levels, pool);
    if (status != WEIR_OK) return status;
    clear_sleepers(cpu);
    set_arguments(solver);
    cpu->ready = pool->version;
    return WEIR_OK;
}

// ---- Passes ----------------------------------------------------------------------------------------------------------------

void momentum_cpu_move(void *solver)
{
    momentum *m = solver;
    momentum_cpu *cpu = m->cpu;
    int fast[SUBSTEP_RUNGS];
    for (int k = 0; k < SUBSTEP_RUNGS; k++) atomic_store_explicit(&cpu->fast_faces[k], 0, memory_order_relaxed);
    cpu->args.fast_faces = m->substep == 0 ? cpu->fast_faces : NULL;
    cpu_over_columns(cpu->machine, cpu->kernels->move, &cpu->args);
    for (int k = 0; k < SUBSTEP_RUNGS; k++) fast[k] = atomic_load_explicit(&cpu->fast_faces[k], memory_order_relaxed);
    if (m->substep == 0) m->substeps_next = rule_substeps(fast, m->base.cells.world->params.momentum.substeps);
}

void momentum_cpu_open_sides(void *solver)
{
    momentum *m = solver;
    m->drained = cpu_drain_sides(m->cpu->machine, m->cpu->flags.drained);
}

void momentum_cpu_viscosity(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_runs(cpu->machine, cpu->kernels->viscosity, &cpu->args);
    cpu_swap_flow(cpu->machine);
    point_channels(cpu);
}

void momentum_cpu_forces(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_runs(cpu->machine, cpu->kernels->forces, &cpu->args);
}

void momentum_cpu_air(void *solver)
{
    momentum *m = solver;
    momentum_cpu *cpu = m->cpu;
    momentum_args *a = &cpu->args;
    const air_cells cells = {
        .before = a->mass, .after = a->mass_next, .gas = bricks_ints(&m->base.cells.pool, CHANNEL_GAS, 0), .air = a->floor};
    pockets_find(m->pockets, &cells, m->substep_count);
    a->calm_air = pockets_calm_air(m->pockets);
}

void momentum_cpu_divergence(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_awake_runs(cpu->machine, cpu->kernels->divergence, &cpu->args);
}

void momentum_cpu_smooth(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_awake_runs(cpu->machine, cpu->kernels->smooth, &cpu->args);
}

void momentum_cpu_smooth_back(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_awake_runs(cpu->machine, cpu->kernels->smooth_back, &cpu->args);
}

void momentum_cpu_restrict_fine(void *solver)
{
    momentum *m = solver;
    momentum_cpu *cpu = m->cpu;
    const int32_t count = cpu->levels.level[1].count - 1;
    m->residual = cpu_over_bricks(cpu->machine, cpu->kernels->restrict_fine, &cpu->args, NULL, count, 1);
}

static void over_level(momentum_cpu *cpu, level_kernel *kernel, int32_t level)
{
    cpu_over_level(cpu->machine, kernel, &cpu->args, &cpu->levels, level);
}

static void swap_errors(pyramid_level *level)
{
    float *swap = level->channel[LEVEL_ERROR];
    level->channel[LEVEL_ERROR] = level->channel[LEVEL_ERROR_NEXT];
    level->channel[LEVEL_ERROR_NEXT] = swap;
}

// The coarsest level, nearly solved. A level of a single brick does all sweeps in one visit.
static void sweep_coarsest(momentum_cpu *cpu)
{
    pyramid_level *top = &cpu->levels.level[cpu->levels.top];
    assert(COARSEST_SWEEPS % 2 == 0);
    cpu->args.sweeps = top->count == 2 ? COARSEST_SWEEPS : 1;
    for (int32_t i = 0; i < COARSEST_SWEEPS; i += cpu->args.sweeps) {
        over_level(cpu, cpu->kernels->sweep, cpu->levels.top);
        swap_errors(top);
    }
}

// One V-cycle from level 1 up to the coarsest and back. The counts of all levels come first: they are turned into weights in place.
void momentum_cpu_coarse_levels(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    const momentum_kernels *k = cpu->kernels;
    const int32_t top = cpu->levels.top;
    assert(top >= 1 && top < PYRAMID_LEVELS);
    for (int32_t l = 2; l <= top; l++) over_level(cpu, k->build, l);
    for (int32_t l = 1; l <= top; l++) over_level(cpu, k->link, l);
    for (int32_t l = 1; l < top; l++) {
        over_level(cpu, k->down, l);
        over_level(cpu, k->restrict_level, l);
    }
    over_level(cpu, k->down, top);
    sweep_coarsest(cpu);
    for (int32_t l = top - 1; l >= 1; l--) {
        over_level(cpu, k->up, l + 1);
        over_level(cpu, k->smooth_level, l);
        swap_errors(&cpu->levels.level[l]);
    }
}

void momentum_cpu_correct(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    over_level(cpu, cpu->kernels->correct_fine, 1);
}

void momentum_cpu_gradient(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_runs(cpu->machine, cpu->kernels->gradient, &cpu->args);
    cpu_swap_mass(cpu->machine);
    point_channels(cpu);
}

void momentum_cpu_gas(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_runs(cpu->machine, cpu->kernels->gas, &cpu->args);
    cpu_swap_mass(cpu->machine);
    point_channels(cpu);
}

void momentum_cpu_rescale(void *solver)
{
    const momentum *m = solver;
    m->cpu->args.scale = m->scale;
    m->cpu->args.flow_limit = m->flow_limit;
    cpu_over_bricks(m->cpu->machine, m->cpu->kernels->rescale, &m->cpu->args, NULL, m->base.cells.pool.end - 1, BRICK_GRAIN);
}

// ---- Sleep -----------------------------------------------------------------------------------------------------------------

// Bricks that fell asleep or changed asleep have the same values in the channels of the state and in those that take new ones: they change places.
void momentum_cpu_double_values(void *solver)
{
    momentum *m = solver;
    fluid_cells *c = &m->base.cells;
    int32_t channels[CHANNEL_MAX], count = cells_state_channels(c, channels);
    for (int32_t i = 0; i < c->sleep->doubled_count; i++)
        for (int32_t k = 0; k < count; k++) {
            const int32_t b = c->sleep->doubled[i];
            memcpy(bricks_values(&c->pool, cells_next(c, channels[k]), b), bricks_values(&c->pool, channels[k], b),
                   bricks_channel_bytes(&c->pool, channels[k]));
        }
}

static int32_t list_rim(momentum_cpu *cpu)
{
    const brick_pool *pool = &cpu->machine->cells->pool;
    int32_t count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->phase, PHASE_RIM, b + 1, pool->end)) < pool->end;) cpu->flags.list[count++] = b;
    return count;
}

static float book_brick(const void *args, void *scratch, int32_t brick)
{
    const momentum_args *a = args;
    (void)scratch;
    const size_t at = (size_t)brick * BRICK_CELLS;
    int64_t gained = 0;
    int32_t any = 0;  // none if its body has just fallen below it
    for (size_t i = at; i < at + BRICK_CELLS; i++) {
        gained += a->mass_next[i] - a->mass[i];
        any |= a->mass[i];
    }
    a->rest[brick].owed += gained;
    memcpy(a->mass_next + at, a->mass + at, BRICK_CELLS * sizeof *a->mass);
    a->bricks.wet[brick] = any != 0;
    return 0.0f;
}

// What the move brought to the rim, or took from it, is booked; its cells stay as they are.
void momentum_cpu_book_rim(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_bricks(cpu->machine, book_brick, &cpu->args, cpu->flags.list, list_rim(cpu), BRICK_GRAIN);
}

static float trim_brick(const void *args, void *scratch, int32_t brick)
{
    static const uint8_t before[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
    const momentum_args *a = args;
    (void)scratch;
    for (int axis = 0; axis < 3; axis++) {
        float *flow = a->flow[axis] + (size_t)brick * BRICK_CELLS;
        const bool kept = a->bricks.phase[a->bricks.near[brick][before[axis]]] == PHASE_AWAKE;
        for (int i = 0; i < BRICK_CELLS; i++)
            if ((i >> (3 * axis)) % 8 != 0 || !kept) flow[i] = 0.0f;
    }
    return 0.0f;
}

// Within the rim nothing flows.
void momentum_cpu_trim_rim(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_over_bricks(cpu->machine, trim_brick, &cpu->args, cpu->flags.list, list_rim(cpu), BRICK_GRAIN);
}

// In the measure of a whole update.
void momentum_cpu_rest(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    const weir_params *p = &cpu->machine->world->params;
    momentum_args whole = cpu->args;
    whole.gravity[0] = p->gravity.x;
    whole.gravity[1] = p->gravity.y;
    whole.gravity[2] = p->gravity.z;
    whole.head = backend_find_down(p).head;
    whole.viscosity = p->momentum.viscosity;
    cpu_over_awake_runs(cpu->machine, cpu->kernels->rest, &whole);
}

// ---- Local relaxation ------------------------------------------------------------------------------------------------------

static int32_t list_active(momentum_cpu *cpu)
{
    const brick_pool *pool = &cpu->machine->cells->pool;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && !mask_empty(&cpu->flags.active[b])) cpu->flags.list[count++] = b;
    assert(count <= pool->live);
    return count;
}

// Drops the bricks that have converged from the list.
static int32_t keep_unconverged(momentum_cpu *cpu, int32_t count)
{
    int32_t *list = cpu->flags.list, kept = 0;
    for (int32_t i = 0; i < count; i++)
        if (cpu->flags.unconverged[list[i]]) list[kept++] = list[i];
    return kept;
}

static float take_over(const void *args, void *scratch, int32_t brick)
{
    const momentum_args *a = args;
    (void)scratch;
    size_t at = (size_t)brick * BRICK_CELLS;
    memcpy(a->pressure + at, a->pressure_next + at, BRICK_CELLS * sizeof *a->pressure);
    return 0.0f;
}

// Adds the bricks at the faces of those in the list: there, too, more may be left than before.
static int32_t list_neighbours(momentum_cpu *cpu, int32_t count)
{
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    const brick_flags *flags = &cpu->flags;
    int32_t *list = flags->list, all = count;
    for (int32_t i = 0; i < count; i++) flags->listed[list[i]] = 1;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t f = 0; f < 6; f++) {
            int32_t neighbour = cpu->machine->cells->pool.near[list[i]][faces[f]];
            if (flags->listed[neighbour] || mask_empty(&flags->active[neighbour])) continue;
            flags->listed[neighbour] = 1;
            list[all++] = neighbour;
        }
    }
    assert(all <= cpu->machine->cells->pool.live);
    for (int32_t i = 0; i < all; i++) flags->listed[list[i]] = 0;
    return all;
}

static float smooth_listed(momentum_cpu *cpu, int32_t count)
{
    return cpu_over_bricks(cpu->machine, cpu->kernels->local_relax, &cpu->args, cpu->flags.list, count, BRICK_GRAIN);
}

// After a cycle with a large residual: smooths the bricks in which the tolerance or more is left, and again those in which that still is
// so, or now. All of a round see each other as they were before it.
static void local_relax(momentum *m)
{
    momentum_cpu *cpu = m->cpu;
    const weir_world *world = m->base.cells.world;
    const float tolerance = world->params.momentum.tolerance;
    assert(m->residual >= 0.0f && !memchr(cpu->flags.listed, 1, (size_t)m->base.cells.pool.end));
    int32_t count = rule_residual_is_large(m->residual, tolerance) ? list_active(cpu) : 0;
    float left = smooth_listed(cpu, count);
    count = keep_unconverged(cpu, count);
    m->unsolved = rule_cycle_follows(m->residual, left, count, m->base.cells.pool.awake, tolerance, m->fresh);
    if (!rule_relaxes_locally(m->residual, m->unsolved, m->may_follow, tolerance)) return;
    for (int32_t round = 1; count > 0; round++) {
        cpu_over_bricks(cpu->machine, take_over, &cpu->args, cpu->flags.list, count, BRICK_GRAIN);
        if (round == LOCAL_RELAX_ROUNDS) return;
        count = list_neighbours(cpu, count);
        smooth_listed(cpu, count);
        count = keep_unconverged(cpu, count);
    }
}

void momentum_cpu_local_relax(void *solver)
{
    momentum *m = solver;
    local_relax(m);
    m->cycles = m->cycle + 1;
    m->cycles_next = m->cycles + (m->unsolved ? 1 : 0);
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

static const char *validate_flags(const momentum_cpu *cpu)
{
    const brick_pool *pool = &cpu->machine->cells->pool;
    const brick_flags *flags = &cpu->flags;
    if (flags->room < pool->end) return broken("%d bricks have flags, and there are %d", flags->room, pool->end);
    if (!mask_empty(&flags->active[BRICK_NOTHING]) || flags->dry[BRICK_NOTHING] || !mask_empty(&flags->thin[BRICK_NOTHING]))
        return broken("the nothing is noted as something");
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        if (flags->listed[b]) return broken("brick %d is still listed", b);
        for (int32_t z = 0; z < BRICK_EDGE; z++)
            if (flags->active[b].plane[z] & ~pool->open[b].plane[z]) return broken("solid cells of brick %d are active", b);
    }
    return NULL;
}

// Lets a column move alone, as it does in an update. Values go to channels that are scratch between updates.
static void try_column(void *solver, const brick_column *column, uint8_t *wet, int64_t *changed)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    momentum_args trial = cpu->args;
    trial.fast_faces = NULL;
    trial.bricks = cpu->machine->bricks;
    trial.bricks.wet = wet;
    trial.bricks.changed = changed;
    memset(trial.moved, 0, sizeof trial.moved);
    cpu->kernels->move(&trial, cpu->machine->scratch, column);
}

static const char *validate(void *solver)
{
    momentum_cpu *cpu = ((momentum *)solver)->cpu;
    cpu_machine *machine = cpu->machine;
    if (cpu->ready != machine->cells->pool.version) return NULL;  // what was made for other bricks is made anew
    const char *wrong = machine->base.validate(&machine->base);
    if (!wrong) wrong = validate_flags(cpu);
    if (!wrong) wrong = pyramid_validate(&cpu->levels, &machine->cells->pool);
    if (wrong) return wrong;
    point_channels(cpu);
    return cpu_validate_columns(machine, try_column, solver);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const void *solver)
{
    const momentum_cpu *cpu = ((const momentum *)solver)->cpu;
    const int64_t flag_bytes = (int64_t)(2 * sizeof(brick_mask) + sizeof(int32_t) + 4);
    return cpu->machine->base.bytes(&cpu->machine->base) + pyramid_bytes(&cpu->levels) + cpu->flags.room * flag_bytes +
           pockets_bytes(((const momentum *)solver)->pockets);
}

static void destroy(void *solver)
{
    momentum *m = solver;
    momentum_cpu *cpu = m->cpu;
    if (!cpu) return;
    memory *mem = &m->base.cells.world->mem;
    if (cpu->machine) {
        pyramid_destroy(&cpu->levels);
        free_flags(mem, &cpu->flags);
        memory_free(mem, cpu->sixths, cpu->kernels->tile_size);
        cpu->machine->base.destroy(&cpu->machine->base);
    }
    memory_free(mem, cpu, sizeof *cpu);
}

static const momentum_kernels *const kernels[CPU_WIDTHS] = {
    [WEIR_SIMD_SCALAR - WEIR_SIMD_SCALAR] = &momentum_kernels_scalar,
#if WEIR_HAVE_AVX2
    [WEIR_SIMD_AVX2 - WEIR_SIMD_SCALAR] = &momentum_kernels_avx2,
#endif
#if WEIR_HAVE_AVX512
    [WEIR_SIMD_AVX512 - WEIR_SIMD_SCALAR] = &momentum_kernels_avx512,
#endif
};

static weir_status create(void *solver, const char *device)
{
    momentum *m = solver;
    memory *mem = &m->base.cells.world->mem;
    momentum_cpu *cpu = m->cpu = memory_alloc_zero(mem, sizeof *cpu);
    (void)device;
    if (!cpu) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the CPU backend");
    cpu_needs needs = {.column = {COLUMN_X, COLUMN_Y, COLUMN_Z}, .tile = kernels[0]->tile_size};
    for (int32_t w = 0; w < CPU_WIDTHS; w++) needs.scratch[w] = kernels[w] ? kernels[w]->scratch_size : 0;
    weir_status status = cpu_machine_create(&m->base.cells, &needs, &cpu->machine);
    if (status != WEIR_OK) return status;
    m->base.machine = &cpu->machine->base;
    cpu->kernels = kernels[cpu->machine->width];
    cpu->ready = UINT64_MAX;
    assert(cpu->kernels);
    pyramid_create(mem, LEVEL_CHANNELS, &cpu->levels);
    cpu->sixths = memory_alloc(mem, cpu->kernels->tile_size);
    if (!cpu->sixths) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the CPU backend");
    for (size_t i = 0; i < cpu->kernels->tile_size / sizeof *cpu->sixths; i++) cpu->sixths[i] = 1.0f / 6.0f;
    return WEIR_OK;
}

const solver_part momentum_on_cpu = {
    .create = create, .destroy = destroy, .reserve = reserve, .validate = validate, .bytes = bytes};
