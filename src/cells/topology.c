// Which bricks are there. After van der Scheer, a brick lives if it holds mass or touches (26-neighbourhood) one that does, so
// that water always finds a cell to flow into. Bricks that are solid throughout are left out: the nothing is solid too.
//
// Most updates wet and dry no brick at all; a comparison of wet flags tells. Otherwise only the bricks around those that became
// wet or dry are looked at, and all of them only after an edit. A solver whose updates have a budget does so in parts, and tells which
// bricks an edit came to.
#include "cells/cells.h"
#include "world/coord_table.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct birth {
    weir_coord coord;
    brick_mask open;
} birth;

typedef struct birth_list {
    birth *items;
    int32_t count, room;
} birth_list;

static void free_births(fluid_cells *c, birth_list *list)
{
    memory_free(&c->world->mem, list->items, (size_t)list->room * sizeof *list->items);
    *list = (birth_list){0};
}

static weir_status add_birth(fluid_cells *c, birth_list *list, const birth *one)
{
    if (list->count == list->room) {
        int32_t room = list->room ? 2 * list->room : 64;
        const size_t size = sizeof *list->items;
        birth *items = memory_resize(&c->world->mem, list->items, (size_t)list->room * size, (size_t)room * size);
        if (!items) return status_fail(WEIR_ERROR_MEMORY, "no memory for a list of %d bricks that are to be made", room);
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = *one;
    return WEIR_OK;
}

// To be born is a change: whoever keeps something per brick hears of every brick that comes, also of one that ended and came back.
static void bear_all(fluid_cells *c, const birth_list *list)
{
    for (int32_t i = 0; i < list->count; i++) {
        const int32_t brick = bricks_born(&c->pool, list->items[i].coord, &list->items[i].open);
        c->pool.changed[brick] = c->world->change;
        deaths_remove(&c->deaths, list->items[i].coord);
    }
}

// ---- Births ----------------------------------------------------------------------------------------------------------------

static int compare_coords(const void *a, const void *b)
{
    return coord_compare(*(const weir_coord *)a, *(const weir_coord *)b);
}

// Writes the places beside a brick where no brick is and one may be wanted. coords NULL: only counts them.
static int32_t missing_neighbours(const brick_pool *pool, int32_t brick, weir_coord *coords)
{
    int32_t count = 0;
    for (int32_t k = 0; k < 27; k++) {
        if (pool->near[brick][k] != BRICK_NOTHING || pool->closed[brick] >> k & 1) continue;
        if (coords) coords[count] = brick_neighbour(pool->coord[brick], k);
        count++;
    }
    return count;
}

// The first brick from `brick` on that is not as cells_topology saw it; after an edit, the first one there is. Eight are looked at at
// once, since most are.
static int32_t next_turned(const brick_pool *pool, int32_t brick)
{
    while (!pool->topology_dirty && brick + 8 <= pool->end && memcmp(pool->wet + brick, pool->wet_seen + brick, 8) == 0)
        brick += 8;
    while (!pool->topology_dirty && brick < pool->end && pool->wet[brick] == pool->wet_seen[brick]) brick++;
    return brick;
}

// The places beside all bricks that became wet; after an edit, beside all that are.
static int64_t missing_places(const brick_pool *pool, weir_coord *coords)
{
    int64_t count = 0;
    for (int32_t b = next_turned(pool, 1); b < pool->end; b = next_turned(pool, b + 1))
        if (pool->wet[b]) count += missing_neighbours(pool, b, coords ? coords + count : NULL);
    return count;
}

// Strikes out places that are listed twice and returns how many are left: a place has up to 26 wet neighbours that want it.
// `slots`, a power of two and more than count, are zero.
static int64_t list_once(weir_coord *coords, int64_t count, int32_t *slots, uint32_t slot_mask)
{
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        weir_coord c = coords[i];
        uint32_t at = coord_hash(c) & slot_mask;
        while (slots[at] && !coords_equal(coords[slots[at] - 1], c)) at = (at + 1) & slot_mask;
        if (slots[at]) continue;
        coords[left++] = c;
        slots[at] = (int32_t)left;
    }
    return left;
}

// Lets the neighbours of a place that is solid throughout remember it, so that they do not ask again.
static void remember_closed(brick_pool *pool, weir_coord coord)
{
    for (int32_t k = 0; k < 27; k++) {
        int32_t neighbour = bricks_find(pool, brick_neighbour(coord, k));
        if (neighbour) pool->closed[neighbour] |= 1u << (26 - k);
    }
}

// Lists the bricks that are wanted and not there, in coordinate order, so that the order of the pool does not matter.
static weir_status find_births(fluid_cells *c, birth_list *births)
{
    brick_pool *pool = &c->pool;
    int64_t count = missing_places(pool, NULL);
    if (count == 0) return WEIR_OK;
    int64_t slot_count = 16;
    while (slot_count < 2 * count) slot_count *= 2;
    weir_coord *coords = memory_alloc(&c->world->mem, (size_t)count * sizeof *coords);
    int32_t *slots = coords ? memory_alloc_zero(&c->world->mem, (size_t)slot_count * sizeof *slots) : NULL;
    if (!slots) memory_free(&c->world->mem, coords, (size_t)count * sizeof *coords);
    if (!slots) return status_fail(WEIR_ERROR_MEMORY, "no memory to list %lld places around the water", (long long)count);
    missing_places(pool, coords);
    int64_t wanted = list_once(coords, count, slots, (uint32_t)slot_count - 1);
    qsort(coords, (size_t)wanted, sizeof *coords, compare_coords);

    weir_status status = WEIR_OK;
    for (int64_t i = 0; i < wanted && status == WEIR_OK; i++) {
        birth one = {.coord = coords[i]};
        if (terrain_open(&c->world->terrain, one.coord, &one.open))
            status = add_birth(c, births, &one);
        else
            remember_closed(pool, one.coord);
    }
    memory_free(&c->world->mem, slots, (size_t)slot_count * sizeof *slots);
    memory_free(&c->world->mem, coords, (size_t)count * sizeof *coords);
    return status;
}

// ---- Deaths ----------------------------------------------------------------------------------------------------------------

static bool unwanted(const fluid_cells *c, int32_t brick)
{
    const brick_pool *pool = &c->pool;
    if (pool->wet[brick] || !pool->alive[brick]) return false;
    if (mask_empty(&pool->open[brick])) return true;
    for (int32_t k = 0; k < 27; k++)
        if (pool->wet[pool->near[brick][k]]) return false;
    return !c->keeps || !c->keeps(c, brick);
}

static int32_t doom(fluid_cells *c, int32_t brick)
{
    brick_pool *pool = &c->pool;
    if (pool->wet_seen[brick] == WET_SEEN_DOOMED || !unwanted(c, brick)) return 0;
    pool->wet_seen[brick] = WET_SEEN_DOOMED;
    return 1;
}

// Marks the bricks that nobody wants any more and returns how many there are.
static int32_t find_deaths(fluid_cells *c)
{
    const brick_pool *pool = &c->pool;
    int32_t count = 0;
    for (int32_t b = next_turned(pool, 1); b < pool->end; b = next_turned(pool, b + 1)) {
        if (pool->topology_dirty) {
            count += doom(c, b);
        } else if (pool->wet_seen[b] && !pool->wet[b]) {
            for (int32_t k = 0; k < 27; k++) count += doom(c, pool->near[b][k]);
        }
    }
    return count;
}

static void spare_all(brick_pool *pool)
{
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->wet_seen[b] == WET_SEEN_DOOMED) pool->wet_seen[b] = 0;
    pool->topology_dirty = true;
}

static void end_all(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    for (int32_t b = 0; (b = bricks_next(pool->wet_seen, WET_SEEN_DOOMED, b + 1, pool->end)) < pool->end;) {
        deaths_add(&c->deaths, &c->world->mem, pool->coord[b], c->world->change);
        if (c->ended) c->ended(c, b);
        bricks_die(pool, b);
    }
}

// ---- Boxes -----------------------------------------------------------------------------------------------------------------

// Lists the bricks of a box of bricks that are not there and not solid throughout, x fastest, then y, then z.
static weir_status find_missing(fluid_cells *c, weir_box box, brick_filter *wanted, const void *context, birth_list *births)
{
    const brick_pool *pool = &c->pool;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x++) {
                birth one = {.coord = {x, y, z}};
                if (bricks_find(pool, one.coord) || !terrain_open(&c->world->terrain, one.coord, &one.open)) continue;
                if (wanted && !wanted(context, one.coord)) continue;
                if (births->count >= BRICK_MAX - pool->live)
                    return status_fail(WEIR_ERROR_LIMIT, "the box needs more than the %d bricks that a world holds at most",
                                       BRICK_MAX);
                weir_status status = add_birth(c, births, &one);
                if (status != WEIR_OK) return status;
            }
        }
    }
    return WEIR_OK;
}

// Counts the bricks around a box of bricks that the next update will want if the box is filled.
static int64_t count_rim(const fluid_cells *c, weir_box box)
{
    int64_t count = 0;
    for (int32_t z = box.min.z - 1; z <= box.max.z; z++) {
        for (int32_t y = box.min.y - 1; y <= box.max.y; y++) {
            bool across = z < box.min.z || z == box.max.z || y < box.min.y || y == box.max.y;
            int32_t stride = across ? 1 : box.max.x - box.min.x + 1;
            for (int32_t x = box.min.x - 1; x <= box.max.x; x += stride) {
                brick_mask open;
                weir_coord coord = {x, y, z};
                if (!bricks_find(&c->pool, coord) && terrain_open(&c->world->terrain, coord, &open)) count++;
            }
        }
    }
    return count;
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

static bool has_changed(const brick_pool *pool)
{
    return pool->topology_dirty || memcmp(pool->wet, pool->wet_seen, (size_t)pool->end) != 0;
}

weir_status cells_topology(fluid_cells *c)
{
    brick_pool *pool = &c->pool;
    if (!has_changed(pool)) return WEIR_OK;

    birth_list births = {0};
    weir_status status = find_births(c, &births);
    if (status == WEIR_OK) {
        // The dead make room for the newborn, but they die only when nothing can fail any more.
        int32_t deaths = find_deaths(c);
        if (births.count > deaths) status = bricks_reserve(pool, births.count - deaths);
        if (status != WEIR_OK) {
            spare_all(pool);
        } else {
            if (deaths > 0) end_all(c);
            bear_all(c, &births);
            memcpy(pool->wet_seen, pool->wet, (size_t)pool->end);
            pool->topology_dirty = false;
            bricks_pack(pool);
        }
    }
    free_births(c, &births);
    return status;
}

weir_status cells_touch_some(fluid_cells *c, weir_box box, brick_filter *wanted, const void *context)
{
    if (!world_clip(c->world, &box)) return WEIR_OK;
    brick_pool *pool = &c->pool;
    weir_box bricks = region_bricks(box);
    birth_list births = {0};
    weir_status status = edit_check_size(box);
    if (status == WEIR_OK) status = find_missing(c, bricks, wanted, context, &births);
    if (status == WEIR_OK && births.count > pool->capacity - 1 - pool->live) {
        // Grow once, for the box and the rim that its water will want, instead of doubling for the rim right after.
        int64_t more = births.count + (wanted ? 0 : count_rim(c, bricks));
        if (more > BRICK_MAX - pool->live) more = BRICK_MAX - pool->live;
        status = bricks_reserve(pool, (int32_t)more);
    }
    if (status == WEIR_OK) bear_all(c, &births);
    free_births(c, &births);
    return status;
}

weir_status cells_touch(fluid_cells *c, weir_box box)
{
    return cells_touch_some(c, box, NULL, NULL);
}

weir_status cells_touch_list(fluid_cells *c, const weir_coord *bricks, int32_t count)
{
    birth_list births = {0};
    weir_status status = WEIR_OK;
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) {
        birth one = {.coord = bricks[i]};
        if (bricks_find(&c->pool, one.coord) || !terrain_open(&c->world->terrain, one.coord, &one.open)) continue;
        status = add_birth(c, &births, &one);
    }
    if (status == WEIR_OK) status = bricks_reserve(&c->pool, births.count);
    if (status == WEIR_OK) bear_all(c, &births);
    free_births(c, &births);
    return status;
}

void cells_terrain_changed_brick(fluid_cells *c, weir_coord brick)
{
    brick_pool *pool = &c->pool;
    if (pool->live == 0) return;
    int32_t there = bricks_find(pool, brick);
    if (there) {
        terrain_open(&c->world->terrain, brick, &pool->open[there]);
        bricks_mark_dirty(pool, there);
        pool->version++;
    }
    for (int32_t k = 0; k < 27; k++) {
        int32_t neighbour = bricks_find(pool, brick_neighbour(brick, k));
        if (neighbour) pool->closed[neighbour] &= ~(1u << (26 - k));
    }
    pool->topology_dirty = true;
}

weir_status cells_touch_sources(fluid_cells *c, bool reservoirs)
{
    const weir_world *world = c->world;
    weir_status status = WEIR_OK;
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK; i++) {
        const world_source *source = &world->sources[i];
        if (source->kind == SOURCE_EMITTER && world_source_acts(world, source)) status = cells_touch(c, source->box);
        if (source->kind == SOURCE_RESERVOIR && reservoirs) status = cells_touch_reservoir(c, source);
    }
    return status;
}

weir_status cells_reserve(void *state)
{
    fluid_cells *c = state;
    const bool changed = has_changed(&c->pool);  // otherwise the bricks of reservoirs are there
    weir_status status = cells_topology(c);
    if (status == WEIR_OK) status = cells_touch_sources(c, changed);
    // Only sources make bricks after the topology.
    assert(status != WEIR_OK || !c->pool.topology_dirty || c->world->source_count > 0);
    return status;
}

// ---- In parts --------------------------------------------------------------------------------------------------------------

// The bricks that cells_topology would look at, in coordinate order.
static int32_t list_turned(const brick_pool *pool, int32_t *turned)
{
    int32_t count = 0;
    for (int32_t b = next_turned(pool, 1); b < pool->end; b = next_turned(pool, b + 1))
        if (pool->alive[b]) turned[count++] = b;
    bricks_sort(pool, turned, count);
    return count;
}

static weir_status bear_beside(fluid_cells *c, int32_t brick, int64_t *units)
{
    brick_pool *pool = &c->pool;
    birth births[26];
    birth_list list = {.items = births};
    for (int32_t k = 0; k < 27; k++) {
        birth *one = &births[list.count];
        if (pool->near[brick][k] != BRICK_NOTHING || pool->closed[brick] >> k & 1) continue;
        one->coord = brick_neighbour(pool->coord[brick], k);
        if (terrain_open(&c->world->terrain, one->coord, &one->open))
            list.count++;
        else
            remember_closed(pool, one->coord);
    }
    const weir_status status = bricks_reserve(pool, list.count);
    if (status != WEIR_OK) return status;
    bear_all(c, &list);
    *units -= (int64_t)TOPOLOGY_BIRTH * list.count;
    return WEIR_OK;
}

static void end_beside(fluid_cells *c, int32_t brick, int64_t *units)
{
    brick_pool *pool = &c->pool;
    int32_t near[27];
    memcpy(near, pool->near[brick], sizeof near);
    for (int32_t k = 0; k < 27; k++) {
        if (near[k] == BRICK_NOTHING || !unwanted(c, near[k])) continue;
        // One that has turned itself ends when it is looked at, with those beside it.
        if (near[k] != brick && pool->wet_seen[near[k]] != pool->wet[near[k]]) continue;
        deaths_add(&c->deaths, &c->world->mem, pool->coord[near[k]], c->world->change);
        if (c->ended) c->ended(c, near[k]);
        bricks_die(pool, near[k]);
        *units -= TOPOLOGY_DEATH;
    }
}

bool cells_topology_holds(const fluid_cells *c)
{
    return !has_changed(&c->pool);
}

weir_status cells_topology_some(fluid_cells *c, int32_t *turned, int64_t *units)
{
    brick_pool *pool = &c->pool;
    const int32_t count = list_turned(pool, turned);
    weir_status status = WEIR_OK;
    for (int32_t i = 0; i < count && pool->topology_dirty; i++)
        if (pool->wet_seen[turned[i]] == pool->wet[turned[i]]) pool->wet_seen[turned[i]] = WET_SEEN_AGAIN;
    pool->topology_dirty = false;
    for (int32_t i = 0; i < count && (*units > 0); i++) {
        const int32_t brick = turned[i];
        // It may have ended meanwhile, and its number be a newborn's.
        if (pool->wet[brick] == pool->wet_seen[brick]) continue;
        if (pool->wet[brick]) {
            status = bear_beside(c, brick, units);
            if (status != WEIR_OK) break;
        } else {
            end_beside(c, brick, units);
        }
        // Unless it was itself one that ended.
        if (pool->alive[brick]) pool->wet_seen[brick] = pool->wet[brick];
        *units -= TOPOLOGY_LOOK;
        pool->topology_dirty = false;
    }
    return status;
}

void cells_look_again(fluid_cells *c, int32_t brick)
{
    if (brick != BRICK_NOTHING) c->pool.wet_seen[brick] = WET_SEEN_AGAIN;
}
