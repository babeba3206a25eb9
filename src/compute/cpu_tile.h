// Tiles: the values around a run of bricks, copied together so that a neighbour is a constant offset. Part of the solvers' cpu_kernels.c.
//
//     run tile    x: 4 rim | 8 to 32 cells | 4 rim     y, z: 3 rim | 8 cells | 3 rim      RUN_AT(x, y, z)
//     brick tile  x: 8 cells, no rim                   y, z: 1 rim | 8 cells | 1 rim      PLANE_AT(z), see cpu_brick.h
//     fill tile   x: 8 cells, no rim                   y, z: 2 rim | 8 cells | 2 rim      FILL_PLANE_AT(z), see cpu_brick.h
//
// Kernels work on whole rows along x, of a length that is a multiple of four. Rows that reach into the rim are 8 cells longer than
// the run. Lanes whose neighbours are not in the tile hold numbers of no meaning and are never stored.
#ifndef WEIR_COMPUTE_CPU_TILE_H
#define WEIR_COMPUTE_CPU_TILE_H

#include "cells/language.h"
#include "compute/cpu.h"
#include "compute/cpu_lanes.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum {
    RIM_X = 4,
    RIM = 3,
    LEFT = 16,                // where x = 0 lies in a row
    TY = 8 * RUN_MAX + 16,    // stride of y
    TZ = TY * (8 + 2 * RIM),  // stride of z
    TILE = TZ * (8 + 2 * RIM),
    PAD = 2 * TZ,  // wide rows and unused rim rows may look this far out
    PLANE = 64,    // cells in a plane of a brick
    PY = 8,        // strides of a brick tile
    PZ = 80,
    BRICK_TILE = 16 + 10 * PZ,
    MZ = 96,  // stride of z in a fill tile
    FILL_TILE = 16 + 12 * MZ + 16
};

#define KERNEL static inline __attribute__((always_inline)) void

// Where a cell lies in a run tile.
#define RUN_AT(x, y, z) (PAD + (x) + LEFT + TY * ((y) + RIM) + TZ * ((z) + RIM))

static const int STRIDE[3] = {1, TY, TZ};

typedef float run_tile[TILE + 2 * PAD];
typedef float brick_tile[BRICK_TILE];
typedef float fill_tile[FILL_TILE];

// The values beyond a brick's sides in x, beside the cells that touch them. In all other cells they are zero, always.
typedef struct brick_sides {
    float low[BRICK_CELLS], high[BRICK_CELLS];
} brick_sides;

// ---- What must hold --------------------------------------------------------------------------------------------------------
// Nothing is left of these where asserts are off.

static inline void must_be_live(const cpu_bricks *a, int32_t brick)
{
    (void)a, (void)brick;
    assert(brick > BRICK_NOTHING && brick < a->end && a->alive[brick]);
}

static inline void must_be_drops(const int32_t *drops, int count, int32_t most)
{
    (void)drops, (void)count, (void)most;
#ifndef NDEBUG
    for (int i = 0; i < count; i++) assert(drops[i] >= 0 && drops[i] <= most);
#endif
}

// Numbers, and none of them larger than a limit.
static inline void must_be_within(const float *values, int count, float limit)
{
    (void)values, (void)count, (void)limit;
#ifndef NDEBUG
    for (int i = 0; i < count; i++) assert(values[i] >= -limit && values[i] <= limit);
#endif
}

static inline void must_be_dry(const cpu_bricks *a, const int32_t *mass, int32_t brick)
{
    (void)a, (void)mass, (void)brick;
    assert(!a->wet[brick]);
#ifndef NDEBUG
    for (int i = 0; i < BRICK_CELLS; i++) assert(mass[(size_t)brick * BRICK_CELLS + i] == 0);
#endif
}

// ---- Tiles -----------------------------------------------------------------------------------------------------------------

#define SPLIT(v) ((v) < 0 ? -1 : (v) > 7 ? 1 : 0)

#define INLINE static inline __attribute__((always_inline))

// Rows of one brick into a tile: 8 cells each, or the 4 next to the run. Whole bricks of 8 rows are the usual case.
#define ROWS(count, BODY)                                                      \
    for (int z = 0; z < nz; z++, to += TZ, from += 64) {                       \
        if (ny == 8) {                                                         \
            _Pragma("GCC unroll 8") for (int y = 0; y < 8; y++) BODY(y, count) \
        } else {                                                               \
            for (int y = 0; y < ny; y++) BODY(y, count)                        \
        }                                                                      \
    }

INLINE void copy_rows(void *tile, const void *channel, const int cells, int ny, int nz)
{
    float *to = tile;
    const float *from = channel;
#define COPY(y, count) memcpy(to + TY * (y), from + 8 * (y), 4 * (count));
    if (cells == 8) ROWS(8, COPY) else ROWS(4, COPY)
#undef COPY
}

INLINE void fill_rows(float *to, const int32_t *from, const int cells, int ny, int nz, int32_t *restrict any)
{
#define FILL(y, count)                                           \
    LANES                                                        \
    for (int i = 0; i < count; i++) {                            \
        any[i] |= from[8 * (y) + i];                             \
        to[TY * (y) + i] = (float)from[8 * (y) + i] * RULE_DROP; \
    }
    if (cells == 8) ROWS(8, FILL) else ROWS(4, FILL)
#undef FILL
}

// Visits the rows y0..y1, z0..z1 around a run brick by brick. PIECE sees `to`, the place of the first row in the tile, `from`, the
// index of its first cell in a channel, and how many cells, rows and planes there are.
#define GATHER(y0, y1, z0, z1, PIECE)                                                                \
    for (int bz = -1; bz <= 1; bz++) {                                                               \
        const int first_z = bz < 0 ? (z0) : bz > 0 ? 8 : (z0) > 0 ? (z0) : 0;                        \
        const int nz = (bz < 0 ? -1 : bz > 0 ? (z1) : (z1) < 7 ? (z1) : 7) - first_z + 1;            \
        for (int by = -1; by <= 1; by++) {                                                           \
            const int first_y = by < 0 ? (y0) : by > 0 ? 8 : (y0) > 0 ? (y0) : 0;                    \
            const int ny = (by < 0 ? -1 : by > 0 ? (y1) : (y1) < 7 ? (y1) : 7) - first_y + 1;        \
            if (nz <= 0 || ny <= 0) continue;                                                        \
            const size_t cell = (size_t)(8 * (first_y & 7) + 64 * (first_z & 7));                    \
            const int side = NEAR(0, by, bz);                                                        \
            {                                                                                        \
                const size_t from = (size_t)a->near[r->brick[0]][side - 1] * BRICK_CELLS + cell + 4; \
                const int to = RUN_AT(-4, first_y, first_z);                                         \
                PIECE(4)                                                                             \
            }                                                                                        \
            for (int k = 0; k < n; k++) {                                                            \
                const size_t from = (size_t)a->near[r->brick[k]][side] * BRICK_CELLS + cell;         \
                const int to = RUN_AT(8 * k, first_y, first_z);                                      \
                PIECE(8)                                                                             \
            }                                                                                        \
            {                                                                                        \
                const size_t from = (size_t)a->near[r->brick[n - 1]][side + 1] * BRICK_CELLS + cell; \
                const int to = RUN_AT(8 * n, first_y, first_z);                                      \
                PIECE(4)                                                                             \
            }                                                                                        \
        }                                                                                            \
    }

// Copies a channel of 4-byte values into rows y0..y1, z0..z1 of a run tile, rims in x included.
static inline void gather(void *tile, const void *channel, const cpu_bricks *a, const brick_run *r, const int n, const int y0,
                          const int y1, const int z0, const int z1)
{
    assert(y0 >= -RIM && y1 < 8 + RIM && z0 >= -RIM && z1 < 8 + RIM);
#define PIECE(cells) copy_rows((float *)tile + to, (const float *)channel + from, cells, ny, nz);
    GATHER(y0, y1, z0, z1, PIECE)
#undef PIECE
}

// Copies the mass and turns drops into fill. Returns whether there is any.
static bool gather_fill(float *tile, const int32_t *mass, const cpu_bricks *a, const brick_run *r, const int n, const int low,
                        const int high)
{
    int32_t any[8] = {0};
    assert(low <= RIM && high <= RIM);
#define PIECE(cells) fill_rows(tile + to, mass + from, cells, ny, nz, any);
    GATHER(-low, 7 + high, -low, 7 + high, PIECE)
#undef PIECE
    int32_t all = 0;
    for (int i = 0; i < 8; i++) all |= any[i];
    return all != 0;
}

// Whether all cells of a run and of all its neighbours are open.
static inline bool run_clear(const cpu_bricks *a, const brick_run *r)
{
    for (int k = 0; k < r->count; k++)
        if (!a->clear[r->brick[k]]) return false;
    return true;
}

// The open cells as 1 and 0: the tile, filled, or far from terrain one that is all 1.
static const float *gather_open(float *tile, const cpu_bricks *a, const brick_run *r, const int n, int low, int high)
{
    assert(low <= RIM && high <= RIM);
    if (run_clear(a, r)) return a->ones;
    for (int z = -low; z <= 7 + high; z++) {
        for (int y = -low; y <= 7 + high; y++) {
            int side = NEAR(0, SPLIT(y), SPLIT(z));
            int shift = 8 * (y & 7);
            float *row = tile + RUN_AT(0, y, z);
            const int32_t *first = a->near[r->brick[0]];
            const int32_t *last = a->near[r->brick[n - 1]];
            memcpy(row - 4, a->flags[a->open[first[side - 1]].plane[z & 7] >> shift & 255] + 4, 16);
            for (int k = 0; k < n; k++)
                memcpy(row + 8 * k, a->flags[a->open[a->near[r->brick[k]][side]].plane[z & 7] >> shift & 255], 32);
            memcpy(row + 8 * n, a->flags[a->open[last[side + 1]].plane[z & 7] >> shift & 255], 16);
        }
    }
    return tile;
}

// Writes one row of a run back to its bricks.
static inline __attribute__((always_inline)) void scatter(void *channel, const brick_run *r, const int n, int y, int z,
                                                          const void *row)
{
    assert(n == r->count && y >= 0 && y < 8 && z >= 0 && z < 8);
    for (int k = 0; k < n; k++)
        memcpy((char *)channel + 4 * ((size_t)r->brick[k] * BRICK_CELLS + (size_t)(8 * y + 64 * z)), (const char *)row + 32 * k,
               32);
}

static inline void clear_bricks(void *channel, const brick_run *r)
{
    for (int k = 0; k < r->count; k++) assert(r->brick[k] != BRICK_NOTHING);
    for (int k = 0; k < r->count; k++) memset((char *)channel + 4 * (size_t)r->brick[k] * BRICK_CELLS, 0, 4 * BRICK_CELLS);
}

// The move of a brick in which nothing is and nothing comes in. moved[axis] may be NULL.
static inline void move_nothing(const cpu_bricks *a, int32_t brick, int32_t *mass_next, float *const flow_next[3],
                                float *const moved[3])
{
    const brick_run one = {1, {brick}};
    clear_bricks(mass_next, &one);
    for (int axis = 0; axis < 3; axis++) {
        clear_bricks(flow_next[axis], &one);
        if (moved[axis]) clear_bricks(moved[axis], &one);
    }
    a->wet[brick] = 0;
}

// Whether the rows y0..y1, z0..z1 of a run tile are all zero, bit for bit.
static inline bool rows_are_zero(const float *tile, const int n, int y0, int y1, int z0, int z1)
{
    uint32_t any[8] = {0};
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int k = -4; k < 8 * n + 4; k += 8) {
                uint32_t bits[8];
                memcpy(bits, tile + RUN_AT(k, y, z), 32);
                LANES
                for (int i = 0; i < 8; i++) any[i] |= bits[i];
            }
    return (any[0] | any[1] | any[2] | any[3] | any[4] | any[5] | any[6] | any[7]) == 0;
}

// Bit x set where a[x] > b[x].
static inline uint64_t row_above(const float *a, const float *b)
{
#ifdef __AVX2__
    return (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b), _CMP_GT_OQ));
#else
    uint64_t bits = 0;
    for (int x = 0; x < 8; x++) bits |= (uint64_t)(a[x] > b[x]) << x;
    return bits;
#endif
}

// Bricks that are there, side by side.
static inline void must_be_run(const cpu_bricks *a, const brick_run *r)
{
    (void)a;
    assert(r->count == 1 || r->count == 2 || r->count == RUN_MAX);
    for (int k = 0; k < r->count; k++) must_be_live(a, r->brick[k]);
    for (int k = 1; k < r->count; k++) assert(a->near[r->brick[k - 1]][NEAR(1, 0, 0)] == r->brick[k]);
}

// Calls a kernel with the run's length as a constant, so that rows have a fixed length.
#define BY_LENGTH(kernel, a, s, r)    \
    do {                              \
        must_be_run(&(a)->bricks, r); \
        if ((r)->count == RUN_MAX)    \
            kernel(a, s, r, RUN_MAX); \
        else if ((r)->count == 2)     \
            kernel(a, s, r, 2);       \
        else                          \
            kernel(a, s, r, 1);       \
    } while (0)

#endif
