// The box of a world that a file is to hold.
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

// The box that was asked for or, if none was, that of all there is. A world with nothing in it has a box of one cell, so that a
// series of files does not end where the water is gone.
weir_status volume_box(const char *path, const weir_world *world, const weir_box *asked, weir_box *box);

#endif
