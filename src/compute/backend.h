// A machine: where the passes of a solver run. Machines know how to run things and what travels, and no law; what a solver does with one
// of them lies in the solver's folder.
#ifndef WEIR_COMPUTE_BACKEND_H
#define WEIR_COMPUTE_BACKEND_H

#include "cells/cells.h"
#include "cells/forces.h"

// One sweep of a solver's update: the name under which its time is booked, and how each machine runs it. `solver` is the solver's own
// state.
typedef struct pass {
    const char *name;
    void (*on_cpu)(void *solver);
    void (*on_opencl)(void *solver);
} pass;

// PASS("open sides", NAME, open_sides): how it runs is NAME_cpu_open_sides and NAME_opencl_open_sides.
#if WEIR_HAVE_OPENCL
#define PASS(text, solver, name)                          \
    {                                                     \
        text, solver##_cpu_##name, solver##_opencl_##name \
    }
#else
#define PASS(text, solver, name)        \
    {                                   \
        text, solver##_cpu_##name, NULL \
    }
#endif

typedef struct backend backend;

struct backend {
    // After emitters and drains, before the first pass. NULL: nothing to do.
    void (*begin)(backend *b);
    // After the last pass. A device may have failed meanwhile. NULL: nothing to do.
    weir_status (*finish)(backend *b);
    void (*run)(backend *b, const pass *p, void *solver);
    // Runs a game's rule over all live bricks.
    void (*run_rule)(backend *b, cell_rule *rule);
    int64_t (*bytes)(const backend *b);
    // NULL, or what is broken of the lists that an update works with. Between updates; may use scratch channels.
    const char *(*validate)(backend *b);
    void (*destroy)(backend *b);
};

// What a solver has on one machine, as functions of the solver's own state. `destroy` is called also after a `create` that failed.
typedef struct solver_part {
    weir_status (*create)(void *solver, const char *device);
    void (*destroy)(void *solver);
    weir_status (*reserve)(void *solver);
    const char *(*validate)(void *solver);
    int64_t (*bytes)(const void *solver);
    void (*finished)(void *solver);  // at the end of an update, when the flags of its bricks are here; NULL: nothing to do
} solver_part;

// What every solver's state begins with.
typedef struct solver_state {
    fluid_cells cells;
    const solver_part *part;  // on the machine that the world runs on
    backend *machine;         // made by the part
} solver_state;

// Makes a state of so many bytes, zero but for its beginning, with its part on the machine that the definition asks for; NULL: it
// does not run there. The other functions are those of a solver_table, for every state that begins so.
weir_status solver_state_create(weir_world *world, const weir_world_def *def, size_t bytes, const cell_layout *layout,
                                const solver_part *cpu, const solver_part *opencl, void **state);
weir_status solver_state_reserve(void *state);
const char *solver_state_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here);

// The end of an update: which bricks count as changed, what it cost, and whether a device failed meanwhile.
weir_status solver_state_finish(solver_state *s);

// Frees the part and then the state, of the size that it was made with.
void solver_state_free(void *state, size_t bytes);

// The lines of a solver_table that are the same for all such solvers. What edits do and `reserve` are left to them: see
// SOLVER_STATE_EDITS.
#define SOLVER_STATE_TABLE                                                                                         \
    .view = cells_view, .freeze = cells_freeze, .hash = cells_hash, .save = cells_save, .load = cells_load,        \
    .adopt = cells_adopt, .discard = cells_discard, .validate = solver_state_validate, .add_rule = cells_add_rule, \
    .find_channel = cells_find_channel, .channel_value = cells_channel_value, .hash_rules = cells_hash_rules,      \
    .is_remote = cells_is_remote, .catch_up = cells_catch_up, .device_status = cells_device_status,                \
    .leave_device = cells_leave_device, .put_prepare = cells_put_prepare, .region_save = cells_region_save,        \
    .region_load = cells_region_load, .region_discard = cells_discard

// And these, where nothing but cells is to be seen to.
#define SOLVER_STATE_EDITS                                                                             \
    .reserve = solver_state_reserve, .prepare = cells_prepare, .apply = cells_apply, .put = cells_put, \
    .region_adopt = cells_region_adopt, .unload = cells_unload, .terrain_changed = cells_terrain_changed

// Runs the game's rules of one place.
void backend_rules(solver_state *s, weir_place place);

// Books time under a rule's name, which is kept.
void backend_book_time(weir_world *world, const char *name, double seconds);

// Whether open sides can take water, and whether forces or noise act.
bool backend_drains(const weir_world *world);
bool backend_pushes(const weir_world *world);

// The world's bounds, and the force of a source, as laws see them.
static inline rule_box backend_box(weir_box b)
{
    return (rule_box){b.min.x, b.min.y, b.min.z, b.max.x, b.max.y, b.max.z};
}

static inline rule_region backend_region(const world_source *source)
{
    return (rule_region){backend_box(source->box), {source->force.x, source->force.y, source->force.z}};
}

// Whether a brick reaches over the bounds, so that open sides may take from it.
static inline bool backend_reaches_out(rule_box bounds, weir_coord brick)
{
    const int x = 8 * brick.x, y = 8 * brick.y, z = 8 * brick.z;
    return !rule_in_box(bounds, x, y, z) || !rule_in_box(bounds, x + 7, y + 7, z + 7);
}

// Where the head counts and dust falls: along the axis with the most gravity.
typedef struct backend_down {
    int32_t axis, sign;  // sign 0: nowhere
    float head, inverse_head;
} backend_down;

backend_down backend_find_down(const weir_params *params);

#endif
