// The scenes themselves: which solver plays one, what sizes it takes, and what the probes of those made for settling water say: puddles,
// slopes, pipes, lakes, falls, holes and a whole loaded world, each played by the solver that the scene names;
// physics.c has what only momentum can.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_files.h"
#include "test_world.h"
#include <math.h>

static const char *const SETTLING[] = {"ground",        "downhill", "ubend", "terrain",  "waterfall",
                                       "digunderwater", "ocean",    "locus", "lavawater"};
enum { SETTLING_COUNT = sizeof SETTLING / sizeof SETTLING[0] };

#define UNIT (1.0 / 16384)  // of settle, cells

static void assert_between(const char *what, double value, double least, double most)
{
    print_message("    %s: %.6g (%g to %g)\n", what, value, least, most);
    if (!(value >= least && value <= most)) fail_msg("%s is %.9g; it must be from %g to %g", what, value, least, most);
}

// Plays a scene to its end, or for less in slow builds, which leave the rest to others.
static scene_run *play(const char *scene, int32_t size, int64_t updates)
{
    scene_run *run = test_open(scene, scene_find(scene)->solver, size, updates);
    assert_ok(scene_updates(run, run->planned));
    assert_exact(run->world);
    return run;
}

// ---- How scenes are played -------------------------------------------------------------------------------------------------

static void a_scene_is_played_by_its_own_solver_unless_another_is_asked_for(void **state)
{
    for (int32_t own = 0; own < WEIR_SOLVER_COUNT; own++) {
        scene_def def = *scene_find("tube");
        def.solver = (weir_solver)own;
        for (int32_t asked = 0; asked <= WEIR_SOLVER_COUNT; asked++) {
            scene_options options = scene_options_default();
            assert_int_equal(options.def.solver, SCENE_OWN_SOLVER);
            if (asked < WEIR_SOLVER_COUNT) options.def.solver = (weir_solver)asked;
            scene_run *run;
            assert_ok(scene_open(&def, &options, &run));
            assert_int_equal(weir_world_solver(run->world), asked < WEIR_SOLVER_COUNT ? asked : own);
            scene_close(run);
        }
    }
}

static void scenes_take_every_size_from_the_least_on(void **state)
{
    for (int32_t i = 0; i < SETTLING_COUNT; i++) {
        const scene_def *def = scene_find(SETTLING[i]);
        int32_t count = strcmp(def->name, "locus") == 0 ? test_length(6, 2) : test_length(34, 10);
        for (int32_t size = def->size_min; size < def->size_min + count && size <= def->size_max; size++) {
            scene_run *run = test_open(def->name, def->solver, size, 12);
            assert_ok(scene_updates(run, 12));
            assert_exact(run->world);
            assert_true(weir_world_ledger(run->world).held > 0);
            scene_measure(run);
            scene_close(run);
        }
    }
}

// Taps close and holes are dug by the number of the update, so a run that goes on from a snapshot does what a straight one does.
static void a_run_that_goes_on_from_a_snapshot_ends_as_a_straight_one(void **state)
{
    for (int32_t i = 0; i < SETTLING_COUNT; i++) {
        const char *file = test_path(".weir");
        const int32_t size = 16, first = 15, all = 45;
        scene_run *straight = test_open(SETTLING[i], scene_find(SETTLING[i])->solver, size, all);
        assert_ok(scene_updates(straight, first));
        assert_ok(weir_world_save(straight->world, file));
        assert_ok(scene_updates(straight, all - first));

        scene_options options = scene_options_default();
        options.size = size;
        options.def.threads = 1;
        options.load = file;
        scene_run *resumed;
        assert_ok(scene_open(scene_find(SETTLING[i]), &options, &resumed));
        assert_ok(scene_updates(resumed, all - first));
        if (weir_world_hash(straight->world) != weir_world_hash(resumed->world)) fail_msg("%s ends otherwise", SETTLING[i]);
        scene_close(straight);
        scene_close(resumed);
        remove(file);
    }
}

// ---- Puddles, slopes and pipes ---------------------------------------------------------------------------------------------

// A film is a sixteenth of a cell thick, so 64 cells cover 1024, and no more than half as much again where the rim is thinner.
static void water_that_is_poured_on_the_ground_stops_as_a_puddle(void **state)
{
    scene_run *run = play("ground", 4, test_length(0, 340));
    double poured = test_length(64, 32);
    assert_true(scene_probe(run, "poured") == poured);
    if (test_length(1, 0)) {
        assert_true(scene_probe(run, "above_floor") == 0);
        assert_between("wet_cells", scene_probe(run, "wet_cells"), 0.5 * 1024, 1.5 * 1024);
        assert_between("growth", scene_probe(run, "growth"), 1, 1.1);
    }
    assert_between("film", scene_probe(run, "film"), poured / 1536, 1);
    scene_close(run);
}

// The stairs keep a film on 48 x 8 cells, which is 24 of 512.
static void water_runs_downhill_into_the_basin(void **state)
{
    scene_run *run = play("downhill", 0, test_length(0, 600));
    double arrived = scene_probe(run, "arrived"), level = scene_probe(run, "level"), exact = scene_probe(run, "level_exact");
    assert_between("arrived", arrived, test_length(9, 1) / 10.0, 1);
    assert_between("level / level_exact", level / exact, arrived - 1e-9, arrived + 1e-9);
    if (test_length(1, 0)) assert_between("given", scene_probe(run, "given"), 511.999, 512.001);
    scene_close(run);
}

static void both_arms_of_a_bend_fill_from_one_end(void **state)
{
    scene_run *run = play("ubend", 24, test_length(0, 400));
    double left = scene_probe(run, "level_left"), right = scene_probe(run, "level_right");
    double exact = scene_probe(run, "level_exact");
    assert_true(isnan(scene_probe(run, "worst")) == (run->update <= 8 * (64 + 24)));
    if (test_length(1, 0)) assert_true(exact == 12);
    // Both within a unit of each other, and all that was poured stands in them.
    if (test_length(1, 0)) {
        assert_between("level_right - level_left", right - left, -UNIT, UNIT);
        assert_between("level_left", left, exact - UNIT, exact + UNIT);
        assert_true(scene_probe(run, "swings") == 0);
    }
    scene_close(run);
}

// ---- Hills and lakes -------------------------------------------------------------------------------------------------------

// Every lake stands below where it would spill over, so nothing runs anywhere.
static void lakes_in_hills_rest_from_the_beginning(void **state)
{
    const int32_t sizes[] = {16, 21, 32};
    for (int32_t i = 0; i < test_length(3, 1); i++) {
        scene_run *run = test_open("locus", scene_find("locus")->solver, sizes[i], 0);
        int64_t wet = scene_sum(run).wet_cells;
        assert_ok(scene_updates(run, 18));
        weir_box_sum sum = scene_sum(run);
        assert_between("max_flow", sum.max_flow, 0, 0.01);
        assert_int_equal(sum.wet_cells, wet);
        assert_exact(run->world);
        scene_close(run);
    }
}

static uint64_t hash_of_hills(uint32_t seed)
{
    scene_options options = scene_options_default();
    options.size = 32;
    options.seed = seed;
    options.def.threads = 1;
    scene_run *run;
    assert_ok(scene_open(scene_find("terrain"), &options, &run));
    uint64_t hash = weir_world_hash(run->world);
    scene_close(run);
    return hash;
}

static void the_seed_makes_the_hills(void **state)
{
    assert_true(hash_of_hills(1) == hash_of_hills(1));
    assert_true(hash_of_hills(1) != hash_of_hills(2));
}

static void lakes_take_in_what_springs_give_and_stay_level(void **state)
{
    scene_run *run = play("terrain", 0, test_length(0, 40));
    assert_between("lakes", scene_probe(run, "lakes"), 1, 64);
    assert_between("uneven", scene_probe(run, "uneven"), 0, 0.5);
    assert_between("wet_share", scene_probe(run, "wet_share"), 0.3, 0.9);
    assert_between("lake_highest", scene_probe(run, "lake_highest"), scene_probe(run, "lake_lowest"), 40);
    scene_close(run);
}

// ---- Falls and holes -------------------------------------------------------------------------------------------------------

static void a_pool_under_a_fall_rises_everywhere(void **state)
{
    scene_run *run = play("waterfall", 0, test_length(0, 300));
    // 1152 updates of a cell's rise in 192, on top of 4; a film of a sixteenth stays on the plateau, a third as long as the pool.
    if (test_length(1, 0)) assert_between("level", scene_probe(run, "level"), 9.9, 10);
    assert_between("spread", scene_probe(run, "spread"), 0, UNIT);
    assert_between("spread_at_fall", scene_probe(run, "spread_at_fall"), scene_probe(run, "spread"), 32);
    assert_between("spread_now", scene_probe(run, "spread_now"), 0, UNIT);
    scene_close(run);
}

// The basin is 6 cells deep: in free fall its water is gone after sqrt(2 * 6 / 0.01) = 35 updates.
static void holes_under_water_fill_and_water_without_support_falls(void **state)
{
    scene_run *run = play("digunderwater", 0, test_length(0, 200));
    assert_true(scene_probe(run, "box_not_full") == 0);
    assert_true(scene_probe(run, "holes_not_full") == 0);
    assert_between("shaft_full_after", scene_probe(run, "shaft_full_after"), 1, 100);
    assert_between("basin_gone_after", scene_probe(run, "basin_gone_after"), 1, 20);
    assert_true(weir_world_ledger(run->world).removed == 0);
    scene_close(run);
}

// What happens to it in the first 100 updates takes some 600 until all is at rest.
static void an_ocean_stays_at_its_level(void **state)
{
    scene_run *run = play("ocean", 0, test_length(0, 300));
    assert_true(scene_probe(run, "moved") == 0);
    assert_true(scene_probe(run, "hole_fill") == 1);
    assert_true(scene_probe(run, "taken") == 64);
    assert_between("basin_level", scene_probe(run, "basin_level"), test_length(24, 19), 24);
    if (test_length(1, 0)) assert_true(scene_probe(run, "awake") == 0);
    scene_close(run);
}

static void a_hole_in_the_oceans_floor_fills(void **state)
{
    scene_run *run = play("locus", 16, test_length(160, 50));
    weir_stats stats = weir_world_stats(run->world);
    assert_true(scene_probe(run, "bricks") == stats.bricks);
    assert_between("bytes_per_voxel", scene_probe(run, "bytes_per_voxel"), 1e-3, 100);
    assert_true(scene_probe(run, "awake_before") == 0);
    assert_between("awake_after", scene_probe(run, "awake_after"), 1, 200);
    assert_between("hole_fill", scene_probe(run, "hole_fill"), test_length(99, 10) / 100.0, 1.01);
    scene_close(run);
}

// What becomes stone takes as much water with it. A cell's stone is a whole number of 255ths.
static void lava_that_runs_into_a_lake_becomes_stone(void **state)
{
    scene_run *run = play("lavawater", test_length(24, 16), test_length(0, 400));
    const double hardened = scene_probe(run, "hardened"), stone = scene_probe(run, "stone"), cells = 24.0 * 12 * 15;
    assert_between("hardened", hardened, 1, 1000);
    assert_true(scene_probe(run, "steam") == hardened);
    assert_between("stone", stone, 0.75 * hardened, 1.1 * hardened + cells * test_length(0, 1) / 255);
    assert_between("lava", scene_probe(run, "lava"), 1, 1000);
    assert_between("water", scene_probe(run, "water"), 1, 10000);
    if (test_length(1, 0)) assert_true(scene_probe(run, "awake") == 0);
    for (weir_material i = WEIR_WATER; i <= WEIR_LAVA; i++)
        assert_int_equal(weir_world_material_ledger(run->world, i).drift, 0);
    scene_close(run);
}

// With mixture the stone is a material, and the steam leaves through the top.
static void lava_that_runs_into_a_lake_boils_it(void **state)
{
    const int32_t updates = test_length(900, 500);
    scene_run *run = test_open("lavawater", WEIR_SOLVER_MIXTURE, test_length(24, 16), updates);
    assert_ok(scene_updates(run, run->planned));
    const weir_world *world = run->world;
    assert_between("stone", scene_probe(run, "stone"), 5, 1000);
    assert_true(weir_world_material_ledger(world, WEIR_STONE).held == weir_world_material_ledger(world, WEIR_LAVA).turned);
    assert_true(weir_world_material_ledger(world, WEIR_STEAM).drained > 2 * (int64_t)WEIR_FULL);
    assert_int_equal(weir_world_ledger(world).turned, 0);
    for (weir_material i = WEIR_WATER; i <= WEIR_STONE; i++) assert_int_equal(weir_world_material_ledger(world, i).drift, 0);
    assert_int_equal(weir_world_heat_ledger(world).drift, 0);
    scene_close(run);
}

// ---- Fluids that share cells -------------------------------------------------------------------------------------------------

static double probe_of(const char *scene, int32_t size, int32_t updates, const char *probe)
{
    scene_run *run = test_open(scene, scene_find(scene)->solver, size, updates);
    assert_ok(scene_updates(run, run->planned));
    assert_exact(run->world);
    assert_int_equal(weir_world_heat_ledger(run->world).drift, 0);
    const double value = scene_probe(run, probe);
    scene_close(run);
    return value;
}

static void liquids_sort_themselves_by_density(void **state)
{
    assert_true(probe_of("oilwater", 16, 200, "oil_above") >= 0.999);
    assert_true(probe_of("layers", 20, 800, "sorted") >= 0.999);
    assert_true(probe_of("lockexchange", 16, test_length(1000, 600), "sorted") >= 0.999);
    assert_true(probe_of("honey", 8, 60, "front_honey") * 2 < probe_of("honey", 8, 60, "front_water"));
}

static void a_kettle_boils_and_loses_no_drop(void **state)
{
    scene_run *run = test_open("kettle", WEIR_SOLVER_MIXTURE, 6, test_length(2000, 1200));
    assert_ok(scene_updates(run, run->planned));
    assert_between("boils_low", scene_probe(run, "boils_low"), 372.15, 374.15);
    assert_between("boils_high", scene_probe(run, "boils_high"), 372.15, 374.15);
    assert_true(scene_probe(run, "most_steam") > 1);
    assert_true(scene_probe(run, "steam") == 0 && scene_probe(run, "missing") == 0 && scene_probe(run, "heat_drift") == 0);
    assert_exact(run->world);
    scene_close(run);
}

static void ice_melts_and_smoke_gathers_under_the_ceiling(void **state)
{
    assert_true(probe_of("icemelt", 8, test_length(1500, 900), "ice") == 0);
    assert_true(probe_of("gasroom", 8, test_length(800, 300), "under_ceiling") > 0.55);
}

// The updates after which nothing of a scene is awake any more. What holds it awake, as a fire, ends after `stops` updates; 0: nothing does.
static int32_t asleep_after(const char *scene, weir_solver solver, int32_t size, int32_t stops, int32_t most)
{
    scene_run *run = test_open(scene, solver, size, most);
    int32_t last = 0;
    for (int32_t i = 1; i <= most && (last == 0 || i - last < 100); i++) {
        if (i == stops) scene_stop_sources(run);
        assert_ok(scene_updates(run, 1));
        if (weir_world_stats(run->world).awake_bricks > 0) last = i;
    }
    if (last == most) fail_msg("%s is awake after %d updates", scene, most);
    print_message("    %s, %s: asleep after %d updates\n", scene, weir_solver_name(solver), last);
    assert_exact(run->world);
    assert_int_equal(weir_world_heat_ledger(run->world).drift, 0);
    scene_close(run);
    return last;
}

// What boils on a stove that is on, or burns, never rests; honey takes its time; and heat goes on in stone for long after all else rests.
static void scenes_fall_asleep_in_the_end(void **state)
{
    const weir_solver mixture = WEIR_SOLVER_MIXTURE;
    asleep_after("oilwater", mixture, 16, 0, 400);
    asleep_after("layers", mixture, 15, 0, 1000);
    asleep_after("lockexchange", mixture, 8, 0, 500);
    asleep_after("icemelt", mixture, 4, 0, 2000);
    asleep_after("kettle", mixture, 4, 0, 3000);
    asleep_after("lavawater", WEIR_SOLVER_SETTLE, 16, 0, 4000);
    asleep_after("gasroom", mixture, 6, 200, 4000);
    if (test_length(1, 0)) asleep_after("honey", mixture, 4, 0, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_is_played_by_its_own_solver_unless_another_is_asked_for),
        cmocka_unit_test(scenes_take_every_size_from_the_least_on),
        cmocka_unit_test(a_run_that_goes_on_from_a_snapshot_ends_as_a_straight_one),
        cmocka_unit_test(water_that_is_poured_on_the_ground_stops_as_a_puddle),
        cmocka_unit_test(water_runs_downhill_into_the_basin),
        cmocka_unit_test(both_arms_of_a_bend_fill_from_one_end),
        cmocka_unit_test(lakes_in_hills_rest_from_the_beginning),
        cmocka_unit_test(the_seed_makes_the_hills),
        cmocka_unit_test(lakes_take_in_what_springs_give_and_stay_level),
        cmocka_unit_test(a_pool_under_a_fall_rises_everywhere),
        cmocka_unit_test(holes_under_water_fill_and_water_without_support_falls),
        cmocka_unit_test(an_ocean_stays_at_its_level),
        cmocka_unit_test(a_hole_in_the_oceans_floor_fills),
        cmocka_unit_test(lava_that_runs_into_a_lake_becomes_stone),
        cmocka_unit_test(lava_that_runs_into_a_lake_boils_it),
        cmocka_unit_test(liquids_sort_themselves_by_density),
        cmocka_unit_test(a_kettle_boils_and_loses_no_drop),
        cmocka_unit_test(ice_melts_and_smoke_gathers_under_the_ceiling),
        cmocka_unit_test(scenes_fall_asleep_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
