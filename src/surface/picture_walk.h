// The way of a ray: from block to block through the top grid, then from cell to cell in a block. Empty space is left in strides of an
// entry of the top grid, and a block that has nothing near the ray's way through it in one as well (cells_groups).
//
// Where a ray is among blocks is told in doubles, in a block in floats from where it came in: so a picture of a world is as sharp far
// from the origin as near it, and far from the camera too.
#ifndef WEIR_SURFACE_PICTURE_WALK_H
#define WEIR_SURFACE_PICTURE_WALK_H

#include "surface/picture_grid.h"

#define WALK_FAR 1e18  // farther than any place

typedef struct picture_ray {
    four_doubles o, d;     // from the grid's origin, in cells; d has length 1, but for its fourth number, which goes nowhere
    four_doubles inverse;  // of d
    four_ints forward;     // along each axis: 1 if d is positive, else 0
} picture_ray;

// So small a slope never leaves a cell, and sums with its inverse stay numbers.
static inline double ray_slope(float d)
{
    return d > -1e-12f && d < 1e-12f ? 1e-12 : (double)d;
}

static inline picture_ray ray_from(const double o[3], weir_vec d)
{
    picture_ray r = {.o = {o[0], o[1], o[2], 0}, .d = {ray_slope(d.x), ray_slope(d.y), ray_slope(d.z), ray_slope(0)}};
    r.inverse = 1 / r.d;
    r.forward = -__builtin_convertvector(r.d > 0, four_ints);
    return r;
}

// 1 or -1 along each axis.
static inline four_ints ray_step(const picture_ray *r)
{
    return 2 * r->forward - 1;
}

static inline weir_vec ray_direction(const picture_ray *r)
{
    return vec((float)r->d[0], (float)r->d[1], (float)r->d[2]);
}

// The part of a ray in a box.
typedef struct ray_part {
    double begin, end;
    int32_t entered, left;  // axes of the faces; -1: it begins inside
} ray_part;

static inline bool ray_cut(const picture_ray *r, const double low[3], const double high[3], ray_part *part)
{
    *part = (ray_part){0, WALK_FAR, -1, -1};
    for (int32_t axis = 0; axis < 3; axis++) {
        double a = (low[axis] - r->o[axis]) * r->inverse[axis], b = (high[axis] - r->o[axis]) * r->inverse[axis];
        double in = a < b ? a : b, out = a < b ? b : a;
        if (in > part->begin) part->begin = in, part->entered = axis;
        if (out < part->end) part->end = out, part->left = axis;
    }
    return part->begin < part->end;
}

// ---- Among blocks ----------------------------------------------------------------------------------------------------------

// What a step along each axis needs. By name and not by number: so it stays in registers.
typedef struct block_walk {
    const picture_grid *grid;
    const picture_ray *ray;
    // The block that the ray is in.
    int32_t block;
    double in, out;   // where the ray comes in and goes out
    int32_t entered;  // axis of the face; -1: the ray begins inside
    // The next entry of the top grid.
    int32_t place;  // its index
    double t, end;  // where the ray comes into it, and where the ray ends
    int32_t axis;   // of the face
    double next_x, next_y, next_z, stride_x, stride_y, stride_z;
    int32_t hop_x, hop_y, hop_z;
    // With a shift: the bricks of an entry.
    bool inner;
    double inner_end;
    int32_t x, y, z;  // the one that the ray is in, from the origin
} block_walk;

static inline int32_t walk_place(double position, int32_t low, int32_t high)
{
    int32_t place = (int32_t)position;  // down: nothing lies below the origin
    return place < low ? low : place > high ? high : place;
}

// From `begin` on, inside the box of blocks; entered is the axis of the face at `begin`, if it is one.
static inline block_walk walk_begin(const picture_grid *grid, const picture_ray *ray, double begin, double end, int32_t entered)
{
    double edge = (double)(8 << grid->shift), per_edge = 1 / edge;
    four_ints last = {grid->size[0] - 1, grid->size[1] - 1, grid->size[2] - 1, 0};
    four_ints at = four_clamp(__builtin_convertvector((ray->o + ray->d * begin) * per_edge, four_ints), last);
    four_ints step = ray_step(ray), hop = step * (four_ints){grid->hop[0], grid->hop[1], grid->hop[2], 0};
    four_doubles stride = edge * ray->inverse * __builtin_convertvector(step, four_doubles);
    four_doubles next = (edge * __builtin_convertvector(at + ray->forward, four_doubles) - ray->o) * ray->inverse;
    return (block_walk){.grid = grid,
                        .ray = ray,
                        .place = grid_place(grid, at[0], at[1], at[2]),
                        .t = begin,
                        .end = end,
                        .axis = entered,
                        .next_x = next[0],
                        .next_y = next[1],
                        .next_z = next[2],
                        .stride_x = stride[0],
                        .stride_y = stride[1],
                        .stride_z = stride[2],
                        .hop_x = hop[0],
                        .hop_y = hop[1],
                        .hop_z = hop[2]};
}

// Where the ray leaves the cube of 2^level bricks around x, y, z, and through which axis; -1: it ends before.
static inline int32_t walk_cube_end(const block_walk *w, int32_t level, double *out)
{
    const picture_ray *r = w->ray;
    int32_t rest = (1 << level) - 1;
    double tx = (8.0 * (r->d[0] > 0 ? (w->x | rest) + 1 : w->x & ~rest) - r->o[0]) * r->inverse[0];
    double ty = (8.0 * (r->d[1] > 0 ? (w->y | rest) + 1 : w->y & ~rest) - r->o[1]) * r->inverse[1];
    double tz = (8.0 * (r->d[2] > 0 ? (w->z | rest) + 1 : w->z & ~rest) - r->o[2]) * r->inverse[2];
    int32_t left = -1;
    *out = w->inner_end;
    if (tx < *out) *out = tx, left = 0;
    if (ty < *out) *out = ty, left = 1;
    if (tz < *out) *out = tz, left = 2;
    if (*out < w->in) *out = w->in;
    return left;
}

// The brick along an axis where the ray is at `t`, of those of the cube that it leaves, or the next one.
static inline int32_t walk_next_brick(const block_walk *w, int32_t axis, int32_t brick, int32_t level, double t, bool left)
{
    int32_t low = brick & ~((1 << level) - 1), high = brick | ((1 << level) - 1);
    if (left) return w->ray->d[axis] > 0 ? high + 1 : low - 1;
    return walk_place((w->ray->o[axis] + w->ray->d[axis] * t) / 8, low, high);
}

static inline bool walk_leave_cube(block_walk *w, int32_t level)
{
    double out;
    int32_t left = walk_cube_end(w, level, &out);
    if (left < 0) return false;
    w->x = walk_next_brick(w, 0, w->x, level, out, left == 0);
    w->y = walk_next_brick(w, 1, w->y, level, out, left == 1);
    w->z = walk_next_brick(w, 2, w->z, level, out, left == 2);
    w->in = out;
    w->entered = left;
    return true;
}

// The next brick of an entry that is more than one brick wide: the one at x, y, z or one after it.
static inline bool walk_inner(block_walk *w)
{
    w->inner = true;
    while (w->in < w->inner_end) {
        int32_t level = picture_grid_look(w->grid, w->x, w->y, w->z, &w->block);
        if (w->block) {
            walk_cube_end(w, 0, &w->out);
            return true;
        }
        if (!walk_leave_cube(w, level)) break;
    }
    w->inner = false;
    return false;
}

static inline int32_t walk_first(const block_walk *w, int32_t axis, int32_t at)
{
    int32_t low = at << w->grid->shift, high = low + (1 << w->grid->shift) - 1;
    if (axis == w->entered) return w->ray->d[axis] > 0 ? low : high;
    return walk_place((w->ray->o[axis] + w->ray->d[axis] * w->in) / 8, low, high);
}

// The first brick of an entry that is more than one wide.
static inline bool walk_enter(block_walk *w, int32_t place)
{
    const int32_t *hop = w->grid->hop;
    w->x = walk_first(w, 0, place % hop[1] - 1);
    w->y = walk_first(w, 1, place % hop[2] / hop[1] - 1);
    w->z = walk_first(w, 2, place / hop[2] - 1);
    w->inner_end = w->out;
    return walk_inner(w);
}

// The next block on the way; false at the end.
static inline bool walk_next(block_walk *w)
{
    if (w->inner && walk_leave_cube(w, 0) && walk_inner(w)) return true;
    w->inner = false;
    const picture_grid *g = w->grid;
    while (w->t < w->end) {
        int32_t place = w->place, entry = g->top[place], entered = w->axis;
        if (entry == GRID_OUTSIDE) return false;
        double in = w->t;
        if (w->next_x < w->next_y && w->next_x < w->next_z) {
            w->t = w->next_x, w->axis = 0;
            w->next_x += w->stride_x, w->place += w->hop_x;
        } else if (w->next_y < w->next_z) {
            w->t = w->next_y, w->axis = 1;
            w->next_y += w->stride_y, w->place += w->hop_y;
        } else {
            w->t = w->next_z, w->axis = 2;
            w->next_z += w->stride_z, w->place += w->hop_z;
        }
        if (!entry) continue;
        double out = w->t < w->end ? w->t : w->end;
        if (out < in) continue;
        w->in = in;
        w->out = out;
        w->entered = entered;
        if (g->shift) {
            if (walk_enter(w, place)) return true;
            continue;
        }
        w->block = entry;
        return true;
    }
    return false;
}

// ---- Among the cells of a block --------------------------------------------------------------------------------------------

// Distances are from the block walk's `in`, places from the block's corner.
typedef struct cell_walk {
    four_floats p, d;  // where the ray comes in, and its direction
    float t, end;      // where the cell begins, and the block ends
    float next_x, next_y, next_z, stride_x, stride_y, stride_z;
    int32_t x, y, z, step_x, step_y, step_z;
    int32_t entered;  // axis of the cell's face; -1: the ray begins inside
} cell_walk;

// The place at a distance along the ray, from the block's corner.
static inline void cells_at(const block_walk *w, double t, four_doubles *p)
{
    *p = w->ray->o + w->ray->d * t - w->grid->blocks[w->block].corner;
}

static inline four_ints cells_of(const four_doubles *p)
{
    return four_clamp(__builtin_convertvector(*p, four_ints), (four_ints){7, 7, 7, 7});
}

// The cell that the ray comes into, at p. A world's box may begin inside a block: then the face that was entered need not be the
// block's.
static inline four_ints cells_first(const block_walk *w, const four_doubles *p)
{
    static const four_doubles behind[4] = {{0}, {1e-4}, {0, 1e-4}, {0, 0, 1e-4}};  // the face, by its axis
    four_doubles within = *p + behind[w->entered + 1] * __builtin_convertvector(ray_step(w->ray), four_doubles);
    return cells_of(&within);
}

// Of four groups along an axis, given by their bits, those from one to another: at 4 times the one and the other.
// clang-format off
#define GROUPS_BETWEEN(a, b, c, d)                        \
    {                                                     \
        a,             a | b,     a | b | c, a | b | c | d, \
        a | b,         b,         b | c,     b | c | d,     \
        a | b | c,     b | c,     c,         c | d,         \
        a | b | c | d, b | c | d, c | d,     d              \
    }
// clang-format on

// The groups, as in a block's stop_groups, in the box from the ray's first cell to its last. It comes into no others: so most blocks
// that it only passes are known without going from cell to cell.
static inline uint64_t cells_groups(const block_walk *w)
{
    static const uint64_t along_x[16] =
        GROUPS_BETWEEN(0x1111111111111111, 0x2222222222222222, 0x4444444444444444, 0x8888888888888888);
    static const uint64_t along_y[16] =
        GROUPS_BETWEEN(0x000f000f000f000f, 0x00f000f000f000f0, 0x0f000f000f000f00, 0xf000f000f000f000);
    static const uint64_t along_z[16] =
        GROUPS_BETWEEN(0x000000000000ffff, 0x00000000ffff0000, 0x0000ffff00000000, 0xffff000000000000);
    four_doubles in, out;
    cells_at(w, w->in, &in);
    cells_at(w, w->out, &out);
    out += 1e-4 * __builtin_convertvector(ray_step(w->ray), four_doubles);  // more than the walk among cells loses in rounding
    four_ints between = (cells_first(w, &in) >> 1) * 4 + (cells_of(&out) >> 1);
    return along_x[between[0]] & along_y[between[1]] & along_z[between[2]];
}

static inline cell_walk cells_begin(const block_walk *w)
{
    const picture_ray *r = w->ray;
    four_doubles p;
    cells_at(w, w->in, &p);
    four_ints first = cells_first(w, &p), step = ray_step(r);
    four_doubles to_face = (__builtin_convertvector(first + r->forward, four_doubles) - p) * r->inverse;
    four_floats next = __builtin_convertvector(to_face, four_floats);
    four_floats stride = __builtin_convertvector(r->inverse, four_floats) * __builtin_convertvector(step, four_floats);
    return (cell_walk){.p = __builtin_convertvector(p, four_floats),
                       .d = __builtin_convertvector(r->d, four_floats),
                       .end = (float)(w->out - w->in),
                       .next_x = next[0],
                       .next_y = next[1],
                       .next_z = next[2],
                       .stride_x = stride[0],
                       .stride_y = stride[1],
                       .stride_z = stride[2],
                       .x = first[0],
                       .y = first[1],
                       .z = first[2],
                       .step_x = step[0],
                       .step_y = step[1],
                       .step_z = step[2],
                       .entered = w->entered};
}

// Where the ray leaves the cell.
static inline float cells_out(const cell_walk *c)
{
    return least_of(least_of(c->next_x, c->next_y), least_of(c->next_z, c->end));
}

// On to the next cell; false when the ray has left the block.
static inline bool cells_next(cell_walk *c)
{
    int32_t place;
    if (c->next_x < least_of(c->next_y, c->next_z)) {
        c->t = c->next_x, c->entered = 0;
        c->next_x += c->stride_x, place = c->x += c->step_x;
    } else if (c->next_y < c->next_z) {
        c->t = c->next_y, c->entered = 1;
        c->next_y += c->stride_y, place = c->y += c->step_y;
    } else {
        c->t = c->next_z, c->entered = 2;
        c->next_z += c->stride_z, place = c->z += c->step_z;
    }
    return c->t < c->end && (uint32_t)place < 8;
}

static inline bool cells_in(const cell_walk *c, const brick_mask *mask)
{
    return mask->plane[c->z] >> (c->x + 8 * c->y) & 1;
}

// The place in the cell at a distance.
static inline four_floats cells_place(const cell_walk *c, float t)
{
    four_floats cell = __builtin_convertvector(((four_ints){c->x, c->y, c->z, 0}), four_floats);
    return four_clamp_to_one(c->p + c->d * t - cell);
}

#endif
