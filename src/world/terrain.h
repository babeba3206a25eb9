// Terrain: the solid share of each cell, 0 (open) to 255 (solid).
//
// Kept by bricks in a hash table of its own. A brick that is all open is not kept, one that is all of one share keeps only that
// number, others an array of 512 bytes. A game that has its own terrain gives a callback instead and nothing is kept.
// The world's box is part of it: cells behind a wall are solid, cells behind an open side are open.
#ifndef WEIR_WORLD_TERRAIN_H
#define WEIR_WORLD_TERRAIN_H

#include "base/memory.h"
#include "world/absent.h"
#include "world/brick.h"

enum { TERRAIN_SOLID = 128 };  // a cell counts as solid from this share up, unless the solver says otherwise

typedef struct terrain_brick {
    weir_coord coord;
    uint8_t *shares;  // 512, or NULL: all cells have `share`
    uint8_t share;
    uint8_t used;    // the slot is taken
    uint16_t solid;  // cells that count as solid, 0 to 512
} terrain_brick;

typedef struct terrain {
    memory *mem;
    bool bounded;
    weir_box bounds;
    uint32_t open_sides;
    uint8_t solid;  // share from which on a cell counts as solid
    weir_terrain_source *source;
    void *source_user;
    terrain_brick *slot;  // open addressing; slot_count is a power of two or 0
    int32_t slot_count;
    int32_t brick_count;
    absent_set absent;  // bricks that are not there: solid, and nobody is asked of them
} terrain;

void terrain_create(memory *mem, weir_box bounds, uint32_t open_sides, weir_terrain_source *source, void *user, terrain *t);
void terrain_destroy(terrain *t);

// The shares of a brick as the simulation sees them, walls of the world included.
void terrain_shares(const terrain *t, weir_coord brick, uint8_t shares[BRICK_CELLS]);
uint8_t terrain_share(const terrain *t, weir_coord cell);

// Which cells of a brick are open. Returns whether any is.
bool terrain_open(const terrain *t, weir_coord brick, brick_mask *open);

// Makes a copy of a brick's shares that can be written, so that terrain_write cannot fail; the shares of its box are unaffected.
weir_status terrain_prepare(terrain *t, weir_coord brick);
// The writable shares of a prepared brick.
uint8_t *terrain_write(terrain *t, weir_coord brick);
// After writing: counts solid cells anew, and gives an array that holds one share only back.
void terrain_tidy(terrain *t, weir_coord brick);

// Room for so many bricks more; and one with what it has, into a place where none is kept.
weir_status terrain_reserve(terrain *t, int32_t more);
void terrain_take(terrain *t, terrain_brick *brick);
// Forgets all that is kept of a box of bricks.
void terrain_forget(terrain *t, weir_box bricks);

static inline bool terrain_is_absent(const terrain *t, weir_coord brick)
{
    return t->absent.count > 0 && absent_has(&t->absent, brick);
}

// Whether a cell lies inside the world's box (always true when unbounded, within WEIR_COORD_LIMIT).
bool terrain_inside(const terrain *t, weir_coord cell);

int64_t terrain_bytes(const terrain *t);

// NULL, or what of the table of bricks is broken.
const char *terrain_validate(const terrain *t);

// Order-free hash of all that is kept.
uint64_t terrain_hash(const terrain *t);

#endif
