// Time: how many updates an advance or a step runs, and that in the background they give what they give in the foreground.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <time.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};
static const weir_advance_limit any_time = {.milliseconds = INFINITY};  // as many updates on a slow machine as on a fast one

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
        test_fill_dam(one);
        test_fill_dam(four);
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
        weir_world *plain = test_dam(SOLVERS[s]), *behind = test_dam(SOLVERS[s]);
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
    weir_world *plain = test_dam(WEIR_SOLVER_MOMENTUM), *behind = test_dam(WEIR_SOLVER_MOMENTUM);
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
    weir_world *plain = test_dam(WEIR_SOLVER_MOMENTUM), *behind = test_dam(WEIR_SOLVER_MOMENTUM);
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
    weir_world *world = test_dam(WEIR_SOLVER_MOMENTUM);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advance_runs_the_updates_that_fit_into_the_time),
        cmocka_unit_test(advance_does_not_fall_behind_for_ever),
        cmocka_unit_test(an_advance_that_failed_is_still_due),
        cmocka_unit_test(a_second_has_as_many_updates_as_the_rate_says),
        cmocka_unit_test(a_rate_below_one_waits_for_its_update),
        cmocka_unit_test(a_step_has_as_many_updates_as_it_was_told),
        cmocka_unit_test(a_background_step_gives_what_a_plain_one_gives),
        cmocka_unit_test(a_background_advance_gives_what_a_plain_one_gives),
        cmocka_unit_test(edits_during_a_background_step_wait_and_keep_their_order),
        cmocka_unit_test(a_world_that_is_busy_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
