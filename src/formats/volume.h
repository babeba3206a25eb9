// What of a world a file is to hold.
#ifndef WEIR_FORMATS_VOLUME_H
#define WEIR_FORMATS_VOLUME_H

#include "formats/new_file.h"

static inline bool box_empty(weir_box box)
{
    return box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z;
}

// A double: the largest box has more cells than an int64 can count.
static inline double box_cells(weir_box box)
{
    return ((double)box.max.x - box.min.x) * ((double)box.max.y - box.min.y) * ((double)box.max.z - box.min.z);
}

enum { MATERIAL_FIELD = 40 };  // bytes of the name of a material's field: "fill_" and that of the material

// "fill_oil" and so on.
void volume_field_name(const weir_world *world, weir_material material, char name[MATERIAL_FIELD]);

// The materials whose amounts are worth a field of their own: those that the world has ever held, and what they melt, freeze, boil and
// condense to where it knows temperature. None if there is but water, and no temperature: its fill tells all.
void volume_materials(const weir_world *world, bool known[WEIR_MATERIAL_MAX]);

// The box that was asked for or, if none was, that of all there is. A world with nothing in it has a box of one cell, so that a
// series of files does not end where the water is gone.
weir_status volume_box(const char *path, const weir_world *world, const weir_box *asked, weir_box *box);

#endif
