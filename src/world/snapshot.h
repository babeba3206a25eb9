// Snapshots: a world in a file, from which it goes on exactly as it would have.
//
//     "WEIRSNAP" | version u32 | flags u32 | payload size u64 | stored size u64 | XXH3 of the stored bytes u64 | stored bytes
//
// The stored bytes are the payload, packed by zstd if flag 1 is set. All numbers are little-endian and written one by one,
// floats as their bits. Lists begin with their length, and bricks come in coordinate order, so that the order of birth does not
// show; names begin with theirs in one byte:
//
//     solver, bounds, open sides | names and values of parameters | update, change | added, removed, drained, turned
//     V-cycles of the next update | next id, sources | names of rules' channels | terrain of the game's own?, terrain bricks | bricks
//
// snapshot_save.c writes this, snapshot_load.c reads it.
#ifndef WEIR_WORLD_SNAPSHOT_H
#define WEIR_WORLD_SNAPSHOT_H

#include "world/world.h"
#include <string.h>

#define SNAPSHOT_MAGIC "WEIRSNAP"

enum {
    SNAPSHOT_MAGIC_BYTES = 8,
    SNAPSHOT_VERSION = 3,
    SNAPSHOT_FLAG_ZSTD = 1,
    SNAPSHOT_HEADER_BYTES = 40,
    SNAPSHOT_SOURCE_BYTES = 64,
    SNAPSHOT_TERRAIN_LEAST = 14,  // bytes of a terrain brick that has one share
    SNAPSHOT_STATE_CHANNELS = 5   // of every brick; those of rules follow
};

static const int32_t SNAPSHOT_STATE[SNAPSHOT_STATE_CHANNELS] = {CHANNEL_MASS, CHANNEL_FLOW_X, CHANNEL_FLOW_Y, CHANNEL_FLOW_Z,
                                                                CHANNEL_PRESSURE};

// The payload alone, into memory and back: for checkpoints. The block grows when it is too small; all bricks must have been brought,
// and the world have caught up.
weir_status snapshot_keep(weir_world *world, uint8_t **block, size_t *room, size_t *size);
weir_status snapshot_restore(weir_world *world, const uint8_t *block, size_t size);

// The order of bricks in a file: z, then y, then x.
static inline bool snapshot_before(weir_coord a, weir_coord b)
{
    if (a.z != b.z) return a.z < b.z;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

// The end of a path, where the name is: a sentence has room for little more.
static inline const char *snapshot_tail(const char *path)
{
    size_t length = strlen(path), most = 96;
    return length > most ? path + length - most : path;
}

#endif
