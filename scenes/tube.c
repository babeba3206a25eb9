// Two boxes joined by a pipe at the bottom: the water levels through it, swinging as it does (the thesis's Figure 8).
//
//      |####|        |    |
//      |####|        |    |      at size 48: arms 12 wide, 4 deep, filled 36 and 8 high;
//      |####|________|####|      pipe 8 long, 4 high
//      |##################|
#include "scenes/scene.h"

#include <math.h>

typedef struct geometry {
    int32_t arm, pipe, depth, pipe_height, length;
} geometry;

typedef struct tube_state {
    int32_t sign;  // of the last difference that was more than noise
    int32_t swings;
    int64_t settled;  // last update at which the levels were more than a quarter of a cell apart
} tube_state;

static geometry geometry_of(int32_t size)
{
    geometry shape = {.arm = size / 4, .pipe = size / 6, .depth = size / 12, .pipe_height = size / 12};
    shape.length = 2 * shape.arm + shape.pipe;
    return shape;
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, size, 0, shape.depth);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_build(run, scene_box(shape.arm, shape.arm + shape.pipe, shape.pipe_height, run->size, 0, shape.depth));
    scene_fill(run, scene_box(0, shape.arm, 0, run->size * 3 / 4, 0, shape.depth), 1.0f);
    scene_fill(run, scene_box(shape.arm, shape.arm + shape.pipe, 0, shape.pipe_height, 0, shape.depth), 1.0f);
    scene_fill(run, scene_box(shape.arm + shape.pipe, shape.length, 0, run->size / 6, 0, shape.depth), 1.0f);
}

// Mean height of the columns of the arm that begins at x.
static double level(const scene_run *run, const geometry *shape, int32_t x)
{
    return scene_volume(run, scene_box(x, x + shape->arm, 0, run->size, 0, shape->depth)) / (shape->arm * shape->depth);
}

static void after(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    tube_state *state = run->state;
    double difference = level(run, &shape, 0) - level(run, &shape, shape.arm + shape.pipe);
    if (fabs(difference) > 0.25) state->settled = run->update;
    if (fabs(difference) <= 1e-3) return;
    int32_t sign = difference > 0 ? 1 : -1;
    if (sign == -state->sign) state->swings++;
    state->sign = sign;
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    const tube_state *state = run->state;
    scene_set_probe(run, "level_left", level(run, &shape, 0));
    scene_set_probe(run, "level_right", level(run, &shape, shape.arm + shape.pipe));
    scene_set_probe(run, "swings", state->swings);
    scene_set_probe(run, "settled", state->settled < run->update ? (double)state->settled : NAN);
}

const scene_def tube_scene = {
    .name = "tube",
    .summary = "water levels between two boxes through a pipe at the bottom",
    .size_meaning = "height of the boxes",
    .size = 48,
    .size_min = 12,
    .size_max = 768,
    .updates = 8000,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"level_left", "mean surface height of the left arm, cells"},
               {"level_right", "mean surface height of the right arm, cells"},
               {"swings", "how often the difference of the levels changed sign", true},
               {"settled", "last update at which the levels were more than 0.25 apart", true}},
    .state_size = sizeof(tube_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
