// A basin feeds a nozzle in the floor beside it through a channel, and the water jumps up. Without losses it would leave the nozzle with
// Torricelli's speed, sqrt(2 g head), and rise to the level of the basin. The basin's surface is held where it is, and what runs off the
// floor at its far end is taken away.
//
//      |#######|                        # water; in the basin it stands `size`, the head, above the floor
//      |#######|      ..
//      |#######|     .::.               = nozzle, a 21st of size wide and one cell long, in the middle of z
//      |#######|      ::
//      |#######|______==______vvvvvvv   v the two layers on the floor that swallow what comes
//      |##################|             channel, a seventh of size high and a third of the box wide
//      +-----------------------------
//      0      4/7     1     25/21  32/21   times size
#include "scenes/scene.h"

#include <math.h>

typedef struct geometry {
    int32_t length, height, depth;  // extent of the box
    int32_t basin, wall;            // x at which the basin ends, and the wall beside it
    int32_t channel_end, drain;     // x at which the channel ends, and the drain begins
    int32_t channel, floor, level;  // height of the channel; y of the floor and of the basin's surface
    int32_t nozzle, x, z;           // width and lowest x and z of the nozzle
} geometry;

typedef struct fountain_state {
    double rise, speed;  // sums over updates
    int64_t count;
} fountain_state;

static geometry geometry_of(int32_t size)
{
    int32_t nozzle = scene_at_least(size / 21, 1), basin = size * 4 / 7, depth = size * 4 / 7;
    int32_t channel = size / 7, bed = channel + 2, level = bed + size;
    return (geometry){
        .length = size * 32 / 21,
        .height = level + size / 3,
        .depth = depth,
        .basin = basin,
        .wall = basin + nozzle,
        .channel_end = size + 2 * nozzle,
        .drain = size * 25 / 21,
        .channel = channel,
        .floor = bed,
        .level = level,
        .nozzle = nozzle,
        .x = size,
        .z = (depth - nozzle) / 2,
    };
}

static void define(int32_t size, weir_world_def *def)
{
    geometry shape = geometry_of(size);
    def->bounds = scene_box(0, shape.length, 0, shape.height, 0, shape.depth);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    int32_t third = shape.depth / 3;
    weir_box channel = scene_box(shape.basin, shape.channel_end, 1, 1 + shape.channel, third, shape.depth - third);
    weir_box nozzle = scene_box(shape.x, shape.x + shape.nozzle, shape.floor - 1, shape.floor, shape.z, shape.z + shape.nozzle);
    scene_build(run, scene_box(shape.basin, shape.length, 0, shape.floor, 0, shape.depth));
    scene_build(run, scene_box(shape.basin, shape.wall, shape.floor, shape.height, 0, shape.depth));
    scene_dig(run, channel);
    scene_dig(run, nozzle);
    scene_fill(run, scene_box(0, shape.basin, 0, shape.level, 0, shape.depth), 1.0f);
    scene_fill(run, channel, 1.0f);
}

static void before(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    scene_fill(run, scene_box(0, shape.basin, shape.level - 1, shape.level, 0, shape.depth), 1.0f);
    scene_drain(run, scene_box(shape.drain, shape.length, shape.floor, shape.floor + 2, 0, shape.depth));
}

// Top of the highest cell that is full enough to be part of the jet, over the nozzle or close to that.
static double jet_rise(const scene_run *run, const geometry *shape)
{
    int32_t margin = shape->nozzle + 1, end = shape->nozzle + margin;
    for (int32_t y = shape->height - 1; y >= shape->floor; y--) {
        weir_box layer = scene_box(shape->x - margin, shape->x + end, y, y + 1, shape->z - margin, shape->z + end);
        if (weir_world_box_sum(run->world, layer).max_fill > 0.3f) return y + 1 - shape->floor;
    }
    return 0;
}

static double nozzle_speed(const scene_run *run, const geometry *shape)
{
    double sum = 0;
    for (int32_t z = shape->z; z < shape->z + shape->nozzle; z++) {
        for (int32_t x = shape->x; x < shape->x + shape->nozzle; x++) {
            sum += scene_row_outflow(run, (weir_coord){x, 1, z}, 1, shape->floor - 1);
        }
    }
    return sum / (shape->nozzle * shape->nozzle);
}

static void after(scene_run *run)
{
    if (!scene_second_half(run)) return;
    geometry shape = geometry_of(run->size);
    fountain_state *state = run->state;
    state->rise += jet_rise(run, &shape);
    state->speed += nozzle_speed(run, &shape);
    state->count++;
}

static void measure(scene_run *run)
{
    const fountain_state *state = run->state;
    double count = state->count ? (double)state->count : NAN, head = run->size;
    double g = -weir_world_params(run->world).gravity.y;
    scene_set_probe(run, "head", head);
    scene_set_probe(run, "rise", state->rise / count);
    scene_set_probe(run, "rise_share", state->rise / count / head);
    scene_set_probe(run, "speed_share", state->speed / count / sqrt(2 * g * head));
}

const scene_def fountain_scene = {
    .name = "fountain",
    .summary = "water jumps from a nozzle that a basin feeds",
    .size_meaning = "head: height of the basin's surface above the nozzle",
    .size = 42,
    .size_min = 21,
    .size_max = 336,
    .updates = 1000,
    .view = {-0.35f, -0.30f, -1.0f},
    .probes = {{"head", "height of the basin's surface above the nozzle, cells"},
               {"rise", "mean height of the jet's top above the nozzle, second half of the run, cells"},
               {"rise_share", "rise over head: 1 without losses"},
               {"speed_share", "mean speed at the nozzle, second half of the run, over sqrt(2 g head): 1 without losses"}},
    .state_size = sizeof(fountain_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
