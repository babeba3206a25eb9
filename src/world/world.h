// The inside of a world. Everything that an update, an edit or a query needs; the solver's own things stay behind a pointer.
#ifndef WEIR_WORLD_WORLD_H
#define WEIR_WORLD_WORLD_H

#include "base/memory.h"
#include "base/status.h"
#include "base/workers.h"
#include "world/fluid.h"
#include "world/terrain.h"
#include <weir/weir.h>

typedef enum source_kind { SOURCE_EMITTER, SOURCE_DRAIN, SOURCE_FORCE, SOURCE_RESERVOIR, SOURCE_HEATER } source_kind;

// Something that acts in every update until it is removed.
typedef struct world_source {
    source_kind kind;
    int32_t id;
    weir_box box;
    weir_material material;
    int64_t rate;  // emitter, drain: 1/65536 drops per update
    int64_t owed;  // emitter, drain: 1/65536 drops not moved yet, below one unit of the solver
    weir_vec force;
    int64_t level;  // reservoir: drops of height; heater: quarter kelvins
} world_source;

typedef struct world_material {
    weir_material_def def;  // but for its name
    char name[32];
} world_material;

// In the order of their materials, the lower one of each first.
typedef struct world_reactions {
    weir_reaction_def items[WEIR_REACTION_MAX];
    int32_t count;
} world_reactions;

// Terrain that formed in a brick in an update and is not built yet: the new shares of cells, 0 in those that stay as they are.
typedef struct world_forming {
    weir_coord brick;
    uint8_t shares[BRICK_CELLS];
} world_forming;

// Account of a material, in drops. What is held is counted.
typedef struct world_ledger {
    int64_t added, removed, drained, turned, unloaded;
} world_ledger;

// An edit that waits for a background step to end; edits.c knows its kinds.
typedef struct world_edit world_edit;

// What an update changes besides the bricks, as it was when the background step began; for queries while busy.
typedef struct world_frozen {
    weir_stats stats;
    int64_t update, change;
    world_ledger ledger[WEIR_MATERIAL_MAX];
    int32_t carried;  // see solver.h
    world_source *sources;
    int32_t source_count, source_room, next_source_id;
} world_frozen;

// The state that the world goes back to if the device that has its values is lost: the payload of a snapshot.
typedef struct world_checkpoint {
    uint8_t *bytes;
    size_t size, room;
    int64_t update;          // that it is of
    double taken, duration;  // when, and how long that took, in seconds
    bool stale;              // the world has been given another state since
} world_checkpoint;

// What a device was told and asked.
typedef struct device_account {
    int64_t sent, brought;  // bytes
    double program_seconds;
    bool program_cached;
} device_account;

typedef struct solver_table solver_table;  // solver.h

struct weir_world {
    memory mem;
    weir_logger logger;
    workers *workers;
    const solver_table *solver;
    void *state;  // of the solver
    weir_backend backend;
    weir_simd simd;
    weir_params params;
    terrain terrain;
    int64_t update;      // finished updates since creation; part of the state
    int64_t change;      // number of the last change, for weir_world_changed
    int64_t delta_mark;  // of another world that this one follows by deltas: up to which change; 0: none
    int64_t cells_updated;
    world_material materials[WEIR_MATERIAL_MAX];  // from 1 on
    int32_t material_count;                       // numbers in use, WEIR_NOTHING among them
    world_reactions reactions;
    world_forming *forming;
    int32_t forming_count, forming_room;
    int32_t
        forming_most;  // that there may be after this update: it follows from the state, never from the room, so that all machines are alike
    world_ledger ledger[WEIR_MATERIAL_MAX];
    world_source *sources;
    int32_t source_count, source_room;
    _Atomic int32_t next_source_id;  // an edit that waits takes one while the background step may keep a checkpoint
    float rate;
    int32_t updates_per_step;
    int32_t update_microseconds;  // as in weir_world_def
    double updates_owed;          // time that weir_world_advance has been given and not used, in updates
    weir_advanced advanced;       // what the last advance did
    // Background step.
    bool busy;            // a background step runs or waits to be ended
    world_frozen frozen;  // what queries read meanwhile, besides the solver's own frozen copy
    world_edit *queue;    // edits that wait
    int32_t queue_count, queue_room;
    // A device that has the values.
    device_account account;
    world_checkpoint checkpoint;
    int32_t checkpoint_every;  // as in weir_world_def
    char lost[STATUS_BYTES];   // not empty: the device was lost, and this is the sentence
    bool values_lost;          // and the values with it
    void *background;          // the thread of a background step: see life.c
    double rule_seconds[WEIR_RULE_TIMES];
    const char *rule_names[WEIR_RULE_TIMES];
    bool rule_on_host[WEIR_RULE_TIMES];
    int32_t rule_time_count;
};

// ---- view.c ----

// The fluid that queries read: the frozen one while a background step runs.
fluid_view world_fluid(const weir_world *world);
// The same with all values here.
fluid_view world_fetch_all(const weir_world *world);
// Brings all values of the state here, also while a background step runs, by whom it is called then. The device may be lost meanwhile.
void world_fetch_state(weir_world *world);

// Copies what queries read into world->frozen and has the solver do the same. Before busy is set: it uses the workers.
weir_status world_freeze(weir_world *world);
void world_thaw(weir_world *world);

// ---- sources.c ----

enum { WORLD_SOURCE_CELLS = 1 << 24 };  // most cells in the box of an emitter, drain or reservoir

// Whether an emitter or drain moves whole units of the solver in the next update.
bool world_source_acts(const weir_world *world, const world_source *source);

// Emitters, drains and reservoirs, at the beginning of an update, when the solver has made room for them.
void world_apply_sources(weir_world *world);

// ---- edits.c ----

// Applies what waited during a background step; returns the first failure.
weir_status world_apply_queue(weir_world *world);
// Frees the queue and the sources.
void world_free_edits(weir_world *world);

// ---- checkpoint.c ----

// Before an update: refuses if the device was lost; keeps a checkpoint if it is time for one.
weir_status world_keep(weir_world *world);
// Whether the device that has the values is well. If not the world goes back to its checkpoint, in a background step when that ends: bricks
// are then others than before.
bool world_check(weir_world *world);
// The same in a query, when the bricks it needs have been brought and none has been looked at yet.
bool world_check_query(const weir_world *world);
// WEIR_ERROR_DEVICE and the sentence of the loss: what the world became, or, before it went back, what the device said.
weir_status world_lost(const weir_world *world);
void world_free_checkpoint(weir_world *world);

// ---- materials.c ----

// The built-in ones, into an empty table.
void materials_create(world_material materials[WEIR_MATERIAL_MAX], int32_t *count);
// Adds one whose name and numbers are checked; on a failure nothing is changed.
weir_status materials_add(world_material materials[WEIR_MATERIAL_MAX], int32_t *count, const weir_material_def *def);

// Whether the solver's fluid can be of a material of a table, of the world's or another; it need not be in it.
bool materials_can_hold(const weir_world *world, const weir_params *params, const world_material *materials, int32_t count,
                        weir_material material);
// What a material should be held of, by its account.
int64_t world_ledger_held(const world_ledger *ledger);

// ---- reactions.c ----

// The built-in ones, into an empty table.
void reactions_create(world_reactions *table);
// Adds one that is checked; on a failure nothing is changed.
weir_status reactions_add(world_reactions *table, const world_material *materials, int32_t material_count,
                          const weir_reaction_def *def);
bool reactions_are_built_in(const world_reactions *table);
// The one of two materials, in any order; NULL if they do not react.
const weir_reaction_def *reactions_find(const world_reactions *table, weir_material a, weir_material b);
// What a product is to the world's solver: where its fluid cannot be that, terrain for a solid, else nothing.
weir_material reactions_product(const weir_world *world, weir_material to);

// ---- forming.c ----

// Room for terrain that forms in so many bricks in the next update, and in no more; with what can fail before that.
weir_status world_forming_reserve(weir_world *world, int32_t bricks);
// Whether terrain can form in a brick: it is Weir's own, and there is room.
bool world_can_form(const weir_world *world, weir_coord brick);
// In an update: gives a cell a solid share when the update is done. Share of one that has been given one already; 0: it has not.
void world_form(weir_world *world, weir_coord brick, int32_t cell, uint8_t share);
uint8_t world_formed(const weir_world *world, weir_coord brick, int32_t cell);
// Between updates: builds what has formed. Without memory the rest waits.
weir_status world_build_formed(weir_world *world);
void world_free_forming(weir_world *world);

// ---- state_hash.c ----
uint64_t world_hash(const weir_world *world);

// ---- validate.c ----

// NULL, or what of the world is broken: terrain, sources, account, and of the solver's state the cells alone or also what an update works
// with. Of values that a device keeps only what is here is looked at. Not while an update runs.
const char *world_validate(weir_world *world, bool cells_only);

// After an edit or a load: looks at a world of few bricks where asserts are on.
void world_check_change(weir_world *world);

// Ends the program with a sentence that is not NULL.
void world_must_hold(const weir_world *world, const char *wrong);

// Cuts a box to the world; false if nothing is left.
bool world_clip(const weir_world *world, weir_box *box);

__attribute__((format(printf, 3, 4))) void world_log(const weir_world *world, weir_log_level level, const char *format, ...);

#endif
