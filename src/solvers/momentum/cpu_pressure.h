// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 to R9). Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_PRESSURE_H
#define WEIR_MOMENTUM_CPU_PRESSURE_H

#include "compute/cpu_brick.h"
#include "solvers/momentum/cpu_scratch.h"
#include "solvers/momentum/film.h"
#include "solvers/momentum/flux.h"
#include "solvers/momentum/pressure.h"
#include <float.h>

// R1, as the divergence counts it, on some faces with the fill of the four cells around each.
KERNEL flux_cells(const int count, float *restrict F, const float *restrict f, const float *restrict m_ll,
                  const float *restrict m_l, const float *restrict m_r, const float *restrict m_rr)
{
    LANES
    for (int i = 0; i < count; i++) F[i] = rule_divergence_flux(f[i], m_ll[i], m_l[i], m_r[i], m_rr[i]);
}

// R1 on a brick's lower faces in x; low and high are the fill tiles of its neighbours.
static void flux_along_x(float *F, const float *flow, const float *low, const float *m, const float *high)
{
    for (int z = 0; z < 8; z++) {
        float m_ll[PLANE], m_l[PLANE], m_rr[PLANE];
        values_along_x(m_ll, m + FILL_PLANE_AT(z), low + FILL_PLANE_AT(z), -2);
        values_along_x(m_l, m + FILL_PLANE_AT(z), low + FILL_PLANE_AT(z), -1);
        values_along_x(m_rr, m + FILL_PLANE_AT(z), high + FILL_PLANE_AT(z), 1);
        flux_cells(PLANE, F + PLANE * z, flow + PLANE * z, m_ll, m_l, m + FILL_PLANE_AT(z), m_rr);
    }
}

// R6 in one brick: Fx is the flux through its lower faces in x, Fx_next that of its neighbour.
static void divergence_brick(const momentum_args *a, int32_t brick, const float *m, const float *Fx, const float *Fx_next)
{
    size_t at = (size_t)brick * BRICK_CELLS;
    const float *flow_y = a->flow_next[1], *flow_z = a->flow_next[2];
    const float *next_y = flow_y + (size_t)a->bricks.near[brick][NEAR(0, 1, 0)] * BRICK_CELLS;
    const float *next_z = flow_z + (size_t)a->bricks.near[brick][NEAR(0, 0, 1)] * BRICK_CELLS;
    float Fz[2][PLANE];
    flux_cells(PLANE, Fz[0], flow_z + at, m + FILL_PLANE_AT(-2), m + FILL_PLANE_AT(-1), m + FILL_PLANE_AT(0),
               m + FILL_PLANE_AT(1));
    for (int z = 0; z < 8; z++) {
        const float *plane = m + FILL_PLANE_AT(z);
        float Fy[PLANE + PY], x_high[PLANE];
        flux_cells(PLANE, Fy, flow_y + at + PLANE * z, plane - 2 * PY, plane - PY, plane, plane + PY);
        const float *row = plane + PLANE;
        flux_cells(PY, Fy + PLANE, next_y + PLANE * z, row - 2 * PY, row - PY, row, row + PY);
        flux_cells(PLANE, Fz[(z + 1) & 1], z < 7 ? flow_z + at + PLANE * (z + 1) : next_z, plane - MZ, plane, plane + MZ,
                   plane + 2 * MZ);
        values_along_x(x_high, Fx + PLANE * z, Fx_next + PLANE * z, 1);
        const float *restrict x = Fx + PLANE * z, *restrict z_low = Fz[z & 1], *restrict z_high = Fz[(z + 1) & 1];
        float *restrict to = a->divergence + at + PLANE * z;
        LANES
        for (int c = 0; c < PLANE; c++) {
            float net = rule_inflow(x[c], x_high[c], Fy[c], Fy[c + PY], z_low[c], z_high[c]);
            to[c] = rule_divergence(plane[c], net, a->excess_rate, a->excess_cap);
        }
    }
}

// R7: sweeps inside one brick with the values beyond its sides as they are. p and q are brick tiles with the same values there;
// returns the one with the result.
static inline float *smooth_tile(float *p, float *q, const brick_sides *sides, const float *divergence, const float *inverse,
                                 const float *floor, int sweeps)
{
    for (int k = 0; k < sweeps; k++) {
        for (int z = 0; z < 8; z++) {
            const float *restrict from = p + PLANE_AT(z);
            const float *restrict d = divergence + PLANE * z, *restrict n = inverse + PLANE * z,
                                  *restrict f = floor + PLANE * z;
            float *restrict to = q + PLANE_AT(z);
            float along_x[PLANE];
            sums_along_x(along_x, from, sides->low + PLANE * z, sides->high + PLANE * z);
            LANES
            for (int c = 0; c < PLANE; c++) to[c] = rule_smooth(from[c], SUM_OF_SIX(from, along_x, c), d[c], n[c], f[c]);
        }
        float *swap = p;
        p = q;
        q = swap;
    }
    return p;
}

// 1 over the number of open faces of every cell of a brick; 0 in solid cells. Far from terrain that is a constant.
static const float *inverse_faces(const momentum_args *a, momentum_scratch *s, int32_t brick)
{
    static const float inverse[8] = RULE_INVERSE_FACES;
    if (a->bricks.clear[brick]) return a->sixths;
    mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    for (int z = 0; z < 8; z++) {
        plane_counts n = count_neighbours(&open, z);
        uint64_t own = open.own->plane[z];
        spread_counts(s->brick[0] + PLANE * z, (plane_counts){n.ones & own, n.twos & own, n.fours & own}, inverse);
    }
    return s->brick[0];
}

static void fill_brick(float *channel, int32_t brick, float value)
{
    float *to = channel + (size_t)brick * BRICK_CELLS;
    for (int i = 0; i < BRICK_CELLS; i++) to[i] = value;
}

// A brick without water or pressure in it or beside it stays without.
static void rest_brick(const momentum_args *a, int32_t brick, float *to)
{
    fill_brick(to, brick, 0.0f);
    memset(&a->active[brick], 0, sizeof a->active[brick]);
}

// Smooths one brick from s->tile[0] to a pressure channel and notes its active cells.
static void smooth_brick(const momentum_args *a, momentum_scratch *s, int32_t brick, float *to)
{
    size_t at = (size_t)brick * BRICK_CELLS;
    const float *floor = a->floor + at;
    copy_rows_beyond(s->tile[1], s->tile[0]);
    const float *p =
        smooth_tile(s->tile[0], s->tile[1], &s->sides[0], a->divergence + at, inverse_faces(a, s, brick), floor, a->smooths);
    store_planes(to + at, p);
    must_be_within(to + at, BRICK_CELLS, FLT_MAX);
    for (int z = 0; z < 8; z++) a->active[brick].plane[z] = plane_above(p + PLANE_AT(z), floor + PLANE * z);
}

// R6: the floor of the pressure: the head of part-filled cells. The pressure is in s->tile[0]. Notes whether all open cells hold much.
static void floor_brick(const momentum_args *a, momentum_scratch *s, int32_t brick, const float *fill)
{
    const int axis = a->down_axis, step = a->down_sign < 0 ? -1 : 1;
    must_be_live(&a->bricks, brick);
    float *floor = a->floor + (size_t)brick * BRICK_CELLS;
    float g = a->head, inverse_g = a->inverse_head;
    mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    uint64_t thin = 0;
    float least[PLANE];
    for (int c = 0; c < PLANE; c++) least[c] = a->thick;
    for (int z = 0; z < 8; z++) {
        const float *p = s->tile[0] + PLANE_AT(z), *low = s->sides[0].low + PLANE * z, *high = s->sides[0].high + PLANE * z;
        const float *restrict below = p + step * (axis == 1 ? PY : PZ);
        const float *restrict own = a->bricks.ones, *restrict under = a->bricks.ones;
        float neighbour[PLANE], own_flags[PLANE], under_flags[PLANE];
        if (axis == 0) {
            for (int c = 0; c < PLANE; c++) neighbour[c] = step < 0 ? LOW_OF(p, low, c) : HIGH_OF(p, high, c);
            below = neighbour;
        }
        if (!a->bricks.clear[brick]) {
            spread_flags(own_flags, open.own->plane[z], a->bricks.flags);
            spread_flags(under_flags, plane_shifted(&open, z, axis, step), a->bricks.flags);
            own = own_flags;
            under = under_flags;
        }
        const float *restrict m = fill + FILL_PLANE_AT(z);
        float *restrict to = floor + PLANE * z;
        LANES
        for (int c = 0; c < PLANE; c++) to[c] = rule_head(m[c], below[c], 1.0f - under[c], own[c], g, inverse_g);
        thin |= open.own->plane[z] & plane_above(least, m);
    }
    a->full[brick] = thin == 0;
}

// Whether a brick and those around it are without a mark.
static bool none_near(const momentum_args *a, const uint8_t *marked, int32_t brick)
{
    for (int k = 0; k < 27; k++)
        if (marked[a->bricks.near[brick][k]]) return false;
    return true;
}

// Whether a brick has neither water in it or within two cells of it nor flow.
static bool brick_dry(const momentum_args *a, int32_t brick, const float *low, const float *m, const float *high)
{
    if (a->bricks.wet[brick] || fill_beyond(low, m, high)) return false;
    // Water that an open side took has left its flow behind. Viscosity carries flow a cell further, over edges too.
    if (a->drained && !none_near(a, a->drained, brick)) return false;
    return a->viscosity == 0.0f || none_near(a, a->bricks.wet, brick);
}

// R6 for a run. Brick by brick from high x to low, because the flux through the lower faces of one is that through the upper faces
// of the one before.
static void divergence_of_run(const momentum_args *a, momentum_scratch *s, const brick_run *r)
{
    must_be_run(&a->bricks, r);
    const int n = r->count;
    for (int k = 0; k < n; k++) gather_brick_fill(s->fill[k + 1], a->mass_next, a->bricks.near[r->brick[k]]);
    int32_t first = a->bricks.near[r->brick[0]][NEAR(-1, 0, 0)], after = a->bricks.near[r->brick[n - 1]][NEAR(1, 0, 0)];
    gather_own_fill(s->fill[0], a->mass_next, first);
    gather_own_fill(s->fill[n + 1], a->mass_next, after);
    float *Fx = s->flux_x[0] + 16, *Fx_next = s->flux_x[1] + 16;
    flux_along_x(Fx_next, a->flow_next[0] + (size_t)after * BRICK_CELLS, s->fill[n], s->fill[n + 1], s->fill[n + 1]);
    for (int k = n - 1; k >= 0; k--) {
        int32_t brick = r->brick[k];
        const float *m = s->fill[k + 1];
        a->dry[brick] = brick_dry(a, brick, s->fill[k], m, s->fill[k + 2]);
        if (a->dry[brick]) {
            must_be_dry(&a->bricks, a->mass_next, brick);
            memset(Fx, 0, BRICK_CELLS * sizeof *Fx);
            fill_brick(a->divergence, brick, DIVERGENCE_DRY);
        } else {
            flux_along_x(Fx, a->flow_next[0] + (size_t)brick * BRICK_CELLS, s->fill[k], m, s->fill[k + 2]);
            divergence_brick(a, brick, m, Fx, Fx_next);
            must_be_within(a->divergence + (size_t)brick * BRICK_CELLS, BRICK_CELLS, FLT_MAX);
        }
        float *swap = Fx;
        Fx = Fx_next;
        Fx_next = swap;
    }
}

// R6, and the first smoothing of R7.
static void divergence_run(const momentum_args *a, momentum_scratch *s, const brick_run *r)
{
    divergence_of_run(a, s, r);
    for (int k = 0; k < r->count; k++) {
        int32_t brick = r->brick[k];
        gather_brick(s->tile[0], &s->sides[0], a->pressure, a->bricks.near[brick]);
        if (a->dry[brick] && brick_is_zero(s->tile[0], &s->sides[0])) {
            fill_brick(a->floor, brick, 0.0f);
            a->full[brick] = 0;
            rest_brick(a, brick, a->pressure_next);
            continue;
        }
        floor_brick(a, s, brick, s->fill[k + 1]);
        smooth_brick(a, s, brick, a->pressure_next);
    }
}

// R7: smoothing alone, from `from` to `to`.
static void smooth_run(const momentum_args *a, momentum_scratch *s, const brick_run *r, const float *from, float *to)
{
    must_be_run(&a->bricks, r);
    assert(from != to);
    for (int k = 0; k < r->count; k++) {
        int32_t brick = r->brick[k];
        gather_brick(s->tile[0], &s->sides[0], from, a->bricks.near[brick]);
        if (a->dry[brick] && brick_is_zero(s->tile[0], &s->sides[0])) {
            rest_brick(a, brick, to);
            continue;
        }
        smooth_brick(a, s, brick, to);
    }
}

// R8 on one row.
KERNEL gradient_row(const int count, float *restrict out, const float *restrict f, const float *restrict p,
                    const float *restrict open, const int along, const momentum_args *a)
{
    const float damping = a->damping, inverse_calm = a->inverse_calm, limit = a->max_flow;
    LANES
    for (int i = 0; i < count; i++)
        out[i] = rule_damped_gradient(f[i], open[i - along] * open[i], p[i - along], p[i], damping, inverse_calm, limit);
}

#define EMPTY_DONOR(i) \
    rule_empty_donor(f[i], f[(i)-along], f[(i) + along], rule_is_empty(m[(i)-along], empty), rule_is_empty(m[i], empty))

// R9 on one row.
KERNEL donor_row(const int count, float *restrict out, const float *restrict f, const float *restrict m, const int along,
                 float empty)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = EMPTY_DONOR(i);
}

// R9 and R9b on one row of faces across the axis of gravity; `down` is its sign.
KERNEL rising_row(const int count, float *restrict out, const float *restrict f, const float *restrict m,
                  const float *restrict p, const float *restrict open, const int along, const int down, float gap, float empty)
{
    const int upper = down < 0 ? 0 : -along, lower = down < 0 ? -along : 0;
    const int below = lower + down * along, face_below = down < 0 ? -along : along;
    const float up = (float)-down;
    LANES
    for (int i = 0; i < count; i++)
        out[i] = rule_rising(EMPTY_DONOR(i), f[i + face_below], up, m[i + upper], m[i + lower], m[i + below], p[i + lower],
                             open[i + upper], gap, empty);
}

// R9, friction and films on one row of the other faces; `below` leads to the cell below.
KERNEL film_row(const int count, float *restrict out, const float *restrict f, const float *restrict m,
                const float *restrict open, const int along, const int below, const momentum_args *a)
{
    const float film = a->film, drag = a->film_drag, friction = a->friction, empty = a->empty;
    LANES
    for (int i = 0; i < count; i++) {
        const bool floor_low = open[i - along + below] == 0.0f, floor_high = open[i + below] == 0.0f;
        float rubbed = rule_friction(EMPTY_DONOR(i), rule_choose(floor_low & floor_high, friction, 0.0f));
        out[i] = rule_film(rubbed, m[i - along], m[i], floor_low, floor_high, film, drag, empty);
    }
}
#undef EMPTY_DONOR

// All of them on one row of faces of the run, with the flow after R8 in s->F.
KERNEL finish_row(const momentum_args *a, const momentum_scratch *s, const float *open, const int axis, const int count,
                  const int i, float *restrict out)
{
    const float *f = s->F[axis] + i, *m = s->m + i;
    const int along = STRIDE[axis], sign = a->down_sign;
    if (sign == 0)
        donor_row(count, out, f, m, along, a->empty);
    else if (axis != a->down_axis)
        film_row(count, out, f, m, open + i, along, sign * STRIDE[a->down_axis], a);
    else if (sign < 0)
        rising_row(count, out, f, m, s->p + i, open + i, along, -1, RISING_GAP * a->head, a->empty);
    else
        rising_row(count, out, f, m, s->p + i, open + i, along, 1, RISING_GAP * a->head, a->empty);
}

// The cells of a brick's plane z that stand on a floor, and those whose neighbour before them on an axis does.
static uint64_t floor_plane(const momentum_args *a, int32_t brick, int z)
{
    const mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    return ~plane_shifted(&open, z, a->down_axis, a->down_sign);
}

static uint64_t floor_plane_before(const momentum_args *a, int32_t brick, int axis, int z)
{
    const int32_t *near = a->bricks.near[brick];
    uint64_t own = floor_plane(a, brick, z);
    if (axis == 0) return (own << 1 & ~COLUMN_0) | (floor_plane(a, near[NEAR(-1, 0, 0)], z) >> 7 & COLUMN_0);
    if (axis == 1) return own << 8 | floor_plane(a, near[NEAR(0, -1, 0)], z) >> 56;
    return z > 0 ? floor_plane(a, brick, z - 1) : floor_plane(a, near[NEAR(0, 0, -1)], 7);
}

// Friction in a plane of a brick whose cells hold much, on the faces that lie over a floor.
static void friction_plane(const momentum_args *a, int32_t brick, int z)
{
    for (int axis = 0; axis < 3; axis++) {
        if (axis == a->down_axis) continue;
        uint64_t floors = floor_plane(a, brick, z) & floor_plane_before(a, brick, axis, z);
        if (floors == 0) continue;
        float on_floor[PLANE], *restrict f = a->flow[axis] + (size_t)brick * BRICK_CELLS + (size_t)(PLANE * z);
        spread_flags(on_floor, floors, a->bricks.flags);
        LANES
        for (int c = 0; c < PLANE; c++) f[c] = rule_friction(f[c], a->friction * on_floor[c]);
    }
}

// R8 in a brick whose cells hold so much that R9, R9b and films change nothing. Closed faces carry nothing and count as such.
static void gradient_full_brick(const momentum_args *a, momentum_scratch *s, int32_t brick)
{
    float *p = s->tile[0], *low = s->sides[0].low;
    gather_planes(p, a->pressure, brick);
    gather_rows_below(p, a->pressure, a->bricks.near[brick]);
    gather_low(low, a->pressure, a->bricks.near[brick]);
    mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    const bool clear = a->bricks.clear[brick];
    const float damping = a->damping, calm = a->inverse_calm, limit = a->max_flow;
    for (int z = 0; z < 8; z++) {
        const float *restrict plane = p + PLANE_AT(z);
        size_t at = (size_t)brick * BRICK_CELLS + (size_t)(PLANE * z);
        float neighbour[PLANE], faces[3][PLANE];
        values_below_x(neighbour, plane, low + PLANE * z);
        if (!clear)
            for (int axis = 0; axis < 3; axis++)
                spread_flags(faces[axis], open.own->plane[z] & plane_shifted(&open, z, axis, -1), a->bricks.flags);
        const float *restrict wx = clear ? a->bricks.ones : faces[0], *restrict wy = clear ? a->bricks.ones : faces[1];
        const float *restrict wz = clear ? a->bricks.ones : faces[2];
        const float *restrict x = a->flow_next[0] + at, *restrict y = a->flow_next[1] + at,
                              *restrict deep = a->flow_next[2] + at;
        float *restrict to_x = a->flow[0] + at, *restrict to_y = a->flow[1] + at, *restrict to_z = a->flow[2] + at;
        LANES
        for (int c = 0; c < PLANE; c++) {
            to_x[c] = rule_damped_gradient(x[c], wx[c], neighbour[c], plane[c], damping, calm, limit);
            to_y[c] = rule_damped_gradient(y[c], wy[c], plane[c - PY], plane[c], damping, calm, limit);
            to_z[c] = rule_damped_gradient(deep[c], wz[c], plane[c - PZ], plane[c], damping, calm, limit);
        }
        must_be_within(to_x, PLANE, a->max_flow);
        must_be_within(to_y, PLANE, a->max_flow);
        must_be_within(to_z, PLANE, a->max_flow);
        if (!clear && a->friction > 0.0f) friction_plane(a, brick, z);
    }
}

// Whether all open cells of a run, and of the bricks below it on each axis, hold much. The nothing has none, and counts as such.
static bool run_full(const momentum_args *a, const brick_run *r)
{
    for (int k = 0; k < r->count; k++) {
        const int32_t *near = a->bricks.near[r->brick[k]];
        if (!a->full[r->brick[k]] || !a->full[near[NEAR(-1, 0, 0)]] || !a->full[near[NEAR(0, -1, 0)]] ||
            !a->full[near[NEAR(0, 0, -1)]])
            return false;
    }
    return true;
}

static inline bool run_dry(const momentum_args *a, const brick_run *r)
{
    for (int k = 0; k < r->count; k++)
        if (!a->dry[r->brick[k]]) return false;
    return true;
}

KERNEL gradient_run(const momentum_args *a, momentum_scratch *s, const brick_run *r, const int n)
{
    if (run_full(a, r)) {
        for (int k = 0; k < n; k++) gradient_full_brick(a, s, r->brick[k]);
        return;
    }
    gather(s->p, a->pressure, &a->bricks, r, n, -2, 8, -2, 8);
    if (run_dry(a, r) && rows_are_zero(s->p, n, -1, 7, -1, 7)) {
        for (int axis = 0; axis < 3; axis++) clear_bricks(a->flow[axis], r);
        return;
    }
    gather_fill(s->m, a->mass_next, &a->bricks, r, n, 2, 1);
    const float *open = gather_open(s->open, &a->bricks, r, n, 2, 1);
    gather(s->flow[0], a->flow_next[0], &a->bricks, r, n, 0, 7, 0, 7);
    gather(s->flow[1], a->flow_next[1], &a->bricks, r, n, -1, 8, 0, 7);
    gather(s->flow[2], a->flow_next[2], &a->bricks, r, n, 0, 7, -1, 8);
    for (int z = -1; z <= 8; z++) {
        for (int y = -1; y <= 8; y++) {
            int i = RUN_AT(0, y, z);
            bool in_y = y >= 0 && y < 8, in_z = z >= 0 && z < 8;
            if (in_y && in_z)
                gradient_row(8 * n + 2 * RIM_X, s->F[0] + i - RIM_X, s->flow[0] + i - RIM_X, s->p + i - RIM_X, open + i - RIM_X,
                             1, a);
            if (in_z) gradient_row(8 * n, s->F[1] + i, s->flow[1] + i, s->p + i, open + i, TY, a);
            if (in_y) gradient_row(8 * n, s->F[2] + i, s->flow[2] + i, s->p + i, open + i, TZ, a);
        }
    }
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            for (int axis = 0; axis < 3; axis++) {
                float row[8 * RUN_MAX];
                finish_row(a, s, open, axis, 8 * n, RUN_AT(0, y, z), row);
                must_be_within(row, 8 * n, a->max_flow);
                scatter(a->flow[axis], r, n, y, z, row);
            }
        }
    }
}

#endif
