// Memory that runs out, at every place where it can. A failure must say so, lose no drop and no byte, and leave the world so
// that the same call, made again when there is memory, gives what it would have given at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <stdio.h>

// ---- A life ----------------------------------------------------------------------------------------------------------------

// A world's life in small pieces, each of which can be tried again.
typedef struct life {
    weir_solver solver;
    weir_backend backend;
    test_memory memory;
    weir_world *world;
    dye_options options;
    char path[64];
    int32_t reservoir;
    int32_t reached;     // updates that the world has finished
    const char *failed;  // the piece that did last
} life;

static weir_status begin(life *l)
{
    weir_world_def def = weir_world_def_default();
    def.solver = l->solver;
    def.backend = l->backend;
    def.threads = 1;
    def.change_threshold = 0.01f;
    def.allocator = test_memory_hooks(&l->memory);
    weir_status status = weir_world_create(&def, &l->world);
    if (status != WEIR_OK) assert_null(l->world);
    return status;
}

// Flow and rules of the game's own, which not every solver has.
static bool has_flow(const life *l)
{
    return (int)l->solver < TEST_FLOW_SOLVERS;
}

static weir_status add_dye(life *l)
{
    if (!has_flow(l)) return WEIR_OK;
    const weir_rule_def rule = dye_rule(&l->options);
    return weir_world_add_rule(l->world, &rule);
}

static weir_status build_ground(life *l)
{
    return weir_world_build(l->world, test_box(-2, -4, -2, 14, 0, 12), 255);
}

static weir_status build_ball(life *l)
{
    return weir_world_build_sphere(l->world, (weir_sphere){{12, 2, 4}, 2.5f}, 200);
}

static weir_status fill_box(life *l)
{
    return weir_world_fill(l->world, test_box(0, 0, 0, 7, 10, 7), WEIR_WATER, 1);
}

static weir_status fill_ball(life *l)
{
    return weir_world_fill_sphere(l->world, (weir_sphere){{4, 12, 4}, 3}, WEIR_WATER, 0.5f);
}

static weir_status set_dye(life *l)
{
    if (!has_flow(l)) return WEIR_OK;
    return weir_world_set_channel(l->world, test_box(0, 4, 0, 7, 10, 7), "dye", 1);
}

static weir_status push(life *l)
{
    if (!has_flow(l)) return WEIR_OK;
    return weir_world_set_flow(l->world, test_box(0, 0, 0, 10, 6, 10), (weir_vec){0.15f, 0, 0.1f});
}

static weir_status emit(life *l)
{
    return weir_world_add_emitter(l->world, test_box(17, 2, 2, 20, 5, 5), WEIR_WATER, 1.5f, NULL);
}

static weir_status hold(life *l)
{
    return weir_world_add_reservoir(l->world, test_box(20, 0, 0, 30, 12, 9), WEIR_WATER, 5.5, &l->reservoir);
}

static weir_status raise_level(life *l)
{
    return weir_world_set_level(l->world, l->reservoir, 9.25);
}

static weir_status step(life *l)
{
    weir_status status = weir_world_step(l->world);
    if (status == WEIR_OK) l->reached++;
    assert_int_equal(weir_world_stats(l->world).updates, l->reached);
    return status;
}

static weir_status step_behind(life *l)
{
    weir_status status = weir_world_step_begin(l->world);
    if (status != WEIR_OK) return status;
    assert_exact(l->world);
    status = weir_world_step_end(l->world);
    if (status == WEIR_OK) l->reached++;
    assert_int_equal(weir_world_stats(l->world).updates, l->reached);
    return status;
}

static weir_status dig(life *l)
{
    return weir_world_dig(l->world, test_box(3, -2, 3, 6, 0, 6));
}

static weir_status far_away(life *l)
{
    return weir_world_fill(l->world, test_box(200, 50, 200, 216, 58, 208), WEIR_WATER, 1);
}

static weir_status drain_far_away(life *l)
{
    return weir_world_drain(l->world, test_box(200, 0, 200, 240, 60, 220));
}

static weir_status save(life *l)
{
    return weir_world_save(l->world, l->path);
}

static weir_status load(life *l)
{
    return weir_world_load(l->world, l->path);
}

typedef struct piece {
    const char *name;
    weir_status (*run)(life *l);
} piece;

#define PIECE(name) \
    {               \
#name, name \
    }
static const piece PIECES[] = {
    PIECE(begin),       PIECE(add_dye),     PIECE(build_ground), PIECE(build_ball),  PIECE(fill_box),
    PIECE(fill_ball),   PIECE(emit),        PIECE(hold),         PIECE(set_dye),     PIECE(push),
    PIECE(step),        PIECE(step),        PIECE(dig),          PIECE(step),        PIECE(save),
    PIECE(raise_level), PIECE(step_behind), PIECE(far_away),     PIECE(step),        PIECE(step_behind),
    PIECE(load),        PIECE(step),        PIECE(far_away),     PIECE(step_behind), PIECE(drain_far_away),
    PIECE(step)};
enum { PIECE_COUNT = sizeof PIECES / sizeof PIECES[0] };

// Lives one life. Where a piece fails, memory comes back and the piece is tried again. Returns the hash at the end.
static uint64_t live(life *l, const char *what)
{
    int32_t saved = 0;
    for (int32_t i = 0; i < PIECE_COUNT; i++) {
        int64_t failures = l->memory.failures;
        weir_status status = PIECES[i].run(l);
        if (status != WEIR_OK) {
            l->failed = PIECES[i].name;
            if (status != WEIR_ERROR_MEMORY || l->memory.failures == failures)
                fail_msg("%s, piece %d (%s): %s", what, i, PIECES[i].name, weir_error_message());
            assert_true(strlen(weir_error_message()) > 0);
            if (l->world) assert_exact(l->world);
            l->memory.fail_at = 0;
            status = PIECES[i].run(l);
            if (status != WEIR_OK) fail_msg("%s, piece %d (%s) again: %s", what, i, PIECES[i].name, weir_error_message());
        }
        assert_exact(l->world);
        if (PIECES[i].run == save) saved = l->reached;
        if (PIECES[i].run == load) l->reached = saved;
    }
    uint64_t hash = weir_world_hash(l->world);
    weir_world_destroy(l->world);
    assert_int_equal(l->memory.bytes, 0);
    assert_int_equal(l->memory.blocks, 0);
    remove(l->path);
    return hash;
}

static life new_life(weir_solver solver, weir_backend backend, int64_t fail_at, bool fail_after)
{
    life l = {.solver = solver,
              .backend = backend,
              .memory = {.fail_at = fail_at, .fail_after = fail_after},
              .options = {.fading = 0.01f}};
    snprintf(l.path, sizeof l.path, "failures-%s-%d.weir", weir_solver_name(solver), (int)backend);
    return l;
}

// One failure in `stride` is tried: every single one in momentum, fewer where the places are the same or the build is slow.
static void try_every_failure(weir_solver solver, weir_backend backend, bool fail_after, int32_t stride)
{
    life whole = new_life(solver, backend, 0, false);
    uint64_t hash = live(&whole, "whole");
    if (backend != WEIR_BACKEND_CPU) {
        life on_cpu = new_life(solver, WEIR_BACKEND_CPU, 0, false);
        assert_true(live(&on_cpu, "on the CPU") == hash);
    }
    int32_t wrong = 0;
    for (int64_t n = 1; n <= whole.memory.calls; n += stride) {
        life l = new_life(solver, backend, n, fail_after);
        char what[64];
        snprintf(what, sizeof what, "%s, allocation %d of %d", weir_solver_name(solver), (int)n, (int)whole.memory.calls);
        uint64_t other = live(&l, what);
        assert_true(l.memory.failures > 0);
        if (other == hash) continue;
        print_message("%s: the world went on in another way after %s failed\n", what, l.failed);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

// The first two updates of a small world, in which a solver makes all that it has: every allocation of them, in every build, because
// builds with asserts look over the world also after an update that failed.
static void first_updates_survive_every_failure_of_one_allocation(void **state)
{
    static const weir_solver solvers[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC, WEIR_SOLVER_SETTLE, WEIR_SOLVER_MIXTURE,
                                          WEIR_SOLVER_MIXTURE};
    weir_device device;
    const bool opencl = weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK;
    for (int32_t s = 0; s < (opencl ? 5 : 4); s++) {
        uint64_t hash = 0;
        for (int64_t n = 0, failed = 1; n == 0 || failed > 0; n++) {
            test_memory memory_here = {0};
            weir_world_def def = test_def(solvers[s], 20, 20, 20);
            def.backend = s < 4 ? WEIR_BACKEND_CPU : WEIR_BACKEND_OPENCL;
            def.allocator = test_memory_hooks(&memory_here);
            def.threads = 1;
            weir_world *world = test_make(&def);
            test_fill(world, test_box(0, 0, 0, 12, 20, 20), 1);
            memory_here.fail_at = n > 0 ? memory_here.calls + n : 0;
            for (int32_t k = 0; k < 2; k++) {
                weir_status status = weir_world_step(world);
                if (status != WEIR_OK) status = weir_world_step(world);
                assert_ok(status);
            }
            if (n == 0) hash = weir_world_hash(world);
            assert_true(weir_world_hash(world) == hash);
            weir_world_destroy(world);
            assert_int_equal(memory_here.bytes, 0);
            failed = memory_here.failures;
        }
    }
}

static void momentum_survives_every_failure_of_one_allocation(void **state)
{
    try_every_failure(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, false, test_length(1, 41));
}

static void momentum_survives_memory_that_ends_anywhere(void **state)
{
    try_every_failure(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, true, test_length(5, 47));
}

static void classic_survives_every_failure_of_one_allocation(void **state)
{
    try_every_failure(WEIR_SOLVER_CLASSIC, WEIR_BACKEND_CPU, false, test_length(7, 59));
}

static void classic_survives_memory_that_ends_anywhere(void **state)
{
    try_every_failure(WEIR_SOLVER_CLASSIC, WEIR_BACKEND_CPU, true, test_length(11, 61));
}

static void settle_survives_every_failure_of_one_allocation(void **state)
{
    try_every_failure(WEIR_SOLVER_SETTLE, WEIR_BACKEND_CPU, false, test_length(1, 67));
}

static void settle_survives_memory_that_ends_anywhere(void **state)
{
    try_every_failure(WEIR_SOLVER_SETTLE, WEIR_BACKEND_CPU, true, test_length(3, 71));
}

static void need_opencl(void)
{
    weir_device device;
    if (weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK) return;
    print_message("skipped: %s\n", weir_error_message());
    skip();
}

static void opencl_survives_failures_of_one_allocation(void **state)
{
    need_opencl();
    try_every_failure(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_OPENCL, false, test_device_length(17, 131));
}

static void opencl_survives_memory_that_ends_anywhere(void **state)
{
    need_opencl();
    try_every_failure(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_OPENCL, true, test_device_length(41, 173));
}

static weir_world *make_fed(test_memory *memory)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    def.allocator = test_memory_hooks(memory);
    weir_world *world = test_make(&def);
    // The drain finds water at once; where the emitter pours there are no bricks yet.
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 8, 8, 8), 0.5f, NULL));
    assert_ok(weir_world_add_emitter(world, test_box(400, 0, 0, 420, 20, 20), WEIR_WATER, 100, NULL));
    return world;
}

// A step that fails must not pour in its emitters' water and then, tried again, pour it in twice: neither in this world, nor in
// one that goes on from a snapshot that was taken in between.
static void a_step_that_fails_can_be_made_again_and_pours_once(void **state)
{
    test_memory plenty = {0};
    weir_world *plain = make_fed(&plenty), *loaded = make_fed(&plenty);
    test_step(plain, 1);
    uint64_t right = weir_world_hash(plain);
    bool through = false;
    int64_t n = 1;
    for (; !through && n < 2000; n += test_length(1, 3)) {
        test_memory memory = {0};
        weir_world *world = make_fed(&memory);
        memory.fail_at = memory.calls + n;
        memory.fail_after = true;
        weir_status status = weir_world_step(world);
        through = status == WEIR_OK;
        memory.fail_at = 0;
        if (!through) {
            assert_int_equal(status, WEIR_ERROR_MEMORY);
            assert_int_equal(weir_world_stats(world).updates, 0);
            assert_exact(world);
            assert_ok(weir_world_save(world, "fed.weir"));
            assert_ok(weir_world_load(loaded, "fed.weir"));
            remove("fed.weir");
            test_step(world, 1);
            test_step(loaded, 1);
            if (weir_world_hash(loaded) != right) fail_msg("allocation %d of a step fails: a snapshot pours again", (int)n);
        }
        if (weir_world_hash(world) != right) fail_msg("allocation %d of a step fails: it goes on in another way", (int)n);
        weir_world_destroy(world);
        assert_int_equal(memory.bytes, 0);
    }
    assert_true(through && n > 4);
    weir_world_destroy(plain);
    weir_world_destroy(loaded);
    assert_int_equal(plenty.bytes, 0);
}

static weir_world *make_sleeper(weir_backend backend, test_memory *memory)
{
    weir_params params = weir_params_default();
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 64, 96, 16);
    params.momentum.sleep = 0.01f;
    def.params = &params;
    def.backend = backend;
    def.allocator = test_memory_hooks(memory);
    return test_make(&def);
}

// A lake that sleeps, once and for all: to come to rest takes it most of the time.
static void save_sleeping_lake(const char *path)
{
    test_memory memory = {0};
    weir_world *world = make_sleeper(WEIR_BACKEND_CPU, &memory);
    test_fill(world, test_box(0, 0, 0, 64, 12, 16), 1);
    for (int32_t i = 0; i < 300 && weir_world_stats(world).awake_bricks != 0; i += 10) test_step(world, 10);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_ok(weir_world_save(world, path));
    weir_world_destroy(world);
}

// The lake, and water that is put over a part of it: the next step wakes some bricks and needs memory.
static weir_world *make_woken(weir_backend backend, const char *path, test_memory *memory)
{
    weir_world *world = make_sleeper(backend, memory);
    assert_ok(weir_world_load(world, path));
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    test_fill(world, test_box(0, 14, 0, 16, 94, 16), 1);
    return world;
}

// What was planned of sleep in a step that fails is planned again.
static void try_to_wake(weir_backend backend, int32_t stride)
{
    const char *path = backend == WEIR_BACKEND_CPU ? "sleeping-cpu.weir" : "sleeping-opencl.weir";
    save_sleeping_lake(path);
    test_memory plenty = {0};
    weir_world *plain = make_woken(backend, path, &plenty);
    test_step(plain, 3);
    const uint64_t right = weir_world_hash(plain);
    assert_true(weir_world_stats(plain).awake_bricks < weir_world_stats(plain).bricks);
    weir_world_destroy(plain);
    bool through = false;
    int64_t n = 1;
    for (; !through && n < 2000; n += stride) {
        test_memory memory = {0};
        weir_world *world = make_woken(backend, path, &memory);
        memory.fail_at = memory.calls + n;
        memory.fail_after = true;
        through = weir_world_step(world) == WEIR_OK;
        memory.fail_at = 0;
        if (!through) assert_exact(world);
        test_step(world, through ? 2 : 3);
        if (weir_world_hash(world) != right) fail_msg("allocation %d of a step fails: sleepers go on in another way", (int)n);
        weir_world_destroy(world);
        assert_int_equal(memory.bytes, 0);
    }
    assert_true(through && n > 4);
    assert_int_equal(plenty.bytes, 0);
    remove(path);
}

static void sleepers_go_on_after_a_step_that_fails(void **state)
{
    try_to_wake(WEIR_BACKEND_CPU, test_length(1, 3));
}

static void sleepers_go_on_after_a_step_that_fails_on_opencl(void **state)
{
    need_opencl();
    try_to_wake(WEIR_BACKEND_OPENCL, test_device_length(3, 7));
}

// ---- Cost follows the action -----------------------------------------------------------------------------------------------

static weir_world *make_blob(weir_coord at)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(at.x, at.y, at.z, at.x + 16, at.y + 16, at.z + 16), 1);
    return world;
}

static void a_blob_costs_the_same_wherever_it_is(void **state)
{
    // 500 is 4 more than a whole number of bricks; the one near the origin lies in its bricks in the same way.
    weir_world *far = make_blob((weir_coord){1000000, 500, -1000000}), *near = make_blob((weir_coord){0, 4, 0});
    for (int32_t i = 0; i < test_length(60, 10); i++) {
        test_step(far, 1);
        test_step(near, 1);
        weir_stats a = weir_world_stats(far), b = weir_world_stats(near);
        assert_int_equal(a.bricks, b.bricks);
        assert_int_equal(a.cells_updated, b.cells_updated);
    }
    weir_stats a = weir_world_stats(far);
    if (a.peak_bytes >= 20 * 1000 * 1000) fail_msg("%lld bytes for 4096 cells of water", (long long)a.peak_bytes);
    assert_int_equal(weir_world_box_sum(far, test_box(999990, 450, -1000010, 1000026, 520, -999974)).drops, 4096LL * WEIR_FULL);
    assert_exact(far);
    weir_world_destroy(far);
    weir_world_destroy(near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_updates_survive_every_failure_of_one_allocation),
        cmocka_unit_test(momentum_survives_every_failure_of_one_allocation),
        cmocka_unit_test(momentum_survives_memory_that_ends_anywhere),
        cmocka_unit_test(classic_survives_every_failure_of_one_allocation),
        cmocka_unit_test(classic_survives_memory_that_ends_anywhere),
        cmocka_unit_test(settle_survives_every_failure_of_one_allocation),
        cmocka_unit_test(settle_survives_memory_that_ends_anywhere),
        cmocka_unit_test(opencl_survives_failures_of_one_allocation),
        cmocka_unit_test(opencl_survives_memory_that_ends_anywhere),
        cmocka_unit_test(a_step_that_fails_can_be_made_again_and_pours_once),
        cmocka_unit_test(sleepers_go_on_after_a_step_that_fails),
        cmocka_unit_test(sleepers_go_on_after_a_step_that_fails_on_opencl),
        cmocka_unit_test(a_blob_costs_the_same_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
