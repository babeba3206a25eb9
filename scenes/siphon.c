// A siphon: a pipe full of water leads from one vessel over its rim into a lower one. Water hangs together as long as the pressure of the air
// carries it, so it is drawn up over the rim until both levels are the same. The pipe is cut open by the box's front.
//
//          +--------+         at size 32: 40 long, 32 high and 12 deep; the pipe is 2 x 4 cells wide, its walls 1
//          | +----+ |
//      |   | |    | |     |   upper vessel: floor at 8, water to 20
//      |~~~|~|    | |     |
//      |~~~|~|####| |     |   lower vessel: floor at 2, water to 6
//      |~~~|~|####| |     |
//      |########  |~|~~~~~|
//      |########~~|~|~~~~~|
#include "scenes/scene.h"

#include <math.h>

typedef struct siphon_state {
    double before;  // water in the upper vessel
    double ratio;   // sum of the speed in the pipe over Torricelli's
    int64_t count;
} siphon_state;

typedef struct geometry {
    int32_t u, length, height, depth;
} geometry;

static geometry geometry_of(int32_t size)
{
    const int32_t u = size / 16;
    return (geometry){u, 20 * u, 16 * u, 6 * u};
}

static void define(int32_t size, weir_world_def *def)
{
    const geometry g = geometry_of(size);
    def->bounds = scene_box(0, g.length, 0, g.height, 0, g.depth);
    def->open_sides = WEIR_SIDE_Y_MAX;
    def->params->momentum.air = 1;
}

static void set_up(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    const int32_t u = g.u, w = scene_at_least(u / 2, 1), z0 = 4 * u, z1 = g.depth;
    scene_build(run, scene_box(0, 8 * u, 0, 4 * u, 0, g.depth));
    scene_build(run, scene_box(8 * u, 10 * u, 0, 11 * u, 0, g.depth));
    scene_build(run, scene_box(10 * u, g.length, 0, u, 0, g.depth));
    // The pipe: its walls, and then what is in it.
    scene_build(run, scene_box(6 * u - w, 7 * u + w, 5 * u, 13 * u + w, z0 - w, z1));
    scene_build(run, scene_box(6 * u - w, 12 * u + w, 12 * u - w, 13 * u + w, z0 - w, z1));
    scene_build(run, scene_box(11 * u - w, 12 * u + w, 2 * u, 13 * u + w, z0 - w, z1));
    const weir_box pipe[3] = {scene_box(6 * u, 7 * u, 5 * u, 13 * u, z0, z1), scene_box(6 * u, 12 * u, 12 * u, 13 * u, z0, z1),
                              scene_box(11 * u, 12 * u, 2 * u, 13 * u, z0, z1)};
    for (int32_t i = 0; i < 3; i++) scene_dig(run, pipe[i]);
    for (int32_t i = 0; i < 3; i++) scene_fill(run, pipe[i], 1.0f);
    scene_fill(run, scene_box(0, 8 * u, 4 * u, 10 * u, 0, g.depth), 1.0f);
    scene_fill(run, scene_box(10 * u, g.length, u, 3 * u, 0, g.depth), 1.0f);
}

// Away from the pipe.
static double level_left(const scene_run *run, const geometry *g)
{
    const int32_t u = g->u;
    return 4 * u + scene_volume(run, scene_box(0, 5 * u, 4 * u, g->height, 0, g->depth)) / (5.0 * u * g->depth);
}

static double level_right(const scene_run *run, const geometry *g)
{
    const int32_t u = g->u;
    return u + scene_volume(run, scene_box(13 * u, g->length, u, g->height, 0, g->depth)) / (7.0 * u * g->depth);
}

static double in_upper(const scene_run *run, const geometry *g)
{
    return scene_volume(run, scene_box(0, 8 * g->u, 4 * g->u, 11 * g->u, 0, g->depth));
}

static void after(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    siphon_state *s = run->state;
    const double now = in_upper(run, &g), head = level_left(run, &g) - level_right(run, &g);
    const double gravity = -weir_world_params(run->world).gravity.y;
    // While it runs: from when it has come to speed on, and as long as there is something to drive it.
    if (run->update > 16 * g.u && s->before > 0 && head > g.u) {
        s->ratio += (s->before - now) / (2.0 * g.u * g.u) / sqrt(2 * gravity * head);
        s->count++;
    }
    s->before = now;
}

static void measure(scene_run *run)
{
    const geometry g = geometry_of(run->size);
    const siphon_state *s = run->state;
    const double left = level_left(run, &g), right = level_right(run, &g);
    scene_set_probe(run, "level_left", left);
    scene_set_probe(run, "level_right", right);
    scene_set_probe(run, "apart", left - right);
    scene_set_probe(run, "torricelli", s->count > 0 ? s->ratio / (double)s->count : NAN);
}

const scene_def siphon_scene = {
    .name = "siphon",
    .summary = "water runs through a pipe over a rim into a lower vessel",
    .size_meaning = "height of the box, in sixteenths",
    .size = 32,
    .size_min = 16,
    .size_max = 256,
    .updates = 3000,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"level_left", "mean surface height of the upper vessel, away from the pipe, cells"},
               {"level_right", "the same of the lower vessel"},
               {"apart", "their difference"},
               {"torricelli",
                "mean speed in the pipe over sqrt(2 g difference), while it is more than a sixteenth of the height: less "
                "than 1 by what a pipe loses",
                true}},
    .state_size = sizeof(siphon_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
