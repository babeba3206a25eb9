// A bell full of air stands in a basin, open below, and the basin is filled around it. The air stays: water rises in the bell only as far as
// it presses the air together, by the gas law p V = const. The bell is cut open by the basin's front, so that one sees into it.
//
//      |                  |   at size 32: 32 high, 36 wide and 20 deep; water to 28
//      |~~~~~~~~~~~~~~~~~~|
//      |~~~~+------+~~~~~~|   the bell's roof at 22 and its rim at 6; walls of 2, and between them 12 x 12 cells of air
//      |~~~~|      |~~~~~~|
//      |~~~~|      |~~~~~~|
//      |~~~~|~~~~~~|~~~~~~|
//      |~~~~~~~~~~~~~~~~~~|
#include "scenes/scene.h"

#include <math.h>

typedef struct geometry {
    int32_t length, height, depth;  // of the basin
    int32_t wall, rim, roof, x, z,
        in;  // of the bell: of its hollow the lowest and the topmost layer's end, its place and its width
    int32_t water;
} geometry;

static geometry geometry_of(int32_t size)
{
    const int32_t u = size / 16;
    return (geometry){.length = 18 * u,
                      .height = 16 * u,
                      .depth = 10 * u,
                      .wall = u,
                      .rim = 3 * u,
                      .roof = 11 * u,
                      .x = 6 * u,
                      .z = 4 * u,
                      .in = 6 * u,
                      .water = 14 * u};
}

static void define(int32_t size, weir_world_def *def)
{
    const geometry g = geometry_of(size);
    def->bounds = scene_box(0, g.length, 0, g.height, 0, g.depth);
    def->open_sides = WEIR_SIDE_Y_MAX;
    def->params->momentum.air = 1;
}

static weir_box hollow(const geometry *g)
{
    return scene_box(g->x, g->x + g->in, g->rim, g->roof, g->z, g->z + g->in);
}

static void set_up(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    const int32_t w = g.wall, x = g.x, z = g.z, in = g.in;
    scene_build(run, scene_box(x - w, x + in + w, g.rim, g.roof + w, z - w, g.depth));
    scene_dig(run, hollow(&g));
    // Everywhere but in the bell.
    scene_fill(run, scene_box(0, g.length, 0, g.rim, 0, g.depth), 1.0f);
    scene_fill(run, scene_box(0, x, g.rim, g.roof, 0, g.depth), 1.0f);
    scene_fill(run, scene_box(x + in, g.length, g.rim, g.roof, 0, g.depth), 1.0f);
    scene_fill(run, scene_box(x, x + in, g.rim, g.roof, 0, z), 1.0f);
    scene_fill(run, scene_box(0, g.length, g.roof, g.water, 0, g.depth), 1.0f);
}

// The air left over that which there was, by the gas law: pressure times volume stays, and the pressure is that of the open air and of the water
// above the bell's surface.
static double theory(const scene_run *run, const geometry *g, double total)
{
    const weir_params p = weir_world_params(run->world);
    const double high = g->roof - g->rim, bell = (double)g->in * g->in, all = (double)g->length * g->depth;
    const double cover = (double)(g->in + 2 * g->wall) * (g->in + g->wall), wall = (cover - bell) * high + cover * g->wall;
    double low = 0, most = high;
    for (int i = 0; i < 60; i++) {
        const double level = 0.5 * (low + most);
        const double surface = (total + wall + bell * (high - level)) / all;
        const double pressed = p.momentum.air - p.gravity.y * (surface - (g->rim + level));
        if (p.momentum.air * high / (high - level) < pressed)
            low = level;
        else
            most = level;
    }
    return 0.5 * (low + most);
}

static void measure(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    const double area = (double)g.in * g.in, level = scene_volume(run, hollow(&g)) / area;
    const double total = scene_held(run, WEIR_WATER), high = g.roof - g.rim;
    const weir_params p = weir_world_params(run->world);
    const weir_cell top = weir_world_cell(run->world, (weir_coord){g.x + g.in / 2, g.roof - 1, g.z + g.in / 2});
    scene_set_probe(run, "level", level);
    scene_set_probe(run, "level_exact", p.momentum.air > 0 ? theory(run, &g, total) : NAN);
    scene_set_probe(run, "pressure", top.pressure);
    scene_set_probe(run, "gas_law",
                    p.momentum.air > 0 ? (p.momentum.air + top.pressure) / p.momentum.air * (high - level) / high : NAN);
}

const scene_def divingbell_scene = {
    .name = "divingbell",
    .summary = "a bell under water keeps its air",
    .size_meaning = "height of the basin, in sixteenths",
    .size = 32,
    .size_min = 16,
    .size_max = 256,
    .updates = 2000,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"level", "mean height of the water in the bell over its rim, cells"},
               {"level_exact", "the same by the gas law"},
               {"pressure", "of the air in the bell over that of the open air"},
               {"gas_law", "pressure times volume of the air in the bell, over what they were in the open: 1 by the gas law"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
