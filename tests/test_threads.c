// All that runs on more than one thread, in little time: it is for the thread sanitizer (the preset `thread`), which sees races whether
// or not they do harm. Steps on 1 to 8 threads, on a game's job system and in the background; edits and queries meanwhile; worlds
// on several threads at once, each with its own sentence of what failed. What comes out is held against one thread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "sand.h"
#include "test_world.h"
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

// The thread sanitizer sees a race the first time that it could happen: it needs no long runs, and makes them some twenty times slower.
enum { WIDTH = 36, HEIGHT = 20, DEPTH = 20, UPDATES = 4 };

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};

// ---- A world in which everything happens -----------------------------------------------------------------------------------

// Ground with a hill and a pit, the same from any thread; how often it was asked is counted.
typedef struct ground {
    atomic_int asked;
} ground;

static uint8_t share_of_ground(int32_t x, int32_t y, int32_t z)
{
    bool hill = (x - 30) * (x - 30) + (z - 12) * (z - 12) + 4 * y * y<150, pit = x> 4 && x < 9 && z > 4 && z < 13;
    return y < (pit ? 1 : 3) || hill ? 255 : 0;
}

static void ask_ground(void *user, weir_coord origin, uint8_t shares[512])
{
    atomic_fetch_add(&((ground *)user)->asked, 1);
    for (int32_t i = 0; i < 512; i++)
        shares[i] = share_of_ground(origin.x + (i & 7), origin.y + (i >> 3 & 7), origin.z + (i >> 6));
}

static weir_world_def busy_def(weir_solver solver, int32_t threads, ground *of_game)
{
    weir_world_def def = test_def(solver, WIDTH, HEIGHT, DEPTH);
    def.threads = threads;
    def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Z_MIN;
    if (of_game) def.terrain = ask_ground, def.terrain_user = of_game;
    return def;
}

// A collapsing column, something that pours and something that drains, wind, thick water, and dye. Returns the first failure: it is
// called from threads on which no test may fail.
static weir_status fill_world(weir_world *world, dye_options *options)
{
    const weir_rule_def rule = dye_rule(options);
    weir_params params = weir_world_params(world);
    params.noise = 0.01f;
    params.momentum.viscosity = 0.02f;
    weir_status status = weir_world_set_params(world, &params);
    if (status == WEIR_OK) status = weir_world_add_rule(world, &rule);
    if (status == WEIR_OK) status = weir_world_fill(world, test_box(0, 3, 0, 18, 14, DEPTH), WEIR_WATER, 1.0f);
    if (status == WEIR_OK) status = weir_world_set_channel(world, test_box(0, 3, 0, 10, 18, DEPTH), "dye", 1.0f);
    if (status == WEIR_OK) status = weir_world_add_emitter(world, test_box(30, 15, 14, 32, 16, 16), WEIR_WATER, 1.5f, NULL);
    if (status == WEIR_OK) status = weir_world_add_drain(world, test_box(2, 4, 2, 6, 6, 6), 2.0f, NULL);
    if (status == WEIR_OK)
        status = weir_world_add_force(world, test_box(0, 0, 0, 30, HEIGHT, 20), (weir_vec){0.01f, 0, 0.005f}, NULL);
    return status;
}

static dye_options fading = {.fading = 0.001f};

static weir_world *make_busy(const weir_world_def *def)
{
    weir_world *world = test_make(def);
    if (!def->terrain) assert_ok(weir_world_build(world, test_box(0, 0, 0, WIDTH, 3, DEPTH), 255));
    assert_ok(fill_world(world, &fading));
    return world;
}

static uint64_t finish(weir_world *world)
{
    assert_exact(world);
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

// What all others are held against.
static uint64_t hash_on_one_thread(weir_solver solver)
{
    static uint64_t hashes[WEIR_SOLVER_COUNT];
    weir_world_def def = busy_def(solver, 1, NULL);
    if (hashes[solver] != 0) return hashes[solver];
    weir_world *world = make_busy(&def);
    test_step(world, UPDATES);
    return hashes[solver] = finish(world);
}

// ---- Steps -----------------------------------------------------------------------------------------------------------------

static void steps_on_many_threads_give_one_hash(void **state)
{
    static const int32_t threads[] = {2, 5, 8};
    for (int32_t s = 0; s < 2; s++) {
        uint64_t expected = hash_on_one_thread(SOLVERS[s]);
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            weir_world_def def = busy_def(SOLVERS[s], threads[i], NULL);
            weir_world *world = make_busy(&def);
            test_step(world, UPDATES);
            assert_int_equal(finish(world), expected);
        }
    }
}

// ---- A game's job system ---------------------------------------------------------------------------------------------------

// As plain as can be: threads that live for one job and take pieces of it until none is left.
enum { JOB_WORKERS = 4, JOB_PIECE = 3 };

typedef struct job {
    weir_task *task;
    void *context;
    int32_t count;
    atomic_int next;
} job;

typedef struct job_worker {
    job *of;
    int32_t index;
} job_worker;

static void *work_on_job(void *argument)
{
    const job_worker *me = argument;
    job *j = me->of;
    for (int32_t begin; (begin = atomic_fetch_add(&j->next, JOB_PIECE)) < j->count;) {
        int32_t end = begin + JOB_PIECE < j->count ? begin + JOB_PIECE : j->count;
        j->task(j->context, begin, end, me->index);
    }
    return NULL;
}

static void run_job(void *user, weir_task *task, void *context, int32_t count)
{
    atomic_fetch_add((atomic_int *)user, 1);
    job j = {.task = task, .context = context, .count = count};
    job_worker of_job[JOB_WORKERS];
    pthread_t threads[JOB_WORKERS];
    int32_t started = 0;
    for (int32_t i = 0; i < JOB_WORKERS; i++) of_job[i] = (job_worker){&j, i};
    while (started < JOB_WORKERS - 1 && pthread_create(&threads[started], NULL, work_on_job, &of_job[started]) == 0) started++;
    work_on_job(&of_job[JOB_WORKERS - 1]);
    for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static void a_games_job_system_gives_the_same_hash(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        atomic_int jobs = 0;
        weir_world_def def = busy_def(SOLVERS[s], 1, NULL);
        def.jobs = (weir_jobs){.run = run_job, .workers = JOB_WORKERS, .user = &jobs};
        weir_world *world = make_busy(&def);
        for (int32_t i = 0; i < UPDATES; i++) {
            if (i % 2 == 0) {
                assert_ok(weir_world_step(world));
                continue;
            }
            assert_ok(weir_world_step_begin(world));
            while (!weir_world_step_done(world)) weir_world_cell(world, (weir_coord){i, 8, i});
            assert_ok(weir_world_step_end(world));
        }
        assert_true(jobs > 0);
        assert_int_equal(finish(world), hash_on_one_thread(SOLVERS[s]));
    }
}

// ---- Two worlds on one job system ------------------------------------------------------------------------------------------

// Threads that take pieces of whatever lies in the list, each under its own number. Those who call wait.
enum { SHARED_THREADS = 3, SHARED_JOBS = 4 };

typedef struct shared_job {
    weir_task *task;
    void *context;
    int32_t count, next, done;
} shared_job;

typedef struct shared_jobs {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    shared_job *list[SHARED_JOBS];
    bool ended;
    pthread_t threads[SHARED_THREADS];
    atomic_int started;
} shared_jobs;

static shared_job *job_with_work(const shared_jobs *jobs)
{
    for (int32_t i = 0; i < SHARED_JOBS; i++)
        if (jobs->list[i] && jobs->list[i]->next < jobs->list[i]->count) return jobs->list[i];
    return NULL;
}

static void *work_on_shared(void *argument)
{
    shared_jobs *jobs = argument;
    const int32_t me = atomic_fetch_add(&jobs->started, 1);
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->ended) {
        shared_job *j = job_with_work(jobs);
        if (!j) {
            pthread_cond_wait(&jobs->changed, &jobs->lock);
            continue;
        }
        int32_t begin = j->next, end = begin + JOB_PIECE < j->count ? begin + JOB_PIECE : j->count;
        j->next = end;
        pthread_mutex_unlock(&jobs->lock);
        j->task(j->context, begin, end, me);
        pthread_mutex_lock(&jobs->lock);
        j->done += end - begin;
        if (j->done == j->count) pthread_cond_broadcast(&jobs->changed);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static void run_on_shared(void *user, weir_task *task, void *context, int32_t count)
{
    shared_jobs *jobs = user;
    shared_job j = {.task = task, .context = context, .count = count};
    int32_t place = 0;
    pthread_mutex_lock(&jobs->lock);
    while (jobs->list[place]) place++;
    jobs->list[place] = &j;
    pthread_cond_broadcast(&jobs->changed);
    while (j.done < j.count) pthread_cond_wait(&jobs->changed, &jobs->lock);
    jobs->list[place] = NULL;
    pthread_mutex_unlock(&jobs->lock);
}

static void two_worlds_share_a_job_system(void **state)
{
    shared_jobs jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    for (int32_t i = 0; i < SHARED_THREADS; i++)
        assert_int_equal(pthread_create(&jobs.threads[i], NULL, work_on_shared, &jobs), 0);
    weir_world *worlds[2];
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = busy_def(SOLVERS[s], 1, NULL);
        def.jobs = (weir_jobs){.run = run_on_shared, .workers = SHARED_THREADS, .user = &jobs};
        worlds[s] = make_busy(&def);
    }
    for (int32_t i = 0; i < UPDATES; i++) {
        for (int32_t s = 0; s < 2; s++) assert_ok(weir_world_step_begin(worlds[s]));
        for (int32_t s = 0; s < 2; s++) assert_ok(weir_world_step_end(worlds[s]));
    }
    for (int32_t s = 0; s < 2; s++) assert_int_equal(finish(worlds[s]), hash_on_one_thread(SOLVERS[s]));
    assert_true(jobs.started > 0);
    pthread_mutex_lock(&jobs.lock);
    jobs.ended = true;
    pthread_cond_broadcast(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
    for (int32_t i = 0; i < SHARED_THREADS; i++) assert_int_equal(pthread_join(jobs.threads[i], NULL), 0);
}

// ---- Background steps ------------------------------------------------------------------------------------------------------

// What a game may ask while a step runs. All of it is of the state before the step.
static void ask_everything(weir_world *world, weir_mesher *mesher)
{
    static float values[WIDTH * HEIGHT * DEPTH];
    static weir_vec flows[WIDTH * HEIGHT * DEPTH];
    static uint8_t shares[WIDTH * HEIGHT * DEPTH];
    static weir_coord bricks[4096];
    static weir_brick_change changes[4096];
    const weir_box all = test_box(0, 0, 0, WIDTH, HEIGHT, DEPTH);
    weir_box extent;
    int64_t mark = 0;
    weir_world_cell(world, (weir_coord){5, 5, 5});
    weir_world_box_sum(world, all);
    assert_ok(weir_world_read_fill(world, all, values));
    assert_ok(weir_world_read_flow(world, all, flows));
    assert_ok(weir_world_read_pressure(world, all, values));
    assert_ok(weir_world_read_terrain(world, all, shares));
    assert_true(weir_world_extent(world, &extent));
    weir_world_ray(world, (weir_point){34, 18, 10}, (weir_vec){-1, -0.5f, 0}, 60, 0.5f);
    weir_world_surface(world, 10, 10, 0, HEIGHT);
    weir_world_column(world, 10, 10, 0, HEIGHT);
    weir_world_submerged(world, (weir_point){2, 4, 2}, (weir_point){8, 9, 8});
    weir_buoyancy buoyancy;
    assert_ok(weir_world_buoyancy(world, &(weir_floating_box){{5, 6, 5}, {2, 1, 3}}, 1, &buoyancy));
    weir_world_mean_flow(world, all);
    weir_world_channel(world, "dye", (weir_coord){5, 5, 5});
    assert_true(weir_world_changed(world, &mark, changes, 4096) > 0);
    mark = 1;
    assert_true(weir_world_changed(world, &mark, changes, 4096) > 0);
    assert_true(weir_world_bricks(world, bricks, 4096) > 0);
    weir_source sources[32];
    assert_true(weir_world_sources(world, sources, 32) > 0);
    weir_world_params(world);
    weir_world_bounds(world);
    weir_world_advanced(world);
    weir_world_updates_per_step(world);
    assert_exact(world);
    assert_ok(weir_mesher_update(mesher, NULL));
    static uint8_t pixels[24 * 16 * 3];
    const weir_picture_def small = {.width = 24, .height = 16};
    assert_ok(weir_world_draw(world, &small, pixels));
}

// And what it may not.
static void refuse_the_rest(weir_world *world)
{
    const weir_params params = weir_world_params(world);
    const weir_rule_def rule = dye_rule(&fading);
    assert_int_equal(weir_world_step(world), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_advance(world, 0.1, NULL, NULL), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_advance_begin(world, 0.1, NULL), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_set_updates_per_step(world, 2), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_step_begin(world), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_add_rule(world, &rule), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_save(world, "nowhere.weir"), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_load(world, "nowhere.weir"), WEIR_ERROR_BUSY);
    size_t size;
    assert_int_equal(weir_world_save_memory(world, NULL, 0, &size), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_load_memory(world, "", 0), WEIR_ERROR_BUSY);
}

static void edit(weir_world *world, int32_t round, bool own_terrain)
{
    const int32_t x = 4 * round;
    int32_t id = 0;
    assert_ok(weir_world_fill(world, test_box(x, 15, 8, x + 5, 19, 16), WEIR_WATER, 0.75f));
    assert_ok(weir_world_drain_sphere(world, (weir_sphere){{10, 8, x}, 4}));
    assert_ok(weir_world_add_force(world, test_box(x, 0, 0, x + 8, 9, 9), (weir_vec){0, 0.02f, 0}, &id));
    assert_ok(weir_world_add_emitter(world, test_box(x, 17, 14, x + 2, 18, 17), WEIR_WATER, 1.0f, NULL));
    assert_ok(weir_world_move_source(world, id, test_box(x, 0, 0, x + 6, 9, 9)));
    assert_ok(weir_world_set_force(world, id, (weir_vec){0, 0.01f, 0}));
    if (round % 2) assert_ok(weir_world_remove(world, id));
    weir_source oldest;
    assert_true(weir_world_sources(world, &oldest, 1) > 0);
    assert_int_not_equal(oldest.kind, WEIR_SOURCE_FORCE);
    assert_ok(weir_world_set_rate(world, oldest.id, 0.5f + (float)round));
    float fills[4 * 4 * 4];
    for (int32_t i = 0; i < 64; i++) fills[i] = (float)(i % 5) / 4;
    assert_ok(weir_world_write_fill(world, test_box(x, 14, 2, x + 4, 18, 6), fills));
    assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 10, 10, 10), (weir_vec){0.1f, 0, -0.1f}));
    assert_ok(weir_world_set_channel(world, test_box(x, 0, 0, x + 8, HEIGHT, DEPTH), "dye", 0.5f));
    if (own_terrain) {
        assert_ok(weir_world_dig(world, test_box(x, 0, 10, x + 6, 3, 18)));
        assert_ok(weir_world_build_sphere(world, (weir_sphere){{x + 16, 5, 12}, 3}, 255));
    } else {
        assert_ok(weir_terrain_changed(world, test_box(0, 0, 0, WIDTH, 8, DEPTH)));
    }
    assert_int_equal(weir_world_fill(world, test_box(0, 0, 0, 1, 1, 1), WEIR_WATER, 2.0f), WEIR_ERROR_ARGUMENT);
}

static void check_background(weir_solver solver, ground *of_game)
{
    weir_world_def def = busy_def(solver, 3, of_game), plain_def = busy_def(solver, 1, of_game);
    def.change_threshold = 0.01f;
    weir_world *world = make_busy(&def), *plain = make_busy(&plain_def);
    weir_mesher *mesher;
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    for (int32_t round = 0; round < 3; round++) {
        const uint64_t before = weir_world_hash(world);
        assert_ok(weir_world_step_begin(world));
        edit(world, round, !of_game);
        ask_everything(world, mesher);
        refuse_the_rest(world);
        while (!weir_world_step_done(world)) weir_world_cell(world, (weir_coord){5, 5, 5});
        assert_int_equal(weir_world_hash(world), before);
        assert_int_equal(weir_world_stats(world).updates, round);
        assert_ok(weir_world_step_end(world));
        assert_int_equal(weir_world_stats(world).updates, round + 1);
        test_step(plain, 1);
        edit(plain, round, !of_game);
        assert_int_equal(weir_world_hash(world), weir_world_hash(plain));
    }
    weir_mesher_destroy(mesher);
    // One that nobody waits for ends with its world.
    assert_ok(weir_world_step_begin(world));
    edit(world, 5, !of_game);
    weir_world_destroy(world);
    finish(plain);
}

static void a_game_asks_and_edits_during_background_steps(void **state)
{
    for (int32_t s = 0; s < 2; s++) check_background(SOLVERS[s], NULL);
}

// Its callback is called from both threads, which is the game's to see to.
static void a_games_terrain_is_asked_during_background_steps(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        ground of_game = {0};
        check_background(SOLVERS[s], &of_game);
        assert_true(of_game.asked > 0);
    }
}

// A world may go from thread to thread, as long as one has it at a time.
typedef struct handover {
    weir_world *world;
    weir_status status;
} handover;

static void *step_elsewhere(void *argument)
{
    handover *h = argument;
    h->status = weir_world_step(h->world);
    if (h->status == WEIR_OK) h->status = weir_world_step_begin(h->world);
    return NULL;
}

static void a_world_goes_from_thread_to_thread(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = busy_def(SOLVERS[s], 2, NULL);
        handover h = {.world = make_busy(&def)};
        for (int32_t i = 0; i < UPDATES; i += 2) {
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, step_elsewhere, &h), 0);
            pthread_join(thread, NULL);
            assert_ok(h.status);
            weir_world_cell(h.world, (weir_coord){i, 8, i});
            assert_ok(weir_world_step_end(h.world));
        }
        assert_int_equal(finish(h.world), hash_on_one_thread(SOLVERS[s]));
    }
}

// ---- Several worlds --------------------------------------------------------------------------------------------------------

enum { WORLDS = 4 };

typedef struct life {
    weir_solver solver;
    int32_t number;
    uint64_t hash;
    char path[64];
    const char *failed;  // what went wrong; NULL: nothing
} life;

// A failure on this thread, and its sentence, while other threads make failures of their own.
static bool fails_with_own_sentence(weir_world *world, const life *l)
{
    char number[16];
    snprintf(number, sizeof number, "is %d;", 100 + l->number);
    return weir_world_fill(world, test_box(0, 0, 0, 1, 1, 1), WEIR_WATER, (float)(100 + l->number)) == WEIR_ERROR_ARGUMENT &&
           strstr(weir_error_message(), number) != NULL;
}

static const char *live_through(life *l)
{
    dye_options options = fading;
    weir_world_def def = busy_def(l->solver, 2, NULL);
    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) return "no world";
    const char *failed = NULL;
    if (weir_world_build(world, test_box(0, 0, 0, WIDTH, 3, DEPTH), 255) != WEIR_OK || fill_world(world, &options) != WEIR_OK)
        failed = "it was not filled";
    // How a game's thread rounds is no concern of its water.
    fesetround(l->number % 2 ? FE_UPWARD : FE_TONEAREST);
    for (int32_t i = 0; i < UPDATES && !failed; i++) {
        bool behind = (i + l->number) % 2;
        if ((behind ? weir_world_step_begin(world) : weir_world_step(world)) != WEIR_OK) failed = "a step failed";
        if (!fails_with_own_sentence(world, l)) failed = "the sentence is another thread's";
        if (weir_world_step_end(world) != WEIR_OK) failed = "a background step failed";
        if (!failed && i == UPDATES / 2 &&
            (weir_world_save(world, l->path) != WEIR_OK || weir_world_load(world, l->path) != WEIR_OK))
            failed = "it was not saved and loaded";
    }
    if (weir_world_ledger(world).drift != 0) failed = "water was lost";
    l->hash = weir_world_hash(world);
    weir_world_destroy(world);
    return failed;
}

static void *live(void *argument)
{
    life *l = argument;
    l->failed = live_through(l);
    return NULL;
}

static void worlds_on_several_threads_know_nothing_of_each_other(void **state)
{
    life lives[WORLDS];
    pthread_t threads[WORLDS];
    for (int32_t i = 0; i < WORLDS; i++) {
        lives[i] = (life){.solver = SOLVERS[i / 2 % 2], .number = i};
        snprintf(lives[i].path, sizeof lives[i].path, "test_threads_%d_%d.weir", (int)getpid(), i);
        assert_int_equal(pthread_create(&threads[i], NULL, live, &lives[i]), 0);
    }
    for (int32_t i = 0; i < WORLDS; i++) {
        pthread_join(threads[i], NULL);
        remove(lives[i].path);
    }
    for (int32_t i = 0; i < WORLDS; i++) {
        if (lives[i].failed) fail_msg("world %d: %s", i, lives[i].failed);
        assert_int_equal(lives[i].hash, hash_on_one_thread(lives[i].solver));
    }
}

// Single cells far apart, so that the first step makes many bricks and needs larger tables for them.
static void ask_while_bricks_are_made(weir_world *world)
{
    const float full = 1;
    for (int32_t x = 0; x < 8 * 24; x += 24) assert_ok(weir_world_write_fill(world, test_box(x, 0, 0, x + 1, 1, 1), &full));
    const int32_t bricks = weir_world_stats(world).bricks;
    assert_ok(weir_world_step_begin(world));
    assert_true(weir_world_cell(world, (weir_coord){24, 0, 0}).fill == 1);
    assert_true(weir_world_channel(world, "dye", (weir_coord){24, 0, 0}) == 0);
    assert_ok(weir_world_step_end(world));
    assert_true(weir_world_stats(world).bricks >= 20 * bricks);
    weir_world_destroy(world);
}

// Values that are not drops, and those of rules, are read where the solver has them.
static void queries_read_the_frozen_state_while_tables_grow(void **state)
{
    static dye_options options = {.fading = 0.01f};
    const weir_rule_def rule = dye_rule(&options);
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *water = test_make(&def), *sand;
    assert_ok(weir_world_add_rule(water, &rule));
    assert_ok(world_create_with(&def, &sand_solver, &sand));
    ask_while_bricks_are_made(water);
    ask_while_bricks_are_made(sand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_on_many_threads_give_one_hash),
        cmocka_unit_test(a_games_job_system_gives_the_same_hash),
        cmocka_unit_test(two_worlds_share_a_job_system),
        cmocka_unit_test(a_game_asks_and_edits_during_background_steps),
        cmocka_unit_test(a_games_terrain_is_asked_during_background_steps),
        cmocka_unit_test(queries_read_the_frozen_state_while_tables_grow),
        cmocka_unit_test(a_world_goes_from_thread_to_thread),
        cmocka_unit_test(worlds_on_several_threads_know_nothing_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
