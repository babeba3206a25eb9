// What the CPU backend hands to its kernels. The kernels are compiled several times, for several widths of SIMD, and reached
// through one table per width; all widths give the same bits.
#ifndef WEIR_COMPUTE_CPU_H
#define WEIR_COMPUTE_CPU_H

#include "cells/pyramid.h"
#include "world/world.h"

enum { RUN_MAX = 4 };  // bricks side by side along x that are worked on as one

// A run of 1, 2 or 4 bricks side by side along x: long rows for wide registers, and fewer rims to copy.
typedef struct brick_run {
    int32_t count;
    int32_t brick[RUN_MAX];
} brick_run;

// A box of bricks that lie together, worked on as one by sweeps along z. Boxes begin at coordinates that are multiples of their size.
enum {
    BOX_X_BITS = 2,
    BOX_Y_BITS = 1,
    BOX_Z_BITS = 3,           // fewer where there would not be enough boxes for all threads
    BOX_X = 1 << BOX_X_BITS,  // most bricks along each axis
    BOX_Y = 1 << BOX_Y_BITS,
    BOX_Z = 1 << BOX_Z_BITS
};

typedef struct brick_box {
    weir_coord low;      // coordinate of its first brick
    int32_t nx, ny, nz;  // bricks along each axis
    // The bricks by z, y, x, and those around them, from -1 on: nothing where none is near the box's own.
    int32_t brick[BOX_Z + 2][BOX_Y + 2][BOX_X + 2];
} brick_box;

enum { COLUMN_X = 8, COLUMN_Y = 2, COLUMN_Z = 8 };  // most bricks on each axis that are swept as one

// Bricks that lie together, for a sweep along z. Some of the box may be missing.
typedef struct brick_column {
    int32_t first;         // the others follow by pass_args.next
    weir_coord low, size;  // of the box that holds them, in bricks
} brick_column;

// All that a pass reads. Set up once per update.
typedef struct pass_args {
    // Bricks.
    int32_t end;  // indices of bricks are below it
    const uint8_t *alive;
    const int32_t (*near)[27];
    const weir_coord *coord;
    const int32_t *next;  // the next brick of a column, or BRICK_NOTHING
    const brick_mask *open;
    const uint8_t *clear;  // 1: the brick and its 26 neighbours are open throughout
    const float *ones;     // a run tile that is all 1
    const float *sixths;   // a run tile that is all 1/6, for cells with six open faces
    brick_mask *active;    // cells whose pressure is above its floor
    uint8_t *dry;          // 1: no mass in the brick or within two cells of it; divergence is -1 and floor 0 throughout
    uint8_t *full;         // 1: all open cells of the brick hold water after the move; the nothing counts as such
    uint8_t *restless;     // 1: it had active cells and the tolerance or more was left in it when it was touched up last
    const uint8_t
        *drained;  // 1: an open side took water from the brick in this update, whose flow is still there; NULL: none are open
    uint8_t *wet;
    const uint8_t *held;  // wet as it was before the move (classic)
    int64_t *changed;
    int64_t change;
    const pyramid *levels;
    const float (*flags)[8];  // eight flags in a byte as floats 1 and 0
    // Channels. divergence and floor share memory with flow[0] and flow[1]: see cpu.c.
    int32_t *mass, *mass_next;
    float *flow[3], *flow_next[3];
    float *moved[3];  // NULL unless a rule asked for it
    float *pressure, *pressure_next;
    float *divergence, *floor;
    // Numbers.
    float gravity[3];
    float force_scale;             // flow that an acceleration of 1 gives per update
    int32_t down_axis, down_sign;  // where the head counts and dust falls; sign 0: nowhere
    float head, inverse_head;      // size of gravity along that axis
    float keep, max_flow, dust, fill_cap, empty, excess_rate, excess_cap, viscosity, noise;
    uint32_t noise_seed;
    int64_t update;
    int32_t smooths;
    float tolerance;
    int32_t sweeps;      // of the coarsest level in this visit
    int32_t iterations;  // of the pressure in this sweep (classic)
    const world_source *sources;
    int32_t source_count;
} pass_args;

typedef struct cpu_scratch cpu_scratch;

// What a worker adds up; combined in an order-free way.
typedef struct worker_sum {
    float residual;  // the largest
    char pad[60];    // a cache line each
} worker_sum;

typedef void run_kernel(const pass_args *a, cpu_scratch *s, const brick_run *r);
typedef void box_kernel(const pass_args *a, cpu_scratch *s, const brick_box *box);
typedef void column_kernel(const pass_args *a, cpu_scratch *s, const brick_column *c);
typedef float brick_kernel(const pass_args *a, cpu_scratch *s, int32_t brick);
typedef void level_kernel(const pass_args *a, cpu_scratch *s, int32_t level, int32_t brick);

typedef struct cpu_kernels {
    size_t scratch_size, tile_size;  // of a worker's scratch, and of a run tile
    column_kernel *move;
    run_kernel *viscosity, *forces, *divergence, *smooth, *smooth_back, *gradient;
    box_kernel *classic_move, *classic_divergence, *classic_pressure, *classic_gradient;
    // Over the bricks of level 1: residual of the live bricks below, and the first coarse operator. Returns the largest residual.
    brick_kernel *restrict_fine;
    // Smooths a live brick once more, from pressure to pressure_next, if it is restless. Returns the largest residual it had.
    brick_kernel *touch_up;
    level_kernel *correct_fine;
    level_kernel *build, *link, *down, *restrict_level, *sweep, *up, *smooth_level;
} cpu_kernels;

extern const cpu_kernels cpu_kernels_scalar;
extern const cpu_kernels cpu_kernels_avx2;
extern const cpu_kernels cpu_kernels_avx512;

#endif
