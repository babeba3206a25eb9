// Which bricks are there, the frozen view of them, and the state hash over them, on worlds made by hand without a solver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_memory.h"

#include "test_cells.h"

enum { GRID = 6, GRID_BRICKS = GRID * GRID * GRID };

static weir_coord coord_of(int32_t i)
{
    return (weir_coord){i % GRID - 3, i / GRID % GRID - 3, i / GRID / GRID - 3};
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Solvers that never update, one of them without parameters.
static const param_def DUST = {"dust", PARAM_float, offsetof(weir_params, momentum.dust), 1, 0, 1, 0, "some"};
static const solver_table nobodys = {.id = WEIR_SOLVER_MOMENTUM,
                                     .params = {&DUST, 1},
                                     .unit = 1,
                                     .cell_max = WEIR_FULL,
                                     .view = cells_view,
                                     .freeze = cells_freeze,
                                     .hash = cells_hash,
                                     .stats = cells_stats};
static solver_table others;

static void make_world(weir_world *world, weir_box bounds, uint32_t open_sides, test_memory *counted)
{
    memset(world, 0, sizeof *world);
    world->solver = &nobodys;
    world->change = 1;
    world->mem = memory_make(counted ? test_memory_hooks(counted) : (weir_allocator){0});
    assert_int_equal(workers_create(&world->mem, 1, (weir_jobs){0}, &world->workers), WEIR_OK);
    terrain_create(&world->mem, bounds, open_sides, NULL, NULL, &world->terrain);
    // The channels of the solver that the test takes the place of.
    weir_world_def def = weir_world_def_default();
    weir_world *whole;
    assert_int_equal(weir_world_create(&def, &whole), WEIR_OK);
    const cell_layout *layout = test_cells(whole)->layout;
    weir_world_destroy(whole);
    world->state = calloc(1, sizeof(fluid_cells));
    assert_non_null(world->state);
    assert_int_equal(cells_create(world->state, world, &def, layout), WEIR_OK);
}

static void end_world(weir_world *world)
{
    world_thaw(world);
    cells_destroy(test_cells(world));
    free(world->state);
    terrain_destroy(&world->terrain);
    workers_destroy(world->workers);
    assert_int_equal(world->mem.bytes, 0);
}

// One drop in the middle of a brick, or none.
static void set_drop(weir_world *world, int32_t brick, int32_t drops)
{
    bricks_ints(test_pool(world), CHANNEL_MASS, brick)[300] = drops;
    assert_int_equal(cells_count_brick(test_cells(world), test_pool(world), brick), drops);
    assert_int_equal(test_pool(world)->wet[brick], drops > 0);
}

static void put_drop(weir_world *world, weir_coord brick)
{
    weir_coord cell = {8 * brick.x, 8 * brick.y, 8 * brick.z};
    assert_int_equal(cells_touch(test_cells(world), (weir_box){cell, {cell.x + 1, cell.y + 1, cell.z + 1}}), WEIR_OK);
    int32_t there = bricks_find(test_pool(world), brick);
    assert_int_not_equal(there, BRICK_NOTHING);
    set_drop(world, there, 1);
}

static void set_terrain(weir_world *world, weir_coord brick, uint8_t share)
{
    assert_int_equal(terrain_prepare(&world->terrain, brick), WEIR_OK);
    memset(terrain_write(&world->terrain, brick), share, BRICK_CELLS);
    terrain_tidy(&world->terrain, brick);
    cells_terrain_changed_brick(test_cells(world), brick);
}

// The definition, brick by brick: wet, or not solid throughout and beside a wet one.
static void check_bricks(const weir_world *world)
{
    const brick_pool *pool = test_pool(world);
    int32_t count = 0;
    for (int32_t z = -5; z <= 4; z++) {
        for (int32_t y = -5; y <= 4; y++) {
            for (int32_t x = -5; x <= 4; x++) {
                weir_coord coord = {x, y, z};
                bool near_wet = false;
                for (int32_t k = 0; k < 27; k++) near_wet |= pool->wet[bricks_find(pool, brick_neighbour(coord, k))];
                brick_mask open;
                bool wanted = terrain_open(&world->terrain, coord, &open) && near_wet;
                int32_t brick = bricks_find(pool, coord);
                assert_int_equal(brick != BRICK_NOTHING, wanted);
                if (brick) assert_memory_equal(&open, &pool->open[brick], sizeof open);
                count += wanted;
            }
        }
    }
    assert_int_equal(pool->live, count);
}

static void bricks_live_beside_water_and_nowhere_else(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{-20, -24, -24}, {24, 24, 24}}, WEIR_SIDE_Y_MAX | WEIR_SIDE_X_MIN, NULL);
    uint32_t seed = 11;
    for (int32_t i = 0; i < GRID_BRICKS; i++)
        if (random_next(&seed) % 4 == 0) set_terrain(&world, coord_of(i), 255);

    for (int32_t round = 0; round < 300; round++) {
        weir_coord coord = coord_of((int32_t)(random_next(&seed) % GRID_BRICKS));
        int32_t brick = bricks_find(test_pool(&world), coord);
        uint32_t what = random_next(&seed) % 100;
        if (what < 12 && !(brick && test_pool(&world)->wet[brick])) {
            set_terrain(&world, coord, what < 5 ? 255 : 0);
        } else if (what < 50) {
            // As a solver does it: only bricks that are there become wet.
            if (brick) set_drop(&world, brick, 1);
        } else if (what < 60) {
            brick_mask open;
            if (terrain_inside(&world.terrain, (weir_coord){8 * coord.x, 8 * coord.y, 8 * coord.z}) &&
                terrain_open(&world.terrain, coord, &open))
                put_drop(&world, coord);
        } else {
            if (brick) set_drop(&world, brick, 0);
        }
        if (round % 100 == 99)
            for (int32_t b = 1; b < test_pool(&world)->end; b++)
                if (test_pool(&world)->alive[b]) set_drop(&world, b, 0);
        assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
        check_bricks(&world);
    }
    end_world(&world);
}

static void nothing_changes_when_no_brick_became_wet_or_dry(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {24, 24, 24}}, 0, NULL);
    put_drop(&world, (weir_coord){0, 0, 0});
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    assert_int_equal(test_pool(&world)->live, 8);
    uint64_t version = test_pool(&world)->version;
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    assert_true(test_pool(&world)->version == version);
    end_world(&world);
}

static int32_t questions;

static void solid_but_for_one_brick(void *user, weir_coord origin, uint8_t shares[512])
{
    (void)user;
    questions++;
    memset(shares, origin.x == 0 && origin.y == 0 && origin.z == 0 ? 0 : 255, 512);
}

static void solid_neighbours_are_asked_for_once(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {0, 0, 0}}, 0, NULL);
    world.terrain.source = solid_but_for_one_brick;
    questions = 0;
    put_drop(&world, (weir_coord){0, 0, 0});
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    int32_t asked = questions;
    for (int32_t i = 0; i < 10; i++) {
        test_pool(&world)->topology_dirty = true;
        assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    }
    assert_int_equal(questions, asked);
    cells_terrain_changed_brick(test_cells(&world), (weir_coord){1, 1, 0});
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    assert_int_equal(questions, asked + 1);
    end_world(&world);
}

static void touching_a_box_makes_its_open_bricks_in_memory_order(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {64, 64, 64}}, 0, NULL);
    set_terrain(&world, (weir_coord){1, 1, 1}, 255);
    assert_int_equal(cells_touch(test_cells(&world), (weir_box){{-100, 4, 4}, {25, 25, 1000}}), WEIR_OK);
    assert_int_equal(test_pool(&world)->live, 4 * 4 * 8 - 1);
    assert_int_equal(bricks_find(test_pool(&world), (weir_coord){1, 1, 1}), BRICK_NOTHING);
    int32_t order[128];
    bricks_sorted(test_pool(&world), order);
    for (int32_t i = 0; i < test_pool(&world)->live; i++) assert_int_equal(order[i], i + 1);
    end_world(&world);
}

static void a_filled_box_grows_the_pool_once_and_wastes_nothing(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {0, 0, 0}}, 0, NULL);
    assert_int_equal(cells_touch(test_cells(&world), (weir_box){{0, 0, 0}, {80, 80, 80}}), WEIR_OK);
    int32_t capacity = test_pool(&world)->capacity;
    for (int32_t b = 1; b < test_pool(&world)->end; b++) set_drop(&world, b, 1);
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    assert_int_equal(test_pool(&world)->live, 12 * 12 * 12);
    assert_int_equal(test_pool(&world)->capacity, capacity);
    assert_int_equal(capacity, 12 * 12 * 12 + 1);
    end_world(&world);
}

static void boxes_that_no_world_can_hold_are_refused(void **state)
{
    (void)state;
    weir_world world;
    const int32_t far = 2000000000;
    make_world(&world, (weir_box){{0, 0, 0}, {0, 0, 0}}, 0, NULL);
    assert_int_equal(cells_touch(test_cells(&world), (weir_box){{-far, -far, -far}, {far, far, far}}), WEIR_ERROR_LIMIT);
    assert_int_equal(cells_touch(test_cells(&world), (weir_box){{0, 0, 0}, {8, 8, 8 * (BRICK_MAX + 1)}}), WEIR_ERROR_LIMIT);
    assert_int_equal(test_pool(&world)->live, 0);
    end_world(&world);
}

static void boxes_are_cut_to_the_world(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {16, 16, 16}}, 0, NULL);
    weir_box box = {{-5, 3, INT32_MIN}, {5, 40, INT32_MAX}};
    assert_true(world_clip(&world, &box));
    assert_memory_equal(&box, (&(weir_box){{0, 3, 0}, {5, 16, 16}}), sizeof box);
    box = (weir_box){{16, 0, 0}, {20, 5, 5}};
    assert_false(world_clip(&world, &box));
    box = (weir_box){{5, 5, 5}, {5, 9, 9}};
    assert_false(world_clip(&world, &box));
    end_world(&world);
    make_world(&world, (weir_box){{0, 0, 0}, {0, 0, 0}}, 0, NULL);
    box = (weir_box){{INT32_MIN, 0, 0}, {INT32_MAX, 1, 1}};
    assert_true(world_clip(&world, &box));
    assert_int_equal(box.min.x, -WEIR_COORD_LIMIT);
    assert_int_equal(box.max.x, WEIR_COORD_LIMIT);
    end_world(&world);
}

static void water_at_the_end_of_coordinates_has_no_bricks_beyond(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {0, 0, 0}}, 0, NULL);
    const int32_t last = WEIR_COORD_LIMIT / 8 - 1;
    put_drop(&world, (weir_coord){last, last, last});
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    assert_int_equal(test_pool(&world)->live, 8);
    end_world(&world);
}

static void memory_that_fails_leaves_the_bricks_as_they_were(void **state)
{
    (void)state;
    int64_t n = 1;
    bool failed = true;
    for (; failed; n++) {
        test_memory counted = {0};
        weir_world world;
        make_world(&world, (weir_box){{-24, -24, -24}, {24, 24, 24}}, 0, &counted);
        put_drop(&world, (weir_coord){-2, -2, -2});
        put_drop(&world, (weir_coord){2, 2, 2});
        assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
        check_bricks(&world);

        counted.fail_at = counted.calls + n;
        counted.fail_after = true;
        set_drop(&world, bricks_find(test_pool(&world), (weir_coord){2, 2, 2}), 0);
        for (int32_t k = 0; k < 27; k++)
            set_drop(&world, bricks_find(test_pool(&world), brick_neighbour((weir_coord){-2, -2, -2}, k)), 1);
        int32_t live = test_pool(&world)->live;
        weir_status status = cells_topology(test_cells(&world));
        if (status != WEIR_OK) {
            assert_int_equal(status, WEIR_ERROR_MEMORY);
            assert_int_equal(test_pool(&world)->live, live);
        }
        weir_status touched = cells_touch(test_cells(&world), (weir_box){{0, 0, 0}, {24, 24, 24}});
        assert_true(touched == WEIR_OK || touched == WEIR_ERROR_MEMORY);
        failed = counted.failures > 0;

        counted.fail_at = 0;
        assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
        check_bricks(&world);
        end_world(&world);
        assert_int_equal(counted.bytes, 0);
    }
    assert_true(n > 10);
}

static void a_frozen_view_stays_while_the_world_goes_on(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {64, 64, 64}}, 0, NULL);
    put_drop(&world, (weir_coord){3, 3, 3});
    put_drop(&world, (weir_coord){4, 3, 3});
    world_source emitter = {.kind = SOURCE_EMITTER, .owed = 5};
    world.sources = &emitter;
    world.source_count = world.source_room = 1;
    assert_int_equal(cells_topology(test_cells(&world)), WEIR_OK);
    uint64_t before = world_hash(&world);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(world_freeze(&world), WEIR_OK);
        world.busy = true;
        set_drop(&world, bricks_find(test_pool(&world), (weir_coord){3, 3, 3}), 7);
        emitter.owed++;
        world.update++;
        assert_true(weir_world_hash(&world) == before);
        const brick_pool *frozen = &test_cells(&world)->frozen;
        assert_ptr_equal(world_fluid(&world).coord, frozen->coord);
        int32_t brick = bricks_find(frozen, (weir_coord){3, 3, 3});
        assert_int_equal(bricks_ints(frozen, CHANNEL_MASS, brick)[300], i == 0 ? 1 : 7);
        assert_int_equal(frozen->near[brick][NEAR(1, 0, 0)], bricks_find(frozen, (weir_coord){4, 3, 3}));
        assert_null(frozen->channel[CHANNEL_MASS_NEXT]);
        world.busy = false;
        assert_true(weir_world_hash(&world) != before);
        before = world_hash(&world);
    }
    world.sources = NULL;
    world.source_count = 0;
    end_world(&world);
}

static void the_hash_does_not_depend_on_the_order_of_bricks(void **state)
{
    (void)state;
    weir_world a, b;
    weir_box bounds = {{0, 0, 0}, {64, 64, 64}};
    make_world(&a, bounds, 0, NULL);
    make_world(&b, bounds, 0, NULL);
    for (int32_t i = 0; i < 8; i++) put_drop(&a, (weir_coord){i, i, 7 - i});
    for (int32_t i = 7; i >= 0; i--) put_drop(&b, (weir_coord){i, i, 7 - i});
    assert_true(world_hash(&a) == world_hash(&b));

    // Empty bricks do not count.
    assert_int_equal(cells_topology(test_cells(&b)), WEIR_OK);
    assert_true(test_pool(&b)->live > test_pool(&a)->live);
    assert_true(world_hash(&a) == world_hash(&b));
    end_world(&a);
    end_world(&b);
}

static void the_hash_depends_on_all_that_the_next_update_does(void **state)
{
    (void)state;
    weir_world world;
    make_world(&world, (weir_box){{0, 0, 0}, {64, 64, 64}}, 0, NULL);
    put_drop(&world, (weir_coord){2, 2, 2});
    world_source source = {.kind = SOURCE_DRAIN};
    world.sources = &source;
    world.source_count = 1;
    int32_t brick = bricks_find(test_pool(&world), (weir_coord){2, 2, 2});
    uint64_t hash = world_hash(&world);

#define CHANGES_THE_HASH(change)             \
    change;                                  \
    assert_true(world_hash(&world) != hash); \
    hash = world_hash(&world)
    const int32_t channels[] = {CHANNEL_FLOW_X, CHANNEL_FLOW_Y, CHANNEL_FLOW_Z, CHANNEL_PRESSURE};
    for (int32_t i = 0; i < 4; i++) {
        CHANGES_THE_HASH(bricks_floats(test_pool(&world), channels[i], brick)[511] = 0.5f);
    }
    CHANGES_THE_HASH(bricks_ints(test_pool(&world), CHANNEL_MASS, brick)[0] = 1);
    CHANGES_THE_HASH(test_pool(&world)->open[brick].plane[7] ^= 1);
    CHANGES_THE_HASH(set_terrain(&world, (weir_coord){6, 6, 6}, 9));
    CHANGES_THE_HASH(world.terrain.bounds.max.z++);
    CHANGES_THE_HASH(world.terrain.open_sides = WEIR_SIDE_Y_MAX);
    CHANGES_THE_HASH(world.params.gravity.x = 1);
    CHANGES_THE_HASH(world.params.momentum.dust = 1);
    world.params.momentum.max_flow = world.params.classic.max_flow = 1;  // none of this solver's
    assert_true(world_hash(&world) == hash);
    others = nobodys;
    others.id = WEIR_SOLVER_CLASSIC;
    others.params = (param_table){0};
    CHANGES_THE_HASH(world.solver = &others);
    world.params.momentum.dust = 0.5f;
    assert_true(world_hash(&world) == hash);
    CHANGES_THE_HASH(world.params.noise_seed++);
    CHANGES_THE_HASH(world.update++);
    CHANGES_THE_HASH(source.kind = SOURCE_EMITTER);
    CHANGES_THE_HASH(source.box.max.y = 3);
    CHANGES_THE_HASH(source.rate = 3);
    CHANGES_THE_HASH(source.owed = 3);
    CHANGES_THE_HASH(source.force.z = 3);
    CHANGES_THE_HASH(world.source_count = 0);
    bricks_ints(test_pool(&world), CHANNEL_MASS_NEXT, brick)[0] = 1;
    assert_true(world_hash(&world) == hash);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bricks_live_beside_water_and_nowhere_else),
        cmocka_unit_test(nothing_changes_when_no_brick_became_wet_or_dry),
        cmocka_unit_test(solid_neighbours_are_asked_for_once),
        cmocka_unit_test(touching_a_box_makes_its_open_bricks_in_memory_order),
        cmocka_unit_test(a_filled_box_grows_the_pool_once_and_wastes_nothing),
        cmocka_unit_test(boxes_that_no_world_can_hold_are_refused),
        cmocka_unit_test(boxes_are_cut_to_the_world),
        cmocka_unit_test(water_at_the_end_of_coordinates_has_no_bricks_beyond),
        cmocka_unit_test(memory_that_fails_leaves_the_bricks_as_they_were),
        cmocka_unit_test(a_frozen_view_stays_while_the_world_goes_on),
        cmocka_unit_test(the_hash_does_not_depend_on_the_order_of_bricks),
        cmocka_unit_test(the_hash_depends_on_all_that_the_next_update_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
