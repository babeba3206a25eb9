// A lock whose gate is opened: water runs along the floor under the oil, and oil over the water.
#include "scenes/scene.h"

#include <math.h>

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 2 * size, 0, size / 2, 0, size / 4);
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size;
    scene_fill(run, scene_box(0, size, 0, size / 2, 0, size / 4), 1.0f);
    scene_fill_with(run, scene_box(size, 2 * size, 0, size / 2, 0, size / 4), WEIR_OIL, 1.0f);
}

static void measure(scene_run *run)
{
    const int32_t size = run->size, half = size / 4;
    int32_t front = size;
    while (front < 2 * size && scene_amount(run, scene_box(front, front + 1, 0, 1, 0, half), WEIR_WATER) >= 0.5 * half) front++;
    scene_set_probe(run, "front", front - size);
    scene_set_probe(run, "sorted",
                    fmin(scene_share(run, scene_box(0, 2 * size, 0, half, 0, half), WEIR_WATER),
                         scene_share(run, scene_box(0, 2 * size, half, 2 * half, 0, half), WEIR_OIL)));
}

const scene_def lockexchange_scene = {
    .name = "lockexchange",
    .summary = "water and oil side by side, which end one above the other",
    .size_meaning = "length of each half of the lock",
    .size = 32,
    .size_min = 8,
    .size_max = 256,
    .updates = 2000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"front", "how far the water has come along the floor, cells"},
               {"sorted", "the lesser share of the two that lies in its own half"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
