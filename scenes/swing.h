// Standing waves, for the scenes that have one: a surface that begins as a cosine, and a record of how it swings from then on.
#ifndef SCENES_SWING_H
#define SCENES_SWING_H

#include "scenes/scene.h"

#define SWING_PI 3.14159265358979323846
#define SWING_CROSSINGS 12  // at most

// Something that swings about 0 and begins at its farthest. Lies in a scene's state; all zero is a swing that has not begun.
typedef struct swing {
    double last, peak;                  // its value after the last update, and the farthest one since it last crossed 0
    double crossings[SWING_CROSSINGS];  // when it crossed 0, in updates
    double peaks[SWING_CROSSINGS];      // the farthest value before each of these
    int32_t count;
} swing;

// Fills a basin that begins at the origin up to mean_depth + amplitude * cos(k x), with `halves` half waves in its length. The same on every
// machine if the amplitude is a multiple of 1/64.
void swing_fill(scene_run *run, weir_box basin, int32_t halves, int32_t mean_depth, double amplitude);

// Takes the value after an update.
void swing_note(swing *s, int64_t update, double value);

// Mean period in updates, and the share of the height that is left after each; NaN before the second crossing.
double swing_period(const swing *s);
double swing_kept(const swing *s);

// Linear theory: water h deep with wave number k swings with T = 2 pi / sqrt(g k tanh(k h)).
double swing_period_theory(const scene_run *run, double wave_number, double mean_depth);

#endif
