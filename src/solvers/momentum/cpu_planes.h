// Planes of a column of bricks, as the move sweeps through them: what is taken into them, and how it gets out. Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_PLANES_H
#define WEIR_MOMENTUM_CPU_PLANES_H

#include "solvers/momentum/cpu_scratch.h"

#define RING(planes, z) (planes[((z) + 60) % (int)(sizeof(planes) / sizeof(planes[0]))])

// The bricks of a column and around it.
typedef struct column_bricks {
    int x, y, z;  // size
    int32_t at[COLUMN_Z + 2][COLUMN_Y + 2][COLUMN_X + 2];
} column_bricks;

static void find_bricks(column_bricks *c, const momentum_args *a, const brick_column *column)
{
    *c = (column_bricks){.x = column->size.x, .y = column->size.y, .z = column->size.z};
    for (int32_t b = column->first; b != BRICK_NOTHING; b = a->bricks.next[b]) {
        int x = a->bricks.coord[b].x - column->low.x, y = a->bricks.coord[b].y - column->low.y,
            z = a->bricks.coord[b].z - column->low.z;
        const int32_t *near = a->bricks.near[b];
        for (int dz = 0; dz < 3; dz++)
            for (int dy = 0; dy < 3; dy++)
                for (int dx = 0; dx < 3; dx++) c->at[z + dz][y + dy][x + dx] = *near++;
    }
}

// ---- Into the planes -------------------------------------------------------------------------------------------------------

// Visits the rows -low..8*size+high of plane z brick by brick. PIECE sees `to`, a place in the plane, `from`, an index in a channel, how
// many rows there are, and is told how many cells.
#define GATHER_PLANE(c, z, low, high, PIECE)                                 \
    for (int by = -1; by <= (c)->y; by++) {                                  \
        const int32_t *bricks = (c)->at[((z) >> 3) + 1][by + 1] + 1;         \
        const int first = by < 0 ? -(low) : 8 * by;                          \
        const int rows = by < 0 ? (low) : by < (c)->y ? 8 : (high);          \
        const size_t cell = (size_t)(8 * (first & 7) + 64 * ((z)&7));        \
        {                                                                    \
            const size_t from = (size_t)bricks[-1] * BRICK_CELLS + cell + 4; \
            const int to = SWEEP_AT(-4, first);                              \
            PIECE(4)                                                         \
        }                                                                    \
        for (int bx = 0; bx < (c)->x; bx++) {                                \
            const size_t from = (size_t)bricks[bx] * BRICK_CELLS + cell;     \
            const int to = SWEEP_AT(8 * bx, first);                          \
            PIECE(8)                                                         \
        }                                                                    \
        {                                                                    \
            const size_t from = (size_t)bricks[(c)->x] * BRICK_CELLS + cell; \
            const int to = SWEEP_AT(8 * (c)->x, first);                      \
            PIECE(4)                                                         \
        }                                                                    \
    }

#define PLANE_ROWS(BODY)                                            \
    if (rows == 8) {                                                \
        _Pragma("GCC unroll 8") for (int y = 0; y < 8; y++) BODY(y) \
    } else {                                                        \
        for (int y = 0; y < rows; y++) BODY(y)                      \
    }

INLINE void copy_plane_rows(float *to, const float *from, const int cells, int rows)
{
#define COPY(y) memcpy(to + SY * (y), from + 8 * (y), 4 * (size_t)cells);
    PLANE_ROWS(COPY)
#undef COPY
}

INLINE void fill_plane_rows(float *to, const int32_t *from, const int cells, int rows)
{
#define FILL(y) \
    LANES       \
    for (int i = 0; i < cells; i++) to[SY * (y) + i] = (float)from[8 * (y) + i] * RULE_DROP;
    PLANE_ROWS(FILL)
#undef FILL
}

static void gather_plane(float *plane, const float *channel, const column_bricks *c, int z)
{
    assert(z >= -8 && z < 8 * c->z + 8);
#define PIECE(cells) copy_plane_rows(plane + to, channel + from, cells, rows);
    GATHER_PLANE(c, z, 2, 2, PIECE)
#undef PIECE
}

static void gather_plane_fill(float *plane, const int32_t *mass, const column_bricks *c, int z)
{
    assert(z >= -8 && z < 8 * c->z + 8);
#define PIECE(cells) fill_plane_rows(plane + to, mass + from, cells, rows);
    GATHER_PLANE(c, z, 4, 3, PIECE)
#undef PIECE
}

static void gather_plane_open(float *plane, const momentum_args *a, const column_bricks *c, int z)
{
    for (int y = -2; y <= 8 * c->y; y++) {
        const int32_t *bricks = c->at[(z >> 3) + 1][(y >> 3) + 1] + 1;
        int shift = 8 * (y & 7);
        float *row = plane + SWEEP_AT(0, y);
        memcpy(row - 4, a->bricks.flags[a->bricks.open[bricks[-1]].plane[z & 7] >> shift & 255] + 4, 16);
        for (int k = 0; k < c->x; k++)
            memcpy(row + 8 * k, a->bricks.flags[a->bricks.open[bricks[k]].plane[z & 7] >> shift & 255], 32);
        memcpy(row + 8 * c->x, a->bricks.flags[a->bricks.open[bricks[c->x]].plane[z & 7] >> shift & 255], 16);
    }
}

// ---- Pairs of lanes --------------------------------------------------------------------------------------------------------

// The pairs of which one value is above a limit; `row` begins at x = -4.
static inline row_pairs pairs_above(const float *row, float limit, const column_bricks *c)
{
    row_pairs pairs = 0;
    for (int k = 0; k <= c->x; k++) {
#ifdef __AVX2__
        __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(row + 8 * k), _mm256_set1_ps(limit), _CMP_GT_OQ);
        __m256i neither = _mm256_cmpeq_epi64(_mm256_castps_si256(above), _mm256_setzero_si256());
        pairs |= (row_pairs)(~_mm256_movemask_pd(_mm256_castsi256_pd(neither)) & 15) << 4 * k;
#else
        for (int i = 0; i < 8; i += 2)
            pairs |= (row_pairs)((row[8 * k + i] > limit) | (row[8 * k + i + 1] > limit)) << (4 * k + i / 2);
#endif
    }
    return pairs << 2;
}

// Whether some are in the group of so many lanes that begins at x.
static inline bool in_group(row_pairs pairs, int x, const int lanes)
{
    return (pairs >> (x + 8) / 2 & ((1 << lanes / 2) - 1)) != 0;
}

// Where the lanes of a row end that rules look at: whole groups, as far as two cells beside the column's own.
static inline int row_end(const column_bricks *c)
{
    return (8 * c->x + 2 - ROW_BEGIN + GROUP - 1) / GROUP * GROUP + ROW_BEGIN;
}

// Where the groups of a row from x on end that all have some of the pairs, or all have none.
static inline int run_end(row_pairs pairs, int x, const column_bricks *c)
{
    const row_pairs firsts = GROUP == 16 ? UINT64_C(0x0101010101010101) : UINT64_C(0x1111111111111111);
    row_pairs some = pairs >> (x + 8) / 2;
    for (int k = 1; k < GROUP / 2; k *= 2) some |= some >> k;
    const row_pairs others = (some & 1 ? ~some : some) & firsts;
    const int end = others ? x + 2 * __builtin_ctzll(others) : SY;
    return end < row_end(c) ? end : row_end(c);
}

// Notes where in plane z there is water within two lanes. Where there is none nothing crosses faces, and rules are left out.
static void find_wet(sweep_planes *s, const column_bricks *c, int z)
{
    row_pairs *wet = RING(s->wet, z) + 4;
    for (int y = -4; y < 8 * c->y + 3; y++) {
        row_pairs pairs = pairs_above(RING(s->m, z) + SWEEP_AT(-4, y), 0.0f, c);
        wet[y] = pairs | pairs << 1 | pairs >> 1;
    }
}

// And where such cells are, or lie beside: mass can change there.
static void find_near(sweep_planes *s, const column_bricks *c, int z)
{
    const row_pairs *before = RING(s->wet, z - 1) + 4, *wet = RING(s->wet, z) + 4, *next = RING(s->wet, z + 1) + 4;
    row_pairs *near = RING(s->near, z) + 2;
    for (int y = -2; y <= 8 * c->y; y++) near[y] = wet[y - 1] | wet[y] | wet[y + 1] | before[y] | next[y];
}

// ---- Terrain, and what comes next ------------------------------------------------------------------------------------------

// Whether the same cells are open in plane z as in the plane before.
static bool open_as_before(const momentum_args *a, const column_bricks *c, int z)
{
    bool same = true;
    for (int y = 0; y < c->y + 2; y++)
        for (int x = 0; x < c->x + 2; x++)
            same &= a->bricks.open[c->at[(z >> 3) + 1][y][x]].plane[z & 7] ==
                    a->bricks.open[c->at[((z - 1) >> 3) + 1][y][x]].plane[(z - 1) & 7];
    return same;
}

// Memory that the next step will read and write. It lies in many short pieces, too many for the processor to guess, so it is
// prefetched, a few pieces at a time between rows of work.
typedef struct prefetch_list {
    int count, done;
    const float *piece[16 * (COLUMN_X + 2) * (COLUMN_Y + 1)];  // two cache lines each
} prefetch_list;

static void list_plane(prefetch_list *list, const void *channel, const column_bricks *c, int z, const int rim)
{
    if (z >= 8 * c->z + 8) return;
    for (int by = -rim; by < c->y + rim; by++) {
        const int32_t *bricks = c->at[(z >> 3) + 1][by + 1] + 1;
        for (int bx = -rim; bx < c->x + rim; bx++) {
            const float *rows = (const float *)channel + (size_t)bricks[bx] * BRICK_CELLS + 64 * (z & 7);
            if (by < c->y) list->piece[list->count++] = rows + 32;
            if (by >= 0) list->piece[list->count++] = rows;
        }
    }
    assert(list->count <= (int)(sizeof list->piece / sizeof *list->piece));
}

// What the step after plane z takes in, and stores if it does.
static void list_step(prefetch_list *list, const momentum_args *a, const column_bricks *c, int z, bool stores)
{
    list->count = list->done = 0;
    list_plane(list, a->mass, c, z + 3, 1);
    for (int axis = 0; axis < 3; axis++) list_plane(list, a->flow[axis], c, z + 2, 1);
    if (!stores) return;
    list_plane(list, a->mass_next, c, z, 0);
    for (int axis = 0; axis < 3; axis++) list_plane(list, a->flow_next[axis], c, z, 0);
}

// Prefetches one of so many parts of the list.
static inline void prefetch_some(prefetch_list *list, int parts)
{
    int end = list->done + list->count / parts + 1;
    if (end > list->count) end = list->count;
    for (; list->done < end; list->done++) {
        __builtin_prefetch(list->piece[list->done], 0, 2);
        __builtin_prefetch(list->piece[list->done] + 16, 0, 2);
    }
}

// ---- Out of the planes -----------------------------------------------------------------------------------------------------

// Writes one row to its bricks, those that are there. `row` begins at x = 0.
INLINE void scatter_row(void *channel, const column_bricks *c, int y, int z, const void *row)
{
    const int32_t *bricks = c->at[(z >> 3) + 1][(y >> 3) + 1] + 1;
    const size_t cell = (size_t)(8 * (y & 7) + 64 * (z & 7));
    for (int k = 0; k < c->x; k++)
        if (bricks[k] != BRICK_NOTHING)
            memcpy((float *)channel + (size_t)bricks[k] * BRICK_CELLS + cell, (const float *)row + 8 * k, 32);
}

#endif
