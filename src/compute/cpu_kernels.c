// The CPU's kernels. This file is compiled once per width of SIMD with CPU_KERNELS as the name of the table; the compiler turns the
// rows into vector code. All widths give the same bits: no contraction, and sums written in a fixed order.
#include "solvers/classic/cpu_classic.h"
#include "solvers/momentum/cpu_levels.h"
#include "solvers/momentum/cpu_pressure.h"
#include "solvers/momentum/cpu_sweep.h"
#include "solvers/momentum/cpu_viscosity.h"

#ifndef CPU_KERNELS
#error "CPU_KERNELS names the table that this build of the kernels fills"
#endif

#define RUN_KERNEL(name)                                                     \
    static void name(const pass_args *a, cpu_scratch *s, const brick_run *r) \
    {                                                                        \
        BY_LENGTH(name##_run, a, s, r);                                      \
    }

RUN_KERNEL(viscosity)
RUN_KERNEL(forces)
RUN_KERNEL(gradient)

static void smooth(const pass_args *a, cpu_scratch *s, const brick_run *r)
{
    smooth_run(a, s, r, a->pressure, a->pressure_next);
}

static void smooth_back(const pass_args *a, cpu_scratch *s, const brick_run *r)
{
    smooth_run(a, s, r, a->pressure_next, a->pressure);
}

static float touch_up(const pass_args *a, cpu_scratch *s, int32_t brick)
{
    float left = residual_brick(a, s, brick, a->pressure, s->brick[1]);
    a->restless[brick] = !mask_empty(&a->active[brick]) && left >= a->tolerance;
    if (a->restless[brick]) smooth_brick(a, s, brick, a->pressure_next);
    return left;
}

const cpu_kernels CPU_KERNELS = {
    .scratch_size = sizeof(cpu_scratch) > sizeof(classic_scratch) ? sizeof(cpu_scratch) : sizeof(classic_scratch),
    .tile_size = sizeof(run_tile),
    .move = move,
    .viscosity = viscosity,
    .forces = forces,
    .divergence = divergence_run,
    .smooth = smooth,
    .smooth_back = smooth_back,
    .gradient = gradient,
    .classic_move = classic_move,
    .classic_divergence = classic_divergence_sweep,
    .classic_pressure = classic_pressure_sweep,
    .classic_gradient = classic_gradient_sweep,
    .restrict_fine = restrict_fine,
    .touch_up = touch_up,
    .correct_fine = correct_fine,
    .build = build_level_brick,
    .link = link_brick,
    .down = down_brick,
    .restrict_level = restrict_level_brick,
    .sweep = sweep_level_brick,
    .up = up_brick,
    .smooth_level = smooth_level_brick,
};
