// Deltas: the bricks that changed since a mark, in few bytes, for a second world that shows the same fluid.
//
//     "WDLT" | version u8 | flags u8 | low half of the XXH3 of what follows u32 | size of the payload | stored bytes
//
// Sizes, marks and values are numbers of seven bits to a byte, the lowest first, of which all but the last have their highest bit set; what may
// be negative is 2n, or -2n - 1. The stored bytes are the payload, packed by zstd if flag 1 is set:
//
//     mark it goes on from, mark it brings to | update | power of two that is the server's unit, in drops
//     materials that a game added: count, then number and name of each | bricks: count, then each in coordinate order
//
// A brick is a byte of flags; its coordinate less that of the brick before, unless it is the next one along x; its material, unless it is
// that of the brick before; and, unless it is dry, its 512 cells, layer by layer from the lowest, x fastest, then z: most water is level, so
// that a full layer is one run. Runs are a byte, of which two bits are the kind and six the length less one; 63 stands for more, which follows:
//
//     empty cells | full cells | cells of one value, which follows | cells with a value each
//
// Values are in units. Where cells hold several materials each, none of this follows, but the number of materials, and of each its number and
// 512 values; then 512 heats, in units of WEIR_HEAT. Where liquids meet the same follows for the materials of cells, 0 in dry ones. Then, with flow, three times the same for the flow through low faces, in steps of 1/1024 cell per update.
#ifndef WEIR_WORLD_DELTA_H
#define WEIR_WORLD_DELTA_H

#include "world/brick.h"

#define DELTA_MAGIC "WDLT"

enum {
    DELTA_VERSION = 2,
    DELTA_HEADER_BYTES = 10,  // and the size, of up to ten more
    DELTA_PACKED = 1,         // flags
    DELTA_FLOW = 2,
    DELTA_FLOW_STEPS = 1024,  // in a flow of a cell per update
    DELTA_FLOW_MOST = 32767,  // steps
    DELTA_MARK_BITS = 62,
    // Of a brick:
    DELTA_NEXT = 1,      // it lies beside the last one, at x + 1
    DELTA_DRY = 2,       // or gone
    DELTA_MATERIAL = 4,  // is told
    DELTA_STILL = 8,     // it has no flow
    DELTA_MIXED = 16,    // its cells are of several materials
    DELTA_SHARED = 32    // its cells hold several materials each
};

typedef enum delta_run { DELTA_EMPTY, DELTA_FULL, DELTA_SAME, DELTA_EACH } delta_run;

enum { DELTA_RUN_LONG = 63 };

// The cell that comes at a place in the order of a delta, and so on.
static inline int32_t delta_cell(int32_t place)
{
    return (place & 7) + 8 * (place >> 6) + 64 * (place >> 3 & 7);
}

static inline uint64_t delta_folded(int64_t value)
{
    return value < 0 ? 2 * (uint64_t)(-(value + 1)) + 1 : 2 * (uint64_t)value;
}

static inline int64_t delta_unfolded(uint64_t folded)
{
    return folded & 1 ? -(int64_t)(folded >> 1) - 1 : (int64_t)(folded >> 1);
}

#endif
