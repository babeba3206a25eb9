// Parameters: their defaults, their ranges, their names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <weir/weir.h>

static bool same(const weir_params *a, const weir_params *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void defaults_pass_their_own_check(void **state)
{
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        weir_params params = weir_params_default((weir_solver)solver);
        assert_int_equal(weir_params_check(&params, (weir_solver)solver), WEIR_OK);
    }
}

static void defaults_are_those_of_the_documents(void **state)
{
    weir_params m = weir_params_default(WEIR_SOLVER_MOMENTUM), c = weir_params_default(WEIR_SOLVER_CLASSIC);
    assert_true(m.gravity.x == 0 && m.gravity.y == -0.01f && m.gravity.z == 0);
    assert_true(m.damping == 0.001f && m.viscosity == 0 && m.noise == 0 && m.noise_seed == 1);
    assert_true(m.iterations == 8 && m.smooths == 3 && m.cycles == 8 && m.tolerance == 0.005f);
    assert_true(m.excess_rate == 0.25f && m.excess_cap == 0.1f && m.fill_cap == 1.25f);
    assert_true(m.empty == 1e-4f && m.dust == 1e-4f && m.max_flow == 1);
    assert_true(c.damping == 0.01f && c.max_flow == 1.0f / 3 && c.iterations == 8);
    c.damping = m.damping;
    c.max_flow = m.max_flow;
    assert_true(same(&c, &m));
}

static void what_is_no_number_in_range_is_refused_by_name_and_changes_nothing(void **state)
{
    const double bad[] = {NAN, -NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e10, -1e10};
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        const weir_params before = weir_params_default((weir_solver)solver);
        for (int32_t i = 0; weir_params_name(i); i++) {
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                weir_params params = before;
                assert_int_equal(weir_params_set(&params, (weir_solver)solver, weir_params_name(i), bad[k]),
                                 WEIR_ERROR_ARGUMENT);
                assert_true(same(&params, &before));
                assert_ptr_equal(strstr(weir_error_message(), weir_params_name(i)), weir_error_message());
            }
        }
    }
}

static void the_sentence_says_name_value_and_range(void **state)
{
    weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM);
    params.gravity.y = NAN;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_MOMENTUM), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "gravity.y is nan; it must be a number from -1 to 1");

    params = weir_params_default(WEIR_SOLVER_CLASSIC);
    params.iterations = 0;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "iterations is 0; it must be a whole number from 1 to 1024");

    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "max_flow", 0.4), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "max_flow is 0.4; it must be a number from 0 to 0.3333333");
}

static void the_ends_of_a_range_belong_to_it(void **state)
{
    weir_params params = weir_params_default(WEIR_SOLVER_CLASSIC);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "max_flow", 1.0 / 3), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "viscosity", 1.0 / 6), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "empty", 0.1), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "noise_seed", 4294967295.0), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "iterations", 1024), WEIR_OK);
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_OK);
    assert_true(params.noise_seed == UINT32_MAX && params.iterations == 1024 && params.max_flow == 1.0f / 3);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "max_flow", 1), WEIR_OK);
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_ERROR_ARGUMENT);
}

static void gravity_by_name_pulls_down(void **state)
{
    weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity", 0.25), WEIR_OK);
    assert_true(params.gravity.y == -0.25f && params.gravity.x == 0);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity.x", -0.5), WEIR_OK);
    assert_true(params.gravity.x == -0.5f && params.gravity.y == -0.25f);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity", 0), WEIR_OK);
    assert_false(signbit(params.gravity.y));
}

static void whole_numbers_must_be_whole(void **state)
{
    const char *whole[] = {"iterations", "smooths", "cycles", "noise_seed"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM), before = params;
        assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, whole[i], 2.5), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "whole number"));
        assert_true(same(&params, &before));
        assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, whole[i], 2), WEIR_OK);
    }
}

static void an_unknown_name_is_answered_with_all_names(void **state)
{
    weir_params params = weir_params_default(WEIR_SOLVER_MOMENTUM), before = params;
    const char *unknown = "a name that is far longer than any parameter's and than the sentence has room for";
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, unknown, 1), WEIR_ERROR_ARGUMENT);
    for (int32_t i = 0; weir_params_name(i); i++) assert_non_null(strstr(weir_error_message(), weir_params_name(i)));
    assert_true(same(&params, &before));
}

static void names_and_meanings_come_in_pairs(void **state)
{
    int32_t count = 0;
    while (weir_params_name(count)) assert_true(strlen(weir_params_help(count++)) > 5);
    assert_int_equal(count, 18);
    assert_null(weir_params_help(count));
    assert_null(weir_params_name(-1));
    assert_null(weir_params_help(-1));
}

static void a_world_keeps_its_parameters_when_new_ones_are_refused(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    weir_params params = weir_world_params(world), before = params;
    params.damping = 2;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_ARGUMENT);
    weir_params now = weir_world_params(world);
    assert_true(same(&now, &before));
    params.damping = 0.5f;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_OK);
    assert_true(weir_world_params(world).damping == 0.5f);

    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_set_params(world, &before), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);
    assert_true(weir_world_params(world).damping == 0.5f);
    assert_int_equal(weir_world_solver(world), WEIR_SOLVER_MOMENTUM);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_pass_their_own_check),
        cmocka_unit_test(defaults_are_those_of_the_documents),
        cmocka_unit_test(what_is_no_number_in_range_is_refused_by_name_and_changes_nothing),
        cmocka_unit_test(the_sentence_says_name_value_and_range),
        cmocka_unit_test(the_ends_of_a_range_belong_to_it),
        cmocka_unit_test(gravity_by_name_pulls_down),
        cmocka_unit_test(whole_numbers_must_be_whole),
        cmocka_unit_test(an_unknown_name_is_answered_with_all_names),
        cmocka_unit_test(names_and_meanings_come_in_pairs),
        cmocka_unit_test(a_world_keeps_its_parameters_when_new_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
