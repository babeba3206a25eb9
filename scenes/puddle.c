// A bucket of water stands on a wide floor and is let go, in a world without bounds: a spill should spread to a film and stop. One that goes
// on spreading takes more cells and bricks for ever.
//
//                 ##
//                 ##        # water, `size` in each direction, about the origin
//      ========================
//      floor, 80 times size wide
#include "scenes/scene.h"

#include <math.h>

typedef struct puddle_state {
    int64_t wet_cells;  // when the second half of the run began; 0: not yet
} puddle_state;

static void define(int32_t size, weir_world_def *def)
{
    (void)size;
    def->bounds = scene_box(0, 0, 0, 0, 0, 0);
}

static void set_up(scene_run *run)
{
    int32_t low = -(run->size / 2), high = low + run->size, reach = 40 * run->size;
    scene_build(run, scene_box(-reach, reach, -8, 0, -reach, reach));
    scene_fill(run, scene_box(low, high, 0, run->size, low, high), 1.0f);
}

static void after(scene_run *run)
{
    puddle_state *state = run->state;
    if (state->wet_cells == 0 && scene_second_half(run)) state->wet_cells = scene_sum(run).wet_cells;
}

static void measure(scene_run *run)
{
    const puddle_state *state = run->state;
    weir_box_sum sum = scene_sum(run);
    double wet = (double)sum.wet_cells;
    scene_set_probe(run, "wet_cells", wet);
    scene_set_probe(run, "growth", state->wet_cells ? wet / (double)state->wet_cells : NAN);
    scene_set_probe(run, "film", (double)sum.drops / WEIR_FULL / wet);
    scene_set_probe(run, "bricks", weir_world_stats(run->world).bricks);
    scene_set_probe(run, "max_flow", sum.max_flow);
}

const scene_def puddle_scene = {
    .name = "puddle",
    .summary = "a bucket of water is spilled on a wide floor, without bounds",
    .size_meaning = "edge of the cube of water that is spilled",
    .size = 4,
    .size_min = 4,
    .size_max = 64,
    .updates = 1600,
    .view = {-0.25f, -1.0f, -0.6f},
    .probes = {{"wet_cells", "cells that count as wet"},
               {"growth", "wet cells over those in the middle of the run; 1: the spill has stopped"},
               {"film", "mean fill of the wet cells: the thickness of the film, cells"},
               {"bricks", "live bricks"},
               {"max_flow", "largest flow of any cell, cells per update"}},
    .state_size = sizeof(puddle_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
