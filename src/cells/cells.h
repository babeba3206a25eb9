// Fluid in cells: what solvers share whose state is channels on bricks. Such a solver's state begins with `fluid_cells`, and its table
// (world/solver.h) has the functions below, which walk the solver's own list of channels; what is left to write is the update.
#ifndef WEIR_CELLS_CELLS_H
#define WEIR_CELLS_CELLS_H

#include "cells/bricks.h"
#include "cells/deaths.h"
#include "world/solver.h"

enum { RULE_MAX = 8, CHANNEL_NONE = -1 };

// What a channel's values are: whole units of mass, other whole numbers from 0 on, or floats. Of 1, 2 or 4 bytes; floats have 4.
typedef enum channel_type { CHANNEL_UNITS, CHANNEL_COUNT, CHANNEL_FLOAT } channel_type;

typedef struct cell_channel {
    const char *name;
    channel_type type;
    int32_t bytes;
    bool kept;     // part of the state; others are scratch between updates
    int32_t next;  // the channel that takes its new values in an update, CHANNEL_NONE if there is none
    // The largest value that is valid, or magnitude of a float; of mass, 0: what the solver's table says. In solid cells there is nothing but 0.
    double max;
} cell_channel;

// A solver's channels, and which of them mean something to the world.
typedef struct cell_layout {
    const cell_channel *channels;
    int32_t count;
    int32_t mass;      // CHANNEL_NONE: the solver keeps it otherwise (cell_store)
    int32_t flow;      // the first of three, x, y, z: through the cell's low faces; CHANNEL_NONE
    int32_t pressure;  // CHANNEL_NONE
} cell_layout;

// A game's rule and where its channels are: values[i] now, next[i] scratch.
typedef struct cell_rule {
    weir_rule_def def;
    char name[64];
    char channel_names[WEIR_RULE_CHANNELS][64];
    int32_t values[WEIR_RULE_CHANNELS];
    int32_t next[WEIR_RULE_CHANNELS];
} cell_rule;

typedef struct cells_sleep cells_sleep;  // sleep.h
typedef struct fluid_cells fluid_cells;

// How a solver keeps the fluid of cells whose state has no channel of mass. Edits, queries and counts see it as drops in cells all the same.
typedef struct cell_store {
    // Of the bricks that there are, or of the frozen ones.
    void (*read)(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t drops[BRICK_CELLS]);
    // `materials` is what `materials` gave, with those of cells that got something else; NULL where it is.
    void (*put)(fluid_cells *c, int32_t brick, const int32_t drops[BRICK_CELLS], const uint8_t *materials);
    // Of what cells hold, 0 in dry ones. NULL: all is of one material.
    void (*materials)(const fluid_cells *c, int32_t brick, uint8_t materials[BRICK_CELLS]);
    int32_t (*full)(const fluid_cells *c, int32_t brick, int32_t cell);  // drops that a cell holds when it is full
    bool (*wet)(const fluid_cells *c, int32_t brick);                    // whether a brick holds any
    // For pouring, where cells hold several materials; NULL: they hold one. The units of a material that a cell can take in, of WEIR_NOTHING
    // those that can be taken out; and so many put in, or taken out, and booked.
    int32_t (*room)(const fluid_cells *c, int32_t brick, int32_t cell, weir_material material);
    void (*move)(fluid_cells *c, int32_t brick, int32_t cell, weir_material material, int32_t units);
} cell_store;

struct fluid_cells {
    weir_world *world;
    const cell_layout *layout;
    weir_material material;  // of all its fluid, unless the store knows of several
    brick_pool pool;
    brick_pool frozen;  // for reading only, while a background step runs
    brick_deaths deaths, frozen_deaths;
    cells_sleep *sleep;  // NULL: its bricks do not sleep
    int32_t reported;    // channel of fills as they were reported last (reported.h); CHANNEL_NONE: every change counts
    int32_t threshold;   // that counts as a change, in steps of these
    // Number of the update up to which all is reported; bricks that changed later are stale.
    int64_t reported_change, frozen_reported_change;
    cell_rule rules[RULE_MAX];
    int32_t rule_count;
    bool stale_flow;          // bricks were loaded: there may be flow over faces that are closed by now
    int32_t moved[3];         // channels of what crossed each low face in this update; 0 unless a rule asked for it
    int64_t solver_bytes;     // of the solver's tables after the last update
    int64_t peak_bytes;       // of bricks and solver together
    const cell_store *store;  // NULL: fluid is in the channel of mass
    void (*ended)(fluid_cells *c, int32_t brick);  // NULL, or is told of bricks that are about to end
    // NULL, or whether the solver needs a brick without water around it.
    bool (*keeps)(const fluid_cells *c, int32_t brick);
    void *keeper;  // for this
};

// Where the channels are now of a solver with mass in drops, flow on faces and pressure; NULL: it has none.
typedef struct cell_arrays {
    int32_t *mass, *mass_next;
    float *flow[3], *flow_next[3];
    float *pressure, *pressure_next;
    float *moved[3];  // NULL unless a rule asked for it
} cell_arrays;

// Drops that sleeping bricks are owed (sleep.h).
int64_t cells_owed(const brick_pool *pool);

// ---- cells.c: life and reading ----

// In place, within the solver's state. `destroy` is allowed also after a create that failed, or none.
weir_status cells_create(fluid_cells *c, weir_world *world, const weir_world_def *def, const cell_layout *layout);
void cells_destroy(fluid_cells *c);

// After an update: the bytes of the solver's own tables.
void cells_count_bytes(fluid_cells *c, int64_t solver_bytes);

// For a solver_table.
void cells_view(const void *state, bool frozen, fluid_view *view);
weir_status cells_freeze(void *state);
void cells_stats(const void *state, weir_stats *stats);
bool cells_is_remote(const void *state);
void cells_catch_up(const void *state);
weir_status cells_device_status(const void *state);
void cells_leave_device(void *state);

// The bricks that a view is of. Only the frozen ones are looked at to tell: a background step may be giving the others new tables.
static inline const brick_pool *cells_viewed(const fluid_view *view)
{
    const fluid_cells *c = view->owner;
    return view->alive == c->frozen.alive ? &c->frozen : &c->pool;
}

// All channels that make up the state: the kept ones of the layout, then those of rules. Returns how many there are.
int32_t cells_state_channels(const fluid_cells *c, int32_t channels[CHANNEL_MAX]);

// The largest valid value of a channel of the layout.
double cells_value_max(const fluid_cells *c, int32_t channel);

// The channel that takes the new values of one, of the layout or of a rule; CHANNEL_NONE if there is none.
int32_t cells_next(const fluid_cells *c, int32_t channel);

cell_arrays cells_arrays(const fluid_cells *c);

// A value of a channel as a number.
static inline double cells_value(channel_type type, int32_t bytes, const void *values, int32_t cell)
{
    if (type == CHANNEL_FLOAT) return (double)((const float *)values)[cell];
    if (bytes == 1) return ((const uint8_t *)values)[cell];
    return bytes == 2 ? ((const uint16_t *)values)[cell] : ((const int32_t *)values)[cell];
}

// The drops of a brick, in the channel itself if it counts them one by one or else in `room`; and back, for what was written there.
int32_t *cells_drops(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t room[BRICK_CELLS]);
// `materials` is what cells_materials gave, or changed.
void cells_put_drops(fluid_cells *c, const brick_pool *pool, int32_t brick, const int32_t *drops, const uint8_t *materials);

// The materials of a brick's cells in `room`, 0 in dry ones; NULL if all of the fluid is of one.
uint8_t *cells_materials(const fluid_cells *c, int32_t brick, uint8_t room[BRICK_CELLS]);

// The account of its fluid.
static inline world_ledger *cells_ledger(const fluid_cells *c)
{
    return &c->world->ledger[c->material];
}

// Books drops of a material that an edit added, or removed if they are negative.
static inline void cells_book(const fluid_cells *c, weir_material material, int64_t drops)
{
    world_ledger *ledger = &c->world->ledger[material];
    if (drops > 0)
        ledger->added += drops;
    else
        ledger->removed -= drops;
}

// The drops of a full cell.
static inline int32_t cells_full(const fluid_cells *c, int32_t brick, int32_t cell)
{
    return c->store ? c->store->full(c, brick, cell) : WEIR_FULL;
}

// Counts the drops of a brick anew into wet and returns them.
int64_t cells_count_brick(const fluid_cells *c, brick_pool *pool, int32_t brick);

// ---- changes.c: which bricks count as changed ----

// Called by cells_create.
weir_status cells_set_threshold(fluid_cells *c, float threshold);

// Where a solver notes the number of the change under way (world->change) for every brick in which an update changes anything. It counts
// at once, or with weir_world_def.change_threshold if cells_report_changes finds that it is enough.
int64_t *cells_flags(const fluid_cells *c);

// At the end of an update. On a device the machine has compared the bricks by then.
void cells_report_changes(fluid_cells *c);

// Whether a brick is to be reported at the end of the next update, however little it changes.
bool cells_stale(const fluid_cells *c, int32_t brick);

// For a fluid_view.
void cells_read_reported(const fluid_view *view, int32_t brick, int32_t *drops);

// Whether all changes that count have been reported of a brick whose values are here.
bool cells_reported_holds(const fluid_cells *c, int32_t brick);

// ---- topology.c: which bricks are there ----

// In wet_seen, besides 0 and 1.
enum {
    WET_SEEN_DOOMED = 2,  // while cells_topology runs: the brick will die
    WET_SEEN_AGAIN = 4    // it is to be looked at, as if it had turned
};

// The first half of an update, for a solver_table or to be called from its `reserve`: the bricks that the water and the emitters need.
weir_status cells_reserve(void *state);

// Brings the brick set in line with the water: a brick lives if it holds mass or touches one that does. Bricks that are solid
// throughout are not kept. May fail on memory, leaving everything as it was.
weir_status cells_topology(fluid_cells *c);

// And those that sources need: of reservoirs only if asked for.
weir_status cells_touch_sources(fluid_cells *c, bool reservoirs);

// As cells_topology, in parts: looks at bricks that turned wet or dry in the order of coordinates, until it has spent all
// units. `turned` has room for every brick. Without memory some may be there, and the rest is done the next time.
enum { TOPOLOGY_LOOK = 4, TOPOLOGY_BIRTH = 24, TOPOLOGY_DEATH = 16 };
weir_status cells_topology_some(fluid_cells *c, int32_t *turned, int64_t *units);
// Whether nothing is left to be done by it.
bool cells_topology_holds(const fluid_cells *c);
// A brick that has not turned is to be looked at, since something else changed.
void cells_look_again(fluid_cells *c, int32_t brick);

// Makes sure that all bricks of a box that are not solid throughout are there. Fails without changing any water.
weir_status cells_touch(fluid_cells *c, weir_box box);

// The same for those of them that are wanted.
typedef bool brick_filter(const void *context, weir_coord brick);
weir_status cells_touch_some(fluid_cells *c, weir_box box, brick_filter *wanted, const void *context);

// The same for bricks of a list.
weir_status cells_touch_list(fluid_cells *c, const weir_coord *bricks, int32_t count);

// Tells that terrain changed in a brick: its open cells are asked for anew, and it may be born again if it was solid.
void cells_terrain_changed_brick(fluid_cells *c, weir_coord brick);

// ---- edits.c and pour.c, for a solver_table ----

weir_status cells_prepare(void *state, const world_edit *edit);
void cells_apply(void *state, const world_edit *edit);
void cells_terrain_changed(void *state, weir_box bricks);

// EDIT_POUR.
void cells_pour(fluid_cells *c, const world_edit *edit);

// To the nearest that the solver can count.
int32_t cells_whole_units(const fluid_cells *c, int32_t drops);
// The drops to which an edit brings a cell: no more than it holds when it is full, unless more is asked for.
int32_t cells_wanted(const fluid_cells *c, const world_edit *edit, int32_t brick, int32_t cell);

// ---- reservoirs.c ----

// EDIT_KEEP.
void cells_keep(fluid_cells *c, const world_edit *edit);
// Makes the bricks into which a reservoir will put fluid.
weir_status cells_touch_reservoir(fluid_cells *c, const world_source *source);
// For a solver_table: under another gravity reservoirs fill other bricks.
void cells_params_change(void *state, const weir_params *next);
// Whether a brick in its box is dry and should not be.
bool cells_reservoir_lacks(const fluid_cells *c, const world_source *source, int32_t brick);

// ---- put.c, for a solver_table ----

weir_status cells_put_prepare(void *state, const weir_coord *bricks, int32_t count);
void cells_put(void *state, fluid_next_brick *next, void *source, fluid_brick *brick);

// ---- state.c, for a solver_table ----

uint64_t cells_hash(const void *state, bool frozen);
void cells_save(const void *state, snapshot_writer *w);
weir_status cells_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival);
void cells_adopt(void *state, void *arrival);
// The same for the bricks alone, of a solver that adopts the rest itself: the two pools change places.
void cells_adopt_pool(fluid_cells *c, brick_pool *arrived);
void cells_discard(void *state, void *arrival);

// ---- regions.c, for a solver_table; what is saved and loaded of them is in state.c ----

// The flow over the upper border of a box: through the low faces of a brick beside it on an axis.
typedef struct cells_border {
    weir_coord at;  // of that brick
    int32_t axis;
    float flow[64];
} cells_border;

// Bricks on their way in.
typedef struct cells_arrival {
    brick_pool pool;
    int32_t channels[CHANNEL_MAX];  // where the file's channels go
    int32_t channel_count;
    // Of a region:
    int32_t carried;  // the solver's number when it left
    cells_border *borders;
    int32_t border_count, border_room;
} cells_arrival;

void cells_region_save(const void *state, weir_box bricks, snapshot_writer *w);
weir_status cells_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                              int64_t held[WEIR_MATERIAL_MAX], void **arrival);
void cells_region_adopt(void *state, weir_box bricks, void *arrival, const struct region_changes *changes);
void cells_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX]);

// Whether a brick lies beside the upper border of a box of bricks on an axis.
bool cells_is_border(weir_box bricks, weir_coord at, int32_t axis);
// A brick beside a box of bricks over whose low faces on an axis the box's fluid flows. False if it is not there, or nothing flows.
bool cells_read_border(const fluid_cells *c, weir_box bricks, int32_t brick, int32_t axis, cells_border *border);
// The cells at the low faces of a brick on an axis.
static inline int32_t cells_low_face(int32_t axis, int32_t i)
{
    return axis == 0 ? 8 * i : axis == 1 ? (i & 7) + 64 * (i >> 3) : i;
}

// The pieces of these for solvers that keep more: a brick that comes, of the terrain that came with it, and one that leaves.
int32_t cells_brick_arrives(fluid_cells *c, weir_coord at, const brick_mask *open);
void cells_brick_leaves(fluid_cells *c, int32_t brick);
// The bricks beside a box have other neighbours: they are to look for them anew, and their surfaces are others.
void cells_look_around(fluid_cells *c, weir_box bricks);
// At the beginning of an update: ends flow that was loaded and leads into what is away, or over a face that was built over meanwhile.
void cells_end_stale_flow(fluid_cells *c);

// ---- validate.c ----

// For a solver_table whose updates work with nothing but the cells.
const char *cells_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here);

// ---- game_rules.c, for a solver_table ----

weir_status cells_add_rule(void *state, const weir_rule_def *def);
int32_t cells_find_channel(const void *state, const char *name);
float cells_channel_value(const fluid_view *view, int32_t channel, int32_t brick, int32_t cell);
uint64_t cells_hash_rules(const void *state, uint64_t hash);

#endif
