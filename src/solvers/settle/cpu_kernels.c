// The settling automaton's kernels for the CPU. This file is compiled once per width of SIMD with CPU_WIDTH as its name; the compiler turns
// the rows into vector code. All numbers are whole, so all widths give the same bits.
#include "compute/cpu_lanes.h"
#include "solvers/settle/settle.h"

#include <string.h>

enum { FIRST = TILE_PAD, LAST = TILE_PAD + TILE_CELLS };

// Over all cells of a tile. Those at its rim whose neighbours are not in it get numbers of no meaning, which nobody reads.
#define OVER_TILE \
    LANES         \
    for (int i = FIRST; i < LAST; i++)

// Without bodies their rows are not looked at: `bodies` is a constant where this is inlined, and `slow` in water.
static inline __attribute__((always_inline)) void find_flows(settle_tile *t, const bool bodies, const uint16_t film,
                                                             const int slow)
{
    uint16_t *restrict fill = t->fill, *restrict capacity = t->capacity, *restrict room = t->room, *restrict down = t->down,
                       *restrict up = t->up, *restrict fill_1 = t->fill_1, *restrict room_1 = t->room_1,
                       *restrict level = t->level, *restrict gives = t->gives, *restrict thin = t->thin, *restrict dry = t->dry;
    const uint16_t *restrict body = t->body, *restrict top = t->top, *restrict pressed = t->pressed, *restrict head = t->head;
    uint16_t *restrict supported = t->supported;
    enum { BELOW = -TILE_ROW, ABOVE = TILE_ROW };

    OVER_TILE room[i] = rule_settle_room(fill[i], capacity[i], bodies ? body[i] : 0, bodies ? top[i] : 0);
    if (bodies) {
        OVER_TILE supported[i] = (uint16_t)(body[i + BELOW] | rule_settle_mask(room[i + BELOW] == 0));
        for (int z = -1; z <= 8; z++) memset(supported + TILE_AT(-4, -2, z), 0xff, TILE_ROW * sizeof *supported);
    }
    OVER_TILE down[i] = rule_settle_slow_fall(
        rule_settle_down(fill[i], capacity[i], room[i + BELOW], bodies ? body[i] : 0, bodies ? body[i + BELOW] : 0),
        room[i + BELOW], slow);
    OVER_TILE up[i] = rule_settle_up(fill[i], capacity[i], bodies ? head[i] : 0, bodies ? supported[i] : 0,
                                     rule_settle_level(fill[i + ABOVE], capacity[i + ABOVE]), room[i + ABOVE],
                                     bodies ? body[i] : 0, bodies ? body[i + ABOVE] : 0);
    OVER_TILE
    {
        uint16_t moved = (uint16_t)(fill[i] - down[i] + down[i + ABOVE] - up[i] + up[i + BELOW]);
        fill_1[i] = bodies ? rule_settle_choose(body[i], fill[i], moved) : moved;
        room_1[i] = rule_settle_room(fill_1[i], capacity[i], bodies ? body[i] : 0, bodies ? top[i] : 0);
        level[i] = rule_settle_level(fill_1[i], capacity[i]);
        thin[i] = rule_settle_mask(fill_1[i] < film);
    }
    OVER_TILE
    {
        uint16_t carried = rule_settle_mask(room_1[i + BELOW] == 0);
        gives[i] = bodies ? rule_settle_choose(body[i], supported[i], carried) : carried;
        dry[i] = (uint16_t)(rule_settle_mask(fill_1[i] == 0) & carried);
    }
    for (int axis = 0; axis < 2; axis++) {
        const int step = axis ? TILE_PLANE : 1;
        uint16_t *restrict to = axis ? t->to_z : t->to_x, *restrict from = axis ? t->from_z : t->from_x;
        LANES
        for (int i = FIRST; i < LAST - step; i++) {
            const int j = i + step;
            uint16_t both = bodies ? (uint16_t)(body[i] & body[j]) : 0;
            to[i] = rule_settle_side(fill_1[i], level[i], level[j], bodies ? body[i] : 0, bodies ? pressed[i] : 0, gives[i],
                                     thin[i], dry[j], rule_settle_mask(capacity[j] != 0), both, slow);
            from[i] = rule_settle_side(fill_1[j], level[j], level[i], bodies ? body[j] : 0, bodies ? pressed[j] : 0, gives[j],
                                       thin[j], dry[i], rule_settle_mask(capacity[i] != 0), both, slow);
        }
    }
}

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

// What cells hold then, free ones of the brick: 0 in others; and the most that crosses one of their faces.
static void sum_up(settle_tile *t)
{
    const uint16_t *restrict to_x = t->to_x, *restrict from_x = t->from_x, *restrict to_z = t->to_z,
                             *restrict from_z = t->from_z, *restrict down = t->down, *restrict up = t->up,
                             *restrict fill_1 = t->fill_1, *restrict capacity = t->capacity, *restrict body = t->body;
    uint16_t *restrict held = t->room, *restrict most = t->level;  // which nobody needs any more
    LANES
    for (int i = FIRST + TILE_PLANE; i < LAST - TILE_PLANE; i++) {
        uint16_t in = (uint16_t)(to_x[i - 1] + from_x[i] + to_z[i - TILE_PLANE] + from_z[i]);
        uint16_t out = (uint16_t)(to_x[i] + from_x[i - 1] + to_z[i] + from_z[i - TILE_PLANE]);
        uint16_t sides = larger(larger(larger(to_x[i - 1], from_x[i]), larger(to_z[i - TILE_PLANE], from_z[i])),
                                larger(larger(to_x[i], from_x[i - 1]), larger(to_z[i], from_z[i - TILE_PLANE])));
        uint16_t ends = larger(larger(down[i], up[i]), larger(down[i + TILE_ROW], up[i - TILE_ROW]));
        held[i] = (uint16_t)((fill_1[i] + in - out) & rule_settle_mask(capacity[i] != 0) & ~body[i]);
        most[i] = larger(sides, ends);
    }
}

static void flows(settle_tile *t, bool bodies, uint16_t film, int slow)
{
    if (slow > 0)
        find_flows(t, true, film, slow);
    else if (bodies)
        find_flows(t, true, film, 0);
    else
        find_flows(t, false, film, 0);
    sum_up(t);
}

// Eight bytes, each 0 or 1, as bits.
static uint64_t bits_of_row(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word * UINT64_C(0x0102040810204080) >> 56;
}

static uint8_t take(settle_tile *t, settle_page *page, bool waits, uint16_t calm, uint8_t patience)
{
    uint8_t *counters = waits ? page->pending->calm : page->calm;
    if (waits) memcpy(counters, page->calm, BRICK_CELLS);
    const uint16_t *old = page->fill[page->now];
    uint16_t *new = page->fill[1 - page->now];
    layer_mask wet = {{0}}, full = {{0}}, settled = {{0}}, changed = {{0}};
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            const int at = TILE_AT(0, y, z), cell = 8 * y + 64 * z;
            const uint16_t *restrict held = t->room + at, *restrict most = t->level + at, *restrict capacity = t->capacity + at;
            uint8_t *restrict counter = counters + cell;
            uint8_t is_wet[8], is_full[8], is_settled[8], is_changed[8], is_calm[8];
            memcpy(new + cell, held, 8 * sizeof *held);
            for (int x = 0; x < 8; x++) {
                is_wet[x] = held[x] > 0;
                is_full[x] = (held[x] > 0) & (held[x] >= capacity[x]);
                is_calm[x] = (held[x] > 0) & (most[x] <= calm);
                is_changed[x] = held[x] != old[cell + x];
            }
            for (int x = 0; x < 8; x++) {
                counter[x] = (uint8_t)((counter[x] + (counter[x] < 255)) & -is_calm[x]);
                is_settled[x] = (uint8_t)(is_wet[x] & (counter[x] >= patience));
            }
            wet.layer[y] |= bits_of_row(is_wet) << 8 * z;
            full.layer[y] |= bits_of_row(is_full) << 8 * z;
            settled.layer[y] |= bits_of_row(is_settled) << 8 * z;
            changed.layer[y] |= bits_of_row(is_changed) << 8 * z;
        }
    }
    uint64_t any = 0, uneasy = 0;
    for (int y = 0; y < 8; y++) {
        any |= changed.layer[y];
        uneasy |= wet.layer[y] & ~settled.layer[y];
    }
    const uint64_t low_x = UINT64_C(0x0101010101010101);
    const int sides = ((any & low_x) != 0) | ((any & low_x << 7) != 0) << 1 | (changed.layer[0] != 0) << 2 |
                      ((changed.layer[6] | changed.layer[7]) != 0) << 3 | ((any & 0xff) != 0) << 4 | (any >> 56 != 0) << 5;
    if (waits) {
        page->pending->wet = wet;
        page->pending->full = full;
        page->pending->settled = settled;
    } else {
        page->wet = wet;
        page->full = full;
        page->settled = settled;
    }
    return (uint8_t)((any ? OUTCOME_CHANGED : 0) | (uneasy ? OUTCOME_UNEASY : 0) | sides << OUTCOME_SIDES);
}

#define TABLE_OF(width) settle_kernels_##width
#define TABLE(width) TABLE_OF(width)

const settle_kernels TABLE(CPU_WIDTH) = {.flows = flows, .take = take};
