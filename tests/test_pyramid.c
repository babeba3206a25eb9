// The pyramid follows births and deaths; whatever came before, it must be the one over the bricks that are there now.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test_memory.h"

#include "cells/pyramid.h"

enum { GRID = 9, GRID_BRICKS = GRID * GRID * GRID, CHANNELS = 3 };

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// A grid across the origin, and far from it a second one of every fourth brick.
static weir_coord coord_of(uint32_t i)
{
    int32_t far = i % 4 == 0 ? 100 : 0, at = (int32_t)i;
    return (weir_coord){at % GRID - 4 + far, at / GRID % GRID - 4, at / GRID / GRID - 4 - far};
}

// Births and deaths at about `wanted` bricks of the grid.
static void stir(brick_pool *pool, uint32_t *state, int32_t changes, int32_t wanted)
{
    for (int32_t i = 0; i < changes; i++) {
        weir_coord coord = coord_of(random_next(state) % GRID_BRICKS);
        int32_t brick = bricks_find(pool, coord);
        bool more = pool->live < wanted && random_next(state) % 4 > 0;
        if (brick && !more) {
            bricks_die(pool, brick);
        } else if (!brick && more) {
            assert_int_equal(bricks_reserve(pool, 1), WEIR_OK);
            bricks_born(pool, coord, &(brick_mask){0});
        }
    }
}

static int32_t find(const pyramid_level *level, weir_coord coord)
{
    int32_t found = 0;
    for (int32_t b = 1; b < level->count; b++)
        if (memcmp(&level->coord[b], &coord, sizeof coord) == 0) found = b;
    return found;
}

// Every brick of a level has a parent in the right place that knows it, and nobody else is anybody's child.
static void check_children(const pyramid_level *level, const int32_t *parent, const weir_coord *coord, const uint8_t *alive,
                           int32_t end)
{
    int32_t children = 0, bricks = 0;
    for (int32_t b = 1; b < end; b++) {
        if (alive && !alive[b]) continue;
        weir_coord above = {coord[b].x >> 1, coord[b].y >> 1, coord[b].z >> 1};
        assert_in_range(parent[b], 1, level->count - 1);
        assert_memory_equal(&level->coord[parent[b]], &above, sizeof above);
        assert_int_equal(level->child[parent[b]][pyramid_octant(coord[b])], b);
        bricks++;
    }
    for (int32_t b = 0; b < level->count; b++)
        for (int32_t o = 0; o < 8; o++) children += level->child[b][o] != 0;
    assert_int_equal(children, bricks);
}

static void check_neighbours(const pyramid_level *level)
{
    for (int32_t b = 1; b < level->count; b++)
        for (int32_t n = 0; n < 27; n++) assert_int_equal(level->near[b][n], find(level, brick_neighbour(level->coord[b], n)));
}

static void check(const pyramid *p, brick_pool *pool)
{
    assert_null(memchr(pool->pyramid_dirty, 1, (size_t)pool->end));
    // A second pyramid of the pool, which is good for one build: p has nothing to follow now.
    pyramid fresh;
    pyramid_create(pool->mem, p->channel_count, &fresh);
    assert_int_equal(pyramid_build(&fresh, pool), WEIR_OK);
    assert_int_equal(p->top, fresh.top);
    for (int32_t l = 1; l <= p->top; l++) {
        const pyramid_level *level = &p->level[l], *below = &p->level[l - 1];
        assert_int_equal(level->count, fresh.level[l].count);
        if (l == 1)
            check_children(level, below->parent, pool->coord, pool->alive, pool->end);
        else
            check_children(level, below->parent, below->coord, NULL, below->count);
        if (l > 1 || p->channel_count > 0) check_neighbours(level);
        for (int32_t b = 1; b < level->count; b++) {
            if (p->channel_count > 0) assert_int_equal(level->flags[b], 0);
            assert_int_equal(find(level, level->coord[b]), b);
        }
    }
    pyramid_destroy(&fresh);
}

static void it_follows_births_and_deaths(void **state)
{
    test_memory counted = {0};
    memory mem = memory_make(test_memory_hooks(&counted));
    for (int32_t kind = 0; kind < 2; kind++) {
        brick_pool pool;
        pyramid p;
        uint32_t random = 7 + (uint32_t)kind;
        assert_int_equal(bricks_create(&mem, 0, 0, NULL, &pool), WEIR_OK);
        pyramid_create(&mem, kind == 1 ? 0 : CHANNELS, &p);
        for (int32_t round = 0; round < 120; round++) {
            stir(&pool, &random, round % 7 == 0 ? 400 : 12, round % 30 < 15 ? 300 : round % 30 < 25 ? 6 : 0);
            if (round % 3 == 0) bricks_pack(&pool);
            if (round % 8 == 0) bricks_close_gaps(&pool);
            if (round % 5 == 4) continue;  // changes of two rounds at once
            assert_int_equal(pyramid_build(&p, &pool), WEIR_OK);
            check(&p, &pool);
        }
        pyramid_destroy(&p);
        bricks_destroy(&pool);
    }
    assert_int_equal(counted.bytes, 0);
}

static void octants_without_a_child_are_zero(void **state)
{
    memory mem = memory_make((weir_allocator){0});
    brick_pool pool;
    pyramid p;
    uint32_t random = 3;
    assert_int_equal(bricks_create(&mem, 0, 0, NULL, &pool), WEIR_OK);
    pyramid_create(&mem, CHANNELS, &p);
    for (int32_t round = 0; round < 6; round++) {
        stir(&pool, &random, 60, 100);
        assert_int_equal(pyramid_build(&p, &pool), WEIR_OK);
        for (int32_t l = 1; l <= p.top; l++) {
            for (int32_t i = 0; i < p.level[l].count * BRICK_CELLS; i++) {
                int32_t brick = i / BRICK_CELLS, octant = (i >> 2 & 1) + 2 * (i >> 5 & 1) + 4 * (i >> 8 & 1);
                for (int32_t c = 0; c < CHANNELS; c++) {
                    float *cell = &p.level[l].channel[c][i];
                    if (p.level[l].child[brick][octant] == 0) assert_true(*cell == 0.0f);
                    if (brick > 0) *cell = 1.0f;  // an update leaves something; the nothing stays as it is
                }
            }
        }
    }
    pyramid_destroy(&p);
    bricks_destroy(&pool);
}

static void without_memory_it_is_built_anew(void **state)
{
    for (int64_t n = 1;; n++) {
        test_memory counted = {0};
        memory mem = memory_make(test_memory_hooks(&counted));
        brick_pool pool;
        pyramid p;
        uint32_t random = 5;
        assert_int_equal(bricks_create(&mem, 800, 0, NULL, &pool), WEIR_OK);
        pyramid_create(&mem, CHANNELS, &p);
        stir(&pool, &random, 40, 20);
        assert_int_equal(pyramid_build(&p, &pool), WEIR_OK);
        stir(&pool, &random, 600, 300);
        counted.fail_at = counted.calls + n;
        weir_status status = pyramid_build(&p, &pool);
        bool failed = counted.failures > 0;
        counted.fail_at = 0;
        assert_int_equal(status, failed ? WEIR_ERROR_MEMORY : WEIR_OK);
        stir(&pool, &random, 20, 200);
        assert_int_equal(pyramid_build(&p, &pool), WEIR_OK);
        check(&p, &pool);
        pyramid_destroy(&p);
        bricks_destroy(&pool);
        assert_int_equal(counted.bytes, 0);
        if (!failed) break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_births_and_deaths),
        cmocka_unit_test(octants_without_a_child_are_zero),
        cmocka_unit_test(without_memory_it_is_built_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
