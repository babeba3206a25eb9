// What the classic solver hands to its kernels on the CPU, and the table of these kernels, one per width of SIMD.
#ifndef WEIR_CLASSIC_CPU_ARGS_H
#define WEIR_CLASSIC_CPU_ARGS_H

#include "compute/cpu.h"

enum { SWEEP_X = 4, SWEEP_Y = 2, SWEEP_Z = 8 };  // most bricks on each axis that are swept as one

// The bricks of a column by z, y, x, and those around it, from -1 on. Made when bricks come or go: passes look at all of them, and their
// neighbours lie far apart in memory.
typedef struct column_bricks {
    int32_t nx, ny, nz;  // along each axis
    int32_t at[SWEEP_Z + 2][SWEEP_Y + 2][SWEEP_X + 2];
} column_bricks;

// All that a pass reads. Set up once per update.
typedef struct classic_args {
    cpu_bricks bricks;
    const brick_column *columns;         // all of them
    const column_bricks *column_bricks;  // and their bricks
    const uint8_t *held;                 // wet as it was before the move
    // Channels. Divergence shares memory with flow[0], which nobody needs between divergence and gradient.
    int32_t *mass, *mass_next;
    float *flow[3], *flow_next[3];
    float *moved[3];  // NULL unless a rule asked for it
    float *pressure, *pressure_next;
    float *divergence;
    // Numbers.
    float gravity[3];
    float keep, max_flow, empty;
    int32_t iterations;  // of the pressure in this sweep
    cpu_forces forces;
} classic_args;

typedef struct classic_kernels {
    size_t scratch_size, tile_size;  // of a worker's scratch, and of a run tile
    column_kernel *move, *divergence, *pressure, *gradient;
    run_kernel *forces;
} classic_kernels;

extern const classic_kernels classic_kernels_scalar, classic_kernels_avx2, classic_kernels_avx512;

#endif
