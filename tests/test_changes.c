// What is told of changes: bricks that came, changed and are gone since a mark, and water at rest that is left alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cells/deaths.h"
#include "test_cells.h"
#include "test_world.h"
#include <math.h>

enum { ROOM = 4096 };

typedef struct change_list {
    int64_t mark;
    int32_t count, gone;
    weir_brick_change bricks[ROOM];
} change_list;

static void ask(const weir_world *world, change_list *list)
{
    list->count = weir_world_changed(world, &list->mark, list->bricks, ROOM);
    assert_true(list->count >= 0 && list->count <= ROOM);
    list->gone = 0;
    for (int32_t i = 0; i < list->count; i++) {
        const weir_coord at = list->bricks[i].origin, last = list->bricks[i > 0 ? i - 1 : 0].origin;
        const bool after = at.z != last.z ? at.z > last.z : at.y != last.y ? at.y > last.y : at.x > last.x;
        assert_true(i == 0 || after);  // in order, and none twice
        list->gone += list->bricks[i].gone;
    }
}

static void assert_same_lists(const change_list *a, const change_list *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->mark == b->mark);
    for (int32_t i = 0; i < a->count; i++)
        assert_true(coords_equal(a->bricks[i].origin, b->bricks[i].origin) && a->bricks[i].gone == b->bricks[i].gone);
}

// The origins that somebody keeps who follows the lists.
typedef struct follower {
    change_list list;
    weir_coord kept[ROOM];
    int32_t count;
} follower;

static int32_t kept_at(const follower *f, weir_coord origin)
{
    for (int32_t i = 0; i < f->count; i++)
        if (coords_equal(f->kept[i], origin)) return i;
    return -1;
}

// Follows, and sees that what is kept are the bricks that are there.
static void follow(const weir_world *world, follower *f)
{
    static weir_coord live[ROOM];
    ask(world, &f->list);
    for (int32_t i = 0; i < f->list.count; i++) {
        const weir_coord origin = f->list.bricks[i].origin;
        const int32_t at = kept_at(f, origin);
        if (f->list.bricks[i].gone && at >= 0) f->kept[at] = f->kept[--f->count];
        if (!f->list.bricks[i].gone && at < 0) f->kept[f->count++] = origin;
    }
    assert_int_equal(weir_world_bricks(world, live, ROOM), f->count);
    for (int32_t i = 0; i < f->count; i++) assert_true(kept_at(f, live[i]) >= 0);
}

// ---- Gone ------------------------------------------------------------------------------------------------------------------

static void who_follows_the_lists_knows_the_bricks(void **state)
{
    static follower always, seldom;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 96, 48, 16);
    weir_world *world = test_make(&def);
    always = seldom = (follower){0};
    int32_t gone = 0;
    for (int32_t i = 0; i < 48; i++) {
        const int32_t x = 8 * (i * 5 % 12);
        if (i % 3 == 0) test_fill(world, test_box(x, 30, 2, x + 6, 36, 8), 1);
        if (i % 3 == 1) assert_ok(weir_world_drain(world, test_box(0, 0, 0, 96 - x, 48, 16)));
        if (i % 5 == 4) assert_ok(weir_world_build(world, test_box(x, 0, 0, x + 8, 8, 8), 255));
        if (i % 7 == 6) assert_ok(weir_world_set_flow(world, test_box(x, 0, 0, x + 8, 48, 16), (weir_vec){0.1f, 0, 0}));
        test_step(world, 1);
        follow(world, &always);
        gone += always.list.gone;
        if (i % 8 == 7) follow(world, &seldom);
    }
    assert_true(gone > 20 && seldom.list.gone > 0);
    weir_world_destroy(world);
}

static void an_edit_that_ends_bricks_tells_of_them(void **state)
{
    static follower f;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 96, 32, 32);
    weir_world *world = test_make(&def);
    f = (follower){0};
    test_fill(world, test_box(40, 8, 8, 48, 16, 16), 1);
    test_step(world, 1);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 96, 32, 32)));
    test_fill(world, test_box(80, 8, 8, 88, 16, 16), 1);
    follow(world, &f);
    // Setting the flow looks for bricks that are not wanted any more.
    assert_ok(weir_world_set_flow(world, test_box(80, 8, 8, 88, 16, 16), (weir_vec){0.1f, 0, 0}));
    follow(world, &f);
    assert_true(f.list.gone >= 27);
    weir_world_destroy(world);
}

static void who_begins_hears_of_all_bricks_and_none_that_is_gone(void **state)
{
    static change_list list;
    weir_world_def def = test_def(WEIR_SOLVER_CLASSIC, 64, 32, 32);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    test_fill(world, test_box(40, 0, 0, 48, 8, 8), 1);
    test_step(world, 2);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 32, 32, 32)));
    test_step(world, 2);
    list = (change_list){0};
    ask(world, &list);
    assert_int_equal(list.count, weir_world_bricks(world, NULL, 0));
    assert_int_equal(list.gone, 0);
    list.mark = 1;
    ask(world, &list);
    assert_true(list.gone > 0 && list.count == weir_world_bricks(world, NULL, 0) + list.gone);
    weir_world_destroy(world);
}

static void one_that_ended_and_came_back_has_changed(void **state)
{
    static change_list list;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 32, 32);
    weir_world *world = test_make(&def);
    list = (change_list){0};
    test_fill(world, test_box(0, 0, 0, 4, 4, 4), 1);
    test_step(world, 1);
    ask(world, &list);
    const int64_t mark = list.mark;
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 32, 32, 32)));
    test_step(world, 1);
    ask(world, &list);
    assert_true(list.gone == 8 && list.count == 8);
    test_fill(world, test_box(8, 0, 0, 12, 4, 4), 1);  // what was there comes back dry
    test_step(world, 1);
    list.mark = mark;
    ask(world, &list);
    assert_int_equal(list.gone, 0);
    assert_int_equal(list.count, weir_world_bricks(world, NULL, 0));
    weir_world_destroy(world);
}

static void after_a_load_what_is_not_there_any_more_is_gone(void **state)
{
    static follower f, g;
    static uint8_t bytes[1 << 20];
    size_t size;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 96, 32, 32);
    weir_world *world = test_make(&def);
    f = (follower){0};
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    test_step(world, 3);
    assert_ok(weir_world_save_memory(world, bytes, sizeof bytes, &size));
    follow(world, &f);
    test_fill(world, test_box(80, 8, 0, 88, 16, 8), 1);
    test_step(world, 3);
    follow(world, &f);
    g = f;
    assert_ok(weir_world_load_memory(world, bytes, size));
    follow(world, &f);
    assert_true(f.list.gone >= 18);
    test_step(world, 1);
    follow(world, &f);
    follow(world, &g);  // a mark from before the load
    weir_world_destroy(world);
}

static void a_background_step_shows_the_list_of_the_state_before_it(void **state)
{
    static change_list before, during, after;
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 64, 32, 32);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    test_fill(world, test_box(40, 0, 0, 48, 8, 8), 1);
    test_step(world, 2);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 32, 32, 32)));
    test_step(world, 1);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 64, 32, 32)));
    before.mark = during.mark = after.mark = 1;
    ask(world, &before);
    assert_ok(weir_world_step_begin(world));
    while (!weir_world_step_done(world)) continue;
    ask(world, &during);
    assert_same_lists(&before, &during);
    assert_ok(weir_world_step_end(world));
    ask(world, &after);
    assert_true(before.gone > 0 && after.gone > before.gone);
    weir_world_destroy(world);
}

// ---- The memory of what is gone --------------------------------------------------------------------------------------------

static int32_t remembered(const brick_deaths *d, int64_t mark)
{
    int32_t count = 0;
    for (int32_t i = 1; i < d->end; i++) count += d->change[i] > mark;
    return count;
}

static void what_is_forgotten_is_known(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    brick_pool none = {0};
    brick_deaths d = {0};
    for (int32_t i = 0; i < 3 * DEATHS_MAX; i++) {
        deaths_add(&d, &mem, (weir_coord){i, 0, 0}, 1 + i / 4);
        if (i % 5000 == 0) assert_null(deaths_validate(&d, &none));
        // All that ended after what is forgotten is there.
        if (i % 9973 == 0) assert_int_equal(remembered(&d, d.forgotten) + 4 * (int32_t)d.forgotten, i + 1);
    }
    assert_true(d.forgotten > 0 && remembered(&d, d.forgotten) > DEATHS_MAX / 4 && d.end - 1 <= DEATHS_MAX);
    // What comes back makes room, and is forgotten without a loss.
    for (int32_t i = 3 * DEATHS_MAX - DEATHS_MAX / 2; i < 3 * DEATHS_MAX; i++) deaths_remove(&d, (weir_coord){i, 0, 0});
    const int64_t forgotten = d.forgotten;
    for (int32_t i = 0; i < DEATHS_MAX; i++) {
        deaths_add(&d, &mem, (weir_coord){i, 1, 0}, 1 << 20);
        deaths_remove(&d, (weir_coord){i, 1, 0});
    }
    assert_null(deaths_validate(&d, &none));
    assert_true(d.forgotten == forgotten);
    deaths_destroy(&d, &mem);
    assert_int_equal(mem.bytes, 0);
}

static void without_memory_all_is_forgotten_and_nothing_fails(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    brick_deaths d = {0}, copy = {0};
    mem.limit = 1;
    deaths_add(&d, &mem, (weir_coord){1, 2, 3}, 7);
    assert_true(d.forgotten == 7 && remembered(&d, 0) == 0);
    mem.limit = 0;
    for (int32_t i = 0; i < 40; i++) deaths_add(&d, &mem, (weir_coord){i, 2, 3}, 8 + i);
    mem.limit = mem.bytes;
    for (int32_t i = 40; i < 100; i++) deaths_add(&d, &mem, (weir_coord){i, 2, 3}, 8 + i);
    assert_true(d.forgotten > 7 && remembered(&d, d.forgotten) == 107 - (int32_t)d.forgotten);
    deaths_copy(&d, &mem, 200, &copy);
    assert_true(copy.forgotten == 200 && copy.end == 0);
    mem.limit = 0;
    deaths_copy(&d, &mem, 200, &copy);
    assert_true(copy.forgotten == d.forgotten && remembered(&copy, 0) == remembered(&d, 0));
    deaths_destroy(&copy, &mem);
    deaths_destroy(&d, &mem);
    assert_int_equal(mem.bytes, 0);
}

static void a_mark_that_is_too_old_or_anothers_is_refused(void **state)
{
    static change_list list;
    weir_world_def def = test_def(WEIR_SOLVER_CLASSIC, 64, 32, 32);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    test_step(world, 1);
    int64_t mark = 1;
    test_cells(world)->deaths.forgotten = 2;
    assert_int_equal(weir_world_changed(world, &mark, list.bricks, ROOM), -1);
    assert_true(mark == 1);
    mark = 0;
    assert_int_equal(weir_world_changed(world, &mark, list.bricks, ROOM), weir_world_bricks(world, NULL, 0));
    assert_int_equal(weir_world_changed(world, &mark, list.bricks, ROOM), 0);
    // As one is that this world has not come to: it is another's.
    const int64_t another = mark + 1;
    mark = another;
    assert_int_equal(weir_world_changed(world, &mark, list.bricks, ROOM), -1);
    assert_true(mark == another);
    weir_world_destroy(world);
}

static void forget_deaths(brick_deaths *deaths, int64_t change)
{
    for (int32_t i = 1; i < deaths->end; i++)
        if (deaths->change[i]) deaths_remove(deaths, deaths->coord[i]);
    deaths->forgotten = change;
}

static void a_delta_tells_all_where_it_is_not_known_what_is_gone(void **state)
{
    static uint8_t bytes[1 << 16];
    weir_world_def def = test_def(WEIR_SOLVER_CLASSIC, 64, 32, 32);
    weir_world *server = test_make(&def), *client = test_make(&def);
    for (int32_t i = 0; i < 2; i++) {
        int64_t mark = weir_world_delta_mark(client);
        size_t size;
        test_fill(server, test_box(40 * i, 0, 0, 40 * i + 8, 8, 8), 1);
        test_step(server, 2);
        if (i == 1) forget_deaths(&test_cells(server)->deaths, mark + 1);
        assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
        assert_ok(weir_world_apply_delta(client, bytes, size));
        assert_true(weir_world_ledger(client).held == weir_world_ledger(server).held);
        assert_ok(weir_world_drain(server, test_box(0, 0, 0, 64, 32, 32)));
        test_step(server, 2);
    }
    weir_world_destroy(client);
    weir_world_destroy(server);
}

// ---- A threshold -----------------------------------------------------------------------------------------------------------

static const float THRESHOLD = 0.01f;

// A pool in which water is put and taken, on which it rains, and that is left alone now and then.
static weir_world_def pool_def(weir_solver solver, weir_backend backend, int32_t threads, float threshold)
{
    weir_world_def def = test_def(solver, 40, 24, 24);
    def.backend = backend;
    def.threads = threads;
    def.change_threshold = threshold;
    return def;
}

static void play_pool(weir_world *world, int32_t update)
{
    if (update == 0) test_fill(world, test_box(0, 0, 0, 40, 5, 24), 1);
    if (update == 0) assert_ok(weir_world_add_emitter(world, test_box(4, 20, 4, 6, 22, 6), WEIR_WATER, 0.02f, NULL));
    if (update == 3) assert_ok(weir_world_add_drain(world, test_box(30, 0, 10, 36, 4, 16), 0.3f, NULL));
    if (update % 16 == 5) test_fill(world, test_box(24, 10, 8, 27, 13, 11), 1);
    if (update % 16 == 9) assert_ok(weir_world_drain(world, test_box(8, 2, 4, 12, 24, 9)));
    if (update == 20) assert_ok(weir_world_build(world, test_box(14, 0, 0, 18, 4, 20), 255));
    if (update == 30) assert_ok(weir_world_dig(world, test_box(15, 0, 4, 17, 4, 10)));
    if (update == 40) assert_ok(weir_world_drain(world, test_box(0, 0, 0, 40, 24, 24)));
    test_step(world, 1);
}

// The fills as somebody has them who reads a brick again when it is listed.
typedef struct reader {
    change_list list;
    int64_t listed;
    float fill[24][24][40];
} reader;

static void read_again(const weir_world *world, reader *r)
{
    ask(world, &r->list);
    for (int32_t i = 0; i < r->list.count; i++) {
        const weir_coord o = r->list.bricks[i].origin;
        float fill[8][8][8] = {0};
        if (!r->list.bricks[i].gone)
            assert_ok(weir_world_read_fill(world, test_box(o.x, o.y, o.z, o.x + 8, o.y + 8, o.z + 8), &fill[0][0][0]));
        // Bricks around the pool hold nothing.
        if (o.x < 0 || o.y < 0 || o.z < 0 || o.x >= 40 || o.y >= 24 || o.z >= 24) continue;
        for (int32_t z = 0; z < 8; z++)
            for (int32_t y = 0; y < 8; y++) memcpy(&r->fill[o.z + z][o.y + y][o.x], fill[z][y], sizeof fill[z][y]);
    }
    r->listed += r->list.count;
}

// The largest difference between what a reader has and what there is.
static float largest_error(const weir_world *world, const reader *r)
{
    float *now = test_fills(world, test_box(0, 0, 0, 40, 24, 24)), largest = 0;
    for (int32_t i = 0; i < 40 * 24 * 24; i++) largest = fmaxf(largest, fabsf(now[i] - (&r->fill[0][0][0])[i]));
    free(now);
    return largest;
}

static void who_reads_what_is_listed_is_within_the_threshold(void **state)
{
    static reader r, all;
    for (weir_solver solver = 0; solver < (weir_solver)test_length(WEIR_SOLVER_COUNT, 1); solver++) {
        weir_world_def def = pool_def(solver, WEIR_BACKEND_CPU, 1, THRESHOLD);
        weir_world *world = test_make(&def);
        def.change_threshold = 0;
        weir_world *plain = test_make(&def);
        r = all = (reader){0};
        float largest = 0;
        for (int32_t i = 0; i < test_length(48, 44); i++) {
            play_pool(world, i);
            play_pool(plain, i);
            read_again(world, &r);
            read_again(plain, &all);
            assert_true(largest_error(plain, &all) == 0);
            const float error = largest_error(world, &r);
            assert_true(error < THRESHOLD + 1.0f / 16384);
            largest = fmaxf(largest, error);
        }
        assert_true(largest > 0.5f * THRESHOLD);  // it drifts
        assert_true(r.listed < all.listed);
        // Nothing of it is state.
        assert_true(weir_world_hash(world) == weir_world_hash(plain));
        weir_world_destroy(plain);
        weir_world_destroy(world);
    }
}

static bool has_opencl(void)
{
    weir_device device;
    return weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK;
}

static void every_machine_tells_the_same(void **state)
{
    static change_list lists[3];
    for (weir_solver solver = 0; solver < (weir_solver)test_device_length(TEST_FLOW_SOLVERS, 1); solver++) {
        const weir_world_def defs[3] = {pool_def(solver, WEIR_BACKEND_CPU, 1, THRESHOLD),
                                        pool_def(solver, WEIR_BACKEND_CPU, 4, THRESHOLD),
                                        pool_def(solver, WEIR_BACKEND_OPENCL, 1, THRESHOLD)};
        const int32_t count = has_opencl() ? 3 : 2;
        weir_world *worlds[3];
        weir_mesher *meshers[3];
        for (int32_t k = 0; k < count; k++) {
            worlds[k] = test_make(&defs[k]);
            assert_ok(weir_mesher_create(worlds[k], NULL, &meshers[k]));
            lists[k] = (change_list){0};
        }
        for (int32_t i = 0; i < test_device_length(44, 42); i++) {
            int32_t meshed[3];
            for (int32_t k = 0; k < count; k++) {
                play_pool(worlds[k], i);
                ask(worlds[k], &lists[k]);
                assert_ok(weir_mesher_update(meshers[k], &meshed[k]));
                assert_same_lists(&lists[0], &lists[k]);
                assert_int_equal(meshed[0], meshed[k]);
            }
        }
        for (int32_t k = 0; k < count; k++) {
            weir_mesh first, other;
            assert_ok(weir_mesher_join(meshers[0], &first));
            assert_ok(weir_mesher_join(meshers[k], &other));
            assert_int_equal(first.vertex_count, other.vertex_count);
            assert_memory_equal(first.positions, other.positions, (size_t)first.vertex_count * 3 * sizeof(float));
        }
        for (int32_t k = 0; k < count; k++) {
            weir_mesher_destroy(meshers[k]);
            weir_world_destroy(worlds[k]);
        }
    }
}

// When most bricks have ended the others move together, and what was told of them moves along.
static void move_bricks_together(weir_solver solver)
{
    static change_list lists[2];
    weir_world *worlds[2];
    const int32_t count = has_opencl() ? 2 : 1;
    int32_t silent = 0, listed = 0;
    for (int32_t k = 0; k < count; k++) {
        weir_world_def def = test_def(solver, 128, 16, 64);
        def.backend = k ? WEIR_BACKEND_OPENCL : WEIR_BACKEND_CPU;
        def.change_threshold = THRESHOLD;
        worlds[k] = test_make(&def);
        lists[k] = (change_list){0};
        test_fill(worlds[k], test_box(0, 0, 0, 128, 1, 64), 1);
        assert_ok(weir_world_add_emitter(worlds[k], test_box(104, 1, 0, 128, 2, 64), WEIR_WATER, 2.0f, NULL));
        test_step(worlds[k], 12);
        const int32_t capacity = test_pool(worlds[k])->capacity;
        assert_ok(weir_world_drain(worlds[k], test_box(0, 0, 0, 112, 16, 64)));
        ask(worlds[k], &lists[k]);
        test_step(worlds[k], 1);
        assert_true(test_pool(worlds[k])->capacity < capacity);
    }
    for (int32_t i = 0; i < 24; i++) {
        for (int32_t k = 0; k < count; k++) {
            ask(worlds[k], &lists[k]);
            assert_same_lists(&lists[0], &lists[k]);
            test_step(worlds[k], 1);
            assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[k]));
        }
        silent += i > 0 && lists[0].count < weir_world_bricks(worlds[0], NULL, 0);
        listed += lists[0].count;
    }
    assert_true(silent > 0 && listed > 0);
    for (int32_t k = 0; k < count; k++) weir_world_destroy(worlds[k]);
}

static void bricks_that_move_together_tell_the_same(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_FLOW_SOLVERS; solver++) move_bricks_together(solver);
}

// ---- Meshes ----------------------------------------------------------------------------------------------------------------

static void assert_mesh_as_if_new(weir_world *world, weir_mesher *mesher)
{
    weir_mesher *fresh;
    weir_mesh mesh, anew;
    assert_ok(weir_mesher_create(world, NULL, &fresh));
    assert_ok(weir_mesher_update(fresh, NULL));
    assert_ok(weir_mesher_join(fresh, &anew));
    assert_ok(weir_mesher_join(mesher, &mesh));
    assert_int_equal(mesh.vertex_count, anew.vertex_count);
    assert_int_equal(mesh.triangle_count, anew.triangle_count);
    if (mesh.vertex_count > 0) {
        assert_memory_equal(mesh.positions, anew.positions, (size_t)mesh.vertex_count * 3 * sizeof(float));
        assert_memory_equal(mesh.indices, anew.indices, (size_t)mesh.triangle_count * 3 * sizeof(uint32_t));
    }
    weir_mesher_destroy(fresh);
}

// Bricks that drifted are not meshed, and still those beside them fit.
static void with_a_threshold_meshes_fit_together(void **state)
{
    for (int32_t large = test_length(0, 1); large < 2; large++) {
        weir_world_def def = pool_def(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 1, large ? 0.2f : THRESHOLD);
        weir_world *world = test_make(&def);
        weir_mesher *mesher;
        int32_t meshed, all = 0, updates = test_length(40, 32);
        assert_ok(weir_mesher_create(world, NULL, &mesher));
        for (int32_t i = 0; i < updates; i++) {
            play_pool(world, i);
            if (i % 4 == 3) test_fill(world, test_box(30, 6, 2, 33, 9, 5), 0.3f);  // meshed between an edit and its update
            if (i % 5 == 4) assert_ok(weir_world_step_begin(world));
            assert_ok(weir_mesher_update(mesher, &meshed));
            assert_mesh_as_if_new(world, mesher);
            assert_ok(weir_world_step_end(world));
            all += meshed;
        }
        assert_true(all > updates);
        weir_mesher_destroy(mesher);
        weir_world_destroy(world);
    }
}

// What is listed and meshed of a pool in the last of many updates.
static void settle_pool(float threshold, int32_t *listed, int32_t *meshed)
{
    static change_list list;
    weir_world_def def = pool_def(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 1, threshold);
    weir_world *world = test_make(&def);
    weir_mesher *mesher;
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    test_fill(world, test_box(0, 0, 0, 40, 5, 24), 1);
    test_fill(world, test_box(0, 5, 0, 40, 6, 24), 0.5f);
    test_fill(world, test_box(0, 5, 0, 20, 6, 24), 0.501f);  // or it would be at rest from the beginning
    const int32_t updates = test_length(160, 120), last = updates / 4;
    *listed = *meshed = 0;
    list = (change_list){0};
    for (int32_t i = 0; i < updates; i++) {
        int32_t count;
        test_step(world, 1);
        if (i < updates - last - 1) continue;
        ask(world, &list);
        assert_ok(weir_mesher_update(mesher, &count));
        if (i < updates - last) continue;
        *listed += list.count;
        *meshed += count;
    }
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void water_at_rest_is_left_alone(void **state)
{
    int32_t listed, meshed;
    settle_pool(0, &listed, &meshed);
    print_message("every change: %d bricks listed, %d meshed\n", listed, meshed);
    assert_true(listed > 0 && meshed > 0);
    settle_pool(THRESHOLD, &listed, &meshed);
    print_message("changes from %g on: %d bricks listed, %d meshed\n", (double)THRESHOLD, listed, meshed);
    assert_int_equal(listed, 0);
    assert_int_equal(meshed, 0);
}

static void slow_drift_is_told_in_the_end(void **state)
{
    static reader r;
    weir_world_def def = pool_def(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 1, THRESHOLD);
    weir_world *world = test_make(&def);
    weir_mesher *mesher;
    const int32_t settled = 20, updates = test_length(120, 80);
    int32_t silent = 0, meshed, all_meshed = 0;
    test_fill(world, test_box(0, 0, 0, 40, 2, 24), 1);
    // A thousandth of a fill per update over the whole pool.
    assert_ok(weir_world_add_emitter(world, test_box(0, 2, 0, 40, 3, 24), WEIR_WATER, 0.96f, NULL));
    test_step(world, settled);
    r = (reader){0};
    read_again(world, &r);
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    assert_ok(weir_mesher_update(mesher, NULL));
    for (int32_t i = 0; i < updates; i++) {
        test_step(world, 1);
        read_again(world, &r);
        silent += r.list.count == 0;
        assert_ok(weir_mesher_update(mesher, &meshed));
        assert_int_equal(meshed > 0, r.list.count > 0);
        all_meshed += meshed;
        assert_true(largest_error(world, &r) < THRESHOLD + 1.0f / 16384);
    }
    print_message("%d of %d updates told nothing, %d meshed\n", silent, updates, all_meshed);
    assert_true(silent > updates / 2);
    assert_true(all_meshed > 0);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void a_brick_that_dries_up_is_gone_and_its_mesh_dropped(void **state)
{
    static change_list list;
    for (int32_t k = 0; k < 2; k++) {
        weir_mesh_brick bricks[16];
        int64_t mark = 0;
        weir_mesher *mesher;
        weir_world_def def = pool_def(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 1, k ? THRESHOLD : 0);
        weir_world *world = test_make(&def);
        test_fill(world, test_box(2, 0, 2, 6, 4, 6), 1);
        test_step(world, 2);
        assert_ok(weir_mesher_create(world, NULL, &mesher));
        assert_ok(weir_mesher_update(mesher, NULL));
        list = (change_list){0};
        ask(world, &list);
        const int32_t before = weir_mesher_changed(mesher, &mark, bricks, 16);
        assert_true(before > 0 && before <= 16 && list.gone == 0);
        assert_ok(weir_world_drain(world, def.bounds));
        test_step(world, 1);
        assert_ok(weir_mesher_update(mesher, NULL));
        ask(world, &list);
        assert_true(list.gone > 0 && list.gone == list.count);
        assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 16), before);
        for (int32_t i = 0; i < before; i++) assert_int_equal(bricks[i].mesh.triangle_count, 0);
        test_step(world, 1);
        assert_ok(weir_mesher_update(mesher, NULL));
        ask(world, &list);
        assert_int_equal(list.count, 0);
        assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 16), 0);
        weir_mesher_destroy(mesher);
        weir_world_destroy(world);
    }
}

static void a_threshold_must_be_a_fill(void **state)
{
    const float wrong[] = {-0.1f, 1.1f, NAN, INFINITY};
    weir_world *world;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_world_def def = pool_def(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_CPU, 1, wrong[i]);
        assert_int_equal(weir_world_create(&def, &world), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "threshold"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_follows_the_lists_knows_the_bricks),
        cmocka_unit_test(an_edit_that_ends_bricks_tells_of_them),
        cmocka_unit_test(who_begins_hears_of_all_bricks_and_none_that_is_gone),
        cmocka_unit_test(one_that_ended_and_came_back_has_changed),
        cmocka_unit_test(after_a_load_what_is_not_there_any_more_is_gone),
        cmocka_unit_test(a_background_step_shows_the_list_of_the_state_before_it),
        cmocka_unit_test(what_is_forgotten_is_known),
        cmocka_unit_test(without_memory_all_is_forgotten_and_nothing_fails),
        cmocka_unit_test(a_mark_that_is_too_old_or_anothers_is_refused),
        cmocka_unit_test(a_delta_tells_all_where_it_is_not_known_what_is_gone),
        cmocka_unit_test(who_reads_what_is_listed_is_within_the_threshold),
        cmocka_unit_test(every_machine_tells_the_same),
        cmocka_unit_test(bricks_that_move_together_tell_the_same),
        cmocka_unit_test(with_a_threshold_meshes_fit_together),
        cmocka_unit_test(water_at_rest_is_left_alone),
        cmocka_unit_test(slow_drift_is_told_in_the_end),
        cmocka_unit_test(a_brick_that_dries_up_is_gone_and_its_mesh_dropped),
        cmocka_unit_test(a_threshold_must_be_a_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
