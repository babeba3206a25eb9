// Lava runs down a gully into a lake. Where they meet the lava becomes stone and the water steam; what comes later runs over the stone
// and further out, until the spring dries up at DRY_AT and all comes to rest. With mixture the stone is a material, and the steam leaves
// through the open top.
//
//      |s                              |   s: spring of lava
//      |##\                            |
//      |####\                          |   slope, a cell per cell, with a gully down its middle
//      |######\~~~~~~~~~~~~~~~~~~~~~~~~|   lake, level a quarter of size
//      |########\~~~~~~~~~~~~~~~~~~~~~~|
//      |###############################|
//      +-------------------------------+
#include "scenes/scene.h"

#include <math.h>
#include <stdlib.h>

#define DRY_AT 500

typedef struct geometry {
    int32_t length, height, width, bed, level, gully, gully_width;
} geometry;

static geometry geometry_of(int32_t size)
{
    return (geometry){.length = size,
                      .height = size * 5 / 8,
                      .width = size / 2,
                      .bed = scene_at_least(size / 12, 1),
                      .level = size / 4,
                      .gully = size / 5,
                      .gully_width = scene_at_least(size / 8, 2)};
}

// Height of the ground, in the gully or beside it.
static int32_t ground_at(const geometry *g, int32_t x, bool in_gully)
{
    const int32_t slope = g->bed + g->length * 3 / 8 - x, deep = in_gully && slope > g->level ? 2 : 0;
    return slope - deep > g->bed ? slope - deep : g->bed;
}

static weir_box gully_box(const geometry *g, int32_t x0, int32_t x1, int32_t y0, int32_t y1)
{
    return scene_box(x0, x1, y0, y1, g->gully, g->gully + g->gully_width);
}

static void define(int32_t size, weir_world_def *def)
{
    const geometry g = geometry_of(size);
    def->bounds = scene_box(0, g.length, 0, g.height, 0, g.width);
    if (def->solver == WEIR_SOLVER_MIXTURE) def->open_sides = WEIR_SIDE_Y_MAX;  // for the steam
}

static void set_up(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    for (int32_t x = 0; x < g.length; x++) {
        scene_build(run, scene_box(x, x + 1, 0, ground_at(&g, x, false), 0, g.width));
        scene_dig(run, gully_box(&g, x, x + 1, ground_at(&g, x, true), ground_at(&g, x, false)));
    }
    scene_fill(run, scene_box(0, g.length, 0, g.level, 0, g.width), 1.0f);
    const int32_t top = ground_at(&g, 1, true);
    if (run->status == WEIR_OK)
        run->status =
            weir_world_add_emitter(run->world, gully_box(&g, 0, 4, top, top + 4), WEIR_LAVA, (float)run->size / 8.0f, NULL);
}

static void before(scene_run *run)
{
    if (run->update == DRY_AT) scene_stop_sources(run);
}

// Cells' worth of solid terrain.
static double count_solid(const scene_run *run, const geometry *g)
{
    uint8_t *shares = malloc((size_t)g->length * (size_t)g->height * (size_t)g->width);
    double sum = 0;
    if (!shares || weir_world_read_terrain(run->world, weir_world_bounds(run->world), shares) != WEIR_OK) {
        free(shares);
        return NAN;
    }
    for (size_t i = 0; i < (size_t)g->length * (size_t)g->height * (size_t)g->width; i++) sum += shares[i];
    free(shares);
    return sum / 255;
}

static void measure(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    const weir_ledger water = weir_world_material_ledger(run->world, WEIR_WATER),
                      lava = weir_world_material_ledger(run->world, WEIR_LAVA);
    double built = 0;
    for (int32_t x = 0; x < g.length; x++)
        built += (double)ground_at(&g, x, false) * (g.width - g.gully_width) + (double)ground_at(&g, x, true) * g.gully_width;
    // Terrain, or with mixture a material.
    const weir_ledger stone = weir_world_material_ledger(run->world, WEIR_STONE);
    scene_set_probe(run, "stone", count_solid(run, &g) - built + (double)stone.held / WEIR_FULL);
    scene_set_probe(run, "lava", (double)lava.held / WEIR_FULL);
    scene_set_probe(run, "hardened", (double)lava.turned / WEIR_FULL);
    scene_set_probe(run, "steam", (double)water.turned / WEIR_FULL);
    scene_set_probe(run, "water", (double)water.held / WEIR_FULL);
    scene_set_probe(run, "awake", weir_world_stats(run->world).awake_bricks);
}

const scene_def lavawater_scene = {
    .name = "lavawater",
    .summary = "lava runs into a lake: it becomes stone, and the water steam",
    .size_meaning = "length of the lake and its shore",
    .size = 48,
    .size_min = 16,
    .size_max = 192,
    .updates = 4000,
    .solver = WEIR_SOLVER_SETTLE,
    .view = {-0.55f, -0.75f, -0.8f},
    .framed = 0.75f,
    .probes = {{"stone", "stone that formed, cells"},
               {"lava", "lava that is left, cells"},
               {"hardened", "lava that became stone, cells"},
               {"steam", "water that became steam, cells"},
               {"water", "water that is left, cells"},
               {"awake", "bricks that are awake at the end"}},
    .define = define,
    .set_up = set_up,
    .before = before,
    .measure = measure,
};
