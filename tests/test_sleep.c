// Sleep: water at rest costs nothing, only what moves is awake, and not a drop is lost between the two.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_cells.h"
#include "test_world.h"
#include <math.h>

enum { LEVEL = 20, HEIGHT = 32 };

static const float SLEEP = 0.01f;

// A lake with a floor of stone, 4 thick, on so many threads.
static weir_world *make_lake(int32_t size, int32_t threads, weir_simd simd)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, size, HEIGHT, size);
    weir_params params = weir_params_default();
    params.momentum.sleep = SLEEP;
    def.params = &params;
    def.threads = threads;
    def.simd = simd;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, size, 4, size), 255));
    test_fill(world, test_box(0, 4, 0, size, LEVEL, size), 1.0f);
    return world;
}

static int32_t awake(const weir_world *world)
{
    return weir_world_stats(world).awake_bricks;
}

// Updates until everything sleeps.
static int32_t let_sleep(weir_world *world, int32_t most)
{
    int32_t updates = 0;
    do test_step(world, 1);
    while (++updates < most && awake(world) > 0);
    assert_int_equal(awake(world), 0);
    return updates;
}

static double level_at(const weir_world *world, int32_t x, int32_t z)
{
    return 4 + weir_world_column(world, x, z, 4, HEIGHT);
}

static int32_t changed_since(const weir_world *world, int64_t *mark)
{
    static weir_brick_change bricks[4096];
    return weir_world_changed(world, mark, bricks, 4096);
}

// ---- Rest ------------------------------------------------------------------------------------------------------------------

static void water_at_rest_falls_asleep_and_is_left_alone(void **state)
{
    (void)state;
    weir_world *world = make_lake(test_length(64, 16), 1, WEIR_SIMD_AUTO);
    assert_true(let_sleep(world, 300) < 200);
    int64_t mark = 0;
    changed_since(world, &mark);
    for (int32_t i = 0; i < 100; i++) {
        test_step(world, 1);
        assert_int_equal(awake(world), 0);
        assert_int_equal(changed_since(world, &mark), 0);
    }
    assert_true(fabs(level_at(world, 5, 14) - LEVEL) < 1e-6);
    assert_exact(world);
    weir_world_destroy(world);
}

// Viscosity bears a part of gravity over the floor, which is no wave.
static void thick_water_falls_asleep(void **state)
{
    (void)state;
    static const float most = 1.0f / 6;
    for (float viscosity = 0.02f; viscosity < 2 * most; viscosity *= 3) {
        weir_world *world = make_lake(24, 1, WEIR_SIMD_AUTO);
        weir_params params = weir_world_params(world);
        params.momentum.viscosity = fminf(viscosity, most);
        assert_ok(weir_world_set_params(world, &params));
        let_sleep(world, 300);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void without_sleep_nothing_sleeps(void **state)
{
    (void)state;
    weir_world *world = make_lake(16, 1, WEIR_SIMD_AUTO);
    weir_params params = weir_world_params(world);
    let_sleep(world, 300);
    params.momentum.sleep = 0;
    assert_ok(weir_world_set_params(world, &params));
    test_step(world, 1);
    assert_int_equal(awake(world), weir_world_stats(world).bricks);
    test_step(world, 200);
    assert_int_equal(awake(world), weir_world_stats(world).bricks);
    assert_exact(world);
    weir_world_destroy(world);
}

// Nothing is known of water that was there before.
static void water_that_falls_when_sleep_comes_on_goes_on_falling(void **state)
{
    (void)state;
    for (int32_t before = 0; before < 2; before++) {
        weir_world *world = make_lake(16, 1, WEIR_SIMD_AUTO);
        weir_params params = weir_world_params(world);
        if (before) let_sleep(world, 300);
        params.momentum.sleep = 0;
        assert_ok(weir_world_set_params(world, &params));
        test_step(world, 3);
        test_fill(world, test_box(4, 26, 4, 8, 30, 8), 1.0f);
        test_step(world, 3);
        params.momentum.sleep = SLEEP;
        assert_ok(weir_world_set_params(world, &params));
        test_step(world, 10);
        assert_true(weir_world_cell(world, (weir_coord){5, 29, 5}).fill < 0.7f);
        assert_true(awake(world) > 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void without_gravity_nothing_sleeps(void **state)
{
    (void)state;
    weir_world *world = make_lake(16, 1, WEIR_SIMD_AUTO);
    weir_params params = weir_world_params(world);
    params.gravity = (weir_vec){0, 0, 0};
    assert_ok(weir_world_set_params(world, &params));
    test_step(world, 300);
    assert_int_equal(awake(world), weir_world_stats(world).bricks);
    weir_world_destroy(world);
}

// What an edit woke while sleep was on moves on when it is off.
static void water_that_woke_as_sleep_went_off_moves(void **state)
{
    (void)state;
    weir_world *world = make_lake(16, 1, WEIR_SIMD_AUTO);
    weir_params params = weir_world_params(world);
    let_sleep(world, 300);
    test_fill(world, test_box(0, LEVEL, 0, 16, LEVEL + 4, 16), 1.0f);
    test_fill(world, test_box(0, LEVEL + 4, 0, 8, LEVEL + 8, 16), 1.0f);
    test_fill(world, test_box(0, 4, 0, 8, 5, 16), 1.0f);
    params.momentum.sleep = 0;
    assert_ok(weir_world_set_params(world, &params));
    test_step(world, 20);
    assert_int_equal(awake(world), weir_world_stats(world).bricks);
    assert_true(level_at(world, 12, 8) > LEVEL + 4.1);
    assert_exact(world);
    weir_world_destroy(world);
}

// Nor is water damped, or counted as still, that may not sleep.
static void noise_leaves_water_as_it_is_without_sleep(void **state)
{
    (void)state;
    weir_world *worlds[2];
    for (int32_t i = 0; i < 2; i++) {
        worlds[i] = make_lake(16, 1, WEIR_SIMD_AUTO);
        weir_params params = weir_world_params(worlds[i]);
        params.noise = 0.05f;
        params.momentum.sleep = i == 0 ? SLEEP : 0.0f;
        assert_ok(weir_world_set_params(worlds[i], &params));
        test_fill(worlds[i], test_box(0, LEVEL, 0, 8, LEVEL + 1, 16), 0.5f);
        test_step(worlds[i], test_length(400, 100));
    }
    for (int32_t n = 0; n < 16 * HEIGHT * 16; n++) {
        const weir_coord at = {n % 16, n / 256, n / 16 % 16};
        const weir_cell a = weir_world_cell(worlds[0], at), b = weir_world_cell(worlds[1], at);
        assert_true(a.fill == b.fill && a.pressure == b.pressure);
        assert_true(a.flow.x == b.flow.x && a.flow.y == b.flow.y && a.flow.z == b.flow.z);
    }
    assert_int_equal(awake(worlds[0]), weir_world_stats(worlds[0]).bricks);
    weir_world_destroy(worlds[0]);
    weir_world_destroy(worlds[1]);
}

// Whatever the axis that gravity pulls along, and its sign.
static void lakes_sleep_on_every_side(void **state)
{
    (void)state;
    for (int32_t side = 0; side < 6; side += test_length(1, 5)) {
        const float g = side & 1 ? 0.01f : -0.01f;
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 24, 24, 24);
        weir_params params = weir_params_default();
        params.momentum.sleep = SLEEP;
        params.gravity = (weir_vec){side >> 1 == 0 ? g : 0, side >> 1 == 1 ? g : 0, side >> 1 == 2 ? g : 0};
        def.params = &params;
        weir_world *world = test_make(&def);
        weir_box box = test_box(0, 0, 0, 24, 24, 24);
        int32_t *low = side >> 1 == 0 ? &box.min.x : side >> 1 == 1 ? &box.min.y : &box.min.z;
        int32_t *high = side >> 1 == 0 ? &box.max.x : side >> 1 == 1 ? &box.max.y : &box.max.z;
        if (side & 1)
            *low = 13;
        else
            *high = 11;
        test_fill(world, box, 1.0f);
        let_sleep(world, 400);
        test_fill(world, test_box(10, 10, 10, 14, 14, 14), 1.0f);
        test_step(world, 5);
        assert_true(awake(world) > 0);
        if (test_length(1, 0)) let_sleep(world, 4000);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- What moves ------------------------------------------------------------------------------------------------------------

static void a_trickle_wakes_only_the_water_around_it(void **state)
{
    (void)state;
    const int32_t size = test_length(128, 32), updates = test_length(400, 40);
    weir_world *world = make_lake(size, 2, WEIR_SIMD_AUTO);
    let_sleep(world, 300);
    int32_t id, most = 0;
    const int32_t middle = size / 2;
    assert_ok(weir_world_add_emitter(world, test_box(middle, 28, middle, middle + 1, 29, middle + 1), WEIR_WATER, 0.05f, &id));
    for (int32_t i = 0; i < updates; i++) {
        test_step(world, 1);
        most = awake(world) > most ? awake(world) : most;
        if (i % 50 == 0) assert_exact(world);
    }
    assert_true(most <= 80);
    assert_exact(world);
    if (test_length(1, 0)) {
        const weir_ledger ledger = weir_world_ledger(world);
        const double mean = 4 + (double)ledger.held / WEIR_FULL / ((double)size * size);
        assert_true(fabs(level_at(world, 2, 2) - mean) < 0.001);
        assert_true(fabs(level_at(world, size - 3, 5) - level_at(world, 2, 2)) < 0.0005);
    }
    weir_world_destroy(world);
}

static void a_lake_falls_evenly_as_it_drains(void **state)
{
    (void)state;
    const int32_t size = test_length(128, 32), updates = test_length(200, 20);
    weir_world *world = make_lake(size, 2, WEIR_SIMD_AUTO);
    let_sleep(world, 300);
    const weir_box hole = test_box(size / 2, 0, size / 2, size / 2 + 4, 4, size / 2 + 4);
    int32_t id, most = 0;
    assert_ok(weir_world_dig(world, hole));
    assert_ok(weir_world_add_drain(world, test_box(hole.min.x, 0, hole.min.z, hole.max.x, 1, hole.max.z), 1000.0f, &id));
    for (int32_t i = 0; i < updates; i++) {
        test_step(world, 1);
        most = awake(world) > most ? awake(world) : most;
        if (i % 50 == 0) assert_exact(world);
    }
    assert_true(most <= 110);
    assert_exact(world);
    if (test_length(1, 0)) {
        assert_true(level_at(world, 2, 2) < LEVEL - 0.0003 * updates);
        assert_true(fabs(level_at(world, size - 3, 5) - level_at(world, 2, 2)) < 0.001);
    }
    weir_world_destroy(world);
}

// What stays of a film 0.3 deep on a tray with a hole of 1 x 1 in its middle.
static double film_left(float sleep, int32_t updates)
{
    enum { EDGE = 32, FLOOR = 4, MIDDLE = EDGE / 2 };
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, EDGE, FLOOR + 4, EDGE);
    weir_params params = weir_params_default();
    params.momentum.sleep = sleep;
    def.params = &params;
    def.open_sides = WEIR_SIDE_Y_MIN;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(0, FLOOR - 1, 0, EDGE, FLOOR, EDGE), 255));
    assert_ok(weir_world_dig(world, test_box(MIDDLE, FLOOR - 1, MIDDLE, MIDDLE + 1, FLOOR, MIDDLE + 1)));
    test_fill(world, test_box(0, FLOOR, 0, EDGE, FLOOR + 1, EDGE), 0.3f);
    test_step(world, updates);
    const weir_ledger ledger = weir_world_ledger(world);
    assert_exact(world);
    weir_world_destroy(world);
    return (double)ledger.held / (double)ledger.added;
}

static void a_film_drains_beside_sleeping_water_as_it_does_without(void **state)
{
    (void)state;
    const int32_t updates = test_length(1000, 400);
    assert_true(fabs(film_left(SLEEP, updates) - film_left(0, updates)) < 0.005);
}

// Bricks that are noted as wet and hold nothing.
static int32_t count_wrongly_wet(const weir_world *world)
{
    const brick_pool *pool = test_pool(world);
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        int32_t any = 0;
        for (int32_t i = 0; i < BRICK_CELLS; i++) any |= bricks_ints(pool, CHANNEL_MASS, b)[i];
        count += pool->alive[b] && pool->wet[b] && any == 0;
    }
    return count;
}

// The surface lies a little over the lower end of its bricks, and sinks below it.
static void a_rim_that_dries_up_is_dry(void **state)
{
    (void)state;
    const int32_t size = test_length(64, 32);
    weir_world *world = make_lake(size, 1, WEIR_SIMD_AUTO);
    test_fill(world, test_box(0, LEVEL, 0, size, 24, size), 1.0f);
    test_fill(world, test_box(0, 24, 0, size, 25, size), 0.08f);
    let_sleep(world, 300);
    int32_t id, rims = 0;
    assert_ok(weir_world_add_drain(world, test_box(4, 8, 4, 8, 12, 8), 4.0f, &id));
    for (int32_t i = 0; i < 160; i++) {
        test_step(world, 1);
        rims += weir_world_stats(world).bricks - awake(world);
        assert_int_equal(count_wrongly_wet(world), 0);
        assert_exact(world);
    }
    assert_true(rims > 0 && level_at(world, size - 2, size - 2) < 24.0);
    weir_world_destroy(world);
}

// Where the surface lies at the end of its bricks, those above become rim, dry up and get wet again as waves pass.
static void waves_at_the_end_of_bricks_lose_no_drops(void **state)
{
    (void)state;
    const int32_t size = test_length(96, 32), middle = size / 2;
    weir_world *world = make_lake(size, 1, WEIR_SIMD_AUTO);
    assert_ok(weir_world_build(world, test_box(18, 0, 18, 30, 19, 30), 255));
    test_fill(world, test_box(0, LEVEL, 0, size, 24, size), 1.0f);
    let_sleep(world, 300);
    test_fill(world, test_box(middle - 3, 26, middle - 3, middle + 3, 32, middle + 3), 1.0f);
    for (int32_t i = 0; i < test_length(300, 60); i++) {
        test_step(world, 1);
        assert_exact(world);
    }
    assert_int_equal(count_wrongly_wet(world), 0);
    weir_world_destroy(world);
}

// The largest step of the surface between columns of which one is awake and the other sleeps.
static double step_at_border(const weir_world *world)
{
    const brick_pool *pool = test_pool(world);
    double most = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b] || pool->phase[b] != PHASE_AWAKE || pool->coord[b].y != LEVEL / 8) continue;
        for (int32_t side = 0; side < 4; side++) {
            static const int32_t faces[4] = {NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};
            const int32_t other = pool->near[b][faces[side]];
            if (other == BRICK_NOTHING || pool->phase[other] == PHASE_AWAKE) continue;
            for (int32_t i = 0; i < 8; i++) {
                const int32_t at = side % 2 ? 7 : 0, out = side % 2 ? 8 : -1;
                const int32_t x = 8 * pool->coord[b].x, z = 8 * pool->coord[b].z;
                const double here = side < 2 ? level_at(world, x + at, z + i) : level_at(world, x + i, z + at);
                const double there = side < 2 ? level_at(world, x + out, z + i) : level_at(world, x + i, z + out);
                most = fmax(most, fabs(here - there));
            }
        }
    }
    return most;
}

// They are as they would be without sleep, and its border does not show. While it splashes, the least difference grows to more.
static void waves_of_a_splash_run_on_into_sleeping_water(void **state)
{
    enum { SIZE = 128, SPLASH = 200, UPDATES = 360 };
    (void)state;
    if (!test_length(1, 0)) return;
    weir_world *worlds[2];
    double apart = 0, step = 0;
    for (int32_t i = 0; i < 2; i++) {
        worlds[i] = make_lake(SIZE, 2, WEIR_SIMD_AUTO);
        weir_params params = weir_world_params(worlds[i]);
        if (i == 0) let_sleep(worlds[i], 300);
        if (i == 1) params.momentum.sleep = 0;
        assert_ok(weir_world_set_params(worlds[i], &params));
        test_fill(worlds[i], test_box(SIZE / 2 - 3, 24, SIZE / 2 - 3, SIZE / 2 + 3, 30, SIZE / 2 + 3), 1.0f);
    }
    for (int32_t n = 20; n <= UPDATES; n += 20) {
        for (int32_t i = 0; i < 2; i++) test_step(worlds[i], 20);
        step = fmax(step, step_at_border(worlds[0]));
        for (int32_t k = 0; k < SIZE * SIZE && n > SPLASH; k++)
            apart = fmax(apart, fabs(level_at(worlds[0], k % SIZE, k / SIZE) - level_at(worlds[1], k % SIZE, k / SIZE)));
    }
    print_message("waves are %.4f apart, steps %.4f\n", apart, step);
    assert_true(apart < 0.1 && step < 0.025);
    for (int32_t i = 0; i < 2; i++) {
        assert_exact(worlds[i]);
        weir_world_destroy(worlds[i]);
    }
}

static void what_is_dropped_in_comes_to_rest_at_one_level(void **state)
{
    (void)state;
    const int32_t size = test_length(64, 16);
    weir_world *world = make_lake(size, 2, WEIR_SIMD_AUTO);
    let_sleep(world, 300);
    const int32_t middle = size / 2;
    test_fill(world, test_box(middle - 3, 24, middle - 3, middle + 3, 30, middle + 3), 1.0f);
    test_step(world, test_length(100, 20));
    assert_true(awake(world) > 0);
    if (test_length(1, 0)) {
        let_sleep(world, 4000);
        test_step(world, 2000);
        const double mean = 4 + (double)weir_world_ledger(world).held / WEIR_FULL / ((double)size * size);
        for (int32_t z = 0; z < size; z += 3)
            for (int32_t x = 0; x < size; x += 3) assert_true(fabs(level_at(world, x, z) - mean) < 0.02);
    }
    assert_exact(world);
    weir_world_destroy(world);
}

// A wall with a gap under water between two basins, one of which is filled higher when both sleep.
static void joined_lakes_end_level(void **state)
{
    (void)state;
    if (!test_length(1, 0)) return;
    weir_world *world = make_lake(48, 2, WEIR_SIMD_AUTO);
    assert_ok(weir_world_build(world, test_box(22, 4, 0, 26, HEIGHT, 48), 255));
    assert_ok(weir_world_dig(world, test_box(22, 4, 20, 26, 8, 28)));
    let_sleep(world, 4000);
    test_fill(world, test_box(0, LEVEL, 0, 22, LEVEL + 1, 48), 1.0f);
    let_sleep(world, 12000);
    test_step(world, 1000);
    assert_true(fabs(level_at(world, 10, 24) - level_at(world, 40, 24)) < 0.05);
    assert_exact(world);
    weir_world_destroy(world);
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

static int32_t below(uint32_t *seed, int32_t end)
{
    return (int32_t)((next_random(seed) >> 8) % (uint32_t)end);
}

static void edit_at_random(weir_world *world, uint32_t *seed, int32_t size)
{
    const int32_t x = below(seed, size), y = below(seed, HEIGHT), z = below(seed, size);
    const weir_box box = test_box(x, y, z, x + 1 + below(seed, 6), y + 1 + below(seed, 6), z + 1 + below(seed, 6));
    int32_t id;
    switch (below(seed, 8)) {
    case 0: assert_ok(weir_world_fill(world, box, WEIR_WATER, (float)below(seed, 9) / 8)); break;
    case 1: assert_ok(weir_world_drain(world, box)); break;
    case 2: assert_ok(weir_world_build(world, box, 255)); break;
    case 3: assert_ok(weir_world_dig(world, box)); break;
    case 4: assert_ok(weir_world_set_flow(world, box, (weir_vec){0.3f, 0.2f, -0.1f})); break;
    case 5: assert_ok(weir_world_add_emitter(world, box, WEIR_WATER, 0.4f, &id)); break;
    case 6: assert_ok(weir_world_add_drain(world, box, 0.4f, &id)); break;
    default: break;
    }
}

static weir_world *load_copy(const weir_world *world, int32_t size)
{
    size_t bytes;
    assert_ok(weir_world_save_memory(world, NULL, 0, &bytes));
    void *saved = malloc(bytes);
    assert_non_null(saved);
    assert_ok(weir_world_save_memory(world, saved, bytes, &bytes));
    weir_world *copy = make_lake(size, 1, WEIR_SIMD_AUTO);
    assert_ok(weir_world_load_memory(copy, saved, bytes));
    free(saved);
    return copy;
}

// What a body is owed is part of a snapshot, and goes where it would without a load when the body wakes before the first update.
static void edit_after_load(int32_t level)
{
    const int32_t size = test_length(48, 32);
    weir_world *world = make_lake(size, 1, WEIR_SIMD_AUTO);
    test_fill(world, test_box(0, LEVEL, 0, size, level - 1, size), 1.0f);
    test_fill(world, test_box(0, level - 1, 0, size, level, size), 0.7f);
    let_sleep(world, 300);
    int32_t id;
    assert_ok(weir_world_add_emitter(world, test_box(4, 28, 4, 5, 29, 5), WEIR_WATER, 0.05f, &id));
    test_step(world, test_length(90, 40));
    assert_true(awake(world) > 0 && awake(world) < weir_world_stats(world).bricks);
    weir_world *copy = load_copy(world, size);
    assert_true(weir_world_hash(copy) == weir_world_hash(world));
    for (int32_t i = 0; i < 2; i++) {
        weir_world *edited = i == 0 ? world : copy;
        test_fill(edited, test_box(size - 4, LEVEL - 1, size - 4, size, LEVEL + 1, size), 1.0f);
        assert_exact(edited);
        test_step(edited, 1);
        assert_exact(edited);
    }
    assert_true(weir_world_hash(copy) == weir_world_hash(world));
    weir_world_destroy(world);
    weir_world_destroy(copy);
}

static void an_edit_right_after_a_load_is_as_without_it(void **state)
{
    (void)state;
    edit_after_load(LEVEL + 2);
    edit_after_load(24);  // the air above it is in bricks of its own
}

// A fill wakes the bricks beside it. The pressure of deeper ones is that of their body, which is as high as it was.
static void a_fill_leaves_the_pressure_of_deep_sleeping_water(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 48, 16);
    weir_params params = weir_params_default();
    params.momentum.sleep = SLEEP;
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 34, 16), 1.0f);
    let_sleep(world, 400);
    const weir_coord deep = {5, 3, 5};
    const float before = weir_world_cell(world, deep).pressure;
    assert_true(fabsf(before - 0.31f) < 0.001f);
    test_fill(world, test_box(4, 34, 4, 8, 38, 8), 1.0f);
    assert_true(weir_world_cell(world, deep).pressure == before);
    test_step(world, 1);
    assert_true(awake(world) > 0 && awake(world) < weir_world_stats(world).bricks);
    assert_true(fabsf(weir_world_cell(world, deep).pressure - before) < 1e-4f);
    weir_world_destroy(world);
}

// Edits of all kinds in water that sleeps, on two sets of threads and widths, one of which is saved and loaded on the way.
static void edits_wake_what_sleeps_and_machines_agree(void **state)
{
    (void)state;
    const int32_t size = test_length(40, 24), rounds = test_length(16, 5);
    weir_world *a = make_lake(size, 1, WEIR_SIMD_SCALAR), *b = make_lake(size, 3, WEIR_SIMD_AUTO);
    let_sleep(a, 300);
    let_sleep(b, 300);
    uint32_t seed_a = 7, seed_b = 7;
    for (int32_t round = 0; round < rounds; round++) {
        edit_at_random(a, &seed_a, size);
        edit_at_random(b, &seed_b, size);
        const int32_t updates = 1 + below(&seed_a, 60);
        assert_int_equal(updates, 1 + below(&seed_b, 60));
        for (int32_t i = 0; i < updates; i++) {
            test_step(a, 1);
            test_step(b, 1);
            assert_true(weir_world_hash(a) == weir_world_hash(b));
            assert_int_equal(awake(a), awake(b));
        }
        assert_exact(a);
        assert_exact(b);
        if (round % 4 != 3) continue;
        size_t bytes;
        assert_ok(weir_world_save_memory(b, NULL, 0, &bytes));
        void *saved = malloc(bytes);
        assert_non_null(saved);
        assert_ok(weir_world_save_memory(b, saved, bytes, &bytes));
        assert_ok(weir_world_load_memory(b, saved, bytes));
        free(saved);
        assert_true(weir_world_hash(a) == weir_world_hash(b));
    }
    weir_world_destroy(a);
    weir_world_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_at_rest_falls_asleep_and_is_left_alone),
        cmocka_unit_test(thick_water_falls_asleep),
        cmocka_unit_test(without_sleep_nothing_sleeps),
        cmocka_unit_test(water_that_falls_when_sleep_comes_on_goes_on_falling),
        cmocka_unit_test(without_gravity_nothing_sleeps),
        cmocka_unit_test(water_that_woke_as_sleep_went_off_moves),
        cmocka_unit_test(noise_leaves_water_as_it_is_without_sleep),
        cmocka_unit_test(lakes_sleep_on_every_side),
        cmocka_unit_test(a_trickle_wakes_only_the_water_around_it),
        cmocka_unit_test(a_lake_falls_evenly_as_it_drains),
        cmocka_unit_test(a_film_drains_beside_sleeping_water_as_it_does_without),
        cmocka_unit_test(a_rim_that_dries_up_is_dry),
        cmocka_unit_test(waves_at_the_end_of_bricks_lose_no_drops),
        cmocka_unit_test(waves_of_a_splash_run_on_into_sleeping_water),
        cmocka_unit_test(what_is_dropped_in_comes_to_rest_at_one_level),
        cmocka_unit_test(joined_lakes_end_level),
        cmocka_unit_test(an_edit_right_after_a_load_is_as_without_it),
        cmocka_unit_test(a_fill_leaves_the_pressure_of_deep_sleeping_water),
        cmocka_unit_test(edits_wake_what_sleeps_and_machines_agree),
    };
    return cmocka_run_group_tests_name("sleep", tests, NULL, NULL);
}
