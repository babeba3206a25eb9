// Building the pyramid, in every update in which bricks come or go, so it must be quick: only those that came or went get and
// lose parents, and so on up the levels. Bricks of a level are numbered as they come, and where one goes the last one takes its
// number. That order is an accident, and nothing computed on the pyramid depends on it.
//
// Neighbours go the other way, and are found anew: those of the coarsest level are looked up, those below are children of the
// neighbours of a brick's parent. On the first level that is most of the work; if there is a device it is left to it.
#include "cells/pyramid.h"

#include "base/broken.h"
#include "base/status.h"
#include "world/coord_table.h"
#include <assert.h>
#include <string.h>

enum { EXTRA_LEVELS = 2, LEAST_ROOM = 8 };

// ---- Room ------------------------------------------------------------------------------------------------------------------

static int32_t *find_slot(const pyramid_level *level, weir_coord coord)
{
    return coord_slot(level->slot, (uint32_t)level->slot_room - 1, level->coord, coord);
}

// What is kept of a brick from build to build, in one block: children, coordinates, parents.
static size_t kept_bytes(int32_t room)
{
    return (size_t)room * (sizeof(int32_t[8]) + sizeof(weir_coord) + sizeof(int32_t));
}

// Room for more bricks, and twice as many slots to look them up.
static bool grow(pyramid *p, pyramid_level *level)
{
    int32_t room = level->kept_room + level->kept_room / 2 + LEAST_ROOM, slots = 2 * LEAST_ROOM;
    while (slots < 2 * room) slots *= 2;
    size_t count = (size_t)level->count;
    void *kept = memory_alloc(p->mem, kept_bytes(room));
    int32_t *slot = kept ? memory_alloc_zero(p->mem, (size_t)slots * sizeof *slot) : NULL;
    if (!slot) {
        memory_free(p->mem, kept, kept_bytes(room));
        return false;
    }
    int32_t(*child)[8] = kept;
    weir_coord *coord = (weir_coord *)(child + room);
    int32_t *parent = (int32_t *)(coord + room);
    if (level->child) {
        memcpy(child, level->child, count * sizeof *child);
        memcpy(coord, level->coord, count * sizeof *coord);
        memcpy(parent, level->parent, count * sizeof *parent);
    }
    memory_free(p->mem, level->child, kept_bytes(level->kept_room));
    memory_free(p->mem, level->slot, (size_t)level->slot_room * sizeof *slot);
    level->child = child;
    level->coord = coord;
    level->parent = parent;
    level->kept_room = room;
    level->slot = slot;
    level->slot_room = slots;
    for (int32_t b = 1; b < level->count; b++) *find_slot(level, coord[b]) = b;
    return true;
}

// Values in a channel. The few on top keep a brick's channels from falling into the same sets of the cache.
static size_t channel_size(int32_t room)
{
    return (size_t)room * BRICK_CELLS + 80;
}

static size_t cells_bytes(const pyramid *p, int32_t room)
{
    return (size_t)p->channel_count * channel_size(room) * sizeof(float);
}

static void free_made(pyramid *p, pyramid_level *level)
{
    size_t room = (size_t)level->room;
    memory_free(p->mem, level->near, room * sizeof *level->near);
    memory_free(p->mem, level->flags, room);
    memory_free(p->mem, level->cells, cells_bytes(p, level->room));
    level->near = NULL;
    level->flags = NULL;
    level->cells = NULL;
    memset(level->channel, 0, sizeof level->channel);
    level->room = 0;
}

// Room for what is made anew of the bricks there are now. The old is freed first, so that the peak stays low.
static bool make_room(pyramid *p, int32_t l)
{
    pyramid_level *level = &p->level[l];
    const bool linked = l > 1 || p->channel_count > 0;
    if (level->count <= level->room) return true;
    int32_t room = level->room == 0 ? level->count : level->count + level->count / 8;
    free_made(p, level);
    level->room = room;
    if (linked) level->near = memory_alloc_zero(p->mem, (size_t)room * sizeof *level->near);
    if (p->channel_count > 0) {
        level->flags = memory_alloc(p->mem, (size_t)room);
        level->cells = memory_alloc(p->mem, cells_bytes(p, room));
    }
    bool got = (level->near || !linked) && ((level->flags && level->cells) || p->channel_count == 0);
    for (int32_t c = 0; c < p->channel_count && got; c++) {
        level->channel[c] = level->cells + (size_t)c * channel_size(room);
        memset(level->channel[c], 0, BRICK_CELLS * sizeof(float));
    }
    if (!got) free_made(p, level);
    return got;
}

// ---- Parents and children --------------------------------------------------------------------------------------------------

// Gives a brick of the level below its parent on level l, which is made if need be. Without memory it has none: 0.
static int32_t adopt(pyramid *p, int32_t l, weir_coord coord, int32_t child)
{
    pyramid_level *level = &p->level[l];
    if (level->count >= level->kept_room && !grow(p, level)) return 0;
    weir_coord above = {coord.x >> 1, coord.y >> 1, coord.z >> 1};
    int32_t *slot = find_slot(level, above), parent = *slot;
    if (parent == 0) {
        *slot = parent = level->count++;
        level->coord[parent] = above;
        memset(level->child[parent], 0, sizeof level->child[parent]);
    }
    level->child[parent][pyramid_octant(coord)] = child;
    p->level[l - 1].parent[child] = parent;
    return parent;
}

// Adds a live brick, and a parent on every level up to one that is there already.
static bool add(pyramid *p, weir_coord coord, int32_t brick)
{
    for (int32_t l = 1; l <= p->top; l++) {
        int32_t before = p->level[l].count;
        brick = adopt(p, l, coord, brick);
        if (brick == 0) return false;
        if (p->level[l].count == before) break;
        coord = p->level[l].coord[brick];
    }
    return true;
}

// Gives the last brick of level l the number of one that is gone.
static void take_number(pyramid *p, int32_t l, int32_t gone)
{
    pyramid_level *level = &p->level[l];
    int32_t last = --level->count;
    if (gone == last) return;
    *find_slot(level, level->coord[last]) = gone;
    level->coord[gone] = level->coord[last];
    level->parent[gone] = level->parent[last];
    memcpy(level->child[gone], level->child[last], sizeof level->child[gone]);
    for (int32_t o = 0; o < 8; o++)
        if (level->child[gone][o] != 0) p->level[l - 1].parent[level->child[gone][o]] = gone;
    if (l < p->top) p->level[l + 1].child[level->parent[gone]][pyramid_octant(level->coord[gone])] = gone;
}

// Takes a brick of the level below from its parent on level l, which goes too if that was its last child.
static void drop(pyramid *p, int32_t l, int32_t child)
{
    pyramid_level *level = &p->level[l];
    int32_t parent = p->level[l - 1].parent[child];
    bool barren = true;
    p->level[l - 1].parent[child] = 0;
    for (int32_t o = 0; o < 8; o++) {
        if (level->child[parent][o] == child) level->child[parent][o] = 0;
        if (level->child[parent][o] != 0) barren = false;
    }
    if (!barren) return;
    if (l < p->top) drop(p, l + 1, parent);
    coord_slot_free(level->slot, (uint32_t)level->slot_room - 1, level->coord, level->coord[parent]);
    take_number(p, l, parent);
}

// Drops and adds what came, went or got another index since the last build. First all that was is dropped: an index may stand
// for another brick now.
static bool follow(pyramid *p, const brick_pool *pool)
{
    const int32_t end = pool->end, known = p->level[0].count, both = known < end ? known : end;
    int32_t *parent = p->level[0].parent;
    if (p->top == 0) {
        memset(parent, 0, (size_t)end * sizeof *parent);
        return true;
    }
    for (int32_t b = 0; (b = bricks_next(pool->pyramid_dirty, 1, b + 1, both)) < both;)
        if (parent[b] != 0) drop(p, 1, b);
    for (int32_t b = end; b < known; b++)
        if (parent[b] != 0) drop(p, 1, b);
    for (int32_t b = known; b < end; b++) parent[b] = 0;
    for (int32_t b = 0; (b = bricks_next(pool->pyramid_dirty, 1, b + 1, end)) < end;)
        if (pool->phase[b] == PHASE_AWAKE && !add(p, pool->coord[b], b)) return false;
    return true;
}

// A level from nothing, over the level below it.
static bool build_level(pyramid *p, int32_t l, const brick_pool *pool)
{
    pyramid_level *level = &p->level[l], *below = &p->level[l - 1];
    const weir_coord *coord = l == 1 ? pool->coord : below->coord;
    int32_t end = l == 1 ? pool->end : below->count;
    level->count = 1;
    if (level->kept_room == 0 && !grow(p, level)) return false;
    memset(level->slot, 0, (size_t)level->slot_room * sizeof *level->slot);
    memset(level->child[BRICK_NOTHING], 0, sizeof *level->child);
    level->parent[BRICK_NOTHING] = 0;
    for (int32_t b = 1; b < end; b++)
        if ((l > 1 || pool->phase[b] == PHASE_AWAKE) && adopt(p, l, coord[b], b) == 0) return false;
    return true;
}

// ---- Neighbours ------------------------------------------------------------------------------------------------------------

// The neighbours of the coarsest level.
static void look_up_neighbours(pyramid_level *level)
{
    for (int32_t b = 1; b < level->count; b++)
        for (int32_t n = 0; n < 27; n++) level->near[b][n] = *find_slot(level, brick_neighbour(level->coord[b], n));
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
static void clear_childless(const pyramid *p, pyramid_level *level)
{
    for (int32_t i = 1; i < level->count; i++) {
        for (int32_t o = 0; o < 8; o++) {
            if (level->child[i][o] != 0) continue;
            int32_t first = 4 * (o & 1) + 8 * 4 * (o >> 1 & 1) + 64 * 4 * (o >> 2);
            for (int32_t c = 0; c < p->channel_count; c++)
                for (int32_t z = 0; z < 4; z++)
                    for (int32_t y = 0; y < 4; y++)
                        memset(pyramid_cells(level, c, i) + first + 8 * y + 64 * z, 0, 4 * sizeof(float));
        }
    }
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

void pyramid_create(memory *mem, int32_t channel_count, pyramid *p)
{
    assert(channel_count >= 0 && channel_count <= PYRAMID_CHANNEL_MAX);
    *p = (pyramid){.mem = mem, .version = UINT64_MAX, .channel_count = channel_count};
}

void pyramid_destroy(pyramid *p)
{
    memory_free(p->mem, p->level[0].parent, (size_t)p->level[0].room * sizeof *p->level[0].parent);
    for (int32_t l = 1; l < PYRAMID_LEVELS; l++) {
        pyramid_level *level = &p->level[l];
        free_made(p, level);
        memory_free(p->mem, level->child, kept_bytes(level->kept_room));
        memory_free(p->mem, level->slot, (size_t)level->slot_room * sizeof *level->slot);
    }
}

static weir_status no_memory(void)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out while building the coarse levels");
}

// Whether so many bricks came, went or moved that it is quicker to begin with nothing.
static bool is_mostly_dirty(const brick_pool *pool)
{
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) count += pool->pyramid_dirty[b];
    return count > pool->awake / 4;
}

weir_status pyramid_build(pyramid *p, brick_pool *pool)
{
    if (p->version == pool->version) return WEIR_OK;
    pyramid_level *live = &p->level[0];
    if (p->version == UINT64_MAX || is_mostly_dirty(pool)) p->top = 0;
    p->version = UINT64_MAX;
    if (live->room < pool->capacity) {
        const size_t size = sizeof *live->parent;
        int32_t *parent = memory_resize(p->mem, live->parent, (size_t)live->room * size, (size_t)pool->capacity * size);
        if (!parent) return no_memory();
        live->parent = parent;
        live->room = pool->capacity;
    }
    if (!follow(p, pool)) return no_memory();
    live->count = pool->end;

    int32_t below = pool->awake, extra = 0, l = 0;
    while (below > 0 && l + 1 < PYRAMID_LEVELS && extra <= EXTRA_LEVELS) {
        pyramid_level *level = &p->level[++l];
        if (l > p->top && !build_level(p, l, pool)) return no_memory();
        if (!make_room(p, l)) return no_memory();
        if (level->flags) memset(level->flags, 0, (size_t)level->count);
        if (level->count - 1 == below) extra++;
        below = level->count - 1;
    }
    p->top = l;
    if (l > 0) look_up_neighbours(&p->level[l]);
    for (int32_t below_top = l - 1; below_top >= (p->channel_count > 0 ? 1 : 2); below_top--)
        link_neighbours(&p->level[below_top], &p->level[below_top + 1]);
    for (int32_t each = 1; each <= l && p->channel_count > 0; each++) clear_childless(p, &p->level[each]);
    memset(pool->pyramid_dirty, 0, (size_t)pool->end);
    p->version = pool->version;
    return WEIR_OK;
}

int64_t pyramid_bytes(const pyramid *p)
{
    int64_t bytes = p->level[0].room * (int64_t)sizeof *p->level[0].parent;
    for (int32_t l = 1; l < PYRAMID_LEVELS; l++) {
        const pyramid_level *level = &p->level[l];
        bytes += (int64_t)kept_bytes(level->kept_room) + level->slot_room * (int64_t)sizeof *level->slot;
        bytes += level->near ? level->room * (int64_t)sizeof *level->near : 0;
        bytes += level->cells ? level->room + (int64_t)cells_bytes(p, level->room) : 0;
    }
    return bytes;
}

// ---- Validate --------------------------------------------------------------------------------------------------------------

// Where the bricks of a level lie, the live ones being level 0.
static weir_coord coord_at(const pyramid *p, const brick_pool *pool, int32_t l, int32_t brick)
{
    return l == 0 ? pool->coord[brick] : p->level[l].coord[brick];
}

// That each brick of a level has a parent above, at its coordinate halved, which knows it; and that there are no other children.
static const char *validate_children(const pyramid *p, const brick_pool *pool, int32_t l)
{
    const pyramid_level *level = &p->level[l], *below = &p->level[l - 1];
    int32_t bricks = 0, children = 0;
    for (int32_t b = 1; b < below->count; b++) {
        if (l == 1 && pool->phase[b] != PHASE_AWAKE) continue;
        const weir_coord c = coord_at(p, pool, l - 1, b), above = {c.x >> 1, c.y >> 1, c.z >> 1};
        const int32_t parent = below->parent[b];
        if (parent < 1 || parent >= level->count || !coords_equal(level->coord[parent], above))
            return broken("brick %d of level %d at (%d, %d, %d) has brick %d as its parent", b, l - 1, c.x, c.y, c.z, parent);
        if (level->child[parent][pyramid_octant(c)] != b)
            return broken("brick %d of level %d is not a child of its parent, brick %d", b, l - 1, parent);
        bricks++;
    }
    for (int32_t b = 0; b < level->count; b++) {
        int32_t own = 0;
        for (int32_t o = 0; o < 8; o++) own += level->child[b][o] != 0;
        if ((own == 0) != (b == BRICK_NOTHING)) return broken("brick %d of level %d has %d children", b, l, own);
        children += own;
    }
    return children == bricks ? NULL : broken("level %d has %d children, and below it lie %d bricks", l, children, bricks);
}

static const char *validate_level(const pyramid *p, int32_t l)
{
    const pyramid_level *level = &p->level[l];
    if (level->count > level->room || level->count > level->kept_room || 2 * level->count > level->slot_room)
        return broken("level %d has %d bricks and room for %d", l, level->count, level->room);
    if (coord_slots_taken(level->slot, (uint32_t)level->slot_room - 1, level->count) != level->count - 1)
        return broken("the slots of level %d do not hold its %d bricks", l, level->count - 1);
    for (int32_t b = 1; b < level->count; b++) {
        const weir_coord c = level->coord[b];
        if (*find_slot(level, c) != b)
            return broken("brick %d of level %d is not found at its coordinate (%d, %d, %d)", b, l, c.x, c.y, c.z);
        for (int32_t n = 0; n < 27 && level->near; n++) {
            int32_t there = *find_slot(level, brick_neighbour(c, n));
            if (level->near[b][n] != there)
                return broken("brick %d of level %d at (%d, %d, %d) has brick %d as its neighbour %d; there is %d", b, l, c.x,
                              c.y, c.z, level->near[b][n], n, there);
        }
    }
    return NULL;
}

// No kernel writes the nothing, nor cells that stand for nothing: those stay zero, and others count on it.
static const char *validate_zeros(const pyramid *p, int32_t l)
{
    const pyramid_level *level = &p->level[l];
    for (int32_t b = 0; b < level->count; b++) {
        for (int32_t o = 0; o < 8; o++) {
            if (level->child[b][o] != 0) continue;
            int32_t first = 4 * (o & 1) + 8 * 4 * (o >> 1 & 1) + 64 * 4 * (o >> 2);
            for (int32_t c = 0; c < p->channel_count; c++)
                for (int32_t i = 0; i < 64; i++)
                    if (pyramid_cells(level, c, b)[first + (i & 3) + 8 * (i >> 2 & 3) + 64 * (i >> 4)] != 0.0f)
                        return broken("brick %d of level %d holds something in octant %d, where it has no child", b, l, o);
        }
    }
    return NULL;
}

const char *pyramid_validate(const pyramid *p, const brick_pool *pool)
{
    if (p->version != pool->version) return NULL;
    int32_t below = pool->awake, extra = 0, top = 0;
    if (p->level[0].count != pool->end)
        return broken("the pyramid is of %d bricks, the pool has %d", p->level[0].count, pool->end);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->phase[b] != PHASE_AWAKE && p->level[0].parent[b] != 0)
            return broken("brick %d is dead or asleep and has a parent", b);
    while (below > 0 && top + 1 < PYRAMID_LEVELS && extra <= EXTRA_LEVELS) {
        if (++top > p->top) break;
        const char *wrong = validate_level(p, top);
        if (!wrong) wrong = validate_children(p, pool, top);
        if (!wrong) wrong = validate_zeros(p, top);
        if (wrong) return wrong;
        if (p->level[top].count - 1 == below) extra++;
        below = p->level[top].count - 1;
    }
    return top == p->top ? NULL : broken("the pyramid has %d levels where its bricks ask for %d", p->top, top);
}
