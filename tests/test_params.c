// Parameters: their defaults, their ranges, their names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world/solver.h"
#include <math.h>
#include <string.h>
#include <weir/weir.h>

static bool same(const weir_params *a, const weir_params *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

// The i-th parameter of a solver's worlds by the name that weir_params_set takes: the shared ones, then its own.
static bool param_at(weir_solver solver, int32_t index, weir_param *param)
{
    int32_t shared = 0;
    while (weir_params_shared(shared, param)) shared++;
    return index < shared ? weir_params_shared(index, param) : weir_params_own(solver, index - shared, param);
}

static void defaults_pass_their_own_check(void **state)
{
    const weir_params params = weir_params_default();
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++)
        assert_int_equal(weir_params_check(&params, (weir_solver)solver), WEIR_OK);
}

static void defaults_are_those_of_the_documents(void **state)
{
    const weir_params p = weir_params_default();
    assert_true(p.gravity.x == 0 && p.gravity.y == -0.01f && p.gravity.z == 0);
    assert_true(p.noise == 0 && p.noise_seed == 1 && p.empty == 1e-4f);
    const weir_momentum_params *m = &p.momentum;
    assert_true(m->damping == 0.001f && m->damping_flow == 0.3f && m->viscosity == 0 && m->friction == 0.0012f);
    assert_true(m->film == 1.0f / 16 && m->substeps == 8 && m->max_flow == 8);
    assert_true(m->smooths == 3 && m->cycles == 8 && m->tolerance == 0.005f);
    assert_true(m->excess_rate == 0.25f && m->excess_cap == 0.1f && m->fill_cap == 1.25f && m->dust == 1e-4f);
    assert_true(p.classic.damping == 0.01f && p.classic.max_flow == 1.0f / 3 && p.classic.iterations == 8);
}

static void what_is_no_number_in_range_is_refused_by_name_and_changes_nothing(void **state)
{
    const double bad[] = {NAN, -NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e10, -1e10};
    const weir_params before = weir_params_default();
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        weir_param param;
        for (int32_t i = 0; param_at((weir_solver)solver, i, &param); i++) {
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                weir_params params = before;
                assert_int_equal(weir_params_set(&params, (weir_solver)solver, param.name, bad[k]), WEIR_ERROR_ARGUMENT);
                assert_true(same(&params, &before));
                assert_ptr_equal(strstr(weir_error_message(), param.name), weir_error_message());
            }
        }
    }
}

static void the_sentence_says_name_value_and_range(void **state)
{
    weir_params params = weir_params_default();
    params.gravity.y = NAN;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_MOMENTUM), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "gravity.y is nan; it must be a number from -1 to 1");

    params = weir_params_default();
    params.classic.iterations = 0;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "iterations is 0; it must be a whole number from 1 to 1024");

    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "max_flow", 0.4), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "max_flow is 0.4; it must be a number from 0 to 0.3333333");
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "classic.max_flow", 0.4), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "classic.max_flow is 0.4; it must be a number from 0 to 0.3333333");
}

static void the_ends_of_a_range_belong_to_it(void **state)
{
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        weir_param param;
        weir_params params = weir_params_default();
        for (int32_t i = 0; param_at((weir_solver)solver, i, &param); i++) {
            assert_int_equal(weir_params_set(&params, (weir_solver)solver, param.name, param.min), WEIR_OK);
            assert_int_equal(weir_params_check(&params, (weir_solver)solver), WEIR_OK);
            assert_int_equal(weir_params_set(&params, (weir_solver)solver, param.name, param.max), WEIR_OK);
            assert_int_equal(weir_params_check(&params, (weir_solver)solver), WEIR_OK);
        }
    }
    weir_params params = weir_params_default();
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "max_flow", 1.0 / 3), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "viscosity", 1.0 / 6), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "empty", 0.1), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "noise_seed", 4294967295.0), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "iterations", 1024), WEIR_OK);
    assert_true(params.noise_seed == UINT32_MAX && params.empty == 0.1f && params.momentum.viscosity == 1.0f / 6);
    assert_true(params.classic.iterations == 1024 && params.classic.max_flow == 1.0f / 3);
}

static void another_solvers_parameters_play_no_part(void **state)
{
    weir_params params = weir_params_default();
    params.classic.max_flow = NAN;
    params.classic.iterations = -1;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_MOMENTUM), WEIR_OK);
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_ERROR_ARGUMENT);
    params = weir_params_default();
    params.momentum.max_flow = 9;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_CLASSIC), WEIR_OK);
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_MOMENTUM), WEIR_ERROR_ARGUMENT);
}

static void gravity_by_name_pulls_down(void **state)
{
    weir_params params = weir_params_default();
    double value;
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity", 0.25), WEIR_OK);
    assert_true(params.gravity.y == -0.25f && params.gravity.x == 0);
    assert_int_equal(weir_params_get(&params, WEIR_SOLVER_MOMENTUM, "gravity", &value), WEIR_OK);
    assert_true(value == 0.25);
    assert_int_equal(weir_params_get(&params, WEIR_SOLVER_MOMENTUM, "gravity.y", &value), WEIR_OK);
    assert_true(value == -0.25);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity.x", -0.5), WEIR_OK);
    assert_true(params.gravity.x == -0.5f && params.gravity.y == -0.25f);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "gravity", 0), WEIR_OK);
    assert_false(signbit(params.gravity.y));
    assert_int_equal(weir_params_get(&params, WEIR_SOLVER_MOMENTUM, "gravity", &value), WEIR_OK);
    assert_false(signbit(value));
}

static void short_names_are_the_solvers_and_full_ones_anybodys(void **state)
{
    const weir_params before = weir_params_default();
    weir_params params = before;
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "damping", 0.5), WEIR_OK);
    assert_true(params.momentum.damping == 0.5f && params.classic.damping == before.classic.damping);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "damping", 0.25), WEIR_OK);
    assert_true(params.momentum.damping == 0.5f && params.classic.damping == 0.25f);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "momentum.damping", 0.125), WEIR_OK);
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "classic.damping", 0.0625), WEIR_OK);
    assert_true(params.momentum.damping == 0.125f && params.classic.damping == 0.0625f);
    params.momentum.damping = before.momentum.damping;
    params.classic.damping = before.classic.damping;
    assert_true(same(&params, &before));
}

static void what_is_set_by_a_name_is_got_by_it(void **state)
{
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        const weir_solver s = (weir_solver)solver;
        weir_params params = weir_params_default();
        weir_param param;
        double value;
        for (int32_t i = 0; param_at(s, i, &param); i++) {
            assert_int_equal(weir_params_get(&params, s, param.name, &value), WEIR_OK);
            assert_true(value == (param.whole ? param.default_value : (double)(float)param.default_value));
            const double half = param.whole ? floor((param.min + param.max) / 2) : (double)(float)((param.min + param.max) / 2);
            assert_int_equal(weir_params_set(&params, s, param.name, half), WEIR_OK);
            assert_int_equal(weir_params_get(&params, s, param.name, &value), WEIR_OK);
            assert_true(value == half);
            params = weir_params_default();
        }
        value = 7;
        assert_int_equal(weir_params_get(&params, s, "colour", &value), WEIR_ERROR_ARGUMENT);
        assert_true(value == 7);
    }
}

static void whole_numbers_must_be_whole(void **state)
{
    int32_t count = 0;
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        weir_param param;
        for (int32_t i = 0; param_at((weir_solver)solver, i, &param); i++) {
            if (!param.whole) continue;
            weir_params params = weir_params_default(), before = params;
            assert_int_equal(weir_params_set(&params, (weir_solver)solver, param.name, 2.5), WEIR_ERROR_ARGUMENT);
            assert_non_null(strstr(weir_error_message(), "whole number"));
            assert_true(same(&params, &before));
            assert_int_equal(weir_params_set(&params, (weir_solver)solver, param.name, 2), WEIR_OK);
            count++;
        }
    }
    assert_true(count >= 5);  // noise_seed of each, smooths and cycles, iterations
}

static void an_unknown_name_is_answered_with_all_names(void **state)
{
    const char *unknown[] = {"a name that is far longer than any parameter's and than the sentence has room for", "",
                             "momentum", "sphere.film"};
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++) {
            weir_params params = weir_params_default(), before = params;
            weir_param param;
            assert_int_equal(weir_params_set(&params, (weir_solver)solver, unknown[k], 1), WEIR_ERROR_ARGUMENT);
            for (int32_t i = 0; param_at((weir_solver)solver, i, &param); i++)
                assert_non_null(strstr(weir_error_message(), param.name));
            assert_true(same(&params, &before));
        }
    }
}

static void a_name_of_another_solver_is_answered_with_whose_it_is(void **state)
{
    weir_params params = weir_params_default(), before = params;
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_CLASSIC, "viscosity", 0), WEIR_ERROR_ARGUMENT);
    const char *sentence = "there is no parameter \"viscosity\" for classic (momentum has it); there are gravity, gravity.x, ";
    assert_ptr_equal(strstr(weir_error_message(), sentence), weir_error_message());
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "classic.viscosity", 0), WEIR_ERROR_ARGUMENT);
    sentence = "classic has no parameter \"viscosity\" of its own; it has damping, iterations, ";
    assert_ptr_equal(strstr(weir_error_message(), sentence), weir_error_message());
    assert_null(strstr(weir_error_message(), "gravity"));
    // What is shared belongs to none.
    assert_int_equal(weir_params_set(&params, WEIR_SOLVER_MOMENTUM, "momentum.noise", 0), WEIR_ERROR_ARGUMENT);
    assert_true(same(&params, &before));
}

static void lists_end_and_every_name_is_there_once(void **state)
{
#define PLUS_ONE(type, name, min, max, standard, help) +1
    const int32_t shared = 4 WEIR_SHARED_PARAMS(PLUS_ONE);  // gravity by its four names
    const int32_t own[WEIR_SOLVER_COUNT] = {[WEIR_SOLVER_MOMENTUM] =
                                                WEIR_MOMENTUM_PARAMS(PLUS_ONE) WEIR_MOMENTUM_OPTIONS(PLUS_ONE),
                                            [WEIR_SOLVER_CLASSIC] = WEIR_CLASSIC_PARAMS(PLUS_ONE),
                                            [WEIR_SOLVER_SETTLE] = WEIR_SETTLE_PARAMS(PLUS_ONE),
                                            [WEIR_SOLVER_MIXTURE] = WEIR_MIXTURE_PARAMS(PLUS_ONE)};
#undef PLUS_ONE
    weir_param param, other;
    for (int solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        int32_t i = 0;
        for (; param_at((weir_solver)solver, i, &param); i++) {
            assert_true(strlen(param.help) > 5 && param.min < param.max);
            assert_true(param.default_value >= param.min && param.default_value <= param.max);
            for (int32_t k = 0; k < i; k++) {
                assert_true(param_at((weir_solver)solver, k, &other));
                assert_string_not_equal(param.name, other.name);
            }
        }
        assert_int_equal(i, shared + own[solver]);
        assert_false(weir_params_own((weir_solver)solver, -1, &param));
        assert_false(weir_params_own((weir_solver)solver, INT32_MAX, &param));
    }
    assert_false(weir_params_shared(-1, &param));
    assert_false(weir_params_shared(INT32_MAX, &param));
    assert_false(weir_params_own(WEIR_SOLVER_COUNT, 0, &param));
    assert_false(weir_params_own((weir_solver)-1, 0, &param));
}

static void a_solver_that_is_none_is_refused(void **state)
{
    weir_params params = weir_params_default();
    double value;
    assert_int_equal(weir_params_check(&params, WEIR_SOLVER_COUNT), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_params_set(&params, (weir_solver)-1, "noise", 0), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_params_get(&params, WEIR_SOLVER_COUNT, "noise", &value), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "not one that Weir has"));
}

// A solver of somebody's own, without parameters: the shared ones are all there is.
static void a_solver_may_have_no_parameters(void **state)
{
    const solver_table plain = {.name = "plain"};
    weir_params params = weir_params_default();
    memset(&params.momentum, 0xff, sizeof params.momentum);
    assert_int_equal(params_check(&params, &plain), WEIR_OK);
    assert_string_equal(params_field(&plain, 0)->name, "gravity.x");
    int32_t count = 0;
    while (params_field(&plain, count)) count++;
    assert_null(params_field(&plain, count));
    weir_param last;
    assert_true(weir_params_shared(count, &last));  // "gravity" is one more name, and no field
    assert_false(weir_params_shared(count + 1, &last));
    params.gravity.x = -0.0f;
    params.empty = -0.0f;
    weir_params kept = params_plain(&params, &plain);
    assert_false(signbit(kept.gravity.x) || signbit(kept.empty));
    assert_memory_equal(&kept.momentum, &params.momentum, sizeof kept.momentum);
    params.empty = 1;
    assert_int_equal(params_check(&params, &plain), WEIR_ERROR_ARGUMENT);
}

static void a_world_keeps_its_parameters_when_new_ones_are_refused(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    weir_params params = weir_world_params(world), before = params;
    params.momentum.damping = 2;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_ERROR_ARGUMENT);
    weir_params now = weir_world_params(world);
    assert_true(same(&now, &before));
    params.momentum.damping = 0.5f;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_OK);
    assert_true(weir_world_params(world).momentum.damping == 0.5f);

    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_set_params(world, &before), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);
    assert_true(weir_world_params(world).momentum.damping == 0.5f);
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
        cmocka_unit_test(another_solvers_parameters_play_no_part),
        cmocka_unit_test(gravity_by_name_pulls_down),
        cmocka_unit_test(short_names_are_the_solvers_and_full_ones_anybodys),
        cmocka_unit_test(what_is_set_by_a_name_is_got_by_it),
        cmocka_unit_test(whole_numbers_must_be_whole),
        cmocka_unit_test(an_unknown_name_is_answered_with_all_names),
        cmocka_unit_test(a_name_of_another_solver_is_answered_with_whose_it_is),
        cmocka_unit_test(lists_end_and_every_name_is_there_once),
        cmocka_unit_test(a_solver_that_is_none_is_refused),
        cmocka_unit_test(a_solver_may_have_no_parameters),
        cmocka_unit_test(a_world_keeps_its_parameters_when_new_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
