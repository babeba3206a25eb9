// The brick pool: where all cell values live, and which brick lies where.
//
// A brick is 8 x 8 x 8 cells, cell index x + 8y + 64z. A channel is one value of 1, 2 or 4 bytes per cell, kept as one
// array over all bricks:
//
//     channel[c]:  | brick 0: 512 | brick 1: 512 | brick 2: 512 | ...
//
// Brick 0 is the nothing: it stands for every brick that is not there, is solid, and holds zeros in every channel for ever.
// A hash table finds a brick by its coordinate (cell coordinate >> 3); each brick knows its 26 neighbours by index.
// The order of bricks in the pool is an accident of birth and must never change a result.
#ifndef WEIR_CELLS_BRICKS_H
#define WEIR_CELLS_BRICKS_H

#include "base/memory.h"
#include "world/brick.h"
#include <string.h>

enum { CHANNEL_MAX = 64 };  // in one pool

// Where a brick's values are when a device keeps them.
typedef enum brick_place {
    PLACE_BOTH,     // the same here and there
    PLACE_THERE,    // those here are old
    PLACE_HERE,     // those there are old
    PLACE_NOWHERE,  // newborn: zero, and written nowhere yet
} brick_place;

// What the passes of an update do with a brick (sleep.h).
typedef enum brick_phase {
    PHASE_ASLEEP,  // nothing: to the others it is the nothing
    PHASE_RIM,     // what flows into it is booked, and its pressure stays as it is
    PHASE_AWAKE,
} brick_phase;

// What is known of a brick's rest, part of the state but for `single` and `crossed`.
typedef struct brick_rest {
    // The height of the surface over its water, in drops: asleep, or when it was looked at last; REST_NO_HEAD: it has none.
    int64_t head;
    int64_t shown;  // asleep: the head that its pressure shows, which follows only where somebody reads it
    int64_t
        owed;  // asleep and wet: drops that flowed into its body and are in no cell yet; negative: that left and still are in one
    uint16_t surface;  // asleep: its cells with nothing but air above them
    uint8_t links;     // asleep: a bit for each neighbour its water hangs together with, by face: see bodies_neighbour
    uint8_t asleep;
    uint8_t
        calm;  // updates for which it has been still, up to REST_UPDATES, and then for which it has been quiet, up to REST_LONG
    uint8_t hold;     // updates for which it must not fall asleep
    uint8_t gentle;   // awake: for how long it has not been wild, nor its island, unless that is driven: REST_FADED at most
    uint8_t wild;     // awake: for how long it has been wild again and again: REST_DRIVEN at most
    uint8_t driven;   // awake: 1: something makes waves in its island that goes on and on
    uint8_t looks;    // awake: how often it was found to rise evenly, or not at all
    int32_t rise;     // awake: of its head, from the look before the last to the last one
    uint8_t single;   // asleep: its values changed, and the channels that take new ones have them not yet
    uint8_t crossed;  // bricks beside it came or left: over its faces may be flow that leads where none may be
} brick_rest;

#define REST_NO_HEAD INT64_MIN
enum { REST_LONG = 64 };

// A device that keeps the values of a pool. The channels of the pool are then copies of single bricks, fetched when somebody asks.
typedef struct brick_remote {
    void *user;
    // Copies the bricks' values to the channels of the pool. A device that is lost gives zeros.
    void (*fetch)(void *user, const int32_t *bricks, int32_t count);
    // WEIR_OK, or why the device is lost, and all values with it that are not here.
    weir_status (*status)(void *user);
    // Tells the world how its last update went, as far as that is still to be waited for.
    void (*catch_up)(void *user);
    // Brick b, for every live b below `end`, is to be place[b] from now on.
    void (*repack)(void *user, const int32_t *place, int32_t end);
} brick_remote;

typedef struct brick_pool {
    memory *mem;
    int32_t capacity;  // bricks there is room for, the nothing included
    int32_t end;       // one past the highest index ever used since the last packing
    int32_t live;      // bricks that are there, the nothing not counted
    int32_t awake;     // of them, in PHASE_AWAKE
    int32_t peak_live;
    int64_t peak_bytes;
    weir_coord *coord;    // brick coordinates
    int32_t (*near)[27];  // neighbours by index
    brick_mask *open;     // open cells
    uint8_t *alive;       // 1: the brick is there
    uint8_t *wet;         // 1: it holds mass
    uint8_t *wet_seen;    // wet as cells_topology saw it last
    uint32_t *closed;     // bit k: the neighbour k is not there because it is solid throughout
    int64_t *changed;     // number of the change that made it or last touched its water or terrain
    int64_t *flagged;     // number of the update that last touched its water, where that may be too little to count (changes.c)
    uint8_t *phase;       // brick_phase; of what is not there PHASE_ASLEEP
    brick_rest *rest;
    int32_t (
        *near_worked)[27];   // of bricks that are not asleep: `near` without those that are; only while some are: bricks_near
    uint8_t *place;          // brick_place; only with a remote
    uint8_t *dirty;          // 1: its neighbours or its open cells changed since they were sent to the device
    uint8_t *pyramid_dirty;  // 1: it was born, died or got another index since the pyramid was built
    int32_t *free_list;      // indices to be used again
    int32_t free_count;
    int32_t *slot;  // hash table: brick index or 0
    uint32_t slot_mask;
    int32_t channel_count;
    void *channel[CHANNEL_MAX];
    uint8_t channel_bytes[CHANNEL_MAX];  // of one value
    uint64_t version;                    // grows whenever bricks are born, die or move, or their terrain changes
    int64_t bytes;                       // channels and tables
    int32_t least;                       // capacity below which the pool is not packed
    bool topology_dirty;                 // bricks or terrain changed since cells_topology ran; it has to look at every brick
    const brick_remote *remote;          // that keeps the values; NULL: they are here
} brick_pool;

// An empty pool with room for `reserve` bricks and a number of channels, of so many bytes per cell each; NULL: all of 4.
weir_status bricks_create(memory *mem, int32_t reserve, int32_t channel_count, const uint8_t *channel_bytes, brick_pool *pool);
void bricks_destroy(brick_pool *pool);

// One more channel of so many bytes per cell, zero everywhere.
weir_status bricks_add_channel(brick_pool *pool, int32_t bytes, int32_t *channel);

// Gives channels back, down to a count there was before.
void bricks_drop_channels(brick_pool *pool, int32_t channel_count);

// Makes room for `more` births, so that they cannot fail.
weir_status bricks_reserve(brick_pool *pool, int32_t more);

// The brick at a brick coordinate, or BRICK_NOTHING.
int32_t bricks_find(const brick_pool *pool, weir_coord coord);

// A new brick, cleared, linked to its neighbours. Room must have been reserved; the coordinate must be free.
int32_t bricks_born(brick_pool *pool, weir_coord coord, const brick_mask *open);

// Ends a brick and unlinks it.
void bricks_die(brick_pool *pool, int32_t brick);

// Packs the pool to half its size when three quarters of it are dead. Never fails: without memory it stays as it is.
void bricks_pack(brick_pool *pool);

// Moves the live bricks down over the dead ones, so that `end` is as small as can be. Needs no memory.
void bricks_close_gaps(brick_pool *pool);

int64_t bricks_bytes(const brick_pool *pool);

// NULL, or what of the pool is broken: counts, tables, neighbours, the nothing.
const char *bricks_validate(const brick_pool *pool);

// Makes `mirror` (zero at first) a pool of the same bricks at the same indices, for reading only, with memory for the channels
// whose bits are set; the others are NULL. Channel values are left to the caller. Memory is used again from call to call.
// On a failure the mirror is empty.
weir_status bricks_mirror(const brick_pool *pool, uint64_t channels, brick_pool *mirror);

// Live bricks in coordinate order (z, then y, then x) into an array with room for pool->live.
void bricks_sorted(const brick_pool *pool, int32_t *order);

// Some bricks, in the same order.
void bricks_sort(const brick_pool *pool, int32_t *order, int32_t count);

// Fetches the values of bricks that are not here.
void bricks_fetch(const brick_pool *pool, const int32_t *bricks, int32_t count);
void bricks_fetch_all(const brick_pool *pool);

// The world then knows how its last update went.
static inline void bricks_catch_up(const brick_pool *pool)
{
    if (pool->remote) pool->remote->catch_up(pool->remote->user);
}

// Before the values of a brick are read, or changed, through the channels.
static inline void bricks_read(const brick_pool *pool, int32_t brick)
{
    if (pool->remote && (pool->place[brick] == PLACE_THERE || pool->place[brick] == PLACE_NOWHERE))
        bricks_fetch(pool, &brick, 1);
}

static inline void bricks_write(const brick_pool *pool, int32_t brick)
{
    bricks_read(pool, brick);
    pool->place[brick] = PLACE_HERE;
}

// The next brick from `brick` on to which a table of bytes gives this value; `end` if there is none.
static inline int32_t bricks_next(const uint8_t *table, int value, int32_t brick, int32_t end)
{
    const uint8_t *found = brick < end ? memchr(table + brick, value, (size_t)(end - brick)) : NULL;
    return found ? (int32_t)(found - table) : end;
}

// The neighbours of bricks as passes see them.
static inline const int32_t (*bricks_near(const brick_pool *pool))[27]
{
    return (const int32_t(*)[27])(pool->awake < pool->live ? pool->near_worked : pool->near);
}

// Whether a brick and its 26 neighbours, as passes see them, are open throughout.
static inline bool bricks_clear(const brick_pool *pool, int32_t brick)
{
    const int32_t *near = bricks_near(pool)[brick];
    for (int32_t k = 0; k < 27; k++)
        if (near[k] == BRICK_NOTHING) return false;  // most that are not clear end here, without a look at masks
    for (int32_t k = 0; k < 27; k++)
        if (!mask_full(&pool->open[near[k]])) return false;
    return true;
}

// Marks a brick and its neighbours dirty: its terrain changed.
void bricks_mark_dirty(brick_pool *pool, int32_t brick);

// The bytes that a brick takes in a channel, and where they are.
static inline size_t bricks_channel_bytes(const brick_pool *pool, int32_t channel)
{
    return (size_t)pool->channel_bytes[channel] * BRICK_CELLS;
}

static inline void *bricks_values(const brick_pool *pool, int32_t channel, int32_t brick)
{
    return (char *)pool->channel[channel] + (size_t)brick * bricks_channel_bytes(pool, channel);
}

// The same for channels of 4 bytes.
static inline int32_t *bricks_ints(const brick_pool *pool, int32_t channel, int32_t brick)
{
    return (int32_t *)pool->channel[channel] + (size_t)brick * BRICK_CELLS;
}

static inline float *bricks_floats(const brick_pool *pool, int32_t channel, int32_t brick)
{
    return (float *)pool->channel[channel] + (size_t)brick * BRICK_CELLS;
}

#endif
