// What the OpenCL kernels and their host both know. Written in the common part of C11 and OpenCL C 1.2, with types of 4 bytes only,
// so that it has one layout everywhere.
#ifndef WEIR_COMPUTE_OPENCL_SHARED_H
#define WEIR_COMPUTE_OPENCL_SHARED_H

#ifdef __OPENCL_VERSION__
typedef uint device_uint;
#else
#include <stdint.h>
typedef uint32_t device_uint;
#endif

// The numbers of an update that solvers share.
typedef struct device_numbers {
    float gravity_x, gravity_y, gravity_z;
    int down_axis, down_sign;  // where the head counts and dust falls; sign 0: nowhere
    float head, inverse_head;  // size of gravity along that axis
    float keep, max_flow, empty, noise;
    float force_scale;  // flow that an acceleration of 1 gives per update
    device_uint noise_seed, update;
    int source_count;
} device_numbers;

// Tables that kernels keep for each other and for the host: one buffer, because a launch takes the host longer for every
// buffer that it names. It begins with a header of the solver's own, as much as it likes of these bytes; behind it lie tables with room
// for `room` bricks, a multiple of 64, of which the solver's own come last. Where they begin, in bytes:
#define DEVICE_HEADER 896
#define DEVICE_READ_ALONG 64                               // so many of them, the last, are read whenever the flags are
#define DEVICE_BRICK_FLAGS DEVICE_HEADER                   // a byte per brick: DEVICE_WET and so on
#define DEVICE_PLACES(room) (DEVICE_BRICK_FLAGS + (room))  // the bricks that are worked on, a device_place each
#define DEVICE_SOLVER_TABLES(room) (DEVICE_PLACES(room) + 32 * (room))  // the solver's own

// What the host knows of a brick.
typedef struct device_row {
    int brick;
    int near[27];  // that are worked on; of a brick asleep none
    device_uint open[16];
    int coord[3];
    int clear;    // 1: the brick and its 26 neighbours are open throughout and worked on
    int newborn;  // 1: its values are zero, and must become so on the device
} device_row;

// A brick and the six at its faces, so that a kernel finds all of them at once.
typedef struct device_place {
    int brick, x0, x1, y0, y1, z0, z1;
    int clear;  // as in device_row
} device_place;

// Bricks in a line that one work-group goes through.
#define DEVICE_RUN 8
typedef struct device_run {
    int count;
    int brick[DEVICE_RUN];
} device_run;

// Bits of what a device says of a brick after a move.
#define DEVICE_WET 1
#define DEVICE_CHANGED 2
#define DEVICE_DRAINED 4   // an open side took water from it, whose flow is still there
#define DEVICE_STALE 8     // with a threshold of changes: the host says that it is to be told however little it changed
#define DEVICE_REPORTS 16  // and its change counts

#endif
