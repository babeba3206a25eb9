// Planes: a column of bricks worked through along z, plane by plane. Part of cpu_kernels.c.
//
// Only the last few planes of a value are kept, in a ring. A rule runs on a plane as soon as the planes it looks at are there, so
// that nothing is copied or computed twice along z. A plane holds the cells of the column and around it, row behind row:
//
//     | 8 rim | 8 to 32 cells | 8 rim | 8 rim | 8 to 32 cells | 8 rim | ...        SWEEP_AT(sweep, x, y)
//
// Rules run over whole rows, rims included, as one long loop. Near the ends of the rows that gives numbers of no meaning; they
// creep one cell further in with every rule, and never reach the column.
#ifndef WEIR_CLASSIC_CPU_PLANES_H
#define WEIR_CLASSIC_CPU_PLANES_H

#include "compute/cpu_tile.h"
#include "solvers/classic/cpu_args.h"

enum {
    PLANE_RIM = 5,     // rows before and behind the column
    PLANE_START = 32,  // where x = 0 lies in the first row: at a whole register
    PLANE_END = 48,    // what a long loop may look at behind the last row
    PLANE_CELLS = PLANE_START + 8 * (SWEEP_X + 2) * (8 * SWEEP_Y + 2 * PLANE_RIM) + PLANE_END,
    ROW_LANES = 16,      // cells in the widest register
    PREFETCH_PLANES = 2  // how many planes before its use memory is prefetched
};

typedef float cell_plane[PLANE_CELLS];
typedef int32_t drop_plane[PLANE_CELLS];

typedef struct column_sweep {
    const cpu_bricks *bricks;
    const column_bricks *column;
    int stride;        // from row to row
    int rows, planes;  // of cells in the column
} column_sweep;

#define SWEEP_AT(w, x, y) (PLANE_START + (x) + (w)->stride * ((y) + PLANE_RIM))

// The slot of a plane in a ring of a power of two.
#define SLOT(ring, z) ((ring)[(z) & (int)(sizeof(ring) / sizeof(ring)[0] - 1)])

// The bricks in which a plane lies, those around the column included.
#define LAYER(z) (((z) + 8) >> 3)

// Rows y0..y1 as one loop of independent cells: where it begins, and how many cells it has, in whole registers.
static inline int rows_begin(const column_sweep *w, int y0)
{
    return SWEEP_AT(w, -ROW_LANES, y0);
}

static inline int rows_count(const column_sweep *w, int y0, int y1)
{
    return w->stride * (y1 - y0 + 1) + ROW_LANES;
}

static inline column_sweep sweep_begin(const classic_args *a, const brick_column *which)
{
    const column_bricks *column = &a->column_bricks[which - a->columns];
    assert(column->nx >= 1 && column->nx <= SWEEP_X && column->ny >= 1 && column->ny <= SWEEP_Y);
    assert(column->nz >= 1 && column->nz <= SWEEP_Z);
    return (column_sweep){&a->bricks, column, 8 * (column->nx + 2), 8 * column->ny, 8 * column->nz};
}

// Visits rows y0..y1 of a plane brick by brick. PIECE sees the number `by`, `bx` of the brick, `to`, the place of its first row in the
// plane, `first`, the number of that row in the brick, and `count`, how many rows there are.
#define PLANE_PIECES(w, y0, y1, PIECE)                                                             \
    for (int by = 0; by < (w)->column->ny + 2; by++) {                                             \
        const int low = 8 * by - 8 > (y0) ? 8 * by - 8 : (y0);                                     \
        const int high = 8 * by - 1 < (y1) ? 8 * by - 1 : (y1);                                    \
        const int first = low & 7, count = high - low + 1;                                         \
        if (count <= 0) continue;                                                                  \
        for (int bx = 0, to = SWEEP_AT(w, -8, low); bx < (w)->column->nx + 2; bx++, to += 8) PIECE \
    }

// Prefetches a cache line or a plane of a brick: planes are too short for the processor to see a pattern.
INLINE void prefetch_line(const float *cells)
{
    __builtin_prefetch(cells, 0, 2);
}

INLINE void prefetch_plane(const float *cells)
{
    for (int i = 0; i < 64; i += 16) prefetch_line(cells + i);
}

// Copies rows y0..y1 of a plane of a channel, rims in x included, and prefetches one to come.
static void plane_gather(void *plane, const void *channel, const column_sweep *w, int z, int y0, int y1)
{
    assert(y0 >= -PLANE_RIM && y1 < w->rows + PLANE_RIM && LAYER(z) >= 0 && LAYER(z + PREFETCH_PLANES) <= w->column->nz + 1);
    const size_t stride = (size_t)w->stride;
    const int later = z + PREFETCH_PLANES;
    const float *from = (const float *)channel + 64 * (z & 7), *prefetch_from = (const float *)channel + 64 * (later & 7);
    const int32_t(*bricks)[SWEEP_X + 2] = w->column->at[LAYER(z)];
    const int32_t(*prefetch_bricks)[SWEEP_X + 2] = w->column->at[LAYER(later)];
#define PIECE                                                                                                    \
    {                                                                                                            \
        float *row = (float *)plane + to;                                                                        \
        const float *cells = from + (size_t)bricks[by][bx] * BRICK_CELLS + 8 * first;                            \
        const float *prefetch_cells = prefetch_from + (size_t)prefetch_bricks[by][bx] * BRICK_CELLS + 8 * first; \
        if (count == 8) {                                                                                        \
            prefetch_plane(prefetch_cells);                                                                      \
            _Pragma("GCC unroll 8") for (int y = 0; y < 8; y++, row += stride) memcpy(row, cells + 8 * y, 32);   \
        } else {                                                                                                 \
            for (int y = 0; y < count; y += 2) prefetch_line(prefetch_cells + 8 * y);                            \
            for (int y = 0; y < count; y++, row += stride) memcpy(row, cells + 8 * y, 32);                       \
        }                                                                                                        \
    }
    PLANE_PIECES(w, y0, y1, PIECE)
#undef PIECE
}

// Whether the terrain of a plane is that of the plane before it.
static bool plane_goes_on(const column_sweep *w, int z)
{
    const brick_mask *open = w->bricks->open;
    const int32_t(*bricks)[SWEEP_X + 2] = w->column->at[LAYER(z)], (*before)[SWEEP_X + 2] = w->column->at[LAYER(z - 1)];
    uint64_t differs = 0;
    for (int y = 0; y < w->column->ny + 2; y++)
        for (int x = 0; x < w->column->nx + 2; x++)
            differs |= open[bricks[y][x]].plane[z & 7] ^ open[before[y][x]].plane[(z - 1) & 7];
    return differs == 0;
}

// The open cells of rows y0..y1 of a plane as 1 and 0.
static void plane_open(float *plane, const column_sweep *w, int z, int y0, int y1)
{
    assert(y0 >= -PLANE_RIM && y1 < w->rows + PLANE_RIM && LAYER(z) >= 0 && LAYER(z) <= w->column->nz + 1);
    const cpu_bricks *a = w->bricks;
    const size_t stride = (size_t)w->stride;
    const int32_t(*bricks)[SWEEP_X + 2] = w->column->at[LAYER(z)];
#define PIECE                                                                                               \
    {                                                                                                       \
        float *row = plane + to;                                                                            \
        uint64_t flags = a->open[bricks[by][bx]].plane[z & 7] >> 8 * first;                                 \
        for (int y = 0; y < count; y++, row += stride, flags >>= 8) memcpy(row, a->flags[flags & 255], 32); \
    }
    PLANE_PIECES(w, y0, y1, PIECE)
#undef PIECE
}

// Visits the live bricks of the column in one plane: PIECE sees `brick` and `at`, the place of its first row in the plane.
#define OWN_BRICKS(w, z, PIECE)                                      \
    for (int by = 1; by <= (w)->column->ny; by++) {                  \
        for (int bx = 1; bx <= (w)->column->nx; bx++) {              \
            const int32_t brick = (w)->column->at[LAYER(z)][by][bx]; \
            const int at = SWEEP_AT(w, 8 * bx - 8, 8 * by - 8);      \
            if (brick != BRICK_NOTHING) PIECE                        \
        }                                                            \
    }

// Writes the column's own cells of a plane back to its bricks, and prefetches where the next ones go.
static void plane_scatter(void *channel, const column_sweep *w, int z, const void *plane)
{
    assert(z >= 0 && z < w->planes);
    const size_t stride = (size_t)w->stride;
    float *to = (float *)channel + 64 * (z & 7);
#define PIECE                                                                                              \
    {                                                                                                      \
        const float *row = (const float *)plane + at;                                                      \
        float *cells = to + (size_t)brick * BRICK_CELLS;                                                   \
        prefetch_plane(cells + 64);                                                                        \
        _Pragma("GCC unroll 8") for (int y = 0; y < 8; y++, row += stride) memcpy(cells + 8 * y, row, 32); \
    }
    OWN_BRICKS(w, z, PIECE)
#undef PIECE
}

#endif
