// Scenes: built-in worlds with water in them, and probes that measure what the water does. The program, the tests and the
// benchmark all play the same ones.
//
// A scene is described by a scene_def, one per file, listed in scenes.c. Playing one takes a few lines:
//
//     scene_options options = scene_options_default();
//     options.size = 24;
//     options.def.threads = 2;
//     scene_run *run;
//     if (scene_open(scene_find("tube"), &options, &run) != WEIR_OK) return fail(scene_error());
//     scene_updates(run, 500);
//     printf("%016llx %g\n", (unsigned long long)weir_world_hash(run->world), scene_probe(run, "level_left"));
//     scene_close(run);
//
// Set-up is portable to the bit: integers, halves and the scene's own random numbers, no libm. So a golden hash of a scene
// holds on every machine.
#ifndef SCENES_SCENE_H
#define SCENES_SCENE_H

#include <weir/weir.h>

#define SCENE_PROBES 8

typedef struct scene_run scene_run;

typedef struct scene_probe_def {
    const char *name;
    const char *meaning;
    bool from_start;  // it tells of the whole run, so it is not known after a snapshot was loaded
    bool of_backend;  // it tells of what the backend takes, such as memory; others are the same on all
} scene_probe_def;

// What a scene is. Every length in it grows with `size`, unless its summary says otherwise.
typedef struct scene_def {
    const char *name;
    const char *summary;                       // one line
    const char *size_meaning;                  // what `size` is, in cells
    int32_t size, size_min, size_max;          // default and range
    int32_t updates;                           // default length of a run
    weir_solver solver;                        // that plays it unless another is asked for; 0: momentum
    scene_probe_def probes[SCENE_PROBES + 1];  // ends with an empty one
    size_t state_size;                         // bytes of run->state, zero at the start
    weir_vec view;                             // direction in which the camera of its pictures looks; 0: the default
    float framed;                              // share of the world's height, from the bottom, that they frame; 0: all of it

    // Sets bounds, open sides and what parameters the scene needs; def->params holds the defaults.
    void (*define)(int32_t size, weir_world_def *def);
    // In place of `define`, for scenes that are made at run time: a definition of which bounds, open sides, memory limit and params are
    // taken.
    const weir_world_def *world;
    // Puts terrain, water and emitters into the new world.
    void (*set_up)(scene_run *run);
    // In place of `set_up` when the world came from a snapshot; may be NULL.
    void (*loaded)(scene_run *run);
    // Before and after every update; may be NULL.
    void (*before)(scene_run *run);
    void (*after)(scene_run *run);
    // Gives every probe its value by scene_set_probe; may be NULL. May be called at any time, and more than once.
    void (*measure)(scene_run *run);
} scene_def;

typedef struct scene_setting {
    const char *name;  // of a parameter, as weir_params_set takes it
    double value;
} scene_setting;

// In scene_options.def.solver: the one that the scene has by default.
#define SCENE_OWN_SOLVER WEIR_SOLVER_COUNT

// How a scene is played. scene_options_default gives what a plain run uses: the scene's own solver among it.
typedef struct scene_options {
    int32_t size;     // 0: the scene's default
    int64_t updates;  // how many updates are planned; probes that average over the second half need it; 0: the scene's default
    uint32_t seed;    // of the scene's random numbers and of the noise
    // Solver, threads, simd, hooks...; the scene overwrites bounds, open_sides and params, and a script memory_limit as well.
    weir_world_def def;
    const scene_setting *settings;  // parameters, on top of the solver's defaults and the scene's wishes
    int32_t setting_count;
    const char *load;                 // NULL, or a snapshot of this scene to go on from in place of its beginning
    void (*print)(const char *line);  // takes what a script prints, line by line; NULL: nobody does
} scene_options;

// A scene being played.
struct scene_run {
    const scene_def *def;
    weir_world *world;
    weir_status status;  // of the first edit that failed; later ones are not tried
    int32_t size;
    uint32_t seed;
    int64_t planned;              // updates that the run is meant to last
    int64_t first, update;        // number of the world's update at the start of this run (0 unless loaded), and now
    double step_seconds;          // what the last update took, the scene's own work left out
    void *state;                  // the scene's own
    double probes[SCENE_PROBES];  // in the order of def->probes; NaN: not known
};

// ---- The list --------------------------------------------------------------------------------------------------------------

// The index-th scene; NULL past the last.
const scene_def *scene_at(int32_t index);

// NULL if there is none of this name.
const scene_def *scene_find(const char *name);

// ---- Playing ---------------------------------------------------------------------------------------------------------------

scene_options scene_options_default(void);

// Makes the world and sets it up. On a failure *run is NULL and scene_error says what was wrong.
weir_status scene_open(const scene_def *def, const scene_options *options, scene_run **run);

// Runs one update, or several. On a failure the world stays at its last finished update.
weir_status scene_update(scene_run *run);
weir_status scene_updates(scene_run *run, int64_t count);

// Measures all probes.
void scene_measure(scene_run *run);

// Measures and returns one probe; NaN if the run was too short to know it. The name must be one of the scene's.
double scene_probe(scene_run *run, const char *name);

// Ends the run and its world. NULL is allowed.
void scene_close(scene_run *run);

// The particular sentence of the last failure of a scene function.
const char *scene_error(void);

// ---- For the scenes themselves ---------------------------------------------------------------------------------------------

// Makes what the library said scene_error's sentence.
weir_status scene_fail_as_weir(weir_status status);

// Ranges in the order x, y, z: the box x0 <= x < x1 and so on.
weir_box scene_box(int32_t x0, int32_t x1, int32_t y0, int32_t y1, int32_t z0, int32_t z1);

// Edits that remember the first failure in run->status. Empty boxes are passed over.
void scene_fill(scene_run *run, weir_box box, float fill);
void scene_build(scene_run *run, weir_box box);
void scene_dig(scene_run *run, weir_box box);
void scene_drain(scene_run *run, weir_box box);

// The same with another material, and with warmth, in kelvins; a heater's number may be NULL.
void scene_fill_with(scene_run *run, weir_box box, weir_material material, float fill);
void scene_warm(scene_run *run, weir_box box, float temperature);
void scene_heat(scene_run *run, weir_box box, float temperature, int32_t *id);

// Ends all emitters, drains and forces.
void scene_stop_sources(scene_run *run);

// Fills a box up to a level, in cells from y = 0 on: whole layers, and a part of the next one.
void scene_fill_level(scene_run *run, weir_box box, double level);

// Water in a box, in full cells.
double scene_volume(const scene_run *run, weir_box box);
// One material in a box, in full cells, and what the world holds of it.
double scene_amount(const scene_run *run, weir_box box, weir_material material);
double scene_held(const scene_run *run, weir_material material);
// The share of a material that lies in a box; NaN if there is none.
double scene_share(const scene_run *run, weir_box box, weir_material material);

// What the whole world holds, bounded or not.
weir_box_sum scene_sum(const scene_run *run);

// Flow out of the far end of a row of cells that begins at `first` and runs up an axis (0: x, 1: y, 2: z). Behind the first cell there
// must be a wall: a cell's flow is the mean of its two faces', so from a face that lets nothing through the others follow one by one.
double scene_row_outflow(const scene_run *run, weir_coord first, int32_t axis, int32_t cells);

void scene_set_probe(scene_run *run, const char *name, double value);

// Whether the run is in its second half, in which means are taken and the beginning is forgotten.
bool scene_second_half(const scene_run *run);

int32_t scene_at_least(int32_t value, int32_t least);

// Small random numbers, the same on every machine (splitmix64).
typedef struct scene_random {
    uint64_t state;
} scene_random;

scene_random scene_random_seeded(uint32_t seed);

// From low to high, both included.
int32_t scene_random_between(scene_random *random, int32_t low, int32_t high);

#endif
