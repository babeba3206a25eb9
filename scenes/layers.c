// Five liquids one above the other, the lightest at the bottom: each ends in a layer of its own. One of them, brine, is the scene's own.
#include "scenes/scene.h"

#include <math.h>

enum { LIQUIDS = 5 };

static const char *const upwards[LIQUIDS] = {"oil", "water", "brine", "honey", "mercury"};

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
    const weir_material_def brine = {.name = "brine", .density = 1.2f, .viscosity = 1.5f, .colour = {0.1f, 0.5f, 0.3f}};
    if (run->status == WEIR_OK) run->status = weir_world_add_material(run->world, &brine, NULL);
    for (int32_t i = 0; i < LIQUIDS; i++)
        scene_fill_with(run, layer(run->size, i), weir_world_find_material(run->world, upwards[i]), 1.0f);
}

static void measure(scene_run *run)
{
    double least = 1;
    for (int32_t i = 0; i < LIQUIDS; i++) {
        const weir_material liquid = weir_world_find_material(run->world, upwards[i]);
        least = fmin(least, scene_share(run, layer(run->size, LIQUIDS - 1 - i), liquid));
    }
    scene_set_probe(run, "sorted", least);
}

const scene_def layers_scene = {
    .name = "layers",
    .summary = "mercury on honey on brine on water on oil, which sort themselves",
    .size_meaning = "height of the box, twice its width",
    .size = 40,
    .size_min = 10,
    .size_max = 256,
    .updates = 2000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"sorted", "the least share of a liquid that lies in its own layer"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
