// Which part of a world's fluid a surface is made of: all that is no gas, or one material.
#ifndef WEIR_SURFACE_SHOWN_H
#define WEIR_SURFACE_SHOWN_H

#include "world/world.h"

enum { SHOWN_GAS = 16 };  // a cell of gas holds a 16th of the drops of a full one, where it shares cells with liquids

typedef struct shown_part {
    weir_material material;  // WEIR_NOTHING: all but gases
    int32_t scale;           // of its drops, so that what fills a cell counts as full
    int32_t gas_count;       // gases that the world holds, which are to be left out
    uint8_t gases[WEIR_MATERIAL_MAX];
} shown_part;

// What there is now of the world, or of its last finished state while a background step runs.
shown_part shown_of(const weir_world *world, weir_material material);

// The drops of a brick's 512 cells that are shown, as they were when it last counted as changed. `room` and `other` may be written.
const int32_t *shown_drops(const shown_part *part, const fluid_view *view, int32_t brick, int32_t room[BRICK_CELLS],
                           int32_t other[BRICK_CELLS]);

#endif
