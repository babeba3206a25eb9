// Bricks that have ended.
#include "cells/deaths.h"

#include "base/broken.h"
#include "world/coord_table.h"
#include <assert.h>
#include <string.h>

enum { ROOM_LEAST = 64, ROOM_MOST = DEATHS_MAX + 1 };

static uint32_t slots_for(int32_t room)
{
    uint32_t count = 2 * ROOM_LEAST;
    while (count < 2 * (uint32_t)(room - 1)) count *= 2;
    return count;
}

static void build_slots(brick_deaths *d)
{
    memset(d->slot, 0, ((size_t)d->slot_mask + 1) * sizeof *d->slot);
    for (int32_t i = 1; i < d->end; i++) *coord_slot(d->slot, d->slot_mask, d->coord, d->coord[i]) = i;
}

// Keeps what ended after a change and is not there again. The slots are left to the caller.
static void keep_later(brick_deaths *d, int64_t change)
{
    int32_t end = 1;
    for (int32_t i = 1; i < d->end; i++) {
        if (d->change[i] <= change) continue;
        d->coord[end] = d->coord[i];
        d->change[end++] = d->change[i];
    }
    d->end = end;
}

// All three arrays or none.
static bool grow(brick_deaths *d, memory *mem)
{
    int32_t room = d->room == 0 ? ROOM_LEAST : d->room < ROOM_MOST / 2 ? 2 * d->room : ROOM_MOST;
    if (room == d->room) return false;
    const size_t items = (size_t)room, slots = slots_for(room);
    brick_deaths larger = {.room = room, .end = d->end > 0 ? d->end : 1, .forgotten = d->forgotten};
    larger.coord = memory_alloc(mem, items * sizeof *larger.coord);
    larger.change = memory_alloc(mem, items * sizeof *larger.change);
    larger.slot = memory_alloc(mem, slots * sizeof *larger.slot);
    larger.slot_mask = (uint32_t)slots - 1;
    if (!larger.coord || !larger.change || !larger.slot) {
        deaths_destroy(&larger, mem);
        return false;
    }
    if (d->end > 1) {
        memcpy(larger.coord + 1, d->coord + 1, ((size_t)d->end - 1) * sizeof *d->coord);
        memcpy(larger.change + 1, d->change + 1, ((size_t)d->end - 1) * sizeof *d->change);
    }
    deaths_destroy(d, mem);
    *d = larger;
    build_slots(d);
    return true;
}

// Room for more, and for so many that it seldom has to be made: from bricks that came back, from memory, or from the older half.
static void make_room(brick_deaths *d, memory *mem)
{
    keep_later(d, 0);
    if (d->end > d->room / 2 && grow(d, mem)) return;
    if (d->end > d->room / 4 * 3) {
        d->forgotten = d->change[d->end / 2];
        keep_later(d, d->forgotten);
    }
    build_slots(d);
}

void deaths_destroy(brick_deaths *d, memory *mem)
{
    memory_free(mem, d->coord, (size_t)d->room * sizeof *d->coord);
    memory_free(mem, d->change, (size_t)d->room * sizeof *d->change);
    memory_free(mem, d->slot, d->slot ? ((size_t)d->slot_mask + 1) * sizeof *d->slot : 0);
    *d = (brick_deaths){0};
}

void deaths_add(brick_deaths *d, memory *mem, weir_coord coord, int64_t change)
{
    assert(change > 0 && change >= d->forgotten);
    if (d->room == 0 && !grow(d, mem)) {
        d->forgotten = change;
        return;
    }
    if (d->end == d->room) make_room(d, mem);
    int32_t *slot = coord_slot(d->slot, d->slot_mask, d->coord, coord);
    assert(*slot == 0 && d->end < d->room);
    d->coord[d->end] = coord;
    d->change[d->end] = change;
    *slot = d->end++;
}

void deaths_remove(brick_deaths *d, weir_coord coord)
{
    const int32_t at = d->end > 1 ? *coord_slot(d->slot, d->slot_mask, d->coord, coord) : 0;
    if (at == 0) return;
    coord_slot_free(d->slot, d->slot_mask, d->coord, coord);
    d->change[at] = 0;
}

void deaths_copy(const brick_deaths *d, memory *mem, int64_t change, brick_deaths *copy)
{
    if (copy->room < d->end) {
        const size_t items = (size_t)d->room;
        deaths_destroy(copy, mem);
        copy->room = d->room;
        copy->coord = memory_alloc(mem, items * sizeof *copy->coord);
        copy->change = memory_alloc(mem, items * sizeof *copy->change);
        if (!copy->coord || !copy->change) {
            deaths_destroy(copy, mem);
            copy->forgotten = change;
            return;
        }
    }
    copy->end = d->end;
    copy->forgotten = d->forgotten;
    if (d->end < 2) return;
    memcpy(copy->coord + 1, d->coord + 1, ((size_t)d->end - 1) * sizeof *d->coord);
    memcpy(copy->change + 1, d->change + 1, ((size_t)d->end - 1) * sizeof *d->change);
}

int64_t deaths_bytes(const brick_deaths *d)
{
    const int64_t slots = d->slot ? (int64_t)d->slot_mask + 1 : 0;
    return d->room * (int64_t)(sizeof *d->coord + sizeof *d->change) + slots * (int64_t)sizeof *d->slot;
}

const char *deaths_validate(const brick_deaths *d, const brick_pool *pool)
{
    int64_t last = 0;
    int32_t gone = 0;
    if (d->end > d->room) return broken("%d ended bricks are remembered in room for %d", d->end - 1, d->room - 1);
    for (int32_t i = 1; i < d->end; i++) {
        const weir_coord c = d->coord[i];
        if (d->change[i] == 0) continue;
        gone++;
        if (d->change[i] < last) return broken("the ended bricks are not in the order of their ends");
        last = d->change[i];
        if (bricks_find(pool, c) != BRICK_NOTHING)
            return broken("the brick at (%d, %d, %d) is there and among those that ended", c.x, c.y, c.z);
        if (*coord_slot(d->slot, d->slot_mask, d->coord, c) != i)
            return broken("the ended brick at (%d, %d, %d) is not found", c.x, c.y, c.z);
    }
    if (d->slot && coord_slots_taken(d->slot, d->slot_mask, d->end) != gone)
        return broken("the slots of ended bricks do not hold %d of them", gone);
    return NULL;
}
