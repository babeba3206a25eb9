// The momentum solver's state, and how machines run its passes.
#ifndef WEIR_MOMENTUM_MOMENTUM_H
#define WEIR_MOMENTUM_MOMENTUM_H

#include "cells/flow_channels.h"
#include "compute/backend.h"
#include "solvers/momentum/substeps.h"

typedef struct momentum_cpu momentum_cpu;
typedef struct momentum_opencl momentum_opencl;
typedef struct momentum_pockets momentum_pockets;

typedef struct momentum {
    solver_state base;
    momentum_cpu *cpu;  // one of these two
    momentum_opencl *opencl;
    momentum_pockets *pockets;  // NULL: air is a vacuum
    // Of the last update.
    int32_t cycles;
    float residual;  // the largest, before the last cycle
    // V-cycles that the next update may run: as many as the last one ran, and one more if that was not enough. 0: as many as the
    // parameters allow.
    int32_t cycles_next;
    int32_t substeps;  // of the last update
    // Substeps that the next update takes, if the parameters allow so many: from the flow that the last one began with.
    int32_t substeps_next;
    int32_t flow_bound;  // no flow is larger, in cells per update
    // Of a fill under way: drops that it adds to each column of cells along gravity (standing.c).
    int64_t *filled;
    size_t filled_room;
    // Of the update under way.
    int32_t cycle;            // from 0 on
    bool may_follow;          // another cycle may follow this one
    bool unsolved;            // and must, as far as the machine knows: a device may say so and then do nothing in it
    bool fresh;               // the pressure is solved anew, whatever it takes: nothing is known of it from the update before
    int64_t drained;          // drops, by open sides
    int32_t substep_count;    // of the update
    weir_params params;       // as they count for a substep
    int32_t substep;          // from 0 on
    float sleep;              // of the world's parameters: flow below which water falls asleep; a gas never does
    float scale, flow_limit;  // of the pass that brings flow into another measure
} momentum;

// standing.c: an edit in two halves, as a solver_table has it. The second tells whether the pressure of fluid that was there jumped, or of
// what was filled in.
weir_status momentum_prepare(void *state, const world_edit *edit);
bool momentum_fill(momentum *m, const world_edit *edit);

// ---- pockets.c: air under water (docs/how-it-works.md, "Air") -----------------------------------------------------------------

enum {
    // Of worlds with air: the gas in a cell, in drops that it would fill at the density of the open air, and 1; 0 in cells of the open air. Gas in a
    // cell that is no air is in bubbles too small to have a pressure.
    CHANNEL_GAS = FLOW_CHANNELS,
    CHANNEL_GAS_NEXT,  // scratch
    AIR_CHANNELS,
    AIR_PIECES = 16,      // of a brick's air that are told apart; further ones count as the last one's
    AIR_SEARCHED = 4096,  // most pieces of bricks without water that air is followed through; what is larger is open air
    AIR_GAS_MOST = 1 << 30
};

// The values of cells that pockets are found from. `air` gets the pressure of the air in cells and beside them: see air.h.
typedef struct air_cells {
    const int32_t *before, *after;  // drops, of a move
    int32_t *gas;
    float *air;
} air_cells;

// NULL if memory ran out.
momentum_pockets *pockets_create(fluid_cells *c);
void pockets_destroy(momentum_pockets *p);
int64_t pockets_bytes(const momentum_pockets *p);

// Before an update, in place of cells_reserve: the bricks that there are, with those of air that is shut in.
weir_status pockets_reserve(momentum_pockets *p);

// The terrain has changed, or regions have left or come.
void pockets_forget(momentum_pockets *p);

// After a move, one of `substeps` of an update.
void pockets_find(momentum_pockets *p, const air_cells *cells, int32_t substeps);

// By brick: the pressure of its air where the last pockets_find found nothing else there but terrain; else AIR_NONE.
const float *pockets_calm_air(const momentum_pockets *p);

// ---- Machines and passes -----------------------------------------------------------------------------------------------------

extern const solver_part momentum_on_cpu;     // cpu_momentum.c
extern const solver_part momentum_on_opencl;  // opencl_momentum.c

// Whether what it moves is a gas.
static inline bool momentum_is_gas(const momentum *m)
{
    return m->base.cells.world->params.momentum.gas > 0.0f;
}

// Flow that one substep takes.
static inline float momentum_substep_flow(const momentum *m)
{
    return momentum_is_gas(m) ? SUBSTEP_GAS_FLOW : SUBSTEP_FLOW;
}

// The passes, one list for both machines: its name in the code.
#define MOMENTUM_PASSES(ITEM) \
    ITEM(move)                \
    ITEM(open_sides)          \
    ITEM(viscosity)           \
    ITEM(forces)              \
    ITEM(air)                 \
    ITEM(divergence)          \
    ITEM(smooth)              \
    ITEM(restrict_fine)       \
    ITEM(coarse_levels)       \
    ITEM(correct)             \
    ITEM(smooth_back)         \
    ITEM(local_relax)         \
    ITEM(gradient)            \
    ITEM(rescale)             \
    ITEM(gas)                 \
    ITEM(double_values)       \
    ITEM(book_rim)            \
    ITEM(trim_rim)            \
    ITEM(rest)

#define DECLARE(name)                       \
    void momentum_cpu_##name(void *solver); \
    void momentum_opencl_##name(void *solver);
MOMENTUM_PASSES(DECLARE)
#undef DECLARE

#endif
