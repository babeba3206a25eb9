// Terrain: shares kept by bricks in a hash table, or asked from the game, and the world's box around them.
//
// Where a cell lies is decided axis by axis: inside the box, beyond an open side, or behind a wall. The worst of the three axes
// counts, so that a cell beyond a corner is open only if all the sides it lies beyond are. Every world ends behind walls at
// WEIR_COORD_LIMIT.
#include "world/terrain.h"
#include "base/broken.h"
#include "base/hash.h"
#include "base/status.h"
#include "world/coord_table.h"
#include <assert.h>
#include <string.h>

enum { SLOTS_LEAST = 16 };

// ---- Where cells lie -------------------------------------------------------------------------------------------------------

typedef enum place { PLACE_INSIDE, PLACE_BEYOND, PLACE_WALL } place;

// The places of a brick's cells along the axes, and which of them occur (bit 1 << place).
typedef struct brick_places {
    uint8_t axis[3][BRICK_EDGE];
    uint32_t seen[3];
} brick_places;

static place place_on_axis(const terrain *t, int32_t axis, int32_t at)
{
    if (at < -WEIR_COORD_LIMIT || at >= WEIR_COORD_LIMIT) return PLACE_WALL;
    if (!t->bounded) return PLACE_INSIDE;
    const int32_t min[3] = {t->bounds.min.x, t->bounds.min.y, t->bounds.min.z};
    const int32_t max[3] = {t->bounds.max.x, t->bounds.max.y, t->bounds.max.z};
    if (at < min[axis]) return t->open_sides >> (2 * axis) & 1 ? PLACE_BEYOND : PLACE_WALL;
    if (at >= max[axis]) return t->open_sides >> (2 * axis + 1) & 1 ? PLACE_BEYOND : PLACE_WALL;
    return PLACE_INSIDE;
}

static place place_of_cell(const terrain *t, weir_coord cell)
{
    place x = place_on_axis(t, 0, cell.x), y = place_on_axis(t, 1, cell.y), z = place_on_axis(t, 2, cell.z);
    place worst = x > y ? x : y;
    return worst > z ? worst : z;
}

static brick_places places_of_brick(const terrain *t, weir_coord brick)
{
    const int32_t at[3] = {brick.x, brick.y, brick.z};
    brick_places places = {.seen = {0}};
    for (int32_t axis = 0; axis < 3; axis++) {
        for (int32_t i = 0; i < BRICK_EDGE; i++) {
            places.axis[axis][i] = (uint8_t)place_on_axis(t, axis, at[axis] * BRICK_EDGE + i);
            places.seen[axis] |= 1u << places.axis[axis][i];
        }
    }
    return places;
}

static bool all_inside(const brick_places *places)
{
    return (places->seen[0] | places->seen[1] | places->seen[2]) == 1u << PLACE_INSIDE;
}

static bool all_wall(const brick_places *places)
{
    const uint32_t wall = 1u << PLACE_WALL;
    return places->seen[0] == wall || places->seen[1] == wall || places->seen[2] == wall;
}

static bool any_inside(const brick_places *places)
{
    return places->seen[0] & places->seen[1] & places->seen[2] & 1u << PLACE_INSIDE;
}

static void shares_outside(const brick_places *places, uint8_t shares[BRICK_CELLS])
{
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        uint8_t x = places->axis[0][cell & 7], y = places->axis[1][cell >> 3 & 7], z = places->axis[2][cell >> 6];
        uint8_t worst = x > y ? x : y;
        if (z > worst) worst = z;
        if (worst != PLACE_INSIDE) shares[cell] = worst == PLACE_WALL ? 255 : 0;
    }
}

// ---- The table of bricks ---------------------------------------------------------------------------------------------------

static terrain_brick *find(const terrain *t, weir_coord brick)
{
    if (t->brick_count == 0) return NULL;
    uint32_t mask = (uint32_t)t->slot_count - 1;
    for (uint32_t i = coord_hash(brick) & mask; t->slot[i].used; i = (i + 1) & mask)
        if (coords_equal(t->slot[i].coord, brick)) return &t->slot[i];
    return NULL;
}

static terrain_brick *insert(terrain *t, terrain_brick entry)
{
    uint32_t mask = (uint32_t)t->slot_count - 1;
    uint32_t i = coord_hash(entry.coord) & mask;
    while (t->slot[i].used) i = (i + 1) & mask;
    t->slot[i] = entry;
    return &t->slot[i];
}

// Later bricks of the run move back into the hole, unless they would then lie before their own place.
static void forget(terrain *t, terrain_brick *entry)
{
    uint32_t mask = (uint32_t)t->slot_count - 1;
    uint32_t hole = (uint32_t)(entry - t->slot);
    for (uint32_t i = (hole + 1) & mask; t->slot[i].used; i = (i + 1) & mask) {
        uint32_t home = coord_hash(t->slot[i].coord) & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        t->slot[hole] = t->slot[i];
        hole = i;
    }
    t->slot[hole] = (terrain_brick){0};
    t->brick_count--;
}

// Room for more bricks; at most half of the slots are used.
static bool make_room(terrain *t, int32_t more)
{
    const int64_t needed = 2 * ((int64_t)t->brick_count + more);
    int64_t count = t->slot_count ? t->slot_count : SLOTS_LEAST;
    if (t->slot_count >= needed) return true;
    while (count < needed) count *= 2;
    if (count > INT32_MAX / 2) return false;
    terrain_brick *old = t->slot;
    int32_t old_count = t->slot_count;
    terrain_brick *slot = memory_alloc_zero(t->mem, (size_t)count * sizeof *slot);
    if (!slot) return false;
    t->slot = slot;
    t->slot_count = (int32_t)count;
    for (int32_t i = 0; i < old_count; i++)
        if (old[i].used) insert(t, old[i]);
    memory_free(t->mem, old, (size_t)old_count * sizeof *old);
    return true;
}

static bool all_one_share(const uint8_t *shares)
{
    return memcmp(shares, shares + 1, BRICK_CELLS - 1) == 0;
}

static uint16_t count_solid(const terrain *t, const uint8_t *shares)
{
    int32_t count = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) count += shares[i] >= t->solid;
    return (uint16_t)count;
}

static void open_from_shares(const terrain *t, const uint8_t *shares, brick_mask *open)
{
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        uint64_t plane = 0;
        for (int32_t i = 0; i < 64; i++) plane |= (uint64_t)(shares[64 * z + i] < t->solid) << i;
        open->plane[z] = plane;
    }
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

void terrain_create(memory *mem, weir_box bounds, uint32_t open_sides, weir_terrain_source *source, void *user, terrain *t)
{
    bool bounded = bounds.min.x < bounds.max.x && bounds.min.y < bounds.max.y && bounds.min.z < bounds.max.z;
    *t = (terrain){.mem = mem,
                   .bounded = bounded,
                   .bounds = bounds,
                   .open_sides = open_sides,
                   .solid = TERRAIN_SOLID,
                   .source = source,
                   .source_user = user};
}

void terrain_destroy(terrain *t)
{
    for (int32_t i = 0; i < t->slot_count; i++) memory_free(t->mem, t->slot[i].shares, BRICK_CELLS);
    memory_free(t->mem, t->slot, (size_t)t->slot_count * sizeof *t->slot);
    absent_free(&t->absent, t->mem);
    *t = (terrain){0};
}

void terrain_shares(const terrain *t, weir_coord brick, uint8_t shares[BRICK_CELLS])
{
    if (terrain_is_absent(t, brick)) {
        memset(shares, 255, BRICK_CELLS);
        return;
    }
    brick_places places = places_of_brick(t, brick);
    if (any_inside(&places)) {
        const terrain_brick *kept = find(t, brick);
        if (t->source)
            t->source(t->source_user, (weir_coord){brick.x * BRICK_EDGE, brick.y * BRICK_EDGE, brick.z * BRICK_EDGE}, shares);
        else if (kept && kept->shares)
            memcpy(shares, kept->shares, BRICK_CELLS);
        else
            memset(shares, kept ? kept->share : 0, BRICK_CELLS);
    }
    if (!all_inside(&places)) shares_outside(&places, shares);
}

uint8_t terrain_share(const terrain *t, weir_coord cell)
{
    place where = place_of_cell(t, cell);
    if (terrain_is_absent(t, brick_of_cell(cell))) return 255;
    if (where != PLACE_INSIDE) return where == PLACE_WALL ? 255 : 0;
    if (t->source) {
        uint8_t shares[BRICK_CELLS];
        terrain_shares(t, brick_of_cell(cell), shares);
        return shares[cell_index(cell)];
    }
    const terrain_brick *kept = find(t, brick_of_cell(cell));
    if (!kept) return 0;
    return kept->shares ? kept->shares[cell_index(cell)] : kept->share;
}

bool terrain_open(const terrain *t, weir_coord brick, brick_mask *open)
{
    brick_places places = places_of_brick(t, brick);
    if (all_wall(&places) || terrain_is_absent(t, brick)) {
        memset(open, 0, sizeof *open);
        return false;
    }
    if (all_inside(&places) && !t->source) {
        const terrain_brick *kept = find(t, brick);
        if (!kept || !kept->shares) {
            bool all_open = !kept || kept->share < t->solid;
            memset(open, all_open ? 0xff : 0, sizeof *open);
            return all_open;
        }
    }
    uint8_t shares[BRICK_CELLS];
    terrain_shares(t, brick, shares);
    open_from_shares(t, shares, open);
    uint64_t any = 0;
    for (int32_t z = 0; z < BRICK_EDGE; z++) any |= open->plane[z];
    return any != 0;
}

weir_status terrain_prepare(terrain *t, weir_coord brick)
{
    assert(!t->source);
    terrain_brick *kept = find(t, brick);
    if (kept && kept->shares) return WEIR_OK;
    uint8_t *shares = memory_alloc(t->mem, BRICK_CELLS);
    if (!shares || (!kept && !make_room(t, 1))) {
        memory_free(t->mem, shares, BRICK_CELLS);
        return status_fail(WEIR_ERROR_MEMORY, "no memory to keep the terrain of the brick at %d, %d, %d", brick.x * BRICK_EDGE,
                           brick.y * BRICK_EDGE, brick.z * BRICK_EDGE);
    }
    if (!kept) {
        kept = insert(t, (terrain_brick){.coord = brick, .used = 1});
        t->brick_count++;
    }
    memset(shares, kept->share, BRICK_CELLS);
    kept->shares = shares;
    return WEIR_OK;
}

uint8_t *terrain_write(terrain *t, weir_coord brick)
{
    terrain_brick *kept = find(t, brick);
    assert(kept && kept->shares);
    return kept->shares;
}

void terrain_tidy(terrain *t, weir_coord brick)
{
    terrain_brick *kept = find(t, brick);
    if (!kept || !kept->shares) return;
    kept->solid = count_solid(t, kept->shares);
    if (!all_one_share(kept->shares)) return;
    kept->share = kept->shares[0];
    memory_free(t->mem, kept->shares, BRICK_CELLS);
    kept->shares = NULL;
    if (kept->share == 0) forget(t, kept);
}

weir_status terrain_reserve(terrain *t, int32_t more)
{
    if (make_room(t, more)) return WEIR_OK;
    return status_fail(WEIR_ERROR_MEMORY, "no memory for the terrain of %d bricks", more);
}

void terrain_take(terrain *t, terrain_brick *brick)
{
    assert(!find(t, brick->coord));
    insert(t, *brick);
    t->brick_count++;
    brick->shares = NULL;
}

void terrain_forget(terrain *t, weir_box bricks)
{
    // Others move up into the slots of those that are forgotten, and are looked at again.
    for (bool any = true; any;) {
        any = false;
        for (int32_t i = 0; i < t->slot_count; i++) {
            const weir_coord c = t->slot[i].coord;
            const bool inside = c.x >= bricks.min.x && c.x < bricks.max.x && c.y >= bricks.min.y && c.y < bricks.max.y &&
                                c.z >= bricks.min.z && c.z < bricks.max.z;
            if (!t->slot[i].used || !inside) continue;
            memory_free(t->mem, t->slot[i].shares, BRICK_CELLS);
            t->slot[i].shares = NULL;
            forget(t, &t->slot[i]);
            any = true;
        }
    }
}

bool terrain_inside(const terrain *t, weir_coord cell)
{
    return place_of_cell(t, cell) == PLACE_INSIDE;
}

int64_t terrain_bytes(const terrain *t)
{
    int64_t bytes = (int64_t)t->slot_count * (int64_t)sizeof *t->slot;
    for (int32_t i = 0; i < t->slot_count; i++)
        if (t->slot[i].shares) bytes += BRICK_CELLS;
    return bytes;
}

// A brick counts the same whether its one share is kept as a number or as an array that nobody has tidied yet.
uint64_t terrain_hash(const terrain *t)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < t->slot_count; i++) {
        const terrain_brick *kept = &t->slot[i];
        if (!kept->used) continue;
        uint64_t cells;
        if (kept->shares && !all_one_share(kept->shares)) {
            cells = hash_bytes(kept->shares, BRICK_CELLS, 0);
        } else {
            cells = kept->shares ? kept->shares[0] : kept->share;
            if (cells == 0) continue;
        }
        sum += hash_bytes(&kept->coord, sizeof kept->coord, cells);
    }
    return sum;
}

const char *terrain_validate(const terrain *t)
{
    int32_t used = 0;
    if (t->slot_count & (t->slot_count - 1) || 2 * (int64_t)t->brick_count > t->slot_count)
        return broken("the terrain has %d slots for %d bricks", t->slot_count, t->brick_count);
    for (int32_t i = 0; i < t->slot_count; i++) used += t->slot[i].used != 0;
    if (used != t->brick_count) return broken("%d bricks of terrain are kept and %d counted", used, t->brick_count);
    if (!absent_sound(&t->absent)) return broken("the parts that are not there are not cut as they should be");
    if (t->source && used > 0) return broken("the terrain is the game's own, and %d bricks of it are kept", used);
    for (int32_t i = 0; i < t->slot_count; i++) {
        const terrain_brick *kept = &t->slot[i];
        const weir_coord c = kept->coord;
        if (!kept->used && kept->shares) return broken("a slot of the terrain is free and has shares");
        if (!kept->used) continue;
        if (terrain_is_absent(t, c)) return broken("the terrain of (%d, %d, %d) is kept, which is not there", c.x, c.y, c.z);
        if (find(t, c) != kept) return broken("the terrain of (%d, %d, %d) is not found at its coordinate", c.x, c.y, c.z);
        if (!kept->shares && kept->share == 0)
            return broken("the terrain of (%d, %d, %d) is all open, and kept", c.x, c.y, c.z);
        if (kept->shares && all_one_share(kept->shares))
            return broken("the terrain of (%d, %d, %d) has one share, and an array of it", c.x, c.y, c.z);
        const int32_t all = kept->share >= t->solid ? BRICK_CELLS : 0,
                      solid = kept->shares ? count_solid(t, kept->shares) : all;
        if (kept->solid != solid)
            return broken("the terrain of (%d, %d, %d) has %d solid cells, and counts %d", c.x, c.y, c.z, solid, kept->solid);
    }
    return NULL;
}
