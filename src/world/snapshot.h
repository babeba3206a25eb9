// Snapshots: a world in a file, from which it goes on exactly as it would have.
//
//     "WEIRSNAP" | version u32 | flags u32 | payload size u64 | stored size u64 | XXH3 of the stored bytes u64 | stored bytes
//
// The stored bytes are the payload, packed by zstd if flag 1 is set. All numbers are little-endian and written one by one,
// floats as their bits. Lists begin with their length, and bricks come in coordinate order, so that the order of birth does not
// show; names begin with theirs in one byte:
//
//     name of the solver, bounds, open sides | names and values of parameters | update, change | materials, and their accounts | reactions
//     the number that the solver carries | next id, sources, of a reservoir its level where others have a rate
//     terrain of the game's own?, terrain bricks | boxes that are unloaded | terrain that forms | what the solver saves
//
// snapshot_save.c writes this, snapshot_load.c reads it. A solver saves and loads its own part through the functions below. Regions
// (regions.c) are kept in the same way, with "WEIRREGN" in front.
#ifndef WEIR_WORLD_SNAPSHOT_H
#define WEIR_WORLD_SNAPSHOT_H

#include "world/world.h"

#define SNAPSHOT_MAGIC "WEIRSNAP"
#define REGION_MAGIC "WEIRREGN"

enum {
    SNAPSHOT_MAGIC_BYTES = 8,
    SNAPSHOT_VERSION = 6,
    SNAPSHOT_FLAG_ZSTD = 1,
    SNAPSHOT_HEADER_BYTES = 40,
    SNAPSHOT_SOURCE_BYTES = 64,
    SNAPSHOT_TERRAIN_LEAST = 14  // bytes of a terrain brick that has one share
};

// ---- Writing, in snapshot_save.c ----

typedef struct snapshot_writer snapshot_writer;

void snapshot_put_bytes(snapshot_writer *w, const void *bytes, size_t size);
void snapshot_put_number(snapshot_writer *w, uint64_t value, int32_t bytes);
void snapshot_put_coord(snapshot_writer *w, weir_coord c);
void snapshot_put_name(snapshot_writer *w, const char *name);
void snapshot_put_box(snapshot_writer *w, weir_box box);
// Names of the materials that a game added.
void snapshot_put_names(snapshot_writer *w, const weir_world *world);
// The terrain that is kept of a box of bricks, NULL: of all.
void snapshot_put_terrain(snapshot_writer *w, const terrain *t, const weir_box *bricks);
// Values of 1, 2 or 4 bytes.
void snapshot_put_values(snapshot_writer *w, const void *values, int32_t count, int32_t bytes);

// Memory for putting things into order, to be given back before the end. NULL, and saving fails, if there is none.
void *snapshot_scratch(snapshot_writer *w, size_t bytes);
void snapshot_scratch_free(snapshot_writer *w, void *block, size_t bytes);

// ---- Reading, in snapshot_load.c ----

// Past the end everything reads as 0, so that whether it has ended need be asked only now and then.
typedef struct snapshot_reader snapshot_reader;

const uint8_t *snapshot_get_bytes(snapshot_reader *r, size_t size);  // NULL past the end
uint64_t snapshot_get_number(snapshot_reader *r, int32_t bytes);
weir_coord snapshot_get_coord(snapshot_reader *r);
weir_box snapshot_get_box(snapshot_reader *r);
// Terrain, for bricks of a box, NULL: for any; not kept where it is the game's own.
weir_status snapshot_get_terrain(snapshot_reader *r, const weir_world *world, const weir_box *bricks, terrain *t);
// With its length before it, in a byte. Empty past the end, or if it is no name or has no room.
void snapshot_get_name(snapshot_reader *r, char *name, size_t room);
bool snapshot_get_values(snapshot_reader *r, void *values, int32_t count, int32_t bytes);  // false past the end
// What the fluid is of, where it is all of one material.
weir_material snapshot_material(const snapshot_reader *r, const weir_world *world);
size_t snapshot_left(const snapshot_reader *r);
bool snapshot_ended(const snapshot_reader *r);
const char *snapshot_name(const snapshot_reader *r);

// WEIR_ERROR_FORMAT, with what is wrong.
__attribute__((format(printf, 2, 3))) weir_status snapshot_damaged(const snapshot_reader *r, const char *format, ...);
weir_status snapshot_ends_early(const snapshot_reader *r);

// ---- Both ----

// A payload of another kind into memory and back, with a header and packed as a snapshot is. `put` is called more than once and must write
// the same. `what` is the caller's.
typedef void snapshot_put(snapshot_writer *w, const weir_world *world, const void *what);
typedef weir_status snapshot_get(snapshot_reader *r, weir_world *world, void *what);
weir_status snapshot_write(const weir_world *world, const char *name, const char *magic, snapshot_put *put, const void *what,
                           void *bytes, size_t room, size_t *size);
weir_status snapshot_read(weir_world *world, const char *name, const char *magic, snapshot_get *get, void *what,
                          const void *bytes, size_t size);

// Whether a brick could lie there in any world.
static inline bool snapshot_brick_sound(weir_coord c)
{
    const int32_t max = WEIR_COORD_LIMIT / BRICK_EDGE;
    return c.x >= -max && c.x <= max && c.y >= -max && c.y <= max && c.z >= -max && c.z <= max;
}

// The same of a box of bricks, which must hold one.
static inline bool snapshot_box_sound(weir_box b)
{
    return snapshot_brick_sound(b.min) && b.max.x > b.min.x && b.max.y > b.min.y && b.max.z > b.min.z &&
           snapshot_brick_sound((weir_coord){b.max.x - 1, b.max.y - 1, b.max.z - 1});
}

// The payload alone, into memory and back: for checkpoints. The block grows when it is too small; all bricks must have been brought,
// and the world have caught up.
weir_status snapshot_keep(weir_world *world, uint8_t **block, size_t *room, size_t *size);
weir_status snapshot_restore(weir_world *world, const uint8_t *block, size_t size);

#endif
