// What a world asks of the solver that moves its fluid: one constant table of functions per solver. A solver's own state lies in memory
// of its own; the world holds a pointer to it and never looks inside. Solvers whose state is channels on bricks fill most of the table with
// the functions of cells/cells.h. docs/adding-a-solver.md walks through one.
#ifndef WEIR_WORLD_SOLVER_H
#define WEIR_WORLD_SOLVER_H

#include "world/edits.h"
#include "world/params.h"
#include "world/snapshot.h"
#include "world/world.h"

// What is another when a box of bricks comes back than it was when it left.
typedef struct region_changes {
    const weir_coord *stirred;  // bricks beside the box, in order
    int32_t count;
    bool held;  // gravity, or the reservoirs that reach into the box: nothing in it rests any more
} region_changes;

struct solver_table {
    // ---- What it is ----
    weir_solver id;
    const char *name;
    const char *help;     // what it is like, for `weir help run`
    param_table params;   // its own; none: all zero
    int32_t unit;         // the least it can count, in drops: a power of two
    int32_t cell_max;     // the most drops that a cell can hold: whole units, and a number that a float can hold
    uint8_t solid_share;  // of a cell, from which on it is solid to this solver; 0: TERRAIN_SOLID
    float speed;          // cells per update that a flow of 1 moves; 0: its fluid has no flow that could be set or pushed
    bool falls;           // down is -y, whatever gravity is
    bool warm;            // it knows temperature: EDIT_WARM comes to it, and heaters
    // The largest flow that a cell may be given, in the solver's own measure; NULL where there is none to give.
    float (*flow_max)(const weir_params *params);

    // Whether its fluid can be of a material, given what that is: it may come with a snapshot, and not be the world's yet. NULL: of one alone.
    bool (*can_hold)(const void *state, weir_material material, const weir_material_def *def);

    // What its fluid is of, with these parameters; NULL: water, or what it can hold.
    weir_material (*material)(const weir_params *params);
    // The most that a fill can bring a cell to, in cells; NULL: 1.
    float (*fill_max)(const weir_params *params);

    // ---- Life ----
    // Makes the state for a world that has everything else. On a failure *state is NULL.
    weir_status (*create)(weir_world *world, const weir_world_def *def, void **state);
    void (*destroy)(void *state);

    // ---- An update, in two halves ----
    // All that can fail, with no fluid changed: also room for what the emitters that act (world_source_acts) will put into their boxes.
    weir_status (*reserve)(void *state);
    // Fails only when a device is lost. What leaves through open sides it books as drained, in the ledger of its material.
    weir_status (*update)(void *state);
    // Whether the next update only goes on with what earlier ones began, so that emitters and drains have to wait. NULL: never.
    bool (*sources_wait)(const void *state);

    // ---- Edits, in the same two halves ----
    // EDIT_FILL, EDIT_FLOW, EDIT_CHANNEL, EDIT_WARM, EDIT_POUR and EDIT_KEEP come here (edits.h). `prepare` does all that can fail, `apply` changes
    // the fluid and books what was added and removed.
    weir_status (*prepare)(void *state, const world_edit *edit);
    void (*apply)(void *state, const world_edit *edit);
    // An emitter is about to be added, or a delta applied: room for the materials that come, as bits. On a failure nothing is changed. NULL: none
    // needs any.
    weir_status (*materials_prepare)(void *state, uint32_t materials);
    // The terrain of some bricks is about to change: all of that which can fail. NULL: nothing can.
    weir_status (*terrain_prepare)(void *state, weir_box bricks);
    // The terrain of some bricks has changed. Fluid in cells that are solid now is removed and booked.
    void (*terrain_changed)(void *state, weir_box bricks);
    // Whether the parameters may become others. NULL: they may.
    weir_status (*params_fit)(const void *state, const weir_params *next);
    // The parameters are about to become others. NULL: they count from the next update on, and nothing is to be done before.
    void (*params_change)(void *state, const weir_params *next);
    // A reaction is about to be added, and is in the table already: room for what it makes. NULL: it needs none.
    weir_status (*reaction_prepare)(void *state, const weir_reaction_def *def);
    // The table of reactions (world->reactions) has changed. NULL: the next update goes by it, and nothing is to be done before.
    void (*reactions_changed)(void *state);

    // ---- Fluid that comes from another world (delta.h), in the same two halves; NULL: it takes none ----
    // Some bricks, in coordinate order, are about to get other fluid: all of that which can fail. Those that are not there are made, as far as
    // they are not solid throughout.
    weir_status (*put_prepare)(void *state, const weir_coord *bricks, int32_t count);
    // NULL, or what is wrong with the shares of cells that a brick comes with. NULL: those are not looked at.
    const char *(*put_fits)(const void *state, const fluid_brick *brick);
    // Gives bricks their fluid, which fits into their open cells and is whole units, and books what that adds and removes. Besides those that
    // were prepared there may be others, which become dry. `brick` is memory to get them in.
    void (*put)(void *state, fluid_next_brick *next, void *source, fluid_brick *brick);

    // ---- Reading ----
    // The fluid as it is, or as it was frozen last. A solver that fills in no list of bricks that are gone works, and never tells of one.
    // The view is zero before.
    void (*view)(const void *state, bool frozen, fluid_view *view);
    // Copies what the view and the hash need, so that both can be had while an update runs. The memory is kept for the next time.
    weir_status (*freeze)(void *state);

    // ---- State: all that the next update depends on ----
    // Of the cells, the same in whatever order the bricks lie.
    uint64_t (*hash)(const void *state, bool frozen);
    // One number besides them, 0 in a new world. NULL: there is none, and it is always 0.
    int32_t (*carried)(const void *state);
    void (*set_carried)(void *state, int32_t carried);
    void (*save)(const void *state, snapshot_writer *w);
    // Reads what `save` wrote, for the terrain that came with it, and adds its drops to those of their material in `held`; the state stays as it is until `adopt` replaces
    // it, which cannot fail. `discard` frees what was read, or what `adopt` replaced; NULL is allowed.
    weir_status (*load)(void *state, snapshot_reader *r, const terrain *terrain, int64_t held[WEIR_MATERIAL_MAX],
                        void **arrival);
    void (*adopt)(void *state, void *arrival);
    void (*discard)(void *state, void *arrival);
    // NULL, or what is wrong with what was read, given the materials that came with it. NULL: it fits any.
    const char *(*arrival_fits)(const void *state, const void *arrival, const world_material *materials, int32_t count);
    // The account of warmth but for its drift. NULL: there is none.
    void (*heat)(const void *state, bool frozen, weir_heat_ledger *ledger);

    // ---- Regions: bricks that leave and come back (regions.c); NULL: it lets none go ----
    // Writes the state of the bricks of a box of bricks.
    void (*region_save)(const void *state, weir_box bricks, snapshot_writer *w);
    // Whether bricks may leave or come now, and what room is needed to leave. NULL: always.
    weir_status (*region_prepare)(void *state, weir_box bricks);
    // They leave, when that is prepared: their drops, those that are theirs in no cell too, are added to those of their material in `held`. By the
    // time of `unload` the terrain says that they are solid. Nobody wakes.
    void (*unload)(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX]);
    // Reads what `region_save` wrote, for the terrain that came with it, and makes room for it; nothing else changes before `region_adopt`
    // lets it in, which cannot fail. Without an arrival the box is dry. What is another than it was when the box left is told: water goes on
    // there, and elsewhere nobody wakes.
    weir_status (*region_load)(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                               int64_t held[WEIR_MATERIAL_MAX], void **arrival);
    void (*region_adopt)(void *state, weir_box bricks, void *arrival, const region_changes *changes);
    void (*region_discard)(void *state, void *arrival);  // what is left of it

    // ---- Looking after it ----
    // NULL, or what is broken of the state, of the cells alone or also of what an update works with. The drops there are of each material
    // are added to `held`; *all_here becomes false if a device has some of them.
    const char *(*validate)(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here);
    // Bricks, bytes, and what the last update did.
    void (*stats)(const void *state, weir_stats *stats);

    // ---- Rules of the game's own; NULL: it runs none ----
    weir_status (*add_rule)(void *state, const weir_rule_def *def);
    int32_t (*find_channel)(const void *state, const char *name);  // of a rule; -1: none has it
    float (*channel_value)(const fluid_view *view, int32_t channel, int32_t brick, int32_t cell);
    uint64_t (*hash_rules)(const void *state, uint64_t hash);

    // ---- Values that a device keeps; NULL: they are always here ----
    bool (*is_remote)(const void *state);
    // Waits until it is known how the last update went.
    void (*catch_up)(const void *state);
    // WEIR_OK, or why the device is lost, and all values with it that are not here.
    weir_status (*device_status)(const void *state);
    // The device is lost: from now on the values are here. Those that were not are zero, until a state is adopted.
    void (*leave_device)(void *state);
};

// The list of solvers, by weir_solver (src/solvers/list.c).
extern const solver_table *const solver_list[WEIR_SOLVER_COUNT];

// weir_world_create for a solver that need not be in the list.
weir_status world_create_with(const weir_world_def *def, const solver_table *solver, weir_world **world);

// The largest flow that a cell may be given, in cells per update.
static inline float solver_flow_max(const weir_world *world)
{
    return world->solver->flow_max ? world->solver->flow_max(&world->params) * world->solver->speed : 0;
}

static inline weir_material solver_material(const solver_table *solver, const weir_params *params)
{
    return solver->material ? solver->material(params) : WEIR_WATER;
}

static inline float solver_fill_max(const weir_world *world)
{
    return world->solver->fill_max ? world->solver->fill_max(&world->params) : 1.0f;
}

static inline fluid_view solver_view(const weir_world *world, bool frozen)
{
    fluid_view view = {0};
    world->solver->view(world->state, frozen, &view);
    return view;
}

static inline int32_t solver_carried(const weir_world *world)
{
    return world->solver->carried ? world->solver->carried(world->state) : 0;
}

static inline bool solver_is_remote(const weir_world *world)
{
    return world->solver->is_remote && world->solver->is_remote(world->state);
}

static inline void solver_catch_up(const weir_world *world)
{
    if (world->solver->catch_up) world->solver->catch_up(world->state);
}

#endif
