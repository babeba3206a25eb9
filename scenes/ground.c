// Water is poured on a flat floor, bucket by bucket: it should spread to a puddle as thick as a film, and stop. What has not stopped takes
// more cells for ever.
//
//      |              ##              |   a bucket is a cube of half of size; the first hangs there at the beginning, and
//      |              ##              |   then comes one every BUCKET_EVERY updates, 8 in all
//      |                              |
//      |        ..##########..        |
//      +------------------------------+   floor, 16 times size in both directions
#include "scenes/scene.h"

#include <math.h>

#define BUCKETS 8
#define BUCKET_EVERY 96  // the one before has left its place by then

typedef struct ground_state {
    int64_t wet_cells;  // when the second half of the run began; 0: not yet
} ground_state;

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 16 * size, 0, size, 0, 16 * size);
}

static void pour(scene_run *run)
{
    int32_t size = run->size, edge = size / 2, low = 8 * size - edge / 2;
    scene_fill(run, scene_box(low, low + edge, size - edge, size, low, low + edge), 1.0f);
}

static void set_up(scene_run *run)
{
    pour(run);
}

static void before(scene_run *run)
{
    if (run->update > 0 && run->update < BUCKETS * BUCKET_EVERY && run->update % BUCKET_EVERY == 0) pour(run);
}

static void after(scene_run *run)
{
    ground_state *state = run->state;
    if (state->wet_cells == 0 && scene_second_half(run)) state->wet_cells = scene_sum(run).wet_cells;
}

static void measure(scene_run *run)
{
    const ground_state *state = run->state;
    weir_box above = weir_world_bounds(run->world);
    above.min.y = 1;
    weir_box_sum sum = scene_sum(run);
    double wet = (double)sum.wet_cells, poured = (double)weir_world_ledger(run->world).added / WEIR_FULL;
    scene_set_probe(run, "wet_cells", wet);
    scene_set_probe(run, "growth", state->wet_cells ? wet / (double)state->wet_cells : NAN);
    scene_set_probe(run, "poured", poured);
    scene_set_probe(run, "film", wet > 0 ? poured / wet : NAN);
    scene_set_probe(run, "above_floor", scene_volume(run, above));
    scene_set_probe(run, "max_flow", sum.max_flow);
}

const scene_def ground_scene = {
    .name = "ground",
    .summary = "water is poured on a flat floor and comes to rest as a puddle",
    .size_meaning = "edge of the cube that all the water would fill",
    .size = 8,
    .size_min = 4,
    .size_max = 64,
    .updates = 4000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.25f, -0.6f, -1.0f},
    .probes = {{"wet_cells", "cells that count as wet"},
               {"growth", "wet cells over those in the middle of the run; 1: the puddle has stopped"},
               {"poured", "what the buckets gave, full cells"},
               {"film", "mean fill of the wet cells: the thickness of the puddle, cells"},
               {"above_floor", "water that is not in the lowest layer, full cells"},
               {"max_flow", "largest flow of any cell, cells per update"}},
    .state_size = sizeof(ground_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
