// The move: limits, mass and flow (docs/how-it-works.md, R1 to R4) in one sweep along z over a column of bricks. Part of
// cpu_kernels.c.
//
// What lies around the column is taken in plane by plane, and each rule follows the one before as closely as it can. So every value is
// worked out once, and only a few planes of each are kept, next to the processor:
//
//     plane   p+2    p+1             p                                p-1
//             fill   flow, flux z    flux x and y, shares, drops      mass, new flow
//
// A plane's row is  8 rim | 8 to 64 cells | rim  along x, and the rows are  4 rim | 8 or 16 cells | 4 rim  along y. Rows are worked on
// in whole groups of 16 lanes. Lanes whose neighbours are not in the plane hold numbers of no meaning and are never stored.
#ifndef WEIR_MOMENTUM_CPU_SWEEP_H
#define WEIR_MOMENTUM_CPU_SWEEP_H

#include "solvers/momentum/carry.h"
#include "solvers/momentum/cpu_scratch.h"
#include "solvers/momentum/flux.h"
#include "solvers/momentum/limit.h"
#include "solvers/momentum/mass.h"
#include "solvers/momentum/substeps.h"

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

// ---- Rules over rows of a plane --------------------------------------------------------------------------------------------

// R1. The four cells around a face are m_ll | m_l | m_r | m_rr.
KERNEL flux_plane(int lanes, int y0, int y1, float *restrict F, const float *restrict f, const float *restrict m_ll,
                  const float *restrict m_l, const float *restrict m_r, const float *restrict m_rr)
{
    for (int y = y0; y <= y1; y++) {
        for (int v = SWEEP_AT(-8, y); v < SWEEP_AT(-8, y) + lanes; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++) F[i] = rule_flux(f[i], m_ll[i], m_l[i], m_r[i], m_rr[i]);
        }
    }
}

// R2: each cell's shares.
KERNEL shares_plane(int lanes, int y0, int y1, float *restrict q, float *restrict h, const float *restrict m,
                    const float *restrict F_x, const float *restrict F_y, const float *restrict F_z,
                    const float *restrict F_z_next, float dust, float cap)
{
    const float full = rule_full(dust);
    for (int y = y0; y <= y1; y++) {
        for (int v = SWEEP_AT(-8, y); v < SWEEP_AT(-8, y) + lanes; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++) {
                float out = rule_leaving(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                float in = rule_entering(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                q[i] = rule_giving(m[i], out, dust);
                h[i] = rule_taking(m[i], out, in, full, cap);
            }
        }
    }
}

// R2: whole drops that cross, as fill, in place of the fluxes. The low cell's shares are q_l and h_l.
KERNEL moved_plane(int lanes, int y0, int y1, float *F, const float *q_l, const float *h_l, const float *q, const float *h)
{
    for (int y = y0; y <= y1; y++) {
        for (int v = SWEEP_AT(-8, y); v < SWEEP_AT(-8, y) + lanes; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++) F[i] = rule_moved(F[i] * RULE_DROPS, q_l[i], h_l[i], q[i], h[i]) * RULE_DROP;
        }
    }
}

// R2: dust falls one cell per update, through the face below it if that is open.
KERNEL dust_plane(int lanes, int y0, int y1, float *F, const float *m_l, const float *m, const float *open_l, const float *open,
                  int sign, float dust)
{
    const float full = rule_full(dust), *below = sign < 0 ? open_l : open;
    for (int y = y0; y <= y1; y++) {
        for (int v = SWEEP_AT(-8, y); v < SWEEP_AT(-8, y) + lanes; v += GROUP) {
            if (sign < 0) {
                LANES
                for (int i = v; i < v + GROUP; i++) F[i] += rule_fallen(-1, m_l[i], m[i], below[i], dust, full);
            } else {
                LANES
                for (int i = v; i < v + GROUP; i++) F[i] += rule_fallen(1, m_l[i], m[i], below[i], dust, full);
            }
        }
    }
}

// R3.
KERNEL mass_plane(int lanes, int y0, int y1, float *restrict m2, const float *restrict m, const float *restrict F_x,
                  const float *restrict F_y, const float *restrict F_z, const float *restrict F_z_next)
{
    for (int y = y0; y <= y1; y++) {
        for (int v = SWEEP_AT(-8, y); v < SWEEP_AT(-8, y) + lanes; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++)
                m2[i] = rule_mass(m[i], F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
        }
    }
}

// What the new flow along one axis is made of. A name with _l is the same of the cell before on that axis.
typedef struct carry_planes {
    const float *u_before, *u, *u_next, *u_after;  // flow in the plane before, this one and the next two
    const float *m_l, *m, *m2_l, *m2, *open_l, *open;
    const float *m_next_l, *m_next, *open_next_l, *open_next;  // in the next plane
    const float *F_x_l, *F_x, *F_y_l, *F_y;
    const float *F_z_l, *F_z;  // of the next plane
    float *carried;            // through the plane's low side; afterwards through its high side
} carry_planes;

// What was carried through the low and the high side on each axis into the control volume of a face across one of them.
INLINE float carried_sum(const int axis, float x0, float x1, float y0, float y1, float z0, float z1)
{
    return axis == 0   ? rule_carried_sum(x0, x1, y0, y1, z0, z1)
           : axis == 1 ? rule_carried_sum(y0, y1, x0, x1, z0, z1)
                       : rule_carried_sum(z0, z1, x0, x1, y0, y1);
}

// Which laws a row needs besides R4: around corners of terrain R4a, and where water is fast R4b.
typedef enum carry_laws { CARRY_PLAIN, CARRY_CORNERS, CARRY_FAST, CARRY_ALL } carry_laws;

// R4 through a side between a low and a high face: the flow through them and the next ones, the fill of the two cells at each, and whether both
// are open. `along`: the side lies on the flow's own axis.
INLINE float side_carried(const carry_laws laws, const bool along, float flux_l, float flux, float u_low_low, float u_low,
                          float u_high, float u_high_high, float m_low_l, float m_low, float w_low, float m_high_l,
                          float m_high, float w_high)
{
    const bool corners = !along && (laws == CARRY_CORNERS || laws == CARRY_ALL), fast = laws == CARRY_FAST || laws == CARRY_ALL;
    if (!corners && !fast) return rule_carried(flux_l, flux, u_low, u_high);
    float round = 0.0f;
    if (corners)
        round = rule_carried_round(flux_l, flux, u_low, u_high, w_low, w_high, m_low_l + m_low, m_high_l + m_high, CORNER_FEW);
    if (!fast) return round;
    bool inside = (m_low_l > SECOND_ORDER_FILL) & (m_low > SECOND_ORDER_FILL) & (m_high_l > SECOND_ORDER_FILL) &
                  (m_high > SECOND_ORDER_FILL);
    float smooth = rule_carried_smoothly(flux_l, flux, u_low_low, u_low, u_high, u_high_high, inside, 0.25f);
    return corners ? rule_choose(inside, smooth, round) : smooth;
}

// The same with both faces in one plane, and with the one behind in the next.
#define SIDE_WITHIN(side_axis, flux_l, flux, i, step)                                                              \
    side_carried(laws, side_axis == axis, flux_l, flux, u[(i)-2 * (step)], u[(i) - (step)], u[i], u[(i) + (step)], \
                 m_l[(i) - (step)], m[(i) - (step)], open_l[(i) - (step)] * open[(i) - (step)], m_l[i], m[i],      \
                 open_l[i] * open[i])
#define SIDE_ABOVE(flux_l, flux, i)                                                                                          \
    side_carried(laws, 2 == axis, flux_l, flux, u_before[i], u[i], u_next[i], u_after[i], m_l[i], m[i], open_l[i] * open[i], \
                 m_next_l[i], m_next[i], open_next_l[i] * open_next[i])

// R4 through the low sides of one row along y.
KERNEL carry_up(const int axis, const carry_laws laws, int lanes, int y, float *restrict up, const carry_planes *c)
{
    const float *restrict F_l = c->F_y_l, *restrict F = c->F_y, *restrict u = c->u;
    const float *restrict m_l = c->m_l, *restrict m = c->m, *restrict open_l = c->open_l, *restrict open = c->open;
    for (int v = 0; v < lanes; v += GROUP) {
        int row = SWEEP_AT(-8, y) + v;
        LANES
        for (int i = 0; i < GROUP; i++) up[v + i] = SIDE_WITHIN(1, F_l[row + i], F[row + i], row + i, SY);
    }
}

// R4 and gravity on one row. Each side of a control volume is worked out once: what crosses the low ones on x comes first, and what crosses
// the high ones on y and z is kept for the next row or plane.
KERNEL carry_row(const int axis, const carry_laws laws, int lanes, int y, float *restrict out, float *restrict along,
                 float *restrict up, const carry_planes *c, float empty, float gravity)
{
    const float *restrict u = c->u, *restrict u_next = c->u_next;
    const float *restrict u_before = c->u_before, *restrict u_after = c->u_after, *restrict F_x_l = c->F_x_l,
                          *restrict F_x = c->F_x;
    const float *restrict F_y_l = c->F_y_l + SY, *restrict F_y = c->F_y + SY, *restrict F_z_l = c->F_z_l,
                          *restrict F_z = c->F_z;
    const float *restrict m_l = c->m_l, *restrict m = c->m, *restrict m2_l = c->m2_l, *restrict m2 = c->m2;
    const float *restrict open_l = c->open_l, *restrict open = c->open;
    const float *restrict m_next_l = c->m_next_l, *restrict m_next = c->m_next;
    const float *restrict open_next_l = c->open_next_l, *restrict open_next = c->open_next;
    float *restrict carried = c->carried;
    for (int v = 0; v < lanes; v += GROUP) {
        int row = SWEEP_AT(-8, y) + v;
        LANES
        for (int k = 0; k < GROUP; k++) along[v + k] = SIDE_WITHIN(0, F_x_l[row + k], F_x[row + k], row + k, 1);
    }
    for (int v = 0; v < lanes; v += GROUP) {
        int row = SWEEP_AT(-8, y) + v;
        LANES
        for (int k = 0; k < GROUP; k++) {
            int i = row + k;
            float high_y = SIDE_WITHIN(1, F_y_l[i], F_y[i], i + SY, SY);
            float high_z = SIDE_ABOVE(F_z_l[i], F_z[i], i);
            float sum = carried_sum(axis, along[v + k], along[v + k + 1], up[v + k], high_y, carried[i], high_z);
            up[v + k] = high_y;
            carried[i] = high_z;
            float w = open_l[i] * open[i];
            out[v + k] = rule_carry(m_l[i] + m[i], m2_l[i] + m2[i], u[i], sum, w, empty, gravity);
        }
    }
}
#undef SIDE_ABOVE
#undef SIDE_WITHIN

// Whether an edge of a row is a corner of terrain: three of the four cells around it are open. a and b begin at the row's cells at x = 0 of the
// two rows beside the edges; `across` leads to the other two cells.
static bool has_corner(const float *restrict a, const float *restrict b, const int across, int count)
{
    int any = 0;
    LANES
    for (int i = 0; i < count; i++) any |= (a[i] + a[i - across]) + (b[i] + b[i - across]) == 3.0f;
    return any != 0;
}

// Notes which rows of plane z have corners: `flat` of edges along z, below the row in y, and `deep` of edges along x and y, between
// it and the plane before.
static void find_corners(sweep_planes *s, const column_bricks *c, const float *before, const float *open, int z)
{
    bool *flat = RING(s->corners_flat, z), *deep = RING(s->corners_deep, z);
    const bool changed = before != open;
    for (int y = 0; y <= 8 * c->y; y++) {
        const int i = SWEEP_AT(0, y), count = 8 * c->x + 1;
        flat[y] = changed ? has_corner(open + i, open + i - SY, 1, count) : RING(s->corners_flat, z - 1)[y];
        deep[y] =
            changed && before && (has_corner(open + i, before + i, 1, count) || has_corner(open + i, before + i, SY, count));
    }
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

// The bits of the largest flow on any axis in so many cells. Those of numbers that are not negative have their order.
static int32_t largest_flow(const float *restrict x, const float *restrict y, const float *restrict z, int count)
{
    int32_t most = 0;
    LANES_MAX(most)
    for (int i = 0; i < count; i++) {
        int32_t flow = larger(rule_as_int(rule_abs(x[i])), larger(rule_as_int(rule_abs(y[i])), rule_as_int(rule_abs(z[i]))));
        most = most > flow ? most : flow;
    }
    return most;
}

// Counts the cells of a row that are too fast for so many substeps.
static void count_fast(const momentum_args *a, const sweep_planes *s, int row, int count, int z)
{
    const float *m = RING(s->m, z) + row, *m_z = RING(s->m, z - 1) + row;
    const float *x = RING(s->flow_x, z) + row, *up = RING(s->flow_y, z) + row, *deep = RING(s->flow_z, z) + row;
    int32_t cells[SUBSTEP_RUNGS] = {0};
    for (int i = 0; i < count; i++) {
        float flow = rule_max(rule_counting_flow(x[i], m[i - 1], m[i], SUBSTEP_FILL),
                              rule_max(rule_counting_flow(up[i], m[i - SY], m[i], SUBSTEP_FILL),
                                       rule_counting_flow(deep[i], m_z[i], m[i], SUBSTEP_FILL)));
        for (int k = 0; k < SUBSTEP_RUNGS; k++) cells[k] += flow > (float)rule_rung(k) * a->too_fast;
    }
    for (int k = 0; k < SUBSTEP_RUNGS; k++)
        if (cells[k] > 0) atomic_fetch_add_explicit(&a->fast_cells[k], cells[k], memory_order_relaxed);
}

// Notes which rows of plane z have flow that is fast enough for R4b, and counts the cells whose flow asks for substeps.
static void find_fast(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    for (int y = -1; y <= 8 * c->y; y++) {
        const int row = SWEEP_AT(-4, y);
        float fastest = rule_as_float(
            largest_flow(RING(s->flow_x, z) + row, RING(s->flow_y, z) + row, RING(s->flow_z, z) + row, 8 * c->x + 8));
        RING(s->fast, z)[y + 1] = fastest > SECOND_ORDER_SLOW;
        if (a->fast_cells && fastest > a->too_fast && y >= 0 && y < 8 * c->y && z >= 0 && z < 8 * c->z)
            count_fast(a, s, row + 4, 8 * c->x, z);
    }
}

// The laws that the sides of a row of plane z need, but for its low one on z; `low` of those the low ones on y.
static carry_laws laws_of_row(const sweep_planes *s, int y, int z, bool low)
{
    const bool *fast = RING(s->fast, z) + 1, *fast_next = RING(s->fast, z + 1) + 1;
    const bool is_fast = fast[y] || fast_next[y] || fast[low ? y - 1 : y + 1];
    const bool *flat = RING(s->corners_flat, z), *deep = RING(s->corners_deep, z), *deep_next = RING(s->corners_deep, z + 1);
    bool corners = flat[y] || flat[y + 1] || deep[y] || deep[y + 1] || deep_next[y] || deep_next[y + 1];
    return is_fast && corners ? CARRY_ALL : is_fast ? CARRY_FAST : corners ? CARRY_CORNERS : CARRY_PLAIN;
}

// ---- Out of the planes -----------------------------------------------------------------------------------------------------

// Writes one row to its bricks, those that are there. `row` begins at lane -8.
INLINE void scatter_row(void *channel, const column_bricks *c, int y, int z, const void *row)
{
    const int32_t *bricks = c->at[(z >> 3) + 1][(y >> 3) + 1] + 1;
    const size_t cell = (size_t)(8 * (y & 7) + 64 * (z & 7));
    for (int k = 0; k < c->x; k++)
        if (bricks[k] != BRICK_NOTHING)
            memcpy((float *)channel + (size_t)bricks[k] * BRICK_CELLS + cell, (const float *)row + 8 + 8 * k, 32);
}

// The new flow of plane z on all axes. Without `store` only what is carried into the next plane is worked out.
KERNEL new_flow(const momentum_args *a, sweep_planes *s, const column_bricks *c, const float *open_l, const float *open,
                const float *open_next, int lanes, int z, bool store, prefetch_list *list)
{
    const float *m = RING(s->m, z), *m_next = RING(s->m, z + 1), *m2 = RING(s->m2, z);
    const float *F_x = RING(s->F_x, z), *F_y = RING(s->F_y, z), *F_z = RING(s->F_z, z), *F_z_next = RING(s->F_z, z + 1);
    const carry_planes x = {
        .u_before = RING(s->flow_x, z - 1),
        .u = RING(s->flow_x, z),
        .u_next = RING(s->flow_x, z + 1),
        .u_after = RING(s->flow_x, z + 2),
        .m_l = m - 1,
        .m = m,
        .m2_l = m2 - 1,
        .m2 = m2,
        .open_l = open - 1,
        .open = open,
        .m_next_l = m_next - 1,
        .m_next = m_next,
        .open_next_l = open_next - 1,
        .open_next = open_next,
        .F_x_l = F_x - 1,
        .F_x = F_x,
        .F_y_l = F_y - 1,
        .F_y = F_y,
        .F_z_l = F_z_next - 1,
        .F_z = F_z_next,
        .carried = s->carried[0],
    };
    const carry_planes up = {
        .u_before = RING(s->flow_y, z - 1),
        .u = RING(s->flow_y, z),
        .u_next = RING(s->flow_y, z + 1),
        .u_after = RING(s->flow_y, z + 2),
        .m_l = m - SY,
        .m = m,
        .m2_l = m2 - SY,
        .m2 = m2,
        .open_l = open - SY,
        .open = open,
        .m_next_l = m_next - SY,
        .m_next = m_next,
        .open_next_l = open_next - SY,
        .open_next = open_next,
        .F_x_l = F_x - SY,
        .F_x = F_x,
        .F_y_l = F_y - SY,
        .F_y = F_y,
        .F_z_l = F_z_next - SY,
        .F_z = F_z_next,
        .carried = s->carried[1],
    };
    const carry_planes deep = {
        .u_before = RING(s->flow_z, z - 1),
        .u = RING(s->flow_z, z),
        .u_next = RING(s->flow_z, z + 1),
        .u_after = RING(s->flow_z, z + 2),
        .m_l = RING(s->m, z - 1),
        .m = m,
        .m2_l = RING(s->m2, z - 1),
        .m2 = m2,
        .open_l = open_l,
        .open = open,
        .m_next_l = m,
        .m_next = m_next,
        .open_next_l = open,
        .open_next = open_next,
        .F_x_l = RING(s->F_x, z - 1),
        .F_x = F_x,
        .F_y_l = RING(s->F_y, z - 1),
        .F_y = F_y,
        .F_z_l = F_z,
        .F_z = F_z_next,
        .carried = s->carried[2],
    };
    const int parts = 3 * 8 * c->y;
#define CARRY_UP(laws)                                  \
    carry_up(0, laws, lanes, 0, s->carried_up[0], &x);  \
    carry_up(1, laws, lanes, 0, s->carried_up[1], &up); \
    carry_up(2, laws, lanes, 0, s->carried_up[2], &deep)
#define CARRY_ROW(axis, laws, planes) \
    carry_row(axis, laws, lanes, y, s->row[axis], s->carried_along, s->carried_up[axis], planes, a->empty, a->gravity[axis])
#define CARRY_ROWS(laws)        \
    CARRY_ROW(0, laws, &x);     \
    prefetch_some(list, parts); \
    CARRY_ROW(1, laws, &up);    \
    prefetch_some(list, parts); \
    CARRY_ROW(2, laws, &deep);  \
    prefetch_some(list, parts)
    if (laws_of_row(s, 0, z, true) >= CARRY_FAST) {
        CARRY_UP(CARRY_ALL);
    } else {
        CARRY_UP(CARRY_CORNERS);
    }
    for (int y = 0; y < 8 * c->y; y++) {
        switch (laws_of_row(s, y, z, false)) {
        case CARRY_PLAIN: CARRY_ROWS(CARRY_PLAIN); break;
        case CARRY_CORNERS: CARRY_ROWS(CARRY_CORNERS); break;
        case CARRY_FAST: CARRY_ROWS(CARRY_FAST); break;
        case CARRY_ALL: CARRY_ROWS(CARRY_ALL); break;
        }
        for (int axis = 0; axis < 3 && store; axis++) scatter_row(a->flow_next[axis], c, y, z, s->row[axis]);
    }
#undef CARRY_ROWS
#undef CARRY_ROW
#undef CARRY_UP
}

// Turns fill back into drops and notes which lanes hold water and which changed.
KERNEL store_mass(const momentum_args *a, sweep_planes *s, const column_bricks *c, int lanes, int z)
{
    const float *m2 = RING(s->m2, z), *m = RING(s->m, z);
    for (int y = 0; y < 8 * c->y; y++) {
        int32_t *restrict row = s->drops, *restrict holds = s->holds[y >> 3], *restrict differs = s->differs[y >> 3];
        const float *restrict after = m2 + SWEEP_AT(-8, y), *restrict before = m + SWEEP_AT(-8, y);
        for (int v = 0; v < lanes; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++) {
                row[i] = (int32_t)(after[i] * RULE_DROPS);
                holds[i] |= row[i];
                differs[i] |= after[i] != before[i];
            }
        }
        for (int k = 0; k < c->x; k++)
            if (c->at[(z >> 3) + 1][(y >> 3) + 1][k + 1] != BRICK_NOTHING) must_be_drops(row + 8 + 8 * k, 8, 4 * WEIR_FULL - 1);
        scatter_row(a->mass_next, c, y, z, row);
    }
}

// After the last plane of a layer of bricks.
static void note_bricks(const momentum_args *a, sweep_planes *s, const column_bricks *c, int layer)
{
    for (int y = 0; y < c->y; y++) {
        for (int x = 0; x < c->x; x++) {
            int32_t brick = c->at[layer + 1][y + 1][x + 1];
            int32_t wet = 0, changed = 0;
            for (int i = 8 + 8 * x; i < 16 + 8 * x; i++) {
                wet |= s->holds[y][i];
                changed |= s->differs[y][i];
            }
            if (brick == BRICK_NOTHING) continue;
            a->bricks.wet[brick] = wet != 0;
            if (changed) a->bricks.changed[brick] = a->bricks.change;
        }
    }
    memset(s->holds, 0, sizeof s->holds);
    memset(s->differs, 0, sizeof s->differs);
}

// What crossed the faces, for a game's rules.
static void store_moved(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    const float *F[3] = {RING(s->F_x, z), RING(s->F_y, z), RING(s->F_z, z)};
    for (int axis = 0; axis < 3; axis++)
        for (int y = 0; y < 8 * c->y && a->moved[axis]; y++) scatter_row(a->moved[axis], c, y, z, F[axis] + SWEEP_AT(-8, y));
}

// ---- The sweep -------------------------------------------------------------------------------------------------------------

// Drops that cross the low faces of plane z: those beside the column at -1 too.
KERNEL moved_faces(const momentum_args *a, sweep_planes *s, const float *open_l, const float *open, int lanes, int top, int z)
{
    const float *m = RING(s->m, z), *q = RING(s->q, z), *h = RING(s->h, z);
    float *F_x = RING(s->F_x, z), *F_y = RING(s->F_y, z), *F_z = RING(s->F_z, z);
    moved_plane(lanes, -1, top - 1, F_x, q - 1, h - 1, q, h);
    moved_plane(lanes, -1, top, F_y, q - SY, h - SY, q, h);
    moved_plane(lanes, -1, top - 1, F_z, RING(s->q, z - 1), RING(s->h, z - 1), q, h);
    if (a->down_sign == 0) return;
    if (a->down_axis == 0) dust_plane(lanes, -1, top - 1, F_x, m - 1, m, open - 1, open, a->down_sign, a->dust);
    if (a->down_axis == 1) dust_plane(lanes, -1, top, F_y, m - SY, m, open - SY, open, a->down_sign, a->dust);
    if (a->down_axis == 2) dust_plane(lanes, -1, top - 1, F_z, RING(s->m, z - 1), m, open_l, open, a->down_sign, a->dust);
}

KERNEL flux_z_plane(sweep_planes *s, int lanes, int top, int z)
{
    flux_plane(lanes, -2, top, RING(s->F_z, z), RING(s->flow_z, z), RING(s->m, z - 2), RING(s->m, z - 1), RING(s->m, z),
               RING(s->m, z + 1));
}

static void gather_flow(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    gather_plane(RING(s->flow_x, z), a->flow[0], c, z);
    gather_plane(RING(s->flow_y, z), a->flow[1], c, z);
    gather_plane(RING(s->flow_z, z), a->flow[2], c, z);
    find_fast(a, s, c, z);
}

// Moves the bricks of a column.
static void sweep_column(const momentum_args *a, sweep_planes *s, const column_bricks *c)
{
    const int z0 = 0, z1 = 8 * c->z, top = 8 * c->y;
    const int lanes = (8 + 8 * c->x + 2 + GROUP - 1) / GROUP * GROUP;
    assert(c->x >= 1 && c->x <= COLUMN_X && c->y >= 1 && c->y <= COLUMN_Y && c->z >= 1 && c->z <= COLUMN_Z && lanes <= SY);
    const float *open = NULL, *open_l = NULL, *open_ll = NULL;  // planes z, z-1, z-2
    int open_planes = 0;
    for (int z = z0 - 4; z < z0; z++) gather_plane_fill(RING(s->m, z), a->mass, c, z);
    gather_flow(a, s, c, z0 - 2);
    flux_z_plane(s, lanes, top, z0 - 2);
    for (int z = z0 - 2; z <= z1; z++) {
        prefetch_list list;
        list_step(&list, a, c, z, z >= z0 && z < z1);
        gather_plane_fill(RING(s->m, z + 2), a->mass, c, z + 2);
        gather_flow(a, s, c, z + 1);
        open_ll = open_l;
        open_l = open;
        if (z == z0 - 2 || !open_as_before(a, c, z)) {
            float *fresh = RING(s->open, ++open_planes);
            gather_plane_open(fresh, a, c, z);
            open = fresh;
        }
        find_corners(s, c, open_l, open, z);
        const float *m = RING(s->m, z);
        flux_z_plane(s, lanes, top, z + 1);
        flux_plane(lanes, -2, top, RING(s->F_x, z), RING(s->flow_x, z), m - 2, m - 1, m, m + 1);
        flux_plane(lanes, -2, top + 1, RING(s->F_y, z), RING(s->flow_y, z), m - 2 * SY, m - SY, m, m + SY);
        shares_plane(lanes, -2, top, RING(s->q, z), RING(s->h, z), m, RING(s->F_x, z), RING(s->F_y, z), RING(s->F_z, z),
                     RING(s->F_z, z + 1), a->dust, a->fill_cap);
        if (z < z0 - 1) continue;
        moved_faces(a, s, open_l, open, lanes, top, z);
        if (z < z0) continue;
        mass_plane(lanes, -1, top - 1, RING(s->m2, z - 1), RING(s->m, z - 1), RING(s->F_x, z - 1), RING(s->F_y, z - 1),
                   RING(s->F_z, z - 1), RING(s->F_z, z));
        new_flow(a, s, c, open_ll, open_l, open, lanes, z - 1, z > z0, &list);
        if (z == z0) continue;
        store_mass(a, s, c, lanes, z - 1);
        store_moved(a, s, c, z - 1);
        if ((z & 7) == 0) note_bricks(a, s, c, (z >> 3) - 1);
    }
}

// Where in a brick its water is: a box of cells that holds all of it; low > high if there is none.
typedef struct water_box {
    int8_t low[3], high[3];
} water_box;

static void widen(water_box *box, int axis, int at)
{
    if (at < box->low[axis]) box->low[axis] = (int8_t)at;
    if (at > box->high[axis]) box->high[axis] = (int8_t)at;
}

static water_box find_water(const momentum_args *a, int32_t brick)
{
    const int32_t *mass = a->mass + (size_t)brick * BRICK_CELLS;
    if (mass[0] && mass[BRICK_CELLS - 1]) return (water_box){{0, 0, 0}, {7, 7, 7}};
    water_box box = {{8, 8, 8}, {-1, -1, -1}};
    if (brick == BRICK_NOTHING) return box;
    int32_t columns[8] = {0};
    for (int row = 0; row < 64; row++) {
        const int32_t *cells = mass + 8 * row;
        int32_t any = 0;
        for (int x = 0; x < 8; x++) {
            columns[x] |= cells[x];
            any |= cells[x];
        }
        if (!any) continue;
        widen(&box, 1, row & 7);
        widen(&box, 2, row >> 3);
    }
    for (int x = 0; x < 8; x++)
        if (columns[x]) widen(&box, 0, x);
    return box;
}

// Whether water lies within reach of a brick, three cells, in the one beside it at an offset.
static bool in_reach(const water_box *box, const int offset[3])
{
    for (int axis = 0; axis < 3; axis++) {
        int low = offset[axis] < 0 ? 5 : 0, high = offset[axis] > 0 ? 2 : 7;
        if (box->high[axis] < low || box->low[axis] > high) return false;
    }
    return true;
}

typedef water_box column_water[COLUMN_Z + 2][COLUMN_Y + 2][COLUMN_X + 2];

static bool brick_moves(const column_water water, int x, int y, int z)
{
    if (water[z + 1][y + 1][x + 1].high[0] >= 0) return true;
    for (int k = 0; k < 27; k++) {
        const int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        if (in_reach(&water[z + 1 + offset[2]][y + 1 + offset[1]][x + 1 + offset[0]], offset)) return true;
    }
    return false;
}

// The smallest box of a layer's bricks that holds all that have water in reach. False if none has.
static bool find_moving(const column_bricks *c, const column_water water, int z, weir_coord *low, weir_coord *high)
{
    *low = (weir_coord){COLUMN_X, COLUMN_Y, z};
    *high = (weir_coord){-1, -1, z};
    for (int y = 0; y < c->y; y++) {
        for (int x = 0; x < c->x; x++) {
            if (c->at[z + 1][y + 1][x + 1] == BRICK_NOTHING || !brick_moves(water, x, y, z)) continue;
            low->x = x < low->x ? x : low->x;
            low->y = y < low->y ? y : low->y;
            high->x = x > high->x ? x : high->x;
            high->y = y > high->y ? y : high->y;
        }
    }
    return high->x >= 0;
}

// A part of a column, with what is around it.
static void cut_column(column_bricks *part, const column_bricks *c, weir_coord low, weir_coord high)
{
    assert(low.x >= 0 && low.x <= high.x && high.x < c->x && low.y >= 0 && low.y <= high.y && high.y < c->y);
    assert(low.z >= 0 && low.z <= high.z && high.z < c->z);
    part->x = high.x - low.x + 1;
    part->y = high.y - low.y + 1;
    part->z = high.z - low.z + 1;
    for (int z = 0; z < part->z + 2; z++)
        for (int y = 0; y < part->y + 2; y++)
            memcpy(part->at[z][y], &c->at[low.z + z][low.y + y][low.x], (size_t)(part->x + 2) * sizeof(int32_t));
}

// Clears the bricks of some layers that lie outside a part of them.
static void clear_rest(const momentum_args *a, const column_bricks *c, int begin, int end, weir_coord low, weir_coord high)
{
    for (int z = begin; z < end; z++)
        for (int y = 0; y < c->y; y++)
            for (int x = 0; x < c->x; x++) {
                int32_t brick = c->at[z + 1][y + 1][x + 1];
                bool inside = x >= low.x && x <= high.x && y >= low.y && y <= high.y && z >= low.z && z <= high.z;
                if (brick != BRICK_NOTHING && !inside) move_nothing(&a->bricks, brick, a->mass_next, a->flow_next, a->moved);
            }
}

// Bricks without water in reach are cleared; the others are moved, as many in one sweep as lie together.
static void move(const momentum_args *a, momentum_scratch *s, const brick_column *column)
{
    column_bricks c, part;
    column_water water;
    find_bricks(&c, a, column);
    for (int z = 0; z < c.z + 2; z++)
        for (int y = 0; y < c.y + 2; y++)
            for (int x = 0; x < c.x + 2; x++) water[z][y][x] = find_water(a, c.at[z][y][x]);
    for (int begin = 0, end; begin < c.z; begin = end) {
        weir_coord low, high, next_low, next_high;
        bool moves = find_moving(&c, water, begin, &low, &high);
        for (end = begin + 1; end < c.z && find_moving(&c, water, end, &next_low, &next_high) == moves; end++) {
            low.x = next_low.x < low.x ? next_low.x : low.x;
            low.y = next_low.y < low.y ? next_low.y : low.y;
            high = (weir_coord){next_high.x > high.x ? next_high.x : high.x, next_high.y > high.y ? next_high.y : high.y, end};
        }
        clear_rest(a, &c, begin, end, low, high);
        if (!moves) continue;
        cut_column(&part, &c, low, high);
        sweep_column(a, &s->sweep, &part);
    }
}

#endif
