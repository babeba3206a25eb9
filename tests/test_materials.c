// Materials: what a game adds, what a solver can hold, and the account of each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>
#include <stdio.h>

static const weir_material_def HONEY = {"honey", 1.4f, 5000, {0.8f, 0.5f, 0.1f}};

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

    weir_material honey;
    assert_ok(weir_world_add_material(world, &HONEY, &honey));
    assert_int_equal(honey, WEIR_MATERIALS_BUILT_IN);
    assert_int_equal(weir_world_find_material(world, "honey"), honey);
    assert_int_equal(weir_world_find_material(world, "tar"), WEIR_NOTHING);
    assert_true(weir_world_material(world, honey, &def));
    assert_string_equal(def.name, "honey");
    assert_true(def.name != HONEY.name && def.density == 1.4f && def.viscosity == 5000 && def.colour[1] == 0.5f);
    assert_false(weir_world_material(world, WEIR_NOTHING, &def));
    assert_false(weir_world_material(world, honey + 1, &def));
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
    assert_int_equal(weir_world_add_material(world, &HONEY, NULL), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_material_count(world), WEIR_MATERIAL_MAX);
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_add_material(world, &HONEY, NULL), WEIR_ERROR_BUSY);
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
}

static void a_solver_refuses_what_it_cannot_hold(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material honey;
    const weir_box box = test_box(0, 0, 0, 8, 8, 8);
    assert_ok(weir_world_add_material(world, &HONEY, &honey));
    assert_int_equal(weir_world_fill(world, box, honey, 1), WEIR_ERROR_UNSUPPORTED);
    assert_string_equal(weir_error_message(), "a world of momentum cannot hold honey");
    assert_int_equal(weir_world_add_emitter(world, box, honey, 1, NULL), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_world_fill(world, box, honey + 1, 1), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "no material 5 in this world; the last is 4, honey"));
    assert_int_equal(weir_world_fill(world, box, WEIR_NOTHING, 1), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_world_fill(world, box, honey, 0));  // nothing is of any material
    weir_world_destroy(world);
}

static void each_material_has_its_account(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material honey;
    assert_ok(weir_world_add_material(world, &HONEY, &honey));
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 8, 1, 8)));
    test_step(world, 3);
    for (int32_t frozen = 0; frozen < 2; frozen++) {
        if (frozen) assert_ok(weir_world_step_begin(world));
        const weir_ledger all = weir_world_ledger(world), water = weir_world_material_ledger(world, WEIR_WATER);
        assert_memory_equal(&all, &water, sizeof all);
        assert_true(water.added == (int64_t)512 * WEIR_FULL && water.removed == (int64_t)64 * WEIR_FULL && water.drift == 0);
        assert_true(water.held == (int64_t)448 * WEIR_FULL);
        const weir_ledger none = {0}, of_oil = weir_world_material_ledger(world, honey);
        assert_memory_equal(&of_oil, &none, sizeof none);
        const weir_ledger of_nobody = weir_world_material_ledger(world, honey + 1);
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
    weir_material honey;
    assert_ok(weir_world_add_material(world, &HONEY, &honey));
    assert_true(weir_world_hash(world) != before);

    static uint8_t bytes[1 << 20];
    size_t size;
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_add_material(other, &(weir_material_def){"tar", 1.1f, 1000, {0}}, NULL));
    assert_ok(weir_world_load_memory(other, bytes, size));
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    assert_int_equal(weir_world_find_material(other, "tar"), WEIR_NOTHING);
    weir_material_def def;
    assert_true(weir_world_material(other, weir_world_find_material(other, "honey"), &def));
    assert_true(def.density == 1.4f && def.colour[2] == 0.1f);
    test_step(other, 2);
    assert_int_equal(weir_world_ledger(other).drift, 0);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_has_water_and_what_the_game_adds), cmocka_unit_test(a_material_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_solver_refuses_what_it_cannot_hold),     cmocka_unit_test(each_material_has_its_account),
        cmocka_unit_test(materials_are_part_of_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
