// The classic solver's kernels for the CPU. This file is compiled once per width of SIMD with CPU_WIDTH as its name; all widths give the
// same bits.
#include "solvers/classic/cpu_sweep.h"

static void forces(const void *args, void *scratch, const brick_run *r)
{
    const classic_args *a = args;
    classic_scratch *s = scratch;
    forces_run(&a->bricks, &a->forces, s->forces.m, s->forces.open, r);
}

#define COLUMN_KERNEL(name, sweep)                                                \
    static void name(const void *args, void *scratch, const brick_column *column) \
    {                                                                             \
        sweep(args, scratch, column);                                             \
    }

COLUMN_KERNEL(move, classic_move)
COLUMN_KERNEL(divergence, classic_divergence_sweep)
COLUMN_KERNEL(pressure, classic_pressure_sweep)
COLUMN_KERNEL(gradient, classic_gradient_sweep)

#define TABLE_OF(width) classic_kernels_##width
#define TABLE(width) TABLE_OF(width)

const classic_kernels TABLE(CPU_WIDTH) = {
    .scratch_size = sizeof(classic_scratch),
    .tile_size = sizeof(run_tile),
    .move = move,
    .divergence = divergence,
    .pressure = pressure,
    .gradient = gradient,
    .forces = forces,
};
