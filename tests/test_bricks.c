// The brick pool against a plain model: a grid of flags that says which bricks are there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test_memory.h"

#include "cells/bricks.h"
#include "cells/neighbours.h"

enum { GRID = 7, GRID_BRICKS = GRID * GRID * GRID, CHANNELS = 3 };

// The grid lies across the origin, so that negative coordinates are met too.
static weir_coord coord_of(int32_t i)
{
    return (weir_coord){i % GRID - 3, i / GRID % GRID - 3, i / GRID / GRID - 3};
}

static int32_t index_of(weir_coord c)
{
    if (c.x < -3 || c.y < -3 || c.z < -3 || c.x > 3 || c.y > 3 || c.z > 3) return -1;
    return c.x + 3 + GRID * (c.y + 3) + GRID * GRID * (c.z + 3);
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int32_t mark_of(int32_t i, int32_t channel, int32_t cell)
{
    return 1 + i * 100000 + channel * 1000 + cell;
}

static int32_t bear(brick_pool *pool, int32_t i)
{
    brick_mask open;
    memset(&open, 0, sizeof open);
    open.plane[i % 8] = (uint64_t)i + 1;
    int32_t brick = bricks_born(pool, coord_of(i), &open);
    for (int32_t c = 0; c < pool->channel_count; c++) {
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            assert_int_equal(bricks_ints(pool, c, brick)[cell], 0);
            bricks_ints(pool, c, brick)[cell] = mark_of(i, c, cell);
        }
    }
    pool->changed[brick] = i;
    pool->closed[brick] = (uint32_t)i;
    pool->wet[brick] = (uint8_t)(i & 1);
    return brick;
}

static void check_brick(const brick_pool *pool, const bool *there, int32_t i)
{
    int32_t brick = bricks_find(pool, coord_of(i));
    if (!there[i]) {
        assert_int_equal(brick, BRICK_NOTHING);
        return;
    }
    assert_in_range(brick, 1, pool->end - 1);
    assert_int_equal(pool->alive[brick], 1);
    weir_coord coord = coord_of(i);
    assert_memory_equal(&pool->coord[brick], &coord, sizeof coord);
    assert_int_equal(pool->open[brick].plane[i % 8], i + 1);
    assert_int_equal(pool->changed[brick], i);
    assert_int_equal(pool->closed[brick], i);
    assert_int_equal(pool->wet[brick], i & 1);
    for (int32_t c = 0; c < pool->channel_count; c++) {
        assert_int_equal(bricks_ints(pool, c, brick)[0], mark_of(i, c, 0));
        assert_int_equal(bricks_ints(pool, c, brick)[BRICK_CELLS - 1], mark_of(i, c, BRICK_CELLS - 1));
    }
    for (int32_t k = 0; k < 27; k++) {
        int32_t at = index_of(brick_neighbour(coord_of(i), k));
        int32_t expected = at >= 0 && there[at] ? bricks_find(pool, coord_of(at)) : BRICK_NOTHING;
        assert_int_equal(pool->near[brick][k], expected);
        if (expected) assert_int_equal(pool->near[expected][26 - k], brick);
    }
}

static void check_nothing(const brick_pool *pool)
{
    assert_int_equal(pool->alive[BRICK_NOTHING], 0);
    assert_int_equal(pool->wet[BRICK_NOTHING], 0);
    for (int32_t z = 0; z < 8; z++) assert_int_equal(pool->open[BRICK_NOTHING].plane[z], 0);
    for (int32_t k = 0; k < 27; k++) assert_int_equal(pool->near[BRICK_NOTHING][k], 0);
    for (int32_t c = 0; c < pool->channel_count; c++)
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) assert_int_equal(bricks_ints(pool, c, BRICK_NOTHING)[cell], 0);
}

static void check_pool(const brick_pool *pool, const bool *there)
{
    int32_t count = 0;
    for (int32_t i = 0; i < GRID_BRICKS; i++) {
        check_brick(pool, there, i);
        count += there[i];
    }
    check_nothing(pool);
    assert_int_equal(pool->live, count);
    assert_int_equal(pool->end - 1 - pool->free_count, count);
    assert_true(pool->end <= pool->capacity);
    assert_true(pool->peak_live >= count);
    assert_int_equal(bricks_bytes(pool), pool->mem->bytes);
}

static void births_and_deaths_follow_a_plain_model(void **state)
{
    (void)state;
    test_memory counted = {0};
    memory mem = memory_make(test_memory_hooks(&counted));
    brick_pool pool;
    bool there[GRID_BRICKS] = {false};
    uint32_t seed = 7;
    assert_int_equal(bricks_create(&mem, 0, CHANNELS, NULL, &pool), WEIR_OK);
    for (int32_t round = 0; round < 60; round++) {
        // Tides: mostly births in some rounds, mostly deaths in others, so that growth and packing both come about.
        uint32_t births = round % 20 < 10 ? 80 : 15;
        for (int32_t n = 0; n < 120; n++) {
            int32_t i = (int32_t)(random_next(&seed) % GRID_BRICKS);
            bool wanted = random_next(&seed) % 100 < births;
            if (wanted == there[i]) continue;
            if (wanted) {
                assert_int_equal(bricks_reserve(&pool, 1), WEIR_OK);
                bear(&pool, i);
            } else {
                bricks_die(&pool, bricks_find(&pool, coord_of(i)));
            }
            there[i] = wanted;
        }
        uint64_t version = pool.version;
        int32_t capacity = pool.capacity;
        bricks_pack(&pool);
        assert_true(pool.capacity == capacity || pool.version > version);
        check_pool(&pool, there);
    }
    assert_int_equal(counted.peak_bytes, pool.peak_bytes);
    bricks_destroy(&pool);
    assert_int_equal(counted.bytes, 0);
}

static void the_pool_doubles_or_grows_to_just_what_is_needed(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    assert_int_equal(bricks_create(&mem, 99, 1, NULL, &pool), WEIR_OK);
    assert_int_equal(pool.capacity, 100);
    assert_int_equal(bricks_reserve(&pool, 99), WEIR_OK);
    assert_int_equal(pool.capacity, 100);
    assert_int_equal(bricks_reserve(&pool, 100), WEIR_OK);
    assert_int_equal(pool.capacity, 200);
    assert_int_equal(bricks_reserve(&pool, 1000), WEIR_OK);
    assert_int_equal(pool.capacity, 1001);
    bricks_destroy(&pool);
}

static void packing_keeps_the_order_and_gives_memory_back(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    bool there[GRID_BRICKS];
    assert_int_equal(bricks_create(&mem, 0, CHANNELS, NULL, &pool), WEIR_OK);
    assert_int_equal(bricks_reserve(&pool, GRID_BRICKS), WEIR_OK);
    for (int32_t i = 0; i < GRID_BRICKS; i++) bear(&pool, i);
    int64_t full = bricks_bytes(&pool);
    for (int32_t i = 0; i < GRID_BRICKS; i++) {
        there[i] = i % 5 == 2;
        if (!there[i]) bricks_die(&pool, bricks_find(&pool, coord_of(i)));
    }
    bricks_pack(&pool);
    assert_int_equal(pool.capacity, (GRID_BRICKS + 1) / 2);
    assert_int_equal(pool.end, pool.live + 1);
    assert_true(bricks_bytes(&pool) < full * 6 / 10);
    for (int32_t b = 2; b < pool.end; b++) assert_true(index_of(pool.coord[b - 1]) < index_of(pool.coord[b]));
    check_pool(&pool, there);
    bricks_destroy(&pool);
}

static void room_asked_for_at_the_start_is_not_packed_away(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    assert_int_equal(bricks_create(&mem, 500, 1, NULL, &pool), WEIR_OK);
    bricks_pack(&pool);
    assert_int_equal(pool.capacity, 501);
    bricks_destroy(&pool);
}

static void without_memory_packing_still_leaves_a_whole_pool(void **state)
{
    (void)state;
    test_memory counted = {0};
    memory mem = memory_make(test_memory_hooks(&counted));
    brick_pool pool;
    bool there[GRID_BRICKS] = {false};
    assert_int_equal(bricks_create(&mem, 0, CHANNELS, NULL, &pool), WEIR_OK);
    assert_int_equal(bricks_reserve(&pool, GRID_BRICKS), WEIR_OK);
    for (int32_t i = 0; i < GRID_BRICKS; i++) bear(&pool, i);
    for (int32_t i = 0; i < GRID_BRICKS; i++) {
        there[i] = i % 7 == 3;
        if (!there[i]) bricks_die(&pool, bricks_find(&pool, coord_of(i)));
    }
    counted.fail_at = counted.calls + 1;
    counted.fail_after = true;
    bricks_pack(&pool);
    assert_true(counted.failures > 0);
    assert_int_equal(pool.capacity, (GRID_BRICKS + 1) / 2);
    check_pool(&pool, there);
    counted.fail_at = 0;
    assert_int_equal(bricks_reserve(&pool, GRID_BRICKS), WEIR_OK);
    for (int32_t i = 0; i < GRID_BRICKS; i++) {
        if (!there[i]) bear(&pool, i);
        there[i] = true;
    }
    check_pool(&pool, there);
    bricks_destroy(&pool);
    assert_int_equal(counted.bytes, 0);
}

// Makes a pool and lets it grow in the middle of births, with memory that fails at a given call.
static bool fill_with_failure(int64_t fail_at, bool fail_after)
{
    test_memory counted = {.fail_at = fail_at, .fail_after = fail_after};
    memory mem = memory_make(test_memory_hooks(&counted));
    brick_pool pool;
    bool there[GRID_BRICKS] = {false};
    bool created = bricks_create(&mem, 3, CHANNELS, NULL, &pool) == WEIR_OK;
    if (created) {
        int32_t channel = -1;
        for (int32_t i = 0; i < 40; i++) {
            int32_t capacity = pool.capacity;
            weir_status status = bricks_reserve(&pool, 1);
            if (status != WEIR_OK) {
                assert_int_equal(status, WEIR_ERROR_MEMORY);
                assert_int_equal(pool.capacity, capacity);
                check_pool(&pool, there);
                break;
            }
            bear(&pool, i);
            there[i] = true;
        }
        // Solvers swap channels; sizes must go with the arrays.
        void *first = pool.channel[0];
        pool.channel[0] = pool.channel[1];
        pool.channel[1] = first;
        if (bricks_add_channel(&pool, 4, &channel) == WEIR_OK) {
            assert_int_equal(channel, CHANNELS);
            for (int32_t b = 0; b < pool.end; b++) assert_int_equal(bricks_ints(&pool, channel, b)[511], 0);
        } else {
            assert_int_equal(pool.channel_count, CHANNELS);
        }
    }
    bricks_destroy(&pool);
    assert_int_equal(counted.bytes, 0);
    assert_int_equal(counted.blocks, 0);
    assert_int_equal(mem.bytes, 0);
    return counted.failures > 0;
}

static void memory_that_fails_at_any_call_leaks_nothing(void **state)
{
    (void)state;
    for (int32_t once = 0; once < 2; once++) {
        int64_t n = 1;
        while (fill_with_failure(n, !once)) n++;
        assert_true(n > 40);
    }
}

static void growth_falls_back_to_what_is_needed(void **state)
{
    (void)state;
    test_memory counted = {0};
    memory mem = memory_make(test_memory_hooks(&counted));
    brick_pool pool;
    assert_int_equal(bricks_create(&mem, 99, CHANNELS, NULL, &pool), WEIR_OK);
    counted.fail_at = counted.calls + 5;
    assert_int_equal(bricks_reserve(&pool, 120), WEIR_OK);
    assert_int_equal(counted.failures, 1);
    assert_int_equal(pool.capacity, 121);
    bricks_destroy(&pool);
    assert_int_equal(counted.bytes, 0);
}

static void more_bricks_than_a_world_holds_are_refused(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    assert_int_equal(bricks_create(&mem, BRICK_MAX + 1, 1, NULL, &pool), WEIR_ERROR_LIMIT);
    assert_int_equal(bricks_create(&mem, 0, CHANNEL_MAX, NULL, &pool), WEIR_OK);
    assert_int_equal(bricks_reserve(&pool, BRICK_MAX + 1), WEIR_ERROR_LIMIT);
    assert_non_null(strstr(weir_error_message(), "4194303"));
    int32_t channel;
    assert_int_equal(bricks_add_channel(&pool, 4, &channel), WEIR_ERROR_LIMIT);
    bricks_destroy(&pool);
    assert_int_equal(mem.bytes, 0);
}

static void sorted_bricks_come_by_z_then_y_then_x(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    int32_t order[GRID_BRICKS], places[GRID_BRICKS];
    uint32_t seed = 3;
    assert_int_equal(bricks_create(&mem, GRID_BRICKS, 0, NULL, &pool), WEIR_OK);
    for (int32_t i = 0; i < GRID_BRICKS; i++) places[i] = i;
    for (int32_t i = GRID_BRICKS - 1; i > 0; i--) {
        int32_t other = (int32_t)(random_next(&seed) % (uint32_t)(i + 1)), kept = places[i];
        places[i] = places[other];
        places[other] = kept;
    }
    for (int32_t i = 0; i < GRID_BRICKS; i++) bear(&pool, places[i]);
    bricks_die(&pool, bricks_find(&pool, coord_of(100)));
    bricks_sorted(&pool, order);
    for (int32_t i = 0; i < pool.live; i++) assert_int_equal(index_of(pool.coord[order[i]]), i < 100 ? i : i + 1);
    bricks_destroy(&pool);
}

static void a_mirror_has_the_same_bricks_and_the_chosen_channels(void **state)
{
    (void)state;
    test_memory counted = {0};
    memory mem = memory_make(test_memory_hooks(&counted));
    brick_pool pool, mirror = {0};
    assert_int_equal(bricks_create(&mem, GRID_BRICKS, CHANNELS, NULL, &pool), WEIR_OK);
    for (int32_t i = 0; i < GRID_BRICKS; i += 2) bear(&pool, i);
    assert_int_equal(bricks_mirror(&pool, 1u << 1, &mirror), WEIR_OK);
    assert_null(mirror.channel[0]);
    assert_non_null(mirror.channel[1]);
    int64_t calls = counted.calls;
    for (int32_t i = 0; i < GRID_BRICKS; i += 4) bricks_die(&pool, bricks_find(&pool, coord_of(i)));
    assert_int_equal(bricks_find(&pool, coord_of(4)), BRICK_NOTHING);
    assert_int_equal(bricks_find(&mirror, coord_of(4)), 3);
    assert_int_equal(bricks_mirror(&pool, 1u << 1, &mirror), WEIR_OK);
    assert_int_equal(counted.calls, calls);
    for (int32_t i = 0; i < GRID_BRICKS; i++)
        assert_int_equal(bricks_find(&mirror, coord_of(i)), bricks_find(&pool, coord_of(i)));
    bricks_destroy(&mirror);

    for (int64_t n = 1; n < 8; n++) {
        counted.fail_at = counted.calls + n;
        assert_int_equal(bricks_mirror(&pool, 1u << 2, &mirror), WEIR_ERROR_MEMORY);
        assert_null(mirror.slot);
    }
    bricks_destroy(&pool);
    assert_int_equal(counted.bytes, 0);
}

// Some kernels look up what others work out.
static void the_table_of_open_faces_says_what_the_law_says(void **state)
{
    static const float table[8] = RULE_INVERSE_FACES;
    for (int faces = 0; faces <= 6; faces++) assert_true(table[faces] == rule_inverse_faces(1.0f, (float)faces));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(births_and_deaths_follow_a_plain_model),
        cmocka_unit_test(the_pool_doubles_or_grows_to_just_what_is_needed),
        cmocka_unit_test(packing_keeps_the_order_and_gives_memory_back),
        cmocka_unit_test(room_asked_for_at_the_start_is_not_packed_away),
        cmocka_unit_test(without_memory_packing_still_leaves_a_whole_pool),
        cmocka_unit_test(memory_that_fails_at_any_call_leaks_nothing),
        cmocka_unit_test(growth_falls_back_to_what_is_needed),
        cmocka_unit_test(more_bricks_than_a_world_holds_are_refused),
        cmocka_unit_test(sorted_bricks_come_by_z_then_y_then_x),
        cmocka_unit_test(a_mirror_has_the_same_bricks_and_the_chosen_channels),
        cmocka_unit_test(the_table_of_open_faces_says_what_the_law_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
