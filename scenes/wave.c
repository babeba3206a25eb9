// A standing wave in a basin as long as one wave: crests at both ends and a trough in the middle change places. In deep water it should
// swing for long; how much of its height it keeps from one period to the next tells what the solver loses. `--set damping=0` leaves out
// what is lost on purpose.
//
//      |##                        ##|
//      |####                    ####|   amplitude a twentieth of size, so that the surface crosses layers of cells
//      |########            ########|
//      |############################|   mean depth 5/8 of size
//      +----------------------------+
#include "scenes/swing.h"

#include <math.h>

static int32_t mean_depth(int32_t size)
{
    return size * 5 / 8;
}

static weir_box basin(int32_t size)
{
    return scene_box(0, size, 0, size * 7 / 8, 0, size / 16);
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = basin(size);
}

static void set_up(scene_run *run)
{
    swing_fill(run, basin(run->size), 2, mean_depth(run->size), run->size * 16 / 5 / 64.0);
}

// The part of the surface that is the wave, by Fourier: 2/L times the sum of cos(k x) times the height.
static double amplitude(const scene_run *run)
{
    weir_box box = basin(run->size);
    double sum = 0;
    for (int32_t x = 0; x < run->size; x++) {
        double height = scene_volume(run, scene_box(x, x + 1, 0, box.max.y, 0, box.max.z)) / box.max.z;
        sum += height * cos(2 * SWING_PI * (x + 0.5) / run->size);
    }
    return 2 * sum / run->size;
}

static void after(scene_run *run)
{
    swing *state = run->state;
    if (state->count < SWING_CROSSINGS) swing_note(state, run->update, amplitude(run));
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "kept", swing_kept(run->state));
    scene_set_probe(run, "period", swing_period(run->state));
    scene_set_probe(run, "period_theory", swing_period_theory(run, 2 * SWING_PI / run->size, mean_depth(run->size)));
}

const scene_def wave_scene = {
    .name = "wave",
    .summary = "a standing wave in a deep basin as long as one wave",
    .size_meaning = "length of the wave",
    .size = 64,
    .size_min = 32,
    .size_max = 1024,
    .updates = 1200,
    .view = {-0.25f, -0.25f, -1.0f},
    .probes = {{"kept", "share of its amplitude that the wave keeps per period", true},
               {"period", "period of the wave, updates"},
               {"period_theory", "the same by linear theory, updates"}},
    .state_size = sizeof(swing),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
