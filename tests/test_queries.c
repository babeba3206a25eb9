// Queries: each against a plain count over cells, on a world with terrain, spheres of water and bricks only partly used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_cells.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const weir_box BOUNDS = {{-13, -13, -13}, {20, 20, 20}};
static const weir_box EVERYTHING = {{INT32_MIN, INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX, INT32_MAX}};

static weir_box box(int32_t x0, int32_t y0, int32_t z0, int32_t x1, int32_t y1, int32_t z1)
{
    return (weir_box){{x0, y0, z0}, {x1, y1, z1}};
}

static weir_world *make(weir_box bounds)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = bounds;
    def.threads = 1;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    return world;
}

static weir_world *make_unbounded(void)
{
    return make((weir_box){{0, 0, 0}, {0, 0, 0}});
}

static weir_world *make_scene(void)
{
    weir_world *world = make(BOUNDS);
    assert_int_equal(weir_world_build(world, box(-13, -13, -13, 20, -6, 20), 255), WEIR_OK);
    assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{10, 0, 10}, 5}, 200), WEIR_OK);
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{2.5f, 2, 3}, 7}, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(-12, 3, -9, -2, 5, 1), WEIR_WATER, 0.25f), WEIR_OK);
    for (int32_t i = 0; i < 8; i++) assert_int_equal(weir_world_step(world), WEIR_OK);
    return world;
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static float random_between(uint32_t *state, float min, float max)
{
    return min + (max - min) * (float)random_next(state) / (float)(1 << 24);
}

static float large(weir_vec v)
{
    return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fabsf(v.z));
}

// ---- Cells and boxes -------------------------------------------------------------------------------------------------------

static void outside_the_world_it_is_dry_and_solid(void **state)
{
    weir_world *world = make_scene();
    const weir_coord outside[] = {
        {20, 0, 0}, {0, -14, 0}, {INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        weir_cell cell = weir_world_cell(world, outside[i]);
        assert_true(cell.fill == 0 && cell.solid == 255 && cell.material == WEIR_NOTHING && large(cell.flow) == 0);
    }
    assert_int_equal(weir_world_cell(world, (weir_coord){-13, 19, 19}).solid, 0);
    weir_world_destroy(world);
}

static void flow_at_a_cell_is_the_mean_of_its_faces_also_across_bricks(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 16, 1, 1), WEIR_WATER, 1), WEIR_OK);
    brick_pool *pool = test_pool(world);
    bricks_floats(pool, CHANNEL_FLOW_X, bricks_find(pool, (weir_coord){0, 0, 0}))[7] = 0.25f;
    bricks_floats(pool, CHANNEL_FLOW_X, bricks_find(pool, (weir_coord){1, 0, 0}))[0] = 0.75f;
    assert_true(weir_world_cell(world, (weir_coord){7, 0, 0}).flow.x == 0.5f);
    assert_true(weir_world_cell(world, (weir_coord){6, 0, 0}).flow.x == 0.125f);
    assert_true(weir_world_cell(world, (weir_coord){8, 0, 0}).flow.x == 0.375f);
    weir_world_destroy(world);
}

static weir_box_sum count_cells(const weir_world *world, weir_box b)
{
    weir_box_sum sum = {0};
    double flow[3] = {0, 0, 0}, mass = 0;
    for (int32_t z = b.min.z; z < b.max.z; z++) {
        for (int32_t y = b.min.y; y < b.max.y; y++) {
            for (int32_t x = b.min.x; x < b.max.x; x++) {
                weir_cell cell = weir_world_cell(world, (weir_coord){x, y, z});
                sum.drops += (int64_t)((double)cell.fill * WEIR_FULL);
                sum.open_cells += cell.solid < 128;
                sum.wet_cells += cell.fill > 1e-4f;
                sum.max_fill = fmaxf(sum.max_fill, cell.fill);
                sum.max_pressure = fmaxf(sum.max_pressure, cell.pressure);
                if (cell.fill > 0) sum.max_flow = fmaxf(sum.max_flow, large(cell.flow));
                flow[0] += (double)cell.fill * cell.flow.x;
                flow[1] += (double)cell.fill * cell.flow.y;
                flow[2] += (double)cell.fill * cell.flow.z;
                mass += cell.fill;
            }
        }
    }
    sum.mean_fill = sum.open_cells ? (float)(mass / (double)sum.open_cells) : 0;
    if (mass > 0) sum.mean_flow = (weir_vec){(float)(flow[0] / mass), (float)(flow[1] / mass), (float)(flow[2] / mass)};
    return sum;
}

static void assert_sums(weir_box_sum a, weir_box_sum b)
{
    assert_true(a.drops == b.drops && a.open_cells == b.open_cells && a.wet_cells == b.wet_cells);
    assert_true(a.max_fill == b.max_fill && a.max_flow == b.max_flow && a.max_pressure == b.max_pressure);
    assert_true(fabsf(a.mean_fill - b.mean_fill) < 1e-6f);
    weir_vec apart = {a.mean_flow.x - b.mean_flow.x, a.mean_flow.y - b.mean_flow.y, a.mean_flow.z - b.mean_flow.z};
    assert_true(large(apart) < 1e-6f);  // fixed units of 2^-24 per brick
}

static void the_sum_over_a_box_is_that_over_its_cells(void **state)
{
    weir_world *world = make_scene();
    weir_box_sum all = weir_world_box_sum(world, EVERYTHING);
    assert_sums(all, count_cells(world, BOUNDS));
    assert_true(all.drops == weir_world_ledger(world).held && all.max_flow > 0 && all.max_pressure > 0);
    uint32_t random = 7;
    for (int32_t i = 0; i < 40; i++) {
        weir_box b = BOUNDS;
        b.min.x += (int32_t)(random_next(&random) % 16), b.max.x -= (int32_t)(random_next(&random) % 16);
        b.min.y += (int32_t)(random_next(&random) % 16), b.max.y -= (int32_t)(random_next(&random) % 16);
        b.min.z += (int32_t)(random_next(&random) % 16), b.max.z -= (int32_t)(random_next(&random) % 16);
        weir_box_sum sum = weir_world_box_sum(world, b);
        assert_sums(sum, count_cells(world, b));
        weir_vec flow = weir_world_mean_flow(world, b);
        assert_memory_equal(&flow, &sum.mean_flow, sizeof flow);
    }
    weir_box_sum none = weir_world_box_sum(world, box(3, 3, 3, 3, 4, 4));
    assert_true(none.drops == 0 && none.open_cells == 0 && none.mean_fill == 0);
    weir_world_destroy(world);
}

static void a_sum_over_an_endless_world_is_quick_and_right(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 9, 9, 9), WEIR_WATER, 1), WEIR_OK);
    weir_box_sum sum = weir_world_box_sum(world, EVERYTHING);
    assert_true(sum.drops == (int64_t)729 * WEIR_FULL && sum.open_cells == INT64_MAX && sum.wet_cells == 729);
    assert_int_equal(weir_world_build(world, box(50, 50, 50, 55, 55, 55), 255), WEIR_OK);
    sum = weir_world_box_sum(world, box(-1000, -1000, -1000, 1000, 1000, 1000));
    assert_true(sum.open_cells == 8000000000 - 125);
    weir_world_destroy(world);
}

// Terrain that is kept, as arrays, as single shares and cut by the box, counted both ways: by what is kept, and brick by brick.
static void a_sum_over_much_terrain_is_that_over_its_cells(void **state)
{
    weir_world *world = make_unbounded();
    uint32_t random = 5;
    assert_int_equal(weir_world_build(world, box(-40, -9, -40, 40, -2, 40), 255), WEIR_OK);
    for (int32_t i = 0; i < 30; i++) {
        const weir_sphere sphere = {
            {random_between(&random, -40, 40), random_between(&random, -9, 9), random_between(&random, -40, 40)},
            random_between(&random, 1, 9)};
        const uint8_t share = i % 3 ? 255 : 127;
        assert_int_equal(i % 4 == 1 ? weir_world_dig_sphere(world, sphere) : weir_world_build_sphere(world, sphere, share),
                         WEIR_OK);
    }
    assert_int_equal(weir_world_fill(world, box(-20, -9, -20, 20, 4, 20), WEIR_WATER, 0.75f), WEIR_OK);
    assert_int_equal(weir_world_step(world), WEIR_OK);
    const weir_box all = box(-50, -20, -50, 50, 20, 50);
    assert_sums(weir_world_box_sum(world, all), count_cells(world, all));
    for (int32_t i = 0; i < 12; i++) {
        const int32_t x = (int32_t)(random_next(&random) % 60) - 40, y = (int32_t)(random_next(&random) % 12) - 10,
                      z = (int32_t)(random_next(&random) % 60) - 40, edge = i % 2 ? 7 : 60;
        const weir_box part = box(x, y, z, x + edge, y + edge, z + edge);
        assert_sums(weir_world_box_sum(world, part), count_cells(world, part));
    }
    weir_world_destroy(world);
}

typedef struct asked_ground {
    int32_t height;
    int64_t bricks;  // asked for
} asked_ground;

static void ask_ground(void *user, weir_coord origin, uint8_t shares[512])
{
    asked_ground *ground = user;
    ground->bricks++;
    for (int32_t i = 0; i < 512; i++) shares[i] = origin.y + (i >> 3 & 7) < ground->height ? 255 : 0;
}

// The game is asked no more for a larger box, where nobody could wait for the answer.
static void a_sum_over_the_games_own_terrain_ends(void **state)
{
    asked_ground ground = {.height = -3};
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    def.terrain = ask_ground;
    def.terrain_user = &ground;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(-9, -3, -9, 9, 3, 9), WEIR_WATER, 0.5f), WEIR_OK);
    for (int32_t i = 0; i < 3; i++) assert_int_equal(weir_world_step(world), WEIR_OK);
    const weir_box near = box(-30, -30, -30, 30, 30, 30);
    assert_sums(weir_world_box_sum(world, near), count_cells(world, near));
    const weir_box_sum most = weir_world_box_sum(world, box(-128, -128, -128, 128, 128, 128));
    assert_int_equal(most.open_cells, 256 * 256 * 131);

    const int64_t asked = ground.bricks;
    const weir_box_sum all = weir_world_box_sum(world, EVERYTHING);
    const weir_box_sum more = weir_world_box_sum(world, box(-128, -128, -128, 128, 128, 129));
    assert_int_equal(ground.bricks, asked);
    assert_true(all.open_cells == INT64_MAX);
    assert_true(more.open_cells > 256 * 256 * 131 &&
                more.open_cells < 256 * 256 * 257);  // what is solid in live bricks is known
    for (int32_t i = 0; i < 2; i++) {
        const weir_box_sum sum = i ? all : more;
        assert_true(sum.drops == most.drops && sum.wet_cells == most.wet_cells && sum.max_fill == most.max_fill);
        assert_true(sum.max_flow == most.max_flow && sum.max_pressure == most.max_pressure);
        assert_memory_equal(&sum.mean_flow, &most.mean_flow, sizeof sum.mean_flow);
    }
    weir_world_destroy(world);
}

static void fills_are_read_in_order_and_are_0_outside(void **state)
{
    weir_world *world = make_scene();
    const weir_box b = box(-20, -4, -15, 9, 9, 30);
    float *fill = malloc(29 * 13 * 45 * sizeof *fill);
    assert_non_null(fill);
    assert_int_equal(weir_world_read_fill(world, b, fill), WEIR_OK);
    int32_t i = 0;
    for (int32_t z = b.min.z; z < b.max.z; z++) {
        for (int32_t y = b.min.y; y < b.max.y; y++) {
            for (int32_t x = b.min.x; x < b.max.x; x++)
                assert_true(fill[i++] == weir_world_cell(world, (weir_coord){x, y, z}).fill);
        }
    }
    assert_int_equal(weir_world_read_fill(world, box(0, 0, 0, 0, 1, 1), fill), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_read_fill(world, EVERYTHING, fill), WEIR_ERROR_LIMIT);
    free(fill);
    weir_world_destroy(world);
}

static void values_of_a_box_are_those_of_its_cells(void **state)
{
    weir_world *world = make_scene();
    for (int32_t i = 0; i < 3; i++) assert_int_equal(weir_world_step(world), WEIR_OK);
    const weir_box b = box(-20, -4, -15, 9, 9, 30);
    const size_t cells = 29 * 13 * 45;
    weir_vec *flow = malloc(cells * sizeof *flow);
    float *pressure = malloc(cells * sizeof *pressure);
    uint8_t *shares = malloc(cells);
    assert_true(flow && pressure && shares);
    assert_int_equal(weir_world_read_flow(world, b, flow), WEIR_OK);
    assert_int_equal(weir_world_read_pressure(world, b, pressure), WEIR_OK);
    assert_int_equal(weir_world_read_terrain(world, b, shares), WEIR_OK);
    int32_t i = 0, moving = 0;
    for (int32_t z = b.min.z; z < b.max.z; z++) {
        for (int32_t y = b.min.y; y < b.max.y; y++) {
            for (int32_t x = b.min.x; x < b.max.x; x++, i++) {
                weir_cell cell = weir_world_cell(world, (weir_coord){x, y, z});
                assert_true(flow[i].x == cell.flow.x && flow[i].y == cell.flow.y && flow[i].z == cell.flow.z);
                assert_true(pressure[i] == cell.pressure && shares[i] == cell.solid);
                moving += cell.flow.y != 0;
            }
        }
    }
    assert_true(moving > 0);
    assert_int_equal(weir_world_read_flow(world, EVERYTHING, flow), WEIR_ERROR_LIMIT);
    free(flow);
    free(pressure);
    free(shares);
    weir_world_destroy(world);
}

static void the_extent_holds_water_and_terrain_and_nothing_else(void **state)
{
    weir_world *world = make_unbounded();
    weir_box b;
    assert_false(weir_world_extent(world, &b));
    assert_int_equal(weir_world_fill(world, box(3, 4, 5, 4, 5, 6), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_step(world), WEIR_OK);  // which makes empty bricks around the water
    assert_true(weir_world_extent(world, &b));
    assert_memory_equal(&b, &((weir_box){{0, 0, 0}, {8, 8, 8}}), sizeof b);
    assert_int_equal(weir_world_build(world, box(-3, 40, 5, -2, 41, 6), 7), WEIR_OK);
    assert_true(weir_world_extent(world, &b));
    assert_memory_equal(&b, &((weir_box){{-8, 0, 0}, {8, 48, 8}}), sizeof b);
    weir_world_destroy(world);
}

// ---- Rays ------------------------------------------------------------------------------------------------------------------

static void a_ray_finds_water_and_terrain_and_says_where(void **state)
{
    weir_world *world = make(box(0, 0, 0, 40, 40, 40));
    assert_int_equal(weir_world_build(world, box(0, 0, 0, 40, 2, 40), 255), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(0, 2, 0, 20, 10, 40), WEIR_WATER, 0.5f), WEIR_OK);

    weir_hit hit = weir_world_ray(world, (weir_point){5.5f, 30, 5.5f}, (weir_vec){0, -3, 0}, 100, 0.5f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.y == 9 && hit.distance == 20 && hit.normal.y == 1 && hit.normal.x == 0);
    hit = weir_world_ray(world, (weir_point){5.5f, 30, 5.5f}, (weir_vec){0, -3, 0}, 100, 0.75f);
    assert_true(hit.kind == WEIR_HIT_TERRAIN && hit.cell.y == 1 && hit.distance == 28);
    hit = weir_world_ray(world, (weir_point){5.5f, 30, 5.5f}, (weir_vec){0, -3, 0}, 19.5f, 0);
    assert_int_equal(hit.kind, WEIR_HIT_NONE);
    hit = weir_world_ray(world, (weir_point){5.5f, 5, 5.5f}, (weir_vec){1, 1, 1}, 100, 0);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.distance == 0 && hit.cell.x == 5 && hit.normal.x == 0 && hit.normal.y == 0);

    // A camera outside the world looks into it, and a ray that leaves it meets nothing.
    hit = weir_world_ray(world, (weir_point){140, 5.5f, 20.5f}, (weir_vec){-1, 0, 0}, 1000, 0.1f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.x == 19 && hit.distance == 120 && hit.normal.x == 1);
    hit = weir_world_ray(world, (weir_point){-10, 5.5f, 20.5f}, (weir_vec){1, 0, 0}, 1000, 0.1f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.x == 0 && hit.distance == 10 && hit.normal.x == -1);
    assert_int_equal(weir_world_ray(world, (weir_point){30, 30, 30}, (weir_vec){1, 2, 3}, 1e9f, 0).kind, WEIR_HIT_NONE);
    assert_int_equal(weir_world_ray(world, (weir_point){-5, 30, 30}, (weir_vec){-1, 0, 0}, 1e9f, 0).kind, WEIR_HIT_NONE);

    const weir_point from = {5, 30, 5};
    const weir_vec down = {0, -1, 0};
    assert_int_equal(weir_world_ray(world, from, (weir_vec){0, 0, 0}, 100, 0).kind, WEIR_HIT_NONE);
    assert_int_equal(weir_world_ray(world, from, (weir_vec){NAN, 0, 0}, 100, 0).kind, WEIR_HIT_NONE);
    assert_int_equal(weir_world_ray(world, (weir_point){0, INFINITY, 0}, down, 100, 0).kind, WEIR_HIT_NONE);
    assert_int_equal(weir_world_ray(world, from, down, NAN, 0).kind, WEIR_HIT_NONE);
    assert_int_equal(weir_world_ray(world, from, down, INFINITY, 0).kind, WEIR_HIT_WATER);
    weir_world_destroy(world);
}

static void a_ray_crosses_a_long_emptiness(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, box(1000000, 0, 0, 1000008, 8, 8), WEIR_WATER, 1), WEIR_OK);
    weir_hit hit = weir_world_ray(world, (weir_point){0.5f, 4.5f, 4.5f}, (weir_vec){1, 0, 0}, 2e6f, 0.5f);
    assert_true(hit.kind == WEIR_HIT_WATER && hit.cell.x == 1000000 && hit.normal.x == -1);
    assert_int_equal(weir_world_build(world, box(500, 4, 4, 501, 5, 5), 255), WEIR_OK);
    hit = weir_world_ray(world, (weir_point){0.5f, 4.5f, 4.5f}, (weir_vec){1, 0, 0}, 2e6f, 0.5f);
    assert_true(hit.kind == WEIR_HIT_TERRAIN && hit.cell.x == 500 && hit.distance == 499.5f);
    weir_world_destroy(world);
}

static bool stops(const weir_world *world, weir_point at, float min_fill)
{
    weir_cell cell = weir_world_cell(world, (weir_coord){(int32_t)floor(at.x), (int32_t)floor(at.y), (int32_t)floor(at.z)});
    return cell.solid >= 128 || (cell.fill > 0 && cell.fill >= min_fill);
}

// Along each ray, points a hundredth of a cell apart: before the hit none may stop it, just behind the face the hit's cell
// must.
static void what_a_ray_hits_is_the_first_there_is(void **state)
{
    weir_world *world = make_scene();
    uint32_t random = 3;
    int32_t hits[3] = {0, 0, 0};
    for (int32_t i = 0; i < 200; i++) {
        weir_point o = {random_between(&random, -12, 19), random_between(&random, -5, 19), random_between(&random, -12, 19)};
        weir_vec d = {random_between(&random, -1, 1), random_between(&random, -1, 1), random_between(&random, -1, 1)};
        double length = sqrt((double)d.x * d.x + (double)d.y * d.y + (double)d.z * d.z);
        weir_hit hit = weir_world_ray(world, o, d, 60, 0.3f);
        hits[hit.kind]++;
        double end = hit.kind == WEIR_HIT_NONE ? 60 : hit.distance;
        for (double t = 0; t < end - 1e-9; t += 0.01) {
            weir_point at = {o.x + d.x / length * t, o.y + d.y / length * t, o.z + d.z / length * t};
            bool inside = at.x >= -13 && at.x < 20 && at.y >= -13 && at.y < 20 && at.z >= -13 && at.z < 20;
            assert_false(inside && stops(world, at, 0.3f));
        }
        if (hit.kind == WEIR_HIT_NONE) continue;
        weir_point middle = {hit.cell.x + 0.5, hit.cell.y + 0.5, hit.cell.z + 0.5};
        assert_true(stops(world, middle, 0.3f));
        double t = hit.distance;
        weir_point at = {o.x + d.x / length * t, o.y + d.y / length * t, o.z + d.z / length * t};
        assert_true(fabs(at.x - middle.x) < 0.5 + 1e-9 && fabs(at.y - middle.y) < 0.5 + 1e-9 &&
                    fabs(at.z - middle.z) < 0.5 + 1e-9);
    }
    assert_true(hits[WEIR_HIT_NONE] > 5 && hits[WEIR_HIT_WATER] > 5 && hits[WEIR_HIT_TERRAIN] > 5);
    weir_world_destroy(world);
}

// ---- Columns and floats ----------------------------------------------------------------------------------------------------

static void the_surface_is_raised_or_lowered_by_what_lies_there(void **state)
{
    weir_world *world = make_unbounded();
    assert_true(isnan(weir_world_surface(world, 0, 0, INT32_MIN, INT32_MAX)));
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 1, 10, 1), WEIR_WATER, 1), WEIR_OK);
    assert_true(weir_world_surface(world, 0, 0, INT32_MIN, INT32_MAX) == 10);
    assert_int_equal(weir_world_fill(world, box(0, 10, 0, 1, 11, 1), WEIR_WATER, 0.25f), WEIR_OK);
    assert_true(weir_world_surface(world, 0, 0, -5, 20) == 10.25f);
    assert_int_equal(weir_world_fill(world, box(0, 10, 0, 1, 11, 1), WEIR_WATER, 0.75f), WEIR_OK);
    assert_true(weir_world_surface(world, 0, 0, -5, 20) == 10.75f);
    assert_true(weir_world_surface(world, 0, 0, -5, 7) == 7);
    assert_true(weir_world_column(world, 0, 0, INT32_MIN, INT32_MAX) == 10.75);
    assert_true(weir_world_column(world, 0, 0, 3, 11) == 7.75);
    assert_true(weir_world_column(world, 1, 0, -5, 20) == 0);
    assert_true(isnan(weir_world_surface(world, 1, 0, -5, 20)));
    assert_true(isnan(weir_world_surface(world, 0, 0, 20, -5)));
    assert_true(isnan(weir_world_surface(world, INT32_MAX, INT32_MIN, 0, 9)));
    assert_int_equal(weir_world_fill(world, box(0, 500, 0, 1, 502, 1), WEIR_WATER, 0.5f), WEIR_OK);
    assert_true(weir_world_surface(world, 0, 0, INT32_MIN, INT32_MAX) == 501.5f);
    assert_true(weir_world_surface(world, 0, 0, 0, 500) == 10.75f);
    assert_true(weir_world_column(world, 0, 0, 0, 501) == 11.25);
    weir_world_destroy(world);
}

static void a_thing_is_under_water_by_the_part_that_is(void **state)
{
    weir_world *world = make_unbounded();
    assert_int_equal(weir_world_fill(world, box(-8, -8, -8, 8, 0, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(-8, 0, -8, 8, 1, 8), WEIR_WATER, 0.5f), WEIR_OK);
    assert_true(weir_world_submerged(world, (weir_point){-2, -4, -2}, (weir_point){2, -1, 2}) == 1);
    assert_true(fabsf(weir_world_submerged(world, (weir_point){-2, -0.5f, -2}, (weir_point){2, 1.5f, 2}) - 0.5f) < 1e-6f);
    assert_true(weir_world_submerged(world, (weir_point){-2, 0.5f, -2}, (weir_point){2, 0.9f, 2}) == 0);
    assert_true(fabsf(weir_world_submerged(world, (weir_point){7.5f, -3, 0}, (weir_point){9.5f, -2, 1}) - 0.25f) < 1e-6f);
    assert_true(fabsf(weir_world_submerged(world, (weir_point){0.1f, 0.49f, 0.1f}, (weir_point){0.11f, 0.51f, 0.11f}) - 0.5f) <
                1e-4f);
    assert_true(weir_world_submerged(world, (weir_point){0, 0, 0}, (weir_point){0, 1, 1}) == 0);
    assert_true(weir_world_submerged(world, (weir_point){0, -3, 0}, (weir_point){NAN, 1, 1}) == 0);
    assert_true(weir_world_submerged(world, (weir_point){-3e38f, -3e38f, -3e38f}, (weir_point){3e38f, 3e38f, 3e38f}) == 0);
    float vast = weir_world_submerged(world, (weir_point){-80, -80, -80}, (weir_point){80, 80, 80});
    assert_true(fabsf(vast - 16 * 16 * 8.5f / (160.0f * 160 * 160)) < 1e-7f);
    weir_world_destroy(world);
}

// Where a float would tell only every eighth, or every sixty-fourth, cell from the next.
static void far_away_places_are_told_as_well_as_here(void **state)
{
    static const int32_t places[] = {100000003, -100000003, 999999961, -999999983};
    weir_world *here = make_unbounded();
    assert_int_equal(weir_world_fill(here, box(0, 0, 0, 9, 3, 5), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(here, box(0, 3, 0, 9, 4, 5), WEIR_WATER, 0.75f), WEIR_OK);
    assert_int_equal(weir_world_build(here, box(3, 1, 2, 4, 8, 4), 255), WEIR_OK);
    for (int32_t i = 0; i < 4; i++) {
        const int32_t at = places[i];
        weir_world *there = make_unbounded();
        assert_int_equal(weir_world_fill(there, box(at, at, at, at + 9, at + 3, at + 5), WEIR_WATER, 1), WEIR_OK);
        assert_int_equal(weir_world_fill(there, box(at, at + 3, at, at + 9, at + 4, at + 5), WEIR_WATER, 0.75f), WEIR_OK);
        assert_int_equal(weir_world_build(there, box(at + 3, at + 1, at + 2, at + 4, at + 8, at + 4), 255), WEIR_OK);

        int32_t hits[3] = {0, 0, 0};
        uint32_t random = 17;
        for (int32_t ray = 0; ray < 200; ray++) {
            // In 64ths, which a double holds exactly so far away too.
            const weir_point o = {(double)(random_next(&random) % 1024) / 64 - 3,
                                  (double)(random_next(&random) % 640) / 64 + 4.5,
                                  (double)(random_next(&random) % 640) / 64 - 3};
            const weir_vec d = {random_between(&random, -1, 1), random_between(&random, -2, 0.2f),
                                random_between(&random, -1, 1)};
            const weir_hit a = weir_world_ray(here, o, d, 24, 0.5f);
            const weir_hit b = weir_world_ray(there, (weir_point){at + o.x, at + o.y, at + o.z}, d, 24, 0.5f);
            assert_int_equal(a.kind, b.kind);
            hits[a.kind]++;
            if (a.kind == WEIR_HIT_NONE) continue;
            assert_true(b.cell.x == at + a.cell.x && b.cell.y == at + a.cell.y && b.cell.z == at + a.cell.z);
            assert_memory_equal(&a.normal, &b.normal, sizeof a.normal);
            assert_true(fabs(a.distance - b.distance) < 1e-9);
        }
        assert_true(hits[WEIR_HIT_NONE] > 5 && hits[WEIR_HIT_WATER] > 5 && hits[WEIR_HIT_TERRAIN] > 5);

        const weir_point min = {at + 2.25, at + 2.5, at + 0.125}, max = {at + 3.0, at + 4.5, at + 1.5};
        assert_true(fabsf(weir_world_submerged(there, min, max) - 1.25f / 2) < 1e-6f);
        assert_true(weir_world_surface(there, at + 1, at + 1, at, at + 10) == at + 3.75);
        weir_world_destroy(there);
    }
    // Far from where it began a ray still knows where it is.
    const weir_hit far = weir_world_ray(here, (weir_point){-1e8 - 0.25, 0.5, 0.5}, (weir_vec){1, 0, 0}, 2e8, 0.5f);
    assert_true(far.kind == WEIR_HIT_WATER && far.cell.x == 0 && far.distance == 1e8 + 0.25);
    assert_int_equal(weir_world_ray(here, (weir_point){-1e8 - 0.25, 0.5, 0.5}, (weir_vec){1, 0, 0}, 1e8, 0.5f).kind,
                     WEIR_HIT_NONE);
    weir_world_destroy(here);
}

// ---- Bricks and accounts ---------------------------------------------------------------------------------------------------

static void bricks_come_in_coordinate_order_also_the_first_few(void **state)
{
    weir_world *world = make_scene();
    int32_t count = weir_world_bricks(world, NULL, 0);
    assert_true(count > 20);
    weir_coord *all = malloc((size_t)count * sizeof *all), *few = malloc(7 * sizeof *few);
    assert_non_null(all);
    assert_non_null(few);
    assert_int_equal(weir_world_bricks(world, all, count), count);
    for (int32_t i = 1; i < count; i++) {
        weir_coord a = all[i - 1], b = all[i];
        assert_true(a.z < b.z || (a.z == b.z && (a.y < b.y || (a.y == b.y && a.x < b.x))));
        assert_true(b.x % 8 == 0 && b.y % 8 == 0 && b.z % 8 == 0);
    }
    assert_int_equal(weir_world_bricks(world, few, 7), count);
    assert_memory_equal(few, all, 7 * sizeof *few);
    free(all);
    free(few);
    weir_world_destroy(world);
}

static void a_mark_tells_what_changed_since(void **state)
{
    weir_world *world = make_unbounded();
    int64_t mark = 0;
    weir_brick_change bricks[64];
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 0);
    assert_int_equal(weir_world_fill(world, box(0, 0, 0, 16, 8, 8), WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill(world, box(80, 0, 0, 81, 1, 1), WEIR_WATER, 1), WEIR_OK);
    int64_t kept = mark;
    assert_int_equal(weir_world_changed(world, &mark, bricks, 2), 3);
    assert_true(mark == kept);  // there was no room, so nothing has been told
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 3);
    assert_true(bricks[0].origin.x == 0 && bricks[1].origin.x == 8 && bricks[2].origin.x == 80);
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 0);

    assert_int_equal(weir_world_drain(world, box(9, 0, 0, 10, 1, 1)), WEIR_OK);
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 1);
    assert_int_equal(bricks[0].origin.x, 8);
    assert_int_equal(weir_world_drain(world, box(9, 0, 0, 10, 1, 1)), WEIR_OK);
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 0);  // there was nothing left to drain
    assert_int_equal(weir_world_build(world, box(0, 0, 0, 1, 1, 1), 255), WEIR_OK);
    assert_int_equal(weir_world_changed(world, &mark, bricks, 64), 1);
    assert_int_equal(bricks[0].origin.x, 0);
    for (int32_t i = 0; i < 5; i++) assert_int_equal(weir_world_step(world), WEIR_OK);  // water at rest has to start falling
    assert_true(weir_world_changed(world, &mark, bricks, 64) >= 3);
    weir_world_destroy(world);
}

static void the_account_is_exact_after_edits_and_updates(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = BOUNDS;
    def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN;
    def.threads = 1;
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    uint32_t random = 11;
    for (int32_t i = 0; i < 40; i++) {
        weir_sphere sphere = {
            {random_between(&random, -13, 20), random_between(&random, -13, 20), random_between(&random, -13, 20)},
            random_between(&random, 1, 6)};
        switch (random_next(&random) % 4) {
        case 0: assert_int_equal(weir_world_drain_sphere(world, sphere), WEIR_OK); break;
        case 1:
            assert_int_equal(weir_world_build_sphere(world, sphere, (uint8_t)(1 + random_next(&random) % 255)), WEIR_OK);
            break;
        case 2: assert_int_equal(weir_world_dig_sphere(world, sphere), WEIR_OK); break;
        default: assert_int_equal(weir_world_fill_sphere(world, sphere, WEIR_WATER, random_between(&random, 0, 1)), WEIR_OK);
        }
        assert_int_equal(weir_world_ledger(world).drift, 0);
        assert_int_equal(weir_world_step(world), WEIR_OK);
        assert_int_equal(weir_world_ledger(world).drift, 0);
    }
    weir_ledger ledger = weir_world_ledger(world);
    assert_true(ledger.added > 0 && ledger.removed > 0 && ledger.drained > 0);
    weir_world_destroy(world);
}

static void queries_see_the_finished_state_while_a_step_runs(void **state)
{
    weir_world *world = make_scene();
    weir_box_sum sum = weir_world_box_sum(world, BOUNDS);
    uint64_t hash = weir_world_hash(world);
    weir_ledger ledger = weir_world_ledger(world);
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    while (!weir_world_step_done(world)) continue;
    weir_box_sum during = weir_world_box_sum(world, BOUNDS);
    weir_ledger ledger_during = weir_world_ledger(world);
    assert_true(during.drops == sum.drops && during.wet_cells == sum.wet_cells && during.open_cells == sum.open_cells);
    assert_true(during.mean_fill == sum.mean_fill && during.max_fill == sum.max_fill && during.max_flow == sum.max_flow);
    assert_true(during.max_pressure == sum.max_pressure && during.mean_flow.y == sum.mean_flow.y);
    assert_memory_equal(&ledger_during, &ledger, sizeof ledger);
    assert_true(weir_world_hash(world) == hash);
    assert_int_equal(weir_world_stats(world).updates, 8);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);
    assert_true(weir_world_hash(world) != hash);
    assert_int_equal(weir_world_stats(world).updates, 9);
    weir_world_destroy(world);
}

static void the_statistics_count_bricks_and_bytes(void **state)
{
    weir_world *world = make_scene();
    weir_stats stats = weir_world_stats(world);
    assert_int_equal(stats.bricks, weir_world_bricks(world, NULL, 0));
    assert_true(stats.peak_bricks >= stats.bricks && stats.peak_bytes >= stats.bytes);
    assert_true(stats.bytes > (int64_t)stats.bricks * 512 * 4 * FLOW_CHANNELS);
    assert_true(stats.updates == 8 && stats.threads == 1 && stats.cells_updated >= 8 * 512);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_the_world_it_is_dry_and_solid),
        cmocka_unit_test(flow_at_a_cell_is_the_mean_of_its_faces_also_across_bricks),
        cmocka_unit_test(the_sum_over_a_box_is_that_over_its_cells),
        cmocka_unit_test(a_sum_over_an_endless_world_is_quick_and_right),
        cmocka_unit_test(a_sum_over_much_terrain_is_that_over_its_cells),
        cmocka_unit_test(a_sum_over_the_games_own_terrain_ends),
        cmocka_unit_test(fills_are_read_in_order_and_are_0_outside),
        cmocka_unit_test(values_of_a_box_are_those_of_its_cells),
        cmocka_unit_test(the_extent_holds_water_and_terrain_and_nothing_else),
        cmocka_unit_test(a_ray_finds_water_and_terrain_and_says_where),
        cmocka_unit_test(a_ray_crosses_a_long_emptiness),
        cmocka_unit_test(what_a_ray_hits_is_the_first_there_is),
        cmocka_unit_test(the_surface_is_raised_or_lowered_by_what_lies_there),
        cmocka_unit_test(a_thing_is_under_water_by_the_part_that_is),
        cmocka_unit_test(far_away_places_are_told_as_well_as_here),
        cmocka_unit_test(bricks_come_in_coordinate_order_also_the_first_few),
        cmocka_unit_test(a_mark_tells_what_changed_since),
        cmocka_unit_test(the_account_is_exact_after_edits_and_updates),
        cmocka_unit_test(queries_see_the_finished_state_while_a_step_runs),
        cmocka_unit_test(the_statistics_count_bricks_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
