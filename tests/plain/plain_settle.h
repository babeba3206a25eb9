// A plain reading of settle: the judge of src/solvers/settle.
//
// docs/settle.md written down once more: one dense grid of cells, one loop per law, on one thread. There are no pages, masks, nodes or lists
// here, and no number is kept that can be counted: a body is a label on cells, and what it is made of is found by looking at all of them.
// No code of the product is used but its table of parameters.
//
//     plain_settle.c          which bricks live and are awake, edits, emitters and drains, and the order of an update
//     plain_settle_bodies.c   levels, what comes apart, what meets, what joins
//     plain_settle_free.c     the laws of free water, and rest
//
// Bricks are in it where the laws speak of them: which of them live, which are awake, and for what those at rest wait.
#ifndef WEIR_TESTS_PLAIN_SETTLE_H
#define WEIR_TESTS_PLAIN_SETTLE_H

#include "plain/plain.h"

enum { PLAIN_CELL = 16384, PLAIN_UNIT = PLAIN_FULL / PLAIN_CELL };

// A body of still water.
typedef struct plain_pool {
    bool there;
    bool closed;   // it holds more than fits and can rise nowhere
    bool changed;  // its level is to be found anew
    bool cut;      // cells were taken out of it: it may have come apart
    int64_t volume;
    int32_t top;    // y of its top layer
    int32_t level;  // of its surface above the bottom of that
    int64_t gained;
} plain_pool;

// A brick at rest beside a body, and the heights of its surface that wake the brick.
typedef struct plain_shore {
    int64_t brick;
    int32_t body;
    int64_t up, down;
} plain_shore;

// How often what has happened.
typedef struct plain_settle_counts {
    int64_t begun, joined, rose, fell, dissolved, merged, ran_over, split, closed, woken, rested, displaced, evaporated;
} plain_settle_counts;

typedef struct plain_settle {
    weir_params params;
    bool bounded;
    weir_box bounds;
    uint32_t open_sides;
    plain_grid grid;
    // By cell.
    uint8_t *share;  // solid, as built or behind a wall
    int32_t *fits;   // units
    int32_t *fill;   // of free water
    int32_t *body;   // number of the body that it belongs to; 0: none
    uint8_t *calm;   // updates for which its water has been calm
    int32_t *y, *brick;
    // By brick.
    uint8_t *known;  // it was live at the last look
    uint8_t *awake, *worked, *stirred, *changed, *uneasy;
    plain_pool *bodies;  // from 1 on
    int32_t body_end, body_room;
    plain_shore *shores;
    int32_t shore_count, shore_room;
    plain_source sources[PLAIN_SOURCES];
    int32_t source_count, next_id;
    int64_t added, removed, drained, turned;  // drops
    int32_t phase;                            // of evaporation
    int64_t update;
    bool applied;  // the laws have been applied in the update under way
    plain_settle_counts counts;
    // Scratch of an update, by cell: what is seen, what crosses faces, and what is there then.
    int32_t *F, *C, *down, *up, *moved, *moved_below, *next, *most;
    int64_t *list;
} plain_settle;

plain_settle *plain_settle_create(const weir_world_def *def, weir_box reach);
void plain_settle_destroy(plain_settle *w);

void plain_settle_fill(plain_settle *w, plain_shape shape, float fill);
// `shares`: of every cell of the shape's box, x fastest, 0 for those that stay as they are; NULL: all get `share`.
void plain_settle_build(plain_settle *w, plain_shape shape, uint8_t share, const uint8_t *shares);
void plain_settle_add(plain_settle *w, plain_kind kind, weir_box box, float rate);
void plain_settle_add_reservoir(plain_settle *w, weir_box box, double level);
void plain_settle_remove(plain_settle *w, int32_t id);
void plain_settle_set(plain_settle *w, const char *name, double value);
void plain_settle_step(plain_settle *w);

// The units in a cell, and in all.
int32_t plain_settle_units(const plain_settle *w, int64_t i);
int64_t plain_settle_held(const plain_settle *w);

#endif
