// What the momentum solver keeps on the CPU.
#ifndef WEIR_MOMENTUM_CPU_MOMENTUM_H
#define WEIR_MOMENTUM_CPU_MOMENTUM_H

#include "solvers/momentum/cpu_args.h"
#include "solvers/momentum/cpu_layout.h"
#include "solvers/momentum/momentum.h"

// Flags of every brick.
typedef struct brick_flags {
    brick_mask *active;  // see momentum_args
    uint8_t *dry;
    brick_mask *thin;
    uint8_t *unconverged;
    uint8_t *drained;
    uint8_t *listed;  // 1: in a list that is being made
    int32_t *list;    // of bricks to be relaxed locally, or of the rim
    int32_t room;     // bricks there is room for
} brick_flags;

struct momentum_cpu {
    cpu_machine *machine;
    uint64_t ready;  // version of the pool that all is made for; UINT64_MAX: some of it is not
    const momentum_kernels *kernels;
    pyramid levels;
    brick_flags flags;
    float *sixths;  // see momentum_args
    momentum_args args;
    _Atomic int32_t
        fast_faces[SUBSTEP_RUNGS];  // how many ask for more substeps than each rung has, at the beginning of the update
};

#endif
