// The way of a ray: from block to block through the top grid, then from cell to cell in a block. Empty space is left in strides of an
// entry of the top grid.
//
// Where a ray is among blocks is told in doubles, in a block in floats from where it came in: so a picture of a world is as sharp far
// from the origin as near it, and far from the camera too.
#ifndef WEIR_SURFACE_PICTURE_WALK_H
#define WEIR_SURFACE_PICTURE_WALK_H

#include "surface/picture_grid.h"

#define WALK_FAR 1e18  // farther than any place

typedef struct picture_ray {
    double o[3], d[3];  // from the grid's origin, in cells; d has length 1
    double inverse[3];  // of d
} picture_ray;

// So small a slope never leaves a cell, and sums with its inverse stay numbers.
static inline double ray_slope(float d)
{
    return d > -1e-12f && d < 1e-12f ? 1e-12 : (double)d;
}

static inline picture_ray ray_from(const double o[3], weir_vec d)
{
    double x = ray_slope(d.x), y = ray_slope(d.y), z = ray_slope(d.z);
    return (picture_ray){{o[0], o[1], o[2]}, {x, y, z}, {1 / x, 1 / y, 1 / z}};
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
    int32_t x, y, z;  // its brick, from the origin
    double in, out;   // where the ray comes in and goes out
    int32_t entered;  // axis of the face; -1: the ray begins inside
    // The next entry of the top grid.
    double t, end;
    double next_x, next_y, next_z, stride_x, stride_y, stride_z;
    int32_t at_x, at_y, at_z, step_x, step_y, step_z;
    int32_t axis;
    bool done;
    // With a shift: the bricks of an entry.
    bool inner;
    double inner_end;
} block_walk;

static inline int32_t walk_place(double position, int32_t low, int32_t high)
{
    int32_t place = (int32_t)position;  // down: nothing lies below the origin
    return place < low ? low : place > high ? high : place;
}

// From `begin` on, inside the box of blocks; entered is the axis of the face at `begin`, if it is one.
static inline block_walk walk_begin(const picture_grid *grid, const picture_ray *ray, double begin, double end, int32_t entered)
{
    block_walk w = {.grid = grid, .ray = ray, .t = begin, .end = end, .axis = entered, .done = begin >= end};
    const double *o = ray->o, *d = ray->d, *inverse = ray->inverse;
    double edge = (double)(8 << grid->shift), per_edge = 1 / edge;
    w.at_x = walk_place((o[0] + d[0] * begin) * per_edge, 0, grid->size[0] - 1);
    w.at_y = walk_place((o[1] + d[1] * begin) * per_edge, 0, grid->size[1] - 1);
    w.at_z = walk_place((o[2] + d[2] * begin) * per_edge, 0, grid->size[2] - 1);
    w.step_x = d[0] > 0 ? 1 : -1, w.step_y = d[1] > 0 ? 1 : -1, w.step_z = d[2] > 0 ? 1 : -1;
    w.stride_x = edge * fabs(inverse[0]), w.stride_y = edge * fabs(inverse[1]), w.stride_z = edge * fabs(inverse[2]);
    w.next_x = (edge * (w.at_x + (d[0] > 0)) - o[0]) * inverse[0];
    w.next_y = (edge * (w.at_y + (d[1] > 0)) - o[1]) * inverse[1];
    w.next_z = (edge * (w.at_z + (d[2] > 0)) - o[2]) * inverse[2];
    return w;
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

// The next block on the way; false at the end.
static inline bool walk_next(block_walk *w)
{
    if (w->inner && walk_leave_cube(w, 0) && walk_inner(w)) return true;
    w->inner = false;
    const picture_grid *g = w->grid;
    while (!w->done) {
        int32_t x = w->at_x, y = w->at_y, z = w->at_z, entered = w->axis;
        int32_t entry = g->top[x + (ptrdiff_t)g->size[0] * (y + (ptrdiff_t)g->size[1] * z)];
        double in = w->t, out;
        if (w->next_x < w->next_y && w->next_x < w->next_z) {
            out = w->next_x, w->axis = 0;
            w->next_x += w->stride_x, w->at_x += w->step_x;
            w->done = (uint32_t)w->at_x >= (uint32_t)g->size[0];
        } else if (w->next_y < w->next_z) {
            out = w->next_y, w->axis = 1;
            w->next_y += w->stride_y, w->at_y += w->step_y;
            w->done = (uint32_t)w->at_y >= (uint32_t)g->size[1];
        } else {
            out = w->next_z, w->axis = 2;
            w->next_z += w->stride_z, w->at_z += w->step_z;
            w->done = (uint32_t)w->at_z >= (uint32_t)g->size[2];
        }
        if (out >= w->end) out = w->end, w->done = true;
        w->t = out;
        if (!entry || out < in) continue;
        w->in = in;
        w->entered = entered;
        if (g->shift) {
            w->inner_end = out;
            w->x = walk_first(w, 0, x), w->y = walk_first(w, 1, y), w->z = walk_first(w, 2, z);
            if (walk_inner(w)) return true;
            continue;
        }
        w->block = entry;
        w->out = out;
        w->x = x, w->y = y, w->z = z;
        return true;
    }
    return false;
}

// ---- Among the cells of a block --------------------------------------------------------------------------------------------

// Distances are from the block walk's `in`, places from the block's corner.
typedef struct cell_walk {
    weir_vec p, d;  // where the ray comes in, and its direction
    float t, end;   // where the cell begins, and the block ends
    float next_x, next_y, next_z, stride_x, stride_y, stride_z;
    int32_t x, y, z, step_x, step_y, step_z;
    int32_t entered;  // axis of the cell's face; -1: the ray begins inside
} cell_walk;

// A world's box may begin inside a block: then the face that was entered need not be the block's.
static inline int32_t cells_first(double p, bool ahead, bool face)
{
    return walk_place(face ? (ahead ? p + 1e-4 : p - 1e-4) : p, 0, 7);
}

static inline cell_walk cells_begin(const block_walk *w)
{
    const picture_ray *r = w->ray;
    bool ahead_x = r->d[0] > 0, ahead_y = r->d[1] > 0, ahead_z = r->d[2] > 0;
    double px = r->o[0] + r->d[0] * w->in - 8.0 * w->x, py = r->o[1] + r->d[1] * w->in - 8.0 * w->y,
           pz = r->o[2] + r->d[2] * w->in - 8.0 * w->z;
    cell_walk c = {.p = {(float)px, (float)py, (float)pz},
                   .d = {(float)r->d[0], (float)r->d[1], (float)r->d[2]},
                   .end = (float)(w->out - w->in),
                   .entered = w->entered};
    c.x = cells_first(px, ahead_x, w->entered == 0);
    c.y = cells_first(py, ahead_y, w->entered == 1);
    c.z = cells_first(pz, ahead_z, w->entered == 2);
    c.step_x = ahead_x ? 1 : -1, c.step_y = ahead_y ? 1 : -1, c.step_z = ahead_z ? 1 : -1;
    c.stride_x = (float)fabs(r->inverse[0]), c.stride_y = (float)fabs(r->inverse[1]), c.stride_z = (float)fabs(r->inverse[2]);
    c.next_x = (float)((c.x + ahead_x - px) * r->inverse[0]);
    c.next_y = (float)((c.y + ahead_y - py) * r->inverse[1]);
    c.next_z = (float)((c.z + ahead_z - pz) * r->inverse[2]);
    return c;
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
    if (c->next_x < c->next_y && c->next_x < c->next_z) {
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
static inline weir_vec cells_place(const cell_walk *c, float t)
{
    return vec(clampf(c->p.x + c->d.x * t - (float)c->x, 0, 1), clampf(c->p.y + c->d.y * t - (float)c->y, 0, 1),
               clampf(c->p.z + c->d.z * t - (float)c->z, 0, 1));
}

#endif
