// What the momentum solver's OpenCL kernels and their host both know, like compute/opencl_shared.h.
#ifndef WEIR_MOMENTUM_DEVICE_H
#define WEIR_MOMENTUM_DEVICE_H

#ifndef __OPENCL_VERSION__
#include "compute/opencl_shared.h"
#include "solvers/momentum/cycles.h"
#include "solvers/momentum/substeps.h"
#endif

// Work-items that move a run of bricks along z, and those of a group that takes the gradient, 64 to a brick.
#define DEVICE_MOVE_GROUP 128
#define DEVICE_GRADIENT_GROUP 128

// What the move's limits go by, in drops.
typedef struct device_limits {
    float dust, fill_cap, empty;
    float full;                      // a cell that holds so much takes in nothing any more: rule_full
    float falls_above, falls_below;  // what a cell must hold for dust to pass its low face
} device_limits;

// What R8 and the laws behind it go by.
typedef struct device_finish {
    float damping, inverse_calm;  // 1 over the flow from which on nothing is lost
    float gap;                    // how far a rising surface's upper face stays behind
    float film, film_drag, friction;
    float air;  // pressure of the open air
} device_finish;

// What a gas goes by.
typedef struct device_gas {
    float k, twice_k;
    float damping, inverse_calm, max_flow;
} device_gas;

// What tells how many substeps the next update takes: a flow that is too fast for one, and where faces are counted that are too fast for each
// rung; -1: nowhere. Two updates have their counts in turn.
typedef struct device_fast {
    float too_fast;
    int counts;  // in the header
    int clears;  // of the other update
} device_fast;

// An awake brick and the six at its faces, whether they are worked on or not: 4 times each, and what it is. `loss_x` and so
// on: the share of its flow that its water loses.
typedef struct device_beside {
    int brick, x0, x1, y0, y1, z0, z1;
    float loss_x, loss_y, loss_z;
} device_beside;

enum {
    DEVICE_BESIDE_NOTHING,  // nothing, or dry and asleep
    DEVICE_BESIDE_ASLEEP,
    DEVICE_BESIDE_RIM,
    DEVICE_BESIDE_AWAKE
};

// What rest goes by, in the measure of a whole update.
typedef struct device_rest {
    float gravity_x, gravity_y, gravity_z, head;
    float viscosity, moves;  // `moves`: the least flux that moves
} device_rest;

// One level of the pyramid on the device. All levels share one buffer of floats and one of ints, the tree, which also has a
// table of them. In the floats a level has its channels one after the other, `room` bricks each; brick 0 is nothing and, like
// octants without a child, zero for ever.
typedef struct device_level {
    int first;  // where its channels begin in the floats, counted in bricks: channel c of brick b is brick first + c * room + b
    int room;
    int count;  // bricks, the nothing included
    int near;   // where its neighbours begin in the tree, 27 per brick
    int up;     // where its way up begins in the tree: 8 * brick of the level above + octant, one per brick
    int child;  // where its way down begins in the tree: 8 bricks of the level below per brick
    int stamp;  // where its stamps begin in the tree
} device_level;

// A cycle of the pressure.
typedef struct device_cycle {
    int index;        // among those of its update
    int speculative;  // 1: it was enqueued before anybody knew whether it is needed; if it is not, its kernels do nothing
    int anew;         // 1: the operator is made anew everywhere, 0: only where active cells changed since the last cycle
    int may_follow;   // 1: another one may follow
    int awake;        // bricks
    int fresh;        // 1: the pressure is solved anew
    float tolerance;
} device_cycle;

// The statistics of a cycle.
enum {
    DEVICE_RAN,          // 1: it was needed
    DEVICE_BEGUN,        // the bits of the largest residual that it began with
    DEVICE_LEFT,         // and of the largest that it left, if that was the tolerance or more
    DEVICE_UNCONVERGED,  // how many bricks had that much left
    DEVICE_CYCLE_STATS_SIZE
};

// How many cycles there were since there is such a buffer; how many bricks each round of local relaxation smoothed after each cycle
// of an update; and the statistics of these cycles, the first one's last, so that what the host reads lies together. Bricks of every
// level bear the number of the cycle before which their active cells changed last, as a stamp.
#define DEVICE_CYCLES 16  // as many as parameters allow
#define DEVICE_CYCLE_NUMBER 0
#define DEVICE_SMOOTHED(index) (16 + LOCAL_RELAX_ROUNDS * (index))
#define DEVICE_HEADER_INTS (DEVICE_SMOOTHED(DEVICE_CYCLES) + DEVICE_CYCLE_STATS_SIZE * DEVICE_CYCLES)
#define DEVICE_FAST_FACES(update) (DEVICE_HEADER_INTS + 8 * ((update)&1))  // behind them: see device_fast
#define DEVICE_CYCLE_STATS(index) (DEVICE_HEADER_INTS - DEVICE_CYCLE_STATS_SIZE * ((index) + 1))

// The solver's own tables.
#define DEVICE_DRY(room) DEVICE_SOLVER_TABLES(room)              // a byte per brick, by its number in the list: see divergence
#define DEVICE_STAMPS(room) (DEVICE_DRY(room) + (room))          // an int per brick: see the header
#define DEVICE_RELAXED(room) (DEVICE_STAMPS(room) + 4 * (room))  // an int per brick: see relaxation.cl
#define DEVICE_LISTED(room) (DEVICE_RELAXED(room) + 4 * (room))  // the lists of unconverged bricks
#define DEVICE_ACTIVE(room) (DEVICE_LISTED(room) + 4 * (LOCAL_RELAX_ROUNDS + 1) * (room))  // masks: the active cells
#define DEVICE_THIN(room) (DEVICE_ACTIVE(room) + 64 * (room))          // two bytes per row: cells that are empty, and thin ones
#define DEVICE_SURFACE(room) (DEVICE_THIN(room) + 128 * (room))        // likewise, of rows with thin cells: see store_thin
#define DEVICE_TABLES_END(room) (DEVICE_SURFACE(room) + 128 * (room))  // the end

// Bricks that are relaxed locally at a time: as many as keep a device busy.
#define DEVICE_RELAX_BRICKS 2048

// What a coarse cell holds, as in the CPU's pyramid, and besides the weights of its links and its border faces. Level 0, the live
// bricks, has none of it and only a way up. On level 1 all counts are small, and one word holds them.
enum {
    DEVICE_RIGHT,
    DEVICE_ERROR,
    DEVICE_ERROR_NEXT,
    DEVICE_DIAGONAL,
    DEVICE_WEIGHT_X,
    DEVICE_WEIGHT_Y,
    DEVICE_WEIGHT_Z,
    DEVICE_COUNTS,
    DEVICE_PLAIN,           // a byte per row
    DEVICE_FIRST_CHANNELS,  // of level 1
    DEVICE_LINK_X = DEVICE_COUNTS,
    DEVICE_LINK_Y,
    DEVICE_LINK_Z,
    DEVICE_THICK_X,
    DEVICE_THICK_Y,
    DEVICE_THICK_Z,
    DEVICE_BORDER_X,
    DEVICE_BORDER_Y,
    DEVICE_BORDER_Z,
    DEVICE_COUNT,
    DEVICE_LEVEL_CHANNELS  // of the others
};

// Levels that coarse_tail does together, at most: of 8, 4, 2 and 1 cells on an axis.
#define DEVICE_TAIL_LEVELS 4

#endif
