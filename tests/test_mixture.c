// Mixture: what its fluids do, what is refused, and that every state survives. That its laws are what docs/mixture.md says is shown by
// test_mixture_worlds.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

static weir_world *make(int32_t x, int32_t y, int32_t z)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, x, y, z);
    return test_make(&def);
}

static void fill(weir_world *world, weir_box box, weir_material material, float share)
{
    assert_ok(weir_world_fill(world, box, material, share));
}

// Cells' worth of a material in a box.
static double held(const weir_world *world, weir_box box, weir_material material)
{
    double sum = 0;
    for (int32_t z = box.min.z; z < box.max.z; z++)
        for (int32_t y = box.min.y; y < box.max.y; y++)
            for (int32_t x = box.min.x; x < box.max.x; x++) sum += weir_world_mix(world, (weir_coord){x, y, z}).drops[material];
    return sum / WEIR_FULL;
}

static void assert_accounts(const weir_world *world)
{
    for (weir_material m = 1; m < weir_world_material_count(world); m++)
        assert_int_equal(weir_world_material_ledger(world, m).drift, 0);
    assert_int_equal(weir_world_heat_ledger(world).drift, 0);
    assert_exact(world);
}

// ---- What fluids do ------------------------------------------------------------------------------------------------------------

static void fluids_end_in_layers_by_density(void **state)
{
    static const weir_material upwards[] = {WEIR_OIL, WEIR_WATER, WEIR_HONEY, WEIR_MERCURY};
    weir_world *world = make(8, 32, 8);
    for (int32_t i = 0; i < 4; i++) fill(world, test_box(0, 8 * i, 0, 8, 8 * i + 8, 8), upwards[i], 1);
    test_step(world, test_length(1200, 600));
    for (int32_t i = 0; i < 4; i++) {
        const double there = held(world, test_box(0, 24 - 8 * i, 0, 8, 32 - 8 * i, 8), upwards[i]);
        if (there < 0.999 * 512) fail_msg("material %d has %g of 512 cells in its own layer", upwards[i], there);
    }
    assert_accounts(world);
    weir_world_destroy(world);
}

static void what_is_level_and_sorted_sleeps(void **state)
{
    weir_world *world = make(24, 16, 16);
    fill(world, test_box(0, 0, 0, 12, 8, 16), WEIR_WATER, 1);
    fill(world, test_box(12, 0, 0, 24, 4, 16), WEIR_OIL, 1);
    test_step(world, test_length(1500, 900));
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    const uint64_t before = weir_world_hash(world);
    // Asleep or not, an update changes nothing but its number, which is in the hash as the parity is.
    weir_mix mix = weir_world_mix(world, (weir_coord){3, 1, 3});
    test_step(world, 4);
    const weir_mix later = weir_world_mix(world, (weir_coord){3, 1, 3});
    assert_memory_equal(&mix, &later, sizeof mix);
    assert_true(weir_world_hash(world) != before);
    fill(world, test_box(0, 10, 0, 2, 12, 2), WEIR_MERCURY, 1);
    test_step(world, 1);
    assert_true(weir_world_stats(world).awake_bricks > 0);
    weir_world_destroy(world);
}

static void gases_rise_and_lighter_ones_further(void **state)
{
    weir_world *world = make(8, 24, 8);
    fill(world, test_box(0, 0, 0, 8, 4, 8), WEIR_SMOKE, 0.06f);
    weir_material light;
    assert_ok(weir_world_add_material(world, &(weir_material_def){"light gas", 0.0001f, 1, .kind = WEIR_KIND_GAS}, &light));
    fill(world, test_box(0, 4, 0, 8, 8, 8), light, 0.06f);
    test_step(world, 400);
    assert_true(held(world, test_box(0, 18, 0, 8, 24, 8), light) > 0.95 * 256 * 0.06);
    assert_true(held(world, test_box(0, 0, 0, 8, 8, 8), WEIR_SMOKE) < 0.1 * 256 * 0.06);
    double height_of_light = 0, height_of_smoke = 0;
    for (int32_t y = 0; y < 24; y++) {
        height_of_light += y * held(world, test_box(0, y, 0, 8, y + 1, 8), light);
        height_of_smoke += y * held(world, test_box(0, y, 0, 8, y + 1, 8), WEIR_SMOKE);
    }
    assert_true(height_of_light > height_of_smoke);
    assert_accounts(world);
    weir_world_destroy(world);
}

// The denser a gas is, the more of it stays behind in the water.
static void bubbles_rise_through_water(void **state)
{
    weir_world *world = make(8, 24, 8);
    weir_material light;
    assert_ok(weir_world_add_material(world, &(weir_material_def){"light gas", 0.0001f, 1, .kind = WEIR_KIND_GAS}, &light));
    fill(world, test_box(0, 0, 0, 8, 16, 8), WEIR_WATER, 1);
    fill(world, test_box(2, 0, 2, 6, 2, 6), light, 0.05f);
    test_step(world, 600);
    assert_true(held(world, test_box(0, 16, 0, 8, 24, 8), light) > 0.9 * 32 * 0.05);
    assert_true(held(world, test_box(0, 0, 0, 8, 8, 8), light) < 0.05 * 32 * 0.05);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void warmth_spreads_until_all_is_alike(void **state)
{
    weir_world *world = make(8, 8, 8);
    fill(world, test_box(0, 0, 0, 8, 8, 8), WEIR_WATER, 1);
    assert_ok(weir_world_set_temperature(world, test_box(0, 0, 0, 4, 8, 8), 350));
    assert_ok(weir_world_set_temperature(world, test_box(4, 0, 0, 8, 8, 8), 300));
    const weir_heat_ledger before = weir_world_heat_ledger(world);
    assert_true(before.held == (int64_t)325 * 512 * WEIR_HEAT && before.drift == 0);
    test_step(world, 4000);
    float warm[512];
    assert_ok(weir_world_read_temperature(world, test_box(0, 0, 0, 8, 8, 8), warm));
    for (int32_t i = 0; i < 512; i++) assert_true(fabsf(warm[i] - 325) < 0.5f);
    assert_true(weir_world_heat_ledger(world).held == before.held);
    weir_world_destroy(world);
}

static void boiling_water_keeps_its_temperature_and_comes_back_to_the_drop(void **state)
{
    weir_world *world = make(8, 26, 8);
    int32_t stove, lid;
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 1, 8), 255));
    assert_ok(weir_world_build(world, test_box(0, 25, 0, 8, 26, 8), 255));
    fill(world, test_box(0, 1, 0, 8, 9, 8), WEIR_WATER, 1);
    assert_ok(weir_world_add_heater(world, test_box(0, 0, 0, 8, 1, 8), 500, &stove));
    assert_ok(weir_world_add_heater(world, test_box(0, 25, 0, 8, 26, 8), 370, &lid));
    bool boiled = false;
    for (int32_t u = 0; u < test_length(900, 700); u++) {
        test_step(world, 1);
        if (weir_world_material_ledger(world, WEIR_STEAM).held == 0) continue;
        for (int32_t y = 1; y < 25; y += 2) {
            const weir_mix mix = weir_world_mix(world, (weir_coord){3, y, 4});
            const bool boils = mix.drops[WEIR_WATER] > WEIR_FULL / 2 && mix.drops[WEIR_STEAM] > 0;
            boiled |= boils;
            if (boils && fabsf(mix.temperature - 373.15f) > 1)
                fail_msg("update %d, y %d: water boils at %g K", u, y, (double)mix.temperature);
        }
    }
    assert_true(boiled && weir_world_material_ledger(world, WEIR_STEAM).held > WEIR_FULL);
    assert_ok(weir_world_remove(world, stove));
    assert_ok(weir_world_set_heater(world, lid, 280));
    for (int32_t u = 0; u < 4000 && weir_world_material_ledger(world, WEIR_STEAM).held > 0; u++) test_step(world, 1);
    assert_int_equal(weir_world_material_ledger(world, WEIR_STEAM).held, 0);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).held, (int64_t)512 * WEIR_FULL);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void ice_melts_in_warm_water_and_freezes_on_a_cold_floor(void **state)
{
    weir_world *world = make(8, 16, 8);
    fill(world, test_box(0, 0, 0, 8, 8, 8), WEIR_WATER, 1);
    fill(world, test_box(2, 4, 2, 6, 6, 6), WEIR_ICE, 1);
    test_step(world, test_length(3000, 2400));
    assert_int_equal(weir_world_material_ledger(world, WEIR_ICE).held, 0);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).held, (int64_t)512 * WEIR_FULL);
    int32_t cold;
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 1, 8), 255));
    assert_ok(weir_world_add_heater(world, test_box(0, 0, 0, 8, 1, 8), 200, &cold));
    test_step(world, test_length(1500, 600));
    assert_true(held(world, test_box(0, 1, 0, 8, 2, 8), WEIR_ICE) > 60);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void lava_in_water_becomes_stone_and_steam(void **state)
{
    weir_world *world = make(8, 32, 8);
    fill(world, test_box(0, 0, 0, 8, 10, 8), WEIR_WATER, 1);
    fill(world, test_box(2, 10, 2, 6, 12, 6), WEIR_LAVA, 1);
    bool steamed = false;
    for (int32_t u = 0; u < test_length(2500, 900); u++) {
        test_step(world, 1);
        steamed |= weir_world_material_ledger(world, WEIR_STEAM).held > WEIR_FULL;
    }
    assert_true(steamed && weir_world_material_ledger(world, WEIR_STONE).held > 16 * WEIR_FULL);
    assert_accounts(world);
    weir_world_destroy(world);
}

// ---- Pressure ------------------------------------------------------------------------------------------------------------------

// Levels of the two arms of a U, 16 cells of water on one side of it and none on the other.
static void play_bend(int32_t pressure, double levels[2], float *most, int32_t *awake)
{
    weir_params params = weir_params_default();
    params.mixture.pressure = pressure;
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 24, 4);
    def.params = &params;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(4, 4, 0, 12, 24, 4), 255));
    fill(world, test_box(0, 0, 0, 16, 4, 4), WEIR_WATER, 1);
    fill(world, test_box(0, 4, 0, 4, 20, 4), WEIR_WATER, 1);
    test_step(world, 4000);
    for (int32_t i = 0; i < 2; i++) levels[i] = held(world, test_box(12 * i, 0, 0, 12 * i + 4, 24, 4), WEIR_WATER) / 16;
    *most = weir_world_box_sum(world, test_box(0, 0, 0, 16, 24, 4)).max_fill;
    *awake = weir_world_stats(world).awake_bricks;
    assert_accounts(world);
    weir_world_destroy(world);
}

static void with_pressure_water_levels_through_a_bend(void **state)
{
    double levels[2];
    float most;
    int32_t awake;
    play_bend(0, levels, &most, &awake);
    assert_true(levels[0] == 20 && levels[1] == 4 && most == 1 && awake == 0);
    play_bend(256, levels, &most, &awake);
    if (fabs(levels[0] - levels[1]) > 0.2) fail_msg("levels %g and %g", levels[0], levels[1]);
    // 256 units more for each of some 12 cells above.
    assert_true(most > 1.1f && most < 1.25f);
    assert_int_equal(awake, 0);
}

// ---- Reactions -----------------------------------------------------------------------------------------------------------------

// Two materials side by side, in cells of their own.
static weir_world *make_beside(weir_material_def second, weir_reaction_def def, weir_material *other)
{
    weir_world *world = make(8, 8, 8);
    assert_ok(weir_world_add_material(world, &second, other));
    def.first = WEIR_WATER;
    def.second = *other;
    assert_ok(weir_world_add_reaction(world, &def));
    fill(world, test_box(0, 0, 0, 4, 2, 8), WEIR_WATER, 1);
    fill(world, test_box(4, 0, 0, 8, 2, 8), *other, 1);
    return world;
}

static void what_meets_becomes_what_the_table_says(void **state)
{
    weir_material acid;
    weir_world *world = make_beside((weir_material_def){"acid", 1.2f, 1, .heat_capacity = 0.5f},
                                    (weir_reaction_def){.first_to = WEIR_WATER, .second_to = WEIR_OIL, .rate = 0.1f}, &acid);
    test_step(world, 2);
    const int64_t once = weir_world_material_ledger(world, WEIR_OIL).held;
    assert_true(once > 0 && once < 16 * (int64_t)WEIR_FULL);
    test_step(world, 800);
    assert_int_equal(weir_world_material_ledger(world, acid).held, 0);
    assert_int_equal(weir_world_material_ledger(world, acid).turned, (int64_t)64 * WEIR_FULL);
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)64 * WEIR_FULL);
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).turned, -(int64_t)64 * WEIR_FULL);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).held, (int64_t)64 * WEIR_FULL);
    // At the temperature of a room it makes nothing warmer or colder, whatever their heat capacities are.
    for (int32_t x = 0; x < 8; x++) {
        const float warm = weir_world_mix(world, (weir_coord){x, 1, 3}).temperature;
        if (fabsf(warm - 293.25f) > 0.5f) fail_msg("%g K", (double)warm);
    }
    assert_accounts(world);
    weir_world_destroy(world);
}

static void reactions_set_free_the_heat_that_the_table_tells(void **state)
{
    for (int32_t sign = -1; sign <= 1; sign += 2) {
        weir_material acid;
        weir_world *world = make_beside(
            (weir_material_def){"acid", 1, 1},
            (weir_reaction_def){.first_to = WEIR_WATER, .second_to = WEIR_WATER, .rate = 1, .heat = 20.0f * (float)sign},
            &acid);
        const weir_heat_ledger before = weir_world_heat_ledger(world);
        test_step(world, 200);
        const weir_heat_ledger after = weir_world_heat_ledger(world);
        assert_int_equal(weir_world_material_ledger(world, acid).held, 0);
        assert_int_equal(after.held - before.held, before.turned - after.turned);
        // Of 64 cells each, but for what parts of units are lost of.
        const double kelvins = (double)(after.held - before.held) / (64.0 * WEIR_HEAT);
        if (fabs(kelvins - 20.0 * sign) > 0.01) fail_msg("a cell's worth set %g K free", kelvins);
        assert_accounts(world);
        weir_world_destroy(world);
    }
}

// Those that take up more than there is do not begin; of those that set more free than anything may hold, the rest is not there.
static void reactions_leave_nothing_colder_or_hotter_than_it_may_be(void **state)
{
    static const float heats[2] = {-5000, 8000};
    for (int32_t i = 0; i < 2; i++) {
        weir_material acid;
        weir_world *world = make_beside(
            (weir_material_def){"acid", 1, 1},
            (weir_reaction_def){.first_to = WEIR_WATER, .second_to = WEIR_HONEY, .rate = 0.5f, .heat = heats[i]}, &acid);
        test_step(world, 60);
        for (int32_t x = 0; x < 8; x++) {
            const weir_mix mix = weir_world_mix(world, (weir_coord){x, 0, 3});
            assert_true(mix.temperature < 2001);
        }
        const int64_t left = weir_world_material_ledger(world, acid).held;
        if (i == 0)
            assert_int_equal(left, (int64_t)64 * WEIR_FULL);
        else
            assert_true(left < (int64_t)64 * WEIR_FULL);
        assert_accounts(world);
        weir_world_destroy(world);
    }
}

static void what_becomes_terrain_or_nothing_is_booked(void **state)
{
    weir_material cement, lime;
    weir_world *world =
        make_beside((weir_material_def){"cement", 3, 1},
                    (weir_reaction_def){.first_to = WEIR_NOTHING, .second_to = WEIR_TERRAIN, .rate = 0.05f}, &cement);
    test_step(world, 300);
    const weir_ledger of_cement = weir_world_material_ledger(world, cement),
                      of_water = weir_world_material_ledger(world, WEIR_WATER);
    assert_int_equal(of_cement.turned, of_water.turned);
    assert_true(of_cement.turned > 4 * (int64_t)WEIR_FULL);
    uint8_t shares[512];
    double solid = 0;
    assert_ok(weir_world_read_terrain(world, test_box(0, 0, 0, 8, 8, 8), shares));
    for (int32_t i = 0; i < 512; i++) solid += shares[i] / 255.0;
    const double turned = (double)of_cement.turned / WEIR_FULL;
    if (fabs(solid - turned) > 0.1 * turned) fail_msg("%g cells of terrain of %g of cement", solid, turned);
    assert_accounts(world);
    // What has become solid is closed to what comes later.
    assert_true(weir_world_cell(world, (weir_coord){4, 0, 3}).solid >= 128 ||
                weir_world_cell(world, (weir_coord){3, 0, 3}).solid >= 128);
    weir_world_destroy(world);
    // A solid that is a material of the world is an amount in the cell.
    world = make_beside((weir_material_def){"lime", 1, 1},
                        (weir_reaction_def){.first_to = WEIR_WATER, .second_to = WEIR_STONE, .rate = 1}, &lime);
    test_step(world, 200);
    assert_int_equal(weir_world_material_ledger(world, lime).held + weir_world_material_ledger(world, WEIR_STONE).held,
                     (int64_t)64 * WEIR_FULL);
    assert_true(weir_world_material_ledger(world, WEIR_STONE).held > 20 * (int64_t)WEIR_FULL);
    assert_accounts(world);
    weir_world_destroy(world);
}

// What slept wakes.
static void a_reaction_that_is_added_or_removed_counts_from_the_next_update(void **state)
{
    weir_world *world = make(8, 8, 8);
    fill(world, test_box(0, 0, 0, 8, 2, 8), WEIR_WATER, 1);
    fill(world, test_box(0, 2, 0, 8, 4, 8), WEIR_OIL, 1);
    test_step(world, 40);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    const weir_reaction_def def = {WEIR_OIL, WEIR_WATER, WEIR_NOTHING, WEIR_WATER, 0.25f, 0};
    assert_ok(weir_world_add_reaction(world, &def));
    test_step(world, 2);
    const int64_t left = weir_world_material_ledger(world, WEIR_OIL).held;
    assert_true(left < 128 * (int64_t)WEIR_FULL);
    assert_ok(weir_world_remove_reaction(world, WEIR_OIL, WEIR_WATER));
    test_step(world, 20);
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, left);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void a_table_that_cannot_be_played_is_refused(void **state)
{
    weir_world *world = make(8, 8, 8);
    char name[16];
    fill(world, test_box(0, 0, 0, 8, 1, 8), WEIR_WATER, 1);
    fill(world, test_box(0, 1, 0, 8, 2, 8), WEIR_OIL, 1);
    // One that would go round for ever.
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){WEIR_WATER, WEIR_OIL, WEIR_HONEY, WEIR_OIL, 1, 0}));
    assert_int_equal(weir_world_add_reaction(world, &(weir_reaction_def){WEIR_HONEY, WEIR_OIL, WEIR_WATER, WEIR_OIL, 1, 0}),
                     WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "there would be no end"));
    // Materials that make no sense.
    assert_int_equal(weir_world_add_material(world, &(weir_material_def){"void", -1, 1}, NULL), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "the density of void is -1; it must be a number above 0, up to 1000");
    assert_ok(weir_world_add_material(world, &(weir_material_def){"rime", 1, 1, .kind = WEIR_KIND_SOLID}, NULL));
    assert_ok(weir_world_add_material(world, &(weir_material_def){"haze", 0.001f, 1, .kind = WEIR_KIND_GAS}, NULL));
    const weir_material rime = weir_world_find_material(world, "rime");
    const weir_material_def dew = {"dew",
                                   1,
                                   1,
                                   .freezes_to = rime,
                                   .boils_to = rime + 1,
                                   .melting_point = 300,
                                   .boiling_point = 290,
                                   .melting_heat = 1,
                                   .boiling_heat = 1};
    assert_int_equal(weir_world_add_material(world, &dew, NULL), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "dew boils at 290 K, which is not above the 300 K at which it melts");
    // A seventeenth, which a reaction would make: water, steam, ice, oil, honey and eleven others are there.
    for (int32_t i = 0; i < 11; i++) {
        weir_material material;
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(weir_world_add_material(world, &(weir_material_def){name, 1, 1}, &material));
        fill(world, test_box(i % 8, 4 + i / 8, 0, i % 8 + 1, 5 + i / 8, 1), material, 0.5f);
    }
    const uint64_t hash = weir_world_hash(world);
    const weir_material m0 = weir_world_find_material(world, "m0");
    assert_int_equal(weir_world_add_reaction(world, &(weir_reaction_def){m0, WEIR_OIL, WEIR_MERCURY, WEIR_OIL, 1, 0}),
                     WEIR_ERROR_LIMIT);
    assert_string_equal(
        weir_error_message(),
        "a world of mixture holds 16 materials at most; what comes of the reaction of m0 and oil would make them 17");
    assert_true(weir_world_hash(world) == hash);
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){m0, WEIR_OIL, WEIR_WATER, WEIR_NOTHING, 1, 0}));
    // Materials that are not there need no room for what they would make.
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){WEIR_SMOKE, WEIR_OIL, WEIR_MERCURY, WEIR_OIL, 1, 0}));
    assert_int_equal(weir_world_fill(world, test_box(0, 7, 0, 1, 8, 1), WEIR_SMOKE, 1), WEIR_ERROR_LIMIT);
    test_step(world, 20);
    assert_accounts(world);
    weir_world_destroy(world);
}

// Columns of liquids as dense as water, each eight times as thick as the one before, or more.
static void thicker_liquids_spread_more_slowly(void **state)
{
    static const float viscosities[] = {1, 10, 100, 600, 5000, 40000, 300000};
    int32_t before = 112;
    for (int32_t i = 0; i < 7; i++) {
        weir_world *world = make(before, 24, 2);
        weir_material liquid;
        assert_ok(weir_world_add_material(world, &(weir_material_def){"liquid", 1, viscosities[i]}, &liquid));
        fill(world, test_box(0, 0, 0, 12, 24, 2), liquid, 1);
        test_step(world, 100);
        int32_t front = before;
        while (front > 0 && weir_world_cell(world, (weir_coord){front - 1, 0, 0}).fill < 0.01f) front--;
        print_message("    viscosity %g: %d cells\n", (double)viscosities[i], front);
        assert_true(front > 12 && front < before);
        before = front;
        assert_accounts(world);
        weir_world_destroy(world);
    }
}

// About a plane between two cells of the grid of pairs.
static void mirrored_worlds_stay_mirrored_to_the_bit(void **state)
{
    weir_world *world[2];
    for (int32_t k = 0; k < 2; k++) {
        weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 20, 12);
        def.bounds = test_box(-9, 0, -9, 9, 20, 9);
        world[k] = test_make(&def);
        const int32_t low = k ? -7 : 3, high = k ? -3 : 7;
        assert_ok(weir_world_build(world[k], test_box(-9, 0, -9, 9, 1, 9), 255));
        fill(world[k], test_box(low, 1, -6, high, 9, 2), WEIR_WATER, 1);
        fill(world[k], test_box(low, 9, -4, high, 14, 1), WEIR_OIL, 0.7f);
        fill(world[k], test_box(k ? -9 : 7, 2, 0, k ? -7 : 9, 8, 9), WEIR_SMOKE, 0.3f);
        fill(world[k], test_box(k ? -8 : 5, 15, 1, k ? -5 : 8, 18, 5), WEIR_LAVA, 1);
        assert_ok(weir_world_add_heater(world[k], test_box(k ? -5 : 1, 0, -4, k ? -1 : 5, 1, 3), 460, NULL));
    }
    for (int32_t u = 0; u < test_length(150, 40); u++) {
        test_step(world[0], 1);
        test_step(world[1], 1);
        for (int32_t z = -9; z < 9; z++) {
            for (int32_t y = 0; y < 20; y++) {
                for (int32_t x = -9; x < 9; x++) {
                    const weir_mix a = weir_world_mix(world[0], (weir_coord){x, y, z});
                    const weir_mix b = weir_world_mix(world[1], (weir_coord){-1 - x, y, z});
                    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("update %d, cell (%d, %d, %d) has another mirror", u, x, y, z);
                }
            }
        }
    }
    weir_world_destroy(world[0]);
    weir_world_destroy(world[1]);
}

// ---- What is told --------------------------------------------------------------------------------------------------------------

static void a_cell_tells_all_that_it_holds(void **state)
{
    weir_world *world = make(8, 8, 8);
    const weir_coord at = {3, 0, 3};
    fill(world, test_box(3, 1, 3, 4, 2, 4), WEIR_OIL, 0.25f);
    fill(world, test_box(3, 0, 3, 4, 1, 4), WEIR_WATER, 0.5f);
    // With walls around the oil falls on the water in an even update.
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 3, 8, 8), 255));
    assert_ok(weir_world_build(world, test_box(4, 0, 0, 8, 8, 8), 255));
    assert_ok(weir_world_build(world, test_box(3, 0, 0, 4, 8, 3), 255));
    assert_ok(weir_world_build(world, test_box(3, 0, 4, 4, 8, 8), 255));
    test_step(world, 1);
    const weir_mix mix = weir_world_mix(world, at);
    assert_int_equal(mix.drops[WEIR_WATER], WEIR_FULL / 2);
    assert_int_equal(mix.drops[WEIR_OIL], WEIR_FULL / 4);
    assert_true(fabsf(mix.temperature - 293.25f) < 0.3f);
    const weir_cell cell = weir_world_cell(world, at);
    assert_true(cell.material == WEIR_WATER && cell.fill == 0.75f);
    const weir_box box = test_box(3, 0, 3, 4, 2, 4);
    float amounts[2], warm[2];
    uint8_t materials[2];
    assert_ok(weir_world_read_amounts(world, box, WEIR_OIL, amounts));
    assert_true(amounts[0] == 0.25f && amounts[1] == 0);
    assert_ok(weir_world_read_material(world, box, materials));
    assert_true(materials[0] == WEIR_WATER && materials[1] == WEIR_NOTHING);
    assert_ok(weir_world_read_temperature(world, box, warm));
    assert_true(warm[0] == mix.temperature && warm[1] == 0);
    assert_int_equal(weir_world_read_amounts(world, box, 99, amounts), WEIR_ERROR_ARGUMENT);
    const weir_mix nothing = weir_world_mix(world, (weir_coord){99, 0, 0});
    assert_true(nothing.temperature == 0 && nothing.drops[WEIR_WATER] == 0);
    // While a step runs the last state is told.
    assert_ok(weir_world_step_begin(world));
    const weir_mix frozen = weir_world_mix(world, at);
    assert_memory_equal(&mix, &frozen, sizeof mix);
    assert_int_equal(weir_world_heat_ledger(world).drift, 0);
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
}

static void other_solvers_know_one_material_and_no_warmth(void **state)
{
    for (weir_solver solver = 0; solver < WEIR_SOLVER_MIXTURE; solver++) {
        const weir_world_def def = test_def(solver, 8, 8, 8);
        weir_world *world = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 8, 1, 8), 0.5f);
        const weir_mix mix = weir_world_mix(world, (weir_coord){1, 0, 1});
        assert_true(mix.drops[WEIR_WATER] == WEIR_FULL / 2 && mix.drops[WEIR_OIL] == 0 && mix.temperature == 0);
        assert_int_equal(weir_world_set_temperature(world, test_box(0, 0, 0, 8, 8, 8), 300), WEIR_ERROR_UNSUPPORTED);
        assert_non_null(strstr(weir_error_message(), "knows no temperature"));
        assert_int_equal(weir_world_add_heater(world, test_box(0, 0, 0, 8, 8, 8), 300, NULL), WEIR_ERROR_UNSUPPORTED);
        const weir_heat_ledger none = {0}, heat = weir_world_heat_ledger(world);
        assert_memory_equal(&heat, &none, sizeof none);
        weir_world_destroy(world);
    }
}

// ---- What is refused -----------------------------------------------------------------------------------------------------------

static void a_seventeenth_material_is_refused(void **state)
{
    weir_world *world = make(8, 8, 8);
    char name[16];
    for (int32_t i = 0; i < 17; i++) {
        weir_material material;
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(weir_world_add_material(world, &(weir_material_def){name, 1, 1}, &material));
        const weir_box box = test_box(i % 8, i / 8, 0, i % 8 + 1, i / 8 + 1, 1);
        if (i < 14) fill(world, box, material, 0.5f);
    }
    const uint64_t hash = weir_world_hash(world);
    // Water would come with ice and steam.
    assert_int_equal(weir_world_fill(world, test_box(0, 4, 0, 1, 5, 1), WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_string_equal(weir_error_message(),
                        "a world of mixture holds 16 materials at most; water, with what it turns into, would make them 17");
    assert_int_equal(weir_world_add_emitter(world, test_box(0, 4, 0, 1, 5, 1), WEIR_WATER, 1, NULL), WEIR_ERROR_LIMIT);
    assert_true(weir_world_hash(world) == hash);
    fill(world, test_box(0, 5, 0, 1, 6, 1), weir_world_find_material(world, "m14"), 1);
    fill(world, test_box(0, 6, 0, 1, 7, 1), weir_world_find_material(world, "m15"), 1);
    assert_int_equal(weir_world_fill(world, test_box(0, 7, 0, 1, 8, 1), weir_world_find_material(world, "m16"), 1),
                     WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_stats(world).cell_bytes, 4 + 16 * 2);
    test_step(world, 50);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void what_mixture_does_not_do_yet_is_refused(void **state)
{
    weir_world *world = make(16, 16, 16);
    const weir_box box = test_box(0, 0, 0, 8, 8, 8);
    fill(world, box, WEIR_WATER, 1);
    assert_int_equal(weir_world_set_flow(world, box, (weir_vec){0}), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_world_add_rule(world, &(weir_rule_def){.name = "rule"}), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_world_set_temperature(world, box, 0), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_temperature(world, box, NAN), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_temperature(world, box, 2001), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "the temperature is 2001; it must be a number above 0, up to 2000 kelvins");
    int32_t heater, drain;
    assert_ok(weir_world_add_heater(world, box, 300, &heater));
    assert_ok(weir_world_add_drain(world, box, 1, &drain));
    assert_int_equal(weir_world_set_rate(world, heater, 1), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_level(world, heater, 1), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_heater(world, drain, 300), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_heater(world, heater, -1), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_world_set_heater(world, heater, 310.25f));
    weir_source sources[2];
    assert_int_equal(weir_world_sources(world, sources, 2), 2);
    assert_true(sources[0].kind == WEIR_SOURCE_HEATER && sources[0].temperature == 310.25f && sources[0].level == 0);
    weir_world_destroy(world);
}

// ---- On a device ---------------------------------------------------------------------------------------------------------------

// NULL: there is none.
static weir_world *make_on_device(weir_world_def def)
{
    weir_world *world;
    def.backend = WEIR_BACKEND_OPENCL;
    const weir_status status = weir_world_create(&def, &world);
    if (status == WEIR_OK) return world;
    if (status != WEIR_ERROR_UNSUPPORTED) fail_msg("%s", weir_error_message());
    print_message("skipped: %s\n", weir_error_message());
    return NULL;
}

static void a_world_at_rest_sends_nothing_to_its_device(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 24, 16, 16);
    weir_world *world = make_on_device(def), *cpu = test_make(&def);
    if (!world) weir_world_destroy(cpu), skip();
    weir_world *both[2] = {world, cpu};
    for (int32_t k = 0; k < 2; k++) {
        fill(both[k], test_box(0, 0, 0, 24, 8, 16), WEIR_WATER, 1);
        fill(both[k], test_box(0, 8, 0, 24, 10, 16), WEIR_OIL, 1);
        test_step(both[k], 12);
    }
    assert_true(weir_world_hash(world) == weir_world_hash(cpu));
    const weir_stats before = weir_world_stats(world);
    assert_int_equal(before.awake_bricks, 0);
    test_step(world, 10);
    test_step(cpu, 10);
    const weir_stats after = weir_world_stats(world);
    assert_true(before.bytes_to_device == after.bytes_to_device && before.bytes_from_device == after.bytes_from_device);
    // And wakes for an edit.
    for (int32_t k = 0; k < 2; k++) {
        fill(both[k], test_box(4, 12, 4, 8, 14, 8), WEIR_LAVA, 1);
        for (int32_t i = 0; i < 6; i++) {
            assert_ok(weir_world_step_begin(both[k]));
            assert_exact(both[k]);
            assert_ok(weir_world_step_end(both[k]));
        }
    }
    assert_true(weir_world_stats(world).awake_bricks > 0);
    assert_true(weir_world_hash(world) == weir_world_hash(cpu));
    assert_int_equal(weir_world_heat_ledger(world).drift, 0);
    weir_world_destroy(world);
    weir_world_destroy(cpu);
}

// Reservoirs, a part that leaves and comes back, and a delta that tells of it.
static void parts_of_a_world_on_a_device_leave_and_come_back(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 32, 16, 16);
    weir_world *world = make_on_device(def), *cpu = test_make(&def), *told[2] = {test_make(&def), make_on_device(def)};
    if (!world || !told[1]) {
        weir_world_destroy(cpu), weir_world_destroy(told[0]);
        skip();
    }
    weir_world *both[2] = {world, cpu};
    static uint8_t bytes[2][300000], delta[2][400000];
    size_t size[2], delta_size[2];
    for (int32_t k = 0; k < 2; k++) {
        int64_t mark = 0;
        fill(both[k], test_box(0, 0, 0, 32, 6, 16), WEIR_WATER, 1);
        fill(both[k], test_box(4, 6, 4, 20, 9, 12), WEIR_OIL, 1);
        assert_ok(weir_world_add_reservoir(both[k], test_box(0, 0, 0, 8, 16, 16), WEIR_WATER, 7.5, NULL));
        test_step(both[k], 6);
        assert_ok(weir_world_unload(both[k], test_box(16, 0, 0, 32, 16, 16), bytes[k], sizeof bytes[k], &size[k]));
        test_step(both[k], 3);
        assert_ok(weir_world_load_region(both[k], bytes[k], size[k]));
        test_step(both[k], 3);
        assert_exact(both[k]);
        assert_int_equal(weir_world_heat_ledger(both[k]).drift, 0);
        assert_ok(weir_world_delta(both[k], &mark, 0, delta[k], sizeof delta[k], &delta_size[k]));
        fill(told[k], test_box(8, 0, 0, 30, 12, 16), WEIR_LAVA, 1);
        test_step(told[k], 1);
        assert_ok(weir_world_apply_delta(told[k], delta[k], delta_size[k]));
        test_step(told[k], 2);
        assert_exact(told[k]);
    }
    assert_true(size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0);
    assert_true(delta_size[0] == delta_size[1] && memcmp(delta[0], delta[1], delta_size[0]) == 0);
    assert_true(weir_world_hash(world) == weir_world_hash(cpu));
    assert_true(weir_world_hash(told[0]) == weir_world_hash(told[1]));
    for (int32_t k = 0; k < 2; k++) weir_world_destroy(both[k]), weir_world_destroy(told[k]);
}

// A snapshot has channels only of what its world held: what comes after it is not to find what lay there before.
static void a_material_that_comes_after_a_load_finds_its_channel_empty(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 16, 16);
    weir_world *world = make_on_device(def), *cpu = test_make(&def);
    if (!world) weir_world_destroy(cpu), skip();
    weir_world *both[2] = {world, cpu};
    static uint8_t bytes[200000];
    for (int32_t k = 0; k < 2; k++) {
        size_t size;
        fill(both[k], test_box(0, 0, 0, 16, 8, 16), WEIR_OIL, 1);
        test_step(both[k], 2);
        assert_ok(weir_world_save_memory(both[k], bytes, sizeof bytes, &size));
        fill(both[k], test_box(0, 8, 0, 16, 14, 16), WEIR_HONEY, 0.5f);
        test_step(both[k], 2);
        assert_ok(weir_world_load_memory(both[k], bytes, size));
        test_step(both[k], 1);
        fill(both[k], test_box(0, 12, 0, 1, 13, 1), WEIR_MERCURY, 0.25f);
        test_step(both[k], 4);
        assert_exact(both[k]);
    }
    assert_true(weir_world_hash(world) == weir_world_hash(cpu));
    weir_world_destroy(world);
    weir_world_destroy(cpu);
}

// ---- The same in every way -----------------------------------------------------------------------------------------------------

static void set_kitchen(weir_world *world)
{
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 24, 1, 20), 255));
    fill(world, test_box(1, 1, 1, 12, 8, 19), WEIR_WATER, 1);
    fill(world, test_box(12, 1, 1, 20, 6, 12), WEIR_HONEY, 0.8f);
    fill(world, test_box(4, 8, 4, 9, 12, 9), WEIR_OIL, 1);
    fill(world, test_box(14, 8, 8, 18, 11, 14), WEIR_ICE, 1);
    fill(world, test_box(20, 12, 2, 24, 16, 8), WEIR_LAVA, 1);
    assert_ok(weir_world_add_heater(world, test_box(2, 0, 2, 10, 1, 10), 600, NULL));
    assert_ok(weir_world_add_heater(world, test_box(18, 1, 14, 22, 4, 19), 250, NULL));
    assert_ok(weir_world_add_emitter(world, test_box(10, 18, 10, 12, 19, 12), WEIR_MERCURY, 0.37f, NULL));
    assert_ok(weir_world_add_drain(world, test_box(0, 1, 16, 3, 3, 20), 0.21f, NULL));
}

static uint64_t cook(int32_t threads, weir_simd simd, bool background, float threshold)
{
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 24, 24, 20);
    def.threads = threads;
    def.simd = simd;
    def.open_sides = WEIR_SIDE_Y_MAX | WEIR_SIDE_X_MAX;
    def.change_threshold = threshold;
    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) return 0;
    set_kitchen(world);
    for (int32_t u = 0; u < test_length(200, 30); u++) {
        if (background) {
            assert_ok(weir_world_step_begin(world));
            assert_int_equal(weir_world_ledger(world).drift, 0);
            assert_int_equal(weir_world_heat_ledger(world).drift, 0);
            assert_true(weir_world_hash(world) != 0);
            assert_ok(weir_world_step_end(world));
        } else {
            test_step(world, 1);
        }
    }
    assert_accounts(world);
    const uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void one_hash_over_threads_widths_and_background_steps(void **state)
{
    const uint64_t hash = cook(1, WEIR_SIMD_SCALAR, false, 0);
    assert_true(cook(1, WEIR_SIMD_AUTO, false, 0) == hash);
    assert_true(cook(4, WEIR_SIMD_AUTO, false, 0) == hash);
    const uint64_t avx2 = cook(2, WEIR_SIMD_AVX2, false, 0);
    assert_true(avx2 == hash || avx2 == 0);
    assert_true(cook(3, WEIR_SIMD_AUTO, true, 0) == hash);
    assert_true(cook(1, WEIR_SIMD_AUTO, false, 0.02f) == hash);
}

static void a_world_goes_on_from_its_snapshot(void **state)
{
    static uint8_t bytes[1 << 21];
    const weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 24, 24, 20);
    weir_world *world = test_make(&def), *other = test_make(&def);
    size_t size;
    set_kitchen(world);
    fill(other, test_box(0, 0, 0, 24, 24, 20), WEIR_SMOKE, 0.5f);
    test_step(world, 37);
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_load_memory(other, bytes, size));
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    const weir_heat_ledger a = weir_world_heat_ledger(world), b = weir_world_heat_ledger(other);
    assert_memory_equal(&a, &b, sizeof a);
    test_step(world, 23);
    test_step(other, 23);
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    assert_accounts(other);
    // Damaged bytes change nothing.
    const uint64_t hash = weir_world_hash(other);
    for (size_t at = 0; at < size; at += 1 + size / 61) {
        bytes[at] ^= 0x20;
        assert_int_not_equal(weir_world_load_memory(other, bytes, size), WEIR_OK);
        bytes[at] ^= 0x20;
        assert_int_not_equal(weir_world_load_memory(other, bytes, at), WEIR_OK);
    }
    assert_true(weir_world_hash(other) == hash);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// ---- Coming and going ------------------------------------------------------------------------------------------------------------

static void assert_same_cells(const weir_world *a, const weir_world *b, weir_box box)
{
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x++) {
                const weir_mix here = weir_world_mix(a, (weir_coord){x, y, z}),
                               there = weir_world_mix(b, (weir_coord){x, y, z});
                if (memcmp(&here, &there, sizeof here) != 0) fail_msg("cell (%d, %d, %d) differs", x, y, z);
            }
        }
    }
}

static void what_is_unloaded_comes_back_as_warm_as_it_was(void **state)
{
    static uint8_t bytes[1 << 20], other_bytes[1 << 16];
    weir_world *world = make(24, 24, 20), *other = make(24, 24, 20);
    size_t size, other_size;
    set_kitchen(world);
    test_step(world, 37);
    const uint64_t hash = weir_world_hash(world);
    const weir_heat_ledger before = weir_world_heat_ledger(world);
    const weir_box box = test_box(0, 0, 0, 16, 16, 16);
    assert_ok(weir_world_unload(world, box, bytes, sizeof bytes, &size));
    const weir_heat_ledger away = weir_world_heat_ledger(world);
    assert_true(away.unloaded > 0 && away.held == before.held - away.unloaded && away.drift == 0);
    assert_true(weir_world_material_ledger(world, WEIR_HONEY).unloaded > 0);
    assert_true(weir_world_hash(world) != hash);
    // What is beside it moves on, as if it were solid there; a snapshot knows what is away.
    assert_ok(weir_world_save_memory(world, NULL, 0, &other_size));
    uint8_t *snapshot = malloc(other_size);
    assert_ok(weir_world_save_memory(world, snapshot, other_size, &other_size));
    assert_ok(weir_world_load_memory(other, snapshot, other_size));
    free(snapshot);
    const weir_heat_ledger of_other = weir_world_heat_ledger(other);
    assert_memory_equal(&of_other, &away, sizeof away);
    test_step(other, 9);
    assert_accounts(other);
    assert_ok(weir_world_load_region(other, bytes, size));
    assert_accounts(other);
    assert_true(weir_world_heat_ledger(other).unloaded == 0);
    assert_ok(weir_world_load_region(world, bytes, size));
    assert_true(weir_world_hash(world) == hash);
    const weir_heat_ledger after = weir_world_heat_ledger(world);
    assert_memory_equal(&after, &before, sizeof after);
    test_step(world, 20);
    assert_accounts(world);
    // Damaged bytes change nothing.
    const weir_box small = test_box(8, 0, 8, 16, 8, 16);
    assert_ok(weir_world_unload(world, small, other_bytes, sizeof other_bytes, &other_size));
    const uint64_t gone = weir_world_hash(world);
    for (size_t at = 0; at < other_size; at += 1 + other_size / 40) {
        other_bytes[at] ^= 0x11;
        assert_int_not_equal(weir_world_load_region(world, other_bytes, other_size), WEIR_OK);
        other_bytes[at] ^= 0x11;
        assert_int_not_equal(weir_world_load_region(world, other_bytes, at), WEIR_OK);
    }
    assert_true(weir_world_hash(world) == gone);
    assert_ok(weir_world_load_region(world, other_bytes, other_size));
    assert_accounts(world);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// Of several that it brings none is known where there is no room for all.
static void a_delta_with_too_many_materials_changes_nothing(void **state)
{
    static uint8_t bytes[20000];
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 24, 8, 8);
    weir_world *server = test_make(&def), *client = test_make(&def);
    for (int32_t i = 0; i < 17; i++) {
        char name[8] = {'m', (char)('a' + i), 0};
        weir_material m;
        assert_ok(weir_world_add_material(server, &(weir_material_def){name, 1, 1, {0.5f, 0.5f, 0.5f}}, &m));
        assert_ok(weir_world_add_material(client, &(weir_material_def){name, 1, 1, {0.5f, 0.5f, 0.5f}}, &m));
        if (i < 14) assert_ok(weir_world_fill(client, test_box(i, 0, 0, i + 1, 1, 1), m, 1));
        if (i >= 13) assert_ok(weir_world_fill(server, test_box(i, 0, 0, i + 1, 1, 1), m, 1));
    }
    int64_t mark = 0;
    size_t size;
    assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
    const int32_t state_bytes = weir_world_stats(client).cell_state_bytes;
    const uint64_t hash = weir_world_hash(client);
    assert_int_equal(state_bytes, 4 + 2 * 14);
    assert_int_equal(weir_world_apply_delta(client, bytes, size), WEIR_ERROR_LIMIT);
    assert_non_null(strstr(weir_error_message(), "mo, with what it turns into, would make them 17"));
    assert_int_equal(weir_world_stats(client).cell_state_bytes, state_bytes);
    assert_int_equal(weir_world_hash(client), hash);
    weir_world_destroy(server);
    weir_world_destroy(client);
}

static void a_delta_tells_every_material_and_its_warmth(void **state)
{
    static uint8_t bytes[1 << 21];
    const weir_box all = test_box(0, 0, 0, 24, 24, 20);
    weir_world *server = make(24, 24, 20), *client = make(24, 24, 20);
    int64_t mark = 0;
    size_t size;
    set_kitchen(server);
    assert_ok(weir_world_build(client, test_box(0, 0, 0, 24, 1, 20), 255));
    fill(client, test_box(0, 12, 0, 24, 16, 20), WEIR_SMOKE, 0.5f);
    for (int32_t i = 0; i < 6; i++) {
        assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
        assert_ok(weir_world_apply_delta(client, bytes, size));
        assert_same_cells(server, client, all);
        assert_accounts(client);
        assert_true(weir_world_heat_ledger(server).held == weir_world_heat_ledger(client).held);
        test_step(server, test_length(30, 6));
    }
    const uint64_t hash = weir_world_hash(client);
    assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
    for (size_t at = 0; at < size; at += 1 + size / 40) {
        bytes[at] ^= 0x08;
        assert_int_not_equal(weir_world_apply_delta(client, bytes, size), WEIR_OK);
        bytes[at] ^= 0x08;
        assert_int_not_equal(weir_world_apply_delta(client, bytes, at), WEIR_OK);
    }
    assert_true(weir_world_hash(client) == hash);
    // From a world in which a cell is of one material, and to such a one.
    const weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 24, 24, 20);
    weir_world *lake = test_make(&def);
    fill(lake, test_box(0, 1, 0, 20, 7, 20), WEIR_WATER, 1);
    fill(lake, test_box(0, 7, 0, 20, 9, 20), WEIR_OIL, 0.5f);
    mark = 0;
    assert_ok(weir_world_delta(lake, &mark, 0, bytes, sizeof bytes, &size));
    assert_ok(weir_world_apply_delta(client, bytes, size));
    for (weir_material m = 1; m < WEIR_MATERIALS_BUILT_IN; m++)
        assert_int_equal(weir_world_material_ledger(client, m).held, weir_world_material_ledger(lake, m).held);
    assert_accounts(client);
    mark = 0;
    assert_ok(weir_world_delta(client, &mark, 0, bytes, sizeof bytes, &size));
    assert_ok(weir_world_drain(lake, all));
    assert_ok(weir_world_apply_delta(lake, bytes, size));
    assert_int_equal(weir_world_ledger(lake).held, weir_world_ledger(client).held);
    assert_exact(lake);
    weir_world_destroy(lake);
    weir_world_destroy(server);
    weir_world_destroy(client);
}

// Oil on the water that a reservoir holds stays where it is.
static void a_reservoir_holds_its_own_material_at_a_level(void **state)
{
    weir_world *world = make(16, 16, 16);
    const weir_box all = test_box(0, 0, 0, 16, 16, 16);
    fill(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1);
    fill(world, test_box(0, 4, 0, 16, 5, 16), WEIR_OIL, 1);
    int32_t id;
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 0, 16, 16, 4), WEIR_WATER, 6.5, &id));
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)256 * WEIR_FULL);
    test_step(world, test_length(600, 300));
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)256 * WEIR_FULL);
    // Water and oil together stand at the level.
    const double level = (held(world, all, WEIR_WATER) + held(world, all, WEIR_OIL)) / 256;
    if (fabs(level - 6.5) > 0.02) fail_msg("the level is %g", level);
    assert_ok(weir_world_set_level(world, id, 3));
    test_step(world, test_length(600, 300));
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)256 * WEIR_FULL);
    assert_true(held(world, all, WEIR_WATER) / 256 < 3.05);
    // Of a gas, or a solid, too.
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 8, 16, 16, 12), WEIR_SMOKE, 12, NULL));
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 12, 16, 16, 16), WEIR_STONE, 2.5, NULL));
    test_step(world, 60);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void memory_may_end_anywhere(void **state)
{
    static uint8_t bytes[1 << 20];
    test_memory counted = {0};
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 24, 24, 20);
    def.allocator = test_memory_hooks(&counted);
    size_t size;
    weir_world *saved = test_make(&def);
    set_kitchen(saved);
    test_step(saved, 5);
    assert_ok(weir_world_save_memory(saved, bytes, sizeof bytes, &size));
    weir_world_destroy(saved);
    // How often memory is asked for, and then each time in turn it is not there.
    int64_t asked = INT64_MAX;
    for (int64_t failing = 0; failing < asked; failing++) {
        weir_world *world;
        counted.calls = 0;
        counted.fail_at = failing + 1;
        counted.fail_after = true;
        weir_status status = weir_world_create(&def, &world);
        if (status == WEIR_OK) status = weir_world_fill(world, test_box(0, 0, 0, 12, 6, 12), WEIR_WATER, 1);
        if (status == WEIR_OK) status = weir_world_fill(world, test_box(0, 6, 0, 12, 9, 12), WEIR_HONEY, 0.5f);
        if (status == WEIR_OK) status = weir_world_add_emitter(world, test_box(16, 16, 16, 20, 17, 20), WEIR_LAVA, 2, NULL);
        for (int32_t u = 0; u < 4 && status == WEIR_OK; u++) status = weir_world_step(world);
        if (status == WEIR_OK) status = weir_world_step_begin(world);
        if (world) {
            const weir_status ended = weir_world_step_end(world);
            if (status == WEIR_OK) status = ended;
        }
        if (status == WEIR_OK) status = weir_world_load_memory(world, bytes, size);
        if (status == WEIR_OK) asked = failing;
        if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_MEMORY);
        counted.fail_at = 0;
        if (world) {
            assert_accounts(world);
            test_step(world, 1);
            assert_accounts(world);
        }
        weir_world_destroy(world);
    }
    assert_true(asked > 20);
    assert_int_equal(counted.bytes, 0);
}

// ---- Edits ---------------------------------------------------------------------------------------------------------------------

static void edits_book_what_they_bring_and_take(void **state)
{
    weir_world *world = make(16, 16, 16);
    const weir_box box = test_box(0, 0, 0, 4, 4, 4);
    fill(world, box, WEIR_WATER, 1);
    assert_true(weir_world_heat_ledger(world).added == (int64_t)64 * 1173 * (WEIR_HEAT / 4));
    fill(world, box, WEIR_OIL, 0.5f);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).held, 0);
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)32 * WEIR_FULL);
    // What is there stays as warm as it is.
    assert_ok(weir_world_set_temperature(world, box, 400));
    fill(world, box, WEIR_OIL, 0.25f);
    assert_true(weir_world_mix(world, (weir_coord){1, 1, 1}).temperature == 400);
    float fills[64];
    assert_ok(weir_world_read_fill(world, box, fills));
    const uint64_t hash = weir_world_hash(world);
    assert_ok(weir_world_write_fill(world, box, fills));
    assert_true(weir_world_hash(world) == hash);
    for (int32_t i = 0; i < 64; i++) fills[i] = 0.125f;
    assert_ok(weir_world_write_fill(world, box, fills));
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)8 * WEIR_FULL);
    // Terrain pushes out what it is built over.
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 2, 4, 4), 255));
    assert_int_equal(weir_world_material_ledger(world, WEIR_OIL).held, (int64_t)4 * WEIR_FULL);
    assert_ok(weir_world_drain(world, box));
    const weir_heat_ledger heat = weir_world_heat_ledger(world);
    assert_true(heat.held == 0 && heat.drift == 0);
    assert_accounts(world);
    weir_world_destroy(world);
}

static void a_drain_takes_everything_but_solids(void **state)
{
    weir_world *world = make(8, 8, 8);
    fill(world, test_box(0, 0, 0, 8, 2, 8), WEIR_STONE, 0.4f);
    fill(world, test_box(0, 2, 0, 8, 4, 8), WEIR_WATER, 1);
    fill(world, test_box(0, 4, 0, 8, 5, 8), WEIR_SMOKE, 0.1f);
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 8, 8, 8), 10, NULL));
    test_step(world, 40);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).held, 0);
    assert_int_equal(weir_world_material_ledger(world, WEIR_SMOKE).held, 0);
    assert_true(weir_world_material_ledger(world, WEIR_STONE).held > 50 * (int64_t)WEIR_FULL);
    assert_accounts(world);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fluids_end_in_layers_by_density),
        cmocka_unit_test(what_is_level_and_sorted_sleeps),
        cmocka_unit_test(gases_rise_and_lighter_ones_further),
        cmocka_unit_test(bubbles_rise_through_water),
        cmocka_unit_test(warmth_spreads_until_all_is_alike),
        cmocka_unit_test(boiling_water_keeps_its_temperature_and_comes_back_to_the_drop),
        cmocka_unit_test(ice_melts_in_warm_water_and_freezes_on_a_cold_floor),
        cmocka_unit_test(lava_in_water_becomes_stone_and_steam),
        cmocka_unit_test(with_pressure_water_levels_through_a_bend),
        cmocka_unit_test(what_meets_becomes_what_the_table_says),
        cmocka_unit_test(reactions_set_free_the_heat_that_the_table_tells),
        cmocka_unit_test(reactions_leave_nothing_colder_or_hotter_than_it_may_be),
        cmocka_unit_test(what_becomes_terrain_or_nothing_is_booked),
        cmocka_unit_test(a_reaction_that_is_added_or_removed_counts_from_the_next_update),
        cmocka_unit_test(a_table_that_cannot_be_played_is_refused),
        cmocka_unit_test(thicker_liquids_spread_more_slowly),
        cmocka_unit_test(mirrored_worlds_stay_mirrored_to_the_bit),
        cmocka_unit_test(a_cell_tells_all_that_it_holds),
        cmocka_unit_test(other_solvers_know_one_material_and_no_warmth),
        cmocka_unit_test(a_seventeenth_material_is_refused),
        cmocka_unit_test(what_mixture_does_not_do_yet_is_refused),
        cmocka_unit_test(a_world_at_rest_sends_nothing_to_its_device),
        cmocka_unit_test(parts_of_a_world_on_a_device_leave_and_come_back),
        cmocka_unit_test(a_material_that_comes_after_a_load_finds_its_channel_empty),
        cmocka_unit_test(one_hash_over_threads_widths_and_background_steps),
        cmocka_unit_test(a_world_goes_on_from_its_snapshot),
        cmocka_unit_test(what_is_unloaded_comes_back_as_warm_as_it_was),
        cmocka_unit_test(a_delta_tells_every_material_and_its_warmth),
        cmocka_unit_test(a_delta_with_too_many_materials_changes_nothing),
        cmocka_unit_test(a_reservoir_holds_its_own_material_at_a_level),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(edits_book_what_they_bring_and_take),
        cmocka_unit_test(a_drain_takes_everything_but_solids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
