// The kernel of viscosity (docs/how-it-works.md, R5). Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_VISCOSITY_H
#define WEIR_MOMENTUM_CPU_VISCOSITY_H

#include "solvers/momentum/cpu_scratch.h"
#include "solvers/momentum/viscosity.h"
#include <float.h>

KERNEL viscosity_row(const int count, float *restrict out, const float *restrict u, const float *restrict m,
                     const float *restrict open, const int along, float nu)
{
#define PULL(offset) rule_pull(u[i], u[i + (offset)], m[i + (offset)] + m[i + (offset)-along])
    LANES
    for (int i = 0; i < count; i++)
        out[i] =
            rule_viscosity(u[i], open[i - along] * open[i], PULL(-1), PULL(1), PULL(-TY), PULL(TY), PULL(-TZ), PULL(TZ), nu);
#undef PULL
}

KERNEL viscosity_run(const momentum_args *a, momentum_scratch *s, const brick_run *r, const int n)
{
    gather_fill(s->m, a->mass_next, &a->bricks, r, n, 2, 1);
    const float *open = gather_open(s->open, &a->bricks, r, n, 1, 0);
    for (int axis = 0; axis < 3; axis++) {
        gather(s->flow[axis], a->flow_next[axis], &a->bricks, r, n, -1, 8, -1, 8);
        for (int z = 0; z < 8; z++) {
            for (int y = 0; y < 8; y++) {
                float row[8 * RUN_MAX];
                int i = RUN_AT(0, y, z);
                viscosity_row(8 * n, row, s->flow[axis] + i, s->m + i, open + i, STRIDE[axis], a->viscosity);
                must_be_within(row, 8 * n, FLT_MAX);
                scatter(a->flow[axis], r, n, y, z, row);
            }
        }
    }
}

#endif
