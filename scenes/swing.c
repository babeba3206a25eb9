#include "scenes/swing.h"

#include <assert.h>
#include <math.h>

// cos(pi u) for 0 <= u <= 2, by its series and rounded to 1/4096: libm may differ in the last bit from machine to machine, and
// a golden hash must not.
static double cosine(double u)
{
    double sign = 1;
    if (u > 1) u = 2 - u;
    if (u > 0.5) {
        u = 1 - u;
        sign = -1;
    }
    double square = SWING_PI * u * SWING_PI * u, term = 1, sum = 1;
    for (int32_t i = 1; i <= 10; i++) {
        term *= -square / ((2 * i - 1) * (2 * i));
        sum += term;
    }
    return sign * floor(sum * 4096 + 0.5) / 4096;
}

void swing_fill(scene_run *run, weir_box basin, int32_t halves, int32_t mean_depth, double amplitude)
{
    assert(halves == 1 || halves == 2);
    for (int32_t x = 0; x < basin.max.x; x++) {
        weir_box slab = scene_box(x, x + 1, 0, basin.max.y, 0, basin.max.z);
        scene_fill_level(run, slab, mean_depth + amplitude * cosine(halves * (x + 0.5) / basin.max.x));
    }
}

void swing_note(swing *s, int64_t update, double value)
{
    if (s->count == SWING_CROSSINGS) return;
    double last = s->last;
    s->last = value;
    if (value * last < 0) {
        s->crossings[s->count] = (double)update - value / (value - last);
        s->peaks[s->count++] = s->peak;
        s->peak = 0;
    }
    s->peak = fmax(s->peak, fabs(value));
}

double swing_period(const swing *s)
{
    int32_t halves = s->count - 1;
    return halves > 0 ? 2 * (s->crossings[halves] - s->crossings[0]) / halves : NAN;
}

double swing_kept(const swing *s)
{
    int32_t halves = s->count - 1;
    return halves > 0 ? pow(s->peaks[halves] / s->peaks[0], 2.0 / halves) : NAN;
}

double swing_period_theory(const scene_run *run, double wave_number, double mean_depth)
{
    double g = -weir_world_params(run->world).gravity.y;
    return 2 * SWING_PI / sqrt(g * wave_number * tanh(wave_number * mean_depth));
}
