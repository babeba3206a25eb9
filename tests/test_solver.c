// The life of a world and its updates: definitions, amounts, sides, sources, forces, parameters, and going on from a snapshot.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};
static const weir_advance_limit any_time = {.milliseconds = INFINITY};  // as many updates on a slow machine as on a fast one

// ---- Life ------------------------------------------------------------------------------------------------------------------

static void no_jobs(void *user, weir_task *task, void *context, int32_t count)
{
}

static void *no_memory(void *user, size_t size)
{
    return NULL;
}

static void refuse(weir_world_def def, weir_status status, const char *word)
{
    weir_world *world = (weir_world *)1;
    assert_int_equal(weir_world_create(&def, &world), status);
    assert_null(world);
    if (!strstr(weir_error_message(), word)) fail_msg("\"%s\" does not say \"%s\"", weir_error_message(), word);
}

static void definitions_that_make_no_sense_are_refused_with_a_sentence(void **state)
{
    const weir_world_def good = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    weir_world_def def;
    weir_params params = weir_params_default();

#define REFUSED(change, status, word) \
    def = good;                       \
    change;                           \
    refuse(def, status, word)
    REFUSED(def.bounds.max.y = 0, WEIR_ERROR_ARGUMENT, "bounds");
    REFUSED(def.bounds.min.z = 17, WEIR_ERROR_ARGUMENT, "bounds");
    REFUSED(def.bounds.max.x = WEIR_COORD_LIMIT + 1, WEIR_ERROR_LIMIT, "bounds");
    REFUSED(def.bounds.min.x = -WEIR_COORD_LIMIT - 1, WEIR_ERROR_LIMIT, "bounds");
    REFUSED(def.open_sides = 64, WEIR_ERROR_ARGUMENT, "open_sides");
    REFUSED((def.bounds = test_box(0, 0, 0, 0, 0, 0), def.open_sides = WEIR_SIDE_Y_MIN), WEIR_ERROR_ARGUMENT, "sides");
    REFUSED(def.solver = WEIR_SOLVER_COUNT, WEIR_ERROR_ARGUMENT, "solver");
    REFUSED(def.solver = (weir_solver)-1, WEIR_ERROR_ARGUMENT, "solver");
    REFUSED(def.backend = WEIR_BACKEND_COUNT, WEIR_ERROR_ARGUMENT, "backend");
    REFUSED(def.simd = WEIR_SIMD_COUNT, WEIR_ERROR_ARGUMENT, "code path");
    REFUSED(def.threads = -1, WEIR_ERROR_ARGUMENT, "threads");
    REFUSED(def.threads = 257, WEIR_ERROR_ARGUMENT, "threads");
    REFUSED(def.rate = -1, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.rate = NAN, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.rate = INFINITY, WEIR_ERROR_ARGUMENT, "rate");
    REFUSED(def.updates_per_step = -1, WEIR_ERROR_ARGUMENT, "updates per step");
    REFUSED(def.updates_per_step = 10001, WEIR_ERROR_ARGUMENT, "updates per step");
    REFUSED(def.reserve_bricks = -1, WEIR_ERROR_ARGUMENT, "bricks");
    REFUSED(def.reserve_bricks = INT32_MAX, WEIR_ERROR_ARGUMENT, "bricks");
    REFUSED(def.allocator.alloc = no_memory, WEIR_ERROR_ARGUMENT, "allocator");
    REFUSED(def.jobs.run = no_jobs, WEIR_ERROR_ARGUMENT, "jobs.workers");
    REFUSED((params.gravity.y = NAN, def.params = &params), WEIR_ERROR_ARGUMENT, "gravity");
    params = weir_params_default();
    REFUSED((params.classic.max_flow = 1, def.solver = WEIR_SOLVER_CLASSIC, def.params = &params), WEIR_ERROR_ARGUMENT,
            "max_flow");
#undef REFUSED

    weir_world *world = test_make(&good);
    weir_world_destroy(world);
    weir_world_destroy(NULL);
}

static void zero_in_a_definition_means_the_default(void **state)
{
    weir_world_def zero = {.threads = 1}, usual = weir_world_def_default();
    usual.threads = 1;
    weir_world *a = test_make(&zero), *b = test_make(&usual);
    weir_params params = weir_params_default();
    weir_params used = weir_world_params(a);
    assert_memory_equal(&used, &params, sizeof params);
    for (int32_t i = 0; i < 2; i++) {
        weir_world *world = i ? a : b;
        test_fill(world, test_box(-3, -3, -3, 9, 9, 9), 1);
        int32_t updates;
        assert_ok(weir_world_advance(world, 0.0551, &any_time, &updates));
        assert_int_equal(updates, 5);
    }
    assert_true(weir_world_hash(a) == weir_world_hash(b));
    weir_world_destroy(a);
    weir_world_destroy(b);
}

// As the README, the header and the design have it.
static void ten_lines_make_water(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = (weir_box){{0, 0, 0}, {64, 64, 64}};

    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) fail();
    weir_world_fill(world, (weir_box){{0, 0, 0}, {24, 40, 64}}, WEIR_WATER, 1.0f);

    for (int i = 0; i < test_length(120, 40); i++) weir_world_step(world);

    // The front of a dam 40 high runs at about 2 sqrt(g h), 1.26 cells per update, less what it needs to get going.
    weir_cell cell = weir_world_cell(world, (weir_coord){test_length(40, 30), 0, 32});
    assert_true(cell.fill > 0.5f && cell.fill < 1.25f);
    assert_true(cell.flow.x > 0.2f);
    assert_exact(world);
    weir_world_destroy(world);
}

static void an_empty_world_steps_and_stays_empty(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = weir_world_def_default();
        def.solver = SOLVERS[s];
        weir_world *world = test_make(&def);
        test_step(world, 3);
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 100, 100, 100)));
        assert_ok(weir_world_step_begin(world));
        assert_ok(weir_world_step_end(world));
        weir_stats stats = weir_world_stats(world);
        assert_int_equal(stats.updates, 4);
        assert_int_equal(stats.bricks, 0);
        assert_int_equal(stats.cells_updated, 0);
        assert_int_equal(weir_world_ledger(world).held, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Amounts ---------------------------------------------------------------------------------------------------------------

static void no_scene_loses_a_drop(void **state)
{
    for (int32_t i = 0; scene_at(i); i++) {
        const scene_def *scene = scene_at(i);
        for (int32_t s = 0; s < 2; s++) {
            if (!test_can_play(scene->name, SOLVERS[s])) continue;
            scene_run *run = test_open(scene->name, SOLVERS[s], scene->size_min > 16 ? scene->size_min : 16, 0);
            for (int32_t k = 0; k < test_length(6, 2); k++) {
                assert_ok(scene_updates(run, test_length(20, 4)));
                assert_exact(run->world);
            }
            assert_true(weir_world_ledger(run->world).held > 0);
            scene_close(run);
        }
    }
}

static void when_all_is_drained_no_brick_is_left(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = test_dam(SOLVERS[s]);
        test_step(world, 20);
        assert_true(weir_world_stats(world).bricks > 0);
        assert_ok(weir_world_drain(world, weir_world_bounds(world)));
        assert_int_equal(weir_world_ledger(world).held, 0);
        test_step(world, 1);
        assert_int_equal(weir_world_stats(world).bricks, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void open_sides_let_out_all_water_and_book_it(void **state)
{
    const uint32_t sides[] = {WEIR_SIDE_X_MIN, WEIR_SIDE_X_MAX, WEIR_SIDE_Y_MIN, WEIR_SIDE_Z_MIN, WEIR_SIDE_Z_MAX};
    for (int32_t s = 0; s < 2; s++) {
        for (int32_t i = 0; i < 5; i += test_length(1, 2)) {
            // Gravity pulls through the open side; a box whose edges do not fall together with bricks.
            weir_params params = weir_params_default();
            params.gravity = (weir_vec){0, -0.01f, 0};
            if (sides[i] & WEIR_SIDE_X_MIN) params.gravity.x = -0.01f;
            if (sides[i] & WEIR_SIDE_X_MAX) params.gravity.x = 0.01f;
            if (sides[i] & WEIR_SIDE_Z_MIN) params.gravity.z = -0.01f;
            if (sides[i] & WEIR_SIDE_Z_MAX) params.gravity.z = 0.01f;
            weir_world_def def = weir_world_def_default();
            def.bounds = test_box(-5, 0, -3, 6, 12, 7);
            def.solver = SOLVERS[s];
            def.params = &params;
            def.threads = 1;
            def.open_sides = sides[i];
            weir_world *world = test_make(&def);
            test_fill(world, test_box(-3, 2, -2, 3, 7, 5), 0.8f);
            int64_t added = weir_world_ledger(world).added;
            int32_t step = 0;
            for (; step < 4000 && weir_world_ledger(world).held > added / 100; step++) {
                test_step(world, 1);
                assert_exact(world);
            }
            weir_ledger ledger = weir_world_ledger(world);
            assert_true(ledger.drained >= added - added / 100);
            assert_int_equal(ledger.removed, 0);
            weir_world_destroy(world);
        }
    }
}

// Straight down nothing stays behind, but for what classic leaves hanging: it moves no cell that counts as empty.
static void a_bottom_that_is_open_lets_out_the_last_drop(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        const int32_t size = test_length(20, 12);
        weir_world_def def = test_def(SOLVERS[s], size, size, size);
        def.open_sides = WEIR_SIDE_Y_MIN;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(size / 4, size / 5, size / 4, 3 * size / 4, 7 * size / 10, 3 * size / 4), 1.0f);
        for (int32_t i = 0; i < 1000 && weir_world_ledger(world).held > 0; i++) test_step(world, 1);
        weir_ledger ledger = weir_world_ledger(world);
        assert_exact(world);
        if (SOLVERS[s] == WEIR_SOLVER_CLASSIC) {
            weir_box_sum left = weir_world_box_sum(world, weir_world_bounds(world));
            assert_true(left.max_fill <= weir_world_params(world).empty);
            assert_int_equal(ledger.drained, ledger.added - left.drops);
        } else {
            assert_int_equal(ledger.held, 0);
            assert_int_equal(ledger.drained, ledger.added);
            test_step(world, 1);
            assert_int_equal(weir_world_stats(world).bricks, 0);
        }
        weir_world_destroy(world);
    }
}

static void emitters_and_drains_are_exact_in_the_long_run(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 24, 24, 24);
        weir_world *world = test_make(&def);
        const float rates[] = {0.1f, 1.0f / 3, 1.7e-7f};
        int32_t ids[3], drain;
        for (int32_t i = 0; i < 3; i++)
            assert_ok(
                weir_world_add_emitter(world, test_box(4 + 5 * i, 20, 10, 7 + 5 * i, 22, 13), WEIR_WATER, rates[i], &ids[i]));
        int32_t length = test_length(1000, 60);
        test_step(world, length);
        assert_exact(world);
        int64_t expected = 0;
        for (int32_t i = 0; i < 3; i++) {
            // Rates are counted in 1/65536 drops.
            int64_t each = (int64_t)((double)rates[i] * 65536.0 * WEIR_FULL + 0.5);
            expected += each * length >> 16;
        }
        assert_int_equal(weir_world_ledger(world).added, expected);
        for (int32_t i = 0; i < 3; i++) assert_ok(weir_world_remove(world, ids[i]));

        // A drain over all the box finds as much as it wants, until nothing is left.
        assert_ok(weir_world_add_drain(world, weir_world_bounds(world), 0.7f, &drain));
        test_step(world, 10);
        assert_int_equal(weir_world_ledger(world).removed, (int64_t)((double)0.7f * 65536.0 * WEIR_FULL + 0.5) * 10 >> 16);
        test_step(world, (int32_t)(weir_world_ledger(world).held / (0.7 * WEIR_FULL)) + 2);
        assert_int_equal(weir_world_ledger(world).held, 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Forces, gravity, parameters -------------------------------------------------------------------------------------------

static void a_force_pushes_water_sideways(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_params params = weir_params_default();
        params.gravity.y = 0;
        assert_ok(weir_params_set(&params, SOLVERS[s], "damping", 0));
        weir_world_def def = test_def(SOLVERS[s], 40, 16, 16);
        def.params = &params;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(4, 4, 4, 10, 10, 10), 1.0f);
        int32_t id;
        assert_ok(weir_world_add_force(world, weir_world_bounds(world), (weir_vec){0.01f, 0, 0}, &id));
        test_step(world, 10);
        weir_vec flow = weir_world_mean_flow(world, weir_world_bounds(world));
        float speed = 10 * 0.01f;
        if (!(flow.x > 0.9f * speed && flow.x < 1.01f * speed))
            fail_msg("%s: pushed to %g, not %g", weir_solver_name(SOLVERS[s]), flow.x, speed);
        assert_true(fabsf(flow.y) < 1e-3f && fabsf(flow.z) < 1e-3f);
        assert_ok(weir_world_remove(world, id));
        test_step(world, 5);
        weir_vec later = weir_world_mean_flow(world, weir_world_bounds(world));
        assert_true(fabsf(later.x - flow.x) < 0.1f * speed);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

enum { EDGE = 32 };  // two bricks of two bricks, so that the coarse levels of the pressure are mirror images too

// A dam break with gravity along any axis, read off in turned coordinates. Fills differ only by rounding, since sums are paired
// by axis; a few dozen updates do not let that grow.
typedef struct turned {
    weir_vec gravity;
    int32_t axis[3];  // which world axis is dam's x, y, z
    bool flip;        // "up" runs towards lower coordinates
} turned;

static weir_coord turn(const turned *t, int32_t edge, weir_coord c)
{
    int32_t in[3] = {c.x, t->flip ? edge - c.y : c.y, c.z}, out[3];
    for (int32_t i = 0; i < 3; i++) out[t->axis[i]] = in[i];
    return (weir_coord){out[0], out[1], out[2]};
}

static weir_box turn_box(const turned *t, int32_t edge, weir_box b)
{
    weir_coord a = turn(t, edge, b.min), c = turn(t, edge, b.max);
    return test_box(a.x < c.x ? a.x : c.x, a.y < c.y ? a.y : c.y, a.z < c.z ? a.z : c.z, a.x > c.x ? a.x : c.x,
                    a.y > c.y ? a.y : c.y, a.z > c.z ? a.z : c.z);
}

static float *play_turned(weir_solver solver, const turned *t, int32_t updates)
{
    weir_params params = weir_params_default();
    params.gravity = t->gravity;
    // As many cycles in each, or what is within the tolerance in one may be solved further in another.
    params.momentum.tolerance = 0;
    params.momentum.cycles = 2;
    weir_world_def def = test_def(solver, EDGE, EDGE, EDGE);
    def.params = &params;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, turn_box(t, EDGE, test_box(18, 0, 12, 22, 16, 17)), 255));
    test_fill(world, turn_box(t, EDGE, test_box(0, 0, 0, 12, 24, 32)), 1.0f);
    test_step(world, updates);
    assert_exact(world);
    float *fills = malloc(EDGE * EDGE * EDGE * sizeof *fills);
    assert_non_null(fills);
    for (int32_t z = 0; z < EDGE; z++) {
        for (int32_t y = 0; y < EDGE; y++) {
            for (int32_t x = 0; x < EDGE; x++) {
                weir_box cell = turn_box(t, EDGE, test_box(x, y, z, x + 1, y + 1, z + 1));
                fills[x + EDGE * (y + EDGE * z)] = weir_world_cell(world, cell.min).fill;
            }
        }
    }
    weir_world_destroy(world);
    return fills;
}

static void gravity_may_pull_along_any_axis(void **state)
{
    const turned down = {{0, -0.01f, 0}, {0, 1, 2}, false};
    const turned others[] = {{{0.01f, 0, 0}, {1, 0, 2}, true},
                             {{-0.01f, 0, 0}, {1, 0, 2}, false},
                             {{0, 0, -0.01f}, {0, 2, 1}, false},
                             {{0, 0, 0.01f}, {0, 2, 1}, true},
                             {{0, 0.01f, 0}, {0, 1, 2}, true}};
    int32_t updates = test_length(40, 10);  // later the last digits have grown into other splashes
    for (int32_t s = 0; s < 2; s++) {
        float *right = play_turned(SOLVERS[s], &down, updates);
        for (int32_t k = 0; k < 5; k++) {
            float *fills = play_turned(SOLVERS[s], &others[k], updates);
            double worst = 0, sum = 0;
            for (int32_t i = 0; i < EDGE * EDGE * EDGE; i++) {
                worst = fmax(worst, fabs(fills[i] - right[i]));
                sum += fabs(fills[i] - right[i]);
            }
            if (worst > 0.005 || sum > 0.2)
                fail_msg("%s, gravity (%g, %g, %g): fills differ by %g, in all by %g cells", weir_solver_name(SOLVERS[s]),
                         others[k].gravity.x, others[k].gravity.y, others[k].gravity.z, worst, sum);
            free(fills);
        }
        free(right);
    }
}

static void viscous_water_is_slower_and_exact(void **state)
{
    double spread[2];
    for (int32_t i = 0; i < 2; i++) {
        weir_params params = weir_params_default();
        params.momentum.viscosity = i ? 0.16f : 0;
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 48, 24, 8);
        def.params = &params;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 12, 20, 8), 1.0f);
        for (int32_t k = 0; k < 6; k++) {
            test_step(world, 10);
            assert_exact(world);
            weir_box_sum sum = weir_world_box_sum(world, weir_world_bounds(world));
            assert_true(sum.max_fill <= 4 && sum.max_flow <= 8);
        }
        spread[i] = weir_world_mean_flow(world, weir_world_bounds(world)).x;
        weir_world_destroy(world);
    }
    assert_true(spread[0] > 0.1);
    assert_true(spread[1] > 0.02 && spread[1] < 0.98 * spread[0]);
}

static uint64_t play_noise(weir_solver solver, float noise, uint32_t seed)
{
    weir_params params = weir_params_default();
    params.noise = noise;
    params.noise_seed = 1;
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill_dam(world);
    // Set before the first update, and back after the last, so that only the water can differ.
    params.noise_seed = seed;
    assert_ok(weir_world_set_params(world, &params));
    for (int32_t i = 0; i < 3; i++) {
        test_step(world, 10);
        assert_exact(world);
        assert_true(weir_world_box_sum(world, weir_world_bounds(world)).max_fill <= 4);
    }
    params = weir_params_default();
    assert_ok(weir_world_set_params(world, &params));
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void noise_comes_from_its_seed(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        uint64_t none = play_noise(SOLVERS[s], 0, 1), one = play_noise(SOLVERS[s], 0.1f, 1);
        assert_true(none == play_noise(SOLVERS[s], 0, 2));
        assert_true(one == play_noise(SOLVERS[s], 0.1f, 1));
        assert_true(one != none);
        assert_true(one != play_noise(SOLVERS[s], 0.1f, 2));
        play_noise(SOLVERS[s], 1.0f, 3);
    }
}

static void parameters_may_change_between_updates(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world *world = test_dam(SOLVERS[s]);
        test_step(world, 20);
        weir_params params = weir_world_params(world), wrong = params;
        wrong.momentum.damping = wrong.classic.damping = 2;
        assert_int_equal(weir_world_set_params(world, &wrong), WEIR_ERROR_ARGUMENT);
        weir_params kept = weir_world_params(world);
        assert_memory_equal(&kept, &params, sizeof params);
        // Upside down: what was at the bottom falls to the top.
        params.gravity.y = 0.01f;
        assert_ok(weir_world_set_params(world, &params));
        test_step(world, test_length(200, 120));
        assert_exact(world);
        double low = (double)weir_world_box_sum(world, test_box(0, 0, 0, 24, 4, 24)).drops;
        double high = (double)weir_world_box_sum(world, test_box(0, 20, 0, 24, 24, 24)).drops;
        assert_true(high > 4 * low);
        weir_world_destroy(world);
    }
}

// Terrain that is built in the midst of open water, where no brick comes or goes for it.
static void terrain_built_in_open_water_counts_at_once(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 40, 40, 40);
        weir_world *world = test_make(&def), *fresh = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 40, 30, 40), 1.0f);
        test_step(world, 2);
        assert_ok(weir_world_build(world, test_box(17, 2, 17, 23, 22, 23), 255));
        assert_ok(weir_world_save(world, "built.weir"));
        assert_ok(weir_world_load(fresh, "built.weir"));
        remove("built.weir");
        assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 40, 30, 40), (weir_vec){0.15f, 0, 0}));
        assert_ok(weir_world_set_flow(fresh, test_box(0, 0, 0, 40, 30, 40), (weir_vec){0.15f, 0, 0}));
        for (int32_t i = 0; i < test_length(8, 3); i++) {
            test_step(world, 1);
            test_step(fresh, 1);
            assert_int_equal(weir_world_box_sum(world, test_box(17, 2, 17, 23, 22, 23)).drops, 0);
            assert_exact(world);
            if (weir_world_hash(world) != weir_world_hash(fresh))
                fail_msg("%s: the built world goes another way than the loaded one in update %d", weir_solver_name(SOLVERS[s]),
                         i);
        }
        weir_world_destroy(world);
        weir_world_destroy(fresh);
    }
}

// ---- Going on from a snapshot ----------------------------------------------------------------------------------------------

static weir_world *make_rich(weir_solver solver, dye_options *options, int32_t threads)
{
    weir_params params = weir_params_default();
    params.noise = 0.05f;
    params.noise_seed = 7;
    params.momentum.viscosity = 0.02f;
    weir_world_def def = test_def(solver, 24, 24, 24);
    def.params = &params;
    def.threads = threads;
    def.open_sides = WEIR_SIDE_X_MAX;
    weir_world *world = test_make(&def);
    const weir_rule_def rule = dye_rule(options);
    assert_ok(weir_world_add_rule(world, &rule));
    return world;
}

static void make_it_rich(weir_world *world)
{
    test_fill_dam(world);
    assert_ok(weir_world_set_channel(world, test_box(0, 9, 0, 9, 18, 12), "dye", 0.75f));
    assert_ok(weir_world_add_emitter(world, test_box(10, 20, 10, 14, 22, 14), WEIR_WATER, 1.0f / 3, NULL));
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 2, 2, 2), 0.123f, NULL));
    assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 24, 8, 24), (weir_vec){0, 0, 0.004f}, NULL));
}

static void a_world_goes_on_from_a_snapshot_as_if_nothing_had_been(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        int32_t half = test_length(60, 25);
        char path[64];
        snprintf(path, sizeof path, "resume-%d.weir", s);
        dye_options options = {.fading = 0.002f};
        weir_world *straight = make_rich(SOLVERS[s], &options, 1);
        make_it_rich(straight);
        test_step(straight, half);
        uint64_t middle = weir_world_hash(straight);
        assert_ok(weir_world_save(straight, path));
        test_step(straight, half);

        weir_world *resumed = make_rich(SOLVERS[s], &options, 3);
        assert_ok(weir_world_load(resumed, path));
        assert_true(weir_world_hash(resumed) == middle);
        assert_exact(resumed);
        test_step(resumed, half);
        assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        weir_ledger a = weir_world_ledger(straight), b = weir_world_ledger(resumed);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.drift == 0 && a.drained > 0 && a.removed > 0);

        // Into a world that is in the midst of something else, too.
        assert_ok(weir_world_load(straight, path));
        assert_true(weir_world_hash(straight) == middle);
        test_step(straight, half);
        assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        remove(path);
        weir_world_destroy(straight);
        weir_world_destroy(resumed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_that_make_no_sense_are_refused_with_a_sentence),
        cmocka_unit_test(zero_in_a_definition_means_the_default),
        cmocka_unit_test(ten_lines_make_water),
        cmocka_unit_test(an_empty_world_steps_and_stays_empty),
        cmocka_unit_test(no_scene_loses_a_drop),
        cmocka_unit_test(when_all_is_drained_no_brick_is_left),
        cmocka_unit_test(open_sides_let_out_all_water_and_book_it),
        cmocka_unit_test(a_bottom_that_is_open_lets_out_the_last_drop),
        cmocka_unit_test(emitters_and_drains_are_exact_in_the_long_run),
        cmocka_unit_test(a_force_pushes_water_sideways),
        cmocka_unit_test(gravity_may_pull_along_any_axis),
        cmocka_unit_test(viscous_water_is_slower_and_exact),
        cmocka_unit_test(noise_comes_from_its_seed),
        cmocka_unit_test(parameters_may_change_between_updates),
        cmocka_unit_test(terrain_built_in_open_water_counts_at_once),
        cmocka_unit_test(a_world_goes_on_from_a_snapshot_as_if_nothing_had_been),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
