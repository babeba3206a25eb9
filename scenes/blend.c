// Four liquids in cubes of 4 cells, warm and cold, that fill their box: every cell is busy, so this is what the benchmark measures by.
#include "scenes/scene.h"

enum { CUBE = 4 };

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size);
}

static void set_up(scene_run *run)
{
    static const weir_material liquids[4] = {WEIR_WATER, WEIR_OIL, WEIR_HONEY, WEIR_MERCURY};
    const int32_t size = run->size;
    for (int32_t z = 0; z < size; z += CUBE)
        for (int32_t y = 0; y < size; y += CUBE)
            for (int32_t x = 0; x < size; x += CUBE)
                scene_fill_with(run, scene_box(x, x + CUBE, y, y + CUBE, z, z + CUBE), liquids[(x + y * 3 + z * 5) / CUBE % 4],
                                1.0f);
    for (int32_t x = 0; x < size; x += 2 * CUBE) scene_warm(run, scene_box(x, x + CUBE, 0, size, 0, size), 330);
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "heat_drift", (double)weir_world_heat_ledger(run->world).drift);
}

const scene_def blend_scene = {
    .name = "blend",
    .summary = "four liquids in small cubes, warm and cold, for the benchmark",
    .size_meaning = "edge of the block",
    .size = 48,
    .size_min = 8,
    .size_max = 256,
    .updates = 100,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"heat_drift", "heat that the account does not explain"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
