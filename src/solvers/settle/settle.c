// The settling automaton (docs/settle.md): finite water for voxel worlds whose server has a CPU and a tick to keep. After Medvecky-Heretik:
// rules up, down and sideways for water that moves, and bodies of still water that take part as wholes.
#include "solvers/settle/settle.h"

// ---- Life --------------------------------------------------------------------------------------------------------------------

static const cell_layout layout = {.mass = CHANNEL_NONE, .flow = CHANNEL_NONE, .pressure = CHANNEL_NONE};

static const settle_kernels *const kernels[CPU_WIDTHS] = {
    [WEIR_SIMD_SCALAR - WEIR_SIMD_SCALAR] = &settle_kernels_scalar,
#if WEIR_HAVE_AVX2
    [WEIR_SIMD_AVX2 - WEIR_SIMD_SCALAR] = &settle_kernels_avx2,
#endif
#if WEIR_HAVE_AVX512
    [WEIR_SIMD_AVX512 - WEIR_SIMD_SCALAR] = &settle_kernels_avx512,
#endif
};

void settle_begin(settle *s, weir_world *world)
{
    s->cells.world = world;
    s->cells.layout = &layout;
    s->cells.store = &settle_cell_store;
    s->cells.ended = settle_brick_ended;
    s->nodes.size = sizeof(settle_node);
    s->bodies.size = sizeof(settle_body);
    s->outlets.size = sizeof(settle_outlet);
    s->histograms.size = sizeof(settle_histogram);
}

static void destroy(void *state)
{
    settle *s = state;
    memory *mem = &s->cells.world->mem;
    settle_free_frozen(s);
    settle_free_tables(s);
    settle_free_spares(s);
    memory_free(mem, s->scratch, (size_t)s->workers * sizeof(settle_tile));
    memory_free(mem, s->mixed_scratch, (size_t)s->workers * settle_mixed_bytes());
    cells_destroy(&s->cells);
    memory_free(mem, s, sizeof *s);
}

static weir_status make(settle *s, weir_world *world, const weir_world_def *def)
{
    weir_status status = cpu_choose_width(world->simd, &world->simd);
    if (status == WEIR_OK) status = cells_create(&s->cells, world, def, &layout);
    if (status != WEIR_OK) return status;
    s->cells.pool.least = INT32_MAX;  // bricks keep their numbers, by which the tables here go
    s->kernels = kernels[world->simd - WEIR_SIMD_SCALAR];
    s->workers = workers_count(world->workers);
    s->scratch = memory_alloc_zero(&world->mem, (size_t)s->workers * sizeof(settle_tile));
    if (!s->scratch) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    status = settle_sync(s);
    return status == WEIR_OK ? settle_reserve_stores(s) : status;
}

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
    *state = NULL;
    if (def->backend != WEIR_BACKEND_CPU)
        return status_fail(WEIR_ERROR_UNSUPPORTED,
                           "settle runs on the CPU only, as a game server does; make its world with WEIR_BACKEND_CPU");
    settle *s = memory_alloc_zero(&world->mem, sizeof *s);
    if (!s) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    settle_begin(s, world);
    const weir_status status = make(s, world, def);
    if (status == WEIR_OK)
        *state = s;
    else
        destroy(s);
    return status;
}

static bool can_hold(const void *state, weir_material material, const weir_material_def *def)
{
    (void)state, (void)material;
    return def->kind == WEIR_KIND_LIQUID;
}

static int32_t carried(const void *state)
{
    return ((const settle *)state)->phase;
}

static void set_carried(void *state, int32_t carried)
{
    ((settle *)state)->phase = carried & 63;
}

static void stats(const void *state, weir_stats *all)
{
    const settle *s = state;
    cells_stats(state, all);
    const bool goes_on = settle_goes_on(s);
    all->awake_bricks = s->active_count + s->touching_count + goes_on;
    all->behind_updates = s->age;
    if (s->growing)
        all->behind_bricks = s->active_count;
    else if (goes_on)
        all->behind_bricks = s->work_count - (s->stage > STAGE_WORK ? 0 : s->cursor - s->redo_count);
    all->cell_bytes = (int32_t)(sizeof(settle_page) / BRICK_CELLS);
    all->cell_state_bytes = 3;
    all->solved = true;
}

// ---- The table ---------------------------------------------------------------------------------------------------------------

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(settle.name, type, name, min, max, standard, help)
static const param_def PARAMS[] = {WEIR_SETTLE_PARAMS(PARAM)};

extern const solver_table solver_settle;
const solver_table solver_settle = {
    .id = WEIR_SOLVER_SETTLE,
    .name = "settle",
    .help = "water for game servers: settles, sleeps, and stands level in lakes that cost nothing",
    .unit = SETTLE_UNIT,
    .params = {PARAMS, sizeof PARAMS / sizeof *PARAMS},
    .cell_max = SETTLE_MOST * SETTLE_UNIT,
    .falls = true,
    .solid_share = 255,
    .can_hold = can_hold,
    .create = create,
    .destroy = destroy,
    .reserve = settle_reserve,
    .update = settle_update,
    .sources_wait = settle_sources_wait,
    .prepare = settle_prepare,
    .apply = settle_apply,
    .terrain_prepare = settle_terrain_prepare,
    .terrain_changed = settle_terrain_changed,
    .params_change = settle_params_change,
    .reactions_changed = settle_reactions_changed,
    .region_save = settle_region_save,
    .region_load = settle_region_load,
    .region_adopt = settle_region_adopt,
    .region_discard = settle_region_discard,
    .region_prepare = settle_region_prepare,
    .unload = settle_unload,
    .put_prepare = settle_put_prepare,
    .put = settle_put,
    .view = settle_view,
    .freeze = settle_freeze,
    .hash = settle_hash,
    .carried = carried,
    .set_carried = set_carried,
    .save = settle_save,
    .load = settle_load,
    .adopt = settle_adopt,
    .discard = settle_discard,
    .validate = settle_validate,
    .stats = stats,
};
