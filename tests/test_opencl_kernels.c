// Compiles and runs every kernel once, so that the tests that come after find them compiled. A driver that computes on the processor
// takes half a minute for that, the first time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <stdio.h>

static void say(void *user, weir_log_level level, const char *line)
{
    print_message("%s\n", line);
}

// Many materials in a tile, and few.
static void make_hot(weir_world *world)
{
    assert_ok(weir_world_add_heater(world, test_box(20, 0, 0, 22, 10, 48), 1400, NULL));
    assert_ok(weir_world_fill(world, test_box(24, 0, 0, 30, 8, 20), WEIR_LAVA, 1));
    assert_ok(weir_world_fill(world, test_box(30, 0, 0, 36, 8, 20), WEIR_OIL, 1));
    test_fill(world, test_box(28, 8, 0, 34, 14, 20), 1);
}

// Terrain, open sides, viscosity, noise and forces; bricks that are born, die and move in the pool.
static void run_all(weir_solver solver)
{
    weir_world_def def = test_def(solver, 96, 48, 48);
    weir_params params = weir_params_default();
    params.noise = 0.01f;
    params.momentum.viscosity = 0.1f;
    def.params = &params;
    def.open_sides = WEIR_SIDE_X_MAX;
    def.change_threshold = solver == WEIR_SOLVER_MIXTURE ? 0.01f : 0;
    def.logger.write = say;
    weir_world *worlds[2];
    for (int32_t k = 0; k < 2; k++) {
        def.backend = k == 0 ? WEIR_BACKEND_CPU : WEIR_BACKEND_OPENCL;
        weir_status status = weir_world_create(&def, &worlds[k]);
        if (status == WEIR_ERROR_UNSUPPORTED && k == 1) {
            print_message("skipped: %s\n", weir_error_message());
            weir_world_destroy(worlds[0]);
            skip();
        }
        weir_world *world = worlds[k];
        if (status != WEIR_OK) fail_msg("%s", weir_error_message());
        assert_ok(weir_world_build(world, test_box(20, 0, 0, 22, 10, 48), 200));
        if (solver == WEIR_SOLVER_MIXTURE)
            make_hot(world);
        else
            assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 96, 48, 48), (weir_vec){0.003f, 0, 0}, NULL));
        test_fill(world, test_box(0, 0, 0, 20, 40, 48), 1);
        test_fill(world, test_box(80, 30, 0, 95, 40, 20), 1);
        test_step(world, 4);
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 90, 48, 48)));
        test_step(world, 4);
    }
    assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[1]));
    weir_world_destroy(worlds[0]);
    weir_world_destroy(worlds[1]);
}

static void the_kernels_of_momentum_run(void **state)
{
    run_all(WEIR_SOLVER_MOMENTUM);
}

static void the_kernels_of_classic_run(void **state)
{
    run_all(WEIR_SOLVER_CLASSIC);
}

static void the_kernels_of_mixture_run(void **state)
{
    run_all(WEIR_SOLVER_MIXTURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_of_momentum_run),
        cmocka_unit_test(the_kernels_of_classic_run),
        cmocka_unit_test(the_kernels_of_mixture_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
