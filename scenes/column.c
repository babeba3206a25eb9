// The classical dam break: a column of water a wide and 2a high collapses into a dry channel. Martin and Moyce (1952) give the
// position Z = x/a of its front against T = t sqrt(2g/a): Z = 2, 3, 4 at T = 1.72, 2.55, 3.25. Potential flow gives 1.47, 2.27, 2.96 where
// the surface is a/32 high; docs/testing.md tells which of them a column that is free at once should follow.
#include "scenes/scene.h"

#include <math.h>

#define FRONTS 3

typedef struct column_state {
    double last;            // front after the last update, in cells
    double passed[FRONTS];  // time at which it passed Z = 2, 3, 4, in updates
    int32_t count;
} column_state;

static int32_t width(int32_t size)
{
    return size / 4;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, 6 * size, 0, 3 * size, 0, width(size));
}

static void set_up(scene_run *run)
{
    scene_fill(run, scene_box(0, run->size, 0, 2 * run->size, 0, width(run->size)), 1.0f);
}

// Where the fill in the bottom row passes one half, between the middles of two cells.
static double front(const scene_run *run)
{
    double ahead = 0;
    for (int32_t x = 6 * run->size - 1; x >= 0; x--) {
        double fill = weir_world_cell(run->world, (weir_coord){x, 0, width(run->size) / 2}).fill;
        if (fill > 0.5) return x + 0.5 + (fill - 0.5) / (fill - ahead);
        ahead = fill;
    }
    return 0;
}

static void after(scene_run *run)
{
    column_state *state = run->state;
    if (state->count == FRONTS) return;
    double now = front(run), last = state->last;
    state->last = now;
    while (state->count < FRONTS && now >= (2 + state->count) * run->size) {
        double part = ((2 + state->count) * run->size - last) / (now - last);
        state->passed[state->count++] = (double)run->update - 1 + part;
    }
}

static void measure(scene_run *run)
{
    const column_state *state = run->state;
    static const char *const names[FRONTS] = {"front_2", "front_3", "front_4"};
    double scale = sqrt(2 * -weir_world_params(run->world).gravity.y / run->size);
    for (int32_t i = 0; i < FRONTS; i++) scene_set_probe(run, names[i], i < state->count ? state->passed[i] * scale : NAN);
}

const scene_def column_scene = {
    .name = "column",
    .summary = "a column of water collapses into a dry channel",
    .size_meaning = "width a of the column, which is 2a high",
    .size = 16,
    .size_min = 8,
    .size_max = 256,
    .updates = 600,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"front_2", "time t*sqrt(2g/a) at which the front stood at 2a", true},
               {"front_3", "the same at 3a", true},
               {"front_4", "the same at 4a", true}},
    .state_size = sizeof(column_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
