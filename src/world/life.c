// The life of a world and its updates: what the public header calls Life and Updates.
//
// An update first does all that can fail (emitters, births, room for coarse levels), then runs the solver's passes, which cannot. A
// background step is the same on a thread of its own; queries read a frozen copy meanwhile.
#include "world/solver.h"

#include "base/clock.h"
#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// Some updates in a row: those of a step, or of an advance.
typedef struct update_run {
    int32_t count;   // at most so many
    double seconds;  // that they may take
    double due;      // whole updates that an advance owes, those of `count` among them; 0: a step
    int32_t done;
    double taken;  // seconds so far
} update_run;

// A background step or advance.
typedef struct background {
    update_run run;
    pthread_t thread;
    atomic_bool finished;
    weir_status status;
    char message[STATUS_BYTES];
} background;

// Whether there is terrain that formed and can be built. In the midst of what a solver spreads over several updates it waits.
static bool has_formed(const weir_world *world)
{
    const solver_table *solver = world->solver;
    return world->forming_count > 0 && !(solver->sources_wait && solver->sources_wait(world->state));
}

static weir_status run_update(weir_world *world)
{
    const solver_table *solver = world->solver;
    world->change++;
    weir_status status = has_formed(world) ? world_build_formed(world) : WEIR_OK;
    if (status == WEIR_OK) status = solver->reserve(world->state);
    if (status != WEIR_OK) {
        world_log(world, WEIR_LOG_WARNING, "update %lld was not run: %s", (long long)world->update + 1, weir_error_message());
        return status;
    }
    world_apply_sources(world);
    status = solver->update(world->state);
    if (status != WEIR_OK) return status;
    world->cells_updated += (int64_t)solver_view(world, false).live * BRICK_CELLS;
    world->update++;
    if (has_formed(world) && !world->busy && world_build_formed(world) != WEIR_OK)
        world_log(world, WEIR_LOG_WARNING, "terrain waits for memory: %s", weir_error_message());
    return WEIR_OK;
}

// Where asserts are on: an update must leave the world whole, also one that failed. Of what a device keeps only what is here is looked
// at, so that no test waits for the device.
static void validate_update(weir_world *world)
{
#ifndef NDEBUG
    world_must_hold(world, world_validate(world, false));
#else
    (void)world;
#endif
}

static weir_status keep_and_update(weir_world *world)
{
    weir_status status = world_keep(world);
    if (status == WEIR_OK) status = run_update(world);
    // Of an update during which the device was lost nothing is left, nor of what was before.
    if (!world_check(world)) return world_lost(world);
    validate_update(world);
    return status;
}

static weir_status update(weir_world *world)
{
    // A game may round on its threads as it likes; the numbers that all pieces of an update share must not depend on that.
    fenv_t games;
    fegetenv(&games);
    fesetenv(FE_DFL_ENV);
    weir_status status = keep_and_update(world);
    fesetenv(&games);
    return status;
}

// The clock decides how many updates are run, never what one of them computes. A background step stops where terrain has formed.
static weir_status run_updates(weir_world *world, update_run *run)
{
    const double start = clock_seconds() - run->taken;
    for (; run->done < run->count && !(world->busy && has_formed(world)); run->done++) {
        run->taken = clock_seconds() - start;
        if (run->done > 0 && run->taken * (run->done + 1) / run->done > run->seconds) break;
        weir_status status = update(world);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

const char *weir_solver_name(weir_solver solver)
{
    return (unsigned)solver < WEIR_SOLVER_COUNT ? solver_list[solver]->name : NULL;
}

const char *weir_solver_help(weir_solver solver)
{
    return (unsigned)solver < WEIR_SOLVER_COUNT ? solver_list[solver]->help : NULL;
}

weir_world_def weir_world_def_default(void)
{
    return (weir_world_def){.rate = 100.0f, .updates_per_step = 1};
}

static bool box_is_empty(weir_box b)
{
    return b.min.x == 0 && b.min.y == 0 && b.min.z == 0 && b.max.x == 0 && b.max.y == 0 && b.max.z == 0;
}

static weir_status check_updates_per_step(int32_t updates, int32_t least, const char *meaning)
{
    if (updates >= least && updates <= 10000) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "%d updates per step; it must be from %d%s to 10000", updates, least, meaning);
}

static weir_status check_def(const weir_world_def *def)
{
    weir_box b = def->bounds;
    if (!box_is_empty(b)) {
        if (b.min.x >= b.max.x || b.min.y >= b.max.y || b.min.z >= b.max.z)
            return status_fail(WEIR_ERROR_ARGUMENT, "the world's bounds hold no cell: (%d, %d, %d) to (%d, %d, %d)", b.min.x,
                               b.min.y, b.min.z, b.max.x, b.max.y, b.max.z);
        const int32_t corner[6] = {b.min.x, b.min.y, b.min.z, b.max.x, b.max.y, b.max.z};
        for (int i = 0; i < 6; i++)
            if (corner[i] < -WEIR_COORD_LIMIT || corner[i] > WEIR_COORD_LIMIT)
                return status_fail(WEIR_ERROR_LIMIT, "the world's bounds reach %d; cells lie within %d of the origin",
                                   corner[i], WEIR_COORD_LIMIT);
    } else if (def->open_sides) {
        return status_fail(WEIR_ERROR_ARGUMENT, "a world without bounds has no sides to open");
    }
    if (def->open_sides > 63) return status_fail(WEIR_ERROR_ARGUMENT, "open_sides has bits that name no side");
    if ((unsigned)def->backend >= WEIR_BACKEND_COUNT)
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no backend %d", (int)def->backend);
    if ((unsigned)def->simd >= WEIR_SIMD_COUNT)
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no code path %d", (int)def->simd);
    if (def->threads < 0 || def->threads > 256)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d threads; it must be from 0 (all cores) to 256", def->threads);
    if (!(def->rate >= 0.0f) || def->rate > 1e6f)
        return status_fail(WEIR_ERROR_ARGUMENT, "a rate of %g updates per second; it must be from 0 (default) to 1000000",
                           (double)def->rate);
    if (!(def->change_threshold >= 0.0f && def->change_threshold <= 1.0f))
        return status_fail(WEIR_ERROR_ARGUMENT, "a change threshold of %g; it must be a fill from 0 (every change counts) to 1",
                           (double)def->change_threshold);
    weir_status status = check_updates_per_step(def->updates_per_step, 0, " (default)");
    if (status != WEIR_OK) return status;
    if (def->update_microseconds < 0)
        return status_fail(WEIR_ERROR_ARGUMENT, "updates of %d microseconds; it must be 0 (no limit) or more",
                           def->update_microseconds);
    if (def->checkpoint_every < -1)
        return status_fail(WEIR_ERROR_ARGUMENT, "a checkpoint every %d updates; it must be -1 (none), 0 (default) or more",
                           def->checkpoint_every);
    if (def->reserve_bricks < 0 || def->reserve_bricks > BRICK_MAX - 2)
        return status_fail(WEIR_ERROR_ARGUMENT, "room for %d bricks; it must be from 0 to %d", def->reserve_bricks,
                           BRICK_MAX - 2);
    if (def->memory_limit < 0)
        return status_fail(WEIR_ERROR_ARGUMENT, "a memory limit of %lld bytes; it must be 0 (none) or more",
                           (long long)def->memory_limit);
    if ((def->allocator.alloc == NULL) != (def->allocator.free == NULL))
        return status_fail(WEIR_ERROR_ARGUMENT, "an allocator needs both alloc and free");
    return WEIR_OK;
}

static weir_status build_world(weir_world *world, const weir_world_def *def)
{
    weir_status status = workers_create(&world->mem, def->threads, def->jobs, &world->workers);
    if (status != WEIR_OK) return status;
    background *task = memory_alloc_zero(&world->mem, sizeof *task);
    if (!task) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    atomic_init(&task->finished, true);
    world->background = task;
#if !WEIR_HAVE_OPENCL
    if (def->backend == WEIR_BACKEND_OPENCL)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "this build of Weir has no OpenCL (Debian: opencl-headers)");
#endif
    return world->solver->create(world, def, &world->state);
}

weir_status weir_world_create(const weir_world_def *def, weir_world **out)
{
    *out = NULL;
    if ((unsigned)def->solver >= WEIR_SOLVER_COUNT)
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no solver %d", (int)def->solver);
    return world_create_with(def, solver_list[def->solver], out);
}

weir_status world_create_with(const weir_world_def *def, const solver_table *solver, weir_world **out)
{
    *out = NULL;
    weir_status status = check_def(def);
    weir_params params = def->params ? *def->params : weir_params_default();
    if (status == WEIR_OK) status = params_check(&params, solver);
    if (status != WEIR_OK) return status;
    memory mem = memory_make(def->allocator);
    mem.limit = def->memory_limit;
    weir_world *world = memory_alloc_zero(&mem, sizeof *world);
    if (!world) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    world->mem = mem;
    world->logger = def->logger;
    world->solver = solver;
    world->backend = def->backend;
    world->simd = def->simd;
    world->params = params_plain(&params, world->solver);
    world->rate = def->rate > 0.0f ? def->rate : 100.0f;
    world->updates_per_step = def->updates_per_step > 0 ? def->updates_per_step : 1;
    world->update_microseconds = def->update_microseconds;
    world->checkpoint_every = def->checkpoint_every;
    world->next_source_id = 1;
    materials_create(world->materials, &world->material_count);
    reactions_create(&world->reactions);
    terrain_create(&world->mem, def->bounds, def->open_sides, def->terrain, def->terrain_user, &world->terrain);
    if (solver->solid_share > 0) world->terrain.solid = solver->solid_share;
    status = build_world(world, def);
    if (status != WEIR_OK) {
        weir_world_destroy(world);
        return status;
    }
    static const char *const paths[WEIR_SIMD_COUNT] = {"", ", scalar", ", AVX2", ", AVX-512"};
    if (world->backend == WEIR_BACKEND_CPU)
        world_log(world, WEIR_LOG_INFO, "Weir %s: %s on %d threads%s", weir_version(), world->solver->name,
                  workers_count(world->workers), paths[world->simd]);
    *out = world;
    return WEIR_OK;
}

void weir_world_destroy(weir_world *world)
{
    if (!world) return;
    if (world->busy) weir_world_step_end(world);
    if (world->state) world->solver->destroy(world->state);
    memory_free(&world->mem, world->background, sizeof(background));
    world_thaw(world);
    world_free_checkpoint(world);
    world_free_edits(world);
    world_free_forming(world);
    terrain_destroy(&world->terrain);
    if (world->workers) workers_destroy(world->workers);
    memory mem = world->mem;
    memory_free(&mem, world, sizeof *world);
}

// ---- Updates ---------------------------------------------------------------------------------------------------------------

static weir_status refuse_busy(void)
{
    return status_fail(WEIR_ERROR_BUSY, "a background step is running; call weir_world_step_end first");
}

int32_t weir_world_updates_per_step(const weir_world *world)
{
    return world->updates_per_step;
}

weir_status weir_world_set_updates_per_step(weir_world *world, int32_t updates)
{
    if (world->busy) return refuse_busy();
    weir_status status = check_updates_per_step(updates, 1, "");
    if (status == WEIR_OK) world->updates_per_step = updates;
    return status;
}

static update_run run_of_step(const weir_world *world)
{
    return (update_run){.count = world->updates_per_step, .seconds = INFINITY};
}

weir_status weir_world_step(weir_world *world)
{
    if (world->busy) return refuse_busy();
    update_run run = run_of_step(world);
    return run_updates(world, &run);
}

// Takes the updates that fall due, and says how many of them the limit allows.
static weir_status run_of_advance(weir_world *world, double seconds, const weir_advance_limit *limit, update_run *run)
{
    const weir_advance_limit usual = {0}, most = limit ? *limit : usual;
    if (!(seconds >= 0.0) || isinf(seconds)) return status_fail(WEIR_ERROR_ARGUMENT, "cannot advance by %g seconds", seconds);
    if (most.updates < 0 || !(most.milliseconds >= 0.0f))
        return status_fail(WEIR_ERROR_ARGUMENT, "cannot limit an advance to %d updates and %g milliseconds", most.updates,
                           (double)most.milliseconds);
    const double rate = (double)world->rate;
    const double owed = fmin(world->updates_owed + seconds * rate, 1e15);  // as far as a double counts
    // A hair less than a whole update counts as one, so that frames of a tenth of a second give ten updates in a second, not nine.
    run->due = floor(owed + 1e-6);
    world->updates_owed = owed - run->due;
    run->count = (int32_t)fmin(run->due, most.updates > 0 ? most.updates : fmax(rate, 1.0));
    // By half of the time passed a game that waits for its updates takes twice as long as without them at most, or one update longer.
    run->seconds = most.milliseconds > 0.0f ? (double)most.milliseconds * 1e-3 : fmin(0.5 * seconds, 0.05);
    return WEIR_OK;
}

static void book_advance(weir_world *world, const update_run *run, weir_status status)
{
    const double left = run->due - run->done;
    world->advanced = (weir_advanced){.updates = run->done};
    if (status == WEIR_OK)
        world->advanced.dropped = left / (double)world->rate;
    else
        world->updates_owed += left;
}

weir_status weir_world_advance(weir_world *world, double seconds, const weir_advance_limit *limit, int32_t *updates)
{
    update_run run = {0};
    if (updates) *updates = 0;
    if (world->busy) return refuse_busy();
    weir_status status = run_of_advance(world, seconds, limit, &run);
    if (status != WEIR_OK) return status;
    status = run_updates(world, &run);
    book_advance(world, &run, status);
    if (updates) *updates = run.done;
    return status;
}

weir_advanced weir_world_advanced(const weir_world *world)
{
    return world->advanced;
}

static void *step_in_background(void *context)
{
    weir_world *world = context;
    background *task = world->background;
    task->status = run_updates(world, &task->run);
    if (task->status != WEIR_OK) snprintf(task->message, sizeof task->message, "%s", weir_error_message());
    atomic_store(&task->finished, true);
    return NULL;
}

static weir_status begin(weir_world *world, update_run run)
{
    if (world->lost[0]) return world_lost(world);
    weir_status status = world_freeze(world);
    if (status != WEIR_OK) return status;
    background *task = world->background;
    task->run = run;
    atomic_store(&task->finished, false);
    world->busy = true;
    if (pthread_create(&task->thread, NULL, step_in_background, world) != 0) {
        world->busy = false;
        atomic_store(&task->finished, true);
        return status_fail(WEIR_ERROR_THREAD, "the background thread could not be started");
    }
    return WEIR_OK;
}

weir_status weir_world_step_begin(weir_world *world)
{
    return world->busy ? refuse_busy() : begin(world, run_of_step(world));
}

weir_status weir_world_advance_begin(weir_world *world, double seconds, const weir_advance_limit *limit)
{
    update_run run = {0};
    if (world->busy) return refuse_busy();
    weir_status status = run_of_advance(world, seconds, limit, &run);
    if (status != WEIR_OK) return status;
    if (run.count > 0) status = begin(world, run);
    if (run.count == 0 || status != WEIR_OK) book_advance(world, &run, status);
    return status;
}

bool weir_world_step_done(const weir_world *world)
{
    const background *task = world->background;
    return !world->busy || atomic_load(&task->finished);
}

weir_status weir_world_step_end(weir_world *world)
{
    if (!world->busy) return WEIR_OK;
    background *task = world->background;
    pthread_join(task->thread, NULL);
    world->busy = false;
    if (!world_check(world)) task->status = world_lost(world);
    if (task->status == WEIR_OK && has_formed(world)) {
        task->status = world_build_formed(world);
        if (task->status == WEIR_OK) task->status = run_updates(world, &task->run);
        if (task->status != WEIR_OK) snprintf(task->message, sizeof task->message, "%s", weir_error_message());
    }
    if (task->status == WEIR_ERROR_DEVICE) snprintf(task->message, sizeof task->message, "%s", world->lost);
    if (task->run.due > 0) book_advance(world, &task->run, task->status);
    weir_status edits = world_apply_queue(world);
    return task->status == WEIR_OK ? edits : status_fail(task->status, "%s", task->message);
}

// ---- What everybody uses ---------------------------------------------------------------------------------------------------

static void clip_axis(int32_t *min, int32_t *max, int32_t low, int32_t high)
{
    if (*min < low) *min = low;
    if (*max > high) *max = high;
}

bool world_clip(const weir_world *world, weir_box *box)
{
    const weir_coord lowest = {-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT};
    const weir_coord highest = {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT};
    const weir_box limits = {lowest, highest};
    const terrain *t = &world->terrain;
    for (int32_t i = 0; i < (t->bounded ? 2 : 1); i++) {
        weir_box to = i == 0 ? limits : t->bounds;
        clip_axis(&box->min.x, &box->max.x, to.min.x, to.max.x);
        clip_axis(&box->min.y, &box->max.y, to.min.y, to.max.y);
        clip_axis(&box->min.z, &box->max.z, to.min.z, to.max.z);
    }
    return box->min.x < box->max.x && box->min.y < box->max.y && box->min.z < box->max.z;
}

void world_log(const weir_world *world, weir_log_level level, const char *format, ...)
{
    if (!world->logger.write) return;
    char line[STATUS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    world->logger.write(world->logger.user, level, line);
}

weir_status weir_world_add_rule(weir_world *world, const weir_rule_def *def)
{
    assert(def);
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a rule cannot be added while a background step runs");
    if (world->solver->add_rule) return world->solver->add_rule(world->state, def);
    return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s runs no rules of the game's own", world->solver->name);
}
