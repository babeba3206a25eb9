// What a world asks of the solver that moves its fluid: one constant table of functions per solver. A solver's own state lies in memory
// of its own; the world holds a pointer to it and never looks inside.
#ifndef WEIR_WORLD_SOLVER_H
#define WEIR_WORLD_SOLVER_H

#include "world/params.h"
#include "world/world.h"

struct solver_table {
    weir_solver id;
    const char *name;
    param_table params;  // its own; none: all zero
    float speed;         // cells per update that a flow of 1 moves
    // The largest flow that a cell may be given, in the solver's own measure.
    float (*flow_max)(const weir_params *params);
    int32_t cell_max;  // the most drops that a cell can hold
    // Makes the state for a world that has everything else. On a failure *state is NULL.
    weir_status (*create)(weir_world *world, const weir_world_def *def, void **state);
    void (*destroy)(void *state);
    // An update in two halves. `reserve` does all that can fail and changes nothing; the bricks are in place. `update` fails only
    // when a device is lost.
    weir_status (*reserve)(void *state);
    weir_status (*update)(void *state);
    // NULL, or what is broken of the state. Between updates; may use scratch.
    const char *(*validate)(void *state);
    int64_t (*bytes)(const void *state);  // of its tables
    // What the last update did, into the solver's part of the stats. NULL: there is nothing to say.
    void (*stats)(const void *state, weir_stats *stats);
    // One number that the next update depends on besides the cells, 0 in a new world: part of hash and snapshot. NULL: there is
    // none, and it is always 0.
    int32_t (*carried)(const void *state);
    void (*set_carried)(void *state, int32_t carried);
};

// The list of solvers, by weir_solver (src/solvers/list.c).
extern const solver_table *const solver_list[WEIR_SOLVER_COUNT];

// The largest flow that a cell may be given, in cells per update.
static inline float solver_flow_max(const weir_world *world)
{
    return world->solver->flow_max(&world->params) * world->solver->speed;
}

static inline int32_t solver_carried(const weir_world *world)
{
    return world->solver->carried ? world->solver->carried(world->state) : 0;
}

#endif
