// The brick pool.
//
// Every array is a block: a head of 64 bytes that holds its size, then the items. A block knows its own size because it can be
// larger than the capacity asks for (a growth that failed halfway, a packing without memory), and because solvers swap the
// pointers of channels.
//
//     | size, 64 bytes | brick 0 | brick 1 | ... | brick capacity-1 |
#include "cells/bricks.h"
#include "base/broken.h"
#include "base/status.h"
#include "world/coord_table.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_HEAD = 64,
    GROW_LEAST = 16,  // capacity of the first growth
    PACK_LEAST = 64,  // pools of this capacity are not worth packing
    SLOTS_LEAST = 16
};

// Tables with one item per brick: those that a reader needs, and those that only the owner does.
#define READ_TABLES(ITEM) ITEM(coord) ITEM(near) ITEM(open) ITEM(alive) ITEM(wet) ITEM(changed) ITEM(rest)
#define OWN_TABLES(ITEM) \
    ITEM(wet_seen)       \
    ITEM(closed) ITEM(flagged) ITEM(phase) ITEM(near_worked) ITEM(place) ITEM(dirty) ITEM(pyramid_dirty) ITEM(free_list)
// Those that a brick takes along when it gets another index.
#define CARRIED_TABLES(ITEM) \
    ITEM(coord) ITEM(open) ITEM(wet) ITEM(wet_seen) ITEM(closed) ITEM(changed) ITEM(flagged) ITEM(phase) ITEM(rest) ITEM(place)
#define ALL_TABLES(ITEM) READ_TABLES(ITEM) OWN_TABLES(ITEM)

// ---- Blocks ----------------------------------------------------------------------------------------------------------------

static size_t block_size(const void *block)
{
    size_t size = 0;
    if (block) memcpy(&size, (const char *)block - BLOCK_HEAD, sizeof size);
    return size;
}

// Sizes come as 64 bits, since a large pool does not fit where size_t has 32.
static void *block_alloc(brick_pool *pool, uint64_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    char *head = memory_alloc(pool->mem, (size_t)size + BLOCK_HEAD);
    if (!head) return NULL;
    size_t kept = (size_t)size;
    memcpy(head, &kept, sizeof kept);
    pool->bytes += (int64_t)size + BLOCK_HEAD;
    if (pool->bytes > pool->peak_bytes) pool->peak_bytes = pool->bytes;
    return head + BLOCK_HEAD;
}

static void block_free(brick_pool *pool, void *block)
{
    if (!block) return;
    size_t size = block_size(block) + BLOCK_HEAD;
    pool->bytes -= (int64_t)size;
    memory_free(pool->mem, (char *)block - BLOCK_HEAD, size);
}

// A block of this size with the first `keep` bytes of the old one, which is freed. Without memory the old one is returned if it
// is large enough, else NULL.
static void *block_resize(brick_pool *pool, void *old, uint64_t keep, uint64_t size)
{
    if (old && block_size(old) == size) return old;
    void *block = block_alloc(pool, size);
    if (!block) return block_size(old) >= size ? old : NULL;
    if (old) memcpy(block, old, (size_t)keep);
    block_free(pool, old);
    return block;
}

// A block of at least this size whose content does not matter: the old one unless it is too small or far too large.
static void *block_reuse(brick_pool *pool, void *old, uint64_t size)
{
    if (old && block_size(old) >= size && block_size(old) / 4 <= size) return old;
    block_free(pool, old);
    return block_alloc(pool, size);
}

// ---- Hash table ------------------------------------------------------------------------------------------------------------

static uint32_t slots_for(int32_t capacity)
{
    uint32_t count = SLOTS_LEAST;
    while (count < 2 * (uint32_t)capacity) count *= 2;
    return count;
}

static int32_t *slot_of(const brick_pool *pool, weir_coord coord)
{
    return coord_slot(pool->slot, pool->slot_mask, pool->coord, coord);
}

// Builds the table anew with this many slots; with more, if there is no memory and it has more.
static bool slots_rebuild(brick_pool *pool, uint32_t count)
{
    int32_t *slot = block_alloc(pool, (uint64_t)count * sizeof *slot);
    if (slot) {
        block_free(pool, pool->slot);
        pool->slot = slot;
        pool->slot_mask = count - 1;
    } else if (!pool->slot || pool->slot_mask + 1 < count) {
        return false;
    }
    memset(pool->slot, 0, ((size_t)pool->slot_mask + 1) * sizeof *pool->slot);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) *slot_of(pool, pool->coord[b]) = b;
    return true;
}

// ---- Capacity --------------------------------------------------------------------------------------------------------------

// As block_resize for a channel. Of values that a device keeps only those are copied that are wanted here.
static void *resize_channel(brick_pool *pool, int32_t channel, int32_t capacity)
{
    const size_t brick_bytes = bricks_channel_bytes(pool, channel);
    void *old = pool->channel[channel];
    uint64_t size = (uint64_t)capacity * brick_bytes;
    if (!pool->remote) return block_resize(pool, old, (uint64_t)pool->end * brick_bytes, size);
    if (old && block_size(old) == size) return old;
    char *block = block_alloc(pool, size);
    if (!block) return block_size(old) >= size ? old : NULL;
    for (int32_t b = 0; b < pool->end; b++) {
        size_t at = (size_t)b * brick_bytes;
        if (pool->place[b] == PLACE_HERE || pool->place[b] == PLACE_BOTH) memcpy(block + at, (char *)old + at, brick_bytes);
    }
    block_free(pool, old);
    return block;
}

// Brings the arrays to a capacity one by one, so that only one of them is there twice at any moment. When memory runs out,
// those already larger stay so and the capacity remains what it was.
static bool set_capacity(brick_pool *pool, int32_t capacity)
{
    uint64_t end = (uint64_t)pool->end, room = (uint64_t)capacity;
    uint32_t slots = slots_for(capacity);
    if ((!pool->slot || pool->slot_mask + 1 < slots) && !slots_rebuild(pool, slots)) return false;

#define RESIZE(table)                                                                                         \
    {                                                                                                         \
        void *block = block_resize(pool, pool->table, end * sizeof *pool->table, room * sizeof *pool->table); \
        if (!block) return false;                                                                             \
        pool->table = block;                                                                                  \
    }
    ALL_TABLES(RESIZE)
#undef RESIZE

    for (int32_t c = 0; c < pool->channel_count; c++) {
        void *block = resize_channel(pool, c, capacity);
        if (!block) return false;
        pool->channel[c] = block;
    }
    pool->capacity = capacity;
    return true;
}

static int64_t bytes_per_brick(const brick_pool *pool)
{
    int64_t bytes = 2 * (int64_t)sizeof *pool->slot;
    for (int32_t c = 0; c < pool->channel_count; c++) bytes += (int64_t)bricks_channel_bytes(pool, c);
#define ADD(table) bytes += (int64_t)sizeof *pool->table;
    ALL_TABLES(ADD)
#undef ADD
    return bytes;
}

// Moves the live bricks down over the dead ones, in their order.
static void close_gaps(brick_pool *pool)
{
    // All of the free list goes, so its table can hold where each brick moves to.
    int32_t *place = pool->free_list;
    int32_t end = 1;
    place[BRICK_NOTHING] = BRICK_NOTHING;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) place[b] = end++;
    if (pool->remote) pool->remote->repack(pool->remote->user, place, pool->end);

    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        int32_t to = place[b];
        for (int32_t k = 0; k < 27; k++) pool->near[to][k] = place[pool->near[b][k]];
        pool->dirty[to] = 1;
        if (to == b) continue;
        pool->pyramid_dirty[to] = 1;
#define MOVE(table) pool->table[to] = pool->table[b];
        CARRIED_TABLES(MOVE)
#undef MOVE
        pool->alive[to] = 1;
        if (pool->place[b] == PLACE_THERE || pool->place[b] == PLACE_NOWHERE) continue;
        for (int32_t c = 0; c < pool->channel_count; c++)
            memcpy(bricks_values(pool, c, to), bricks_values(pool, c, b), bricks_channel_bytes(pool, c));
    }
    pool->end = end;
    pool->free_count = 0;
}

// ---- Order -----------------------------------------------------------------------------------------------------------------

static bool comes_before(const brick_pool *pool, int32_t a, int32_t b)
{
    return coord_compare(pool->coord[a], pool->coord[b]) < 0;
}

static int32_t part_of(weir_coord c, int32_t axis)
{
    return axis == 0 ? c.x : axis == 1 ? c.y : c.z;
}

// By z, then y, then x: into 256 parts by the uppermost bits in which any differ, in place, and then each of these.
static void sort_by(const brick_pool *pool, int32_t *order, int32_t count, int32_t axis)
{
    enum { PARTS = 256, SHORT = 16 };
    int32_t low, high, shift = 0;
    if (count <= SHORT) {
        for (int32_t i = 1; i < count; i++) {
            const int32_t brick = order[i];
            int32_t k = i;
            for (; k > 0 && comes_before(pool, brick, order[k - 1]); k--) order[k] = order[k - 1];
            order[k] = brick;
        }
        return;
    }
    for (;; axis--) {
        low = high = part_of(pool->coord[order[0]], axis);
        for (int32_t i = 1; i < count; i++) {
            const int32_t at = part_of(pool->coord[order[i]], axis);
            if (at < low) low = at;
            if (at > high) high = at;
        }
        if (low != high) break;
        if (axis == 0) return;
    }
    while ((int64_t)high - low >= (int64_t)PARTS << shift) shift++;
    int32_t first[PARTS + 1] = {0}, next[PARTS];
#define PART(brick) (((int64_t)part_of(pool->coord[brick], axis) - low) >> shift)
    for (int32_t i = 0; i < count; i++) first[PART(order[i]) + 1]++;
    for (int32_t part = 0; part < PARTS; part++) {
        next[part] = first[part];
        first[part + 1] += first[part];
    }
    for (int32_t part = 0; part < PARTS; part++) {
        while (next[part] < first[part + 1]) {
            int32_t brick = order[next[part]];
            for (int64_t to; (to = PART(brick)) != part;) {
                const int32_t there = order[next[to]];
                order[next[to]++] = brick;
                brick = there;
            }
            order[next[part]++] = brick;
        }
    }
#undef PART
    for (int32_t part = 0; part < PARTS; part++) {
        const int32_t length = first[part + 1] - first[part];
        if (length > 1) sort_by(pool, order + first[part], length, shift > 0 || axis == 0 ? axis : axis - 1);
    }
}

// Needs no memory, which a query must not ask for, and has no bad case.
void bricks_sort(const brick_pool *pool, int32_t *order, int32_t count)
{
    bool sorted = true;
    for (int32_t i = 1; i < count && sorted; i++) sorted = !comes_before(pool, order[i], order[i - 1]);
    if (!sorted) sort_by(pool, order, count, 2);
}

void bricks_sorted(const brick_pool *pool, int32_t *order)
{
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) order[count++] = b;
    bricks_sort(pool, order, count);
}

// ---- Life of the pool ------------------------------------------------------------------------------------------------------

weir_status bricks_create(memory *mem, int32_t reserve, int32_t channel_count, const uint8_t *channel_bytes, brick_pool *pool)
{
    assert(reserve >= 0 && channel_count >= 0 && channel_count <= CHANNEL_MAX);
    *pool = (brick_pool){.mem = mem, .channel_count = channel_count};
    for (int32_t c = 0; c < channel_count; c++) pool->channel_bytes[c] = channel_bytes ? channel_bytes[c] : 4;
    if (reserve > BRICK_MAX)
        return status_fail(WEIR_ERROR_LIMIT, "room for %d bricks was asked for; a world holds %d at most", reserve, BRICK_MAX);
    if (!set_capacity(pool, reserve + 1)) {
        int64_t bytes = bytes_per_brick(pool) * (reserve + 1);
        bricks_destroy(pool);
        return status_fail(WEIR_ERROR_MEMORY, "room for %d bricks needs %.1f MiB of memory, which is not there", reserve,
                           (double)bytes / (1 << 20));
    }
    pool->least = pool->capacity > PACK_LEAST ? pool->capacity : PACK_LEAST;
    pool->end = 1;
#define CLEAR(table) memset(pool->table, 0, sizeof *pool->table);
    ALL_TABLES(CLEAR)
#undef CLEAR
    for (int32_t c = 0; c < channel_count; c++) memset(pool->channel[c], 0, bricks_channel_bytes(pool, c));
    return WEIR_OK;
}

void bricks_destroy(brick_pool *pool)
{
#define FREE(table) block_free(pool, pool->table);
    ALL_TABLES(FREE)
#undef FREE
    block_free(pool, pool->slot);
    for (int32_t c = 0; c < pool->channel_count; c++) block_free(pool, pool->channel[c]);
    *pool = (brick_pool){0};
}

weir_status bricks_add_channel(brick_pool *pool, int32_t bytes, int32_t *channel)
{
    assert(bytes == 1 || bytes == 2 || bytes == 4);
    if (pool->channel_count == CHANNEL_MAX)
        return status_fail(WEIR_ERROR_LIMIT, "a world has room for %d channels, and all are in use", CHANNEL_MAX);
    const size_t brick_bytes = (size_t)bytes * BRICK_CELLS;
    uint64_t size = (uint64_t)pool->capacity * brick_bytes;
    void *block = block_alloc(pool, size);
    if (!block)
        return status_fail(WEIR_ERROR_MEMORY, "one more channel needs %.1f MiB of memory, which is not there",
                           (double)size / (1 << 20));
    for (int32_t b = 0; b < pool->end; b++)
        if (!pool->remote || pool->place[b] != PLACE_THERE) memset((char *)block + (size_t)b * brick_bytes, 0, brick_bytes);
    *channel = pool->channel_count++;
    pool->channel[*channel] = block;
    pool->channel_bytes[*channel] = (uint8_t)bytes;
    pool->version++;
    return WEIR_OK;
}

void bricks_drop_channels(brick_pool *pool, int32_t channel_count)
{
    while (pool->channel_count > channel_count) {
        block_free(pool, pool->channel[--pool->channel_count]);
        pool->channel[pool->channel_count] = NULL;
    }
    pool->version++;
}

weir_status bricks_reserve(brick_pool *pool, int32_t more)
{
    int64_t needed = (int64_t)pool->live + 1 + more;
    if (needed <= pool->capacity) return WEIR_OK;
    if (needed > (int64_t)BRICK_MAX + 1)
        return status_fail(WEIR_ERROR_LIMIT, "the water would take up %lld bricks; a world holds %d at most",
                           (long long)needed - 1, BRICK_MAX);

    int64_t doubled = 2 * (int64_t)pool->capacity;
    if (doubled < GROW_LEAST) doubled = GROW_LEAST;
    if (doubled > (int64_t)BRICK_MAX + 1) doubled = (int64_t)BRICK_MAX + 1;
    pool->version++;
    if (doubled > needed && set_capacity(pool, (int32_t)doubled)) return WEIR_OK;
    if (set_capacity(pool, (int32_t)needed)) return WEIR_OK;
    return status_fail(WEIR_ERROR_MEMORY, "%d more bricks need %.1f MiB of memory, which is not there", more,
                       (double)(bytes_per_brick(pool) * (needed - pool->capacity)) / (1 << 20));
}

void bricks_pack(brick_pool *pool)
{
    int32_t capacity = pool->capacity;
    while (capacity / 2 >= pool->least && pool->live < capacity / 4) capacity /= 2;
    if (capacity == pool->capacity) return;

    close_gaps(pool);
    slots_rebuild(pool, slots_for(capacity));
    set_capacity(pool, capacity);
    pool->version++;
}

void bricks_close_gaps(brick_pool *pool)
{
    close_gaps(pool);
    slots_rebuild(pool, pool->slot_mask + 1);
    pool->version++;
}

int64_t bricks_bytes(const brick_pool *pool)
{
    return pool->bytes;
}

weir_status bricks_mirror(const brick_pool *pool, uint64_t channels, brick_pool *mirror)
{
    uint64_t room = (uint64_t)pool->capacity;
    size_t end = (size_t)pool->end, slots = (size_t)pool->slot_mask + 1;
    bool complete = true;
    mirror->mem = pool->mem;

#define MIRROR(table)                                                                 \
    mirror->table = block_reuse(mirror, mirror->table, room * sizeof *pool->table);   \
    if (mirror->table) memcpy(mirror->table, pool->table, end * sizeof *pool->table); \
    complete = complete && mirror->table;
    READ_TABLES(MIRROR)
#undef MIRROR
    mirror->slot = block_reuse(mirror, mirror->slot, slots * sizeof *pool->slot);
    if (mirror->slot) memcpy(mirror->slot, pool->slot, slots * sizeof *pool->slot);
    complete = complete && mirror->slot;

    if (mirror->channel_count < pool->channel_count) mirror->channel_count = pool->channel_count;
    memcpy(mirror->channel_bytes, pool->channel_bytes, sizeof mirror->channel_bytes);
    for (int32_t c = 0; c < pool->channel_count; c++) {
        if (!(channels >> c & 1)) {
            block_free(mirror, mirror->channel[c]);
            mirror->channel[c] = NULL;
            continue;
        }
        mirror->channel[c] = block_reuse(mirror, mirror->channel[c], room * bricks_channel_bytes(pool, c));
        complete = complete && mirror->channel[c];
    }
    if (!complete) {
        bricks_destroy(mirror);
        return status_fail(WEIR_ERROR_MEMORY, "a copy of %d bricks for reading needs more memory than is there", pool->live);
    }
    mirror->capacity = pool->capacity;
    mirror->end = pool->end;
    mirror->live = pool->live;
    mirror->awake = pool->awake;
    mirror->slot_mask = pool->slot_mask;
    mirror->version = pool->version;
    return WEIR_OK;
}

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

int32_t bricks_find(const brick_pool *pool, weir_coord coord)
{
    return pool->slot ? *slot_of(pool, coord) : BRICK_NOTHING;
}

static void clear_brick(const brick_pool *pool, int32_t brick)
{
    for (int32_t c = 0; c < pool->channel_count; c++) memset(bricks_values(pool, c, brick), 0, bricks_channel_bytes(pool, c));
}

void bricks_fetch(const brick_pool *pool, const int32_t *bricks, int32_t count)
{
    enum { BATCH = 1024 };
    int32_t there[BATCH], wanted = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t b = bricks[i];
        if (pool->place[b] == PLACE_NOWHERE) {
            clear_brick(pool, b);
            pool->place[b] = PLACE_HERE;
        } else if (pool->place[b] == PLACE_THERE) {
            there[wanted++] = b;
            pool->place[b] = PLACE_BOTH;
        }
        if (wanted < BATCH && i < count - 1) continue;
        if (wanted > 0) pool->remote->fetch(pool->remote->user, there, wanted);
        wanted = 0;
    }
}

void bricks_fetch_all(const brick_pool *pool)
{
    enum { BATCH = 1024 };
    int32_t bricks[BATCH], count = 0;
    if (!pool->remote) return;
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->alive[b]) bricks[count++] = b;
        if (count < BATCH && b < pool->end - 1) continue;
        bricks_fetch(pool, bricks, count);
        count = 0;
    }
}

void bricks_mark_dirty(brick_pool *pool, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++) pool->dirty[pool->near[brick][k]] = 1;
    pool->dirty[brick] = 1;
}

// Takes over what the neighbour `k` knows of the bricks around a new one; returns the bits of those that are known now.
static uint32_t copy_from_neighbour(brick_pool *pool, int32_t brick, int32_t k)
{
    const int32_t *from = pool->near[pool->near[brick][k]];
    int32_t x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1;
    uint32_t known = 0;
    for (int32_t dz = z > 0 ? 0 : -1; dz <= (z < 0 ? 0 : 1); dz++) {
        for (int32_t dy = y > 0 ? 0 : -1; dy <= (y < 0 ? 0 : 1); dy++) {
            for (int32_t dx = x > 0 ? 0 : -1; dx <= (x < 0 ? 0 : 1); dx++) {
                pool->near[brick][NEAR(dx, dy, dz)] = from[NEAR(dx - x, dy - y, dz - z)];
                known |= 1u << NEAR(dx, dy, dz);
            }
        }
    }
    return known;
}

// Fills the neighbours of a new brick. Those that are there know most of the others, which saves looking them up; the six at the
// faces know the most.
static void find_neighbours(brick_pool *pool, int32_t brick)
{
    static const uint8_t order[26] = {4,  10, 12, 14, 16, 22, 1, 3, 5, 7,  9,  11, 15,
                                      17, 19, 21, 23, 25, 0,  2, 6, 8, 18, 20, 24, 26};
    const uint32_t all = (1u << 27) - 1;
    uint32_t known = 1u << BRICK_SELF;
    for (int32_t i = 0; i < 26 && known != all; i++) {
        int32_t k = order[i], *at = &pool->near[brick][k];
        if (!(known >> k & 1)) *at = bricks_find(pool, brick_neighbour(pool->coord[brick], k));
        known |= 1u << k;
        if (*at) known |= copy_from_neighbour(pool, brick, k);
    }
    pool->near[brick][BRICK_SELF] = brick;
}

int32_t bricks_born(brick_pool *pool, weir_coord coord, const brick_mask *open)
{
    assert(bricks_find(pool, coord) == BRICK_NOTHING);
    assert(pool->live + 1 < pool->capacity);
    int32_t brick = pool->free_count > 0 ? pool->free_list[--pool->free_count] : pool->end++;
    pool->coord[brick] = coord;
    pool->open[brick] = *open;
    pool->alive[brick] = 1;
    pool->wet[brick] = 0;
    pool->wet_seen[brick] = 0;
    pool->closed[brick] = 0;
    pool->changed[brick] = 0;
    pool->flagged[brick] = 0;
    pool->phase[brick] = PHASE_AWAKE;
    pool->rest[brick] = (brick_rest){.head = REST_NO_HEAD};
    pool->place[brick] = pool->remote ? PLACE_NOWHERE : PLACE_BOTH;
    if (!pool->remote) clear_brick(pool, brick);

    find_neighbours(pool, brick);
    for (int32_t k = 0; k < 27; k++)
        if (pool->near[brick][k]) pool->near[pool->near[brick][k]][26 - k] = brick;
    bricks_mark_dirty(pool, brick);
    pool->pyramid_dirty[brick] = 1;
    *slot_of(pool, coord) = brick;

    pool->live++;
    pool->awake++;
    if (pool->live > pool->peak_live) pool->peak_live = pool->live;
    pool->topology_dirty = true;
    pool->version++;
    return brick;
}

void bricks_die(brick_pool *pool, int32_t brick)
{
    assert(brick > 0 && brick < pool->end && pool->alive[brick]);
    bricks_mark_dirty(pool, brick);
    for (int32_t k = 0; k < 27; k++) {
        int32_t neighbour = pool->near[brick][k];
        if (neighbour) pool->near[neighbour][26 - k] = BRICK_NOTHING;
    }
    memset(pool->near[brick], 0, sizeof pool->near[brick]);
    coord_slot_free(pool->slot, pool->slot_mask, pool->coord, pool->coord[brick]);
    pool->pyramid_dirty[brick] = 1;
    pool->alive[brick] = 0;
    pool->wet[brick] = 0;
    pool->wet_seen[brick] = 0;
    pool->free_list[pool->free_count++] = brick;
    pool->live--;
    pool->awake -= pool->phase[brick] == PHASE_AWAKE;
    pool->phase[brick] = PHASE_ASLEEP;
    pool->topology_dirty = true;
    pool->version++;
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

static const char *validate_room(const brick_pool *pool)
{
    if (pool->end < 1 || pool->end > pool->capacity || pool->capacity > BRICK_MAX + 1)
        return broken("the pool has %d bricks in use, and room for %d", pool->end, pool->capacity);
    if (pool->slot_mask & (pool->slot_mask + 1) || pool->slot_mask + 1 < 2 * (uint32_t)pool->capacity)
        return broken("the pool has %u slots for %d bricks", pool->slot_mask + 1, pool->capacity);
    int64_t bytes = (int64_t)block_size(pool->slot) + BLOCK_HEAD;
    bool room = block_size(pool->slot) >= ((size_t)pool->slot_mask + 1) * sizeof *pool->slot;
#define LOOK(table)                                         \
    bytes += (int64_t)block_size(pool->table) + BLOCK_HEAD; \
    room = room && block_size(pool->table) >= (size_t)pool->capacity * sizeof *pool->table;
    ALL_TABLES(LOOK)
#undef LOOK
    if (!room) return broken("a table of the pool is too small for %d bricks", pool->capacity);
    for (int32_t c = 0; c < pool->channel_count; c++) {
        bytes += (int64_t)block_size(pool->channel[c]) + BLOCK_HEAD;
        if (block_size(pool->channel[c]) < (size_t)pool->capacity * bricks_channel_bytes(pool, c))
            return broken("channel %d of the pool is too small for %d bricks", c, pool->capacity);
        for (int32_t other = 0; other < c; other++)
            if (pool->channel[c] == pool->channel[other]) return broken("channels %d and %d are the same memory", other, c);
    }
    if (bytes != pool->bytes)
        return broken("the pool counts %lld bytes and holds %lld", (long long)pool->bytes, (long long)bytes);
    return NULL;
}

static const char *validate_nothing(const brick_pool *pool)
{
    static const int32_t nobody[27];
    if (pool->alive[BRICK_NOTHING] || pool->wet[BRICK_NOTHING] || pool->place[BRICK_NOTHING] != PLACE_BOTH)
        return broken("the nothing is alive, wet or elsewhere");
    if (!mask_empty(&pool->open[BRICK_NOTHING])) return broken("the nothing is not solid");
    if (memcmp(pool->near[BRICK_NOTHING], nobody, sizeof nobody) != 0) return broken("the nothing has neighbours");
    for (int32_t c = 0; c < pool->channel_count; c++)
        for (size_t i = 0; i < bricks_channel_bytes(pool, c); i++)
            if (((const char *)bricks_values(pool, c, BRICK_NOTHING))[i] != 0)
                return broken("the nothing holds something in byte %d of channel %d", (int)i, c);
    return NULL;
}

static const char *validate_counts(const brick_pool *pool)
{
    int32_t live = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (pool->alive[b] > 1 || pool->wet[b] > pool->alive[b] || (pool->wet_seen[b] && !pool->alive[b]))
            return broken("brick %d is neither alive nor dead: alive %d, wet %d, seen wet %d", b, pool->alive[b], pool->wet[b],
                          pool->wet_seen[b]);
        live += pool->alive[b];
    }
    if (live != pool->live || live > pool->peak_live) return broken("%d bricks are alive and %d counted", live, pool->live);
    if (pool->free_count != pool->end - 1 - live)
        return broken("%d bricks are dead and %d to be used again", pool->end - 1 - live, pool->free_count);
    return NULL;
}

// Each dead brick once, and no other.
static const char *validate_free_list(const brick_pool *pool)
{
    uint8_t *met = calloc((size_t)pool->end, 1);
    const char *wrong = NULL;
    for (int32_t i = 0; i < pool->free_count && met && !wrong; i++) {
        int32_t b = pool->free_list[i];
        if (b < 1 || b >= pool->end || pool->alive[b] || met[b]++)
            wrong = broken("brick %d is to be used again, though it is alive, not there or listed twice", b);
    }
    free(met);
    return wrong;
}

static const char *validate_brick(const brick_pool *pool, int32_t brick)
{
    const weir_coord c = pool->coord[brick];
    if (bricks_find(pool, c) != brick)
        return broken("brick %d is not found at its coordinate (%d, %d, %d)", brick, c.x, c.y, c.z);
    for (int32_t k = 0; k < 27; k++) {
        int32_t there = bricks_find(pool, brick_neighbour(c, k)), near = pool->near[brick][k];
        if (near != there)
            return broken("brick %d at (%d, %d, %d) has brick %d as its neighbour %d; there is %d", brick, c.x, c.y, c.z, near,
                          k, there);
        if (there && pool->near[there][26 - k] != brick)
            return broken("brick %d knows its neighbour %d, which does not know it", brick, there);
        if (there && pool->closed[brick] >> k & 1) return broken("brick %d takes its neighbour %d for solid", brick, there);
    }
    return NULL;
}

const char *bricks_validate(const brick_pool *pool)
{
    const char *wrong = validate_room(pool);
    if (!wrong) wrong = validate_nothing(pool);
    if (!wrong) wrong = validate_counts(pool);
    if (!wrong) wrong = validate_free_list(pool);
    if (!wrong && coord_slots_taken(pool->slot, pool->slot_mask, pool->end) != pool->live)
        wrong = broken("the slots of the pool do not hold its %d live bricks", pool->live);
    for (int32_t b = 1; b < pool->end && !wrong; b++)
        if (pool->alive[b]) wrong = validate_brick(pool, b);
    return wrong;
}
