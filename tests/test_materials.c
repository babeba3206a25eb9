// Materials: what a game adds, what a solver can hold, and the account of each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>
#include <stdio.h>

static const weir_material_def SYRUP = {"syrup", 1.4f, 5000, {0.8f, 0.5f, 0.1f}};

static weir_world *make_world(void)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 32, 32);
    return test_make(&def);
}

static void a_world_has_water_and_what_the_game_adds(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material_def def;
    assert_int_equal(weir_world_material_count(world), WEIR_MATERIALS_BUILT_IN);
    assert_true(weir_world_material(world, WEIR_WATER, &def));
    assert_string_equal(def.name, "water");
    assert_true(def.density == 1 && def.viscosity == 1);

    weir_material syrup;
    assert_ok(weir_world_add_material(world, &SYRUP, &syrup));
    assert_int_equal(syrup, WEIR_MATERIALS_BUILT_IN);
    assert_int_equal(weir_world_find_material(world, "syrup"), syrup);
    assert_int_equal(weir_world_find_material(world, "tar"), WEIR_NOTHING);
    assert_true(weir_world_material(world, syrup, &def));
    assert_string_equal(def.name, "syrup");
    assert_true(def.name != SYRUP.name && def.density == 1.4f && def.viscosity == 5000 && def.colour[1] == 0.5f);
    assert_false(weir_world_material(world, WEIR_NOTHING, &def));
    assert_false(weir_world_material(world, syrup + 1, &def));
    assert_false(weir_world_material(world, -1, &def));
    weir_world_destroy(world);
}

static void a_material_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    weir_world *world = make_world();
    const struct {
        weir_material_def def;
        const char *sentence;
    } wrong[] = {
        {{NULL, 1, 1, {0}}, "no name"},
        {{"", 1, 1, {0}}, "no name"},
        {{"a name of more than thirty-one letters", 1, 1, {0}}, "at most 31 letters"},
        {{"water", 1, 1, {0}}, "already a material \"water\""},
        {{"tar", 0, 1, {0}}, "the density of tar is 0"},
        {{"tar", NAN, 1, {0}}, "the density of tar is"},
        {{"tar", 1, -1, {0}}, "the viscosity of tar is -1"},
        {{"tar", 1, INFINITY, {0}}, "the viscosity of tar is inf"},
        {{"tar", 1, 1, {0, 2, 0}}, "a colour of tar is 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_material material = 7;
        assert_int_equal(weir_world_add_material(world, &wrong[i].def, &material), WEIR_ERROR_ARGUMENT);
        if (!strstr(weir_error_message(), wrong[i].sentence)) fail_msg("%zu: %s", i, weir_error_message());
        assert_int_equal(material, WEIR_NOTHING);
    }
    char name[16];
    for (int32_t i = WEIR_MATERIALS_BUILT_IN; i < WEIR_MATERIAL_MAX; i++) {
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(weir_world_add_material(world, &(weir_material_def){name, 1, 1, {0}}, NULL));
    }
    assert_int_equal(weir_world_add_material(world, &SYRUP, NULL), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_material_count(world), WEIR_MATERIAL_MAX);
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_add_material(world, &SYRUP, NULL), WEIR_ERROR_BUSY);
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
}

static void warmth_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    weir_world *world = make_world();
    const struct {
        weir_material_def def;
        const char *sentence;
    } wrong[] = {
        {{"tar", 1, 1, .kind = WEIR_KIND_COUNT}, "tar is of the kind 3, which is none"},
        {{"tar", 1, 1, .kind = (weir_material_kind)-1}, "tar is of the kind -1"},
        {{"tar", 1, 1, .heat_capacity = 1.5f}, "the heat capacity of tar is 1.5"},
        {{"fog", 1, 1, .kind = WEIR_KIND_GAS, .heat_capacity = 0.75f}, "above 0, up to 0.5"},
        {{"tar", 1, 1, .heat_capacity = NAN}, "the heat capacity of tar is"},
        {{"tar", 1, 1, .conductivity = -1}, "the conductivity of tar is -1"},
        {{"tar", 1, 1, .temperature = 2001}, "the temperature of tar is 2001"},
        {{"tar", 1, 1, .melting_point = 300}, "a point or a heat at which it freezes, and nothing"},
        {{"tar", 1, 1, .boiling_heat = 300}, "a point or a heat at which it boils, and nothing"},
        {{"tar", 1, 1, .boils_to = 10, .boiling_point = 400, .boiling_heat = 9},
         "boils to the material 10, which is not there"},
        {{"tar", 1, 1, .boils_to = -1, .boiling_point = 400, .boiling_heat = 9}, "boils to the material -1"},
        {{"tar", 1, 1, .boils_to = WEIR_STONE, .boiling_point = 400, .boiling_heat = 9}, "boils to stone, which is no gas"},
        {{"tar", 1, 1, .freezes_to = WEIR_SMOKE, .melting_point = 400, .melting_heat = 9},
         "freezes to smoke, which is no solid"},
        {{"tar", 1, 1, .freezes_to = WEIR_STONE, .melting_point = 400, .melting_heat = 9}, "freezes to stone, as lava does"},
        {{"tar", 1, 1, .boils_to = WEIR_SMOKE, .boiling_heat = 9}, "the boiling point of tar is 0"},
        {{"tar", 1, 1, .boils_to = WEIR_SMOKE, .boiling_point = 400}, "the heat of boiling of tar is 0"},
        {{"fog", 1, 1, .kind = WEIR_KIND_GAS, .boils_to = WEIR_SMOKE, .boiling_point = 400, .boiling_heat = 9},
         "which only liquids do"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(weir_world_add_material(world, &wrong[i].def, NULL), WEIR_ERROR_ARGUMENT);
        if (!strstr(weir_error_message(), wrong[i].sentence)) fail_msg("%zu: %s", i, weir_error_message());
    }
    weir_material wax;
    weir_material_def def = {"wax", 0.95f, 1, .kind = WEIR_KIND_SOLID};
    assert_ok(weir_world_add_material(world, &def, &wax));
    def = (weir_material_def){"molten wax",
                              0.9f,
                              10,
                              .freezes_to = wax,
                              .melting_point = 330,
                              .melting_heat = 40,
                              .boils_to = WEIR_SMOKE,
                              .boiling_point = 330,
                              .boiling_heat = 60};
    assert_int_equal(weir_world_add_material(world, &def, NULL), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "molten wax boils at 330 K, which is not above the 330 K at which it melts");
    def.boiling_point = 600;
    assert_ok(weir_world_add_material(world, &def, NULL));
    weir_world_destroy(world);
}

static void what_nobody_said_of_a_material_is_its_default(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material syrup;
    weir_material_def def;
    assert_ok(weir_world_add_material(world, &SYRUP, &syrup));
    assert_true(weir_world_material(world, syrup, &def));
    assert_true(def.kind == WEIR_KIND_LIQUID && def.heat_capacity == 1 && def.conductivity == 1);
    assert_true(def.temperature == (float)WEIR_TEMPERATURE && def.boils_to == WEIR_NOTHING);
    assert_true(weir_world_material(world, WEIR_WATER, &def));
    assert_true(def.boils_to == WEIR_STEAM && def.freezes_to == WEIR_ICE && def.boiling_heat == 540);
    assert_int_equal(weir_world_find_material(world, "stone"), WEIR_STONE);
    weir_world_destroy(world);
}

static void gases_and_solids_are_not_for_settle(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 32, 32, 32);
    weir_world *world = test_make(&def);
    const weir_box box = test_box(0, 0, 0, 8, 8, 8);
    assert_int_equal(weir_world_fill(world, box, WEIR_STEAM, 1), WEIR_ERROR_UNSUPPORTED);
    assert_string_equal(weir_error_message(), "a world of settle cannot hold steam");
    assert_int_equal(weir_world_fill(world, box, WEIR_ICE, 1), WEIR_ERROR_UNSUPPORTED);
    assert_ok(weir_world_fill(world, box, WEIR_MERCURY, 1));
    weir_world_destroy(world);
}

static void a_solver_refuses_what_it_cannot_hold(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material syrup;
    const weir_box box = test_box(0, 0, 0, 8, 8, 8);
    assert_ok(weir_world_add_material(world, &SYRUP, &syrup));
    assert_int_equal(weir_world_fill(world, box, syrup, 1), WEIR_ERROR_UNSUPPORTED);
    assert_string_equal(weir_error_message(), "a world of momentum cannot hold syrup");
    assert_int_equal(weir_world_add_emitter(world, box, syrup, 1, NULL), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_world_fill(world, box, syrup + 1, 1), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "no material 11 in this world; the last is 10, syrup"));
    assert_int_equal(weir_world_fill(world, box, WEIR_NOTHING, 1), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_world_fill(world, box, syrup, 0));  // nothing is of any material
    weir_world_destroy(world);
}

static void each_material_has_its_account(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material syrup;
    assert_ok(weir_world_add_material(world, &SYRUP, &syrup));
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 8, 1, 8)));
    test_step(world, 3);
    for (int32_t frozen = 0; frozen < 2; frozen++) {
        if (frozen) assert_ok(weir_world_step_begin(world));
        const weir_ledger all = weir_world_ledger(world), water = weir_world_material_ledger(world, WEIR_WATER);
        assert_memory_equal(&all, &water, sizeof all);
        assert_true(water.added == (int64_t)512 * WEIR_FULL && water.removed == (int64_t)64 * WEIR_FULL && water.drift == 0);
        assert_true(water.held == (int64_t)448 * WEIR_FULL);
        const weir_ledger none = {0}, of_oil = weir_world_material_ledger(world, syrup);
        assert_memory_equal(&of_oil, &none, sizeof none);
        const weir_ledger of_nobody = weir_world_material_ledger(world, syrup + 1);
        assert_memory_equal(&of_nobody, &none, sizeof none);
    }
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
}

static void materials_are_part_of_the_state(void **state)
{
    (void)state;
    weir_world *world = make_world(), *other = make_world();
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    const uint64_t before = weir_world_hash(world);
    weir_material syrup;
    assert_ok(weir_world_add_material(world, &SYRUP, &syrup));
    assert_true(weir_world_hash(world) != before);
    weir_material wax;
    assert_ok(weir_world_add_material(
        world, &(weir_material_def){"hard wax", 0.95f, 1, .kind = WEIR_KIND_SOLID, .temperature = 280, .heat_capacity = 0.25f},
        &wax));
    assert_ok(weir_world_add_material(
        world, &(weir_material_def){"wax", 0.9f, 1, .freezes_to = wax, .melting_point = 330, .melting_heat = 40}, NULL));

    static uint8_t bytes[1 << 20];
    size_t size;
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_add_material(other, &(weir_material_def){"tar", 1.1f, 1000, {0}}, NULL));
    assert_ok(weir_world_load_memory(other, bytes, size));
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    assert_int_equal(weir_world_find_material(other, "tar"), WEIR_NOTHING);
    weir_material_def def;
    assert_true(weir_world_material(other, weir_world_find_material(other, "syrup"), &def));
    assert_true(def.density == 1.4f && def.colour[2] == 0.1f);
    assert_true(weir_world_material(other, weir_world_find_material(other, "wax"), &def));
    assert_true(def.kind == WEIR_KIND_LIQUID && def.freezes_to == wax && def.melting_point == 330 && def.melting_heat == 40);
    assert_true(weir_world_material(other, wax, &def));
    assert_true(def.kind == WEIR_KIND_SOLID && def.temperature == 280 && def.heat_capacity == 0.25f);
    test_step(other, 2);
    assert_int_equal(weir_world_ledger(other).drift, 0);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_has_water_and_what_the_game_adds),
        cmocka_unit_test(a_material_that_makes_no_sense_is_refused),
        cmocka_unit_test(warmth_that_makes_no_sense_is_refused),
        cmocka_unit_test(what_nobody_said_of_a_material_is_its_default),
        cmocka_unit_test(gases_and_solids_are_not_for_settle),
        cmocka_unit_test(a_solver_refuses_what_it_cannot_hold),
        cmocka_unit_test(each_material_has_its_account),
        cmocka_unit_test(materials_are_part_of_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
