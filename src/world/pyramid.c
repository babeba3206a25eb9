// Building the pyramid, in every update in which bricks come or go, so it must be quick. Parents are numbered in the order in which
// their first child comes up. That order is an accident, and nothing computed on the pyramid depends on it.
//
// Live bricks know their neighbours, and among them all that share a parent; from the second level on parents are found through a
// hash table. Neighbours go the other way: those of the coarsest level are looked up, those below are children of the neighbours of
// a brick's parent.
#include "world/pyramid.h"

#include "base/hash.h"
#include "base/status.h"
#include <string.h>

enum { EXTRA_LEVELS = 2 };

static uint32_t coord_hash(weir_coord c)
{
    return hash_mix((uint32_t)c.x * 0x9e3779b1u ^ hash_mix((uint32_t)c.y * 0x85ebca77u ^ hash_mix((uint32_t)c.z)));
}

static bool same_coord(weir_coord a, weir_coord b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// The slot that holds the brick at a coordinate, or the free slot where it belongs.
static int32_t *find_slot(const pyramid_level *level, weir_coord coord)
{
    uint32_t mask = (uint32_t)level->slot_room - 1;
    uint32_t i = coord_hash(coord) & mask;
    while (level->slot[i] != 0 && !same_coord(level->coord[level->slot[i]], coord)) i = (i + 1) & mask;
    return &level->slot[i];
}

static bool resize(memory *mem, void *array, int32_t old_count, int32_t new_count, size_t size)
{
    void **at = array;
    void *block = memory_resize(mem, *at, (size_t)old_count * size, (size_t)new_count * size);
    if (!block) return false;
    *at = block;
    return true;
}

// Room for `room` coordinates, and `least` slots or more to look them up, all free.
static bool keys_reserve(pyramid *p, pyramid_level *level, int32_t room, int32_t least)
{
    int32_t slots = 16;
    while (slots < least) slots *= 2;
    if (room > level->key_room) {
        if (!resize(p->mem, &level->coord, level->key_room, room, sizeof *level->coord)) return false;
        level->key_room = room;
    }
    if (slots > level->slot_room) {
        if (!resize(p->mem, &level->slot, level->slot_room, slots, sizeof *level->slot)) return false;
        level->slot_room = slots;
    }
    memset(level->slot, 0, (size_t)level->slot_room * sizeof *level->slot);
    return true;
}

// Values in a channel. The few on top keep a brick's channels from falling into the same sets of the cache.
static size_t channel_size(int32_t room)
{
    return (size_t)room * BRICK_CELLS + 80;
}

static void free_bricks(pyramid *p, pyramid_level *level)
{
    size_t room = (size_t)level->room;
    memory_free(p->mem, level->near, room * sizeof *level->near);
    memory_free(p->mem, level->child, room * sizeof *level->child);
    memory_free(p->mem, level->parent, room * sizeof *level->parent);
    memory_free(p->mem, level->full, room * sizeof *level->full);
    if (level->cells) memory_free(p->mem, level->cells, PYRAMID_CHANNELS * channel_size(level->room) * sizeof(float));
    level->near = NULL;
    level->child = NULL;
    level->parent = NULL;
    level->full = NULL;
    level->cells = NULL;
    memset(level->channel, 0, sizeof level->channel);
    level->room = 0;
}

// Room for the bricks that were counted. The old ones are freed first: contents are built anew, and the peak stays low.
static bool bricks_room(pyramid *p, pyramid_level *level)
{
    if (level->count <= level->room) return true;
    int32_t room = level->room == 0 ? level->count : level->count + level->count / 8;
    free_bricks(p, level);
    level->room = room;
    level->near = memory_alloc_zero(p->mem, (size_t)room * sizeof *level->near);
    level->child = memory_alloc(p->mem, (size_t)room * sizeof *level->child);
    level->parent = memory_alloc_zero(p->mem, (size_t)room * sizeof *level->parent);
    level->full = memory_alloc(p->mem, (size_t)room * sizeof *level->full);
    if (!p->tables_only) level->cells = memory_alloc(p->mem, PYRAMID_CHANNELS * channel_size(room) * sizeof(float));
    bool got = level->near && level->child && level->parent && level->full && (level->cells || p->tables_only);
    for (int32_t c = 0; c < PYRAMID_CHANNELS && got && !p->tables_only; c++) {
        level->channel[c] = level->cells + (size_t)c * channel_size(room);
        memset(level->channel[c], 0, BRICK_CELLS * sizeof(float));
    }
    if (!got) free_bricks(p, level);
    return got;
}

// The brick that covers a brick of the level below; made if need be.
static int32_t parent_of(pyramid_level *level, weir_coord coord)
{
    weir_coord above = {coord.x >> 1, coord.y >> 1, coord.z >> 1};
    int32_t *slot = find_slot(level, above);
    if (*slot == 0) {
        *slot = level->count++;
        level->coord[*slot] = above;
    }
    return *slot;
}

static void add_child(pyramid_level *level, int32_t parent, weir_coord coord, int32_t child)
{
    level->child[parent][(coord.x & 1) + 2 * (coord.y & 1) + 4 * (coord.z & 1)] = child;
}

// The neighbours of the coarsest level.
static void look_up_neighbours(pyramid_level *level)
{
    for (int32_t i = 1; i < level->count; i++) {
        for (int32_t n = 0; n < 27; n++) {
            weir_coord c = level->coord[i];
            weir_coord at = {c.x + n % 3 - 1, c.y + n / 3 % 3 - 1, c.z + n / 9 - 1};
            level->near[i][n] = n == BRICK_SELF ? i : *find_slot(level, at);
        }
    }
}

// The neighbours of a level from those of the level above it. Around the 2 x 2 x 2 children of a parent lie 4 x 4 x 4 bricks, all of
// them children of it and of its neighbours: they are gathered once, and each child takes 3 x 3 x 3 of them.
static void link_neighbours(pyramid_level *level, const pyramid_level *above)
{
    uint8_t whose[64], octant[64];
    for (int32_t i = 0; i < 64; i++) {
        int32_t x = (i & 3) + 1, y = (i >> 2 & 3) + 1, z = (i >> 4) + 1;
        whose[i] = (uint8_t)(x / 2 + 3 * (y / 2) + 9 * (z / 2));
        octant[i] = (uint8_t)(x % 2 + 2 * (y % 2) + 4 * (z % 2));
    }
    for (int32_t p = 1; p < above->count; p++) {
        int32_t around[64];
        for (int32_t i = 0; i < 64; i++) around[i] = above->child[above->near[p][whose[i]]][octant[i]];
        for (int32_t o = 0; o < 8; o++) {
            int32_t child = above->child[p][o];
            if (child == 0) continue;
            const int32_t *from = around + (o & 1) + 4 * (o >> 1 & 1) + 16 * (o >> 2);
            for (int32_t z = 0; z < 3; z++)
                for (int32_t y = 0; y < 3; y++)
                    memcpy(&level->near[child][3 * y + 9 * z], from + 4 * y + 16 * z, 3 * sizeof *from);
        }
    }
}

// Octants without a child are never written by the kernels, so they are cleared once here.
static void clear_childless(pyramid_level *level)
{
    for (int32_t i = 1; i < level->count; i++) {
        for (int32_t o = 0; o < 8; o++) {
            if (level->child[i][o] != 0) continue;
            int32_t first = 4 * (o & 1) + 8 * 4 * (o >> 1 & 1) + 64 * 4 * (o >> 2);
            for (int32_t c = 0; c < PYRAMID_CHANNELS; c++)
                for (int32_t z = 0; z < 4; z++)
                    for (int32_t y = 0; y < 4; y++)
                        memset(pyramid_cells(level, c, i) + first + 8 * y + 64 * z, 0, 4 * sizeof(float));
        }
    }
}

// Gives a parent to a live brick and to all that share it: they are at most one brick away.
static void adopt(pyramid_level *level, const brick_pool *pool, int32_t brick, int32_t *parent)
{
    weir_coord c = pool->coord[brick];
    int32_t low = NEAR(-(c.x & 1), -(c.y & 1), -(c.z & 1));
    for (int32_t o = 0; o < 8; o++) {
        int32_t sibling = pool->near[brick][low + (o & 1) + 3 * (o >> 1 & 1) + 9 * (o >> 2)];
        if (sibling) parent[sibling] = level->count;
    }
    level->coord[level->count++] = (weir_coord){c.x >> 1, c.y >> 1, c.z >> 1};
}

// The first level, over the live bricks, and where their parents go.
static bool build_first(pyramid *p, pyramid_level *level, const brick_pool *pool, int32_t *parent)
{
    if (!keys_reserve(p, level, pool->live + 1, 0)) return false;
    level->count = 1;
    memset(parent, 0, (size_t)pool->end * sizeof *parent);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && parent[b] == 0) adopt(level, pool, b, parent);
    if (!bricks_room(p, level)) return false;
    memset(level->child, 0, (size_t)level->count * sizeof *level->child);
    memset(level->full, 0, (size_t)level->count * sizeof *level->full);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) add_child(level, parent[b], pool->coord[b], b);
    return true;
}

// A level over the level below it.
static bool build_level(pyramid *p, pyramid_level *level, pyramid_level *below)
{
    if (!keys_reserve(p, level, below->count, 2 * below->count)) return false;
    level->count = 1;
    for (int32_t b = 1; b < below->count; b++) below->parent[b] = parent_of(level, below->coord[b]);
    if (!bricks_room(p, level)) return false;
    memset(level->child, 0, (size_t)level->count * sizeof *level->child);
    memset(level->full, 0, (size_t)level->count * sizeof *level->full);
    for (int32_t b = 1; b < below->count; b++) add_child(level, below->parent[b], below->coord[b], b);
    return true;
}

void pyramid_create(memory *mem, bool tables_only, pyramid *p)
{
    *p = (pyramid){.mem = mem, .version = UINT64_MAX, .tables_only = tables_only};
}

void pyramid_destroy(pyramid *p)
{
    for (int32_t l = 0; l < PYRAMID_LEVELS; l++) {
        pyramid_level *level = &p->level[l];
        free_bricks(p, level);
        memory_free(p->mem, level->coord, (size_t)level->key_room * sizeof *level->coord);
        memory_free(p->mem, level->slot, (size_t)level->slot_room * sizeof *level->slot);
    }
}

weir_status pyramid_build(pyramid *p, const brick_pool *pool)
{
    if (p->version == pool->version) return WEIR_OK;
    p->version = UINT64_MAX;
    pyramid_level *fine = &p->level[0];
    if (fine->room < pool->capacity) {
        if (!resize(p->mem, &fine->parent, fine->room, pool->capacity, sizeof *fine->parent))
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out while building the coarse levels");
        fine->room = pool->capacity;
    }

    int32_t below = pool->live;
    int32_t extra = 0;
    int32_t l = 0;
    while (below > 0 && l + 1 < PYRAMID_LEVELS && extra <= EXTRA_LEVELS) {
        pyramid_level *lower = &p->level[l];
        pyramid_level *level = &p->level[++l];
        bool built = l == 1 ? build_first(p, level, pool, lower->parent) : build_level(p, level, lower);
        if (!built) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while building the coarse levels");
        if (level->count - 1 == below) extra++;
        below = level->count - 1;
    }
    p->top = l;
    if (l > 0) look_up_neighbours(&p->level[l]);
    for (int32_t below_top = l - 1; below_top >= 1; below_top--)
        link_neighbours(&p->level[below_top], &p->level[below_top + 1]);
    for (int32_t each = 1; each <= l && !p->tables_only; each++) clear_childless(&p->level[each]);
    p->version = pool->version;
    return WEIR_OK;
}

int64_t pyramid_bytes(const pyramid *p)
{
    int64_t bytes = 0;
    for (int32_t l = 0; l < PYRAMID_LEVELS; l++) {
        const pyramid_level *level = &p->level[l];
        int64_t room = level->room;
        bytes += room * (int64_t)sizeof *level->parent + level->slot_room * (int64_t)sizeof *level->slot;
        bytes += level->key_room * (int64_t)sizeof *level->coord;
        if (l > 0)
            bytes += room * (int64_t)(sizeof *level->near + sizeof *level->child + sizeof *level->full +
                                      PYRAMID_CHANNELS * BRICK_CELLS * sizeof(float));
    }
    return bytes;
}
