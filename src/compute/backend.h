// Where rules run. A solver is an ordered list of passes over all live bricks, or over the bricks of one level of the pyramid;
// a backend runs them. Nothing else of a machine is known above this line.
#ifndef WEIR_COMPUTE_BACKEND_H
#define WEIR_COMPUTE_BACKEND_H

#include "cells/pyramid.h"
#include "world/world.h"

// Every pass: its name in the code, and under which name its time is booked.
#define PASS_LIST(ITEM)                                 \
    ITEM(MOVE, "mass and flow advection")               \
    ITEM(VISCOSITY, "viscosity")                        \
    ITEM(FORCES, "forces and noise")                    \
    ITEM(DIVERGENCE, "divergence and smoothing")        \
    ITEM(SMOOTH, "smoothing")                           \
    ITEM(RESTRICT, "residual and coarse operator")      \
    ITEM(LEVEL_BUILD, "coarse levels")                  \
    ITEM(LEVEL_LINK, "coarse levels")                   \
    ITEM(LEVEL_DOWN, "coarse levels")                   \
    ITEM(LEVEL_RESTRICT, "coarse levels")               \
    ITEM(LEVEL_SWEEP, "coarse levels")                  \
    ITEM(LEVEL_UP, "coarse levels")                     \
    ITEM(LEVEL_SMOOTH, "coarse levels")                 \
    ITEM(CORRECT, "coarse correction")                  \
    ITEM(TOUCH_UP, "touching up")                       \
    ITEM(GRADIENT, "pressure gradient")                 \
    ITEM(CLASSIC_MOVE, "mass and flow advection")       \
    ITEM(CLASSIC_DIVERGENCE, "divergence and pressure") \
    ITEM(CLASSIC_PRESSURE, "pressure")                  \
    ITEM(CLASSIC_GRADIENT, "pressure and gradient")     \
    ITEM(DRAIN_SIDES, "open sides")

typedef enum pass_id {
#define PASS_ENUM(name, text) PASS_##name,
    PASS_LIST(PASS_ENUM)
#undef PASS_ENUM
        PASS_COUNT
} pass_id;

enum {
    COARSEST_SWEEPS = 32,  // on the coarsest level, in one LEVEL_SWEEP
    TOUCH_UP_ROUNDS = 8    // at most, in one TOUCH_UP
};

typedef struct backend backend;

struct backend {
    // Makes ready for an update on the bricks that are live now. May fail on memory, with nothing changed.
    weir_status (*prepare)(backend *b);
    // After emitters and drains, before the first pass. NULL: nothing to do.
    void (*begin)(backend *b);
    // After the last pass. A device may have failed meanwhile. NULL: nothing to do.
    weir_status (*finish)(backend *b);
    // Runs one pass; `level` is the pyramid's level for the LEVEL_ passes, the number of pressure iterations for those of
    // classic, and for TOUCH_UP 1 if another cycle may follow.
    void (*run)(backend *b, pass_id pass, int32_t level);
    // Runs a game's rule over all live bricks.
    void (*run_rule)(backend *b, world_rule *rule);
    // After the passes of an update's first `cycles` cycles: whether what the last of them left asks for one more. A device need not
    // know that yet: it may say yes, and do nothing in the passes of a cycle that is not needed.
    bool (*unsolved)(backend *b, int32_t cycles);
    // Drops that the last DRAIN_SIDES took.
    int64_t (*drained)(const backend *b);
    int32_t (*levels)(const backend *b);  // the pyramid's coarsest level
    int64_t (*bytes)(const backend *b);
    // NULL, or what is broken of the lists and levels that an update works with. Between updates; may use scratch channels.
    const char *(*validate)(backend *b);
    void (*destroy)(backend *b);
};

weir_status cpu_backend_create(weir_world *world, backend **out);

// `device` is as in weir_world_def. WEIR_ERROR_UNSUPPORTED where there is no OpenCL.
weir_status opencl_backend_create(weir_world *world, const char *device, backend **out);

const char *backend_pass_name(pass_id pass);

// Books time under a rule's name, which is kept.
void backend_book_time(weir_world *world, const char *name, double seconds);

// Where the head counts and dust falls: along the axis with the most gravity.
typedef struct backend_down {
    int32_t axis, sign;  // sign 0: nowhere
    float head, inverse_head;
} backend_down;

backend_down backend_find_down(const weir_params *params);

#endif
