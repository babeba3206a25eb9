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

// ---- Reactions -------------------------------------------------------------------------------------------------------------

static weir_material add_material(weir_world *world, const char *name)
{
    weir_material material;
    assert_ok(weir_world_add_material(world, &(weir_material_def){name, 1, 1, {0}}, &material));
    return material;
}

static void a_world_knows_that_lava_and_water_react(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_reaction_def def;
    assert_int_equal(weir_world_reaction_count(world), 1);
    assert_true(weir_world_reaction(world, 0, &def));
    assert_true(def.first == WEIR_WATER && def.first_to == WEIR_STEAM);
    assert_true(def.second == WEIR_LAVA && def.second_to == WEIR_STONE);
    assert_true(def.rate > 0 && def.rate <= 1 && def.heat == 0);
    assert_false(weir_world_reaction(world, 1, &def));
    assert_false(weir_world_reaction(world, -1, &def));
    weir_world_destroy(world);
}

static void reactions_are_listed_in_the_order_of_materials(void **state)
{
    (void)state;
    weir_world *world = make_world(), *other = make_world();
    const weir_reaction_def defs[] = {{WEIR_OIL, WEIR_WATER, WEIR_NOTHING, WEIR_WATER, 0.25f, -2},
                                      {WEIR_LAVA, WEIR_OIL, WEIR_LAVA, WEIR_NOTHING, 1, 7}};
    assert_ok(weir_world_add_reaction(world, &defs[0]));
    assert_ok(weir_world_add_reaction(world, &defs[1]));
    assert_ok(weir_world_add_reaction(other, &defs[1]));
    assert_ok(weir_world_add_reaction(other, &defs[0]));
    assert_true(weir_world_hash(world) == weir_world_hash(other));
    weir_reaction_def def;
    assert_int_equal(weir_world_reaction_count(world), 3);
    assert_true(weir_world_reaction(world, 0, &def));
    assert_true(def.first == WEIR_WATER && def.second == WEIR_OIL && def.first_to == WEIR_WATER &&
                def.second_to == WEIR_NOTHING);
    assert_true(def.rate == 0.25f && def.heat == -2);
    assert_true(weir_world_reaction(world, 1, &def));
    assert_true(def.first == WEIR_WATER && def.second == WEIR_LAVA);
    assert_true(weir_world_reaction(world, 2, &def));
    assert_true(def.first == WEIR_OIL && def.second == WEIR_LAVA && def.second_to == WEIR_LAVA && def.heat == 7);

    // Those that are built in can be switched off, and come back.
    const uint64_t with = weir_world_hash(world);
    assert_true(weir_world_reaction(world, 1, &def));
    assert_ok(weir_world_remove_reaction(world, WEIR_LAVA, WEIR_WATER));
    assert_int_equal(weir_world_reaction_count(world), 2);
    assert_true(weir_world_hash(world) != with);
    assert_int_equal(weir_world_remove_reaction(world, WEIR_LAVA, WEIR_WATER), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "there is no reaction of lava and water");
    assert_int_equal(weir_world_remove_reaction(world, 9, WEIR_WATER), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_world_add_reaction(world, &def));
    assert_true(weir_world_hash(world) == with);
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_add_reaction(world, &defs[0]), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_remove_reaction(world, WEIR_LAVA, WEIR_WATER), WEIR_ERROR_BUSY);
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
    weir_world_destroy(other);
}

static void a_reaction_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    weir_world *world = make_world();
    const struct {
        weir_reaction_def def;
        const char *sentence;
    } wrong[] = {
        {{WEIR_OIL, 10, 0, 0, 1, 0}, "is of material 10, and the materials of this world are those from 1 to 9"},
        {{WEIR_NOTHING, WEIR_OIL, 0, 0, 1, 0}, "is of material 0"},
        {{WEIR_TERRAIN, WEIR_OIL, 0, 0, 1, 0}, "is of material -1"},
        {{WEIR_OIL, WEIR_LAVA, 32, 0, 1, 0}, "makes material 32"},
        {{WEIR_OIL, WEIR_LAVA, 0, -2, 1, 0}, "makes material -2"},
        {{WEIR_OIL, WEIR_OIL, 0, 0, 1, 0}, "oil cannot react with itself"},
        {{WEIR_OIL, WEIR_LAVA, WEIR_OIL, WEIR_LAVA, 1, 0}, "the reaction of oil and lava changes neither"},
        {{WEIR_LAVA, WEIR_WATER, 0, 0, 1, 0}, "there is already a reaction of water and lava; remove it first"},
        {{WEIR_OIL, WEIR_LAVA, 0, 0, 0, 0}, "the rate of the reaction of oil and lava is 0; it must be above 0, up to 1"},
        {{WEIR_OIL, WEIR_LAVA, 0, 0, 1.5f, 0}, "is 1.5"},
        {{WEIR_OIL, WEIR_LAVA, 0, 0, NAN, 0}, "the rate of"},
        {{WEIR_OIL, WEIR_LAVA, 0, 0, 1, INFINITY}, "the heat of"},
        {{WEIR_OIL, WEIR_LAVA, 0, 0, 1, NAN}, "the heat of"},
    };
    const uint64_t hash = weir_world_hash(world);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(weir_world_add_reaction(world, &wrong[i].def), WEIR_ERROR_ARGUMENT);
        if (!strstr(weir_error_message(), wrong[i].sentence)) fail_msg("%zu: %s", i, weir_error_message());
    }
    assert_true(weir_world_hash(world) == hash);
    weir_world_destroy(world);
}

static void a_table_without_an_end_is_refused(void **state)
{
    (void)state;
    weir_world *world = make_world();
    const weir_material ice = add_material(world, "rime"), salt = add_material(world, "salt"),
                        frost = add_material(world, "frost");
    // Water to ice by frost, which stays, is no loop; nor is ice to water by lava, of which there is only so much.
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){WEIR_WATER, frost, ice, frost, 1, 0}));
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){ice, WEIR_LAVA, WEIR_WATER, WEIR_TERRAIN, 1, 0}));
    // By oil, which stays as well, it is one.
    const weir_reaction_def thaws = {ice, WEIR_OIL, WEIR_WATER, WEIR_OIL, 1, 0};
    assert_int_equal(weir_world_add_reaction(world, &thaws), WEIR_ERROR_ARGUMENT);
    assert_string_equal(
        weir_error_message(),
        "with a reaction of oil and rime there would be no end: what reactions use up, that of water and frost among "
        "them, others would make again");
    // One over three reactions: salt makes brine of ice (oil here), and so on.
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){ice, salt, WEIR_OIL, salt, 1, 0}));
    const weir_reaction_def back = {WEIR_OIL, salt, WEIR_WATER, salt, 1, 0};
    assert_int_equal(weir_world_add_reaction(world, &back), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "no end"));
    // With salt that is used up it ends.
    const weir_reaction_def used = {WEIR_OIL, salt, WEIR_WATER, WEIR_NOTHING, 1, 0};
    assert_ok(weir_world_add_reaction(world, &used));
    assert_int_equal(weir_world_reaction_count(world), 5);
    // Two that change places: each is used up and made by the same reaction.
    assert_int_equal(weir_world_add_reaction(world, &(weir_reaction_def){ice, frost, frost, ice, 1, 0}), WEIR_ERROR_ARGUMENT);
    weir_world_destroy(world);
}

static void a_world_has_only_so_many_reactions(void **state)
{
    (void)state;
    weir_world *world = make_world();
    weir_material added[12];
    char name[16];
    int32_t count = 1;
    for (int32_t i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "m%d", i);
        added[i] = add_material(world, name);
    }
    for (int32_t i = 0; i < 12; i++) {
        for (int32_t k = 0; k < i; k++) {
            const weir_reaction_def def = {added[i], added[k], WEIR_NOTHING, WEIR_TERRAIN, 1, 0};
            const weir_status status = weir_world_add_reaction(world, &def);
            assert_int_equal(status, count < WEIR_REACTION_MAX ? WEIR_OK : WEIR_ERROR_LIMIT);
            count += status == WEIR_OK;
        }
    }
    assert_int_equal(weir_world_reaction_count(world), WEIR_REACTION_MAX);
    weir_world_destroy(world);
}

static void reactions_are_part_of_the_state(void **state)
{
    (void)state;
    weir_world *world = make_world(), *other = make_world();
    static uint8_t bytes[1 << 20];
    size_t usual, size;
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &usual));
    const weir_material honey = add_material(world, "treacle");
    const weir_reaction_def def = {honey, WEIR_WATER, WEIR_OIL, WEIR_TERRAIN, 0.125f, 3};
    assert_ok(weir_world_add_reaction(world, &def));
    assert_ok(weir_world_remove_reaction(world, WEIR_WATER, WEIR_LAVA));
    assert_ok(weir_world_add_reaction(other, &(weir_reaction_def){WEIR_OIL, WEIR_WATER, 0, 0, 1, 0}));
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_load_memory(other, bytes, size));
    assert_true(weir_world_hash(other) == weir_world_hash(world));
    weir_reaction_def loaded;
    assert_int_equal(weir_world_reaction_count(other), 1);
    assert_true(weir_world_reaction(other, 0, &loaded));
    assert_true(loaded.first == WEIR_WATER && loaded.second == honey && loaded.first_to == WEIR_TERRAIN &&
                loaded.second_to == WEIR_OIL && loaded.rate == 0.125f && loaded.heat == 3);
    // Without any: none come with it.
    assert_ok(weir_world_remove_reaction(world, WEIR_WATER, honey));
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    assert_ok(weir_world_load_memory(other, bytes, size));
    assert_int_equal(weir_world_reaction_count(other), 0);
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
        cmocka_unit_test(a_world_knows_that_lava_and_water_react),
        cmocka_unit_test(reactions_are_listed_in_the_order_of_materials),
        cmocka_unit_test(a_reaction_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_table_without_an_end_is_refused),
        cmocka_unit_test(a_world_has_only_so_many_reactions),
        cmocka_unit_test(reactions_are_part_of_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
