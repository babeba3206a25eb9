// Gas on the momentum automaton: what it does against theory, what it keeps, and what its worlds refuse. That every path gives the bits of the
// plain reading is for test_worlds.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_files.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

#define GAS_MOST 3.984375f

static weir_world *make_gas(int32_t x, int32_t y, int32_t z, float k, float gravity, float damping)
{
    static weir_params params;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, x, y, z);
    params = weir_params_default();
    params.gravity = (weir_vec){0, -gravity, 0};
    params.momentum.gas = k;
    params.momentum.damping = damping;
    params.momentum.damping_flow = 0;  // all flow loses alike
    def.params = &params;
    return test_make(&def);
}

static void fill(weir_world *world, weir_box box, float amount)
{
    assert_ok(weir_world_fill(world, box, weir_world_fluid(world), amount));
}

static float fill_at(const weir_world *world, int32_t x, int32_t y, int32_t z)
{
    return weir_world_cell(world, (weir_coord){x, y, z}).fill;
}

static void assert_near(const char *what, double value, double right, double tolerance)
{
    print_message("    %s: %.6g (%.6g within %.2g)\n", what, value, right, tolerance);
    if (!(fabs(value - right) <= tolerance)) fail_msg("%s is %.9g; it must be %g within %g", what, value, right, tolerance);
}

// Small waves: fill and flow step in turn, so a wave of number K turns by 2 asin(sqrt(k) sin(K/2)) in an update. The chamber's lowest tone has K =
// pi/size, at which the speed is within a thousandth of sqrt(k). What is left is what the swing's own height does, a quarter of a percent squared, and
// damping, which is as little.
static void sound_runs_as_fast_as_the_law_says(void **state)
{
    scene_run *run = test_open("burst", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, 84));
    const double k = 0.2, number = acos(-1.0) / run->size;
    const double theory = 2 * asin(sqrt(k) * sin(number / 2)) / number;
    assert_near("theory", theory, sqrt(k), 0.001 * sqrt(k));
    assert_near("sound_speed", scene_probe(run, "sound_speed"), theory, 0.003 * theory);
    assert_exact(run->world);
    scene_close(run);
}

// What a wall between gas of two fills lets go, isothermal: fill behind the shock over that before it.
static double riemann_ratio(double all)
{
    double low = 1, high = all;
    for (int32_t i = 0; i < 60; i++) {
        const double r = 0.5 * (low + high);
        *(log(all / r) > (r - 1) / sqrt(r) ? &low : &high) = r;
    }
    return low;
}

// Where fill passes the mean of what is before and behind the shock.
static double front_of(const weir_world *world, int32_t length, float mean)
{
    int32_t x = length - 1;
    while (x > 0 && fill_at(world, x, 0, 0) < mean) x--;
    const float behind = fill_at(world, x, 0, 0), before = fill_at(world, x + 1, 0, 0);
    return x + (double)((behind - mean) / (behind - before));
}

// The front is two cells broad, so its place is known to a cell at both ends of its way. Behind it stand the fill and the flow
// of the two jumps: they carry mass and momentum exactly, and errors of the start stay at the place of the wall.
static void check_burst(float high, float low, float k)
{
    enum { LENGTH = 320, WALL = 100, BEGIN = 60, END = 220 };
    weir_world *world = make_gas(LENGTH, 1, 1, k, 0, 0);
    fill(world, test_box(0, 0, 0, WALL, 1, 1), high);
    fill(world, test_box(WALL, 0, 0, LENGTH, 1, 1), low);
    const double ratio = riemann_ratio((double)high / (double)low), sound = sqrt((double)k);
    const double speed = sound * sqrt(ratio), flow = sound * (ratio - 1) / sqrt(ratio);
    const float behind = low * (float)ratio, mean = 0.5f * (low + behind);
    test_step(world, BEGIN);
    const double begun = front_of(world, LENGTH, mean);
    test_step(world, END - BEGIN);
    const double way = front_of(world, LENGTH, mean) - begun;
    print_message("  %g against %g, k = %g\n", (double)high, (double)low, (double)k);
    assert_near("speed of the shock", way / (END - BEGIN), speed, 2 * speed / way);
    const int32_t middle = WALL + (int32_t)(0.5 * (flow + speed) * END);
    assert_near("fill behind it", (double)fill_at(world, middle, 0, 0), (double)behind, 0.01 * (double)behind);
    assert_near("flow behind it", (double)weir_world_cell(world, (weir_coord){middle, 0, 0}).flow.x, flow, 0.01 * flow);
    assert_exact(world);
    weir_world_destroy(world);
}

static void shocks_run_as_riemann_has_them(void **state)
{
    check_burst(1.2f, 1.0f, 0.1f);
    check_burst(3.0f, 1.0f, 0.05f);
    check_burst(3.0f, 0.25f, 0.1f);
    check_burst(3.0f, 0.0625f, 0.1f);
}

// At rest 2 k (n - n')/(n + n') = g between a cell and the one above it.
static void gas_thins_upwards_as_the_law_says(void **state)
{
    weir_world *world = make_gas(2, 24, 2, 0.2f, 0.01f, 0.05f);
    fill(world, test_box(0, 0, 0, 2, 24, 2), 1.0f);
    test_step(world, 3000);
    const double half = 0.01 / 0.4, ratio = (1 - half) / (1 + half);
    for (int32_t y = 1; y < 24; y++) {
        const double found = (double)fill_at(world, 0, y, 0) / (double)fill_at(world, 0, y - 1, 0);
        if (fabs(found - ratio) > 1e-4) fail_msg("at %d there is %.6f of what is below, and should be %.6f", y, found, ratio);
    }
    assert_exact(world);
    weir_world_destroy(world);
}

// It goes round corners, and the same is everywhere in the end: what swings to and fro is lost by damping.
static void gas_fills_what_it_is_in(void **state)
{
    weir_world *world = make_gas(20, 20, 20, 0.2f, 0, 0.02f);
    assert_ok(weir_world_build(world, test_box(8, 0, 0, 12, 15, 20), 255));
    assert_ok(weir_world_build(world, test_box(12, 10, 0, 16, 12, 20), 255));
    fill(world, test_box(0, 0, 0, 8, 6, 20), 3.5f);
    test_step(world, test_length(1500, 400));
    const weir_box all = test_box(0, 0, 0, 20, 20, 20);
    const weir_box_sum sum = weir_world_box_sum(world, all);
    float *fills = test_fills(world, all);
    for (int32_t i = 0; i < 8000; i++) {
        if (fills[i] == 0) continue;  // terrain
        if (fabsf(fills[i] - sum.mean_fill) > 0.01f) fail_msg("a cell holds %g of %g", (double)fills[i], (double)sum.mean_fill);
    }
    free(fills);
    assert_exact(world);
    weir_world_destroy(world);
}

static void no_cell_holds_more_than_can_be_counted(void **state)
{
    weir_world *world = make_gas(8, 8, 8, 0.001f, 0.5f, 0);
    fill(world, test_box(0, 0, 0, 8, 8, 8), 3.0f);
    assert_ok(weir_world_add_emitter(world, test_box(3, 3, 3, 5, 5, 5), weir_world_fluid(world), 40.0f, NULL));
    for (int32_t i = 0; i < 60; i++) {
        test_step(world, 1);
        assert_true(weir_world_box_sum(world, test_box(0, 0, 0, 8, 8, 8)).max_fill <= GAS_MOST);
        assert_exact(world);
    }
    weir_world_destroy(world);
}

static void open_sides_take_it(void **state)
{
    static weir_params params;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 12, 8, 8);
    params = weir_params_default();
    params.momentum.gas = 0.1f;
    def.params = &params;
    def.open_sides = WEIR_SIDE_X_MAX;
    weir_world *world = test_make(&def);
    fill(world, test_box(0, 0, 0, 12, 8, 8), 2.0f);
    test_step(world, 300);
    const weir_ledger ledger = weir_world_material_ledger(world, weir_world_fluid(world));
    assert_true(ledger.drained > ledger.added * 9 / 10);
    assert_exact(world);
    weir_world_destroy(world);
}

// Bit by bit, in each axis that is mirrored.
static void mirrored_worlds_stay_mirrored(void **state)
{
    enum { N = 20 };
    weir_world *worlds[2];
    for (int32_t w = 0; w < 2; w++) {
        worlds[w] = make_gas(N, N, N, 0.15f, 0.01f, 0.001f);
        const int32_t a = w == 0 ? 3 : N - 9, b = w == 0 ? 11 : N - 12;
        fill(worlds[w], test_box(a, 2, 4, a + 6, 9, 17), 3.7f);
        fill(worlds[w], test_box(0, 12, 0, N, N, N), 0.02f);
        assert_ok(weir_world_build(worlds[w], test_box(b, 0, 0, b + 1, 14, 12), 255));
    }
    for (int32_t i = 0; i < 60; i++) {
        for (int32_t w = 0; w < 2; w++) test_step(worlds[w], 1);
        for (int32_t z = 0; z < N; z++)
            for (int32_t y = 0; y < N; y++)
                for (int32_t x = 0; x < N; x++) {
                    const weir_cell l = weir_world_cell(worlds[0], (weir_coord){x, y, z});
                    const weir_cell r = weir_world_cell(worlds[1], (weir_coord){N - 1 - x, y, z});
                    assert_true(l.fill == r.fill && l.flow.x == -r.flow.x && l.flow.y == r.flow.y && l.flow.z == r.flow.z);
                }
    }
    for (int32_t w = 0; w < 2; w++) weir_world_destroy(worlds[w]);
}

static void a_world_of_gas_holds_no_water(void **state)
{
    weir_world *world = make_gas(8, 8, 8, 0.1f, 0, 0);
    assert_int_equal(weir_world_fluid(world), WEIR_SMOKE);
    assert_int_equal(weir_world_fill(world, test_box(0, 0, 0, 4, 4, 4), WEIR_WATER, 1), WEIR_ERROR_UNSUPPORTED);
    assert_string_equal(weir_error_message(), "a world of momentum cannot hold water");
    assert_int_equal(weir_world_fill(world, test_box(0, 0, 0, 4, 4, 4), WEIR_SMOKE, 3.99f), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "fill is 3.99; it must be a number from 0 to 3.98438");
    fill(world, test_box(0, 0, 0, 4, 4, 4), GAS_MOST);
    assert_int_equal(weir_world_cell(world, (weir_coord){1, 1, 1}).material, WEIR_SMOKE);
    assert_exact(world);
    // Water does not turn into gas because a parameter does.
    weir_params params = weir_world_params(world);
    params.momentum.gas = 0;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_UNSUPPORTED);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 8, 8, 8)));
    assert_ok(weir_world_set_params(world, &params));
    assert_int_equal(weir_world_fluid(world), WEIR_WATER);
    assert_ok(weir_world_fill(world, test_box(0, 0, 0, 4, 4, 4), WEIR_WATER, 1));
    test_step(world, 5);
    assert_exact(world);
    params.momentum.gas = 0.1f;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_UNSUPPORTED);
    weir_world_destroy(world);
}

// What a part of a world holds is what it is in that world: water does not come back as a gas, nor into air that presses.
static void a_region_comes_back_to_a_world_of_its_kind(void **state)
{
    enum { KINDS = 3 };
    static const char *const names[KINDS] = {"momentum", "momentum with gas", "momentum with air"};
    static uint8_t bytes[KINDS][1 << 20];
    const weir_box part = test_box(0, 0, 0, 8, 8, 8);
    weir_world *worlds[KINDS];
    size_t size[KINDS];
    for (int32_t i = 0; i < KINDS; i++) {
        weir_params params = weir_params_default();
        params.momentum.gas = i == 1 ? 0.1f : 0;
        params.momentum.air = i == 2 ? 1.0f : 0;
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 8, 8);
        def.params = &params;
        worlds[i] = test_make(&def);
        fill(worlds[i], test_box(0, 0, 0, 12, 4, 8), 1);
        assert_ok(weir_world_unload(worlds[i], part, bytes[i], sizeof bytes[i], &size[i]));
    }
    for (int32_t i = 0; i < KINDS; i++) {
        for (int32_t from = 0; from < KINDS; from++) {
            if (from == i) continue;
            char wanted[128];
            snprintf(wanted, sizeof wanted, "the region is of a %s world, and this one is %s", names[from], names[i]);
            assert_int_equal(weir_world_load_region(worlds[i], bytes[from], size[from]), WEIR_ERROR_ARGUMENT);
            assert_string_equal(weir_error_message(), wanted);
        }
        assert_ok(weir_world_load_region(worlds[i], bytes[i], size[i]));
        assert_exact(worlds[i]);
        weir_world_destroy(worlds[i]);
    }
}

// Some values fit alone and not together, others would become 0 in a substep.
static void parameters_that_make_no_gas_are_refused(void **state)
{
    weir_params params = weir_params_default();
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    def.params = &params;
    weir_world *world = make_gas(8, 8, 8, 0.1f, 0, 0), *none;
    params.momentum.gas = 1e-9f;
    assert_int_equal(weir_world_create(&def, &none), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "gas is 1e-09; it must be 0 or from 1e-06 on");
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_ARGUMENT);
    params.momentum.gas = 0.1f;
    params.momentum.air = 1;
    assert_int_equal(weir_world_create(&def, &none), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(),
                        "the parameters gas and air are both above 0: a world of gas has no water that traps air");
    weir_world_destroy(world);
}

// Its parameters come with a snapshot, and with them what it is of.
static void a_world_of_gas_goes_on_in_one_that_was_of_water(void **state)
{
    const char *file = test_path(".weir");
    weir_world *world = make_gas(16, 8, 8, 0.2f, 0, 0.001f);
    fill(world, test_box(0, 0, 0, 5, 8, 8), 3.0f);
    assert_ok(weir_world_add_emitter(world, test_box(9, 3, 3, 10, 5, 5), WEIR_SMOKE, 0.3f, NULL));
    test_step(world, 12);
    assert_ok(weir_world_save(world, file));
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    weir_world *other = test_make(&def);
    assert_ok(weir_world_load(other, file));
    remove(file);
    assert_int_equal(weir_world_fluid(other), WEIR_SMOKE);
    assert_int_equal(weir_world_hash(other), weir_world_hash(world));
    test_step(world, 12);
    test_step(other, 12);
    assert_int_equal(weir_world_hash(other), weir_world_hash(world));
    assert_exact(other);
    assert_int_equal(weir_world_material_ledger(other, WEIR_SMOKE).drift, 0);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// Sleep is for water: what a gas does when it is still is to press.
static void gas_does_not_sleep(void **state)
{
    weir_world *world = make_gas(8, 8, 8, 0.1f, 0.01f, 0.001f);
    weir_params params = weir_world_params(world);
    params.momentum.sleep = 1;
    assert_ok(weir_world_set_params(world, &params));
    fill(world, test_box(0, 0, 0, 8, 8, 8), 1.0f);
    test_step(world, 200);
    assert_int_equal(weir_world_stats(world).awake_bricks, weir_world_stats(world).bricks);
    assert_exact(world);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_runs_as_fast_as_the_law_says),
        cmocka_unit_test(shocks_run_as_riemann_has_them),
        cmocka_unit_test(gas_thins_upwards_as_the_law_says),
        cmocka_unit_test(gas_fills_what_it_is_in),
        cmocka_unit_test(no_cell_holds_more_than_can_be_counted),
        cmocka_unit_test(open_sides_take_it),
        cmocka_unit_test(mirrored_worlds_stay_mirrored),
        cmocka_unit_test(a_world_of_gas_holds_no_water),
        cmocka_unit_test(a_region_comes_back_to_a_world_of_its_kind),
        cmocka_unit_test(parameters_that_make_no_gas_are_refused),
        cmocka_unit_test(a_world_of_gas_goes_on_in_one_that_was_of_water),
        cmocka_unit_test(gas_does_not_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
