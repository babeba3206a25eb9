// Kernels that move things: limits, mass, flow, viscosity, forces (docs/how-it-works.md, R1 to R5). Part of cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_MOVE_H
#define WEIR_COMPUTE_CPU_MOVE_H

#include "base/hash.h"
#include "compute/cpu_tile.h"
#include "rules/carry.h"
#include "rules/flux.h"
#include "rules/limit.h"

#define KERNEL static inline __attribute__((always_inline)) void

static const int STRIDE[3] = {1, TY, TZ};

// R1 on one row; `stride` is the face's axis.
KERNEL flux_row(const int count, float *restrict F, const float *restrict f, const float *restrict m, const int stride)
{
    LANES
    for (int i = 0; i < count; i++) F[i] = rule_flux(f[i], m[i - 2 * stride], m[i - stride], m[i], m[i + stride]);
}

// R1 on the faces of the run's own cells: the low ones, and the high ones of its last cells.
KERNEL flux_own(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n, float *const flow[3])
{
    gather(s->flow[0], flow[0], a, r, n, 0, 7, 0, 7);
    gather(s->flow[1], flow[1], a, r, n, 0, 8, 0, 7);
    gather(s->flow[2], flow[2], a, r, n, 0, 7, 0, 8);
    for (int z = 0; z <= 8; z++) {
        for (int y = 0; y <= 8; y++) {
            int i = T(0, y, z);
            if (y < 8 && z < 8) flux_row(8 * n + 8, s->F[0] + i, s->flow[0] + i, s->m + i, 1);
            if (z < 8) flux_row(8 * n, s->F[1] + i, s->flow[1] + i, s->m + i, TY);
            if (y < 8) flux_row(8 * n, s->F[2] + i, s->flow[2] + i, s->m + i, TZ);
        }
    }
}

// R2: each cell's shares.
KERNEL limit_row(const int count, uint32_t *restrict out, const float *restrict m, const float *restrict x,
                 const float *restrict y, const float *restrict z, float dust, float cap)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_limits(m[i], x[i], x[i + 1], y[i], y[i + TY], z[i], z[i + TZ], dust, cap);
}

KERNEL limit_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    uint32_t row[8 * RUN_MAX];
    if (!gather_fill(s->m, a->mass, a, r, n, 2, 2)) {
        LANES
        for (int i = 0; i < 8 * n; i++) row[i] = rule_limits(0, 0, 0, 0, 0, 0, 0, a->dust, a->fill_cap);
        for (int z = 0; z < 8; z++)
            for (int y = 0; y < 8; y++) scatter(a->limits, r, n, y, z, row);
        return;
    }
    flux_own(a, s, r, n, a->flow);
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            int i = T(0, y, z);
            limit_row(8 * n, row, s->m + i, s->F[0] + i, s->F[1] + i, s->F[2] + i, a->dust, a->fill_cap);
            scatter(a->limits, r, n, y, z, row);
        }
    }
}

// R1 and R2 on one row: whole drops that cross, as fill.
KERNEL moved_row(const int count, float *restrict F, const float *restrict f, const float *restrict m, const float *restrict q,
                 const float *restrict h, const int stride)
{
    LANES
    for (int i = 0; i < count; i++) {
        float flux = rule_flux(f[i], m[i - 2 * stride], m[i - stride], m[i], m[i + stride]);
        F[i] = (float)rule_moved(flux, q[i - stride], h[i - stride], q[i], h[i]) * RULE_DROP;
    }
}

// R2: dust falls one cell per update, through the face below it if that is open.
KERNEL dust_row(const int count, float *restrict F, const float *restrict m, const float *restrict open, const int stride,
                int sign, float dust)
{
    if (sign < 0) {
        LANES
        for (int i = 0; i < count; i++) {
            float falls = m[i - stride] < LIMIT_FULL - dust ? open[i - stride] * m[i] : 0.0f;
            F[i] -= m[i] < dust ? falls : 0.0f;
        }
    } else {
        LANES
        for (int i = 0; i < count; i++) {
            float falls = m[i] < LIMIT_FULL - dust ? open[i] * m[i - stride] : 0.0f;
            F[i] += m[i - stride] < dust ? falls : 0.0f;
        }
    }
}

// R3.
KERNEL mass_row(const int count, float *restrict m2, const float *restrict m, const float *restrict x, const float *restrict y,
                const float *restrict z)
{
    LANES
    for (int i = 0; i < count; i++) m2[i] = m[i] + (((x[i] - x[i + 1]) + (z[i] - z[i + TZ])) + (y[i] - y[i + TY]));
}

// R4 and gravity for the flow along `along`, with the two axes across.
KERNEL carry_row(const int count, float *restrict out, const float *restrict u, const float *restrict m,
                 const float *restrict m2, const float *restrict open, const float *restrict Fa, const float *restrict F1,
                 const float *restrict F2, const int along, const int across_1, const int across_2, float empty, float gravity)
{
    LANES
    for (int i = 0; i < count; i++) {
        int l = i - along;
        float a = rule_carried(Fa[l] + Fa[i], Fa[i] + Fa[i + along], u[l], u[i], u[i + along]);
        float b = rule_carried(F1[l] + F1[i], F1[l + across_1] + F1[i + across_1], u[i - across_1], u[i], u[i + across_1]);
        float c = rule_carried(F2[l] + F2[i], F2[l + across_2] + F2[i + across_2], u[i - across_2], u[i], u[i + across_2]);
        float w = open[l] * open[i];
        float m_after = m2[l] + m2[i];
        out[i] = rule_carry(m[l] + m[i], m_after, u[i], a, b, c, w, empty, gravity);
    }
}

// Turns fill back into drops and notes which bricks hold water and which changed.
KERNEL store_mass(const pass_args *a, const brick_run *r, const int n, const float *m2, const float *m)
{
    int32_t any[8 * RUN_MAX] = {0};
    int32_t differs[8 * RUN_MAX] = {0};
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            int32_t row[8 * RUN_MAX];
            const float *from = m2 + T(0, y, z);
            const float *before = m + T(0, y, z);
            LANES
            for (int i = 0; i < 8 * n; i++) {
                row[i] = (int32_t)(from[i] * RULE_DROPS);
                any[i] |= row[i];
                differs[i] |= from[i] != before[i];
            }
            scatter(a->mass_next, r, n, y, z, row);
        }
    }
    for (int k = 0; k < n; k++) {
        int32_t wet = 0;
        int32_t changed = 0;
        for (int x = 0; x < 8; x++) {
            wet |= any[8 * k + x];
            changed |= differs[8 * k + x];
        }
        a->wet[r->brick[k]] = wet != 0;
        if (changed) a->changed[r->brick[k]] = a->change;
    }
}

static inline void move_nothing(const pass_args *a, const brick_run *r)
{
    clear_bricks(a->mass_next, r);
    for (int axis = 0; axis < 3; axis++) {
        clear_bricks(a->flow_next[axis], r);
        if (a->moved[axis]) clear_bricks(a->moved[axis], r);
    }
    for (int k = 0; k < r->count; k++) a->wet[r->brick[k]] = 0;
}

// What crosses the faces of one plane of cells, those beside the run at -1 included.
KERNEL moved_plane(const pass_args *a, cpu_scratch *s, const float *open, const int n, int z)
{
    const int wide = 8 * n + 2 * RIM_X;
    for (int y = -1; y <= 8; y++) {
        if (y == -1 && z == -1) continue;
        int i = T(-RIM_X, y, z);
        const float *m = s->m + i, *q = s->q + i, *h = s->h + i;
        if (y < 8 && z < 8) moved_row(wide, s->F[0] + i, s->flow[0] + i, m, q, h, 1);
        if (z < 8) moved_row(wide, s->F[1] + i, s->flow[1] + i, m, q, h, TY);
        if (y < 8) moved_row(wide, s->F[2] + i, s->flow[2] + i, m, q, h, TZ);
        if (a->down_sign == 0) continue;
        if (a->down_axis == 0 && y < 8 && z < 8) dust_row(wide, s->F[0] + i, m, open + i, 1, a->down_sign, a->dust);
        if (a->down_axis == 1 && z < 8) dust_row(wide, s->F[1] + i, m, open + i, TY, a->down_sign, a->dust);
        if (a->down_axis == 2 && y < 8) dust_row(wide, s->F[2] + i, m, open + i, TZ, a->down_sign, a->dust);
    }
}

KERNEL mass_plane(cpu_scratch *s, const int n, int z)
{
    for (int y = -1; y < 8; y++) {
        if (y == -1 && z == -1) continue;
        int i = T(-RIM_X, y, z);
        mass_row(8 * n + RIM_X, s->m2 + i, s->m + i, s->F[0] + i, s->F[1] + i, s->F[2] + i);
    }
}

KERNEL carry_plane(const pass_args *a, cpu_scratch *s, const brick_run *r, const float *open_tile, const int n, int z)
{
    for (int y = 0; y < 8; y++) {
        float row[8 * RUN_MAX];
        int i = T(0, y, z);
        const float *m = s->m + i, *m2 = s->m2 + i, *open = open_tile + i;
        const float *x = s->F[0] + i, *up = s->F[1] + i, *deep = s->F[2] + i;
        carry_row(8 * n, row, s->flow[0] + i, m, m2, open, x, up, deep, 1, TY, TZ, a->empty, a->gravity[0]);
        scatter(a->flow_next[0], r, n, y, z, row);
        carry_row(8 * n, row, s->flow[1] + i, m, m2, open, up, x, deep, TY, 1, TZ, a->empty, a->gravity[1]);
        scatter(a->flow_next[1], r, n, y, z, row);
        carry_row(8 * n, row, s->flow[2] + i, m, m2, open, deep, up, x, TZ, TY, 1, a->empty, a->gravity[2]);
        scatter(a->flow_next[2], r, n, y, z, row);
        for (int axis = 0; axis < 3; axis++)
            if (a->moved[axis]) scatter(a->moved[axis], r, n, y, z, s->F[axis] + i);
    }
}

// Plane by plane, each rule as soon as the one before has come far enough, so that values are still next to the processor.
KERNEL move_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    if (!gather_fill(s->m, a->mass, a, r, n, 3, 2)) {
        move_nothing(a, r);
        return;
    }
    for (int axis = 0; axis < 3; axis++) gather(s->flow[axis], a->flow[axis], a, r, n, -1, 8, -1, 8);
    gather_limits(s->q, s->h, a->limits, a, r, n, 2, 1);
    const float *open = gather_open(s->open, a, r, n, 2, 1);
    for (int z = -1; z <= 8; z++) {
        moved_plane(a, s, open, n, z);
        if (z >= 0) mass_plane(s, n, z - 1);
        if (z >= 1) carry_plane(a, s, r, open, n, z - 1);
    }
    store_mass(a, r, n, s->m2, s->m);
}

// R5: exchange with the six neighbour faces that carry water.
KERNEL viscosity_row(const int count, float *restrict out, const float *restrict u, const float *restrict m,
                     const float *restrict open, const int along, float nu)
{
#define PULL(offset) ((m[i + (offset)] + m[i + (offset)-along] > 0.5f ? 1.0f : 0.0f) * (u[i + (offset)] - u[i]))
    LANES
    for (int i = 0; i < count; i++) {
        float sum = ((PULL(-1) + PULL(1)) + (PULL(-TZ) + PULL(TZ))) + (PULL(-TY) + PULL(TY));
        out[i] = open[i - along] * open[i] * (u[i] + nu * sum);
    }
#undef PULL
}

KERNEL viscosity_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const int n)
{
    gather_fill(s->m, a->mass_next, a, r, n, 2, 1);
    const float *open = gather_open(s->open, a, r, n, 1, 0);
    for (int axis = 0; axis < 3; axis++) {
        gather(s->flow[axis], a->flow_next[axis], a, r, n, -1, 8, -1, 8);
        for (int z = 0; z < 8; z++) {
            for (int y = 0; y < 8; y++) {
                float row[8 * RUN_MAX];
                int i = T(0, y, z);
                viscosity_row(8 * n, row, s->flow[axis] + i, s->m + i, open + i, STRIDE[axis], a->viscosity);
                scatter(a->flow[axis], r, n, y, z, row);
            }
        }
    }
}

// A number from -1 to 1 that depends on the cell, the update and the seed alone.
static inline float noise_at(weir_coord c, int32_t axis, const pass_args *a)
{
    uint32_t h =
        hash_mix((uint32_t)c.x ^ hash_mix((uint32_t)c.y ^ hash_mix((uint32_t)c.z ^ hash_mix((uint32_t)axis + a->noise_seed))));
    h = hash_mix(h ^ (uint32_t)a->update);
    return (float)((int32_t)(h >> 8) - 8388608) * (1.0f / 8388608.0f);
}

static bool in_box(weir_box box, weir_coord c)
{
    return c.x >= box.min.x && c.x < box.max.x && c.y >= box.min.y && c.y < box.max.y && c.z >= box.min.z && c.z < box.max.z;
}

// R5: the forces of regions and noise, in place on one brick. Rare, so it is written cell by cell.
static void forces_brick(const pass_args *a, const cpu_scratch *s, const float *open, int32_t brick)
{
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
            if (s->m[i] + s->m[i - STRIDE[axis]] > a->empty) *f += w * along[axis];
            if (a->noise > 0.0f && axis != a->down_axis) *f *= 1.0f + a->noise * noise_at(at, axis, a);
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
