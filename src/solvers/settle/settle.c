// The settling automaton (docs/settle.md): finite water for voxel worlds whose server has a CPU and a tick to keep. After Medvecky-Heretik:
// rules up, down and sideways for water that moves, and bodies of still water that take part as wholes.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum {
    SPARE = 256,        // nodes, bodies and outlets that an update may take besides those that its bricks ask for
    OUTLETS_USUAL = 4,  // that a brick asks for; where more are needed some bricks rest later
    FACES_AND_SELF = 7
};

// ---- The update --------------------------------------------------------------------------------------------------------------

static int32_t times(int32_t a, int32_t b)
{
    return a > (INT32_MAX / 8) / b ? INT32_MAX / 8 : a * b;
}

static weir_status reserve_lists(settle *s)
{
    memory *mem = &s->cells.world->mem;
    if (s->changed_room < s->bodies.room) {
        const size_t size = sizeof *s->changed;
        int32_t *list = memory_resize(mem, s->changed, (size_t)s->changed_room * size, (size_t)s->bodies.room * size);
        if (!list) return status_fail(WEIR_ERROR_MEMORY, "no memory to list %d bodies of water", s->bodies.room);
        s->changed = list;
        s->changed_room = s->bodies.room;
    }
    if (s->outcome_room < s->brick_room) {
        const size_t size = sizeof *s->outcome;
        settle_outcome *outcome = memory_alloc(mem, (size_t)s->brick_room * size);
        if (!outcome) return status_fail(WEIR_ERROR_MEMORY, "no memory to note what becomes of %d bricks", s->brick_room);
        memory_free(mem, s->outcome, (size_t)s->outcome_room * size);
        s->outcome = outcome;
        s->outcome_room = s->brick_room;
    }
    return WEIR_OK;
}

// In how many bricks bodies may begin in the next update.
static int32_t count_seeding(const settle *s)
{
    const int32_t patience = s->cells.world->params.settle.patience;
    int32_t count = 0;
    for (int32_t i = 0; i < s->active_count; i++) {
        const settle_page *page = s->bricks[s->active[i]].page;
        uint8_t calmest = 0;
        for (int32_t cell = 0; cell < BRICK_CELLS && page; cell++)
            calmest = page->calm[cell] > calmest ? page->calm[cell] : calmest;
        count += page && calmest + 1 >= patience;
    }
    return count;
}

// Of each as many as there can be a use for, by the water that there is: a body may begin where it has settled, and takes in what is awake; what
// comes to rest beside bodies has outlets; bodies have histograms where terrain is partly solid.
weir_status settle_reserve_stores(settle *s)
{
    const int32_t active = s->active_count, parts = settle_count_parts(s), seeding = count_seeding(s);
    const int32_t nodes = store_used(&s->nodes), bodies = store_used(&s->bodies);
    const int32_t beside = times(nodes, FACES_AND_SELF) < active ? times(nodes, FACES_AND_SELF) : active;
    weir_status status =
        store_reserve(s, &s->nodes, times(nodes, 2) + times(active, 2) + times(seeding, 6) + times(parts, 2) + SPARE);
    if (status == WEIR_OK) status = store_reserve(s, &s->bodies, bodies + times(seeding, SETTLE_SEEDS) + parts + SPARE);
    if (status == WEIR_OK) status = store_reserve(s, &s->outlets, times(beside, OUTLETS_USUAL) + SPARE);
    if (status == WEIR_OK && s->share_count > 0)
        status = store_reserve(s, &s->histograms, bodies + s->bodies.budget - store_used(&s->histograms));
    if (status == WEIR_OK) status = settle_reserve_parts(s);
    return status == WEIR_OK ? reserve_lists(s) : status;
}

static weir_status reserve(void *state)
{
    settle *s = state;
    const weir_world *world = s->cells.world;
    weir_status status = cells_reserve(state);
    const int32_t awake = s->active_count;
    bool drains = false;
    for (int32_t i = 0; i < world->source_count; i++) drains |= world->sources[i].kind == SOURCE_DRAIN;
    if (status == WEIR_OK) status = settle_sync(s);
    for (int32_t i = 0; i < s->active_count && status == WEIR_OK; i++) status = settle_need_page(s, s->active[i]);
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK; i++)
        if (world->sources[i].kind == SOURCE_EMITTER && world_source_acts(world, &world->sources[i]))
            status = settle_need_pages(s, world->sources[i].box, drains);
    if (status == WEIR_OK) status = settle_reserve_stores(s);
    if (status != WEIR_OK) settle_forget_newborn(s, awake);
    s->work_count = s->active_count;
    return status;
}

// Bricks near which something changed are worked on in the next update.
static void wake_beside(settle *s, int32_t brick, uint8_t sides)
{
    for (int32_t k = 0; k < 27; k++) {
        const int32_t x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1;
        const bool near = (x == 0 || sides >> (x > 0) & 1) && (y == 0 || sides >> (2 + (y > 0)) & 1) &&
                          (z == 0 || sides >> (4 + (z > 0)) & 1);
        if (near) settle_wake(s, s->cells.pool.near[brick][k]);
    }
}

// What lies behind open sides leaves the world.
static void drain_sides(settle *s, int32_t brick)
{
    const weir_world *world = s->cells.world;
    settle_page *page = s->bricks[brick].page;
    bool any = false;
    if (!world->terrain.open_sides || layers_empty(&page->wet)) return;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t units = page_fill(page)[cell];
        if (units == 0 || terrain_inside(&world->terrain, brick_cell(s->cells.pool.coord[brick], cell))) continue;
        cells_ledger(&s->cells)->drained += (int64_t)units * SETTLE_UNIT;
        page_fill(page)[cell] = 0;
        page->calm[cell] = 0;
        any = true;
    }
    if (any) settle_look_at_page(s, brick);
}

static bool is_wet(const settle *s, int32_t brick)
{
    return s->cells.store->wet(&s->cells, brick);
}

// The new fills count from now on.
static void commit(settle *s, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const int32_t brick = s->active[i];
        settle_brick *b = &s->bricks[brick];
        b->page->now ^= 1;
        drain_sides(s, brick);
        s->cells.pool.wet[brick] = is_wet(s, brick);
        if (!s->outcome[i].changed) continue;
        cells_flags(&s->cells)[brick] = s->cells.world->change;
    }
    for (int32_t body = 1; body < s->bodies.end && count > 0; body++) {
        settle_body *b = body_at(s, body);
        if (!b->used) continue;
        const int64_t gained = atomic_load_explicit(&b->gained, memory_order_relaxed);
        if (gained == 0) continue;
        b->volume += gained;
        atomic_store_explicit(&b->gained, 0, memory_order_relaxed);
        assert(b->volume >= 0);
        settle_note_body(s, body);
    }
}

// Lets bricks rest in which nothing goes on, and keeps the others.
static void rest(settle *s, int32_t count)
{
    int32_t kept = 0;
    const int32_t all = s->active_count;
    for (int32_t i = 0; i < count; i++) {
        const int32_t brick = s->active[i];
        const settle_outcome *o = &s->outcome[i];
        if (o->changed || o->uneasy || s->bricks[brick].stirred || !settle_rest(s, brick)) s->active[kept++] = brick;
        s->bricks[brick].stirred = s->bricks[brick].worked = 0;
    }
    for (int32_t i = count; i < all; i++) s->active[kept++] = s->active[i];
    s->active_count = kept;
    for (int32_t i = 0; i < kept; i++) {
        const int32_t brick = s->active[i];
        s->cells.pool.wet[brick] = is_wet(s, brick);
    }
}

static weir_status update(void *state)
{
    settle *s = state;
    // What woke since they were counted is for the next update.
    const int32_t count = s->work_count;
    bricks_sort(&s->cells.pool, s->active, count);
    for (int32_t i = 0; i < count; i++) s->bricks[s->active[i]].worked = 1;
    settle_keep_free(s);
    settle_level_bodies(s);
    settle_meet(s);
    settle_level_bodies(s);
    settle_work(s, s->active, count, s->outcome);
    for (int32_t i = 0; i < count; i++) s->bricks[s->active[i]].stirred = 0;
    commit(s, count);
    settle_level_bodies(s);
    settle_join(s, s->active, count);
    settle_level_bodies(s);
    for (int32_t i = 0; i < count; i++)
        if (s->outcome[i].changed) wake_beside(s, s->active[i], s->outcome[i].sides);
    rest(s, count);
    cells_report_changes(&s->cells);
    cells_count_bytes(&s->cells, settle_bytes(s));
    return WEIR_OK;
}

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
    memory_free(mem, s->scratch, (size_t)s->workers * sizeof(settle_tile));
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

static void stats(const void *state, weir_stats *all)
{
    const settle *s = state;
    cells_stats(state, all);
    all->awake_bricks = s->active_count + s->touching_count;
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
    .create = create,
    .destroy = destroy,
    .reserve = reserve,
    .update = update,
    .prepare = settle_prepare,
    .apply = settle_apply,
    .terrain_prepare = settle_terrain_prepare,
    .terrain_changed = settle_terrain_changed,
    .put_prepare = settle_put_prepare,
    .put = settle_put,
    .view = settle_view,
    .freeze = settle_freeze,
    .hash = settle_hash,
    .save = settle_save,
    .load = settle_load,
    .adopt = settle_adopt,
    .discard = settle_discard,
    .validate = settle_validate,
    .stats = stats,
};
