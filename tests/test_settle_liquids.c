// Several liquids in the settling automaton: beside each other, thick and thin, in every query and account, on every path alike.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "test_memory.h"
#include "test_world.h"
#include "world/solver.h"
#include <math.h>
#include <stdio.h>

enum { UNITS = 16384, HEADER = 40 };

static weir_world *make(int32_t x, int32_t y, int32_t z)
{
    const weir_world_def def = test_def(WEIR_SOLVER_SETTLE, x, y, z);
    return test_make(&def);
}

static void pour(weir_world *world, weir_box box, weir_material material, float fill)
{
    assert_ok(weir_world_fill(world, box, material, fill));
}

static int32_t settle_down(weir_world *world, int32_t most)
{
    int32_t updates = 0;
    for (; updates < most && weir_world_stats(world).awake_bricks > 0; updates++) test_step(world, 1);
    return updates;
}

// Nothing is lost of any material, and what is noted of the water is so.
static void assert_sound(weir_world *world)
{
    for (weir_material i = WEIR_WATER; i < weir_world_material_count(world); i++) {
        const weir_ledger ledger = weir_world_material_ledger(world, i);
        if (ledger.drift != 0) fail_msg("%lld drops too many of material %d", (long long)ledger.drift, i);
    }
    const char *wrong = world_validate(world, false);
    if (wrong) fail_msg("%s", wrong);
}

static int64_t held(const weir_world *world, weir_material material)
{
    return weir_world_material_ledger(world, material).held;
}

// Cells of a box that hold a material.
static int32_t count(const weir_world *world, weir_box box, weir_material material)
{
    const size_t cells = (size_t)(box.max.x - box.min.x) * (size_t)(box.max.y - box.min.y) * (size_t)(box.max.z - box.min.z);
    uint8_t *materials = malloc(cells);
    int32_t number = 0;
    assert_non_null(materials);
    assert_ok(weir_world_read_material(world, box, materials));
    for (size_t i = 0; i < cells; i++) number += materials[i] == material;
    free(materials);
    return number;
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*random >> 4) * below >> 28);
}

// ---- The public face -----------------------------------------------------------------------------------------------------------

static void every_cell_tells_what_it_holds(void **state)
{
    (void)state;
    weir_world *world = make(16, 8, 8);
    pour(world, test_box(0, 0, 0, 3, 4, 8), WEIR_WATER, 1.0f);
    pour(world, test_box(5, 0, 0, 8, 4, 8), WEIR_LAVA, 0.5f);
    pour(world, test_box(8, 0, 0, 12, 4, 8), WEIR_OIL, 1.0f);
    assert_int_equal(weir_world_cell(world, (weir_coord){1, 1, 1}).material, WEIR_WATER);
    assert_int_equal(weir_world_cell(world, (weir_coord){6, 1, 1}).material, WEIR_LAVA);
    assert_int_equal(weir_world_cell(world, (weir_coord){9, 1, 1}).material, WEIR_OIL);
    assert_int_equal(weir_world_cell(world, (weir_coord){4, 1, 1}).material, WEIR_NOTHING);
    assert_int_equal(count(world, test_box(0, 0, 0, 16, 8, 8), WEIR_LAVA), 3 * 4 * 8);
    assert_int_equal(held(world, WEIR_WATER), (int64_t)3 * 4 * 8 * WEIR_FULL);
    assert_int_equal(held(world, WEIR_LAVA), (int64_t)3 * 4 * 8 * WEIR_FULL / 2);
    assert_int_equal(held(world, WEIR_OIL), (int64_t)4 * 4 * 8 * WEIR_FULL);
    assert_int_equal(weir_world_ledger(world).held, (int64_t)(3 * 4 + 3 * 2 + 4 * 4) * 8 * WEIR_FULL);
    assert_sound(world);
    test_step(world, 20);
    assert_sound(world);
    weir_world_destroy(world);
}

// A fill is of one material afterwards, whatever was there; in free water, and in a lake that sleeps.
static void a_fill_takes_the_place_of_another_material(void **state)
{
    (void)state;
    for (int32_t asleep = 0; asleep < 2; asleep++) {
        weir_world *world = make(16, 16, 16);
        const int64_t layer = (int64_t)256 * WEIR_FULL;
        pour(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1.0f);
        if (asleep) settle_down(world, 100);
        pour(world, test_box(0, 3, 0, 16, 4, 16), WEIR_OIL, 1.0f);
        assert_sound(world);
        assert_int_equal(held(world, WEIR_OIL), layer);
        assert_int_equal(held(world, WEIR_WATER), 3 * layer);
        assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).removed, layer);
        settle_down(world, 200);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        assert_int_equal(count(world, test_box(0, 3, 0, 16, 4, 16), WEIR_OIL), 256);
        pour(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1.0f);
        assert_sound(world);
        assert_int_equal(held(world, WEIR_OIL), 0);
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 16, 16, 16)));
        assert_int_equal(weir_world_ledger(world).held, 0);
        test_step(world, 2);
        assert_sound(world);
        weir_world_destroy(world);
    }
}

static void fills_of_their_own_leave_cells_their_material(void **state)
{
    (void)state;
    weir_world *world = make(8, 8, 8);
    const weir_box row = test_box(0, 0, 0, 3, 1, 1);
    pour(world, test_box(0, 0, 0, 1, 1, 1), WEIR_OIL, 0.5f);
    pour(world, test_box(1, 0, 0, 2, 1, 1), WEIR_LAVA, 0.5f);
    assert_ok(weir_world_write_fill(world, row, (const float[]){0.25f, 1.0f, 0.5f}));
    uint8_t materials[3];
    assert_ok(weir_world_read_material(world, row, materials));
    assert_int_equal(materials[0], WEIR_OIL);
    assert_int_equal(materials[1], WEIR_LAVA);
    assert_int_equal(materials[2], WEIR_WATER);
    assert_int_equal(held(world, WEIR_LAVA), WEIR_FULL);
    assert_sound(world);
    weir_world_destroy(world);
}

static void emitters_pour_beside_another_liquid_and_drains_take_any(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    const weir_box box = test_box(4, 0, 4, 8, 4, 8);
    int32_t emitter;
    pour(world, test_box(4, 0, 4, 6, 4, 8), WEIR_LAVA, 1.0f);
    assert_ok(weir_world_add_emitter(world, box, WEIR_OIL, 2.0f, &emitter));
    for (int32_t i = 0; i < 30; i++) {
        test_step(world, 1);
        assert_sound(world);
    }
    assert_int_equal(held(world, WEIR_LAVA), (int64_t)32 * WEIR_FULL);
    assert_true(held(world, WEIR_OIL) > (int64_t)30 * WEIR_FULL);
    assert_ok(weir_world_remove(world, emitter));
    assert_ok(weir_world_add_drain(world, test_box(0, 0, 0, 16, 16, 16), 40, NULL));
    for (int32_t i = 0; i < 10; i++) {
        test_step(world, 1);
        assert_sound(world);
    }
    assert_int_equal(weir_world_ledger(world).held, 0);
    weir_world_destroy(world);
}

static void a_material_of_the_games_own_flows_like_any(void **state)
{
    (void)state;
    weir_world *world = make(16, 8, 8);
    weir_material tar;
    assert_ok(weir_world_add_material(world, &(weir_material_def){"tar", 1.2f, 2e6f, {0.1f, 0.1f, 0.1f}}, &tar));
    pour(world, test_box(0, 0, 0, 4, 4, 8), tar, 1.0f);
    settle_down(world, 3000);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_int_equal(weir_world_cell(world, (weir_coord){10, 0, 4}).material, tar);
    assert_int_equal(held(world, tar), (int64_t)4 * 4 * 8 * WEIR_FULL);
    assert_sound(world);
    weir_world_destroy(world);
}

// ---- Thick and thin --------------------------------------------------------------------------------------------------------------

// How far a liquid let go at one end of a trough has come after 40 updates, and how it lies when it has come to rest.
static int32_t runs_for(weir_material material, double levels[2])
{
    weir_params params = weir_params_default();
    params.settle.patience = 60;  // free on its way
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 32, 8, 4);
    def.params = &params;
    weir_world *world = test_make(&def);
    int32_t front = 0;
    pour(world, test_box(0, 0, 0, 8, 6, 4), material, 1.0f);
    test_step(world, 40);
    while (weir_world_cell(world, (weir_coord){front, 0, 2}).fill > 0) front++;
    settle_down(world, 5000);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    assert_sound(world);
    levels[0] = weir_world_column(world, 0, 2, 0, 8);
    levels[1] = weir_world_column(world, 31, 2, 0, 8);
    weir_world_destroy(world);
    return front;
}

static void thicker_liquids_move_more_slowly_and_stiff_ones_stand_on_a_slope(void **state)
{
    (void)state;
    double levels[3][2];
    const int32_t water = runs_for(WEIR_WATER, levels[0]), oil = runs_for(WEIR_OIL, levels[1]),
                  lava = runs_for(WEIR_LAVA, levels[2]);
    if (!(water > oil && oil > lava && lava > 8)) fail_msg("water comes to %d, oil to %d, lava to %d", water, oil, lava);
    for (int32_t i = 0; i < 2; i++) assert_true(levels[i][0] == levels[i][1] && levels[i][0] > 1.499);
    if (!(levels[2][0] > 3 && levels[2][1] == 0)) fail_msg("lava stands at %g and %g", levels[2][0], levels[2][1]);
}

// A bucket on a floor: the thicker, the smaller the puddle.
static void thick_liquids_end_in_thick_puddles(void **state)
{
    (void)state;
    int32_t cells[2];
    for (int32_t k = 0; k < 2; k++) {
        weir_world *world = make(64, 8, 64);
        pour(world, test_box(30, 0, 30, 34, 4, 34), k ? WEIR_LAVA : WEIR_WATER, 1.0f);
        settle_down(world, 5000);
        assert_int_equal(weir_world_stats(world).awake_bricks, 0);
        cells[k] = count(world, test_box(0, 0, 0, 64, 8, 64), k ? WEIR_LAVA : WEIR_WATER);
        assert_sound(world);
        weir_world_destroy(world);
    }
    if (!(cells[0] > 600 && cells[1] < 240)) fail_msg("water ends in %d cells, lava in %d", cells[0], cells[1]);
}

// ---- Memory ----------------------------------------------------------------------------------------------------------------------

// Only bricks in which liquids meet have bytes for the materials of their cells, and give them back.
static void a_world_of_one_liquid_takes_no_memory_for_materials(void **state)
{
    (void)state;
    int64_t bytes[3];
    for (int32_t k = 0; k < 3; k++) {
        weir_world *world = make(64, 16, 16);
        pour(world, test_box(0, 0, 0, 60, 7, 16), k == 1 ? WEIR_OIL : WEIR_WATER, 0.9f);
        if (k == 2) pour(world, test_box(62, 0, 0, 64, 7, 16), WEIR_LAVA, 0.9f);
        test_step(world, 1);
        bytes[k] = weir_world_stats(world).bytes;
        weir_world_destroy(world);
    }
    assert_int_equal(bytes[1], bytes[0]);
    // Two of eight columns of bricks see both, on two floors and in two rows; and there is a page ready for each, and for some more, in
    // case
    // something rises or sinks.
    if (bytes[2] - bytes[0] > 16 * 1100 + 24 * 3900) fail_msg("%lld bytes more", (long long)(bytes[2] - bytes[0]));
}

// ---- A plain reading of the laws of free liquids -------------------------------------------------------------------------------

enum { EDGE = 24, CELLS = EDGE * EDGE * EDGE };

// One dense grid; what lies outside it is solid.
typedef struct plain_liquids {
    int32_t fill[CELLS], fits[CELLS], kind[CELLS];  // kind 0: empty
    int32_t share[CELLS];
    int64_t turned[4];
} plain_liquids;

static int32_t place(int32_t x, int32_t y, int32_t z)
{
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < EDGE && y < EDGE && z < EDGE;
    return inside ? x + EDGE * (y + EDGE * z) : -1;
}

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

// By how many halves a kind is slower than water, by the table of materials.
static int32_t halves(int32_t kind)
{
    return kind == WEIR_OIL ? 1 : kind == WEIR_LAVA ? 3 : 0;
}

// What a cell takes in of a kind.
static int32_t room(const plain_liquids *p, int32_t cell, int32_t kind)
{
    if (cell < 0 || (p->kind[cell] && p->kind[cell] != kind)) return 0;
    const int32_t left = p->fits[cell] - p->fill[cell];
    return left > 0 ? left : 0;
}

static int32_t level(const plain_liquids *p, int32_t cell)
{
    return lesser(p->fill[cell] + UNITS - p->fits[cell], 2 * UNITS);
}

static int32_t falls(const plain_liquids *p, int32_t x, int32_t y, int32_t z)
{
    const int32_t cell = place(x, y, z);
    if (cell < 0) return 0;
    const int32_t most = lesser(lesser(p->fill[cell], p->fits[cell]), room(p, place(x, y - 1, z), p->kind[cell]));
    const int32_t parts = 1 << halves(p->kind[cell]), left = room(p, place(x, y - 1, z), p->kind[cell]);
    return left <= UNITS / 2 ? most : (most + parts - 1) / parts;
}

// What falls into an empty cell from above comes before what rises into it.
static int32_t rises(const plain_liquids *p, int32_t x, int32_t y, int32_t z)
{
    const int32_t cell = place(x, y, z), above = place(x, y + 1, z), over = place(x, y + 2, z);
    if (cell < 0 || above < 0 || p->fill[cell] <= p->fits[cell]) return 0;
    if (!p->kind[above] && over >= 0 && falls(p, x, y + 2, z) > 0 && p->kind[over] != p->kind[cell]) return 0;
    return lesser(p->fill[cell] - p->fits[cell], room(p, above, p->kind[cell]));
}

// From one cell to that at its side, once liquids have fallen and risen.
static int32_t runs(const plain_liquids *p, int32_t x, int32_t y, int32_t z, int32_t dx, int32_t dz)
{
    const int32_t cell = place(x, y, z), there = place(x + dx, y, z + dz);
    if (cell < 0 || there < 0 || p->fill[cell] == 0 || p->fits[there] == 0) return 0;
    const int32_t kind = p->kind[cell];
    if ((p->kind[there] && p->kind[there] != kind) || room(p, place(x, y - 1, z), kind) > 0) return 0;
    const int32_t water_film = (int32_t)(weir_params_default().settle.film * UNITS), film = water_film * (1 + halves(kind));
    if (p->fill[cell] < film && p->fill[there] == 0 && room(p, place(x + dx, y - 1, z + dz), kind) == 0) return 0;
    const int32_t difference = level(p, cell) - level(p, there);
    if (kind == WEIR_LAVA && difference <= 2048) return 0;
    return difference > 0 ? lesser(difference, p->fill[cell]) / 5 >> halves(kind) : 0;
}

static void plain_update(plain_liquids *p)
{
    static const int32_t ways[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    static plain_liquids moved, next;
    memcpy(&moved, p, sizeof moved);
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        const int32_t above = falls(p, x, y + 1, z), below = rises(p, x, y - 1, z);
        moved.fill[i] = p->fill[i] - falls(p, x, y, z) + above - rises(p, x, y, z) + below;
        moved.kind[i] = p->kind[i]  ? p->kind[i]
                        : above > 0 ? p->kind[place(x, y + 1, z)]
                        : below > 0 ? p->kind[place(x, y - 1, z)]
                                    : 0;
        if (moved.fill[i] == 0) moved.kind[i] = 0;
    }
    memcpy(&next, &moved, sizeof next);
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        int32_t most = 0, kind = moved.kind[i];
        for (int32_t k = 0; k < 4 && !moved.kind[i]; k++) {
            const int32_t dx = ways[k][0], dz = ways[k][1], from = place(x + dx, y, z + dz),
                          flow = runs(&moved, x + dx, y, z + dz, -dx, -dz);
            if (flow > most || (flow == most && flow > 0 && moved.kind[from] > kind)) most = flow, kind = moved.kind[from];
        }
        next.kind[i] = kind;
        for (int32_t k = 0; k < 4; k++) {
            const int32_t dx = ways[k][0], dz = ways[k][1], from = place(x + dx, y, z + dz),
                          flow = runs(&moved, x + dx, y, z + dz, -dx, -dz);
            if (flow == 0 || moved.kind[from] != kind) continue;
            next.fill[i] += flow;
            next.fill[from] -= flow;
        }
    }
    for (int32_t i = 0; i < CELLS; i++)
        if (next.fill[i] == 0) next.kind[i] = 0;
    memcpy(p, &next, sizeof next);
}

// The cells of a world in the order in which things are done one after the other: by bricks, in them by layers from the lowest up.
static int32_t in_order(int32_t n)
{
    const int32_t brick = n / 512, cell = n % 512, edge = EDGE / 8;
    const int32_t x = 8 * (brick % edge) + cell % 8, y = 8 * (brick / edge % edge) + cell / 64,
                  z = 8 * (brick / edge / edge) + cell / 8 % 8;
    return place(x, y, z);
}

// Of the free cells of a brick, each takes part in one exchange; the first layer of the brick above does not count.
static void plain_exchange(plain_liquids *p)
{
    static const int32_t weight[4] = {0, 10, 9, 27};
    static bool moved[CELLS];
    for (int32_t n = 0; n < CELLS; n++) {
        if (n % 512 == 0) memset(moved, 0, sizeof moved);
        const int32_t i = in_order(n), above = i / EDGE % EDGE < EDGE - 1 ? i + EDGE : -1;
        if (moved[i] || above < 0 || !p->kind[i] || weight[p->kind[above]] <= weight[p->kind[i]]) continue;
        if (p->kind[i] + p->kind[above] == WEIR_WATER + WEIR_LAVA) continue;  // these react
        const int32_t kind = p->kind[i], fill = p->fill[i];
        p->kind[i] = p->kind[above];
        p->fill[i] = p->fill[above];
        p->kind[above] = kind;
        p->fill[above] = fill;
        moved[i] = true;
        moved[above] = i / EDGE % 8 < 7;
    }
}

// What is in a cell that is solid now goes up, to the sides, or down.
static void plain_displace(plain_liquids *p, int32_t i)
{
    static const int32_t ways[6][3] = {{0, 1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, -1, 0}};
    for (int32_t k = 0; k < 6 && p->fill[i] > 0; k++) {
        const int32_t to = place(i % EDGE + ways[k][0], i / EDGE % EDGE + ways[k][1], i / EDGE / EDGE + ways[k][2]);
        if (to < 0 || p->fits[to] == 0 || (p->kind[to] && p->kind[to] != p->kind[i])) continue;
        const int32_t units = lesser(p->fill[i], 2 * UNITS - p->fill[to]);
        p->fill[to] += units;
        p->fill[i] -= units;
        if (units > 0) p->kind[to] = p->kind[i];
    }
    p->fill[i] = p->kind[i] = 0;
}

// Water and lava: half a cell of each at most through a face.
static void plain_react(plain_liquids *p)
{
    static int32_t shares[CELLS];
    memcpy(shares, p->share, sizeof shares);
    for (int32_t n = 0; n < CELLS; n++) {
        const int32_t i = in_order(n), at[3] = {i % EDGE, i / EDGE % EDGE, i / EDGE / EDGE};
        for (int32_t axis = 0; axis < 3; axis++) {
            const int32_t next = place(at[0] + (axis == 0), at[1] + (axis == 1), at[2] + (axis == 2));
            if (next < 0 || shares[i] == 255 || shares[next] == 255) continue;
            if (!p->kind[i] || !p->kind[next] || p->kind[i] == p->kind[next]) continue;
            if (p->kind[i] == WEIR_OIL || p->kind[next] == WEIR_OIL) continue;
            const int32_t lava = p->kind[i] == WEIR_LAVA ? i : next;
            const int32_t units = lesser(lesser(p->fill[i], p->fill[next]), UNITS / 2);
            p->turned[p->kind[i]] += units;
            p->turned[p->kind[next]] += units;
            p->fill[i] -= units;
            p->fill[next] -= units;
            shares[lava] = lesser(255, shares[lava] + (units + 32) / 64);
            if (p->fill[i] == 0) p->kind[i] = 0;
            if (p->fill[next] == 0) p->kind[next] = 0;
        }
    }
    // What formed is built brick by brick, and pushes what is left there aside.
    for (int32_t first = 0; first < CELLS; first += 512) {
        const int32_t low = in_order(first);
        for (int32_t n = first; n < first + 512; n++) {
            const int32_t i = in_order(n);
            p->share[i] = shares[i];
            p->fits[i] = shares[i] == 0 ? UNITS : 64 * (255 - shares[i]);
        }
        for (int32_t n = 0; n < 512; n++) {
            const int32_t i = low + n % 8 + EDGE * (n / 8 % 8) + EDGE * EDGE * (n / 64);
            if (p->fits[i] == 0 && p->fill[i] > 0) plain_displace(p, i);
        }
    }
}

// Every brick has water, so that all are worked on, and no body begins within so few updates.
static void compare_with_plain(uint32_t seed, weir_simd simd)
{
    static plain_liquids p;
    memset(p.turned, 0, sizeof p.turned);
    static float fills[CELLS];
    static uint8_t shares[CELLS], materials[CELLS];
    uint32_t random = seed;
    weir_params params = weir_params_default();
    params.settle.patience = 255;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, EDGE, EDGE, EDGE);
    def.params = &params;
    def.simd = simd;
    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) return;  // a width that this machine has not
    const uint32_t solid = 2 + draw(&random, 12), kinds = 1 + seed % 3;
    for (int32_t i = 0; i < CELLS; i++) {
        shares[i] = draw(&random, solid) == 0 ? 255 : draw(&random, 8) == 0 ? (uint8_t)draw(&random, 256) : 0;
        p.fits[i] = shares[i] == 0 ? UNITS : 64 * (255 - shares[i]);
        p.share[i] = shares[i];
        p.fill[i] = lesser(draw(&random, 3) == 0 ? (int32_t)draw(&random, UNITS + 1) : 0, p.fits[i]);
        // One kind alone, in half of the world, or all of them mixed.
        const int32_t kind = kinds == 1                                 ? WEIR_LAVA
                             : i / EDGE / EDGE < EDGE / 2 && kinds == 2 ? WEIR_OIL
                                                                        : WEIR_WATER + (int32_t)draw(&random, 3);
        p.kind[i] = p.fill[i] > 0 ? kind : 0;
        fills[i] = (float)p.fill[i] / UNITS;
    }
    assert_ok(weir_world_build_shares(world, def.bounds, shares));
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        if (p.kind[i]) pour(world, test_box(x, y, z, x + 1, y + 1, z + 1), p.kind[i], fills[i]);
    }
    for (int32_t update = 0; update < test_length(40, 10); update++) {
        test_step(world, 1);
        plain_update(&p);
        plain_exchange(&p);
        plain_react(&p);
        for (int32_t kind = WEIR_WATER; kind <= WEIR_LAVA; kind++)
            assert_int_equal(weir_world_material_ledger(world, kind).turned, p.turned[kind] * (WEIR_FULL / UNITS));
        assert_ok(weir_world_read_fill(world, def.bounds, fills));
        assert_ok(weir_world_read_material(world, def.bounds, materials));
        assert_ok(weir_world_read_terrain(world, def.bounds, shares));
        assert_int_equal(weir_world_stats(world).awake_bricks, 27);
        for (int32_t i = 0; i < CELLS; i++)
            if (fills[i] * UNITS != (float)p.fill[i] || materials[i] != p.kind[i] || shares[i] != p.share[i])
                fail_msg("seed %u, update %d, cell (%d, %d, %d): %g units of %d in %d, and %d of %d in %d in the plain reading",
                         seed, update, i % EDGE, i / EDGE % EDGE, i / EDGE / EDGE, (double)fills[i] * UNITS, materials[i],
                         shares[i], p.fill[i], p.kind[i], p.share[i]);
    }
    weir_world_destroy(world);
}

static void free_liquids_follow_the_laws_as_they_are_written(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= (uint32_t)test_length(9, 1); seed++)
        for (int32_t simd = WEIR_SIMD_SCALAR; simd < WEIR_SIMD_COUNT; simd++) compare_with_plain(seed, (weir_simd)simd);
}

// ---- Sinking and rising ----------------------------------------------------------------------------------------------------------

// Every column of a box, from the top down, holds no liquid over a lighter one.
static void assert_layered(const weir_world *world, weir_box box)
{
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t x = box.min.x; x < box.max.x; x++) {
            float above = 0;
            for (int32_t y = box.max.y - 1; y >= box.min.y; y--) {
                const weir_cell cell = weir_world_cell(world, (weir_coord){x, y, z});
                weir_material_def def;
                if (cell.solid == 255) above = 0;
                if (cell.fill == 0 || !weir_world_material(world, cell.material, &def)) continue;
                if (def.density < above) fail_msg("cell (%d, %d, %d) lies under something denser", x, y, z);
                above = def.density;
            }
        }
    }
}

static void assert_asleep(weir_world *world, int32_t most)
{
    settle_down(world, most);
    if (weir_world_stats(world).awake_bricks > 0) fail_msg("%d bricks are awake", weir_world_stats(world).awake_bricks);
    assert_sound(world);
}

// A lake of oil that sleeps, and water over it; over the borders of bricks.
static void oil_under_water_ends_above_it(void **state)
{
    (void)state;
    const weir_box all = test_box(0, 0, 0, 20, 24, 20);
    weir_world *world = make(20, 24, 20);
    pour(world, test_box(0, 0, 0, 20, 10, 20), WEIR_OIL, 1);
    assert_asleep(world, 100);
    pour(world, test_box(0, 10, 0, 20, 14, 20), WEIR_WATER, 1);
    assert_asleep(world, 300);
    assert_layered(world, all);
    assert_int_equal(count(world, test_box(0, 0, 0, 20, 4, 20), WEIR_WATER), 1600);
    assert_int_equal(count(world, test_box(0, 4, 0, 20, 14, 20), WEIR_OIL), 4000);
    weir_world_destroy(world);
}

static void oil_beside_water_ends_above_it(void **state)
{
    (void)state;
    weir_world *world = make(40, 16, 9);
    pour(world, test_box(0, 0, 0, 20, 8, 9), WEIR_WATER, 1);
    pour(world, test_box(20, 0, 0, 40, 8, 9), WEIR_OIL, 1);
    assert_asleep(world, 500);
    assert_layered(world, test_box(0, 0, 0, 40, 16, 9));
    assert_int_equal(count(world, test_box(0, 0, 0, 40, 4, 9), WEIR_WATER), 40 * 4 * 9);
    assert_int_equal(count(world, test_box(0, 4, 0, 40, 8, 9), WEIR_OIL), 40 * 4 * 9);
    weir_world_destroy(world);
}

// In the bend of a pipe, under a roof, with water in both arms.
static void oil_in_a_bend_comes_up_in_its_arms(void **state)
{
    (void)state;
    weir_world *world = make(32, 16, 8);
    assert_ok(weir_world_build(world, test_box(6, 4, 0, 26, 16, 8), 255));
    pour(world, test_box(0, 0, 0, 32, 4, 8), WEIR_OIL, 1);
    assert_asleep(world, 100);
    pour(world, test_box(0, 4, 0, 6, 12, 8), WEIR_WATER, 1);
    pour(world, test_box(26, 4, 0, 32, 12, 8), WEIR_WATER, 1);
    assert_asleep(world, 500);
    assert_layered(world, test_box(0, 0, 0, 32, 16, 8));
    assert_int_equal(count(world, test_box(0, 0, 0, 32, 3, 8), WEIR_WATER), 32 * 3 * 8);
    weir_world_destroy(world);
}

static void water_that_falls_on_oil_ends_below_it(void **state)
{
    (void)state;
    weir_world *world = make(24, 16, 24);
    int32_t tap;
    pour(world, test_box(0, 0, 0, 24, 6, 24), WEIR_OIL, 1);
    assert_asleep(world, 100);
    assert_ok(weir_world_add_emitter(world, test_box(4, 12, 4, 6, 14, 6), WEIR_WATER, 4, &tap));
    test_step(world, 200);
    assert_ok(weir_world_remove(world, tap));
    assert_asleep(world, 1000);
    assert_layered(world, test_box(0, 0, 0, 24, 16, 24));
    assert_true(held(world, WEIR_WATER) > (int64_t)200 * WEIR_FULL);
    assert_int_equal(count(world, test_box(0, 2, 0, 24, 16, 24), WEIR_WATER), 0);
    weir_world_destroy(world);
}

// Terrain pushes water up under a lid of oil, and a reservoir holds it higher.
static void a_lake_under_oil_rises_and_lifts_it(void **state)
{
    (void)state;
    weir_world *world = make(32, 24, 8);
    pour(world, test_box(0, 0, 0, 32, 6, 8), WEIR_WATER, 1);
    pour(world, test_box(0, 6, 0, 32, 8, 8), WEIR_OIL, 1);
    assert_asleep(world, 100);
    const int64_t water = held(world, WEIR_WATER), oil = held(world, WEIR_OIL);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 16, 4, 8), 255));
    assert_asleep(world, 100);
    assert_true(held(world, WEIR_WATER) == water && held(world, WEIR_OIL) == oil);
    assert_int_equal(count(world, test_box(0, 4, 0, 32, 8, 8), WEIR_WATER), 32 * 4 * 8);
    assert_int_equal(count(world, test_box(0, 8, 0, 32, 10, 8), WEIR_OIL), 32 * 2 * 8);
    assert_ok(weir_world_add_reservoir(world, test_box(0, 4, 0, 2, 12, 2), WEIR_WATER, 10.5, NULL));
    assert_asleep(world, 100);
    assert_layered(world, test_box(0, 0, 0, 32, 24, 8));
    assert_true(fabsf(weir_world_cell(world, (weir_coord){20, 10, 4}).fill - 0.5f) < 0.001f);
    assert_int_equal(weir_world_cell(world, (weir_coord){20, 12, 4}).material, WEIR_OIL);
    weir_world_destroy(world);
}

static void things_float_in_each_liquid_by_its_density(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    weir_buoyancy in;
    const weir_floating_box box = {.centre = {8, 4, 8}, .half_size = {1.5f, 1, 1}};
    static const float densities[] = {0, 1, 0.9f, 2.7f};
    for (weir_material i = WEIR_WATER; i <= WEIR_LAVA; i++) {
        pour(world, test_box(0, 0, 0, 16, 8, 16), i, 1);
        assert_ok(weir_world_buoyancy(world, &box, 1, &in));
        assert_true(in.submerged == 1);
        assert_true(fabsf(in.force.y - 12 * 0.01f * densities[i]) < 1e-6f && in.force.x == 0);
    }
    // Half of it in oil that lies on water.
    pour(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1);
    pour(world, test_box(0, 4, 0, 16, 8, 16), WEIR_OIL, 1);
    assert_ok(weir_world_buoyancy(world, &box, 1, &in));
    assert_true(fabsf(in.force.y - 12 * 0.01f * 0.95f) < 1e-6f);
    weir_world_destroy(world);
}

// ---- Reactions -------------------------------------------------------------------------------------------------------------------

// A cell that is partly full of lava becomes partly solid, and takes as much water out of the lake in which it lies.
static void lava_in_a_lake_becomes_stone_and_the_lake_sinks(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    pour(world, test_box(0, 0, 0, 16, 6, 16), WEIR_WATER, 1);
    assert_asleep(world, 100);
    pour(world, test_box(5, 2, 5, 6, 3, 6), WEIR_LAVA, 0.5f);
    const int64_t water = held(world, WEIR_WATER), lava = held(world, WEIR_LAVA);
    assert_int_equal(lava, WEIR_FULL / 2);
    test_step(world, 1);
    assert_int_equal(weir_world_cell(world, (weir_coord){5, 2, 5}).solid, 128);
    assert_asleep(world, 200);
    assert_int_equal(held(world, WEIR_LAVA), 0);
    assert_int_equal(held(world, WEIR_WATER), water - lava);
    assert_int_equal(weir_world_material_ledger(world, WEIR_LAVA).turned, lava);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).turned, lava);
    const weir_cell stone = weir_world_cell(world, (weir_coord){5, 2, 5});
    assert_true(stone.solid == 128 && stone.material == WEIR_WATER && fabsf(stone.fill - 127.0f / 256) < 0.001f);
    weir_world_destroy(world);
}

static void what_reacts_can_become_other_liquids(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    weir_material acid, brine;
    assert_ok(weir_world_add_material(world, &(weir_material_def){"acid", 1, 1, {0}}, &acid));
    assert_ok(weir_world_add_material(world, &(weir_material_def){"brine", 1, 1, {0}}, &brine));
    pour(world, test_box(0, 0, 0, 8, 4, 16), WEIR_WATER, 1);
    pour(world, test_box(8, 0, 0, 16, 4, 16), acid, 1);
    assert_asleep(world, 200);  // they do not mind each other
    const int64_t each = held(world, acid);
    assert_int_equal(count(world, test_box(0, 0, 0, 16, 16, 16), acid), 512);
    // A new reaction wakes them.
    assert_ok(weir_world_add_reaction(world, &(weir_reaction_def){acid, WEIR_WATER, brine, brine, 0.25f, 0}));
    assert_true(weir_world_stats(world).awake_bricks > 0);
    test_step(world, 30);
    assert_true(held(world, brine) > 0);
    const weir_ledger all = weir_world_ledger(world), of_brine = weir_world_material_ledger(world, brine);
    assert_int_equal(of_brine.turned, -of_brine.held);
    // What found no cell of its own left the world.
    assert_int_equal(all.turned, weir_world_material_ledger(world, acid).turned +
                                     weir_world_material_ledger(world, WEIR_WATER).turned + of_brine.turned);
    assert_int_equal(held(world, acid), held(world, WEIR_WATER));
    assert_int_equal(held(world, acid) + weir_world_material_ledger(world, acid).turned, each);
    assert_asleep(world, 3000);
    weir_world_destroy(world);
}

static void without_the_reaction_lava_lies_under_water(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    assert_ok(weir_world_remove_reaction(world, WEIR_WATER, WEIR_LAVA));
    pour(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1);
    assert_asleep(world, 100);
    pour(world, test_box(4, 8, 4, 8, 10, 8), WEIR_LAVA, 1);
    assert_asleep(world, 2000);
    assert_layered(world, test_box(0, 0, 0, 16, 16, 16));
    assert_int_equal(weir_world_ledger(world).turned, 0);
    weir_world_destroy(world);
}

// Several updates in a background step are as many in the foreground, also where terrain forms in them.
static void stone_forms_alike_in_background_steps(void **state)
{
    (void)state;
    weir_world *worlds[2];
    for (int32_t i = 0; i < 2; i++) {
        weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 24, 16, 16);
        def.updates_per_step = 6;
        def.threads = 1 + i;
        worlds[i] = test_make(&def);
        pour(worlds[i], test_box(0, 0, 0, 24, 4, 16), WEIR_WATER, 1);
        pour(worlds[i], test_box(6, 8, 6, 10, 12, 10), WEIR_LAVA, 1);
    }
    for (int32_t step = 0; step < 20; step++) {
        test_step(worlds[0], 1);
        assert_ok(weir_world_step_begin(worlds[1]));
        (void)weir_world_cell(worlds[1], (weir_coord){7, 4, 7});
        assert_ok(weir_world_step_end(worlds[1]));
        assert_int_equal(weir_world_stats(worlds[1]).updates, 6 * (step + 1));
        assert_true(weir_world_hash(worlds[0]) == weir_world_hash(worlds[1]));
    }
    assert_true(weir_world_material_ledger(worlds[1], WEIR_LAVA).turned > 10 * (int64_t)WEIR_FULL);
    assert_sound(worlds[1]);
    for (int32_t i = 0; i < 2; i++) weir_world_destroy(worlds[i]);
}

// A turn over several updates ends as one in a single one, also if it is saved and loaded in its midst.
static void liquids_meet_alike_with_a_budget(void **state)
{
    (void)state;
    enum { WORLDS = 4 };
    static const int32_t budgets[WORLDS] = {0, 3, 6, 1};
    weir_world *worlds[WORLDS];
    for (int32_t i = 0; i < WORLDS; i++) {
        weir_params params = weir_params_default();
        params.settle.budget = budgets[i];
        weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 40, 24, 24);
        def.params = &params;
        worlds[i] = test_make(&def);
        pour(worlds[i], test_box(0, 0, 0, 40, 5, 24), WEIR_WATER, 1);
        pour(worlds[i], test_box(0, 5, 0, 12, 9, 24), WEIR_OIL, 1);
        pour(worlds[i], test_box(20, 7, 6, 28, 12, 14), WEIR_LAVA, 1);
    }
    for (int32_t turn = 0; turn < test_length(60, 12); turn++) {
        for (int32_t i = 0; i < WORLDS; i++) {
            int32_t updates = 0;
            do {
                test_step(worlds[i], 1);
                if (++updates > 5000) fail_msg("a turn with a budget of %d does not end", budgets[i]);
                if (i != 2 || turn % 5 || weir_world_stats(worlds[i]).behind_updates != 4) continue;
                size_t size;
                assert_ok(weir_world_save_memory(worlds[i], NULL, 0, &size));
                void *bytes = malloc(size);
                assert_ok(weir_world_save_memory(worlds[i], bytes, size, &size));
                assert_ok(weir_world_load_memory(worlds[i], bytes, size));
                free(bytes);
            } while (weir_world_stats(worlds[i]).behind_updates > 0);
            assert_true(worlds[i]->solver->hash(worlds[i]->state, false) == worlds[0]->solver->hash(worlds[0]->state, false));
        }
    }
    assert_true(weir_world_material_ledger(worlds[0], WEIR_LAVA).turned > 10 * (int64_t)WEIR_FULL);
    for (int32_t i = 0; i < WORLDS; i++) {
        assert_sound(worlds[i]);
        weir_world_destroy(worlds[i]);
    }
}

static void open_terrain(void *user, weir_coord origin, uint8_t shares[512])
{
    (void)user;
    for (int32_t i = 0; i < 512; i++) shares[i] = origin.y + (i >> 3 & 7) < 0 ? 255 : 0;
}

// A game's own terrain is not Weir's to build.
static void in_a_games_own_terrain_lava_leaves_the_world(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 16, 16, 16);
    def.terrain = open_terrain;
    weir_world *world = test_make(&def);
    pour(world, test_box(0, 0, 0, 16, 4, 16), WEIR_WATER, 1);
    pour(world, test_box(4, 4, 4, 8, 8, 8), WEIR_LAVA, 1);
    assert_asleep(world, 1000);
    assert_int_equal(held(world, WEIR_LAVA), 0);
    assert_int_equal(weir_world_ledger(world).turned, (int64_t)128 * WEIR_FULL);
    weir_world_destroy(world);
}

// ---- Evaporation -----------------------------------------------------------------------------------------------------------------

// A puddle that sleeps dries up, whole, and sleeps on; a lake beside it stays.
static void a_sleeping_puddle_dries_up(void **state)
{
    (void)state;
    weir_params params = weir_params_default();
    params.settle.evaporation = 1e-4f;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 96, 16, 32);
    def.params = &params;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(40, 0, 0, 48, 12, 32), 255));
    pour(world, test_box(0, 0, 0, 40, 8, 32), WEIR_WATER, 1);
    pour(world, test_box(60, 0, 14, 64, 4, 18), WEIR_WATER, 1);
    settle_down(world, 300);
    const int64_t lake = (int64_t)40 * 8 * 32 * WEIR_FULL;
    int32_t awake = 0, updates = 0;
    for (; updates < 3000 && held(world, WEIR_WATER) > lake; updates++) {
        test_step(world, 1);
        awake += weir_world_stats(world).awake_bricks > 0;
    }
    assert_int_equal(held(world, WEIR_WATER), lake);
    assert_int_equal(weir_world_material_ledger(world, WEIR_WATER).turned, (int64_t)64 * WEIR_FULL);
    if (updates < 300 || awake > updates / 4) fail_msg("it took %d updates, and bricks were awake in %d", updates, awake);
    assert_asleep(world, 10);
    weir_world_destroy(world);
}

// ---- Random lives ------------------------------------------------------------------------------------------------------------

typedef struct life {
    weir_simd simd;
    int32_t threads;
    int32_t reload_every;  // updates; 0: never
} life;

// Water that rises by many bricks in one update comes beside oil of which it was far away when that began.
static void a_body_that_shoots_up_beside_oil_turns_none_of_it_into_water(void **state)
{
    weir_world *world = make(24, 72, 16);
    int32_t sea;
    pour(world, test_box(0, 0, 0, 4, 2, 4), WEIR_WATER, 1);
    assert_ok(weir_world_build(world, test_box(4, 0, 0, 24, 40, 16), 255));
    assert_ok(weir_world_build(world, test_box(0, 0, 4, 4, 40, 16), 255));
    settle_down(world, 200);
    assert_ok(weir_world_add_reservoir(world, test_box(0, 0, 0, 4, 2, 4), WEIR_WATER, 2, &sea));
    assert_ok(weir_world_build(world, test_box(4, 40, 0, 6, 72, 16), 255));
    assert_ok(weir_world_build(world, test_box(0, 40, 4, 6, 72, 6), 255));
    assert_ok(weir_world_dig(world, test_box(4, 44, 0, 6, 46, 4)));
    for (int32_t i = 0; i < 8; i++) {
        pour(world, test_box(4, 44, 0, 12, 48, 8), WEIR_OIL, 0.7f);
        test_step(world, 1);
        assert_ok(weir_world_set_level(world, sea, i % 2 ? 2 : 60));
        test_step(world, 1);
        assert_sound(world);
    }
    weir_world_destroy(world);
}

static weir_world *make_life(const life *path, uint32_t seed, test_memory *counted)
{
    weir_world_def def = weir_world_def_default();
    const int32_t half = 24;
    def.solver = WEIR_SOLVER_SETTLE;
    def.bounds = test_box(-half, -half, -half, half, half, half);
    if (seed % 3 == 1) def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN;
    weir_params params = weir_params_default();
    if (seed % 2 == 0) params.settle.budget = 40;  // fewer bricks than are awake
    def.params = &params;
    def.simd = path->simd;
    def.threads = path->threads;
    if (counted) def.allocator = test_memory_hooks(counted);
    return test_make(&def);
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
    world = make_life(path, seed, NULL);
    assert_ok(weir_world_load_memory(world, bytes, size));
    free(bytes);
    assert_true(weir_world_hash(world) == hash);
    return world;
}

static weir_box random_box(uint32_t *random, int32_t size, int32_t most)
{
    weir_box box;
    int32_t *low[3] = {&box.min.x, &box.min.y, &box.min.z}, *high[3] = {&box.max.x, &box.max.y, &box.max.z};
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t length = 1 + (int32_t)draw(random, (uint32_t)most);
        *low[axis] = (int32_t)draw(random, (uint32_t)(size - length + 1)) - size / 2;
        *high[axis] = *low[axis] + length;
    }
    return box;
}

// One edit of those that a game makes, the same for the same number. Returns what came of it: memory may run out.
static weir_status random_edit(weir_world *world, uint32_t *random)
{
    const weir_box box = random_box(random, 48, 12), small = random_box(random, 48, 4);
    const weir_material material = WEIR_WATER + (int32_t)draw(random, 3);
    const float fill = (float)draw(random, 129) / 128;
    weir_source source;
    switch (draw(random, 12)) {
    case 0:
    case 1: return weir_world_fill(world, box, material, 1.0f);
    case 2: return weir_world_fill(world, small, material, fill);
    case 3: return weir_world_fill(world, small, material, 0);
    case 4:
    case 5: return weir_world_dig(world, box);
    case 6:
    case 7: return weir_world_build(world, box, 255);
    case 8: return weir_world_build(world, small, (uint8_t)(1 + draw(random, 255)));
    case 9: return weir_world_fill_sphere(world, (weir_sphere){{small.min.x, small.min.y, small.min.z}, 4.5}, material, 1.0f);
    case 10: return weir_world_add_emitter(world, small, material, 0.1f + fill, NULL);
    default: return weir_world_sources(world, &source, 1) > 0 ? weir_world_remove(world, source.id) : WEIR_OK;
    }
}

static void random_lives_of_three_liquids_are_exact_and_alike_on_every_path(void **state)
{
    (void)state;
    static const life paths[] = {{WEIR_SIMD_SCALAR, 1, 0}, {WEIR_SIMD_AUTO, 4, 0}, {WEIR_SIMD_AUTO, 2, 17}};
    enum { PATHS = sizeof paths / sizeof *paths };
    const char *from = getenv("WEIR_LIVES_FROM"), *lives = getenv("WEIR_LIVES");
    const uint32_t first = from ? (uint32_t)atoi(from) : 1;
    for (uint32_t seed = first; seed < first + (lives ? (uint32_t)atoi(lives) : (uint32_t)test_length(4, 1)); seed++) {
        weir_world *world[PATHS];
        uint32_t random[PATHS];
        for (int32_t i = 0; i < PATHS; i++) world[i] = make_life(&paths[i], seed, NULL), random[i] = seed;
        for (int32_t update = 0; update < test_length(200, 80); update++) {
            for (int32_t i = 0; i < PATHS; i++) {
                if (update % 5 == 0) assert_ok(random_edit(world[i], &random[i]));
                test_step(world[i], 1);
                if (paths[i].reload_every && update % paths[i].reload_every == 0) world[i] = reload(world[i], &paths[i], seed);
                if (i == 0) assert_sound(world[i]);
                if (weir_world_hash(world[i]) != weir_world_hash(world[0]))
                    fail_msg("life %u: path %d differs after update %d", seed, i, update);
            }
        }
        for (int32_t i = 0; i < PATHS; i++) weir_world_destroy(world[i]);
    }
}

// What fails for want of memory changes nothing, and goes on as if it had not been tried.
// Of liquids of many densities one gives to what is below and takes from what is above in the same update.
static void liquids_of_many_densities_that_are_mixed_up_keep_every_drop(void **state)
{
    for (uint32_t seed = 10; seed > 10 - (uint32_t)test_length(2, 1); seed--) {
        weir_world *world = make(24, 24, 24);
        const weir_material all[5] = {WEIR_OIL, WEIR_WATER, WEIR_HONEY, WEIR_LAVA, WEIR_MERCURY};
        uint32_t random = seed;
        assert_ok(weir_world_remove_reaction(world, WEIR_WATER, WEIR_LAVA));
        for (int32_t i = 0; i < 240; i++) {
            weir_box box = random_box(&random, 24, 9);
            box = test_box(box.min.x + 12, box.min.y + 12, box.min.z + 12, box.max.x + 12, box.max.y + 12, box.max.z + 12);
            const int32_t kind = (int32_t)draw(&random, 12);
            if (kind < 5) pour(world, box, all[kind], 1.0f);
            if (kind == 5) assert_ok(weir_world_drain(world, box));
            if (kind == 6) assert_ok(weir_world_build(world, box, (uint8_t)(1 + draw(&random, 255))));
            if (kind == 7) assert_ok(weir_world_dig(world, box));
            test_step(world, 1);
            assert_sound(world);
        }
        weir_world_destroy(world);
    }
}

static void a_life_of_three_liquids_goes_on_where_memory_ran_out(void **state)
{
    (void)state;
    const life path = {WEIR_SIMD_AUTO, 1, 0};
    test_memory counted = {0};
    weir_world *short_of = make_life(&path, 2, &counted), *other = make_life(&path, 2, NULL);
    uint32_t random[2] = {7, 7};
    int32_t failures = 0;
    for (int32_t update = 0; update < test_length(120, 50); update++) {
        if (update % 5 == 0) {
            const uint32_t before = random[0];
            counted.fail_at = counted.calls + 1 + update % 7;
            while (random_edit(short_of, &random[0]) != WEIR_OK) {
                random[0] = before;
                counted.fail_at = 0;
                failures++;
            }
            assert_ok(random_edit(other, &random[1]));
        }
        counted.fail_at = counted.calls + 1 + update % 11;
        while (weir_world_step(short_of) != WEIR_OK) {
            assert_sound(short_of);
            counted.fail_at = 0;
            failures++;
        }
        counted.fail_at = 0;
        test_step(other, 1);
        assert_sound(short_of);
        if (weir_world_hash(short_of) != weir_world_hash(other)) fail_msg("it goes on in another way after update %d", update);
    }
    assert_true(failures > 5);
    weir_world_destroy(short_of);
    weir_world_destroy(other);
    assert_int_equal(counted.bytes, 0);
}

// ---- Snapshots and background steps --------------------------------------------------------------------------------------------

static void a_background_step_shows_the_liquids_as_they_were(void **state)
{
    (void)state;
    weir_world *world = make(24, 16, 16);
    pour(world, test_box(0, 0, 0, 12, 6, 16), WEIR_WATER, 1.0f);
    pour(world, test_box(12, 0, 0, 20, 10, 16), WEIR_OIL, 0.75f);
    test_step(world, 2);
    const int64_t water = held(world, WEIR_WATER), oil = held(world, WEIR_OIL);
    const int32_t cells = count(world, test_box(0, 0, 0, 24, 16, 16), WEIR_OIL);
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(held(world, WEIR_WATER), water);
    assert_int_equal(held(world, WEIR_OIL), oil);
    assert_int_equal(count(world, test_box(0, 0, 0, 24, 16, 16), WEIR_OIL), cells);
    assert_ok(weir_world_step_end(world));
    assert_sound(world);
    weir_world_destroy(world);
}

static void a_delta_brings_every_liquid_into_a_second_world(void **state)
{
    (void)state;
    enum { SIZE = 16, ALL = SIZE * SIZE * SIZE };
    static uint8_t materials[2][ALL];
    weir_world *server = make(SIZE, SIZE, SIZE), *client = make(SIZE, SIZE, SIZE);
    const weir_box all = test_box(0, 0, 0, SIZE, SIZE, SIZE);
    int64_t mark = 0;
    pour(server, test_box(0, 0, 0, 6, 5, SIZE), WEIR_WATER, 1.0f);
    pour(server, test_box(6, 0, 0, 12, 9, SIZE), WEIR_LAVA, 0.75f);
    for (int32_t i = 0; i < 12; i++) {
        size_t size;
        test_step(server, 5);
        if (i == 6) pour(server, test_box(0, 8, 0, 12, 10, 9), WEIR_OIL, 0.5f);
        if (i == 9) assert_ok(weir_world_drain(server, test_box(0, 0, 0, 8, SIZE, SIZE)));
        int64_t from = mark;
        assert_ok(weir_world_delta(server, &from, 0, NULL, 0, &size));
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        assert_ok(weir_world_delta(server, &mark, 0, bytes, size, &size));
        assert_ok(weir_world_apply_delta(client, bytes, size));
        free(bytes);
        float *fills[2] = {test_fills(server, all), test_fills(client, all)};
        assert_ok(weir_world_read_material(server, all, materials[0]));
        assert_ok(weir_world_read_material(client, all, materials[1]));
        assert_memory_equal(fills[0], fills[1], ALL * sizeof(float));
        assert_memory_equal(materials[0], materials[1], ALL);
        free(fills[0]);
        free(fills[1]);
        assert_sound(client);
    }
    weir_world_destroy(server);
    weir_world_destroy(client);
}

// A checksum that is right.
static void seal(uint8_t *bytes, size_t size)
{
    const uint64_t sum = hash_bytes(bytes + HEADER, size - HEADER, 0);
    for (int32_t i = 0; i < 8; i++) bytes[32 + i] = (uint8_t)(sum >> 8 * i);
}

static void a_snapshot_that_lies_of_materials_does_no_harm(void **state)
{
    (void)state;
    weir_world *world = make(16, 16, 16);
    pour(world, test_box(0, 0, 0, 8, 3, 16), WEIR_WATER, 1.0f);
    pour(world, test_box(8, 0, 0, 12, 9, 16), WEIR_LAVA, 0.8f);
    test_step(world, 5);
    size_t size;
    setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1);
    assert_ok(weir_world_save_memory(world, NULL, 0, &size));
    uint8_t *bytes = malloc(size), *lie = malloc(size);
    assert_true(bytes && lie);
    assert_ok(weir_world_save_memory(world, bytes, size, &size));
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    uint32_t random = 5;
    for (int32_t i = 0; i < test_length(600, 100); i++) {
        memcpy(lie, bytes, size);
        for (uint32_t k = 0; k <= draw(&random, 3); k++)
            lie[40 + draw(&random, (uint32_t)size - 40)] = (uint8_t)draw(&random, 256);
        seal(lie, size);
        if (weir_world_load_memory(world, lie, size) != WEIR_OK) continue;
        test_step(world, 2);
        assert_sound(world);
    }
    free(bytes);
    free(lie);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_that_shoots_up_beside_oil_turns_none_of_it_into_water),
        cmocka_unit_test(every_cell_tells_what_it_holds),
        cmocka_unit_test(a_fill_takes_the_place_of_another_material),
        cmocka_unit_test(fills_of_their_own_leave_cells_their_material),
        cmocka_unit_test(emitters_pour_beside_another_liquid_and_drains_take_any),
        cmocka_unit_test(a_material_of_the_games_own_flows_like_any),
        cmocka_unit_test(thicker_liquids_move_more_slowly_and_stiff_ones_stand_on_a_slope),
        cmocka_unit_test(thick_liquids_end_in_thick_puddles),
        cmocka_unit_test(a_world_of_one_liquid_takes_no_memory_for_materials),
        cmocka_unit_test(free_liquids_follow_the_laws_as_they_are_written),
        cmocka_unit_test(random_lives_of_three_liquids_are_exact_and_alike_on_every_path),
        cmocka_unit_test(liquids_of_many_densities_that_are_mixed_up_keep_every_drop),
        cmocka_unit_test(a_life_of_three_liquids_goes_on_where_memory_ran_out),
        cmocka_unit_test(a_background_step_shows_the_liquids_as_they_were),
        cmocka_unit_test(a_delta_brings_every_liquid_into_a_second_world),
        cmocka_unit_test(a_snapshot_that_lies_of_materials_does_no_harm),
        cmocka_unit_test(oil_under_water_ends_above_it),
        cmocka_unit_test(oil_beside_water_ends_above_it),
        cmocka_unit_test(oil_in_a_bend_comes_up_in_its_arms),
        cmocka_unit_test(water_that_falls_on_oil_ends_below_it),
        cmocka_unit_test(a_lake_under_oil_rises_and_lifts_it),
        cmocka_unit_test(things_float_in_each_liquid_by_its_density),
        cmocka_unit_test(lava_in_a_lake_becomes_stone_and_the_lake_sinks),
        cmocka_unit_test(what_reacts_can_become_other_liquids),
        cmocka_unit_test(without_the_reaction_lava_lies_under_water),
        cmocka_unit_test(stone_forms_alike_in_background_steps),
        cmocka_unit_test(liquids_meet_alike_with_a_budget),
        cmocka_unit_test(in_a_games_own_terrain_lava_leaves_the_world),
        cmocka_unit_test(a_sleeping_puddle_dries_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
