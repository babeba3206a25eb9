// Devices that are too small, and devices that are lost: what fails says so, and no water is ever lost without a word.
//
// Two variables of the environment make a device fail: WEIR_DEVICE_MEMORY=bytes makes it small, WEIR_DEVICE_FAIL_AT=n loses it at
// the n-th command. Both are read when a world is made, and so are WEIR_DEVICE_SPECULATIVE=bricks and
// WEIR_DEVICE_TRANSFER_QUEUE=bricks: in a world of so many bricks nobody waits for the residual of the pressure, and answers are read on
// the transfer queue.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <stdio.h>

static void need_device(void)
{
    weir_device device;
    if (weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK) return;
    print_message("skipped: %s\n", weir_error_message());
    skip();
}

static weir_world *make_limited(const weir_world_def *def, const char *variable, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    setenv(variable, text, 1);
    weir_world_def other = *def;
    other.backend = WEIR_BACKEND_OPENCL;
    weir_world *world;
    weir_status status = weir_world_create(&other, &world);
    unsetenv(variable);
    assert_int_equal(status, WEIR_OK);
    return world;
}

// ---- Little memory ---------------------------------------------------------------------------------------------------------

// Steps while more and more water is put in, until a step fails; then the water is taken away, and the world goes on.
static void fill_up(weir_solver solver, int64_t device_memory)
{
    weir_world_def def = weir_world_def_default();
    def.solver = solver;
    def.threads = 1;
    weir_world *world = make_limited(&def, "WEIR_DEVICE_MEMORY", device_memory), *cpu = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 6, 6, 6), 1);
    test_fill(cpu, test_box(0, 0, 0, 6, 6, 6), 1);
    test_step(world, 2);
    test_step(cpu, 2);
    weir_status status = WEIR_OK;
    int32_t rounds = 0;
    for (; status == WEIR_OK && rounds < 40; rounds++) {
        weir_box more = test_box(40 * rounds, 100, 0, 40 * rounds + 8, 108, 8);
        test_fill(world, more, 1);
        test_fill(cpu, more, 1);
        uint64_t hash = weir_world_hash(world);
        status = weir_world_step(world);
        if (status == WEIR_OK) {
            test_step(cpu, 1);
            continue;
        }
        assert_int_equal(status, WEIR_ERROR_MEMORY);
        if (!strstr(weir_error_message(), "device")) fail_msg("the sentence names no device: %s", weir_error_message());
        // Tried again it fails again, and nothing has moved.
        assert_int_equal(weir_world_step(world), WEIR_ERROR_MEMORY);
        assert_true(weir_world_hash(world) == hash);
        assert_true(weir_world_hash(world) == weir_world_hash(cpu));
        assert_exact(world);
    }
    assert_true(status == WEIR_ERROR_MEMORY);

    // A snapshot of it is whole.
    assert_ok(weir_world_save(world, "small-device.weir"));
    weir_world *loaded = test_make(&def);
    assert_ok(weir_world_load(loaded, "small-device.weir"));
    assert_true(weir_world_hash(loaded) == weir_world_hash(world));
    weir_world_destroy(loaded);
    remove("small-device.weir");

    weir_box far = test_box(-20, 60, -20, 40 * rounds, 130, 40);
    assert_ok(weir_world_drain(world, far));
    assert_ok(weir_world_drain(cpu, far));
    for (int32_t i = 0; i < 5; i++) {
        if (weir_world_step(world) != WEIR_OK) fail_msg("it does not go on: %s", weir_error_message());
        test_step(cpu, 1);
    }
    assert_true(weir_world_hash(world) == weir_world_hash(cpu));
    assert_exact(world);
    weir_world_destroy(world);
    weir_world_destroy(cpu);
}

static void a_world_outlives_a_device_that_is_full(void **state)
{
    need_device();
    for (int64_t memory = 3 << 20; memory <= 12 << 20; memory += test_device_length(700001, 4000001)) {
        fill_up(WEIR_SOLVER_MOMENTUM, memory);
    }
    fill_up(WEIR_SOLVER_CLASSIC, 4 << 20);
    for (int64_t memory = 2 << 20; memory <= 4 << 20; memory += test_device_length(900001, 4000001))
        fill_up(WEIR_SOLVER_MIXTURE, memory);
}

static void a_device_without_memory_is_told(void **state)
{
    need_device();
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 64, 64, 64);
    weir_world *world = make_limited(&def, "WEIR_DEVICE_MEMORY", 100000);
    test_fill(world, test_box(0, 0, 0, 64, 64, 64), 1);
    assert_int_equal(weir_world_step(world), WEIR_ERROR_MEMORY);
    assert_non_null(strstr(weir_error_message(), "MiB"));
    assert_int_equal(weir_world_box_sum(world, test_box(0, 0, 0, 64, 64, 64)).drops, (int64_t)64 * 64 * 64 * WEIR_FULL);
    weir_world_destroy(world);
}

// ---- A device that is lost -------------------------------------------------------------------------------------------------

enum { LIFE = 14, EVERY = 4 };

static weir_status edit_now_and_then(weir_world *world, int32_t update)
{
    if (update == 3) return weir_world_fill(world, test_box(12, 10, 2, 18, 15, 8), WEIR_WATER, 0.5f);
    if (update == 6) return weir_world_dig(world, test_box(8, 0, 2, 10, 4, 6));
    if (update == 9) return weir_world_drain(world, test_box(0, 0, 0, 5, 9, 12));
    return WEIR_OK;
}

static weir_solver lost_solver = WEIR_SOLVER_MOMENTUM;

static weir_world_def tank(test_memory *memory)
{
    weir_world_def def = test_def(lost_solver, 20, 18, 12);
    def.open_sides = WEIR_SIDE_X_MAX;
    def.checkpoint_every = EVERY;
    def.allocator = test_memory_hooks(memory);
    return def;
}

static weir_status set_up(weir_world *world)
{
    weir_status status = weir_world_build(world, test_box(8, 0, 0, 10, 8, 12), 255);
    if (status == WEIR_OK) status = weir_world_fill(world, test_box(0, 0, 0, 8, 12, 12), WEIR_WATER, 1);
    if (status == WEIR_OK) status = weir_world_add_emitter(world, test_box(14, 12, 4, 18, 14, 8), WEIR_WATER, 2.7f, NULL);
    if (lost_solver == WEIR_SOLVER_MIXTURE) return status;
    if (status == WEIR_OK) status = weir_world_add_force(world, test_box(0, 0, 0, 9, 9, 9), (weir_vec){0, 0, 0.002f}, NULL);
    return status;
}

// Hashes before each update, before its edit.
static uint64_t right[LIFE + 1];

static void live_on_cpu(void)
{
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    weir_world *world = test_make(&def);
    assert_ok(set_up(world));
    for (int32_t i = 0; i <= LIFE; i++) {
        right[i] = weir_world_hash(world);
        if (i == LIFE) break;
        assert_ok(edit_now_and_then(world, i));
        test_step(world, 1);
    }
    weir_world_destroy(world);
}

// Whether a world is at a checkpoint: the state before one of its updates, the edit that came before it included.
static void check_at_checkpoint(const weir_world *world, const char *what)
{
    int32_t update = (int32_t)weir_world_stats(world).updates;
    if (update % EVERY != 0) fail_msg("%s: went back to update %d", what, update);
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    weir_world *cpu = test_make(&def);
    assert_ok(set_up(cpu));
    for (int32_t i = 0; i < update; i++) {
        assert_ok(edit_now_and_then(cpu, i));
        test_step(cpu, 1);
    }
    if (weir_world_hash(cpu) != weir_world_hash(world)) fail_msg("%s: update %d is not what it was", what, update);
    weir_world_destroy(cpu);
}

static void check_lost(weir_world *world, const char *what)
{
    char sentence[256];
    assert_int_equal(weir_world_step(world), WEIR_ERROR_DEVICE);
    snprintf(sentence, sizeof sentence, "%s", weir_error_message());
    if (!strstr(sentence, "CL_DEVICE_NOT_AVAILABLE") || !strstr(sentence, "went back"))
        fail_msg("%s: the sentence is: %s", what, sentence);
    check_at_checkpoint(world, what);
    assert_exact(world);
    assert_int_equal(weir_world_step_begin(world), WEIR_ERROR_DEVICE);
    assert_string_equal(sentence, weir_error_message());
    assert_int_equal(weir_world_drain(world, test_box(0, 0, 0, 5, 5, 5)), WEIR_ERROR_DEVICE);
    assert_string_equal(sentence, weir_error_message());
    assert_int_equal(weir_world_advance(world, 1, NULL, NULL), WEIR_ERROR_DEVICE);
    assert_string_equal(sentence, weir_error_message());
}

// Saves it and goes on in a world on the CPU: that world ends where one does that was never anywhere else.
static void rescue(weir_world *world, const char *what)
{
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    weir_world *other = test_make(&def);
    assert_ok(weir_world_save(world, "lost-device.weir"));
    assert_ok(weir_world_load(other, "lost-device.weir"));
    remove("lost-device.weir");
    for (int32_t i = (int32_t)weir_world_stats(other).updates; i < LIFE; i++) {
        assert_ok(edit_now_and_then(other, i));
        test_step(other, 1);
    }
    if (weir_world_hash(other) != right[LIFE]) fail_msg("%s: the rescued world goes on in another way", what);
    weir_world_destroy(other);
}

// Lives until something fails; false if nothing did. *commands: what was asked of it besides steps.
static bool live_until_lost(weir_world *world, bool ask, bool behind)
{
    if (set_up(world) != WEIR_OK) return true;
    for (int32_t i = 0; i < LIFE; i++) {
        weir_status status = edit_now_and_then(world, i);
        if (status == WEIR_OK && behind) {
            status = weir_world_step_begin(world);
            if (status == WEIR_OK) {
                weir_world_hash(world);
                status = weir_world_step_end(world);
            }
        } else if (status == WEIR_OK) {
            status = weir_world_step(world);
        }
        if (status != WEIR_OK) {
            assert_int_equal(status, WEIR_ERROR_DEVICE);
            return true;
        }
        if (!ask) continue;
        // A query in whose middle the device is lost tells of the checkpoint, never of an empty world.
        float fill[8];
        assert_true(weir_world_ledger(world).held > 0);
        assert_ok(weir_world_read_fill(world, test_box(0, 0, 0, 2, 2, 2), fill));
        weir_world_ray(world, (weir_point){2, 17, 2}, (weir_vec){0.2f, -1, 0.3f}, 30, 0.5f);
        weir_world_surface(world, 12, 5, 0, 18);
        assert_true(weir_world_box_sum(world, test_box(0, 0, 0, 20, 18, 12)).drops > 0);
        assert_true(weir_world_hash(world) != 0);
    }
    return false;
}

static void lose_at(int64_t n, bool ask, bool behind, bool *lost)
{
    char what[64];
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    snprintf(what, sizeof what, "command %d%s", (int)n, behind ? ", behind" : ask ? ", asking" : "");
    weir_world *world = make_limited(&def, "WEIR_DEVICE_FAIL_AT", n);
    *lost = live_until_lost(world, ask, behind);
    if (*lost) {
        check_lost(world, what);
        rescue(world, what);
    }
    weir_world_destroy(world);
    assert_int_equal(memory.bytes, 0);
    assert_int_equal(memory.blocks, 0);
}

static void lose_everywhere(bool ask, bool behind, int32_t stride)
{
    bool lost = true;
    int64_t n = 1;
    // Every one of the first commands, then fewer and fewer.
    for (; lost; n += 1 + n / stride) lose_at(n, ask, behind, &lost);
    print_message("a life has about %d commands\n", (int)n);
    assert_true(n > LIFE);
}

static void a_device_that_is_lost_in_a_step_gives_the_checkpoint(void **state)
{
    need_device();
    live_on_cpu();
    lose_everywhere(false, false, test_device_length(20, 2));
}

static void a_device_that_is_lost_in_a_speculative_cycle_gives_the_checkpoint(void **state)
{
    need_device();
    live_on_cpu();
    setenv("WEIR_DEVICE_SPECULATIVE", "1", 1);
    setenv("WEIR_DEVICE_TRANSFER_QUEUE", "1", 1);
    lose_everywhere(false, false, test_device_length(20, 2));
    unsetenv("WEIR_DEVICE_SPECULATIVE");
    unsetenv("WEIR_DEVICE_TRANSFER_QUEUE");
}

static void a_device_that_is_lost_while_asked_gives_the_checkpoint(void **state)
{
    need_device();
    live_on_cpu();
    lose_everywhere(true, false, test_device_length(20, 2));
}

static void a_device_with_a_mixture_that_is_lost_gives_the_checkpoint(void **state)
{
    need_device();
    lost_solver = WEIR_SOLVER_MIXTURE;
    live_on_cpu();
    lose_everywhere(false, false, test_device_length(20, 2));
    lose_everywhere(true, false, test_device_length(6, 1));
    lose_everywhere(false, true, test_device_length(6, 1));
    lost_solver = WEIR_SOLVER_MOMENTUM;
}

static void a_device_that_is_lost_behind_gives_the_checkpoint(void **state)
{
    need_device();
    live_on_cpu();
    lose_everywhere(false, true, test_device_length(12, 2));
}

// Without checkpoints there is nothing to go back to: it must be said, and no empty world given out for the real one.
static void without_checkpoints_a_lost_world_is_no_empty_one(void **state)
{
    need_device();
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    def.checkpoint_every = -1;
    weir_world *world = make_limited(&def, "WEIR_DEVICE_FAIL_AT", 150);
    assert_true(live_until_lost(world, false, false));
    assert_int_equal(weir_world_step(world), WEIR_ERROR_DEVICE);
    assert_non_null(strstr(weir_error_message(), "lost"));
    assert_int_equal(weir_world_save(world, "gone.weir"), WEIR_ERROR_DEVICE);
    float fill[8];
    assert_int_equal(weir_world_read_fill(world, test_box(0, 0, 0, 2, 2, 2), fill), WEIR_ERROR_DEVICE);
    assert_true(weir_world_hash(world) == 0);
    assert_int_equal(weir_world_cell(world, (weir_coord){1, 1, 1}).fill, 0);
    weir_world_destroy(world);
    assert_int_equal(memory.bytes, 0);
}

// The state that was loaded counts, not what was before.
static void a_checkpoint_is_of_the_state_that_was_loaded(void **state)
{
    need_device();
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    def.checkpoint_every = 1000;
    weir_world *cpu = test_make(&def);
    assert_ok(set_up(cpu));
    test_step(cpu, 9);
    assert_ok(weir_world_save(cpu, "loaded.weir"));
    uint64_t hash = weir_world_hash(cpu);
    weir_world_destroy(cpu);
    weir_world *world = make_limited(&def, "WEIR_DEVICE_FAIL_AT", 400);
    assert_ok(set_up(world));
    test_step(world, 2);
    assert_ok(weir_world_load(world, "loaded.weir"));
    remove("loaded.weir");
    weir_status status = WEIR_OK;
    for (int32_t i = 0; i < 50 && status == WEIR_OK; i++) status = weir_world_step(world);
    assert_int_equal(status, WEIR_ERROR_DEVICE);
    assert_int_equal(weir_world_stats(world).updates, 9);
    assert_true(weir_world_hash(world) == hash);
    weir_world_destroy(world);
    assert_int_equal(memory.bytes, 0);
}

// A background step of several updates keeps one before each of them, of that update and not of the state that queries read.
static void a_checkpoint_within_a_background_step_is_of_its_update(void **state)
{
    enum { STEP = 5, STEPS = 4 };
    need_device();
    test_memory memory = {0};
    weir_world_def def = tank(&memory);
    def.checkpoint_every = 1;
    weir_world_def plain = def;
    plain.backend = WEIR_BACKEND_CPU;
    uint64_t hashes[STEP * STEPS + 1];
    weir_world *cpu = test_make(&plain);
    assert_ok(set_up(cpu));
    for (int32_t i = 0; i <= STEP * STEPS; i++) {
        hashes[i] = weir_world_hash(cpu);
        test_step(cpu, 1);
    }
    weir_world_destroy(cpu);

    def.updates_per_step = STEP;
    int32_t within = 0;
    for (int64_t n = 150; n < 600; n += test_device_length(60, 200)) {
        weir_world *world = make_limited(&def, "WEIR_DEVICE_FAIL_AT", n);
        assert_ok(set_up(world));
        weir_status status = WEIR_OK;
        for (int32_t i = 0; i < STEPS && status == WEIR_OK; i++) {
            status = weir_world_step_begin(world);
            if (status == WEIR_OK) status = weir_world_step_end(world);
        }
        assert_int_equal(status, WEIR_ERROR_DEVICE);
        assert_non_null(strstr(weir_error_message(), "went back"));
        const int64_t update = weir_world_stats(world).updates;
        within += update % STEP != 0;
        assert_true(weir_world_hash(world) == hashes[update]);
        assert_int_equal(weir_world_ledger(world).drift, 0);
        weir_world_destroy(world);
    }
    assert_true(within > 0);
    assert_int_equal(memory.bytes, 0);
}

static void checkpoints_change_nothing(void **state)
{
    need_device();
    live_on_cpu();
    const int32_t every[] = {-1, 0, 1, 3};
    for (int32_t k = 0; k < 4; k++) {
        test_memory memory = {0};
        weir_world_def def = tank(&memory);
        def.backend = WEIR_BACKEND_OPENCL;
        def.checkpoint_every = every[k];
        weir_world *world = test_make(&def);
        assert_ok(set_up(world));
        for (int32_t i = 0; i < LIFE; i++) {
            assert_ok(edit_now_and_then(world, i));
            test_step(world, 1);
        }
        assert_true(weir_world_hash(world) == right[LIFE]);
        weir_world_destroy(world);
        assert_int_equal(memory.bytes, 0);
    }
    weir_world_def def = weir_world_def_default();
    weir_world *world;
    def.checkpoint_every = -2;
    assert_int_equal(weir_world_create(&def, &world), WEIR_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_outlives_a_device_that_is_full),
        cmocka_unit_test(a_device_without_memory_is_told),
        cmocka_unit_test(a_device_that_is_lost_in_a_step_gives_the_checkpoint),
        cmocka_unit_test(a_device_that_is_lost_in_a_speculative_cycle_gives_the_checkpoint),
        cmocka_unit_test(a_device_that_is_lost_while_asked_gives_the_checkpoint),
        cmocka_unit_test(a_device_that_is_lost_behind_gives_the_checkpoint),
        cmocka_unit_test(a_device_with_a_mixture_that_is_lost_gives_the_checkpoint),
        cmocka_unit_test(without_checkpoints_a_lost_world_is_no_empty_one),
        cmocka_unit_test(a_checkpoint_is_of_the_state_that_was_loaded),
        cmocka_unit_test(a_checkpoint_within_a_background_step_is_of_its_update),
        cmocka_unit_test(checkpoints_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
