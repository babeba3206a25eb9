// A long life of random edits: fills, drains, digging and building while the water moves. However it goes, the account is
// exact, and when all water is gone nothing is left of it.
//
//     build/release/tests/test_long --updates 1000000 --seed 2      so many updates of each solver instead of some hundred
//     --solver settle                                               of this solver only
//     build/release/tests/test_long --updates 100000 --only '*regions*'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <stdio.h>

enum { EDGE = 32, CAVES_LIFE = 400 };  // updates of one cave

static int32_t updates_wanted;
static const char *only_solver;  // NULL: all
static uint32_t first_seed = 4711;

static void pass_over_others(weir_solver solver)
{
    if (only_solver && strcmp(only_solver, weir_solver_name(solver)) != 0) skip();
}

static weir_box random_box(scene_random *random)
{
    int32_t low[3], high[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        int32_t length = scene_random_between(random, 1, 12);
        low[axis] = scene_random_between(random, -4, EDGE - 2);  // part of it may lie outside
        high[axis] = low[axis] + length;
        if (high[axis] <= 0) high[axis] = 1;
    }
    return test_box(low[0], low[1], low[2], high[0], high[1], high[2]);
}

static weir_sphere random_sphere(scene_random *random)
{
    weir_sphere sphere;
    sphere.centre.x = 0.5 * scene_random_between(random, 0, 2 * EDGE);
    sphere.centre.y = 0.5 * scene_random_between(random, 0, 2 * EDGE);
    sphere.centre.z = 0.5 * scene_random_between(random, 0, 2 * EDGE);
    sphere.radius = 0.5 * scene_random_between(random, 2, 14);
    return sphere;
}

static weir_vec random_flow(scene_random *random)
{
    weir_vec flow;
    flow.x = (float)scene_random_between(random, -10, 10) / 64;
    flow.y = (float)scene_random_between(random, -10, 10) / 64;
    flow.z = (float)scene_random_between(random, -10, 10) / 64;
    return flow;
}

static void random_edit(weir_world *world, scene_random *random, int32_t *source)
{
    float fill = (float)scene_random_between(random, 0, 64) / 64;
    switch (scene_random_between(random, 0, 10)) {
    case 0:
    case 1: assert_ok(weir_world_fill(world, random_box(random), WEIR_WATER, fill)); break;
    case 2: assert_ok(weir_world_fill_sphere(world, random_sphere(random), WEIR_WATER, fill)); break;
    case 3: assert_ok(weir_world_drain(world, random_box(random))); break;
    case 4: assert_ok(weir_world_drain_sphere(world, random_sphere(random))); break;
    case 5: assert_ok(weir_world_dig(world, random_box(random))); break;
    case 6: assert_ok(weir_world_dig_sphere(world, random_sphere(random))); break;
    case 7: assert_ok(weir_world_build(world, random_box(random), (uint8_t)scene_random_between(random, 1, 255))); break;
    case 8: assert_ok(weir_world_build_sphere(world, random_sphere(random), 255)); break;
    case 9: assert_ok(weir_world_set_flow(world, random_box(random), random_flow(random))); break;
    default:
        if (*source) assert_ok(weir_world_remove(world, *source));
        if (*source == 0 && scene_random_between(random, 0, 1))
            assert_ok(weir_world_add_emitter(world, random_box(random), WEIR_WATER, 3 * fill + 0.1f, source));
        else if (*source == 0)
            assert_ok(weir_world_add_drain(world, random_box(random), 3 * fill + 0.1f, source));
        else
            *source = 0;
    }
}

static void live_long(weir_solver solver)
{
    scene_run *run = test_open("random", solver, EDGE, 0);
    scene_random random = scene_random_seeded(first_seed + (uint32_t)solver);
    int32_t source = 0;
    for (int32_t left = updates_wanted; left > 0;) {
        int32_t length = scene_random_between(&random, 1, 9);
        if (scene_random_between(&random, 0, 3) == 0) {
            // Edits while a step runs in the background.
            assert_ok(weir_world_step_begin(run->world));
            random_edit(run->world, &random, &source);
            random_edit(run->world, &random, &source);
            assert_exact(run->world);
            assert_ok(weir_world_step_end(run->world));
            length--;
            left--;
        } else {
            random_edit(run->world, &random, &source);
        }
        assert_exact(run->world);
        assert_ok(scene_updates(run, length));
        assert_exact(run->world);
        left -= length;
        weir_box_sum sum = weir_world_box_sum(run->world, weir_world_bounds(run->world));
        assert_true(sum.drops == weir_world_ledger(run->world).held);
        weir_params params = weir_world_params(run->world);
        double max_flow;
        assert_ok(weir_params_get(&params, solver, "max_flow", &max_flow));
        assert_true(sum.max_flow <= max_flow);
        if (solver == WEIR_SOLVER_MOMENTUM) assert_true(sum.max_fill <= 4);
    }
    if (source) assert_ok(weir_world_remove(run->world, source));
    assert_ok(weir_world_drain(run->world, weir_world_bounds(run->world)));
    test_step(run->world, 2);
    assert_int_equal(weir_world_ledger(run->world).held, 0);
    assert_exact(run->world);
    assert_int_equal(weir_world_stats(run->world).bricks, 0);
    scene_close(run);
}

static void momentum_keeps_its_account_through_a_long_life(void **state)
{
    pass_over_others(WEIR_SOLVER_MOMENTUM);
    live_long(WEIR_SOLVER_MOMENTUM);
}

static void classic_keeps_its_account_through_a_long_life(void **state)
{
    pass_over_others(WEIR_SOLVER_CLASSIC);
    live_long(WEIR_SOLVER_CLASSIC);
}

// ---- Caves -----------------------------------------------------------------------------------------------------------------

static weir_box random_brick(scene_random *random)
{
    int32_t x = 8 * scene_random_between(random, 0, 7), y = 8 * scene_random_between(random, 0, 1);
    int32_t z = 8 * scene_random_between(random, 0, 7);
    return test_box(x, y, z, x + 8, y + 8, z + 8);
}

// A brick is dug, filled to some height, drained or built again. About a third of them stay open.
static void edit_caves(weir_world *world, scene_random *random)
{
    weir_box brick = random_brick(random), part = brick;
    part.max.y -= scene_random_between(random, 0, 7);
    int32_t kind = scene_random_between(random, 0, 9);
    if (kind < 3) assert_ok(weir_world_dig(world, brick));
    if (kind < 5) assert_ok(weir_world_fill(world, part, WEIR_WATER, (float)scene_random_between(random, 0, 64) / 64));
    if (kind == 5) assert_ok(weir_world_drain(world, part));
    if (kind == 6 || kind == 7) assert_ok(weir_world_build(world, brick, 255));
    if (kind == 8) assert_ok(weir_world_set_flow(world, part, random_flow(random)));
    if (kind == 9) assert_ok(weir_world_dig(world, part));
}

// Bricks dug open at random in solid terrain, on 1 to 8 threads: after every update the account is exact, and another number of threads
// has come to the same hash at the end.
static uint64_t live_in_a_cave(weir_solver solver, uint32_t seed, int32_t threads)
{
    weir_world_def def = test_def(solver, 64, 16, 64);
    def.threads = threads;
    weir_world *world = test_make(&def);
    scene_random random = scene_random_seeded(seed);
    assert_ok(weir_world_build(world, def.bounds, 255));
    for (int32_t i = 0; i < 50; i++) assert_ok(weir_world_dig(world, random_brick(&random)));
    for (int32_t i = 0; i < CAVES_LIFE && i < updates_wanted; i++) {
        if (scene_random_between(&random, 0, 2) == 0) edit_caves(world, &random);
        test_step(world, 1);
        assert_exact(world);
    }
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void live_in_caves(weir_solver solver)
{
    for (int32_t done = 0, cave = 0; done < updates_wanted; done += CAVES_LIFE, cave++) {
        uint32_t seed = first_seed + 2 * (uint32_t)cave + (uint32_t)solver;
        uint64_t hash = live_in_a_cave(solver, seed, 1 + cave % 8);
        if (cave % 4 == 0) assert_true(live_in_a_cave(solver, seed, 1 + (cave + 3) % 8) == hash);
    }
}

static void momentum_keeps_its_account_in_caves(void **state)
{
    pass_over_others(WEIR_SOLVER_MOMENTUM);
    live_in_caves(WEIR_SOLVER_MOMENTUM);
}

static void classic_keeps_its_account_in_caves(void **state)
{
    pass_over_others(WEIR_SOLVER_CLASSIC);
    live_in_caves(WEIR_SOLVER_CLASSIC);
}

// ---- Hills -----------------------------------------------------------------------------------------------------------------

enum { HILLS = 64 };

static weir_box random_place(scene_random *random, weir_box all)
{
    const int32_t most = scene_random_between(random, 0, 3) ? 6 : 20;
    int32_t low[3];
    const int32_t size[3] = {all.max.x, all.max.y, all.max.z};
    for (int32_t axis = 0; axis < 3; axis++) low[axis] = scene_random_between(random, -2, size[axis] - 1);
    return test_box(low[0], low[1], low[2], low[0] + scene_random_between(random, 3, most),
                    low[1] + scene_random_between(random, 3, most), low[2] + scene_random_between(random, 3, most));
}

// What players do to a world of lakes and hills.
static void edit_hills(weir_world *world, scene_random *random)
{
    const weir_box box = random_place(random, weir_world_bounds(world));
    const weir_sphere sphere = {{box.min.x + 2, box.min.y + 2, box.min.z + 2}, 0.5 * scene_random_between(random, 3, 12)};
    const float fill = (float)scene_random_between(random, 1, 64) / 64;
    weir_source source;
    switch (scene_random_between(random, 0, 11)) {
    case 0: assert_ok(weir_world_fill(world, box, WEIR_WATER, 1.0f)); break;
    case 1: assert_ok(weir_world_fill(world, box, WEIR_WATER, fill)); break;
    case 2: assert_ok(weir_world_drain(world, box)); break;
    case 3:
    case 4: assert_ok(weir_world_dig(world, box)); break;
    case 5: assert_ok(weir_world_dig_sphere(world, sphere)); break;
    case 6:
    case 7: assert_ok(weir_world_build(world, box, 255)); break;
    case 8: assert_ok(weir_world_build(world, box, (uint8_t)scene_random_between(random, 1, 254))); break;
    case 9: assert_ok(weir_world_build_sphere(world, sphere, 255)); break;
    case 10:
        if (weir_world_sources(world, NULL, 0) >= 6) break;
        if (scene_random_between(random, 0, 1))
            assert_ok(weir_world_add_emitter(world, box, WEIR_WATER, 4 * fill, NULL));
        else
            assert_ok(weir_world_add_drain(world, box, 4 * fill, NULL));
        break;
    default:
        if (weir_world_sources(world, &source, 1) > 0) assert_ok(weir_world_remove(world, source.id));
    }
}

static void reload(weir_world *world)
{
    size_t size;
    const uint64_t hash = weir_world_hash(world);
    assert_ok(weir_world_save_memory(world, NULL, 0, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_ok(weir_world_save_memory(world, bytes, size, &size));
    assert_ok(weir_world_load_memory(world, bytes, size));
    free(bytes);
    assert_true(weir_world_hash(world) == hash);
}

// Springs of the scene run on while the ground is dug over and over.
static void settle_keeps_its_account_on_hills(void **state)
{
    pass_over_others(WEIR_SOLVER_SETTLE);
    scene_run *run = test_open("terrain", WEIR_SOLVER_SETTLE, HILLS, 0);
    scene_random random = scene_random_seeded(first_seed);
    int32_t edits = 0;
    for (int32_t update = 0; update < updates_wanted; update++) {
        while (scene_random_between(&random, 0, 2) == 0) {
            edit_hills(run->world, &random);
            edits++;
        }
        if (scene_random_between(&random, 0, 199) == 0) reload(run->world);
        test_step(run->world, 1);
        assert_exact(run->world);
        if (update % 10000 == 9999)
            print_message("%d updates, %d edits: %g cells of water, %d bricks awake\n", update + 1, edits,
                          (double)weir_world_ledger(run->world).held / WEIR_FULL, weir_world_stats(run->world).awake_bricks);
    }
    weir_source source;
    while (weir_world_sources(run->world, &source, 1) > 0) assert_ok(weir_world_remove(run->world, source.id));
    // What is less than a unit per cell of a surface is in no cell, and comes when the body falls.
    for (int32_t i = 0; i < 60 && weir_world_ledger(run->world).held > 0; i++) {
        assert_ok(weir_world_drain(run->world, weir_world_bounds(run->world)));
        test_step(run->world, 1);
    }
    test_step(run->world, 1);
    assert_int_equal(weir_world_ledger(run->world).held, 0);
    assert_exact(run->world);
    assert_int_equal(weir_world_stats(run->world).bricks, 0);
    scene_close(run);
}

// ---- Regions ---------------------------------------------------------------------------------------------------------------

enum { REGIONS = 8, REGION_ROOM = 1 << 22 };

// A part of the world that is away.
typedef struct parcel {
    uint8_t *bytes;
    size_t size;
} parcel;

static void unload_or_load(weir_world *world, scene_random *random, parcel *p)
{
    static uint8_t bytes[REGION_ROOM];
    const weir_box all = weir_world_bounds(world);
    weir_box box;
    if (p->bytes) {
        assert_ok(weir_world_load_region(world, p->bytes, p->size));
        free(p->bytes);
        *p = (parcel){0};
        return;
    }
    box.min.x = 8 * scene_random_between(random, 0, all.max.x / 8 - 1);
    box.min.y = 8 * scene_random_between(random, 0, all.max.y / 8 - 1);
    box.min.z = 8 * scene_random_between(random, 0, all.max.z / 8 - 1);
    box.max.x = box.min.x + 8 * scene_random_between(random, 1, 4);
    box.max.y = box.min.y + 8 * scene_random_between(random, 1, 4);
    box.max.z = box.min.z + 8 * scene_random_between(random, 1, 4);
    if (weir_world_unload(world, box, bytes, sizeof bytes, &p->size) != WEIR_OK) return;  // a part of it is away
    p->bytes = malloc(p->size);
    assert_non_null(p->bytes);
    memcpy(p->bytes, bytes, p->size);
}

// Digging, building, pouring and draining anywhere; what lies in a part that is away is refused.
static void edit_what_is_there(weir_world *world, scene_random *random)
{
    const weir_box all = weir_world_bounds(world);
    weir_box box;
    box.min.x = scene_random_between(random, 0, all.max.x - 1);
    box.min.y = scene_random_between(random, 0, all.max.y - 1);
    box.min.z = scene_random_between(random, 0, all.max.z - 1);
    box.max.x = box.min.x + scene_random_between(random, 1, 10);
    box.max.y = box.min.y + scene_random_between(random, 1, 10);
    box.max.z = box.min.z + scene_random_between(random, 1, 10);
    weir_status status = WEIR_OK;
    switch (scene_random_between(random, 0, 5)) {
    case 0: status = weir_world_fill(world, box, WEIR_WATER, (float)scene_random_between(random, 0, 64) / 64); break;
    case 1: status = weir_world_drain(world, box); break;
    case 2: status = weir_world_build(world, box, (uint8_t)scene_random_between(random, 1, 255)); break;
    case 3: status = weir_world_build(world, box, 255); break;
    default: status = weir_world_dig(world, box); break;
    }
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUTSIDE);
}

// The scene of hills, of which parts leave and come back.
static void settle_keeps_its_account_while_regions_come_and_go(void **state)
{
    pass_over_others(WEIR_SOLVER_SETTLE);
    scene_run *run = test_open("terrain", WEIR_SOLVER_SETTLE, 0, 0);
    scene_random random = scene_random_seeded(first_seed);
    parcel parcels[REGIONS] = {{NULL, 0}};
    for (int32_t i = 0; i < updates_wanted; i++) {
        if (scene_random_between(&random, 0, 1) == 0) edit_what_is_there(run->world, &random);
        if (scene_random_between(&random, 0, 3) == 0) {
            parcel *p = &parcels[scene_random_between(&random, 0, REGIONS - 1)];
            const uint64_t hash = weir_world_hash(run->world);
            const bool leaves = p->bytes == NULL;
            unload_or_load(run->world, &random, p);
            if (leaves && p->bytes && i % 8 == 0) {
                unload_or_load(run->world, &random, p);
                assert_true(weir_world_hash(run->world) == hash);
            }
        }
        assert_ok(scene_updates(run, 1));
        assert_exact(run->world);
    }
    for (int32_t i = 0; i < REGIONS; i++)
        if (parcels[i].bytes) unload_or_load(run->world, &random, &parcels[i]);
    assert_exact(run->world);
    assert_true(weir_world_ledger(run->world).unloaded == 0);
    scene_close(run);
}

// ---- Fluids that share cells -------------------------------------------------------------------------------------------------

static void assert_all_accounts(const weir_world *world)
{
    assert_exact(world);
    for (weir_material m = 1; m < weir_world_material_count(world); m++)
        if (weir_world_material_ledger(world, m).drift != 0)
            fail_msg("update %lld: material %d", (long long)weir_world_stats(world).updates, m);
    assert_int_equal(weir_world_heat_ledger(world).drift, 0);
}

static void add_source(weir_world *world, scene_random *random, weir_box box, weir_material material, float kelvins)
{
    weir_source sources[8];
    const int32_t count = weir_world_sources(world, sources, 8), kind = scene_random_between(random, 0, 3);
    const float rate = (float)scene_random_between(random, 1, 400) / 100;
    weir_status status = WEIR_OK;
    if (count >= 6) {
        const weir_source *one = &sources[scene_random_between(random, 0, 5)];
        if (one->kind == WEIR_SOURCE_HEATER && kind > 0)
            assert_ok(weir_world_set_heater(world, one->id, kelvins));
        else
            assert_ok(weir_world_remove(world, one->id));
        return;
    }
    if (kind == 0) status = weir_world_add_heater(world, box, kelvins, NULL);
    if (kind == 1) status = weir_world_add_emitter(world, box, material, rate, NULL);
    if (kind == 2) status = weir_world_add_drain(world, box, rate, NULL);
    if (kind == 3)
        status = weir_world_add_reservoir(world, box, material, (double)scene_random_between(random, 0, 64) / 2, NULL);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUTSIDE);
}

static void change_reactions(weir_world *world, scene_random *random)
{
    weir_reaction_def def;
    const int32_t count = weir_world_reaction_count(world);
    if (count > 0 && weir_world_reaction(world, scene_random_between(random, 0, count), &def)) {
        assert_ok(weir_world_remove_reaction(world, def.first, def.second));
        return;
    }
    def.first = scene_random_between(random, 1, WEIR_STONE);
    def.second = scene_random_between(random, 1, WEIR_STONE);
    def.first_to = scene_random_between(random, WEIR_TERRAIN, WEIR_STONE);
    def.second_to = scene_random_between(random, WEIR_TERRAIN, WEIR_STONE);
    def.rate = (float)scene_random_between(random, 1, 100) / 100;
    def.heat = (float)scene_random_between(random, -300, 300);
    weir_world_add_reaction(world, &def);  // or it is refused, as one without an end is
}

// Pressure comes and goes.
static void change_params(weir_world *world, scene_random *random)
{
    weir_params params = weir_world_params(world);
    params.mixture.pressure = scene_random_between(random, 0, 1) ? scene_random_between(random, 0, 32) * 32 : 0;
    params.mixture.film = scene_random_between(random, 0, 64);
    assert_ok(weir_world_set_params(world, &params));
}

static void edit_kitchen(weir_world *world, scene_random *random, parcel parcels[REGIONS])
{
    const weir_box box = random_box(random);
    const weir_material material = scene_random_between(random, 1, WEIR_STONE);
    const float fill = (float)scene_random_between(random, 1, 64) / 64;
    const float kelvins = (float)scene_random_between(random, 1, scene_random_between(random, 0, 3) ? 450 : 2000);
    weir_status status = WEIR_OK;
    switch (scene_random_between(random, 0, 19)) {
    case 0:
    case 1:
    case 2:
    case 3: status = weir_world_fill(world, box, material, fill); break;
    case 4: status = weir_world_fill_sphere(world, random_sphere(random), material, fill); break;
    case 5:
    case 6: status = weir_world_drain(world, box); break;
    case 7:
    case 8: status = weir_world_dig(world, box); break;
    case 9: status = weir_world_build(world, box, 255); break;
    case 10: status = weir_world_build(world, box, (uint8_t)scene_random_between(random, 1, 255)); break;
    case 11:
    case 12: status = weir_world_set_temperature(world, box, kelvins); break;
    case 13:
    case 14:
    case 15: add_source(world, random, box, material, kelvins); break;
    case 16: change_reactions(world, random); break;
    case 17:
        if (scene_random_between(random, 0, 9) == 0)
            reload(world);
        else
            change_params(world, random);
        break;
    default: unload_or_load(world, random, &parcels[scene_random_between(random, 0, REGIONS - 1)]);
    }
    if (status != WEIR_OK && status != WEIR_ERROR_OUTSIDE) fail_msg("%s", weir_error_message());
}

// Two edits of any kind between any two updates; some while the update runs.
static void mixture_keeps_all_accounts_through_a_long_life(void **state)
{
    pass_over_others(WEIR_SOLVER_MIXTURE);
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, EDGE, EDGE, EDGE);
    def.open_sides = WEIR_SIDE_X_MAX;
    weir_world *world = test_make(&def);
    scene_random random = scene_random_seeded(first_seed);
    parcel parcels[REGIONS] = {{NULL, 0}};
    for (int32_t i = 0; i < updates_wanted; i++) {
        edit_kitchen(world, &random, parcels);
        assert_all_accounts(world);
        if (i % 2 > 0) continue;
        if (i % 16 == 0) {
            assert_ok(weir_world_step_begin(world));
            weir_world_fill(world, random_box(&random), WEIR_WATER, 0.5f);  // or the box is away
            assert_exact(world);
            assert_ok(weir_world_step_end(world));
        } else {
            test_step(world, 1);
        }
        assert_all_accounts(world);
        if (i % 10000 == 9999)
            print_message("%d edits: %g cells' worth held\n", i + 1, (double)weir_world_ledger(world).held / WEIR_FULL);
    }
    for (int32_t i = 0; i < REGIONS; i++)
        if (parcels[i].bytes) unload_or_load(world, &random, &parcels[i]);
    weir_source source;
    while (weir_world_sources(world, &source, 1) > 0) assert_ok(weir_world_remove(world, source.id));
    assert_ok(weir_world_drain(world, weir_world_bounds(world)));
    assert_int_equal(weir_world_ledger(world).held, 0);
    assert_int_equal(weir_world_heat_ledger(world).held, 0);
    assert_int_equal(weir_world_heat_ledger(world).unloaded, 0);
    assert_all_accounts(world);
    weir_world_destroy(world);
}

int main(int argc, char **argv)
{
    updates_wanted = test_length(750, 50);
    for (int i = 1; i < argc; i += 2) {
        int32_t number = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (strcmp(argv[i], "--updates") == 0 && number > 0) {
            updates_wanted = number;
        } else if (strcmp(argv[i], "--seed") == 0 && number > 0) {
            first_seed = (uint32_t)number;
        } else if (strcmp(argv[i], "--solver") == 0 && i + 1 < argc) {
            only_solver = argv[i + 1];
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            cmocka_set_test_filter(argv[i + 1]);
        } else {
            fprintf(stderr, "usage: test_long [--updates N] [--seed S] [--solver NAME] [--only TEST]\n");
            return 2;
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(momentum_keeps_its_account_in_caves),
        cmocka_unit_test(classic_keeps_its_account_in_caves),
        cmocka_unit_test(momentum_keeps_its_account_through_a_long_life),
        cmocka_unit_test(classic_keeps_its_account_through_a_long_life),
        cmocka_unit_test(settle_keeps_its_account_on_hills),
        cmocka_unit_test(settle_keeps_its_account_while_regions_come_and_go),
        cmocka_unit_test(mixture_keeps_all_accounts_through_a_long_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
