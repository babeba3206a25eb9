// Oil under water: it rises through it and ends on top.
#include "scenes/scene.h"

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size / 2);
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size, half = size / 2;
    scene_fill_with(run, scene_box(0, size, 0, half, 0, half), WEIR_OIL, 1.0f);
    scene_fill(run, scene_box(0, size, half, 2 * half, 0, half), 1.0f);
}

static void measure(scene_run *run)
{
    const int32_t size = run->size, half = size / 2;
    scene_set_probe(run, "water_below", scene_share(run, scene_box(0, size, 0, half, 0, half), WEIR_WATER));
    scene_set_probe(run, "oil_above", scene_share(run, scene_box(0, size, half, size, 0, half), WEIR_OIL));
}

const scene_def oilwater_scene = {
    .name = "oilwater",
    .summary = "oil under as much water, with which it changes places",
    .size_meaning = "width and height of the box",
    .size = 32,
    .size_min = 4,
    .size_max = 256,
    .updates = 200,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"water_below", "share of the water in the lower half"}, {"oil_above", "share of the oil in the upper half"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
