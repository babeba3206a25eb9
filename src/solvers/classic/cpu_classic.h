// What the classic solver keeps on the CPU.
#ifndef WEIR_CLASSIC_CPU_CLASSIC_H
#define WEIR_CLASSIC_CPU_CLASSIC_H

#include "solvers/classic/classic.h"
#include "solvers/classic/cpu_args.h"

struct classic_cpu {
    cpu_machine *machine;
    uint64_t ready;  // version of the pool that all is made for; UINT64_MAX: some of it is not
    const classic_kernels *kernels;
    uint8_t *held;  // see classic_args
    int32_t room;   // bricks there is room for in it
    column_bricks *columns;
    int32_t column_room;
    uint64_t columns_version;  // of the pool that they were made for
    classic_args args;
};

#endif
