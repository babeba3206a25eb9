// An edit on its way into a world: what is to be done, with arguments that have been checked and a region that has been cut to the
// world. edits.c checks, keeps and applies them; source_edits.c knows those of emitters, drains and forces.
#ifndef WEIR_WORLD_EDITS_H
#define WEIR_WORLD_EDITS_H

#include "world/region.h"
#include "world/world.h"

typedef enum edit_kind {
    EDIT_FILL,     // drops, 0 drains; or values: a float per cell
    EDIT_SHAPE,    // own terrain: share, 0 digs; or values: a uint8_t per cell, 0 leaves it as it is
    EDIT_ASK,      // the game's terrain has changed
    EDIT_FLOW,     // flow; or values: a weir_vec per cell, in cells per update
    EDIT_CHANNEL,  // channel, value
    // Of emitters, drains and forces, which touch no brick:
    EDIT_ADD,     // source
    EDIT_REMOVE,  // source.id
    EDIT_MOVE,    // source.id, place
    EDIT_RATE,    // source.id, source.rate
    EDIT_FORCE    // source.id, source.force
} edit_kind;

struct world_edit {
    edit_kind kind;
    region place;
    int32_t drops;
    uint8_t share;
    const void *values;  // one per cell of the box `whole`, x fastest, then y, then z; NULL: all cells get the same
    size_t value_bytes;  // of one
    void *kept;          // the same values while the edit waits
    weir_box whole;
    weir_vec flow;  // as a channel has it
    int32_t channel;
    float value;
    world_source source;
};

static inline bool edit_of_source(edit_kind kind)
{
    return kind >= EDIT_ADD;
}

// ---- edits.c ----

// Cuts a box to the world; refuses one that is empty or lies outside.
weir_status edit_place_box(const weir_world *world, weir_box box, region *place);
weir_status edit_check_fill(weir_material material, float fill);
// Whether all parts of a vector are within a limit; the sentence calls it `what`.
weir_status edit_check_vec(const char *what, weir_vec v, float limit);

// Cuts the box to the world and gives the edit its values, all cells of the box as it was.
weir_status edit_place_values(const weir_world *world, weir_box box, const void *values, size_t value_bytes, world_edit *edit);

// Applies an edit at once, or keeps a copy of it while a background step runs.
weir_status edit_submit(weir_world *world, const world_edit *edit);

// ---- source_edits.c ----

weir_status edit_apply_source(weir_world *world, const world_edit *edit);

#endif
