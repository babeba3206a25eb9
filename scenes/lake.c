// A lake at rest, with an island and a shoal. Nothing should move and nothing should change; what an update costs here is what still water
// costs a game.
//
//      |                   __          |
//      |#################/    \########|   level at 20 cells, whatever the size
//      |######_____#####/      \__#####|
//      +-------------------------------+
#include "scenes/scene.h"

#include <math.h>
#include <stdlib.h>

#define LEVEL 20
#define HEIGHT 32

typedef struct hill {
    int32_t x, z, radius;  // in sixteenths of size
    int32_t peak;          // in cells
} hill;

static const hill HILLS[] = {{10, 6, 4, 28}, {12, 8, 3, 24}, {4, 11, 4, 15}};

typedef struct lake_state {
    double max_flow;
    int64_t mark;     // of weir_world_changed, after the last update
    int32_t changed;  // bricks that the last update changed; -1: not known
} lake_state;

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, HEIGHT, 0, size);
}

// Height of the ground in whole cells: hills are paraboloids, reckoned in half cells.
static int32_t ground(int32_t size, int32_t x, int32_t z)
{
    int32_t height = 0;
    for (size_t i = 0; i < sizeof HILLS / sizeof HILLS[0]; i++) {
        const hill *h = &HILLS[i];
        int32_t dx = 2 * x + 1 - h->x * size / 8, dz = 2 * z + 1 - h->z * size / 8, radius = h->radius * size / 8;
        height = scene_at_least(h->peak * (radius * radius - dx * dx - dz * dz) / (radius * radius), height);
    }
    return height;
}

// Builds the ground of one layer of one row along x, run by run.
static void build_row(scene_run *run, int32_t y, int32_t z)
{
    int32_t begin = 0;
    for (int32_t x = 0; x <= run->size; x++) {
        if (x < run->size && ground(run->size, x, z) > y) continue;
        scene_build(run, scene_box(begin, x, y, y + 1, z, z + 1));
        begin = x + 1;
    }
}

static void set_up(scene_run *run)
{
    for (int32_t z = 0; z < run->size; z++) {
        for (int32_t y = 0; y < HEIGHT; y++) build_row(run, y, z);
    }
    scene_fill(run, scene_box(0, run->size, 0, LEVEL, 0, run->size), 1.0f);
}

// How many bricks changed since the mark, which moves on to now; -1 if that cannot be known.
static int32_t changed_since(const scene_run *run, int64_t *mark)
{
    int32_t count = weir_world_changed(run->world, mark, NULL, 0);
    if (count <= 0) return count;
    weir_brick_change *bricks = malloc((size_t)count * sizeof *bricks);
    if (!bricks) return -1;
    weir_world_changed(run->world, mark, bricks, count);
    free(bricks);
    return count;
}

static void before(scene_run *run)
{
    lake_state *state = run->state;
    if (state->mark == 0) changed_since(run, &state->mark);
}

static void after(scene_run *run)
{
    lake_state *state = run->state;
    state->changed = changed_since(run, &state->mark);
    // Unrest lasts for many updates; every tenth is enough to see it.
    if (scene_second_half(run) && run->update % 10 == 0) state->max_flow = fmax(state->max_flow, scene_sum(run).max_flow);
}

static double level_spread(const scene_run *run)
{
    double lowest = INFINITY, highest = -INFINITY;
    for (int32_t z = 0; z < run->size; z++) {
        for (int32_t x = 0; x < run->size; x++) {
            int32_t bottom = ground(run->size, x, z);
            if (bottom >= LEVEL) continue;
            double level = bottom + weir_world_column(run->world, x, z, bottom, HEIGHT);
            lowest = fmin(lowest, level);
            highest = fmax(highest, level);
        }
    }
    return highest - lowest;
}

static void measure(scene_run *run)
{
    const lake_state *state = run->state;
    scene_set_probe(run, "level_spread", level_spread(run));
    scene_set_probe(run, "max_flow", fmax(state->max_flow, scene_sum(run).max_flow));
    scene_set_probe(run, "changed_bricks", run->update > run->first && state->changed >= 0 ? state->changed : NAN);
}

const scene_def lake_scene = {
    .name = "lake",
    .summary = "a lake with an island at rest, 20 cells deep at any size",
    .size_meaning = "length and width of the lake",
    .size = 256,
    .size_min = 32,
    .size_max = 1024,
    .updates = 1000,
    .probes = {{"level_spread", "difference between the highest and the lowest level of a column, cells"},
               {"max_flow", "largest flow of any cell in the second half of the run, cells per update"},
               {"changed_bricks", "bricks whose water the last update changed"}},
    .state_size = sizeof(lake_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
