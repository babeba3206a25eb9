// The bricks that have ended and are not there again, for weir_world_changed. It must not fail an update, and a world that runs for days
// must not grow by it, so it remembers at most 65,536 of them, and fewer without memory: the older half is forgotten then, which is known by
// its number.
#ifndef WEIR_CELLS_DEATHS_H
#define WEIR_CELLS_DEATHS_H

#include "cells/bricks.h"

enum { DEATHS_MAX = WEIR_GONE_MEMORY };

// Zero at first.
typedef struct brick_deaths {
    // In the order of their ends, from 1 on. Those of bricks that came back have the number 0, and stay until room is made; of the others
    // each coordinate has one at most.
    weir_coord *coord;  // brick coordinates
    int64_t *change;    // number of the change in which it ended
    int32_t end;        // one past the last; 0: there is none yet
    int32_t room;
    int32_t *slot;  // by coordinate: coord_table.h
    uint32_t slot_mask;
    int64_t forgotten;  // number of the last change of which ends may have been forgotten
} brick_deaths;

void deaths_destroy(brick_deaths *d, memory *mem);

// A brick has ended, in a change no earlier than those before it.
void deaths_add(brick_deaths *d, memory *mem, weir_coord coord, int64_t change);

// A brick is there, whether it was before or not.
void deaths_remove(brick_deaths *d, weir_coord coord);

// Makes `copy` (zero at first) the same for reading: only coordinates and numbers. Without memory it has forgotten all up to `change`.
void deaths_copy(const brick_deaths *d, memory *mem, int64_t change, brick_deaths *copy);

int64_t deaths_bytes(const brick_deaths *d);

// NULL, or what is broken, given the bricks that are there.
const char *deaths_validate(const brick_deaths *d, const brick_pool *pool);

#endif
