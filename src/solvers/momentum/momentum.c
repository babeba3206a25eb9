// The momentum automaton (docs/how-it-works.md): sharp mass fluxes in whole drops, momentum carried with the mass, and a pressure that
// is solved by V-cycles over the pyramid of bricks.
#include "solvers/momentum/momentum.h"

#include "cells/flow_channels.h"
#include "world/solver.h"
#include <assert.h>

static const pass MOVE = PASS("mass and flow advection", momentum, move);
static const pass OPEN_SIDES = PASS("open sides", momentum, open_sides);
static const pass VISCOSITY = PASS("viscosity", momentum, viscosity);
static const pass FORCES = PASS("forces and noise", momentum, forces);
static const pass DIVERGENCE = PASS("divergence and smoothing", momentum, divergence);
static const pass SMOOTH = PASS("smoothing", momentum, smooth);
static const pass RESTRICT = PASS("residual and coarse operator", momentum, restrict_fine);
static const pass COARSE = PASS("coarse levels", momentum, coarse_levels);
static const pass CORRECT = PASS("coarse correction", momentum, correct);
static const pass SMOOTH_BACK = PASS("smoothing", momentum, smooth_back);
static const pass LOCAL_RELAX = PASS("local relaxation", momentum, local_relax);
static const pass GRADIENT = PASS("pressure gradient", momentum, gradient);

static void run(momentum *m, const pass *p)
{
    m->base.machine->run(m->base.machine, p, m);
}

// Pressure: one cycle, and what it leaves here and there is relaxed locally. Where it leaves much, more cycles follow; how many there may be
// is known from the update before, so that a device can be told all at once. All this depends on largest values and on counts, which are
// the same in whatever order they are found.
static void solve_pressure(momentum *m)
{
    const weir_world *world = m->base.cells.world;
    bricks_catch_up(&m->base.cells.pool);
    int32_t most = m->cycles_next;
    if (most == 0 || most > world->params.momentum.cycles) most = world->params.momentum.cycles;
    assert(most >= 1);
    m->cycle = 0;
    do {
        if (m->cycle > 0) run(m, &SMOOTH);
        run(m, &RESTRICT);
        run(m, &COARSE);
        run(m, &CORRECT);
        run(m, &SMOOTH_BACK);
        m->may_follow = m->cycle + 1 < most;
        run(m, &LOCAL_RELAX);
        m->cycle++;
    } while (m->unsolved && m->cycle < most);
}

static void run_passes(momentum *m)
{
    weir_world *world = m->base.cells.world;
    backend_rules(&m->base, WEIR_PLACE_BEFORE);
    run(m, &MOVE);
    if (backend_drains(world)) {
        run(m, &OPEN_SIDES);
        assert(m->drained >= 0);
        cells_ledger(&m->base.cells)->drained += m->drained;
    }
    backend_rules(&m->base, WEIR_PLACE_AFTER_MOVE);
    if (world->params.momentum.viscosity > 0.0f) run(m, &VISCOSITY);
    if (backend_pushes(world)) run(m, &FORCES);
    run(m, &DIVERGENCE);
    solve_pressure(m);
    run(m, &GRADIENT);
    backend_rules(&m->base, WEIR_PLACE_AFTER);
}

static weir_status update(void *state)
{
    momentum *m = state;
    if (m->base.machine->begin) m->base.machine->begin(m->base.machine);
    if (m->base.cells.pool.live > 0) {
        run_passes(m);
    } else {
        // A world that has dried up is like a new one to the water that comes next.
        bricks_catch_up(&m->base.cells.pool);
        m->cycles_next = 0;
    }
    return solver_state_finish(&m->base);
}

// ---- Channels --------------------------------------------------------------------------------------------------------------

static const cell_channel channels[FLOW_CHANNELS] = {FLOW_CHANNEL_ROWS};
static const cell_layout layout = {channels, FLOW_CHANNELS, FLOW_CHANNEL_PLACES};

// ---- Life ------------------------------------------------------------------------------------------------------------------

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
#if WEIR_HAVE_OPENCL
    return solver_state_create(world, def, sizeof(momentum), &layout, &momentum_on_cpu, &momentum_on_opencl, state);
#else
    return solver_state_create(world, def, sizeof(momentum), &layout, &momentum_on_cpu, NULL, state);
#endif
}

static void destroy(void *state)
{
    solver_state_free(state, sizeof(momentum));
}

static void stats(const void *state, weir_stats *all)
{
    const momentum *m = state;
    cells_stats(state, all);
    all->cycles = m->cycles;
    all->residual = m->residual;
    all->solved = m->residual < m->base.cells.world->params.momentum.tolerance;
}

static int32_t carried(const void *state)
{
    return ((const momentum *)state)->cycles_next;
}

static void set_carried(void *state, int32_t cycles_next)
{
    ((momentum *)state)->cycles_next = cycles_next;
}

// ---- Parameters ------------------------------------------------------------------------------------------------------------

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(momentum.name, type, name, min, max, standard, help)
static const param_def PARAMS[] = {WEIR_MOMENTUM_PARAMS(PARAM)};

static float flow_max(const weir_params *params)
{
    return params->momentum.max_flow;
}

extern const solver_table solver_momentum;
const solver_table solver_momentum = {
    .id = WEIR_SOLVER_MOMENTUM,
    .name = "momentum",
    .help = "water that keeps its momentum, levels through pipes and shoots from holes",
    .unit = 1,
    .params = {PARAMS, sizeof PARAMS / sizeof *PARAMS},
    .flow_max = flow_max,
    .speed = 1.0f,
    .cell_max = 4 * WEIR_FULL - 1,  // turned into floats, which count to 2^24
    SOLVER_STATE_TABLE,
    .create = create,
    .destroy = destroy,
    .update = update,
    .stats = stats,
    .carried = carried,
    .set_carried = set_carried,
};
