// A cube of water falls through an empty, tall box: how well it keeps together, and whether it falls as fast as a stone.
#include "scenes/scene.h"

static void define(int32_t size, weir_world_def *def)
{
    weir_params_set(def->params, def->solver, "damping", 0);  // nothing but gravity
    def->bounds = scene_box(0, 2 * size, 0, 14 * size, 0, 2 * size);
}

static weir_box cube(int32_t size)
{
    int32_t low = (2 * size - size) / 2, top = 14 * size - 4;
    return scene_box(low, low + size, top - size, top, low, low + size);
}

static void set_up(scene_run *run)
{
    scene_fill(run, cube(run->size), 1.0f);
}

static void measure(scene_run *run)
{
    int32_t size = run->size, lowest = 14 * size, highest = -1;
    double moment = 0, volume = 0;
    for (int32_t y = 0; y < 14 * size; y++) {
        weir_box_sum layer = weir_world_box_sum(run->world, scene_box(0, 2 * size, y, y + 1, 0, 2 * size));
        moment += (double)layer.drops * (y + 0.5);
        volume += (double)layer.drops;
        if (layer.max_fill <= 0.5f) continue;
        if (y < lowest) lowest = y;
        highest = y;
    }
    weir_box start = cube(size);
    scene_set_probe(run, "height", highest >= lowest ? highest - lowest + 1 : 0);
    scene_set_probe(run, "speed", -weir_world_mean_flow(run->world, weir_world_bounds(run->world)).y);
    scene_set_probe(run, "speed_exact", -weir_world_params(run->world).gravity.y * (double)run->update);
    scene_set_probe(run, "fallen", 0.5 * (start.min.y + start.max.y) - moment / volume);
}

const scene_def fall_scene = {
    .name = "fall",
    .summary = "a cube of water falls through an empty box",
    .size_meaning = "edge of the cube",
    .size = 10,
    .size_min = 2,
    .size_max = 128,
    .updates = 120,
    .view = {-0.35f, -0.20f, -1.0f},
    .probes = {{"height", "extent in y of the cells over half full, cells"},
               {"speed", "mean speed downwards, weighted by mass, cells per update"},
               {"speed_exact", "gravity times updates: what a stone would have", true},
               {"fallen", "how far the centre of mass has fallen, cells", true}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
