// Cells as cubes: the voxel look in the thesis's colours (van der Scheer, 4.3, "World Set"), and maps of what cells hold.
#include "surface/picture_scene.h"

enum { RANGE_STEPS = 1024 };

typedef struct cube_hit {
    bool water;
    solid_hit face;
    const grid_block *block;
    int32_t cell;
} cube_hit;

static bool find_cube(const picture_scene *s, const picture_ray *r, cube_hit *hit)
{
    const picture_grid *g = &s->grid;
    ray_part part;
    if (!ray_cut(r, g->low, g->high, &part)) return false;
    block_walk w = walk_begin(g, r, part.begin, part.end, part.entered);
    while (walk_next(&w)) {
        const grid_block *block = &g->blocks[w.block];
        if (!(cells_groups(&w) & block->stop_groups)) continue;
        cell_walk c = cells_begin(&w);
        do {
            if (!cells_in(&c, &block->stops)) continue;
            double t = w.in + c.t;
            *hit = (cube_hit){.water = !cells_in(&c, &block->solid),
                              .face = {.t = t, .axis = c.entered < 0 ? 1 : c.entered},
                              .block = block,
                              .cell = c.x + 8 * c.y + 64 * c.z};
            hit->face.side = r->d[hit->face.axis] > 0 ? -1 : 1;
            for (int32_t axis = 0; axis < 3; axis++) hit->face.p[axis] = r->o[axis] + r->d[axis] * t;
            return true;
        } while (cells_next(&c));
    }
    return false;
}

// The edges of a cube, as far as they are wider than a pixel.
static float cube_edges(const solid_hit *face, float footprint)
{
    float nearest = 1;
    for (int32_t axis = 0; axis < 3; axis++) {
        if (axis == face->axis) continue;
        float from = (float)fabs(face->p[axis] - (double)(int64_t)(face->p[axis] + 0.5));
        nearest = least_of(nearest, from);
    }
    return picture_line(nearest, 0.04f, footprint) * smooth_step(0.5f, 0.15f, footprint);
}

// How bright a face is by its direction alone, so that cubes look hard.
static float face_light(const solid_hit *face)
{
    static const float light[3][2] = {{0.62f, 0.80f}, {0.40f, 1.0f}, {0.50f, 0.68f}};
    return light[face->axis][face->side > 0];
}

float picture_value(const fluid_view *fluid, weir_look look, int32_t brick, int32_t cell)
{
    float room;
    if (look == WEIR_LOOK_PRESSURE) return fluid_pressure_at(fluid, brick, cell);
    if (look == WEIR_LOOK_TEMPERATURE) return *(const float *)fluid_values(fluid, FLUID_TEMPERATURE, brick, cell, 1, &room);
    if (look != WEIR_LOOK_FLOW) return (float)fluid_drops_at(fluid, brick, cell) * (1.0f / WEIR_FULL);
    float square = 0;
    for (int32_t axis = 0; axis < 3; axis++) {
        float flow = fluid_flow_at(fluid, brick, cell, axis);
        square += flow * flow;
    }
    return sqrtf(square);
}

// Calls for every cell that is drawn: with no histogram it finds the largest value, with one it counts values in equal steps of *most.
static void look_through(const fluid_view *fluid, weir_look look, float *most, int64_t *histogram)
{
    int32_t room[BRICK_CELLS];
    for (int32_t brick = 1; brick < fluid->end; brick++) {
        if (!fluid->alive[brick] || !fluid->wet[brick]) continue;
        const int32_t *mass = fluid_drops(fluid, brick, room);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (mass[cell] < WEIR_FULL / 20) continue;
            float value = picture_value(fluid, look, brick, cell);
            if (!histogram)
                *most = most_of(*most, value);
            else
                histogram[(int32_t)(clampf(value / *most, 0, 1) * (RANGE_STEPS - 1))]++;
        }
    }
}

static float rounded_up(float value)
{
    static const float steps[] = {1, 1.2f, 1.6f, 2, 3, 4, 5, 6, 8, 10};
    float power = powf(10, floorf(log10f(value)));
    int32_t i = 0;
    while (i < 9 && value > steps[i] * power * 1.0001f) i++;
    return steps[i] * power;
}

// ---- Temperatures ------------------------------------------------------------------------------------------------------------

// Temperatures by whole kelvins, of all that is in cells, gas as well.
static int64_t count_warmth(const fluid_view *fluid, int64_t histogram[WEIR_TEMPERATURE_MAX + 1])
{
    int32_t drops[BRICK_CELLS];
    float warmth[BRICK_CELLS];
    int64_t count = 0;
    for (int32_t brick = 1; brick < fluid->end; brick++) {
        if (!fluid->alive[brick] || !fluid->wet[brick]) continue;
        const int32_t *mass = fluid_drops(fluid, brick, drops);
        const float *kelvins = fluid_values(fluid, FLUID_TEMPERATURE, brick, 0, BRICK_CELLS, warmth);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (mass[cell] < WEIR_FULL / 64) continue;
            histogram[(int32_t)clampf(kelvins[cell], 0, WEIR_TEMPERATURE_MAX)]++;
            count++;
        }
    }
    return count;
}

// The range that 99 of 100 cells are in, with ends that are easily read: the wider the rounder.
static bool warm_range(const weir_world *world, float *low, float *high)
{
    const fluid_view fluid = world_fetch_all(world);
    int64_t histogram[WEIR_TEMPERATURE_MAX + 1] = {0}, below = 0;
    const int64_t count = weir_world_knows_temperature(world) ? count_warmth(&fluid, histogram) : 0;
    int32_t first = -1, last = 0;
    if (count == 0) return false;
    for (int32_t k = 0; k <= WEIR_TEMPERATURE_MAX; k++) {
        if (first < 0 && below + histogram[k] > count / 200) first = k;
        if (below <= count - 1 - count / 200) last = k + 1;
        below += histogram[k];
    }
    const int32_t wide = last - first, step = wide <= 40 ? 10 : wide <= 100 ? 20 : wide <= 400 ? 50 : 200;
    first = first / step * step;
    last = (last + step - 1) / step * step;
    *low = (float)first;
    *high = (float)(last > first ? last : first + step);
    return true;
}

float weir_world_range_low(const weir_world *world, weir_look look)
{
    float low = 0, high = 0;
    return look == WEIR_LOOK_TEMPERATURE && warm_range(world, &low, &high) ? low : 0;
}

float weir_world_range(const weir_world *world, weir_look look)
{
    float low = 0, warmest = 0;
    if (look == WEIR_LOOK_TEMPERATURE) return warm_range(world, &low, &warmest) ? warmest : 0;
    if (look != WEIR_LOOK_FLOW && look != WEIR_LOOK_PRESSURE) return 0;
    const fluid_view fluid = world_fetch_all(world);
    float most = 0;
    look_through(&fluid, look, &most, NULL);
    if (!(most > 1e-6f) || !isfinite(most)) return 0;

    int64_t histogram[RANGE_STEPS] = {0}, count = 0, below = 0;
    look_through(&fluid, look, &most, histogram);
    for (int32_t i = 0; i < RANGE_STEPS; i++) count += histogram[i];
    int32_t step = 0;
    while (step < RANGE_STEPS - 1 && (below += histogram[step]) < count - count / 100) step++;
    return rounded_up(most * (float)(step + 1) / RANGE_STEPS);
}

void picture_set_colours(picture_scene *s)
{
    for (int32_t i = 0; i < PICTURE_COLOURS; i++) {
        float share = (float)i / (PICTURE_COLOURS - 1);
        weir_vec shown = s->look == WEIR_LOOK_VOXEL ? vec(0, 0.5f * (1 - share), 1) : picture_map(s->look, share);
        s->colours[i] = picture_light(shown);
    }
}

static weir_vec water_colour(const picture_scene *s, const cube_hit *hit, float footprint)
{
    const float value = picture_value(&s->grid.fluid, s->look, hit->block->brick, hit->cell);
    float light = face_light(&hit->face), edge = 1 - 0.3f * cube_edges(&hit->face, footprint);
    if (s->look != WEIR_LOOK_VOXEL) light = 0.6f + 0.4f * light;  // a map is read against its legend
    if (s->look == WEIR_LOOK_VOXEL && hit->block->shares) {
        const uint8_t *shares = hit->block->shares + s->grid.kinds * hit->cell;
        return vec_scale(picture_cube_colour(s, shares, clampf(value, 0, 1)), light * edge);
    }
    return vec_scale(picture_map_colour(s, value), light * edge);
}

// What is met first, gas left out; *t becomes its distance, and stays in the sky.
static weir_vec surface_seen(const picture_scene *s, const picture_ray *r, double *t)
{
    cube_hit hit;
    solid_hit floor;
    bool met = find_cube(s, r, &hit);
    if (picture_floor(s, r, 0, met ? hit.face.t : WALK_FAR, &floor)) {
        weir_vec up = vec(0, 1, 0);
        *t = floor.t;
        return picture_terrain(s, &floor, picture_sunlight(s, floor.p, up), s->pixel * (float)floor.t);
    }
    if (!met) return picture_sky(ray_direction(r));
    *t = hit.face.t;
    float footprint = s->pixel * (float)hit.face.t;
    if (hit.water) return water_colour(s, &hit, footprint);
    float normal[3] = {0, 0, 0};
    normal[hit.face.axis] = (float)hit.face.side;
    float lit = picture_sunlight(s, hit.face.p, vec(normal[0], normal[1], normal[2]));
    float edge = 1 - 0.2f * cube_edges(&hit.face, footprint);
    return vec_scale(picture_terrain(s, &hit.face, lit, footprint), edge);
}

PICTURE_HOT static weir_vec trace(const picture_scene *s, weir_vec direction)
{
    picture_ray r = ray_from(s->eye, direction);
    double t = WALK_FAR;
    const weir_vec behind = surface_seen(s, &r, &t);
    weir_vec seen = {0, 0, 0}, share = {1, 1, 1};
    if (!s->gassy) return behind;
    picture_gas(s, &r, 0, t, &seen, &share);
    return vec_add(seen, vec_mul(share, behind));
}

weir_vec picture_trace_cubes(const picture_scene *s, weir_vec direction)
{
    return trace(s, direction);
}
