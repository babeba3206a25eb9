// The budget of the settling automaton: what an update may do, what it leaves for the next ones, and that the water cannot tell.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"

#include "settle_edits.h"
#include "solvers/settle/settle.h"
#include "test_world.h"

enum { HALF = 24, SIZE = 2 * HALF, LAKE_HALF = 40 };

typedef struct way {
    int32_t budget;
    weir_simd simd;
    int32_t threads;
    int32_t reload_every;  // updates; 0: never
} way;

static weir_world *make_wide(const way *w, uint32_t seed, test_memory *hooks, int32_t half)
{
    weir_params params = weir_params_default();
    params.settle.budget = w->budget;
    weir_world_def def = weir_world_def_default();
    def.solver = WEIR_SOLVER_SETTLE;
    if (seed % 3 != 0) def.bounds = test_box(-half, -HALF, -half, half, HALF, half);
    if (seed % 3 == 1) def.open_sides = WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN;
    def.params = &params;
    def.simd = w->simd;
    def.threads = w->threads;
    if (hooks) def.allocator = test_memory_hooks(hooks);
    weir_world *world = test_make(&def);
    if (seed % 3 == 0) assert_ok(weir_world_build(world, test_box(-HALF, -HALF - 1, -HALF, HALF, -HALF, HALF), 255));
    return world;
}

static weir_world *make_way(const way *w, uint32_t seed, test_memory *hooks)
{
    return make_wide(w, seed, hooks, HALF);
}

// Of the water alone: not of the budget and the number of the update.
static uint64_t water_hash(const weir_world *world)
{
    return world->solver->hash(world->state, false);
}

static const settle *inside(const weir_world *world)
{
    return world->state;
}

static void assert_sound(weir_world *world)
{
    assert_exact(world);
    const char *wrong = world_validate(world, false);
    if (wrong) fail_msg("%s", wrong);
}

static void *save(const weir_world *world, size_t *size)
{
    assert_ok(weir_world_save_memory(world, NULL, 0, size));
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(weir_world_save_memory(world, bytes, *size, size));
    return bytes;
}

static weir_world *reload(weir_world *world, const way *w, uint32_t seed)
{
    size_t size;
    void *bytes = save(world, &size);
    const uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    world = make_way(w, seed, NULL);
    assert_ok(weir_world_load_memory(world, bytes, size));
    free(bytes);
    assert_true(weir_world_hash(world) == hash);
    return world;
}

// Updates until the water has had its turn. Returns how many.
static int32_t finish_turn(weir_world *world)
{
    int32_t updates = 0;
    do {
        test_step(world, 1);
        if (updates++ % 16 == 0) assert_sound(world);
        if (updates > 100000) fail_msg("a turn does not end");
    } while (weir_world_stats(world).behind_updates > 0);
    assert_int_equal(weir_world_stats(world).behind_bricks, 0);
    return updates;
}

// ---- The same water --------------------------------------------------------------------------------------------------------------

static int64_t play_turns(uint32_t seed, int32_t budget, int32_t turns)
{
    const way plain = {0, WEIR_SIMD_AUTO, 1, 0}, sliced = {budget, WEIR_SIMD_AUTO, 1, 0};
    weir_world *whole = make_way(&plain, seed, NULL), *slow = make_way(&sliced, seed, NULL);
    uint32_t random = seed, same = seed;
    int64_t updates = 0;
    for (int32_t turn = 0; turn < turns; turn++) {
        if (turn % 5 == 0) random_edit(whole, &random, SIZE), random_edit(slow, &same, SIZE);
        test_step(whole, 1);
        updates += finish_turn(slow);
        if (water_hash(whole) != water_hash(slow))
            fail_msg("seed %u, budget %d: other water after turn %d", seed, budget, turn);
    }
    weir_world_destroy(whole);
    weir_world_destroy(slow);
    return updates;
}

static void a_turn_over_many_updates_ends_as_one_over_a_single_one(void **state)
{
    (void)state;
    static const int32_t budgets[] = {1, 7, 64}, turns[] = {60, 150, 200}, slow_turns[] = {20, 40, 60};
    for (uint32_t seed = 1; seed <= (uint32_t)test_length(3, 1); seed++) {
        for (int32_t i = 0; i < 3; i++) {
            const int32_t count = test_length(turns[i], slow_turns[i]);
            if (play_turns(seed, budgets[i], count) <= count) fail_msg("a budget of %d was never too small", budgets[i]);
        }
    }
}

// ---- Edits, snapshots, threads -----------------------------------------------------------------------------------------------------

// Of the parameters by which the laws go.
static void change_params(weir_world *world, uint32_t random)
{
    weir_params params = weir_world_params(world);
    if (random % 3 == 0) params.settle.film = 0.01f * (float)(random / 3 % 20);
    if (random % 3 == 1) params.settle.calm = 0.001f * (float)(1 + random / 3 % 20);
    if (random % 3 == 2) params.settle.patience = 1 + (int32_t)(random / 3 % 20);
    assert_ok(weir_world_set_params(world, &params));
}

static bool has_source(const weir_world *world, int32_t id)
{
    weir_source sources[64];
    const int32_t count = weir_world_sources(world, sources, 64);
    for (int32_t i = 0; i < count && i < 64; i++)
        if (sources[i].id == id) return true;
    return false;
}

static void play_any_time(uint32_t seed, int32_t budget, int32_t updates)
{
    const way ways[] = {{budget, WEIR_SIMD_SCALAR, 1, 0}, {budget, WEIR_SIMD_AUTO, 4, 0}, {budget, WEIR_SIMD_AUTO, 2, 3}};
    enum { WAYS = sizeof ways / sizeof *ways };
    weir_world *world[WAYS];
    uint32_t random[WAYS];
    int32_t sea;
    for (int32_t i = 0; i < WAYS; i++) {
        world[i] = make_way(&ways[i], seed, NULL), random[i] = seed;
        assert_ok(weir_world_add_reservoir(world[i], test_box(4, -HALF, 4, 9, HALF, 9), WEIR_WATER, -16, &sea));
    }
    for (int32_t update = 0; update < updates; update++) {
        for (int32_t i = 0; i < WAYS; i++) {
            if (update % 4 == 0) random_edit(world[i], &random[i], SIZE);
            if (update % 13 == 7) change_params(world[i], draw(&random[i], 1000));
            const double level = -16 + draw(&random[i], 64) / 8.0;
            if (update % 17 == 9 && has_source(world[i], sea)) assert_ok(weir_world_set_level(world[i], sea, level));
            assert_sound(world[i]);
            test_step(world[i], 1);
            if (ways[i].reload_every && update % ways[i].reload_every == 0) world[i] = reload(world[i], &ways[i], seed);
            assert_sound(world[i]);
            if (weir_world_hash(world[i]) != weir_world_hash(world[0]))
                fail_msg("seed %u, budget %d: way %d differs after update %d", seed, budget, i, update);
        }
    }
    for (int32_t i = 0; i < WAYS; i++) weir_world_destroy(world[i]);
}

static void edits_and_snapshots_within_a_turn_are_exact_and_alike_on_every_path(void **state)
{
    (void)state;
    const char *from = getenv("WEIR_LIVES_FROM"), *count = getenv("WEIR_LIVES");
    const uint32_t first = from ? (uint32_t)atoi(from) : 1, lives = count ? (uint32_t)atoi(count) : (uint32_t)test_length(3, 1);
    for (uint32_t seed = first; seed < first + lives; seed++) {
        play_any_time(seed, 1, test_length(250, 60));
        play_any_time(seed, 7, test_length(250, 60));
        play_any_time(seed, 20, test_length(250, 60));
    }
}

// By the film the laws decide whether water crosses a face: what one brick gives is what the next one gets.
static void parameters_that_change_within_the_laws_lose_no_water(void **state)
{
    (void)state;
    const way w = {2, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_way(&w, 2, NULL);
    test_fill(world, test_box(-20, -HALF, -20, 20, 1 - HALF, 20), 0.15f);
    int32_t changes = 0;
    for (uint32_t update = 0; update < 100 || changes < 5; update++) {
        test_step(world, 1);
        assert_sound(world);
        if (inside(world)->stage != STAGE_WORK || inside(world)->cursor < 2 || update % 4) continue;
        weir_params params = weir_world_params(world);
        params.settle.film = changes++ % 2 ? 0.02f : 0.2f;
        assert_ok(weir_world_set_params(world, &params));
        assert_int_equal(inside(world)->redo_count, inside(world)->cursor);
        if (update > 4000) fail_msg("the laws are never half done");
    }
    finish_turn(world);
    assert_sound(world);
    weir_world_destroy(world);
}

// ---- What an update does -----------------------------------------------------------------------------------------------------------

static void assert_within_budget(const weir_world *world, int32_t budget)
{
    const settle_work_left *left = &inside(world)->left;
    if (left->spent > (int64_t)budget * SETTLE_COST_BRICK)
        fail_msg("an update spent %lld of %lld", (long long)left->spent, (long long)budget * SETTLE_COST_BRICK);
    assert_true(left->bricks <= budget * SETTLE_COST_BRICK / SETTLE_COST_WORK);
}

static void no_update_does_more_than_its_budget(void **state)
{
    (void)state;
    for (int32_t budget = 1; budget <= 64; budget *= 4) {
        const way w = {budget, WEIR_SIMD_AUTO, 1, 0};
        weir_world *world = make_way(&w, 1, NULL);
        test_fill(world, test_box(-20, 0, -20, 20, 12, 20), 0.7f);
        for (int32_t i = 0; i < 400; i++) {
            test_step(world, 1);
            assert_within_budget(world, budget);
        }
        weir_world_destroy(world);
    }
}

static void the_state_says_how_far_behind_the_water_is(void **state)
{
    (void)state;
    const way w = {8, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_way(&w, 2, NULL);
    test_fill(world, test_box(-20, 0, -20, 20, 12, 20), 0.7f);
    // Bricks beside it come first.
    int32_t updates = 0;
    do {
        test_step(world, 1);
        assert_int_equal(weir_world_stats(world).behind_updates, ++updates);
        assert_true(weir_world_stats(world).behind_bricks > 0);
    } while (inside(world)->stage == STAGE_BEGIN);
    assert_true(updates > 1);
    const int32_t all = weir_world_stats(world).behind_bricks;
    assert_true(all >= 25);
    test_step(world, 1);
    assert_int_equal(weir_world_stats(world).behind_bricks, all - 12);
    assert_int_equal(weir_world_stats(world).behind_updates, updates + 1);
    assert_true(finish_turn(world) > all / 12);
    weir_world_destroy(world);
}

// A turn ends although the game edits what has been worked on in every update of it.
static void water_goes_on_under_edits_in_every_update(void **state)
{
    (void)state;
    const way w = {4, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_way(&w, 2, NULL);
    test_fill(world, test_box(-20, -24, -20, 20, -12, 20), 0.7f);
    int32_t turns = 0, longest = 0;
    for (int32_t i = 0; i < test_length(1500, 400); i++) {
        const int32_t x = i * 7 % 40 - 20, z = i * 11 % 40 - 20;
        const weir_box place = test_box(x, -22, z, x + 1, -18, z + 1);
        assert_ok(i % 3 == 0   ? weir_world_build(world, place, 255)
                  : i % 3 == 1 ? weir_world_fill(world, place, WEIR_WATER, (float)(i % 2))
                               : weir_world_dig(world, place));
        test_step(world, 1);
        assert_sound(world);
        const int32_t behind = weir_world_stats(world).behind_updates;
        turns += behind == 0;
        if (behind > longest) longest = behind;
    }
    if (turns < 10 || longest > 100) fail_msg("%d turns, the longest of %d updates", turns, longest);
    weir_world_destroy(world);
}

// Bodies whose bricks have been worked on lose their water before that counts.
static void a_body_that_is_emptied_within_a_turn_gives_no_more_than_it_has(void **state)
{
    (void)state;
    const way w = {1, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_way(&w, 2, NULL);
    assert_ok(weir_world_build(world, test_box(-HALF, -HALF, -HALF, HALF, 0, HALF), 255));
    assert_ok(weir_world_dig(world, test_box(-10, -1, -10, 10, 0, 10)));
    test_fill(world, test_box(-10, -1, -10, 10, 0, 10), 1.0f);
    for (int32_t i = 0; i < 300 && weir_world_stats(world).awake_bricks > 0; i++) finish_turn(world);
    int32_t again = 0;
    for (int32_t turn = 0; turn < test_length(60, 20); turn++) {
        assert_ok(weir_world_dig(world, test_box(10, -3, -10 + turn % 20, 14, 0, -9 + turn % 20)));
        int32_t drains = 0;
        do {
            test_step(world, 1);
            again += inside(world)->stage == STAGE_WORK && inside(world)->cursor == 0 && inside(world)->age > 2;
            // In every update, or but once.
            if (inside(world)->stage == STAGE_WORK && inside(world)->cursor + 1 == inside(world)->work_count &&
                (turn % 2 || drains++ == 0))
                assert_ok(weir_world_drain(world, test_box(-10, -1, -10, 10, 0, 10)));
            assert_sound(world);
            if (weir_world_stats(world).behind_updates > 2000) fail_msg("turn %d does not end", turn);
        } while (weir_world_stats(world).behind_updates > 0);
        test_fill(world, test_box(-10, -1, -10, 10, 0, 10), 0.5f);
    }
    assert_true(again > 0);
    weir_world_destroy(world);
}

// ---- Bodies ----------------------------------------------------------------------------------------------------------------------------

// A lake on a floor, and what is done to it: a dam that cuts it in two, a bucket more, a drain, and the dam's end.
static weir_world *make_lake(const way *w)
{
    const way hasty = {0, w->simd, w->threads, 0};
    weir_world *world = make_wide(&hasty, 2, NULL, LAKE_HALF);
    test_fill(world, test_box(-LAKE_HALF, -HALF, -LAKE_HALF, LAKE_HALF, -4, LAKE_HALF), 1.0f);
    for (int32_t i = 0; i < 3000 && weir_world_stats(world).awake_bricks > 0; i++) test_step(world, 1);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    weir_params params = weir_world_params(world);
    params.settle.budget = w->budget;
    assert_ok(weir_world_set_params(world, &params));
    return world;
}

static void change_lake(weir_world *world, int32_t turn)
{
    const weir_box dam = test_box(2, -HALF, -LAKE_HALF, 3, 2, LAKE_HALF), hole = test_box(-20, -10, -20, 0, -4, -12);
    if (turn % 60 == 0) assert_ok(weir_world_build(world, dam, 255));
    if (turn % 60 == 15) test_fill(world, test_box(-20, 4, -20, 10, 8, 20), 1.0f);
    if (turn % 60 == 30) assert_ok(weir_world_drain(world, hole));
    if (turn % 60 == 45) assert_ok(weir_world_dig(world, dam));
}

static void a_lake_that_comes_apart_or_changes_layer_over_many_updates_ends_as_in_one(void **state)
{
    (void)state;
    const way plain = {0, WEIR_SIMD_AUTO, 1, 0};
    for (int32_t budget = 1; budget <= 8; budget *= 8) {
        const way sliced = {budget, WEIR_SIMD_AUTO, 1, 0};
        weir_world *whole = make_lake(&plain), *slow = make_lake(&sliced);
        int32_t searches[SEARCH_COUNT] = {0};
        for (int32_t turn = 0; turn < 62; turn++) {
            change_lake(whole, turn);
            change_lake(slow, turn);
            test_step(whole, 1);
            do {
                test_step(slow, 1);
                if (inside(slow)->search.kind != SEARCH_NOTHING) assert_sound(slow);
                if (turn % 15 > 0) assert_within_budget(slow, budget);
                searches[inside(slow)->search.kind]++;
            } while (weir_world_stats(slow).behind_updates > 0);
            if (water_hash(whole) != water_hash(slow)) fail_msg("budget %d: another lake after turn %d", budget, turn);
        }
        for (int32_t kind = SEARCH_ABOVE; kind < SEARCH_COUNT && budget == 1; kind++)
            if (searches[kind] == 0) fail_msg("budget %d: search %d took no more than an update", budget, kind);
        weir_world_destroy(whole);
        weir_world_destroy(slow);
    }
}

static bool has_lost_its_top(const weir_world *world)
{
    const settle *s = inside(world);
    for (int32_t body = 1; body < s->bodies.end; body++)
        if (body_at(s, body)->used && body_at(s, body)->area == 0) return true;
    return false;
}

static void assert_same_cells(const weir_world *a, const weir_world *b)
{
    enum { CELLS = SIZE * SIZE * SIZE };
    static float fills[2][CELLS];
    const weir_box all = test_box(-HALF, -HALF, -HALF, HALF, HALF, HALF);
    assert_ok(weir_world_read_fill(a, all, fills[0]));
    assert_ok(weir_world_read_fill(b, all, fills[1]));
    assert_memory_equal(fills[0], fills[1], sizeof fills[0]);
}

// Until a body of which terrain took the top layer is levelled, its cells below are full, also in the world that loads a snapshot.
static void a_snapshot_after_terrain_took_a_top_layer_has_the_same_cells(void **state)
{
    (void)state;
    const way w = {1, WEIR_SIMD_AUTO, 1, 0}, hasty = {0, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world[2] = {make_lake(&hasty), make_lake(&hasty)};
    int32_t lost = 0;
    for (int32_t i = 0; i < 2; i++) {
        test_fill(world[i], test_box(-LAKE_HALF, -4, -LAKE_HALF, LAKE_HALF, -3, LAKE_HALF), 0.4f);
        test_step(world[i], 100);
        weir_params params = weir_world_params(world[i]);
        params.settle.budget = w.budget;
        assert_ok(weir_world_set_params(world[i], &params));
    }
    for (int32_t turn = 0; turn < 4; turn++) {
        const weir_box top = test_box(-LAKE_HALF, -4 - turn % 2, -LAKE_HALF, LAKE_HALF, -2, LAKE_HALF);
        for (int32_t i = 0; i < 2; i++) test_step(world[i], 1 + turn);
        for (int32_t i = 0; i < 2; i++) assert_ok(weir_world_build(world[i], top, 255));
        lost += has_lost_its_top(world[0]);
        for (int32_t k = 0; k < 20; k++) {
            world[1] = reload(world[1], &w, 2);
            assert_same_cells(world[0], world[1]);
            for (int32_t i = 0; i < 2; i++) test_step(world[i], 1);
            if (weir_world_hash(world[0]) != weir_world_hash(world[1])) fail_msg("they differ in turn %d", turn);
        }
        for (int32_t i = 0; i < 2; i++) {
            assert_ok(weir_world_dig(world[i], top));
            test_step(world[i], 60);
        }
    }
    assert_true(lost > 0);
    for (int32_t i = 0; i < 2; i++) weir_world_destroy(world[i]);
}

static void a_region_after_terrain_took_a_top_layer_comes_back_the_same(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 22];
    const way hasty = {0, WEIR_SIMD_AUTO, 1, 0};
    const weir_box top = test_box(-LAKE_HALF, -4, -LAKE_HALF, LAKE_HALF, -2, LAKE_HALF);
    // Of all of the lake, and of half of it, so that a part of it stays.
    for (int32_t end = 0; end <= LAKE_HALF; end += LAKE_HALF) {
        const weir_box box = test_box(-LAKE_HALF, -HALF, -LAKE_HALF, end, HALF, LAKE_HALF);
        weir_world *world[2] = {make_lake(&hasty), make_lake(&hasty)};
        for (int32_t i = 0; i < 2; i++) {
            test_fill(world[i], test_box(-LAKE_HALF, -4, -LAKE_HALF, LAKE_HALF, -3, LAKE_HALF), 0.4f);
            test_step(world[i], 100);
            assert_ok(weir_world_build(world[i], top, 255));
            assert_true(has_lost_its_top(world[i]));
        }
        size_t size;
        assert_ok(weir_world_unload(world[1], box, bytes, sizeof bytes, &size));
        assert_true(end == LAKE_HALF || has_lost_its_top(world[1]));
        assert_sound(world[1]);
        assert_ok(weir_world_load_region(world[1], bytes, size));
        assert_true(has_lost_its_top(world[1]));
        for (int32_t i = 0; i < 20; i++) {
            assert_sound(world[1]);
            assert_same_cells(world[0], world[1]);
            assert_true(weir_world_hash(world[0]) == weir_world_hash(world[1]));
            for (int32_t k = 0; k < 2; k++) test_step(world[k], 1);
        }
        for (int32_t i = 0; i < 2; i++) weir_world_destroy(world[i]);
    }
}

// What is found of bodies is found again in a world that is loaded meanwhile, and after edits: both go on alike.
static void edits_and_snapshots_while_a_body_is_looked_over_are_alike_on_every_path(void **state)
{
    (void)state;
    const way ways[2] = {{1, WEIR_SIMD_AUTO, 1, 0}, {1, WEIR_SIMD_AUTO, 2, 0}};
    weir_world *world[2] = {make_lake(&ways[0]), make_lake(&ways[1])};
    int32_t reloads = 0, ended = 0;
    for (int32_t turn = 0, looks = 0; turn < test_length(50, 31); turn++) {
        world[1] = reload(world[1], &ways[1], 2);
        for (int32_t i = 0; i < 2; i++) change_lake(world[i], turn);
        do {
            const bool searching = inside(world[0])->search.kind != SEARCH_NOTHING, edits = searching && looks % 8 == 7;
            if (searching && looks % 3 == 0) world[1] = reload(world[1], &ways[1], 2), reloads++;
            for (int32_t i = 0; i < 2 && edits; i++)
                test_fill(world[i], test_box(5, -5, looks % 20, 6, -4, looks % 20 + 1), (float)(looks / 8 % 2));
            ended += edits && inside(world[0])->search.kind == SEARCH_NOTHING;
            looks += searching;
            for (int32_t i = 0; i < 2; i++) test_step(world[i], 1);
            if (searching) assert_sound(world[0]);
            if (weir_world_hash(world[0]) != weir_world_hash(world[1])) fail_msg("they differ in turn %d", turn);
        } while (weir_world_stats(world[0]).behind_updates > 0);
    }
    if (reloads < 5 || ended < 2) fail_msg("%d reloads, %d searches ended", reloads, ended);
    for (int32_t i = 0; i < 2; i++) weir_world_destroy(world[i]);
}

// An edit in every update ends what is being found in every one.
static void a_lake_comes_apart_under_edits_in_every_update(void **state)
{
    (void)state;
    const way w = {1, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_lake(&w);
    change_lake(world, 0);
    int32_t updates = 0;
    do {
        test_fill(world, test_box(-10, -6, updates % 20, -9, -5, updates % 20 + 1), (float)(updates % 2));
        test_step(world, 1);
        assert_sound(world);
        if (updates++ > 2000) fail_msg("a turn does not end");
    } while (weir_world_stats(world).behind_updates > 0);
    assert_int_equal(store_used(&inside(world)->bodies), 2);
    weir_world_destroy(world);
}

// ---- Time ----------------------------------------------------------------------------------------------------------------------------

static void water_with_a_limit_of_time_comes_to_rest_all_the_same(void **state)
{
    (void)state;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 40, 32, 40);
    def.update_microseconds = 20;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 10, 0, 20, 30, 20), 1.0f);
    int32_t updates = 0;
    for (; updates < 200000 && weir_world_stats(world).awake_bricks > 0; updates++) test_step(world, 1);
    assert_sound(world);
    assert_int_equal(weir_world_stats(world).awake_bricks, 0);
    weir_world_destroy(world);
    def.update_microseconds = -1;
    assert_int_equal(weir_world_create(&def, &world), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "microseconds"));
}

// ---- Memory --------------------------------------------------------------------------------------------------------------------------

// Returns the hashes after all of its updates in one.
static uint64_t live_short(int64_t fail_at, int32_t budget, bool *failed)
{
    test_memory account = {0};
    const way w = {budget, WEIR_SIMD_AUTO, 1, 0};
    weir_world *world = make_way(&w, 2, &account);
    test_fill(world, test_box(-20, 0, -20, 20, 9, 20), 0.9f);
    assert_ok(weir_world_add_emitter(world, test_box(12, 10, 12, 14, 20, 14), WEIR_WATER, 1, NULL));
    account.fail_at = fail_at ? account.calls + fail_at : 0;
    uint64_t hash = 0;
    for (int32_t update = 0; update < 40; update++) {
        if (update == 11)
            while (weir_world_dig(world, test_box(-4, -24, -4, 4, -20, 4)) != WEIR_OK) continue;
        const bool goes_on = settle_goes_on(inside(world));
        while (weir_world_step(world) != WEIR_OK) {
            assert_sound(world);
            assert_true(settle_goes_on(inside(world)) == goes_on);
        }
        hash = 31 * hash + weir_world_hash(world);
    }
    assert_sound(world);
    *failed = account.failures > 0;
    weir_world_destroy(world);
    assert_int_equal(account.bytes, 0);
    return hash;
}

static void an_update_without_memory_is_made_again(void **state)
{
    (void)state;
    for (int32_t budget = 0; budget <= 6; budget += 6) {
        bool failed = true;
        const uint64_t hash = live_short(0, budget, &failed);
        failed = true;
        for (int64_t n = 1; failed; n += test_length(3, 23))
            if (live_short(n, budget, &failed) != hash) fail_msg("budget %d: another life without block %d", budget, (int)n);
    }
}

// Lets updates run out of memory until one has spent something by then.
static void fail_an_update(weir_world *world, test_memory *account)
{
    for (int32_t i = 0; i < 1000; i++) {
        account->fail_at = account->calls + 1 + i % 7;
        if (weir_world_step(world) != WEIR_OK && inside(world)->left.spent > 0) break;
    }
    account->fail_at = 0;
    assert_true(inside(world)->failed && inside(world)->left.spent > 0);
}

// What an update that ran out of memory had left is for that one alone: another world, or another budget, begins with its own.
static void what_an_update_without_memory_had_left_goes_with_it(void **state)
{
    (void)state;
    for (int32_t reloads = 0; reloads < 2; reloads++) {
        test_memory account = {0};
        const way w = {6, WEIR_SIMD_AUTO, 1, 0};
        weir_world *world = make_way(&w, 2, &account), *twin = make_way(&w, 2, NULL);
        test_fill(world, test_box(-20, 0, -20, 20, 9, 20), 0.9f);
        test_fill(twin, test_box(-20, 0, -20, 20, 9, 20), 0.9f);
        size_t size;
        void *bytes = save(twin, &size);
        fail_an_update(world, &account);
        if (reloads) {
            assert_ok(weir_world_load_memory(world, bytes, size));
            test_step(world, 1);
            test_step(twin, 1);
            assert_true(weir_world_hash(world) == weir_world_hash(twin));
        } else {
            weir_params params = weir_world_params(world);
            params.settle.budget = 12;
            assert_ok(weir_world_set_params(world, &params));
            test_step(world, 1);
            const settle_work_left *left = &inside(world)->left;
            assert_true(left->spent + left->units == 12 * SETTLE_COST_BRICK);
        }
        free(bytes);
        weir_world_destroy(world);
        weir_world_destroy(twin);
    }
}

// The lists of bricks have room for each of them once.
static void what_wakes_while_others_are_let_rest_is_listed_once(void **state)
{
    weir_params params = weir_params_default();
    params.settle.budget = 1;
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 64, 8, 64);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 64, 1, 64), 0.05f);
    int32_t times = 0;
    for (int32_t i = 0; i < 4000 && times < 3; i++) {
        test_step(world, 1);
        int32_t resting = 0;
        for (int32_t b = 1; b < inside(world)->cells.pool.end; b++) resting += !inside(world)->bricks[b].active;
        if (inside(world)->stage != STAGE_REST || resting < 30) continue;
        assert_ok(weir_world_build(world, test_box(0, 7, 0, 64, 8, 64), times++ % 2 ? 255 : 254));
        assert_true(inside(world)->active_count <= weir_world_bricks(world, NULL, 0));
        assert_sound(world);
    }
    assert_int_equal(times, 3);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_over_many_updates_ends_as_one_over_a_single_one),
        cmocka_unit_test(edits_and_snapshots_within_a_turn_are_exact_and_alike_on_every_path),
        cmocka_unit_test(parameters_that_change_within_the_laws_lose_no_water),
        cmocka_unit_test(no_update_does_more_than_its_budget),
        cmocka_unit_test(the_state_says_how_far_behind_the_water_is),
        cmocka_unit_test(water_goes_on_under_edits_in_every_update),
        cmocka_unit_test(a_body_that_is_emptied_within_a_turn_gives_no_more_than_it_has),
        cmocka_unit_test(a_lake_that_comes_apart_or_changes_layer_over_many_updates_ends_as_in_one),
        cmocka_unit_test(a_snapshot_after_terrain_took_a_top_layer_has_the_same_cells),
        cmocka_unit_test(a_region_after_terrain_took_a_top_layer_comes_back_the_same),
        cmocka_unit_test(edits_and_snapshots_while_a_body_is_looked_over_are_alike_on_every_path),
        cmocka_unit_test(a_lake_comes_apart_under_edits_in_every_update),
        cmocka_unit_test(water_with_a_limit_of_time_comes_to_rest_all_the_same),
        cmocka_unit_test(an_update_without_memory_is_made_again),
        cmocka_unit_test(what_an_update_without_memory_had_left_goes_with_it),
        cmocka_unit_test(what_wakes_while_others_are_let_rest_is_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
