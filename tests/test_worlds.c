// Random worlds against the plain reading: every path of the product gives its bits, cell by cell, after every update.
//
// A world is a recipe (recipe.h): terrain of all kinds, water, sources, parameters, edits between updates, saves and loads, anywhere. It is
// played at once on the plain reading (plain/plain.h) and on a world per path: each width of SIMD this processor has, on one thread and on
// some; an OpenCL device. A world that differs is cut down to what is needed for that, and printed as a scene in Lua.
//
//     build/release/tests/test_worlds --worlds 10000 --seed 1      so many worlds, from this seed on
//     build/release/tests/test_worlds --seed 4711 --print          one world, as a scene
//     --backend cpu|opencl                                         only these paths
//     --calm                                                       only worlds in which water has time to fall asleep
//     --air                                                        only worlds whose air has a pressure
//     --whole                                                      worlds that differ are not cut down, which can take minutes
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "recipe.h"
#include "scenes/script.h"
#include "test_cells.h"
#include "test_files.h"
#include "test_world.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { PATHS_MAX = 8, FINDING_SIZE = 512 };

// ---- Paths -----------------------------------------------------------------------------------------------------------------

typedef struct path {
    weir_backend backend;
    weir_simd simd;
    int32_t threads;  // 0: from 2 to 8, by the world's seed
    const char *name;
} path;

static path paths[PATHS_MAX];
static int32_t path_count;
static uint64_t device_every = 4;  // worlds; a device takes as long as all the other paths together

static bool works(const path *p)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    def.backend = p->backend;
    def.simd = p->simd;
    weir_world *world;
    bool made = weir_world_create(&def, &world) == WEIR_OK;
    weir_world_destroy(world);
    return made;
}

// Devices only where they are asked for, or in the build that does all.
static void find_paths(const char *backend)
{
    static const path all[] = {
        {WEIR_BACKEND_CPU, WEIR_SIMD_SCALAR, 1, "scalar"},  {WEIR_BACKEND_CPU, WEIR_SIMD_SCALAR, 0, "scalar"},
        {WEIR_BACKEND_CPU, WEIR_SIMD_AVX2, 1, "AVX2"},      {WEIR_BACKEND_CPU, WEIR_SIMD_AVX2, 0, "AVX2"},
        {WEIR_BACKEND_CPU, WEIR_SIMD_AVX512, 1, "AVX-512"}, {WEIR_BACKEND_CPU, WEIR_SIMD_AVX512, 0, "AVX-512"},
        {WEIR_BACKEND_OPENCL, WEIR_SIMD_AUTO, 1, "OpenCL"}};
    static const char *const names[] = {"cpu", "opencl"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (backend ? strcmp(backend, names[all[i].backend]) != 0
                    : all[i].backend == WEIR_BACKEND_OPENCL && test_device_length(0, 1))
            continue;
        if (works(&all[i])) paths[path_count++] = all[i];
    }
}

static int32_t threads_of(const path *p, uint64_t seed)
{
    return p->threads > 0 ? p->threads : 2 + (int32_t)((seed * 2654435761u + (uint64_t)p->simd * 5) % 7);
}

// ---- Comparing -------------------------------------------------------------------------------------------------------------

// What was found: the first difference, in a sentence. Empty: nothing.
typedef struct finding {
    char text[FINDING_SIZE];
    int32_t path;
} finding;

static uint32_t bits_of(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

__attribute__((format(printf, 3, 4))) static bool found(finding *f, int32_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    f->path = at;
    return false;
}

static bool compare_brick(const plain_world *w, const brick_pool *pool, int32_t brick, int32_t k, finding *f)
{
    static const char *const names[] = {"flow x", "flow y", "flow z", "pressure"};
    weir_coord c = pool->coord[brick];
    int64_t first = plain_index(&w->grid, (weir_coord){8 * c.x, 8 * c.y, 8 * c.z});
    const int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    const float *const plain[4] = {w->flow[0], w->flow[1], w->flow[2], w->pressure};
    const float *values[4];
    for (int32_t n = 0; n < 3; n++) values[n] = bricks_floats(pool, CHANNEL_FLOW_X + n, brick);
    values[3] = bricks_floats(pool, CHANNEL_PRESSURE, brick);
    const int32_t *gas = w->gas ? bricks_ints(pool, FLOW_CHANNELS, brick) : NULL;
    int32_t cell = 0;
    EACH_CELL_OF(&w->grid, first, i)
    {
        weir_coord at = plain_at(&w->grid, i);
        if (mass[cell] != w->mass[i])
            return found(f, k, "update %lld, cell (%d, %d, %d): %d drops, and %d in the plain reading", (long long)w->update,
                         at.x, at.y, at.z, mass[cell], w->mass[i]);
        if (gas && gas[cell] != w->gas[i])
            return found(f, k, "update %lld, cell (%d, %d, %d): a gas of %d, and %d in the plain reading", (long long)w->update,
                         at.x, at.y, at.z, gas[cell], w->gas[i]);
        for (int32_t n = 0; n < 4; n++)
            if (bits_of(values[n][cell]) != bits_of(plain[n][i]))
                return found(f, k, "update %lld, cell (%d, %d, %d): %s is %.9g, and %.9g in the plain reading",
                             (long long)w->update, at.x, at.y, at.z, names[n], (double)values[n][cell], (double)plain[n][i]);
        cell++;
    }
    return true;
}

// What the brick knows of its rest.
static bool compare_rest(const plain_world *w, const brick_pool *pool, int32_t brick, int32_t k, finding *f)
{
    const weir_coord c = {8 * pool->coord[brick].x, 8 * pool->coord[brick].y, 8 * pool->coord[brick].z};
    const brick_rest *a = &pool->rest[brick];
    const plain_rest *b = &w->sleep.rest[plain_brick_of(&w->grid, plain_index(&w->grid, c))];
    const struct {
        const char *name;
        int64_t here, plain;
    } all[] = {{"asleep", a->asleep, b->asleep}, {"head", a->head, b->head},          {"head shown", a->shown, b->shown},
               {"drops owed", a->owed, b->owed}, {"surface", a->surface, b->surface}, {"links", a->links, b->links},
               {"calm", a->calm, b->calm},       {"hold", a->hold, b->hold},          {"gentle", a->gentle, b->gentle},
               {"wild", a->wild, b->wild},       {"driven", a->driven, b->driven},    {"looks", a->looks, b->looks},
               {"rise", a->rise, b->rise}};
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
        if (all[n].here != all[n].plain)
            return found(f, k, "update %lld, brick at (%d, %d, %d): %s is %lld, and %lld in the plain reading",
                         (long long)w->update, c.x, c.y, c.z, all[n].name, (long long)all[n].here, (long long)all[n].plain);
    return true;
}

// The same bricks, the same cells, the same account.
static bool compare(const plain_world *w, const weir_world *world, int32_t k, finding *f)
{
    const brick_pool *pool = test_pool(world);
    bricks_fetch_all(pool);
    bricks_catch_up(pool);
    int32_t live = 0;
    for (int32_t b = 1; b < pool->end; b++) {
        if (!pool->alive[b]) continue;
        weir_coord c = {8 * pool->coord[b].x, 8 * pool->coord[b].y, 8 * pool->coord[b].z};
        if (!w->grid.live[plain_brick_of(&w->grid, plain_index(&w->grid, c))])
            return found(f, k, "update %lld: the brick at (%d, %d, %d) should not be live", (long long)w->update, c.x, c.y,
                         c.z);
        if (!compare_brick(w, pool, b, k, f)) return false;
        if (w->sleep.on && !compare_rest(w, pool, b, k, f)) return false;
        live++;
    }
    if (live != w->grid.bricks)
        return found(f, k, "update %lld: %d bricks are live, and %d in the plain reading", (long long)w->update, live,
                     w->grid.bricks);
    if (solver_carried(world) != w->cycles_next + 256 * w->substeps_next)
        return found(f, k, "update %lld: %d is carried to the next update, and %d cycles and %d substeps in the plain reading",
                     (long long)w->update, solver_carried(world), w->cycles_next, w->substeps_next);
    weir_ledger ledger = weir_world_ledger(world);
    if (ledger.drift != 0)
        return found(f, k, "update %lld: a drift of %lld drops", (long long)w->update, (long long)ledger.drift);
    if (ledger.added != w->added || ledger.removed != w->removed || ledger.drained != w->drained)
        return found(f, k,
                     "update %lld: %lld drops added, %lld removed, %lld drained, and %lld, %lld, %lld in the plain reading",
                     (long long)w->update, (long long)ledger.added, (long long)ledger.removed, (long long)ledger.drained,
                     (long long)w->added, (long long)w->removed, (long long)w->drained);
    return true;
}

// ---- Playing ---------------------------------------------------------------------------------------------------------------

typedef struct play {
    const recipe *r;
    plain_world *plain;
    weir_world *worlds[PATHS_MAX];  // NULL: a path that is not asked
} play;

static weir_world *make_world(const play *p, int32_t k)
{
    weir_params params;
    weir_world_def def = recipe_def(p->r, &params);
    def.backend = paths[k].backend;
    def.simd = paths[k].simd;
    def.threads = threads_of(&paths[k], p->r->seed);
    return test_make(&def);
}

// Saves the world of one path, and goes on with worlds that load it.
static bool reload(play *p, finding *f)
{
    const char *file = test_path(".weir");
    int32_t saver = -1;
    for (int32_t k = 0; k < path_count; k++)
        if (p->worlds[k] && (saver < 0 || p->r->seed % 2)) saver = k;
    bool done = weir_world_save(p->worlds[saver], file) == WEIR_OK;
    if (!done) found(f, saver, "it cannot be saved: %s", weir_error_message());
    for (int32_t k = 0; k < path_count && done; k++) {
        if (!p->worlds[k]) continue;
        weir_world_destroy(p->worlds[k]);
        p->worlds[k] = make_world(p, k);
        done = weir_world_load(p->worlds[k], file) == WEIR_OK;
        if (!done) found(f, k, "it cannot be loaded: %s", weir_error_message());
    }
    remove(file);
    return done;
}

// Devices are asked after every third update only: what they keep to themselves meanwhile must come out right as well.
static bool asked_now(const path *p, int64_t update, bool last)
{
    return p->backend == WEIR_BACKEND_CPU || last || update % 3 == 0;
}

static bool update_all(play *p, bool last, finding *f)
{
    uint64_t first = 0;
    int32_t first_path = -1;
    plain_step(p->plain);
    for (int32_t k = 0; k < path_count; k++) {
        if (!p->worlds[k]) continue;
        if (weir_world_step(p->worlds[k]) != WEIR_OK) return found(f, k, "a step failed: %s", weir_error_message());
        if (!asked_now(&paths[k], p->plain->update, last)) continue;
        if (!compare(p->plain, p->worlds[k], k, f)) return false;
        uint64_t hash = weir_world_hash(p->worlds[k]);
        if (first_path < 0) first = hash, first_path = k;
        if (hash != first)
            return found(f, k, "update %lld: the cells are those of %s, and the hash is another", (long long)p->plain->update,
                         paths[first_path].name);
    }
    return true;
}

static bool play_steps(play *p, finding *f)
{
    const recipe *r = p->r;
    for (int32_t i = 0; i < r->count; i++) {
        const recipe_step *step = &r->steps[i];
        if (step->kind == STEP_RELOAD) {
            if (!reload(p, f)) return false;
        } else if (step->kind == STEP_UPDATES) {
            for (int32_t n = 1; n <= step->count; n++)
                if (!update_all(p, n == step->count, f)) return false;
        } else {
            recipe_apply_plain(step, p->plain);
            for (int32_t k = 0; k < path_count; k++)
                if (p->worlds[k] && recipe_apply(step, p->worlds[k]) != WEIR_OK)
                    return found(f, k, "step %d is refused: %s", i + 1, weir_error_message());
        }
    }
    return true;
}

// Worlds in which something of sleep happened, by what it was.
static plain_sleep_counts worlds_with;

static void count_world(const plain_sleep_counts *of_world)
{
    const int64_t *from = (const int64_t *)of_world;
    int64_t *to = (int64_t *)&worlds_with;
    for (size_t i = 0; i < sizeof worlds_with / sizeof *to; i++) to[i] += from[i] > 0;
}

// Plays a recipe on one path, or on all of them (-1). True if nothing was found.
static bool play_recipe(const recipe *r, int32_t only, finding *f)
{
    play p = {.r = r};
    weir_params params;
    weir_world_def def = recipe_def(r, &params);
    *f = (finding){0};
    p.plain = plain_create(&def, r->reach);
    for (int32_t k = 0; k < path_count; k++) {
        bool passed_over = only < 0 && paths[k].backend != WEIR_BACKEND_CPU && r->seed % device_every != 0;
        // What differs between two paths needs both: the first one is always there.
        if (!passed_over && (only < 0 || only == k || k == 0)) p.worlds[k] = make_world(&p, k);
    }
    bool same = play_steps(&p, f);
    if (only < 0) count_world(&p.plain->sleep.counts);
    for (int32_t k = 0; k < path_count; k++) weir_world_destroy(p.worlds[k]);
    plain_destroy(p.plain);
    return same;
}

// ---- Cutting down ----------------------------------------------------------------------------------------------------------

// Whether something is found on a path.
static bool still_found(const recipe *r, void *on)
{
    finding f;
    return !play_recipe(r, *(const int32_t *)on, &f);
}

// ---- Tests -----------------------------------------------------------------------------------------------------------------

static int32_t worlds_wanted, calm_wanted, air_wanted;
static uint64_t first_seed = 1;
static bool whole;

static void make_any(recipe *r, uint64_t seed)
{
    recipe_make(r, seed, false);
}

static void make_calm(recipe *r, uint64_t seed)
{
    recipe_make(r, seed, true);
}

static void (*make_wanted)(recipe *r, uint64_t seed) = make_any;

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

static void play_worlds(int32_t wanted, void (*make)(recipe *r, uint64_t seed))
{
    recipe *r = malloc(sizeof *r);
    finding f;
    int32_t wrong = 0, played = 0;
    double begin = clock_seconds();
    while (played < wanted && wrong < 3) {
        make(r, first_seed + (uint64_t)played++);
        if (!play_recipe(r, -1, &f)) {
            report(r, &f);
            wrong++;
        }
        if (played % 100 == 0) print_message("%d worlds, %.0f s\n", played, clock_seconds() - begin);
    }
    print_message("%d worlds on %d paths, %.0f per minute\n", played, path_count, played / ((clock_seconds() - begin) / 60));
    const plain_sleep_counts *n = &worlds_with;
    print_message(
        "bricks slept in %lld of them and woke in %lld, sleep was refused in %lld; %lld had a rim, %lld booked drops\n",
        (long long)n->slept, (long long)n->woke, (long long)n->refused, (long long)n->rims, (long long)n->booked);
    print_message(
        "bodies were spread in %lld, levelled in %lld, settled in %lld; water sank in %lld, rose into dry bricks in %lld, "
        "was forced in %lld\n",
        (long long)n->spread, (long long)n->levelled, (long long)n->settled, (long long)n->sunk, (long long)n->wetted,
        (long long)n->forced);
    print_message("bricks were woken by brims in %lld, by bodies apart in %lld, by a push in %lld, by waves in %lld; waves "
                  "counted in %lld\n",
                  (long long)n->over_brim, (long long)n->apart, (long long)n->pushed, (long long)n->followed,
                  (long long)n->rippled);
    free(r);
    assert_int_equal(wrong, 0);
}

static void random_worlds_are_as_the_plain_reading_has_them(void **state)
{
    (void)state;
    play_worlds(worlds_wanted, make_wanted);
}

// Some of them, where nobody asks for others.
static void so_are_worlds_that_fall_asleep(void **state)
{
    (void)state;
    if (calm_wanted == 0) skip();
    play_worlds(calm_wanted, make_calm);
}

static void so_are_worlds_with_air(void **state)
{
    (void)state;
    if (air_wanted == 0) skip();
    play_worlds(air_wanted, recipe_make_air);
}

// The hash at the end of a recipe, played on the first path.
static uint64_t hash_of(const recipe *r)
{
    play p = {.r = r};
    weir_world *world = make_world(&p, 0);
    for (int32_t i = 0; i < r->count; i++) {
        const recipe_step *step = &r->steps[i];
        if (step->kind == STEP_UPDATES)
            test_step(world, step->count);
        else
            assert_ok(recipe_apply(step, world));
    }
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

static void a_world_that_is_printed_plays_the_same_as_a_scene(void **state)
{
    recipe *r = malloc(sizeof *r);
    for (uint64_t seed = 0; seed < (uint64_t)test_length(24, 8); seed++) {
        const char *file = test_path(".lua");
        recipe_make(r, first_seed + seed, false);
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        recipe_print(r, out);
        assert_int_equal(fclose(out), 0);
        scene_options options = scene_options_default();
        options.def.solver = r->solver;
        scene_script *script;
        weir_status status = scene_script_open(file, &options, &script);
        if (status == WEIR_ERROR_UNSUPPORTED) skip();
        scene_run *run = NULL;
        if (status == WEIR_OK) status = scene_open(scene_script_def(script), &options, &run);
        if (status != WEIR_OK) fail_msg("world %llu: %s", (unsigned long long)r->seed, scene_error());
        if (scene_updates(run, run->planned) != WEIR_OK) fail_msg("world %llu: %s", (unsigned long long)r->seed, scene_error());
        if (weir_world_hash(run->world) != hash_of(r))
            fail_msg("world %llu is another as a scene", (unsigned long long)r->seed);
        scene_close(run);
        scene_script_close(script);
        remove(file);
    }
    free(r);
}

// ---- The program -----------------------------------------------------------------------------------------------------------

static int usage(void)
{
    fprintf(stderr, "usage: test_worlds [--worlds N] [--seed S] [--backend cpu|opencl] [--calm] [--air] [--whole] [--print]\n");
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
    const char *backend = NULL;
    bool print = false;
    uint64_t worlds = (uint64_t)test_length(getenv("WEIR_TEST_SHORT") ? 40 : 200, 16);
    calm_wanted = test_length(getenv("WEIR_TEST_SHORT") ? 4 : 12, 1);
    air_wanted = test_length(getenv("WEIR_TEST_SHORT") ? 4 : 12, 2);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--print") == 0) {
            print = true;
        } else if (strcmp(argv[i], "--whole") == 0) {
            whole = true;
        } else if (strcmp(argv[i], "--calm") == 0) {
            make_wanted = make_calm;
            calm_wanted = air_wanted = 0;
        } else if (strcmp(argv[i], "--air") == 0) {
            make_wanted = recipe_make_air;
            calm_wanted = air_wanted = 0;
        } else if (strcmp(argv[i], "--worlds") == 0 && read_number(value, &worlds) && worlds <= INT32_MAX) {
            device_every = 1;
            calm_wanted = air_wanted = 0;
            i++;
        } else if (strcmp(argv[i], "--seed") == 0 && read_number(value, &first_seed)) {
            i++;
        } else if (strcmp(argv[i], "--backend") == 0 && (strcmp(value, "cpu") == 0 || strcmp(value, "opencl") == 0)) {
            backend = value;
            device_every = 1;
            i++;
        } else {
            return usage();
        }
    }
#ifdef __GLIBC__
    // The plain reading makes its levels anew for every cycle: half the time would go into giving their memory back and clearing it.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    worlds_wanted = (int32_t)worlds;
    if (print) {
        recipe *r = malloc(sizeof *r);
        make_wanted(r, first_seed);
        recipe_print(r, stdout);
        free(r);
        return 0;
    }
    find_paths(backend);
    if (path_count == 0) {
        fprintf(stderr, "test_worlds: there is nothing here to play worlds on: %s\n", weir_error_message());
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_worlds_are_as_the_plain_reading_has_them),
        cmocka_unit_test(so_are_worlds_that_fall_asleep),
        cmocka_unit_test(so_are_worlds_with_air),
        cmocka_unit_test(a_world_that_is_printed_plays_the_same_as_a_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
