// A standing wave: the surface begins as half a cosine and swings from end to end. Linear theory gives the period of the mode
// with wave number k = pi / length in water of depth h: T = 2 pi / sqrt(g k tanh(k h)).
#include "scenes/swing.h"

#define CROSSINGS 6  // five half periods; later swings are small and tell less

static int32_t mean_depth(int32_t size)
{
    return size * 3 / 8;
}

static weir_box basin(int32_t size)
{
    return scene_box(0, size, 0, size * 3 / 4, 0, size / 16);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = basin(size);
}

static void set_up(scene_run *run)
{
    swing_fill(run, basin(run->size), 1, mean_depth(run->size), run->size / 16.0);
}

// From the middle of the basin, along it.
static double centre_of_mass(const scene_run *run)
{
    weir_box box = basin(run->size);
    double moment = 0, volume = 0;
    for (int32_t x = 0; x < run->size; x++) {
        double slab = scene_volume(run, scene_box(x, x + 1, 0, box.max.y, 0, box.max.z));
        moment += slab * (x + 0.5 - 0.5 * run->size);
        volume += slab;
    }
    return moment / volume;
}

static void after(scene_run *run)
{
    swing *state = run->state;
    if (state->count < CROSSINGS) swing_note(state, run->update, centre_of_mass(run));
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "period", swing_period(run->state));
    scene_set_probe(run, "period_theory", swing_period_theory(run, SWING_PI / run->size, mean_depth(run->size)));
}

const scene_def slosh_scene = {
    .name = "slosh",
    .summary = "a standing wave swings from end to end of a basin",
    .size_meaning = "length of the basin",
    .size = 64,
    .size_min = 32,
    .size_max = 1024,
    .updates = 1200,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"period", "period of the swing, updates"}, {"period_theory", "the same by linear theory, updates"}},
    .state_size = sizeof(swing),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
