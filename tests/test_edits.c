// Edits: fills, drains, terrain, flow, emitters, and the queue. After each of them the account must be exact, and after each
// that is refused the world must be as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"

#include "test_cells.h"
#include <math.h>
#include <string.h>

static const weir_box SMALL = {{-12, -12, -12}, {12, 12, 12}};
static const weir_box ALL = {{-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT},
                             {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT}};

static weir_box box(int32_t x0, int32_t y0, int32_t z0, int32_t x1, int32_t y1, int32_t z1)
{
    return (weir_box){{x0, y0, z0}, {x1, y1, z1}};
}

static weir_world *make(weir_box bounds, test_memory *counted)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = bounds;
    def.threads = 1;
    if (counted) def.allocator = test_memory_hooks(counted);
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    return world;
}

static weir_world *make_unbounded(void)
{
    return make((weir_box){{0, 0, 0}, {0, 0, 0}}, NULL);
}

// Fills are exact, so 0.5 and 0.25 are too.
static void assert_held(const weir_world *world, double cells)
{
    weir_ledger ledger = weir_world_ledger(world);
    assert_int_equal(ledger.drift, 0);
    assert_true((double)ledger.held == cells * WEIR_FULL);
}

static void assert_step(weir_world *world, int32_t count)
{
    for (int32_t i = 0; i < count; i++) assert_int_equal(weir_world_step(world), WEIR_OK);
}

// ---- Fills and drains ------------------------------------------------------------------------------------------------------

static void a_fill_brings_cells_up_and_down_and_books_both(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_fill(world, box(-3, -3, -3, 3, 3, 3), WEIR_WATER, 0.5f), WEIR_OK);
    assert_held(world, 108);
    assert_int_equal(weir_world_fill(world, box(-3, -3, -3, 3, 0, 3), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(-3, 0, -3, 3, 3, 3), WEIR_WATER, 0.25f), WEIR_OK);
    assert_held(world, 108 + 27);
    weir_ledger ledger = weir_world_ledger(world);
    assert_true(ledger.added == (int64_t)162 * WEIR_FULL && ledger.removed == (int64_t)27 * WEIR_FULL);
    assert_true(weir_world_cell(world, (weir_coord){2, -1, -3}).fill == 1);
    assert_true(weir_world_cell(world, (weir_coord){2, 0, -3}).fill == 0.25f);
    assert_true(weir_world_cell(world, (weir_coord){3, 0, -3}).fill == 0);
    assert_int_equal(weir_world_drain(world, box(-3, -3, -3, 3, 3, 3)), WEIR_OK);
    assert_held(world, 0);
    weir_world_destroy(world);
}

static void a_sphere_has_the_cells_whose_centre_it_has(void **state)
{
    weir_world *world = make(SMALL, NULL);
    const weir_sphere sphere = {{0.3f, -1.2f, 4.9f}, 3.7f};
    assert_int_equal(weir_world_fill_sphere(world, sphere, WEIR_WATER, 1), WEIR_OK);
    int32_t inside = 0;
    for (int32_t z = -12; z < 12; z++) {
        for (int32_t y = -12; y < 12; y++) {
            for (int32_t x = -12; x < 12; x++) {
                double a = x + 0.5 - sphere.centre.x, b = y + 0.5 - sphere.centre.y, c = z + 0.5 - sphere.centre.z;
                bool in = a * a + b * b + c * c <= (double)sphere.radius * sphere.radius;
                assert_true(weir_world_cell(world, (weir_coord){x, y, z}).fill == in);
                inside += in;
            }
        }
    }
    assert_held(world, inside);
    assert_int_equal(weir_world_drain_sphere(world, sphere), WEIR_OK);
    assert_held(world, 0);
    weir_world_destroy(world);
}

// Where a float would tell only every eighth, or every sixty-fourth, cell from the next.
static void a_sphere_far_away_is_as_round_as_here(void **state)
{
    static const int32_t places[] = {0, 100000003, -100000003, 999999961, -999999983};
    enum { REACH = 6 };
    for (int32_t i = 0; i < 5; i++) {
        const int32_t at = places[i];
        weir_world *world = make_unbounded();
        const weir_sphere sphere = {{at + 0.25, at - 1.25, at + 4.875}, 3.7};
        assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{at - 2.5, at + 0.5, at + 4.5}, 1.2}, 255), WEIR_OK);
        assert_int_equal(weir_world_fill_sphere(world, sphere, WEIR_WATER, 1), WEIR_OK);
        assert_int_equal(weir_world_drain_sphere(world, (weir_sphere){{at + 0.5, at - 1.5, at + 4.5}, 0.25}), WEIR_OK);
        assert_int_equal(weir_world_dig_sphere(world, (weir_sphere){{at - 2.5, at + 0.5, at + 4.5}, 0.25}), WEIR_OK);
        int32_t inside = 0;
        for (int32_t cell = 0; cell < 8 * REACH * REACH * REACH; cell++) {
            const int32_t x = cell % (2 * REACH) - REACH, y = cell / (2 * REACH) % (2 * REACH) - REACH;
            const int32_t z = cell / (4 * REACH * REACH) - REACH + 4;
            const double a = x + 0.5 - 0.25, b = y + 0.5 + 1.25, c = z + 0.5 - 4.875;
            const int32_t from_rock = abs(x + 3) + abs(y) + abs(z - 4);  // its centre and the six cells around that
            const bool wet = a * a + b * b + c * c <= 3.7 * 3.7 && from_rock > 1 && !(x == 0 && y == -2 && z == 4);
            const weir_cell found = weir_world_cell(world, (weir_coord){at + x, at + y, at + z});
            assert_true(found.fill == wet);
            assert_int_equal(found.solid, from_rock == 1 ? 255 : 0);
            inside += wet;
        }
        assert_held(world, inside);
        weir_world_destroy(world);
    }

    // At the end of the world half of a sphere is left, and beyond it none.
    weir_world *world = make_unbounded();
    const double end = WEIR_COORD_LIMIT;
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{end, end, -end}, 1}, WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 1);
    assert_true(weir_world_cell(world, (weir_coord){999999999, 999999999, -1000000000}).fill == 1);
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{0, end + 3, 0}, 2.5}, WEIR_WATER, 1), WEIR_ERROR_OUTSIDE);
    // The radius is told as finely: from far away, a sphere whose face goes between two cells.
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 2, 1, 1), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_drain_sphere(world, (weir_sphere){{-123456789.5, 0.5, 0.5}, 123456790.5}), WEIR_OK);
    assert_true(weir_world_cell(world, (weir_coord){0, 0, 0}).fill == 0 &&
                weir_world_cell(world, (weir_coord){1, 0, 0}).fill == 1);
    weir_world_destroy(world);
}

static void what_reaches_over_the_bounds_is_cut_and_what_lies_outside_refused(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_fill(world, box(10, 10, 10, 50, 50, 50), WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 8);
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, 1e30f}, WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 24 * 24 * 24);
    assert_int_equal(weir_world_fill(world, box(12, 0, 0, 20, 4, 4), WEIR_WATER, 1), WEIR_ERROR_OUTSIDE);
    assert_non_null(strstr(weir_error_message(), "(12, 0, 0) to (20, 4, 4)"));
    assert_non_null(strstr(weir_error_message(), "(-12, -12, -12) to (12, 12, 12)"));
    assert_int_equal(weir_world_drain_sphere(world, (weir_sphere){{3e38f, 0, 0}, 2}), WEIR_ERROR_OUTSIDE);
    assert_held(world, 24 * 24 * 24);
    weir_world_destroy(world);
}

static void to_fill_with_nothing_or_to_drain_makes_no_bricks(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, ALL, WEIR_WATER, 0), WEIR_OK);
    assert_int_equal(weir_world_fill(world, ALL, WEIR_NOTHING, 0), WEIR_OK);
    assert_int_equal(weir_world_drain(world, ALL), WEIR_OK);
    assert_int_equal(weir_world_bricks(world, NULL, 0), 0);
    weir_world_destroy(world);
}

static void the_whole_of_an_endless_world_is_drained_by_its_bricks(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, box(-900000000, 5, 5, -899999990, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(900000000, 5, 5, 900000010, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 180);
    assert_int_equal(weir_world_drain(world, ALL), WEIR_OK);
    assert_held(world, 0);
    weir_world_destroy(world);
}

static void a_fill_that_no_world_can_hold_is_refused(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, ALL, WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_build(world, ALL, 255), WEIR_ERROR_LIMIT);
    assert_held(world, 0);
    weir_world_destroy(world);
}

static void a_drain_leaves_no_flow_and_no_pressure_behind(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_fill(world, box(-12, -12, -12, 0, 8, 12), WEIR_WATER, 1), WEIR_OK);
    assert_step(world, 10);
    assert_true(weir_world_box_sum(world, SMALL).max_flow > 0);
    assert_int_equal(weir_world_drain(world, SMALL), WEIR_OK);
    for (int32_t z = -12; z < 12; z++) {
        for (int32_t y = -12; y < 12; y++) {
            for (int32_t x = -12; x < 12; x++) {
                weir_cell cell = weir_world_cell(world, (weir_coord){x, y, z});
                assert_true(cell.flow.x == 0 && cell.flow.y == 0 && cell.flow.z == 0 && cell.pressure == 0 && cell.fill == 0);
            }
        }
    }
    weir_world_destroy(world);
}

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

// All six faces of a cell, from the inside: the lower ones are its own, the upper ones its neighbours'.
static bool shut(const weir_world *world, weir_coord c)
{
    const brick_pool *pool = test_pool(world);
    for (int32_t axis = 0; axis < 3; axis++) {
        weir_coord next = {c.x + (axis == 0), c.y + (axis == 1), c.z + (axis == 2)};
        int32_t here = bricks_find(pool, brick_of_cell(c)), there = bricks_find(pool, brick_of_cell(next));
        if (bricks_floats(pool, CHANNEL_FLOW_X + axis, here)[cell_index(c)] != 0) return false;
        if (bricks_floats(pool, CHANNEL_FLOW_X + axis, there)[cell_index(next)] != 0) return false;
    }
    return true;
}

static void a_cell_built_over_gives_its_water_to_the_account_and_shuts_its_faces(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_fill(world, SMALL, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_set_flow(world, SMALL, (weir_vec){0.25f, 0.5f, -0.5f}), WEIR_OK);
    const weir_coord rim = {7, 7, 7};  // its upper faces belong to three other bricks
    assert_false(shut(world, rim));
    assert_int_equal(weir_world_build(world, box(7, 7, 7, 8, 8, 8), 128), WEIR_OK);
    assert_true(shut(world, rim));
    assert_held(world, 24 * 24 * 24 - 1);
    weir_cell cell = weir_world_cell(world, rim);
    assert_true(cell.solid == 128 && cell.fill == 0 && cell.pressure == 0 && cell.material == WEIR_NOTHING);
    assert_true(weir_world_ledger(world).removed == WEIR_FULL);

    assert_int_equal(weir_world_build(world, box(0, 0, 0, 1, 1, 1), 127), WEIR_OK);
    assert_true(weir_world_cell(world, (weir_coord){0, 0, 0}).fill == 1);  // less than half solid is open
    assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{0, 0, 0}, 100}, 255), WEIR_OK);
    assert_held(world, 0);
    assert_int_equal(weir_world_fill(world, SMALL, WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 0);
    assert_int_equal(weir_world_dig_sphere(world, (weir_sphere){{0, 0, 0}, 0.9f}), WEIR_OK);
    assert_int_equal(weir_world_dig(world, box(-12, -12, -12, -11, -11, -11)), WEIR_OK);
    assert_int_equal(weir_world_fill(world, SMALL, WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 8 + 1);
    weir_world_destroy(world);
}

static void water_runs_into_what_is_dug(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_build(world, box(-12, -12, -12, 12, 0, 12), 255), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(-12, 0, -12, 12, 4, 12), WEIR_WATER, 1), WEIR_OK);
    assert_step(world, 3);
    assert_int_equal(weir_world_dig(world, box(0, -10, 0, 3, 0, 3)), WEIR_OK);
    assert_step(world, 60);
    assert_true(weir_world_cell(world, (weir_coord){1, -10, 1}).fill > 0.5f);
    assert_held(world, 24 * 24 * 4);
    weir_world_destroy(world);
}

static void game_terrain(void *user, weir_coord origin, uint8_t shares[512])
{
    int32_t floor_at = *(int32_t *)user;
    for (int32_t i = 0; i < 512; i++) shares[i] = origin.y + (i >> 3 & 7) < floor_at ? 255 : 0;
}

static void terrain_of_the_game_is_asked_again_when_it_says_so(void **state)
{
    int32_t floor_at = 0;
    weir_world_def def = weir_world_def_default();
    def.bounds = SMALL;
    def.threads = 1;
    def.terrain = game_terrain;
    def.terrain_user = &floor_at;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, SMALL, WEIR_WATER, 1), WEIR_OK);
    assert_held(world, 24 * 12 * 24);
    floor_at = 3;
    assert_held(world, 24 * 12 * 24);
    assert_int_equal(weir_terrain_changed(world, box(-12, 0, -12, 12, 3, 12)), WEIR_OK);
    assert_held(world, 24 * 9 * 24);
    assert_int_equal(weir_world_dig(world, SMALL), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{0, 0, 0}, 4}, 200), WEIR_ERROR_UNSUPPORTED);
    assert_held(world, 24 * 9 * 24);
    weir_world_destroy(world);
}

// ---- Bad input -------------------------------------------------------------------------------------------------------------

static void what_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
    weir_world *world = make(SMALL, NULL);
    assert_int_equal(weir_world_fill(world, box(-3, -3, -3, 3, 3, 3), WEIR_WATER, 0.5f), WEIR_OK);
    const uint64_t hash = weir_world_hash(world);
    const weir_box one = box(0, 0, 0, 1, 1, 1), none = box(0, 0, 0, 0, 1, 1), turned = box(0, 5, 0, 1, 4, 1);
    const weir_box away = box(INT32_MIN, INT32_MIN, INT32_MIN, -1000, INT32_MAX, INT32_MAX);
    int32_t id = -7;
    const weir_status answers[] = {
        weir_world_fill(world, one, WEIR_WATER, NAN),
        weir_world_fill(world, one, WEIR_WATER, -0.1f),
        weir_world_fill(world, one, WEIR_WATER, 1.1f),
        weir_world_fill(world, one, WEIR_WATER, INFINITY),
        weir_world_fill(world, one, WEIR_NOTHING, 1),
        weir_world_fill(world, one, WEIR_MATERIALS_BUILT_IN, 1),
        weir_world_fill(world, none, WEIR_WATER, 1),
        weir_world_fill(world, turned, WEIR_WATER, 1),
        weir_world_drain(world, none),
        weir_world_fill_sphere(world, (weir_sphere){{NAN, 0, 0}, 1}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{0, INFINITY, 0}, 1}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, NAN}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, 0}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, INFINITY}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{1e200, 0, 0}, 1e200}, WEIR_WATER, 1),
        weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, 1e200}, WEIR_WATER, 1),
        weir_world_build(world, one, 0),
        weir_world_build(world, turned, 255),
        weir_world_dig(world, none),
        weir_terrain_changed(world, none),
        weir_world_set_flow(world, one, (weir_vec){0, NAN, 0}),
        weir_world_set_flow(world, one, (weir_vec){0, 0, 8.5f}),
        weir_world_set_channel(world, one, "dye", 1),
        weir_world_add_emitter(world, one, WEIR_WATER, NAN, &id),
        weir_world_add_emitter(world, one, WEIR_WATER, 0, &id),
        weir_world_add_emitter(world, one, WEIR_WATER, -1, &id),
        weir_world_add_emitter(world, one, WEIR_WATER, 2e6f, &id),
        weir_world_add_emitter(world, one, WEIR_WATER, 1e-30f, &id),
        weir_world_add_emitter(world, one, WEIR_NOTHING, 1, &id),
        weir_world_add_emitter(world, none, WEIR_WATER, 1, &id),
        weir_world_add_drain(world, one, INFINITY, &id),
        weir_world_add_force(world, one, (weir_vec){NAN, 0, 0}, &id),
        weir_world_add_force(world, one, (weir_vec){0, 2, 0}, &id),
        weir_world_remove(world, 0),
        weir_world_remove(world, 1),
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) assert_int_equal(answers[i], WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_build(world, away, 255), WEIR_ERROR_OUTSIDE);
    assert_int_equal(weir_world_add_force(world, away, (weir_vec){0, 0, 0}, &id), WEIR_ERROR_OUTSIDE);
    assert_int_equal(id, -7);
    assert_true(weir_world_hash(world) == hash);
    weir_world_destroy(world);

    world = make_unbounded();
    assert_int_equal(weir_world_add_emitter(world, box(0, 0, 0, 257, 256, 256), WEIR_WATER, 1, NULL), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_add_drain(world, ALL, 1, NULL), WEIR_ERROR_LIMIT);
    weir_world_destroy(world);
}

// Runs an edit with the first, the second, the third ... request for memory refused, until it succeeds.
static void assert_whole_without_memory(weir_status edit(weir_world *world))
{
    test_memory counted = {0};
    weir_world *world = make(SMALL, &counted);
    assert_int_equal(weir_world_build(world, box(-12, -12, -12, 12, -11, 12), 200), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 1, 1, 1), WEIR_WATER, 0.5f), WEIR_OK);
    const uint64_t hash = weir_world_hash(world);
    const int32_t terrain_bricks = world->terrain.brick_count;
    int32_t failures = 0;
    for (;; failures++) {
        counted.fail_at = counted.calls + 1 + failures;
        counted.fail_after = true;
        weir_status status = edit(world);
        counted.fail_at = 0;
        if (status == WEIR_OK) break;
        assert_int_equal(status, WEIR_ERROR_MEMORY);
        assert_true(weir_world_hash(world) == hash);
        assert_int_equal(world->terrain.brick_count, terrain_bricks);
        assert_held(world, 0.5);
    }
    assert_true(failures > 0);
    assert_true(weir_world_hash(world) != hash);
    weir_world_destroy(world);
    assert_int_equal(counted.bytes, 0);
}

static weir_status edit_fill(weir_world *world)
{
    return weir_world_fill(world, SMALL, WEIR_WATER, 1);
}

static weir_status edit_build(weir_world *world)
{
    return weir_world_build(world, box(-12, -12, -12, 12, 11, 11), 255);
}

static weir_status set_some_flow(weir_world *world)
{
    return weir_world_set_flow(world, SMALL, (weir_vec){0.5f, 0, 0});
}

static weir_status edit_emitter(weir_world *world)
{
    return weir_world_add_emitter(world, SMALL, WEIR_WATER, 1, NULL);
}

// What an update does for emitters and drains before anything moves.
static weir_status act_sources(weir_world *world)
{
    world->change++;
    weir_status status = cells_reserve(world->state);
    if (status == WEIR_OK) world_apply_sources(world);
    return status;
}

static weir_status edit_by_emitter(weir_world *world)
{
    if (world->source_count == 0) {
        weir_status status = edit_emitter(world);
        if (status != WEIR_OK) return status;
    }
    weir_status status = act_sources(world);
    if (status == WEIR_OK) return WEIR_OK;
    // The emitter itself and the number it took are part of the hash; without them the world must be as it was.
    world->next_source_id = world->sources[0].id;
    assert_int_equal(weir_world_remove(world, world->sources[0].id), WEIR_OK);
    return status;
}

static void an_edit_without_memory_changes_nothing(void **state)
{
    assert_whole_without_memory(edit_fill);
    assert_whole_without_memory(edit_build);
    assert_whole_without_memory(set_some_flow);
    assert_whole_without_memory(edit_emitter);
    assert_whole_without_memory(edit_by_emitter);
}

// ---- Flow ------------------------------------------------------------------------------------------------------------------

static void water_has_the_flow_that_was_set(void **state)
{
    weir_world *world = make(SMALL, NULL);
    const weir_vec flow = {0.5f, -0.25f, 0.125f};
    assert_int_equal(weir_world_fill(world, box(-8, -8, -8, 8, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_set_flow(world, ALL, flow), WEIR_OK);
    const weir_coord inside[] = {{0, 0, 0}, {-8, -8, -8}, {7, 7, 7}, {-1, 7, 3}};  // also at the rims of bricks
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        weir_vec now = weir_world_cell(world, inside[i]).flow;
        assert_true(now.x == flow.x && now.y == flow.y && now.z == flow.z);
    }
    assert_true(weir_world_cell(world, (weir_coord){-11, 0, 0}).flow.x == 0);

    assert_int_equal(weir_world_fill(world, box(-12, 0, 0, -11, 1, 1), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_set_flow(world, box(-12, 0, 0, -11, 1, 1), flow), WEIR_OK);
    assert_true(weir_world_cell(world, (weir_coord){-12, 0, 0}).flow.x == 0.25f);  // one face open, the other a wall
    weir_world_destroy(world);
}

// ---- Emitters and drains ---------------------------------------------------------------------------------------------------

static void an_emitter_is_exact_in_the_long_run(void **state)
{
    weir_world *world = make(SMALL, NULL);
    const float rate = 1.0f / 3;
    const int64_t unit = (int64_t)((double)rate * WEIR_FULL * 65536 + 0.5);
    int32_t id = 0;
    assert_int_equal(weir_world_add_emitter(world, box(-2, 8, -2, 2, 10, 2), WEIR_WATER, rate, &id), WEIR_OK);
    assert_int_equal(id, 1);
    for (int64_t n = 1; n <= 50; n++) {
        assert_step(world, 1);
        weir_ledger ledger = weir_world_ledger(world);
        assert_true(ledger.added == n * unit >> 16);
        assert_true(ledger.held == ledger.added && ledger.drift == 0);
    }
    assert_int_equal(weir_world_remove(world, id), WEIR_OK);
    int64_t held = weir_world_ledger(world).held;
    assert_step(world, 3);
    assert_true(weir_world_ledger(world).held == held);
    assert_int_equal(weir_world_remove(world, id), WEIR_ERROR_ARGUMENT);
    weir_world_destroy(world);
}

static void an_emitter_stops_at_full_and_a_drain_at_empty(void **state)
{
    weir_world *world = make(box(0, 0, 0, 2, 1, 1), NULL);
    int32_t emitter, drain;
    assert_int_equal(weir_world_add_emitter(world, box(0, 0, 0, 2, 1, 1), WEIR_WATER, 0.75f, &emitter), WEIR_OK);
    for (int32_t i = 0; i < 5; i++) assert_int_equal(act_sources(world), WEIR_OK);
    assert_held(world, 2);
    assert_int_equal(weir_world_remove(world, emitter), WEIR_OK);
    assert_int_equal(weir_world_add_drain(world, box(0, 0, 0, 2, 1, 1), 0.75f, &drain), WEIR_OK);
    assert_true(drain > emitter);
    assert_int_equal(act_sources(world), WEIR_OK);
    assert_held(world, 1.25);
    for (int32_t i = 0; i < 5; i++) assert_int_equal(act_sources(world), WEIR_OK);
    assert_held(world, 0);
    // What it could not take is not owed.
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 2, 1, 1), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(act_sources(world), WEIR_OK);
    assert_held(world, 1.25);
    weir_world_destroy(world);
}

static int32_t drops_at(const weir_world *world, int32_t x, int32_t y, int32_t z)
{
    weir_coord c = {x, y, z};
    return bricks_ints(test_pool(world), CHANNEL_MASS, bricks_find(test_pool(world), brick_of_cell(c)))[cell_index(c)];
}

static void every_cell_gets_the_same_or_what_it_has_room_for(void **state)
{
    weir_world *world = make(box(0, 0, 0, 64, 8, 8), NULL);
    assert_int_equal(weir_world_build(world, box(9, 0, 0, 10, 1, 1), 255), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(6, 0, 0, 7, 1, 1), WEIR_WATER, 0.875f), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(7, 0, 0, 8, 1, 1), WEIR_WATER, 1), WEIR_OK);
    // Seven cells, one solid, one full, one with room for 1/8: 1.125 leaves 1 for the four others, and 2 drops more than that.
    const float rate = 1.125f + 2.0f / WEIR_FULL;
    assert_int_equal(weir_world_add_emitter(world, box(5, 0, 0, 12, 1, 1), WEIR_WATER, rate, NULL), WEIR_OK);
    assert_int_equal(act_sources(world), WEIR_OK);
    assert_int_equal(drops_at(world, 6, 0, 0), WEIR_FULL);
    assert_int_equal(drops_at(world, 7, 0, 0), WEIR_FULL);
    assert_int_equal(drops_at(world, 9, 0, 0), 0);
    assert_int_equal(drops_at(world, 5, 0, 0), WEIR_FULL / 4 + 1);
    assert_int_equal(drops_at(world, 8, 0, 0), WEIR_FULL / 4 + 1);
    assert_int_equal(drops_at(world, 10, 0, 0), WEIR_FULL / 4);
    assert_int_equal(drops_at(world, 11, 0, 0), WEIR_FULL / 4);
    assert_int_equal(weir_world_ledger(world).drift, 0);
    weir_world_destroy(world);
}

static void the_order_of_birth_does_not_show(void **state)
{
    uint64_t hashes[2];
    for (int32_t turn = 0; turn < 2; turn++) {
        weir_world *world = make_unbounded();
        for (int32_t i = 0; i < 6; i++) {
            int32_t x = 8 * (turn ? 5 - i : i);
            assert_int_equal(weir_world_fill(world, box(x + 1, 1, 1, x + 3, 3, 3), WEIR_WATER, 0.5f), WEIR_OK);
        }
        assert_int_equal(weir_world_add_emitter(world, box(0, 0, 0, 48, 4, 4), WEIR_WATER, 7.77f, NULL), WEIR_OK);
        assert_int_equal(weir_world_add_drain(world, box(5, -900, 0, 47, 900, 3), 3.33f, NULL), WEIR_OK);
        for (int32_t i = 0; i < 7; i++) assert_int_equal(act_sources(world), WEIR_OK);
        assert_int_equal(weir_world_ledger(world).drift, 0);
        hashes[turn] = weir_world_hash(world);
        weir_world_destroy(world);
    }
    assert_true(hashes[0] == hashes[1]);
}

// ---- The queue -------------------------------------------------------------------------------------------------------------

static void play(weir_world *world, int32_t round, int32_t *id)
{
    assert_int_equal(weir_world_fill(world, box(-4, round, -4, 4, round + 3, 4), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_drain_sphere(world, (weir_sphere){{0, round, 0}, 2}), WEIR_OK);
    assert_int_equal(weir_world_build(world, box(-12, -12, round, 3, -9, round + 1), 255), WEIR_OK);
    assert_int_equal(weir_world_dig(world, box(-12, -12, round, 0, -11, round + 1)), WEIR_OK);
    assert_int_equal(weir_world_set_flow(world, box(-2, 0, -2, 2, 8, 2), (weir_vec){0.25f, 0, 0}), WEIR_OK);
    if (*id) assert_int_equal(weir_world_remove(world, *id), WEIR_OK);
    if (*id) assert_int_equal(weir_world_remove(world, *id), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_add_emitter(world, box(5, 5, 5, 7, 7, 7), WEIR_WATER, 0.3f, id), WEIR_OK);
    int32_t gone;
    assert_int_equal(weir_world_add_force(world, SMALL, (weir_vec){0.001f, 0, 0}, &gone), WEIR_OK);
    assert_int_equal(weir_world_remove(world, gone), WEIR_OK);
}

static void edits_during_a_background_step_are_those_after_it(void **state)
{
    weir_world *plain = make(SMALL, NULL), *queued = make(SMALL, NULL);
    int32_t plain_id = 0, queued_id = 0;
    for (int32_t round = 0; round < 6; round++) {
        assert_step(plain, 1);
        play(plain, round, &plain_id);

        const uint64_t before = weir_world_hash(queued);
        assert_int_equal(weir_world_step_begin(queued), WEIR_OK);
        play(queued, round, &queued_id);
        assert_int_equal(weir_world_fill(queued, SMALL, WEIR_WATER, 2), WEIR_ERROR_ARGUMENT);
        assert_true(weir_world_hash(queued) == before);
        assert_int_equal(weir_world_step_end(queued), WEIR_OK);

        assert_int_equal(plain_id, queued_id);
        assert_int_equal(weir_world_ledger(queued).drift, 0);
        assert_true(weir_world_hash(plain) == weir_world_hash(queued));
    }
    weir_world_destroy(plain);
    weir_world_destroy(queued);
}

static void shares_of_a_box_are_built_cell_by_cell_also_from_the_queue(void **state)
{
    weir_world *plain = make(SMALL, NULL), *queued = make(SMALL, NULL);
    const weir_box b = box(-3, 1, -12, 5, 7, 4);  // reaches out of the world
    uint8_t shares[8 * 6 * 16];
    for (int32_t i = 0; i < (int32_t)sizeof shares; i++) shares[i] = (uint8_t)(i % 3 == 0 ? 0 : i % 255 + 1);
    for (int32_t i = 0; i < 2; i++) {
        weir_world *world = i ? queued : plain;
        assert_int_equal(weir_world_build(world, box(0, 2, 0, 1, 3, 1), 9), WEIR_OK);
        assert_int_equal(weir_world_fill(world, box(-2, 1, -2, 2, 3, 2), WEIR_WATER, 1), WEIR_OK);
    }
    assert_step(plain, 1);
    assert_int_equal(weir_world_build_shares(plain, b, shares), WEIR_OK);
    assert_int_equal(weir_world_step_begin(queued), WEIR_OK);
    assert_int_equal(weir_world_build_shares(queued, b, shares), WEIR_OK);
    memset(shares, 77, sizeof shares);  // it has a copy
    assert_int_equal(weir_world_step_end(queued), WEIR_OK);
    assert_true(weir_world_hash(plain) == weir_world_hash(queued));
    assert_int_equal(weir_world_ledger(plain).drift, 0);
    for (int32_t i = 0; i < (int32_t)sizeof shares; i++) {
        weir_coord c = {b.min.x + i % 8, b.min.y + i / 8 % 6, b.min.z + i / 48};
        weir_box inside = SMALL;
        if (c.x < inside.min.x || c.y < inside.min.y || c.z < inside.min.z || c.x >= inside.max.x || c.y >= inside.max.y ||
            c.z >= inside.max.z)
            continue;
        bool kept = c.x == 0 && c.y == 2 && c.z == 0;
        assert_int_equal(weir_world_cell(plain, c).solid, i % 3 ? i % 255 + 1 : kept ? 9 : 0);
    }
    // One that is never applied is freed with its world.
    assert_int_equal(weir_world_step_begin(queued), WEIR_OK);
    assert_int_equal(weir_world_build_shares(queued, b, shares), WEIR_OK);
    assert_int_equal(weir_world_build_shares(queued, box(50, 50, 50, 51, 51, 51), shares), WEIR_ERROR_OUTSIDE);
    weir_world_destroy(plain);
    weir_world_destroy(queued);
}

static void what_no_world_can_hold_is_refused_when_it_is_queued(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, ALL, WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{0, 0, 0}, 1e8f}, WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_build(world, ALL, 255), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_dig_sphere(world, (weir_sphere){{0, 0, 0}, 1e8f}), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_build_shares(world, ALL, (const uint8_t *)""), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_add_drain(world, ALL, 1, NULL), WEIR_ERROR_LIMIT);
    // Five million bricks: a world of rock could take them, one that is open cannot.
    const weir_box large = box(0, 0, 0, 8 * 172, 8 * 172, 8 * 172);
    assert_int_equal(weir_world_fill(world, large, WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_non_null(strstr(weir_error_message(), "at least 5088448 bricks with open cells; a world holds 4194303"));
    // What costs no more than the bricks that are there may be as large as it likes.
    assert_int_equal(weir_world_drain(world, ALL), WEIR_OK);
    assert_int_equal(weir_world_set_flow(world, ALL, (weir_vec){0.5f, 0, 0}), WEIR_OK);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);
    weir_world_destroy(world);
}

// A fill that is too large for open terrain waits where edits before it may have built enough.
static void a_large_fill_waits_for_what_is_built_before_it(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    def.memory_limit = 8 << 20;  // too little for any of it
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    const weir_box large = box(0, 0, 0, 8 * 172, 8 * 172, 8 * 172);
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, large, WEIR_WATER, 1), WEIR_ERROR_LIMIT);
    assert_int_equal(weir_world_build(world, box(0, 0, 0, 8 * 172, 8 * 172, 8 * 40), 255), WEIR_OK);
    assert_int_equal(weir_world_fill(world, large, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_MEMORY);
    assert_held(world, 0);
    weir_world_destroy(world);
}

typedef struct lines {
    char line[8][256];
    int32_t count;
} lines;

static void keep_line(void *user, weir_log_level level, const char *line)
{
    lines *l = user;
    if (level < WEIR_LOG_WARNING) return;
    assert_true(l->count < 8);
    strncpy(l->line[l->count++], line, sizeof l->line[0] - 1);
}

static void the_first_failure_of_the_queue_is_told_and_the_rest_still_done(void **state)
{
    lines said = {0};
    test_memory counted = {0};
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    def.memory_limit = 8 << 20;  // too little for the large ones
    def.allocator = test_memory_hooks(&counted);
    def.logger = (weir_logger){.write = keep_line, .user = &said};
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    static float fills[72 * 72 * 72];
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) fills[i] = 1;
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 1, 1, 1), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 1, 1, 1), WEIR_WATER, 7), WEIR_ERROR_ARGUMENT);  // does not wait
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{0.5f, 0, 0}, 40}, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{900, 0, 0}, 200}, 7), WEIR_OK);
    assert_int_equal(weir_world_write_fill(world, box(-50, 0, 1, 22, 72, 73), fills), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(10, 0, 0, 11, 1, 1), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_MEMORY);
    const char *beginning = "edit 2 of 5 that waited, weir_world_fill_sphere of (-40, -40, -40) to (41, 41, 41): ";
    assert_memory_equal(weir_error_message(), beginning, strlen(beginning));
    assert_true(strlen(weir_error_message()) > strlen(beginning) + 10);  // and what was wrong
    assert_int_equal(said.count, 3);
    assert_string_equal(said.line[0], weir_error_message());
    assert_non_null(strstr(said.line[1], "edit 3 of 5 that waited, weir_world_build_sphere of (700, -200, -200) to "));
    assert_non_null(strstr(said.line[2], "edit 4 of 5 that waited, weir_world_write_fill of (-50, 0, 1) to (22, 72, 73): "));
    assert_held(world, 2);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);

    // Of an emitter, drain or force its number is told.
    for (int32_t i = 0; i < 8; i++) assert_int_equal(weir_world_add_force(world, SMALL, (weir_vec){0, 0, 0}, NULL), WEIR_OK);
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_add_drain(world, SMALL, 1, NULL), WEIR_OK);
    while (!weir_world_step_done(world)) {
    }
    counted.fail_at = counted.calls + 1;
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_MEMORY);
    assert_non_null(strstr(weir_error_message(), "edit 1 of 1 that waited, weir_world_add_drain of 9: memory ran out"));
    weir_world_destroy(world);
    assert_int_equal(counted.bytes, 0);
}

// ---- Rules of the game's own -----------------------------------------------------------------------------------------------

static void rule_of_test(const weir_rule_brick *brick, void *user)
{
    (void)brick;
    (void)user;
}

static void a_world_stays_within_its_memory_limit(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.memory_limit = -1;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_ERROR_ARGUMENT);
    def.memory_limit = 8 << 20;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 8, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 128, 128, 128), WEIR_WATER, 1), WEIR_ERROR_MEMORY);
    assert_true(weir_world_ledger(world).held == 512 * (int64_t)WEIR_FULL);
    assert_int_equal(weir_world_step(world), WEIR_OK);
    weir_world_destroy(world);
}

static void a_rule_must_be_sound(void **state)
{
    weir_world *world = make(SMALL, NULL);
    const weir_rule_def good = {
        .name = "dye", .place = WEIR_PLACE_AFTER, .channel_count = 2, .channels = {"red", "blue"}, .run = rule_of_test};
    char long_name[100];
    memset(long_name, 'x', sizeof long_name);
    long_name[99] = 0;
    weir_rule_def bad[12] = {good, good, good, good, good, good, good, good, good, good, good, good};
    bad[0].name = NULL;
    bad[1].name = "";
    bad[2].run = NULL;
    bad[3].channel_count = 5;
    bad[4].channel_count = -1;
    bad[5].channels[1] = "red";
    bad[6].sees = WEIR_SEES_MOVED;
    bad[7].place = WEIR_PLACE_COUNT;
    bad[8].name = long_name;
    bad[9].device_text = bad[10].device_text = bad[11].device_text = "";
    bad[10].device_cell = "no identifier";
    bad[11].device_cell = "cell";
    bad[11].user_bytes = 4;  // of what
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(weir_world_add_rule(world, &bad[i]), WEIR_ERROR_ARGUMENT);
    }
    assert_int_equal(weir_world_add_rule(world, &good), WEIR_OK);
    assert_int_equal(weir_world_add_rule(world, &good), WEIR_ERROR_ARGUMENT);
    weir_rule_def next = good;
    next.name = "other";
    assert_int_equal(weir_world_add_rule(world, &next), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "\"red\""));
    next.channel_count = 0;
    next.place = WEIR_PLACE_AFTER_MOVE;
    next.sees = WEIR_SEES_MOVED | WEIR_SEES_FILL;
    assert_int_equal(weir_world_add_rule(world, &next), WEIR_OK);
    for (int32_t i = 2; i < 8; i++) {
        char name[2] = {(char)('0' + i), 0};
        next.name = name;
        assert_int_equal(weir_world_add_rule(world, &next), WEIR_OK);
    }
    next.name = "one too many";
    assert_int_equal(weir_world_add_rule(world, &next), WEIR_ERROR_LIMIT);
    weir_world_destroy(world);
}

static void a_channel_is_set_in_a_box(void **state)
{
    weir_world *world = make(SMALL, NULL);
    const weir_rule_def rule = {
        .name = "dye", .place = WEIR_PLACE_AFTER, .channel_count = 1, .channels = {"red"}, .run = rule_of_test};
    assert_int_equal(weir_world_add_rule(world, &rule), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 8, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_set_channel(world, box(2, 2, 2, 4, 4, 4), "red", 0.75f), WEIR_OK);
    assert_int_equal(weir_world_set_channel(world, SMALL, "red", NAN), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_set_channel(world, SMALL, "green", 1), WEIR_ERROR_ARGUMENT);
    assert_true(weir_world_channel(world, "red", (weir_coord){3, 3, 3}) == 0.75f);
    assert_true(weir_world_channel(world, "red", (weir_coord){4, 3, 3}) == 0);
    assert_true(weir_world_channel(world, "red", (weir_coord){400, 3, 3}) == 0);
    assert_true(weir_world_channel(world, "green", (weir_coord){3, 3, 3}) == 0);
    assert_int_equal(weir_world_build(world, box(3, 3, 3, 4, 4, 4), 255), WEIR_OK);
    assert_true(weir_world_channel(world, "red", (weir_coord){3, 3, 3}) == 0);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fill_brings_cells_up_and_down_and_books_both),
        cmocka_unit_test(a_sphere_has_the_cells_whose_centre_it_has),
        cmocka_unit_test(a_sphere_far_away_is_as_round_as_here),
        cmocka_unit_test(what_reaches_over_the_bounds_is_cut_and_what_lies_outside_refused),
        cmocka_unit_test(to_fill_with_nothing_or_to_drain_makes_no_bricks),
        cmocka_unit_test(the_whole_of_an_endless_world_is_drained_by_its_bricks),
        cmocka_unit_test(a_fill_that_no_world_can_hold_is_refused),
        cmocka_unit_test(a_drain_leaves_no_flow_and_no_pressure_behind),
        cmocka_unit_test(a_cell_built_over_gives_its_water_to_the_account_and_shuts_its_faces),
        cmocka_unit_test(water_runs_into_what_is_dug),
        cmocka_unit_test(terrain_of_the_game_is_asked_again_when_it_says_so),
        cmocka_unit_test(what_makes_no_sense_is_refused_and_changes_nothing),
        cmocka_unit_test(an_edit_without_memory_changes_nothing),
        cmocka_unit_test(water_has_the_flow_that_was_set),
        cmocka_unit_test(an_emitter_is_exact_in_the_long_run),
        cmocka_unit_test(an_emitter_stops_at_full_and_a_drain_at_empty),
        cmocka_unit_test(every_cell_gets_the_same_or_what_it_has_room_for),
        cmocka_unit_test(the_order_of_birth_does_not_show),
        cmocka_unit_test(edits_during_a_background_step_are_those_after_it),
        cmocka_unit_test(shares_of_a_box_are_built_cell_by_cell_also_from_the_queue),
        cmocka_unit_test(what_no_world_can_hold_is_refused_when_it_is_queued),
        cmocka_unit_test(a_large_fill_waits_for_what_is_built_before_it),
        cmocka_unit_test(the_first_failure_of_the_queue_is_told_and_the_rest_still_done),
        cmocka_unit_test(a_world_stays_within_its_memory_limit),
        cmocka_unit_test(a_rule_must_be_sound),
        cmocka_unit_test(a_channel_is_set_in_a_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
