// Fills and flows of a box written from arrays: what was read can be written elsewhere, every drop is booked, and an array with one wrong
// value changes nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

static size_t cells_of(weir_box b)
{
    return (size_t)(b.max.x - b.min.x) * (size_t)(b.max.y - b.min.y) * (size_t)(b.max.z - b.min.z);
}

static weir_vec *flows_of(const weir_world *world, weir_box box)
{
    weir_vec *flows = malloc(cells_of(box) * sizeof *flows);
    assert_non_null(flows);
    assert_ok(weir_world_read_flow(world, box, flows));
    return flows;
}

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static weir_world *make(weir_solver solver, test_memory *counted)
{
    weir_world_def def = test_def(solver, 40, 24, 24);
    if (counted) def.allocator = test_memory_hooks(counted);
    return test_make(&def);
}

static const weir_box WHOLE = {{0, 0, 0}, {40, 24, 24}};

static void build_terrain(weir_world *world)
{
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 40, 3, 24), 255));
    assert_ok(weir_world_build_sphere(world, (weir_sphere){{22, 5, 12}, 4}, 200));
}

// ---- Fills -----------------------------------------------------------------------------------------------------------------

static void what_was_read_can_be_written_into_another_world(void **state)
{
    for (int solver = 0; solver < TEST_FLOW_SOLVERS; solver++) {
        weir_world *from = make((weir_solver)solver, NULL), *to = make((weir_solver)solver, NULL);
        build_terrain(from);
        build_terrain(to);
        test_fill(from, test_box(0, 3, 0, 17, 22, 24), 1);
        test_step(from, 40);
        assert_true(weir_world_box_sum(from, WHOLE).max_fill > 1);  // over-full cells are among them
        test_fill(to, test_box(30, 3, 0, 40, 20, 20), 0.7f);        // in the way
        float *fills = test_fills(from, WHOLE);
        weir_vec *flows = flows_of(from, WHOLE);
        assert_ok(weir_world_write_fill(to, WHOLE, fills));
        assert_exact(to);
        assert_int_equal(weir_world_ledger(to).held, weir_world_ledger(from).held);
        float *again = test_fills(to, WHOLE);
        assert_memory_equal(fills, again, cells_of(WHOLE) * sizeof *fills);
        assert_ok(weir_world_write_flow(to, WHOLE, flows));
        assert_true(weir_world_mean_flow(to, WHOLE).x > 0);
        test_step(to, 5);
        assert_exact(to);
        free(fills);
        free(again);
        free(flows);
        weir_world_destroy(from);
        weir_world_destroy(to);
    }
}

static void every_drop_that_is_written_is_booked(void **state)
{
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, NULL);
    build_terrain(world);
    const weir_box box = test_box(-3, 1, 2, 29, 21, 27);  // reaches out of the world at two sides
    float *fills = calloc(cells_of(box), sizeof *fills);
    assert_non_null(fills);
    int64_t added = 0, removed = 0;
    for (int32_t round = 0; round < 4; round++) {
        size_t i = 0;
        for (int32_t z = box.min.z; z < box.max.z; z++) {
            for (int32_t y = box.min.y; y < box.max.y; y++) {
                for (int32_t x = box.min.x; x < box.max.x; x++, i++) {
                    int64_t drops = random_below(3) ? 0 : random_below(4 * WEIR_FULL);
                    fills[i] = (float)((double)drops / WEIR_FULL);
                    weir_cell cell = weir_world_cell(world, (weir_coord){x, y, z});
                    if (cell.solid >= 128) continue;
                    int64_t more = drops - (int64_t)((double)cell.fill * WEIR_FULL);
                    added += more > 0 ? more : 0;
                    removed -= more < 0 ? more : 0;
                }
            }
        }
        assert_ok(weir_world_write_fill(world, box, fills));
        weir_ledger ledger = weir_world_ledger(world);
        assert_int_equal(ledger.added, added);
        assert_int_equal(ledger.removed, removed);
        assert_exact(world);
    }
    free(fills);
    weir_world_destroy(world);
}

static void fills_are_rounded_to_the_nearest_drop(void **state)
{
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, NULL);
    const double drops[] = {0, 0.49, 0.51, 1, 1.49, WEIR_FULL, 2.0 * WEIR_FULL + 1, 3.0 * WEIR_FULL + 3, 4.0 * WEIR_FULL - 1};
    const int64_t expected[] = {0, 0, 1, 1, 1, WEIR_FULL, 2 * WEIR_FULL + 1, 3 * WEIR_FULL + 3, 4 * WEIR_FULL - 1};
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        float fill = (float)(drops[i] / WEIR_FULL);
        assert_ok(weir_world_write_fill(world, test_box(7, 7, 7, 8, 8, 8), &fill));
        assert_int_equal(weir_world_ledger(world).held, expected[i]);
    }
    weir_world_destroy(world);
}

static void one_value_everywhere_is_what_fill_does(void **state)
{
    weir_world *filled = make(WEIR_SOLVER_MOMENTUM, NULL), *written = make(WEIR_SOLVER_MOMENTUM, NULL);
    const weir_box box = test_box(3, 2, 5, 27, 20, 22);
    float *fills = malloc(cells_of(box) * sizeof *fills);
    weir_vec *flows = malloc(cells_of(box) * sizeof *flows);
    const float values[] = {0.3f, 1, 0};
    for (int32_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < cells_of(box); i++) fills[i] = values[k], flows[i] = (weir_vec){0.25f, -0.5f, values[k]};
        for (int32_t i = 0; i < 2; i++) {
            weir_world *world = i ? written : filled;
            build_terrain(world);
            test_fill(world, test_box(0, 3, 0, 12, 12, 24), 1);
            test_step(world, 4);
        }
        test_fill(filled, box, values[k]);
        assert_ok(weir_world_set_flow(filled, box, (weir_vec){0.25f, -0.5f, values[k]}));
        assert_ok(weir_world_write_fill(written, box, fills));
        assert_ok(weir_world_write_flow(written, box, flows));
        assert_true(weir_world_hash(filled) == weir_world_hash(written));
        test_step(filled, 3);
        test_step(written, 3);
        assert_true(weir_world_hash(filled) == weir_world_hash(written));
    }
    free(fills);
    free(flows);
    weir_world_destroy(filled);
    weir_world_destroy(written);
}

static void water_that_is_written_away_leaves_no_flow_and_no_pressure(void **state)
{
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, NULL);
    test_fill(world, test_box(0, 0, 0, 17, 22, 24), 1);
    test_step(world, 10);
    assert_true(weir_world_box_sum(world, WHOLE).max_flow > 0);
    float *fills = calloc(cells_of(WHOLE), sizeof *fills);
    assert_non_null(fills);
    fills[cells_of(WHOLE) - 1] = 0.5f;  // so that it is not all dry
    assert_ok(weir_world_write_fill(world, WHOLE, fills));
    weir_vec *flows = flows_of(world, WHOLE);
    float *pressures = malloc(cells_of(WHOLE) * sizeof *pressures);
    assert_ok(weir_world_read_pressure(world, WHOLE, pressures));
    for (size_t i = 0; i + 1 < cells_of(WHOLE); i++)
        assert_true(flows[i].x == 0 && flows[i].y == 0 && flows[i].z == 0 && pressures[i] == 0);
    free(fills);
    free(flows);
    free(pressures);
    weir_world_destroy(world);
}

static void only_bricks_that_get_water_are_made(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    const weir_box box = test_box(-64, -64, -64, 64, 64, 64);
    float *fills = calloc(cells_of(box), sizeof *fills);
    assert_non_null(fills);
    assert_ok(weir_world_write_fill(world, box, fills));
    assert_int_equal(weir_world_bricks(world, NULL, 0), 0);
    fills[0] = 0.5f;
    fills[cells_of(box) - 1] = 0.5f;
    assert_ok(weir_world_write_fill(world, box, fills));
    weir_coord bricks[4];
    assert_int_equal(weir_world_bricks(world, bricks, 4), 2);
    assert_true(bricks[0].x == -64 && bricks[1].z == 56);
    assert_true(weir_world_cell(world, (weir_coord){-64, -64, -64}).fill == 0.5f);
    assert_true(weir_world_cell(world, (weir_coord){63, 63, 63}).fill == 0.5f);
    free(fills);
    weir_world_destroy(world);
}

// ---- Flows -----------------------------------------------------------------------------------------------------------------

static bool in_box(weir_box b, weir_coord c)
{
    return c.x >= b.min.x && c.x < b.max.x && c.y >= b.min.y && c.y < b.max.y && c.z >= b.min.z && c.z < b.max.z;
}

static float part_of(weir_vec v, int32_t axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

// The flow through a cell's face, from the rule as the header tells it. Of faces that the box does not set: 0, as before.
static float expected_face(const weir_world *world, weir_box box, const weir_vec *flows, weir_coord cell, int32_t axis,
                           int32_t side)
{
    weir_coord two[2] = {cell, {cell.x + side * (axis == 0), cell.y + side * (axis == 1), cell.z + side * (axis == 2)}};
    float sum = 0;
    int32_t count = 0;
    for (int32_t i = 0; i < 2; i++) {
        weir_cell at = weir_world_cell(world, two[i]);
        if (at.solid >= 128) return 0;
        if (!in_box(box, two[i]) || at.fill == 0) continue;
        size_t index = (size_t)(two[i].x - box.min.x) +
                       (size_t)(box.max.x - box.min.x) *
                           ((size_t)(two[i].y - box.min.y) + (size_t)(box.max.y - box.min.y) * (size_t)(two[i].z - box.min.z));
        sum += part_of(flows[index], axis);
        count++;
    }
    return count == 2 ? 0.5f * sum : sum;
}

static void a_face_gets_the_mean_of_its_wet_cells(void **state)
{
    for (int solver = 0; solver < TEST_FLOW_SOLVERS; solver++) {
        weir_world *world = make((weir_solver)solver, NULL);
        const weir_box box = test_box(3, 2, 5, 19, 13, 18);  // over the rims of bricks
        float *fills = malloc(cells_of(box) * sizeof *fills);
        weir_vec *flows = malloc(cells_of(box) * sizeof *flows);
        build_terrain(world);
        test_fill(world, test_box(1, 3, 3, 5, 9, 9), 1);  // some of it beside the box
        const weir_params params = weir_world_params(world);
        const float most = solver == WEIR_SOLVER_CLASSIC ? params.classic.max_flow * 0.5f : params.momentum.max_flow;
        for (size_t i = 0; i < cells_of(box); i++) {
            fills[i] = random_below(2) ? 0 : 0.5f;
            flows[i] = (weir_vec){most * ((float)random_below(129) - 64) / 64, most * ((float)random_below(129) - 64) / 64,
                                  most * ((float)random_below(129) - 64) / 64};
        }
        assert_ok(weir_world_write_fill(world, box, fills));
        assert_ok(weir_world_write_flow(world, box, flows));
        for (int32_t z = 2; z < 22; z++) {
            for (int32_t y = 1; y < 16; y++) {
                for (int32_t x = 0; x < 22; x++) {
                    weir_coord c = {x, y, z};
                    weir_vec flow = weir_world_cell(world, c).flow;
                    for (int32_t axis = 0; axis < 3; axis++) {
                        float mean = 0.5f * (expected_face(world, box, flows, c, axis, -1) +
                                             expected_face(world, box, flows, c, axis, 1));
                        assert_true(fabsf(part_of(flow, axis) - mean) <= 1e-6f * most);
                    }
                }
            }
        }
        test_step(world, 2);
        assert_exact(world);
        free(fills);
        free(flows);
        weir_world_destroy(world);
    }
}

// ---- What is refused -------------------------------------------------------------------------------------------------------

static void one_wrong_value_refuses_the_whole_array_and_is_told_with_its_cell(void **state)
{
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, NULL);
    test_fill(world, test_box(0, 0, 0, 9, 9, 9), 0.5f);
    const uint64_t hash = weir_world_hash(world);
    const weir_box box = test_box(2, 3, 4, 7, 9, 11);
    float fills[5 * 6 * 7] = {0};
    weir_vec flows[5 * 6 * 7] = {{0}};
    const float bad_fills[] = {NAN, -1e-9f, 4, INFINITY, -INFINITY, 4e9f};
    const float bad_flows[] = {NAN, 8.001f, -8.001f, INFINITY, -INFINITY};
    // Also while a step runs: refused at once.
    for (int32_t busy = 0; busy < 2; busy++) {
        if (busy) assert_ok(weir_world_step_begin(world));
        for (size_t i = 0; i < sizeof bad_fills / sizeof *bad_fills; i++) {
            fills[1 + 5 * (2 + 6 * 3)] = bad_fills[i];
            assert_int_equal(weir_world_write_fill(world, box, fills), WEIR_ERROR_ARGUMENT);
            char said[96];
            snprintf(said, sizeof said, "fill at cell (3, 5, 7) is %.9g;", (double)bad_fills[i]);
            assert_non_null(strstr(weir_error_message(), said));
            assert_non_null(strstr(weir_error_message(), "from 0 to 3.99999976"));
        }
        for (size_t i = 0; i < sizeof bad_flows / sizeof *bad_flows; i++) {
            flows[5 * 6 * 7 - 1] = (weir_vec){0, 0, bad_flows[i]};
            assert_int_equal(weir_world_write_flow(world, box, flows), WEIR_ERROR_ARGUMENT);
            char said[96];
            snprintf(said, sizeof said, "flow.z at cell (6, 8, 10) is %.9g;", (double)bad_flows[i]);
            assert_non_null(strstr(weir_error_message(), said));
        }
        assert_int_equal(weir_world_write_fill(world, test_box(3, 3, 3, 3, 9, 9), fills), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_write_flow(world, test_box(3, 3, 3, 2, 9, 9), flows), WEIR_ERROR_ARGUMENT);
        assert_int_equal(weir_world_write_fill(world, test_box(50, 3, 3, 51, 4, 4), fills), WEIR_ERROR_OUTSIDE);
        assert_int_equal(weir_world_write_flow(world, test_box(50, 3, 3, 51, 4, 4), flows), WEIR_ERROR_OUTSIDE);
        const weir_box all = {{-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT},
                              {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT}};
        assert_int_equal(weir_world_write_fill(world, all, fills), WEIR_ERROR_LIMIT);
        assert_int_equal(weir_world_write_flow(world, all, flows), WEIR_ERROR_LIMIT);
        assert_true(weir_world_hash(world) == hash);
    }
    assert_ok(weir_world_step_end(world));
    weir_world_destroy(world);
}

static void arrays_that_wait_are_copies(void **state)
{
    weir_world *plain = make(WEIR_SOLVER_MOMENTUM, NULL), *queued = make(WEIR_SOLVER_MOMENTUM, NULL);
    const weir_box box = test_box(-2, 1, 5, 19, 13, 18);
    float *fills = malloc(cells_of(box) * sizeof *fills);
    weir_vec *flows = malloc(cells_of(box) * sizeof *flows);
    for (size_t i = 0; i < cells_of(box); i++) {
        fills[i] = random_below(2) ? 0 : (float)random_below(WEIR_FULL) / WEIR_FULL;
        flows[i] = (weir_vec){(float)random_below(100) / 100, 0, -(float)random_below(100) / 100};
    }
    build_terrain(plain);
    build_terrain(queued);
    test_step(plain, 1);
    assert_ok(weir_world_write_fill(plain, box, fills));
    assert_ok(weir_world_write_flow(plain, box, flows));
    const uint64_t before = weir_world_hash(queued);
    assert_ok(weir_world_step_begin(queued));
    assert_ok(weir_world_write_fill(queued, box, fills));
    assert_ok(weir_world_write_flow(queued, box, flows));
    memset(fills, 0x3f, cells_of(box) * sizeof *fills);
    memset(flows, 0x3f, cells_of(box) * sizeof *flows);
    assert_true(weir_world_hash(queued) == before);
    assert_ok(weir_world_step_end(queued));
    assert_true(weir_world_hash(plain) == weir_world_hash(queued));
    assert_exact(queued);
    test_step(plain, 2);
    test_step(queued, 2);
    assert_true(weir_world_hash(plain) == weir_world_hash(queued));
    free(fills);
    free(flows);
    weir_world_destroy(plain);
    weir_world_destroy(queued);
}

static void without_memory_nothing_is_written(void **state)
{
    test_memory counted = {0};
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, &counted);
    test_fill(world, test_box(0, 0, 0, 2, 2, 2), 0.5f);
    float *fills = malloc(cells_of(WHOLE) * sizeof *fills);
    for (size_t i = 0; i < cells_of(WHOLE); i++) fills[i] = (float)(i % 5) / 4;
    const uint64_t hash = weir_world_hash(world);
    const int32_t bricks = weir_world_bricks(world, NULL, 0);
    int32_t failures = 0;
    for (;; failures++) {
        counted.fail_at = counted.calls + 1 + failures;
        counted.fail_after = true;
        weir_status status = weir_world_write_fill(world, WHOLE, fills);
        counted.fail_at = 0;
        if (status == WEIR_OK) break;
        assert_int_equal(status, WEIR_ERROR_MEMORY);
        assert_true(weir_world_hash(world) == hash);
        assert_int_equal(weir_world_bricks(world, NULL, 0), bricks);
        assert_exact(world);
    }
    assert_true(failures > 0);
    assert_exact(world);
    free(fills);
    weir_world_destroy(world);
    assert_int_equal(counted.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_can_be_written_into_another_world),
        cmocka_unit_test(every_drop_that_is_written_is_booked),
        cmocka_unit_test(fills_are_rounded_to_the_nearest_drop),
        cmocka_unit_test(one_value_everywhere_is_what_fill_does),
        cmocka_unit_test(water_that_is_written_away_leaves_no_flow_and_no_pressure),
        cmocka_unit_test(only_bricks_that_get_water_are_made),
        cmocka_unit_test(a_face_gets_the_mean_of_its_wet_cells),
        cmocka_unit_test(one_wrong_value_refuses_the_whole_array_and_is_told_with_its_cell),
        cmocka_unit_test(arrays_that_wait_are_copies),
        cmocka_unit_test(without_memory_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
