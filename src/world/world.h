// The inside of a world. Everything that an update, an edit or a query needs; the solver's own things stay behind a pointer.
#ifndef WEIR_WORLD_WORLD_H
#define WEIR_WORLD_WORLD_H

#include "base/memory.h"
#include "base/status.h"
#include "base/workers.h"
#include "cells/bricks.h"
#include "world/terrain.h"
#include <weir/weir.h>

// The fixed channels. mass is int32 drops, all others float. A *_next channel is scratch between updates: an update reads the
// plain ones, and when it has finished the plain ones hold the new state.
typedef enum channel_id {
    CHANNEL_MASS,
    CHANNEL_MASS_NEXT,
    CHANNEL_FLOW_X,  // through the face towards x-1; positive moves mass towards +x
    CHANNEL_FLOW_Y,
    CHANNEL_FLOW_Z,
    CHANNEL_FLOW_X_NEXT,
    CHANNEL_FLOW_Y_NEXT,
    CHANNEL_FLOW_Z_NEXT,
    CHANNEL_PRESSURE,
    CHANNEL_PRESSURE_NEXT,
    CHANNEL_FIXED_COUNT
} channel_id;

enum { RULE_MAX = 8 };

// A game's rule and where its channels are: values[i] now, next[i] scratch.
typedef struct world_rule {
    weir_rule_def def;
    char name[64];
    char channel_names[WEIR_RULE_CHANNELS][64];
    int32_t values[WEIR_RULE_CHANNELS];
    int32_t next[WEIR_RULE_CHANNELS];
} world_rule;

typedef enum source_kind { SOURCE_EMITTER, SOURCE_DRAIN, SOURCE_FORCE } source_kind;

// Something that acts in every update until it is removed.
typedef struct world_source {
    source_kind kind;
    int32_t id;
    weir_box box;
    weir_material material;
    int64_t rate;  // emitter, drain: 1/65536 drops per update
    int64_t owed;  // emitter, drain: 1/65536 drops not moved yet, below one drop
    weir_vec force;
} world_source;

// An edit that waits for a background step to end; edits.c knows its kinds.
typedef struct world_edit world_edit;

// What an update changes besides the bricks, as it was when the background step began; for queries while busy.
typedef struct world_frozen {
    weir_stats stats;
    int64_t update, change;
    int64_t added, removed, drained, turned;
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
    brick_pool bricks;
    int64_t update;  // finished updates since creation; part of the state
    int64_t change;  // number of the last change, for weir_world_changed
    int64_t cells_updated;
    // Account, in drops. held is counted.
    int64_t added, removed, drained, turned;
    world_source *sources;
    int32_t source_count, source_room;
    _Atomic int32_t next_source_id;  // an edit that waits takes one while the background step may keep a checkpoint
    world_rule rules[RULE_MAX];
    int32_t rule_count;
    float rate;
    int32_t updates_per_step;
    double updates_owed;     // time that weir_world_advance has been given and not used, in updates
    weir_advanced advanced;  // what the last advance did
    // Background step.
    bool busy;            // a background step runs or waits to be ended
    brick_pool front;     // frozen bricks for queries while busy
    world_frozen frozen;  // the rest of what queries read while busy
    world_edit *queue;    // edits that wait
    int32_t queue_count, queue_room;
    // A device that has the values.
    device_account account;
    world_checkpoint checkpoint;
    int32_t checkpoint_every;  // as in weir_world_def
    char lost[256];            // not empty: the device was lost, and this is the sentence
    bool gone;                 // and the values are gone with it
    int32_t moved_channel[3];  // what crossed each low face in this update; 0 unless a rule asked for it
    void *background;          // the thread of a background step: see life.c
    int64_t solver_bytes;      // the solver's tables
    int64_t peak_bytes;        // of bricks and solver together
    double rule_seconds[WEIR_RULE_TIMES];
    const char *rule_names[WEIR_RULE_TIMES];
    bool rule_on_host[WEIR_RULE_TIMES];
    int32_t rule_time_count;
};

// The bricks that queries read: the frozen ones while a background step runs.
static inline const brick_pool *world_bricks(const weir_world *world)
{
    return world->busy ? &world->front : &world->bricks;
}

// ---- cells/topology.c ----

// Brings the brick set in line with the water: a brick lives if it holds mass or touches one that does. Bricks that are solid
// throughout are not kept. May fail on memory, leaving everything as it was.
weir_status world_topology(weir_world *world);

// Makes sure that all bricks of a box that are not solid throughout are there. Fails without changing any water.
weir_status world_touch(weir_world *world, weir_box box);

// The same for those of them that are wanted.
typedef bool world_brick_filter(const void *context, weir_coord brick);
weir_status world_touch_some(weir_world *world, weir_box box, world_brick_filter *wanted, const void *context);

// Whether a box, which lies in the world, has few enough bricks to be touched whatever the world holds.
weir_status world_check_touch(weir_box box);

// Tells that terrain changed in a brick: its open cells are asked for anew, and it may be born again if it was solid.
void world_terrain_changed_brick(weir_world *world, weir_coord brick);

// Counts the drops of a brick anew into wet and returns them.
int64_t world_count_brick(brick_pool *pool, int32_t brick);

// ---- sources.c ----

enum { WORLD_SOURCE_CELLS = 1 << 24 };  // most cells in the box of an emitter or drain

// Emitters and drains, at the beginning of an update. Making the bricks that they need may fail and is done first, when nothing has
// changed yet: a step that fails leaves the world at its last finished update.
weir_status world_reserve_sources(weir_world *world);
void world_apply_sources(weir_world *world);

// ---- cells/game_rules.c ----

// The channel of a game rule's values by its name; -1: none has it.
int32_t world_channel(const weir_world *world, const char *name);

// ---- edits.c ----

// Applies what waited during a background step; returns the first failure.
weir_status world_apply_queue(weir_world *world);
// Frees the queue and the sources.
void world_free_edits(weir_world *world);

// ---- view.c ----

// Copies what queries read into world->front and world->frozen. Before busy is set: it uses the workers.
weir_status world_freeze(weir_world *world);
void world_thaw(weir_world *world);

// ---- checkpoint.c ----

// Before an update: refuses if the device was lost; keeps a checkpoint if it is time for one.
weir_status world_keep(weir_world *world);
// Whether the device that has the values is well. If not the world goes back to its checkpoint: bricks are then others than before.
bool world_check(weir_world *world);
// The same in a query, when the bricks it needs have been brought and none has been looked at yet.
bool world_check_query(const weir_world *world);
// WEIR_ERROR_DEVICE and the sentence of the loss.
weir_status world_lost(const weir_world *world);
void world_free_checkpoint(weir_world *world);

// ---- state_hash.c ----
uint64_t world_hash(const weir_world *world);

// ---- validate.c ----

// NULL, or what of the world is broken: bricks, terrain, sources, rules, values, account. Of bricks whose values a device keeps only
// what is here is looked at. Not while an update runs.
const char *world_validate(const weir_world *world);

// After an edit or a load: looks at a world of few bricks where asserts are on.
void world_check_change(const weir_world *world);

// The same, and what is broken of its solver's state. Between updates.
const char *world_validate_all(weir_world *world);

// Ends the program with a sentence that is not NULL.
void world_must_hold(const weir_world *world, const char *wrong);

// Cuts a box to the world; false if nothing is left.
bool world_clip(const weir_world *world, weir_box *box);

__attribute__((format(printf, 3, 4))) void world_log(const weir_world *world, weir_log_level level, const char *format, ...);

#endif
