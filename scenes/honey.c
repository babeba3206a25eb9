// Columns of honey and of water in two boxes side by side: the honey takes its time.
#include "scenes/scene.h"

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 4 * size, 0, size, 0, 9);
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size;
    scene_build(run, scene_box(0, 4 * size, 0, size, 4, 5));
    scene_fill_with(run, scene_box(0, size / 2, 0, size, 0, 4), WEIR_HONEY, 1.0f);
    scene_fill(run, scene_box(0, size / 2, 0, size, 5, 9), 1.0f);
}

// How far there is something of a cell's hundredth on the floor.
static double front(const scene_run *run, int32_t z, weir_material material)
{
    int32_t x = 0;
    while (x < 4 * run->size && scene_amount(run, scene_box(x, x + 1, 0, 1, z, z + 4), material) > 0.04) x++;
    return x;
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "front_honey", front(run, 0, WEIR_HONEY));
    scene_set_probe(run, "front_water", front(run, 5, WEIR_WATER));
}

const scene_def honey_scene = {
    .name = "honey",
    .summary = "a column of honey beside one of water, in boxes of their own",
    .size_meaning = "height of the columns",
    .size = 24,
    .size_min = 4,
    .size_max = 128,
    .updates = 200,
    .solver = WEIR_SOLVER_MIXTURE,
    .view = {0, -1.0f, -0.08f},
    .probes = {{"front_honey", "how far the honey has come, cells"}, {"front_water", "how far the water has come, cells"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
