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

// Which laws some lanes of a row need besides R4: around corners of terrain R4a, and where water is fast R4b. Far from water not even R4.
typedef enum carry_laws { CARRY_NOTHING, CARRY_PLAIN, CARRY_CORNERS, CARRY_FAST, CARRY_ALL } carry_laws;

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

// R4 through the low sides of a row along y, on the lanes from x0 to before x1.
KERNEL carry_up(const int axis, const carry_laws laws, int x0, int x1, int y, float *restrict up, const carry_planes *c)
{
    const float *restrict F_l = c->F_y_l, *restrict F = c->F_y, *restrict u = c->u;
    const float *restrict m_l = c->m_l, *restrict m = c->m, *restrict open_l = c->open_l, *restrict open = c->open;
    for (int v = x0; v < x1; v += CARRY_GROUP) {
        int row = SWEEP_AT(v, y);
        LANES
        for (int k = 0; k < CARRY_GROUP; k++) up[v + k] = SIDE_WITHIN(1, F_l[row + k], F[row + k], row + k, SY);
    }
}

// And along x.
KERNEL carry_along(const int axis, const carry_laws laws, int x0, int x1, int y, float *restrict along, const carry_planes *c)
{
    const float *restrict F_l = c->F_x_l, *restrict F = c->F_x, *restrict u = c->u;
    const float *restrict m_l = c->m_l, *restrict m = c->m, *restrict open_l = c->open_l, *restrict open = c->open;
    for (int v = x0; v < x1; v += GROUP) {
        int row = SWEEP_AT(v, y);
        LANES
        for (int k = 0; k < GROUP; k++) along[v + k] = SIDE_WITHIN(0, F_l[row + k], F[row + k], row + k, 1);
    }
}

// R4 and gravity on these lanes. Each side of a control volume is worked out once: what crosses the low ones on x came first, and what
// crosses the high ones on y and z is kept for the next row or plane.
KERNEL carry_row(const int axis, const carry_laws laws, int x0, int x1, int y, float *restrict out, const float *restrict along,
                 float *restrict up, const carry_planes *c, float empty, float gravity)
{
    const float *restrict u = c->u, *restrict u_next = c->u_next;
    const float *restrict u_before = c->u_before, *restrict u_after = c->u_after;
    const float *restrict F_y_l = c->F_y_l + SY, *restrict F_y = c->F_y + SY, *restrict F_z_l = c->F_z_l,
                          *restrict F_z = c->F_z;
    const float *restrict m_l = c->m_l, *restrict m = c->m, *restrict m2_l = c->m2_l, *restrict m2 = c->m2;
    const float *restrict open_l = c->open_l, *restrict open = c->open;
    const float *restrict m_next_l = c->m_next_l, *restrict m_next = c->m_next;
    const float *restrict open_next_l = c->open_next_l, *restrict open_next = c->open_next;
    float *restrict carried = c->carried;
    for (int v = x0; v < x1; v += CARRY_GROUP) {
        int row = SWEEP_AT(v, y);
        LANES
        for (int k = 0; k < CARRY_GROUP; k++) {
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
static void find_corners(const momentum_args *a, sweep_planes *s, const column_bricks *c, const float *before,
                         const float *open, int z)
{
    bool *flat = RING(s->corners_flat, z), *deep = RING(s->corners_deep, z);
    const bool changed = before != open;
    if (a->gas > 0.0f) {  // R4a has nothing to say of a gas
        memset(flat, 0, sizeof *s->corners_flat);
        memset(deep, 0, sizeof *s->corners_deep);
        return;
    }
    for (int y = 0; y <= 8 * c->y; y++) {
        const int i = SWEEP_AT(0, y), count = 8 * c->x + 1;
        flat[y] = changed ? has_corner(open + i, open + i - SY, 1, count) : RING(s->corners_flat, z - 1)[y];
        deep[y] =
            changed && before && (has_corner(open + i, before + i, 1, count) || has_corner(open + i, before + i, SY, count));
    }
}

// The flow of a face that counts for substeps.
INLINE float counting_flow(const bool gas, float f, float m_low, float m_high)
{
    return gas ? rule_gas_counting_flow(f, m_low, m_high, 1.0f) : rule_counting_flow(f, m_low, m_high, 1.0f);
}

// Counts the lower faces of a row's cells that are too fast for so many substeps.
INLINE void count_fast(const bool gas, const momentum_args *a, const sweep_planes *s, int row, int count, int z)
{
    const float *m = RING(s->m, z) + row, *m_z = RING(s->m, z - 1) + row;
    const float *x = RING(s->flow_x, z) + row, *up = RING(s->flow_y, z) + row, *deep = RING(s->flow_z, z) + row;
    int32_t faces[SUBSTEP_RUNGS] = {0};
    for (int i = 0; i < count; i++) {
        float on_x = counting_flow(gas, x[i], m[i - 1], m[i]);
        float on_y = counting_flow(gas, up[i], m[i - SY], m[i]);
        float on_z = counting_flow(gas, deep[i], m_z[i], m[i]);
        for (int k = 0; k < SUBSTEP_RUNGS; k++) {
            const float most = (float)rule_rung(k) * a->too_fast;
            faces[k] += (on_x > most) + (on_y > most) + (on_z > most);
        }
    }
    for (int k = 0; k < SUBSTEP_RUNGS; k++)
        if (faces[k] > 0) atomic_fetch_add_explicit(&a->fast_faces[k], faces[k], memory_order_relaxed);
}

static void count_row(const momentum_args *a, const sweep_planes *s, int row, int count, int z)
{
    if (a->gas > 0.0f)
        count_fast(true, a, s, row, count, z);
    else
        count_fast(false, a, s, row, count, z);
}

// Notes where in plane z flow on any axis is fast enough for R4b, and counts the faces whose flow asks for substeps.
static void find_fast(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    const bool gas = a->gas > 0.0f;
    for (int y = -1; y <= 8 * c->y; y++) {
        const int row = SWEEP_AT(-4, y);
        const float *restrict x = RING(s->flow_x, z) + row, *restrict up = RING(s->flow_y, z) + row,
                              *restrict deep = RING(s->flow_z, z) + row;
        float flow[SY];
        LANES
        for (int i = 0; i < 8 * c->x + 8; i++)
            flow[i] = rule_most(rule_abs(x[i]), rule_most(rule_abs(up[i]), rule_abs(deep[i])));
        const row_pairs fast = pairs_above(flow, SECOND_ORDER_SLOW, c);
        RING(s->fast, z)[y + 1] = gas ? 0 : fast;  // R4b has nothing to say of a gas
        if (fast && a->fast_faces && y >= 0 && y < 8 * c->y && z >= 0 && z < 8 * c->z &&
            pairs_above(flow, a->too_fast * (1.0f / SUBSTEP_JAMMED), c))
            count_row(a, s, row + 4, 8 * c->x, z);
    }
}

// Lanes of a row that need the same laws.
typedef struct carry_piece {
    int x0, x1;
    carry_laws laws;
} carry_piece;

// Cuts a row of plane z into pieces by what their sides need, but for the low ones on z; `low` by what the low ones on y need. Returns how
// many there are. The last lanes are those behind the row's cells, of which only the low sides on x are needed.
static int cut_row(carry_piece *piece, const sweep_planes *s, const column_bricks *c, int y, int z, bool low)
{
    const row_pairs *near = RING(s->near, z) + 2, *fast = RING(s->fast, z) + 1, *fast_next = RING(s->fast, z + 1) + 1;
    const row_pairs touched = near[y - 1] | near[y] | RING(s->near, z - 1)[y + 2];
    row_pairs second = fast[y] | fast[y] << 1 | fast_next[y] | fast[low ? y - 1 : y + 1];
    if (second) second &= pairs_above(RING(s->m, z) + SWEEP_AT(-4, y), SECOND_ORDER_FILL, c);
    const bool *flat = RING(s->corners_flat, z), *deep = RING(s->corners_deep, z), *deep_next = RING(s->corners_deep, z + 1);
    const bool corners = flat[y] || flat[y + 1] || deep[y] || deep[y + 1] || deep_next[y] || deep_next[y + 1];
    int count = 0;
    for (int x = 0; x <= 8 * c->x; x += CARRY_GROUP) {
        const bool is_fast = in_group(second, x, CARRY_GROUP);
        const carry_laws laws = !in_group(touched, x, CARRY_GROUP) ? CARRY_NOTHING
                                : is_fast && corners               ? CARRY_ALL
                                : is_fast                          ? CARRY_FAST
                                : corners                          ? CARRY_CORNERS
                                                                   : CARRY_PLAIN;
        if (count > 0 && piece[count - 1].laws == laws)
            piece[count - 1].x1 += CARRY_GROUP;
        else
            piece[count++] = (carry_piece){x, x + CARRY_GROUP, laws};
    }
    return count;
}

static inline void clear_lanes(float *row, int x0, int x1)
{
    if (x0 < x1) memset(row + x0, 0, (size_t)(x1 - x0) * sizeof *row);
}

// Far from water nothing is carried, and nothing flows.
static inline void carry_nothing(sweep_planes *s, int x0, int x1, int y)
{
    for (int axis = 0; axis < 3; axis++) {
        clear_lanes(s->row[axis], x0, x1);
        clear_lanes(s->carried_up[axis], x0, x1);
        clear_lanes(s->carried[axis] + SWEEP_AT(0, y), x0, x1);
    }
}

// The new flow of plane z on all axes. Without `store` only what is carried into the next plane is worked out.
KERNEL new_flow(const momentum_args *a, sweep_planes *s, const column_bricks *c, const float *open_l, const float *open,
                const float *open_next, int z, bool store, prefetch_list *list)
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
    const int parts = 2 * 8 * c->y, cells = (8 * c->x + CARRY_GROUP - 1) / CARRY_GROUP * CARRY_GROUP;
    const int sides = (8 * c->x + 1 + GROUP - 1) / GROUP * GROUP;
#define CARRY_UP(laws)                                   \
    carry_up(0, laws, x0, x1, 0, s->carried_up[0], &x);  \
    carry_up(1, laws, x0, x1, 0, s->carried_up[1], &up); \
    carry_up(2, laws, x0, x1, 0, s->carried_up[2], &deep)
#define CARRY_ALONG(laws)                                      \
    carry_along(0, laws, x0, x1, y, s->carried_along[0], &x);  \
    carry_along(1, laws, x0, x1, y, s->carried_along[1], &up); \
    carry_along(2, laws, x0, x1, y, s->carried_along[2], &deep)
#define CARRY_ROW(axis, laws, planes)                                                                             \
    carry_row(axis, laws, x0, x1, y, s->row[axis], s->carried_along[axis], s->carried_up[axis], planes, a->empty, \
              a->gravity[axis])
#define CARRY_ROWS(laws)     \
    CARRY_ROW(0, laws, &x);  \
    CARRY_ROW(1, laws, &up); \
    CARRY_ROW(2, laws, &deep)
#define BY_LAWS(WORK, NOTHING)                      \
    switch (piece[k].laws) {                        \
    case CARRY_NOTHING: NOTHING break;              \
    case CARRY_PLAIN: WORK(CARRY_PLAIN); break;     \
    case CARRY_CORNERS: WORK(CARRY_CORNERS); break; \
    case CARRY_FAST: WORK(CARRY_FAST); break;       \
    case CARRY_ALL: WORK(CARRY_ALL); break;         \
    }
    carry_piece piece[COLUMN_X + 1];
    int pieces = cut_row(piece, s, c, 0, z, true);
    for (int k = 0; k < pieces; k++) {
        const int x0 = piece[k].x0, x1 = piece[k].x1 < cells ? piece[k].x1 : cells;
        if (piece[k].laws == CARRY_NOTHING)
            for (int axis = 0; axis < 3; axis++) clear_lanes(s->carried_up[axis], x0, x1);
        else if (piece[k].laws >= CARRY_FAST) {
            CARRY_UP(CARRY_ALL);
        } else if (a->gas > 0.0f) {
            CARRY_UP(CARRY_PLAIN);
        } else {
            CARRY_UP(CARRY_CORNERS);
        }
    }
    for (int y = 0; y < 8 * c->y; y++) {
        pieces = cut_row(piece, s, c, y, z, false);
        for (int k = 0; k < pieces; k++) {
            const int x0 = piece[k].x0, x1 = piece[k].x1 < sides ? piece[k].x1 : sides;
            BY_LAWS(CARRY_ALONG, for (int axis = 0; axis < 3; axis++) clear_lanes(s->carried_along[axis], x0, x1);)
        }
        prefetch_some(list, parts);
        for (int k = 0; k < pieces; k++) {
            const int x0 = piece[k].x0, x1 = piece[k].x1 < cells ? piece[k].x1 : cells;
            BY_LAWS(CARRY_ROWS, carry_nothing(s, x0, x1, y);)
        }
        prefetch_some(list, parts);
        for (int axis = 0; axis < 3 && store; axis++) scatter_row(a->flow_next[axis], c, y, z, s->row[axis]);
    }
#undef BY_LAWS
#undef CARRY_ROWS
#undef CARRY_ROW
#undef CARRY_ALONG
#undef CARRY_UP
}

#endif
