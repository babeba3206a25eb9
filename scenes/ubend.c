// A U-shaped pipe is filled from one end, bucket by bucket. The water must rise in both arms alike, though all of it comes down the left one.
//
//      |##|########|  |   at size 48: arms 8 wide and deep, the bend 8 high, 16 between the arms
//      |##|########|  |   a bucket fills the arm an eighth of the pipe's length high; the first is there at the beginning, and then
//      |  |########|  |   comes one every 64 + size updates, 8 in all, which stand half as high as the arms
//      |~~|########|~~|
//      |~~~~~~~~~~~~~~|
#include "scenes/scene.h"

#include <math.h>

#define BUCKETS 8

// Differences of less than a film are not counted as swings.
#define NOISE 0.0625

typedef struct geometry {
    int32_t arm, gap, length;  // width and depth of an arm, and height of the bend; what is between the arms
} geometry;

typedef struct ubend_state {
    int32_t sign;  // of the last difference that was more than noise
    int32_t swings;
    double worst;  // largest difference since the time of a bucket after the last
} ubend_state;

static geometry geometry_of(int32_t size)
{
    geometry shape = {.arm = size / 6, .gap = size / 3};
    shape.length = 2 * shape.arm + shape.gap;
    return shape;
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, size, 0, shape.arm);
}

// By then the last bucket has left its place.
static int32_t bucket_every(const scene_run *run)
{
    return 64 + run->size;
}

static void pour(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    int32_t high = (run->size + shape.gap) / BUCKETS;
    scene_fill(run, scene_box(0, shape.arm, run->size - high, run->size, 0, shape.arm), 1.0f);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_build(run, scene_box(shape.arm, shape.arm + shape.gap, shape.arm, run->size, 0, shape.arm));
    pour(run);
}

static void before(scene_run *run)
{
    int32_t every = bucket_every(run);
    if (run->update > 0 && run->update < BUCKETS * every && run->update % every == 0) pour(run);
}

static bool is_poured(const scene_run *run)
{
    return run->update > BUCKETS * bucket_every(run);
}

// Mean height of the columns of the arm that begins at x.
static double level(const scene_run *run, const geometry *shape, int32_t x)
{
    return scene_volume(run, scene_box(x, x + shape->arm, 0, run->size, 0, shape->arm)) / (shape->arm * shape->arm);
}

static void after(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    ubend_state *state = run->state;
    double difference = level(run, &shape, 0) - level(run, &shape, shape.arm + shape.gap);
    if (is_poured(run)) state->worst = fmax(state->worst, fabs(difference));
    if (fabs(difference) <= NOISE) return;
    int32_t sign = difference > 0 ? 1 : -1;
    if (sign == -state->sign) state->swings++;
    state->sign = sign;
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    const ubend_state *state = run->state;
    double given = (double)weir_world_ledger(run->world).added / WEIR_FULL, arms = 2.0 * shape.arm * shape.arm;
    scene_set_probe(run, "level_left", level(run, &shape, 0));
    scene_set_probe(run, "level_right", level(run, &shape, shape.arm + shape.gap));
    scene_set_probe(run, "level_exact", (given - (double)(shape.gap * shape.arm * shape.arm)) / arms);
    scene_set_probe(run, "swings", state->swings);
    scene_set_probe(run, "worst", is_poured(run) ? state->worst : NAN);
}

const scene_def ubend_scene = {
    .name = "ubend",
    .summary = "a U-shaped pipe is filled from one end",
    .size_meaning = "height of the arms",
    .size = 48,
    .size_min = 12,
    .size_max = 384,
    .updates = 4000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"level_left", "mean surface height of the left arm, cells"},
               {"level_right", "mean surface height of the right arm, cells"},
               {"level_exact", "the same of both once all that was poured stands level"},
               {"swings", "how often the difference of the levels changed sign, leaving out less than a sixteenth", true},
               {"worst", "largest difference of the levels, from the time of a bucket after the last one on, cells", true}},
    .state_size = sizeof(ubend_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
