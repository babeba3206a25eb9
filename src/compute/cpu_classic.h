// Kernels of the thesis's rules (docs/how-it-works.md). Part of cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_CLASSIC_H
#define WEIR_COMPUTE_CPU_CLASSIC_H

#include "compute/cpu_pressure.h"
#include "rules/classic.h"

// Whole drops that cross each face of one row. Cells may hold more than a float counts exactly, so drops stay integers here.
KERNEL classic_moved_row(const int count, int32_t *restrict F, const float *restrict f, const float *restrict m,
                         const int stride)
{
    LANES
    for (int i = 0; i < count; i++) F[i] = (int32_t)(rule_classic_flux(f[i], m[i - stride], m[i]) * RULE_DROPS);
}

KERNEL classic_mass_row(const int count, int32_t *restrict after, float *restrict m2, const int32_t *restrict before,
                        const int32_t *restrict x, const int32_t *restrict y, const int32_t *restrict z)
{
    LANES
    for (int i = 0; i < count; i++) {
        after[i] = before[i] + (x[i] - x[i + 1]) + (z[i] - z[i + TZ]) + (y[i] - y[i + TY]);
        m2[i] = (float)after[i] * RULE_DROP;
    }
}

// Share of each cell's mass that leaves it.
KERNEL classic_leaving_row(const int count, float *restrict out, const float *restrict x, const float *restrict y,
                           const float *restrict z)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_classic_leaving(x[i], x[i + 1], y[i], y[i + TY], z[i], z[i + TZ]);
}

// The flow along A; v1 and v2 are the flows across.
KERNEL classic_carry_row(const int count, float *restrict out, const float *restrict u, const float *restrict v1,
                         const float *restrict v2, const float *restrict leaves, const float *restrict m,
                         const float *restrict m2, const float *restrict open, const int A, const int T1, const int T2,
                         float empty, float gravity)
{
    LANES
    for (int i = 0; i < count; i++) {
        int l = i - A;
        float forward = u[i] > 0.0f ? 1.0f : 0.0f;
        float backward = 1.0f - forward;
        float leaving = forward * leaves[l] + backward * leaves[i];
        float momentum = u[i] * (forward * m[l] + backward * m[i]);
        float in = rule_classic_along(u[l], m[l - A], u[i + A], m[i + A]);
#define ACROSS(v, S)                                                              \
    ((rule_classic_across(v[l], m[l - (S)], rule_max(0.0f, u[i - (S)])) +         \
      rule_classic_across(-v[l + (S)], m[l + (S)], rule_max(0.0f, u[i + (S)]))) + \
     (rule_classic_across(v[i], m[i - (S)], rule_min(0.0f, u[i - (S)])) +         \
      rule_classic_across(-v[i + (S)], m[i + (S)], rule_min(0.0f, u[i + (S)]))))
        in = in + (ACROSS(v1, T1) + ACROSS(v2, T2));
#undef ACROSS
        float p = (momentum - momentum * leaving) + in;
        float onward = p > 0.0f ? 1.0f : 0.0f;
        float carrier = onward * m2[l] + (1.0f - onward) * m2[i];
        float w = open[l] * open[i];
        float holds = carrier > empty ? 1.0f : 0.0f;
        float touches = m2[l] + m2[i] > empty ? 1.0f : 0.0f;
        out[i] = holds * (w * p / rule_max(carrier, 1e-30f)) + touches * (w * gravity) + 0.0f;
    }
}

KERNEL classic_store_mass(const pass_args *a, const brick_run *r, const int n, const int32_t *after, const int32_t *before)
{
    int32_t any[RUN_MAX] = {0}, differs[RUN_MAX] = {0};
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            int i = T(0, y, z);
            scatter(a->mass_next, r, n, y, z, after + i);
            for (int k = 0; k < n; k++) {
                for (int x = 0; x < 8; x++) {
                    any[k] |= after[i + 8 * k + x];
                    differs[k] |= after[i + 8 * k + x] ^ before[i + 8 * k + x];
                }
            }
        }
    }
    for (int k = 0; k < n; k++) {
        a->wet[r->brick[k]] = any[k] != 0;
        if (differs[k]) a->changed[r->brick[k]] = a->change;
    }
}

KERNEL classic_move_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    if (!gather_drops(s->m, s->drops, a->mass, a, r, n, 2, 2)) {
        move_nothing(a, r);
        return;
    }
    int32_t *F[3] = {s->whole[0], s->whole[1], s->whole[2]};
    for (int axis = 0; axis < 3; axis++) gather(s->flow[axis], a->flow[axis], a, r, n, -1, 8, -1, 8);
    const float *open = gather_open(s->open, a, r, n, 1, 0);
    const int wide = 8 * n + 2 * RIM_X;
    for (int z = -1; z <= 8; z++) {
        for (int y = -1; y <= 8; y++) {
            int i = T(-RIM_X, y, z);
            if (y < 8 && z < 8) classic_moved_row(wide, F[0] + i, s->flow[0] + i, s->m + i, 1);
            if (z < 8) classic_moved_row(wide, F[1] + i, s->flow[1] + i, s->m + i, TY);
            if (y < 8) classic_moved_row(wide, F[2] + i, s->flow[2] + i, s->m + i, TZ);
        }
    }
    for (int z = -1; z < 8; z++) {
        for (int y = -1; y < 8; y++) {
            int i = T(-RIM_X, y, z);
            classic_mass_row(8 * n + RIM_X, s->drops_next + i, s->m2 + i, s->drops + i, F[0] + i, F[1] + i, F[2] + i);
            classic_leaving_row(8 * n + RIM_X, s->q + i, s->flow[0] + i, s->flow[1] + i, s->flow[2] + i);
        }
    }
    classic_store_mass(a, r, n, s->drops_next, s->drops);
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            float row[8 * RUN_MAX];
            int i = T(0, y, z);
            const float *x = s->flow[0] + i, *up = s->flow[1] + i, *deep = s->flow[2] + i;
            const float *m = s->m + i, *m2 = s->m2 + i, *o = open + i;
            classic_carry_row(8 * n, row, x, up, deep, s->q + i, m, m2, o, 1, TY, TZ, a->empty, a->gravity[0]);
            scatter(a->flow_next[0], r, n, y, z, row);
            classic_carry_row(8 * n, row, up, x, deep, s->q + i, m, m2, o, TY, 1, TZ, a->empty, a->gravity[1]);
            scatter(a->flow_next[1], r, n, y, z, row);
            classic_carry_row(8 * n, row, deep, up, x, s->q + i, m, m2, o, TZ, TY, 1, a->empty, a->gravity[2]);
            scatter(a->flow_next[2], r, n, y, z, row);
            for (int axis = 0; axis < 3; axis++) {
                if (!a->moved[axis]) continue;
                for (int k = 0; k < 8 * n; k++) row[k] = (float)F[axis][i + k] * RULE_DROP;
                scatter(a->moved[axis], r, n, y, z, row);
            }
        }
    }
}

KERNEL classic_flux_row(const int count, float *restrict F, const float *restrict f, const float *restrict m, const int stride)
{
    LANES
    for (int i = 0; i < count; i++) F[i] = rule_classic_flux(f[i], m[i - stride], m[i]);
}

KERNEL classic_divergence_row(const int count, float *restrict out, const float *restrict m, const float *restrict x,
                              const float *restrict y, const float *restrict z, const float *restrict open)
{
    LANES
    for (int i = 0; i < count; i++)
        out[i] = open[i] * ((m[i] - 1.0f) + (((x[i] - x[i + 1]) + (z[i] - z[i + TZ])) + (y[i] - y[i + TY])));
}

// 1 over the number of open faces along one row of a run tile.
KERNEL classic_inverse_row(const int count, float *restrict out, const float *restrict o)
{
    LANES
    for (int i = 0; i < count; i++) {
        float faces = ((o[i - 1] + o[i + 1]) + (o[i - TZ] + o[i + TZ])) + (o[i - TY] + o[i + TY]);
        float inverse = 1.0f / rule_max(faces, 1.0f);
        out[i] = faces > 0.0f ? o[i] * inverse : 0.0f;
    }
}

// The excess to come, and the first iteration of the pressure, which starts from nothing.
KERNEL classic_divergence_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    gather_fill(s->m, a->mass_next, a, r, n, 1, 1);
    const float *open = gather_open(s->open, a, r, n, 1, 1);
    gather(s->flow[0], a->flow_next[0], a, r, n, 0, 7, 0, 7);
    gather(s->flow[1], a->flow_next[1], a, r, n, 0, 8, 0, 7);
    gather(s->flow[2], a->flow_next[2], a, r, n, 0, 7, 0, 8);
    for (int z = 0; z <= 8; z++) {
        for (int y = 0; y <= 8; y++) {
            int i = T(0, y, z);
            if (y < 8 && z < 8) classic_flux_row(8 * n + 8, s->F[0] + i, s->flow[0] + i, s->m + i, 1);
            if (z < 8) classic_flux_row(8 * n, s->F[1] + i, s->flow[1] + i, s->m + i, TY);
            if (y < 8) classic_flux_row(8 * n, s->F[2] + i, s->flow[2] + i, s->m + i, TZ);
        }
    }
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            float row[8 * RUN_MAX], inverse[8 * RUN_MAX], p[8 * RUN_MAX];
            int i = T(0, y, z);
            classic_divergence_row(8 * n, row, s->m + i, s->F[0] + i, s->F[1] + i, s->F[2] + i, open + i);
            classic_inverse_row(8 * n, inverse, open + i);
            for (int k = 0; k < 8 * n; k++) p[k] = rule_classic_pressure(0.0f, row[k], inverse[k]);
            scatter(a->divergence, r, n, y, z, row);
            scatter(a->pressure, r, n, y, z, p);
        }
    }
}

KERNEL classic_pressure_row(const int count, float *restrict out, const float *restrict p, const float *restrict divergence,
                            const float *restrict inverse)
{
    LANES
    for (int i = 0; i < count; i++) {
        float sum = ((p[i - 1] + p[i + 1]) + (p[i - TZ] + p[i + TZ])) + (p[i - TY] + p[i + TY]);
        out[i] = rule_classic_pressure(sum, divergence[i], inverse[i]);
    }
}

// One to three iterations in one visit: the first ones also on the rim, as far as the later ones look.
KERNEL classic_pressure_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    int rim = a->iterations - 1;
    gather(s->p, a->pressure, a, r, n, -rim - 1, 8 + rim, -rim - 1, 8 + rim);
    gather(s->m, a->divergence, a, r, n, -rim, 7 + rim, -rim, 7 + rim);
    const float *inverse = a->sixths;
    if (!run_clear(a, r)) {
        inverse = s->m2;
        gather_open(s->open, a, r, n, rim + 1, rim + 1);
        for (int z = -rim; z < 8 + rim; z++)
            for (int y = -rim; y < 8 + rim; y++)
                classic_inverse_row(8 * n + 2 * RIM_X, s->m2 + T(-RIM_X, y, z), s->open + T(-RIM_X, y, z));
    }
    float *from = s->p, *to = s->F[0];
    for (; rim >= 0; rim--) {
        for (int z = -rim; z < 8 + rim; z++) {
            for (int y = -rim; y < 8 + rim; y++) {
                int i = T(-RIM_X, y, z);
                if (rim > 0) {
                    classic_pressure_row(8 * n + 2 * RIM_X, to + i, from + i, s->m + i, inverse + i);
                } else {
                    i = T(0, y, z);
                    classic_pressure_row(8 * n, to + i, from + i, s->m + i, inverse + i);
                    scatter(a->pressure_next, r, n, y, z, to + i);
                }
            }
        }
        float *swap = from;
        from = to;
        to = swap;
    }
}

// In place: no face looks at another face's flow.
KERNEL classic_gradient_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    gather(s->p, a->pressure, a, r, n, -1, 7, -1, 7);
    const float *open = gather_open(s->open, a, r, n, 1, 0);
    gather_own(s->flow[0], a->flow_next[0], r, n);
    gather_own(s->flow[1], a->flow_next[1], r, n);
    gather_own(s->flow[2], a->flow_next[2], r, n);
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            float row[8 * RUN_MAX];
            int i = T(0, y, z);
            gradient_row(8 * n, row, s->flow[0] + i, s->p + i, open + i, 1, a->keep, a->max_flow);
            scatter(a->flow_next[0], r, n, y, z, row);
            gradient_row(8 * n, row, s->flow[1] + i, s->p + i, open + i, TY, a->keep, a->max_flow);
            scatter(a->flow_next[1], r, n, y, z, row);
            gradient_row(8 * n, row, s->flow[2] + i, s->p + i, open + i, TZ, a->keep, a->max_flow);
            scatter(a->flow_next[2], r, n, y, z, row);
        }
    }
}

#endif
