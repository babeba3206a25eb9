// Water leaves a tank through two holes at different depths (the thesis's Figure 12). The tank's surface is held where it is,
// and what has left is taken away, so that the jets become steady and Torricelli's law, speed = sqrt(2 g depth), can be read
// off.
//
//      +------+
//      |######|                       # water, `size` high, half as wide
//      |######=...                    = holes, a twenty-fourth of size high: high up and low down in the wall
//      |######|    ...
//      |######=.......  ...
//      +------+---------------+
//             wall, one cell      the two lowest layers and the four last columns swallow what comes
#include "scenes/scene.h"

#include <math.h>

typedef struct geometry {
    int32_t wall, length, height, depth;  // x of the wall; extent of the box
    int32_t hole, low, high;              // height of a hole; lowest layer of either
} geometry;

typedef struct damhole_state {
    double low, high;  // sums of the mean speed per update
    int64_t count;
} damhole_state;

static geometry geometry_of(int32_t size)
{
    return (geometry){
        .wall = size / 2,
        .length = size * 5 / 3,
        .height = size + size / 6,
        .depth = scene_at_least(size / 16, 2),
        .hole = scene_at_least(size / 24, 1),
        .low = size / 12,
        .high = size * 2 / 3,
    };
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, shape.height, 0, shape.depth);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_build(run, scene_box(shape.wall, shape.wall + 1, 0, shape.height, 0, shape.depth));
    scene_dig(run, scene_box(shape.wall, shape.wall + 1, shape.low, shape.low + shape.hole, 0, shape.depth));
    scene_dig(run, scene_box(shape.wall, shape.wall + 1, shape.high, shape.high + shape.hole, 0, shape.depth));
    scene_fill(run, scene_box(0, shape.wall, 0, run->size, 0, shape.depth), 1.0f);
}

static void before(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_fill(run, scene_box(0, shape.wall, run->size - 1, run->size, 0, shape.depth), 1.0f);
    scene_drain(run, scene_box(shape.wall + 1, shape.length, 0, 2, 0, shape.depth));
    scene_drain(run, scene_box(shape.length - 4, shape.length, 0, shape.height, 0, shape.depth));
}

static double mean_outflow(const scene_run *run, const geometry *shape, int32_t lowest)
{
    double sum = 0;
    for (int32_t z = 0; z < shape->depth; z++) {
        for (int32_t y = lowest; y < lowest + shape->hole; y++)
            sum += scene_row_outflow(run, (weir_coord){0, y, z}, 0, shape->wall + 1);
    }
    return sum / (shape->depth * shape->hole);
}

static void after(scene_run *run)
{
    if (!scene_second_half(run)) return;
    geometry shape = geometry_of(run->size);
    damhole_state *state = run->state;
    state->low += mean_outflow(run, &shape, shape.low);
    state->high += mean_outflow(run, &shape, shape.high);
    state->count++;
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    const damhole_state *state = run->state;
    double count = state->count ? (double)state->count : NAN;
    double speed_high = state->high / count, depth_high = run->size - (shape.high + 0.5 * shape.hole);
    double speed_low = state->low / count, depth_low = run->size - (shape.low + 0.5 * shape.hole);
    double g = -weir_world_params(run->world).gravity.y;
    scene_set_probe(run, "speed_high", speed_high);
    scene_set_probe(run, "speed_low", speed_low);
    scene_set_probe(run, "depth_high", depth_high);
    scene_set_probe(run, "depth_low", depth_low);
    scene_set_probe(run, "torricelli_high", speed_high / sqrt(2 * g * depth_high));
    scene_set_probe(run, "torricelli_low", speed_low / sqrt(2 * g * depth_low));
}

const scene_def damhole_scene = {
    .name = "damhole",
    .summary = "water shoots from two holes in a dam, high up and low down",
    .size_meaning = "height of the water in the tank",
    .size = 48,
    .size_min = 24,
    .size_max = 768,
    .updates = 1500,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"speed_high", "mean outflow speed of the hole high up, second half of the run, cells per update"},
               {"speed_low", "the same of the hole low down"},
               {"depth_high", "cells from the surface down to the middle of the hole high up"},
               {"depth_low", "the same of the hole low down"},
               {"torricelli_high", "speed_high over sqrt(2 g depth_high): 1 without losses"},
               {"torricelli_low", "the same of the hole low down"}},
    .state_size = sizeof(damhole_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
