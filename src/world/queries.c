// Queries: what a game asks of its world. They read the finished state (the frozen one while a background step runs), ask for
// no memory and change nothing.
//
// Sums over bricks are whole numbers, also where the values are floats: each brick's part is summed in the order of its cells
// and then rounded to a fixed unit, so that the order of bricks in the pool never shows in an answer.
#include "world/coord_table.h"
#include "world/region.h"
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const float PER_DROP = 1.0f / WEIR_FULL;

// The fluid, with the bricks of a box here that hold some; `faces`: also the upper faces of their last cells, which belong to others.
static fluid_view fetch_water(const weir_world *world, weir_box box, bool faces)
{
    enum { BATCH = 256 };
    static const int32_t above[3] = {NEAR(1, 0, 0), NEAR(0, 1, 0), NEAR(0, 0, 1)};
    fluid_view view = world_fluid(world);
    int32_t bricks[BATCH + 4], count = 0;
    if (!view.fetch) return view;
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!view.wet[brick]) continue;
        weir_coord c = view.coord[brick];
        const bool last[3] = {box.max.x >= 8 * c.x + 8, box.max.y >= 8 * c.y + 8, box.max.z >= 8 * c.z + 8};
        bricks[count++] = brick;
        for (int32_t axis = 0; axis < 3; axis++)
            if (faces && last[axis]) bricks[count++] = view.near[brick][above[axis]];
        if (count < BATCH) continue;
        fluid_fetch(&view, bricks, count);
        count = 0;
    }
    fluid_fetch(&view, bricks, count);
    return world_check_query(world) ? view : world_fluid(world);
}

// ---- Cells -----------------------------------------------------------------------------------------------------------------

weir_cell weir_world_cell(const weir_world *world, weir_coord cell)
{
    weir_cell answer = {.solid = 255};
    if (!terrain_inside(&world->terrain, cell)) return answer;
    answer.solid = terrain_share(&world->terrain, cell);

    fluid_view view = world_fluid(world);
    region_fetch(&view, (weir_box){cell, {cell.x + 2, cell.y + 2, cell.z + 2}});
    if (!world_check_query(world)) view = world_fluid(world);
    int32_t brick = fluid_find(&view, brick_of_cell(cell));
    int32_t i = cell_index(cell);
    if (brick == BRICK_NOTHING) return answer;
    int32_t drops = fluid_drops_at(&view, brick, i);
    answer.fill = (float)drops * PER_DROP;
    answer.flow =
        (weir_vec){fluid_flow_at(&view, brick, i, 0), fluid_flow_at(&view, brick, i, 1), fluid_flow_at(&view, brick, i, 2)};
    answer.pressure = fluid_pressure_at(&view, brick, i);
    answer.material = drops > 0 ? fluid_material_at(&view, brick, i) : WEIR_NOTHING;
    return answer;
}

weir_mix weir_world_mix(const weir_world *world, weir_coord cell)
{
    weir_mix mix = {.temperature = 0};
    if (!terrain_inside(&world->terrain, cell)) return mix;
    fluid_view view = world_fluid(world);
    region_fetch(&view, (weir_box){cell, {cell.x + 1, cell.y + 1, cell.z + 1}});
    if (!world_check_query(world)) view = world_fluid(world);
    const int32_t brick = fluid_find(&view, brick_of_cell(cell)), i = cell_index(cell);
    float room;
    if (brick == BRICK_NOTHING) return mix;
    for (weir_material m = 1; m < world->material_count; m++) fluid_amounts(&view, brick, m, i, 1, &mix.drops[m]);
    mix.temperature = *(const float *)fluid_values(&view, FLUID_TEMPERATURE, brick, i, 1, &room);
    return mix;
}

float weir_world_channel(const weir_world *world, const char *channel, weir_coord cell)
{
    assert(channel);
    const solver_table *solver = world->solver;
    int32_t index = solver->find_channel ? solver->find_channel(world->state, channel) : -1;
    if (index < 0) return 0;
    fluid_view view = world_fluid(world);
    int32_t brick = fluid_find(&view, brick_of_cell(cell));
    fluid_fetch(&view, &brick, 1);
    if (!world_check_query(world)) {
        view = world_fluid(world);
        brick = fluid_find(&view, brick_of_cell(cell));
    }
    return solver->channel_value(&view, index, brick, cell_index(cell));
}

// ---- Boxes -----------------------------------------------------------------------------------------------------------------

// A brick's part of a sum in units of 2^-24. The bound keeps the sum over all bricks there can be within 64 bits.
static int64_t fixed(double part)
{
    double bound = 1 << 16;
    return llrint((part > bound ? bound : part < -bound ? -bound : part) * (1 << 24));
}

typedef struct box_total {
    int64_t drops, wet_cells;
    int32_t max_drops;
    int64_t mass_flow[3];  // sum of fill times flow, fixed
    float max_flow, max_pressure;
} box_total;

static void total_brick(const fluid_view *view, float empty, int32_t brick, const brick_mask *cells, box_total *total)
{
    int32_t room[BRICK_CELLS];
    float pressures[BRICK_CELLS];
    const int32_t *mass = fluid_drops(view, brick, room);
    const float *pressure = fluid_values(view, FLUID_PRESSURE, brick, 0, BRICK_CELLS, pressures);
    double mass_flow[3] = {0, 0, 0};
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            int32_t drops = mass[cell];
            if (pressure[cell] > total->max_pressure) total->max_pressure = pressure[cell];
            if (drops == 0) continue;
            total->drops += drops;
            total->wet_cells += (float)drops * PER_DROP > empty;
            if (drops > total->max_drops) total->max_drops = drops;
            for (int32_t axis = 0; axis < 3; axis++) {
                float flow = fluid_flow_at(view, brick, cell, axis);
                mass_flow[axis] += (double)drops * PER_DROP * flow;
                if (fabsf(flow) > total->max_flow) total->max_flow = fabsf(flow);
            }
        }
    }
    for (int32_t axis = 0; axis < 3; axis++) total->mass_flow[axis] += fixed(mass_flow[axis]);
}

// box must be cut to the world.
static box_total total_box(const weir_world *world, weir_box box)
{
    box_total total = {0};
    brick_mask cells;
    const fluid_view view = fetch_water(world, box, true);
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (view.wet[brick] && region_box_mask(box, view.coord[brick], &cells))
            total_brick(&view, world->params.empty, brick, &cells, &total);
    }
    return total;
}

static weir_vec flow_of(const box_total *total)
{
    if (total->drops == 0) return (weir_vec){0, 0, 0};
    double mass = (double)total->drops * PER_DROP * (1 << 24);
    return (weir_vec){(float)((double)total->mass_flow[0] / mass), (float)((double)total->mass_flow[1] / mass),
                      (float)((double)total->mass_flow[2] / mass)};
}

static int64_t solid_in_mask(const brick_mask *cells, const brick_mask *open)
{
    int64_t count = 0;
    for (int32_t z = 0; z < BRICK_EDGE; z++) count += __builtin_popcountll(cells->plane[z] & ~open->plane[z]);
    return count;
}

static int64_t solid_kept(const terrain *t, weir_box box)
{
    const weir_coord low = {(box.min.x + 7) >> 3, (box.min.y + 7) >> 3, (box.min.z + 7) >> 3};  // bricks wholly in the box
    const weir_coord high = {box.max.x >> 3, box.max.y >> 3, box.max.z >> 3};
    int64_t count = 0;
    for (int32_t i = 0; i < t->slot_count; i++) {
        const terrain_brick *kept = &t->slot[i];
        const weir_coord c = kept->coord;
        brick_mask cells, open;
        if (!kept->used || kept->solid == 0) continue;
        if (c.x >= low.x && c.y >= low.y && c.z >= low.z && c.x < high.x && c.y < high.y && c.z < high.z) {
            count += kept->solid;
        } else if (region_box_mask(box, c, &cells)) {
            terrain_open(t, c, &open);
            count += solid_in_mask(&cells, &open);
        }
    }
    return count;
}

static int64_t solid_in_live_bricks(const fluid_view *view, weir_box box)
{
    int64_t count = 0;
    brick_mask cells;
    region_walk walk = region_walk_live(view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (region_box_mask(box, view->coord[brick], &cells)) count += solid_in_mask(&cells, &view->open[brick]);
    return count;
}

// Cells of a box inside the world that terrain closes. Only kept terrain can be solid, and often less of that is kept than the
// box has bricks. The game's own has to be asked brick by brick, which is for boxes of a size that a game can mean.
static int64_t solid_cells(const weir_world *world, weir_box box)
{
    const terrain *t = &world->terrain;
    const fluid_view view = world_fluid(world);
    weir_box bricks = region_bricks(box);
    brick_mask cells, open;
    int64_t count = 0;
    const int64_t absent = (int64_t)fmin(absent_volume(&t->absent, box), 0x1p62);
    if (!t->source && t->slot_count < region_volume(bricks)) return solid_kept(t, box) + absent;
    if (t->source && region_volume(box) > WEIR_BOX_SUM_ASKED) return solid_in_live_bricks(&view, box) + absent;
    for (int32_t z = bricks.min.z; z < bricks.max.z; z++) {
        for (int32_t y = bricks.min.y; y < bricks.max.y; y++) {
            for (int32_t x = bricks.min.x; x < bricks.max.x; x++) {
                weir_coord c = {x, y, z};
                int32_t brick = fluid_find(&view, c);
                if (brick == BRICK_NOTHING) terrain_open(t, c, &open);
                region_box_mask(box, c, &cells);
                count += solid_in_mask(&cells, brick == BRICK_NOTHING ? &open : &view.open[brick]);
            }
        }
    }
    return count;
}

weir_box_sum weir_world_box_sum(const weir_world *world, weir_box box)
{
    weir_box_sum sum = {0};
    if (!world_clip(world, &box)) return sum;
    box_total total = total_box(world, box);
    double open = region_volume(box) - (double)solid_cells(world, box);
    sum.drops = total.drops;
    sum.open_cells = open < 9e18 ? (int64_t)open : INT64_MAX;
    sum.wet_cells = total.wet_cells;
    sum.mean_fill = open > 0 ? (float)((double)total.drops * PER_DROP / open) : 0;
    sum.max_fill = (float)total.max_drops * PER_DROP;
    sum.mean_flow = flow_of(&total);
    sum.max_flow = total.max_flow;
    sum.max_pressure = total.max_pressure;
    return sum;
}

weir_vec weir_world_mean_flow(const weir_world *world, weir_box box)
{
    if (!world_clip(world, &box)) return (weir_vec){0, 0, 0};
    box_total total = total_box(world, box);
    return flow_of(&total);
}

// ---- Columns ---------------------------------------------------------------------------------------------------------------

// Cuts a range of heights to the world and, if it is longer than a look at all bricks, to the live ones of the column. Returns
// whether anything is left.
static bool cut_column(const weir_world *world, int32_t x, int32_t z, int32_t *y_min, int32_t *y_max)
{
    if (x == INT32_MAX || z == INT32_MAX) return false;
    weir_box box = {{x, *y_min, z}, {x + 1, *y_max, z + 1}};
    if (!world_clip(world, &box)) return false;
    *y_min = box.min.y;
    *y_max = box.max.y;
    const fluid_view view = world_fluid(world);
    if (region_volume(region_bricks(box)) <= view.end) return true;

    int32_t low = INT32_MAX, high = INT32_MIN;
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        int32_t y = 8 * view.coord[brick].y;
        if (y < low) low = y;
        if (y + 8 > high) high = y + 8;
    }
    if (*y_min < low) *y_min = low;
    if (*y_max > high) *y_max = high;
    return *y_min < *y_max;
}

double weir_world_surface(const weir_world *world, int32_t x, int32_t z, int32_t y_min, int32_t y_max)
{
    if (!cut_column(world, x, z, &y_min, &y_max)) return NAN;
    const fluid_view view = fetch_water(world, (weir_box){{x, y_min, z}, {x + 1, y_max, z + 1}}, false);
    int32_t above = 0;
    for (int32_t y = y_max - 1; y >= y_min; y--) {
        int32_t brick = fluid_find(&view, brick_of_cell((weir_coord){x, y, z}));
        if (!view.wet[brick]) {
            above = 0;
            y &= ~7;  // on to the brick below
            continue;
        }
        int32_t drops = fluid_drops_at(&view, brick, cell_index((weir_coord){x, y, z}));
        // What lies in the cell above stands on this one, what is missing here lowers it.
        if (drops >= WEIR_FULL / 2) return y + (double)((drops < WEIR_FULL ? drops : WEIR_FULL) + (int64_t)above) * PER_DROP;
        above = drops;
    }
    return NAN;
}

double weir_world_column(const weir_world *world, int32_t x, int32_t z, int32_t y_min, int32_t y_max)
{
    if (!cut_column(world, x, z, &y_min, &y_max)) return 0;
    weir_box box = {{x, y_min, z}, {x + 1, y_max, z + 1}};
    int64_t drops = 0;
    brick_mask cells;
    int32_t room[BRICK_CELLS];
    const fluid_view view = fetch_water(world, box, false);
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!view.wet[brick]) continue;
        const int32_t *mass = fluid_drops(&view, brick, room);
        region_box_mask(box, view.coord[brick], &cells);
        for (uint64_t left = cells.plane[z & 7]; left;) drops += mass[region_take(&left) + 64 * (z & 7)];
    }
    return (double)drops * PER_DROP;
}

// ---- Things that float -----------------------------------------------------------------------------------------------------

static int32_t cell_below(double coordinate)
{
    double limit = WEIR_COORD_LIMIT;
    return (int32_t)floor(coordinate < -limit ? -limit : coordinate > limit ? limit : coordinate);
}

static int32_t cell_past(double coordinate)
{
    double limit = WEIR_COORD_LIMIT;
    return (int32_t)ceil(coordinate < -limit ? -limit : coordinate > limit ? limit : coordinate);
}

static double overlap(double a_min, double a_max, double b_min, double b_max)
{
    double length = fmin(a_max, b_max) - fmax(a_min, b_min);
    return length > 0 ? length : 0;
}

// Water lies at the bottom of its cell: a thing in the upper half of a half full cell is dry.
float weir_world_submerged(const weir_world *world, weir_point min, weir_point max)
{
    double volume = (max.x - min.x) * (max.y - min.y) * (max.z - min.z);
    bool sound = min.x < max.x && min.y < max.y && min.z < max.z && isfinite(volume);
    if (!sound) return 0;
    weir_box box = {{cell_below(min.x), cell_below(min.y), cell_below(min.z)},
                    {cell_past(max.x), cell_past(max.y), cell_past(max.z)}};
    if (!world_clip(world, &box)) return 0;

    int64_t wet = 0;
    brick_mask cells;
    int32_t room[BRICK_CELLS];
    const fluid_view view = fetch_water(world, box, false);
    region_walk walk = region_walk_live(&view, box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        weir_coord c = view.coord[brick];
        if (!view.wet[brick] || !region_box_mask(box, c, &cells)) continue;
        const int32_t *mass = fluid_drops(&view, brick, room);
        double part = 0;
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = cells.plane[z]; left;) {
                int32_t i = region_take(&left);
                double fill = fmin(1, (double)mass[i + 64 * z] * PER_DROP);
                double x0 = 8.0 * c.x + (i & 7), y0 = 8.0 * c.y + (i >> 3), z0 = 8.0 * c.z + z;
                part += overlap(min.x, max.x, x0, x0 + 1) * overlap(min.y, max.y, y0, y0 + fill) *
                        overlap(min.z, max.z, z0, z0 + 1);
            }
        }
        // A share of the thing, not a volume: a thing far smaller than a cell is measured as well as a ship.
        wet += llrint(part / volume * 0x1p40);
    }
    return (float)fmin(1, (double)wet * 0x1p-40);
}

// ---- Rays ------------------------------------------------------------------------------------------------------------------

typedef struct ray {
    double origin[3], direction[3];  // direction has length 1
    double t;                        // how far we are
    int32_t cell[3];
    int32_t entered;  // axis of the face through which we came into the cell; -1: we began there
} ray;

// Cuts the ray to a box, from which it may begin outside; false if it misses it. *t_end gets where it leaves.
static bool ray_enter(ray *r, const double min[3], const double max[3], double *t_end)
{
    for (int32_t axis = 0; axis < 3; axis++) {
        double d = r->direction[axis];
        if (d == 0) {
            if (r->origin[axis] < min[axis] || r->origin[axis] >= max[axis]) return false;
            continue;
        }
        double in = ((d > 0 ? min[axis] : max[axis]) - r->origin[axis]) / d;
        double out = ((d > 0 ? max[axis] : min[axis]) - r->origin[axis]) / d;
        if (in > r->t) r->t = in, r->entered = axis;
        if (out < *t_end) *t_end = out;
    }
    if (r->t >= *t_end) return false;
    for (int32_t axis = 0; axis < 3; axis++) {
        double at = floor(r->origin[axis] + r->direction[axis] * r->t);
        r->cell[axis] = (int32_t)fmin(fmax(at, min[axis]), max[axis] - 1);
        if (axis == r->entered) r->cell[axis] = (int32_t)(r->direction[axis] > 0 ? min[axis] : max[axis] - 1);
    }
    return true;
}

// Goes on to where the ray leaves the block of `size` cells (1, or 8 for a brick) that it is in. Every distance is computed
// from the origin, not added up, so that long rays stay true.
static void ray_leave(ray *r, int32_t size)
{
    double best = INFINITY;
    int32_t low[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        low[axis] = r->cell[axis] & ~(size - 1);
        double d = r->direction[axis];
        if (d == 0) continue;
        double t = (low[axis] + (d > 0 ? size : 0) - r->origin[axis]) / d;
        if (t < best) best = t, r->entered = axis;
    }
    if (best > r->t) r->t = best;
    for (int32_t axis = 0; axis < 3; axis++) {
        if (axis == r->entered) {
            r->cell[axis] = r->direction[axis] > 0 ? low[axis] + size : low[axis] - 1;
        } else if (size > 1) {
            double at = floor(r->origin[axis] + r->direction[axis] * r->t);
            r->cell[axis] = (int32_t)fmin(fmax(at, low[axis]), low[axis] + size - 1);
        }
    }
}

static weir_hit ray_hit(const ray *r, weir_hit_kind kind)
{
    weir_hit hit = {.kind = kind, .cell = {r->cell[0], r->cell[1], r->cell[2]}, .distance = r->t};
    int32_t normal[3] = {0, 0, 0};
    if (r->entered >= 0) normal[r->entered] = r->direction[r->entered] > 0 ? -1 : 1;
    hit.normal = (weir_coord){normal[0], normal[1], normal[2]};
    return hit;
}

// The ray sees what is inside the world. It may come from outside, as that of a camera does, and is gone where it leaves.
weir_hit weir_world_ray(const weir_world *world, weir_point origin, weir_vec direction, double max_distance, float min_fill)
{
    weir_hit none = {.kind = WEIR_HIT_NONE};
    double length =
        sqrt((double)direction.x * direction.x + (double)direction.y * direction.y + (double)direction.z * direction.z);
    bool sound = isfinite(origin.x) && isfinite(origin.y) && isfinite(origin.z) && isfinite(length) && length > 0 &&
                 max_distance >= 0 && !isnan(min_fill);
    if (!sound) return none;
    ray r = {.origin = {origin.x, origin.y, origin.z},
             .direction = {direction.x / length, direction.y / length, direction.z / length},
             .entered = -1};

    weir_box box = {{INT32_MIN, INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX, INT32_MAX}};
    world_clip(world, &box);
    const double min[3] = {box.min.x, box.min.y, box.min.z}, max[3] = {box.max.x, box.max.y, box.max.z};
    double t_end = INFINITY;
    if (!ray_enter(&r, min, max, &t_end)) return none;

    const fluid_view view = world_fluid(world);
    weir_coord here = {0, 0, 0};
    int32_t brick = BRICK_NOTHING;
    brick_mask open;
    bool known = false, clear = false, wet = false;
    while (r.t < t_end && r.t <= max_distance) {
        weir_coord cell = {r.cell[0], r.cell[1], r.cell[2]}, coord = brick_of_cell(cell);
        if (cell.x < box.min.x || cell.y < box.min.y || cell.z < box.min.z) return none;
        if (cell.x >= box.max.x || cell.y >= box.max.y || cell.z >= box.max.z) return none;
        if (!known || coord.x != here.x || coord.y != here.y || coord.z != here.z) {
            known = true;
            here = coord;
            brick = fluid_find(&view, coord);
            if (brick == BRICK_NOTHING)
                terrain_open(&world->terrain, coord, &open);
            else
                open = view.open[brick];
            clear = !view.wet[brick] && mask_full(&open);
            wet = view.wet[brick];
            if (wet) fluid_fetch(&view, &brick, 1);
            // A world that went back has other bricks: begin again.
            if (wet && !world_check_query(world)) return weir_world_ray(world, origin, direction, max_distance, min_fill);
        }
        if (clear) {
            ray_leave(&r, BRICK_EDGE);
            continue;
        }
        int32_t i = cell_index(cell), drops = wet ? fluid_drops_at(&view, brick, i) : 0;
        if (!mask_has(&open, i)) return ray_hit(&r, WEIR_HIT_TERRAIN);
        if (drops > 0 && (float)drops * PER_DROP >= min_fill) return ray_hit(&r, WEIR_HIT_WATER);
        ray_leave(&r, 1);
    }
    return none;
}

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

// A list that is being written in the caller's array: the first `room` bricks in coordinate order, as a heap with the last of them on top
// while there may be more, so that no other memory is needed.
typedef struct brick_list {
    weir_brick_change *changes;  // one of both is where they go, if there is room for any
    weir_coord *origins;
    int32_t room, kept;
    int32_t count;  // of all bricks, with or without room
} brick_list;

static weir_brick_change list_get(const brick_list *list, int32_t at)
{
    return list->changes ? list->changes[at] : (weir_brick_change){.origin = list->origins[at]};
}

static void list_put(brick_list *list, int32_t at, weir_brick_change item)
{
    if (list->changes)
        list->changes[at] = item;
    else
        list->origins[at] = item.origin;
}

static bool list_in_order(const brick_list *list, int32_t a, int32_t b)
{
    return coord_compare(list_get(list, a).origin, list_get(list, b).origin) < 0;
}

static void sift_down(brick_list *list, int32_t count, int32_t at)
{
    const weir_brick_change moved = list_get(list, at);
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && list_in_order(list, child, child + 1)) child++;
        if (coord_compare(moved.origin, list_get(list, child).origin) >= 0) break;
        list_put(list, at, list_get(list, child));
    }
    list_put(list, at, moved);
}

static void make_heap(brick_list *list)
{
    for (int32_t i = list->kept / 2 - 1; i >= 0; i--) sift_down(list, list->kept, i);
}

static void list_add(brick_list *list, weir_coord brick, bool gone)
{
    const weir_brick_change item = {.origin = {8 * brick.x, 8 * brick.y, 8 * brick.z}, .gone = gone};
    list->count++;
    if (list->kept < list->room) {
        list_put(list, list->kept++, item);
        if (list->kept == list->room) make_heap(list);
    } else if (list->room > 0 && coord_compare(item.origin, list_get(list, 0).origin) < 0) {
        list_put(list, 0, item);
        sift_down(list, list->kept, 0);
    }
}

static int32_t list_finish(brick_list *list)
{
    if (list->kept < list->room) make_heap(list);
    for (int32_t last = list->kept - 1; last > 0; last--) {
        const weir_brick_change greatest = list_get(list, 0);
        list_put(list, 0, list_get(list, last));
        list_put(list, last, greatest);
        sift_down(list, last, 0);
    }
    return list->count;
}

// The mark moves on only when all have been written.
int32_t weir_world_changed(const weir_world *world, int64_t *mark, weir_brick_change *bricks, int32_t room)
{
    assert(mark && *mark >= 0 && room >= 0 && (bricks || room == 0));
    const fluid_view view = world_fluid(world);
    brick_list list = {.changes = bricks, .room = room};
    const int64_t now = world->busy ? world->frozen.change : world->change;
    if (*mark != 0 && (*mark < view.gone_forgotten || *mark > now)) return -1;
    for (int32_t b = 1; b < view.end; b++)
        if (view.alive[b] && view.changed[b] > *mark) list_add(&list, view.coord[b], false);
    // Who begins has nothing to drop.
    for (int32_t i = 1; i < view.gone_end && *mark != 0; i++)
        if (view.gone_change[i] > *mark) list_add(&list, view.gone[i], true);
    if (list_finish(&list) <= room) *mark = now;
    return list.count;
}

int32_t weir_world_bricks(const weir_world *world, weir_coord *bricks, int32_t room)
{
    assert(room >= 0 && (bricks || room == 0));
    const fluid_view view = world_fluid(world);
    brick_list list = {.origins = bricks, .room = room};
    for (int32_t b = 1; b < view.end; b++)
        if (view.alive[b]) list_add(&list, view.coord[b], false);
    return list_finish(&list);
}

// ---- Statistics ------------------------------------------------------------------------------------------------------------

weir_stats weir_world_stats(const weir_world *world)
{
    if (world->busy) return world->frozen.stats;
    solver_catch_up(world);
    weir_stats stats = {
        .updates = world->update,
        .cells_updated = world->cells_updated,
        .solved = true,
        .threads = workers_count(world->workers),
        .simd = world->simd,
        .bytes_to_device = world->account.sent,
        .bytes_from_device = world->account.brought,
        .program_seconds = world->account.program_seconds,
        .program_cached = world->account.program_cached,
        .rule_count = world->rule_time_count,
    };
    for (int32_t i = 0; i < world->rule_time_count; i++) {
        stats.rules[i] = (weir_rule_time){world->rule_names[i], world->rule_seconds[i], world->rule_on_host[i]};
    }
    world->solver->stats(world->state, &stats);
    const int64_t terrain_size = terrain_bytes(&world->terrain);
    stats.bytes += terrain_size;
    stats.peak_bytes += terrain_size;
    if (stats.peak_bytes < stats.bytes) stats.peak_bytes = stats.bytes;
    return stats;
}
