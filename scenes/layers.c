// Four liquids one above the other, the lightest at the bottom: each ends in a layer of its own.
#include "scenes/scene.h"

#include <math.h>

enum { LIQUIDS = 4 };

static const weir_material upwards[LIQUIDS] = {WEIR_OIL, WEIR_WATER, WEIR_HONEY, WEIR_MERCURY};

static weir_box layer(int32_t size, int32_t i)
{
    const int32_t thick = size / LIQUIDS;
    return scene_box(0, size / 2, thick * i, thick * (i + 1), 0, size / 2);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size / 2, 0, size, 0, size / 2);
}

static void set_up(scene_run *run)
{
    for (int32_t i = 0; i < LIQUIDS; i++) scene_fill_with(run, layer(run->size, i), upwards[i], 1.0f);
}

static void measure(scene_run *run)
{
    double least = 1;
    for (int32_t i = 0; i < LIQUIDS; i++) least = fmin(least, scene_share(run, layer(run->size, LIQUIDS - 1 - i), upwards[i]));
    scene_set_probe(run, "sorted", least);
}

const scene_def layers_scene = {
    .name = "layers",
    .summary = "mercury on honey on water on oil, which sort themselves",
    .size_meaning = "height of the box, twice its width",
    .size = 32,
    .size_min = 8,
    .size_max = 256,
    .updates = 2000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"sorted", "the least share of a liquid that lies in its own layer"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
