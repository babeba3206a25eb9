// Finding things by their coordinate: a table of slots, a power of two and probed linearly, with indices into an array of
// coordinates. A slot of 0 is free. At most half of the slots are used.
#ifndef WEIR_WORLD_COORD_TABLE_H
#define WEIR_WORLD_COORD_TABLE_H

#include "base/hash.h"
#include <stdbool.h>
#include <weir/types.h>

static inline uint32_t coord_hash(weir_coord c)
{
    return hash_mix((uint32_t)c.x * 0x8da6b343u + (uint32_t)c.y * 0xd8163841u + (uint32_t)c.z * 0xcb1ab31fu);
}

static inline bool coords_equal(weir_coord a, weir_coord b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// The order in which bricks are listed, saved and hashed, whatever their order in memory: by z, then y, then x. Negative if a comes first.
static inline int coord_compare(weir_coord a, weir_coord b)
{
    if (a.z != b.z) return a.z < b.z ? -1 : 1;
    if (a.y != b.y) return a.y < b.y ? -1 : 1;
    return (a.x > b.x) - (a.x < b.x);
}

// The slot of what lies at a coordinate, or the free slot where it belongs.
static inline int32_t *coord_slot(int32_t *slots, uint32_t mask, const weir_coord *coords, weir_coord at)
{
    uint32_t i = coord_hash(at) & mask;
    while (slots[i] != 0 && !coords_equal(coords[slots[i]], at)) i = (i + 1) & mask;
    return &slots[i];
}

// Frees the slot of what lies at a coordinate. Later ones of its run move back into the hole, unless they would then lie before
// their own place: there are no tombstones.
static inline void coord_slot_free(int32_t *slots, uint32_t mask, const weir_coord *coords, weir_coord at)
{
    uint32_t hole = (uint32_t)(coord_slot(slots, mask, coords, at) - slots);
    for (uint32_t i = (hole + 1) & mask; slots[i] != 0; i = (i + 1) & mask) {
        uint32_t home = coord_hash(coords[slots[i]]) & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        slots[hole] = slots[i];
        hole = i;
    }
    slots[hole] = 0;
}

// How many slots are taken; -1 if one of them by an index that is not below `end`.
static inline int32_t coord_slots_taken(const int32_t *slots, uint32_t mask, int32_t end)
{
    int32_t taken = 0;
    for (uint32_t i = 0; i <= mask; i++) {
        if (slots[i] < 0 || slots[i] >= end) return -1;
        taken += slots[i] != 0;
    }
    return taken;
}

#endif
