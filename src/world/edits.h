// An edit on its way into a world: what is to be done, with arguments that have been checked and a region that has been cut to the
// world. edits.c checks, keeps and applies them; source_edits.c knows those of emitters, drains and forces.
#ifndef WEIR_WORLD_EDITS_H
#define WEIR_WORLD_EDITS_H

#include "world/region.h"
#include "world/world.h"

typedef enum edit_kind {
    EDIT_FILL,     // drops; 0 drains
    EDIT_SHAPE,    // share, or shares of the box `whole`: own terrain
    EDIT_ASK,      // the game's terrain has changed
    EDIT_FLOW,     // flow
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
    const uint8_t *shares;  // NULL: all cells get `share`; else 0 leaves a cell as it is
    uint8_t *kept;          // the same while the edit waits
    weir_box whole;
    weir_vec flow;
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

// Applies an edit at once, or keeps a copy of it while a background step runs.
weir_status edit_submit(weir_world *world, const world_edit *edit);

// ---- source_edits.c ----

weir_status edit_apply_source(weir_world *world, const world_edit *edit);

#endif
