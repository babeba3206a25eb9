// How a scene is played: from its definition to a world, update by update, to its probes.
#include "scenes/scene.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local char error_text[512];

const char *scene_error(void)
{
    return error_text;
}

static weir_status fail(weir_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    return status;
}

weir_status scene_fail_as_weir(weir_status status)
{
    const char *message = weir_error_message();
    return fail(status, "%s", message[0] ? message : weir_status_text(status));
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- Opening ---------------------------------------------------------------------------------------------------------------

scene_options scene_options_default(void)
{
    scene_options options = {.seed = 1, .def = weir_world_def_default()};
    options.def.solver = SCENE_OWN_SOLVER;
    return options;
}

static weir_status apply_settings(weir_params *params, weir_solver solver, const scene_options *options)
{
    for (int32_t i = 0; i < options->setting_count; i++) {
        const scene_setting *setting = &options->settings[i];
        weir_status status = weir_params_set(params, solver, setting->name, setting->value);
        if (status != WEIR_OK) return scene_fail_as_weir(status);
    }
    return WEIR_OK;
}

static bool same_coord(weir_coord a, weir_coord b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// Goes on from a snapshot. Its bounds are what tells whether it is a world of this scene and size.
static weir_status load(scene_run *run, const weir_world_def *def, const scene_options *options)
{
    weir_status status = weir_world_load(run->world, options->load);
    if (status != WEIR_OK) return scene_fail_as_weir(status);

    weir_box bounds = weir_world_bounds(run->world);
    if (!same_coord(bounds.min, def->bounds.min) || !same_coord(bounds.max, def->bounds.max)) {
        return fail(WEIR_ERROR_ARGUMENT, "%s holds a world of (%d, %d, %d) to (%d, %d, %d), which is not scene %s at size %d",
                    options->load, bounds.min.x, bounds.min.y, bounds.min.z, bounds.max.x, bounds.max.y, bounds.max.z,
                    run->def->name, run->size);
    }
    if (options->setting_count == 0) return WEIR_OK;

    weir_params params = weir_world_params(run->world);
    status = apply_settings(&params, def->solver, options);
    if (status != WEIR_OK) return status;
    status = weir_world_set_params(run->world, &params);
    return status == WEIR_OK ? WEIR_OK : scene_fail_as_weir(status);
}

static void define_world(const scene_run *run, weir_world_def *def)
{
    const weir_world_def *made = run->def->world;
    if (!made) {
        run->def->define(run->size, def);
        return;
    }
    uint32_t noise_seed = def->params->noise_seed;
    def->bounds = made->bounds;
    def->open_sides = made->open_sides;
    def->memory_limit = made->memory_limit;
    *def->params = *made->params;
    def->params->noise_seed = noise_seed;
}

static weir_status open_world(scene_run *run, const scene_options *options)
{
    weir_world_def def = options->def;
    if (def.solver == SCENE_OWN_SOLVER) def.solver = run->def->solver;
    weir_params params = weir_params_default();
    params.noise_seed = options->seed;
    def.params = &params;
    define_world(run, &def);
    weir_status status = apply_settings(&params, def.solver, options);
    if (status != WEIR_OK) return status;

    status = weir_world_create(&def, &run->world);
    if (status != WEIR_OK) return scene_fail_as_weir(status);
    if (options->load) {
        status = load(run, &def, options);
        if (status != WEIR_OK) return status;
    }
    run->first = run->update = weir_world_stats(run->world).updates;
    if (!options->load)
        run->def->set_up(run);
    else if (run->def->loaded)
        run->def->loaded(run);
    return run->status == WEIR_OK ? WEIR_OK : scene_fail_as_weir(run->status);
}

weir_status scene_open(const scene_def *def, const scene_options *options, scene_run **run)
{
    assert(def && options && run);
    *run = NULL;
    int32_t size = options->size ? options->size : def->size;
    if (size < def->size_min || size > def->size_max) {
        return fail(WEIR_ERROR_ARGUMENT, "size %d is out of range: scene %s takes %d to %d", size, def->name, def->size_min,
                    def->size_max);
    }

    scene_run *made = calloc(1, sizeof *made);
    void *state = calloc(1, def->state_size ? def->state_size : 1);
    if (!made || !state) {
        free(made);
        free(state);
        return fail(WEIR_ERROR_MEMORY, "memory ran out for the state of scene %s", def->name);
    }
    made->def = def;
    made->size = size;
    made->seed = options->seed;
    made->planned = options->updates ? options->updates : def->updates;
    made->state = state;
    for (int32_t i = 0; i < SCENE_PROBES; i++) made->probes[i] = NAN;

    weir_status status = open_world(made, options);
    if (status != WEIR_OK) {
        scene_close(made);
        return status;
    }
    *run = made;
    return WEIR_OK;
}

void scene_close(scene_run *run)
{
    if (!run) return;
    weir_world_destroy(run->world);
    free(run->state);
    free(run);
}

// ---- Playing ---------------------------------------------------------------------------------------------------------------

weir_status scene_update(scene_run *run)
{
    if (run->def->before) run->def->before(run);
    if (run->status != WEIR_OK) return scene_fail_as_weir(run->status);

    double start = seconds_now();
    weir_status status = weir_world_step(run->world);
    run->step_seconds = seconds_now() - start;
    if (status != WEIR_OK) return scene_fail_as_weir(status);

    run->update++;
    if (run->def->after) run->def->after(run);
    return run->status == WEIR_OK ? WEIR_OK : scene_fail_as_weir(run->status);
}

weir_status scene_updates(scene_run *run, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        weir_status status = scene_update(run);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

void scene_measure(scene_run *run)
{
    if (run->def->measure) run->def->measure(run);
}

static int32_t probe_index(const scene_def *def, const char *name)
{
    for (int32_t i = 0; i < SCENE_PROBES && def->probes[i].name; i++) {
        if (strcmp(def->probes[i].name, name) == 0) return i;
    }
    assert(!"the scene has no probe of this name");
    return 0;
}

double scene_probe(scene_run *run, const char *name)
{
    scene_measure(run);
    return run->probes[probe_index(run->def, name)];
}

// ---- For the scenes themselves ---------------------------------------------------------------------------------------------

weir_box scene_box(int32_t x0, int32_t x1, int32_t y0, int32_t y1, int32_t z0, int32_t z1)
{
    return (weir_box){{x0, y0, z0}, {x1, y1, z1}};
}

// Whether an edit should be tried at all.
static bool ready(const scene_run *run, weir_box box)
{
    bool empty = box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z;
    return run->status == WEIR_OK && !empty;
}

void scene_fill(scene_run *run, weir_box box, float fill)
{
    if (ready(run, box)) run->status = weir_world_fill(run->world, box, weir_world_fluid(run->world), fill);
}

void scene_fill_with(scene_run *run, weir_box box, weir_material material, float fill)
{
    if (ready(run, box)) run->status = weir_world_fill(run->world, box, material, fill);
}

void scene_warm(scene_run *run, weir_box box, float temperature)
{
    if (ready(run, box)) run->status = weir_world_set_temperature(run->world, box, temperature);
}

void scene_heat(scene_run *run, weir_box box, float temperature, int32_t *id)
{
    if (ready(run, box)) run->status = weir_world_add_heater(run->world, box, temperature, id);
}

void scene_build(scene_run *run, weir_box box)
{
    if (ready(run, box)) run->status = weir_world_build(run->world, box, 255);
}

void scene_dig(scene_run *run, weir_box box)
{
    if (ready(run, box)) run->status = weir_world_dig(run->world, box);
}

void scene_drain(scene_run *run, weir_box box)
{
    if (ready(run, box)) run->status = weir_world_drain(run->world, box);
}

void scene_stop_sources(scene_run *run)
{
    weir_source first;
    while (run->status == WEIR_OK && weir_world_sources(run->world, &first, 1) > 0)
        run->status = weir_world_remove(run->world, first.id);
}

void scene_fill_level(scene_run *run, weir_box box, double level)
{
    int32_t whole = (int32_t)level;
    scene_fill(run, scene_box(box.min.x, box.max.x, box.min.y, whole, box.min.z, box.max.z), 1.0f);
    scene_fill(run, scene_box(box.min.x, box.max.x, whole, whole + 1, box.min.z, box.max.z), (float)(level - whole));
}

double scene_amount(const scene_run *run, weir_box box, weir_material material)
{
    enum { ROW = 512 };
    float fills[ROW];
    double sum = 0;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x += ROW) {
                const int32_t end = x + ROW < box.max.x ? x + ROW : box.max.x;
                if (weir_world_read_amounts(run->world, scene_box(x, end, y, y + 1, z, z + 1), material, fills) != WEIR_OK)
                    return NAN;
                for (int32_t i = 0; i < end - x; i++) sum += (double)fills[i];
            }
        }
    }
    return sum;
}

double scene_held(const scene_run *run, weir_material material)
{
    return (double)weir_world_material_ledger(run->world, material).held / WEIR_FULL;
}

double scene_share(const scene_run *run, weir_box box, weir_material material)
{
    const double all = scene_held(run, material);
    return all > 0 ? scene_amount(run, box, material) / all : NAN;
}

double scene_volume(const scene_run *run, weir_box box)
{
    return (double)weir_world_box_sum(run->world, box).drops / WEIR_FULL;
}

weir_box_sum scene_sum(const scene_run *run)
{
    return weir_world_box_sum(run->world, scene_box(INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX));
}

double scene_row_outflow(const scene_run *run, weir_coord first, int32_t axis, int32_t cells)
{
    assert(axis >= 0 && axis < 3);
    double face = 0;
    for (int32_t i = 0; i < cells; i++) {
        weir_coord at = {first.x + (axis == 0 ? i : 0), first.y + (axis == 1 ? i : 0), first.z + (axis == 2 ? i : 0)};
        weir_vec flow = weir_world_cell(run->world, at).flow;
        face = 2.0 * (axis == 0 ? flow.x : axis == 1 ? flow.y : flow.z) - face;
    }
    return face;
}

void scene_set_probe(scene_run *run, const char *name, double value)
{
    int32_t i = probe_index(run->def, name);
    run->probes[i] = run->first > 0 && run->def->probes[i].from_start ? NAN : value;
}

bool scene_second_half(const scene_run *run)
{
    return run->update - run->first > run->planned / 2;
}

int32_t scene_at_least(int32_t value, int32_t least)
{
    return value > least ? value : least;
}

// ---- Random numbers --------------------------------------------------------------------------------------------------------

scene_random scene_random_seeded(uint32_t seed)
{
    return (scene_random){seed};
}

static uint64_t random_next(scene_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int32_t scene_random_between(scene_random *random, int32_t low, int32_t high)
{
    assert(low <= high);
    uint64_t count = (uint64_t)((int64_t)high - low) + 1;
    // The upper half times the count, shifted back, falls evenly over the range without a division.
    return (int32_t)(low + (int64_t)(((random_next(random) >> 32) * count) >> 32));
}
