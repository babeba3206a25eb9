// The OpenCL backend against the CPU's: two worlds that are told the same must be the same, bit by bit, at every update, in every
// query, and whatever a game does to them in between. Without an OpenCL device all of it is skipped.
//
// On PoCL, where the device is the processor itself, an update takes milliseconds; worlds are small here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dye.h"
#include "test_cells.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};

// ---- Two worlds ------------------------------------------------------------------------------------------------------------

typedef struct pair {
    weir_world *cpu, *device;
    const char *what;
} pair;

// Does one thing to both worlds, each of them `world` in turn.
#define BOTH(pair, call)                \
    do {                                \
        weir_world *world = (pair).cpu; \
        assert_ok(call);                \
        world = (pair).device;          \
        assert_ok(call);                \
    } while (0)

static bool device_there;
static char why_not[256];

static int look_for_device(void **state)
{
    weir_device device;
    device_there = weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK;
    snprintf(why_not, sizeof why_not, "%s", device_there ? "" : weir_error_message());
    if (device_there) print_message("device %d: %s, driver %s\n", device.index, device.name, device.driver);
    return 0;
}

static void need_device(void)
{
    if (device_there) return;
    print_message("skipped: %s\n", why_not);
    skip();
}

static pair make_pair(const weir_world_def *def, const char *what)
{
    weir_world_def other = *def;
    other.backend = WEIR_BACKEND_OPENCL;
    return (pair){test_make(def), test_make(&other), what};
}

static void end_pair(pair *p)
{
    weir_world_destroy(p->cpu);
    weir_world_destroy(p->device);
}

static void check_same(const pair *p)
{
    uint64_t cpu = weir_world_hash(p->cpu), device = weir_world_hash(p->device);
    if (cpu != device)
        fail_msg("%s: after %d updates the hash is %016llx on the CPU and %016llx on the device", p->what,
                 (int)weir_world_stats(p->cpu).updates, (unsigned long long)cpu, (unsigned long long)device);
    weir_ledger a = weir_world_ledger(p->cpu), b = weir_world_ledger(p->device);
    assert_int_equal(b.drift, 0);
    assert_memory_equal(&a, &b, sizeof a);
    weir_stats c = weir_world_stats(p->cpu), d = weir_world_stats(p->device);
    assert_int_equal(c.updates, d.updates);
    assert_int_equal(c.bricks, d.bricks);
    assert_int_equal(c.cells_updated, d.cells_updated);
    assert_int_equal(c.cycles, d.cycles);
    assert_memory_equal(&c.residual, &d.residual, sizeof c.residual);
}

static void step_pair(const pair *p, int32_t updates)
{
    test_step(p->cpu, updates);
    test_step(p->device, updates);
}

// A basin with a pillar and a wall that has a hole, and water on one side.
static pair make_basin(weir_solver solver, const weir_params *params, uint32_t open_sides)
{
    weir_params mine = params ? *params : weir_params_default();
    weir_world_def def = test_def(solver, 36, 24, 20);
    def.params = &mine;
    def.open_sides = open_sides;
    pair p = make_pair(&def, weir_solver_name(solver));
    BOTH(p, weir_world_build(world, test_box(14, 0, 0, 16, 12, 20), 255));
    BOTH(p, weir_world_dig(world, test_box(14, 2, 8, 16, 5, 12)));
    BOTH(p, weir_world_build_sphere(world, (weir_sphere){{24, 3, 10}, 3.5f}, 255));
    BOTH(p, weir_world_fill(world, test_box(0, 0, 0, 14, 16, 20), WEIR_WATER, 1));
    return p;
}

// ---- Scenes ----------------------------------------------------------------------------------------------------------------

static scene_run *open_scene(const scene_def *scene, weir_solver solver, weir_backend where, int32_t updates)
{
    scene_options options = scene_options_default();
    options.size = scene->size_min > 12 ? scene->size_min : 12;
    options.updates = updates;
    options.def.solver = solver;
    options.def.threads = 1;
    options.def.backend = where;
    scene_run *run;
    if (scene_open(scene, &options, &run) != WEIR_OK) fail_msg("%s: %s", scene->name, scene_error());
    return run;
}

static void play_scene(const scene_def *scene, weir_solver solver, int32_t updates, int32_t every)
{
    scene_run *cpu = open_scene(scene, solver, WEIR_BACKEND_CPU, updates);
    scene_run *device = open_scene(scene, solver, WEIR_BACKEND_OPENCL, updates);
    pair p = {cpu->world, device->world, scene->name};
    check_same(&p);
    while (cpu->update < updates) {
        assert_ok(scene_updates(cpu, every));
        assert_ok(scene_updates(device, every));
        check_same(&p);
    }
    scene_measure(cpu);
    scene_measure(device);
    for (int32_t i = 0; i < SCENE_PROBES; i++) {
        if (!scene->probes[i].of_backend) assert_memory_equal(&cpu->probes[i], &device->probes[i], sizeof cpu->probes[i]);
    }
    scene_close(cpu);
    scene_close(device);
}

// In a large world answers are read on the transfer queue: here in every other scene.
static void every_scene_is_the_same_on_the_device(void **state)
{
    need_device();
    for (int32_t i = 0; scene_at(i); i++) {
        setenv("WEIR_DEVICE_TRANSFER_QUEUE", i % 2 ? "1" : "100000", 1);
        int32_t updates = test_is_large(scene_at(i)) ? 50 : 100;
        for (int32_t s = 0; s < 2; s++)
            if (test_can_play(scene_at(i)->name, SOLVERS[s])) play_scene(scene_at(i), SOLVERS[s], updates, 50);
    }
    unsetenv("WEIR_DEVICE_TRANSFER_QUEUE");
}

static void some_scenes_are_the_same_on_the_device(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        play_scene(scene_find("random"), SOLVERS[s], 20, 10);
        play_scene(scene_find("tube"), SOLVERS[s], 20, 10);
    }
}

// ---- Cycles of the pressure ------------------------------------------------------------------------------------------------

// In a large world all cycles of an update are enqueued at once, and the device leaves out those that are not needed. The world has
// updates of few and of many, is asked after some and not after others, and is told of another tolerance in between.
static void speculative_cycles_change_nothing(void **state)
{
    need_device();
    setenv("WEIR_DEVICE_SPECULATIVE", "1", 1);
    weir_params params = weir_params_default();
    params.momentum.cycles = 5;
    pair p = make_basin(WEIR_SOLVER_MOMENTUM, &params, 0);
    unsetenv("WEIR_DEVICE_SPECULATIVE");
    int32_t few = 0, many = 0;
    for (int32_t i = 0; i < 12; i++) {
        // Water far away, so that bricks come in every update.
        BOTH(p, weir_world_fill(world, test_box(20 + i, 18, 2, 21 + i, 19, 3 + i), WEIR_WATER, 0.5f));
        params.momentum.tolerance = i % 4 == 0 ? 0.0f : i % 4 == 1 ? 1.0f : 0.02f;
        BOTH(p, weir_world_set_params(world, &params));
        step_pair(&p, 1 + i % 3);
        check_same(&p);
        int32_t cycles = weir_world_stats(p.device).cycles;
        few += cycles == 1;
        many += cycles == params.momentum.cycles;
    }
    assert_true(few > 0 && many > 0);
    end_pair(&p);
}

// Water that falls into water leaves large residuals: some bricks are relaxed locally, with another cycle behind it and without, also if
// the world that goes on was loaded. How many cycles the next update may run is known though nobody asked for the statistics of the last.
static void large_residuals_are_relaxed_alike(void **state)
{
    need_device();
    for (int32_t speculative = 0; speculative < 2; speculative++) {
        setenv("WEIR_DEVICE_SPECULATIVE", speculative ? "1" : "100000", 1);
        weir_params params = weir_params_default();
        pair p = make_basin(WEIR_SOLVER_MOMENTUM, &params, 0), q = make_basin(WEIR_SOLVER_MOMENTUM, &params, 0);
        unsetenv("WEIR_DEVICE_SPECULATIVE");
        int32_t large = 0;
        for (int32_t i = 0; i < 6; i++) {
            BOTH(p, weir_world_fill(world, test_box(2, 14, 2, 12, 22, 12 + i), WEIR_WATER, 1));
            params.momentum.smooths = 1 + i % 3;
            params.momentum.tolerance = i < 4 ? 0.005f : 0.0f;
            BOTH(p, weir_world_set_params(world, &params));
            step_pair(&p, 3);
            BOTH(p, weir_world_save(world, "opencl-relaxed.weir"));
            BOTH(q, weir_world_load(world, "opencl-relaxed.weir"));
            const weir_vec stirred = {0.5f, -0.2f, 0.3f};
            BOTH(p, weir_world_set_flow(world, test_box(2, 2, 2, 14, 14, 14), stirred));
            BOTH(q, weir_world_set_flow(world, test_box(2, 2, 2, 14, 14, 14), stirred));
            step_pair(&p, 2);
            step_pair(&q, 2);
            check_same(&p);
            check_same(&q);
            assert_true(weir_world_hash(p.device) == weir_world_hash(q.device));
            weir_stats stats = weir_world_stats(p.cpu);
            large += params.momentum.tolerance > 0 && stats.residual > 8 * params.momentum.tolerance;  // before its last cycle
        }
        assert_true(large > 0);
        remove("opencl-relaxed.weir");
        end_pair(&p);
        end_pair(&q);
    }
}

// Where water lies decides which of its coarse bricks meet, and so how the coarsest levels are worked on: within a brick, over the
// middle between two on some or all levels, in many that are far apart.
static void coarse_levels_are_the_same_wherever_water_lies(void **state)
{
    need_device();
    static const int32_t middles[][3] = {{0, 0, 0},      {8, 16, 24},   {32, 64, 128},  {-16, 200, 40},
                                         {128, 0, -256}, {256, 40, 40}, {-100, -128, 4}};
    for (int32_t m = 0; m < (int32_t)(sizeof middles / sizeof *middles); m++) {
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 1, 1, 1);
        def.bounds = (weir_box){{-512, -512, -512}, {512, 512, 512}};
        pair p = make_pair(&def, "water somewhere");
        const int32_t *at = middles[m];
        weir_box box = {{at[0] - 12, at[1] - 9, at[2] - 10}, {at[0] + 11, at[1] + 12, at[2] + 7}};
        weir_box ground = {{box.min.x - 9, box.min.y - 2, box.min.z - 9}, {box.max.x + 9, box.min.y, box.max.z + 9}};
        BOTH(p, weir_world_build(world, ground, 255));
        BOTH(p, weir_world_fill(world, box, WEIR_WATER, 1));
        step_pair(&p, 2);
        check_same(&p);
        BOTH(p, weir_world_fill(world, test_box(-400, 300, 20 * m, -395, 304, 20 * m + 9), WEIR_WATER, 1));
        step_pair(&p, 2);
        check_same(&p);
        end_pair(&p);
    }
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static void edits_between_updates_give_the_same_world(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        pair p = make_basin(SOLVERS[s], NULL, 0);
        int32_t emitter, drain, force;
        check_same(&p);
        step_pair(&p, 7);
        BOTH(p, weir_world_fill(world, test_box(20, 10, 4, 30, 18, 11), WEIR_WATER, 0.75f));
        step_pair(&p, 5);
        BOTH(p, weir_world_dig(world, test_box(14, 0, 3, 16, 8, 6)));
        BOTH(p, weir_world_set_flow(world, test_box(0, 0, 0, 36, 24, 20), (weir_vec){0.1f, 0.05f, -0.07f}));
        step_pair(&p, 5);
        check_same(&p);
        BOTH(p, weir_world_build(world, test_box(2, 0, 2, 6, 7, 9), 255));
        BOTH(p, weir_world_drain_sphere(world, (weir_sphere){{9, 4, 12}, 3.5f}));
        step_pair(&p, 5);
        BOTH(p, weir_world_add_emitter(world, test_box(28, 15, 4, 34, 17, 9), WEIR_WATER, 7.3f, &emitter));
        BOTH(p, weir_world_add_drain(world, test_box(0, 0, 0, 4, 2, 20), 3.1f, &drain));
        BOTH(p, weir_world_add_force(world, test_box(5, 0, 0, 20, 12, 20), (weir_vec){0.004f, 0.001f, -0.003f}, &force));
        BOTH(p, weir_world_fill_sphere(world, (weir_sphere){{26, 18, 13}, 4}, WEIR_WATER, 0.5f));
        step_pair(&p, 15);
        check_same(&p);
        BOTH(p, weir_world_remove(world, emitter));
        BOTH(p, weir_world_build_sphere(world, (weir_sphere){{8, 2, 14}, 3}, 255));
        BOTH(p, weir_world_dig_sphere(world, (weir_sphere){{4, 2, 5}, 4}));
        step_pair(&p, 5);
        BOTH(p, weir_world_drain(world, test_box(0, 0, 0, 36, 3, 20)));
        step_pair(&p, 1);
        check_same(&p);
        BOTH(p, weir_world_drain(world, test_box(0, 0, 0, 36, 24, 20)));
        step_pair(&p, 2);
        assert_int_equal(weir_world_stats(p.device).bricks, weir_world_stats(p.cpu).bricks);
        BOTH(p, weir_world_fill(world, test_box(3, 5, 3, 12, 14, 17), WEIR_WATER, 1));
        step_pair(&p, 5);
        check_same(&p);
        end_pair(&p);
    }
}

static void written_arrays_and_changed_sources_give_the_same_world(void **state)
{
    need_device();
    const weir_box all = test_box(0, 0, 0, 36, 24, 20), part = test_box(3, 1, 2, 33, 21, 19);
    for (int32_t s = 0; s < 2; s++) {
        pair p = make_basin(SOLVERS[s], NULL, 0);
        int32_t emitter, force;
        BOTH(p, weir_world_add_emitter(world, test_box(28, 15, 4, 34, 17, 9), WEIR_WATER, 1.3f, &emitter));
        BOTH(p, weir_world_add_force(world, test_box(5, 0, 0, 20, 12, 20), (weir_vec){0.004f, 0.001f, -0.003f}, &force));
        step_pair(&p, 12);
        // The water of the basin, backwards, with its flow: as the device has left it, without having been asked for.
        static float fills[30 * 20 * 17];
        static weir_vec flows[30 * 20 * 17];
        const size_t cells = sizeof fills / sizeof *fills;
        assert_ok(weir_world_read_fill(p.cpu, part, fills));
        assert_ok(weir_world_read_flow(p.cpu, part, flows));
        for (size_t i = 0; i < cells / 2; i++) {
            float fill = fills[i];
            fills[i] = fills[cells - 1 - i];
            fills[cells - 1 - i] = fill;
        }
        BOTH(p, weir_world_write_fill(world, part, fills));
        BOTH(p, weir_world_write_flow(world, part, flows));
        check_same(&p);
        BOTH(p, weir_world_move_source(world, emitter, test_box(2, 15, 4, 8, 17, 9)));
        BOTH(p, weir_world_set_rate(world, emitter, 5.7f));
        step_pair(&p, 3);
        BOTH(p, weir_world_move_source(world, force, all));
        BOTH(p, weir_world_set_force(world, force, (weir_vec){-0.004f, 0.002f, 0.001f}));
        step_pair(&p, 6);
        check_same(&p);
        end_pair(&p);
    }
}

static void parameters_act_on_the_device_too(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        weir_params params = weir_params_default();
        params.noise = 0.01f;
        params.noise_seed = 7;
        params.momentum.damping = params.classic.damping = 0.02f;
        params.momentum.viscosity = 0.1f;
        pair p = make_basin(SOLVERS[s], &params, WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MAX);
        step_pair(&p, 25);
        check_same(&p);
        // Down is now along z, away from the origin.
        params.gravity = (weir_vec){0.001f, 0.002f, 0.009f};
        BOTH(p, weir_world_set_params(world, &params));
        step_pair(&p, 25);
        check_same(&p);
        params.gravity = (weir_vec){0.01f, 0, 0};
        params.noise = 0;
        params.momentum.viscosity = 0;
        BOTH(p, weir_world_set_params(world, &params));
        step_pair(&p, 40);
        check_same(&p);
        assert_true(weir_world_ledger(p.device).drained > 0);
        params.gravity = (weir_vec){0, 0, 0};
        BOTH(p, weir_world_set_params(world, &params));
        step_pair(&p, 10);
        check_same(&p);
        end_pair(&p);
    }
}

// Where kernels do several sweeps or iterations at once, few of them are a case of their own. The world has bricks with terrain near
// them and bricks without, and answers are read on the transfer queue.
static void few_sweeps_and_iterations_are_the_same_on_the_device(void **state)
{
    need_device();
    setenv("WEIR_DEVICE_TRANSFER_QUEUE", "1", 1);
    for (int32_t s = 0; s < 2; s++) {
        weir_params params = weir_params_default();
        weir_world_def def = test_def(SOLVERS[s], 1, 1, 1);
        def.bounds = (weir_box){{-24, -24, -24}, {24, 24, 24}};
        pair p = make_pair(&def, weir_solver_name(SOLVERS[s]));
        BOTH(p, weir_world_build(world, test_box(8, -24, -24, 10, -6, 3), 255));
        BOTH(p, weir_world_fill(world, test_box(-24, -24, -24, 8, 7, 24), WEIR_WATER, 1));
        BOTH(p, weir_world_set_flow(world, test_box(-12, -12, -12, 2, 2, 2), (weir_vec){0.1f, -0.05f, 0.02f}));
        for (int32_t few = 1; few <= 6; few++) {
            params.momentum.smooths = params.classic.iterations = few;
            params.momentum.cycles = few % 2 ? 1 : 3;
            params.empty = few < 4 ? 0 : 0.1f;
            BOTH(p, weir_world_set_params(world, &params));
            step_pair(&p, 3);
            check_same(&p);
        }
        end_pair(&p);
    }
    unsetenv("WEIR_DEVICE_TRANSFER_QUEUE");
}

static void asked_terrain(void *user, weir_coord origin, uint8_t shares[512])
{
    const int32_t *hole = user;
    for (int32_t i = 0; i < 512; i++) {
        int32_t x = origin.x + (i & 7), y = origin.y + (i >> 3 & 7);
        shares[i] = y < 2 || (x == 12 && y < 8 && y != *hole) ? 255 : 0;
    }
}

static void a_games_own_terrain_is_the_same_on_the_device(void **state)
{
    need_device();
    int32_t hole = -1;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 28, 16, 9);
    def.terrain = asked_terrain;
    def.terrain_user = &hole;
    pair p = make_pair(&def, "terrain");
    BOTH(p, weir_world_fill(world, test_box(0, 2, 0, 12, 12, 9), WEIR_WATER, 1));
    step_pair(&p, 6);
    hole = 3;
    BOTH(p, weir_terrain_changed(world, test_box(12, 0, 0, 13, 8, 9)));
    step_pair(&p, 12);
    check_same(&p);
    end_pair(&p);
}

// ---- Queries ---------------------------------------------------------------------------------------------------------------

static void same_numbers(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

// Every query, of which each may have to bring bricks: after each update another one is the first.
static void ask_all(const pair *p, int32_t first)
{
    enum { KINDS = 10 };
    for (int32_t k = 0; k < KINDS; k++) {
        switch ((first + k) % KINDS) {
        case 0:
            for (int32_t i = 0; i < 40; i++) {
                weir_coord at = {(7 * i) % 36, (5 * i) % 24, (3 * i) % 20};
                weir_cell a = weir_world_cell(p->cpu, at), b = weir_world_cell(p->device, at);
                same_numbers(a.fill, b.fill);
                same_numbers(a.pressure, b.pressure);
                assert_memory_equal(&a.flow, &b.flow, sizeof a.flow);
                assert_int_equal(a.material, b.material);
                assert_int_equal(a.solid, b.solid);
            }
            break;
        case 1: {
            weir_box_sum a = weir_world_box_sum(p->cpu, test_box(3, 1, 2, 33, 15, 16));
            weir_box_sum b = weir_world_box_sum(p->device, test_box(3, 1, 2, 33, 15, 16));
            assert_int_equal(a.drops, b.drops);
            assert_int_equal(a.open_cells, b.open_cells);
            assert_int_equal(a.wet_cells, b.wet_cells);
            same_numbers(a.mean_fill, b.mean_fill);
            same_numbers(a.max_fill, b.max_fill);
            same_numbers(a.max_flow, b.max_flow);
            same_numbers(a.max_pressure, b.max_pressure);
            assert_memory_equal(&a.mean_flow, &b.mean_flow, sizeof a.mean_flow);
            break;
        }
        case 2:
            for (int32_t i = 0; i < 12; i++) {
                const weir_point from = {1.5 + 3 * i, 23, 10};
                const weir_vec to = {0.3f, -1, 0.1f * (float)(i - 6)};
                weir_hit a = weir_world_ray(p->cpu, from, to, 40, 0.5f), b = weir_world_ray(p->device, from, to, 40, 0.5f);
                assert_int_equal(a.kind, b.kind);
                assert_memory_equal(&a.cell, &b.cell, sizeof a.cell);
                same_numbers(a.distance, b.distance);
            }
            break;
        case 3: same_numbers(weir_world_surface(p->cpu, 20, 15, 0, 24), weir_world_surface(p->device, 20, 15, 0, 24)); break;
        case 4: assert_true(weir_world_column(p->cpu, 7, 7, 0, 24) == weir_world_column(p->device, 7, 7, 0, 24)); break;
        case 5: {
            weir_point min = {15.3, 0.5, 7.1}, max = {31.9, 9.7, 18.2};
            same_numbers(weir_world_submerged(p->cpu, min, max), weir_world_submerged(p->device, min, max));
            break;
        }
        case 6: {
            weir_box box = test_box(-3, -2, -1, 30, 20, 19);
            float *a = test_fills(p->cpu, box), *b = test_fills(p->device, box);
            assert_memory_equal(a, b, 33 * 22 * 20 * sizeof *a);
            free(a);
            free(b);
            break;
        }
        case 7: {
            weir_brick_change a[256] = {0}, b[256] = {0};
            int64_t mark_a = weir_world_stats(p->cpu).updates, mark_b = mark_a;
            int32_t count = weir_world_changed(p->cpu, &mark_a, a, 256);
            assert_int_equal(weir_world_changed(p->device, &mark_b, b, 256), count);
            assert_true(count <= 256 && mark_a == mark_b);
            for (int32_t n = 0; n < count; n++) assert_true(coords_equal(a[n].origin, b[n].origin) && a[n].gone == b[n].gone);
            break;
        }
        case 8: {
            weir_floating_box boxes[12];
            weir_buoyancy a[12], b[12];
            for (int32_t i = 0; i < 12; i++)
                boxes[i] = (weir_floating_box){{3.0 * i, 4 + 0.5 * i, 10}, {1.5f, 1, 4}, {0.6f, 0, 0, 0.8f}, .drag = 1};
            assert_ok(weir_world_buoyancy(p->cpu, boxes, 12, a));
            assert_ok(weir_world_buoyancy(p->device, boxes, 12, b));
            assert_memory_equal(a, b, sizeof a);
            break;
        }
        default: {
            weir_ledger a = weir_world_ledger(p->cpu), b = weir_world_ledger(p->device);
            assert_memory_equal(&a, &b, sizeof a);
        }
        }
    }
}

static void queries_give_the_same_answers(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        pair p = make_basin(SOLVERS[s], NULL, 0);
        for (int32_t i = 0; i < 18; i++) {
            ask_all(&p, i);
            step_pair(&p, 1 + i % 3);
        }
        check_same(&p);
        end_pair(&p);
    }
}

static void a_mesh_is_the_same_and_brings_what_it_needs(void **state)
{
    need_device();
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 40, 24, 24);
    pair p = make_pair(&def, "a mesh");
    BOTH(p, weir_world_build(world, test_box(20, 0, 8, 24, 6, 16), 255));
    BOTH(p, weir_world_fill(world, test_box(0, 0, 0, 12, 16, 24), WEIR_WATER, 1));
    weir_mesher *meshers[2];
    weir_mesh meshes[2];
    for (int32_t i = 0; i < 2; i++) assert_ok(weir_mesher_create(i ? p.device : p.cpu, NULL, &meshers[i]));
    for (int32_t round = 0; round < test_device_length(6, 2); round++) {
        for (int32_t i = 0; i < 2; i++) {
            assert_ok(weir_mesher_update(meshers[i], NULL));
            assert_ok(weir_mesher_join(meshers[i], &meshes[i]));
        }
        assert_true(meshes[0].triangle_count > 0 && meshes[0].triangle_count == meshes[1].triangle_count);
        assert_int_equal(meshes[0].vertex_count, meshes[1].vertex_count);
        size_t vertices = (size_t)meshes[0].vertex_count, triangles = (size_t)meshes[0].triangle_count;
        assert_memory_equal(meshes[0].positions, meshes[1].positions, vertices * 3 * sizeof(float));
        assert_memory_equal(meshes[0].normals, meshes[1].normals, vertices * 3 * sizeof(float));
        assert_memory_equal(meshes[0].indices, meshes[1].indices, triangles * 3 * sizeof(uint32_t));
        for (int32_t i = 0; i < 5; i++) BOTH(p, weir_world_step(world));
    }
    for (int32_t i = 0; i < 2; i++) weir_mesher_destroy(meshers[i]);
    end_pair(&p);
}

static void one_cell_brings_one_brick(void **state)
{
    need_device();
    pair p = make_basin(WEIR_SOLVER_MOMENTUM, NULL, 0);
    step_pair(&p, 3);
    int64_t before = weir_world_stats(p.device).bytes_from_device;
    weir_world_cell(p.device, (weir_coord){3, 3, 3});
    int64_t once = weir_world_stats(p.device).bytes_from_device;
    assert_int_equal(once - before, 5 * 512 * 4);
    weir_world_cell(p.device, (weir_coord){4, 5, 6});
    assert_int_equal(weir_world_stats(p.device).bytes_from_device, once);
    end_pair(&p);
}

// ---- Snapshots, rules, background steps ------------------------------------------------------------------------------------

static void snapshots_go_from_one_backend_to_the_other(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        char path[64];
        snprintf(path, sizeof path, "opencl-%s.weir", weir_solver_name(SOLVERS[s]));
        pair p = make_basin(SOLVERS[s], NULL, 0);
        BOTH(p, weir_world_add_emitter(world, test_box(28, 15, 4, 34, 17, 9), WEIR_WATER, 7.3f, NULL));
        step_pair(&p, 15);
        uint64_t then = weir_world_hash(p.cpu);
        assert_ok(weir_world_save(p.device, path));
        step_pair(&p, 8);
        check_same(&p);
        uint64_t later = weir_world_hash(p.cpu);
        // Both go back, the CPU's world to what the device's was, and then the other way round.
        BOTH(p, weir_world_load(world, path));
        assert_true(weir_world_hash(p.cpu) == then);
        assert_true(weir_world_hash(p.device) == then);
        step_pair(&p, 8);
        check_same(&p);
        assert_true(weir_world_hash(p.device) == later);
        assert_ok(weir_world_save(p.cpu, path));
        step_pair(&p, 5);
        BOTH(p, weir_world_load(world, path));
        step_pair(&p, 5);
        check_same(&p);
        remove(path);
        end_pair(&p);
    }
}

// ---- A game's own rules ----------------------------------------------------------------------------------------------------

static bool runs_on_host(const weir_world *world, const char *rule)
{
    weir_stats stats = weir_world_stats(world);
    for (int32_t i = 0; i < stats.rule_count; i++)
        if (strcmp(stats.rules[i].name, rule) == 0) return stats.rules[i].on_host;
    return false;
}

static void play_dye(weir_solver solver, const weir_rule_def *rule, dye_options *options, bool on_host)
{
    pair p = make_basin(solver, NULL, 0);
    step_pair(&p, 2);
    BOTH(p, weir_world_add_rule(world, rule));
    BOTH(p, weir_world_set_channel(world, test_box(0, 4, 0, 14, 12, 20), "dye", 1));
    for (int32_t i = 0; i < 5; i++) {
        step_pair(&p, 4);
        check_same(&p);
        weir_coord at = {10 + i, 4, 10};
        same_numbers(weir_world_channel(p.cpu, "dye", at), weir_world_channel(p.device, "dye", at));
    }
    BOTH(p, weir_world_fill(world, test_box(20, 12, 4, 26, 18, 10), WEIR_WATER, 1));
    BOTH(p, weir_world_set_channel(world, test_box(20, 12, 4, 26, 18, 10), "dye", 0.5f));
    options->fading = 0.25f;  // what the rule is told may change between updates
    step_pair(&p, 6);
    check_same(&p);
    assert_int_equal(runs_on_host(p.device, "dye"), on_host);
    end_pair(&p);
}

static void a_rule_with_a_text_runs_on_the_device(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {.fading = 0.01f};
        const weir_rule_def rule = dye_rule(&options);
        play_dye(SOLVERS[s], &rule, &options, false);
    }
}

static void a_rule_without_a_text_runs_on_the_host(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        dye_options options = {.fading = 0.01f};
        weir_rule_def rule = dye_rule(&options);
        rule.device_text = NULL;
        play_dye(SOLVERS[s], &rule, &options, true);
    }
}

static void a_text_that_does_not_compile_runs_on_the_host(void **state)
{
    need_device();
    dye_options options = {.fading = 0.01f};
    weir_rule_def rule = dye_rule(&options);
    rule.device_text = "void dye_cell(const weir_rule_brick *brick) { this is no C }";
    play_dye(WEIR_SOLVER_MOMENTUM, &rule, &options, true);
}

// Two channels from all that can be seen besides what moved; without a user.
WEIR_RULE_TEXT(
    mix_text,

    static inline void mix_cell(const weir_rule_brick *brick, const void *user, int x, int y, int z) {
        int32_t t = WEIR_TILE_INDEX(x, y, z), cell = WEIR_BRICK_INDEX(x, y, z);
        float speed =
            sqrtf(brick->flow_x[t] * brick->flow_x[t] + brick->flow_y[t + 10] * brick->flow_y[t + 10]) - brick->flow_z[t - 100];
        float place = (float)(brick->origin.x + x) * 0.25f + (float)(brick->origin.z - z + (int32_t)brick->update);
        float around = brick->old_values[1][t - 1] + brick->old_values[1][t + 10] + brick->old_values[1][t - 100];
        brick->new_values[0][cell] = speed + brick->fill[t + 1] + place * brick->open[t - 1];
        if (brick->fill[t] > 0.5f) brick->new_values[1][cell] = 0.3f * around + fabsf(brick->pressure[t + 100]) / 3.0f + 0.01f;
    })

static void mix_run(const weir_rule_brick *brick, void *user)
{
    for (int z = 0; z < 8; z++)
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) mix_cell(brick, user, x, y, z);
}

static void a_rule_sees_the_same_at_every_place(void **state)
{
    need_device();
    static const weir_place places[] = {WEIR_PLACE_BEFORE, WEIR_PLACE_AFTER_MOVE, WEIR_PLACE_AFTER};
    for (int32_t i = 0; i < 6; i++) {
        const bool on_host = i >= 3;
        const weir_rule_def rule = {.name = "mix",
                                    .place = places[i % 3],
                                    .sees = WEIR_SEES_FILL | WEIR_SEES_FLOW | WEIR_SEES_PRESSURE | WEIR_SEES_OPEN,
                                    .channel_count = 2,
                                    .channels = {"mixed", "spread"},
                                    .run = mix_run,
                                    .device_text = on_host ? NULL : mix_text,
                                    .device_cell = on_host ? NULL : "mix_cell"};
        pair p = make_basin(SOLVERS[i % 2], NULL, 0);
        BOTH(p, weir_world_add_rule(world, &rule));
        step_pair(&p, 12);
        check_same(&p);
        weir_coord at = {10, 4, 10};
        assert_true(weir_world_channel(p.device, "spread", at) > 0.0f);
        same_numbers(weir_world_channel(p.cpu, "mixed", at), weir_world_channel(p.device, "mixed", at));
        assert_true(runs_on_host(p.device, "mix") == on_host);
        end_pair(&p);
    }
}

static void background_steps_leave_the_last_state_to_be_asked(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        pair p = make_basin(SOLVERS[s], NULL, 0);
        for (int32_t i = 0; i < 8; i++) {
            BOTH(p, weir_world_step_begin(world));
            check_same(&p);
            ask_all(&p, i);
            BOTH(p, weir_world_fill(world, test_box(24, 12 + i, 4, 30, 13 + i, 10), WEIR_WATER, 1));
            BOTH(p, weir_world_step_end(world));
            check_same(&p);
        }
        BOTH(p, weir_world_step_begin(world));
        end_pair(&p);
    }
}

// ---- Bricks come and go ----------------------------------------------------------------------------------------------------

static void the_pool_grows_and_is_packed_alike(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = weir_world_def_default();
        def.solver = SOLVERS[s];
        def.threads = 1;
        pair p = make_pair(&def, weir_solver_name(SOLVERS[s]));
        BOTH(p, weir_world_build(world, test_box(-8, -8, -8, 80, 0, 80), 255));
        // One small blob that stays, many that come and go: bricks far up in the pool, and few below.
        BOTH(p, weir_world_fill(world, test_box(60, 0, 60, 66, 5, 66), WEIR_WATER, 1));
        for (int32_t round = 0; round < 2; round++) {
            for (int32_t i = 0; i < 9; i++) {
                int32_t x = 24 * (i % 3) - 40, z = 24 * (i / 3) - 40;
                BOTH(p, weir_world_fill(world, test_box(x, 20, z, x + 5, 25, z + 5), WEIR_WATER, 1));
                step_pair(&p, 1);
            }
            int32_t many = weir_world_stats(p.device).bricks;
            check_same(&p);
            BOTH(p, weir_world_fill(world, test_box(70, 2, 60, 74, 6, 64), WEIR_WATER, 0.5f));
            step_pair(&p, 1);
            BOTH(p, weir_world_drain(world, test_box(-100, -100, -100, 40, 100, 100)));
            step_pair(&p, 3);
            check_same(&p);
            assert_true(weir_world_stats(p.device).bricks < many / 4);
            step_pair(&p, 4);
            check_same(&p);
        }
        BOTH(p, weir_world_drain(world, test_box(-100, -100, -100, 100, 100, 100)));
        step_pair(&p, 2);
        check_same(&p);
        assert_int_equal(weir_world_stats(p.device).bricks, 0);
        BOTH(p, weir_world_fill(world, test_box(0, 0, 0, 6, 6, 6), WEIR_WATER, 1));
        step_pair(&p, 2);
        check_same(&p);
        end_pair(&p);
    }
}

static void a_world_may_end_at_any_moment(void **state)
{
    need_device();
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 20, 20, 20);
    def.backend = WEIR_BACKEND_OPENCL;
    weir_world_destroy(test_make(&def));
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 9, 9, 9), 1);
    weir_world_destroy(world);
    for (int32_t updates = 1; updates <= 3; updates++) {
        world = test_make(&def);
        test_fill(world, test_box(0, 0, 0, 9, 9, 9), 1);
        test_step(world, updates);
        if (updates == 3) assert_ok(weir_world_step_begin(world));
        weir_world_destroy(world);
    }
}

// ---- Sleep -----------------------------------------------------------------------------------------------------------------

static pair make_sleepers(const weir_world_def *def, weir_params params, const char *what)
{
    weir_world_def mine = *def;
    params.momentum.sleep = 0.01f;
    mine.params = &params;
    return make_pair(&mine, what);
}

// A lake that falls asleep.
static void fill_lake(const pair *p, weir_coord far)
{
    BOTH(*p, weir_world_fill(world, test_box(0, 0, 0, far.x, 12, far.z), WEIR_WATER, 1));
    BOTH(*p, weir_world_fill(world, test_box(0, 12, 0, far.x, 13, far.z), WEIR_WATER, 0.5f));
    for (int32_t i = 0; i < 300 && weir_world_stats(p->device).awake_bricks != 0; i += 10) step_pair(p, 10);
    check_same(p);
    assert_int_equal(weir_world_stats(p->device).awake_bricks, 0);
}

// Steps both worlds and compares them now and then, since that brings all bricks to the host. Returns the least number of bricks that slept.
static int32_t step_sleepers(const pair *p, int32_t updates, int32_t every)
{
    enum { ROOM = 1024 };
    weir_brick_change on_cpu[ROOM], on_device[ROOM];
    int64_t cpu_mark = 0, device_mark = 0;
    int32_t least = INT32_MAX;
    for (int32_t i = 0; i < updates; i++) {
        step_pair(p, 1);
        if (i % every == 0) check_same(p);
        const int32_t changes = weir_world_changed(p->cpu, &cpu_mark, on_cpu, ROOM);
        assert_int_equal(weir_world_changed(p->device, &device_mark, on_device, ROOM), changes);
        for (int32_t k = 0; k < changes; k++) {
            assert_memory_equal(&on_device[k].origin, &on_cpu[k].origin, sizeof on_cpu->origin);
            assert_int_equal(on_device[k].gone, on_cpu[k].gone);
        }
        weir_stats cpu = weir_world_stats(p->cpu), device = weir_world_stats(p->device);
        assert_int_equal(device.awake_bricks, cpu.awake_bricks);
        if (device.bricks - device.awake_bricks < least) least = device.bricks - device.awake_bricks;
    }
    check_same(p);
    return least;
}

static void a_trickle_wakes_a_part_of_a_lake(void **state)
{
    need_device();
    for (int32_t speculative = test_device_length(0, 1); speculative < 2; speculative++) {
        setenv("WEIR_DEVICE_SPECULATIVE", speculative ? "1" : "100000", 1);
        setenv("WEIR_DEVICE_TRANSFER_QUEUE", speculative ? "1" : "100000", 1);
        const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 48, 32, 48);
        weir_params params = weir_params_default();
        params.momentum.viscosity = speculative ? 0.02f : 0.0f;
        pair p = make_sleepers(&def, params, "a trickle");
        fill_lake(&p, def.bounds.max);
        int32_t id;
        BOTH(p, weir_world_add_emitter(world, test_box(8, 20, 8, 10, 22, 10), WEIR_WATER, 0.3f, &id));
        assert_true(step_sleepers(&p, test_device_length(60, 14), 7) > 0);
        BOTH(p, weir_world_remove(world, id));
        step_sleepers(&p, test_device_length(40, 14), 7);
        // Sleeping water is edited, built into, saved and loaded.
        BOTH(p, weir_world_build(world, test_box(36, 0, 36, 40, 14, 40), 255));
        step_sleepers(&p, 10, 3);
        BOTH(p, weir_world_save(world, "opencl-sleep.weir"));
        step_sleepers(&p, 8, 1);
        const uint64_t later = weir_world_hash(p.device);
        BOTH(p, weir_world_load(world, "opencl-sleep.weir"));
        step_sleepers(&p, 8, 1);
        assert_true(weir_world_hash(p.device) == later);
        BOTH(p, weir_world_drain(world, test_box(0, 0, 40, 8, 32, 48)));
        step_sleepers(&p, test_device_length(20, 6), 3);
        remove("opencl-sleep.weir");
        end_pair(&p);
    }
    unsetenv("WEIR_DEVICE_SPECULATIVE");
    unsetenv("WEIR_DEVICE_TRANSFER_QUEUE");
}

static void a_lake_sleeps_below_substeps(void **state)
{
    need_device();
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 96, 32);
    weir_params params = weir_params_default();
    params.gravity.y = -0.1f;
    pair p = make_sleepers(&def, params, "a falling block");
    fill_lake(&p, def.bounds.max);
    BOTH(p, weir_world_fill(world, test_box(4, 80, 4, 8, 88, 8), WEIR_WATER, 1));
    int32_t most = 0;
    for (int32_t i = 0; i < 60; i++) {
        const int32_t asleep = step_sleepers(&p, 1, 1), substeps = weir_world_stats(p.device).substeps;
        if (asleep > 0 && substeps > most) most = substeps;
    }
    assert_true(most > 1);
    end_pair(&p);
}

// A trickle keeps a part of a lake awake, and the rest rises. Water above it comes and ends, so that the pool grows and is packed: the lake's
// bricks get the numbers of those of a pond that was there before. `settles`: just then the lake is given what it is owed, because some of it
// wakes.
static void pack_over_lake(bool settles)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 96, 128, 16);
    def.change_threshold = 0.001f;
    pair p = make_sleepers(&def, weir_params_default(), "a packed pool");
    BOTH(p, weir_world_build(world, test_box(0, 40, 0, 96, 48, 16), 255));
    BOTH(p, weir_world_fill(world, test_box(0, 48, 0, 96, 56, 16), WEIR_WATER, 1));
    fill_lake(&p, def.bounds.max);
    BOTH(p, weir_world_add_emitter(world, test_box(2, 13, 2, 4, 15, 4), WEIR_WATER, 0.15f, NULL));
    assert_true(step_sleepers(&p, 60, 7) > 0);
    for (int32_t y = 64; y < 120; y += 16) BOTH(p, weir_world_fill(world, test_box(0, y, 0, 96, y + 1, 16), WEIR_WATER, 0.25f));
    assert_true(step_sleepers(&p, 3, 1) > 0);
    const int32_t many = weir_world_stats(p.device).bricks;
    BOTH(p, weir_world_drain(world, test_box(0, 48, 0, 96, 128, 16)));
    if (settles) BOTH(p, weir_world_fill(world, test_box(90, 12, 0, 92, 14, 2), WEIR_WATER, 1));
    assert_true(step_sleepers(&p, 8, 3) > 0);
    assert_true(weir_world_stats(p.device).bricks < many / 3);
    end_pair(&p);
}

static void a_lake_sleeps_while_the_pool_is_packed(void **state)
{
    need_device();
    if (test_device_length(1, 0)) pack_over_lake(false);
    pack_over_lake(true);
}

static void a_lake_asleep_costs_a_device_nothing(void **state)
{
    need_device();
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 32, 32);
    pair p = make_sleepers(&def, weir_params_default(), "a lake asleep");
    fill_lake(&p, def.bounds.max);
    const weir_stats before = weir_world_stats(p.device);
    step_pair(&p, 20);
    const weir_stats after = weir_world_stats(p.device);
    assert_int_equal(after.bytes_to_device, before.bytes_to_device);
    assert_int_equal(after.bytes_from_device, before.bytes_from_device);
    check_same(&p);
    end_pair(&p);
}

// ---- What travels ----------------------------------------------------------------------------------------------------------

static void little_travels_while_nobody_asks(void **state)
{
    need_device();
    int32_t updates = test_device_length(1000, 300);
    scene_run *run = open_scene(scene_find("dambreak"), WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_OPENCL, updates);
    weir_stats made = weir_world_stats(run->world);
    assert_true(made.program_seconds > 0);
    assert_int_equal(made.bytes_to_device + made.bytes_from_device, 0);
    assert_ok(weir_world_step(run->world));
    weir_stats begun = weir_world_stats(run->world);
    assert_true(begun.bytes_to_device > 0 && begun.bytes_from_device > 0);
    test_step(run->world, updates - 1);
    weir_stats end = weir_world_stats(run->world);
    double bytes = (double)(end.bytes_to_device + end.bytes_from_device - begun.bytes_to_device - begun.bytes_from_device);
    double channels = 40.0 * (double)(end.cells_updated - begun.cells_updated);  // summed over updates
    print_message("%.4f %% of the channels travels per update\n", 100 * bytes / channels);
    if (bytes >= 0.01 * channels) fail_msg("%.2f %% of the channels' bytes travels per update", 100 * bytes / channels);
    scene_close(run);

    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 4, 8), 1);
    test_step(world, 2);
    weir_stats none = weir_world_stats(world);
    assert_int_equal(none.bytes_to_device + none.bytes_from_device, 0);
    assert_true(none.program_seconds == 0 && !none.program_cached);
    weir_world_destroy(world);
}

// A validate looks at what is here and leaves the rest where it is.
static void a_validate_brings_nothing_and_sees_what_is_here(void **state)
{
    need_device();
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = test_def(SOLVERS[s], 24, 16, 16);
        def.backend = WEIR_BACKEND_OPENCL;
        weir_world *world = test_make(&def);
        const brick_pool *pool = test_pool(world);
        test_fill(world, test_box(0, 0, 0, 9, 9, 16), 1);
        test_step(world, 4);
        const int64_t brought = weir_world_stats(world).bytes_from_device;
        int32_t brick = bricks_find(pool, (weir_coord){0, 0, 0});
        assert_null(world_validate(world, false));
        assert_int_equal(pool->place[brick], PLACE_THERE);
        assert_int_equal(weir_world_stats(world).bytes_from_device, brought);

        bricks_fetch_all(pool);
        assert_null(world_validate(world, false));
        int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
        mass[0]++;
        assert_non_null(strstr(world_validate(world, false), "its account says"));
        mass[0]--;
        test_pool(world)->place[brick] = PLACE_NOWHERE + 1;
        assert_non_null(strstr(world_validate(world, false), "in place"));
        test_pool(world)->place[brick] = PLACE_BOTH;
        assert_null(world_validate(world, false));
        weir_world_destroy(world);
    }
}

int main(void)
{
    const struct CMUnitTest long_tests[] = {cmocka_unit_test(every_scene_is_the_same_on_the_device)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_scenes_are_the_same_on_the_device),
        cmocka_unit_test(speculative_cycles_change_nothing),
        cmocka_unit_test(large_residuals_are_relaxed_alike),
        cmocka_unit_test(coarse_levels_are_the_same_wherever_water_lies),
        cmocka_unit_test(edits_between_updates_give_the_same_world),
        cmocka_unit_test(written_arrays_and_changed_sources_give_the_same_world),
        cmocka_unit_test(parameters_act_on_the_device_too),
        cmocka_unit_test(few_sweeps_and_iterations_are_the_same_on_the_device),
        cmocka_unit_test(a_games_own_terrain_is_the_same_on_the_device),
        cmocka_unit_test(queries_give_the_same_answers),
        cmocka_unit_test(a_mesh_is_the_same_and_brings_what_it_needs),
        cmocka_unit_test(one_cell_brings_one_brick),
        cmocka_unit_test(snapshots_go_from_one_backend_to_the_other),
        cmocka_unit_test(a_rule_with_a_text_runs_on_the_device),
        cmocka_unit_test(a_rule_without_a_text_runs_on_the_host),
        cmocka_unit_test(a_text_that_does_not_compile_runs_on_the_host),
        cmocka_unit_test(a_rule_sees_the_same_at_every_place),
        cmocka_unit_test(background_steps_leave_the_last_state_to_be_asked),
        cmocka_unit_test(the_pool_grows_and_is_packed_alike),
        cmocka_unit_test(a_world_may_end_at_any_moment),
        cmocka_unit_test(a_trickle_wakes_a_part_of_a_lake),
        cmocka_unit_test(a_lake_sleeps_below_substeps),
        cmocka_unit_test(a_lake_sleeps_while_the_pool_is_packed),
        cmocka_unit_test(a_lake_asleep_costs_a_device_nothing),
        cmocka_unit_test(little_travels_while_nobody_asks),
        cmocka_unit_test(a_validate_brings_nothing_and_sees_what_is_here),
    };
    int failed = cmocka_run_group_tests(tests, look_for_device, NULL);
    if (test_device_length(1, 0)) failed += cmocka_run_group_tests(long_tests, NULL, NULL);
    return failed;
}
