// Air under water, of the momentum solver: pockets keep their gas and press back, water hangs together, and both to the last unit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"  // before there is a type of the name memory

#include "solvers/momentum/momentum.h"
#include "test_cells.h"
#include "test_files.h"
#include "test_world.h"
#include <math.h>

// A box of walls but for its top.
static weir_world_def def_of(weir_params *params, int32_t x, int32_t y, int32_t z, float air)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, x, y, z);
    *params = weir_params_default();
    params->momentum.air = air;
    def.params = params;
    def.open_sides = WEIR_SIDE_Y_MAX;
    return def;
}

static weir_world *make(int32_t x, int32_t y, int32_t z, float air)
{
    weir_params params;
    const weir_world_def def = def_of(&params, x, y, z, air);
    return test_make(&def);
}

static void build(weir_world *world, weir_box box)
{
    assert_ok(weir_world_build(world, box, 255));
}

static void dig(weir_world *world, weir_box box)
{
    assert_ok(weir_world_dig(world, box));
}

static double cells_in(const weir_world *world, weir_box box)
{
    return (double)weir_world_box_sum(world, box).drops / WEIR_FULL;
}

static double pressure_at(const weir_world *world, int32_t x, int32_t y, int32_t z)
{
    return (double)weir_world_cell(world, (weir_coord){x, y, z}).pressure;
}

static void assert_near(double a, double b, double most)
{
    if (!(fabs(a - b) <= most)) fail_msg("%.9g is not within %g of %.9g", a, most, b);
}

// All gas that is in cells, in drops at the density of the open air.
static int64_t gas_in(const weir_world *world)
{
    const brick_pool *pool = test_pool(world);
    int64_t held = 0;
    bricks_fetch_all(pool);
    for (int32_t b = 1; b < pool->end; b++)
        for (int32_t i = 0; pool->alive[b] && i < BRICK_CELLS; i++) {
            const int32_t gas = bricks_ints(pool, CHANNEL_GAS, b)[i];
            held += gas > 0 ? gas - 1 : 0;
        }
    return held;
}

// ---- Bells and bottles -----------------------------------------------------------------------------------------------------

static void a_bell_keeps_its_air_by_the_gas_law(void **state)
{
    (void)state;
    scene_run *run = test_open("divingbell", WEIR_SOLVER_MOMENTUM, test_length(32, 16), 0);
    assert_int_equal(scene_updates(run, test_length(1000, 400)), WEIR_OK);
    const double exact = scene_probe(run, "level_exact");
    assert_near(scene_probe(run, "level"), exact, 0.02 * exact);
    assert_near(scene_probe(run, "gas_law"), 1, 0.02);
    assert_exact(run->world);
    // All of its gas was there from the beginning.
    const int32_t u = run->size / 16;
    assert_int_equal(gas_in(run->world), (int64_t)WEIR_FULL * 6 * u * 6 * u * 8 * u);
    scene_close(run);
}

// A bottle of 8 x 16 x 8 in a block under water, with an opening four cells wide in its floor or its roof.
static weir_world *bottle(bool on_top)
{
    weir_world *world = make(24, 40, 24, 1);
    const int32_t y = on_top ? 0 : 4;
    build(world, test_box(on_top ? 0 : 6, y, on_top ? 0 : 6, on_top ? 24 : 18, y + 20, on_top ? 24 : 18));
    dig(world, test_box(8, y + 2, 8, 16, y + 18, 16));
    dig(world, on_top ? test_box(10, 18, 10, 14, 20, 14) : test_box(10, y, 10, 14, y + 2, 14));
    if (!on_top) {
        test_fill(world, test_box(0, 0, 0, 24, y, 24), 1);
        test_fill(world, test_box(0, y, 0, 6, 30, 24), 1);
        test_fill(world, test_box(18, y, 0, 24, 30, 24), 1);
        test_fill(world, test_box(6, y, 0, 18, 30, 6), 1);
        test_fill(world, test_box(6, y, 18, 18, 30, 24), 1);
    }
    test_fill(world, test_box(0, y + 20, 0, 24, 30, 24), 1);
    return world;
}

static void a_bottle_with_its_opening_below_does_not_fill(void **state)
{
    (void)state;
    weir_world *world = bottle(false);
    const weir_box inside = test_box(8, 6, 8, 16, 22, 16), neck = test_box(10, 4, 10, 14, 6, 14);
    test_step(world, test_length(600, 200));
    const double air = 1024 + 32 - cells_in(world, inside) - cells_in(world, neck);
    // Air of 1056 cells, under some 24 cells of water.
    assert_near((1 + pressure_at(world, 12, 21, 12)) * air / 1056, 1, 0.02);
    assert_true(air > 1056 / 1.3);
    assert_int_equal(gas_in(world), (int64_t)WEIR_FULL * 1056);
    assert_exact(world);
    weir_world_destroy(world);
}

// Water comes in and air goes out in turns.
static void a_bottle_with_its_opening_on_top_glugs_until_it_is_full(void **state)
{
    (void)state;
    weir_world *world = bottle(true);
    const weir_box inside = test_box(8, 2, 8, 16, 18, 16);
    double before = 0;
    int32_t turns = 0;
    for (int32_t k = 0; k < test_length(1000, 60); k++) {
        test_step(world, 1);
        const double now = pressure_at(world, 8, 17, 8);
        turns += now < before - 0.02;
        before = now;
    }
#ifndef WEIR_DEBUG_BUILD
    assert_true(turns > 3);
    assert_near(cells_in(world, inside), 1024, 1);
    assert_near(pressure_at(world, 8, 17, 8), 0.11, 0.02);  // and the water in it stands
#else
    assert_true(cells_in(world, inside) > 10);
#endif
    assert_exact(world);
    weir_world_destroy(world);
}

// An emitter in a room without a way out: the air in it is pressed together, by the gas law.
static void what_is_poured_into_a_sealed_room_presses_its_air(void **state)
{
    (void)state;
    weir_world *world = make(16, 24, 16, 1);
    const weir_box room = test_box(4, 4, 4, 12, 12, 12);
    build(world, test_box(2, 2, 2, 14, 14, 14));
    dig(world, room);
    assert_ok(weir_world_add_emitter(world, test_box(7, 10, 7, 9, 11, 9), WEIR_WATER, 1.0f, NULL));
    // And a tap over its roof, from which nothing comes in.
    assert_ok(weir_world_add_emitter(world, test_box(7, 20, 7, 9, 21, 9), WEIR_WATER, 1.0f, NULL));
    test_step(world, 2);
    const int64_t gas = gas_in(world);
    assert_near((double)gas / WEIR_FULL, 512 - 2, 0);
    for (int32_t k = 1; k <= 3; k++) {
        test_step(world, 100);
        const double water = cells_in(world, room);
        assert_near(water, 100 * k, 0.25 * 100 * k);
        assert_near(1 + pressure_at(world, 4, 11, 4), 510 / (512 - water), 0.02 * 510 / (512 - water));
        assert_int_equal(gas_in(world), gas);
    }
    assert_exact(world);
    weir_world_destroy(world);
}

// The air of a cave that no water is near is followed through it.
static void a_cave_of_many_dry_bricks_is_a_pocket(void **state)
{
    (void)state;
    weir_world *world = make(80, 48, 48, 1);
    const weir_box cave = test_box(4, 4, 4, 76, 36, 36);
    build(world, test_box(0, 0, 0, 80, 40, 48));
    dig(world, cave);
    test_fill(world, test_box(4, 4, 4, 12, 20, 12), 1);
    const double volume = 72 * 32 * 32, water = 8 * 16 * 8;
    test_step(world, 3);
    assert_near(pressure_at(world, 70, 30, 30), 0, 1e-4);
    test_fill(world, test_box(40, 4, 4, 76, 20, 36), 1);
    const double more = 36 * 16 * 32;
    test_step(world, 20);
    assert_near(1 + pressure_at(world, 70, 34, 30), (volume - water) / (volume - water - more), 0.01);
    assert_int_equal(gas_in(world), (int64_t)WEIR_FULL * (int64_t)(volume - water));
    // A hole in its roof lets the air out.
    dig(world, test_box(10, 36, 10, 12, 40, 12));
    test_step(world, 2);
    assert_near(pressure_at(world, 70, 34, 30), 0, 0);
    test_step(world, 1);
    assert_int_equal(gas_in(world), 0);
    assert_exact(world);
    weir_world_destroy(world);
}

// ---- Water that hangs together ---------------------------------------------------------------------------------------------

static double apart_after(float air, int32_t updates)
{
    scene_options options = scene_options_default();
    const scene_setting setting = {"air", (double)air};
    options.size = 16;
    options.updates = updates;
    options.settings = &setting;
    options.setting_count = 1;
    options.def.threads = 1;
    scene_run *run;
    assert_int_equal(scene_open(scene_find("siphon"), &options, &run), WEIR_OK);
    assert_int_equal(scene_updates(run, updates), WEIR_OK);
    assert_exact(run->world);
    const double apart = scene_probe(run, "apart");
    scene_close(run);
    return apart;
}

static void a_siphon_runs_until_its_levels_are_the_same(void **state)
{
    (void)state;
    const double begun = 10 - 3;
    assert_near(apart_after(1, test_length(3000, 150)), 0, test_length(1, 0) ? 0.15 : 5.5);
    // Nothing is drawn up over the rim in a vacuum, or by air that presses less than the water there weighs.
    assert_true(apart_after(0, test_length(1000, 50)) > 0.9 * begun);
    assert_true(apart_after(0.02f, test_length(1000, 50)) > 0.8 * begun);
}

static void water_hangs_in_a_bottle_over_its_basin(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 2; k++) {
        weir_world *world = make(24, 32, 24, k == 0 ? 1.0f : 0.0f);
        build(world, test_box(6, 4, 6, 18, 28, 18));
        dig(world, test_box(8, 4, 8, 16, 26, 16));
        test_fill(world, test_box(0, 0, 0, 24, 8, 24), 1);
        test_fill(world, test_box(8, 8, 8, 16, 26, 16), 1);
        test_step(world, test_length(400, 60));
        const double left = cells_in(world, test_box(8, 8, 8, 16, 26, 16)) / (8 * 18 * 8);
        if (k == 0) assert_near(left, 1, 0.01);
        if (k == 0) assert_near(pressure_at(world, 12, 25, 12), -0.17, 0.02);
        if (k == 1) assert_true(left < 0.95);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Sleep -----------------------------------------------------------------------------------------------------------------

static scene_run *open_with_sleep(const char *name)
{
    scene_options options = scene_options_default();
    const scene_setting setting = {"sleep", 0.01};
    options.size = 16;
    options.settings = &setting;
    options.setting_count = 1;
    options.def.threads = 1;
    scene_run *run;
    assert_int_equal(scene_open(scene_find(name), &options, &run), WEIR_OK);
    return run;
}

static bool is_asleep(const weir_world *world)
{
    return weir_world_stats(world).awake_bricks == 0;
}

// All of it, when all is quiet; and all of it wakes when something is done to it.
static void water_under_air_falls_asleep_and_wakes_as_a_whole(void **state)
{
    (void)state;
    static const char *const scenes[] = {"divingbell", "siphon"};
    if (test_length(1, 0) == 0) skip();  // thousands of updates
    for (int32_t k = 0; k < 2; k++) {
        scene_run *run = open_with_sleep(scenes[k]);
        for (int32_t n = 0; n < 10000 && !is_asleep(run->world); n++) assert_int_equal(scene_update(run), WEIR_OK);
        assert_true(is_asleep(run->world));
        const int64_t gas = gas_in(run->world);
        test_step(run->world, 10);
        assert_true(is_asleep(run->world));
        if (k == 0) {
            assert_near(scene_probe(run, "gas_law"), 1, 0.01);
            // A hole in the bell's roof lets the air out. No water lies beside it from within.
            dig(run->world, test_box(8, 11, 6, 10, 12, 8));
            test_step(run->world, 1);
            assert_false(is_asleep(run->world));
            test_step(run->world, 300);
            assert_true(gas_in(run->world) < gas / 2);
            assert_true(scene_probe(run, "level") > 6);
        } else {
            assert_near(scene_probe(run, "apart"), 0, 0.05);
        }
        assert_exact(run->world);
        scene_close(run);
    }
}

// ---- State -----------------------------------------------------------------------------------------------------------------

static void a_world_with_air_goes_on_from_a_file_as_it_would_have(void **state)
{
    (void)state;
    const char *file = test_path(".weir");
    weir_world *world = bottle(true);
    test_step(world, 40);
    assert_ok(weir_world_save(world, file));
    weir_world *other = make(24, 40, 24, 1);
    assert_ok(weir_world_load(other, file));
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    for (int32_t k = 0; k < 20; k++) {
        test_step(world, 1);
        test_step(other, 1);
        assert_true(weir_world_hash(other) == weir_world_hash(world));
    }
    weir_world_destroy(other);
    // A world without air has nowhere to put the gas.
    other = make(24, 40, 24, 0);
    const uint64_t hash = weir_world_hash(other);
    assert_int_equal(weir_world_load(other, file), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "made without air"));
    assert_true(weir_world_hash(other) == hash);
    weir_world_destroy(other);
    weir_world_destroy(world);
    remove(file);
}

static void air_comes_with_a_world_or_not_at_all(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 2; k++) {
        weir_world *world = make(16, 16, 16, k == 0 ? 0.0f : 1.0f);
        weir_params params = weir_world_params(world);
        params.momentum.air = k == 0 ? 1.0f : 0.0f;
        assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "the parameter air cannot become"));
        params.momentum.air = k == 0 ? 0.0f : 2.0f;
        assert_ok(weir_world_set_params(world, &params));
        weir_world_destroy(world);
    }
}

// A reservoir that has run dry, or whose bricks were all terrain, is filled anew where air has a pressure too.
static void a_reservoir_fills_again_under_air(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 2; k++) {
        weir_world *world = make(32, 16, 32, 1.0f);
        const weir_box whole = test_box(0, 0, 0, 32, 16, 32);
        if (k == 1) build(world, whole);
        assert_ok(weir_world_add_reservoir(world, whole, WEIR_WATER, 8, NULL));
        test_step(world, 5);
        assert_ok(k == 0 ? weir_world_drain(world, whole) : weir_world_dig(world, whole));
        test_step(world, 2);
        assert_near(cells_in(world, whole), 8 * 32 * 32, 8);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// A part of a world that leaves takes the gas in it along, and brings it back.
static void a_region_takes_its_gas_along(void **state)
{
    (void)state;
    weir_world *world = bottle(false);
    test_step(world, 100);
    const weir_box half = test_box(0, 0, 0, 24, 40, 16);
    const uint64_t hash = weir_world_hash(world);
    const int64_t gas = gas_in(world);
    const size_t room = 1 << 24;
    size_t size;
    void *bytes = malloc(room);
    assert_non_null(bytes);
    assert_ok(weir_world_unload(world, half, bytes, room, &size));
    assert_true(gas_in(world) < gas);
    assert_ok(weir_world_load_region(world, bytes, size));
    assert_true(weir_world_hash(world) == hash);
    assert_int_equal(gas_in(world), gas);
    // The same when it is gone for some updates: what is left of the pocket is one by itself.
    assert_ok(weir_world_unload(world, half, bytes, room, &size));
    test_step(world, 5);
    assert_ok(weir_world_load_region(world, bytes, size));
    test_step(world, 5);
    assert_int_equal(gas_in(world), gas);
    assert_exact(world);
    free(bytes);
    weir_world_destroy(world);
}

// To the bit, about the origin.
static void mirrored_worlds_mirror(void **state)
{
    (void)state;
    weir_world *worlds[2];
    for (int32_t k = 0; k < 2; k++) {
        weir_params params;
        weir_world_def def = def_of(&params, 0, 0, 0, 1);
        def.bounds = test_box(-24, 0, -24, 24, 40, 24);
        worlds[k] = test_make(&def);
#define SIDE(x0, y0, z0, x1, y1, z1) (k == 0 ? test_box(x0, y0, z0, x1, y1, z1) : test_box(-(x1), y0, z0, -(x0), y1, z1))
        build(worlds[k], SIDE(-20, 6, -10, 5, 26, 10));
        dig(worlds[k], SIDE(-18, 6, -8, 3, 24, 8));
        build(worlds[k], SIDE(-8, 14, -8, -6, 24, 8));
        test_fill(worlds[k], SIDE(-24, 0, -24, 24, 6, 24), 1);
        test_fill(worlds[k], SIDE(5, 6, -24, 24, 36, 24), 1);
        test_fill(worlds[k], SIDE(-24, 6, 10, 5, 36, 24), 1);
    }
    for (int32_t n = 0; n < test_length(80, 12); n++) {
        test_step(worlds[0], 1);
        test_step(worlds[1], 1);
    }
    const weir_box all = test_box(-24, 0, -24, 24, 40, 24);
    float *one = test_fills(worlds[0], all), *other = test_fills(worlds[1], all);
    for (int32_t z = 0; z < 48; z++)
        for (int32_t y = 0; y < 40; y++)
            for (int32_t x = 0; x < 48; x++) assert_true(one[x + 48 * (y + 40 * z)] == other[47 - x + 48 * (y + 40 * z)]);
    free(one);
    free(other);
    weir_world_destroy(worlds[0]);
    weir_world_destroy(worlds[1]);
}

// What fails for want of memory is tried again.
#define AGAIN(call) \
    for (weir_status status; (status = (call)) != WEIR_OK;) assert_int_equal(status, WEIR_ERROR_MEMORY)

static uint64_t life_of_a_cave(test_memory *state)
{
    weir_params params;
    weir_world_def def = def_of(&params, 80, 24, 40, 1);
    weir_world *world;
    def.allocator = test_memory_hooks(state);
    AGAIN(weir_world_create(&def, &world));
    AGAIN(weir_world_build(world, test_box(0, 0, 0, 80, 24, 40), 255));
    AGAIN(weir_world_dig(world, test_box(4, 4, 4, 76, 20, 36)));
    AGAIN(weir_world_fill(world, test_box(4, 4, 4, 8, 8, 8), WEIR_WATER, 1));
    for (int32_t k = 0; k < 3; k++) AGAIN(weir_world_step(world));
    assert_exact(world);
    const uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    assert_int_equal(state->bytes, 0);
    return hash;
}

static void want_of_memory_changes_nothing(void **state)
{
    (void)state;
    test_memory counts = {0};
    const uint64_t hash = life_of_a_cave(&counts);
    const int64_t calls = counts.calls;
    for (int64_t k = 1; k <= calls; k += test_length(1, 7)) {
        counts = (test_memory){.fail_at = k};
        if (life_of_a_cave(&counts) != hash)
            fail_msg("another world when allocation %lld of %lld fails", (long long)k, (long long)calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bell_keeps_its_air_by_the_gas_law),
        cmocka_unit_test(a_bottle_with_its_opening_below_does_not_fill),
        cmocka_unit_test(a_bottle_with_its_opening_on_top_glugs_until_it_is_full),
        cmocka_unit_test(what_is_poured_into_a_sealed_room_presses_its_air),
        cmocka_unit_test(a_cave_of_many_dry_bricks_is_a_pocket),
        cmocka_unit_test(a_siphon_runs_until_its_levels_are_the_same),
        cmocka_unit_test(water_hangs_in_a_bottle_over_its_basin),
        cmocka_unit_test(water_under_air_falls_asleep_and_wakes_as_a_whole),
        cmocka_unit_test(a_world_with_air_goes_on_from_a_file_as_it_would_have),
        cmocka_unit_test(air_comes_with_a_world_or_not_at_all),
        cmocka_unit_test(a_reservoir_fills_again_under_air),
        cmocka_unit_test(a_region_takes_its_gas_along),
        cmocka_unit_test(mirrored_worlds_mirror),
        cmocka_unit_test(want_of_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
