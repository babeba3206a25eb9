// Rules of the game's own. A rule has a name, channels of its own (one float per cell, carried in snapshots and in the state
// hash) and a function that Weir calls once per live brick at a chosen place in every update, on several threads at once.
// docs/adding-a-rule.md walks through one.
#ifndef WEIR_RULE_H
#define WEIR_RULE_H

#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Values around a brick come as tiles of 10 x 10 x 10: the brick's cells at 0..7 and a rim of one cell.
#define WEIR_TILE_CELLS 1000
#define WEIR_TILE_INDEX(x, y, z) ((x) + 1 + 10 * ((y) + 1) + 100 * ((z) + 1))
#define WEIR_BRICK_CELLS 512
#define WEIR_BRICK_INDEX(x, y, z) ((x) + 8 * (y) + 64 * (z))
#define WEIR_RULE_CHANNELS 4
#define WEIR_RULE_USER_BYTES 256

// Where in the update a rule runs.
typedef enum weir_place {
    WEIR_PLACE_BEFORE,      // before anything moves
    WEIR_PLACE_AFTER_MOVE,  // mass has moved, the new flow has not been made free of divergence yet; in every substep of the update
    WEIR_PLACE_AFTER,       // at the end
    WEIR_PLACE_COUNT
} weir_place;

// What a rule wants to see besides its own channels.
typedef enum weir_sees {
    WEIR_SEES_FILL = 1,      // fill
    WEIR_SEES_FLOW = 2,      // flow_x, flow_y, flow_z on each cell's lower face
    WEIR_SEES_PRESSURE = 4,  // pressure
    WEIR_SEES_OPEN = 8,      // open
    WEIR_SEES_MOVED = 16     // fill_before, moved_x, moved_y, moved_z; only at WEIR_PLACE_AFTER_MOVE
} weir_sees;

// A tile. On OpenCL devices tiles lie in another kind of memory, so code that is to run there calls them by this name.
typedef const float *weir_tile;

// Code for both: it is compiled as it stands, and `name` is a string of it for a rule's device_text. It can hold functions and types,
// but no preprocessor lines.
#define WEIR_RULE_TEXT(name, ...)            \
    static const char name[] = #__VA_ARGS__; \
    __VA_ARGS__

// One brick's view of the world. Tiles that the rule did not ask for are NULL.
typedef struct weir_rule_brick {
    weir_coord origin;  // of cell 0, 0, 0
    int64_t update;     // number of the update that is running, from 0
    weir_tile fill, fill_before;
    weir_tile flow_x, flow_y, flow_z;     // cells per update; at WEIR_PLACE_AFTER_MOVE per substep, and pressure likewise
    weir_tile moved_x, moved_y, moved_z;  // fill that crossed each cell's lower face in this move, towards the cell
    weir_tile pressure;
    weir_tile open;                            // 1 open, 0 solid
    weir_tile old_values[WEIR_RULE_CHANNELS];  // tiles of the rule's channels
    float *new_values[WEIR_RULE_CHANNELS];     // 512 cells each, holding the old values when the rule is called
} weir_rule_brick;

typedef struct weir_rule_def {
    const char *name;
    weir_place place;
    uint32_t sees;  // weir_sees bits
    int32_t channel_count;
    const char *channels[WEIR_RULE_CHANNELS];
    void (*run)(const weir_rule_brick *brick, void *user);
    void *user;
    // For OpenCL devices, all optional: a text in OpenCL C with a function that does for one cell of a brick, x, y and z from 0 to 7, what
    // `run` does for all of them:
    //
    //     void NAME(const weir_rule_brick *brick, const void *user, int x, int y, int z)
    //
    // Without a text the rule runs on the host, and its channels travel in every update. The text is read before the next update.
    const char *device_text;
    const char *device_cell;  // NAME
    size_t user_bytes;        // how much of *user the function gets a copy of, made in every update: 0 to 256, a multiple of 4
} weir_rule_def;

#ifdef __cplusplus
}
#endif
#endif
