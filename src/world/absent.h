// The parts of a world that are not there: bricks whose state was unloaded (regions.c), as boxes that do not overlap.
//
// The boxes are cut so that a set of bricks has one list, whatever order it came about in: the world is cut along z into slabs within which
// the set is the same, each of these along y, and each of those along x into rows. No two neighbours are the same, so that each is as wide
// as can be. The boxes come in the order of z, y and x, so that the one of a brick is found by halving.
//
//     +-------+                    +-------+
//     |   A   +---+      along y:  |  1    |            two boxes, four once they are cut
//     |       | B |                +-------+---+
//     +-------+   |                |  2        |
//             +---+                +-------+---+
//                                          | 3 |
//                                          +---+
#ifndef WEIR_WORLD_ABSENT_H
#define WEIR_WORLD_ABSENT_H

#include "base/memory.h"
#include <stdbool.h>
#include <weir/types.h>

// Zero at first.
typedef struct absent_set {
    weir_box *boxes;  // of bricks
    int32_t count, room;
} absent_set;

void absent_free(absent_set *set, memory *mem);

bool absent_has(const absent_set *set, weir_coord brick);

// Whether all bricks of a box that is not empty are in the set, or any is.
bool absent_has_all(const absent_set *set, weir_box bricks);
bool absent_has_any(const absent_set *set, weir_box bricks);

// How many cells of a box of cells are in it.
double absent_volume(const absent_set *set, weir_box cells);

// Makes `next` (zero at first) the set with the bricks of a box, or without them. False, and `next` is zero, if memory ran out.
bool absent_change(const absent_set *set, weir_box bricks, bool add, memory *mem, absent_set *next);

// Whether boxes that came from outside are as they would have been cut here.
bool absent_sound(const absent_set *set);

#endif
