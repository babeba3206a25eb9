// The automaton of van der Scheer's thesis, corrected so that it works (docs/how-it-works.md).
#include "solvers/classic/classic.h"

#include "cells/flow_channels.h"
#include "world/solver.h"
#include <assert.h>

enum { SWEEP_ITERATIONS = 4 };  // most pressure iterations in one sweep: as far as a sweep looks around its column

static const pass MOVE = PASS("mass and flow advection", classic, move);
static const pass OPEN_SIDES = PASS("open sides", classic, open_sides);
static const pass FORCES = PASS("forces and noise", classic, forces);
static const pass DIVERGENCE = PASS("divergence and pressure", classic, divergence);
static const pass PRESSURE = PASS("pressure", classic, pressure);
static const pass GRADIENT = PASS("pressure and gradient", classic, gradient);

static void run(classic *c, const pass *p)
{
    c->base.machine->run(c->base.machine, p, c);
}

static void run_iterations(classic *c, const pass *p, int32_t iterations)
{
    assert(iterations >= 0 && iterations <= SWEEP_ITERATIONS);
    c->iterations = iterations;
    run(c, p);
}

static void run_passes(classic *c)
{
    weir_world *world = c->base.cells.world;
    backend_rules(&c->base, WEIR_PLACE_BEFORE);
    run(c, &MOVE);
    if (backend_drains(world)) {
        run(c, &OPEN_SIDES);
        assert(c->drained >= 0);
        cells_ledger(&c->base.cells)->drained += c->drained;
    }
    backend_rules(&c->base, WEIR_PLACE_AFTER_MOVE);
    if (backend_pushes(world)) run(c, &FORCES);
    int32_t left = world->params.classic.iterations;
    assert(left >= 1);
    const int32_t first = left < SWEEP_ITERATIONS ? left : SWEEP_ITERATIONS;
    run_iterations(c, &DIVERGENCE, first);
    for (left -= first; left > SWEEP_ITERATIONS; left -= SWEEP_ITERATIONS) run_iterations(c, &PRESSURE, SWEEP_ITERATIONS);
    run_iterations(c, &GRADIENT, left);
    backend_rules(&c->base, WEIR_PLACE_AFTER);
}

static weir_status update(void *state)
{
    classic *c = state;
    cells_end_stale_flow(&c->base.cells);
    if (c->base.machine->begin) c->base.machine->begin(c->base.machine);
    if (c->base.cells.pool.live > 0) run_passes(c);
    return solver_state_finish(&c->base);
}

// ---- Channels --------------------------------------------------------------------------------------------------------------

static const cell_channel channels[FLOW_CHANNELS] = {FLOW_CHANNEL_ROWS(1)};
static const cell_layout layout = {channels, FLOW_CHANNELS, FLOW_CHANNEL_PLACES};

// ---- Life ------------------------------------------------------------------------------------------------------------------

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
#if WEIR_HAVE_OPENCL
    return solver_state_create(world, def, sizeof(classic), &layout, &classic_on_cpu, &classic_on_opencl, state);
#else
    return solver_state_create(world, def, sizeof(classic), &layout, &classic_on_cpu, NULL, state);
#endif
}

static void destroy(void *state)
{
    solver_state_free(state, sizeof(classic));
}

// ---- Parameters ------------------------------------------------------------------------------------------------------------

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(classic.name, type, name, min, max, standard, help)
static const param_def PARAMS[] = {WEIR_CLASSIC_PARAMS(PARAM)};

static float flow_max(const weir_params *params)
{
    return params->classic.max_flow;
}

extern const solver_table solver_classic;
const solver_table solver_classic = {
    .id = WEIR_SOLVER_CLASSIC,
    .name = "classic",
    .help = "van der Scheer's automaton, corrected so that it works: slower, more viscous water",
    .unit = 1,
    .params = {PARAMS, sizeof PARAMS / sizeof *PARAMS},
    .flow_max = flow_max,
    .speed = CLASSIC_C,
    .cell_max = 511 * WEIR_FULL,  // a cell of 128 fills takes in nothing, and what it got until then still fits an integer
    SOLVER_STATE_TABLE,
    SOLVER_STATE_EDITS,
    .create = create,
    .destroy = destroy,
    .stats = cells_stats,
    .update = update,
    .params_change = cells_params_change,
};
