// A stream falls over an edge into a pool, which fills. The pool should rise everywhere alike: water that is moved from neighbour to
// neighbour alone piles up under the fall instead.
//
//      |TTT                             |   T tap, open for OPEN_PER_SIZE updates per cell of size
//      |~~~~~~:                         |
//      |######:                         |   plateau, three quarters of size high, half of it long
//      |######::                        |
//      |######::    away from the fall: |   pool, one and a half of size long, half of it wide, an eighth
//      |######::_______|~~~~~~~~~~~~~~~~|   of it deep at the beginning
//      |######~~~~~~~~~~~~~~~~~~~~~~~~~~|
//      +--------------------------------+
#include "scenes/scene.h"

#include <math.h>
#include <stdlib.h>

#define OPEN_PER_SIZE 36      // updates
#define UPDATES_PER_CELL 192  // in which the pool rises by one
#define SAMPLE_EVERY 8

typedef struct geometry {
    int32_t edge, away, length, width;  // x of the edge, x from which on the fall is far
    int32_t plateau, depth;             // height of the plateau, first depth of the pool
} geometry;

typedef struct waterfall_state {
    double spread, spread_at_fall;  // the largest so far
    double sum;                     // of the spreads away from the fall
    int32_t samples;
} waterfall_state;

static geometry geometry_of(int32_t size)
{
    return (geometry){
        .edge = size / 2,
        .away = size * 5 / 4,
        .length = size * 2,
        .width = size / 2,
        .plateau = size * 3 / 4,
        .depth = size / 8,
    };
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, size, 0, shape.width);
}

static int64_t updates_open(const scene_run *run)
{
    return (int64_t)OPEN_PER_SIZE * run->size;
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_build(run, scene_box(0, shape.edge, 0, shape.plateau, 0, shape.width));
    scene_fill(run, scene_box(shape.edge, shape.length, 0, shape.depth, 0, shape.width), 1.0f);
    weir_box tap = scene_box(0, shape.edge / 2, shape.plateau, run->size, 0, shape.width);
    float rate = (float)((shape.length - shape.edge) * shape.width) / UPDATES_PER_CELL;
    if (run->status == WEIR_OK) run->status = weir_world_add_emitter(run->world, tap, WEIR_WATER, rate, NULL);
}

static void before(scene_run *run)
{
    if (run->update == updates_open(run)) scene_stop_sources(run);
}

// Height of the water that stands on the floor of a column: what falls above it is not part of the surface.
static double standing(const float *fill, int32_t height, int32_t stride)
{
    int32_t y = 0;
    while (y < height && fill[y * stride] >= 0.5f) y++;
    double below = y > 0 && fill[(y - 1) * stride] < 1 ? fill[(y - 1) * stride] - 1 : 0;
    return y + below + (y < height ? fill[y * stride] : 0);
}

// Largest difference of the surface over the pool's columns from x on; NaN without memory for it.
static double surface_spread(const scene_run *run, const geometry *shape, int32_t x)
{
    weir_box box = scene_box(x, shape->length, 0, run->size, 0, shape->width);
    int32_t row = shape->length - x;
    float *fill = malloc((size_t)row * (size_t)run->size * (size_t)shape->width * sizeof *fill);
    if (!fill || weir_world_read_fill(run->world, box, fill) != WEIR_OK) {
        free(fill);
        return NAN;
    }
    double lowest = INFINITY, highest = -INFINITY;
    for (int32_t z = 0; z < shape->width; z++) {
        for (int32_t i = 0; i < row; i++) {
            double level = standing(fill + z * row * run->size + i, run->size, row);
            lowest = fmin(lowest, level);
            highest = fmax(highest, level);
        }
    }
    free(fill);
    return highest - lowest;
}

static void after(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    waterfall_state *state = run->state;
    if (run->update % SAMPLE_EVERY != 0 || run->update > updates_open(run)) return;
    double spread = surface_spread(run, &shape, shape.away);
    state->spread = fmax(state->spread, spread);
    state->spread_at_fall = fmax(state->spread_at_fall, surface_spread(run, &shape, shape.edge));
    state->sum += spread;
    state->samples++;
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    const waterfall_state *state = run->state;
    weir_box pool = scene_box(shape.edge, shape.length, 0, shape.plateau, 0, shape.width);
    bool sampled = state->samples > 0;
    scene_set_probe(run, "level", scene_volume(run, pool) / ((shape.length - shape.edge) * shape.width));
    scene_set_probe(run, "spread", sampled ? state->spread : NAN);
    scene_set_probe(run, "spread_mean", sampled ? state->sum / state->samples : NAN);
    scene_set_probe(run, "spread_at_fall", sampled ? state->spread_at_fall : NAN);
    scene_set_probe(run, "spread_now", surface_spread(run, &shape, shape.edge));
}

const scene_def waterfall_scene = {
    .name = "waterfall",
    .summary = "a stream falls over an edge into a pool, which fills",
    .size_meaning = "height; the pool is one and a half of it long",
    .size = 32,
    .size_min = 8,
    .size_max = 256,
    .updates = 2400,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.2f, -0.4f, -1.0f},
    .probes = {{"level", "mean height of the water in the pool, cells"},
               {"spread", "largest difference of the pool's surface away from the fall while it filled, cells", true},
               {"spread_mean", "mean of that difference over the samples taken while it filled, cells", true},
               {"spread_at_fall", "largest difference of all of the pool's surface while it filled, cells", true},
               {"spread_now", "difference of all of the pool's surface at the end, cells"}},
    .state_size = sizeof(waterfall_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
