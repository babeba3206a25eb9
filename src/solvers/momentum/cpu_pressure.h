// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 and R7). Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_PRESSURE_H
#define WEIR_MOMENTUM_CPU_PRESSURE_H

#include "compute/cpu_brick.h"
#include "solvers/momentum/air.h"
#include "solvers/momentum/cpu_scratch.h"
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

// The pressure of the air of a brick that holds none but air; AIR_NONE of others.
static float calm_pressure(const momentum_args *a, int32_t brick)
{
    return a->air > 0.0f ? a->calm_air[brick] : 0.0f;
}

// How far some values are from one at most.
static float farthest(float from, float most, const float *values, int count, int step)
{
    LANES
    for (int i = 0; i < count; i += step) most = rule_max(most, rule_abs(values[i] - from));
    return most;
}

// Whether the pressure in a brick of air and beyond its sides, as far as there is a brick, is so close to that of its air that one sweep of R7
// makes it that, which is the floor: a dry cell takes in 1, which draws the others' mean down by a sixth at least, and nine tenths of
// that are gone.
static bool brick_is_near(const float *tile, const brick_sides *sides, const int32_t near[27], float calm)
{
    float most = 0.0f;
    for (int z = 0; z < 8; z++) {
        most = farthest(calm, most, tile + PLANE_AT(z), PLANE, 1);
        if (near[NEAR(0, -1, 0)]) most = farthest(calm, most, tile + PLANE_AT(z) - PY, PY, 1);
        if (near[NEAR(0, 1, 0)]) most = farthest(calm, most, tile + PLANE_AT(z) + PLANE, PY, 1);
    }
    if (near[NEAR(0, 0, -1)]) most = farthest(calm, most, tile + PLANE_AT(-1), PLANE, 1);
    if (near[NEAR(0, 0, 1)]) most = farthest(calm, most, tile + PLANE_AT(8), PLANE, 1);
    if (near[NEAR(-1, 0, 0)]) most = farthest(calm, most, sides->low, BRICK_CELLS, 8);
    if (near[NEAR(1, 0, 0)]) most = farthest(calm, most, sides->high + 7, BRICK_CELLS - 7, 8);
    return most <= 1.0f / 16.0f;
}

// Whether all that R7 does in a dry brick is to give it the pressure of its air.
static bool is_calm(const momentum_args *a, const momentum_scratch *s, int32_t brick)
{
    const float calm = calm_pressure(a, brick);
    if (!a->dry[brick]) return false;
    if (calm == 0.0f) return brick_is_zero(s->tile[0], &s->sides[0]);
    return mask_full(&a->bricks.open[brick]) && brick_is_near(s->tile[0], &s->sides[0], a->bricks.near[brick], calm);
}

// A brick without water or another pressure in it or beside it stays so.
static void rest_brick(const momentum_args *a, int32_t brick, float *to)
{
    fill_brick(to, brick, calm_pressure(a, brick));
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

// R6: the floor of the pressure: the head of part-filled cells. The pressure is in s->tile[0]. Notes which open cells hold little.
static void floor_brick(const momentum_args *a, momentum_scratch *s, int32_t brick, const float *fill)
{
    const int axis = a->down_axis, step = a->down_sign < 0 ? -1 : 1;
    must_be_live(&a->bricks, brick);
    float *floor = a->floor + (size_t)brick * BRICK_CELLS;
    float g = a->head, inverse_g = a->inverse_head;
    mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
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
        if (a->air > 0.0f) {
            const float vacuum = -a->air;
            float *restrict divergence = a->divergence + (size_t)brick * BRICK_CELLS + PLANE * z;
            LANES
            for (int c = 0; c < PLANE; c++)
                divergence[c] = rule_air_divergence(divergence[c], m[c], to[c], a->excess_rate, a->excess_cap);
            LANES
            for (int c = 0; c < PLANE; c++)
                to[c] = rule_air_floor(to[c], m[c], below[c], 1.0f - under[c], own[c], g, inverse_g, vacuum);
        } else {
            LANES
            for (int c = 0; c < PLANE; c++) to[c] = rule_head(m[c], below[c], 1.0f - under[c], own[c], g, inverse_g);
        }
        a->thin[brick].plane[z] = open.own->plane[z] & plane_above(least, m);
    }
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
    if (calm_pressure(a, brick) <= AIR_NONE) return false;
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
        if (is_calm(a, s, brick)) {
            fill_brick(a->floor, brick, calm_pressure(a, brick));
            a->thin[brick] = a->bricks.open[brick];
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
        if (is_calm(a, s, brick)) {
            rest_brick(a, brick, to);
            continue;
        }
        smooth_brick(a, s, brick, to);
    }
}

#endif
