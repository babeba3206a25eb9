// Kernels of the coarse levels of the pressure (docs/how-it-works.md, "R7 as a V-cycle"). Part of cpu_kernels.c.
//
// Counts of faces between active cells are taken from bit masks: a plane of a brick is one word, bit x + 8y.
#ifndef WEIR_COMPUTE_CPU_LEVELS_H
#define WEIR_COMPUTE_CPU_LEVELS_H

#include "compute/cpu_pressure.h"
#include "rules/coarse.h"

// Where the cells of an octant begin in their parent's brick.
static inline int octant_start(int o)
{
    return 4 * (o & 1) + 32 * (o >> 1 & 1) + 256 * (o >> 2);
}

// Sum over eight children, paired on the x-z diagonals so that mirroring in x and z and swapping them changes no bit.
#define SUM_8(v000, v100, v010, v110, v001, v101, v011, v111) \
    (((v000 + v101) + (v100 + v001)) + ((v010 + v111) + (v110 + v011)))

// Adds 2 x 2 x 2 cells of a brick (or of 8^3 values) into 4 x 4 x 4 cells of the parent.
static inline void sum_octant(float *restrict to, const float *restrict v)
{
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            const float *a = v + 16 * y + 128 * z;
            LANES
            for (int x = 0; x < 4; x++) {
                const float *c = a + 2 * x;
                to[x + 8 * y + 64 * z] = SUM_8(c[0], c[1], c[8], c[9], c[64], c[65], c[72], c[73]);
            }
        }
    }
}

// ---- From the live bricks to level 1 ---------------------------------------------------------------------------------------

// Counts of 2 x 2 bits of two planes: nibbles of the even rows; `even` has the cells x = 0, 2 of the parent, `odd` 1, 3.
typedef struct counts {
    uint64_t even, odd;
} counts;

static inline counts count_bits(counts c, uint64_t bits)
{
    const uint64_t rows = UINT64_C(0x00ff00ff00ff00ff);
    uint64_t pairs = (bits & UINT64_C(0x5555555555555555)) + (bits >> 1 & UINT64_C(0x5555555555555555));
    uint64_t even = pairs & UINT64_C(0x3333333333333333);
    uint64_t odd = pairs >> 2 & UINT64_C(0x3333333333333333);
    c.even += (even & rows) + (even >> 8 & rows);
    c.odd += (odd & rows) + (odd >> 8 & rows);
    return c;
}

// Writes the counts of one z of the parent as floats.
static inline void store_counts(float *to, counts c)
{
    for (int y = 0; y < 4; y++) {
        uint32_t even = (uint32_t)(c.even >> 16 * y);
        uint32_t odd = (uint32_t)(c.odd >> 16 * y);
        to[8 * y + 0] = (float)(int)(even & 15);
        to[8 * y + 1] = (float)(int)(odd & 15);
        to[8 * y + 2] = (float)(int)(even >> 4 & 15);
        to[8 * y + 3] = (float)(int)(odd >> 4 & 15);
    }
}

// 1 where any of a group of bits is set, at the group's place in `counts`: thickness is the number of halves that are not empty.
static inline counts any_of(counts c)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    c.even = (c.even | c.even >> 1 | c.even >> 2 | c.even >> 3) & ones;
    c.odd = (c.odd | c.odd >> 1 | c.odd >> 2 | c.odd >> 3) & ones;
    return c;
}

static inline counts add_counts(counts a, counts b)
{
    return (counts){a.even + b.even, a.odd + b.odd};
}

// The coarse operator's counts over one live brick, for two planes 2z and 2z+1 at a time.
static void count_brick(const pyramid_level *level, int32_t parent, int octant, mask_view active, mask_view open)
{
    int start = octant_start(octant);
    const uint64_t even_x = UINT64_C(0x5555555555555555), even_y = UINT64_C(0x00ff00ff00ff00ff);
    for (int z = 0; z < 4; z++) {
        counts link[3] = {{0, 0}, {0, 0}, {0, 0}}, border[3] = {{0, 0}, {0, 0}, {0, 0}};
        counts all = {0, 0}, x_low = all, x_high = all, y_low = all, y_high = all, half[2] = {all, all};
        for (int k = 0; k < 2; k++) {
            int plane = 2 * z + k;
            uint64_t a = active.own->plane[plane];
            for (int axis = 0; axis < 3; axis++) {
                uint64_t a_low = plane_shifted(&active, plane, axis, -1), a_high = plane_shifted(&active, plane, axis, 1);
                uint64_t o_low = plane_shifted(&open, plane, axis, -1), o_high = plane_shifted(&open, plane, axis, 1);
                border[axis] = count_bits(border[axis], a & o_low & ~a_low);
                border[axis] = count_bits(border[axis], a & o_high & ~a_high);
                uint64_t crossing = axis == 0 ? even_x : axis == 1 ? even_y : k == 0 ? ~UINT64_C(0) : 0;
                link[axis] = count_bits(link[axis], a & a_low & crossing);
            }
            all = count_bits(all, a);
            x_low = count_bits(x_low, a & even_x);
            x_high = count_bits(x_high, a & ~even_x);
            y_low = count_bits(y_low, a & even_y);
            y_high = count_bits(y_high, a & ~even_y);
            half[k] = count_bits(half[k], a);
        }
        static const pyramid_channel link_channel[3] = {PYRAMID_LINK_X, PYRAMID_LINK_Y, PYRAMID_LINK_Z};
        static const pyramid_channel border_channel[3] = {PYRAMID_DIAGONAL, PYRAMID_ERROR, PYRAMID_ERROR_NEXT};
        int to = start + 64 * z;
        for (int axis = 0; axis < 3; axis++) {
            store_counts(pyramid_cells(level, link_channel[axis], parent) + to, link[axis]);
            store_counts(pyramid_cells(level, border_channel[axis], parent) + to, border[axis]);
        }
        store_counts(pyramid_cells(level, PYRAMID_COUNT, parent) + to, all);
        store_counts(pyramid_cells(level, PYRAMID_THICK_X, parent) + to, add_counts(any_of(x_low), any_of(x_high)));
        store_counts(pyramid_cells(level, PYRAMID_THICK_Y, parent) + to, add_counts(any_of(y_low), any_of(y_high)));
        store_counts(pyramid_cells(level, PYRAMID_THICK_Z, parent) + to, add_counts(any_of(half[0]), any_of(half[1])));
    }
}

static void fill_octant(const pyramid_level *level, pyramid_channel channel, int32_t parent, int octant, float value)
{
    float *to = pyramid_cells(level, channel, parent) + octant_start(octant);
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) to[x + 8 * y + 64 * z] = value;
}

// The same counts where every cell, and every cell beside the brick, is active; or none is.
static void count_uniform(const pyramid_level *level, int32_t parent, int octant, bool full)
{
    fill_octant(level, PYRAMID_LINK_X, parent, octant, full ? 4.0f : 0.0f);
    fill_octant(level, PYRAMID_LINK_Y, parent, octant, full ? 4.0f : 0.0f);
    fill_octant(level, PYRAMID_LINK_Z, parent, octant, full ? 4.0f : 0.0f);
    fill_octant(level, PYRAMID_DIAGONAL, parent, octant, 0.0f);
    fill_octant(level, PYRAMID_ERROR, parent, octant, 0.0f);
    fill_octant(level, PYRAMID_ERROR_NEXT, parent, octant, 0.0f);
    fill_octant(level, PYRAMID_COUNT, parent, octant, full ? 8.0f : 0.0f);
    fill_octant(level, PYRAMID_THICK_X, parent, octant, full ? 2.0f : 0.0f);
    fill_octant(level, PYRAMID_THICK_Y, parent, octant, full ? 2.0f : 0.0f);
    fill_octant(level, PYRAMID_THICK_Z, parent, octant, full ? 2.0f : 0.0f);
}

static inline bool view_full(const mask_view *v)
{
    return mask_full(v->own) && mask_full(v->x0) && mask_full(v->x1) && mask_full(v->y0) && mask_full(v->y1) &&
           mask_full(v->z0) && mask_full(v->z1);
}

// The numbers of open faces of the cells of a brick, as floats; far from terrain that is a constant.
static void faces_of_plane(const pass_args *a, int32_t brick, const mask_view *open, int z, float faces[PLANE])
{
    static const float number[8] = {0, 1, 2, 3, 4, 5, 6};
    if (a->clear[brick])
        for (int c = 0; c < PLANE; c++) faces[c] = 6.0f;
    else
        spread_counts(faces, count_neighbours(open, z), number);
}

// The residual of the active cells of a brick; returns the largest.
static float residual_brick(const pass_args *a, cpu_scratch *s, int32_t brick, float *restrict out)
{
    gather_brick(s->tile[0], &s->sides[0], a->pressure_next, a->near[brick]);
    mask_view open = view_mask(a->open, a->near[brick]);
    float most[PLANE] = {0};
    for (int z = 0; z < 8; z++) {
        const float *restrict p = s->tile[0] + P(z), *restrict d = a->divergence + (size_t)brick * BRICK_CELLS + PLANE * z;
        float active[PLANE], faces[PLANE], along_x[PLANE];
        sums_along_x(along_x, p, s->sides[0].low + PLANE * z, s->sides[0].high + PLANE * z);
        spread_flags(active, a->active[brick].plane[z], a->flags);
        faces_of_plane(a, brick, &open, z, faces);
        LANES
        for (int c = 0; c < PLANE; c++) {
            float left = active[c] * (d[c] + SUM_OF_SIX(p, along_x, c) - faces[c] * p[c]);
            out[PLANE * z + c] = left;
            most[c] = rule_max(most[c], rule_abs(left));
        }
    }
    float largest = 0;
    for (int c = 0; c < PLANE; c++) largest = rule_max(largest, most[c]);
    return largest;
}

static float restrict_fine(const pass_args *a, cpu_scratch *s, int32_t parent)
{
    const pyramid_level *level = &a->levels->level[1];
    float largest = 0;
    for (int o = 0; o < 8; o++) {
        int32_t brick = level->child[parent][o];
        if (brick == BRICK_NOTHING) continue;
        if (mask_empty(&a->active[brick])) {
            count_uniform(level, parent, o, false);
            fill_octant(level, PYRAMID_RIGHT, parent, o, 0.0f);
            continue;
        }
        mask_view active = view_mask(a->active, a->near[brick]);
        if (view_full(&active))
            count_uniform(level, parent, o, true);
        else
            count_brick(level, parent, o, active, view_mask(a->open, a->near[brick]));
        largest = rule_max(largest, residual_brick(a, s, brick, s->brick[1]));
        sum_octant(pyramid_cells(level, PYRAMID_RIGHT, parent) + octant_start(o), s->brick[1]);
    }
    return largest;
}

static inline void store_block(float *restrict out, const float *restrict tile)
{
    for (int z = 0; z < 8; z++)
        for (int y = 0; y < 8; y++) memcpy(out + 8 * y + 64 * z, tile + B(0, y, z), 32);
}

// ---- Between coarse levels -------------------------------------------------------------------------------------------------

// Counts and thickness of an octant of `level` from the brick below it.
static void build_octant(const pyramid_level *lower, int32_t child, const pyramid_level *level, int32_t parent, int octant)
{
    const float *link_x = pyramid_cells(lower, PYRAMID_LINK_X, child), *link_y = pyramid_cells(lower, PYRAMID_LINK_Y, child);
    const float *link_z = pyramid_cells(lower, PYRAMID_LINK_Z, child), *count = pyramid_cells(lower, PYRAMID_COUNT, child);
    const float *thick_x = pyramid_cells(lower, PYRAMID_THICK_X, child),
                *thick_y = pyramid_cells(lower, PYRAMID_THICK_Y, child);
    const float *thick_z = pyramid_cells(lower, PYRAMID_THICK_Z, child);
    int start = octant_start(octant);
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            LANES
            for (int x = 0; x < 4; x++) {
                int c = 2 * x + 16 * y + 128 * z;
                int to = start + x + 8 * y + 64 * z;
                // Links are whole numbers below 2^24 on any level that fits a world, so the order of sums does not matter.
                pyramid_cells(level, PYRAMID_LINK_X, parent)[to] =
                    (link_x[c] + link_x[c + 8]) + (link_x[c + 64] + link_x[c + 72]);
                pyramid_cells(level, PYRAMID_LINK_Y, parent)[to] =
                    (link_y[c] + link_y[c + 1]) + (link_y[c + 64] + link_y[c + 65]);
                pyramid_cells(level, PYRAMID_LINK_Z, parent)[to] =
                    (link_z[c] + link_z[c + 1]) + (link_z[c + 8] + link_z[c + 9]);
#define WEIGHED(t, i) (t[i] * count[i])
                pyramid_cells(level, PYRAMID_THICK_X, parent)[to] = rule_thickness(
                    (WEIGHED(thick_x, c) + WEIGHED(thick_x, c + 72)) + (WEIGHED(thick_x, c + 8) + WEIGHED(thick_x, c + 64)),
                    (count[c] + count[c + 72]) + (count[c + 8] + count[c + 64]),
                    (WEIGHED(thick_x, c + 1) + WEIGHED(thick_x, c + 73)) + (WEIGHED(thick_x, c + 9) + WEIGHED(thick_x, c + 65)),
                    (count[c + 1] + count[c + 73]) + (count[c + 9] + count[c + 65]));
                pyramid_cells(level, PYRAMID_THICK_Y, parent)[to] = rule_thickness(
                    (WEIGHED(thick_y, c) + WEIGHED(thick_y, c + 65)) + (WEIGHED(thick_y, c + 1) + WEIGHED(thick_y, c + 64)),
                    (count[c] + count[c + 65]) + (count[c + 1] + count[c + 64]),
                    (WEIGHED(thick_y, c + 8) + WEIGHED(thick_y, c + 73)) + (WEIGHED(thick_y, c + 9) + WEIGHED(thick_y, c + 72)),
                    (count[c + 8] + count[c + 73]) + (count[c + 9] + count[c + 72]));
                pyramid_cells(level, PYRAMID_THICK_Z, parent)[to] = rule_thickness(
                    (WEIGHED(thick_z, c) + WEIGHED(thick_z, c + 9)) + (WEIGHED(thick_z, c + 1) + WEIGHED(thick_z, c + 8)),
                    (count[c] + count[c + 9]) + (count[c + 1] + count[c + 8]),
                    (WEIGHED(thick_z, c + 64) + WEIGHED(thick_z, c + 73)) +
                        (WEIGHED(thick_z, c + 65) + WEIGHED(thick_z, c + 72)),
                    (count[c + 64] + count[c + 73]) + (count[c + 65] + count[c + 72]));
#undef WEIGHED
            }
        }
    }
    sum_octant(pyramid_cells(level, PYRAMID_DIAGONAL, parent) + start, pyramid_cells(lower, PYRAMID_DIAGONAL, child));
    sum_octant(pyramid_cells(level, PYRAMID_ERROR, parent) + start, pyramid_cells(lower, PYRAMID_ERROR, child));
    sum_octant(pyramid_cells(level, PYRAMID_ERROR_NEXT, parent) + start, pyramid_cells(lower, PYRAMID_ERROR_NEXT, child));
    sum_octant(pyramid_cells(level, PYRAMID_COUNT, parent) + start, count);
}

static void build_level_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    (void)s;
    const pyramid_level *level = &a->levels->level[l];
    for (int o = 0; o < 8; o++)
        if (level->child[brick][o] != 0) build_octant(&a->levels->level[l - 1], level->child[brick][o], level, brick, o);
}

// Rows of a coarse brick that have active cells: bit y + 8z.
static inline uint64_t active_rows(const pyramid_level *level, int32_t brick)
{
    const float *count = pyramid_cells(level, PYRAMID_COUNT, brick);
    static const float none[8] = {0};
    uint64_t rows = 0;
    for (int row = 0; row < 64; row++) rows |= (uint64_t)(row_above(count + 8 * row, none) != 0) << row;
    return rows;
}

// Counts of faces become weights.
static void link_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    if (active_rows(level, brick) == 0) return;
    static const int stride[3] = {1, BY, BZ};
    for (int axis = 0; axis < 3; axis++) {
        float *link = pyramid_cells(level, (pyramid_channel)(PYRAMID_LINK_X + axis), brick);
        float *t = s->block[0];
        gather_block(t, level->channel[PYRAMID_THICK_X + axis], level->near[brick]);
        for (int row = 0; row < 64; row++) {
            const float *at = t + B(0, row & 7, row >> 3);
            const float *low = at - stride[axis];
            float *to = link + 8 * row;
            LANES
            for (int x = 0; x < 8; x++) to[x] = rule_link(to[x], low[x], at[x]);
        }
    }
}

// The six weighted neighbours of a cell; e and the links are block tiles.
#define WEIGHTED_SUM(e, lx, ly, lz, i)                                                                    \
    (((lx[i] * e[(i)-1] + lx[(i) + 1] * e[(i) + 1]) + (lz[i] * e[(i)-BZ] + lz[(i) + BZ] * e[(i) + BZ])) + \
     (ly[i] * e[(i)-BY] + ly[(i) + BY] * e[(i) + BY]))

static void gather_links(cpu_scratch *s, const pyramid_level *level, int32_t brick)
{
    for (int axis = 0; axis < 3; axis++)
        gather_block(s->block[4 + axis], level->channel[PYRAMID_LINK_X + axis], level->near[brick]);
}

// Sweeps on one coarse brick with its rim as it is, from s->block[0]; returns the tile with the result. The error is 0 in rows
// without active cells and stays so.
static const float *sweep_block(cpu_scratch *s, uint64_t rows, const float *restrict right, const float *restrict inverse,
                                int sweeps)
{
    float *p = s->block[0], *q = s->block[1];
    const float *lx = s->block[4], *ly = s->block[5], *lz = s->block[6];
    for (int k = 0; k < sweeps; k++) {
        const float *restrict e = p;
        float *restrict to = q;
        for (uint64_t left = rows; left; left &= left - 1) {
            int k_row = __builtin_ctzll(left);
            int row = B(0, k_row & 7, k_row >> 3);
            int cell = 8 * k_row;
            LANES
            for (int x = 0; x < 8; x++) {
                int i = row + x;
                to[i] = rule_coarse_smooth(e[i], right[cell + x], WEIGHTED_SUM(e, lx, ly, lz, i), inverse[cell + x]);
            }
        }
        float *swap = p;
        p = q;
        q = swap;
    }
    return p;
}

static inline void invert(float *restrict out, const float *restrict diagonal)
{
    LANES
    for (int i = 0; i < BRICK_CELLS; i++) out[i] = rule_inverse(diagonal[i]);
}

// On the way down: the diagonal, and the first smoothing from nothing.
static void down_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    float *diagonal = pyramid_cells(level, PYRAMID_DIAGONAL, brick);
    float *error = pyramid_cells(level, PYRAMID_ERROR, brick);
    float *border_z = pyramid_cells(level, PYRAMID_ERROR_NEXT, brick);
    uint64_t rows = active_rows(level, brick);
    if (rows == 0) {
        memset(diagonal, 0, BRICK_CELLS * sizeof(float));
        memset(error, 0, BRICK_CELLS * sizeof(float));
        memset(border_z, 0, BRICK_CELLS * sizeof(float));
        return;
    }
    const float *tx = pyramid_cells(level, PYRAMID_THICK_X, brick), *ty = pyramid_cells(level, PYRAMID_THICK_Y, brick);
    const float *tz = pyramid_cells(level, PYRAMID_THICK_Z, brick);
    gather_links(s, level, brick);
    const float *lx = s->block[4], *ly = s->block[5], *lz = s->block[6];
    for (int row = 0; row < 64; row++) {
        LANES
        for (int x = 0; x < 8; x++) {
            int c = 8 * row + x;
            int i = B(0, row & 7, row >> 3) + x;
            float border = (rule_border(diagonal[c], tx[c]) + rule_border(border_z[c], tz[c])) + rule_border(error[c], ty[c]);
            diagonal[c] = border + (((lx[i] + lx[i + 1]) + (lz[i] + lz[i + BZ])) + (ly[i] + ly[i + BY]));
        }
    }
    invert(s->brick[0], diagonal);
    memset(s->block[0], 0, 2 * sizeof(block_tile));
    bool coarsest = l == a->levels->top;
    const float *e = sweep_block(s, rows, pyramid_cells(level, PYRAMID_RIGHT, brick), s->brick[0], coarsest ? 0 : a->smooths);
    store_block(error, e);
}

// What is left on this level goes up to the next.
static void restrict_level_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    const pyramid_level *upper = &a->levels->level[l + 1];
    weir_coord c = level->coord[brick];
    int octant = (c.x & 1) + 2 * (c.y & 1) + 4 * (c.z & 1);
    float *to = pyramid_cells(upper, PYRAMID_RIGHT, level->parent[brick]) + octant_start(octant);
    if (active_rows(level, brick) == 0) {
        memset(s->brick[1], 0, sizeof s->brick[1]);
        sum_octant(to, s->brick[1]);
        return;
    }
    const float *right = pyramid_cells(level, PYRAMID_RIGHT, brick), *diagonal = pyramid_cells(level, PYRAMID_DIAGONAL, brick);
    gather_links(s, level, brick);
    gather_block(s->block[0], level->channel[PYRAMID_ERROR], level->near[brick]);
    const float *e = s->block[0], *lx = s->block[4], *ly = s->block[5], *lz = s->block[6];
    for (int row = 0; row < 64; row++) {
        LANES
        for (int x = 0; x < 8; x++) {
            int k = 8 * row + x;
            int i = B(0, row & 7, row >> 3) + x;
            float left = right[k] - diagonal[k] * e[i] + WEIGHTED_SUM(e, lx, ly, lz, i);
            s->brick[1][k] = diagonal[k] > COARSE_LEAST ? left : 0.0f;
        }
    }
    sum_octant(to, s->brick[1]);
}

// Sweeps on one brick of a level: from ERROR to ERROR_NEXT.
static void smooth_level_sweeps(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick, int sweeps)
{
    const pyramid_level *level = &a->levels->level[l];
    float *to = pyramid_cells(level, PYRAMID_ERROR_NEXT, brick);
    uint64_t rows = active_rows(level, brick);
    if (rows == 0) {
        memset(to, 0, BRICK_CELLS * sizeof(float));
        return;
    }
    gather_links(s, level, brick);
    gather_block(s->block[0], level->channel[PYRAMID_ERROR], level->near[brick]);
    memcpy(s->block[1], s->block[0], sizeof(block_tile));
    invert(s->brick[0], pyramid_cells(level, PYRAMID_DIAGONAL, brick));
    store_block(to, sweep_block(s, rows, pyramid_cells(level, PYRAMID_RIGHT, brick), s->brick[0], sweeps));
}

// True Jacobi sweeps, for the coarsest level. They see each other's results, so more than one at a time works only on a level of one
// brick: a->sweeps says how many.
static void sweep_level_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    smooth_level_sweeps(a, s, l, brick, a->sweeps);
}

static void smooth_level_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    smooth_level_sweeps(a, s, l, brick, a->smooths);
}

// ---- Coarse corrections ----------------------------------------------------------------------------------------------------

// The correction of the 8^3 cells below an octant, from a block tile of the coarse error and the links.
static void prolong_octant(const cpu_scratch *s, int octant, float *restrict out)
{
    const float *e = s->block[0], *lx = s->block[4], *ly = s->block[5], *lz = s->block[6];
    int x0 = 4 * (octant & 1), y0 = 4 * (octant >> 1 & 1), z0 = 4 * (octant >> 2);
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            int i = B(x0, y0 + y, z0 + z);
            float x_low[4], x_high[4], y_side[2][4], z_side[2][4];
            LANES
            for (int x = 0; x < 4; x++) {
                int k = i + x;
                x_low[x] = rule_towards(e[k], e[k - 1], lx[k]);
                x_high[x] = rule_towards(e[k], e[k + 1], lx[k + 1]);
                y_side[0][x] = rule_towards(e[k], e[k - BY], ly[k]);
                y_side[1][x] = rule_towards(e[k], e[k + BY], ly[k + BY]);
                z_side[0][x] = rule_towards(e[k], e[k - BZ], lz[k]);
                z_side[1][x] = rule_towards(e[k], e[k + BZ], lz[k + BZ]);
            }
            for (int half = 0; half < 4; half++) {
                const float *dy = y_side[half & 1], *dz = z_side[half >> 1];
                float *row = out + 8 * (2 * y + (half & 1)) + 64 * (2 * z + (half >> 1));
                LANES
                for (int x = 0; x < 4; x++) {
                    row[2 * x] = rule_prolong(e[i + x], x_low[x], dy[x], dz[x]);
                    row[2 * x + 1] = rule_prolong(e[i + x], x_high[x], dy[x], dz[x]);
                }
            }
        }
    }
}

static void gather_errors(cpu_scratch *s, const pyramid_level *level, int32_t brick)
{
    gather_links(s, level, brick);
    gather_block(s->block[0], level->channel[PYRAMID_ERROR], level->near[brick]);
}

// Brings the error of a brick of level l down to the bricks below it.
static void up_brick(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    const pyramid_level *lower = &a->levels->level[l - 1];
    if (active_rows(level, brick) == 0) return;
    gather_errors(s, level, brick);
    for (int o = 0; o < 8; o++) {
        int32_t child = level->child[brick][o];
        if (child == 0) continue;
        prolong_octant(s, o, s->brick[0]);
        float *error = pyramid_cells(lower, PYRAMID_ERROR, child);
        const float *diagonal = pyramid_cells(lower, PYRAMID_DIAGONAL, child);
        LANES
        for (int i = 0; i < BRICK_CELLS; i++) error[i] += diagonal[i] > COARSE_LEAST ? s->brick[0][i] : 0.0f;
    }
}

// The same for the live bricks: only active cells are corrected, and the floor is kept.
static void correct_fine(const pass_args *a, cpu_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    if (active_rows(level, brick) == 0) return;
    gather_errors(s, level, brick);
    for (int o = 0; o < 8; o++) {
        int32_t child = level->child[brick][o];
        if (child == BRICK_NOTHING || mask_empty(&a->active[child])) continue;
        prolong_octant(s, o, s->brick[0]);
        float *p = a->pressure_next + (size_t)child * BRICK_CELLS;
        const float *floor = a->floor + (size_t)child * BRICK_CELLS;
        for (int row = 0; row < 64; row++) {
            const float *active = a->flags[a->active[child].plane[row >> 3] >> 8 * (row & 7) & 255];
            LANES
            for (int x = 0; x < 8; x++) {
                int i = 8 * row + x;
                p[i] = rule_max(floor[i], p[i] + active[x] * s->brick[0][i]);
            }
        }
    }
}

#endif
