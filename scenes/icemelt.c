// A block of ice in warm water.
#include "scenes/scene.h"

static weir_box ice_of(int32_t size)
{
    return scene_box(size / 4, size - size / 4, size / 4, size / 2, size / 4, size - size / 4);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size);
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size;
    scene_fill(run, scene_box(0, size, 0, size / 2 + size / 4, 0, size), 1.0f);
    scene_warm(run, scene_box(0, size, 0, size, 0, size), 313.15f);
    scene_fill_with(run, ice_of(size), WEIR_ICE, 1.0f);
}

static void measure(scene_run *run)
{
    const weir_heat_ledger heat = weir_world_heat_ledger(run->world);
    scene_set_probe(run, "ice", scene_held(run, WEIR_ICE));
    scene_set_probe(run, "temperature",
                    (double)weir_world_mix(run->world, (weir_coord){run->size / 2, 0, run->size / 2}).temperature);
    scene_set_probe(run, "heat_drift", (double)heat.drift);
}

const scene_def icemelt_scene = {
    .name = "icemelt",
    .summary = "a block of ice that melts in warm water",
    .size_meaning = "edge of the box",
    .size = 16,
    .size_min = 4,
    .size_max = 64,
    .updates = 4000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"ice", "ice that is left, cells"},
               {"temperature", "of the water in the middle of the floor, K"},
               {"heat_drift", "heat that the account does not explain"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
