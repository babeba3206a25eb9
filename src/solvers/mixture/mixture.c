// The mixture automaton (docs/mixture.md): fluids that share cells, after Heintz et al. 2017.
#include "solvers/mixture/mixture.h"

#include "compute/cpu.h"

// ---- Life --------------------------------------------------------------------------------------------------------------------

static const mixture_kernels *const kernels[CPU_WIDTHS] = {
    [WEIR_SIMD_SCALAR - WEIR_SIMD_SCALAR] = &mixture_kernels_scalar,
#if WEIR_HAVE_AVX2
    [WEIR_SIMD_AVX2 - WEIR_SIMD_SCALAR] = &mixture_kernels_avx2,
#endif
#if WEIR_HAVE_AVX512
    [WEIR_SIMD_AVX512 - WEIR_SIMD_SCALAR] = &mixture_kernels_avx512,
#endif
};

static void begin(mixture *s, weir_world *world)
{
    s->channels[MIXTURE_HEAT] = (cell_channel){
        .name = "heat", .type = CHANNEL_COUNT, .bytes = sizeof(int32_t), .kept = true, .next = CHANNEL_NONE, .max = INT32_MAX};
    s->layout = (cell_layout){
        .channels = s->channels, .count = 1, .mass = CHANNEL_NONE, .flow = CHANNEL_NONE, .pressure = CHANNEL_NONE};
    s->cells.world = world;
    s->cells.store = &mixture_cell_store;
    s->film = -1;
}

static void destroy(void *state)
{
    mixture *s = state;
    memory *mem = &s->cells.world->mem;
#if WEIR_HAVE_OPENCL
    mixture_opencl_destroy(s);
#endif
    memory_free(mem, s->holds, (size_t)s->brick_room * sizeof *s->holds);
    memory_free(mem, s->touched, 8 * (size_t)s->brick_room);
    if (s->hardened) memory_free(mem, s->hardened, BRICK_CELLS * sizeof *s->hardened * (size_t)s->brick_room);
    memory_free(mem, s->workers, (size_t)s->worker_count * sizeof *s->workers);
    cells_destroy(&s->cells);
    memory_free(mem, s, sizeof *s);
}

static weir_status make_on_cpu(mixture *s)
{
    weir_world *world = s->cells.world;
    const weir_status status = cpu_choose_width(world->simd, &world->simd);
    if (status != WEIR_OK) return status;
    s->kernels = kernels[world->simd - WEIR_SIMD_SCALAR];
    s->worker_count = workers_count(world->workers);
    s->workers = memory_alloc_zero(&world->mem, (size_t)s->worker_count * sizeof *s->workers);
    return s->workers ? WEIR_OK : status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
}

static weir_status make_on_device(mixture *s, const char *device)
{
#if WEIR_HAVE_OPENCL
    return mixture_opencl_create(s, device);
#else
    (void)s, (void)device;
    return status_fail(WEIR_ERROR_UNSUPPORTED, "the solver mixture does not run on OpenCL");
#endif
}

static weir_status make(mixture *s, weir_world *world, const weir_world_def *def)
{
    weir_status status = cells_create(&s->cells, world, def, &s->layout);
    if (status != WEIR_OK) return status;
    if (s->cells.reported != CHANNEL_NONE)
        s->channels[s->layout.count++] =
            (cell_channel){.name = "reported", .type = CHANNEL_COUNT, .bytes = sizeof(uint16_t), .next = CHANNEL_NONE};
    s->cells.pool.least = INT32_MAX;  // bricks keep their numbers, by which the tables here go
    status = def->backend == WEIR_BACKEND_OPENCL ? make_on_device(s, def->device) : make_on_cpu(s);
    return status == WEIR_OK ? mixture_reserve_tables(s) : status;
}

static weir_status create(weir_world *world, const weir_world_def *def, void **state)
{
    *state = NULL;
    mixture *s = memory_alloc_zero(&world->mem, sizeof *s);
    if (!s) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    begin(s, world);
    const weir_status status = make(s, world, def);
    if (status == WEIR_OK)
        *state = s;
    else
        destroy(s);
    return status;
}

// ---- An update ---------------------------------------------------------------------------------------------------------------

static weir_status reserve(void *state)
{
    const weir_status status = mixture_reserve(state);
#if WEIR_HAVE_OPENCL
    if (status == WEIR_OK && ((mixture *)state)->opencl) return mixture_opencl_reserve(state);
#endif
    return status;
}

static weir_status update(void *state)
{
#if WEIR_HAVE_OPENCL
    if (((mixture *)state)->opencl) return mixture_opencl_update(state);
#endif
    return mixture_update(state);
}

// Whether there is a place for it is told when it is put in, with a sentence.
static bool can_hold(const void *state, weir_material material, const weir_material_def *def)
{
    (void)state, (void)material, (void)def;
    return true;
}

static void stats(const void *state, weir_stats *all)
{
    const mixture *s = state;
    cells_stats(state, all);
    all->awake_bricks = s->awake;
    all->solved = true;
}

// ---- The table ---------------------------------------------------------------------------------------------------------------

#define PARAM(type, name, min, max, standard, help) PARAM_ROW(mixture.name, type, name, min, max, standard, help)
static const param_def PARAMS[] = {WEIR_MIXTURE_PARAMS(PARAM)};

extern const solver_table solver_mixture;
const solver_table solver_mixture = {
    .id = WEIR_SOLVER_MIXTURE,
    .name = "mixture",
    .help = "several fluids in a cell, layered by density, warm or cold, boiling and freezing",
    .unit = MIXTURE_UNIT,
    .params = {PARAMS, sizeof PARAMS / sizeof *PARAMS},
    .cell_max = WEIR_FULL,
    .falls = true,
    .warm = true,
    .can_hold = can_hold,
    .create = create,
    .destroy = destroy,
    .reserve = reserve,
    .update = update,
    .prepare = mixture_prepare,
    .apply = mixture_apply,
    .materials_prepare = mixture_materials_prepare,
    .terrain_changed = mixture_terrain_changed,
    .reaction_prepare = mixture_reaction_prepare,
    .reactions_changed = mixture_reactions_changed,
    .put_fits = mixture_put_fits,
    .put_prepare = mixture_put_prepare,
    .put = mixture_put,
    .view = mixture_view,
    .freeze = mixture_freeze,
    .hash = mixture_hash,
    .save = mixture_save,
    .load = mixture_load,
    .arrival_fits = mixture_arrival_fits,
    .adopt = mixture_adopt,
    .discard = mixture_discard,
    .region_save = mixture_region_save,
    .unload = mixture_unload,
    .region_load = mixture_region_load,
    .region_adopt = mixture_region_adopt,
    .region_discard = mixture_discard,
    .validate = mixture_validate,
    .heat = mixture_heat,
    .stats = stats,
    .is_remote = cells_is_remote,
    .catch_up = cells_catch_up,
    .device_status = cells_device_status,
    .leave_device = cells_leave_device,
};
