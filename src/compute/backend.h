// Where rules run. A solver is an ordered list of passes over all live bricks, or over the bricks of one level of the pyramid;
// a backend runs them. Nothing else of a machine is known above this line.
#ifndef WEIR_COMPUTE_BACKEND_H
#define WEIR_COMPUTE_BACKEND_H

#include "world/pyramid.h"
#include "world/world.h"

// Every pass: its name in the code, and under which name its time is booked.
#define PASS_LIST(ITEM)                            \
    ITEM(MOVE, "mass and flow advection")          \
    ITEM(VISCOSITY, "viscosity")                   \
    ITEM(FORCES, "forces and noise")               \
    ITEM(DIVERGENCE, "divergence and smoothing")   \
    ITEM(SMOOTH, "smoothing")                      \
    ITEM(RESTRICT, "residual and coarse operator") \
    ITEM(LEVEL_BUILD, "coarse levels")             \
    ITEM(LEVEL_LINK, "coarse levels")              \
    ITEM(LEVEL_DOWN, "coarse levels")              \
    ITEM(LEVEL_RESTRICT, "coarse levels")          \
    ITEM(LEVEL_SWEEP, "coarse levels")             \
    ITEM(LEVEL_UP, "coarse levels")                \
    ITEM(LEVEL_SMOOTH, "coarse levels")            \
    ITEM(CORRECT, "coarse correction")             \
    ITEM(GRADIENT, "pressure gradient")            \
    ITEM(CLASSIC_MOVE, "mass and flow advection")  \
    ITEM(CLASSIC_DIVERGENCE, "divergence")         \
    ITEM(CLASSIC_PRESSURE, "pressure")             \
    ITEM(CLASSIC_GRADIENT, "pressure gradient")    \
    ITEM(DRAIN_SIDES, "open sides")

typedef enum pass_id {
#define PASS_ENUM(name, text) PASS_##name,
    PASS_LIST(PASS_ENUM)
#undef PASS_ENUM
        PASS_COUNT
} pass_id;

enum { COARSEST_SWEEPS = 32 };  // on the coarsest level, in one LEVEL_SWEEP

typedef struct backend backend;

struct backend {
    // Makes ready for an update on the bricks that are live now. May fail on memory, with nothing changed.
    weir_status (*prepare)(backend *b);
    // Runs one pass; `level` is the pyramid's level for the LEVEL_ passes, the number of iterations for CLASSIC_PRESSURE.
    void (*run)(backend *b, pass_id pass, int32_t level);
    // Runs a game's rule over all live bricks.
    void (*run_rule)(backend *b, world_rule *rule);
    // Largest residual that the last RESTRICT saw.
    float (*residual)(const backend *b);
    // Drops that the last DRAIN_SIDES took.
    int64_t (*drained)(const backend *b);
    int32_t (*levels)(const backend *b);  // the pyramid's coarsest level
    int64_t (*bytes)(const backend *b);
    void (*destroy)(backend *b);
};

weir_status cpu_backend_create(weir_world *world, backend **out);

#endif
