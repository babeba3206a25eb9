// Terrain: what is kept, what lies outside the world's box, and the game's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test_memory.h"
#include "world/terrain.h"

static const weir_box UNBOUNDED = {{0, 0, 0}, {0, 0, 0}};
static const weir_coord ORIGIN = {0, 0, 0};

static uint64_t bits_of(const brick_mask *mask)
{
    uint64_t count = 0;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) count += mask_has(mask, cell);
    return count;
}

// Shares, single shares and open cells are three ways to ask the same thing.
static void check_agreement(const terrain *t, weir_coord brick)
{
    uint8_t shares[BRICK_CELLS];
    brick_mask open;
    memset(shares, 77, sizeof shares);
    memset(&open, 0x55, sizeof open);
    terrain_shares(t, brick, shares);
    bool any = terrain_open(t, brick, &open);
    assert_int_equal(any, bits_of(&open) > 0);
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        weir_coord cell = {8 * brick.x + (i & 7), 8 * brick.y + (i >> 3 & 7), 8 * brick.z + (i >> 6)};
        assert_int_equal(terrain_share(t, cell), shares[i]);
        assert_int_equal(mask_has(&open, i), shares[i] < TERRAIN_SOLID);
    }
}

static void write_share(terrain *t, weir_coord cell, uint8_t share)
{
    assert_int_equal(terrain_prepare(t, brick_of_cell(cell)), WEIR_OK);
    terrain_write(t, brick_of_cell(cell))[cell_index(cell)] = share;
}

static void write_brick(terrain *t, weir_coord brick, uint8_t share)
{
    assert_int_equal(terrain_prepare(t, brick), WEIR_OK);
    memset(terrain_write(t, brick), share, BRICK_CELLS);
    terrain_tidy(t, brick);
}

static void an_untouched_world_is_open_and_takes_no_memory(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
    brick_mask open;
    assert_true(terrain_open(&t, (weir_coord){-5, 100, 7}, &open));
    assert_int_equal(bits_of(&open), BRICK_CELLS);
    check_agreement(&t, (weir_coord){-5, 100, 7});
    assert_int_equal(terrain_bytes(&t), 0);
    assert_int_equal(mem.bytes, 0);
    assert_int_equal(terrain_hash(&t), 0);
    terrain_destroy(&t);
}

static void shares_are_kept_cell_by_cell(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
    for (int32_t i = 0; i < 300; i++) write_share(&t, (weir_coord){-i * 5, i * 3, i - 150}, (uint8_t)(i % 255 + 1));
    for (int32_t i = 0; i < 300; i++) {
        weir_coord cell = {-i * 5, i * 3, i - 150};
        assert_int_equal(terrain_share(&t, cell), i % 255 + 1);
        check_agreement(&t, brick_of_cell(cell));
    }
    assert_int_equal(terrain_bytes(&t), mem.bytes);
    terrain_destroy(&t);
    assert_int_equal(mem.bytes, 0);
}

static void bricks_of_one_share_take_no_array(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
    for (int32_t i = 0; i < 200; i++) write_brick(&t, (weir_coord){i, -i, 0}, 200);
    assert_int_equal(t.brick_count, 200);
    assert_int_equal(terrain_bytes(&t), (int64_t)t.slot_count * (int64_t)sizeof *t.slot);
    check_agreement(&t, (weir_coord){9, -9, 0});
    assert_int_equal(terrain_share(&t, (weir_coord){8 * 9, -8 * 9, 7}), 200);

    // One cell dug out of it and put back.
    write_share(&t, ORIGIN, 3);
    terrain_tidy(&t, ORIGIN);
    assert_int_equal(terrain_share(&t, ORIGIN), 3);
    assert_int_equal(terrain_share(&t, (weir_coord){1, 0, 0}), 200);
    write_share(&t, ORIGIN, 200);
    terrain_tidy(&t, ORIGIN);
    assert_int_equal(terrain_bytes(&t), (int64_t)t.slot_count * (int64_t)sizeof *t.slot);
    terrain_destroy(&t);
    assert_int_equal(mem.bytes, 0);
}

static void bricks_dug_out_are_forgotten_and_the_others_still_found(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
    for (int32_t i = 0; i < 500; i++) write_brick(&t, (weir_coord){i % 10, i / 10 % 10, i / 100}, (uint8_t)(i % 100 + 1));
    for (int32_t i = 0; i < 500; i += 3) write_brick(&t, (weir_coord){i % 10, i / 10 % 10, i / 100}, 0);
    assert_int_equal(t.brick_count, 500 - 167);
    for (int32_t i = 0; i < 500; i++) {
        weir_coord cell = {i % 10 * 8 + 7, i / 10 % 10 * 8, i / 100 * 8 + 3};
        assert_int_equal(terrain_share(&t, cell), i % 3 == 0 ? 0 : i % 100 + 1);
    }
    terrain_destroy(&t);
    assert_int_equal(mem.bytes, 0);
}

static void a_box_has_walls_and_its_inside_is_open(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    weir_box bounds = {{-3, 0, 2}, {21, 16, 5}};
    terrain_create(&mem, bounds, 0, NULL, NULL, &t);
    brick_mask open;
    for (int32_t z = -1; z <= 1; z++) {
        for (int32_t y = -1; y <= 2; y++) {
            for (int32_t x = -2; x <= 3; x++) {
                weir_coord brick = {x, y, z};
                check_agreement(&t, brick);
                bool inside = x >= -1 && x <= 2 && y >= 0 && y <= 1 && z == 0;
                assert_int_equal(terrain_open(&t, brick, &open), inside);
            }
        }
    }
    assert_int_equal(terrain_share(&t, (weir_coord){-3, 0, 2}), 0);
    assert_int_equal(terrain_share(&t, (weir_coord){20, 15, 4}), 0);
    assert_int_equal(terrain_share(&t, (weir_coord){-4, 0, 2}), 255);
    assert_int_equal(terrain_share(&t, (weir_coord){21, 0, 2}), 255);
    assert_int_equal(terrain_share(&t, (weir_coord){0, -1, 2}), 255);
    assert_int_equal(terrain_share(&t, (weir_coord){0, 0, 1}), 255);
    assert_true(terrain_inside(&t, (weir_coord){20, 15, 4}));
    assert_false(terrain_inside(&t, (weir_coord){20, 16, 4}));
    terrain_open(&t, (weir_coord){-1, 0, 0}, &open);
    assert_int_equal(bits_of(&open), 3 * 8 * 3);
    terrain_destroy(&t);
}

static void cells_beyond_open_sides_are_open_unless_a_wall_is_between(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    const weir_box bounds = {{0, 0, 0}, {16, 16, 16}};
    const weir_coord beyond[6] = {{-1, 4, 4}, {16, 4, 4}, {4, -1, 4}, {4, 16, 4}, {4, 4, -1}, {4, 4, 16}};
    for (uint32_t sides = 0; sides < 64; sides++) {
        terrain t;
        terrain_create(&mem, bounds, sides, NULL, NULL, &t);
        for (uint32_t side = 0; side < 6; side++) {
            assert_int_equal(terrain_share(&t, beyond[side]), sides >> side & 1 ? 0 : 255);
            assert_false(terrain_inside(&t, beyond[side]));
            check_agreement(&t, brick_of_cell(beyond[side]));
        }
        bool corner = (sides & WEIR_SIDE_X_MAX) && (sides & WEIR_SIDE_Y_MIN);
        assert_int_equal(terrain_share(&t, (weir_coord){20, -20, 3}), corner ? 0 : 255);
        check_agreement(&t, (weir_coord){2, -1, 0});
        terrain_destroy(&t);
    }
}

static void terrain_kept_outside_the_box_does_not_show(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    const weir_box bounds = {{0, 0, 0}, {4, 8, 8}};
    terrain t;
    terrain_create(&mem, bounds, WEIR_SIDE_X_MAX, NULL, NULL, &t);
    write_brick(&t, ORIGIN, 130);
    assert_int_equal(terrain_share(&t, (weir_coord){3, 0, 0}), 130);
    assert_int_equal(terrain_share(&t, (weir_coord){4, 0, 0}), 0);
    check_agreement(&t, ORIGIN);
    terrain_destroy(&t);
}

static void the_world_ends_in_walls_at_the_coordinate_limit(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain t;
    brick_mask open;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
    const int32_t end = WEIR_COORD_LIMIT / 8;
    assert_true(terrain_open(&t, (weir_coord){end - 1, 0, -end}, &open));
    assert_false(terrain_open(&t, (weir_coord){end, 0, 0}, &open));
    assert_false(terrain_open(&t, (weir_coord){0, 0, -end - 1}, &open));
    check_agreement(&t, (weir_coord){end, 0, 0});
    terrain_destroy(&t);
}

typedef struct asked {
    int32_t calls;
    weir_coord last;
} asked;

// Solid below y = 4, sloping with x.
static void game_terrain(void *user, weir_coord origin, uint8_t shares[512])
{
    asked *a = user;
    a->calls++;
    a->last = origin;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        int32_t x = origin.x + (i & 7), y = origin.y + (i >> 3 & 7);
        shares[i] = y < 4 ? 255 : y == 4 ? (uint8_t)(x & 255) : 0;
    }
}

static void the_games_own_terrain_is_asked_only_inside_the_box(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    asked a = {0};
    terrain t;
    weir_box bounds = {{-12, 0, 0}, {200, 32, 32}};
    terrain_create(&mem, bounds, WEIR_SIDE_X_MIN, game_terrain, &a, &t);
    brick_mask open;
    assert_false(terrain_open(&t, (weir_coord){0, -1, 0}, &open));
    assert_true(terrain_open(&t, (weir_coord){-3, 0, 0}, &open));
    assert_int_equal(a.calls, 0);
    assert_true(terrain_open(&t, (weir_coord){-2, 0, 1}, &open));
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.last.x, -16);
    assert_int_equal(a.last.y, 0);
    assert_int_equal(a.last.z, 8);
    assert_true(mask_has(&open, 3));
    assert_false(mask_has(&open, 4));
    assert_int_equal(terrain_share(&t, (weir_coord){150, 4, 3}), 150);
    check_agreement(&t, (weir_coord){-2, 0, 1});
    check_agreement(&t, (weir_coord){16, 0, 1});
    assert_int_equal(terrain_bytes(&t), 0);
    assert_int_equal(terrain_hash(&t), 0);
    terrain_destroy(&t);
}

static void the_hash_depends_on_shares_and_not_on_how_they_are_kept(void **state)
{
    (void)state;
    memory mem = memory_make((weir_allocator){0});
    terrain a, b;
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &a);
    terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &b);
    for (int32_t i = 0; i < 40; i++) {
        write_brick(&a, (weir_coord){i, 0, 0}, 255);
        write_brick(&b, (weir_coord){39 - i, 0, 0}, 255);
    }
    assert_int_equal(terrain_prepare(&b, (weir_coord){5, 0, 0}), WEIR_OK);
    assert_int_equal(terrain_prepare(&b, (weir_coord){5, 9, 0}), WEIR_OK);
    assert_true(terrain_hash(&a) == terrain_hash(&b));
    terrain_write(&b, (weir_coord){5, 0, 0})[17] = 254;
    assert_true(terrain_hash(&a) != terrain_hash(&b));
    terrain_write(&b, (weir_coord){5, 0, 0})[17] = 255;
    assert_true(terrain_hash(&a) == terrain_hash(&b));
    write_brick(&b, (weir_coord){5, 0, 0}, 0);
    write_brick(&b, (weir_coord){5, 1, 0}, 255);
    assert_true(terrain_hash(&a) != terrain_hash(&b));
    terrain_destroy(&a);
    terrain_destroy(&b);
    assert_int_equal(mem.bytes, 0);
}

static void memory_that_fails_at_any_call_changes_no_terrain(void **state)
{
    (void)state;
    bool failed = true;
    for (int64_t n = 1; failed; n++) {
        test_memory counted = {.fail_at = n};
        memory mem = memory_make(test_memory_hooks(&counted));
        terrain t;
        terrain_create(&mem, UNBOUNDED, 0, NULL, NULL, &t);
        for (int32_t i = 0; i < 60; i++) {
            uint64_t before = terrain_hash(&t);
            weir_coord brick = {i * 7, i, -i};
            if (terrain_prepare(&t, brick) == WEIR_OK) {
                assert_true(terrain_hash(&t) == before);
                terrain_write(&t, brick)[i] = 255;
            } else {
                assert_int_equal(t.brick_count, i);
                assert_true(terrain_hash(&t) == before);
                break;
            }
        }
        failed = counted.failures > 0;
        terrain_destroy(&t);
        assert_int_equal(counted.bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_untouched_world_is_open_and_takes_no_memory),
        cmocka_unit_test(shares_are_kept_cell_by_cell),
        cmocka_unit_test(bricks_of_one_share_take_no_array),
        cmocka_unit_test(bricks_dug_out_are_forgotten_and_the_others_still_found),
        cmocka_unit_test(a_box_has_walls_and_its_inside_is_open),
        cmocka_unit_test(cells_beyond_open_sides_are_open_unless_a_wall_is_between),
        cmocka_unit_test(terrain_kept_outside_the_box_does_not_show),
        cmocka_unit_test(the_world_ends_in_walls_at_the_coordinate_limit),
        cmocka_unit_test(the_games_own_terrain_is_asked_only_inside_the_box),
        cmocka_unit_test(the_hash_depends_on_shares_and_not_on_how_they_are_kept),
        cmocka_unit_test(memory_that_fails_at_any_call_changes_no_terrain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
