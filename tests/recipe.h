// Recipes: random worlds as lists of steps, which can be played on any world, on the plain reading, cut down, and printed as a scene.
#ifndef WEIR_TESTS_RECIPE_H
#define WEIR_TESTS_RECIPE_H

#include "plain/plain_settle.h"
#include <stdio.h>
#include <weir/weir.h>

enum { RECIPE_STEPS = 240 };

typedef enum step_kind {
    STEP_FILL,       // shape, value: fill; 0 drains
    STEP_BUILD,      // shape, share; 0 digs
    STEP_PATTERN,    // box, share, pattern: builds single cells
    STEP_FLOW,       // box, vec
    STEP_EMITTER,    // box, value: rate
    STEP_DRAIN,      // box, value: rate
    STEP_FORCE,      // box, vec
    STEP_RESERVOIR,  // box, count and value: the level is their sum
    STEP_REMOVE,     // count: the number of the emitter, drain, force or reservoir
    STEP_SET,        // name, value: a parameter
    STEP_RELOAD,     // saves the world, and goes on with one that loads it
    STEP_UPDATES     // count
} step_kind;

// Cells that are built by a pattern, counted from the box's first corner.
typedef enum recipe_pattern { PATTERN_CHECKERS, PATTERN_PILLARS, PATTERN_SPONGE, PATTERN_DUST, PATTERN_COUNT } recipe_pattern;

typedef struct recipe_step {
    step_kind kind;
    plain_shape shape;
    float value;
    weir_vec vec;
    uint8_t share;
    recipe_pattern pattern;
    int32_t count;
    const char *name;
} recipe_step;

typedef struct recipe {
    uint64_t seed;
    weir_solver solver;
    weir_box bounds;  // empty: none
    uint32_t open_sides;
    bool gas;        // the world is of gas
    float air;       // the parameter, which a world has from its beginning
    weir_box reach;  // in which all of its water stays
    recipe_step steps[RECIPE_STEPS];
    int32_t count;
} recipe;

// The recipe of a seed. Calm ones are basins of water that has time to come to rest and sleep.
void recipe_make(recipe *r, uint64_t seed, bool calm);

// One of settle: basins, caves, pits and bends in which water comes to rest, and is stirred up again.
void recipe_make_settle(recipe *r, uint64_t seed);

// The recipe of a seed, in a world whose air has a pressure.
void recipe_make_air(recipe *r, uint64_t seed);

// What a world of it is made with: solver, bounds, open sides, and parameters that are put in `params`.
weir_world_def recipe_def(const recipe *r, weir_params *params);

// Applies a step that is not STEP_RELOAD or STEP_UPDATES. A step that the world refuses because it lies outside is passed over.
weir_status recipe_apply(const recipe_step *step, weir_world *world);
void recipe_apply_plain(const recipe_step *step, plain_world *w);
void recipe_apply_plain_settle(const recipe_step *step, plain_settle *w);

// Cuts a recipe down to what is needed for something still to be found when it is played.
typedef bool recipe_finds(const recipe *r, void *context);
void recipe_cut_down(recipe *r, recipe_finds *finds, void *context);

// As a scene in Lua, which ends in the same state.
void recipe_print(const recipe *r, FILE *file);

#endif
