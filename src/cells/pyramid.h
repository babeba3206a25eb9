// A pyramid of bricks over the live bricks: each level's cells stand for 2 x 2 x 2 cells of the level below, and each level's
// bricks are ordinary bricks of 8 x 8 x 8 such cells, so that one set of row kernels serves every level.
//
//     level 0: the live bricks of the pool       level 1: a brick covers 2 x 2 x 2 live bricks       level 2: ...
//
// It works for any set of bricks, however far apart. Levels are added until bricks no longer merge (each connected piece then
// spans at most two bricks on an axis), and two more, so that the coarsest level has about four cells across per piece.
#ifndef WEIR_CELLS_PYRAMID_H
#define WEIR_CELLS_PYRAMID_H

#include "cells/bricks.h"

enum { PYRAMID_LEVELS = 32, PYRAMID_CHANNEL_MAX = 16 };

typedef struct pyramid_level {
    int32_t count;      // bricks, the nothing at index 0 included
    int32_t room;       // bricks there is room for
    int32_t kept_room;  // and those there is room for in the tables that stay from build to build: coord, child, parent
    weir_coord *coord;
    int32_t (*child)[8];  // bricks of the level below, index ox + 2 oy + 4 oz; 0: none
    int32_t *parent;      // brick of the level above
    int32_t (*near)[27];
    uint8_t *flags;  // a byte for whoever works on the bricks, 0 when the level is built
    float *cells;    // all channels, in one block that is large enough for huge pages
    float *channel[PYRAMID_CHANNEL_MAX];
    int32_t *slot;  // hash table by coordinate
    int32_t slot_room;
} pyramid_level;

typedef struct pyramid {
    memory *mem;
    int32_t top;                          // the coarsest level; 0: no bricks at all
    pyramid_level level[PYRAMID_LEVELS];  // level[0] has only parents, `room` of them
    uint64_t version;                     // of the pool it was built for
    int32_t channel_count;                // 0: a device keeps them and finds the neighbours of level 1: neither is here
} pyramid;

// With so many values per coarse cell, of which the solver knows what they are; 0: tables alone.
void pyramid_create(memory *mem, int32_t channel_count, pyramid *p);
void pyramid_destroy(pyramid *p);

// Builds the levels for the pool's live bricks, unless they are the ones it was built for. It takes and clears the pool's flags
// of what came, went or moved (`pyramid_dirty`), so a pool has one pyramid only. A failure (memory) leaves a pyramid that is built
// anew by the next call.
weir_status pyramid_build(pyramid *p, brick_pool *pool);

int64_t pyramid_bytes(const pyramid *p);

// NULL, or what of the pyramid is not as the coordinates of the live bricks ask for. Only for the pool that it was built for.
const char *pyramid_validate(const pyramid *p, const brick_pool *pool);

// Which of its parent's octants a brick is.
static inline int32_t pyramid_octant(weir_coord c)
{
    return (c.x & 1) + 2 * (c.y & 1) + 4 * (c.z & 1);
}

static inline float *pyramid_cells(const pyramid_level *level, int32_t channel, int32_t brick)
{
    return level->channel[channel] + (size_t)brick * BRICK_CELLS;
}

#endif
