// A block of water is let go at one end of a long box and runs against a cube (the thesis's Figure 10). The box is three times size high,
// so that what shoots up the far wall falls back without having met the lid.
//
//      |                                   |
//      |##########                         |   # water, 0.6 size wide, 0.8 size high, over the whole depth
//      |##########                         |   O obstacle, a quarter of size, in the middle of z
//      |##########         OO              |
//      +-----------------------------------+
//      0       0.6       1.25  1.5         2   times size
#include "scenes/scene.h"

#include <math.h>

enum { HEIGHT = 3 };  // of the box, times size

typedef struct dambreak_state {
    int64_t impact;  // update at which the water met the obstacle, 0: not yet
    int32_t climb;   // layers of the far wall that the water has reached
} dambreak_state;

static weir_box obstacle(int32_t size)
{
    int32_t edge = size / 4, x = size * 5 / 4, z = (size - edge) / 2;
    return scene_box(x, x + edge, 0, edge, z, z + edge);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 2 * size, 0, HEIGHT * size, 0, size);
}

static void set_up(scene_run *run)
{
    scene_build(run, obstacle(run->size));
    scene_fill(run, scene_box(0, run->size * 3 / 5, 0, run->size * 4 / 5, 0, run->size), 1.0f);
}

static void after(scene_run *run)
{
    dambreak_state *state = run->state;
    weir_box front = obstacle(run->size);
    front.max.x = front.min.x;
    front.min.x--;
    if (state->impact == 0 && weir_world_box_sum(run->world, front).max_fill > 0.5f) state->impact = run->update;

    // The water climbs without gaps, so only the next layer needs a look.
    int32_t wall = 2 * run->size - 1;
    while (state->climb < HEIGHT * run->size) {
        weir_box layer = scene_box(wall, wall + 1, state->climb, state->climb + 1, 0, run->size);
        if (weir_world_box_sum(run->world, layer).max_fill <= 0.5f) break;
        state->climb++;
    }
}

static void measure(scene_run *run)
{
    const dambreak_state *state = run->state;
    scene_set_probe(run, "impact", state->impact ? (double)state->impact : NAN);
    scene_set_probe(run, "climb", state->climb);
}

const scene_def dambreak_scene = {
    .name = "dambreak",
    .summary = "a block of water is let go and runs against a cube",
    .size_meaning = "depth of the box, which is twice as long and three times as high",
    .size = 64,
    .size_min = 16,
    .size_max = 512,
    .updates = 1000,
    .probes = {{"impact", "update at which the water met the cube", true},
               {"climb", "highest point reached on the far wall, cells", true}},
    .state_size = sizeof(dambreak_state),
    .framed = 0.5f,
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
