// The life of a world and its updates: definitions, steps, time, background steps, sources, sides, parameters, rules of the
// game's own, and going on from a snapshot.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};
static const weir_advance_limit any_time = {.milliseconds = INFINITY};  // as many updates on a slow machine as on a fast one

// A dam break in a box of 24, with a pillar in its way.
static void fill_dam(weir_world *world)
{
    assert_ok(weir_world_build(world, test_box(14, 0, 9, 17, 12, 13), 255));
    test_fill(world, test_box(0, 0, 0, 9, 18, 24), 1.0f);
}

static weir_world *make_dam(weir_solver solver)
{
    weir_world_def def = test_def(solver, 24, 24, 24);
    weir_world *world = test_make(&def);
    fill_dam(world);
    return world;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static void no_jobs(void *user, weir_task *task, void *context, int32_t count)
{
}

static void *no_memory(void *user, size_t size)
{
    return NULL;
}

static void refuse(weir_world_def def, weir_status status, const char *word)
{
    weir_world *world = (weir_world *)1;
    assert_int_equal(weir_world_create(&def, &world), status);
    assert_null(world);
    if (!strstr(weir_error_message(), word)) fail_msg("\"%s\" does not say \"%s\"", weir_error_message(), word);
}

static void definitions_that_make_no_sense_are_refused_with_a_sentence(void **state)
{
    const weir_world_def good = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    weir_world_def def;
    weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM);

#define REFUSED(change, status, word) \
    def = good;                       \
    change;                           \
    refuse(def, status, word)
    REFUSED(def.bounds.max.y = 0, WEIR_ERROR_ARGUMENT, "bounds");
    REFUSED(def.bounds.min.z = 17, WEIR_ERROR_ARGUMENT, "bounds");
    REFUSED(def.bounds.max.x = WEIR_COORD_LIMIT + 1, WEIR_ERROR_LIMIT, "bounds");
    REFUSED(def.bounds.min.x = -WEIR_COORD_LIMIT - 1, WEIR_ERROR_LIMIT, "bounds");
    REFUSED(def.open_sides = 64, WEIR_ERROR_ARGUMENT, "open_sides");
    REFUSED((def.bounds = test_box(0, 0, 0, 0, 0, 0), def.open_sides = WEIR_SIDE_Y_MIN), WEIR_ERROR_ARGUMENT, "sides");
    REFUSED(def.solver = WEIR_SOLVER_COUNT, WEIR_ERROR_ARGUMENT, "solver");
    REFUSED(def.solver = (weir_solver)-1, WEIR_ERROR_ARGUMENT, "solver");
    REFUSED(def.backend = WEIR_BACKEND_COUNT, WEIR_ERROR_ARGUMENT, "backend");
    REFUSED(def.simd = WEIR_SIMD_COUNT, WEIR_ERROR_ARGUMENT, "code path");
    REFUSED(def.threads = -1, WEIR_ERROR_ARGUMENT, "threads");
    REFUSED(def.threads = 257, WEIR_ERROR_ARGUMENT, "threads");
    REFUSED(def.rate = -1, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.rate = NAN, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.rate = INFINITY, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.updates_per_step = -1, WEIR_ERROR_ARGUMENT, "updates per step");
    REFUSED(def.updates_per_step = 10001, WEIR_ERROR_ARGUMENT, "updates per step");
    REFUSED(def.reserve_bricks = -1, WEIR_ERROR_ARGUMENT, "bricks");
    REFUSED(def.reserve_bricks = INT32_MAX, WEIR_ERROR_ARGUMENT, "bricks");
    REFUSED(def.allocator.alloc = no_memory, WEIR_ERROR_ARGUMENT, "allocator");
    REFUSED(def.jobs.run = no_jobs, WEIR_ERROR_ARGUMENT, "jobs.workers");
    REFUSED((params.gravity.y = NAN, def.params = &params), WEIR_ERROR_ARGUMENT, "gravity");
    params = weir_params_default(WEIR_SOLVER_MOMENTUM);
    REFUSED((def.solver = WEIR_SOLVER_CLASSIC, def.params = &params), WEIR_ERROR_ARGUMENT, "max_flow");
#undef REFUSED

    weir_world *world = test_make(&good);
    weir_world_destroy(world);
    weir_world_destroy(NULL);
}

static void zero_in_a_definition_means_the_default(void **state)
{
    weir_world_def zero = {.threads = 1}, usual = weir_world_def_default();
    usual.threads = 1;
    weir_world *a = test_make(&zero), *b = test_make(&usual);
    weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM);
    weir_params used = weir_world_params(a);
    assert_memory_equal(&used, &params, sizeof params);
    for (int32_t i = 0; i < 2; i++) {
        weir_world *world = i ? a : b;
        test_fill(world, test_box(-3, -3, -3, 9, 9, 9), 1);
        int32_t updates;
        assert_ok(weir_world_advance(world, 0.0551, &any_time, &updates));
        assert_int_equal(updates, 5);
    }
    assert_true(weir_world_hash(a) == weir_world_hash(b));
    weir_world_destroy(a);
    weir_world_destroy(b);
}

// As the README, the header and the design have it.
static void ten_lines_make_water(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = (weir_box){{0, 0, 0}, {64, 64, 64}};

    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) fail();
    weir_world_fill(world, (weir_box){{0, 0, 0}, {24, 40, 64}}, WEIR_WATER, 1.0f);

    for (int i = 0; i < test_length(120, 40); i++) weir_world_step(world);

    // The front of a dam 40 high runs at about 2 sqrt(g h), 1.26 cells per update, less what it needs to get going.
    weir_cell cell = weir_world_cell(world, (weir_coord){test_length(40, 30), 0, 32});
    assert_true(cell.fill > 0.5f && cell.fill < 1.25f);
    assert_true(cell.flow.x > 0.2f);
    assert_exact(world);
    weir_world_destroy(world);
}

static void an_empty_world_steps_and_stays_empty(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = weir_world_def_default();
        def.solver = SOLVERS[s];
        weir_world *world = test_make(&def);
        test_step(world, 3);
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 100, 100, 100)));
        assert_ok(weir_world_step_begin(world));
        assert_ok(weir_world_step_end(world));
        weir_stats stats = weir_world_stats(world);
        assert_int_equal(stats.updates, 4);
        assert_int_equal(stats.bricks, 0);
        assert_int_equal(stats.cells_updated, 0);
        assert_int_equal(weir_world_ledger(world).held, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Amounts ---------------------------------------------------------------------------------------------------------------

static void no_scene_loses_a_drop(void **state)
{
    for (int32_t i = 0; scene_at(i); i++) {
        const scene_def *scene = scene_at(i);
        for (int32_t s = 0; s < 2; s++) {
            scene_run *run = test_open(scene->name, SOLVERS[s], scene->size_min > 16 ? scene->size_min : 16, 0);
            for (int32_t k = 0; k < test_length(6, 2); k++) {
                assert_ok(scene_updates(run, test_length(20, 4)));
                assert_exact(run->world);
            }
            assert_true(weir_world_ledger(run->world).held > 0);
            scene_close(run);
        }
    }
}

static void when_all_is_drained_no_brick_is_left(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = make_dam(SOLVERS[s]);
        test_step(world, 20);
        assert_true(weir_world_stats(world).bricks > 0);
        assert_ok(weir_world_drain(world, weir_world_bounds(world)));
        assert_int_equal(weir_world_ledger(world).held, 0);
        test_step(world, 1);
        assert_int_equal(weir_world_stats(world).bricks, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void open_sides_let_out_all_water_and_book_it(void **state)
{
    const uint32_t sides[] = {WEIR_SIDE_X_MIN, WEIR_SIDE_X_MAX, WEIR_SIDE_Y_MIN, WEIR_SIDE_Z_MIN, WEIR_SIDE_Z_MAX};
    for (int32_t s = 0; s < 2; s++) {
        for (int32_t i = 0; i < 5; i += test_length(1, 2)) {
            // Gravity pulls through the open side; a box whose edges do not fall together with bricks.
            weir_params params = weir_params_default(SOLVERS[s]);
            params.gravity = (weir_vec){0, -0.01f, 0};
            if (sides[i] & WEIR_SIDE_X_MIN) params.gravity.x = -0.01f;
            if (sides[i] & WEIR_SIDE_X_MAX) params.gravity.x = 0.01f;
            if (sides[i] & WEIR_SIDE_Z_MIN) params.gravity.z = -0.01f;
            if (sides[i] & WEIR_SIDE_Z_MAX) params.gravity.z = 0.01f;
            weir_world_def def = weir_world_def_default();
            def.bounds = test_box(-5, 0, -3, 6, 12, 7);
            def.solver = SOLVERS[s];
            def.params = &params;
            def.threads = 1;
            def.open_sides = sides[i];
            weir_world *world = test_make(&def);
            test_fill(world, test_box(-3, 2, -2, 3, 7, 5), 0.8f);
            int64_t added = weir_world_ledger(world).added;
            int32_t step = 0;
            for (; step < 4000 && weir_world_ledger(world).held > added / 100; step++) {
                test_step(world, 1);
                assert_exact(world);
            }
            weir_ledger ledger = weir_world_ledger(world);
            assert_true(ledger.drained >= added - added / 100);
            assert_int_equal(ledger.removed, 0);
            weir_world_destroy(world);
        }
    }
}

// Straight down nothing stays behind, but for what classic leaves hanging: it moves no cell that counts as empty.
static void a_bottom_that_is_open_lets_out_the_last_drop(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        const int32_t size = test_length(20, 12);
        weir_world_def def = test_def(SOLVERS[s], size, size, size);
        def.open_sides = WEIR_SIDE_Y_MIN;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(size / 4, size / 5, size / 4, 3 * size / 4, 7 * size / 10, 3 * size / 4), 1.0f);
        for (int32_t i = 0; i < 1000 && weir_world_ledger(world).held > 0; i++) test_step(world, 1);
        weir_ledger ledger = weir_world_ledger(world);
        assert_exact(world);
        if (SOLVERS[s] == WEIR_SOLVER_CLASSIC) {
            weir_box_sum left = weir_world_box_sum(world, weir_world_bounds(world));
            assert_true(left.max_fill <= weir_world_params(world).empty);
            assert_int_equal(ledger.drained, ledger.added - left.drops);
        } else {
            assert_int_equal(ledger.held, 0);
            assert_int_equal(ledger.drained, ledger.added);
            test_step(world, 1);
            assert_int_equal(weir_world_stats(world).bricks, 0);
        }
        weir_world_destroy(world);
    }
}

static void emitters_and_drains_are_exact_in_the_long_run(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 24, 24, 24);
        weir_world *world = test_make(&def);
        const float rates[] = {0.1f, 1.0f / 3, 1.7e-7f};
        int32_t ids[3], drain;
        for (int32_t i = 0; i < 3; i++)
            assert_ok(
                weir_world_add_emitter(world, test_box(4 + 5 * i, 20, 10, 7 + 5 * i, 22, 13), WEIR_WATER, rates[i], &ids[i]));
        int32_t length = test_length(1000, 60);
        test_step(world, length);
        assert_exact(world);
        int64_t expected = 0;
        for (int32_t i = 0; i < 3; i++) {
            // Rates are counted in 1/65536 drops.
            int64_t each = (int64_t)((double)rates[i] * 65536.0 * WEIR_FULL + 0.5);
            expected += each * length >> 16;
        }
        assert_int_equal(weir_world_ledger(world).added, expected);
        for (int32_t i = 0; i < 3; i++) assert_ok(weir_world_remove(world, ids[i]));

        // A drain over all the box finds as much as it wants, until nothing is left.
        assert_ok(weir_world_add_drain(world, weir_world_bounds(world), 0.7f, &drain));
        test_step(world, 10);
        assert_int_equal(weir_world_ledger(world).removed, (int64_t)((double)0.7f * 65536.0 * WEIR_FULL + 0.5) * 10 >> 16);
        test_step(world, (int32_t)(weir_world_ledger(world).held / (0.7 * WEIR_FULL)) + 2);
        assert_int_equal(weir_world_ledger(world).held, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Time ------------------------------------------------------------------------------------------------------------------

static void advance_runs_the_updates_that_fit_into_the_time(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    def.rate = 50;
    def.updates_per_step = 7;  // is not for advance
    weir_world *world = test_make(&def);
    int32_t updates = -1;
    assert_ok(weir_world_advance(world, 0.0, &any_time, &updates));
    assert_int_equal(updates, 0);
    assert_ok(weir_world_advance(world, 0.015, &any_time, &updates));
    assert_int_equal(updates, 0);
    assert_ok(weir_world_advance(world, 0.015, &any_time, &updates));  // 0.03 in all
    assert_int_equal(updates, 1);
    assert_ok(weir_world_advance(world, 0.095, &any_time, &updates));  // 0.105 owed
    assert_int_equal(updates, 5);
    assert_ok(weir_world_advance(world, 3600, &any_time, &updates));
    assert_int_equal(updates, 50);
    assert_int_equal(weir_world_advanced(world).updates, 50);
    assert_true(fabs(weir_world_advanced(world).dropped - 3599) < 1e-9);
    assert_ok(weir_world_advance(world, 0.001, &any_time, NULL));
    assert_int_equal(weir_world_stats(world).updates, 56);

    assert_int_equal(weir_world_advance(world, -1, &any_time, &updates), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_advance(world, NAN, &any_time, &updates), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_advance(world, INFINITY, &any_time, &updates), WEIR_ERROR_ARGUMENT);
    assert_int_equal(updates, 0);
    assert_int_equal(weir_world_stats(world).updates, 56);

    assert_ok(weir_world_advance(world, 1e308, &any_time, &updates));
    assert_int_equal(updates, 50);
    assert_true(weir_world_advanced(world).dropped > 1e12);
    assert_ok(weir_world_advance(world, 0.02, &any_time, &updates));  // such a time leaves no debt
    assert_int_equal(updates, 1);
    assert_true(weir_world_advanced(world).dropped == 0);
    weir_world_destroy(world);
}

static void wait_milliseconds(const weir_rule_brick *brick, void *user)
{
    (void)brick;
    const int32_t milliseconds = *(const int32_t *)user;
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL);
}

// A world of one brick, each of whose updates takes at least so many milliseconds, at 100 updates per second.
static weir_world *make_slow(int32_t *milliseconds)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    weir_world *world = test_make(&def);
    const weir_rule_def rule = {.name = "slow", .place = WEIR_PLACE_BEFORE, .run = wait_milliseconds, .user = milliseconds};
    assert_ok(weir_world_add_rule(world, &rule));
    test_fill(world, test_box(0, 0, 0, 4, 8, 8), 1);
    return world;
}

// What takes longer than it stands for must not make the next call longer still. A machine may be slower than these numbers, never
// faster: so only the largest numbers of updates are certain, and that there is one.
static void advance_does_not_fall_behind_for_ever(void **state)
{
    int32_t milliseconds = 20, updates;
    weir_world *world = make_slow(&milliseconds);
    for (int32_t frame = 0; frame < 3; frame++) {
        assert_ok(weir_world_advance(world, 0.1, &(weir_advance_limit){.milliseconds = 50}, &updates));
        assert_in_range(updates, 1, 2);  // a third would end after 60
        assert_int_equal(weir_world_advanced(world).updates, updates);
        assert_true(fabs(weir_world_advanced(world).dropped - (10 - updates) * 0.01) < 1e-9);
    }
    // Nothing of all that is owed.
    assert_ok(weir_world_advance(world, 0, &any_time, &updates));
    assert_int_equal(updates, 0);
    // Without limits: half of the time passed, or 50 milliseconds.
    assert_ok(weir_world_advance(world, 0.05, NULL, &updates));
    assert_int_equal(updates, 1);
    assert_ok(weir_world_advance(world, 1.0, NULL, &updates));
    assert_in_range(updates, 1, 2);
    milliseconds = 60;
    assert_ok(weir_world_advance(world, 1.0, NULL, &updates));
    assert_int_equal(updates, 1);
    assert_ok(weir_world_advance(world, 0.04, &(weir_advance_limit){.milliseconds = 0.001f}, &updates));
    assert_int_equal(updates, 1);

    milliseconds = 0;
    const int64_t before = weir_world_stats(world).updates;
    assert_ok(weir_world_advance(world, 0.5, &(weir_advance_limit){.updates = 7, .milliseconds = INFINITY}, &updates));
    assert_int_equal(updates, 7);
    assert_true(fabs(weir_world_advanced(world).dropped - 0.43) < 1e-9);
    assert_ok(weir_world_advance(world, 0.035, &(weir_advance_limit){.updates = 3, .milliseconds = INFINITY}, &updates));
    assert_int_equal(updates, 3);
    assert_ok(weir_world_advance(world, 0.005, &any_time, &updates));  // a part of an update is kept beside what is dropped
    assert_int_equal(updates, 1);
    assert_int_equal(weir_world_stats(world).updates, before + 11);

    const weir_advance_limit wrong[] = {{.updates = -1}, {.milliseconds = -1}, {.milliseconds = NAN}};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(weir_world_advance(world, 1, &wrong[i], &updates), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "limit"));
        assert_int_equal(weir_world_advance_begin(world, 1, &wrong[i]), WEIR_ERROR_ARGUMENT);
    }
    assert_int_equal(weir_world_stats(world).updates, before + 11);
    weir_world_destroy(world);
}

static void an_advance_that_failed_is_still_due(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 64, 64, 64);
    test_memory memory = {0};
    def.allocator = test_memory_hooks(&memory);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 64, 64), 1);
    memory.fail_at = memory.calls + 1;
    memory.fail_after = true;
    int32_t updates = -1;
    assert_int_equal(weir_world_advance(world, 0.03, &any_time, &updates), WEIR_ERROR_MEMORY);
    assert_int_equal(updates, 0);
    assert_int_equal(weir_world_advance_begin(world, 0.03, &any_time), WEIR_ERROR_MEMORY);
    assert_true(weir_world_step_done(world));
    memory.fail_at = 0;
    assert_true(weir_world_advanced(world).dropped == 0);
    assert_ok(weir_world_advance(world, 0, &any_time, &updates));
    assert_int_equal(updates, 6);
    weir_world_destroy(world);
}

static void a_rate_below_one_waits_for_its_update(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    def.rate = 0.5f;
    weir_world *world = test_make(&def);
    int32_t updates, all = 0;
    for (int32_t i = 0; i < 100; i++) {
        assert_ok(weir_world_advance(world, 0.1, &any_time, &updates));
        all += updates;
    }
    assert_int_equal(all, 5);
    weir_world_destroy(world);
}

static void a_rule_that_cannot_be_added_leaves_nothing(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    test_memory memory = {0};
    def.allocator = test_memory_hooks(&memory);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 8, 16), 1);
    int64_t before = memory.bytes;
    dye_options options = {0};
    const weir_rule_def rule = dye_rule(&options);
    memory.fail_at = memory.calls + 2;
    assert_int_equal(weir_world_add_rule(world, &rule), WEIR_ERROR_MEMORY);
    assert_int_equal(memory.bytes, before);
    memory.fail_at = 0;
    assert_ok(weir_world_add_rule(world, &rule));
    test_step(world, 2);
    weir_world_destroy(world);
    assert_int_equal(memory.bytes, 0);
}

static void a_second_has_as_many_updates_as_the_rate_says(void **state)
{
    const int32_t rates[] = {10, 20, 24, 30, 50, 60, 100, 120, 144, 240};
    for (int32_t i = 0; i < (int32_t)(sizeof rates / sizeof rates[0]); i++) {
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
        def.rate = (float)rates[i];
        weir_world *world = test_make(&def);
        int32_t updates, sum = 0;
        assert_ok(weir_world_advance(world, 1.0, &any_time, &updates));
        assert_int_equal(updates, rates[i]);
        // A minute of frames at 60 per second: what is kept from frame to frame must not get lost.
        for (int32_t frame = 0; frame < 3600; frame++) {
            assert_ok(weir_world_advance(world, 1.0 / 60, &any_time, &updates));
            sum += updates;
        }
        assert_in_range(sum, 60 * rates[i] - 1, 60 * rates[i] + 1);
        weir_world_destroy(world);
    }
}

static void a_step_has_as_many_updates_as_it_was_told(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 24, 24, 24);
        weir_world *one = test_make(&def);
        def.updates_per_step = 4;
        weir_world *four = test_make(&def);
        fill_dam(one);
        fill_dam(four);
        test_step(one, 12);
        test_step(four, 3);
        assert_int_equal(weir_world_stats(four).updates, 12);
        assert_true(weir_world_hash(one) == weir_world_hash(four));
        assert_ok(weir_world_set_updates_per_step(four, 5));
        assert_int_equal(weir_world_updates_per_step(four), 5);
        test_step(one, 10);
        test_step(four, 1);
        assert_ok(weir_world_step_begin(four));
        assert_int_equal(weir_world_set_updates_per_step(four, 1), WEIR_ERROR_BUSY);
        assert_ok(weir_world_step_end(four));
        assert_int_equal(weir_world_stats(four).updates, 22);
        assert_true(weir_world_hash(one) == weir_world_hash(four));
        for (int32_t i = 0; i < 3; i++) {
            const int32_t wrong[] = {0, -1, 10001};
            assert_int_equal(weir_world_set_updates_per_step(four, wrong[i]), WEIR_ERROR_ARGUMENT);
            assert_non_null(strstr(weir_error_message(), "updates per step"));
        }
        assert_int_equal(weir_world_updates_per_step(four), 5);
        weir_world_destroy(one);
        weir_world_destroy(four);
    }
}

// ---- Background steps ------------------------------------------------------------------------------------------------------

static void a_background_step_gives_what_a_plain_one_gives(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *plain = make_dam(SOLVERS[s]), *behind = make_dam(SOLVERS[s]);
        assert_ok(weir_world_add_emitter(plain, test_box(2, 20, 2, 5, 22, 5), WEIR_WATER, 0.37f, NULL));
        assert_ok(weir_world_add_emitter(behind, test_box(2, 20, 2, 5, 22, 5), WEIR_WATER, 0.37f, NULL));
        for (int32_t i = 0; i < 12; i++) {
            uint64_t before = weir_world_hash(behind);
            weir_ledger ledger = weir_world_ledger(behind);
            int64_t updates = weir_world_stats(behind).updates;
            float *fills = test_fills(behind, weir_world_bounds(behind));
            assert_ok(weir_world_step_begin(behind));
            do {
                // Whether the step has finished or not, the state before it is what is read.
                assert_true(weir_world_hash(behind) == before);
                weir_ledger now = weir_world_ledger(behind);
                assert_memory_equal(&now, &ledger, sizeof now);
                assert_int_equal(weir_world_stats(behind).updates, updates);
                float *again = test_fills(behind, weir_world_bounds(behind));
                assert_memory_equal(again, fills, 24 * 24 * 24 * sizeof *fills);
                free(again);
            } while (!weir_world_step_done(behind));
            assert_true(weir_world_hash(behind) == before);
            assert_ok(weir_world_step_end(behind));
            assert_true(weir_world_step_done(behind));
            test_step(plain, 1);
            assert_true(weir_world_hash(behind) == weir_world_hash(plain));
            assert_exact(behind);
            free(fills);
        }
        weir_world_destroy(plain);
        weir_world_destroy(behind);
    }
}

static void a_background_advance_gives_what_a_plain_one_gives(void **state)
{
    weir_world *plain = make_dam(WEIR_SOLVER_MOMENTUM), *behind = make_dam(WEIR_SOLVER_MOMENTUM);
    int64_t all = 0;
    for (int32_t frame = 0; frame < 12; frame++) {
        const double seconds = frame % 3 * 0.012;  // 0 to 3 updates
        int32_t updates;
        const weir_advanced before = weir_world_advanced(behind);
        assert_ok(weir_world_advance(plain, seconds, &any_time, &updates));
        assert_ok(weir_world_advance_begin(behind, seconds, &any_time));
        if (updates > 0) {
            assert_int_equal(weir_world_advance_begin(behind, seconds, &any_time), WEIR_ERROR_BUSY);
            assert_int_equal(weir_world_stats(behind).updates, all);
            assert_int_equal(weir_world_advanced(behind).updates, before.updates);
        } else {
            assert_true(weir_world_step_done(behind));
        }
        assert_ok(weir_world_step_end(behind));
        all += updates;
        assert_int_equal(weir_world_advanced(behind).updates, updates);
        assert_int_equal(weir_world_stats(behind).updates, all);
        assert_true(weir_world_hash(behind) == weir_world_hash(plain));
    }
    assert_int_equal(all, 14);
    // A step in between is no advance.
    assert_ok(weir_world_step_begin(behind));
    assert_ok(weir_world_step_end(behind));
    assert_int_equal(weir_world_advanced(behind).updates, weir_world_advanced(plain).updates);
    weir_world_destroy(plain);
    weir_world_destroy(behind);

    int32_t milliseconds = 20;
    weir_world *slow = make_slow(&milliseconds);
    assert_ok(weir_world_advance_begin(slow, 0.1, &(weir_advance_limit){.milliseconds = 50}));
    assert_ok(weir_world_step_end(slow));
    const weir_advanced done = weir_world_advanced(slow);
    assert_in_range(done.updates, 1, 2);
    assert_true(fabs(done.dropped - (10 - done.updates) * 0.01) < 1e-9);
    assert_ok(weir_world_advance_begin(slow, 0.1, NULL));
    weir_world_destroy(slow);  // waits
}

static void edits_during_a_background_step_wait_and_keep_their_order(void **state)
{
    weir_world *plain = make_dam(WEIR_SOLVER_MOMENTUM), *behind = make_dam(WEIR_SOLVER_MOMENTUM);
    int32_t ids[2];
    for (int32_t k = 0; k < 2; k++) {
        weir_world *world = k ? plain : behind;
        if (k)
            test_step(world, 1);
        else
            assert_ok(weir_world_step_begin(world));
        // In another order the box would be full, or the ground open.
        test_fill(world, test_box(12, 12, 12, 20, 20, 20), 1);
        assert_ok(weir_world_drain(world, test_box(14, 14, 14, 16, 18, 18)));
        test_fill(world, test_box(15, 14, 14, 16, 16, 16), 0.5f);
        assert_ok(weir_world_build(world, test_box(17, 10, 10, 19, 22, 22), 255));
        assert_ok(weir_world_dig(world, test_box(17, 14, 14, 18, 16, 16)));
        assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 4, 4, 4), (weir_vec){0.25f, 0, -0.25f}));
        assert_ok(weir_world_add_emitter(world, test_box(1, 20, 1, 3, 21, 3), WEIR_WATER, 0.25f, &ids[k]));
        assert_exact(world);
        if (!k) assert_ok(weir_world_step_end(world));
        assert_exact(world);
    }
    assert_int_equal(ids[0], ids[1]);
    assert_true(weir_world_cell(behind, (weir_coord){15, 15, 15}).fill == 0.5f);
    assert_true(weir_world_cell(behind, (weir_coord){14, 15, 15}).fill == 0);
    assert_int_equal(weir_world_cell(behind, (weir_coord){17, 15, 15}).solid, 0);
    assert_true(weir_world_hash(behind) == weir_world_hash(plain));
    test_step(plain, 5);
    test_step(behind, 5);
    assert_true(weir_world_hash(behind) == weir_world_hash(plain));
    weir_world_destroy(plain);
    weir_world_destroy(behind);
}

static void a_world_that_is_busy_says_so(void **state)
{
    dye_options options = {0};
    const weir_rule_def rule = dye_rule(&options);
    weir_world *world = make_dam(WEIR_SOLVER_MOMENTUM);
    weir_params params = weir_world_params(world);
    int32_t updates = 5;
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_step(world), WEIR_ERROR_BUSY);
    assert_non_null(strstr(weir_error_message(), "background"));
    assert_int_equal(weir_world_step_begin(world), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_advance(world, 0.1, &any_time, &updates), WEIR_ERROR_BUSY);
    assert_int_equal(updates, 0);
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_add_rule(world, &rule), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_save(world, "busy.weir"), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_load(world, "busy.weir"), WEIR_ERROR_BUSY);
    assert_ok(weir_world_step_end(world));
    assert_int_equal(weir_world_stats(world).updates, 1);
    assert_ok(weir_world_step_end(world));  // none runs: nothing to do
    assert_ok(weir_world_step(world));

    assert_ok(weir_world_step_begin(world));
    weir_world_destroy(world);  // waits
}

// ---- Forces, gravity, parameters -------------------------------------------------------------------------------------------

static void a_force_pushes_water_sideways(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_params params = weir_params_default(SOLVERS[s]);
        params.gravity.y = 0;
        params.damping = 0;
        weir_world_def def = test_def(SOLVERS[s], 40, 16, 16);
        def.params = &params;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(4, 4, 4, 10, 10, 10), 1.0f);
        int32_t id;
        assert_ok(weir_world_add_force(world, weir_world_bounds(world), (weir_vec){0.01f, 0, 0}, &id));
        test_step(world, 10);
        weir_vec flow = weir_world_mean_flow(world, weir_world_bounds(world));
        float speed = 10 * 0.01f;
        if (!(flow.x > 0.9f * speed && flow.x < 1.01f * speed))
            fail_msg("%s: pushed to %g, not %g", test_solver_name(SOLVERS[s]), flow.x, speed);
        assert_true(fabsf(flow.y) < 1e-3f && fabsf(flow.z) < 1e-3f);
        assert_ok(weir_world_remove(world, id));
        test_step(world, 5);
        weir_vec later = weir_world_mean_flow(world, weir_world_bounds(world));
        assert_true(fabsf(later.x - flow.x) < 0.1f * speed);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

enum { EDGE = 32 };  // two bricks of two bricks, so that the coarse levels of the pressure are mirror images too

// A dam break with gravity along any axis, read off in turned coordinates. Fills differ only by rounding, since sums are paired
// by axis; a few dozen updates do not let that grow.
typedef struct turned {
    weir_vec gravity;
    int32_t axis[3];  // which world axis is dam's x, y, z
    bool flip;        // "up" runs towards lower coordinates
} turned;

static weir_coord turn(const turned *t, int32_t edge, weir_coord c)
{
    int32_t in[3] = {c.x, t->flip ? edge - c.y : c.y, c.z}, out[3];
    for (int32_t i = 0; i < 3; i++) out[t->axis[i]] = in[i];
    return (weir_coord){out[0], out[1], out[2]};
}

static weir_box turn_box(const turned *t, int32_t edge, weir_box b)
{
    weir_coord a = turn(t, edge, b.min), c = turn(t, edge, b.max);
    return test_box(a.x < c.x ? a.x : c.x, a.y < c.y ? a.y : c.y, a.z < c.z ? a.z : c.z, a.x > c.x ? a.x : c.x,
                    a.y > c.y ? a.y : c.y, a.z > c.z ? a.z : c.z);
}

static float *play_turned(weir_solver solver, const turned *t, int32_t updates)
{
    weir_params params = weir_params_default(solver);
    params.gravity = t->gravity;
    weir_world_def def = test_def(solver, EDGE, EDGE, EDGE);
    def.params = &params;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, turn_box(t, EDGE, test_box(18, 0, 12, 22, 16, 17)), 255));
    test_fill(world, turn_box(t, EDGE, test_box(0, 0, 0, 12, 24, 32)), 1.0f);
    test_step(world, updates);
    assert_exact(world);
    float *fills = malloc(EDGE * EDGE * EDGE * sizeof *fills);
    assert_non_null(fills);
    for (int32_t z = 0; z < EDGE; z++) {
        for (int32_t y = 0; y < EDGE; y++) {
            for (int32_t x = 0; x < EDGE; x++) {
                weir_box cell = turn_box(t, EDGE, test_box(x, y, z, x + 1, y + 1, z + 1));
                fills[x + EDGE * (y + EDGE * z)] = weir_world_cell(world, cell.min).fill;
            }
        }
    }
    weir_world_destroy(world);
    return fills;
}

static void gravity_may_pull_along_any_axis(void **state)
{
    const turned down = {{0, -0.01f, 0}, {0, 1, 2}, false};
    const turned others[] = {{{0.01f, 0, 0}, {1, 0, 2}, true},
                             {{-0.01f, 0, 0}, {1, 0, 2}, false},
                             {{0, 0, -0.01f}, {0, 2, 1}, false},
                             {{0, 0, 0.01f}, {0, 2, 1}, true},
                             {{0, 0.01f, 0}, {0, 1, 2}, true}};
    int32_t updates = test_length(60, 10);
    for (int32_t s = 0; s < 2; s++) {
        float *right = play_turned(SOLVERS[s], &down, updates);
        for (int32_t k = 0; k < 5; k++) {
            float *fills = play_turned(SOLVERS[s], &others[k], updates);
            double worst = 0, sum = 0;
            for (int32_t i = 0; i < EDGE * EDGE * EDGE; i++) {
                worst = fmax(worst, fabs(fills[i] - right[i]));
                sum += fabs(fills[i] - right[i]);
            }
            if (worst > 0.03 || sum > 1)
                fail_msg("%s, gravity (%g, %g, %g): fills differ by %g, in all by %g cells", test_solver_name(SOLVERS[s]),
                         others[k].gravity.x, others[k].gravity.y, others[k].gravity.z, worst, sum);
            free(fills);
        }
        free(right);
    }
}

static void viscous_water_is_slower_and_exact(void **state)
{
    double spread[2];
    for (int32_t i = 0; i < 2; i++) {
        weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM);
        params.viscosity = i ? 0.16f : 0;
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 48, 24, 8);
        def.params = &params;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 12, 20, 8), 1.0f);
        for (int32_t k = 0; k < 6; k++) {
            test_step(world, 10);
            assert_exact(world);
            weir_box_sum sum = weir_world_box_sum(world, weir_world_bounds(world));
            assert_true(sum.max_fill <= 4 && sum.max_flow <= 1);
        }
        spread[i] = weir_world_mean_flow(world, weir_world_bounds(world)).x;
        weir_world_destroy(world);
    }
    assert_true(spread[0] > 0.1);
    assert_true(spread[1] > 0.02 && spread[1] < 0.98 * spread[0]);
}

static uint64_t play_noise(weir_solver solver, float noise, uint32_t seed)
{
    weir_params params = weir_params_default(solver);
    params.noise = noise;
    params.noise_seed = 1;
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.params = &params;
    weir_world *world = test_make(&def);
    fill_dam(world);
    // Set before the first update, and back after the last, so that only the water can differ.
    params.noise_seed = seed;
    assert_ok(weir_world_set_params(world, &params));
    for (int32_t i = 0; i < 3; i++) {
        test_step(world, 10);
        assert_exact(world);
        assert_true(weir_world_box_sum(world, weir_world_bounds(world)).max_fill <= 4);
    }
    params = weir_params_default(solver);
    assert_ok(weir_world_set_params(world, &params));
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void noise_comes_from_its_seed(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        uint64_t none = play_noise(SOLVERS[s], 0, 1), one = play_noise(SOLVERS[s], 0.1f, 1);
        assert_true(none == play_noise(SOLVERS[s], 0, 2));
        assert_true(one == play_noise(SOLVERS[s], 0.1f, 1));
        assert_true(one != none);
        assert_true(one != play_noise(SOLVERS[s], 0.1f, 2));
        play_noise(SOLVERS[s], 1.0f, 3);
    }
}

static void parameters_may_change_between_updates(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = make_dam(SOLVERS[s]);
        test_step(world, 20);
        weir_params params = weir_world_params(world), wrong = params;
        wrong.damping = 2;
        assert_int_equal(weir_world_set_params(world, &wrong), WEIR_ERROR_ARGUMENT);
        assert_true(weir_world_params(world).damping == params.damping);
        // Upside down: what was at the bottom falls to the top.
        params.gravity.y = 0.01f;
        assert_ok(weir_world_set_params(world, &params));
        test_step(world, test_length(200, 120));
        assert_exact(world);
        double low = (double)weir_world_box_sum(world, test_box(0, 0, 0, 24, 4, 24)).drops;
        double high = (double)weir_world_box_sum(world, test_box(0, 20, 0, 24, 24, 24)).drops;
        assert_true(high > 4 * low);
        weir_world_destroy(world);
    }
}

// Terrain that is built in the midst of open water, where no brick comes or goes for it.
static void terrain_built_in_open_water_counts_at_once(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 40, 40, 40);
        weir_world *world = test_make(&def), *fresh = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 40, 30, 40), 1.0f);
        test_step(world, 2);
        assert_ok(weir_world_build(world, test_box(17, 2, 17, 23, 22, 23), 255));
        assert_ok(weir_world_save(world, "built.weir"));
        assert_ok(weir_world_load(fresh, "built.weir"));
        remove("built.weir");
        assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 40, 30, 40), (weir_vec){0.15f, 0, 0}));
        assert_ok(weir_world_set_flow(fresh, test_box(0, 0, 0, 40, 30, 40), (weir_vec){0.15f, 0, 0}));
        for (int32_t i = 0; i < test_length(8, 3); i++) {
            test_step(world, 1);
            test_step(fresh, 1);
            assert_int_equal(weir_world_box_sum(world, test_box(17, 2, 17, 23, 22, 23)).drops, 0);
            assert_exact(world);
            if (weir_world_hash(world) != weir_world_hash(fresh))
                fail_msg("%s: the built world goes another way than the loaded one in update %d", test_solver_name(SOLVERS[s]),
                         i);
        }
        weir_world_destroy(world);
        weir_world_destroy(fresh);
    }
}

// ---- Going on from a snapshot ----------------------------------------------------------------------------------------------

static weir_world *make_rich(weir_solver solver, dye_options *options, int32_t threads)
{
    weir_params params = weir_params_default(solver);
    params.noise = 0.05f;
    params.noise_seed = 7;
    params.viscosity = solver == WEIR_SOLVER_MOMENTUM ? 0.02f : 0;
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.params = &params;
    def.threads = threads;
    def.open_sides = WEIR_SIDE_X_MAX;
    weir_world *world = test_make(&def);
    const weir_rule_def rule = dye_rule(options);
    assert_ok(weir_world_add_rule(world, &rule));
    return world;
}

static void make_it_rich(weir_world *world)
{
    fill_dam(world);
    assert_ok(weir_world_set_channel(world, test_box(0, 9, 0, 9, 18, 12), "dye", 0.75f));
    assert_ok(weir_world_add_emitter(world, test_box(10, 20, 10, 14, 22, 14), WEIR_WATER, 1.0f / 3, NULL));
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 2, 2, 2), 0.123f, NULL));
    assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 24, 8, 24), (weir_vec){0, 0, 0.004f}, NULL));
}

static void a_world_goes_on_from_a_snapshot_as_if_nothing_had_been(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        int32_t half = test_length(60, 25);
        char path[64];
        snprintf(path, sizeof path, "resume-%d.weir", s);
        dye_options options = {.fading = 0.002f};
        weir_world *straight = make_rich(SOLVERS[s], &options, 1);
        make_it_rich(straight);
        test_step(straight, half);
        uint64_t middle = weir_world_hash(straight);
        assert_ok(weir_world_save(straight, path));
        test_step(straight, half);

        weir_world *resumed = make_rich(SOLVERS[s], &options, 3);
        assert_ok(weir_world_load(resumed, path));
        assert_true(weir_world_hash(resumed) == middle);
        assert_exact(resumed);
        test_step(resumed, half);
        assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        weir_ledger a = weir_world_ledger(straight), b = weir_world_ledger(resumed);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.drift == 0 && a.drained > 0 && a.removed > 0);

        // Into a world that is in the midst of something else, too.
        assert_ok(weir_world_load(straight, path));
        assert_true(weir_world_hash(straight) == middle);
        test_step(straight, half);
        assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        remove(path);
        weir_world_destroy(straight);
        weir_world_destroy(resumed);
    }
}

// ---- A game's rule: dye ----------------------------------------------------------------------------------------------------

// All dye of a world, in full cells.
static double dye_of(const weir_world *world, double *least, double *most)
{
    weir_box box = weir_world_bounds(world);
    double sum = 0;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x++) {
                weir_coord cell = {x, y, z};
                double value = weir_world_channel(world, "dye", cell);
                sum += value * weir_world_cell(world, cell).fill;
                *least = fmin(*least, value);
                *most = fmax(*most, value);
            }
        }
    }
    return sum;
}

static weir_world *make_dyed(weir_solver solver, dye_options *options, int32_t threads)
{
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.threads = threads;
    weir_world *world = test_make(&def);
    const weir_rule_def rule = dye_rule(options);
    assert_ok(weir_world_add_rule(world, &rule));
    fill_dam(world);
    assert_ok(weir_world_set_channel(world, test_box(0, 9, 0, 9, 18, 12), "dye", 1.0f));
    return world;
}

static void dye_goes_with_the_water_and_none_is_lost(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {0};
        weir_world *world = make_dyed(SOLVERS[s], &options, 1);
        double least = INFINITY, most = -INFINITY, start = dye_of(world, &least, &most);
        assert_true(start == 9 * 9 * 12);
        for (int32_t i = 0; i < test_length(10, 3); i++) {
            test_step(world, 10);
            double now = dye_of(world, &least, &most);
            // Every update rounds each cell a few times, by 6e-8 of it at most.
            if (fabs(now - start) > start * 1e-5) fail_msg("%s: %.9g dye of %.9g", test_solver_name(SOLVERS[s]), now, start);
            assert_true(least >= 0 && most <= 1);
        }
        // It has come to places that had neither dye nor water.
        assert_true(weir_world_channel(world, "dye", (weir_coord){11, 0, 3}) > 0);
        assert_true(weir_world_channel(world, "nothing", (weir_coord){11, 0, 3}) == 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void dye_fades_as_it_was_told(void **state)
{
    dye_options options = {.fading = 0.01f};
    weir_world *world = make_dyed(WEIR_SOLVER_MOMENTUM, &options, 1);
    double least = INFINITY, most = -INFINITY, start = dye_of(world, &least, &most);
    test_step(world, 30);
    double now = dye_of(world, &least, &most), right = start * pow(1 - 0.01, 30);
    assert_true(fabs(now - right) < right * 1e-5);
    options.fading = 1;
    test_step(world, 1);
    assert_true(dye_of(world, &least, &most) == 0);
    assert_true(least >= 0 && most <= 1);
    weir_world_destroy(world);
}

static void dye_is_part_of_the_hash_and_the_same_on_all_threads(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {.fading = 0.003f};
        weir_world *one = make_dyed(SOLVERS[s], &options, 1), *three = make_dyed(SOLVERS[s], &options, 3);
        test_step(one, 20);
        test_step(three, 20);
        uint64_t hash = weir_world_hash(one);
        assert_true(weir_world_hash(three) == hash);
        assert_ok(weir_world_set_channel(one, test_box(3, 3, 3, 4, 4, 4), "dye", 0.123f));
        assert_true(weir_world_hash(one) != hash);
        weir_world_destroy(one);
        weir_world_destroy(three);
    }
}

// A rule that sees everything, at every place.
typedef struct watcher {
    const char *name;
    bool sound;
    int64_t update;
} watcher;

static void watch(const weir_rule_brick *brick, void *user)
{
    watcher *w = user;
    w->update = brick->update;
    w->sound &= brick->fill && brick->flow_x && brick->flow_y && brick->flow_z && brick->pressure && brick->open;
    w->sound &= !brick->moved_x && !brick->fill_before && !brick->old_values[0];
    for (int32_t i = 0; i < WEIR_TILE_CELLS; i++) {
        w->sound &= brick->fill[i] >= 0 && brick->fill[i] < 2;
        w->sound &= brick->open[i] == 1 || (brick->open[i] == 0 && brick->fill[i] == 0);
    }
}

static void rules_see_what_they_asked_for_at_every_place(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = make_dam(SOLVERS[s]);
        watcher watchers[3] = {{"before", true, -1}, {"middle", true, -1}, {"after", true, -1}};
        for (int32_t i = 0; i < 3; i++) {
            const weir_rule_def rule = {.name = watchers[i].name,
                                        .place = (weir_place)i,
                                        .sees = WEIR_SEES_FILL | WEIR_SEES_FLOW | WEIR_SEES_PRESSURE | WEIR_SEES_OPEN,
                                        .run = watch,
                                        .user = &watchers[i]};
            assert_ok(weir_world_add_rule(world, &rule));
        }
        weir_world *plain = make_dam(SOLVERS[s]);
        test_step(world, 7);
        test_step(plain, 7);
        for (int32_t i = 0; i < 3; i++) {
            assert_true(watchers[i].sound);
            assert_int_equal(watchers[i].update, 6);
        }
        float *a = test_fills(world, weir_world_bounds(world)), *b = test_fills(plain, weir_world_bounds(plain));
        assert_memory_equal(a, b, 24 * 24 * 24 * sizeof *a);  // watching changes nothing
        free(a);
        free(b);
        weir_world_destroy(world);
        weir_world_destroy(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_that_make_no_sense_are_refused_with_a_sentence),
        cmocka_unit_test(zero_in_a_definition_means_the_default),
        cmocka_unit_test(ten_lines_make_water),
        cmocka_unit_test(an_empty_world_steps_and_stays_empty),
        cmocka_unit_test(no_scene_loses_a_drop),
        cmocka_unit_test(when_all_is_drained_no_brick_is_left),
        cmocka_unit_test(open_sides_let_out_all_water_and_book_it),
        cmocka_unit_test(a_bottom_that_is_open_lets_out_the_last_drop),
        cmocka_unit_test(emitters_and_drains_are_exact_in_the_long_run),
        cmocka_unit_test(advance_runs_the_updates_that_fit_into_the_time),
        cmocka_unit_test(advance_does_not_fall_behind_for_ever),
        cmocka_unit_test(an_advance_that_failed_is_still_due),
        cmocka_unit_test(a_second_has_as_many_updates_as_the_rate_says),
        cmocka_unit_test(a_rate_below_one_waits_for_its_update),
        cmocka_unit_test(a_rule_that_cannot_be_added_leaves_nothing),
        cmocka_unit_test(a_step_has_as_many_updates_as_it_was_told),
        cmocka_unit_test(a_background_step_gives_what_a_plain_one_gives),
        cmocka_unit_test(a_background_advance_gives_what_a_plain_one_gives),
        cmocka_unit_test(edits_during_a_background_step_wait_and_keep_their_order),
        cmocka_unit_test(a_world_that_is_busy_says_so),
        cmocka_unit_test(a_force_pushes_water_sideways),
        cmocka_unit_test(gravity_may_pull_along_any_axis),
        cmocka_unit_test(viscous_water_is_slower_and_exact),
        cmocka_unit_test(noise_comes_from_its_seed),
        cmocka_unit_test(parameters_may_change_between_updates),
        cmocka_unit_test(terrain_built_in_open_water_counts_at_once),
        cmocka_unit_test(a_world_goes_on_from_a_snapshot_as_if_nothing_had_been),
        cmocka_unit_test(dye_goes_with_the_water_and_none_is_lost),
        cmocka_unit_test(dye_fades_as_it_was_told),
        cmocka_unit_test(dye_is_part_of_the_hash_and_the_same_on_all_threads),
        cmocka_unit_test(rules_see_what_they_asked_for_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
