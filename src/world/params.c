// The numbers of the laws: everything here is a walk over the tables of params.h.
#include "world/params.h"
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALIASES = 1 };  // rows that come first and are another name for a field that has a row of its own

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(name, type, name, min, max, standard, help)
#define GRAVITY(name, part, sign, standard, help)                                                                        \
    {                                                                                                                    \
        name, PARAM_float, offsetof(weir_params, gravity) + offsetof(weir_vec, part), sign, -1, 1, standard, help, false \
    }

static const param_def SHARED[] = {
    GRAVITY("gravity", y, -1, 0.01, "downward pull, cells per update squared"),
    GRAVITY("gravity.x", x, 1, 0, "pull along x, cells per update squared"),
    GRAVITY("gravity.y", y, 1, -0.01, "pull along y (up), cells per update squared"),
    GRAVITY("gravity.z", z, 1, 0, "pull along z, cells per update squared"),
    WEIR_SHARED_PARAMS(PARAM)  // each with its comma
};

enum { SHARED_COUNT = sizeof SHARED / sizeof SHARED[0] };

const param_def *params_field(const solver_table *solver, int32_t index)
{
    assert(index >= 0);
    index += ALIASES;
    if (index < SHARED_COUNT) return &SHARED[index];
    index -= SHARED_COUNT;
    return index < solver->params.count ? &solver->params.list[index] : NULL;
}

// ---- One parameter ---------------------------------------------------------------------------------------------------------

static double load(const param_def *p, const weir_params *params)
{
    const char *place = (const char *)params + p->offset;
    float number;
    int32_t whole;
    uint32_t seed;
    switch (p->type) {
    case PARAM_int32_t: memcpy(&whole, place, sizeof whole); return p->sign * whole;
    case PARAM_uint32_t: memcpy(&seed, place, sizeof seed); return p->sign * seed;
    default: memcpy(&number, place, sizeof number); return p->sign * number + 0.0;  // minus zero becomes zero
    }
}

static void store(const param_def *p, weir_params *params, double value)
{
    char *place = (char *)params + p->offset;
    float number = (float)(p->sign * value) + 0.0f;  // minus zero becomes zero: the state hash looks at bits
    int32_t whole = p->type == PARAM_int32_t ? (int32_t)value : 0;
    uint32_t seed = p->type == PARAM_uint32_t ? (uint32_t)value : 0;
    switch (p->type) {
    case PARAM_int32_t: memcpy(place, &whole, sizeof whole); break;
    case PARAM_uint32_t: memcpy(place, &seed, sizeof seed); break;
    default: memcpy(place, &number, sizeof number); break;
    }
}

uint32_t param_bits(const param_def *p, const weir_params *params)
{
    uint32_t bits;
    memcpy(&bits, (const char *)params + p->offset, sizeof bits);
    return bits;
}

bool param_is_off(const param_def *p, const weir_params *params)
{
    return p->option && param_bits(p, params) == 0;
}

void param_set_bits(const param_def *p, weir_params *params, uint32_t bits)
{
    memcpy((char *)params + p->offset, &bits, sizeof bits);
}

// The sentence calls it by the name given.
static weir_status check(const param_def *p, const char *name, double value)
{
    // Floats are judged as they will be stored: 1/3 in double is more than the nearest float.
    double stored = p->type == PARAM_float ? (double)(float)value : value;
    bool in_range = stored >= p->min && stored <= p->max;  // false for NaN
    bool whole = p->type == PARAM_float || (in_range && value == floor(value));
    if (in_range && whole) return WEIR_OK;

    int digits = p->type == PARAM_float ? 7 : 10;  // all that the stored type has
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return status_fail(WEIR_ERROR_ARGUMENT, "%s is %s; it must be a %s from %.*g to %.*g", name, isnan(value) ? "nan" : text,
                       p->type == PARAM_float ? "number" : "whole number", digits, p->min, digits, p->max);
}

// ---- By name ---------------------------------------------------------------------------------------------------------------

static const param_def *find_in(const param_def *list, int32_t count, const char *name)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static const param_def *find_own(const solver_table *solver, const char *name)
{
    return find_in(solver->params.list, solver->params.count, name);
}

// The solver whose name stands before a point, and what stands behind it; NULL if it is none's.
static const solver_table *split_full_name(const char *name, const char **own)
{
    for (int32_t i = 0; i < WEIR_SOLVER_COUNT; i++) {
        size_t length = strlen(solver_list[i]->name);
        if (strncmp(name, solver_list[i]->name, length) != 0 || name[length] != '.') continue;
        *own = name + length + 1;
        return solver_list[i];
    }
    return NULL;
}

static int32_t list_names(char *text, int32_t room, int32_t length, const param_def *list, int32_t count)
{
    for (int32_t i = 0; i < count && length < room; i++)
        length += snprintf(text + length, (size_t)(room - length), "%s%s", length ? ", " : "", list[i].name);
    return length;
}

static weir_status unknown_name(const solver_table *solver, const char *name)
{
    char names[400] = "", whose[64] = "";
    int32_t length = list_names(names, sizeof names, 0, SHARED, SHARED_COUNT);
    list_names(names, sizeof names, length, solver->params.list, solver->params.count);
    for (int32_t i = 0; i < WEIR_SOLVER_COUNT && !whose[0]; i++)
        if (find_own(solver_list[i], name)) snprintf(whose, sizeof whose, " (%s has it)", solver_list[i]->name);
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no parameter \"%.24s\" for %s%s; there are %s", name, solver->name, whose,
                       names);
}

static weir_status unknown_own_name(const solver_table *solver, const char *own)
{
    char names[400] = "";
    list_names(names, sizeof names, 0, solver->params.list, solver->params.count);
    return status_fail(WEIR_ERROR_ARGUMENT, "%s has no parameter \"%.24s\" of its own; it has %s", solver->name, own,
                       names[0] ? names : "none");
}

static weir_status find(const solver_table *solver, const char *name, const param_def **found)
{
    const char *own;
    const solver_table *named = split_full_name(name, &own);
    if (named) {
        *found = find_own(named, own);
        return *found ? WEIR_OK : unknown_own_name(named, own);
    }
    *found = find_in(SHARED, SHARED_COUNT, name);
    if (!*found) *found = find_own(solver, name);
    return *found ? WEIR_OK : unknown_name(solver, name);
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

static bool solver_known(weir_solver solver)
{
    return (int)solver >= 0 && solver < WEIR_SOLVER_COUNT;
}

static weir_status unknown_solver(weir_solver solver)
{
    return status_fail(WEIR_ERROR_ARGUMENT, "solver %d is not one that Weir has", (int)solver);
}

static void store_defaults(weir_params *params, const param_def *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++) store(&list[i], params, list[i].standard);
}

weir_params weir_params_default(void)
{
    weir_params params;
    memset(&params, 0, sizeof params);
    store_defaults(&params, SHARED, SHARED_COUNT);
    for (int32_t i = 0; i < WEIR_SOLVER_COUNT; i++)
        store_defaults(&params, solver_list[i]->params.list, solver_list[i]->params.count);
    return params;
}

weir_status params_check(const weir_params *params, const solver_table *solver)
{
    const param_def *p;
    weir_status status = WEIR_OK;
    for (int32_t i = 0; status == WEIR_OK && (p = params_field(solver, i)); i++) status = check(p, p->name, load(p, params));
    return status;
}

weir_status weir_params_check(const weir_params *params, weir_solver solver)
{
    assert(params);
    return solver_known(solver) ? params_check(params, solver_list[solver]) : unknown_solver(solver);
}

weir_status weir_params_set(weir_params *params, weir_solver solver, const char *name, double value)
{
    assert(params && name);
    if (!solver_known(solver)) return unknown_solver(solver);
    const param_def *p;
    weir_status status = find(solver_list[solver], name, &p);
    if (status == WEIR_OK) status = check(p, name, value);
    if (status == WEIR_OK) store(p, params, value);
    return status;
}

weir_status weir_params_get(const weir_params *params, weir_solver solver, const char *name, double *value)
{
    assert(params && name && value);
    if (!solver_known(solver)) return unknown_solver(solver);
    const param_def *p;
    weir_status status = find(solver_list[solver], name, &p);
    if (status == WEIR_OK) *value = load(p, params);
    return status;
}

static bool describe(const param_def *list, int32_t count, int32_t index, weir_param *to)
{
    assert(to);
    if (index < 0 || index >= count) return false;
    const param_def *p = &list[index];
    *to = (weir_param){.name = p->name,
                       .help = p->help,
                       .min = p->min,
                       .max = p->max,
                       .default_value = p->standard,
                       .whole = p->type != PARAM_float};
    return true;
}

bool weir_params_shared(int32_t index, weir_param *to)
{
    return describe(SHARED, SHARED_COUNT, index, to);
}

bool weir_params_own(weir_solver solver, int32_t index, weir_param *to)
{
    if (!solver_known(solver)) return false;
    return describe(solver_list[solver]->params.list, solver_list[solver]->params.count, index, to);
}

// ---- Of a world ------------------------------------------------------------------------------------------------------------

weir_params weir_world_params(const weir_world *world)
{
    return world->params;
}

weir_params params_plain(const weir_params *params, const solver_table *solver)
{
    weir_params plain = *params;
    const param_def *p;
    for (int32_t i = 0; (p = params_field(solver, i)); i++) store(p, &plain, load(p, params));
    return plain;
}

// What a world is of can become something else while there is nothing of it.
static weir_status check_material(const weir_world *world, const weir_params *next)
{
    const weir_material now = solver_material(world->solver, &world->params), then = solver_material(world->solver, next);
    bool any = world->source_count > 0 || world->terrain.absent.count > 0;
    for (int32_t i = 1; i < world->material_count; i++) any |= world_ledger_held(&world->ledger[i]) != 0;
    if (now == then || !any) return WEIR_OK;
    return status_fail(
        WEIR_ERROR_UNSUPPORTED,
        "these parameters are of a world of %s, and this one has %s, sources or parts that are away; set them first",
        world->materials[then].name, world->materials[now].name);
}

weir_status weir_world_set_params(weir_world *world, const weir_params *params)
{
    assert(params);
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "parameters cannot be set while a background step runs");
    weir_status status = params_check(params, world->solver);
    if (status != WEIR_OK) return status;
    const weir_params next = params_plain(params, world->solver);
    status = check_material(world, &next);
    if (status == WEIR_OK && world->solver->params_fit) status = world->solver->params_fit(world->state, &next);
    if (status != WEIR_OK) return status;
    if (world->solver->params_change) world->solver->params_change(world->state, &next);
    world->params = next;
    return WEIR_OK;
}

weir_solver weir_world_solver(const weir_world *world)
{
    return world->solver->id;
}

// Unbounded worlds answer the empty box that they were made with.
weir_box weir_world_bounds(const weir_world *world)
{
    return world->terrain.bounded ? world->terrain.bounds : (weir_box){{0, 0, 0}, {0, 0, 0}};
}
