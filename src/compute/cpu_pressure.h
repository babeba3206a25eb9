// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 to R9). Part of cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_PRESSURE_H
#define WEIR_COMPUTE_CPU_PRESSURE_H

#include "compute/cpu_brick.h"
#include "compute/cpu_move.h"
#include "rules/pressure.h"

// R6 on one row: divergence from the flux tiles.
KERNEL divergence_row(const int count, float *restrict out, const float *restrict m, const float *restrict x,
                      const float *restrict y, const float *restrict z, float rate, float cap)
{
    LANES
    for (int i = 0; i < count; i++) {
        float net = ((x[i] - x[i + 1]) + (z[i] - z[i + TZ])) + (y[i] - y[i + TY]);
        out[i] = rule_divergence(m[i], net, rate, cap);
    }
}

// R7: sweeps inside one brick with the values beyond its sides as they are. p and q are brick tiles with the same values there;
// returns the one with the result.
static inline float *smooth_tile(float *p, float *q, const brick_sides *sides, const float *divergence, const float *inverse,
                                 const float *floor, int sweeps)
{
    for (int k = 0; k < sweeps; k++) {
        for (int z = 0; z < 8; z++) {
            const float *restrict from = p + P(z);
            const float *restrict d = divergence + PLANE * z, *restrict n = inverse + PLANE * z,
                                  *restrict f = floor + PLANE * z;
            float *restrict to = q + P(z);
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
static const float *inverse_faces(const pass_args *a, cpu_scratch *s, int32_t brick)
{
    static const float inverse[8] = {0.0f, 1.0f, 1.0f / 2.0f, 1.0f / 3.0f, 1.0f / 4.0f, 1.0f / 5.0f, 1.0f / 6.0f};
    if (a->clear[brick]) return a->sixths;
    mask_view open = view_mask(a->open, a->near[brick]);
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
static void rest_brick(const pass_args *a, int32_t brick, float *to)
{
    fill_brick(to, brick, 0.0f);
    memset(&a->active[brick], 0, sizeof a->active[brick]);
}

// Smooths one brick from s->tile[0] to a pressure channel and notes its active cells.
static void smooth_brick(const pass_args *a, cpu_scratch *s, int32_t brick, float *to)
{
    size_t at = (size_t)brick * BRICK_CELLS;
    const float *floor = a->floor + at;
    copy_rows_beyond(s->tile[1], s->tile[0]);
    const float *p =
        smooth_tile(s->tile[0], s->tile[1], &s->sides[0], a->divergence + at, inverse_faces(a, s, brick), floor, a->smooths);
    store_planes(to + at, p);
    for (int z = 0; z < 8; z++) a->active[brick].plane[z] = plane_above(p + P(z), floor + PLANE * z);
}

// R6: the floor of the pressure: the head of part-filled cells. The pressure is in s->tile[0].
static void floor_brick(const pass_args *a, cpu_scratch *s, int32_t brick)
{
    const int axis = a->down_axis, step = a->down_sign < 0 ? -1 : 1;
    const int32_t *mass = a->mass_next + (size_t)brick * BRICK_CELLS;
    float *floor = a->floor + (size_t)brick * BRICK_CELLS;
    float g = a->head, inverse_g = a->inverse_head;
    mask_view open = view_mask(a->open, a->near[brick]);
    for (int z = 0; z < 8; z++) {
        const float *p = s->tile[0] + P(z), *low = s->sides[0].low + PLANE * z, *high = s->sides[0].high + PLANE * z;
        const float *restrict below = p + step * (axis == 1 ? PY : PZ);
        const float *restrict own = a->ones, *restrict under = a->ones;
        float beside[PLANE], own_flags[PLANE], under_flags[PLANE];
        if (axis == 0) {
            for (int c = 0; c < PLANE; c++) beside[c] = step < 0 ? LOW_OF(p, low, c) : HIGH_OF(p, high, c);
            below = beside;
        }
        if (!a->clear[brick]) {
            spread_flags(own_flags, open.own->plane[z], a->flags);
            spread_flags(under_flags, plane_shifted(&open, z, axis, step), a->flags);
            own = own_flags;
            under = under_flags;
        }
        const int32_t *restrict drops = mass + PLANE * z;
        float *restrict to = floor + PLANE * z;
        LANES
        for (int c = 0; c < PLANE; c++)
            to[c] = rule_head((float)drops[c] * RULE_DROP, below[c], 1.0f - under[c], own[c], g, inverse_g);
    }
}

// R6, and the first smoothing of R7.
KERNEL divergence_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    bool wet = gather_fill(s->m, a->mass_next, a, r, n, 2, 2);
    for (int k = 0; k < n; k++) a->dry[r->brick[k]] = !wet;
    if (wet) {
        flux_own(a, s, r, n, a->flow_next);
        for (int z = 0; z < 8; z++) {
            for (int y = 0; y < 8; y++) {
                float row[8 * RUN_MAX];
                int i = T(0, y, z);
                divergence_row(8 * n, row, s->m + i, s->F[0] + i, s->F[1] + i, s->F[2] + i, a->excess_rate, a->excess_cap);
                scatter(a->divergence, r, n, y, z, row);
            }
        }
    } else {
        for (int k = 0; k < n; k++) fill_brick(a->divergence, r->brick[k], -1.0f);
    }
    for (int k = 0; k < n; k++) {
        int32_t brick = r->brick[k];
        gather_brick(s->tile[0], &s->sides[0], a->pressure, a->near[brick]);
        if (!wet && brick_is_zero(s->tile[0], &s->sides[0])) {
            fill_brick(a->floor, brick, 0.0f);
            rest_brick(a, brick, a->pressure_next);
            continue;
        }
        floor_brick(a, s, brick);
        smooth_brick(a, s, brick, a->pressure_next);
    }
}

// R7: smoothing alone, from `from` to `to`.
static void smooth_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const float *from, float *to)
{
    for (int k = 0; k < r->count; k++) {
        int32_t brick = r->brick[k];
        gather_brick(s->tile[0], &s->sides[0], from, a->near[brick]);
        if (a->dry[brick] && brick_is_zero(s->tile[0], &s->sides[0])) {
            rest_brick(a, brick, to);
            continue;
        }
        smooth_brick(a, s, brick, to);
    }
}

// R8 on one row.
KERNEL gradient_row(const int count, float *restrict out, const float *restrict f, const float *restrict p,
                    const float *restrict open, const int along, float keep, float limit)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_gradient(f[i], open[i - along] * open[i], p[i - along], p[i], keep, limit);
}

// R9 on one row.
KERNEL donor_row(const int count, float *restrict out, const float *restrict f, const float *restrict m, const int along,
                 float empty)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_empty_donor(f[i], f[i - along], f[i + along], m[i - along], m[i], empty);
}

KERNEL gradient_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    gather(s->p, a->pressure, a, r, n, -2, 8, -2, 8);
    if (run_dry(a, r) && rows_are_zero(s->p, n, -1, 7, -1, 7)) {
        for (int axis = 0; axis < 3; axis++) clear_bricks(a->flow[axis], r);
        return;
    }
    gather_fill(s->m, a->mass_next, a, r, n, 1, 0);
    const float *open = gather_open(s->open, a, r, n, 2, 1);
    gather(s->flow[0], a->flow_next[0], a, r, n, 0, 7, 0, 7);
    gather(s->flow[1], a->flow_next[1], a, r, n, -1, 8, 0, 7);
    gather(s->flow[2], a->flow_next[2], a, r, n, 0, 7, -1, 8);
    for (int z = -1; z <= 8; z++) {
        for (int y = -1; y <= 8; y++) {
            int i = T(0, y, z);
            bool in_y = y >= 0 && y < 8, in_z = z >= 0 && z < 8;
            if (in_y && in_z)
                gradient_row(8 * n + 2 * RIM_X, s->F[0] + i - RIM_X, s->flow[0] + i - RIM_X, s->p + i - RIM_X, open + i - RIM_X,
                             1, a->keep, a->max_flow);
            if (in_z) gradient_row(8 * n, s->F[1] + i, s->flow[1] + i, s->p + i, open + i, TY, a->keep, a->max_flow);
            if (in_y) gradient_row(8 * n, s->F[2] + i, s->flow[2] + i, s->p + i, open + i, TZ, a->keep, a->max_flow);
        }
    }
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            float row[8 * RUN_MAX];
            int i = T(0, y, z);
            donor_row(8 * n, row, s->F[0] + i, s->m + i, 1, a->empty);
            scatter(a->flow[0], r, n, y, z, row);
            donor_row(8 * n, row, s->F[1] + i, s->m + i, TY, a->empty);
            scatter(a->flow[1], r, n, y, z, row);
            donor_row(8 * n, row, s->F[2] + i, s->m + i, TZ, a->empty);
            scatter(a->flow[2], r, n, y, z, row);
        }
    }
}

#endif
