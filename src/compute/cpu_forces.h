// Forces and noise, which every solver with flow on faces has use for after its move. Part of the solvers' cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_FORCES_H
#define WEIR_COMPUTE_CPU_FORCES_H

#include "cells/forces.h"
#include "compute/cpu_tile.h"

// R5: the forces of regions and noise, in place on one brick. Rare, so it is written cell by cell.
static void forces_brick(const cpu_bricks *a, const cpu_forces *p, const float *m, const float *open, int32_t brick)
{
    must_be_live(a, brick);
    weir_coord origin = {a->coord[brick].x * 8, a->coord[brick].y * 8, a->coord[brick].z * 8};
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        weir_coord at = {origin.x + x, origin.y + y, origin.z + z};
        int i = RUN_AT(x, y, z);
        rule_push push = {0.0f, 0.0f, 0.0f};
        for (int32_t k = 0; k < p->source_count; k++)
            if (p->sources[k].kind == SOURCE_FORCE)
                push = rule_regional(push, backend_region(&p->sources[k]), at.x, at.y, at.z);
        const float along[3] = {push.x * p->scale, push.y * p->scale, push.z * p->scale};
        for (int axis = 0; axis < 3; axis++) {
            float *f = p->flow[axis] + (size_t)brick * BRICK_CELLS + cell;
            float w = open[i] * open[i - STRIDE[axis]];
            *f = rule_pushed(*f, w, along[axis], m[i] + m[i - STRIDE[axis]], p->empty, p->noise, at.x, at.y, at.z, axis,
                             p->down_axis, p->noise_seed, (rule_bits)p->update);
        }
    }
}

// The bricks of a run, with two tiles as scratch.
static void forces_run(const cpu_bricks *a, const cpu_forces *p, float *m, float *open_tile, const brick_run *r)
{
    for (int k = 0; k < r->count; k++) {
        brick_run one = {1, {r->brick[k]}};
        gather_fill(m, p->mass, a, &one, 1, 1, 0);
        const float *open = gather_open(open_tile, a, &one, 1, 1, 0);
        forces_brick(a, p, m, open, r->brick[k]);
    }
}

#endif
