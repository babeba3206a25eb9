// A part of the world: the cells of a box, or those of a sphere, brick by brick.
//
// Edits and queries share two things: which cells of a brick belong to a region (a mask, so that 64 cells are cut or counted at
// once), and a walk over the live bricks of a box that costs no more than the smaller of the two: bricks in the box, or bricks
// alive.
#ifndef WEIR_WORLD_REGION_H
#define WEIR_WORLD_REGION_H

#include "world/fluid.h"

typedef struct region {
    weir_box box;  // not empty
    bool round;    // only cells whose centre lies in the sphere
    weir_sphere sphere;
} region;

// Bricks that share cells with a box, as a box of brick coordinates.
static inline weir_box region_bricks(weir_box box)
{
    return (weir_box){
        {box.min.x >> 3, box.min.y >> 3, box.min.z >> 3},
        {((box.max.x - 1) >> 3) + 1, ((box.max.y - 1) >> 3) + 1, ((box.max.z - 1) >> 3) + 1},
    };
}

// Cells, or bricks, in a box. A double: the largest box has more than an int64 can count.
static inline double region_volume(weir_box box)
{
    return ((double)box.max.x - box.min.x) * ((double)box.max.y - box.min.y) * ((double)box.max.z - box.min.z);
}

// Where in the array of a box, x fastest, then y, then z, a cell of it lies.
static inline size_t region_index(weir_box box, weir_coord cell)
{
    size_t size_x = (size_t)((int64_t)box.max.x - box.min.x), size_y = (size_t)((int64_t)box.max.y - box.min.y);
    return (size_t)((int64_t)cell.x - box.min.x) +
           size_x * ((size_t)((int64_t)cell.y - box.min.y) + size_y * (size_t)((int64_t)cell.z - box.min.z));
}

static inline bool region_holds(weir_box box, weir_coord c)
{
    return c.x >= box.min.x && c.x < box.max.x && c.y >= box.min.y && c.y < box.max.y && c.z >= box.min.z && c.z < box.max.z;
}

// Whether two boxes have a cell, or a brick, in common.
static inline bool region_meet(weir_box a, weir_box b)
{
    return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y && a.min.z < b.max.z &&
           b.min.z < a.max.z;
}

static inline int32_t region_clamp(int32_t value, int32_t min, int32_t max)
{
    return value < min ? min : value > max ? max : value;
}

// Cells of a brick that belong to a box. Returns whether there are any.
static inline bool region_box_mask(weir_box box, weir_coord brick, brick_mask *cells)
{
    int32_t x0 = region_clamp(box.min.x - 8 * brick.x, 0, 8), x1 = region_clamp(box.max.x - 8 * brick.x, 0, 8);
    int32_t y0 = region_clamp(box.min.y - 8 * brick.y, 0, 8), y1 = region_clamp(box.max.y - 8 * brick.y, 0, 8);
    int32_t z0 = region_clamp(box.min.z - 8 * brick.z, 0, 8), z1 = region_clamp(box.max.z - 8 * brick.z, 0, 8);
    uint64_t row = (0xffu << x0) & (0xffu >> (8 - x1));
    uint64_t plane = 0;
    for (int32_t y = y0; y < y1; y++) plane |= row << (8 * y);
    for (int32_t z = 0; z < BRICK_EDGE; z++) cells->plane[z] = z >= z0 && z < z1 ? plane : 0;
    return plane && z0 < z1;
}

// Cells of a brick that belong to a region. Returns whether there are any.
static inline bool region_mask(const region *r, weir_coord brick, brick_mask *cells)
{
    if (!region_box_mask(r->box, brick, cells)) return false;
    if (!r->round) return true;
    uint64_t any = 0;
    double radius = r->sphere.radius;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        double x = 8.0 * brick.x + (cell & 7) + 0.5 - r->sphere.centre.x;
        double y = 8.0 * brick.y + (cell >> 3 & 7) + 0.5 - r->sphere.centre.y;
        double z = 8.0 * brick.z + (cell >> 6) + 0.5 - r->sphere.centre.z;
        if (x * x + y * y + z * z > radius * radius) cells->plane[cell >> 6] &= ~(1ull << (cell & 63));
    }
    for (int32_t z = 0; z < BRICK_EDGE; z++) any |= cells->plane[z];
    return any != 0;
}

// Takes the next cell out of a plane of a mask: for (uint64_t left = plane; left;) cell = region_take(&left) + 64 * z.
static inline int32_t region_take(uint64_t *left)
{
    int32_t cell = __builtin_ctzll(*left);
    *left &= *left - 1;
    return cell;
}

// A walk over the live bricks of a box. The bricks must not change meanwhile.
typedef struct region_walk {
    const fluid_view *view;
    weir_box bricks;
    weir_coord at;
    int32_t index;  // of the brick, when that is shorter; 0: by coordinate
} region_walk;

// In coordinate order (z, then y, then x), however many bricks the box has.
static inline region_walk region_walk_ordered(const fluid_view *view, weir_box box)
{
    region_walk walk = {.view = view, .bricks = region_bricks(box)};
    walk.at = walk.bricks.min;
    return walk;
}

// By coordinate or by index, whichever is shorter; so nothing may depend on the order.
static inline region_walk region_walk_live(const fluid_view *view, weir_box box)
{
    region_walk walk = region_walk_ordered(view, box);
    walk.index = region_volume(walk.bricks) > view->end;
    return walk;
}

// The next live brick; BRICK_NOTHING at the end.
static inline int32_t region_walk_next(region_walk *walk)
{
    const fluid_view *view = walk->view;
    const weir_box *b = &walk->bricks;
    if (walk->index > 0) {
        while (walk->index < view->end) {
            int32_t brick = walk->index++;
            if (view->alive[brick] && region_holds(*b, view->coord[brick])) return brick;
        }
        return BRICK_NOTHING;
    }
    while (walk->at.z < b->max.z) {
        int32_t brick = fluid_find(view, walk->at);
        if (++walk->at.x == b->max.x) walk->at.x = b->min.x, walk->at.y++;
        if (walk->at.y == b->max.y) walk->at.y = b->min.y, walk->at.z++;
        if (brick != BRICK_NOTHING) return brick;
    }
    return BRICK_NOTHING;
}

// Fetches the values of the live bricks of a box, many at a time.
static inline void region_fetch(const fluid_view *view, weir_box box)
{
    enum { BATCH = 256 };
    int32_t bricks[BATCH], count = 0;
    if (!view->fetch) return;
    region_walk walk = region_walk_live(view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        bricks[count++] = brick;
        if (count < BATCH) continue;
        fluid_fetch(view, bricks, count);
        count = 0;
    }
    fluid_fetch(view, bricks, count);
}

#endif
