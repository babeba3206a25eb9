// The numbers of the laws. One table has all that is known about each of them: where it lies, what it may be, what it is when
// nobody says anything, and what it means. Everything here is a walk over that table, so a new parameter is one new line.
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum param_type { PARAM_FLOAT, PARAM_INT, PARAM_SEED } param_type;

typedef struct param {
    const char *name;
    size_t offset;
    param_type type;
    double sign;  // what a caller says is this times what is stored: "gravity" pulls down, gravity.y points up
    double min;
    double max[WEIR_SOLVER_COUNT];  // per solver: momentum, classic
    double standard[WEIR_SOLVER_COUNT];
    const char *help;
} param;

_Static_assert(WEIR_SOLVER_COUNT == 2, "the table below has a column per solver");
#define BOTH(value)  \
    {                \
        value, value \
    }
#define AT(field) offsetof(weir_params, field)

// Bounds that a float cannot hit exactly are written as the nearest float, so that the bound itself is allowed.
static const param table[] = {
    {"gravity", AT(gravity.y), PARAM_FLOAT, -1, -1, BOTH(1), BOTH(0.01), "downward pull, cells per update squared"},
    {"gravity.x", AT(gravity.x), PARAM_FLOAT, 1, -1, BOTH(1), BOTH(0), "pull along x, cells per update squared"},
    {"gravity.y", AT(gravity.y), PARAM_FLOAT, 1, -1, BOTH(1), BOTH(-0.01), "pull along y (up), cells per update squared"},
    {"gravity.z", AT(gravity.z), PARAM_FLOAT, 1, -1, BOTH(1), BOTH(0), "pull along z, cells per update squared"},
    {"damping", AT(damping), PARAM_FLOAT, 1, 0, BOTH(1), {0.001, 0.01}, "share of flow lost per update"},
    {"viscosity", AT(viscosity), PARAM_FLOAT, 1, 0, BOTH(1.0f / 6), BOTH(0),
     "momentum only: exchange of flow with each of 6 neighbours per update"},
    {"noise", AT(noise), PARAM_FLOAT, 1, 0, BOTH(1), BOTH(0), "relative random change of horizontal flow per update"},
    {"noise_seed", AT(noise_seed), PARAM_SEED, 1, 0, BOTH(UINT32_MAX), BOTH(1), "which noise"},
    {"iterations", AT(iterations), PARAM_INT, 1, 1, BOTH(1024), BOTH(8), "classic only: pressure iterations per update"},
    {"smooths", AT(smooths), PARAM_INT, 1, 1, BOTH(16), BOTH(3), "momentum only: sweeps in each smoothing of the pressure"},
    {"cycles", AT(cycles), PARAM_INT, 1, 1, BOTH(16), BOTH(8), "momentum only: most V-cycles per update"},
    {"tolerance", AT(tolerance), PARAM_FLOAT, 1, 0, BOTH(1), BOTH(0.005),
     "momentum only: residual from which on the pressure is solved further"},
    {"excess_rate", AT(excess_rate), PARAM_FLOAT, 1, 0, BOTH(1), BOTH(0.25),
     "momentum only: share of an over-full cell's excess pushed out per update"},
    {"excess_cap", AT(excess_cap), PARAM_FLOAT, 1, 0, BOTH(1), BOTH(0.1),
     "momentum only: most excess pushed out of a cell per update"},
    {"fill_cap", AT(fill_cap), PARAM_FLOAT, 1, 1, BOTH(2), BOTH(1.25),
     "momentum only: fill above which a cell takes in no more than it gives"},
    {"empty", AT(empty), PARAM_FLOAT, 1, 0, BOTH(0.1f), BOTH(1e-4), "fill below which a cell counts as empty"},
    {"dust", AT(dust), PARAM_FLOAT, 1, 0, BOTH(0.1f), BOTH(1e-4),
     "momentum only: fill below which water falls one cell per update"},
    {"max_flow", AT(max_flow), PARAM_FLOAT, 1, 0, {1, 1.0f / 3}, {1, 1.0f / 3}, "largest flow, cells per update"},
};

enum { PARAM_COUNT = sizeof table / sizeof table[0] };

static bool solver_known(weir_solver solver)
{
    return (int)solver >= 0 && solver < WEIR_SOLVER_COUNT;
}

static double load(const param *p, const weir_params *params)
{
    const char *place = (const char *)params + p->offset;
    float number;
    int32_t whole;
    uint32_t seed;
    switch (p->type) {
    case PARAM_INT: memcpy(&whole, place, sizeof whole); return p->sign * whole;
    case PARAM_SEED: memcpy(&seed, place, sizeof seed); return p->sign * seed;
    default: memcpy(&number, place, sizeof number); return p->sign * number;
    }
}

static void store(const param *p, weir_params *params, double value)
{
    char *place = (char *)params + p->offset;
    float number = (float)(p->sign * value) + 0.0f;  // minus zero becomes zero: the state hash looks at bits
    int32_t whole = p->type == PARAM_INT ? (int32_t)value : 0;
    uint32_t seed = p->type == PARAM_SEED ? (uint32_t)value : 0;
    switch (p->type) {
    case PARAM_INT: memcpy(place, &whole, sizeof whole); break;
    case PARAM_SEED: memcpy(place, &seed, sizeof seed); break;
    default: memcpy(place, &number, sizeof number); break;
    }
}

static weir_status check(const param *p, weir_solver solver, double value)
{
    // Floats are judged as they will be stored: 1/3 in double is more than the nearest float.
    double stored = p->type == PARAM_FLOAT ? (double)(float)value : value;
    bool in_range = stored >= p->min && stored <= p->max[solver];  // false for NaN
    bool whole = p->type == PARAM_FLOAT || (in_range && value == floor(value));
    if (in_range && whole) return WEIR_OK;

    int digits = p->type == PARAM_FLOAT ? 7 : 10;  // all that the stored type has
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return status_fail(WEIR_ERROR_ARGUMENT, "%s is %s; it must be a %s from %.*g to %.*g", p->name, isnan(value) ? "nan" : text,
                       p->type == PARAM_FLOAT ? "number" : "whole number", digits, p->min, digits, p->max[solver]);
}

weir_params weir_params_default(weir_solver solver)
{
    if (!solver_known(solver)) solver = WEIR_SOLVER_MOMENTUM;  // who makes a world with it is told that it is unknown
    weir_params params = {0};
    for (int32_t i = 0; i < PARAM_COUNT; i++) store(&table[i], &params, table[i].standard[solver]);
    return params;
}

weir_status weir_params_check(const weir_params *params, weir_solver solver)
{
    assert(params);
    if (!solver_known(solver)) return status_fail(WEIR_ERROR_ARGUMENT, "solver %d is not one that Weir has", (int)solver);
    for (int32_t i = 0; i < PARAM_COUNT; i++) {
        if (table[i].sign < 0) continue;  // another name for a field that has its own line
        weir_status status = check(&table[i], solver, load(&table[i], params));
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

weir_status weir_params_set(weir_params *params, weir_solver solver, const char *name, double value)
{
    assert(params && name);
    if (!solver_known(solver)) return status_fail(WEIR_ERROR_ARGUMENT, "solver %d is not one that Weir has", (int)solver);
    for (int32_t i = 0; i < PARAM_COUNT; i++) {
        if (strcmp(table[i].name, name) != 0) continue;
        weir_status status = check(&table[i], solver, value);
        if (status == WEIR_OK) store(&table[i], params, value);
        return status;
    }

    char names[224] = "";
    for (int32_t i = 0, length = 0; i < PARAM_COUNT; i++) {
        length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", i ? ", " : "", table[i].name);
    }
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no parameter \"%.24s\"; there are %s", name, names);
}

const char *weir_params_name(int32_t index)
{
    return index >= 0 && index < PARAM_COUNT ? table[index].name : NULL;
}

const char *weir_params_help(int32_t index)
{
    return index >= 0 && index < PARAM_COUNT ? table[index].help : NULL;
}

// ---- Of a world ------------------------------------------------------------------------------------------------------------

weir_params weir_world_params(const weir_world *world)
{
    return world->params;
}

weir_params world_params_plain(const weir_params *params)
{
    weir_params plain = *params;
    for (int32_t i = 0; i < PARAM_COUNT; i++)
        if (table[i].sign > 0) store(&table[i], &plain, load(&table[i], params));
    return plain;
}

weir_status weir_world_set_params(weir_world *world, const weir_params *params)
{
    assert(params);
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "parameters cannot be set while a background step runs");
    weir_status status = weir_params_check(params, world->solver->id);
    if (status == WEIR_OK) world->params = world_params_plain(params);
    return status;
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
