// The momentum solver's kernels for the CPU. This file is compiled once per width of SIMD with CPU_WIDTH as its name; the compiler turns
// the rows into vector code. All widths give the same bits: no contraction, and sums written in a fixed order.
#include "compute/cpu_forces.h"
#include "solvers/momentum/cpu_gas.h"
#include "solvers/momentum/cpu_gradient.h"
#include "solvers/momentum/cpu_levels.h"
#include "solvers/momentum/cpu_pressure.h"
#include "solvers/momentum/cpu_rest.h"
#include "solvers/momentum/cpu_sweep.h"
#include "solvers/momentum/cpu_viscosity.h"
#include "solvers/momentum/cycles.h"
#include "solvers/momentum/substeps.h"

static void move_kernel(const void *args, void *scratch, const brick_column *c)
{
    move(args, scratch, c);
}

static void forces(const void *args, void *scratch, const brick_run *r)
{
    const momentum_args *a = args;
    momentum_scratch *s = scratch;
    forces_run(&a->bricks, &a->forces, s->m, s->open, r);
}

static void viscosity(const void *args, void *scratch, const brick_run *r)
{
    const momentum_args *a = args;
    momentum_scratch *s = scratch;
    BY_LENGTH(viscosity_run, a, s, r);
}

static void gas(const void *args, void *scratch, const brick_run *r)
{
    const momentum_args *a = args;
    momentum_scratch *s = scratch;
    BY_LENGTH(gas_run, a, s, r);
}

static void gradient(const void *args, void *scratch, const brick_run *r)
{
    gradient_run(args, scratch, r);
}

static void rest(const void *args, void *scratch, const brick_run *r)
{
    (void)scratch;
    rest_run(args, r);
}

static void divergence(const void *args, void *scratch, const brick_run *r)
{
    divergence_run(args, scratch, r);
}

static void smooth(const void *args, void *scratch, const brick_run *r)
{
    const momentum_args *a = args;
    smooth_run(a, scratch, r, a->pressure, a->pressure_next);
}

static void smooth_back(const void *args, void *scratch, const brick_run *r)
{
    const momentum_args *a = args;
    smooth_run(a, scratch, r, a->pressure_next, a->pressure);
}

static float local_relax(const void *args, void *scratch, int32_t brick)
{
    const momentum_args *a = args;
    momentum_scratch *s = scratch;
    float left = residual_brick(a, s, brick, a->pressure, s->brick[1]);
    a->unconverged[brick] = rule_is_unconverged(!mask_empty(&a->active[brick]), left, a->tolerance);
    if (a->unconverged[brick]) smooth_brick(a, s, brick, a->pressure_next);
    return left;
}

static void scale_values(float *restrict values, float scale, float limit)
{
    LANES
    for (int i = 0; i < BRICK_CELLS; i++) values[i] = rule_scaled(values[i], scale, limit);
}

static float rescale(const void *args, void *scratch, int32_t brick)
{
    const momentum_args *a = args;
    (void)scratch;
    if (a->bricks.phase[brick] == PHASE_ASLEEP) return 0.0f;
    for (int axis = 0; axis < 3; axis++) scale_values(a->flow[axis] + first_cell(brick), a->scale, a->flow_limit);
    float *pressure = a->pressure + first_cell(brick);
    scale_values(pressure, a->scale * a->scale, PRESSURE_MAX);
    // That of a rim stays the same in both channels.
    if (a->bricks.phase[brick] == PHASE_RIM)
        memcpy(a->pressure_next + first_cell(brick), pressure, BRICK_CELLS * sizeof *pressure);
    return 0.0f;
}

static float restrict_kernel(const void *args, void *scratch, int32_t parent)
{
    return restrict_fine(args, scratch, parent);
}

#define LEVEL_KERNEL(name, brick_function)                                          \
    static void name(const void *args, void *scratch, int32_t level, int32_t brick) \
    {                                                                               \
        brick_function(args, scratch, level, brick);                                \
    }

LEVEL_KERNEL(correct, correct_fine)
LEVEL_KERNEL(build, build_level_brick)
LEVEL_KERNEL(link_level, link_brick)
LEVEL_KERNEL(down, down_brick)
LEVEL_KERNEL(restrict_level, restrict_level_brick)
LEVEL_KERNEL(sweep, sweep_level_brick)
LEVEL_KERNEL(up, up_brick)
LEVEL_KERNEL(smooth_level, smooth_level_brick)

#define TABLE_OF(width) momentum_kernels_##width
#define TABLE(width) TABLE_OF(width)

const momentum_kernels TABLE(CPU_WIDTH) = {
    .scratch_size = sizeof(momentum_scratch),
    .tile_size = sizeof(run_tile),
    .move = move_kernel,
    .viscosity = viscosity,
    .forces = forces,
    .gas = gas,
    .divergence = divergence,
    .smooth = smooth,
    .smooth_back = smooth_back,
    .gradient = gradient,
    .rest = rest,
    .restrict_fine = restrict_kernel,
    .local_relax = local_relax,
    .rescale = rescale,
    .correct_fine = correct,
    .build = build,
    .link = link_level,
    .down = down,
    .restrict_level = restrict_level,
    .sweep = sweep,
    .up = up,
    .smooth_level = smooth_level,
};
