// A large block of water runs down a long slope into a row of apartment buildings (the thesis's Figure 6).
//
//      |########                                |   # water on a plateau half of size high
//      |########                                |
//      |________                                |   the slope goes down in steps
//      |        ----____         [] []  []      |   [] buildings: storeys with openings through which water passes
//      |                --------                |
//      +----------------------------------------+
//      0        1          2.5                  4   times size; twice size in z
//
// Peak cells with the default solver: 0.9 million at size 64 and 11.3 million, as in the thesis, at size 178, when the flood has passed the
// buildings.
#include "scenes/scene.h"

#include <math.h>

typedef struct tsunami_state {
    int64_t impact;  // update at which the water reached the first row of buildings, 0: not yet
} tsunami_state;

static int32_t first_row(int32_t size)
{
    return size * 11 / 4;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 4 * size, 0, size, 0, 2 * size);
}

// A building that stands on base: every storey has a floor slab above it and openings right through, along x.
static void build_apartments(scene_run *run, int32_t x, int32_t z, int32_t width, int32_t base, int32_t storeys)
{
    int32_t storey = run->size / 16, bay = scene_at_least(width / 4, 2);
    scene_build(run, scene_box(x, x + width, base, base + storeys * storey, z, z + width));
    for (int32_t i = 0; i < storeys; i++) {
        int32_t y = base + i * storey;
        for (int32_t door = z + bay / 2; door + bay / 2 < z + width; door += bay) {
            scene_dig(run, scene_box(x, x + width, y, y + storey * 3 / 4, door, door + bay / 2));
        }
    }
}

static void set_up(scene_run *run)
{
    int32_t size = run->size, plateau = size / 2, edge = size, foot = size * 5 / 2, depth = 2 * size;
    scene_build(run, scene_box(0, edge, 0, plateau, 0, depth));
    for (int32_t x = edge; x < foot; x++) {
        int32_t height = plateau * (foot - x) / (foot - edge);
        scene_build(run, scene_box(x, x + 1, 0, height, 0, depth));
    }

    int32_t width = size / 4;
    for (int32_t row = 0; row < 2; row++) {
        for (int32_t i = 0; i < 4; i++) {
            int32_t x = first_row(size) + row * size / 2, z = size / 8 + i * size / 2 + (row ? size / 8 : 0);
            build_apartments(run, x, z, width, 0, 4 + (3 * row + 2 * i) % 5);
        }
    }
    scene_fill(run, scene_box(0, edge * 7 / 8, plateau, size * 15 / 16, 0, depth), 1.0f);
}

static void after(scene_run *run)
{
    tsunami_state *state = run->state;
    if (state->impact) return;
    int32_t x = first_row(run->size) - 1;
    weir_box front = scene_box(x, x + 1, 0, run->size / 16, 0, 2 * run->size);
    if (weir_world_box_sum(run->world, front).max_fill > 0.5f) state->impact = run->update;
}

static void measure(scene_run *run)
{
    const tsunami_state *state = run->state;
    int32_t size = run->size;
    scene_set_probe(run, "impact", state->impact ? (double)state->impact : NAN);
    scene_set_probe(run, "flood", scene_volume(run, scene_box(first_row(size), 4 * size, 0, size, 0, 2 * size)));
}

const scene_def tsunami_scene = {
    .name = "tsunami",
    .summary = "a large block of water runs down a slope into buildings",
    .size_meaning = "height of the box, which is four times as long and twice as deep",
    .size = 64,
    .size_min = 32,
    .size_max = 384,
    .updates = 1000,
    .probes = {{"impact", "update at which the water reached the first row of buildings", true},
               {"flood", "water among and behind the buildings, cells"}},
    .state_size = sizeof(tsunami_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
