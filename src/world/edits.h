// An edit on its way into a world: what is to be done, with arguments that have been checked and a region that has been cut to the
// world. edits.c checks, keeps and applies them; source_edits.c knows those of emitters, drains, forces and reservoirs; what touches the fluid goes on
// to the solver (solver.h).
#ifndef WEIR_WORLD_EDITS_H
#define WEIR_WORLD_EDITS_H

#include "world/region.h"
#include "world/world.h"

typedef enum edit_kind {
    // For the solver:
    EDIT_FILL,  // brings every open cell to `drops`, 0 drains; or values: a float per cell, its fill; or to what a surface leaves in it
    EDIT_FLOW,     // gives the fluid `flow`, in cells per update; or values: a weir_vec per cell
    EDIT_CHANNEL,  // sets `channel` of a rule to `value`
    EDIT_WARM,     // brings the fluid to the temperature `value`
    EDIT_POUR,  // spreads `amount` drops evenly over the box, or takes them if it is negative; as far as there is room, or fluid
    EDIT_KEEP,  // in an update: brings cells to what a surface leaves in them where fluid moves; flow and pressure stay
    // For the terrain:
    EDIT_SHAPE,            // own terrain: share, 0 digs; or values: a uint8_t per cell, 0 leaves it as it is
    EDIT_TERRAIN_CHANGED,  // the game's terrain has changed
    // Of emitters, drains and forces, which touch no brick, and of reservoirs, which are filled:
    EDIT_ADD,     // source
    EDIT_REMOVE,  // source.id
    EDIT_MOVE,    // source.id, place
    EDIT_RATE,    // source.id, source.rate
    EDIT_FORCE,   // source.id, source.force
    EDIT_LEVEL,   // source.id, source.level
    EDIT_HEATER   // source.id, source.level
} edit_kind;

// A level surface, with fluid below.
typedef struct edit_surface {
    int32_t axis, up;  // its sign on the axis; 0: there is no surface
    int64_t level;     // coordinate along the axis, in drops of height
} edit_surface;

struct world_edit {
    edit_kind kind;
    region place;
    weir_material material;
    int32_t drops;
    int64_t amount;
    edit_surface surface;
    weir_vec flow;
    int32_t channel;
    float value;
    uint8_t share;
    world_source source;
    const void *values;  // one per cell of the box `whole`, x fastest, then y, then z; NULL: all cells get the same
    size_t value_bytes;  // of one
    void *kept;          // the same values while the edit waits
    weir_box whole;
};

static inline bool edit_of_solver(edit_kind kind)
{
    return kind <= EDIT_KEEP;
}

static inline bool edit_of_source(edit_kind kind)
{
    return kind >= EDIT_ADD;
}

#define EDIT_LEVEL_MOST (2.0 * WEIR_COORD_LIMIT)  // cells from the origin: beyond the end of the world

// The drops that a surface leaves in a cell.
static inline int32_t edit_drops_under(const edit_surface *surface, weir_coord cell)
{
    const int64_t low = (int64_t)(surface->axis == 0 ? cell.x : surface->axis == 1 ? cell.y : cell.z) * WEIR_FULL;
    const int64_t depth = surface->up > 0 ? surface->level - low : low + WEIR_FULL - surface->level;
    return depth < 0 ? 0 : depth < WEIR_FULL ? (int32_t)depth : WEIR_FULL;
}

// The drops that a cell is to have, to the nearest. As a double: a float above 2 cannot have a half of a drop added.
static inline int32_t edit_drops(const world_edit *edit, weir_coord cell)
{
    if (edit->surface.up != 0) return edit_drops_under(&edit->surface, cell);
    if (!edit->values) return edit->drops;
    const float *fills = edit->values;
    return (int32_t)((double)fills[region_index(edit->whole, cell)] * WEIR_FULL + 0.5);
}

// The flow that a cell is to have, in cells per update.
static inline weir_vec edit_flow(const world_edit *edit, weir_coord cell)
{
    if (!edit->values) return edit->flow;
    const weir_vec *flows = edit->values;
    return flows[region_index(edit->whole, cell)];
}

// ---- edits.c ----

// Cuts a box to the world; refuses one that is empty or lies outside.
weir_status edit_place_box(const weir_world *world, weir_box box, region *place);
weir_status edit_check_fill(const weir_world *world, weir_material material, float fill);
// Whether all parts of a vector are within a limit; the sentence calls it `what`.
weir_status edit_check_vec(const char *what, weir_vec v, float limit);
// Whether the solver has flow that can be set.
weir_status edit_check_flow(const weir_world *world);

// Cuts the box to the world and gives the edit its values, all cells of the box as it was.
weir_status edit_place_values(const weir_world *world, weir_box box, const void *values, size_t value_bytes, world_edit *edit);

// Applies an edit at once, or keeps a copy of it while a background step runs.
weir_status edit_submit(weir_world *world, const world_edit *edit);

// Whether a box, which lies in the world, has few enough bricks to be filled whatever the world holds.
weir_status edit_check_size(weir_box box);

// Fills and the like, for edits of sources: what may fail, and then the change.
weir_status edit_change_fluid(weir_world *world, const world_edit *edit);

// Whether the solver knows temperature, and this is one.
weir_status edit_check_temperature(const weir_world *world, float temperature);

// ---- sources.c ----

// The edit that brings fluid to a reservoir's level, or keeps it there.
world_edit edit_of_reservoir(const weir_world *world, const world_source *source, edit_kind kind);

// ---- source_edits.c ----

// A heater's temperature, in quarter kelvins, is where a reservoir has its level.
#define EDIT_HEATER_UNIT 4

weir_status edit_apply_source(weir_world *world, const world_edit *edit);

#endif
