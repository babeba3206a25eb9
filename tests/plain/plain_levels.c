// The coarse levels of the pressure (docs/how-it-works.md, section 3): each level is a grid of its own, made anew for every cycle.
//
// A cell of level k stands for 2 x 2 x 2 cells of level k - 1: its coordinate is theirs, halved and rounded down. Its bricks are those that
// have a brick of the level below in them.
#include "plain/plain.h"

#include <stdlib.h>
#include <string.h>

enum { LEVELS = 32, LAST_LEVELS = 3, COARSEST_SWEEPS = 32 };

#define LEAST_DIAGONAL 1e-6f

typedef struct level {
    plain_grid grid;
    float *faces[3];   // open faces between active fine cells, across the low side of a cell
    float *border[3];  // faces between an active fine cell and an open one that is not
    float *thick[3];   // active fine cells along an axis, on average
    float *count;      // active fine cells
    float *link[3], *diagonal, *right, *error, *next;
} level;

static float **level_floats(level *l, int32_t k)
{
    float **const floats[] = {&l->faces[0], &l->faces[1], &l->faces[2], &l->border[0], &l->border[1], &l->border[2],
                              &l->thick[0], &l->thick[1], &l->thick[2], &l->link[0],   &l->link[1],   &l->link[2],
                              &l->count,    &l->diagonal, &l->right,    &l->error,     &l->next};
    return k < (int32_t)(sizeof floats / sizeof floats[0]) ? floats[k] : NULL;
}

static void free_level(level *l)
{
    float **each;
    for (int32_t k = 0; (each = level_floats(l, k)); k++) free(*each);
    plain_grid_free(&l->grid);
}

// The level above a grid, with its bricks and nothing in them. It reaches a brick further than those on every side.
static void make_level(level *l, const plain_grid *below)
{
    int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN}, size[3];
    for (int32_t b = 0; b < below->bricks; b++) {
        const weir_coord c = plain_at(below, below->brick[b]);
        const int32_t at[3] = {c.x >> 4, c.y >> 4, c.z >> 4};
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] < low[axis]) low[axis] = at[axis];
            if (at[axis] > high[axis]) high[axis] = at[axis];
        }
    }
    for (int axis = 0; axis < 3; axis++) size[axis] = 8 * (high[axis] - low[axis] + 3);
    *l = (level){.count = NULL};
    plain_grid_make(&l->grid, (weir_coord){8 * (low[0] - 1), 8 * (low[1] - 1), 8 * (low[2] - 1)}, size);
    for (int32_t b = 0; b < below->bricks; b++) {
        weir_coord c = plain_at(below, below->brick[b]);
        l->grid.live[plain_brick_of(&l->grid, plain_index(&l->grid, (weir_coord){c.x >> 1, c.y >> 1, c.z >> 1}))] = 1;
    }
    plain_grid_list(&l->grid);
    float **each;
    for (int32_t k = 0; (each = level_floats(l, k)); k++) *each = calloc((size_t)l->grid.all_cells, sizeof(float));
}

// The cell of the level above in which a cell lies.
static int64_t parent_of(const plain_grid *above, const plain_grid *below, int64_t i)
{
    weir_coord c = plain_at(below, i);
    return plain_index(above, (weir_coord){c.x >> 1, c.y >> 1, c.z >> 1});
}

// The first of the eight cells of the level below.
static int64_t children_of(const plain_grid *above, const plain_grid *below, int64_t i)
{
    weir_coord c = plain_at(above, i);
    return plain_index(below, (weir_coord){2 * c.x, 2 * c.y, 2 * c.z});
}

// Whether a cell of level k has cells below it: its octant has a brick.
static bool has_children(const plain_grid *above, const plain_grid *below, int64_t i)
{
    int64_t first = children_of(above, below, i);
    weir_coord c = plain_at(above, i);
    const int32_t at[3] = {2 * c.x - below->low.x, 2 * c.y - below->low.y, 2 * c.z - below->low.z};
    for (int axis = 0; axis < 3; axis++)
        if (at[axis] < 0 || at[axis] >= below->size[axis]) return false;
    return below->live[plain_brick_of(below, first)] != 0;
}

// The sum over eight children, paired on the x-z diagonals.
static float sum_of_children(const plain_grid *below, const float *v, int64_t first)
{
    const int64_t X = below->step[0], Y = below->step[1], Z = below->step[2];
    float low = (v[first] + v[first + X + Z]) + (v[first + X] + v[first + Z]);
    float high = (v[first + Y] + v[first + Y + X + Z]) + (v[first + Y + X] + v[first + Y + Z]);
    return low + high;
}

// ---- The operator ----------------------------------------------------------------------------------------------------------

// Level 1 from the active cells. Thickness is the number of halves that are not empty.
static void count_fine(level *l, const plain_world *w)
{
    const plain_grid *below = &w->awake;
    EACH_CELL(below, i)
    {
        if (!w->active[i]) continue;
        int64_t at = parent_of(&l->grid, below, i);
        l->count[at] += 1.0f;
        for (int axis = 0; axis < 3; axis++) {
            for (int side = -1; side <= 1; side += 2) {
                int64_t neighbour = i + side * below->step[axis];
                if (w->there[neighbour] && !w->active[neighbour]) l->border[axis][at] += 1.0f;
            }
            int64_t low = i - below->step[axis];
            if (w->active[low] && parent_of(&l->grid, below, low) != at) l->faces[axis][at] += 1.0f;
        }
    }
    EACH_CELL(&l->grid, at)
    {
        if (!has_children(&l->grid, below, at)) continue;
        int64_t first = children_of(&l->grid, below, at);
        for (int axis = 0; axis < 3; axis++) {
            bool half[2] = {false, false};
            for (int k = 0; k < 8; k++) {
                int64_t i = first + (k & 1) * below->step[0] + (k >> 1 & 1) * below->step[1] + (k >> 2) * below->step[2];
                half[k >> axis & 1] |= w->active[i] != 0;
            }
            l->thick[axis][at] = (float)(half[0] + half[1]);
        }
    }
}

// The mean thickness of the four cells of a half, weighted by their active cells. A and B are the axes across; sums are paired on the
// diagonal.
static float half_thickness(const level *below, int axis, int64_t first)
{
    const int64_t A = below->grid.step[axis == 0 ? 1 : 0], B = below->grid.step[axis == 2 ? 1 : 2];
    const float *t = below->thick[axis], *n = below->count;
    const int64_t o = first, ab = first + A + B, a = first + A, b = first + B;
    float sum = (t[o] * n[o] + t[ab] * n[ab]) + (t[a] * n[a] + t[b] * n[b]);
    return sum / plain_most(1.0f, (n[o] + n[ab]) + (n[a] + n[b]));
}

// The levels above from the one below.
static void count_coarse(level *l, const level *below)
{
    EACH_CELL(&below->grid, i)
    {
        int64_t at = parent_of(&l->grid, &below->grid, i);
        l->count[at] += below->count[i];
        for (int axis = 0; axis < 3; axis++) {
            l->border[axis][at] += below->border[axis][i];
            if (parent_of(&l->grid, &below->grid, i - below->grid.step[axis]) != at)
                l->faces[axis][at] += below->faces[axis][i];
        }
    }
    EACH_CELL(&l->grid, at)
    {
        if (!has_children(&l->grid, &below->grid, at)) continue;
        int64_t first = children_of(&l->grid, &below->grid, at);
        for (int axis = 0; axis < 3; axis++)
            l->thick[axis][at] =
                half_thickness(below, axis, first) + half_thickness(below, axis, first + below->grid.step[axis]);
    }
}

static void make_operator(level *l)
{
    const plain_grid *g = &l->grid;
    for (int axis = 0; axis < 3; axis++) {
        const float *t = l->thick[axis];
        EACH_CELL(g, i) l->link[axis][i] = l->faces[axis][i] * 2.0f / plain_most(1.0f, t[i - g->step[axis]] + t[i]);
    }
    EACH_CELL(g, i)
    {
        float pull[3], pair[3];
        for (int axis = 0; axis < 3; axis++) {
            pull[axis] = l->border[axis][i] * 2.0f / (l->thick[axis][i] + 1.0f);
            pair[axis] = l->link[axis][i] + l->link[axis][i + g->step[axis]];
        }
        l->diagonal[i] = ((pull[0] + pull[2]) + pull[1]) + ((pair[0] + pair[2]) + pair[1]);
    }
}

// ---- Sweeps ----------------------------------------------------------------------------------------------------------------

// The neighbours' errors, weighted by the links, as pairs on the axes.
static float weighted_sum(const level *l, const float low[3], const float high[3], int64_t i)
{
    float pair[3];
    for (int axis = 0; axis < 3; axis++)
        pair[axis] = l->link[axis][i] * low[axis] + l->link[axis][i + l->grid.step[axis]] * high[axis];
    return (pair[0] + pair[2]) + pair[1];
}

static float sum_around(const level *l, const float *e, int64_t i)
{
    const int64_t *step = l->grid.step;
    const float low[3] = {e[i - step[0]], e[i - step[1]], e[i - step[2]]};
    const float high[3] = {e[i + step[0]], e[i + step[1]], e[i + step[2]]};
    return weighted_sum(l, low, high, i);
}

static float smoothed(const level *l, float e, float sum, int64_t i)
{
    float inverse = l->diagonal[i] > LEAST_DIAGONAL ? 1.0f / l->diagonal[i] : 0.0f;
    float a = (l->right[i] + sum) * inverse;
    return plain_still(e + 0.9f * (a - e));
}

// Sweeps inside each brick, the cells around it as they were.
static void smooth_in_bricks(level *l, int32_t sweeps)
{
    const plain_grid *g = &l->grid;
    const int32_t step[3] = {1, 8, 64};
    for (int32_t b = 0; b < g->bricks; b++) {
        float now[512], next[512];
        int32_t k = 0;
        EACH_CELL_OF(g, g->brick[b], i) now[k++] = l->error[i];
        for (int32_t sweep = 0; sweep < sweeps; sweep++) {
            k = 0;
            EACH_CELL_OF(g, g->brick[b], i)
            {
                float low[3], high[3];
                for (int axis = 0; axis < 3; axis++) {
                    int32_t place = k / step[axis] % 8;
                    low[axis] = place > 0 ? now[k - step[axis]] : l->error[i - g->step[axis]];
                    high[axis] = place < 7 ? now[k + step[axis]] : l->error[i + g->step[axis]];
                }
                next[k] = smoothed(l, now[k], weighted_sum(l, low, high, i), i);
                k++;
            }
            memcpy(now, next, sizeof now);
        }
        k = 0;
        EACH_CELL_OF(g, g->brick[b], i) l->next[i] = now[k++];
    }
    EACH_CELL(g, i) l->error[i] = l->next[i];
}

// Sweeps over all of the coarsest level.
static void sweep_coarsest(level *l)
{
    for (int32_t sweep = 0; sweep < COARSEST_SWEEPS; sweep++) {
        EACH_CELL(&l->grid, i) l->next[i] = smoothed(l, l->error[i], sum_around(l, l->error, i), i);
        EACH_CELL(&l->grid, i) l->error[i] = l->next[i];
    }
}

// What is left on a level is the right side of the next.
static void hand_up(level *above, const level *l)
{
    float *left = calloc((size_t)l->grid.all_cells, sizeof *left);
    EACH_CELL(&l->grid, i)
    if (l->diagonal[i] > LEAST_DIAGONAL) left[i] = l->right[i] - l->diagonal[i] * l->error[i] + sum_around(l, l->error, i);
    EACH_CELL(&above->grid, at)
    if (has_children(&above->grid, &l->grid, at))
        above->right[at] = sum_of_children(&l->grid, left, children_of(&above->grid, &l->grid, at));
    free(left);
}

// The correction of a cell of the level below: its parent's error, and a quarter of the way to the parent's neighbours on its sides,
// across links only.
static float correction_at(const level *l, const plain_grid *below, int64_t i)
{
    int64_t at = parent_of(&l->grid, below, i);
    weir_coord c = plain_at(below, i);
    const int32_t odd[3] = {c.x & 1, c.y & 1, c.z & 1};
    float towards[3];
    for (int axis = 0; axis < 3; axis++) {
        int64_t neighbour = odd[axis] ? at + l->grid.step[axis] : at - l->grid.step[axis];
        float link = l->link[axis][odd[axis] ? neighbour : at];
        towards[axis] = link > 0.0f ? l->error[neighbour] - l->error[at] : 0.0f;
    }
    return l->error[at] + 0.25f * ((towards[0] + towards[2]) + towards[1]);
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

// Levels until the number of bricks has three times not fallen.
static int32_t make_levels(level *levels, const plain_world *w)
{
    int32_t top = 0, same = 0, below = w->awake.bricks;
    while (same < LAST_LEVELS && top + 1 < LEVELS) {
        const plain_grid *lower = top == 0 ? &w->awake : &levels[top].grid;
        make_level(&levels[++top], lower);
        if (levels[top].grid.bricks == below) same++;
        below = levels[top].grid.bricks;
    }
    return top;
}

void plain_coarse_correction(plain_world *w, const float *residual)
{
    level *levels = calloc(LEVELS, sizeof *levels);
    const int32_t top = make_levels(levels, w);
    count_fine(&levels[1], w);
    for (int32_t k = 2; k <= top; k++) count_coarse(&levels[k], &levels[k - 1]);
    for (int32_t k = 1; k <= top; k++) make_operator(&levels[k]);

    EACH_CELL(&levels[1].grid, at)
    if (has_children(&levels[1].grid, &w->awake, at))
        levels[1].right[at] = sum_of_children(&w->awake, residual, children_of(&levels[1].grid, &w->awake, at));
    for (int32_t k = 1; k < top; k++) {
        smooth_in_bricks(&levels[k], w->params.momentum.smooths);
        hand_up(&levels[k + 1], &levels[k]);
    }
    sweep_coarsest(&levels[top]);
    for (int32_t k = top - 1; k >= 1; k--) {
        level *l = &levels[k];
        EACH_CELL(&l->grid, i)
        if (l->diagonal[i] > LEAST_DIAGONAL) l->error[i] += 0.8f * correction_at(&levels[k + 1], &l->grid, i);
        smooth_in_bricks(l, w->params.momentum.smooths);
    }
    EACH_CELL(&w->awake, i)
    if (w->active[i]) w->pressure2[i] = plain_most(w->floor[i], w->pressure2[i] + correction_at(&levels[1], &w->awake, i));
    for (int32_t k = 1; k <= top; k++) free_level(&levels[k]);
    free(levels);
}
