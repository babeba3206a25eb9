// A block of water that fills its box, but for half a layer: every cell is busy, so this is what the benchmark measures by (the
// thesis's Table 2). Without the step in the top layer nothing would ever move.
#include "scenes/scene.h"

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size);
}

static void set_up(scene_run *run)
{
    scene_fill(run, scene_box(0, run->size, 0, run->size, 0, run->size), 1.0f);
    scene_fill(run, scene_box(0, run->size / 2, run->size - 1, run->size, 0, run->size), 0.5f);
}

const scene_def block_scene = {
    .name = "block",
    .summary = "a block of water that fills its box, for the benchmark",
    .size_meaning = "edge of the block",
    .size = 64,
    .size_min = 8,
    .size_max = 512,
    .updates = 100,
    .define = define,
    .set_up = set_up,
};
