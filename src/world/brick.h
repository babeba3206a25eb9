// The shape of a brick: 8 x 8 x 8 cells, cell index x + 8y + 64z, at brick coordinates (cell coordinate >> 3).
#ifndef WEIR_WORLD_BRICK_H
#define WEIR_WORLD_BRICK_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/types.h>

enum {
    BRICK_EDGE = 8,
    BRICK_CELLS = 512,
    BRICK_SELF = 13,                     // index of the brick itself among its 27 neighbours
    BRICK_NOTHING = 0,                   // the brick that stands for every one that is not there: solid, and zero in every cell
    BRICK_MAX = (1 << 22) - 1,           // most bricks in one world: 2 thousand million cells, whose numbers fit an int
    BRICKS_TOUCHED_MAX = 64 * BRICK_MAX  // most bricks of a box to be filled; what is not solid of them must be far fewer
};

// The index of a neighbour among the 27: 13 is the brick itself.
#define NEAR(dx, dy, dz) (BRICK_SELF + (dx) + 3 * (dy) + 9 * (dz))

// Which cells of a brick are open: bit x + 8y of word z.
typedef struct brick_mask {
    uint64_t plane[8];
} brick_mask;

static inline weir_coord brick_of_cell(weir_coord cell)
{
    return (weir_coord){cell.x >> 3, cell.y >> 3, cell.z >> 3};
}

static inline int32_t cell_index(weir_coord cell)
{
    return (cell.x & 7) + 8 * (cell.y & 7) + 64 * (cell.z & 7);
}

// The place of a brick's cell.
static inline weir_coord brick_cell(weir_coord brick, int32_t cell)
{
    return (weir_coord){8 * brick.x + (cell & 7), 8 * brick.y + (cell >> 3 & 7), 8 * brick.z + (cell >> 6)};
}

static inline weir_coord brick_neighbour(weir_coord brick, int32_t k)
{
    return (weir_coord){brick.x + k % 3 - 1, brick.y + k / 3 % 3 - 1, brick.z + k / 9 - 1};
}

static inline bool mask_has(const brick_mask *mask, int32_t cell)
{
    return mask->plane[cell >> 6] >> (cell & 63) & 1;
}

static inline bool mask_full(const brick_mask *mask)
{
    uint64_t all = ~UINT64_C(0);
    for (int32_t z = 0; z < BRICK_EDGE; z++) all &= mask->plane[z];
    return all == ~UINT64_C(0);
}

static inline bool mask_empty(const brick_mask *mask)
{
    uint64_t any = 0;
    for (int32_t z = 0; z < BRICK_EDGE; z++) any |= mask->plane[z];
    return any == 0;
}

#endif
