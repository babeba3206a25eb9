// What the files of the plain reading of settle share.
#ifndef WEIR_TESTS_PLAIN_SETTLE_INSIDE_H
#define WEIR_TESTS_PLAIN_SETTLE_INSIDE_H

#include "plain/plain_settle.h"

#undef NDEBUG  // the judge is judged in every build
#include <assert.h>

enum {
    FULL = PLAIN_CELL,
    MOST = 2 * FULL,    // that a free cell can hold
    ENDLESS = 1 << 30,  // room of a body
    NEIGHBOURS = 64     // bodies beside a brick that are looked at
};

static inline int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int64_t lesser64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int32_t above_0(int32_t a)
{
    return a > 0 ? a : 0;
}

static inline int32_t y_of(const plain_settle *w, int64_t i)
{
    return w->y[i];
}

static inline int64_t brick_of(const plain_settle *w, int64_t i)
{
    return w->brick[i];
}

static inline bool is_live(const plain_settle *w, int64_t i)
{
    return w->grid.live[brick_of(w, i)];
}

// From a cell to that beside it: -x, +x, -y, +y, -z, +z.
static inline int64_t beside(const plain_settle *w, int64_t i, int32_t side)
{
    return i + (side & 1 ? 1 : -1) * w->grid.step[side >> 1];
}

static inline int64_t brick_beside(const plain_settle *w, int64_t brick, int32_t x, int32_t y, int32_t z)
{
    const int64_t nx = w->grid.size[0] / 8, ny = w->grid.size[1] / 8;
    return brick + x + nx * (y + ny * z);
}

static inline int64_t brick_at_face(const plain_settle *w, int64_t brick, int32_t side)
{
    const int32_t step = side & 1 ? 1 : -1, axis = side >> 1;
    return brick_beside(w, brick, axis == 0 ? step : 0, axis == 1 ? step : 0, axis == 2 ? step : 0);
}

// Every cell of a brick in the order that decides where one must come first: by layers from the lowest on, in them z, then x.
#define EACH_CELL_UP(w, brick, i)                                       \
    for (int64_t n_ = 0, i = 0, f_ = plain_first_of(&(w)->grid, brick); \
         n_ < 512 && (i = f_ + (n_ & 7) + (n_ >> 6) * (w)->grid.step[1] + (n_ >> 3 & 7) * (w)->grid.step[2], true); n_++)

#define EACH_COORD(box, c)                                   \
    for (weir_coord c = (box).min; c.z < (box).max.z; c.z++) \
        for (c.y = (box).min.y; c.y < (box).max.y; c.y++)    \
            for (c.x = (box).min.x; c.x < (box).max.x; c.x++)

static inline bool inside(weir_box b, weir_coord c)
{
    return c.x >= b.min.x && c.x < b.max.x && c.y >= b.min.y && c.y < b.max.y && c.z >= b.min.z && c.z < b.max.z;
}

static inline bool is_free(const plain_settle *w, int64_t i)
{
    return w->fits[i] > 0 && w->body[i] == 0;
}

static inline bool is_settled(const plain_settle *w, int64_t i)
{
    return w->fill[i] > 0 && w->calm[i] >= w->params.settle.patience;
}

// ---- plain_settle.c: what is counted, waking ----

// Of a body: what fits below its top layer and into it, cells of it, and bricks in which it has cells.
typedef struct plain_sums {
    int64_t base, room, area, bricks, cells;
} plain_sums;

plain_sums plain_settle_count_body(const plain_settle *w, int32_t body);
// What a cell of a body holds.
int32_t plain_settle_still_fill(const plain_pool *b, int32_t y, int32_t fits);
// Of a body's surface, from y = 0 on. One that is closed presses as if another layer were full.
int64_t plain_settle_height(const plain_pool *b);
int32_t plain_settle_new_body(plain_settle *w);
// The bodies that have cells in a brick, by where they come first there. Returns how many there are.
int32_t plain_settle_bodies_in(const plain_settle *w, int64_t brick, int32_t bodies[512]);
void plain_settle_wake(plain_settle *w, int64_t brick);
void plain_settle_wake_sides(plain_settle *w, int64_t i);
void plain_settle_wake_top_sides(plain_settle *w, int32_t body);
void plain_settle_wake_shores(plain_settle *w, int32_t body, bool all);

// A reservoir's surface: the layer that it is in, and its level above the bottom of that, from 1 to a full cell.
typedef struct plain_surface {
    int32_t top, level;
} plain_surface;

plain_surface plain_settle_surface(const plain_source *reservoir);
// The first reservoir in whose box a body has a cell; NULL: none.
const plain_source *plain_settle_holder(const plain_settle *w, int32_t body);
void plain_settle_book(plain_settle *w, int64_t units);

// ---- plain_settle_bodies.c: levels, coming apart, contacts, joining ----

void plain_settle_level_bodies(plain_settle *w);
void plain_settle_follow_volumes(plain_settle *w);
void plain_settle_note_below(plain_settle *w, int64_t i);
void plain_settle_end_body(plain_settle *w, int32_t body);
int64_t plain_settle_first_place(const plain_settle *w, int32_t body);
void plain_settle_meet(plain_settle *w);
int32_t plain_settle_bodies_near(const plain_settle *w, int64_t brick, int32_t near[NEIGHBOURS]);
void plain_settle_join_brick(plain_settle *w, int64_t brick);
void plain_settle_begin_bodies(plain_settle *w, int64_t brick);

// ---- plain_settle_free.c: the laws of free water, rest ----

void plain_settle_update_free(plain_settle *w);
void plain_settle_commit(plain_settle *w);
void plain_settle_wake_beside_changes(plain_settle *w);
void plain_settle_rest(plain_settle *w);

#endif
