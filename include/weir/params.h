// The numbers of the laws: what every solver has, and a struct per solver.
//
// The lists below are all there is to say about a parameter: type, name, least and largest value, default, meaning. The
// structs are made of them, and so are defaults, checks, names on command lines and in scripts, help, state hash and snapshots.
//
// A bound that no float hits exactly is written as the nearest float, so that the bound itself is allowed.
#ifndef WEIR_PARAMS_H
#define WEIR_PARAMS_H

#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Besides gravity, a vector.
#define WEIR_SHARED_PARAMS(PARAM)                                                                         \
    PARAM(float, noise, 0, 1, 0, "relative random change of horizontal flow per update; breaks symmetry") \
    PARAM(uint32_t, noise_seed, 0, UINT32_MAX, 1, "which noise")                                          \
    PARAM(float, empty, 0, 0.1f, 1e-4, "fill below which a cell counts as empty")

#define WEIR_MOMENTUM_PARAMS(PARAM)                                                                                          \
    PARAM(float, damping, 0, 1, 0.001, "share of the slowest flow lost per update")                                          \
    PARAM(float, damping_flow, 0, 16, 0.3, "flow from which on none is lost; 0: all flow loses alike")                       \
    PARAM(float, viscosity, 0, 1.0f / 6, 0, "exchange of flow with each of 6 neighbours per update")                         \
    PARAM(float, friction, 0, 1, 0.0012, "share of a flow of 1 lost on the floor per update, and of others as their square") \
    PARAM(float, film, 0, 0.5, 1.0 / 16, "fill at which water on a floor stops to spread; 0: never")                         \
    PARAM(int32_t, smooths, 1, 16, 3, "sweeps in each smoothing of the pressure")                                            \
    PARAM(int32_t, cycles, 1, 16, 8, "most V-cycles per update")                                                             \
    PARAM(float, tolerance, 0, 1, 0.005, "residual from which on the pressure is solved further")                            \
    PARAM(float, excess_rate, 0, 1, 0.25, "share of an over-full cell's excess pushed out per update")                       \
    PARAM(float, excess_cap, 0, 1, 0.1, "most excess pushed out of a cell per update")                                       \
    PARAM(float, fill_cap, 1, 2, 1.25, "fill above which a cell takes in no more than it gives")                             \
    PARAM(float, dust, 0, 0.1f, 1e-4, "fill below which water falls one cell per update")                                    \
    PARAM(float, sleep, 0, 1, 0.01f, "flow below which water falls asleep once it is still; 0: never")                       \
    PARAM(int32_t, substeps, 1, 8, 8, "most moves per update; each carries water a cell far at most")                        \
    PARAM(float, max_flow, 0, 8, 8, "largest flow, cells per update; no more than there may be substeps")

// Laws that are off unless a world asks for them. Where they are off the state hash knows nothing of them.
#define WEIR_MOMENTUM_OPTIONS(PARAM)                                                                                        \
    PARAM(float, gas, 0, 0.2f, 0,                                                                                           \
          "pressure of a full cell of gas, in cells per update squared: the world is of smoke; at least 1e-6; 0: of water") \
    PARAM(float, air, 0, 16, 0, "pressure of the open air, in gravity times cells of water; 0: air is a vacuum")

#define WEIR_CLASSIC_PARAMS(PARAM)                                           \
    PARAM(float, damping, 0, 1, 0.01, "share of flow lost per update")       \
    PARAM(int32_t, iterations, 1, 1024, 8, "pressure iterations per update") \
    PARAM(float, max_flow, 0, 1.0f / 3, 1.0f / 3, "largest flow; a flow of 1/3 moves 1/6 cells per update")

#define WEIR_SETTLE_PARAMS(PARAM)                                                                                       \
    PARAM(float, film, 0, 1, 0.07, "fill at which water on a dry floor stops to spread; 0: never")                      \
    PARAM(float, calm, 0, 1, 1.0 / 256, "largest flow through a face, cells per update, at which water counts as calm") \
    PARAM(int32_t, patience, 1, 255, 8, "updates for which water must be calm before a body begins or a brick rests")   \
    PARAM(int32_t, body_cells, 1, 64, 4, "least cells with which a body begins")                                        \
    PARAM(float, evaporation, 0, 1, 0, "fill per update that films lose, to the air or the ground; 0: none")            \
    PARAM(int32_t, budget, 0, 1 << 20, 0, "most bricks that an update works on; the others follow; 0: any number")

#define WEIR_MIXTURE_PARAMS(PARAM)                                                                                         \
    PARAM(int32_t, film, 0, 64, 32, "how fast gases condense on what is colder, in 1/65536 per quarter kelvin and update") \
    PARAM(int32_t, pressure, 0, 1024, 0,                                                                                   \
          "what a cell holds more for each cell of liquid above, in 1/16384; 0: pipes do not level")

#define WEIR_PARAM_FIELD(type, name, least, most, standard, help) type name;

typedef struct weir_momentum_params {
    WEIR_MOMENTUM_PARAMS(WEIR_PARAM_FIELD)
    WEIR_MOMENTUM_OPTIONS(WEIR_PARAM_FIELD)
} weir_momentum_params;

typedef struct weir_classic_params {
    WEIR_CLASSIC_PARAMS(WEIR_PARAM_FIELD)
} weir_classic_params;

typedef struct weir_settle_params {
    WEIR_SETTLE_PARAMS(WEIR_PARAM_FIELD)
} weir_settle_params;

typedef struct weir_mixture_params {
    WEIR_MIXTURE_PARAMS(WEIR_PARAM_FIELD)
} weir_mixture_params;

struct weir_params {
    weir_vec gravity;  // cells per update squared, default (0, -0.01, 0): 10 cm voxels at 100 updates per second
    WEIR_SHARED_PARAMS(WEIR_PARAM_FIELD)
    weir_momentum_params momentum;
    weir_classic_params classic;
    weir_settle_params settle;
    weir_mixture_params mixture;
};

#undef WEIR_PARAM_FIELD

// Good ones, for every solver.
WEIR_API weir_params weir_params_default(void);

// WEIR_OK, or WEIR_ERROR_ARGUMENT with a sentence that names the parameter, its value and its range. Looks at what all solvers
// share and at this solver's own; those of the others play no part in its worlds.
WEIR_API weir_status weir_params_check(const weir_params *params, weir_solver solver);

// Parameters by name, for command lines and scripts: a shared one ("noise"), one of this solver ("viscosity"), or one of any
// solver by its full name ("momentum.viscosity"). "gravity" is minus gravity.y, "gravity.x" and so on are its parts. What is
// wrong with an unknown name or a value that is not a number in range is said in a sentence, and nothing is set.
WEIR_API weir_status weir_params_set(weir_params *params, weir_solver solver, const char *name, double value);
WEIR_API weir_status weir_params_get(const weir_params *params, weir_solver solver, const char *name, double *value);

// What is known of a parameter, to show it or to make a slider.
typedef struct weir_param {
    const char *name;  // as weir_params_set takes it; of a solver's own the short one
    const char *help;
    double min, max, default_value;
    bool whole;  // whole numbers only
} weir_param;

// The i-th parameter of those that all solvers share, and of a solver's own; false past the last.
WEIR_API bool weir_params_shared(int32_t index, weir_param *param);
WEIR_API bool weir_params_own(weir_solver solver, int32_t index, weir_param *param);

#ifdef __cplusplus
}
#endif
#endif
