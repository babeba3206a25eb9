// Water runs down a staircase of slopes into a basin. All of it should arrive but for the film that wets the stairs.
//
//      TTT                              |
//      ====.                            |   T tap, open for 24 updates per cell of size
//      #####.===.                       |   4 stairs: flat, then a slope down of an eighth of size
//      ##########.===.                  |
//      ###############.===.             |
//      ####################.=           |
//      ######################           |   basin, half of size long, a quarter of it deep; what the tap gives
//      ######################~~~~~~~~~~~|   fills half of it
//      ######################~~~~~~~~~~~|
#include "scenes/scene.h"

#include <math.h>

#define STAIRS 4
#define OPEN_PER_SIZE 24

typedef struct geometry {
    int32_t stair, drop;  // length of a stair, and how much lower the next one is
    int32_t edge;         // x from which on the basin reaches, and its depth below that edge
    int32_t basin_depth;
    int32_t length, height, width;
} geometry;

static geometry geometry_of(int32_t size)
{
    geometry shape = {.stair = size * 3 / 8, .drop = size / 8, .basin_depth = size / 4, .width = size / 4};
    shape.edge = STAIRS * shape.stair;
    shape.length = shape.edge + size / 2;
    shape.height = shape.basin_depth + STAIRS * shape.drop + size / 8;
    return shape;
}

// Height of the stairs in column x: the first half of a stair is flat, the other half goes down.
static int32_t height_at(const geometry *shape, int32_t x)
{
    if (x >= shape->edge) return 0;
    int32_t stair = x / shape->stair, along = x % shape->stair, flat = shape->stair / 2;
    int32_t down = along < flat ? 0 : (along - flat + 1) * shape->drop / (shape->stair - flat);
    return shape->basin_depth + (STAIRS - stair) * shape->drop - down;
}

static weir_box basin(const geometry *shape)
{
    return scene_box(shape->edge, shape->length, 0, shape->height, 0, shape->width);
}

static int32_t basin_area(const geometry *shape)
{
    return (shape->length - shape->edge) * shape->width;
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, shape.height, 0, shape.width);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    for (int32_t x = 0; x < shape.edge; x++) scene_build(run, scene_box(x, x + 1, 0, height_at(&shape, x), 0, shape.width));
    int32_t top = height_at(&shape, 0), tap_length = scene_at_least(shape.stair / 4, 1);
    float given = 0.5f * (float)(shape.basin_depth * basin_area(&shape));
    float rate = given / (float)(OPEN_PER_SIZE * run->size);
    weir_box tap = scene_box(0, tap_length, top, top + shape.drop, 0, shape.width);
    if (run->status == WEIR_OK) run->status = weir_world_add_emitter(run->world, tap, WEIR_WATER, rate, NULL);
}

static void before(scene_run *run)
{
    if (run->update == OPEN_PER_SIZE * run->size) scene_stop_sources(run);
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    double given = (double)weir_world_ledger(run->world).added / WEIR_FULL, arrived = scene_volume(run, basin(&shape));
    scene_set_probe(run, "given", given);
    scene_set_probe(run, "arrived", given > 0 ? arrived / given : NAN);
    scene_set_probe(run, "level", arrived / basin_area(&shape));
    scene_set_probe(run, "level_exact", given / basin_area(&shape));
    scene_set_probe(run, "max_flow", scene_sum(run).max_flow);
}

const scene_def downhill_scene = {
    .name = "downhill",
    .summary = "water runs down a staircase of slopes into a basin",
    .size_meaning = "half of the length; the stairs are half as high",
    .size = 32,
    .size_min = 8,
    .size_max = 256,
    .updates = 3000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.2f, -0.4f, -1.0f},
    .probes = {{"given", "what the tap gave, full cells"},
               {"arrived", "share of it that is in the basin"},
               {"level", "mean height of the water in the basin, cells"},
               {"level_exact", "the same if all that the tap gave were there"},
               {"max_flow", "largest flow of any cell, cells per update"}},
    .define = define,
    .set_up = set_up,
    .before = before,
    .measure = measure,
};
