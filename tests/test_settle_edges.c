// The settling automaton where it could go wrong: edits that follow each other, bodies that lose their top layer or meet under a
// ceiling, many bodies in a brick, open sides, snapshots that lie, and memory that runs out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"

#include "base/hash.h"
#include "solvers/settle/settle.h"
#include "test_world.h"
#include "world/world.h"
#include <stdio.h>

static weir_world *make(int32_t x, int32_t y, int32_t z)
{
    const weir_world_def def = test_def(WEIR_SOLVER_SETTLE, x, y, z);
    return test_make(&def);
}

static void settle_down(weir_world *world, int32_t most)
{
    for (int32_t i = 0; i < most && weir_world_stats(world).awake_bricks > 0; i++) test_step(world, 1);
}

static void assert_sound(weir_world *world)
{
    assert_exact(world);
    const char *wrong = world_validate(world, false);
    if (wrong) fail_msg("%s", wrong);
}

// The most outlets that a brick has, and that it has to one body.
static void count_outlets(const weir_world *world, int32_t *most, int32_t *most_of_one)
{
    const settle *s = world->state;
    *most = *most_of_one = 0;
    for (int32_t b = 1; b < s->cells.pool.end; b++) {
        int32_t all = 0;
        for (int32_t o = s->bricks[b].outlet; o; o = outlet_at(s, o)->next_in_brick, all++) {
            int32_t same = 0;
            for (int32_t k = s->bricks[b].outlet; k; k = outlet_at(s, k)->next_in_brick)
                same += outlet_at(s, k)->body == outlet_at(s, o)->body;
            if (same > *most_of_one) *most_of_one = same;
        }
        if (all > *most) *most = all;
    }
}

// A snapshot of a world, not packed; free it.
static uint8_t *save(const weir_world *world, size_t *size)
{
    setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1);
    assert_ok(weir_world_save_memory(world, NULL, 0, size));
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(weir_world_save_memory(world, bytes, *size, size));
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    return bytes;
}

static weir_world *copy_of(const weir_world *world, int32_t x, int32_t y, int32_t z)
{
    size_t size;
    uint8_t *bytes = save(world, &size);
    weir_world *copy = make(x, y, z);
    assert_ok(weir_world_load_memory(copy, bytes, size));
    free(bytes);
    return copy;
}

// ---- Edits between two updates -------------------------------------------------------------------------------------------------

static void a_lake_that_is_drained_twice_gives_its_water_once(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    const weir_box all = test_box(0, 0, 0, 16, 16, 16), half = test_box(0, 0, 0, 16, 8, 16);
    test_fill(world, test_box(0, 0, 0, 16, 5, 16), 1.0f);
    settle_down(world, 100);
    for (int32_t i = 0; i < 3; i++) assert_ok(weir_world_drain(world, half));
    assert_sound(world);
    assert_true(weir_world_ledger(world).removed <= weir_world_ledger(world).added);
    test_step(world, 3);
    assert_sound(world);
    assert_true(weir_world_box_sum(world, all).drops == 0);
    weir_world_destroy(world);
}

static void drains_in_one_place_take_no_more_than_there_is(void **state)
{
    (void)state;
    weir_world *world = make(8, 8, 8);
    test_fill(world, test_box(0, 0, 0, 8, 1, 8), 1.0f);
    settle_down(world, 100);
    for (int32_t i = 0; i < 4; i++) assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 8, 8, 8), 60, NULL));
    for (int32_t i = 0; i < 5; i++) {
        test_step(world, 1);
        assert_sound(world);
        assert_true(weir_world_ledger(world).held >= 0);
    }
    weir_world_destroy(world);
}

static void to_fill_a_lake_twice_is_to_fill_it_once(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    test_fill(world, test_box(0, 0, 0, 16, 4, 16), 1.0f);
    test_fill(world, test_box(0, 4, 0, 16, 5, 16), 0.5f);
    settle_down(world, 100);
    for (int32_t i = 0; i < 3; i++) test_fill(world, test_box(0, 0, 0, 16, 5, 16), 1.0f);
    assert_sound(world);
    assert_true(weir_world_ledger(world).held <= (int64_t)16 * 5 * 16 * WEIR_FULL + 16 * 16 * 256);
    weir_world_destroy(world);
}

// A brick that a body fills to its last cell has no free water; a body that falls between two edits, or between a drain and an emitter,
// leaves room for some.
static void water_finds_the_cells_that_a_lake_has_just_left(void **state)
{
    (void)state;
    for (int32_t sources = 0; sources < 2; sources++) {
        weir_world *world = make(8, 16, 8);
        const weir_box all = test_box(0, 0, 0, 8, 8, 8), upper = test_box(0, 4, 0, 8, 8, 8);
        test_fill(world, all, 1.0f);
        settle_down(world, 100);
        if (sources) {
            assert_ok(weir_world_add_drain(world, upper, 256, NULL));
            assert_ok(weir_world_add_emitter(world, all, WEIR_WATER, 128, NULL));
            test_step(world, 1);
        } else {
            assert_ok(weir_world_drain(world, upper));
            test_fill(world, test_box(0, 0, 0, 8, 6, 8), 1.0f);
        }
        assert_sound(world);
        assert_true(weir_world_ledger(world).held == (int64_t)8 * 6 * 8 * WEIR_FULL);
        weir_world_destroy(world);
    }
}

// ---- Bodies under a ceiling ----------------------------------------------------------------------------------------------------

// The top layer of a lake becomes solid. It is saved, and goes on as it would have when it meets another.
static void a_lake_whose_top_layer_is_built_over_goes_on_from_a_snapshot(void **state)
{
    (void)state;
    for (int32_t height = 7; height <= 12; height++) {
        weir_world *world = make(24, 24, 16);
        assert_ok(weir_world_build(world, test_box(12, 0, 0, 14, 24, 16), 255));
        test_fill(world, test_box(0, 0, 0, 12, 9, 16), 1.0f);
        test_fill(world, test_box(14, 0, 0, 24, height, 16), 1.0f);
        settle_down(world, 100);
        assert_ok(weir_world_build(world, test_box(0, 7, 0, 12, 10, 16), 255));
        test_step(world, 3);
        weir_world *copy = copy_of(world, 24, 24, 16);
        assert_ok(weir_world_dig(world, test_box(12, 3, 4, 14, 4, 5)));
        assert_ok(weir_world_dig(copy, test_box(12, 3, 4, 14, 4, 5)));
        for (int32_t i = 0; i < 60; i++) {
            test_step(world, 1);
            test_step(copy, 1);
            assert_sound(world);
            if (weir_world_hash(world) != weir_world_hash(copy))
                fail_msg("beside water of %d: it goes on in another way from update %d on", height, i);
        }
        weir_world_destroy(world);
        weir_world_destroy(copy);
    }
}

// Water under a ceiling that holds more than fits, and a lake beside it that stands in the layer above: the higher one by pressure has the
// lower top layer.
static void a_closed_body_joins_one_with_a_higher_top_layer(void **state)
{
    (void)state;
    for (int32_t height = 6; height <= 9; height++) {
        weir_world *world = make(24, 16, 8);
        assert_ok(weir_world_build(world, test_box(10, 0, 0, 12, 16, 8), 255));
        assert_ok(weir_world_build(world, test_box(0, 6, 0, 10, 7, 8), 255));
        test_fill(world, test_box(0, 0, 0, 10, 6, 8), 1.0f);
        test_fill(world, test_box(12, 0, 0, 24, height, 8), 1.0f);
        test_fill(world, test_box(12, height, 0, 24, height + 1, 8), 0.5f);
        settle_down(world, 100);
        assert_ok(weir_world_build(world, test_box(0, 0, 0, 4, 2, 8), 255));
        assert_sound(world);
        test_step(world, 2);
        assert_ok(weir_world_dig(world, test_box(10, 1, 3, 12, 2, 4)));
        for (int32_t i = 0; i < 60; i++) {
            test_step(world, 1);
            assert_sound(world);
        }
        weir_world_destroy(world);
    }
}

// A lake under a ceiling with one narrow way out, into which terrain is built: what it pushes aside rises further than the bricks reach
// that are there in this update.
static void water_that_is_pushed_up_a_shaft_rises_all_of_the_way(void **state)
{
    (void)state;
    for (int32_t low = 5; low <= 8; low++) {
        weir_world *world = make(16, 128, 16);
        assert_ok(weir_world_build(world, test_box(0, 0, 0, 16, 128, 16), 255));
        assert_ok(weir_world_dig(world, test_box(1, 0, 1, 15, low, 15)));
        assert_ok(weir_world_dig(world, test_box(7, low, 7, 8, 128, 8)));
        test_fill(world, test_box(1, 0, 1, 15, low, 15), 1.0f);
        test_fill(world, test_box(7, low, 7, 8, low + 1, 8), 1.0f);
        settle_down(world, 100);
        assert_ok(weir_world_build(world, test_box(1, 0, 1, 7, 2, 6), 255));
        test_step(world, 40);
        assert_sound(world);
        const int64_t in_shaft = weir_world_box_sum(world, test_box(7, low, 7, 8, 128, 8)).drops;
        if (in_shaft < (int64_t)61 * WEIR_FULL) fail_msg("%g cells stand in the shaft", (double)in_shaft / WEIR_FULL);
        weir_world_destroy(world);
    }
}

// ---- Many bodies in a brick ----------------------------------------------------------------------------------------------------

static void a_brick_of_many_puddles_goes_on_from_a_snapshot(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    test_fill(world, test_box(0, 0, 0, 16, 8, 16), 1.0f);
    settle_down(world, 100);
    for (int32_t low = 4; low >= 0; low -= 4) {
        uint8_t shares[8 * 4 * 8];
        for (int32_t i = 0; i < 256; i++) shares[i] = (i + i / 8 + i / 32) % 2 ? 255 : 0;
        assert_ok(weir_world_build_shares(world, test_box(0, low, 0, 8, low + 4, 8), shares));
        test_step(world, 4);
    }
    weir_world *copy = copy_of(world, 16, 16, 16);
    for (int32_t i = 0; i < 60; i++) {
        if (i % 20 == 3) assert_ok(weir_world_dig(world, test_box(i / 20, 2, 0, i / 20 + 2, 6, 8)));
        if (i % 20 == 3) assert_ok(weir_world_dig(copy, test_box(i / 20, 2, 0, i / 20 + 2, 6, 8)));
        test_step(world, 1);
        test_step(copy, 1);
        assert_sound(world);
        if (weir_world_hash(world) != weir_world_hash(copy)) fail_msg("it goes on in another way from update %d on", i);
    }
    weir_world_destroy(world);
    weir_world_destroy(copy);
}

// A lake of which the level falls leaves a puddle in each of many hollows: they are bodies of their own, and to drain one takes
// nothing from the others.
static void a_lake_leaves_a_puddle_in_each_of_many_hollows(void **state)
{
    (void)state;
    weir_world *world = make(104, 16, 104);
    const weir_box all = test_box(0, 0, 0, 104, 16, 104);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 104, 3, 104), 255));
    for (int32_t z = 1; z < 102; z += 3)
        for (int32_t x = 1; x < 102; x += 3) assert_ok(weir_world_dig(world, test_box(x, 1, z, x + 2, 3, z + 2)));
    test_fill(world, test_box(0, 1, 0, 104, 4, 104), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_add_drain(world, test_box(40, 3, 40, 60, 4, 60), 300, NULL));
    test_step(world, 320);
    assert_true(weir_world_box_sum(world, test_box(0, 3, 0, 104, 4, 104)).drops < 104 * 104 * 256);
    assert_ok(weir_world_remove(world, 1));
    settle_down(world, 200);
    const int64_t before = weir_world_box_sum(world, all).drops;
    for (int32_t i = 0; i < 4; i++) {
        assert_ok(weir_world_drain(world, test_box(1, 1, 1, 3, 3, 3)));
        test_step(world, 2);
    }
    assert_sound(world);
    const int64_t taken = before - weir_world_box_sum(world, all).drops;
    if (taken > (int64_t)9 * WEIR_FULL)
        fail_msg("%g cells of water were taken out of a hollow of 8", (double)taken / WEIR_FULL);
    weir_world_destroy(world);
}

// ---- Sides and far places ------------------------------------------------------------------------------------------------------

static void water_that_rises_through_an_open_top_leaves_the_world(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 12, 12, 12);
    def.open_sides = WEIR_SIDE_Y_MAX;
    weir_world *world = test_make(&def);
    test_fill(world, def.bounds, 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 6, 8, 6), 255));
    test_step(world, 100);
    assert_sound(world);
    const double held = (double)weir_world_ledger(world).held / WEIR_FULL;
    if (held > 12 * 12 * 12 - 6 * 8 * 6) fail_msg("%g cells are held", held);
    weir_world_destroy(world);
}

// What happens far away from the origin is what happens near it.
static void water_at_the_end_of_the_world_does_what_it_does_elsewhere(void **state)
{
    (void)state;
    static const int32_t places[] = {0, 999999984, -1000000000 + 16};
    float *fills[3];
    for (int32_t k = 0; k < 3; k++) {
        const int32_t a = places[k];
        weir_world_def def = weir_world_def_default();
        def.solver = WEIR_SOLVER_SETTLE;
        def.threads = 1;
        def.bounds = test_box(a - 16, a - 16, a - 16, a + 16, a + 16, a + 16);
        weir_world *world = test_make(&def);
        test_fill(world, test_box(a - 16, a - 4, a - 16, a, a + 12, a + 5), 1.0f);
        assert_ok(weir_world_build(world, test_box(a + 3, a - 16, a - 16, a + 5, a - 10, a + 16), 255));
        test_step(world, 60);
        assert_ok(weir_world_dig(world, test_box(a + 3, a - 16, a - 16, a + 5, a - 10, a + 16)));
        test_step(world, 60);
        assert_sound(world);
        fills[k] = test_fills(world, def.bounds);
        weir_world_destroy(world);
    }
    for (int32_t k = 1; k < 3; k++) assert_memory_equal(fills[k], fills[0], 32 * 32 * 32 * sizeof(float));
    for (int32_t k = 0; k < 3; k++) free(fills[k]);
}

// ---- Snapshots that lie --------------------------------------------------------------------------------------------------------

enum { HEADER = 40, AT_SUM = 32 };

static void seal(uint8_t *bytes, size_t size)
{
    const uint64_t sum = hash_bytes(bytes + HEADER, size - HEADER, 0);
    for (int32_t i = 0; i < 8; i++) bytes[AT_SUM + i] = (uint8_t)(sum >> 8 * i);
}

static weir_world *make_varied(void)
{
    weir_world *world = make(20, 20, 12);
    assert_ok(weir_world_build(world, test_box(9, 0, 0, 11, 12, 12), 255));
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 5, 2, 5), 100));
    test_fill(world, test_box(0, 0, 0, 9, 6, 12), 1.0f);
    test_fill(world, test_box(11, 0, 0, 20, 3, 12), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_dig(world, test_box(9, 2, 3, 11, 3, 5)));
    test_step(world, 3);
    test_fill(world, test_box(12, 15, 2, 15, 18, 6), 0.7f);
    return world;
}

// Whatever is changed, either the snapshot is refused with a sentence and the world is as it was, or the world is sound and goes on.
static void a_snapshot_that_lies_does_no_harm(void **state)
{
    (void)state;
    weir_world *source = make_varied(), *world = make(20, 20, 12);
    size_t size;
    uint8_t *bytes = save(source, &size), *lie = malloc(size);
    assert_non_null(lie);
    uint32_t random = 77;
    int32_t loaded = 0;
    const int32_t tries = test_length(6000, 1500);
    for (int32_t i = 0; i < tries; i++) {
        memcpy(lie, bytes, size);
        for (int32_t k = 0; k < 1 + i % 2; k++) {
            random = random * 1664525u + 1013904223u;
            // Most of a snapshot is fills: two changes of three hit its end, where the bodies are.
            const size_t most = i % 3 ? 200 : size - HEADER;
            const size_t at = size - 1 - (random >> 8) % most;
            random = random * 1664525u + 1013904223u;
            lie[at] = (uint8_t)(i % 5 == 0 ? 0xff : random >> 24);
        }
        seal(lie, size);
        const uint64_t before = weir_world_hash(world);
        if (weir_world_load_memory(world, lie, size) != WEIR_OK) {
            assert_true(strlen(weir_error_message()) > 0);
            assert_true(weir_world_hash(world) == before);
            continue;
        }
        loaded++;
        assert_sound(world);
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 20, 20, 6)));
        assert_sound(world);
        test_step(world, 2);
        assert_sound(world);
    }
    assert_true(loaded > 0 && loaded < tries);
    for (size_t cut = HEADER; cut < size; cut += 1 + (size - cut) / 40) {
        memcpy(lie, bytes, cut);
        for (int32_t i = 0; i < 8; i++) lie[16 + i] = lie[24 + i] = (uint8_t)((cut - HEADER) >> 8 * i);
        seal(lie, cut);
        assert_true(weir_world_load_memory(world, lie, cut) != WEIR_OK);
    }
    free(lie);
    free(bytes);
    weir_world_destroy(source);
    weir_world_destroy(world);
}

// The rim of a lake's bricks is built over, and the world saved before an update can notice that they are not needed any more.
static void a_brick_that_was_just_built_over_does_not_spoil_a_snapshot(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    test_fill(world, test_box(0, 0, 0, 16, 4, 16), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_build(world, test_box(8, 8, 8, 16, 16, 16), 255));
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 8, 8), 255));
    weir_world *copy = copy_of(world, 16, 16, 16);
    for (int32_t i = 0; i < 20; i++) {
        assert_true(weir_world_hash(copy) == weir_world_hash(world));
        test_step(world, 1);
        test_step(copy, 1);
        assert_sound(copy);
    }
    weir_world_destroy(world);
    weir_world_destroy(copy);
}

// The last that is saved is the last body: its volume, its level of 4 bytes, and a byte of flags.
static void a_level_that_does_not_follow_from_the_volume_is_refused(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    test_fill(world, test_box(0, 0, 0, 16, 1, 16), 0.5f);
    settle_down(world, 100);
    size_t size;
    uint8_t *bytes = save(world, &size);
    assert_ok(weir_world_load_memory(world, bytes, size));
    bytes[size - 4] += 0x10;
    seal(bytes, size);
    assert_int_equal(weir_world_load_memory(world, bytes, size), WEIR_ERROR_FORMAT);
    assert_non_null(strstr(weir_error_message(), "at a level of"));
    free(bytes);
    weir_world_destroy(world);
}

// Two lakes on both sides of a ridge that rises over them in the midst of its top cells: the bricks of the ridge rest beside both.
static void a_ridge_in_a_lake_that_was_two_wakes_of_it_once(void **state)
{
    (void)state;
    weir_world *world = make(64, 16, 16);
    int32_t most, most_of_one;
    assert_ok(weir_world_build(world, test_box(0, 0, 7, 64, 3, 8), 255));
    assert_ok(weir_world_build(world, test_box(0, 3, 7, 64, 4, 8), 200));
    for (int32_t side = 0; side < 2; side++) {
        const int32_t begin = side ? 8 : 0, end = side ? 16 : 7;
        test_fill(world, test_box(0, 0, begin, 64, 3, end), 1);
        test_fill(world, test_box(0, 3, begin, 64, 4, end), 0.375f);
    }
    settle_down(world, 200);
    count_outlets(world, &most, &most_of_one);
    assert_int_equal(most, 2);
    assert_int_equal(most_of_one, 1);
    assert_ok(weir_world_dig(world, test_box(60, 1, 7, 61, 3, 8)));
    settle_down(world, 200);
    assert_int_equal(store_used(&((const settle *)world->state)->bodies), 1);
    count_outlets(world, &most, &most_of_one);
    assert_int_equal(most_of_one, 1);
    assert_sound(world);
    // They wake when it comes over the ridge.
    test_fill(world, test_box(0, 3, 0, 64, 4, 7), 1);
    test_fill(world, test_box(0, 3, 8, 64, 4, 16), 1);
    test_step(world, 1);
    assert_true(weir_world_stats(world).awake_bricks >= 8);
    settle_down(world, 500);
    assert_sound(world);
    assert_true(weir_world_cell(world, (weir_coord){4, 3, 7}).fill > 0);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lake_that_is_drained_twice_gives_its_water_once),
        cmocka_unit_test(drains_in_one_place_take_no_more_than_there_is),
        cmocka_unit_test(to_fill_a_lake_twice_is_to_fill_it_once),
        cmocka_unit_test(water_finds_the_cells_that_a_lake_has_just_left),
        cmocka_unit_test(a_lake_whose_top_layer_is_built_over_goes_on_from_a_snapshot),
        cmocka_unit_test(a_closed_body_joins_one_with_a_higher_top_layer),
        cmocka_unit_test(water_that_is_pushed_up_a_shaft_rises_all_of_the_way),
        cmocka_unit_test(a_brick_of_many_puddles_goes_on_from_a_snapshot),
        cmocka_unit_test(a_lake_leaves_a_puddle_in_each_of_many_hollows),
        cmocka_unit_test(water_that_rises_through_an_open_top_leaves_the_world),
        cmocka_unit_test(water_at_the_end_of_the_world_does_what_it_does_elsewhere),
        cmocka_unit_test(a_snapshot_that_lies_does_no_harm),
        cmocka_unit_test(a_brick_that_was_just_built_over_does_not_spoil_a_snapshot),
        cmocka_unit_test(a_ridge_in_a_lake_that_was_two_wakes_of_it_once),
        cmocka_unit_test(a_level_that_does_not_follow_from_the_volume_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
