// Emitters, drains and forces that are listed, moved and given other rates while they act: exact to the drop through every change, and
// the same from the queue of a background step as between steps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"
#include "test_world.h"
#include <math.h>

static weir_world *make(test_memory *counted)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 32, 32);
    if (counted) def.allocator = test_memory_hooks(counted);
    return test_make(&def);
}

// A rate as it is counted, in 1/65536 drops.
static int64_t units(float rate)
{
    return (int64_t)((double)rate * WEIR_FULL * 65536 + 0.5);
}

static void assert_box(weir_box a, weir_box b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void sources_are_listed_as_they_act(void **state)
{
    weir_world *world = make(NULL);
    weir_source list[4];
    assert_int_equal(weir_world_sources(world, list, 4), 0);
    int32_t emitter, drain, force;
    assert_ok(weir_world_add_emitter(world, test_box(1, 2, 3, 4, 5, 6), WEIR_WATER, 0.37f, &emitter));
    assert_ok(weir_world_add_drain(world, test_box(-5, 0, 0, 3, 3, 3), 1e-9f, &drain));
    assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 32, 32, 32), (weir_vec){0.1f, -0.2f, 0}, &force));
    assert_int_equal(weir_world_sources(world, NULL, 0), 3);

    memset(list, 0x77, sizeof list);
    assert_int_equal(weir_world_sources(world, list, 2), 3);
    assert_int_equal(list[2].id, 0x77777777);  // no room for it
    assert_int_equal(weir_world_sources(world, list, 4), 3);
    assert_true(list[0].id == emitter && list[1].id == drain && list[2].id == force);
    assert_true(list[0].kind == WEIR_SOURCE_EMITTER && list[1].kind == WEIR_SOURCE_DRAIN && list[2].kind == WEIR_SOURCE_FORCE);
    assert_box(list[0].box, test_box(1, 2, 3, 4, 5, 6));
    assert_box(list[1].box, test_box(0, 0, 0, 3, 3, 3));
    assert_true(list[0].material == WEIR_WATER && list[1].material == WEIR_NOTHING && list[2].material == WEIR_NOTHING);
    assert_true(list[0].rate == 0.37f && list[2].rate == 0);
    assert_true(units(list[1].rate) == units(1e-9f));  // as near as it is counted
    assert_true(list[2].acceleration.x == 0.1f && list[2].acceleration.y == -0.2f && list[2].acceleration.z == 0);
    assert_true(list[0].acceleration.x == 0 && list[1].acceleration.y == 0);

    // What the list says, set again, changes nothing.
    const uint64_t hash = weir_world_hash(world);
    for (int32_t i = 0; i < 3; i++) {
        assert_ok(weir_world_move_source(world, list[i].id, list[i].box));
        if (list[i].kind == WEIR_SOURCE_FORCE)
            assert_ok(weir_world_set_force(world, list[i].id, list[i].acceleration));
        else
            assert_ok(weir_world_set_rate(world, list[i].id, list[i].rate));
    }
    assert_true(weir_world_hash(world) == hash);
    assert_ok(weir_world_remove(world, drain));
    assert_int_equal(weir_world_sources(world, list, 4), 2);
    assert_true(list[0].id == emitter && list[1].id == force);
    weir_world_destroy(world);
}

static void a_change_of_rate_or_box_loses_no_part_of_a_drop(void **state)
{
    weir_world *world = make(NULL);
    // Of neither rate is an update's worth whole drops, and the second is so small that a lost rest would show for long.
    const float rates[] = {1.0f / 3, 1e-7f, 0.7777f, 3e-8f, 2.1f};
    int32_t emitter, drain;
    assert_ok(weir_world_add_emitter(world, test_box(1, 20, 1, 7, 28, 7), WEIR_WATER, rates[0], &emitter));
    test_fill(world, test_box(16, 0, 0, 32, 4, 32), 1);
    assert_ok(weir_world_add_drain(world, test_box(20, 0, 0, 32, 32, 32), 0.11f, &drain));
    const weir_ledger before = weir_world_ledger(world);
    int64_t emitted = 0, taken = 0;
    for (int32_t n = 0; n < 50; n++) {
        const float rate = rates[n / 10], drain_rate = n < 25 ? 0.11f : 0.017f;
        if (n % 10 == 0 && n > 0) assert_ok(weir_world_set_rate(world, emitter, rate));
        if (n == 25) assert_ok(weir_world_set_rate(world, drain, drain_rate));
        if (n % 7 == 3) assert_ok(weir_world_move_source(world, emitter, test_box(n % 5, 20, 3, n % 5 + 4, 28, 9)));
        if (n % 7 == 5) assert_ok(weir_world_move_source(world, drain, test_box(18 + n % 3, 0, 0, 32, 3, 32)));
        emitted += units(rate);
        taken += units(drain_rate);
        test_step(world, 1);
        weir_ledger now = weir_world_ledger(world);
        assert_int_equal(now.added - before.added, emitted >> 16);
        assert_int_equal(now.removed - before.removed, taken >> 16);
        assert_exact(world);
    }
    weir_world_destroy(world);
}

static void what_was_moved_acts_in_its_new_box_alone(void **state)
{
    weir_world *world = make(NULL);
    int32_t emitter, force;
    weir_params params = weir_world_params(world);
    params.gravity = (weir_vec){0, 0, 0};
    assert_ok(weir_world_set_params(world, &params));
    assert_ok(weir_world_add_emitter(world, test_box(0, 0, 0, 2, 2, 2), WEIR_WATER, 1, &emitter));
    assert_ok(weir_world_move_source(world, emitter, test_box(20, 20, 20, 22, 22, 22)));
    test_step(world, 1);
    assert_true(weir_world_box_sum(world, test_box(0, 0, 0, 8, 8, 8)).drops == 0);
    assert_true(weir_world_box_sum(world, test_box(16, 16, 16, 26, 26, 26)).drops == WEIR_FULL);
    assert_ok(weir_world_remove(world, emitter));
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 32, 32, 32)));

    const weir_box left = test_box(4, 10, 10, 8, 14, 14), right = test_box(24, 10, 10, 28, 14, 14);
    test_fill(world, left, 1);
    test_fill(world, right, 1);
    assert_ok(weir_world_add_force(world, left, (weir_vec){0.01f, 0, 0}, &force));
    assert_ok(weir_world_move_source(world, force, right));
    assert_ok(weir_world_set_force(world, force, (weir_vec){0, 0, 0.02f}));
    test_step(world, 2);
    weir_vec still = weir_world_mean_flow(world, left), moved = weir_world_mean_flow(world, right);
    assert_true(fabsf(still.x) < 1e-4f && fabsf(still.z) < 1e-4f);
    assert_true(moved.z > 0.01f && fabsf(moved.x) < 1e-3f);
    weir_world_destroy(world);
}

static void what_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
    weir_world *world = make(NULL);
    const weir_box one = test_box(0, 0, 0, 1, 1, 1), none = test_box(3, 0, 0, 3, 1, 1), away = test_box(50, 0, 0, 51, 1, 1);
    int32_t emitter, drain, force, gone;
    assert_ok(weir_world_add_emitter(world, one, WEIR_WATER, 0.5f, &emitter));
    assert_ok(weir_world_add_drain(world, one, 0.5f, &drain));
    assert_ok(weir_world_add_force(world, one, (weir_vec){0.1f, 0, 0}, &force));
    assert_ok(weir_world_add_force(world, one, (weir_vec){0.1f, 0, 0}, &gone));
    assert_ok(weir_world_remove(world, gone));
    const uint64_t hash = weir_world_hash(world);
    // Also while a step runs: refused at once, and not when it ends.
    for (int32_t busy = 0; busy < 2; busy++) {
        if (busy) assert_ok(weir_world_step_begin(world));
        const weir_status answers[] = {
            weir_world_move_source(world, gone, one),
            weir_world_move_source(world, 0, one),
            weir_world_move_source(world, emitter, none),
            weir_world_set_rate(world, gone, 1),
            weir_world_set_rate(world, -1, 1),
            weir_world_set_rate(world, force, 1),
            weir_world_set_rate(world, emitter, 0),
            weir_world_set_rate(world, emitter, -1),
            weir_world_set_rate(world, emitter, NAN),
            weir_world_set_rate(world, drain, 2e6f),
            weir_world_set_rate(world, drain, 1e-30f),
            weir_world_set_force(world, gone, (weir_vec){0, 0, 0}),
            weir_world_set_force(world, emitter, (weir_vec){0, 0, 0}),
            weir_world_set_force(world, drain, (weir_vec){0, 0, 0}),
            weir_world_set_force(world, force, (weir_vec){0, INFINITY, 0}),
            weir_world_set_force(world, force, (weir_vec){0, 0, 1.5f}),
        };
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) assert_int_equal(answers[i], WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_move_source(world, force, away), WEIR_ERROR_OUTSIDE);
        assert_int_equal(weir_world_set_rate(world, 99, 1), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "no emitter, drain, force, reservoir or heater 99"));
        assert_int_equal(weir_world_set_rate(world, force, 1), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "is a force"));
        assert_int_equal(weir_world_set_force(world, drain, (weir_vec){0, 0, 0}), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "is a drain"));
        assert_true(weir_world_hash(world) == hash);
    }
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);

    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    world = test_make(&def);
    assert_ok(weir_world_add_drain(world, one, 0.5f, &drain));
    assert_ok(weir_world_add_force(world, one, (weir_vec){0, 0, 0}, &force));
    assert_int_equal(weir_world_move_source(world, drain, test_box(0, 0, 0, 257, 256, 256)), WEIR_ERROR_LIMIT);
    assert_ok(weir_world_move_source(world, force, test_box(0, 0, 0, 257, 256, 256)));
    weir_world_destroy(world);
}

static void play(weir_world *world, int32_t round, int32_t ids[2])
{
    if (round > 0) {
        assert_ok(weir_world_set_rate(world, ids[0], 0.1f * (float)round));
        assert_ok(weir_world_move_source(world, ids[1], test_box(round, 0, 0, round + 9, 32, 32)));
        assert_ok(weir_world_set_force(world, ids[1], (weir_vec){0, 0.01f, 0.002f * (float)round}));
    }
    if (round == 3) assert_ok(weir_world_remove(world, ids[0]));
    if (round == 3) assert_int_equal(weir_world_set_rate(world, ids[0], 1), WEIR_ERROR_ARGUMENT);
    if (round % 3 == 0) {
        assert_ok(weir_world_add_emitter(world, test_box(4, 20, 4, 8, 24, 8), WEIR_WATER, 0.3f, &ids[0]));
        assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 9, 9, 9), (weir_vec){0.01f, 0, 0}, &ids[1]));
        // Of what still waits itself.
        assert_ok(weir_world_move_source(world, ids[0], test_box(5, 20, 5, 9, 24, 9)));
        assert_ok(weir_world_set_rate(world, ids[0], 0.7f));
        assert_int_equal(weir_world_set_rate(world, ids[1], 0.7f), WEIR_ERROR_ARGUMENT);
    }
}

static void changes_during_a_background_step_are_those_after_it(void **state)
{
    weir_world *plain = make(NULL), *queued = make(NULL);
    int32_t plain_ids[2] = {0}, queued_ids[2] = {0};
    for (int32_t round = 0; round < 7; round++) {
        test_step(plain, 1);
        play(plain, round, plain_ids);

        weir_source before[16], during[16], after[16], same[16];
        int32_t count = weir_world_sources(queued, before, 16);
        assert_ok(weir_world_step_begin(queued));
        play(queued, round, queued_ids);
        assert_int_equal(weir_world_sources(queued, during, 16), count);
        assert_memory_equal(before, during, (size_t)count * sizeof *before);
        assert_ok(weir_world_step_end(queued));

        assert_true(weir_world_hash(plain) == weir_world_hash(queued));
        count = weir_world_sources(queued, after, 16);
        assert_int_equal(weir_world_sources(plain, same, 16), count);
        assert_memory_equal(after, same, (size_t)count * sizeof *after);
        assert_exact(queued);
    }
    weir_world_destroy(plain);
    weir_world_destroy(queued);
}

static void a_change_is_in_the_hash_and_in_a_snapshot(void **state)
{
    weir_world *world = make(NULL), *loaded = make(NULL);
    int32_t emitter, force;
    assert_ok(weir_world_add_emitter(world, test_box(1, 1, 1, 2, 2, 2), WEIR_WATER, 0.37f, &emitter));
    assert_ok(weir_world_add_force(world, test_box(1, 1, 1, 2, 2, 2), (weir_vec){0, 0, 0}, &force));
    uint64_t hashes[4] = {weir_world_hash(world)};
    assert_ok(weir_world_set_rate(world, emitter, 0.38f));
    hashes[1] = weir_world_hash(world);
    assert_ok(weir_world_move_source(world, emitter, test_box(1, 1, 1, 2, 2, 3)));
    hashes[2] = weir_world_hash(world);
    assert_ok(weir_world_set_force(world, force, (weir_vec){0, 0, 0.5f}));
    hashes[3] = weir_world_hash(world);
    for (int32_t i = 0; i < 4; i++)
        for (int32_t j = 0; j < i; j++) assert_true(hashes[i] != hashes[j]);

    static uint8_t bytes[1 << 16];
    size_t size;
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_load_memory(loaded, bytes, size));
    weir_source a[2], b[2];
    assert_int_equal(weir_world_sources(world, a, 2), 2);
    assert_int_equal(weir_world_sources(loaded, b, 2), 2);
    assert_memory_equal(a, b, sizeof a);
    weir_world_destroy(world);
    weir_world_destroy(loaded);
}

// An addition that waits and then finds no memory is told; changes of it are then about nothing, and harm nothing else.
static void changes_of_what_could_not_be_added_do_nothing(void **state)
{
    test_memory counted = {0};
    weir_world *world = make(&counted);
    int32_t id;
    for (int32_t i = 0; i < 8; i++)
        assert_ok(weir_world_add_emitter(world, test_box(i, 0, 0, i + 1, 1, 1), WEIR_WATER, 0.001f, &id));
    test_step(world, 2);
    assert_ok(weir_world_step_begin(world));
    assert_ok(weir_world_add_emitter(world, test_box(20, 0, 0, 21, 1, 1), WEIR_WATER, 0.001f, &id));
    assert_ok(weir_world_move_source(world, id, test_box(22, 0, 0, 23, 1, 1)));
    assert_ok(weir_world_set_rate(world, id, 7));
    assert_ok(weir_world_set_rate(world, 8, 0.5f));
    while (!weir_world_step_done(world)) {
    }
    counted.fail_at = counted.calls + 1;
    counted.fail_after = true;
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_MEMORY);
    counted.fail_at = 0;
    weir_source list[16];
    assert_int_equal(weir_world_sources(world, list, 16), 8);
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(list[i].id, i + 1);
        assert_true(list[i].rate == (i == 7 ? 0.5f : 0.001f));
        assert_box(list[i].box, test_box(i, 0, 0, i + 1, 1, 1));
    }
    test_step(world, 2);
    weir_world_destroy(world);
    assert_int_equal(counted.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_listed_as_they_act),
        cmocka_unit_test(a_change_of_rate_or_box_loses_no_part_of_a_drop),
        cmocka_unit_test(what_was_moved_acts_in_its_new_box_alone),
        cmocka_unit_test(what_makes_no_sense_is_refused_and_changes_nothing),
        cmocka_unit_test(changes_during_a_background_step_are_those_after_it),
        cmocka_unit_test(a_change_is_in_the_hash_and_in_a_snapshot),
        cmocka_unit_test(changes_of_what_could_not_be_added_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
