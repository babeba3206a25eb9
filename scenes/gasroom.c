// Smoke from a fire on the floor of a room with a door: it gathers under the ceiling, and leaves when it reaches the lintel.
//
//      |          |        |
//      |   smoke  #        |   outside, which is higher and open at the side
//      |          .        |   door
//      |___f______.________|
#include "scenes/scene.h"

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 2 * size, 0, size, 0, size);
    def->open_sides = WEIR_SIDE_X_MAX;
}

static void set_up(scene_run *run)
{
    const int32_t size = run->size, middle = size / 2;
    scene_build(run, scene_box(size, size + 1, 0, size, 0, size));
    scene_dig(run, scene_box(size, size + 1, 0, size / 2, middle - 1, middle + 1));
    if (run->status == WEIR_OK)
        run->status = weir_world_add_emitter(run->world, scene_box(middle - 1, middle + 1, 0, 1, middle - 1, middle + 1),
                                             WEIR_SMOKE, 0.05f, NULL);
}

static void measure(scene_run *run)
{
    const int32_t size = run->size, half = size / 2;
    const double high = scene_amount(run, scene_box(0, size, half, size, 0, size), WEIR_SMOKE);
    const double room = scene_amount(run, scene_box(0, size, 0, size, 0, size), WEIR_SMOKE);
    scene_set_probe(run, "smoke", scene_held(run, WEIR_SMOKE));
    scene_set_probe(run, "under_ceiling", room > 0 ? high / room : 0);
    scene_set_probe(run, "left", (double)weir_world_material_ledger(run->world, WEIR_SMOKE).drained / WEIR_FULL);
}

const scene_def gasroom_scene = {
    .name = "gasroom",
    .summary = "smoke that fills a room from the ceiling down, and leaves by the door",
    .size_meaning = "edge of the room",
    .size = 16,
    .size_min = 6,
    .size_max = 64,
    .updates = 4000,
    .solver = WEIR_SOLVER_MIXTURE,
    .probes = {{"smoke", "smoke that is there, cells' worth of drops"},
               {"under_ceiling", "share of the room's smoke in its upper half"},
               {"left", "smoke that has left the world, cells' worth of drops"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
