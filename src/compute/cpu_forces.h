// Kernels that every solver with flow on faces has use for: forces and noise after the move. Part of the solvers' cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_FORCES_H
#define WEIR_COMPUTE_CPU_FORCES_H

#include "cells/forces.h"
#include "compute/cpu_tile.h"
#include <float.h>

#define KERNEL static inline __attribute__((always_inline)) void

static const int STRIDE[3] = {1, TY, TZ};

static bool in_box(weir_box box, weir_coord c)
{
    return c.x >= box.min.x && c.x < box.max.x && c.y >= box.min.y && c.y < box.max.y && c.z >= box.min.z && c.z < box.max.z;
}

// R5: the forces of regions and noise, in place on one brick. Rare, so it is written cell by cell.
static void forces_brick(const pass_args *a, const cpu_scratch *s, const float *open, int32_t brick)
{
    must_be_live(a, brick);
    weir_coord origin = {a->coord[brick].x * 8, a->coord[brick].y * 8, a->coord[brick].z * 8};
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        weir_coord at = {origin.x + x, origin.y + y, origin.z + z};
        int i = T(x, y, z);
        weir_vec push = {0, 0, 0};
        for (int32_t k = 0; k < a->source_count; k++) {
            const world_source *source = &a->sources[k];
            if (source->kind != SOURCE_FORCE || !in_box(source->box, at)) continue;
            push.x += source->force.x;
            push.y += source->force.y;
            push.z += source->force.z;
        }
        const float along[3] = {push.x * a->force_scale, push.y * a->force_scale, push.z * a->force_scale};
        for (int axis = 0; axis < 3; axis++) {
            float *f = a->flow_next[axis] + (size_t)brick * BRICK_CELLS + cell;
            float w = open[i] * open[i - STRIDE[axis]];
            *f = rule_force(*f, w, along[axis], s->m[i] + s->m[i - STRIDE[axis]], a->empty);
            if (a->noise > 0.0f && axis != a->down_axis)
                *f = rule_noisy(*f, a->noise, at.x, at.y, at.z, axis, a->noise_seed, (rule_bits)a->update);
        }
    }
}

KERNEL forces_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    for (int k = 0; k < n; k++) {
        brick_run one = {1, {r->brick[k]}};
        gather_fill(s->m, a->mass_next, a, &one, 1, 1, 0);
        const float *open = gather_open(s->open, a, &one, 1, 1, 0);
        forces_brick(a, s, open, r->brick[k]);
    }
}

#endif
