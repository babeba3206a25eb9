// A standing wave: the surface begins as half a cosine and swings from end to end. Linear theory gives the period of the mode
// with wave number k = pi / length in water of depth h: T = 2 pi / sqrt(g k tanh(k h)).
#include "scenes/scene.h"

#include <math.h>

#define PI 3.14159265358979323846
#define CROSSINGS 6  // five half periods; later swings are small and tell less

typedef struct slosh_state {
    double last;  // centre of mass after the last update, from the middle
    double crossings[CROSSINGS];
    int32_t count;
} slosh_state;

static int32_t mean_depth(int32_t size)
{
    return size * 3 / 8;
}

static int32_t width(int32_t size)
{
    return size / 16;
}

static int32_t height(int32_t size)
{
    return size * 3 / 4;
}

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, height(size), 0, width(size));
}

// cos(pi u) for 0 <= u <= 1, by its series and rounded to 1/4096: libm may differ in the last bit from machine to machine,
// and a golden hash must not.
static double cosine(double u)
{
    double sign = 1;
    if (u > 0.5) {
        u = 1 - u;
        sign = -1;
    }
    double square = PI * u * PI * u, term = 1, sum = 1;
    for (int32_t i = 1; i <= 10; i++) {
        term *= -square / ((2 * i - 1) * (2 * i));
        sum += term;
    }
    return sign * floor(sum * 4096 + 0.5) / 4096;
}

static void set_up(scene_run *run)
{
    int32_t size = run->size;
    double amplitude = size / 16.0;
    for (int32_t x = 0; x < size; x++) {
        double surface = mean_depth(size) + amplitude * cosine((x + 0.5) / size);
        int32_t whole = (int32_t)surface;
        scene_fill(run, scene_box(x, x + 1, 0, whole, 0, width(size)), 1.0f);
        scene_fill(run, scene_box(x, x + 1, whole, whole + 1, 0, width(size)), (float)(surface - whole));
    }
}

static double centre_of_mass(const scene_run *run)
{
    int32_t size = run->size;
    double moment = 0, volume = 0;
    for (int32_t x = 0; x < size; x++) {
        double slab = scene_volume(run, scene_box(x, x + 1, 0, height(size), 0, width(size)));
        moment += slab * (x + 0.5 - 0.5 * size);
        volume += slab;
    }
    return moment / volume;
}

static void after(scene_run *run)
{
    slosh_state *state = run->state;
    if (state->count == CROSSINGS) return;
    double now = centre_of_mass(run), last = state->last;
    state->last = now;
    if (now * last < 0) state->crossings[state->count++] = (double)run->update - now / (now - last);
}

static void measure(scene_run *run)
{
    const slosh_state *state = run->state;
    int32_t halves = state->count - 1;
    double k = PI / run->size, g = -weir_world_params(run->world).gravity.y;
    scene_set_probe(run, "period", halves > 0 ? 2 * (state->crossings[halves] - state->crossings[0]) / halves : NAN);
    scene_set_probe(run, "period_theory", 2 * PI / sqrt(g * k * tanh(k * mean_depth(run->size))));
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
    .state_size = sizeof(slosh_state),
    .define = define,
    .set_up = set_up,
    .after = after,
    .measure = measure,
};
