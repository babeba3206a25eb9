// A solver of the tests' own (sand.c), and all that a world does with a solver: none of it knows sand, and all of it works.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"

#include "base/hash.h"
#include "dye.h"
#include "plain_sand.h"
#include "sand.h"
#include "test_files.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum { GRAIN = WEIR_FULL / 64 };  // drops

static weir_world *make(const weir_world_def *def)
{
    weir_world *world;
    assert_ok(world_create_with(def, &sand_solver, &world));
    return world;
}

static weir_world *make_box(int32_t x, int32_t y, int32_t z)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, x, y, z);
    return make(&def);
}

static void step(weir_world *world, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        assert_ok(weir_world_step(world));
        assert_exact(world);
    }
}

static int32_t grains_at(const weir_world *world, int32_t x, int32_t y, int32_t z)
{
    const float grains = 64 * weir_world_cell(world, (weir_coord){x, y, z}).fill;
    assert_true(grains == floorf(grains));
    return (int32_t)grains;
}

static int64_t grains_in(const weir_world *world, weir_box box)
{
    const int64_t drops = weir_world_box_sum(world, box).drops;
    assert_int_equal(drops % GRAIN, 0);
    return drops / GRAIN;
}

static void assert_refused(weir_status status, weir_status expected, const char *sentence)
{
    assert_int_equal(status, expected);
    if (!strstr(weir_error_message(), sentence)) fail_msg("\"%s\" does not say \"%s\"", weir_error_message(), sentence);
}

// Hills, a block of sand over them, and sources: much that moves, over several bricks, with sides through which some leaves.
static weir_world *make_dunes(int32_t threads)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = test_box(-19, -5, -13, 22, 30, 14);
    def.open_sides = WEIR_SIDE_X_MIN | WEIR_SIDE_Z_MAX | WEIR_SIDE_Y_MIN;
    def.threads = threads;
    weir_world *world = make(&def);
    assert_ok(weir_world_build(world, test_box(-19, -5, -13, 10, -2, 14), 255));
    assert_ok(weir_world_build_sphere(world, (weir_sphere){{0, 0, 0}, 6}, 255));
    test_fill(world, test_box(-12, 8, -10, 12, 20, 9), 0.7f);
    test_fill(world, test_box(-4, 20, -4, 3, 24, 5), 1);
    assert_ok(weir_world_add_emitter(world, test_box(-18, 20, -12, -14, 22, -9), WEIR_WATER, 3.3f, NULL));
    assert_ok(weir_world_add_drain(world, test_box(-2, 6, -2, 2, 10, 2), 1.7f, NULL));
    return world;
}

// ---- The law ---------------------------------------------------------------------------------------------------------------

static void sand_falls_slides_and_comes_to_rest(void **state)
{
    weir_world *world = make_box(9, 12, 9);
    test_fill(world, test_box(4, 6, 4, 5, 12, 5), 1);
    step(world, 1);
    assert_int_equal(grains_at(world, 4, 5, 4), 64);  // the lowest cell has fallen, those above it were in each other's way
    assert_int_equal(grains_at(world, 4, 6, 4), 0);
    assert_int_equal(grains_at(world, 4, 7, 4), 64);
    step(world, 60);
    const weir_box all = weir_world_bounds(world);
    float *before = test_fills(world, all);
    step(world, 8);
    float *after = test_fills(world, all);
    assert_memory_equal(before, after, 9 * 12 * 9 * sizeof *after);
    // A pile: what rests rests on something, and what lies beside and below it has no room.
    for (int32_t i = 0; i < 9 * 12 * 9; i++) {
        const int32_t x = i % 9, y = i / 9 % 12, z = i / 9 / 12;
        if (y == 0 || grains_at(world, x, y, z) == 0) continue;
        assert_int_equal(grains_at(world, x, y - 1, z), 64);
        for (int32_t side = 0; side < 4; side++) {
            const int32_t next_x = x + (side == 0) - (side == 1), next_z = z + (side == 2) - (side == 3);
            assert_int_equal(grains_at(world, next_x, y - 1, next_z), 64);
        }
    }
    assert_int_equal(grains_in(world, all), 6 * 64);
    free(before);
    free(after);
    weir_world_destroy(world);
}

static void sand_leaves_through_open_sides_and_is_booked(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 5, 5, 5);
    def.open_sides = WEIR_SIDE_Y_MIN;
    weir_world *world = make(&def);
    test_fill(world, test_box(0, 0, 0, 5, 2, 5), 0.5f);
    step(world, 1);
    assert_int_equal(weir_world_ledger(world).drained, 25 * 32 * (int64_t)GRAIN);
    step(world, 1);
    assert_int_equal(weir_world_ledger(world).held, 0);
    step(world, 1);
    assert_int_equal(weir_world_stats(world).bricks, 0);
    weir_world_destroy(world);
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static void fills_are_rounded_to_whole_grains(void **state)
{
    weir_world *world = make_box(8, 8, 8);
    test_fill(world, test_box(0, 0, 0, 1, 1, 1), 0.51f);  // 32.64 grains
    assert_int_equal(grains_at(world, 0, 0, 0), 33);
    test_fill(world, test_box(0, 0, 0, 1, 1, 1), 0.49f);  // 31.36
    assert_int_equal(grains_at(world, 0, 0, 0), 31);
    assert_int_equal(weir_world_ledger(world).removed, 2 * GRAIN);
    float fills[8] = {0, 0.25f, 0.5f, 1, 0.001f, 0.999f, 1.0f / 64, 63.0f / 64};
    const int32_t grains[8] = {0, 16, 32, 64, 0, 64, 1, 63};
    assert_ok(weir_world_write_fill(world, test_box(0, 2, 0, 8, 3, 1), fills));
    for (int32_t x = 0; x < 8; x++) assert_int_equal(grains_at(world, x, 2, 0), grains[x]);
    assert_exact(world);
    fills[5] = 1.001f;  // 64 grains and no more
    assert_refused(weir_world_write_fill(world, test_box(0, 2, 0, 8, 3, 1), fills), WEIR_ERROR_ARGUMENT, "(5, 2, 0)");
    assert_ok(weir_world_fill_sphere(world, (weir_sphere){{4, 5, 4}, 2}, WEIR_WATER, 1));
    assert_int_equal(grains_at(world, 4, 5, 4), 64);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 8, 8, 8)));
    assert_int_equal(weir_world_ledger(world).held, 0);
    step(world, 1);
    weir_world_destroy(world);
}

// 2.5 grains per update in, then 1.25 out: 1/65536 drops are owed, never more than a grain.
static void sources_move_whole_grains_and_owe_the_rest(void **state)
{
    weir_world *world = make_box(8, 8, 8);
    int32_t id;
    assert_ok(weir_world_add_emitter(world, test_box(2, 4, 2, 5, 5, 5), WEIR_WATER, 2.5f / 64, &id));
    for (int32_t n = 1; n <= 9; n++) {
        step(world, 1);
        assert_int_equal(weir_world_ledger(world).added, (5 * n / 2) * GRAIN);
    }
    assert_ok(weir_world_remove(world, id));
    step(world, 8);
    assert_int_equal(grains_in(world, test_box(0, 0, 0, 8, 1, 8)), 22);
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 8, 1, 8), 1.25f / 64, NULL));
    for (int32_t n = 1; n <= 24; n++) {
        step(world, 1);
        const int64_t taken = 5 * n / 4;
        assert_int_equal(weir_world_ledger(world).removed, (taken < 22 ? taken : 22) * GRAIN);
    }
    // A cell is full at 64 grains, and what finds no room is not owed.
    test_fill(world, test_box(0, 0, 0, 8, 8, 8), 1);
    assert_ok(weir_world_add_emitter(world, test_box(2, 7, 2, 4, 8, 4), WEIR_WATER, 10, NULL));
    assert_ok(weir_world_drain(world, test_box(2, 7, 2, 4, 8, 3)));
    step(world, 1);
    assert_int_equal(grains_in(world, test_box(0, 0, 0, 8, 8, 8)), 512 * 64 - 1);
    weir_world_destroy(world);
}

static void terrain_is_dug_from_under_sand_and_built_over_it(void **state)
{
    weir_world *world = make_box(8, 16, 8);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 9, 8), 255));
    test_fill(world, test_box(0, 9, 0, 8, 10, 8), 1);
    step(world, 4);
    assert_int_equal(grains_in(world, test_box(0, 9, 0, 8, 10, 8)), 64 * 64);
    assert_ok(weir_world_dig(world, test_box(3, 7, 3, 4, 9, 4)));
    step(world, 2);
    assert_int_equal(grains_at(world, 3, 7, 3), 64);
    assert_int_equal(weir_world_ledger(world).removed, 0);
    assert_ok(weir_world_build(world, test_box(0, 9, 0, 4, 10, 8), 200));
    const weir_ledger ledger = weir_world_ledger(world);
    assert_exact(world);
    assert_true(ledger.removed > 0);
    assert_int_equal(ledger.held / GRAIN, grains_in(world, test_box(4, 9, 0, 8, 10, 8)) + 64 + grains_at(world, 3, 8, 3));
    assert_int_equal(grains_at(world, 0, 9, 0), 0);
    assert_ok(weir_world_build_sphere(world, (weir_sphere){{6, 10, 4}, 3}, 255));
    step(world, 3);
    weir_world_destroy(world);
}

static void what_sand_cannot_do_is_refused_with_a_sentence(void **state)
{
    weir_world *world = make_box(8, 8, 8);
    const weir_box cell = test_box(1, 1, 1, 2, 2, 2);
    const weir_vec flow = {0.1f, 0, 0};
    static dye_options options = {.fading = 0.01f};
    const weir_rule_def rule = dye_rule(&options);
    test_fill(world, cell, 1);
    const uint64_t hash = weir_world_hash(world);
    assert_refused(weir_world_set_flow(world, cell, flow), WEIR_ERROR_UNSUPPORTED, "a world of sand holds has no flow");
    assert_refused(weir_world_write_flow(world, cell, &flow), WEIR_ERROR_UNSUPPORTED, "a world of sand holds has no flow");
    assert_refused(weir_world_add_force(world, cell, flow, NULL), WEIR_ERROR_UNSUPPORTED, "a world of sand holds has no flow");
    assert_refused(weir_world_add_rule(world, &rule), WEIR_ERROR_UNSUPPORTED, "a world of sand runs no rules");
    assert_refused(weir_world_set_channel(world, cell, "dye", 1), WEIR_ERROR_ARGUMENT, "dye");
    assert_true(weir_world_channel(world, "dye", cell.min) == 0);
    assert_true(weir_world_hash(world) == hash);
    weir_world_destroy(world);

    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    def.backend = WEIR_BACKEND_OPENCL;
    assert_int_equal(world_create_with(&def, &sand_solver, &world), WEIR_ERROR_UNSUPPORTED);
    assert_true(strlen(weir_error_message()) > 0);
    assert_null(world);
}

// Fails with a long sentence, which ends in a full stop.
static weir_status fail_at_length(void)
{
    char words[401];
    memset(words, 'w', sizeof words);
    strcpy(words + 399, ".");
    return status_fail(WEIR_ERROR_LIMIT, "%s", words);
}

static weir_status fail_to_reserve(void *state)
{
    (void)state;
    return fail_at_length();
}

static weir_status fail_to_prepare(void *state, const world_edit *edit)
{
    (void)state, (void)edit;
    return fail_at_length();
}

static void assert_whole_sentence(const char *beginning)
{
    const char *sentence = weir_error_message();
    assert_memory_equal(sentence, beginning, strlen(beginning));
    assert_int_equal(sentence[strlen(sentence) - 1], '.');
}

static void long_sentences_arrive_whole(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    solver_table stubborn = sand_solver;
    stubborn.prepare = fail_to_prepare;
    weir_world *world;
    assert_ok(world_create_with(&def, &stubborn, &world));
    assert_ok(weir_world_step_begin(world));
    assert_ok(weir_world_fill(world, test_box(0, 0, 0, 1, 1, 1), WEIR_WATER, 1));
    assert_ok(weir_world_fill(world, test_box(0, 1, 0, 1, 2, 1), WEIR_WATER, 1));
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_LIMIT);
    assert_whole_sentence("edit 1 of 2 that waited");
    stubborn.reserve = fail_to_reserve;
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_step_end(world), WEIR_ERROR_LIMIT);
    assert_whole_sentence("www");
    weir_world_destroy(world);
}

static void keep_line(void *user, weir_log_level level, const char *line)
{
    if (level == WEIR_LOG_INFO) snprintf(user, 128, "%s", line);
}

// The world says by whom it is moved, and of no code path that its solver has not got.
static void the_log_tells_the_solver(void **state)
{
    char line[128] = "";
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    def.logger = (weir_logger){.write = keep_line, .user = line};
    weir_world_destroy(make(&def));
    const char *end = strstr(line, ": sand on 1 threads");
    assert_non_null(end);
    assert_string_equal(end, ": sand on 1 threads");
}

// ---- One hash --------------------------------------------------------------------------------------------------------------

static void one_and_four_threads_give_one_hash(void **state)
{
    weir_world *one = make_dunes(1), *four = make_dunes(4);
    for (int32_t n = 0; n < test_length(60, 12); n++) {
        step(one, 1);
        step(four, 1);
        assert_true(weir_world_hash(one) == weir_world_hash(four));
    }
    assert_true(weir_world_stats(one).peak_bricks > 60);
    const weir_ledger ledger = weir_world_ledger(one);
    assert_true(ledger.added > 0 && ledger.removed > 0 && (ledger.drained > 0 || test_length(0, 1)));
    weir_world_destroy(one);
    weir_world_destroy(four);
}

// The same sand, filled in from either end, so that its bricks lie in another order.
static void the_order_of_bricks_does_not_show(void **state)
{
    weir_world *worlds[2] = {make_box(64, 16, 8), make_box(64, 16, 8)};
    for (int32_t i = 0; i < 8; i++) {
        for (int32_t w = 0; w < 2; w++) {
            const int32_t x = 8 * (w ? 7 - i : i);
            test_fill(worlds[w], test_box(x + 2, 4, 0, x + 7, 16, 8), (float)(x + 8) / 64);
        }
    }
    for (int32_t n = 0; n < 20; n++) {
        assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[1]));
        step(worlds[0], 1);
        step(worlds[1], 1);
    }
    weir_world_destroy(worlds[0]);
    weir_world_destroy(worlds[1]);
}

static void the_hash_tells_all_that_the_next_update_depends_on(void **state)
{
    weir_world *world = make_box(8, 8, 8), *other = make_box(8, 8, 8);
    assert_true(weir_world_hash(world) == weir_world_hash(other));
    test_fill(world, test_box(1, 1, 1, 2, 2, 2), 1);
    test_fill(other, test_box(1, 1, 1, 2, 2, 2), 63.0f / 64);
    assert_true(weir_world_hash(world) != weir_world_hash(other));
    test_fill(other, test_box(1, 1, 1, 2, 2, 2), 1);
    assert_true(weir_world_hash(world) == weir_world_hash(other));
    sand_solver.set_carried(other->state, 6);  // made up: there are four sides, and it is the third
    assert_int_equal(sand_solver.carried(other->state), 2);
    assert_true(weir_world_hash(world) != weir_world_hash(other));
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// ---- Background steps ------------------------------------------------------------------------------------------------------

static void edit_dunes(weir_world *world)
{
    test_fill(world, test_box(-8, 26, -8, 0, 30, 0), 0.3f);
    assert_ok(weir_world_drain(world, test_box(-2, 0, -2, 2, 30, 2)));
    assert_ok(weir_world_build(world, test_box(12, 0, -4, 16, 3, 4), 255));
    assert_ok(weir_world_dig(world, test_box(-6, -4, -6, -3, 6, -3)));
    assert_ok(weir_world_add_emitter(world, test_box(14, 24, 8, 17, 25, 10), WEIR_WATER, 0.8f, NULL));
}

// Queries go on reading the state before the step while it works, and while it makes bricks: one falls far away where there were none.
static void queries_and_edits_go_on_during_background_steps(void **state)
{
    weir_world *world = make_dunes(2), *plain = make_dunes(1);
    const weir_box all = weir_world_bounds(world), corner = test_box(-12, 8, -10, 0, 20, 0);
    for (int32_t n = 0; n < test_length(12, 4); n++) {
        const uint64_t hash = weir_world_hash(world);
        const int64_t held = weir_world_ledger(world).held, part = grains_in(world, corner);
        const int32_t bricks = weir_world_stats(world).bricks, here = grains_at(world, -3, 8, -3);
        float *before = test_fills(world, all);
        assert_ok(weir_world_step_begin(world));
        bool done = false;
        for (int32_t k = 0; k < 3 || !done; k++) {
            done = weir_world_step_done(world);
            assert_true(weir_world_hash(world) == hash);
            assert_int_equal(weir_world_ledger(world).held, held);
            assert_int_equal(grains_in(world, corner), part);
            assert_int_equal(grains_at(world, -3, 8, -3), here);
            assert_int_equal(weir_world_stats(world).bricks, bricks);
        }
        if (n == 1) edit_dunes(world);
        float *during = test_fills(world, all);
        assert_memory_equal(before, during, 41 * 35 * 27 * sizeof *during);
        free(before);
        free(during);
        assert_refused(weir_world_step(world), WEIR_ERROR_BUSY, "background step");
        assert_ok(weir_world_step_end(world));
        assert_exact(world);
        step(plain, 1);
        if (n == 1) edit_dunes(plain);
        assert_true(weir_world_hash(world) == weir_world_hash(plain));
        assert_true(weir_world_hash(world) != hash);
    }
    weir_world_destroy(world);
    weir_world_destroy(plain);
}

// ---- Queries ---------------------------------------------------------------------------------------------------------------

// Four and a half cells of sand, wall to wall, so that it stays where it is.
static weir_world *make_bed(void)
{
    weir_world *world = make_box(8, 16, 8);
    test_fill(world, test_box(0, 0, 0, 8, 4, 8), 1);
    test_fill(world, test_box(0, 4, 0, 8, 5, 8), 0.5f);
    step(world, 1);
    return world;
}

static void queries_see_sand(void **state)
{
    weir_world *world = make_bed();
    const weir_cell cell = weir_world_cell(world, (weir_coord){3, 4, 3});
    assert_true(cell.fill == 0.5f && cell.pressure == 0 && cell.flow.x == 0 && cell.flow.y == 0 && cell.flow.z == 0);
    assert_int_equal(cell.material, WEIR_WATER);
    assert_int_equal(weir_world_cell(world, (weir_coord){3, 5, 3}).material, WEIR_NOTHING);

    const weir_box_sum sum = weir_world_box_sum(world, test_box(-10, 2, -10, 10, 8, 10));
    assert_int_equal(sum.drops, (64 * 2 * 64 + 64 * 32) * (int64_t)GRAIN);
    assert_int_equal(sum.open_cells, 6 * 64);
    assert_int_equal(sum.wet_cells, 3 * 64);
    assert_true(sum.max_fill == 1 && sum.max_flow == 0 && sum.max_pressure == 0);

    assert_true(weir_world_surface(world, 2, 2, 0, 16) == 4.5);
    assert_true(isnan(weir_world_surface(world, 2, 2, 5, 16)));
    assert_true(weir_world_column(world, 2, 2, 1, 16) == 3.5);
    assert_true(weir_world_submerged(world, (weir_point){1, 0, 1}, (weir_point){7, 9, 7}) == 0.5f);
    weir_buoyancy buoyancy;
    assert_ok(weir_world_buoyancy(world, &(weir_floating_box){{4, 4.5, 4}, {3, 4.5f, 3}}, 1, &buoyancy));
    assert_true(buoyancy.submerged == 0.5f && buoyancy.level == 4.5 && buoyancy.flow.x == 0 && buoyancy.force.y > 0);

    weir_hit hit = weir_world_ray(world, (weir_point){4.5, 12, 4.5}, (weir_vec){0, -1, 0}, 20, 0.25f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.y == 4 && hit.distance == 7 && hit.normal.y == 1);
    hit = weir_world_ray(world, (weir_point){4.5, 12, 4.5}, (weir_vec){0, -1, 0}, 20, 0.75f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.y == 3 && hit.distance == 8);
    weir_vec flows[64];
    float pressures[64];
    assert_ok(weir_world_read_flow(world, test_box(0, 3, 0, 8, 4, 8), flows));
    assert_ok(weir_world_read_pressure(world, test_box(0, 3, 0, 8, 4, 8), pressures));
    for (int32_t i = 0; i < 64; i++) assert_true(flows[i].x == 0 && flows[i].y == 0 && flows[i].z == 0 && pressures[i] == 0);
    weir_world_destroy(world);
}

static void bricks_are_listed_where_sand_is_and_where_it_moved(void **state)
{
    weir_world *world = make_bed();
    weir_coord bricks[8];
    weir_box extent;
    assert_int_equal(weir_world_bricks(world, bricks, 8), 2);  // that with the sand, and one above for it to go to
    assert_true(bricks[0].y == 0 && bricks[1].y == 8);
    assert_true(weir_world_extent(world, &extent));
    const weir_box expected = test_box(0, 0, 0, 8, 8, 8);
    assert_memory_equal(&extent, &expected, sizeof extent);

    int64_t mark = 0;
    weir_brick_change changes[8];
    assert_int_equal(weir_world_changed(world, &mark, changes, 8), 2);
    step(world, 3);
    assert_int_equal(weir_world_changed(world, &mark, changes, 8), 0);  // it rests
    test_fill(world, test_box(4, 12, 4, 5, 13, 5), 1);
    assert_int_equal(weir_world_changed(world, &mark, changes, 8), 1);
    assert_int_equal(changes[0].origin.y, 8);
    step(world, 5);  // down from 12 to 7
    assert_int_equal(weir_world_changed(world, &mark, changes, 8), 2);
    const weir_stats stats = weir_world_stats(world);
    assert_true(stats.bricks == 2 && stats.updates == 9 && stats.bytes > 2 * 2 * 512 && stats.peak_bytes >= stats.bytes);
    assert_int_equal(stats.cell_bytes, 2);
    assert_int_equal(stats.cell_state_bytes, 1);
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 16, 16, 16)));
    step(world, 1);
    assert_int_equal(weir_world_changed(world, &mark, changes, 8), 2);
    assert_true(changes[0].gone && changes[0].origin.y == 0 && changes[1].gone && changes[1].origin.y == 8);
    weir_world_destroy(world);
}

// ---- Surfaces --------------------------------------------------------------------------------------------------------------

static weir_point vertex(const weir_mesh *mesh, int32_t triangle, int32_t corner)
{
    const float *p = mesh->positions + 3 * mesh->indices[3 * triangle + corner];
    return (weir_point){(double)p[0], (double)p[1], (double)p[2]};
}

// The volume in a mesh. Positions are multiples of 1/8192, so that the areas of a closed one, as vectors, give exactly nothing.
static double volume_of(const weir_mesh *mesh)
{
    double volume = 0, area[3] = {0, 0, 0};
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        const weir_point a = vertex(mesh, t, 0), b = vertex(mesh, t, 1), c = vertex(mesh, t, 2);
        const weir_point u = {b.x - a.x, b.y - a.y, b.z - a.z}, v = {c.x - a.x, c.y - a.y, c.z - a.z};
        const double normal[3] = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
        for (int32_t i = 0; i < 3; i++) area[i] += normal[i];
        volume += (a.x * normal[0] + a.y * normal[1] + a.z * normal[2]) / 6;
    }
    assert_true(area[0] == 0 && area[1] == 0 && area[2] == 0);
    return volume;
}

static void sand_is_meshed_where_it_moves(void **state)
{
    weir_world *world = make_box(16, 32, 16);
    weir_mesher *mesher;
    weir_mesh mesh;
    int32_t meshed;
    int64_t mark = 0;
    weir_mesh_brick bricks[64];
    test_fill(world, test_box(4, 22, 4, 12, 30, 12), 1);
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_true(meshed > 0);
    assert_ok(weir_mesher_join(mesher, &mesh));
    const double before = volume_of(&mesh);
    if (!(before > 400 && before < 512)) fail_msg("512 cells of sand have a volume of %g", before);
    assert_true(weir_mesher_changed(mesher, &mark, bricks, 64) > 0);
    step(world, 30);
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_ok(weir_mesher_join(mesher, &mesh));
    const double after = volume_of(&mesh);
    if (!(after > 400 && after < 560)) fail_msg("512 cells of sand have a volume of %g when they have fallen", after);
    for (int32_t i = 0; i < mesh.vertex_count; i++) assert_true(mesh.positions[3 * i + 1] < 16);
    const int32_t count = weir_mesher_changed(mesher, &mark, bricks, 64);
    assert_true(count > 0 && count <= 64);
    step(world, test_length(80, 40));
    assert_ok(weir_mesher_update(mesher, NULL));
    step(world, 4);
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_int_equal(meshed, 0);  // it rests
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void draw(const weir_world *world, weir_look look, uint8_t rgb[3 * 48 * 32])
{
    weir_picture_def def = weir_picture_def_default();
    def.width = 48;
    def.height = 32;
    def.look = look;
    def.camera = (weir_camera){.position = {8, 8, 44}, .target = {8, 8, 8}, .fov = 40};
    if (weir_world_draw(world, &def, rgb) != WEIR_OK) fail_msg("%s", weir_error_message());
}

static void sand_is_drawn_in_every_look(void **state)
{
    static uint8_t rgb[3 * 48 * 32], empty[3 * 48 * 32], again[3 * 48 * 32];
    weir_world *world = make_box(16, 16, 16), *none = make_box(16, 16, 16);
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    def.threads = 4;
    weir_world *threads = make(&def);
    test_fill(world, test_box(4, 4, 4, 12, 12, 12), 1);
    test_fill(threads, test_box(4, 4, 4, 12, 12, 12), 1);
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
        draw(world, (weir_look)look, rgb);
        draw(none, (weir_look)look, empty);
        draw(threads, (weir_look)look, again);
        assert_memory_equal(rgb, again, sizeof rgb);
        const size_t middle = 3 * (16 * 48 + 24);
        assert_memory_not_equal(rgb + middle, empty + middle, 3);
        assert_memory_equal(rgb, empty, 3);  // the upper left corner is sky
    }
    draw(world, WEIR_LOOK_VOXEL, rgb);
    const uint8_t *middle = rgb + 3 * (16 * 48 + 24);
    assert_true(middle[2] > 90 && middle[0] < 20 && middle[1] < 20);  // the colour of full cells
    weir_world_destroy(world);
    weir_world_destroy(none);
    weir_world_destroy(threads);
}

// ---- Snapshots -------------------------------------------------------------------------------------------------------------

static test_bytes save(const weir_world *world)
{
    test_bytes bytes = {0};
    assert_ok(weir_world_save_memory(world, NULL, 0, &bytes.size));
    bytes.at = malloc(bytes.size);
    assert_non_null(bytes.at);
    assert_ok(weir_world_save_memory(world, bytes.at, bytes.size, &bytes.size));
    return bytes;
}

static void a_saved_world_goes_on_as_it_would_have(void **state)
{
    const char *path = test_path("-sand.weir");
    weir_world *world = make_dunes(1), *from_memory = make_box(8, 8, 8), *from_file = make_box(8, 8, 8);
    step(world, 7);  // the side to slide to is then not the first one
    test_bytes bytes = save(world);
    assert_ok(weir_world_save(world, path));
    assert_ok(weir_world_load_memory(from_memory, bytes.at, bytes.size));
    assert_ok(weir_world_load(from_file, path));
    remove(path);
    free(bytes.at);
    for (int32_t n = 0; n < test_length(12, 5); n++) {
        assert_true(weir_world_hash(from_memory) == weir_world_hash(world));
        assert_true(weir_world_hash(from_file) == weir_world_hash(world));
        step(world, 1);
        step(from_memory, 1);
        step(from_file, 1);
    }
    const weir_ledger a = weir_world_ledger(world), b = weir_world_ledger(from_file);
    assert_memory_equal(&a, &b, sizeof a);
    weir_world_destroy(world);
    weir_world_destroy(from_memory);
    weir_world_destroy(from_file);
}

static bool holds_heavy(const void *state, weir_material material, const weir_material_def *def)
{
    (void)state, (void)material;
    return def->density > 2;
}

// A number means what the snapshot's table says, whatever the world's own has there.
static void emitters_are_judged_by_the_materials_that_come_with_them(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    const weir_material_def mud = {"mud", 3, 1, {0, 0, 0}}, foam = {"foam", 0.5f, 1, {1, 1, 1}};
    solver_table heavy = sand_solver;
    heavy.can_hold = holds_heavy;
    weir_material first, second;
    weir_world *of_mud, *of_foam;
    assert_ok(world_create_with(&def, &heavy, &of_mud));
    assert_ok(world_create_with(&def, &heavy, &of_foam));
    assert_ok(weir_world_add_material(of_mud, &mud, &first));
    assert_ok(weir_world_add_material(of_foam, &foam, &second));
    assert_int_equal(first, second);
    assert_ok(weir_world_add_emitter(of_mud, test_box(0, 0, 0, 1, 1, 1), first, 1, NULL));
    assert_refused(weir_world_add_emitter(of_foam, test_box(0, 0, 0, 1, 1, 1), second, 1, NULL), WEIR_ERROR_UNSUPPORTED,
                   "a world of sand cannot hold foam");
    test_bytes bytes = save(of_mud);
    assert_ok(weir_world_load_memory(of_foam, bytes.at, bytes.size));
    assert_int_equal(weir_world_find_material(of_foam, "mud"), first);
    // And one that moves water alone takes none of it.
    heavy.can_hold = NULL;
    assert_refused(weir_world_load_memory(of_mud, bytes.at, bytes.size), WEIR_ERROR_FORMAT, "makes no sense");
    free(bytes.at);
    weir_world_destroy(of_mud);
    weir_world_destroy(of_foam);
}

static void sand_and_water_do_not_load_each_other(void **state)
{
    const weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    weir_world *sand = make(&def), *water = test_make(&def);
    test_fill(sand, test_box(1, 1, 1, 4, 4, 4), 1);
    test_fill(water, test_box(1, 1, 1, 4, 4, 4), 1);
    const uint64_t hash = weir_world_hash(sand);
    test_bytes of_sand = save(sand), of_water = save(water);
    assert_refused(weir_world_load_memory(sand, of_water.at, of_water.size), WEIR_ERROR_ARGUMENT,
                   "is of a momentum world, and this one is sand");
    assert_refused(weir_world_load_memory(water, of_sand.at, of_sand.size), WEIR_ERROR_ARGUMENT,
                   "is of a sand world, and this one is momentum");
    assert_true(weir_world_hash(sand) == hash);
    free(of_sand.at);
    free(of_water.at);
    weir_world_destroy(sand);
    weir_world_destroy(water);
}

// Where things lie in a snapshot's header.
enum { AT_FLAGS = 12, AT_SIZE = 16, AT_STORED = 24, AT_HASH = 32, HEADER = SNAPSHOT_HEADER_BYTES };

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int32_t i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

// The same snapshot, not packed.
static test_bytes unpacked(test_bytes snapshot)
{
    const size_t size = (size_t)test_u64(snapshot.at + AT_SIZE);
    test_bytes plain = {malloc(HEADER + size), HEADER + size, 0};
    assert_non_null(plain.at);
    memcpy(plain.at, snapshot.at, HEADER);
    if (test_i32(snapshot.at + AT_FLAGS) == 0) {
        memcpy(plain.at + HEADER, snapshot.at + HEADER, size);
    } else {
#ifdef WEIR_HAVE_ZSTD
        assert_int_equal(ZSTD_decompress(plain.at + HEADER, size, snapshot.at + HEADER, snapshot.size - HEADER), size);
#else
        fail_msg("a build without zstd has packed a snapshot");
#endif
    }
    memset(plain.at + AT_FLAGS, 0, 4);
    put_u64(plain.at + AT_STORED, size);
    return plain;
}

static weir_status load_sealed(weir_world *world, test_bytes snapshot)
{
    put_u64(snapshot.at + AT_HASH, hash_bytes(snapshot.at + HEADER, snapshot.size - HEADER, 0));
    return weir_world_load_memory(world, snapshot.at, snapshot.size);
}

// The only brick with sand is the last thing in it: 512 bytes of grains.
static void hostile_grains_are_refused(void **state)
{
    weir_world *world = make_box(8, 8, 8), *other = make_box(8, 8, 8);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 1, 8), 255));
    test_fill(world, test_box(2, 1, 2, 6, 3, 6), 1);
    const uint64_t hash = weir_world_hash(world), before = weir_world_hash(other);
    test_bytes packed = save(world), snapshot = unpacked(packed);
    uint8_t *grains = snapshot.at + snapshot.size - 512, *full = grains + 2 + 8 * 1 + 64 * 2, *solid = grains + 2 + 64 * 2;
    assert_true(*full == 64 && *solid == 0);
    *full = 65;
    assert_refused(load_sealed(other, snapshot), WEIR_ERROR_FORMAT, "cell (2, 1, 2) holds 4259840 drops");
    *full = 255;
    assert_refused(load_sealed(other, snapshot), WEIR_ERROR_FORMAT, "cell (2, 1, 2) holds 16711680 drops");
    *full = 63;
    assert_refused(load_sealed(other, snapshot), WEIR_ERROR_FORMAT, "its account says");
    *solid = 1;
    assert_refused(load_sealed(other, snapshot), WEIR_ERROR_FORMAT, "cell (2, 0, 2) is solid");
    *full = 64;
    *solid = 0;
    snapshot.size--;
    assert_int_equal(load_sealed(other, snapshot), WEIR_ERROR_FORMAT);
    snapshot.size++;
    assert_true(weir_world_hash(other) == before);
    assert_ok(load_sealed(other, snapshot));
    assert_true(weir_world_hash(other) == hash);
    free(packed.at);
    free(snapshot.at);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// ---- Memory that runs out --------------------------------------------------------------------------------------------------

// A world's life in pieces, each of which can be tried again.
typedef struct life {
    test_memory memory;
    weir_world *world;
    weir_mesher *mesher;
    uint8_t snapshot[1 << 16];
    size_t snapshot_size;
} life;

static weir_status life_create(life *l)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 24, 24, 8);
    def.allocator = test_memory_hooks(&l->memory);
    return world_create_with(&def, &sand_solver, &l->world);
}

static weir_status life_build(life *l)
{
    return weir_world_build(l->world, test_box(0, 0, 0, 12, 3, 8), 255);
}

static weir_status life_fill(life *l)
{
    return weir_world_fill(l->world, test_box(0, 5, 0, 7, 12, 7), WEIR_WATER, 0.8f);
}

static weir_status life_emit(life *l)
{
    return weir_world_add_emitter(l->world, test_box(20, 2, 2, 23, 5, 5), WEIR_WATER, 1.3f, NULL);
}

static weir_status life_step(life *l)
{
    return weir_world_step(l->world);
}

static weir_status life_step_behind(life *l)
{
    weir_status status = weir_world_step_begin(l->world);
    return status == WEIR_OK ? weir_world_step_end(l->world) : status;
}

static weir_status life_dig(life *l)
{
    return weir_world_dig(l->world, test_box(2, 0, 2, 4, 3, 4));
}

static weir_status life_save(life *l)
{
    return weir_world_save_memory(l->world, l->snapshot, sizeof l->snapshot, &l->snapshot_size);
}

static weir_status life_load(life *l)
{
    return weir_world_load_memory(l->world, l->snapshot, l->snapshot_size);
}

static weir_status life_mesh(life *l)
{
    const weir_mesher_def def = {.allocator = test_memory_hooks(&l->memory)};
    weir_mesh mesh;
    weir_status status = l->mesher ? WEIR_OK : weir_mesher_create(l->world, &def, &l->mesher);
    if (status == WEIR_OK) status = weir_mesher_update(l->mesher, NULL);
    if (status == WEIR_OK) status = weir_mesher_join(l->mesher, &mesh);
    if (status == WEIR_OK) assert_true(mesh.triangle_count > 0);
    return status;
}

static weir_status (*const PIECES[])(life *l) = {
    life_create, life_build,       life_fill, life_emit, life_step, life_step, life_mesh,        life_save, life_dig,
    life_step,   life_step_behind, life_mesh, life_load, life_step, life_mesh, life_step_behind, life_step};
enum { PIECE_COUNT = sizeof PIECES / sizeof PIECES[0] };

// Lives one life. Where a piece fails, memory comes back and the piece is tried again. Returns the hash at the end.
static uint64_t live(life *l, int64_t fail_at, bool fail_after)
{
    *l = (life){.memory = {.fail_at = fail_at, .fail_after = fail_after}};
    for (int32_t i = 0; i < PIECE_COUNT; i++) {
        weir_status status = PIECES[i](l);
        if (status != WEIR_OK) {
            if (status != WEIR_ERROR_MEMORY || l->memory.failures == 0 || strlen(weir_error_message()) == 0)
                fail_msg("allocation %d, piece %d: %s", (int)fail_at, i, weir_error_message());
            if (l->world) assert_exact(l->world);
            l->memory.fail_at = 0;
            status = PIECES[i](l);
            if (status != WEIR_OK) fail_msg("allocation %d, piece %d again: %s", (int)fail_at, i, weir_error_message());
        }
        assert_exact(l->world);
    }
    const uint64_t hash = weir_world_hash(l->world);
    weir_mesher_destroy(l->mesher);
    weir_world_destroy(l->world);
    assert_int_equal(l->memory.bytes, 0);
    assert_int_equal(l->memory.blocks, 0);
    return hash;
}

static void sand_survives_memory_that_fails_anywhere(void **state)
{
    static life l;
    const uint64_t hash = live(&l, 0, false);
    const int64_t calls = l.memory.calls;
    for (int32_t fail_after = 0; fail_after < 2; fail_after++) {
        for (int64_t n = 1; n <= calls; n += fail_after ? test_length(4, 11) : test_length(1, 4)) {
            const uint64_t other = live(&l, n, fail_after);
            assert_true(l.memory.failures > 0);
            if (other != hash) fail_msg("allocation %d of %d fails: the world goes on in another way", (int)n, (int)calls);
        }
    }
}

// ---- Random worlds ---------------------------------------------------------------------------------------------------------

static uint32_t draw_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % limit);
}

// A box within the 16 cells of a world from its origin on, at most so large.
static weir_box draw_box(uint64_t *seed, weir_coord origin, uint32_t most)
{
    int32_t min[3], max[3];
    for (int32_t i = 0; i < 3; i++) {
        min[i] = (int32_t)draw_below(seed, 14);
        max[i] = min[i] + 1 + (int32_t)draw_below(seed, most);
        if (max[i] > 16) max[i] = 16;
    }
    return test_box(origin.x + min[0], origin.y + min[1], origin.z + min[2], origin.x + max[0], origin.y + max[1],
                    origin.z + max[2]);
}

enum { WORLDS = 2 };  // on one thread and on three

static void compare(const plain_sand *p, weir_world *const worlds[WORLDS], uint64_t number)
{
    static float fills[PLAIN_CELLS];
    int32_t live = 0;
    for (int32_t i = 0; i < PLAIN_CELLS; i++) live += p->live[i];
    assert_ok(weir_world_read_fill(worlds[0], plain_all(p), fills));
    for (int32_t i = 0; i < PLAIN_CELLS; i++) {
        if (64 * fills[i] == (float)p->grains[i]) continue;
        const weir_coord c = plain_coord(p, i);
        fail_msg("world %d, update %d, cell (%d, %d, %d): %g grains, and %d in the plain reading", (int)number, p->updates, c.x,
                 c.y, c.z, 64 * (double)fills[i], p->grains[i]);
    }
    for (int32_t w = 0; w < WORLDS; w++) {
        const weir_ledger ledger = weir_world_ledger(worlds[w]);
        assert_exact(worlds[w]);
        if (ledger.added != p->added * GRAIN || ledger.removed != p->removed * GRAIN || ledger.drained != p->drained * GRAIN)
            fail_msg("world %d, update %d: another account than that of the plain reading", (int)number, p->updates);
        if (p->updates > 0 && weir_world_stats(worlds[w]).bricks * 512 != live)
            fail_msg("world %d, update %d: other bricks than those of the plain reading", (int)number, p->updates);
    }
    assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[1]));
}

// One random edit, on the plain reading and on the worlds.
static void edit(plain_sand *p, weir_world *const worlds[WORLDS], weir_coord corner, uint64_t *seed)
{
    const uint32_t kind = draw_below(seed, 8);
    const weir_box box = draw_box(seed, corner, kind < 5 ? 9 : 4);
    const int32_t grains = (int32_t)draw_below(seed, 65), rate = 1 + (int32_t)draw_below(seed, 60000);
    bool inside = false;
    EACH_PLAIN(p, box, i) inside |= plain_inside(p, plain_coord(p, i));
    if (!inside || (kind >= 6 && p->source_count == PLAIN_SOURCES)) return;
    for (int32_t w = 0; w < WORLDS; w++) {
        weir_world *world = worlds[w];
        switch (kind) {
        case 0:
        case 1:
        case 2: test_fill(world, box, (float)grains / 64); break;
        case 3: assert_ok(weir_world_build(world, box, 255)); break;
        case 4: assert_ok(weir_world_dig(world, box)); break;
        case 5: assert_ok(weir_world_drain(world, box)); break;
        case 6: assert_ok(weir_world_add_emitter(world, box, WEIR_WATER, (float)rate / 65536, NULL)); break;
        default: assert_ok(weir_world_add_drain(world, box, (float)rate / 65536, NULL)); break;
        }
    }
    if (kind <= 2 || kind == 5) plain_fill(p, box, kind == 5 ? 0 : grains);
    if (kind == 3 || kind == 4) plain_shape(p, box, kind == 3);
    if (kind < 6) return;
    weir_source sources[PLAIN_SOURCES];
    weir_world_sources(worlds[0], sources, PLAIN_SOURCES);
    p->sources[p->source_count] = (plain_source){.box = sources[p->source_count].box, .sign = kind == 6 ? 1 : -1, .rate = rate};
    p->source_count++;
}

static void play_random_world(uint64_t number)
{
    static plain_sand p;
    uint64_t seed = number;
    for (int32_t i = 0; i < 8; i++) draw_below(&seed, 2);
    weir_world_def def = weir_world_def_default();
    weir_coord corner;
    corner.x = (int32_t)draw_below(&seed, 40) - 24;
    corner.y = (int32_t)draw_below(&seed, 40) - 24;
    corner.z = (int32_t)draw_below(&seed, 40) - 24;
    p = (plain_sand){.bounded = draw_below(&seed, 3) > 0};
    p.origin = (weir_coord){(corner.x >> 3) * 8 - 16, (corner.y >> 3) * 8 - 24, (corner.z >> 3) * 8 - 16};
    if (p.bounded) {
        def.bounds = p.bounds = draw_box(&seed, corner, 20);
        def.open_sides = p.open_sides = draw_below(&seed, 2) ? draw_below(&seed, 64) : 0;
    }
    weir_world *worlds[WORLDS];
    for (int32_t w = 0; w < WORLDS; w++) {
        def.threads = w == 0 ? 1 : 3;
        worlds[w] = make(&def);
    }
    for (int32_t k = 0; k < 8; k++) edit(&p, worlds, corner, &seed);
    compare(&p, worlds, number);
    for (int32_t n = 0; n < 6; n++) {
        plain_update(&p);
        for (int32_t w = 0; w < WORLDS; w++) assert_ok(weir_world_step(worlds[w]));
        compare(&p, worlds, number);
        if (draw_below(&seed, 3) == 0) edit(&p, worlds, corner, &seed);
        if (n != 2) continue;
        test_bytes bytes = save(worlds[0]);
        assert_ok(weir_world_load_memory(worlds[1], bytes.at, bytes.size));
        free(bytes.at);
    }
    for (int32_t w = 0; w < WORLDS; w++) weir_world_destroy(worlds[w]);
}

static void random_worlds_agree_with_the_plain_reading(void **state)
{
    for (int32_t n = 1; n <= test_length(100, 30); n++) play_random_world((uint64_t)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sand_falls_slides_and_comes_to_rest),
        cmocka_unit_test(sand_leaves_through_open_sides_and_is_booked),
        cmocka_unit_test(fills_are_rounded_to_whole_grains),
        cmocka_unit_test(sources_move_whole_grains_and_owe_the_rest),
        cmocka_unit_test(terrain_is_dug_from_under_sand_and_built_over_it),
        cmocka_unit_test(what_sand_cannot_do_is_refused_with_a_sentence),
        cmocka_unit_test(long_sentences_arrive_whole),
        cmocka_unit_test(the_log_tells_the_solver),
        cmocka_unit_test(one_and_four_threads_give_one_hash),
        cmocka_unit_test(the_order_of_bricks_does_not_show),
        cmocka_unit_test(the_hash_tells_all_that_the_next_update_depends_on),
        cmocka_unit_test(queries_and_edits_go_on_during_background_steps),
        cmocka_unit_test(queries_see_sand),
        cmocka_unit_test(bricks_are_listed_where_sand_is_and_where_it_moved),
        cmocka_unit_test(sand_is_meshed_where_it_moves),
        cmocka_unit_test(sand_is_drawn_in_every_look),
        cmocka_unit_test(a_saved_world_goes_on_as_it_would_have),
        cmocka_unit_test(emitters_are_judged_by_the_materials_that_come_with_them),
        cmocka_unit_test(sand_and_water_do_not_load_each_other),
        cmocka_unit_test(hostile_grains_are_refused),
        cmocka_unit_test(sand_survives_memory_that_fails_anywhere),
        cmocka_unit_test(random_worlds_agree_with_the_plain_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
