// A wave runs from deep water onto a shallow shelf (the thesis's Figure 11).
//
//      |###                                    |   # raised block of water
//      |#######################################|   still level at 3/8 of size
//      |##################______-------========|   the floor rises in steps to a shelf at 5/16 of size
//      +---------------------------------------+
//      0               1.5     2.5             4   times size
#include "scenes/scene.h"

#include <math.h>

typedef struct shallowwave_state {
    double crest;     // highest surface above the still level at the shelf's beginning
    int64_t arrival;  // update at which it had risen by a quarter of the shelf's depth, 0: not yet
} shallowwave_state;

static int32_t still_level(int32_t size)
{
    return size * 3 / 8;
}

static int32_t shelf_height(int32_t size)
{
    return size * 5 / 16;
}

static int32_t width(int32_t size)
{
    return size / 4;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 4 * size, 0, size, 0, width(size));
}

static void set_up(scene_run *run)
{
    int32_t size = run->size, rise = size * 3 / 2, shelf = size * 5 / 2;
    for (int32_t x = rise; x < shelf; x++) {
        int32_t floor = shelf_height(size) * (x - rise) / (shelf - rise);
        scene_build(run, scene_box(x, x + 1, 0, floor, 0, width(size)));
    }
    scene_build(run, scene_box(shelf, 4 * size, 0, shelf_height(size), 0, width(size)));
    scene_fill(run, scene_box(0, 4 * size, 0, still_level(size), 0, width(size)), 1.0f);
    scene_fill(run, scene_box(0, size / 2, still_level(size), size * 5 / 8, 0, width(size)), 1.0f);
}

static void after(scene_run *run)
{
    shallowwave_state *state = run->state;
    int32_t size = run->size, x = size * 5 / 2;
    double depth = still_level(size) - shelf_height(size);
    double rise = weir_world_column(run->world, x, width(size) / 2, 0, size) - depth;
    state->crest = fmax(state->crest, rise);
    if (state->arrival == 0 && rise > 0.25 * depth) state->arrival = run->update;
}

static void measure(scene_run *run)
{
    const shallowwave_state *state = run->state;
    scene_set_probe(run, "crest", state->crest);
    scene_set_probe(run, "arrival", state->arrival ? (double)state->arrival : NAN);
}

const scene_def shallowwave_scene = {
    .name = "shallowwave",
    .summary = "a wave runs from deep water onto a shallow shelf",
    .size_meaning = "height of the basin, which is four times as long",
    .size = 64,
    .size_min = 32,
    .size_max = 512,
    .updates = 1000,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"crest", "highest rise of the water at the shelf's beginning, cells", true},
               {"arrival", "update at which the wave arrived there", true}},
    .state_size = sizeof(shallowwave_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
