// The loaded world of a game: 5 x 3 x 5 blocks of terrain with valleys, lakes and an ocean, 157 million voxels where a block has an edge
// of 128 cells. All of it rests; then a hole is dug in the ocean's floor. What matters is how much memory the world takes, and how much of
// it wakes.
//
//                                   .##~~##.
//                           .#.   .##########   lakes in the hollows, a cell below where they would spill over
//      ~~~~~~~~~~~~~~~~~~~~~####~############
//      ~~~~~~~~~~~~~~~~~~.###################   ocean, one and a quarter of a block high, a reservoir at its far end
//      #.~~~~~~~~.###########################
//      #####[ ]##############################   hole, dug at HOLE_AT into the deepest place: a quarter of a block
//      ######################################   wide and deep
//
// Terrain is Weir's own: what is all solid takes a place in a table and what is all open none, which comes to a sixth of a byte per voxel. It
// is built in a fraction of a second by a box and an array of shares per block, can be dug, and goes into snapshots. Terrain of the game's own
// (weir_world_def.terrain) would save that sixth, but it is asked for again for every brick that water comes to or that is looked at, and
// digging it is the game's affair. The ocean is filled by one box, and the lakes by boxes that are cut to them.
#include "scenes/hills.h"

#include <math.h>

#define BLOCKS_LONG 5
#define BLOCKS_HIGH 3
#define HOLE_AT 24
#define WATCHED 10  // updates after the hole in which bricks that wake are counted

typedef struct locus_state {
    int32_t awake_before, awake_after;
} locus_state;

static hills_def hills_of(int32_t size)
{
    return (hills_def){
        .length = BLOCKS_LONG * size,
        .width = BLOCKS_LONG * size,
        .period = BLOCKS_LONG * size / 8,
        .low = size / 2,
        .relief = size,
        .slope = size / 2,
        .sea = size + size / 4,
    };
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, BLOCKS_LONG * size, 0, BLOCKS_HIGH * size, 0, BLOCKS_LONG * size);
}

static void set_up(scene_run *run)
{
    hills_def def = hills_of(run->size);
    hills ground;
    if (!hills_make(&def, run, &ground)) return;
    hills_build(run, &ground, run->size);
    hills_fill(run, &ground);
    // The ocean comes in at x = 0: what is wet there holds all of it at its level.
    const weir_box shore = scene_box(0, 1, ground.sea - 1, ground.sea, 0, ground.width);
    if (run->status == WEIR_OK) run->status = weir_world_add_reservoir(run->world, shore, WEIR_WATER, ground.sea, NULL);
    hills_free(&ground);
}

// About the deepest column that leaves room for it, the first of those that are equally deep; what is below the floor there.
static weir_box hole(const hills *ground, int32_t size)
{
    int32_t half = size / 8, deepest = half + ground->length * half;
    for (int32_t z = half; z < ground->width - half; z++) {
        for (int32_t x = half; x < ground->length - half; x++)
            if (ground->ground[x + ground->length * z] < ground->ground[deepest]) deepest = x + ground->length * z;
    }
    int32_t x = deepest % ground->length, z = deepest / ground->length, top = ground->ground[deepest];
    return scene_box(x - half, x + half, top - size / 4, top, z - half, z + half);
}

static void before(scene_run *run)
{
    locus_state *state = run->state;
    if (run->update != HOLE_AT) return;
    state->awake_before = weir_world_stats(run->world).awake_bricks;
    hills_def def = hills_of(run->size);
    hills ground;
    if (!hills_make(&def, run, &ground)) return;
    weir_box open_above = hole(&ground, run->size);
    open_above.max.y = ground.sea;
    scene_dig(run, open_above);
    hills_free(&ground);
}

static void after(scene_run *run)
{
    locus_state *state = run->state;
    if (run->update <= HOLE_AT || run->update > HOLE_AT + WATCHED) return;
    state->awake_after = scene_at_least(weir_world_stats(run->world).awake_bricks, state->awake_after);
}

static void measure(scene_run *run)
{
    hills_def def = hills_of(run->size);
    const locus_state *state = run->state;
    weir_stats stats = weir_world_stats(run->world);
    double voxels = (double)BLOCKS_HIGH * run->size * def.length * def.width;
    hills ground;
    if (!hills_make(&def, run, &ground)) return;
    weir_box dug = hole(&ground, run->size);
    weir_box_sum sum = weir_world_box_sum(run->world, dug);
    scene_set_probe(run, "bricks", stats.bricks);
    scene_set_probe(run, "bytes_per_voxel", (double)stats.bytes / voxels);
    scene_set_probe(run, "lakes", ground.lake_count);
    scene_set_probe(run, "water", (double)weir_world_ledger(run->world).held / WEIR_FULL);
    scene_set_probe(run, "awake_before", run->update > HOLE_AT ? state->awake_before : NAN);
    scene_set_probe(run, "awake_after", run->update > HOLE_AT ? state->awake_after : NAN);
    scene_set_probe(run, "hole_fill", run->update > HOLE_AT ? sum.mean_fill : NAN);
    hills_free(&ground);
}

const scene_def locus_scene = {
    .name = "locus",
    .summary = "the loaded world of a game, 5 x 3 x 5 blocks with lakes and an ocean, whose floor gets a hole",
    .size_meaning = "edge of a block",
    .size = 128,
    .size_min = 16,
    .size_max = 128,
    .updates = 60,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {0.8f, -0.9f, -0.7f},
    .probes = {{"bricks", "live bricks"},
               {"bytes_per_voxel", "memory of the world over all of its voxels, bytes", .of_backend = true},
               {"lakes", "lakes above the ocean"},
               {"water", "water in all, full cells"},
               {"awake_before", "bricks that the last update before the hole worked on", true},
               {"awake_after", "most bricks that one of the ten updates after the hole worked on", true},
               {"hole_fill", "mean fill of the hole's cells"}},
    .state_size = sizeof(locus_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
