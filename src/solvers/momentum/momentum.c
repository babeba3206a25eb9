// The momentum automaton (docs/how-it-works.md): sharp mass fluxes in whole drops, momentum carried with the mass, and a pressure that
// is solved by V-cycles over the pyramid of bricks.
#include "solvers/momentum/momentum.h"

#include "cells/flow_channels.h"
#include "cells/sleep.h"
#include "solvers/momentum/gas.h"
#include "solvers/momentum/limit.h"
#include "world/edits.h"
#include "world/solver.h"
#include <assert.h>

enum { MOMENTUM_FLOW_MAX = 8 };  // of any face, cells per update: as many as there may be substeps

static const pass MOVE = PASS("mass and flow advection", momentum, move);
static const pass OPEN_SIDES = PASS("open sides", momentum, open_sides);
static const pass VISCOSITY = PASS("viscosity", momentum, viscosity);
static const pass FORCES = PASS("forces and noise", momentum, forces);
static const pass POCKETS = PASS("air", momentum, air);
static const pass DIVERGENCE = PASS("divergence and smoothing", momentum, divergence);
static const pass SMOOTH = PASS("smoothing", momentum, smooth);
static const pass RESTRICT = PASS("residual and coarse operator", momentum, restrict_fine);
static const pass COARSE = PASS("coarse levels", momentum, coarse_levels);
static const pass CORRECT = PASS("coarse correction", momentum, correct);
static const pass SMOOTH_BACK = PASS("smoothing", momentum, smooth_back);
static const pass LOCAL_RELAX = PASS("local relaxation", momentum, local_relax);
static const pass RESCALE = PASS("substeps", momentum, rescale);
static const pass DOUBLE_VALUES = PASS("sleep", momentum, double_values);
static const pass BOOK_RIM = PASS("sleep", momentum, book_rim);
static const pass TRIM_RIM = PASS("sleep", momentum, trim_rim);
static const pass REST = PASS("sleep", momentum, rest);
static const pass GAS = PASS("gas pressure", momentum, gas);
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
    m->fresh = m->cycles_next == 0;
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

// One move and what follows from it.
static void run_substep(momentum *m)
{
    weir_world *world = m->base.cells.world;
    run(m, &MOVE);
    if (m->base.cells.pool.awake < m->base.cells.pool.live) run(m, &BOOK_RIM);
    if (backend_drains(world)) {
        run(m, &OPEN_SIDES);
        assert(m->drained >= 0);
        cells_ledger(&m->base.cells)->drained += m->drained;
    }
    backend_rules(&m->base, WEIR_PLACE_AFTER_MOVE);
    if (m->params.momentum.viscosity > 0.0f) run(m, &VISCOSITY);
    if (backend_pushes(world)) run(m, &FORCES);
    if (momentum_is_gas(m)) {
        run(m, &GAS);
        m->cycles = m->cycles_next = 0;
        m->residual = 0.0f;
        return;
    }
    if (m->pockets) run(m, &POCKETS);
    run(m, &DIVERGENCE);
    solve_pressure(m);
    run(m, &GRADIENT);
    if (m->base.cells.pool.awake < m->base.cells.pool.live) run(m, &TRIM_RIM);
}

// Brings flow and pressure into another measure: `scale` times as much flow, and the limit that it then has.
static void rescale(momentum *m, float scale, float limit)
{
    m->scale = scale;
    m->flow_limit = limit;
    run(m, &RESCALE);
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

static void run_passes(momentum *m)
{
    const float n = (float)m->substep_count;
    backend_rules(&m->base, WEIR_PLACE_BEFORE);
    if (m->substep_count > 1 || m->flow_bound > 1) rescale(m, 1.0f / n, 1.0f);
    for (m->substep = 0; m->substep < m->substep_count; m->substep++) run_substep(m);
    if (m->substep_count > 1) rescale(m, n, MOMENTUM_FLOW_MAX);
    m->substeps = m->flow_bound = m->substep_count;
    backend_rules(&m->base, WEIR_PLACE_AFTER);
    if (m->base.cells.sleep->on) run(m, &REST);
}

// The parameters of one of n substeps.
static weir_params params_of_substep(const weir_params *all, int32_t n)
{
    const float share = 1.0f / (float)n, square = share * share;
    weir_params p = *all;
    p.gravity = (weir_vec){all->gravity.x * square, all->gravity.y * square, all->gravity.z * square};
    p.noise *= share;
    p.momentum.gas *= square;
    p.momentum.damping *= share;
    p.momentum.damping_flow *= share;
    p.momentum.viscosity *= share;
    p.momentum.air *= square;
    p.momentum.max_flow = least(all->momentum.max_flow * share, 1.0f);
    return p;
}

// A gas does not sleep.
static float sleep_of(const weir_params *params)
{
    return params->momentum.gas > 0.0f ? 0.0f : params->momentum.sleep;
}

// Tells sleep of the parameters as they are.
static void set_laws_of_sleep(momentum *m)
{
    fluid_cells *c = &m->base.cells;
    const weir_params *p = &c->world->params;
    const backend_down down = backend_find_down(p);
    const sleep_gravity gravity = {down.axis, down.sign, down.head, down.inverse_head};
    sleep_set_laws(c, gravity, p->momentum.film, m->pockets != NULL);
}

static weir_status reserve(void *state)
{
    momentum *m = state;
    const weir_params *params = &m->base.cells.world->params;
    const int32_t most = params->momentum.substeps;
    m->substep_count = m->substeps_next < 1 ? 1 : m->substeps_next < most ? m->substeps_next : most;
    m->params = params_of_substep(params, m->substep_count);
    weir_status status = m->pockets ? pockets_reserve(m->pockets) : cells_reserve(state);
    set_laws_of_sleep(m);
    if (status == WEIR_OK) status = sleep_plan(&m->base.cells);
    if (status != WEIR_OK) return status;
    status = m->base.part->reserve(m);
    if (status != WEIR_OK) sleep_cancel(&m->base.cells);
    return status;
}

// Flow that is set may ask for substeps at once.
static void set_flow(momentum *m, const world_edit *edit)
{
    cells_apply(m, edit);
    const int64_t count = edit->values ? (int64_t)region_volume(edit->whole) : 1;
    const weir_vec *flows = edit->values ? edit->values : &edit->flow;
    float most = 0;
    for (int64_t i = 0; i < count; i++)
        most = rule_max(most, rule_max(rule_abs(flows[i].x), rule_max(rule_abs(flows[i].y), rule_abs(flows[i].z))));
    const int32_t allowed = m->base.cells.world->params.momentum.substeps;
    int k = 0;
    while (k < SUBSTEP_RUNGS && most > (float)rule_rung(k) * momentum_substep_flow(m)) k++;
    const int32_t needed = rule_rung(k) < allowed ? rule_rung(k) : allowed;
    if (needed > m->substeps_next) m->substeps_next = needed;
    m->flow_bound = MOMENTUM_FLOW_MAX;
}

// Before something about them changes.
static void wake(momentum *m, weir_box bricks)
{
    set_laws_of_sleep(m);
    if (m->pockets)
        sleep_wake_all(&m->base.cells);
    else
        sleep_wake(&m->base.cells, bricks);
}

static void apply(void *state, const world_edit *edit)
{
    momentum *m = state;
    bricks_catch_up(&m->base.cells.pool);  // which tells how the last update went
    if (edit->kind == EDIT_KEEP) {
        cells_keep(&m->base.cells, edit);
        return;
    }
    wake(m, region_bricks(edit->place.box));
    if (edit->kind == EDIT_FLOW)
        set_flow(m, edit);
    else if (momentum_fill(m, edit))
        m->cycles_next = 0;
}

// Fluid of another world: of its pressure nothing is known.
static void put(void *state, fluid_next_brick *next, void *source, fluid_brick *brick)
{
    momentum *m = state;
    bricks_catch_up(&m->base.cells.pool);
    set_laws_of_sleep(m);
    sleep_wake_all(&m->base.cells);
    cells_put(state, next, source, brick);
    m->cycles_next = 0;
    m->substeps_next = m->base.cells.world->params.momentum.substeps;
    m->flow_bound = MOMENTUM_FLOW_MAX;
}

// Where water moved on meanwhile, its pressure and that of what comes do not fit.
static void region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes)
{
    momentum *m = state;
    const int32_t substeps = arrival ? ((const cells_arrival *)arrival)->carried / 256 : 0;
    set_laws_of_sleep(m);
    if (m->pockets) pockets_forget(m->pockets);
    cells_region_adopt(state, bricks, arrival, changes);
    if (changes->count > 0 || changes->held) m->cycles_next = 0;
    if (substeps > m->substeps_next) m->substeps_next = substeps < MOMENTUM_FLOW_MAX ? substeps : MOMENTUM_FLOW_MAX;
    m->flow_bound = MOMENTUM_FLOW_MAX;
}

static void unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX])
{
    momentum *m = state;
    if (m->pockets) pockets_forget(m->pockets);
    cells_unload(state, bricks, held);
}

// Where water stood, nothing may stand any more, or more than before.
static void terrain_changed(void *state, weir_box bricks)
{
    momentum *m = state;
    bricks_catch_up(&m->base.cells.pool);
    wake(m, bricks);
    if (m->pockets) pockets_forget(m->pockets);
    cells_terrain_changed(state, bricks);
    m->cycles_next = 0;
}

// Under another gravity nothing rests where it did.
static void params_change(void *state, const weir_params *next)
{
    momentum *m = state;
    const weir_vec now = m->base.cells.world->params.gravity, then = next->gravity;
    cells_params_change(state, next);
    m->sleep = sleep_of(next);
    const bool same_air = m->base.cells.world->params.momentum.air == next->momentum.air;
    if (now.x == then.x && now.y == then.y && now.z == then.z && same_air) return;
    bricks_catch_up(&m->base.cells.pool);
    set_laws_of_sleep(m);
    sleep_wake_all(&m->base.cells);
}

static weir_status check_options(const weir_params *params)
{
    const float gas = params->momentum.gas;
    if (gas > 0.0f && gas < GAS_LEAST)
        return status_fail(WEIR_ERROR_ARGUMENT, "gas is %g; it must be 0 or from %g on", (double)gas, (double)GAS_LEAST);
    if (gas == 0.0f || params->momentum.air == 0.0f) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT,
                       "the parameters gas and air are both above 0: a world of gas has no water that traps air");
}

// The gas in cells has channels of its own, which a world has from its beginning or not at all.
static weir_status params_fit(const void *state, const weir_params *next)
{
    const momentum *m = state;
    const weir_status status = check_options(next);
    if (status != WEIR_OK) return status;
    if ((m->pockets != NULL) == (next->momentum.air > 0.0f)) return WEIR_OK;
    if (m->pockets)
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "this world was made with air that has a pressure: the parameter air cannot become 0");
    return status_fail(WEIR_ERROR_ARGUMENT, "this world was made without air: the parameter air cannot become %g",
                       (double)next->momentum.air);
}

static weir_status update(void *state)
{
    momentum *m = state;
    const brick_pool *pool = &m->base.cells.pool;
    cells_end_stale_flow(&m->base.cells);
    sleep_commit(&m->base.cells);
    if (m->base.machine->begin) m->base.machine->begin(m->base.machine);
    if (m->base.cells.sleep->doubled_count > 0) run(m, &DOUBLE_VALUES);
    if (pool->awake > 0) {
        run_passes(m);
    } else if (pool->live == 0) {
        // A world that has dried up is like a new one to the water that comes next.
        bricks_catch_up(&m->base.cells.pool);
        m->cycles_next = m->substeps_next = 0;
    }
    weir_status status = solver_state_finish(&m->base);
    if (status == WEIR_OK && pool->awake > 0 && m->base.cells.sleep->on) sleep_note(&m->base.cells);
    return status;
}

// ---- Channels --------------------------------------------------------------------------------------------------------------

static const cell_channel channels[FLOW_CHANNELS] = {FLOW_CHANNEL_ROWS(MOMENTUM_FLOW_MAX)};
static const cell_layout layout = {channels, FLOW_CHANNELS, FLOW_CHANNEL_PLACES};

static const cell_channel air_channels[AIR_CHANNELS] = {
    FLOW_CHANNEL_ROWS(MOMENTUM_FLOW_MAX),
    [CHANNEL_GAS] = {"gas", CHANNEL_COUNT, 4, true, CHANNEL_GAS_NEXT, AIR_GAS_MOST + 1.0},
    [CHANNEL_GAS_NEXT] = {"gas_next", CHANNEL_COUNT, 4, false, CHANNEL_NONE, AIR_GAS_MOST + 1.0},
};
static const cell_layout air_layout = {air_channels, AIR_CHANNELS, FLOW_CHANNEL_PLACES};

// ---- Life ------------------------------------------------------------------------------------------------------------------

static void destroy(void *state)
{
    momentum *m = state;
    memory_free(&m->base.cells.world->mem, m->filled, m->filled_room * sizeof *m->filled);
    pockets_destroy(m->pockets);
    solver_state_free(state, sizeof(momentum));
}

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
#if WEIR_HAVE_OPENCL
    const solver_part *on_opencl = &momentum_on_opencl;
#else
    const solver_part *on_opencl = NULL;
#endif
    const bool air = world->params.momentum.air > 0.0f;
    weir_status status = check_options(&world->params);
    if (status == WEIR_OK)
        status =
            solver_state_create(world, def, sizeof(momentum), air ? &air_layout : &layout, &momentum_on_cpu, on_opencl, state);
    if (status != WEIR_OK) return status;
    momentum *m = *state;
    m->sleep = sleep_of(&world->params);
    if (air) m->pockets = pockets_create(*state);
    if ((m->pockets || !air) && sleep_create(*state, &m->sleep)) return WEIR_OK;
    destroy(*state);
    *state = NULL;
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
}

static void stats(const void *state, weir_stats *all)
{
    const momentum *m = state;
    cells_stats(state, all);
    all->substeps = m->substeps;
    all->cycles = m->cycles;
    all->residual = m->residual;
    all->solved = momentum_is_gas(m) || m->residual < m->base.cells.world->params.momentum.tolerance;
}

// Two numbers in one.
static int32_t carried(const void *state)
{
    const momentum *m = state;
    return m->cycles_next + 256 * m->substeps_next;
}

static void set_carried(void *state, int32_t carried)
{
    momentum *m = state;
    m->sleep = sleep_of(&m->base.cells.world->params);
    m->cycles_next = carried % 256;
    m->substeps_next = carried / 256 < MOMENTUM_FLOW_MAX ? carried / 256 : MOMENTUM_FLOW_MAX;
    m->flow_bound = MOMENTUM_FLOW_MAX;  // as far as anybody knows
}

// ---- Parameters ------------------------------------------------------------------------------------------------------------

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(momentum.name, type, name, min, max, standard, help)
#define OPTION(type, name, min, max, standard, help) PARAM_OPTION_ROW(momentum.name, type, name, min, max, standard, help)
static const param_def PARAMS[] = {WEIR_MOMENTUM_PARAMS(PARAM) WEIR_MOMENTUM_OPTIONS(OPTION)};

static float flow_max(const weir_params *params)
{
    return least(params->momentum.max_flow, (float)params->momentum.substeps);
}

static weir_material material(const weir_params *params)
{
    return params->momentum.gas > 0.0f ? WEIR_SMOKE : WEIR_WATER;
}

// What is more in a cell of gas than fits one of water is pressure.
static float fill_max(const weir_params *params)
{
    return params->momentum.gas > 0.0f ? GAS_MOST : 1.0f;
}

extern const solver_table solver_momentum;
const solver_table solver_momentum = {
    .id = WEIR_SOLVER_MOMENTUM,
    .name = "momentum",
    .help = "water that keeps its momentum, levels through pipes and shoots from holes",
    .unit = 1,
    .params = {PARAMS, sizeof PARAMS / sizeof *PARAMS},
    .flow_max = flow_max,
    .material = material,
    .fill_max = fill_max,
    .speed = 1.0f,
    .cell_max = 4 * WEIR_FULL - 1,  // turned into floats, which count to 2^24
    SOLVER_STATE_TABLE,
    .reserve = reserve,
    .prepare = momentum_prepare,
    .apply = apply,
    .put = put,
    .region_adopt = region_adopt,
    .unload = unload,
    .terrain_changed = terrain_changed,
    .params_fit = params_fit,
    .params_change = params_change,
    .create = create,
    .destroy = destroy,
    .update = update,
    .stats = stats,
    .carried = carried,
    .set_carried = set_carried,
};
