// A plain reading of the laws: the judge of every path of the product.
//
// One dense grid of cells, one loop per rule in the order of docs/how-it-works.md, scalar, on one thread. There is no pool, no tile, no
// fusion and no fast path here, and no code of the product but its table of parameters: the equations are written down once more, so
// that a slip in src/solvers/ shows as well as one in how a machine walks over bricks. What depends on bricks (which are live, the
// coarse levels) is worked out from coordinates.
//
// The product must give the bits of this, cell by cell. So every sum here is written in the order that the documents give, and compiled
// with the same flags: no contraction.
//
//     plain.c            the world: grid, live bricks, edits, emitters and drains, forces
//     plain_momentum.c   the update of the momentum solver, R1 to R9
//     plain_levels.c     its coarse levels
//     plain_air.c        its air under water
//     plain_sleep.c      its sleep: who is awake, bodies, the rim
//     plain_classic.c    the update of the classic solver
#ifndef WEIR_TESTS_PLAIN_H
#define WEIR_TESTS_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/weir.h>

enum { PLAIN_SOURCES = 32, PLAIN_FULL = 4194304 };

// A grid of cells in whole bricks. Cells beyond the live bricks are there, solid, and hold zeros: nothing ever looks further than one
// brick beyond a live one, and the grid is made large enough for that.
typedef struct plain_grid {
    weir_coord low;  // coordinate of the first cell: a multiple of 8
    int32_t size[3];
    int64_t step[3];    // from a cell to the next one on an axis
    uint8_t *live;      // by brick
    int64_t *brick;     // first cells of the listed bricks, in coordinate order: z, then y, then x
    int32_t bricks;     // how many there are
    int64_t *cell;      // all cells of those bricks
    int64_t cells;      // how many there are
    int64_t all_cells;  // of the grid
} plain_grid;

// What an update does with a brick.
typedef enum plain_phase { PLAIN_ASLEEP, PLAIN_RIM, PLAIN_AWAKE } plain_phase;

// What is known of a brick's rest; heads in drops.
typedef struct plain_rest {
    int64_t head, shown, owed;
    int32_t surface, rise;
    int32_t links;  // bit k: faces to -x, -y, -z, +x, +y, +z
    int32_t calm, hold, gentle, wild, driven, looks;
    bool asleep;
} plain_rest;

#define PLAIN_NO_HEAD INT64_MIN

// Sleeping water that hangs together.
typedef struct plain_body {
    int64_t first;  // its first brick by coordinate
    int64_t owed, surface, low, high;
    bool open;  // it may have a rim
    bool refused;
} plain_body;

// How often what has happened, for those who want to know whether worlds slept at all.
typedef struct plain_sleep_counts {
    int64_t slept, woke, refused, rims, booked, spread, levelled, settled, sunk, wetted, forced, over_brim, apart, pushed,
        rippled, followed;
} plain_sleep_counts;

// Sleep. All tables are by brick.
typedef struct plain_sleep {
    plain_rest *rest, *plan;
    uint8_t *phase, *phase_before;
    uint8_t *wet, *was_wet;  // now, and when the update began
    uint8_t *awake;          // in the update that is planned
    uint8_t *turn;           // what happens to it: plain_sleep.c
    uint8_t *motion;
    uint8_t *waves;  // what is made of them: plain_sleep.c
    int32_t *body;   // number of its body, from 1 on
    plain_body *bodies;
    int32_t body_count;
    bool on;
    // The cells of sleeping bricks, while an update takes them for nothing.
    int32_t *mass;
    float *flow[3], *pressure;
    plain_sleep_counts counts;
} plain_sleep;

typedef enum plain_kind { PLAIN_EMITTER, PLAIN_DRAIN, PLAIN_FORCE, PLAIN_RESERVOIR } plain_kind;

typedef struct plain_source {
    plain_kind kind;
    int32_t id;
    weir_box box;
    int64_t rate, owed;  // 1/65536 drops
    weir_vec force;
    int64_t level;  // drops of height
} plain_source;

typedef struct plain_world {
    weir_solver solver;
    weir_params params;
    bool bounded;
    weir_box bounds;
    uint32_t open_sides;
    plain_grid grid;
    plain_grid awake;  // the same cells; of bricks only those that are awake
    uint8_t *share;    // solid share, as built
    uint8_t *open;     // the terrain and the bounds leave it open
    uint8_t *there;    // and its brick is live and does not sleep: what the rules call open
    // The state.
    int32_t *mass;
    float *flow[3], *pressure;
    int64_t update;
    int32_t cycles_next, substeps_next;
    plain_source sources[PLAIN_SOURCES];
    int32_t source_count, next_id;
    int64_t added, removed, drained;
    float substep_share;  // of an update
    float force_share;    // what forces give in a substep
    plain_sleep sleep;
    int32_t *gas;     // see plain_air.c; NULL: air is a vacuum
    uint8_t *kept;    // by brick: 1: of shut air, and live though no water is near
    float air_whole;  // the parameter air, of a whole update
    // Scratch of an update.
    float *m, *m2;    // fill before and after the move
    float *F[3];      // what crosses the low faces
    float *q, *h;     // shares of R2; in classic q is the share that leaves
    float *flow2[3];  // flow after the move
    float *divergence, *floor, *pressure2;
    float *air;  // the pressure of the air in and beside a cell
    uint8_t *active;
} plain_world;

// A world whose water will stay within `reach`, in which it is made. The definition's bounds, open sides, solver and parameters count.
plain_world *plain_create(const weir_world_def *def, weir_box reach);
void plain_destroy(plain_world *w);

// Edits, as the public face has them. A shape is a box, and a sphere in it if the radius is above 0.
typedef struct plain_shape {
    weir_box box;
    weir_sphere sphere;
} plain_shape;

void plain_fill(plain_world *w, plain_shape shape, float fill);
void plain_build(plain_world *w, plain_shape shape, uint8_t share);
void plain_set_flow(plain_world *w, weir_box box, weir_vec flow);
void plain_add(plain_world *w, plain_kind kind, weir_box box, float rate, weir_vec force);
void plain_add_reservoir(plain_world *w, weir_box box, double level);
void plain_remove(plain_world *w, int32_t id);
void plain_set(plain_world *w, const char *name, double value);  // a parameter
// Terrain is about to change in some of the cells of a box: for edits that come in pieces.
void plain_disturb(plain_world *w, weir_box box);

void plain_step(plain_world *w);

// ---- Between the files of the plain reading ----

void plain_momentum_update(plain_world *w);
int32_t plain_substeps(const plain_world *w, float flow);
void plain_classic_update(plain_world *w);

// Air: the bricks of shut air, given those that water needs; and the pockets after a move of an update of 1/share.
void plain_air_keep(plain_world *w, const uint8_t *wanted);
void plain_air_find(plain_world *w, float share);

// Whether a reservoir puts water into some cell of a brick.
bool plain_wants_water(const plain_world *w, const plain_source *reservoir, int64_t brick);

// What both solvers do after the move: open sides, viscosity (momentum), forces and noise.
void plain_after_move(plain_world *w);

// The axis with the most gravity, where the head counts and dust falls: its sign is 0 without gravity.
typedef struct plain_down {
    int32_t axis, sign;
    float head, inverse_head;
} plain_down;

plain_down plain_find_down(const weir_params *params);

// Sleep, in the order of an update: see plain_sleep.c.
void plain_sleep_make(plain_world *w);
void plain_sleep_free(plain_world *w);
void plain_sleep_end_brick(plain_world *w, int64_t brick);  // it is not live any more
void plain_sleep_plan(plain_world *w);
void plain_sleep_commit(plain_world *w);
void plain_sleep_hide(plain_world *w);
void plain_sleep_book(plain_world *w);
void plain_sleep_trim(plain_world *w);
void plain_sleep_unhide(plain_world *w);
void plain_sleep_note(plain_world *w);
// What the sleeping bodies are owed that reach into a box goes to the account.
void plain_sleep_forgive(plain_world *w, weir_box box);
// Wakes the bricks of a box of cells, and those around them.
void plain_sleep_wake(plain_world *w, weir_box box);

// One V-cycle's coarse part for the residual of the active cells: adds the correction to pressure2. See plain_levels.c.
void plain_coarse_correction(plain_world *w, const float *residual);

void plain_grid_make(plain_grid *g, weir_coord low, const int32_t size[3]);
void plain_grid_free(plain_grid *g);
// Lists bricks and cells after `live` has changed; or only those live bricks which have a phase, or a later one.
void plain_grid_list(plain_grid *g);
void plain_grid_list_phase(plain_grid *g, const uint8_t *phase, plain_phase least);

// The coordinate of a cell of the grid.
static inline weir_coord plain_at(const plain_grid *g, int64_t i)
{
    return (weir_coord){g->low.x + (int32_t)(i % g->step[1]), g->low.y + (int32_t)(i / g->step[1] % g->size[1]),
                        g->low.z + (int32_t)(i / g->step[2])};
}

static inline int64_t plain_index(const plain_grid *g, weir_coord c)
{
    return (c.x - g->low.x) + (c.y - g->low.y) * g->step[1] + (c.z - g->low.z) * g->step[2];
}

// The number of a cell's brick in `live`.
static inline int64_t plain_brick_of(const plain_grid *g, int64_t i)
{
    int64_t x = i % g->step[1] / 8, y = i / g->step[1] % g->size[1] / 8, z = i / g->step[2] / 8;
    return x + g->size[0] / 8 * (y + g->size[1] / 8 * z);
}

// And a brick's first cell.
static inline int64_t plain_first_of(const plain_grid *g, int64_t brick)
{
    int64_t nx = g->size[0] / 8, ny = g->size[1] / 8;
    return 8 * (brick % nx + brick / nx % ny * g->step[1] + brick / nx / ny * g->step[2]);
}

// Every cell i of the bricks that are listed.
#define EACH_CELL(g, i) for (int64_t n_ = 0, i = 0; n_ < (g)->cells && (i = (g)->cell[n_], true); n_++)

// Every cell i of one brick, whose first cell is `first`; x fastest, then y, then z.
#define EACH_CELL_OF(g, first, i) \
    for (int64_t n_ = 0, i = 0;   \
         n_ < 512 && (i = (first) + (n_ & 7) + (n_ >> 3 & 7) * (g)->step[1] + (n_ >> 6) * (g)->step[2], true); n_++)

// Zero in place of what means nothing any more.
static inline float plain_still(float a)
{
    return a > 1e-15f || a < -1e-15f ? a : 0.0f;
}

static inline float plain_least(float a, float b)
{
    return a < b ? a : b;
}

static inline float plain_most(float a, float b)
{
    return a > b ? a : b;
}

#endif
