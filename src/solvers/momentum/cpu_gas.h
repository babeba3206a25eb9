// The kernel of a gas that presses (docs/how-it-works.md, "A gas"). Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_GAS_H
#define WEIR_MOMENTUM_CPU_GAS_H

#include "solvers/momentum/cpu_scratch.h"
#include "solvers/momentum/gas.h"

KERNEL gas_push_row(const int count, float *restrict out, const float *restrict f, const float *restrict m,
                    const float *restrict open, const int along, const momentum_args *a)
{
    const float twice_k = 2.0f * a->gas, damping = a->damping, calm = a->inverse_calm, limit = a->max_flow;
    LANES
    for (int i = 0; i < count; i++)
        out[i] = rule_gas_push(f[i], open[i - along] * open[i], m[i - along], m[i], twice_k, damping, calm, limit);
}

KERNEL gas_pressure_row(const int count, float *restrict out, const float *restrict m, const float k)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_gas_pressure(m[i], k);
}

KERNEL gas_run(const momentum_args *a, momentum_scratch *s, const brick_run *r, const int n)
{
    gather_fill(s->m, a->mass_next, &a->bricks, r, n, 1, 0);
    const float *open = gather_open(s->open, &a->bricks, r, n, 1, 0);
    for (int axis = 0; axis < 3; axis++) {
        gather(s->flow[axis], a->flow_next[axis], &a->bricks, r, n, 0, 7, 0, 7);
        for (int z = 0; z < 8; z++) {
            for (int y = 0; y < 8; y++) {
                float row[8 * RUN_MAX];
                const int i = RUN_AT(0, y, z);
                gas_push_row(8 * n, row, s->flow[axis] + i, s->m + i, open + i, STRIDE[axis], a);
                must_be_within(row, 8 * n, 1.0f);
                scatter(a->flow[axis], r, n, y, z, row);
            }
        }
    }
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            float row[8 * RUN_MAX];
            gas_pressure_row(8 * n, row, s->m + RUN_AT(0, y, z), a->gas);
            scatter(a->pressure, r, n, y, z, row);
        }
    }
}

#endif
