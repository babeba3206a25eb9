// Physics by numbers: what the scenes' probes measure, against theory and experiment (docs/how-it-works.md). Slow builds
// leave out what takes long; the bits are the same there, which test_determinism.c makes sure of.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>
#include <stdio.h>

#ifdef WEIR_DEBUG_BUILD
#define SKIP_IN_SLOW_BUILDS() skip()
#else
#define SKIP_IN_SLOW_BUILDS() (void)0
#endif

static void assert_near(const char *what, double value, double right, double tolerance)
{
    print_message("    %s: %.6g (%.6g)\n", what, value, right);
    if (!(fabs(value - right) <= tolerance)) fail_msg("%s is %.9g; it must be %g within %g", what, value, right, tolerance);
}

static void assert_below(const char *what, double value, double limit)
{
    print_message("    %s: %.6g (below %g)\n", what, value, limit);
    if (!(value < limit)) fail_msg("%s is %.9g; it must be below %g", what, value, limit);
}

static void assert_between(const char *what, double value, double least, double most)
{
    print_message("    %s: %.6g (%g to %g)\n", what, value, least, most);
    if (!(value >= least && value <= most)) fail_msg("%s is %.9g; it must be from %g to %g", what, value, least, most);
}

// ---- Momentum --------------------------------------------------------------------------------------------------------------

// Potential flow, and Martin and Moyce's experiment of 1952, whose own runs scatter by about a tenth (docs/testing.md).
static void a_collapsing_column_runs_as_in_theory_and_experiment(void **state)
{
    scene_run *run = test_open("column", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, 110));
    // Their column was let go by a diaphragm that took its time, which tells most at the beginning.
    assert_near("front_2", scene_probe(run, "front_2"), 1.72, 0.12 * 1.72);
    assert_near("front_3", scene_probe(run, "front_3"), 2.55, 0.255);
    assert_near("front_4", scene_probe(run, "front_4"), 3.25, 0.325);
    // Without a diaphragm and without friction.
    assert_near("front_2", scene_probe(run, "front_2"), 1.472, 0.06 * 1.472);
    assert_near("front_3", scene_probe(run, "front_3"), 2.275, 0.06 * 2.275);
    assert_near("front_4", scene_probe(run, "front_4"), 2.959, 0.06 * 2.959);
    assert_exact(run->world);
    scene_close(run);
}

// Torricelli: speeds are as the roots of the depths, most of the speed is there, and never more than all of it.
static void water_shoots_from_holes_as_torricelli_says(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("damhole", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, run->planned));
    double low = scene_probe(run, "torricelli_low"), high = scene_probe(run, "torricelli_high");
    assert_between("torricelli_low", low, 0.92, 1.02);
    assert_between("torricelli_high", high, 0.92, 1.02);
    assert_near("torricelli_low / torricelli_high", low / high, 1, 0.05);
    assert_near("speed_low", scene_probe(run, "speed_low"), low * sqrt(2 * 0.01 * scene_probe(run, "depth_low")), 1e-6);
    scene_close(run);
}

// Bernoulli: no jet rises above the level that feeds it. What it loses on its way is not to be more than this.
static void a_fountain_rises_no_higher_than_the_basin_that_feeds_it(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("fountain", WEIR_SOLVER_MOMENTUM, 0, 600);
    assert_ok(scene_updates(run, run->planned));
    assert_between("speed_share", scene_probe(run, "speed_share"), 0.9, 1.02);
    assert_between("rise_share", scene_probe(run, "rise_share"), 0.7, 1.02);
    assert_near("rise", scene_probe(run, "rise"), scene_probe(run, "rise_share") * scene_probe(run, "head"), 1e-6);
    assert_exact(run->world);
    scene_close(run);
}

static void a_standing_wave_has_the_period_of_linear_theory(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("slosh", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, 900));
    double theory = scene_probe(run, "period_theory");
    assert_near("period", scene_probe(run, "period"), theory, 0.02 * theory);
    scene_close(run);
}

// At this height, ka = 0.31, a standing wave in deep water is slower than linear theory says by (ka)^2 / 8, which is 1.2 %.
static void a_wave_in_deep_water_keeps_its_period_and_most_of_its_height(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("wave", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, run->planned));
    double theory = scene_probe(run, "period_theory");
    assert_near("period", scene_probe(run, "period"), theory, 0.02 * theory);
    assert_between("kept", scene_probe(run, "kept"), 0.82, 1);
    scene_close(run);

    // Half as long, and with nothing lost on purpose.
    const scene_setting undamped = {"damping", 0};
    scene_options options = scene_options_default();
    options.size = 32;
    options.def.threads = 1;
    options.settings = &undamped;
    options.setting_count = 1;
    assert_ok(scene_open(scene_find("wave"), &options, &run));
    assert_ok(scene_updates(run, 850));
    theory = scene_probe(run, "period_theory");
    assert_near("period without damping", scene_probe(run, "period"), theory, 0.02 * theory);
    assert_between("kept without damping", scene_probe(run, "kept"), 0.9, 1);
    scene_close(run);
}

// Archimedes. Over T updates the mean lift is off the weight by no more than the change of speed over g T: with a bobbing of 0.05 cells per
// update that is 2 * 0.05 / (0.01 * 600), 0.017 of it. As much again is for the waves under a raft, whose level is taken at its centre.
static void rafts_float_as_deep_as_they_are_dense(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("raft", WEIR_SOLVER_MOMENTUM, 32, 1200);
    assert_ok(scene_updates(run, run->planned));
    assert_near("draught_light", scene_probe(run, "draught_light"), 1, 0.034);
    assert_near("draught_middle", scene_probe(run, "draught_middle"), 1, 0.034);
    assert_near("draught_heavy", scene_probe(run, "draught_heavy"), 1, 0.034);
    assert_between("tilt", scene_probe(run, "tilt"), 1, 45);  // tossed about, and not turned over
    assert_exact(run->world);
    scene_close(run);
}

// The ground under a lake must not stir it, however shallow its shores are.
static void a_lake_with_an_island_stays_level(void **state)
{
    scene_run *run = test_open("lake", WEIR_SOLVER_MOMENTUM, 32, test_length(400, 40));
    assert_ok(scene_updates(run, run->planned));
    assert_below("level_spread", scene_probe(run, "level_spread"), 0.1);
    assert_below("max_flow", scene_probe(run, "max_flow"), 0.01);
    assert_between("changed_bricks", scene_probe(run, "changed_bricks"), 0, weir_world_stats(run->world).bricks);
    assert_exact(run->world);
    scene_close(run);
}

// A spill thins as it spreads, and all of it stays in the lowest layers. A quarter of it goes each way, to the drop; what sleeping water is
// owed lies in no cell, so it stays awake here.
static void a_spill_stays_on_the_floor_and_spreads_evenly(void **state)
{
    const scene_setting awake = {"sleep", 0};
    scene_options options = scene_options_default();
    options.updates = test_length(300, 60);
    options.def.threads = 1;
    options.settings = &awake;
    options.setting_count = 1;
    scene_run *run;
    assert_ok(scene_open(scene_find("puddle"), &options, &run));
    assert_ok(scene_updates(run, run->planned));
    assert_true(scene_volume(run, scene_box(-160, 160, 0, 4, -160, 160)) == 64);
    assert_below("wet_cells", scene_probe(run, "wet_cells"), 10000);
    assert_below("bricks", scene_probe(run, "bricks"), 600);
    assert_below("max_flow", scene_probe(run, "max_flow"), 0.2);
    assert_near("film", scene_probe(run, "film"), 64 / scene_probe(run, "wet_cells"), 1e-9);
    assert_true(scene_volume(run, scene_box(0, 160, 0, 4, 0, 160)) == 16);
    assert_exact(run->world);
    scene_close(run);
}

static void a_pool_64_deep_rests_and_is_not_compressed(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("pool", WEIR_SOLVER_MOMENTUM, 64, 2000);
    assert_ok(scene_updates(run, 2000));
    float *fills = test_fills(run->world, weir_world_bounds(run->world));
    double excess = 0;
    int32_t wet = 0;
    for (int32_t i = 0; i < 16 * 70 * 16; i++) {
        if (fills[i] > 1) excess += fills[i] - 1.0;
        wet += fills[i] > 0;
    }
    free(fills);
    assert_below("mean excess", excess / wet, 1e-5);
    assert_below("level_spread", scene_probe(run, "level_spread"), 0.01);
    assert_below("max_flow", scene_probe(run, "max_flow"), 1e-4);
    scene_close(run);
}

static void water_levels_through_a_tube_and_swings_as_it_does(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("tube", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, run->planned));
    assert_near("difference of levels", scene_probe(run, "level_left") - scene_probe(run, "level_right"), 0, 0.05);
    print_message("    swings: %g\n", scene_probe(run, "swings"));
    assert_true(scene_probe(run, "swings") >= 3);
    assert_exact(run->world);
    scene_close(run);
}

static void a_falling_cube_stays_whole_and_falls_like_a_stone(void **state)
{
    scene_run *run = test_open("fall", WEIR_SOLVER_MOMENTUM, 0, 0);
    assert_ok(scene_updates(run, 80));
    assert_near("speed after 80 updates", scene_probe(run, "speed"), 0.8, 0.008);
    assert_ok(scene_updates(run, 40));
    assert_below("height after 120 updates", scene_probe(run, "height"), 11.5);
    assert_exact(run->world);
    scene_close(run);
}

// ---- Classic ---------------------------------------------------------------------------------------------------------------

// Mean over the second half of 2000 updates of the largest excess in a pool, in percent.
static double pool_excess(int32_t height, int32_t iterations)
{
    enum { WIDTH = 8, UPDATES = 2000 };
    weir_params params = weir_params_default();
    params.gravity.y = -0.002f;
    params.classic.iterations = iterations;
    weir_world_def def = test_def(WEIR_SOLVER_CLASSIC, WIDTH, height + 6, WIDTH);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, WIDTH, height, WIDTH), 1);
    double sum = 0;
    for (int32_t i = 1; i <= UPDATES; i++) {
        test_step(world, 1);
        if (i > UPDATES / 2 && i % 10 == 0) sum += weir_world_box_sum(world, weir_world_bounds(world)).max_fill - 1;
    }
    assert_exact(world);
    weir_world_destroy(world);
    return 100 * sum / (UPDATES / 20);
}

// The thesis's Figure 7, in the numbers of docs/how-it-works.md.
static void classic_compresses_a_pool_as_the_thesis_says(void **state)
{
    const int32_t heights[] = {8, 16, 32, 64}, iterations[] = {4, 8, 16};
    const double table[4][3] = {{1.8, 0.87, 0.41}, {4.2, 2.1, 1.0}, {8.7, 4.5, 2.2}, {17.4, 9.0, 4.5}};
    for (int32_t h = 0; h < test_length(4, 1); h++) {
        for (int32_t k = 0; k < test_length(3, 1); k++) {
            char what[64];
            snprintf(what, sizeof what, "excess at height %d, K %d, in percent", heights[h], iterations[k]);
            assert_near(what, pool_excess(heights[h], iterations[k]), table[h][k], 0.15 * table[h][k]);
        }
    }
}

static void classic_gets_stuck_in_a_tube(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("tube", WEIR_SOLVER_CLASSIC, 0, 4000);
    assert_ok(scene_updates(run, 4000));
    // It comes back once and stays where it is, nearly a cell from level.
    assert_near("difference of levels", scene_probe(run, "level_left") - scene_probe(run, "level_right"), 0.91, 0.1);
    assert_true(scene_probe(run, "swings") <= 2);
    scene_close(run);
}

// Its flow is held to 1/3, and half of that is its speed.
static void classic_falls_at_a_sixth_of_a_cell_per_update(void **state)
{
    scene_run *run = test_open("fall", WEIR_SOLVER_CLASSIC, 0, 0);
    assert_ok(scene_updates(run, 80));
    double fallen = scene_probe(run, "fallen");
    assert_near("speed", scene_probe(run, "speed"), 1.0 / 6, 0.005);
    assert_ok(scene_updates(run, 20));
    assert_near("fallen in one update", (scene_probe(run, "fallen") - fallen) / 20, 1.0 / 6, 0.005);
    scene_close(run);
}

static void classic_shoots_from_all_holes_alike(void **state)
{
    SKIP_IN_SLOW_BUILDS();
    scene_run *run = test_open("damhole", WEIR_SOLVER_CLASSIC, 0, 0);
    assert_ok(scene_updates(run, run->planned));
    assert_near("speed_low / speed_high", scene_probe(run, "speed_low") / scene_probe(run, "speed_high"), 1, 0.05);
    scene_close(run);
}

// ---- Abuse -----------------------------------------------------------------------------------------------------------------

enum { EDGE = 20 };

static float random_part(scene_random *random, float most)
{
    return most * (float)scene_random_between(random, -1024, 1024) / 1024;
}

static void soil(weir_world *world, scene_random *random, float max_flow)
{
    for (int32_t z = 0; z < EDGE; z++) {
        for (int32_t y = 0; y < EDGE; y++) {
            for (int32_t x = 0; x < EDGE; x++) {
                weir_box cell = test_box(x, y, z, x + 1, y + 1, z + 1);
                int32_t kind = scene_random_between(random, 0, 9);
                if (kind < 2) assert_ok(weir_world_build(world, cell, 255));
                if (kind < 5) continue;
                test_fill(world, cell, fabsf(random_part(random, 1)));
                weir_vec flow = {random_part(random, max_flow), random_part(random, max_flow), random_part(random, max_flow)};
                assert_ok(weir_world_set_flow(world, cell, flow));
            }
        }
    }
}

static void abuse(weir_solver solver, weir_vec gravity, uint32_t seed)
{
    weir_params params = weir_params_default();
    params.gravity = gravity;
    weir_world_def def = test_def(solver, EDGE, EDGE, EDGE);
    def.params = &params;
    weir_world *world = test_make(&def);
    scene_random random = scene_random_seeded(seed);
    soil(world, &random, solver == WEIR_SOLVER_CLASSIC ? 1.0f / 6 : 1.0f);
    float least = 0, most = 0;
    for (int32_t i = 0; i < test_length(60, 10); i++) {
        test_step(world, 1);
        assert_exact(world);
        float *fills = test_fills(world, weir_world_bounds(world));
        for (int32_t k = 0; k < EDGE * EDGE * EDGE; k++) {
            assert_true(isfinite(fills[k]));
            least = fminf(least, fills[k]);
            most = fmaxf(most, fills[k]);
        }
        free(fills);
        weir_box_sum sum = weir_world_box_sum(world, weir_world_bounds(world));
        assert_true(sum.max_flow <= 8 && isfinite(sum.max_pressure));
        assert_true(isfinite(sum.mean_flow.x) && isfinite(sum.mean_flow.y) && isfinite(sum.mean_flow.z));
    }
    print_message("    %s, gravity (%g, %g, %g): fills from %g to %g\n", weir_solver_name(solver), (double)gravity.x,
                  (double)gravity.y, (double)gravity.z, (double)least, (double)most);
    assert_true(least >= 0);
    if (solver == WEIR_SOLVER_MOMENTUM) assert_true(most <= 4);
    weir_world_destroy(world);
}

// Much dust that falls under strong gravity must not push a cell past the four fills up to which drops are exact.
static void much_dust_keeps_the_account(void **state)
{
    const scene_setting settings[] = {{"dust", 0.1}, {"gravity", 1}, {"gravity.x", 1}};
    scene_options options = scene_options_default();
    options.size = 24;
    options.settings = settings;
    options.setting_count = 3;
    scene_run *run;
    assert_ok(scene_open(scene_find("watercube"), &options, &run));
    for (int32_t i = 0; i < test_length(250, 60); i++) {
        assert_ok(scene_update(run));
        assert_true(weir_world_box_sum(run->world, weir_world_bounds(run->world)).max_fill < 4);
    }
    assert_exact(run->world);
    scene_close(run);
}

static void no_abuse_makes_nonsense(void **state)
{
    const weir_vec gravity[] = {{0, 0, 0}, {0, -0.01f, 0}, {0, -0.1f, 0}, {0, -1, 0}, {1, 0, 0}, {-0.3f, 0.2f, 0.7f}};
    for (int32_t i = 0; i < test_length(6, 3); i++) {
        abuse(WEIR_SOLVER_MOMENTUM, gravity[i], 17 + (uint32_t)i);
        abuse(WEIR_SOLVER_CLASSIC, gravity[i], 17 + (uint32_t)i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collapsing_column_runs_as_in_theory_and_experiment),
        cmocka_unit_test(water_shoots_from_holes_as_torricelli_says),
        cmocka_unit_test(a_fountain_rises_no_higher_than_the_basin_that_feeds_it),
        cmocka_unit_test(a_standing_wave_has_the_period_of_linear_theory),
        cmocka_unit_test(a_wave_in_deep_water_keeps_its_period_and_most_of_its_height),
        cmocka_unit_test(rafts_float_as_deep_as_they_are_dense),
        cmocka_unit_test(a_lake_with_an_island_stays_level),
        cmocka_unit_test(a_spill_stays_on_the_floor_and_spreads_evenly),
        cmocka_unit_test(a_pool_64_deep_rests_and_is_not_compressed),
        cmocka_unit_test(water_levels_through_a_tube_and_swings_as_it_does),
        cmocka_unit_test(a_falling_cube_stays_whole_and_falls_like_a_stone),
        cmocka_unit_test(classic_compresses_a_pool_as_the_thesis_says),
        cmocka_unit_test(classic_gets_stuck_in_a_tube),
        cmocka_unit_test(classic_falls_at_a_sixth_of_a_cell_per_update),
        cmocka_unit_test(classic_shoots_from_all_holes_alike),
        cmocka_unit_test(much_dust_keeps_the_account),
        cmocka_unit_test(no_abuse_makes_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
