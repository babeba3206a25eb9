// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 to R9). Part of cpu_kernels.c.
#ifndef WEIR_COMPUTE_CPU_PRESSURE_H
#define WEIR_COMPUTE_CPU_PRESSURE_H

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

// 1 over the number of open faces of every cell of a brick; 0 in solid cells. `open` is a block tile.
static inline void inverse_faces(float *restrict out, const float *restrict open)
{
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            const float *o = open + B(0, y, z);
            float *to = out + 8 * y + 64 * z;
            LANES
            for (int i = 0; i < 8; i++) {
                float faces = ((o[i - 1] + o[i + 1]) + (o[i - BZ] + o[i + BZ])) + (o[i - BY] + o[i + BY]);
                float inverse = 1.0f / rule_max(faces, 1.0f);
                to[i] = faces > 0.0f ? o[i] * inverse : 0.0f;
            }
        }
    }
}

// R7: sweeps inside one brick with the rim as it is. p and q are block tiles with the same rim; returns the one with the result.
static inline float *smooth_block(float *p, float *q, const float *restrict divergence, const float *restrict inverse,
                                  const float *restrict floor, int sweeps)
{
    for (int k = 0; k < sweeps; k++) {
        const float *restrict from = p;
        float *restrict to = q;
        for (int z = 0; z < 8; z++) {
            for (int y = 0; y < 8; y++) {
                int row = B(0, y, z);
                int cell = 8 * y + 64 * z;
                LANES
                for (int x = 0; x < 8; x++) {
                    int i = row + x;
                    float sum = ((from[i - 1] + from[i + 1]) + (from[i - BZ] + from[i + BZ])) + (from[i - BY] + from[i + BY]);
                    to[i] = rule_smooth(from[i], sum, divergence[cell + x], inverse[cell + x], floor[cell + x]);
                }
            }
        }
        float *swap = p;
        p = q;
        q = swap;
    }
    return p;
}

static inline void store_block(float *restrict out, const float *restrict tile)
{
    for (int z = 0; z < 8; z++)
        for (int y = 0; y < 8; y++) memcpy(out + 8 * y + 64 * z, tile + B(0, y, z), 32);
}

// Open cells and the inverse number of faces of a brick. Far from terrain both are constants.
typedef struct brick_faces {
    const float *open;     // block tile
    const float *inverse;  // 512 cells
} brick_faces;

static brick_faces faces_of_brick(const pass_args *a, cpu_scratch *s, int32_t brick)
{
    if (a->clear[brick]) return (brick_faces){a->ones, a->sixths};
    gather_block_open(s->block[2], a, a->near[brick]);
    inverse_faces(s->brick[0], s->block[2]);
    return (brick_faces){s->block[2], s->brick[0]};
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

// Smooths one brick from one pressure channel to another and notes its active cells.
static void smooth_brick(const pass_args *a, cpu_scratch *s, int32_t brick, float *tile, const float *inverse, float *to)
{
    size_t at = (size_t)brick * BRICK_CELLS;
    const float *divergence = a->divergence + at;
    const float *floor = a->floor + at;
    copy_rim(s->block[1], tile);
    float *p = smooth_block(tile, s->block[1], divergence, inverse, floor, a->smooths);
    store_block(to + at, p);
    for (int z = 0; z < 8; z++) {
        uint64_t bits = 0;
        for (int y = 0; y < 8; y++) bits |= row_above(p + B(0, y, z), floor + 8 * y + 64 * z) << 8 * y;
        a->active[brick].plane[z] = bits;
    }
}

// R6: the floor of the pressure: the head of part-filled cells.
static void floor_brick(const pass_args *a, int32_t brick, const float *p, const float *open, const float *m)
{
    static const int stride[3] = {1, BY, BZ};
    int below = a->down_sign < 0 ? -stride[a->down_axis] : stride[a->down_axis];
    float *floor = a->floor + (size_t)brick * BRICK_CELLS;
    float g = a->head, inverse_g = a->inverse_head;
    for (int z = 0; z < 8; z++) {
        for (int y = 0; y < 8; y++) {
            const float *p_row = p + B(0, y, z) + below;
            const float *o_row = open + B(0, y, z);
            const float *b_row = o_row + below;
            const float *m_row = m + TY * y + TZ * z;
            float *restrict to = floor + 8 * y + 64 * z;
            LANES
            for (int x = 0; x < 8; x++) to[x] = rule_head(m_row[x], p_row[x], 1.0f - b_row[x], o_row[x], g, inverse_g);
        }
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
        gather_block(s->block[0], a->pressure, a->near[brick]);
        if (!wet && block_is_zero(s->block[0])) {
            fill_brick(a->floor, brick, 0.0f);
            rest_brick(a, brick, a->pressure_next);
            continue;
        }
        brick_faces faces = faces_of_brick(a, s, brick);
        floor_brick(a, brick, s->block[0], faces.open, s->m + T(8 * k, 0, 0));
        smooth_brick(a, s, brick, s->block[0], faces.inverse, a->pressure_next);
    }
}

// R7: smoothing alone, from `from` to `to`.
static void smooth_run(const pass_args *a, cpu_scratch *s, const brick_run *r, const float *from, float *to)
{
    for (int k = 0; k < r->count; k++) {
        int32_t brick = r->brick[k];
        gather_block(s->block[0], from, a->near[brick]);
        if (a->dry[brick] && block_is_zero(s->block[0])) {
            rest_brick(a, brick, to);
            continue;
        }
        smooth_brick(a, s, brick, s->block[0], faces_of_brick(a, s, brick).inverse, to);
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
