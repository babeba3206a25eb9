// An ocean, held at its level by a reservoir in a corner of it. A canal is opened through its coast into a basin below the sea, a bucket is
// poured into it, and a hole is dug in its floor. The basin fills to the level, the bucket's water leaves by the ledger, and the ocean
// neither sinks nor rises.
//
//      |      +--+                           |   bucket, poured at BUCKET_AT
//      |      +--+        #########......####|   coast, an eighth of size above the sea
//      |r~~~~~~~~~~~~~~~~~[canal ].basin.####|   canal, opened at CANAL_AT: as deep as the basin
//      |r~~~~~~~~~~~~~~~~~#######........####|
//      |r~~~~~~~~~~~~~~~~~###################|   reservoir, an eighth of size long and wide
//      |####[    ]###########################|   hole, dug at HOLE_AT
//      +-------------------------------------+
#include "scenes/scene.h"

#include <math.h>

#define CANAL_AT 20
#define BUCKET_AT 60
#define HOLE_AT 100

typedef struct geometry {
    weir_box sea, coast, basin, canal, bucket, hole, held;
} geometry;

typedef struct ocean_state {
    double moved;
} ocean_state;

static int32_t at_least_one(int32_t cells)
{
    return cells > 1 ? cells : 1;
}

static geometry geometry_of(int32_t size)
{
    const int32_t width = size / 2, bed = size / 4, level = size / 2, coast = size / 2, top = level + size / 8;
    const int32_t floor = level - size / 8, basin = size * 5 / 8, across = at_least_one(size / 12),
                  canal = (width - across) / 2;
    const int32_t bucket = size / 4, hole = size / 8;
    return (geometry){
        .sea = scene_box(0, coast, bed, level, 0, width),
        .coast = scene_box(coast, size, 0, top, 0, width),
        .basin = scene_box(basin, basin + size / 4, floor, top, width / 4, width * 3 / 4),
        .canal = scene_box(coast, basin, floor, top, canal, canal + across),
        .bucket = scene_box(bucket, bucket + across, top, top + across, canal, canal + across),
        .hole = scene_box(hole, hole + size / 8, bed - size / 8, bed, width - hole - size / 8, width - hole),
        .held = scene_box(0, size / 8, 0, size, 0, size / 8),
    };
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size / 2);
}

static void set_up(scene_run *run)
{
    const geometry shape = geometry_of(run->size);
    scene_build(run, scene_box(0, shape.sea.max.x, 0, shape.sea.min.y, 0, shape.sea.max.z));
    scene_build(run, shape.coast);
    scene_dig(run, shape.basin);
    scene_fill(run, shape.sea, 1.0f);
    if (run->status == WEIR_OK)
        run->status = weir_world_add_reservoir(run->world, shape.held, WEIR_WATER, shape.sea.max.y, NULL);
}

static void before(scene_run *run)
{
    const geometry shape = geometry_of(run->size);
    if (run->update == CANAL_AT) scene_dig(run, shape.canal);
    if (run->update == BUCKET_AT) scene_fill(run, shape.bucket, 1.0f);
    if (run->update == HOLE_AT) scene_dig(run, shape.hole);
}

// Height of the mean surface of some water over its floor's.
static double height_in(const scene_run *run, weir_box box)
{
    return box.min.y + scene_volume(run, box) / ((double)(box.max.x - box.min.x) * (box.max.z - box.min.z));
}

static void after(scene_run *run)
{
    ocean_state *state = run->state;
    weir_box sea = geometry_of(run->size).sea;
    const double level = sea.max.y;
    sea.max.y = run->size;
    const double moved = fabs(height_in(run, sea) - level);
    // What is in the air is not the ocean's yet.
    const bool poured = run->update > BUCKET_AT && run->update <= HOLE_AT;
    if (!poured && moved > state->moved) state->moved = moved;
}

static void measure(scene_run *run)
{
    const geometry shape = geometry_of(run->size);
    const ocean_state *state = run->state;
    const weir_ledger ledger = weir_world_ledger(run->world);
    scene_set_probe(run, "moved", state->moved);
    scene_set_probe(run, "basin_level", height_in(run, shape.basin));
    scene_set_probe(run, "hole_fill",
                    run->update > HOLE_AT ? (double)weir_world_box_sum(run->world, shape.hole).mean_fill : NAN);
    scene_set_probe(run, "taken", (double)ledger.removed / WEIR_FULL);
    scene_set_probe(run, "awake", weir_world_stats(run->world).awake_bricks);
}

const scene_def ocean_scene = {
    .name = "ocean",
    .summary = "an ocean held at its level: a canal into a basin, a bucket poured, a hole dug in its floor",
    .size_meaning = "length of ocean and coast",
    .size = 48,
    .size_min = 16,
    .size_max = 512,
    .updates = 1000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.3f, -1.0f, -0.7f},
    .framed = 0.75f,
    .probes = {{"moved", "most that the ocean's mean surface was away from its level, cells", true},
               {"basin_level", "height of the mean surface in the basin at the end, cells"},
               {"hole_fill", "mean fill of the hole at the end"},
               {"taken", "water that the reservoir took, cells"},
               {"awake", "bricks that are awake at the end"}},
    .state_size = sizeof(ocean_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
