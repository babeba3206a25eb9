// The settling automaton: the five faults of Ylands' water that it is there to cure, rest, and random lives on every path.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "settle_edits.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

enum { UNIT = WEIR_FULL / 16384 };

static weir_world *make(int32_t x, int32_t y, int32_t z)
{
    const weir_world_def def = test_def(WEIR_SOLVER_SETTLE, x, y, z);
    return test_make(&def);
}

static double drops_in(const weir_world *world, weir_box box)
{
    return (double)weir_world_box_sum(world, box).drops;
}

// Steps until nothing is worked on any more. Returns how long that took.
static int32_t settle_down(weir_world *world, int32_t most)
{
    for (int32_t i = 0; i < most; i++) {
        if (weir_world_stats(world).awake_bricks == 0) return i;
        test_step(world, 1);
    }
    fail_msg("%d bricks are awake after %d updates", weir_world_stats(world).awake_bricks, most);
    return most;
}

// Height of the water in a column of cells, in units.
static int64_t height_at(const weir_world *world, int32_t x, int32_t z, int32_t low, int32_t high)
{
    return weir_world_box_sum(world, test_box(x, low, z, x + 1, high, z + 1)).drops / UNIT;
}

// The largest difference of the surface between columns of a basin, in units.
static int64_t spread(const weir_world *world, weir_box basin)
{
    int64_t least = INT64_MAX, most = 0;
    for (int32_t z = basin.min.z; z < basin.max.z; z++) {
        for (int32_t x = basin.min.x; x < basin.max.x; x++) {
            const int64_t height = height_at(world, x, z, basin.min.y, basin.max.y);
            if (height < least) least = height;
            if (height > most) most = height;
        }
    }
    return most - least;
}

// ---- The five faults ---------------------------------------------------------------------------------------------------------

static weir_world *make_lake(void)
{
    weir_world *world = make(40, 40, 40);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 40, 20, 40), 255));
    test_fill(world, test_box(0, 20, 0, 40, 30, 40), 1.0f);
    settle_down(world, 100);
    return world;
}

static void digging_under_water_leaves_no_bubble(void **state)
{
    (void)state;
    weir_world *world = make_lake();
    const weir_box dug = test_box(11, 16, 9, 18, 20, 15);
    assert_ok(weir_world_dig(world, dug));
    settle_down(world, 300);
    assert_true(drops_in(world, dug) == 7.0 * 4 * 6 * WEIR_FULL);
    assert_true(spread(world, test_box(0, 20, 0, 10, 31, 40)) == 0);
    assert_exact(world);
    weir_world_destroy(world);
}

static void a_deep_hole_in_a_lake_bed_fills(void **state)
{
    (void)state;
    weir_world *world = make_lake();
    const weir_box shaft = test_box(21, 1, 22, 22, 20, 23);
    assert_ok(weir_world_dig(world, shaft));
    settle_down(world, 300);
    assert_true(drops_in(world, shaft) == 19.0 * WEIR_FULL);
    assert_exact(world);
    weir_world_destroy(world);
}

static void water_falls_when_its_support_goes(void **state)
{
    (void)state;
    weir_world *world = make(32, 48, 32);
    assert_ok(weir_world_build(world, test_box(8, 30, 8, 24, 31, 24), 255));
    assert_ok(weir_world_build(world, test_box(8, 31, 8, 24, 36, 9), 255));
    assert_ok(weir_world_build(world, test_box(8, 31, 23, 24, 36, 24), 255));
    assert_ok(weir_world_build(world, test_box(8, 31, 8, 9, 36, 24), 255));
    assert_ok(weir_world_build(world, test_box(23, 31, 8, 24, 36, 24), 255));
    const weir_box basin = test_box(9, 31, 9, 23, 35, 23);
    test_fill(world, basin, 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_dig(world, test_box(9, 30, 9, 23, 31, 23)));
    int32_t updates = 0;
    for (; updates < 20 && drops_in(world, basin) > 0; updates++) test_step(world, 1);
    assert_true(updates <= 12);
    settle_down(world, 2000);
    // But for what is less than a unit per cell of the surface.
    assert_true(drops_in(world, test_box(0, 0, 0, 32, 2, 32)) > 14.0 * 4 * 14 * WEIR_FULL - 32.0 * 32 * UNIT);
    assert_exact(world);
    weir_world_destroy(world);
}

// From when the floor of the pool is covered on.
static void a_waterfalls_pool_is_level_while_it_fills(void **state)
{
    (void)state;
    weir_world *world = make(48, 40, 24);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 16, 28, 24), 255));
    assert_ok(weir_world_add_emitter(world, test_box(0, 30, 8, 2, 32, 16), WEIR_WATER, 4, NULL));
    int32_t looks = 0, level = 0;
    double worst = 0;
    for (int32_t i = 0; i < test_length(2000, 600); i++) {
        test_step(world, 1);
        if (i % 10 != 0 || weir_world_box_sum(world, test_box(16, 0, 0, 48, 1, 24)).wet_cells < 32 * 24) continue;
        // What is falling is not yet the pool's: cells above its surface are left out.
        const int32_t top = (int32_t)ceil(drops_in(world, test_box(40, 0, 0, 48, 28, 24)) / (8.0 * 24 * WEIR_FULL) - 0.001);
        const int64_t apart = spread(world, test_box(16, 0, 0, 48, top, 24));
        looks++;
        level += apart <= 1;
        if ((double)apart > worst) worst = (double)apart;
    }
    assert_true(looks > test_length(100, 10));
    if (level < looks) fail_msg("level in %d of %d looks; the worst is %g units", level, looks, worst);
    assert_exact(world);
    weir_world_destroy(world);
}

static void both_arms_of_a_u_bend_end_level(void **state)
{
    (void)state;
    for (int32_t width = 1; width <= 5; width += 4) {
        weir_world *world = make(64, 48, 8);
        assert_ok(weir_world_build(world, test_box(0, 0, 0, 64, 48, 8), 255));
        assert_ok(weir_world_dig(world, test_box(4, 4, 1, 4 + width, 48, 2)));
        assert_ok(weir_world_dig(world, test_box(50, 4, 1, 52, 48, 3)));
        assert_ok(weir_world_dig(world, test_box(4, 4, 1, 52, 5, 2)));
        assert_ok(weir_world_add_emitter(world, test_box(4, 44, 1, 4 + width, 45, 2), WEIR_WATER, 0.25f, NULL));
        test_step(world, 500);
        assert_ok(weir_world_remove(world, 1));
        settle_down(world, 5000);
        const int64_t left = height_at(world, 4, 1, 4, 48), right = height_at(world, 50, 1, 4, 48);
        if (llabs(left - right) > 1) fail_msg("%d wide: %lld and %lld units", width, (long long)left, (long long)right);
        assert_true(left > 8 * 16384);
        assert_exact(world);
        weir_world_destroy(world);
    }
}

// ---- Rest --------------------------------------------------------------------------------------------------------------------

static void a_bucket_on_a_floor_ends_as_a_puddle(void **state)
{
    (void)state;
    weir_world *world = make(120, 24, 120);
    test_fill(world, test_box(58, 0, 58, 62, 4, 62), 1.0f);
    settle_down(world, 1000);
    assert_true(weir_world_box_sum(world, test_box(0, 0, 0, 120, 24, 120)).wet_cells <= 1100);
    assert_exact(world);
    weir_world_destroy(world);
}

static void a_cell_nine_tenths_full_comes_to_rest(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 9; size++) {
        weir_world *world = make(size, 4, 3);
        test_fill(world, test_box(0, 0, 0, 1, 1, 1), 0.9f);
        settle_down(world, 1000);
        weir_world_destroy(world);
    }
}

// Each between walls of its own, so that none can join another; all at the rims of one brick.
static void a_brick_beside_many_bodies_rests(void **state)
{
    (void)state;
    weir_world *world = make(24, 16, 24);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 24, 8, 24), 255));
    for (int32_t z = 1; z < 24; z += 3) {
        for (int32_t x = 1; x < 24; x += 3) {
            assert_ok(weir_world_dig(world, test_box(x, 6, z, x + 2, 8, z + 2)));
            test_fill(world, test_box(x, 6, z, x + 2, 7, z + 2), 0.9f);
        }
    }
    settle_down(world, 100);
    assert_exact(world);
    weir_world_destroy(world);
}

static void a_lake_at_rest_wakes_only_where_something_happens(void **state)
{
    (void)state;
    weir_world *world = make(160, 24, 160);
    test_fill(world, test_box(0, 0, 0, 160, 12, 160), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_add_emitter(world, test_box(80, 20, 80, 82, 21, 82), WEIR_WATER, 0.25f, NULL));
    int32_t most = 0;
    for (int32_t i = 0; i < 200; i++) {
        test_step(world, 1);
        if (weir_world_stats(world).awake_bricks > most) most = weir_world_stats(world).awake_bricks;
    }
    if (most > 40) fail_msg("%d bricks were awake", most);
    assert_true(spread(world, test_box(0, 0, 0, 160, 13, 1)) <= 1);
    assert_exact(world);
    weir_world_destroy(world);
}

static void partly_solid_cells_hold_what_is_left_of_them(void **state)
{
    (void)state;
    weir_world *world = make(16, 8, 16);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 16, 1, 16), 77));  // 3/10
    test_fill(world, test_box(0, 0, 0, 16, 3, 16), 1.0f);
    settle_down(world, 200);
    assert_true(fabs((double)weir_world_cell(world, (weir_coord){3, 0, 3}).fill - (255.0 - 77) / 256) < 1e-6);
    assert_true(drops_in(world, test_box(0, 0, 0, 16, 8, 16)) == 256.0 * (178 * 64 + 2 * 16384) * UNIT);
    assert_ok(weir_world_dig(world, test_box(0, 0, 0, 16, 1, 16)));
    settle_down(world, 200);
    assert_true(spread(world, test_box(0, 0, 0, 16, 4, 16)) <= 1);
    assert_exact(world);
    weir_world_destroy(world);
}

static void terrain_built_into_water_pushes_it_up(void **state)
{
    (void)state;
    weir_world *world = make(24, 24, 24);
    test_fill(world, test_box(0, 0, 0, 24, 8, 24), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_build(world, test_box(4, 0, 4, 12, 6, 12), 255));
    settle_down(world, 300);
    assert_true(weir_world_ledger(world).removed == 0);
    const double level = (24.0 * 24 * 8 + 8 * 8 * 6) / (24 * 24);
    assert_true(fabs(height_at(world, 20, 20, 0, 24) / 16384.0 - level) < 0.001);
    assert_exact(world);
    weir_world_destroy(world);
}

static void a_lake_that_is_cut_in_two_has_two_levels(void **state)
{
    (void)state;
    weir_world *world = make(40, 24, 16);
    test_fill(world, test_box(0, 0, 0, 40, 10, 16), 1.0f);
    settle_down(world, 100);
    assert_ok(weir_world_build(world, test_box(19, 0, 0, 21, 24, 16), 255));
    settle_down(world, 300);
    assert_ok(weir_world_add_drain(world, test_box(30, 0, 8, 31, 1, 9), 1, NULL));
    test_step(world, 300);
    const int64_t left = height_at(world, 5, 5, 0, 24), right = height_at(world, 35, 5, 0, 24);
    assert_true(left > 10 * 16384 && right < 10 * 16384);
    assert_ok(weir_world_dig(world, test_box(19, 0, 0, 21, 24, 16)));
    assert_ok(weir_world_remove(world, 1));
    settle_down(world, 3000);
    assert_true(spread(world, test_box(0, 0, 0, 40, 24, 16)) <= 1);
    assert_exact(world);
    weir_world_destroy(world);
}

// ---- Random lives ------------------------------------------------------------------------------------------------------------

typedef struct life {
    weir_simd simd;
    int32_t threads;
    int32_t reload_every;  // updates; 0: never
} life;

static weir_world *make_life(const life *path, uint32_t seed)
{
    weir_world_def def = weir_world_def_default();
    const int32_t half = 24;
    def.solver = WEIR_SOLVER_SETTLE;
    if (seed % 3 != 0) def.bounds = test_box(-half, -half, -half, half, half, half);
    if (seed % 3 == 1) def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN;
    def.simd = path->simd;
    def.threads = path->threads;
    weir_world *world = test_make(&def);
    if (seed % 3 == 0) assert_ok(weir_world_build(world, test_box(-half, -half - 1, -half, half, -half, half), 255));
    return world;
}

static weir_world *reload(weir_world *world, const life *path, uint32_t seed)
{
    size_t size;
    assert_ok(weir_world_save_memory(world, NULL, 0, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_ok(weir_world_save_memory(world, bytes, size, &size));
    const uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    world = make_life(path, seed);
    assert_ok(weir_world_load_memory(world, bytes, size));
    free(bytes);
    assert_true(weir_world_hash(world) == hash);
    return world;
}

static void play_life(uint32_t seed, int32_t updates, int32_t *differs)
{
    static const life paths[] = {{WEIR_SIMD_SCALAR, 1, 0}, {WEIR_SIMD_AUTO, 4, 0}, {WEIR_SIMD_AUTO, 2, 17}};
    enum { PATHS = sizeof paths / sizeof *paths };
    weir_world *world[PATHS];
    uint32_t random[PATHS];
    for (int32_t i = 0; i < PATHS; i++) world[i] = make_life(&paths[i], seed), random[i] = seed;
    for (int32_t update = 0; update < updates; update++) {
        for (int32_t i = 0; i < PATHS; i++) {
            if (update % 5 == 0) random_edit(world[i], &random[i], 48);
            test_step(world[i], 1);
            if (paths[i].reload_every && update % paths[i].reload_every == 0) world[i] = reload(world[i], &paths[i], seed);
            assert_exact(world[i]);
        }
        for (int32_t i = 1; i < PATHS; i++)
            if (weir_world_hash(world[i]) != weir_world_hash(world[0])) {
                fprintf(stderr, "life %u: path %d differs after update %d\n", seed, i, update);
                ++*differs;
                update = updates;
                break;
            }
    }
    for (int32_t i = 0; i < PATHS; i++) weir_world_destroy(world[i]);
}

static void random_lives_are_exact_and_alike_on_every_path(void **state)
{
    (void)state;
    int32_t differs = 0;
    const char *from = getenv("WEIR_LIVES_FROM"), *count = getenv("WEIR_LIVES");
    const uint32_t first = from ? (uint32_t)atoi(from) : 1, lives = count ? (uint32_t)atoi(count) : (uint32_t)test_length(6, 1);
    for (uint32_t seed = first; seed < first + lives; seed++) play_life(seed, test_length(300, 120), &differs);
    assert_int_equal(differs, 0);
}

// ---- A plain reading of the laws of free water -------------------------------------------------------------------------------

enum { EDGE = 24, CELLS = EDGE * EDGE * EDGE, FULL = 16384 };

// One dense grid; what lies outside it is solid.
typedef struct plain_water {
    int32_t fill[CELLS], fits[CELLS];
} plain_water;

static int32_t place(int32_t x, int32_t y, int32_t z)
{
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < EDGE && y < EDGE && z < EDGE;
    return inside ? x + EDGE * (y + EDGE * z) : -1;
}

static int32_t at(const int32_t *values, int32_t x, int32_t y, int32_t z)
{
    return place(x, y, z) < 0 ? 0 : values[place(x, y, z)];
}

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t room(const plain_water *p, const int32_t *fill, int32_t x, int32_t y, int32_t z)
{
    const int32_t left = at(p->fits, x, y, z) - at(fill, x, y, z);
    return left > 0 ? left : 0;
}

static int32_t falls(const plain_water *p, int32_t x, int32_t y, int32_t z)
{
    return lesser(lesser(at(p->fill, x, y, z), at(p->fits, x, y, z)), room(p, p->fill, x, y - 1, z));
}

static int32_t rises(const plain_water *p, int32_t x, int32_t y, int32_t z)
{
    const int32_t excess = at(p->fill, x, y, z) - at(p->fits, x, y, z);
    return excess > 0 ? lesser(excess, room(p, p->fill, x, y + 1, z)) : 0;
}

static int32_t level(const plain_water *p, const int32_t *fill, int32_t x, int32_t y, int32_t z)
{
    return lesser(at(fill, x, y, z) + FULL - at(p->fits, x, y, z), 2 * FULL);
}

// From one cell to that at its side, once water has fallen and risen.
static int32_t runs(const plain_water *p, const int32_t *fill, int32_t x, int32_t y, int32_t z, int32_t dx, int32_t dz)
{
    const int32_t film = (int32_t)(weir_params_default().settle.film * FULL);
    const int32_t difference = level(p, fill, x, y, z) - level(p, fill, x + dx, y, z + dz), has = at(fill, x, y, z);
    if (at(p->fits, x + dx, y, z + dz) == 0 || difference <= 0 || room(p, fill, x, y - 1, z) > 0) return 0;
    const bool dry_floor = at(fill, x + dx, y, z + dz) == 0 && room(p, fill, x + dx, y - 1, z + dz) == 0;
    return has < film && dry_floor ? 0 : lesser(difference, has) / 5;
}

static void plain_update(plain_water *p)
{
    static int32_t moved[CELLS], next[CELLS];
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        moved[i] = p->fill[i] - falls(p, x, y, z) + falls(p, x, y + 1, z) - rises(p, x, y, z) + rises(p, x, y - 1, z);
    }
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        static const int32_t ways[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
        next[i] = moved[i];
        for (int32_t k = 0; k < 4; k++) {
            const int32_t dx = ways[k][0], dz = ways[k][1];
            next[i] += runs(p, moved, x + dx, y, z + dz, -dx, -dz) - runs(p, moved, x, y, z, dx, dz);
        }
    }
    memcpy(p->fill, next, sizeof next);
}

// Every brick has water, so that all are worked on, and no body begins within so few updates.
static void compare_with_plain(uint32_t seed, weir_simd simd)
{
    static plain_water p;
    static float fills[CELLS];
    static uint8_t shares[CELLS];
    uint32_t random = seed;
    weir_params params = weir_params_default();
    params.settle.patience = 255;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, EDGE, EDGE, EDGE);
    def.params = &params;
    def.simd = simd;
    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) return;  // a width that this machine has not
    const uint32_t solid = 2 + draw(&random, 12);
    for (int32_t i = 0; i < CELLS; i++) {
        shares[i] = draw(&random, solid) == 0 ? 255 : draw(&random, 8) == 0 ? (uint8_t)draw(&random, 256) : 0;
        p.fits[i] = shares[i] == 0 ? FULL : 64 * (255 - shares[i]);
        p.fill[i] = lesser(draw(&random, 3) == 0 ? (int32_t)draw(&random, FULL + 1) : 0, p.fits[i]);
        fills[i] = (float)p.fill[i] / FULL;
    }
    assert_ok(weir_world_build_shares(world, def.bounds, shares));
    assert_ok(weir_world_write_fill(world, def.bounds, fills));
    for (int32_t update = 0; update < test_length(40, 10); update++) {
        test_step(world, 1);
        plain_update(&p);
        assert_ok(weir_world_read_fill(world, def.bounds, fills));
        assert_int_equal(weir_world_stats(world).awake_bricks, 27);
        for (int32_t i = 0; i < CELLS; i++)
            if (fills[i] * FULL != (float)p.fill[i])
                fail_msg("seed %u, update %d, cell (%d, %d, %d): %g units, and %d in the plain reading", seed, update, i % EDGE,
                         i / EDGE % EDGE, i / EDGE / EDGE, (double)fills[i] * FULL, p.fill[i]);
    }
    weir_world_destroy(world);
}

static void free_water_follows_the_laws_as_they_are_written(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= (uint32_t)test_length(12, 2); seed++)
        for (int32_t simd = WEIR_SIMD_SCALAR; simd < WEIR_SIMD_COUNT; simd++) compare_with_plain(seed, (weir_simd)simd);
}

// ---- The public face ---------------------------------------------------------------------------------------------------------

static void a_background_step_gives_the_same_and_can_be_asked_meanwhile(void **state)
{
    (void)state;
    weir_world *world = make(32, 32, 32), *plain = make(32, 32, 32);
    test_fill(world, test_box(2, 4, 2, 12, 20, 30), 1.0f);
    test_fill(plain, test_box(2, 4, 2, 12, 20, 30), 1.0f);
    for (int32_t i = 0; i < 60; i++) {
        const uint64_t before = weir_world_hash(world);
        assert_ok(weir_world_step_begin(world));
        assert_true(weir_world_hash(world) == before);
        assert_true(drops_in(world, test_box(0, 0, 0, 32, 32, 32)) <= 10.0 * 16 * 28 * WEIR_FULL);
        assert_exact(world);
        assert_ok(weir_world_step_end(world));
        test_step(plain, 1);
        assert_true(weir_world_hash(world) == weir_world_hash(plain));
    }
    weir_world_destroy(world);
    weir_world_destroy(plain);
}

// As long as it is free: of two bodies that could take a cell the lower one by coordinate does.
static void mirrored_free_water_stays_mirrored(void **state)
{
    (void)state;
    weir_params params = weir_params_default();
    params.settle.patience = 255;
    weir_world_def def = weir_world_def_default();
    def.solver = WEIR_SOLVER_SETTLE;
    def.bounds = test_box(-24, 0, -24, 24, 32, 24);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(-9, 6, -5, 9, 21, 5), 0.8f);
    assert_ok(weir_world_build(world, test_box(-3, 0, -9, 3, 4, 9), 255));
    for (int32_t i = 0; i < 150; i++) {
        test_step(world, 1);
        float *fills = test_fills(world, def.bounds);
        for (int32_t z = 0; z < 48; z++)
            for (int32_t y = 0; y < 32; y++)
                for (int32_t x = 0; x < 24; x++) assert_true(fills[x + 48 * (y + 32 * z)] == fills[47 - x + 48 * (y + 32 * z)]);
        free(fills);
    }
    weir_world_destroy(world);
}

static void what_it_cannot_do_is_refused_with_a_sentence(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 8, 8, 8);
    weir_world *world;
    def.backend = WEIR_BACKEND_OPENCL;
    assert_int_equal(weir_world_create(&def, &world), WEIR_ERROR_UNSUPPORTED);
    assert_non_null(strstr(weir_error_message(), "CPU only"));
    world = make(8, 8, 8);
    assert_true(weir_world_set_flow(world, test_box(0, 0, 0, 8, 8, 8), (weir_vec){1, 0, 0}) != WEIR_OK);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digging_under_water_leaves_no_bubble),
        cmocka_unit_test(a_deep_hole_in_a_lake_bed_fills),
        cmocka_unit_test(water_falls_when_its_support_goes),
        cmocka_unit_test(a_waterfalls_pool_is_level_while_it_fills),
        cmocka_unit_test(both_arms_of_a_u_bend_end_level),
        cmocka_unit_test(a_bucket_on_a_floor_ends_as_a_puddle),
        cmocka_unit_test(a_cell_nine_tenths_full_comes_to_rest),
        cmocka_unit_test(a_brick_beside_many_bodies_rests),
        cmocka_unit_test(a_lake_at_rest_wakes_only_where_something_happens),
        cmocka_unit_test(partly_solid_cells_hold_what_is_left_of_them),
        cmocka_unit_test(terrain_built_into_water_pushes_it_up),
        cmocka_unit_test(a_lake_that_is_cut_in_two_has_two_levels),
        cmocka_unit_test(free_water_follows_the_laws_as_they_are_written),
        cmocka_unit_test(random_lives_are_exact_and_alike_on_every_path),
        cmocka_unit_test(a_background_step_gives_the_same_and_can_be_asked_meanwhile),
        cmocka_unit_test(mirrored_free_water_stays_mirrored),
        cmocka_unit_test(what_it_cannot_do_is_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
