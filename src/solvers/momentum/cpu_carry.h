// R4 over rows of a plane (docs/how-it-works.md): which laws a row needs, and the new flow. Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_CARRY_H
#define WEIR_MOMENTUM_CPU_CARRY_H

#include "solvers/momentum/carry.h"
#include "solvers/momentum/cpu_planes.h"
#include "solvers/momentum/substeps.h"

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

#endif
