// Digging under water: a box of a lake's bed is dug, then a deep shaft one cell wide, and then the floor goes from under a basin of water.
// Holes must fill to the last cell, and water whose support went must not stay behind.
//
//      |                    +~~~~~~+ |   basin above the lake, its floor one cell thick: goes at FLOOR_AT
//      |                    +======+ |
//      |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|   lake, a quarter of size deep
//      |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
//      |##[    ]#####||##############|   box, dug at BOX_AT: size / 4 long and wide, size / 8 deep
//      |##[    ]#####||##############|
//      |#############||##############|   shaft, dug at SHAFT_AT: one cell wide, down to a cell above the bottom
//      +-----------------------------+   both at the front wall, so that pictures show them
#include "scenes/scene.h"

#include <math.h>
#include <stdlib.h>

#define BOX_AT 10
#define SHAFT_AT 30
#define FLOOR_AT 50
#define LOOK_AFTER 64     // updates after which the cells of the box are counted that are not full
#define FULL 0.9375f      // a sixteenth less than full, the thickness of a film, still counts as full
#define GONE (1.0 / 256)  // share of the basin's water that may be left in its place

typedef struct geometry {
    weir_box lake, box, shaft, basin, floor;  // the basin's inside
} geometry;

typedef struct dig_state {
    int64_t not_full;    // cells of the box, LOOK_AFTER updates after it was dug
    int64_t shaft_full;  // update at which the shaft was full, and at which the water had left the basin; 0: not yet
    int64_t basin_gone;
    double basin_water;  // when its floor went
} dig_state;

static geometry geometry_of(int32_t size)
{
    int32_t bed = size / 2, level = bed + size / 4, width = size / 2, box = size / 4, shaft = size / 2 - 1;
    int32_t basin = size * 5 / 8, above = level + size / 8;
    return (geometry){
        .lake = scene_box(0, size, bed, level, 0, width),
        .box = scene_box(size / 8, size / 8 + box, bed - size / 8, bed, width - box, width),
        .shaft = scene_box(shaft, shaft + 1, 1, bed, width - 1, width),
        .basin = scene_box(basin, basin + box, above, above + size / 8, width / 4, width / 4 + box),
        .floor = scene_box(basin, basin + box, above - 1, above, width / 4, width / 4 + box),
    };
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size + 1, 0, size / 2);
}

static void set_up(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    weir_coord low = shape.floor.min, high = shape.basin.max;
    scene_build(run, scene_box(0, shape.lake.max.x, 0, shape.lake.min.y, 0, shape.lake.max.z));
    scene_build(run, scene_box(low.x - 1, high.x + 1, low.y, high.y, low.z - 1, high.z + 1));
    scene_dig(run, shape.basin);
    scene_fill(run, shape.lake, 1.0f);
    scene_fill(run, shape.basin, 1.0f);
}

static void before(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    dig_state *state = run->state;
    if (run->update == BOX_AT) scene_dig(run, shape.box);
    if (run->update == SHAFT_AT) scene_dig(run, shape.shaft);
    if (run->update != FLOOR_AT) return;
    state->basin_water = scene_volume(run, shape.basin);
    scene_dig(run, shape.floor);
}

// Cells of a box that are less than full; -1 without memory to look.
static int64_t not_full(const scene_run *run, weir_box box)
{
    int64_t cells = (int64_t)(box.max.x - box.min.x) * (box.max.y - box.min.y) * (box.max.z - box.min.z), count = 0;
    float *fill = malloc((size_t)cells * sizeof *fill);
    if (!fill || weir_world_read_fill(run->world, box, fill) != WEIR_OK) count = -1;
    for (int64_t i = 0; i < cells && count >= 0; i++) count += fill[i] < FULL;
    free(fill);
    return count;
}

static void after(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    dig_state *state = run->state;
    if (run->update == BOX_AT + LOOK_AFTER) state->not_full = not_full(run, shape.box);
    if (run->update > SHAFT_AT && !state->shaft_full && not_full(run, shape.shaft) == 0) state->shaft_full = run->update;
    if (run->update > FLOOR_AT && !state->basin_gone && scene_volume(run, shape.basin) <= GONE * state->basin_water)
        state->basin_gone = run->update;
}

static void measure(scene_run *run)
{
    geometry shape = geometry_of(run->size);
    const dig_state *state = run->state;
    double area = (double)(shape.lake.max.x * shape.lake.max.z);
    bool looked = run->update >= BOX_AT + LOOK_AFTER && state->not_full >= 0;
    scene_set_probe(run, "box_not_full", looked ? (double)state->not_full : NAN);
    scene_set_probe(run, "shaft_full_after", state->shaft_full ? (double)(state->shaft_full - SHAFT_AT) : NAN);
    scene_set_probe(run, "basin_gone_after", state->basin_gone ? (double)(state->basin_gone - FLOOR_AT) : NAN);
    scene_set_probe(run, "holes_not_full", (double)(not_full(run, shape.box) + not_full(run, shape.shaft)));
    scene_set_probe(run, "level", shape.lake.min.y + scene_volume(run, shape.lake) / area);
}

const scene_def digunderwater_scene = {
    .name = "digunderwater",
    .summary = "holes are dug in the bed of a lake, and a basin of water loses its floor",
    .size_meaning = "length of the lake",
    .size = 48,
    .size_min = 16,
    .size_max = 512,
    .updates = 600,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.2f, -0.3f, -1.0f},
    .probes = {{"box_not_full", "cells of the box that are not full 64 updates after it was dug", true},
               {"shaft_full_after", "updates until all cells of the shaft were full", true},
               {"basin_gone_after", "updates until the basin's water had left its place", true},
               {"holes_not_full", "cells of box and shaft that are not full at the end"},
               {"level", "mean height of the lake's surface, cells"}},
    .state_size = sizeof(dig_state),
    .define = define,
    .set_up = set_up,
    .before = before,
    .after = after,
    .measure = measure,
};
