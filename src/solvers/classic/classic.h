// The classic solver's state, and how machines run its passes.
#ifndef WEIR_CLASSIC_CLASSIC_H
#define WEIR_CLASSIC_CLASSIC_H

#include "compute/backend.h"
#include "solvers/classic/laws.h"

typedef struct classic_cpu classic_cpu;
typedef struct classic_opencl classic_opencl;

typedef struct classic {
    solver_state base;
    classic_cpu *cpu;  // one of these two
    classic_opencl *opencl;
    // Of the update under way.
    int32_t iterations;  // of the pressure that the next pass does
    int64_t drained;     // drops, by open sides
} classic;

extern const solver_part classic_on_cpu;     // cpu_classic.c
extern const solver_part classic_on_opencl;  // opencl_classic.c

// The passes, one list for both machines.
#define CLASSIC_PASSES(ITEM) \
    ITEM(move)               \
    ITEM(open_sides)         \
    ITEM(forces)             \
    ITEM(divergence)         \
    ITEM(pressure)           \
    ITEM(gradient)

#define DECLARE(name)                      \
    void classic_cpu_##name(void *solver); \
    void classic_opencl_##name(void *solver);
CLASSIC_PASSES(DECLARE)
#undef DECLARE

#endif
