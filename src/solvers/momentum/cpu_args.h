// What the momentum solver hands to its kernels on the CPU, and the table of these kernels, one per width of SIMD.
#ifndef WEIR_MOMENTUM_CPU_ARGS_H
#define WEIR_MOMENTUM_CPU_ARGS_H

#include "compute/cpu.h"
#include <stdatomic.h>

// All that a pass reads. Set up once per update.
typedef struct momentum_args {
    cpu_bricks bricks;
    // Flags of bricks, made in the update.
    brick_mask *active;  // cells whose pressure is above its floor
    uint8_t *dry;        // 1: no mass in the brick or within two cells of it; divergence is -1 and floor 0 throughout
    brick_mask *thin;    // open cells that hold less than `thick` after the move
    const float *
        calm_air;  // the pressure of the air where a brick holds nothing else but terrain; AIR_NONE: it does; only if `air` is above 0
    uint8_t *unconverged;    // 1: it had active cells and the tolerance or more was left in it when it was looked at last
    const uint8_t *drained;  // 1: an open side took water from the brick, whose flow is still there; NULL: none are open
    const pyramid *levels;
    const float *sixths;  // a run tile that is all 1/6, for cells with six open faces
    // Channels. Divergence and floor share memory with flow[0] and flow[1], which nobody needs between divergence and gradient.
    int32_t *mass, *mass_next;
    float *flow[3], *flow_next[3];
    float *moved[3];  // NULL unless a rule asked for it
    float *pressure, *pressure_next;
    float *divergence, *floor;
    // Numbers.
    float gravity[3];
    int32_t down_axis, down_sign;  // where the head counts and dust falls; sign 0: nowhere
    float head, inverse_head;      // size of gravity along that axis
    float air;  // pressure of the open air; above 0: the floor has that of the air in and beside cells when R6 begins
    float damping, inverse_calm;  // 1 over the flow from which on nothing is lost
    float max_flow, dust, fill_cap, empty, excess_rate, excess_cap, viscosity, film, film_drag, friction;
    float thick;              // fill from which on R9, R9b and films have nothing to say
    float gas;                // k of a gas; 0: it is water
    float scale, flow_limit;  // of a pass that brings flow into another measure
    int32_t smooths;
    float tolerance;
    _Atomic int32_t *fast_faces;  // see momentum; NULL: they are not counted
    float too_fast;               // a flow that is too fast for an update of one substep, in the measure of those there are
    int32_t sweeps;               // of the coarsest level in this visit
    // What finds out which bricks have come to rest.
    const int32_t (*near_all)[27];  // neighbours, also those that are asleep
    brick_rest *rest;
    uint8_t *motion;  // see cells_sleep
    float rest_flux;  // the least flux that moves
    cpu_forces forces;
} momentum_args;

typedef struct momentum_kernels {
    size_t scratch_size, tile_size;  // of a worker's scratch, and of a run tile
    column_kernel *move;
    run_kernel *gas, *viscosity, *forces, *divergence, *smooth, *smooth_back, *gradient, *rest;
    // Over the bricks of level 1: residual of the live bricks below, and the first coarse operator. Gives the largest residual.
    brick_kernel *restrict_fine;
    // Smooths a live brick once more, from pressure to pressure_next, if it is unconverged. Gives the largest residual it had.
    brick_kernel *local_relax;
    // Brings flow and pressure of a live brick into another measure.
    brick_kernel *rescale;
    level_kernel *correct_fine;
    level_kernel *build, *link, *down, *restrict_level, *sweep, *up, *smooth_level;
} momentum_kernels;

extern const momentum_kernels momentum_kernels_scalar, momentum_kernels_avx2, momentum_kernels_avx512;

#endif
