// What is told of changes: bricks that came, changed and are gone since a mark, and water at rest that is left alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cells/deaths.h"
#include "test_cells.h"
#include "test_world.h"

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

static void a_mark_that_is_too_old_is_refused(void **state)
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
    weir_world_destroy(world);
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
        cmocka_unit_test(a_mark_that_is_too_old_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
