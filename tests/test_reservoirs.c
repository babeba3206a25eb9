// Reservoirs: water held at a level, giving and taking, with every solver; what settle makes of it for whole bodies, and momentum for sleep.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC, WEIR_SOLVER_SETTLE, WEIR_SOLVER_MIXTURE};

enum { SOLVER_COUNT = sizeof SOLVERS / sizeof SOLVERS[0] };

static weir_world *make(weir_solver solver, int32_t x, int32_t y, int32_t z)
{
    weir_world_def def = test_def(solver, x, y, z);
    return test_make(&def);
}

static int32_t add(weir_world *world, weir_box box, double level)
{
    int32_t id;
    assert_ok(weir_world_add_reservoir(world, box, WEIR_WATER, level, &id));
    return id;
}

static double cells_in(const weir_world *world, weir_box box)
{
    return (double)weir_world_box_sum(world, box).drops / WEIR_FULL;
}

static double cells_of(int64_t drops)
{
    return (double)drops / WEIR_FULL;
}

static void assert_near(double a, double b, double most)
{
    if (!(fabs(a - b) <= most)) fail_msg("%.9g is not within %g of %.9g", a, most, b);
}

// ---- Every solver ------------------------------------------------------------------------------------------------------------

static void reservoirs_are_listed_as_they_are(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        weir_world *world = make(SOLVERS[k], 32, 32, 32);
        weir_source list[2];
        const int32_t emitter = 1, id = 2;
        assert_ok(weir_world_add_emitter(world, test_box(1, 1, 1, 2, 2, 2), WEIR_WATER, 0.25f, NULL));
        assert_int_equal(add(world, test_box(-4, 0, 0, 8, 40, 8), 6.75), id);
        assert_int_equal(weir_world_sources(world, list, 2), 2);
        assert_true(list[1].id == id && list[1].kind == WEIR_SOURCE_RESERVOIR && list[1].material == WEIR_WATER);
        assert_true(list[1].level == 6.75 && list[1].rate == 0 && list[1].acceleration.x == 0 && list[0].level == 0);
        const weir_box box = test_box(0, 0, 0, 8, 32, 8);
        assert_memory_equal(&list[1].box, &box, sizeof box);
        const uint64_t hash = weir_world_hash(world);
        assert_ok(weir_world_set_level(world, id, 6.75));
        assert_true(weir_world_hash(world) == hash);
        assert_ok(weir_world_set_level(world, id, 7.0));
        assert_true(weir_world_hash(world) != hash);
        assert_near(cells_in(world, box), 7 * 64, 0);  // at once
        assert_ok(weir_world_move_source(world, id, test_box(8, 0, 0, 16, 32, 8)));
        assert_near(cells_in(world, test_box(8, 0, 0, 16, 32, 8)), 7 * 64, 0);
        assert_ok(weir_world_remove(world, id));
        assert_int_equal(weir_world_sources(world, list, 2), 1);
        assert_int_equal(list[0].id, emitter);
        test_step(world, 3);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void what_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        weir_world *world = make(SOLVERS[k], 32, 32, 32);
        const weir_box box = test_box(0, 0, 0, 8, 8, 8);
        const int32_t id = add(world, box, 5);
        int32_t emitter;
        assert_ok(weir_world_add_emitter(world, box, WEIR_WATER, 1, &emitter));
        const uint64_t hash = weir_world_hash(world);
        static const double levels[] = {NAN, INFINITY, -INFINITY, 1e10, -1e10};
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
            assert_int_equal(weir_world_add_reservoir(world, box, WEIR_WATER, levels[i], NULL), WEIR_ERROR_ARGUMENT);
            assert_int_equal(weir_world_set_level(world, id, levels[i]), WEIR_ERROR_ARGUMENT);
        }
        assert_int_equal(weir_world_add_reservoir(world, box, WEIR_NOTHING, 5, NULL), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_add_reservoir(world, test_box(0, 0, 0, 0, 1, 1), WEIR_WATER, 5, NULL), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_add_reservoir(world, test_box(40, 0, 0, 41, 1, 1), WEIR_WATER, 5, NULL),
                         WEIR_ERROR_OUTSIDE);
        assert_int_equal(weir_world_set_rate(world, id, 1), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_set_force(world, id, (weir_vec){0, 0, 0}), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_set_level(world, emitter, 1), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "an emitter"));
        assert_int_equal(weir_world_set_level(world, 99, 1), WEIR_ERROR_ARGUMENT);
        assert_true(weir_world_hash(world) == hash);
        weir_world_destroy(world);
    }
    weir_world_def def = weir_world_def_default();
    weir_world *world = test_make(&def);
    assert_int_equal(weir_world_add_reservoir(world, test_box(0, 0, 0, 257, 256, 256), WEIR_WATER, 5, NULL), WEIR_ERROR_LIMIT);
    weir_world_destroy(world);
}

// No more flow than in a lake that nobody holds.
static void a_held_lake_stands_still(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        const bool classic = SOLVERS[k] == WEIR_SOLVER_CLASSIC;  // whose water is pressed together by its weight, and quivers
        const weir_box whole = test_box(0, 0, 0, 24, 16, 24);
        weir_world *world = make(SOLVERS[k], 24, 16, 24), *lake = make(SOLVERS[k], 24, 16, 24);
        add(world, whole, 6.25);
        test_fill(lake, test_box(0, 0, 0, 24, 6, 24), 1);
        test_fill(lake, test_box(0, 6, 0, 24, 7, 24), 0.25f);
        test_step(world, classic ? test_length(400, 200) : test_length(60, 30));
        test_step(lake, classic ? test_length(400, 200) : test_length(60, 30));
        const double most = (double)weir_world_box_sum(lake, whole).max_flow;
        assert_true((double)weir_world_box_sum(world, whole).max_flow <= (classic ? 1.5 * most : 1e-4));
        assert_near(cells_in(world, whole), 6.25 * 576, classic ? 0.1 * 6.25 * 576 : 0.01);
        assert_near(weir_world_surface(world, 12, 12, 0, 16), 6.25, classic ? 1 : 1e-3);
        if (SOLVERS[k] == WEIR_SOLVER_SETTLE) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_exact(world);
        weir_world_destroy(world);
        weir_world_destroy(lake);
    }
}

static void what_is_poured_leaves_and_what_is_taken_comes_back(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        const bool classic = SOLVERS[k] == WEIR_SOLVER_CLASSIC;
        const weir_box whole = test_box(0, 0, 0, 16, 24, 16);
        weir_world *world = make(SOLVERS[k], 16, 24, 16);
        add(world, test_box(0, 0, 0, 16, 12, 16), 8);
        test_step(world, 20);
        const int64_t removed = weir_world_ledger(world).removed;
        test_fill(world, test_box(5, 14, 5, 9, 18, 9), 1);  // over the box
        test_step(world, 300);
        assert_true(cells_of(weir_world_ledger(world).removed - removed) > (classic ? 40 : 60));
        assert_near(cells_in(world, whole), 8 * 256, classic ? 200 : 4);
        const int64_t added = weir_world_ledger(world).added;
        assert_ok(weir_world_drain(world, test_box(2, 2, 2, 14, 8, 14)));
        test_step(world, 200);
        assert_true(cells_of(weir_world_ledger(world).added - added) > 800);
        assert_near(cells_in(world, whole), 8 * 256, classic ? 200 : 4);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void a_reservoir_fills_again_from_nothing_and_what_is_dug_in_it(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        weir_world *world = make(SOLVERS[k], 32, 32, 32);
        const weir_box basin = test_box(8, 8, 8, 24, 24, 24), whole = test_box(0, 0, 0, 32, 32, 32);
        assert_ok(weir_world_build(world, whole, 255));
        assert_ok(weir_world_dig(world, basin));
        add(world, whole, 16);
        assert_near(cells_in(world, whole), 8 * 256, 0);
        test_step(world, 5);
        assert_ok(weir_world_drain(world, whole));
        assert_near(cells_in(world, whole), 0, 0);
        test_step(world, 3);
        assert_true(cells_in(world, whole) >= 8 * 256);
        assert_ok(weir_world_dig(world, test_box(24, 8, 8, 32, 12, 16)));
        test_step(world, 20);
        assert_true(cells_in(world, whole) >= 8 * 256 + 256);
        assert_ok(weir_world_build(world, test_box(8, 8, 8, 24, 12, 24), 255));
        test_step(world, 20);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// A tank that is held on one side and emptied on the other, with things that happen: `resumed` is saved and loaded on the way.
static void play(weir_world *world, bool resumed)
{
    static uint8_t bytes[1 << 22];
    size_t size;
    assert_ok(weir_world_build(world, test_box(12, 0, 0, 14, 24, 24), 255));
    assert_ok(weir_world_dig(world, test_box(12, 2, 8, 14, 4, 10)));
    const int32_t id = add(world, test_box(0, 0, 0, 6, 24, 24), 12.5);
    add(world, test_box(30, 0, 0, 32, 24, 24), 3.25);
    for (int32_t n = 0; n < 60; n++) {
        if (n == 15) test_fill(world, test_box(2, 16, 2, 10, 20, 10), 1);
        if (n == 25) assert_ok(weir_world_set_level(world, id, 9.75));
        if (n == 35) assert_ok(weir_world_dig(world, test_box(12, 0, 0, 14, 20, 6)));
        if (n == 45) assert_ok(weir_world_move_source(world, id, test_box(0, 0, 12, 12, 24, 24)));
        if (n == 55) assert_ok(weir_world_remove(world, id));
        if (resumed && n % 20 == 10) {
            assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
            assert_ok(weir_world_load_memory(world, bytes, size));
        }
        assert_ok(weir_world_step(world));
    }
    assert_exact(world);
}

static void threads_widths_and_resuming_give_the_same_world(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        weir_world_def def = test_def(SOLVERS[k], 32, 24, 24);
        weir_world *plain = test_make(&def);
        play(plain, false);
        def.simd = WEIR_SIMD_SCALAR;
        def.threads = 3;
        weir_world *other = test_make(&def);
        play(other, true);
        assert_true(weir_world_hash(plain) == weir_world_hash(other));
        weir_world_destroy(plain);
        weir_world_destroy(other);
    }
}

static void edits_of_reservoirs_wait_for_a_background_step(void **state)
{
    for (int32_t k = 0; k < SOLVER_COUNT; k++) {
        weir_world *worlds[2];
        for (int32_t queued = 0; queued < 2; queued++) {
            weir_world *world = worlds[queued] = make(SOLVERS[k], 24, 24, 24);
            const int32_t first = add(world, test_box(0, 0, 0, 8, 24, 8), 4.5);
            test_step(world, 3);
            if (!queued) test_step(world, 1);
            if (queued) assert_ok(weir_world_step_begin(world));
            const int32_t second = add(world, test_box(8, 0, 0, 16, 24, 8), 7);
            assert_ok(weir_world_set_level(world, second, 8));
            assert_ok(weir_world_move_source(world, first, test_box(0, 0, 0, 8, 24, 12)));
            if (queued) assert_int_equal(weir_world_sources(world, NULL, 0), 1);
            if (queued) assert_ok(weir_world_step_end(world));
            test_step(world, 5);
            assert_exact(world);
        }
        assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[1]));
        weir_world_destroy(worlds[0]);
        weir_world_destroy(worlds[1]);
    }
}

// ---- Flow ------------------------------------------------------------------------------------------------------------------

// The hole of a tank that is held full: what runs out comes in by the ledger, as fast as Torricelli says.
static void a_held_tank_feeds_a_hole_as_fast_as_torricelli_says(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 48, 32, 16);
    def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN;
    weir_world *world = test_make(&def);
    const int32_t depth = 20, low = 4, high = 8;
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 18, 1, 16), 255));
    assert_ok(weir_world_build(world, test_box(16, 0, 0, 18, 32, 16), 255));
    add(world, test_box(0, 0, 0, 12, 32, 16), low + depth);
    test_fill(world, test_box(12, 1, 0, 16, low + depth, 16), 1);
    assert_ok(weir_world_dig(world, test_box(16, low, 6, 18, high, 10)));
    test_step(world, test_length(300, 150));
    const weir_ledger before = weir_world_ledger(world);
    double speed = 0;
    const int32_t updates = test_length(200, 40);
    for (int32_t n = 0; n < updates; n++) {
        assert_ok(weir_world_step(world));
        speed += (double)weir_world_mean_flow(world, test_box(17, low, 6, 18, high, 10)).x / updates;
    }
    const weir_ledger after = weir_world_ledger(world);
    const double theory = sqrt(2 * 0.01 * (depth - 0.5 * (high - low)));
    if (!(speed > 0.85 * theory && speed < 1.05 * theory)) fail_msg("%g, and Torricelli says %g", speed, theory);
    const double given = cells_of(after.added - before.added) - cells_of(after.removed - before.removed);
    assert_near(given, cells_of(after.drained - before.drained), 0.1 * given);
    assert_near(weir_world_surface(world, 6, 8, 0, 32), low + depth, 0.1);
    assert_exact(world);
    weir_world_destroy(world);
}

static void the_level_lies_along_gravity(void **state)
{
    static const weir_vec gravities[] = {{0.01f, 0, 0}, {-0.01f, 0, 0}, {0, 0, 0.01f}, {0, 0.01f, 0}, {0, 0, 0}};
    const weir_box whole = test_box(0, 0, 0, 16, 16, 16);
    for (size_t i = 0; i < sizeof gravities / sizeof gravities[0]; i++) {
        weir_params params = weir_params_default();
        params.gravity = gravities[i];
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
        def.params = &params;
        weir_world *world = test_make(&def);
        add(world, whole, 5.5);
        test_step(world, 10);
        const weir_vec g = gravities[i];
        const bool from_top = g.x > 0 || g.y > 0 || g.z > 0;
        assert_near(cells_in(world, whole), 256 * (from_top ? 10.5 : 5.5), 0.01);
        const weir_coord at = {g.x != 0 ? 5 : 1, g.x == 0 && g.z == 0 ? 5 : 1, g.z != 0 ? 5 : 1};
        assert_near((double)weir_world_cell(world, at).fill, 0.5, 1e-3);
        weir_world_destroy(world);
    }
}

static void a_held_lake_sleeps_and_does_not_creep_under_a_trickle(void **state)
{
    weir_params params = weir_params_default();
    params.momentum.sleep = 0.01f;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 96, 16, 32);
    def.params = &params;
    const weir_box whole = test_box(0, 0, 0, 96, 16, 32);
    weir_world *world = test_make(&def);
    const int32_t id = add(world, test_box(0, 0, 0, 8, 16, 8), 9.5);
    test_fill(world, test_box(0, 0, 0, 96, 9, 32), 1);
    test_fill(world, test_box(0, 9, 0, 96, 10, 32), 0.5f);
    test_step(world, 250);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    const double before = cells_in(world, whole);
    int32_t tap;
    assert_ok(weir_world_add_emitter(world, test_box(80, 10, 20, 82, 11, 22), WEIR_WATER, 0.5f, &tap));
    test_step(world, test_length(2000, 300));
    assert_true(weir_world_stats(world).awake_bricks > 0 &&
                weir_world_stats(world).awake_bricks < weir_world_stats(world).bricks);
    // Of 1000 cells or 150: the water that is awake around the trickle stands by a fiftieth of a cell higher in the end.
    assert_true(cells_in(world, whole) - before < test_length(100, 40));
    assert_ok(weir_world_remove(world, tap));
    assert_ok(weir_world_remove(world, id));
    assert_exact(world);
    weir_world_destroy(world);
}

// ---- Bodies of settle ------------------------------------------------------------------------------------------------------

static weir_world *make_ocean(int32_t *id, double level)
{
    weir_world *world = make(WEIR_SOLVER_SETTLE, 96, 32, 48);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 96, 4, 48), 255));
    assert_ok(weir_world_build(world, test_box(48, 0, 0, 96, 24, 48), 255));
    test_fill(world, test_box(0, 4, 0, 48, 16, 48), 1);
    test_step(world, 30);
    *id = add(world, test_box(0, 8, 0, 2, 9, 2), level);  // a few cells under water
    test_step(world, 30);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    return world;
}

static const weir_box SEA = {{0, 0, 0}, {48, 32, 48}};

static void assert_sea(const weir_world *world, double level)
{
    assert_near(cells_in(world, SEA), (level - 4) * 48 * 48, 0);
    assert_near(weir_world_surface(world, 24, 24, 0, 32), level, 1e-6);
}

static void a_small_box_holds_a_whole_ocean(void **state)
{
    int32_t id;
    weir_world *world = make_ocean(&id, 16);
    assert_sea(world, 16);
    static const double levels[] = {17.5, 20, 20.25, 9.75, 16};  // up and down through layers and bricks
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        assert_ok(weir_world_set_level(world, id, levels[i]));
        test_step(world, 40);
        assert_sea(world, levels[i]);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    }
    // A bucket leaves by the ledger.
    const int64_t removed = weir_world_ledger(world).removed;
    test_fill(world, test_box(30, 24, 30, 34, 28, 34), 1);
    test_step(world, 60);
    assert_sea(world, 16);
    assert_int_equal(weir_world_ledger(world).removed - removed, (int64_t)64 * WEIR_FULL);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_exact(world);
    // And without the reservoir it is a lake like any other.
    assert_ok(weir_world_remove(world, id));
    test_fill(world, test_box(30, 24, 30, 34, 28, 34), 1);
    test_step(world, 60);
    assert_near(cells_in(world, SEA), 12 * 48 * 48 + 64, 48.0 * 48 / 16384);  // less than a unit per cell is in none
    assert_exact(world);
    weir_world_destroy(world);
}

static void a_canal_fills_and_does_not_lower_the_ocean(void **state)
{
    static const double levels[] = {16, 15.25};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        int32_t id;
        weir_world *world = make_ocean(&id, levels[i]);
        const weir_box basin = test_box(64, 8, 16, 72, 24, 28);
        assert_ok(weir_world_dig(world, basin));
        assert_ok(weir_world_dig(world, test_box(48, 10, 20, 64, 24, 24)));
        for (int32_t n = 0; n < 1500; n++) {
            assert_ok(weir_world_step(world));
            if (n % 50 == 0) assert_near(weir_world_surface(world, 10, 24, 0, 32), levels[i], 1e-6);
        }
        assert_near(weir_world_surface(world, 68, 22, 0, 32), levels[i], 1e-6);
        assert_near(cells_in(world, basin), (levels[i] - 8) * 8 * 12, 0);
        assert_near(cells_in(world, SEA), (levels[i] - 4) * 48 * 48, 0);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void a_hole_in_the_floor_drains_for_ever_at_a_bounded_cost(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 64, 32, 64);
    def.open_sides = WEIR_SIDE_Y_MIN;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 64, 10, 64), 255));
    add(world, test_box(0, 10, 0, 2, 32, 2), 20.5);
    test_fill(world, test_box(0, 10, 0, 64, 20, 64), 1);
    test_step(world, 40);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_ok(weir_world_dig(world, test_box(30, 0, 30, 32, 10, 32)));
    test_step(world, 50);
    const int64_t drained = weir_world_ledger(world).drained;
    int32_t awake = 0;
    for (int32_t n = 0; n < 200; n++) {
        assert_ok(weir_world_step(world));
        if (weir_world_stats(world).awake_bricks > awake) awake = weir_world_stats(world).awake_bricks;
    }
    assert_true(weir_world_ledger(world).drained - drained > (int64_t)100 * WEIR_FULL);
    assert_true(awake > 0 && awake < 60);
    assert_near(weir_world_surface(world, 10, 10, 0, 32), 20.5, 1e-6);
    assert_exact(world);
    weir_world_destroy(world);
}

static void of_two_reservoirs_the_first_holds_a_body(void **state)
{
    int32_t id;
    weir_world *world = make_ocean(&id, 16);
    const int32_t second = add(world, test_box(40, 6, 40, 44, 7, 44), 18);
    test_step(world, 20);
    assert_sea(world, 16);
    assert_ok(weir_world_remove(world, id));
    assert_ok(weir_world_set_level(world, second, 18.5));
    test_step(world, 60);
    assert_sea(world, 18.5);
    // A dam: what lies behind it is nobody's.
    assert_ok(weir_world_build(world, test_box(20, 0, 0, 22, 32, 48), 255));
    test_step(world, 20);
    test_fill(world, test_box(4, 24, 4, 8, 28, 8), 1);
    test_fill(world, test_box(34, 24, 4, 38, 28, 8), 1);
    test_step(world, 60);
    assert_true(weir_world_surface(world, 10, 10, 0, 32) > 18.5 + 64.0 / (20 * 48) - 1e-3);
    assert_near(weir_world_surface(world, 40, 10, 0, 32), 18.5, 1e-6);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_exact(world);
    weir_world_destroy(world);
}

// Shores of every share, and a level in the midst of them: nothing is lost, and it rests.
static void a_shore_of_partly_solid_cells_is_held_too(void **state)
{
    for (int32_t low = 0; low < 2; low++) {
        weir_world *world = make(WEIR_SOLVER_SETTLE, 32, 24, 32);
        const weir_box whole = test_box(0, 0, 0, 32, 24, 32);
        for (int32_t x = 0; x < 32; x++) {
            assert_ok(weir_world_build(world, test_box(x, 0, 0, x + 1, 4 + x / 4, 32), 255));
            const uint8_t share = (uint8_t)(low ? 255 - x : 60 * (x % 4));
            if (share) assert_ok(weir_world_build(world, test_box(x, 4 + x / 4, 0, x + 1, 5 + x / 4, 32), share));
        }
        const int32_t id = add(world, test_box(0, 0, 0, 4, 24, 4), 8.01);
        test_fill(world, test_box(0, 0, 0, 16, 8, 32), 1);
        for (int32_t n = 0; n < 6; n++) {
            assert_ok(weir_world_set_level(world, id, 5.3 + 1.17 * n));
            test_step(world, 150);
            assert_int_equal(weir_world_stats(world).awake_bricks, 0);
            assert_exact(world);
        }
        assert_true(cells_in(world, whole) > 0);
        assert_ok(weir_world_set_level(world, id, -3));
        test_step(world, 150);
        assert_near(cells_in(world, test_box(0, 0, 0, 4, 24, 4)), 0, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reservoirs_are_listed_as_they_are),
        cmocka_unit_test(what_makes_no_sense_is_refused_and_changes_nothing),
        cmocka_unit_test(a_held_lake_stands_still),
        cmocka_unit_test(what_is_poured_leaves_and_what_is_taken_comes_back),
        cmocka_unit_test(a_reservoir_fills_again_from_nothing_and_what_is_dug_in_it),
        cmocka_unit_test(threads_widths_and_resuming_give_the_same_world),
        cmocka_unit_test(edits_of_reservoirs_wait_for_a_background_step),
        cmocka_unit_test(a_held_tank_feeds_a_hole_as_fast_as_torricelli_says),
        cmocka_unit_test(the_level_lies_along_gravity),
        cmocka_unit_test(a_held_lake_sleeps_and_does_not_creep_under_a_trickle),
        cmocka_unit_test(a_small_box_holds_a_whole_ocean),
        cmocka_unit_test(a_canal_fills_and_does_not_lower_the_ocean),
        cmocka_unit_test(a_hole_in_the_floor_drains_for_ever_at_a_bounded_cost),
        cmocka_unit_test(of_two_reservoirs_the_first_holds_a_body),
        cmocka_unit_test(a_shore_of_partly_solid_cells_is_held_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
