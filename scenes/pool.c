// A still pool with half a layer on top: it must stay as it is, however deep.
#include "scenes/scene.h"

#include <math.h>

#define WIDTH 16

typedef struct pool_state {
    double max_flow;
} pool_state;

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, WIDTH, 0, size + 6, 0, WIDTH);
}

static void set_up(scene_run *run)
{
    scene_fill(run, scene_box(0, WIDTH, 0, run->size - 1, 0, WIDTH), 1.0f);
    scene_fill(run, scene_box(0, WIDTH, run->size - 1, run->size, 0, WIDTH), 0.5f);
}

static void after(scene_run *run)
{
    pool_state *state = run->state;
    // Unrest lasts for many updates; every tenth is enough to see it.
    if (scene_second_half(run) && run->update % 10 == 0) state->max_flow = fmax(state->max_flow, scene_sum(run).max_flow);
}

static void measure(scene_run *run)
{
    const pool_state *state = run->state;
    double lowest = INFINITY, highest = -INFINITY;
    for (int32_t z = 0; z < WIDTH; z++) {
        for (int32_t x = 0; x < WIDTH; x++) {
            double height = weir_world_column(run->world, x, z, 0, run->size + 6);
            lowest = fmin(lowest, height);
            highest = fmax(highest, height);
        }
    }
    scene_set_probe(run, "max_flow", fmax(state->max_flow, scene_sum(run).max_flow));
    scene_set_probe(run, "level_spread", highest - lowest);
}

const scene_def pool_scene = {
    .name = "pool",
    .summary = "a still pool, 16 x 16 cells at any depth",
    .size_meaning = "depth of the pool",
    .size = 64,
    .size_min = 2,
    .size_max = 2048,
    .updates = 2000,
    .probes = {{"max_flow", "largest flow of any cell in the second half of the run, cells per update"},
               {"level_spread", "difference between the highest and the lowest column, cells"}},
    .state_size = sizeof(pool_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
