// Kernels of the coarse levels of the pressure (docs/how-it-works.md, section 3). Part of cpu_kernels.c.
//
// Counts of faces between active cells are taken from bit masks: a plane of a brick is one word, bit x + 8y.
#ifndef WEIR_MOMENTUM_CPU_LEVELS_H
#define WEIR_MOMENTUM_CPU_LEVELS_H

#include "solvers/momentum/coarse.h"
#include "solvers/momentum/cpu_layout.h"
#include "solvers/momentum/cpu_pressure.h"

// Where the cells of an octant begin in their parent's brick.
static inline int octant_start(int o)
{
    assert(o >= 0 && o < 8);
    return 4 * (o & 1) + 32 * (o >> 1 & 1) + 256 * (o >> 2);
}

// A brick of a level that there is; level 0 are the live bricks.
static inline void must_be_on(const momentum_args *a, int32_t l, int32_t brick)
{
    (void)a, (void)l, (void)brick;
    assert(l >= 1 && l <= a->levels->top && brick > BRICK_NOTHING && brick < a->levels->level[l].count);
}

// A brick of level 1 is full if all cells of the live bricks below it, and all beside those, are active. Its operator is then always
// the same, so it is made once and stays: only the right side and the errors change. This is what pyramid_level.flags says.
enum { NOT_FULL, FULL, FULL_AND_MADE };

// Adds 2 x 2 x 2 cells of a brick (or of 8^3 values) into 4 x 4 x 4 cells of the parent.
static inline void sum_octant(float *restrict to, const float *restrict v)
{
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            const float *a = v + 16 * y + 128 * z;
            LANES
            for (int x = 0; x < 4; x++) {
                to[x + 8 * y + 64 * z] = rule_children(COARSE_CUBE(a, 2 * x, 1, 8, 64));
            }
        }
    }
}

// ---- From the live bricks to level 1 ---------------------------------------------------------------------------------------

// A mask as one word per plane, and counts of its bits over 2 x 2 cells of every plane, four bits each:
//
//     bits 16y + 0, 8, 4 and 12: the parent's cells x = 0, 1, 2 and 3 of row y
typedef struct mask_words {
    uint64_t z[8];
} mask_words;

static inline mask_words link_faces(mask_words own, mask_words neighbour)
{
    LANES
    for (int z = 0; z < 8; z++) own.z[z] = rule_link_faces(own.z[z], neighbour.z[z]);
    return own;
}

static inline mask_words border_faces(mask_words own, mask_words neighbour, mask_words neighbour_open)
{
    LANES
    for (int z = 0; z < 8; z++) own.z[z] = rule_border_faces(own.z[z], neighbour.z[z], neighbour_open.z[z]);
    return own;
}

static inline mask_words masked(mask_words a, uint64_t word)
{
    LANES
    for (int z = 0; z < 8; z++) a.z[z] &= word;
    return a;
}

static inline mask_words add_counts(mask_words a, mask_words b)
{
    LANES
    for (int z = 0; z < 8; z++) a.z[z] += b.z[z];
    return a;
}

static inline mask_words count_bits(mask_words p)
{
    const uint64_t rows = UINT64_C(0x00ff00ff00ff00ff);
    LANES
    for (int z = 0; z < 8; z++) {
        uint64_t pairs = (p.z[z] & UINT64_C(0x5555555555555555)) + (p.z[z] >> 1 & UINT64_C(0x5555555555555555));
        uint64_t even = pairs & UINT64_C(0x3333333333333333);
        uint64_t odd = pairs >> 2 & UINT64_C(0x3333333333333333);
        p.z[z] = ((even & rows) + (even >> 8 & rows)) | ((odd & rows) + (odd >> 8 & rows)) << 8;
    }
    return p;
}

// The counts over 2 x 2 x 2 cells, in every other plane.
static inline mask_words add_pairs(mask_words p)
{
    for (int z = 0; z < 8; z += 2) p.z[z] += p.z[z + 1];
    return p;
}

// Each plane's place taken by the one behind it.
static inline mask_words next_planes(mask_words p)
{
    for (int z = 0; z < 7; z++) p.z[z] = p.z[z + 1];
    return p;
}

// 1 where a count is not zero.
static inline mask_words any_of(mask_words p)
{
    LANES
    for (int z = 0; z < 8; z++) p.z[z] = (p.z[z] | p.z[z] >> 1 | p.z[z] >> 2 | p.z[z] >> 3) & UINT64_C(0x1111111111111111);
    return p;
}

static inline mask_words first_thickness(mask_words low_any, mask_words high_any)
{
    LANES
    for (int z = 0; z < 8; z++) low_any.z[z] = rule_first_thickness(low_any.z[z], high_any.z[z]);
    return low_any;
}

static inline mask_words shifted(const mask_view *v, int axis, int step)
{
    mask_words p;
    for (int z = 0; z < 8; z++) p.z[z] = plane_shifted(v, z, axis, step);
    return p;
}

// Writes the counts of every other plane as floats.
static void store_counts(float *to, mask_words p)
{
    static const uint64_t place[16] = {0, 8, 4, 12, 16, 24, 20, 28, 32, 40, 36, 44, 48, 56, 52, 60};
    for (int z = 0; z < 4; z++) {
        float row[16];
        LANES
        for (int i = 0; i < 16; i++) row[i] = (float)(int32_t)(p.z[2 * z] >> place[i] & 15);
        for (int y = 0; y < 4; y++) memcpy(to + PLANE * z + 8 * y, row + 4 * y, 16);
    }
}

// The coarse operator's counts over one live brick.
static void count_brick(const pyramid_level *level, int32_t parent, int octant, mask_view active, mask_view open)
{
    static const int32_t border_channel[3] = {LEVEL_DIAGONAL, LEVEL_ERROR, LEVEL_ERROR_NEXT};
    const uint64_t even_x = COARSE_EVEN_X, even_y = UINT64_C(0x00ff00ff00ff00ff);
    int start = octant_start(octant);
    mask_words own;
    memcpy(&own, active.own->plane, sizeof own);
    for (int axis = 0; axis < 3; axis++) {
        mask_words low = shifted(&active, axis, -1), high = shifted(&active, axis, 1);
        mask_words border = add_counts(count_bits(border_faces(own, low, shifted(&open, axis, -1))),
                                       count_bits(border_faces(own, high, shifted(&open, axis, 1))));
        store_counts(pyramid_cells(level, border_channel[axis], parent) + start, add_pairs(border));
        // Only faces between two of the parent's cells link them.
        mask_words link = link_faces(own, low);
        if (axis < 2)
            link = add_pairs(count_bits(masked(link, axis == 0 ? even_x : even_y)));
        else
            link = count_bits(link);
        store_counts(pyramid_cells(level, LEVEL_LINK_X + axis, parent) + start, link);
    }
    mask_words all = count_bits(own), z_half = any_of(all);
    mask_words x_low = any_of(add_pairs(count_bits(masked(own, even_x))));
    mask_words x_high = any_of(add_pairs(count_bits(masked(own, ~even_x))));
    mask_words y_low = any_of(add_pairs(count_bits(masked(own, even_y))));
    mask_words y_high = any_of(add_pairs(count_bits(masked(own, ~even_y))));
    store_counts(pyramid_cells(level, LEVEL_COUNT, parent) + start, add_pairs(all));
    store_counts(pyramid_cells(level, LEVEL_THICK_X, parent) + start, first_thickness(x_low, x_high));
    store_counts(pyramid_cells(level, LEVEL_THICK_Y, parent) + start, first_thickness(y_low, y_high));
    store_counts(pyramid_cells(level, LEVEL_THICK_Z, parent) + start, first_thickness(z_half, next_planes(z_half)));
}

static void fill_octant(const pyramid_level *level, int32_t channel, int32_t parent, int octant, float value)
{
    float *to = pyramid_cells(level, channel, parent) + octant_start(octant);
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) to[x + 8 * y + 64 * z] = value;
}

// The same counts where every cell, and every cell beside the brick, is active, or none is; `edge` is the number of fine cells along
// the edge of a cell, 0 for none.
static void count_uniform(const pyramid_level *level, int32_t parent, int octant, float edge)
{
    fill_octant(level, LEVEL_LINK_X, parent, octant, edge * edge);
    fill_octant(level, LEVEL_LINK_Y, parent, octant, edge * edge);
    fill_octant(level, LEVEL_LINK_Z, parent, octant, edge * edge);
    fill_octant(level, LEVEL_DIAGONAL, parent, octant, 0.0f);
    fill_octant(level, LEVEL_ERROR, parent, octant, 0.0f);
    fill_octant(level, LEVEL_ERROR_NEXT, parent, octant, 0.0f);
    fill_octant(level, LEVEL_COUNT, parent, octant, edge * edge * edge);
    fill_octant(level, LEVEL_THICK_X, parent, octant, edge);
    fill_octant(level, LEVEL_THICK_Y, parent, octant, edge);
    fill_octant(level, LEVEL_THICK_Z, parent, octant, edge);
}

static inline bool view_full(const mask_view *v)
{
    return mask_full(v->own) && mask_full(v->x0) && mask_full(v->x1) && mask_full(v->y0) && mask_full(v->y1) &&
           mask_full(v->z0) && mask_full(v->z1);
}

// The numbers of open faces of the cells of a brick, as floats; far from terrain that is a constant.
static void faces_of_plane(const momentum_args *a, int32_t brick, const mask_view *open, int z, float faces[PLANE])
{
    static const float number[8] = {0, 1, 2, 3, 4, 5, 6};
    if (a->bricks.clear[brick])
        for (int c = 0; c < PLANE; c++) faces[c] = 6.0f;
    else
        spread_counts(faces, count_neighbours(open, z), number);
}

// The residual of the active cells of a brick; returns the largest.
static float residual_brick(const momentum_args *a, momentum_scratch *s, int32_t brick, const float *pressure,
                            float *restrict out)
{
    gather_brick(s->tile[0], &s->sides[0], pressure, a->bricks.near[brick]);
    mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    float most[PLANE] = {0};
    for (int z = 0; z < 8; z++) {
        const float *restrict p = s->tile[0] + PLANE_AT(z), *restrict d =
                                                                a->divergence + (size_t)brick * BRICK_CELLS + PLANE * z;
        float active[PLANE], faces[PLANE], along_x[PLANE];
        sums_along_x(along_x, p, s->sides[0].low + PLANE * z, s->sides[0].high + PLANE * z);
        spread_flags(active, a->active[brick].plane[z], a->bricks.flags);
        faces_of_plane(a, brick, &open, z, faces);
        LANES
        for (int c = 0; c < PLANE; c++) {
            float left = rule_residual(p[c], SUM_OF_SIX(p, along_x, c), d[c], faces[c], active[c]);
            out[PLANE * z + c] = left;
            most[c] = rule_max(most[c], rule_abs(left));
        }
    }
    float largest = 0;
    for (int c = 0; c < PLANE; c++) largest = rule_max(largest, most[c]);
    must_be_within(out, BRICK_CELLS, FLT_MAX);
    return largest;
}

// Whether all cells below a brick of level 1 and beside them are active.
static bool all_active(const momentum_args *a, const pyramid_level *level, int32_t parent)
{
    for (int o = 0; o < 8; o++) {
        int32_t brick = level->child[parent][o];
        if (brick == BRICK_NOTHING) return false;
        mask_view active = view_mask(a->active, a->bricks.near[brick]);
        if (!view_full(&active)) return false;
    }
    return true;
}

// The counts of the operator over one live brick.
static void count_octant(const momentum_args *a, const pyramid_level *level, int32_t parent, int octant, int32_t brick)
{
    mask_view active = view_mask(a->active, a->bricks.near[brick]);
    if (mask_empty(active.own))
        count_uniform(level, parent, octant, 0.0f);
    else if (view_full(&active))
        count_uniform(level, parent, octant, 2.0f);
    else
        count_brick(level, parent, octant, active, view_mask(a->bricks.open, a->bricks.near[brick]));
}

static float restrict_fine(const momentum_args *a, momentum_scratch *s, int32_t parent)
{
    const pyramid_level *level = &a->levels->level[1];
    must_be_on(a, 1, parent);
    if (!all_active(a, level, parent))
        level->flags[parent] = NOT_FULL;
    else if (level->flags[parent] == NOT_FULL)
        level->flags[parent] = FULL;
    float largest = 0;
    for (int o = 0; o < 8; o++) {
        int32_t brick = level->child[parent][o];
        if (brick == BRICK_NOTHING) continue;
        must_be_live(&a->bricks, brick);
        if (level->flags[parent] != FULL_AND_MADE) count_octant(a, level, parent, o, brick);
        if (mask_empty(&a->active[brick])) {
            fill_octant(level, LEVEL_RIGHT, parent, o, 0.0f);
            continue;
        }
        largest = rule_max(largest, residual_brick(a, s, brick, a->pressure_next, s->brick[1]));
        sum_octant(pyramid_cells(level, LEVEL_RIGHT, parent) + octant_start(o), s->brick[1]);
    }
    return largest;
}

// ---- Between coarse levels -------------------------------------------------------------------------------------------------

// Counts and thickness of an octant of `level` from the brick below it.
static void build_octant(const pyramid_level *lower, int32_t child, const pyramid_level *level, int32_t parent, int octant)
{
    const float *link_x = pyramid_cells(lower, LEVEL_LINK_X, child), *link_y = pyramid_cells(lower, LEVEL_LINK_Y, child);
    const float *link_z = pyramid_cells(lower, LEVEL_LINK_Z, child), *count = pyramid_cells(lower, LEVEL_COUNT, child);
    const float *thick_x = pyramid_cells(lower, LEVEL_THICK_X, child), *thick_y = pyramid_cells(lower, LEVEL_THICK_Y, child);
    const float *thick_z = pyramid_cells(lower, LEVEL_THICK_Z, child);
    int start = octant_start(octant);
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            LANES
            for (int x = 0; x < 4; x++) {
                int c = 2 * x + 16 * y + 128 * z;
                int to = start + x + 8 * y + 64 * z;
                assert(link_x[c] < 0x400000 && link_y[c] < 0x400000 && link_z[c] < 0x400000);
                pyramid_cells(level, LEVEL_LINK_X, parent)[to] = rule_side(COARSE_SIDE(link_x, c, 8, 64));
                pyramid_cells(level, LEVEL_LINK_Y, parent)[to] = rule_side(COARSE_SIDE(link_y, c, 1, 64));
                pyramid_cells(level, LEVEL_LINK_Z, parent)[to] = rule_side(COARSE_SIDE(link_z, c, 1, 8));
                pyramid_cells(level, LEVEL_THICK_X, parent)[to] = COARSE_THICKNESS(thick_x, count, c, 1, 8, 64);
                pyramid_cells(level, LEVEL_THICK_Y, parent)[to] = COARSE_THICKNESS(thick_y, count, c, 8, 1, 64);
                pyramid_cells(level, LEVEL_THICK_Z, parent)[to] = COARSE_THICKNESS(thick_z, count, c, 64, 1, 8);
            }
        }
    }
    sum_octant(pyramid_cells(level, LEVEL_DIAGONAL, parent) + start, pyramid_cells(lower, LEVEL_DIAGONAL, child));
    sum_octant(pyramid_cells(level, LEVEL_ERROR, parent) + start, pyramid_cells(lower, LEVEL_ERROR, child));
    sum_octant(pyramid_cells(level, LEVEL_ERROR_NEXT, parent) + start, pyramid_cells(lower, LEVEL_ERROR_NEXT, child));
    sum_octant(pyramid_cells(level, LEVEL_COUNT, parent) + start, count);
}

static void build_level_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    (void)s;
    must_be_on(a, l, brick);
    assert(l > 1);
    const pyramid_level *level = &a->levels->level[l], *lower = &a->levels->level[l - 1];
    for (int o = 0; o < 8; o++) {
        int32_t child = level->child[brick][o];
        if (child == 0) continue;
        if (lower->flags[child] != NOT_FULL)
            count_uniform(level, brick, o, 4.0f);
        else
            build_octant(lower, child, level, brick, o);
    }
}

// Planes of a coarse brick that have active cells: bit z.
static inline uint32_t active_planes(const pyramid_level *level, int32_t brick)
{
    const float *count = pyramid_cells(level, LEVEL_COUNT, brick);
    static const float none[PLANE] = {0};
    uint32_t planes = 0;
    for (int z = 0; z < 8; z++) planes |= (uint32_t)(plane_above(count + PLANE * z, none) != 0) << z;
    return planes;
}

// Counts of faces become weights.
static void link_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    must_be_on(a, l, brick);
    assert(l == 1 || level->flags[brick] == NOT_FULL);
    if (level->flags[brick] == FULL_AND_MADE || active_planes(level, brick) == 0) return;
    for (int axis = 0; axis < 3; axis++) {
        float *link = pyramid_cells(level, LEVEL_LINK_X + axis, brick);
        const float *thick = level->channel[LEVEL_THICK_X + axis];
        gather_planes(s->tile[0], thick, brick);
        if (axis == 0)
            gather_low(s->sides[0].low, thick, level->near[brick]);
        else
            gather_rows_below(s->tile[0], thick, level->near[brick]);
        for (int z = 0; z < 8; z++) {
            const float *t = s->tile[0] + PLANE_AT(z);
            float neighbour[PLANE];
            if (axis == 0) values_below_x(neighbour, t, s->sides[0].low + PLANE * z);
            const float *restrict t_low = axis == 0 ? neighbour : axis == 1 ? t - PY : t - PZ;
            float *restrict to = link + PLANE * z;
            LANES
            for (int c = 0; c < PLANE; c++) to[c] = rule_link(to[c], t_low[c], t[c]);
        }
    }
}

// The links of a coarse brick's cells: to the cells below, and through the tiles also to those above.
typedef struct brick_links {
    const float *x, *x_above;  // 512 cells
    const float *y, *z;        // brick tiles
} brick_links;

static brick_links gather_links(momentum_scratch *s, const pyramid_level *level, int32_t brick)
{
    const int32_t *near = level->near[brick];
    const float *x = pyramid_cells(level, LEVEL_LINK_X, brick);
    gather_high(s->sides[1].high, level->channel[LEVEL_LINK_X], near);
    gather_planes(s->tile[0], level->channel[LEVEL_LINK_X], brick);
    for (int z = 0; z < 8; z++) values_above_x(s->brick[2] + PLANE * z, s->tile[0] + PLANE_AT(z), s->sides[1].high + PLANE * z);
    for (int axis = 1; axis < 3; axis++) {
        gather_planes(s->tile[1 + axis], level->channel[LEVEL_LINK_X + axis], brick);
        gather_rows_above(s->tile[1 + axis], level->channel[LEVEL_LINK_X + axis], near);
    }
    return (brick_links){x, s->brick[2], s->tile[2], s->tile[3]};
}

// The error of a coarse brick and beyond its sides, into s->tile[0].
static void gather_error(momentum_scratch *s, const pyramid_level *level, int32_t brick)
{
    gather_brick(s->tile[0], &s->sides[0], level->channel[LEVEL_ERROR], level->near[brick]);
}

// The sums over the six neighbours of the cells of plane z, weighted by the links. e is a brick tile.
INLINE void weighted_sums(float *restrict out, const brick_links *links, const float *e, const brick_sides *sides, int z)
{
    float below[PLANE], above[PLANE];
    values_below_x(below, e + PLANE_AT(z), sides->low + PLANE * z);
    values_above_x(above, e + PLANE_AT(z), sides->high + PLANE * z);
    const float *restrict x = links->x + PLANE * z, *restrict x_above = links->x_above + PLANE * z;
    const float *restrict ly = links->y + PLANE_AT(z), *restrict lz = links->z + PLANE_AT(z), *restrict own = e + PLANE_AT(z);
    LANES
    for (int c = 0; c < PLANE; c++)
        out[c] = rule_weighted_sum(x[c], x_above[c], ly[c], ly[c + PY], lz[c], lz[c + PZ], below[c], above[c], own[c - PY],
                                   own[c + PY], own[c - PZ], own[c + PZ]);
}

// Sweeps on one coarse brick with what lies beyond its sides as it is, from s->tile[0]; returns the tile with the result. The error
// is 0 in planes without active cells and stays so.
static const float *sweep_tile(momentum_scratch *s, const brick_links *links, uint32_t planes, const float *right,
                               const float *inverse, int sweeps)
{
    float *from = s->tile[0], *to = s->tile[1];
    memcpy(to, from, sizeof(brick_tile));
    for (int k = 0; k < sweeps; k++) {
        for (int z = 0; z < 8; z++) {
            if (!(planes >> z & 1)) continue;
            float sum[PLANE];
            weighted_sums(sum, links, from, &s->sides[0], z);
            const float *restrict e = from + PLANE_AT(z), *restrict r = right + PLANE * z, *restrict n = inverse + PLANE * z;
            float *restrict out = to + PLANE_AT(z);
            LANES
            for (int c = 0; c < PLANE; c++) out[c] = rule_coarse_smooth(e[c], r[c], sum[c], n[c]);
        }
        float *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static inline void invert(float *restrict out, const float *restrict diagonal)
{
    LANES
    for (int i = 0; i < BRICK_CELLS; i++) out[i] = rule_inverse(diagonal[i]);
}

// Turns the counts of border faces into the diagonal.
static void make_diagonal(const pyramid_level *level, int32_t brick, const brick_links *links)
{
    for (int z = 0; z < 8; z++) {
        float *restrict diagonal = pyramid_cells(level, LEVEL_DIAGONAL, brick) + PLANE * z;
        const float *restrict border_y = pyramid_cells(level, LEVEL_ERROR, brick) + PLANE * z;
        const float *restrict border_z = pyramid_cells(level, LEVEL_ERROR_NEXT, brick) + PLANE * z;
        const float *restrict tx = pyramid_cells(level, LEVEL_THICK_X, brick) + PLANE * z;
        const float *restrict ty = pyramid_cells(level, LEVEL_THICK_Y, brick) + PLANE * z;
        const float *restrict tz = pyramid_cells(level, LEVEL_THICK_Z, brick) + PLANE * z;
        const float *restrict x = links->x + PLANE * z, *restrict x_above = links->x_above + PLANE * z;
        const float *restrict ly = links->y + PLANE_AT(z), *restrict lz = links->z + PLANE_AT(z);
        LANES
        for (int c = 0; c < PLANE; c++) {
            float border_x = rule_border(diagonal[c], tx[c]);
            diagonal[c] = rule_diagonal(border_x, rule_border(border_y[c], ty[c]), rule_border(border_z[c], tz[c]), x[c],
                                        x_above[c], ly[c], ly[c + PY], lz[c], lz[c + PZ]);
        }
    }
}

// On the way down: the diagonal, and the first smoothing from nothing.
static void down_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    must_be_on(a, l, brick);
    float *diagonal = pyramid_cells(level, LEVEL_DIAGONAL, brick);
    float *error = pyramid_cells(level, LEVEL_ERROR, brick);
    uint32_t planes = active_planes(level, brick);
    if (planes == 0) {
        memset(diagonal, 0, BRICK_CELLS * sizeof(float));
        memset(error, 0, BRICK_CELLS * sizeof(float));
        memset(pyramid_cells(level, LEVEL_ERROR_NEXT, brick), 0, BRICK_CELLS * sizeof(float));
        return;
    }
    brick_links links = gather_links(s, level, brick);
    if (level->flags[brick] != FULL_AND_MADE) make_diagonal(level, brick, &links);
    if (level->flags[brick] == FULL) level->flags[brick] = FULL_AND_MADE;
    must_be_within(diagonal, BRICK_CELLS, FLT_MAX);
    if (l == a->levels->top) {
        memset(error, 0, BRICK_CELLS * sizeof(float));
        return;
    }
    invert(s->brick[0], diagonal);
    memset(s->tile[0], 0, sizeof(brick_tile));
    memset(&s->sides[0], 0, sizeof s->sides[0]);
    const float *right = pyramid_cells(level, LEVEL_RIGHT, brick);
    store_planes(error, sweep_tile(s, &links, planes, right, s->brick[0], a->smooths));
}

// What is left on this level goes up to the next.
static void restrict_level_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    const pyramid_level *upper = &a->levels->level[l + 1];
    weir_coord at = level->coord[brick];
    int octant = (at.x & 1) + 2 * (at.y & 1) + 4 * (at.z & 1);
    must_be_on(a, l, brick);
    must_be_on(a, l + 1, level->parent[brick]);
    assert(upper->child[level->parent[brick]][octant] == brick);
    float *to = pyramid_cells(upper, LEVEL_RIGHT, level->parent[brick]) + octant_start(octant);
    if (active_planes(level, brick) == 0) {
        memset(s->brick[1], 0, sizeof s->brick[1]);
        sum_octant(to, s->brick[1]);
        return;
    }
    brick_links links = gather_links(s, level, brick);
    gather_error(s, level, brick);
    for (int z = 0; z < 8; z++) {
        const float *restrict right = pyramid_cells(level, LEVEL_RIGHT, brick) + PLANE * z;
        const float *restrict diagonal = pyramid_cells(level, LEVEL_DIAGONAL, brick) + PLANE * z;
        const float *restrict e = s->tile[0] + PLANE_AT(z);
        float *restrict out = s->brick[1] + PLANE * z;
        float sum[PLANE];
        weighted_sums(sum, &links, s->tile[0], &s->sides[0], z);
        LANES
        for (int c = 0; c < PLANE; c++) out[c] = rule_coarse_residual(right[c], diagonal[c], e[c], sum[c]);
    }
    sum_octant(to, s->brick[1]);
}

// Sweeps on one brick of a level: from ERROR to ERROR_NEXT.
static void smooth_level_sweeps(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick, int sweeps)
{
    const pyramid_level *level = &a->levels->level[l];
    must_be_on(a, l, brick);
    float *to = pyramid_cells(level, LEVEL_ERROR_NEXT, brick);
    uint32_t planes = active_planes(level, brick);
    if (planes == 0) {
        memset(to, 0, BRICK_CELLS * sizeof(float));
        return;
    }
    brick_links links = gather_links(s, level, brick);
    gather_error(s, level, brick);
    invert(s->brick[0], pyramid_cells(level, LEVEL_DIAGONAL, brick));
    store_planes(to, sweep_tile(s, &links, planes, pyramid_cells(level, LEVEL_RIGHT, brick), s->brick[0], sweeps));
    must_be_within(to, BRICK_CELLS, FLT_MAX);
}

// True Jacobi sweeps, for the coarsest level. They see each other's results, so more than one at a time works only on a level of one
// brick: a->sweeps says how many.
static void sweep_level_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    assert(l == a->levels->top && (a->sweeps == 1 || a->levels->level[l].count == 2));
    smooth_level_sweeps(a, s, l, brick, a->sweeps);
}

static void smooth_level_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    smooth_level_sweeps(a, s, l, brick, a->smooths);
}

// ---- Coarse corrections ----------------------------------------------------------------------------------------------------

// The corrections of the 16^3 cells below a coarse brick, octant by octant. The error is in s->tile[0].
static void prolong_brick(momentum_scratch *s, const brick_links *links)
{
    for (int z = 0; z < 8; z++) {
        float below[PLANE], above[PLANE], dy[2][PLANE], dz[2][PLANE];
        const float *restrict e = s->tile[0] + PLANE_AT(z);
        const float *restrict x = links->x + PLANE * z, *restrict x_above = links->x_above + PLANE * z;
        const float *restrict ly = links->y + PLANE_AT(z), *restrict lz = links->z + PLANE_AT(z);
        values_below_x(below, e, s->sides[0].low + PLANE * z);
        values_above_x(above, e, s->sides[0].high + PLANE * z);
        LANES
        for (int c = 0; c < PLANE; c++) {
            below[c] = rule_towards(e[c], below[c], x[c]);
            above[c] = rule_towards(e[c], above[c], x_above[c]);
            dy[0][c] = rule_towards(e[c], e[c - PY], ly[c]);
            dy[1][c] = rule_towards(e[c], e[c + PY], ly[c + PY]);
            dz[0][c] = rule_towards(e[c], e[c - PZ], lz[c]);
            dz[1][c] = rule_towards(e[c], e[c + PZ], lz[c + PZ]);
        }
        for (int half = 0; half < 4; half++) {
            float row[2 * PLANE];
            const float *restrict y_side = dy[half & 1], *restrict z_side = dz[half >> 1];
            LANES
            for (int c = 0; c < PLANE; c++) {
                row[2 * c] = rule_prolong(e[c], below[c], y_side[c], z_side[c]);
                row[2 * c + 1] = rule_prolong(e[c], above[c], y_side[c], z_side[c]);
            }
            for (int y = 0; y < 8; y++) {
                int octant = 2 * (y >> 2) + 4 * (z >> 2);
                int cell = 8 * (2 * (y & 3) + (half & 1)) + PLANE * (2 * (z & 3) + (half >> 1));
                memcpy(s->correction[octant] + cell, row + 16 * y, 32);
                memcpy(s->correction[octant + 1] + cell, row + 16 * y + 8, 32);
            }
        }
    }
}

// Brings the error of a brick of level l down to the bricks below it.
static void up_brick(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    const pyramid_level *lower = &a->levels->level[l - 1];
    must_be_on(a, l, brick);
    assert(l > 1);
    if (active_planes(level, brick) == 0) return;
    brick_links links = gather_links(s, level, brick);
    gather_error(s, level, brick);
    prolong_brick(s, &links);
    for (int o = 0; o < 8; o++) {
        int32_t child = level->child[brick][o];
        if (child == 0) continue;
        const float *restrict correction = s->correction[o];
        float *restrict error = pyramid_cells(lower, LEVEL_ERROR, child);
        const float *restrict diagonal = pyramid_cells(lower, LEVEL_DIAGONAL, child);
        LANES
        for (int i = 0; i < BRICK_CELLS; i++) error[i] = rule_coarse_correct(error[i], correction[i], diagonal[i]);
    }
}

// The same for the live bricks: only active cells are corrected, and the floor is kept.
static void correct_fine(const momentum_args *a, momentum_scratch *s, int32_t l, int32_t brick)
{
    const pyramid_level *level = &a->levels->level[l];
    if (active_planes(level, brick) == 0) return;
    brick_links links = gather_links(s, level, brick);
    gather_error(s, level, brick);
    prolong_brick(s, &links);
    for (int o = 0; o < 8; o++) {
        int32_t child = level->child[brick][o];
        if (child == BRICK_NOTHING || mask_empty(&a->active[child])) continue;
        must_be_live(&a->bricks, child);
        for (int z = 0; z < 8; z++) {
            size_t at = (size_t)child * BRICK_CELLS + (size_t)(PLANE * z);
            float *restrict p = a->pressure_next + at;
            const float *restrict floor = a->floor + at, *restrict correction = s->correction[o] + PLANE * z;
            float active[PLANE];
            spread_flags(active, a->active[child].plane[z], a->bricks.flags);
            LANES
            for (int c = 0; c < PLANE; c++) p[c] = rule_correct(p[c], correction[c], active[c] > 0.0f, floor[c]);
        }
    }
}

#endif
