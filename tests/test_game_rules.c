// Rules of the game's own: dye that goes with the water, and what rules see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <math.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};

// ---- A game's rule: dye ----------------------------------------------------------------------------------------------------

// All dye of a world, in full cells.
static double dye_of(const weir_world *world, double *least, double *most)
{
    weir_box box = weir_world_bounds(world);
    double sum = 0;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x++) {
                weir_coord cell = {x, y, z};
                double value = weir_world_channel(world, "dye", cell);
                sum += value * weir_world_cell(world, cell).fill;
                *least = fmin(*least, value);
                *most = fmax(*most, value);
            }
        }
    }
    return sum;
}

static weir_world *make_dyed(weir_solver solver, dye_options *options, int32_t threads)
{
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.threads = threads;
    weir_world *world = test_make(&def);
    const weir_rule_def rule = dye_rule(options);
    assert_ok(weir_world_add_rule(world, &rule));
    test_fill_dam(world);
    assert_ok(weir_world_set_channel(world, test_box(0, 9, 0, 9, 18, 12), "dye", 1.0f));
    return world;
}

static void dye_goes_with_the_water_and_none_is_lost(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {0};
        weir_world *world = make_dyed(SOLVERS[s], &options, 1);
        double least = INFINITY, most = -INFINITY, start = dye_of(world, &least, &most);
        assert_true(start == 9 * 9 * 12);
        for (int32_t i = 0; i < test_length(10, 3); i++) {
            test_step(world, 10);
            double now = dye_of(world, &least, &most);
            // Every update rounds each cell a few times, by 6e-8 of it at most.
            if (fabs(now - start) > start * 1e-5) fail_msg("%s: %.9g dye of %.9g", weir_solver_name(SOLVERS[s]), now, start);
            assert_true(least >= 0 && most <= 1);
        }
        // It has come to places that had neither dye nor water.
        assert_true(weir_world_channel(world, "dye", (weir_coord){11, 0, 3}) > 0);
        assert_true(weir_world_channel(world, "nothing", (weir_coord){11, 0, 3}) == 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void dye_fades_as_it_was_told(void **state)
{
    dye_options options = {.fading = 0.01f};
    weir_world *world = make_dyed(WEIR_SOLVER_MOMENTUM, &options, 1);
    double least = INFINITY, most = -INFINITY, start = dye_of(world, &least, &most);
    test_step(world, 30);
    double now = dye_of(world, &least, &most), right = start * pow(1 - 0.01, 30);
    assert_true(fabs(now - right) < right * 1e-5);
    options.fading = 1;
    test_step(world, 1);
    assert_true(dye_of(world, &least, &most) == 0);
    assert_true(least >= 0 && most <= 1);
    weir_world_destroy(world);
}

static void dye_is_part_of_the_hash_and_the_same_on_all_threads(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {.fading = 0.003f};
        weir_world *one = make_dyed(SOLVERS[s], &options, 1), *three = make_dyed(SOLVERS[s], &options, 3);
        test_step(one, 20);
        test_step(three, 20);
        uint64_t hash = weir_world_hash(one);
        assert_true(weir_world_hash(three) == hash);
        assert_ok(weir_world_set_channel(one, test_box(3, 3, 3, 4, 4, 4), "dye", 0.123f));
        assert_true(weir_world_hash(one) != hash);
        weir_world_destroy(one);
        weir_world_destroy(three);
    }
}

// A rule that sees everything, at every place.
typedef struct watcher {
    const char *name;
    bool sound;
    int64_t update;
} watcher;

static void watch(const weir_rule_brick *brick, void *user)
{
    watcher *w = user;
    w->update = brick->update;
    w->sound &= brick->fill && brick->flow_x && brick->flow_y && brick->flow_z && brick->pressure && brick->open;
    w->sound &= !brick->moved_x && !brick->fill_before && !brick->old_values[0];
    for (int32_t i = 0; i < WEIR_TILE_CELLS; i++) {
        w->sound &= brick->fill[i] >= 0 && brick->fill[i] < 2;
        w->sound &= brick->open[i] == 1 || (brick->open[i] == 0 && brick->fill[i] == 0);
    }
}

static void rules_see_what_they_asked_for_at_every_place(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = test_dam(SOLVERS[s]);
        watcher watchers[3] = {{"before", true, -1}, {"middle", true, -1}, {"after", true, -1}};
        for (int32_t i = 0; i < 3; i++) {
            const weir_rule_def rule = {.name = watchers[i].name,
                                        .place = (weir_place)i,
                                        .sees = WEIR_SEES_FILL | WEIR_SEES_FLOW | WEIR_SEES_PRESSURE | WEIR_SEES_OPEN,
                                        .run = watch,
                                        .user = &watchers[i]};
            assert_ok(weir_world_add_rule(world, &rule));
        }
        weir_world *plain = test_dam(SOLVERS[s]);
        test_step(world, 7);
        test_step(plain, 7);
        for (int32_t i = 0; i < 3; i++) {
            assert_true(watchers[i].sound);
            assert_int_equal(watchers[i].update, 6);
        }
        float *a = test_fills(world, weir_world_bounds(world)), *b = test_fills(plain, weir_world_bounds(plain));
        assert_memory_equal(a, b, 24 * 24 * 24 * sizeof *a);  // watching changes nothing
        free(a);
        free(b);
        weir_world_destroy(world);
        weir_world_destroy(plain);
    }
}

static void a_rule_that_cannot_be_added_leaves_nothing(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    test_memory memory = {0};
    def.allocator = test_memory_hooks(&memory);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 8, 16), 1);
    int64_t before = memory.bytes;
    dye_options options = {0};
    const weir_rule_def rule = dye_rule(&options);
    memory.fail_at = memory.calls + 2;
    assert_int_equal(weir_world_add_rule(world, &rule), WEIR_ERROR_MEMORY);
    assert_int_equal(memory.bytes, before);
    memory.fail_at = 0;
    assert_ok(weir_world_add_rule(world, &rule));
    test_step(world, 2);
    weir_world_destroy(world);
    assert_int_equal(memory.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_that_cannot_be_added_leaves_nothing),
        cmocka_unit_test(dye_goes_with_the_water_and_none_is_lost),
        cmocka_unit_test(dye_fades_as_it_was_told),
        cmocka_unit_test(dye_is_part_of_the_hash_and_the_same_on_all_threads),
        cmocka_unit_test(rules_see_what_they_asked_for_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
