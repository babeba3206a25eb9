// Random worlds of settle against the plain reading of its laws: every path of the product gives its units, bodies and bricks, cell by
// cell, after every update.
//
// A world is a recipe (recipe.h), played at once on the plain reading (plain/plain_settle.h) and on a world per path: each width of SIMD
// this processor has, on one thread and on some; and one with a budget, turn by turn. One that differs is cut down to what is needed for that, and printed as a scene in Lua.
//
//     build/release/tests/test_settle_worlds --worlds 10000 --seed 1      so many worlds, from this seed on
//     build/release/tests/test_settle_worlds --seed 4711 --print          one world, as a scene
//     --paths 2                                                           only the first ones: without SIMD, and with a budget
//     --whole                                                             worlds that differ are not cut down
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "recipe.h"
#include "solvers/settle/settle.h"
#include "test_world.h"
#include "world/world.h"
#include <stdio.h>

enum { PATHS_MAX = 7, FINDING_SIZE = 512 };

// ---- Paths -----------------------------------------------------------------------------------------------------------------

typedef struct path {
    weir_simd simd;
    int32_t threads;  // 0: from 2 to 4, by the world's seed
    const char *name;
    bool budget;  // it has one, of some bricks by the world's seed: an update of the plain reading is a turn of it
} path;

static path paths[PATHS_MAX];
static int32_t path_count;

static void find_paths(int32_t wanted)
{
    static const path all[PATHS_MAX] = {{WEIR_SIMD_SCALAR, 1, "scalar", false}, {WEIR_SIMD_AUTO, 0, "a budget", true},
                                        {WEIR_SIMD_AVX2, 0, "AVX2", false},     {WEIR_SIMD_AVX512, 1, "AVX-512", false},
                                        {WEIR_SIMD_SCALAR, 0, "scalar", false}, {WEIR_SIMD_AVX2, 1, "AVX2", false},
                                        {WEIR_SIMD_AVX512, 0, "AVX-512", false}};
    for (size_t i = 0; i < sizeof all / sizeof all[0] && path_count < wanted; i++) {
        weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 8, 8, 8);
        def.simd = all[i].simd;
        weir_world *world;
        if (weir_world_create(&def, &world) == WEIR_OK) paths[path_count++] = all[i];
        weir_world_destroy(world);
    }
}

static int32_t threads_of(const path *p, uint64_t seed)
{
    return p->threads > 0 ? p->threads : 2 + (int32_t)((seed * 2654435761u + (uint64_t)p->simd * 5) % 3);
}

static int32_t budget_of(const path *p, uint64_t seed)
{
    return p->budget ? 1 + (int32_t)((seed * 2246822519u >> 7) % 12) : 0;
}

// ---- Comparing -------------------------------------------------------------------------------------------------------------

// What was found: the first difference, in a sentence.
typedef struct finding {
    char text[FINDING_SIZE];
    int32_t path;
} finding;

__attribute__((format(printf, 3, 4))) static bool found(finding *f, int32_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    f->path = at;
    return false;
}

// Which body of the product a body of the plain reading is, as far as cells have told.
typedef struct bodies_met {
    int32_t *of_plain, *of_product;
} bodies_met;

static bool compare_bodies(const plain_settle *w, const settle *s, bodies_met *met, int64_t i, int32_t body, int32_t k,
                           finding *f)
{
    const weir_coord at = plain_at(&w->grid, i);
    const int32_t plain = w->body[i];
    if ((plain != 0) != (body != 0))
        return found(f, k, "update %lld, cell (%d, %d, %d) is %s, and %s in the plain reading", (long long)w->update, at.x,
                     at.y, at.z, body ? "a body's" : "free", plain ? "a body's" : "free");
    if (!body) return true;
    if (!met->of_plain[plain] && !met->of_product[body]) {
        const settle_body *a = body_at(s, body);
        const plain_pool *b = &w->bodies[plain];
        met->of_plain[plain] = body;
        met->of_product[body] = plain;
        const struct {
            const char *name;
            int64_t here, plain;
        } all[] = {{"volume", a->volume, b->volume}, {"top", a->top, b->top},
                   {"level", a->level, b->level},    {"closed", a->closed, b->closed},
                   {"dirty", a->dirty, b->changed},  {"may be split", a->may_be_split, b->cut}};
        for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
            if (all[n].here != all[n].plain)
                return found(f, k, "update %lld, body of cell (%d, %d, %d): %s is %lld, and %lld in the plain reading",
                             (long long)w->update, at.x, at.y, at.z, all[n].name, (long long)all[n].here,
                             (long long)all[n].plain);
    }
    if (met->of_plain[plain] != body || met->of_product[body] != plain)
        return found(f, k, "update %lld, cell (%d, %d, %d) hangs together with other cells than in the plain reading",
                     (long long)w->update, at.x, at.y, at.z);
    return true;
}

static bool compare_brick(const plain_settle *w, const settle *s, int32_t brick, bodies_met *met, int32_t k, finding *f)
{
    const weir_coord c = {8 * s->cells.pool.coord[brick].x, 8 * s->cells.pool.coord[brick].y, 8 * s->cells.pool.coord[brick].z};
    const int64_t first = plain_index(&w->grid, c), place = plain_brick_of(&w->grid, first);
    int32_t units[BRICK_CELLS], cell = 0;
    if (!w->grid.live[place])
        return found(f, k, "update %lld: the brick at (%d, %d, %d) should not be live", (long long)w->update, c.x, c.y, c.z);
    settle_read_units(s, brick, units);
    EACH_CELL_OF(&w->grid, first, i)
    {
        const weir_coord at = plain_at(&w->grid, i);
        if (units[cell] != plain_settle_units(w, i))
            return found(f, k, "update %lld, cell (%d, %d, %d): %d units, and %d in the plain reading", (long long)w->update,
                         at.x, at.y, at.z, units[cell], plain_settle_units(w, i));
        if (!compare_bodies(w, s, met, i, settle_body_of(s, brick, cell), k, f)) return false;
        cell++;
    }
    if (s->bricks[brick].active != w->awake[place])
        return found(f, k, "update %lld: the brick at (%d, %d, %d) is %s, and %s in the plain reading", (long long)w->update,
                     c.x, c.y, c.z, s->bricks[brick].active ? "awake" : "at rest", w->awake[place] ? "awake" : "at rest");
    return true;
}

// What bricks at rest wait for.
static bool compare_outlets(const plain_settle *w, const settle *s, const bodies_met *met, int32_t k, finding *f)
{
    const brick_pool *pool = &s->cells.pool;
    int32_t count = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        const weir_coord c = {8 * pool->coord[b].x, 8 * pool->coord[b].y, 8 * pool->coord[b].z};
        for (int32_t o = pool->alive[b] ? s->bricks[b].outlet : 0; o; o = outlet_at(s, o)->next_in_brick, count++) {
            const settle_outlet *outlet = outlet_at(s, o);
            const int64_t place = plain_brick_of(&w->grid, plain_index(&w->grid, c));
            int32_t n = 0;
            while (n < w->shore_count && (w->shores[n].brick != place || w->shores[n].body != met->of_product[outlet->body] ||
                                          w->shores[n].up != outlet->up || w->shores[n].down != outlet->down))
                n++;
            if (n == w->shore_count)
                return found(f, k, "update %lld: the brick at (%d, %d, %d) waits for other heights than in the plain reading",
                             (long long)w->update, c.x, c.y, c.z);
        }
    }
    if (count == w->shore_count) return true;
    return found(f, k, "update %lld: bricks wait for %d heights, and for %d in the plain reading", (long long)w->update, count,
                 w->shore_count);
}

// The same bricks, the same cells, the same bodies, the same account.
static bool compare(const plain_settle *w, const weir_world *world, int32_t k, finding *f)
{
    const settle *s = world->state;
    const brick_pool *pool = &s->cells.pool;
    bodies_met met = {calloc((size_t)w->body_end + 1, sizeof(int32_t)), calloc((size_t)s->bodies.end + 1, sizeof(int32_t))};
    bool same = true;
    int32_t live = 0;
    for (int32_t b = 1; b < pool->end && same; b++) {
        if (!pool->alive[b]) continue;
        live++;
        same = compare_brick(w, s, b, &met, k, f);
    }
    same = same && compare_outlets(w, s, &met, k, f);
    free(met.of_plain);
    free(met.of_product);
    if (!same) return false;
    if (live != w->grid.bricks)
        return found(f, k, "update %lld: %d bricks are live, and %d in the plain reading", (long long)w->update, live,
                     w->grid.bricks);
    const weir_ledger ledger = weir_world_ledger(world);
    if (ledger.drift != 0)
        return found(f, k, "update %lld: a drift of %lld drops", (long long)w->update, (long long)ledger.drift);
    if (ledger.added != w->added || ledger.removed != w->removed || ledger.drained != w->drained ||
        ledger.turned != w->turned || ledger.held != plain_settle_held(w) * PLAIN_UNIT)
        return found(f, k,
                     "update %lld: %lld drops added, %lld removed, %lld drained, %lld held, and %lld, %lld, %lld, %lld in the "
                     "plain reading",
                     (long long)w->update, (long long)ledger.added, (long long)ledger.removed, (long long)ledger.drained,
                     (long long)ledger.held, (long long)w->added, (long long)w->removed, (long long)w->drained,
                     (long long)plain_settle_held(w) * PLAIN_UNIT);
    return true;
}

// ---- Playing ---------------------------------------------------------------------------------------------------------------

typedef struct play {
    const recipe *r;
    plain_settle *plain;
    weir_world *worlds[PATHS_MAX];  // NULL: a path that is not asked
} play;

static void set_budget(const play *p, int32_t k, weir_world *world)
{
    weir_params params = weir_world_params(world);
    params.settle.budget = budget_of(&paths[k], p->r->seed);
    assert_ok(weir_world_set_params(world, &params));
}

static weir_world *make_world(const play *p, int32_t k)
{
    weir_params params;
    weir_world_def def = recipe_def(p->r, &params);
    def.simd = paths[k].simd;
    def.threads = threads_of(&paths[k], p->r->seed);
    weir_world *world = test_make(&def);
    set_budget(p, k, world);
    return world;
}

// Saves the world of one path, and goes on with worlds that load it; the first one goes on as it is.
static bool reload(play *p, finding *f)
{
    size_t size;
    if (weir_world_save_memory(p->worlds[0], NULL, 0, &size) != WEIR_OK)
        return found(f, 0, "it cannot be saved: %s", weir_error_message());
    void *bytes = malloc(size);
    bool done = weir_world_save_memory(p->worlds[0], bytes, size, &size) == WEIR_OK;
    for (int32_t k = p->r->seed % 2; k < path_count && done; k++) {
        if (!p->worlds[k]) continue;
        weir_world_destroy(p->worlds[k]);
        p->worlds[k] = make_world(p, k);
        done = weir_world_load_memory(p->worlds[k], bytes, size) == WEIR_OK;
        if (!done) found(f, k, "it cannot be loaded: %s", weir_error_message());
        if (done) set_budget(p, k, p->worlds[k]);
    }
    free(bytes);
    return done;
}

// An update, or as many as a turn takes, in some of which the world is saved and loaded.
static bool step(play *p, int32_t k, finding *f)
{
    for (int32_t n = 1;; n++) {
        if (weir_world_step(p->worlds[k]) != WEIR_OK) return found(f, k, "a step failed: %s", weir_error_message());
        if (weir_world_stats(p->worlds[k]).behind_updates == 0) return true;
        if (n > 100000) return found(f, k, "update %lld: a turn does not end", (long long)p->plain->update);
        if ((p->r->seed + (uint64_t)p->plain->update) % 7 || n != 2) continue;
        size_t size;
        assert_ok(weir_world_save_memory(p->worlds[k], NULL, 0, &size));
        void *bytes = malloc(size);
        assert_ok(weir_world_save_memory(p->worlds[k], bytes, size, &size));
        const bool done = weir_world_load_memory(p->worlds[k], bytes, size) == WEIR_OK;
        free(bytes);
        if (!done) return found(f, k, "it cannot be loaded within a turn: %s", weir_error_message());
    }
}

// Of the water alone: not of the budget and the number of updates.
static uint64_t hash_of(const weir_world *world)
{
    return world->solver->hash(world->state, false);
}

static bool update_all(play *p, finding *f)
{
    uint64_t first = 0;
    plain_settle_step(p->plain);
    for (int32_t k = 0; k < path_count; k++) {
        if (!p->worlds[k]) continue;
        if (!step(p, k, f)) return false;
        // The first path is compared cell by cell, and the others are what it is.
        if (k == 0 && !compare(p->plain, p->worlds[k], k, f)) return false;
        const uint64_t hash = hash_of(p->worlds[k]);
        if (k == 0) first = hash;
        if (hash != first && !compare(p->plain, p->worlds[k], k, f)) return false;
        if (hash != first)
            return found(f, k, "update %lld: the cells are those of %s, and the hash is another", (long long)p->plain->update,
                         paths[0].name);
    }
    return true;
}

static bool play_steps(play *p, finding *f)
{
    const recipe *r = p->r;
    for (int32_t i = 0; i < r->count; i++) {
        const recipe_step *next = &r->steps[i];
        if (next->kind == STEP_RELOAD) {
            if (!reload(p, f)) return false;
        } else if (next->kind == STEP_UPDATES) {
            for (int32_t n = 1; n <= next->count; n++)
                if (!update_all(p, f)) return false;
        } else {
            recipe_apply_plain_settle(next, p->plain);
            for (int32_t k = 0; k < path_count; k++)
                if (p->worlds[k] && recipe_apply(next, p->worlds[k]) != WEIR_OK)
                    return found(f, k, "step %d is refused: %s", i + 1, weir_error_message());
        }
    }
    return true;
}

// Worlds in which something happened, by what it was.
static plain_settle_counts worlds_with;

static void count_world(const plain_settle_counts *of_world)
{
    const int64_t *from = (const int64_t *)of_world;
    int64_t *to = (int64_t *)&worlds_with;
    for (size_t i = 0; i < sizeof worlds_with / sizeof *to; i++) to[i] += from[i] > 0;
}

// Plays a recipe on the first path and another, or on all of them (-1). True if nothing was found.
static bool play_recipe(const recipe *r, int32_t only, finding *f)
{
    play p = {.r = r};
    weir_params params;
    const weir_world_def def = recipe_def(r, &params);
    *f = (finding){0};
    p.plain = plain_settle_create(&def, r->reach);
    for (int32_t k = 0; k < path_count; k++)
        if (only < 0 || only == k || k == 0) p.worlds[k] = make_world(&p, k);
    const bool same = play_steps(&p, f);
    if (only < 0) count_world(&p.plain->counts);
    for (int32_t k = 0; k < path_count; k++) weir_world_destroy(p.worlds[k]);
    plain_settle_destroy(p.plain);
    return same;
}

// ---- Tests -----------------------------------------------------------------------------------------------------------------

static int32_t worlds_wanted;
static uint64_t first_seed = 1;
static bool whole;

static bool still_found(const recipe *r, void *on)
{
    finding f;
    return !play_recipe(r, *(const int32_t *)on, &f);
}

static void report(recipe *r, finding *f)
{
    int32_t on = f->path;
    print_error("world %llu, %s on %d threads: %s\n", (unsigned long long)r->seed, paths[on].name,
                threads_of(&paths[on], r->seed), f->text);
    if (whole) return;
    if (still_found(r, &on)) recipe_cut_down(r, still_found, &on);
    if (!play_recipe(r, on, f)) print_error("cut down to %d steps: %s\n", r->count, f->text);
    recipe_print(r, stderr);
}

static void random_worlds_are_as_the_plain_reading_has_them(void **state)
{
    (void)state;
    recipe *r = malloc(sizeof *r);
    finding f;
    int32_t wrong = 0, played = 0;
    const double begin = clock_seconds();
    while (played < worlds_wanted && wrong < 3) {
        recipe_make_settle(r, first_seed + (uint64_t)played++);
        if (!play_recipe(r, -1, &f)) {
            report(r, &f);
            wrong++;
        }
        if (played % 100 == 0) print_message("%d worlds, %.0f s\n", played, clock_seconds() - begin);
    }
    const plain_settle_counts *n = &worlds_with;
    print_message("%d worlds on %d paths, %.0f per minute\n", played, path_count, played / ((clock_seconds() - begin) / 60));
    print_message(
        "bodies began in %lld of them, grew in %lld, rose in %lld, fell in %lld, were closed in %lld, dissolved in %lld\n",
        (long long)n->begun, (long long)n->joined, (long long)n->rose, (long long)n->fell, (long long)n->closed,
        (long long)n->dissolved);
    print_message("they became one in %lld, ran over in %lld, came apart in %lld\n", (long long)n->merged,
                  (long long)n->ran_over, (long long)n->split);
    print_message("bricks came to rest in %lld, and were woken by a surface in %lld; water was pushed aside in %lld, "
                  "evaporated in %lld\n",
                  (long long)n->rested, (long long)n->woken, (long long)n->displaced, (long long)n->evaporated);
    free(r);
    assert_int_equal(wrong, 0);
}

// ---- The program -----------------------------------------------------------------------------------------------------------

static int usage(void)
{
    fprintf(stderr, "usage: test_settle_worlds [--worlds N] [--seed S] [--paths N] [--whole] [--print]\n");
    return 2;
}

// A whole number that is all of a word, from 1 on.
static bool read_number(const char *word, uint64_t *number)
{
    char *end;
    *number = strtoull(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && *end == 0 && *number > 0;
}

int main(int argc, char **argv)
{
    bool print = false;
    uint64_t wanted = PATHS_MAX;
    uint64_t worlds = (uint64_t)test_length(getenv("WEIR_TEST_SHORT") ? 40 : 120, 10);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--print") == 0) {
            print = true;
        } else if (strcmp(argv[i], "--whole") == 0) {
            whole = true;
        } else if (strcmp(argv[i], "--paths") == 0 && read_number(value, &wanted) && wanted <= PATHS_MAX) {
            i++;
        } else if (strcmp(argv[i], "--worlds") == 0 && read_number(value, &worlds) && worlds <= INT32_MAX) {
            i++;
        } else if (strcmp(argv[i], "--seed") == 0 && read_number(value, &first_seed)) {
            i++;
        } else {
            return usage();
        }
    }
    worlds_wanted = (int32_t)worlds;
    if (print) {
        recipe *r = malloc(sizeof *r);
        recipe_make_settle(r, first_seed);
        recipe_print(r, stdout);
        free(r);
        return 0;
    }
    find_paths((int32_t)wanted);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_worlds_are_as_the_plain_reading_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
