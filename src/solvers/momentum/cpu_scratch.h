// The scratch of a worker that runs the momentum solver's kernels. Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_SCRATCH_H
#define WEIR_MOMENTUM_CPU_SCRATCH_H

#include "compute/cpu_tile.h"
#include "solvers/momentum/cpu_args.h"
#include "solvers/momentum/cpu_layout.h"

// Lanes that are worked on at once, and where in a row the first of them lies: two cells beside the column's own or, where a group is as long
// as a cache line, at the beginning of one.
#ifdef __AVX512F__
enum { GROUP = 16, ROW_BEGIN = -8 };
#else
enum { GROUP = 8, ROW_BEGIN = -4 };
#endif
enum { CARRY_GROUP = 16 };  // of R4, whose loops look at so many places that two groups in one turn are better

enum {
    SY = 8 * COLUMN_X + 16,                         // stride of y in a plane
    SWEEP_PLANE = SY * (8 * COLUMN_Y + 8) + 2 * 16  // rows may look a few lanes over both ends
};

// Where a cell lies in a plane.
#define SWEEP_AT(x, y) (24 + (x) + SY * ((y) + 4))

typedef float sweep_plane[SWEEP_PLANE];

// A bit for each two lanes of a row from x = -8 on.
typedef uint64_t row_pairs;

// Planes that are kept, by plane number modulo their count.
typedef struct sweep_planes {
    _Alignas(64) sweep_plane m[5], flow_x[4], flow_y[4], flow_z[4], F_x[3], F_y[3], F_z[3], q[2], h[2], m2[2], open[3];
    _Alignas(64) sweep_plane carried[3];  // through the planes' high sides, for the flow on each axis
    _Alignas(64) float carried_along[3][SY], carried_up[3][SY], row[3][SY];  // from x = 0 on
    // Rows of cells, by y: pairs of lanes, see cpu_planes.h.
    row_pairs wet[5][8 * COLUMN_Y + 8];   // from y = -4 on; with water in reach
    row_pairs near[3][8 * COLUMN_Y + 3];  // from y = -2 on; and those beside such
    row_pairs fast[4][8 * COLUMN_Y + 2];  // from y = -1 on; with flow that is fast enough for R4b
    bool corners_flat[2][8 * COLUMN_Y + 1], corners_deep[2][8 * COLUMN_Y + 1];  // see find_corners
    _Alignas(64) int32_t drops[SY], holds[COLUMN_Y][SY], differs[COLUMN_Y][SY];
} sweep_planes;

typedef struct momentum_scratch {
    _Alignas(64) run_tile m, flow[3], open;
    _Alignas(64) brick_tile tile[4], pushed[3];
    _Alignas(64) brick_sides sides[2];
    _Alignas(64) fill_tile fill[RUN_MAX + 2];
    _Alignas(64) float flux_x[2][16 + BRICK_CELLS + 16];
    _Alignas(64) float brick[3][BRICK_CELLS], correction[8][BRICK_CELLS];
    sweep_planes sweep;
} momentum_scratch;

#endif
