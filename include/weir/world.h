// The world: bricks of water in terrain, made, stepped, edited, asked, saved.
//
// A world belongs to one thread at a time. While a background step runs (weir_world_step_begin), queries read the last
// finished state and edits wait in a queue; everything else answers WEIR_ERROR_BUSY.
#ifndef WEIR_WORLD_H
#define WEIR_WORLD_H

#include <weir/params.h>
#include <weir/rule.h>
#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_world weir_world;

// ---- Life ------------------------------------------------------------------------------------------------------------------

// Makes a world. Fails on a definition that makes no sense, on memory, and on threads; *world is then NULL.
WEIR_API weir_status weir_world_create(const weir_world_def *def, weir_world **world);

// Ends a world; waits for a background step. NULL is allowed.
WEIR_API void weir_world_destroy(weir_world *world);

// ---- Updates ---------------------------------------------------------------------------------------------------------------

// Runs updates_per_step updates. On a failure of memory the world stays at its last finished update. When the device that has its
// values is lost (WEIR_ERROR_DEVICE), it goes back to its last checkpoint (weir_world_def.checkpoint_every), can be asked and saved, and
// refuses further steps and edits with the same sentence.
WEIR_API weir_status weir_world_step(weir_world *world);

// How many updates a step has, from 1 to 10000.
WEIR_API int32_t weir_world_updates_per_step(const weir_world *world);
WEIR_API weir_status weir_world_set_updates_per_step(weir_world *world, int32_t updates);

// Runs the updates that fall due in the seconds passed since the last call, at the world's rate. If one is due at least one is run,
// and no more than the limit allows (NULL: its defaults): where updates are too slow for the rate the water gets slower, not the game.
// What is less than an update is kept for the next call, whole updates that were not run are dropped. How many are run never changes
// what one of them computes. *updates, if not NULL, gets the number. After a failure what was not run is still due.
WEIR_API weir_status weir_world_advance(weir_world *world, double seconds, const weir_advance_limit *limit, int32_t *updates);

// What the last advance did, or the last background one that was ended.
WEIR_API weir_advanced weir_world_advanced(const weir_world *world);

// Starts a step on a background thread. Queries read the state before it until weir_world_step_end.
WEIR_API weir_status weir_world_step_begin(weir_world *world);

// The same for an advance. Nothing is started if no update is due; weir_world_step_end is allowed then too.
WEIR_API weir_status weir_world_advance_begin(weir_world *world, double seconds, const weir_advance_limit *limit);

// Whether the background step or advance has finished (true when none runs).
WEIR_API bool weir_world_step_done(const weir_world *world);

// Waits for the background step or advance, makes its result the current state, applies the edits that waited, and returns the status
// of the step or of the first edit that failed. The sentence of an edit begins with which it was: "edit 2 of 3 that waited,
// weir_world_fill of (0, 0, 0) to (8, 8, 8): ..."; those that failed after it are told to the log.
WEIR_API weir_status weir_world_step_end(weir_world *world);

// ---- Parameters ------------------------------------------------------------------------------------------------------------

WEIR_API weir_params weir_world_params(const weir_world *world);
WEIR_API weir_status weir_world_set_params(weir_world *world, const weir_params *params);
WEIR_API weir_solver weir_world_solver(const weir_world *world);
WEIR_API weir_box weir_world_bounds(const weir_world *world);

// ---- Materials -------------------------------------------------------------------------------------------------------------
// A world has those of weir_material from the beginning. Which of them its fluid can be is up to its solver: settle moves any number of liquids
// side by side, mixture liquids, gases and solids that share cells; the others move water alone and refuse to be filled with another.

// Adds a material; its number is the next one. Names must differ. Fails while a background step runs.
WEIR_API weir_status weir_world_add_material(weir_world *world, const weir_material_def *def, weir_material *material);

// How many numbers there are: materials are those from 1 on, below it.
WEIR_API int32_t weir_world_material_count(const weir_world *world);

// What a material is; false if there is none of that number. Its name is good for as long as the world's state is not loaded anew.
WEIR_API bool weir_world_material(const weir_world *world, weir_material material, weir_material_def *def);

// What the fluid is of where nobody says: of a solver that knows several materials water, of another the one that it has.
WEIR_API weir_material weir_world_fluid(const weir_world *world);

// The number of a name; WEIR_NOTHING if no material has it.
WEIR_API weir_material weir_world_find_material(const weir_world *world, const char *name);

// ---- Reactions -------------------------------------------------------------------------------------------------------------
// What materials that meet become; a table for every solver that moves more than one. One is built in: water that meets lava leaves the
// world as steam, and the lava becomes terrain.

// Adds a reaction. Refused, with a sentence: materials that there are not, one that reacts with itself, a reaction that changes
// neither, a second one of the same two, a rate out of range, and a table without an end. A reaction ends for good when it uses up a
// material that no reaction makes which may itself go on; a table is refused if some are left that could feed each other for ever, as
// water to ice by one and ice to water by another would. Fails while a background step runs.
WEIR_API weir_status weir_world_add_reaction(weir_world *world, const weir_reaction_def *def);

// Removes the reaction of two materials, in any order, also one that is built in.
WEIR_API weir_status weir_world_remove_reaction(weir_world *world, weir_material first, weir_material second);

// How many reactions there are, and one of them: with the lower material first, and in the order of materials. False if there is none
// of that index.
WEIR_API int32_t weir_world_reaction_count(const weir_world *world);
WEIR_API bool weir_world_reaction(const weir_world *world, int32_t index, weir_reaction_def *def);

// ---- Edits -----------------------------------------------------------------------------------------------------------------
// Applied at once between updates, or queued in order while a background step runs; arguments and sizes are checked at the call
// either way, as far as they are known then: how much of a sphere, or of a game's own terrain, is open shows when it is filled. Boxes and spheres that reach over the world's bounds are cut to them; ones wholly outside are refused. An edit that
// fails changes nothing.

// Brings every open cell to this fill (0 to 1), up or down. A cell belongs to a sphere if its centre does.
WEIR_API weir_status weir_world_fill(weir_world *world, weir_box box, weir_material material, float fill);
WEIR_API weir_status weir_world_fill_sphere(weir_world *world, weir_sphere sphere, weir_material material, float fill);

// Takes all water out.
WEIR_API weir_status weir_world_drain(weir_world *world, weir_box box);
WEIR_API weir_status weir_world_drain_sphere(weir_world *world, weir_sphere sphere);

// Opens terrain (dig), or sets its solid share (build, 1 to 255). A cell counts as solid from 128 up; water in a cell that becomes
// solid is removed and booked, or pushed aside by settle. Refused with WEIR_ERROR_UNSUPPORTED when the terrain is the game's own (weir_world_def.terrain).
WEIR_API weir_status weir_world_dig(weir_world *world, weir_box box);
WEIR_API weir_status weir_world_dig_sphere(weir_world *world, weir_sphere sphere);
WEIR_API weir_status weir_world_build(weir_world *world, weir_box box, uint8_t share);
WEIR_API weir_status weir_world_build_sphere(weir_world *world, weir_sphere sphere, uint8_t share);

// Builds a share of its own for every cell of a box, x fastest, then y, then z; 0 leaves a cell as it is.
WEIR_API weir_status weir_world_build_shares(weir_world *world, weir_box box, const uint8_t *shares);

// Tells Weir that the game's own terrain has changed in a box, so that it asks again there.
WEIR_API weir_status weir_terrain_changed(weir_world *world, weir_box box);

// Sets the flow of the water in a box, in cells per update, each component within what its solver moves: the lesser of max_flow and substeps
// with momentum, 1/6 with classic.
WEIR_API weir_status weir_world_set_flow(weir_world *world, weir_box box, weir_vec flow);

// The counterparts of weir_world_read_fill and weir_world_read_flow: a value of its own for every cell of a box, x fastest, then y, then z.
// Fills may be as large as a cell of this solver can hold, which the sentence of a refusal tells; what is written into solid cells has no
// effect. A fill is of what the cell holds already, and of water where it is dry. Flow is given to water alone, so write fills first; a
// face between two wet cells of the box gets the mean of their flow, and a face of only one of them that one's. If a value is out of range nothing is written, and the sentence tells
// the cell and the value.
WEIR_API weir_status weir_world_write_fill(weir_world *world, weir_box box, const float *fill);
WEIR_API weir_status weir_world_write_flow(weir_world *world, weir_box box, const weir_vec *flow);

// Brings what the box holds to a temperature, in K: above 0, up to WEIR_TEMPERATURE_MAX. For solvers that know warmth, `mixture`.
WEIR_API weir_status weir_world_set_temperature(weir_world *world, weir_box box, float temperature);

// Sets one of a game rule's channels in a box.
WEIR_API weir_status weir_world_set_channel(weir_world *world, weir_box box, const char *channel, float value);

// An emitter adds, a drain takes `rate` cells' worth of water per update, spread evenly over its box, exactly to the drop in
// the long run. An emitter never fills a cell above 1, and what finds no room is not owed; a drain never takes what is not there.
// *id gets a number for weir_world_remove and the others that change it; it may be NULL.
WEIR_API weir_status weir_world_add_emitter(weir_world *world, weir_box box, weir_material material, float rate, int32_t *id);
WEIR_API weir_status weir_world_add_drain(weir_world *world, weir_box box, float rate, int32_t *id);

// Accelerates the water in a box in every update, in cells per update squared, on top of gravity.
WEIR_API weir_status weir_world_add_force(weir_world *world, weir_box box, weir_vec acceleration, int32_t *id);

// A reservoir holds the surface of the water in its box at a level, at once and in every update: an ocean, a river's end, a tank that is always
// full. What it gives is booked as added, what it takes as removed. Open cells of the box below the level are filled, the one at the level
// as far as it, and those above are emptied; flow stays. The level is a coordinate along the axis on which gravity is strongest, of the
// surface above its water: with the usual gravity a y, so that 20.5 leaves the cell at y = 20 half full. (Without gravity, and always with settle, down is -y.)
// Water that sleeps costs nothing, and keeps the level of its body: what that gains and loses goes to the account. With settle a body of still
// water that reaches into the box is held as a whole, however far it reaches, so that a small box makes an ocean. Where several
// reservoirs reach into one, the one with the lowest number holds it; where boxes overlap otherwise, the last one has its way.
WEIR_API weir_status weir_world_add_reservoir(weir_world *world, weir_box box, weir_material material, double level,
                                              int32_t *id);

// A heater holds its box at a temperature, in K, hot or cold: what flows through its open cells is brought to it at the beginning of every
// update, and its terrain gives warmth to the cells beside it and takes it, as a stove does or a cold lid. All of it is booked
// (weir_heat_ledger). For solvers that know warmth, `mixture`. Where boxes overlap, the last one has its way.
WEIR_API weir_status weir_world_add_heater(weir_world *world, weir_box box, float temperature, int32_t *id);

// Ends an emitter, drain, force, heater or reservoir; the water that a reservoir held is left as it is.
WEIR_API weir_status weir_world_remove(weir_world *world, int32_t id);

// Gives an emitter, drain, force or heater another box, an emitter or drain another rate, a force another acceleration, a heater another
// temperature, from the next update on; a
// reservoir another box or level, which it fills at once. What an emitter or drain still owes, less than the least its solver counts, it goes on owing, so that no drop is lost or doubled by the change.
WEIR_API weir_status weir_world_move_source(weir_world *world, int32_t id, weir_box box);
WEIR_API weir_status weir_world_set_rate(weir_world *world, int32_t id, float rate);
WEIR_API weir_status weir_world_set_force(weir_world *world, int32_t id, weir_vec acceleration);
WEIR_API weir_status weir_world_set_level(weir_world *world, int32_t id, double level);
WEIR_API weir_status weir_world_set_heater(weir_world *world, int32_t id, float temperature);

// ---- Queries ---------------------------------------------------------------------------------------------------------------
// They never disturb the simulation. Places outside the world are dry and solid. A world that has lost its device answers from its
// checkpoint; without one it is dry.

WEIR_API weir_cell weir_world_cell(const weir_world *world, weir_coord cell);

// All that is in a cell. weir_cell tells the material of which there is most, and the fill of all together.
WEIR_API weir_mix weir_world_mix(const weir_world *world, weir_coord cell);

// Its time grows with the water and the terrain that is kept, not with the box: a box from INT32_MIN to INT32_MAX is the whole world. A
// game's own terrain is asked for brick by brick in boxes of up to WEIR_BOX_SUM_ASKED cells.
WEIR_API weir_box_sum weir_world_box_sum(const weir_world *world, weir_box box);

// Values of all cells of a box into an array, x fastest, then y, then z; the same values as in weir_cell. The box must hold a cell.
WEIR_API weir_status weir_world_read_fill(const weir_world *world, weir_box box, float *fill);
WEIR_API weir_status weir_world_read_flow(const weir_world *world, weir_box box, weir_vec *flow);
WEIR_API weir_status weir_world_read_pressure(const weir_world *world, weir_box box, float *pressure);
WEIR_API weir_status weir_world_read_material(const weir_world *world, weir_box box, uint8_t *materials);
// The fill of one material in each cell, whatever else is there, and the temperature of all that is, in K, 0 in dry cells.
WEIR_API weir_status weir_world_read_amounts(const weir_world *world, weir_box box, weir_material material, float *fill);
WEIR_API weir_status weir_world_read_temperature(const weir_world *world, weir_box box, float *temperature);
WEIR_API weir_status weir_world_read_terrain(const weir_world *world, weir_box box, uint8_t *shares);

// All emitters, drains, forces and reservoirs in the order of their numbers: writes up to `room` of them and returns how many there are. What was
// queued during a background step is not among them before it ends.
WEIR_API int32_t weir_world_sources(const weir_world *world, weir_source *sources, int32_t room);

// The box, in whole bricks cut to the bounds, of all water and of all terrain that is Weir's own; false, and an empty box, if
// there is neither.
WEIR_API bool weir_world_extent(const weir_world *world, weir_box *box);

// The first water (fill of at least min_fill) or terrain that a ray meets within max_distance cells. Its time grows with the bricks
// on its way, empty ones included, so give a distance that you can see.
WEIR_API weir_hit weir_world_ray(const weir_world *world, weir_point origin, weir_vec direction, double max_distance,
                                 float min_fill);

// Height of the water surface in the column x, z between y_min and y_max: the top of the highest cell that is at least half full,
// lowered or raised by the fill at the surface; NaN if the column is dry. Cells are scanned from y_max down.
WEIR_API double weir_world_surface(const weir_world *world, int32_t x, int32_t z, int32_t y_min, int32_t y_max);

// Sum of fills in the column x, z for y_min <= y < y_max: the height the water would have if it stood level.
WEIR_API double weir_world_column(const weir_world *world, int32_t x, int32_t z, int32_t y_min, int32_t y_max);

// Share of a box between any two places that is under water, 0 to 1, counting part cells by the part covered: for things that float.
WEIR_API float weir_world_submerged(const weir_world *world, weir_point min, weir_point max);

// What the water does to `count` boxes that float: level, flow, share under water, force and torque of each, in their order. The force is
// that of Archimedes, the weight of the liquids in the box's place by their densities, and made of fills alone. In level water it is
// exact but for rounding,
// however the box is turned; in other water so is the share of a box that is not turned. Pressure of water that is accelerated, as in a wave,
// is not in it, and the water does not feel the box. Where gravity is not along an axis, water lies at the bottom of its cell along the one where
// it is strongest; without gravity there is drag alone.
// Many boxes are shared out among the world's threads, unless a background step has them; the answers do not depend on it. Fails, and
// writes nothing, on a box that makes no sense, with a sentence that tells which, and on a device that was lost without a checkpoint.
WEIR_API weir_status weir_world_buoyancy(const weir_world *world, const weir_floating_box *boxes, int32_t count,
                                         weir_buoyancy *answers);

// Mean flow of the water in a box, weighted by mass; 0 if dry.
WEIR_API weir_vec weir_world_mean_flow(const weir_world *world, weir_box box);

// Value of one of a game rule's channels at a cell; 0 where there is none.
WEIR_API float weir_world_channel(const weir_world *world, const char *channel, weir_coord cell);

// Bricks that came to be, or whose water or terrain changed, since a mark, and those that are gone: that dried up and ended since and are
// not there now. A mark is what the last call left in *mark; begin with 0, which lists all that are there and none that is gone. Writes up
// to `room` of them to `bricks`, in coordinate order (z, then y, then x), and returns how many there are; if that is more than `room`, the
// mark stays: call again with more. -1, and the mark stays, if bricks are gone since the mark that are no longer remembered
// (WEIR_GONE_MEMORY), or if the mark is later than this world's last change, and so another world's: drop everything and begin again with a
// mark of 0. A load leaves marks good. Terrain that was dug where there is no
// water near is not listed. What counts as a change of water: weir_world_def.change_threshold.
WEIR_API int32_t weir_world_changed(const weir_world *world, int64_t *mark, weir_brick_change *bricks, int32_t room);

// Origins of all live bricks, in coordinate order (z, then y, then x); returns how many there are.
WEIR_API int32_t weir_world_bricks(const weir_world *world, weir_coord *bricks, int32_t room);

// The account of all materials together, and of one of them.
WEIR_API weir_ledger weir_world_ledger(const weir_world *world);
WEIR_API weir_ledger weir_world_material_ledger(const weir_world *world, weir_material material);
// Whether its solver knows temperature: whether fluid is warm and cold, melts and boils.
WEIR_API bool weir_world_knows_temperature(const weir_world *world);
// The account of warmth; all 0 where the solver knows none.
WEIR_API weir_heat_ledger weir_world_heat_ledger(const weir_world *world);
WEIR_API weir_stats weir_world_stats(const weir_world *world);

// A number that is the same for two worlds exactly if the same edits and steps bring both to the same state and give emitters the same
// numbers: mass, flow, pressure, terrain, parameters, materials, reactions, emitters with their numbers and the next one, rule channels,
// the number of the update, how many V-cycles the next may run and how many substeps it takes. What tells of the past (ledger, marks of changes) is not in it.
// The same on every machine, thread count, code path and backend. 0 for a world that has lost its device and had no checkpoint.
WEIR_API uint64_t weir_world_hash(const weir_world *world);

// ---- Snapshots -------------------------------------------------------------------------------------------------------------

// Writes all that the next update depends on to a .weir file: first to a temporary file beside it, then renamed, so that a crash
// leaves the earlier file whole.
WEIR_API weir_status weir_world_save(const weir_world *world, const char *path);

// Replaces the world's state with a file's: bounds, terrain (unless it is the game's own), parameters, materials, reactions, water,
// emitters. The solver must be the same, and rules with the same channels must be registered. On a failure the world stays as it was.
WEIR_API weir_status weir_world_load(weir_world *world, const char *path);

// The same bytes into memory: *size gets how many there are. NULL for `bytes` only asks for that; with too little room the answer is
// WEIR_ERROR_LIMIT, and what `bytes` then holds is no snapshot.
WEIR_API weir_status weir_world_save_memory(const weir_world *world, void *bytes, size_t room, size_t *size);
WEIR_API weir_status weir_world_load_memory(weir_world *world, const void *bytes, size_t size);

// The same bytes through functions of the game's own, for a save file that holds more than water, or a network. They are called on the
// calling thread and must not touch this world. Loading reads to the end of the snapshot and not a byte further, so that other things may
// follow it. A function that fails ends it with WEIR_ERROR_FILE.
WEIR_API weir_status weir_world_save_to(const weir_world *world, weir_write *write, void *user);
WEIR_API weir_status weir_world_load_from(weir_world *world, weir_read *read, void *user);

// ---- Regions: parts of a world that leave and come back ------------------------------------------------------------------------
// For worlds that are streamed: a game that keeps only what is near its players takes boxes of whole bricks out of a world, keeps their bytes,
// and brings them back. What is not there is dry and solid, to queries as well; water at its border waits, and goes on when it comes back.
// Edits and sources do nothing there, and an edit that lies there altogether is refused (WEIR_ERROR_OUTSIDE); the game is not asked for its
// terrain. Which parts are away is in snapshots and in the hash.

// Takes a box out of the world: its water with all that the next update depends on, and its terrain if that is Weir's own. The box is cut to
// the bounds; where it does not reach these its corners must be multiples of 8. All of it must be there. *size gets how many bytes there are.
// NULL for `bytes` only asks for that; with too little room the answer is WEIR_ERROR_LIMIT; either way nothing leaves. What leaves is in
// weir_ledger.unloaded. What sleeps goes on sleeping. Emitters, drains, forces and reservoirs stay with the world. Bricks are gone for
// weir_world_changed, and for deltas.
WEIR_API weir_status weir_world_unload(weir_world *world, weir_box box, void *bytes, size_t room, size_t *size);

// Brings a box back to where it was. Nothing wakes by that alone: only where something changed beside the box since it left does water go
// on, and in all of it under another gravity or other reservoirs. Loaded again with no update between, the world has the hash that it had. The solver, the materials and the channels of rules must be
// those it left with, and a game's own terrain as it was then: change that first or later. Bytes may come from anywhere; on a failure the
// world stays as it was.
WEIR_API weir_status weir_world_load_region(weir_world *world, const void *bytes, size_t size);

// Brings a box back, all of which is away, as one that has never been there: dry, and open where the terrain is Weir's own. For games whose
// world is made as its players come: unload all of it in the beginning.
WEIR_API weir_status weir_world_load_new(weir_world *world, weir_box box);

// The parts that are away, as boxes that do not overlap, in an order that depends on nothing else: writes up to `room` of them and returns how
// many there are.
WEIR_API int32_t weir_world_unloaded(const weir_world *world, weir_box *boxes, int32_t room);

// ---- Deltas: the same fluid in a second world --------------------------------------------------------------------------------
// What a client needs that shows a server's water and does not work it out: the bricks that changed since a mark, in few bytes. The client is
// a world as well, with the same bounds and solver, that is not stepped; its queries, meshes and pictures show what the server's do.

// What a delta can tell besides the fill of every cell, exact to the drop.
typedef enum weir_delta_part {
    WEIR_DELTA_FLOW = 1  // flow, in steps of 1/1024 cell per update: for foam, and things that float
} weir_delta_part;

// Writes the bricks that came to be, changed or are gone since a mark, as weir_world_changed counts them: begin with a mark of 0, which gives
// everything. *mark then becomes that up to which it tells, to be kept per client. *size gets how many bytes there are. NULL for `bytes` only
// asks for that; with too little room the answer is WEIR_ERROR_LIMIT; and the mark stays either way. Where bricks are gone that are no
// longer remembered it tells everything. Terrain is not in it: a game sends that as it sends its voxels, by the same calls or its own source.
// Allowed while a background step runs.
WEIR_API weir_status weir_world_delta(const weir_world *world, int64_t *mark, uint32_t parts, void *bytes, size_t room,
                                      size_t *size);

// Applies a delta: all of it or, on a failure, nothing. It may repeat what is known already; one before it that is missing, or that is
// later than it, is told (WEIR_ERROR_ARGUMENT), and so is water where this world's terrain is solid: terrain first, then the delta. Bytes may
// come from anywhere. What it adds and removes is in this world's ledger. From then on, until a snapshot is loaded, terrain that is built into
// water of this world removes it with every solver: where the other world has pushed it, the next delta tells.
WEIR_API weir_status weir_world_apply_delta(weir_world *world, const void *bytes, size_t size);

// The mark to which the last delta brought this world: what the next is to go on from; 0 if there was none, or a snapshot was loaded.
WEIR_API int64_t weir_world_delta_mark(const weir_world *world);

// ---- Rules of the game's own -----------------------------------------------------------------------------------------------

// Adds a rule. Rules of one place run in the order in which they were added. At most 8 rules; names must differ.
WEIR_API weir_status weir_world_add_rule(weir_world *world, const weir_rule_def *def);

#ifdef __cplusplus
}
#endif
#endif
