// Regions: parts of a world leave and come back, and no drop, no hash and no sleep is the worse for it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "test_memory.h"
#include "test_world.h"
#include "world/absent.h"
#include "world/snapshot.h"

enum { X = 64, Y = 32, Z = 48, ROOM = 1 << 23, SLOTS = 6 };

static weir_world_def def_of(weir_solver solver)
{
    return test_def(solver, X, Y, Z);
}

static weir_box random_region(scene_random *random, int32_t most)
{
    int32_t low[3], high[3];
    const int32_t edge[3] = {X / 8, Y / 8, Z / 8};
    for (int32_t i = 0; i < 3; i++) {
        low[i] = scene_random_between(random, 0, edge[i] - 1);
        high[i] = low[i] + scene_random_between(random, 1, most);
        if (high[i] > edge[i]) high[i] = edge[i];
    }
    return test_box(8 * low[0], 8 * low[1], 8 * low[2], 8 * high[0], 8 * high[1], 8 * high[2]);
}

// A region that is away.
typedef struct parcel {
    weir_box box;
    uint8_t *bytes;
    size_t size;
} parcel;

static weir_status try_unload(weir_world *world, weir_box box, parcel *p)
{
    static uint8_t bytes[ROOM];
    *p = (parcel){.box = box};
    const weir_status status = weir_world_unload(world, box, bytes, sizeof bytes, &p->size);
    if (status != WEIR_OK) return status;
    p->bytes = malloc(p->size);
    assert_non_null(p->bytes);
    memcpy(p->bytes, bytes, p->size);
    return WEIR_OK;
}

static void load_back(weir_world *world, parcel *p)
{
    const weir_status status = weir_world_load_region(world, p->bytes, p->size);
    if (status != WEIR_OK) fail_msg("%s", weir_error_message());
    free(p->bytes);
    *p = (parcel){0};
}

// ---- The set of what is away -------------------------------------------------------------------------------------------------

static void the_set_is_the_same_however_it_came_about(void **state)
{
    enum { EDGE = 9 };
    memory mem = memory_make((weir_allocator){0});
    scene_random random = scene_random_seeded(5);
    for (int32_t round = 0; round < test_length(200, 20); round++) {
        static bool dense[EDGE][EDGE][EDGE];
        absent_set set = {0}, again = {0}, next;
        memset(dense, 0, sizeof dense);
        for (int32_t i = 0; i < 12; i++) {
            weir_box b;
            const bool add = scene_random_between(&random, 0, 2) > 0;
            b.min = (weir_coord){scene_random_between(&random, 0, EDGE - 1), scene_random_between(&random, 0, EDGE - 1),
                                 scene_random_between(&random, 0, EDGE - 1)};
            b.max =
                (weir_coord){scene_random_between(&random, b.min.x + 1, EDGE), scene_random_between(&random, b.min.y + 1, EDGE),
                             scene_random_between(&random, b.min.z + 1, EDGE)};
            bool all = true, any = false;
            for (int32_t z = b.min.z; z < b.max.z; z++)
                for (int32_t y = b.min.y; y < b.max.y; y++)
                    for (int32_t x = b.min.x; x < b.max.x; x++)
                        all &= dense[z][y][x], any |= dense[z][y][x], dense[z][y][x] = add;
            assert_true(absent_has_all(&set, b) == all && absent_has_any(&set, b) == any);
            assert_true(absent_change(&set, b, add, &mem, &next));
            absent_free(&set, &mem);
            set = next;
            assert_true(absent_sound(&set));
        }
        double volume = 0;
        for (int32_t z = EDGE - 1; z >= 0; z--) {
            for (int32_t y = EDGE - 1; y >= 0; y--) {
                for (int32_t x = EDGE - 1; x >= 0; x--) {
                    const weir_coord c = {x, y, z};
                    assert_true(absent_has(&set, c) == dense[z][y][x]);
                    if (!dense[z][y][x]) continue;
                    assert_true(absent_change(&again, (weir_box){c, {x + 1, y + 1, z + 1}}, true, &mem, &next));
                    absent_free(&again, &mem);
                    again = next;
                    volume += 512;
                }
            }
        }
        assert_true(again.count == set.count && absent_volume(&set, test_box(0, 0, 0, 80, 80, 80)) == volume);
        if (set.count > 0) assert_memory_equal(again.boxes, set.boxes, (size_t)set.count * sizeof *set.boxes);
        absent_free(&set, &mem);
        absent_free(&again, &mem);
    }
    assert_int_equal(mem.bytes, 0);
}

// ---- There and back ----------------------------------------------------------------------------------------------------------

// One edit of a game, or none.
static void edit(weir_world *world, scene_random *random)
{
    const int32_t x = scene_random_between(random, 0, X - 12), y = scene_random_between(random, 0, Y - 12),
                  z = scene_random_between(random, 0, Z - 12), kind = scene_random_between(random, 0, 7);
    const weir_box box =
        test_box(x, y, z, x + scene_random_between(random, 1, 12), y + scene_random_between(random, 1, 12), z + 9);
    weir_status status = WEIR_OK;
    if (kind == 0) status = weir_world_fill(world, box, WEIR_WATER, (float)scene_random_between(random, 1, 8) / 8);
    if (kind == 1) status = weir_world_drain(world, box);
    if (kind == 2) status = weir_world_build(world, box, 255);
    if (kind == 3) status = weir_world_build(world, box, (uint8_t)scene_random_between(random, 1, 255));
    if (kind == 4 || kind == 5) status = weir_world_dig(world, box);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUTSIDE);
}

static weir_world *make_hills(weir_solver solver, weir_backend backend, int32_t threads, float sleep)
{
    weir_world_def def = def_of(solver);
    weir_params params = weir_params_default();
    params.momentum.sleep = sleep;
    def.params = &params;
    def.backend = backend;
    def.threads = threads;
    weir_world *world = test_make(&def);
    for (int32_t x = 0; x < X; x += 8)
        for (int32_t z = 0; z < Z; z += 8) {
            const int32_t height = 2 + (x * 7 + z * 5) / 8 % 9;
            assert_ok(weir_world_build(world, test_box(x, 0, z, x + 8, height, z + 8), 255));
        }
    test_fill(world, test_box(0, 0, 0, X, 8, Z), 1);
    test_fill(world, test_box(0, 8, 0, 24, 20, 24), 1);
    return world;
}

// A world of which parts leave and come back at once goes on as one of which none ever left.
static void leave_and_return(weir_solver solver, weir_backend backend, float sleep, int32_t updates)
{
    weir_world *world = make_hills(solver, backend, 1, sleep), *twin = make_hills(solver, backend, 1, sleep);
    scene_random random = scene_random_seeded(31 + (uint32_t)solver), same;
    int32_t unloaded = 0;
    for (int32_t i = 0; i < updates; i++) {
        if (i % 5 == 4) {
            same = random;
            edit(world, &random);
            edit(twin, &same);
        }
        if (i % 3 == 1 || i % 5 == 4) {
            parcel parcels[3];
            const uint64_t before = weir_world_hash(world);
            const int32_t awake = weir_world_stats(world).awake_bricks;
            const int64_t held = weir_world_ledger(world).held;
            int32_t count = 0;
            for (int32_t k = 0; k < 3; k++)
                if (try_unload(world, random_region(&random, 4), &parcels[count]) == WEIR_OK) count++;
            unloaded += count;
            assert_exact(world);
            assert_true(weir_world_ledger(world).held <= held);
            assert_true(count == 0 || weir_world_hash(world) != before);
            // The last one to leave is the first to come back.
            while (count > 0) load_back(world, &parcels[--count]);
            assert_exact(world);
            assert_true(weir_world_ledger(world).unloaded == 0 && weir_world_ledger(world).held == held);
            assert_true(weir_world_hash(world) == before);
            if (solver == WEIR_SOLVER_SETTLE) assert_true(weir_world_stats(world).awake_bricks == awake);
            assert_int_equal(weir_world_unloaded(world, NULL, 0), 0);
        }
        test_step(world, 1);
        test_step(twin, 1);
        assert_true(weir_world_hash(world) == weir_world_hash(twin));
    }
    assert_true(unloaded > updates / 6);
    weir_world_destroy(twin);
    weir_world_destroy(world);
}

static void what_comes_back_at_once_was_never_away(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++)
        leave_and_return(solver, WEIR_BACKEND_CPU, 0, test_length(solver == WEIR_SOLVER_SETTLE ? 300 : 60, 12));
    leave_and_return(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 0.01f, test_length(200, 12));
}

static bool has_opencl(void)
{
    weir_device device;
    return weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK;
}

static void so_it_is_with_devices(void **state)
{
    if (!has_opencl()) skip();
    leave_and_return(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_OPENCL, 0.01f, test_device_length(15, 6));
    leave_and_return(WEIR_SOLVER_CLASSIC, WEIR_BACKEND_OPENCL, 0, test_device_length(9, 6));
}

// ---- A long life -------------------------------------------------------------------------------------------------------------

static uint64_t live(weir_solver solver, int32_t threads, float sleep, int32_t updates, uint32_t seed)
{
    weir_world *world = make_hills(solver, WEIR_BACKEND_CPU, threads, sleep);
    scene_random random = scene_random_seeded(seed);
    parcel parcels[SLOTS] = {{{{0, 0, 0}, {0, 0, 0}}, NULL, 0}};
    uint64_t hash = 0;
    for (int32_t i = 0; i < updates; i++) {
        parcel *p = &parcels[scene_random_between(&random, 0, SLOTS - 1)];
        const int32_t kind = scene_random_between(&random, 0, 9);
        if (kind < 4) edit(world, &random);
        if (kind == 4 || kind == 5) {
            if (p->bytes)
                load_back(world, p);
            else if (try_unload(world, random_region(&random, 4), p) != WEIR_OK)
                assert_non_null(strstr(weir_error_message(), "unloaded already"));
        }
        if (kind == 6 && i % 4 == 0) {
            static uint8_t bytes[ROOM];
            size_t size;
            hash = weir_world_hash(world);
            assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
            assert_ok(weir_world_load_memory(world, bytes, size));
            assert_true(weir_world_hash(world) == hash);
        }
        if (kind == 7) {
            assert_ok(weir_world_step_begin(world));
            edit(world, &random);
            assert_exact(world);
            weir_world_step_end(world);
        }
        test_step(world, 1);
        if (i % 7 == 0) assert_exact(world);
    }
    for (int32_t i = 0; i < SLOTS; i++)
        if (parcels[i].bytes) load_back(world, &parcels[i]);
    assert_exact(world);
    assert_true(weir_world_ledger(world).unloaded == 0);
    test_step(world, 3);
    assert_exact(world);
    hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void no_drop_is_lost_in_a_long_life(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        const int32_t updates = test_length(solver == WEIR_SOLVER_SETTLE ? 1200 : 150, 20);
        const float sleep = solver == WEIR_SOLVER_MOMENTUM ? 0.01f : 0;
        assert_true(live(solver, 1, sleep, updates, 7) == live(solver, 4, sleep, updates, 7));
    }
}

// ---- What waits goes on --------------------------------------------------------------------------------------------------------

// A stream runs to the border of a part that is away, and into it when that comes back.
static void a_stream_waits_and_goes_on(void **state)
{
    const weir_box away = test_box(32, 0, 0, X, Y, Z);
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        weir_params params = weir_params_default();
        params.momentum.sleep = 0.01f;
        def.params = &params;
        weir_world *world = test_make(&def);
        parcel p;
        assert_ok(weir_world_build(world, test_box(0, 0, 0, X, 4, Z), 255));
        assert_ok(try_unload(world, away, &p));
        assert_ok(weir_world_add_emitter(world, test_box(20, 8, 20, 26, 10, 28), WEIR_WATER, 12, NULL));
        test_step(world, test_length(300, 120));
        assert_exact(world);
        assert_true(weir_world_box_sum(world, away).drops == 0 && weir_world_box_sum(world, away).open_cells == 0);
        assert_true(weir_world_column(world, 31, 24, 0, Y) > 0.5);
        // Whether it still moves or stands by now.
        if (solver == WEIR_SOLVER_SETTLE) {
            assert_ok(weir_world_remove(world, 1));
            test_step(world, 400);
            assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        }
        load_back(world, &p);
        test_step(world, test_length(60, 40));
        assert_exact(world);
        assert_true((double)weir_world_box_sum(world, away).drops > test_length(200, 50) * (double)WEIR_FULL);
        weir_world_destroy(world);
    }
}

// The water of what is away stands where it stood, and runs out when its neighbour, dug away meanwhile, is there again.
static void what_was_dug_meanwhile_lets_it_out(void **state)
{
    const weir_box away = test_box(0, 0, 0, 32, Y, Z);
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        weir_params params = weir_params_default();
        params.momentum.sleep = 0.01f;
        def.params = &params;
        weir_world *world = test_make(&def);
        parcel p;
        assert_ok(weir_world_build(world, test_box(32, 0, 0, X, Y, Z), 255));
        test_fill(world, test_box(0, 0, 0, 32, 12, Z), 1);
        test_step(world, test_length(600, 20));
        if (solver == WEIR_SOLVER_SETTLE) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_ok(try_unload(world, away, &p));
        assert_int_equal(weir_world_ledger(world).held, 0);
        assert_ok(weir_world_dig(world, test_box(32, 0, 0, X, 20, Z)));
        test_step(world, 5);
        load_back(world, &p);
        test_step(world, test_length(100, 40));
        assert_exact(world);
        assert_true((double)weir_world_box_sum(world, test_box(32, 0, 0, X, Y, Z)).drops > 500.0 * WEIR_FULL);
        weir_world_destroy(world);
    }
}

static weir_world *make_sleepy(weir_solver solver)
{
    weir_world_def def = def_of(solver);
    weir_params params = weir_params_default();
    params.momentum.sleep = 0.01f;
    def.params = &params;
    return test_make(&def);
}

// Water came to rest against what was away, and left itself before that came back: then there is nothing to hold it.
static void what_came_back_first_does_not_hold_it(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        for (int32_t is_new = 0; is_new < 2; is_new++) {
            weir_world *world = make_sleepy(solver);
            const weir_box left = test_box(0, 0, 0, 32, Y, Z), right = test_box(32, 0, 0, X, Y, Z);
            parcel p, q;
            assert_ok(try_unload(world, right, &q));
            test_fill(world, test_box(0, 0, 0, 32, 8, Z), 1);
            test_step(world, test_length(300, 16));
            if (solver == WEIR_SOLVER_SETTLE) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
            assert_ok(try_unload(world, left, &p));
            if (is_new) {
                assert_ok(weir_world_load_new(world, right));
                free(q.bytes);
            } else {
                load_back(world, &q);
            }
            test_step(world, 2);
            load_back(world, &p);
            test_step(world, 60);
            assert_exact(world);
            assert_true((double)weir_world_box_sum(world, right).drops > 500.0 * WEIR_FULL);
            weir_world_destroy(world);
        }
    }
}

// Beside a floor that was lowered, though it was no wall.
static void a_floor_that_was_lowered_lets_it_out(void **state)
{
    const weir_box left = test_box(0, 0, 0, 32, Y, Z), right = test_box(32, 0, 0, X, Y, Z);
    weir_world *world = make_sleepy(WEIR_SOLVER_SETTLE);
    parcel p;
    assert_ok(weir_world_build(world, test_box(32, 0, 0, X, 1, Z), 200));
    test_fill(world, test_box(0, 0, 0, 32, 1, Z), 0.5f);
    test_step(world, 60);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_ok(try_unload(world, left, &p));
    assert_ok(weir_world_dig(world, test_box(32, 0, 0, X, 1, Z)));
    test_step(world, 20);
    load_back(world, &p);
    test_step(world, 60);
    assert_exact(world);
    assert_true((double)weir_world_box_sum(world, right).drops > 100.0 * WEIR_FULL);
    weir_world_destroy(world);
}

// A reservoir gets another level while its water is away, or gravity another direction.
static void what_holds_it_may_change_meanwhile(void **state)
{
    const weir_solver solvers[2] = {WEIR_SOLVER_SETTLE, WEIR_SOLVER_MOMENTUM};
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t turns = 0; turns <= i; turns++) {
            weir_world *world = make_sleepy(solvers[i]);
            weir_params params = weir_world_params(world);
            parcel p;
            int32_t id;
            assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 0, X, 8, Z), WEIR_WATER, 4, &id));
            test_step(world, test_length(200, 40));
            if (turns) assert_ok(weir_world_remove(world, id));
            assert_ok(try_unload(world, test_box(0, 0, 0, X, Y, Z), &p));
            params.gravity.y = 0.01f;
            assert_ok(turns ? weir_world_set_params(world, &params) : weir_world_set_level(world, id, 6.5));
            test_step(world, 2);
            load_back(world, &p);
            test_step(world, test_length(100, 40));
            assert_exact(world);
            const int64_t held = weir_world_box_sum(world, test_box(0, 0, 0, X, turns ? 2 : 7, Z)).drops;
            if (turns)
                assert_true(held < weir_world_ledger(world).held / 4);
            else
                assert_true(fabs((double)held / (6.5 * WEIR_FULL * X * Z) - 1) < 0.01);
            weir_world_destroy(world);
        }
    }
}

// Both halves leave, and the one that flowed into the other comes back first: nothing may flow into what is away. With no update between they
// are as they were.
static void halves_come_back_one_by_one(weir_world_def def, weir_params *params, int32_t axis)
{
    const float speed = def.solver == WEIR_SOLVER_CLASSIC ? -0.15f : -0.4f;
    weir_box low = test_box(0, 0, 0, 16, 16, 16), high = low;
    weir_vec flow = {0, 0, 0};
    *(axis == 0 ? &low.max.x : axis == 1 ? &low.max.y : &low.max.z) = 8;
    *(axis == 0 ? &high.min.x : axis == 1 ? &high.min.y : &high.min.z) = 8;
    *(axis == 0 ? &flow.x : axis == 1 ? &flow.y : &flow.z) = speed;
    def.bounds = test_box(0, 0, 0, 16, 16, 16);
    def.params = params;
    for (int32_t waits = 0; waits < 2; waits++) {
        weir_world *world = test_make(&def);
        parcel a, b;
        assert_ok(weir_world_fill(world, def.bounds, weir_world_fluid(world), 0.7f));
        assert_ok(weir_world_set_flow(world, def.bounds, flow));
        const uint64_t hash = weir_world_hash(world);
        assert_ok(try_unload(world, high, &a));
        assert_ok(try_unload(world, low, &b));
        load_back(world, &a);
        if (waits) test_step(world, 1);
        assert_exact(world);
        load_back(world, &b);
        if (!waits) assert_true(weir_world_hash(world) == hash);
        test_step(world, 2);
        assert_exact(world);
        assert_int_equal(weir_world_ledger(world).unloaded, 0);
        weir_world_destroy(world);
    }
}

static void nothing_flows_into_what_is_away(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_FLOW_SOLVERS; solver++) {
        for (int32_t kind = 0; kind < (solver == WEIR_SOLVER_MOMENTUM ? 3 : 1); kind++) {
            weir_params params = weir_params_default();
            params.momentum.sleep = kind == 0 ? 0 : 0.01f;
            params.momentum.gas = kind == 1 ? 0.1f : 0;
            for (int32_t axis = test_length(0, 2); axis < 3; axis++) halves_come_back_one_by_one(def_of(solver), &params, axis);
        }
    }
}

// What a sleeping lake is owed leaves with the brick that has it, and is not found again where that was.
static void what_is_owed_leaves_once(void **state)
{
    weir_world *world = make_sleepy(WEIR_SOLVER_MOMENTUM);
    parcel p;
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 0, 32, 20, Z), WEIR_WATER, 9.5, NULL));
    for (int32_t i = 0; i < test_length(40, 7); i++) {
        test_step(world, i < 4 ? 40 : 11);
        assert_ok(try_unload(world, test_box(0, 0, 0, 32, Y, Z), &p));
        for (int32_t k = 0; k < 2; k++) {
            test_step(world, 1);
            assert_exact(world);
        }
        load_back(world, &p);
    }
    assert_exact(world);
    weir_world_destroy(world);
}

// A lake of which a part leaves sleeps on, and so does that part when it comes back, later too, whichever comes first.
static void a_lake_sleeps_on(void **state)
{
    const weir_solver solvers[2] = {WEIR_SOLVER_SETTLE, WEIR_SOLVER_MOMENTUM};
    for (int32_t i = 0; i < 2; i++) {
        weir_world *world = make_sleepy(solvers[i]);
        parcel p, q;
        assert_ok(weir_world_build(world, test_box(0, 0, 0, 16, 20, 16), 255));
        test_fill(world, test_box(0, 0, 0, X, 13, Z), 1);
        for (int32_t k = 0; k < 4000 && (k == 0 || weir_world_stats(world).awake_bricks > 0); k++) test_step(world, 1);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        const uint64_t fast = weir_world_hash(world);
        assert_ok(try_unload(world, test_box(16, 0, 16, 40, 16, 40), &p));
        assert_ok(try_unload(world, test_box(40, 8, 0, X, Y, Z), &q));
        test_step(world, 20);
        if (solvers[i] == WEIR_SOLVER_MOMENTUM) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        load_back(world, &q);
        load_back(world, &p);
        test_step(world, 2);
        if (solvers[i] == WEIR_SOLVER_MOMENTUM) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_ok(try_unload(world, test_box(40, 8, 0, X, Y, Z), &q));
        assert_ok(try_unload(world, test_box(16, 0, 16, 40, 16, 40), &p));
        load_back(world, &q);
        load_back(world, &p);
        test_step(world, 2);
        if (solvers[i] == WEIR_SOLVER_MOMENTUM) assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        test_step(world, 60);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_exact(world);
        assert_true(weir_world_ledger(world).unloaded == 0);
        assert_true(weir_world_column(world, 30, 30, 0, Y) > 12.99 && weir_world_column(world, 30, 30, 0, Y) < 13.01);
        assert_true(fast != 0);
        weir_world_destroy(world);
    }
}

// ---- What is away can neither be asked nor changed -----------------------------------------------------------------------------

static int32_t asked_away;

static void hills_of_a_game(void *user, weir_coord origin, uint8_t shares[512])
{
    (void)user;
    asked_away += origin.x >= 32;
    memset(shares, origin.y < 8 ? 255 : 0, 512);
}

static void nobody_is_asked_about_what_is_away(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        def.terrain = hills_of_a_game;
        weir_world *world = test_make(&def);
        parcel p;
        test_fill(world, test_box(0, 8, 0, X, 12, Z), 1);
        test_step(world, 2);
        assert_ok(try_unload(world, test_box(32, 0, 0, X, Y, Z), &p));
        asked_away = 0;
        test_fill(world, test_box(20, 8, 0, X, 16, Z), 1);
        assert_ok(weir_terrain_changed(world, test_box(0, 0, 0, 40, 16, 16)));
        test_step(world, 20);
        const weir_cell cell = weir_world_cell(world, (weir_coord){40, 10, 10});
        assert_true(cell.fill == 0 && cell.solid == 255);
        assert_int_equal(asked_away, 0);
        assert_int_equal(weir_world_fill(world, test_box(40, 8, 0, 44, 16, 9), WEIR_WATER, 1), WEIR_ERROR_OUTSIDE);
        assert_non_null(strstr(weir_error_message(), "unloaded"));
        assert_int_equal(weir_world_add_emitter(world, test_box(40, 8, 0, 44, 16, 9), WEIR_WATER, 1, NULL), WEIR_ERROR_OUTSIDE);
        load_back(world, &p);
        test_step(world, 5);
        assert_true(asked_away > 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void edits_at_the_border_stop_there(void **state)
{
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *world = test_make(&def), *other = test_make(&def);
    parcel p, q;
    const weir_box away = test_box(16, 0, 0, 32, 16, 16);
    assert_ok(weir_world_build(world, test_box(20, 0, 0, 24, 8, 8), 77));
    assert_ok(weir_world_build(other, test_box(20, 0, 0, 24, 8, 8), 77));
    assert_ok(try_unload(world, away, &p));
    assert_ok(weir_world_build(world, test_box(8, 0, 0, 40, 4, 16), 255));
    assert_ok(weir_world_dig(world, test_box(12, 0, 0, 36, 2, 16)));
    assert_ok(weir_world_build(other, test_box(8, 0, 0, 16, 4, 16), 255));
    assert_ok(weir_world_build(other, test_box(32, 0, 0, 40, 4, 16), 255));
    assert_ok(weir_world_dig(other, test_box(12, 0, 0, 16, 2, 16)));
    assert_ok(weir_world_dig(other, test_box(32, 0, 0, 36, 2, 16)));
    load_back(world, &p);
    assert_true(weir_world_hash(world) == weir_world_hash(other));
    // A part that was never there is open and dry.
    assert_ok(try_unload(world, away, &q));
    assert_ok(weir_world_load_new(world, away));
    assert_true(weir_world_cell(world, (weir_coord){21, 1, 1}).solid == 0);
    assert_int_equal(weir_world_load_region(world, q.bytes, q.size), WEIR_ERROR_ARGUMENT);
    free(q.bytes);
    weir_world_destroy(other);
    weir_world_destroy(world);
}

static void a_streamed_world_is_made_as_it_goes(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = weir_world_def_default();
        def.solver = solver;
        def.threads = 1;
        weir_world *world = test_make(&def);
        static uint8_t bytes[4096];
        size_t size;
        weir_box box;
        const weir_box all = {{INT32_MIN, INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX, INT32_MAX}};
        assert_ok(weir_world_unload(world, all, bytes, sizeof bytes, &size));
        assert_int_equal(weir_world_unloaded(world, &box, 1), 1);
        assert_int_equal(weir_world_fill(world, test_box(0, 0, 0, 9, 9, 9), WEIR_WATER, 1), WEIR_ERROR_OUTSIDE);
        assert_ok(weir_world_load_new(world, test_box(0, 0, 0, 32, 32, 32)));
        assert_int_equal(weir_world_load_new(world, test_box(16, 0, 0, 48, 32, 32)), WEIR_ERROR_ARGUMENT);
        test_fill(world, test_box(0, 0, 0, 100, 9, 100), 1);
        assert_true(weir_world_ledger(world).held == (int64_t)WEIR_FULL * 32 * 32 * 9);
        test_step(world, 30);
        assert_true(weir_world_ledger(world).held == (int64_t)WEIR_FULL * 32 * 32 * 9);  // closed all around
        assert_ok(weir_world_load_new(world, test_box(32, 0, 0, 64, 32, 32)));
        test_step(world, 30);
        assert_true(weir_world_box_sum(world, test_box(32, 0, 0, 64, 32, 32)).drops > 0);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Clients and snapshots -----------------------------------------------------------------------------------------------------

static void snapshots_know_what_is_away(void **state)
{
    static uint8_t bytes[ROOM];
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world *world = make_hills(solver, WEIR_BACKEND_CPU, 1, 0), *other = make_hills(solver, WEIR_BACKEND_CPU, 1, 0);
        parcel p;
        size_t size;
        test_step(world, 20);
        const uint64_t whole = weir_world_hash(world);
        assert_ok(try_unload(world, test_box(8, 0, 8, 40, 24, 40), &p));
        assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
        assert_ok(weir_world_load_memory(other, bytes, size));
        assert_true(weir_world_hash(other) == weir_world_hash(world));
        assert_true(weir_world_ledger(other).unloaded > 0);
        assert_ok(weir_world_load_region(other, p.bytes, p.size));
        assert_true(weir_world_hash(other) == whole);
        load_back(world, &p);
        test_step(world, 5);
        test_step(other, 5);
        assert_true(weir_world_hash(other) == weir_world_hash(world));
        weir_world_destroy(other);
        weir_world_destroy(world);
    }
}

static void clients_see_it_go_and_come(void **state)
{
    static uint8_t bytes[ROOM];
    weir_world *server = make_hills(WEIR_SOLVER_SETTLE, WEIR_BACKEND_CPU, 1, 0),
               *client = make_hills(WEIR_SOLVER_SETTLE, WEIR_BACKEND_CPU, 1, 0);
    parcel p = {0};
    for (int32_t i = 0; i < 12; i++) {
        size_t size;
        int64_t mark = weir_world_delta_mark(client);
        test_step(server, 3);
        if (i == 4) assert_ok(try_unload(server, test_box(8, 0, 8, 40, 24, 40), &p));
        if (i == 8) load_back(server, &p);
        assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
        assert_ok(weir_world_apply_delta(client, bytes, size));
        float *there = test_fills(server, test_box(0, 0, 0, X, Y, Z)), *here = test_fills(client, test_box(0, 0, 0, X, Y, Z));
        assert_memory_equal(there, here, (size_t)X * Y * Z * sizeof *here);
        free(there);
        free(here);
    }
    weir_world_destroy(client);
    weir_world_destroy(server);
}

// ---- What goes wrong -----------------------------------------------------------------------------------------------------------

// The bricks beside a box at the edge of what can be told by coordinates are none.
static void what_lies_at_the_end_of_the_world_comes_back(void **state)
{
    const int32_t end = WEIR_COORD_LIMIT;
    const weir_box corners[2] = {test_box(-end, -end, -end, -end + 8, -end + 8, -end + 8),
                                 test_box(end - 8, end - 8, end - 8, end, end, end)};
    const weir_solver solvers[3] = {WEIR_SOLVER_SETTLE, WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC};
    for (int32_t i = 0; i < 6; i++) {
        const weir_box corner = corners[i % 2];
        weir_world_def def = weir_world_def_default();
        def.solver = solvers[i / 2];
        weir_world *world = test_make(&def);
        parcel p;
        assert_ok(weir_world_build(world, corner, 255));
        assert_ok(weir_world_dig(world, (weir_box){{corner.min.x, corner.min.y + 1, corner.min.z}, corner.max}));
        test_fill(world, corner, 0.5f);
        test_step(world, 2);
        const uint64_t hash = weir_world_hash(world);
        assert_ok(try_unload(world, corner, &p));
        load_back(world, &p);
        assert_true(weir_world_hash(world) == hash);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

static void mistakes_are_told(void **state)
{
    static uint8_t bytes[ROOM];
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *world = make_hills(WEIR_SOLVER_SETTLE, WEIR_BACKEND_CPU, 1, 0), *other;
    parcel p;
    size_t size, again;
    const weir_box box = test_box(8, 0, 8, 24, 16, 24);
    test_step(world, 5);
    const uint64_t hash = weir_world_hash(world);
    assert_int_equal(weir_world_unload(world, test_box(8, 0, 8, 25, 16, 24), bytes, sizeof bytes, &size), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "multiples of 8"));
    assert_int_equal(weir_world_unload(world, test_box(X, 0, 8, X + 8, 16, 24), bytes, sizeof bytes, &size),
                     WEIR_ERROR_OUTSIDE);
    assert_int_equal(weir_world_unload(world, test_box(24, 0, 8, 8, 16, 24), bytes, sizeof bytes, &size), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "holds no cell"));
    assert_ok(weir_world_unload(world, box, NULL, 0, &size));
    assert_int_equal(weir_world_unload(world, box, bytes, size - 1, &again), WEIR_ERROR_LIMIT);
    assert_true(weir_world_hash(world) == hash && again == size);
    assert_int_equal(weir_world_load_new(world, box), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_unload(world, box, bytes, sizeof bytes, &size), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_load_region(world, bytes, size), WEIR_ERROR_BUSY);
    assert_ok(weir_world_step_end(world));

    assert_ok(try_unload(world, box, &p));
    assert_int_equal(weir_world_unload(world, test_box(0, 0, 8, 16, 16, 24), bytes, sizeof bytes, &size), WEIR_ERROR_ARGUMENT);
    other = test_make(&def);
    assert_int_equal(weir_world_load_region(other, p.bytes, p.size), WEIR_ERROR_ARGUMENT);  // it is there
    assert_non_null(strstr(weir_error_message(), "not unloaded"));
    weir_world_destroy(other);
    def.solver = WEIR_SOLVER_MOMENTUM;
    other = test_make(&def);
    assert_ok(weir_world_unload(other, box, bytes, sizeof bytes, &size));
    assert_int_equal(weir_world_load_region(other, p.bytes, p.size), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "settle"));
    assert_int_equal(weir_world_load_memory(other, p.bytes, p.size), WEIR_ERROR_FORMAT);
    weir_world_destroy(other);
    weir_material material;
    assert_ok(weir_world_add_material(world, &(weir_material_def){"brine", 1.1f, 1, {0, 0, 1}}, &material));
    load_back(world, &p);
    assert_ok(try_unload(world, box, &p));
    def.solver = WEIR_SOLVER_SETTLE;
    other = test_make(&def);
    assert_ok(weir_world_unload(other, box, bytes, sizeof bytes, &size));
    assert_int_equal(weir_world_load_region(other, p.bytes, p.size), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "brine"));
    weir_world_destroy(other);
    load_back(world, &p);
    weir_world_destroy(world);
}

static void damaged_bytes_change_nothing(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world *world = make_hills(solver, WEIR_BACKEND_CPU, 1, 0);
        parcel p;
        test_step(world, 10);
        assert_ok(try_unload(world, test_box(0, 0, 0, 16, 16, 16), &p));
        const uint64_t hash = weir_world_hash(world);
        for (size_t cut = 0; cut < p.size; cut += 1 + cut / 8)
            assert_int_equal(weir_world_load_region(world, p.bytes, cut), WEIR_ERROR_FORMAT);
        for (size_t at = 0; at < p.size; at += 1 + p.size / 97) {
            p.bytes[at] ^= 0x10;
            assert_int_not_equal(weir_world_load_region(world, p.bytes, p.size), WEIR_OK);
            p.bytes[at] ^= 0x10;
        }
        assert_true(weir_world_hash(world) == hash);
        load_back(world, &p);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// With the checksum that goes with it.
static void seal(uint8_t *bytes, size_t size)
{
    const uint64_t check = hash_bytes(bytes + SNAPSHOT_HEADER_BYTES, size - SNAPSHOT_HEADER_BYTES, 0);
    for (int32_t i = 0; i < 8; i++) bytes[32 + i] = (uint8_t)(check >> 8 * i);
}

// Numbers at the ends of what there is, in all places of the beginning and some others. What is accepted keeps the account.
static void bytes_from_strangers_keep_the_account(void **state)
{
    static const uint8_t ends[4][4] = {{0, 0, 0, 0x80}, {0xff, 0xff, 0xff, 0x7f}, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}};
    static uint8_t bytes[ROOM], before[ROOM];
    assert_int_equal(setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1), 0);
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        weir_world *world = test_make(&def);
        parcel p;
        size_t size;
        assert_ok(weir_world_build(world, test_box(4, 0, 4, 8, 3, 8), solver == WEIR_SOLVER_SETTLE ? 100 : 255));
        test_fill(world, test_box(0, 0, 0, 20, 5, 20), 1);
        test_step(world, 12);
        assert_ok(try_unload(world, test_box(0, 0, 0, 16, 8, 16), &p));
        assert_ok(weir_world_save_memory(world, before, sizeof before, &size));
        const uint64_t hash = weir_world_hash(world);
        const size_t step = (size_t)test_length(211, 4001);
        for (size_t at = SNAPSHOT_HEADER_BYTES; at + 4 <= p.size; at += at < 400 ? 1 : at % step + 1) {
            memcpy(bytes, p.bytes, p.size);
            memcpy(bytes + at, ends[at & 3], 4);
            seal(bytes, p.size);
            if (weir_world_load_region(world, bytes, p.size) != WEIR_OK) {
                assert_true(weir_world_hash(world) == hash);
                continue;
            }
            assert_exact(world);
            test_step(world, 1);
            assert_exact(world);
            assert_ok(weir_world_load_memory(world, before, size));
        }
        free(p.bytes);
        weir_world_destroy(world);
    }
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
}

static void memory_may_end_anywhere(void **state)
{
    static uint8_t bytes[ROOM];
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        test_memory counted = {0};
        weir_world_def def = def_of(solver);
        def.allocator = test_memory_hooks(&counted);
        weir_world *world = test_make(&def);
        const weir_box box = test_box(16, 0, 16, 40, 16, 40);
        size_t size;
        assert_ok(weir_world_build(world, test_box(10, 0, 10, 30, 5, 30), 200));
        test_fill(world, test_box(0, 5, 0, X, 9, Z), 1);
        test_step(world, 40);
        const uint64_t there = weir_world_hash(world);
        weir_status status = WEIR_ERROR_MEMORY;
        for (int64_t n = 1; status != WEIR_OK; n++) {
            counted.fail_at = counted.calls + n;
            status = weir_world_unload(world, box, bytes, sizeof bytes, &size);
            counted.fail_at = 0;
            assert_true(status == WEIR_OK || (status == WEIR_ERROR_MEMORY && weir_world_hash(world) == there));
            assert_exact(world);
        }
        const uint64_t away = weir_world_hash(world);
        status = WEIR_ERROR_MEMORY;
        for (int64_t n = 1; status != WEIR_OK; n += 1 + n / 32) {
            counted.fail_at = counted.calls + n;
            status = weir_world_load_region(world, bytes, size);
            counted.fail_at = 0;
            assert_true(status == WEIR_OK || (status == WEIR_ERROR_MEMORY && weir_world_hash(world) == away));
            assert_exact(world);
        }
        assert_true(weir_world_hash(world) == there);
        test_step(world, 2);
        assert_exact(world);
        weir_world_destroy(world);
        assert_int_equal(counted.bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_set_is_the_same_however_it_came_about),
        cmocka_unit_test(what_comes_back_at_once_was_never_away),
        cmocka_unit_test(so_it_is_with_devices),
        cmocka_unit_test(no_drop_is_lost_in_a_long_life),
        cmocka_unit_test(a_stream_waits_and_goes_on),
        cmocka_unit_test(what_was_dug_meanwhile_lets_it_out),
        cmocka_unit_test(what_came_back_first_does_not_hold_it),
        cmocka_unit_test(a_floor_that_was_lowered_lets_it_out),
        cmocka_unit_test(what_holds_it_may_change_meanwhile),
        cmocka_unit_test(nothing_flows_into_what_is_away),
        cmocka_unit_test(what_is_owed_leaves_once),
        cmocka_unit_test(a_lake_sleeps_on),
        cmocka_unit_test(nobody_is_asked_about_what_is_away),
        cmocka_unit_test(edits_at_the_border_stop_there),
        cmocka_unit_test(a_streamed_world_is_made_as_it_goes),
        cmocka_unit_test(snapshots_know_what_is_away),
        cmocka_unit_test(clients_see_it_go_and_come),
        cmocka_unit_test(what_lies_at_the_end_of_the_world_comes_back),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(damaged_bytes_change_nothing),
        cmocka_unit_test(bytes_from_strangers_keep_the_account),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
