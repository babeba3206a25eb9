// The plain reading of sand's law (sand.c): dense, one loop per rule. Include after cmocka.h.
//
// It has a box of whole bricks that is larger than sand can get in the few updates there are. What depends on bricks is worked
// out from coordinates: sand that an emitter puts where nothing was has no brick beside its own to go to in that update.
#ifndef WEIR_TESTS_PLAIN_SAND_H
#define WEIR_TESTS_PLAIN_SAND_H

#include "test_world.h"

enum {
    PLAIN_BRICKS = 7,  // along each axis
    PLAIN_BRICK_COUNT = PLAIN_BRICKS * PLAIN_BRICKS * PLAIN_BRICKS,
    PLAIN_EDGE = 8 * PLAIN_BRICKS,
    PLAIN_CELLS = PLAIN_EDGE * PLAIN_EDGE * PLAIN_EDGE,
    PLAIN_SOURCES = 4
};

typedef struct plain_source {
    weir_box box;
    int32_t sign;        // -1: a drain
    int64_t rate, owed;  // in 1/1024 grains
} plain_source;

typedef struct plain_sand {
    weir_coord origin;  // a multiple of 8
    bool bounded;
    weir_box bounds;
    uint32_t open_sides;
    uint8_t built[PLAIN_CELLS];  // 1: terrain
    uint8_t live[PLAIN_CELLS];   // its brick is there
    uint8_t grains[PLAIN_CELLS], old[PLAIN_CELLS];
    plain_source sources[PLAIN_SOURCES];
    int32_t source_count, updates;
    int64_t added, removed, drained;  // grains
} plain_sand;

static inline int32_t plain_index(const plain_sand *p, weir_coord c)
{
    const int32_t x = c.x - p->origin.x, y = c.y - p->origin.y, z = c.z - p->origin.z;
    assert_true(x >= 0 && y >= 0 && z >= 0 && x < PLAIN_EDGE && y < PLAIN_EDGE && z < PLAIN_EDGE);
    return x + PLAIN_EDGE * (y + PLAIN_EDGE * z);
}

static inline weir_coord plain_coord(const plain_sand *p, int32_t i)
{
    return (weir_coord){p->origin.x + i % PLAIN_EDGE, p->origin.y + i / PLAIN_EDGE % PLAIN_EDGE,
                        p->origin.z + i / PLAIN_EDGE / PLAIN_EDGE};
}

static inline bool plain_inside(const plain_sand *p, weir_coord c)
{
    const weir_box b = p->bounds;
    return !p->bounded ||
           (c.x >= b.min.x && c.x < b.max.x && c.y >= b.min.y && c.y < b.max.y && c.z >= b.min.z && c.z < b.max.z);
}

// Open: no terrain, and not behind a wall of the world.
static inline bool plain_open(const plain_sand *p, int32_t i)
{
    const weir_coord c = plain_coord(p, i);
    const bool behind[6] = {c.x < p->bounds.min.x,  c.x >= p->bounds.max.x, c.y < p->bounds.min.y,
                            c.y >= p->bounds.max.y, c.z < p->bounds.min.z,  c.z >= p->bounds.max.z};
    for (int32_t side = 0; side < 6 && p->bounded; side++)
        if (behind[side] && !(p->open_sides >> side & 1)) return false;
    return !p->built[i];
}

// Open, and in a brick that is there.
static inline bool plain_there(const plain_sand *p, int32_t i)
{
    return p->live[i] && plain_open(p, i);
}

// Every cell i of a box.
#define EACH_PLAIN(p, box, i)                                  \
    for (int32_t z_ = (box).min.z; z_ < (box).max.z; z_++)     \
        for (int32_t y_ = (box).min.y; y_ < (box).max.y; y_++) \
            for (int32_t x_ = (box).min.x, i = plain_index(p, (weir_coord){x_, y_, z_}); x_ < (box).max.x; x_++, i++)

static inline weir_box plain_all(const plain_sand *p)
{
    const weir_coord o = p->origin;
    return (weir_box){o, {o.x + PLAIN_EDGE, o.y + PLAIN_EDGE, o.z + PLAIN_EDGE}};
}

// The cells of the b-th brick, x fastest, then y, then z.
static inline weir_box plain_brick(const plain_sand *p, int32_t b)
{
    const int32_t x = b % PLAIN_BRICKS, y = b / PLAIN_BRICKS % PLAIN_BRICKS, z = b / PLAIN_BRICKS / PLAIN_BRICKS;
    const weir_coord o = {p->origin.x + 8 * x, p->origin.y + 8 * y, p->origin.z + 8 * z};
    return (weir_box){o, {o.x + 8, o.y + 8, o.z + 8}};
}

static inline void plain_set_live(plain_sand *p, weir_box brick)
{
    bool open = false;
    EACH_PLAIN(p, brick, i) open = open || plain_open(p, i);
    EACH_PLAIN(p, brick, i) p->live[i] = open;
}

// A brick is there if it has an open cell, and it or one that touches it holds sand.
static inline void plain_find_live(plain_sand *p)
{
    enum { Y = PLAIN_BRICKS, Z = PLAIN_BRICKS * PLAIN_BRICKS };
    bool wanted[PLAIN_BRICK_COUNT] = {false};
    memset(p->live, 0, sizeof p->live);
    for (int32_t b = 0; b < PLAIN_BRICK_COUNT; b++) {
        const weir_box brick = plain_brick(p, b);
        bool wet = false;
        EACH_PLAIN(p, brick, i) wet = wet || p->grains[i] > 0;
        if (wet) {  // the box is large enough
            plain_index(p, brick.max);
            plain_index(p, (weir_coord){brick.min.x - 1, brick.min.y - 1, brick.min.z - 1});
        }
        for (int32_t k = 0; k < 27 && wet; k++) wanted[b + k % 3 - 1 + Y * (k / 3 % 3 - 1) + Z * (k / 9 - 1)] = true;
    }
    for (int32_t b = 0; b < PLAIN_BRICK_COUNT; b++)
        if (wanted[b]) plain_set_live(p, plain_brick(p, b));
}

static inline int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

// What two boxes share; max is not above min where they share nothing.
static inline weir_box common(weir_box a, weir_box b)
{
    return test_box(larger(a.min.x, b.min.x), larger(a.min.y, b.min.y), larger(a.min.z, b.min.z), -larger(-a.max.x, -b.max.x),
                    -larger(-a.max.y, -b.max.y), -larger(-a.max.z, -b.max.z));
}

// One grain after the other, in rounds over the cells of the box in the order of bricks.
static inline void plain_pour(plain_sand *p, const plain_source *source, int64_t grains)
{
    for (bool moved = true; moved && grains > 0;) {
        moved = false;
        for (int32_t b = 0; b < PLAIN_BRICK_COUNT; b++) {
            EACH_PLAIN(p, common(plain_brick(p, b), source->box), i)
            {
                if (grains == 0 || !plain_open(p, i) || p->grains[i] == (source->sign > 0 ? 64 : 0)) continue;
                p->grains[i] = (uint8_t)(p->grains[i] + source->sign);
                *(source->sign > 0 ? &p->added : &p->removed) += 1;
                moved = true;
                grains--;
            }
        }
    }
}

static inline void plain_act_sources(plain_sand *p)
{
    for (int32_t k = 0; k < p->source_count; k++) {
        const plain_source *source = &p->sources[k];
        if (source->sign < 0 || source->owed + source->rate < 1024) continue;
        for (int32_t b = 0; b < PLAIN_BRICK_COUNT; b++) {
            bool meets = false;
            EACH_PLAIN(p, common(plain_brick(p, b), source->box), i) meets = true;
            if (meets) plain_set_live(p, plain_brick(p, b));
        }
    }
    for (int32_t k = 0; k < p->source_count; k++) {
        plain_source *source = &p->sources[k];
        source->owed += source->rate;
        plain_pour(p, source, source->owed / 1024);
        source->owed %= 1024;
    }
}

// Moves what can go from every cell to the one at an offset below it.
static inline void plain_move(plain_sand *p, int32_t dx, int32_t dz)
{
    const int32_t down = -PLAIN_EDGE, side = dx + PLAIN_EDGE * PLAIN_EDGE * dz;
    memcpy(p->old, p->grains, sizeof p->old);
    for (int32_t i = 0; i < PLAIN_CELLS; i++) {
        const int32_t to = i + side + down;
        if (p->old[i] == 0 || !plain_there(p, to)) continue;
        if (side != 0) {
            if (plain_there(p, i + down) && p->old[i + down] < 64) continue;    // it can fall
            if (!plain_there(p, i + side) || p->old[i + side] == 64) continue;  // something is in its way
        }
        const int32_t room = 64 - p->old[to], moved = p->old[i] < room ? p->old[i] : room;
        p->grains[i] = (uint8_t)(p->grains[i] - moved);
        p->grains[to] = (uint8_t)(p->grains[to] + moved);
    }
}

static inline void plain_update(plain_sand *p)
{
    static const int32_t side_x[4] = {1, -1, 0, 0}, side_z[4] = {0, 0, 1, -1};
    plain_find_live(p);
    plain_act_sources(p);
    plain_move(p, 0, 0);
    plain_move(p, side_x[p->updates % 4], side_z[p->updates % 4]);
    p->updates++;
    for (int32_t i = 0; i < PLAIN_CELLS; i++) {
        if (p->grains[i] == 0 || plain_inside(p, plain_coord(p, i))) continue;
        p->drained += p->grains[i];
        p->grains[i] = 0;
    }
}

static inline void plain_fill(plain_sand *p, weir_box box, int32_t grains)
{
    EACH_PLAIN(p, box, i)
    {
        if (!plain_inside(p, plain_coord(p, i)) || !plain_open(p, i)) continue;
        const int32_t more = grains - p->grains[i];
        *(more > 0 ? &p->added : &p->removed) += abs(more);
        p->grains[i] = (uint8_t)grains;
    }
}

static inline void plain_shape(plain_sand *p, weir_box box, bool solid)
{
    EACH_PLAIN(p, box, i)
    {
        if (!plain_inside(p, plain_coord(p, i))) continue;
        p->built[i] = solid;
        if (!solid) continue;
        p->removed += p->grains[i];
        p->grains[i] = 0;
    }
}

#endif
