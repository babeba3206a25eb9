// One hash everywhere: every scene with every solver ends in the hash that tests/golden.txt has, on any number of threads, in
// any order of work, with any width of SIMD, on the CPU and on an OpenCL device, and whatever a game has done to its processor's
// handling of small numbers. The same file is checked by builds of other compilers and levels of optimisation.
//
// A change of the laws changes the hashes. Then write them anew, look at what changed, and say why in the commit:
//
//     WEIR_UPDATE_GOLDEN=1 build/release/tests/test_determinism
//
// Lines of the file: scene, solver, size, updates, hash. Each scene has two lengths; slow builds check the shorter one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>
#include <stdio.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

static const weir_solver SOLVERS[] = {WEIR_SOLVER_MOMENTUM, WEIR_SOLVER_CLASSIC, WEIR_SOLVER_SETTLE, WEIR_SOLVER_MIXTURE};
enum { SOLVER_COUNT = sizeof SOLVERS / sizeof *SOLVERS };

// ---- The golden file -------------------------------------------------------------------------------------------------------

enum { SHORT_RUN = 12, LONG_RUN = 80, LONG_RUN_OF_LARGE = 30, GOLDEN_MAX = 256 };

typedef struct golden {
    char scene[32], solver[16];
    int32_t size, updates;
    uint64_t hash;
} golden;

static golden goldens[GOLDEN_MAX];
static int32_t golden_count;

static int32_t size_of(const scene_def *scene)
{
    return scene->size_min > 16 ? scene->size_min : 16;
}

static int32_t long_run_of(const scene_def *scene)
{
    return test_is_large(scene) ? LONG_RUN_OF_LARGE : LONG_RUN;
}

static const golden *find_golden(const char *scene, const char *solver, int32_t size, int32_t updates)
{
    for (int32_t i = 0; i < golden_count; i++) {
        const golden *g = &goldens[i];
        if (strcmp(g->scene, scene) == 0 && strcmp(g->solver, solver) == 0 && g->size == size && g->updates == updates)
            return g;
    }
    fail_msg("golden.txt has no line \"%s %s %d %d\"; WEIR_UPDATE_GOLDEN=1 writes it", scene, solver, size, updates);
    return NULL;
}

static int read_goldens(void)
{
    FILE *file = fopen(WEIR_TEST_DIR "/golden.txt", "r");
    if (!file) return -1;
    char line[256];
    while (golden_count < GOLDEN_MAX && fgets(line, sizeof line, file)) {
        golden *g = &goldens[golden_count];
        unsigned long long hash;
        if (line[0] == '#' || line[0] == '\n') continue;
        if (sscanf(line, "%31s %15s %d %d %16llx", g->scene, g->solver, &g->size, &g->updates, &hash) != 5) break;
        g->hash = hash;
        golden_count++;
    }
    bool whole = feof(file) != 0;
    fclose(file);
    return whole ? 0 : -1;
}

static int write_goldens(void)
{
    FILE *file = fopen(WEIR_TEST_DIR "/golden.txt", "w");
    if (!file) return -1;
    fprintf(file,
            "# State hashes: scene, solver, size, updates, hash. tests/test_determinism.c says how to write them anew.\n");
    for (int32_t i = 0; scene_at(i); i++) {
        const scene_def *scene = scene_at(i);
        for (int32_t s = 0; s < SOLVER_COUNT; s++) {
            if (!test_can_play(scene->name, SOLVERS[s])) continue;
            scene_run *run = test_open(scene->name, SOLVERS[s], size_of(scene), long_run_of(scene));
            const int32_t lengths[] = {SHORT_RUN, long_run_of(scene)};
            for (int32_t k = 0; k < 2; k++) {
                assert_ok(scene_updates(run, lengths[k] - run->update));
                fprintf(file, "%s %s %d %d %016llx\n", scene->name, weir_solver_name(SOLVERS[s]), run->size, lengths[k],
                        (unsigned long long)weir_world_hash(run->world));
            }
            scene_close(run);
        }
    }
    return fclose(file);
}

static int prepare(void **state)
{
    const char *wish = getenv("WEIR_UPDATE_GOLDEN");
    if (wish && strcmp(wish, "1") == 0 && write_goldens() != 0) return -1;
    return read_goldens();
}

// ---- Checks against it -----------------------------------------------------------------------------------------------------

// Plays a scene as a definition says and compares. False: this machine cannot.
static bool check(const scene_def *scene, weir_solver solver, const weir_world_def *def, const char *how)
{
    scene_options options = scene_options_default();
    options.size = size_of(scene);
    options.updates = long_run_of(scene);
    options.def = *def;
    options.def.solver = solver;
    scene_run *run;
    weir_status status = scene_open(scene, &options, &run);
    if (status == WEIR_ERROR_UNSUPPORTED && !strstr(scene_error(), "could not compile")) return false;
    if (status != WEIR_OK) fail_msg("%s: %s", scene->name, scene_error());
    const int32_t lengths[] = {SHORT_RUN, long_run_of(scene)};
    for (int32_t k = 0; k < test_length(2, 1); k++) {
        assert_ok(scene_updates(run, lengths[k] - run->update));
        const golden *right = find_golden(scene->name, weir_solver_name(solver), run->size, lengths[k]);
        uint64_t hash = weir_world_hash(run->world);
        if (hash != right->hash)
            fail_msg("%s, %s, %s: hash %016llx after %d updates, golden %016llx", scene->name, right->solver, how,
                     (unsigned long long)hash, lengths[k], (unsigned long long)right->hash);
        assert_exact(run->world);
    }
    scene_close(run);
    return true;
}

// Whether a solver plays a scene on a machine.
static bool plays(weir_solver solver, const char *scene, const weir_world_def *def)
{
    if (def->backend != WEIR_BACKEND_CPU && solver == WEIR_SOLVER_SETTLE) return false;
    return test_can_play(scene, solver);
}

static bool check_all(const weir_world_def *def, const char *how)
{
    for (int32_t i = 0; scene_at(i); i++) {
        for (int32_t s = 0; s < SOLVER_COUNT; s++) {
            if (!plays(SOLVERS[s], scene_at(i)->name, def)) continue;
            if (!check(scene_at(i), SOLVERS[s], def, how)) return false;
        }
    }
    return true;
}

// Scenes that have between them much motion, terrain, and edits in every update.
static bool check_few(const weir_world_def *def, const char *how)
{
    static const char *const few[] = {"watercube", "random", "damhole"};
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t s = 0; s < SOLVER_COUNT; s++) {
            if (!plays(SOLVERS[s], few[i], def)) continue;
            if (!check(scene_find(few[i]), SOLVERS[s], def, how)) return false;
        }
    }
    return true;
}

static weir_world_def on_threads(int32_t threads)
{
    weir_world_def def = weir_world_def_default();
    def.threads = threads;
    return def;
}

static void every_scene_gives_its_hash_on_one_thread(void **state)
{
    weir_world_def def = on_threads(1);
    assert_true(check_all(&def, "one thread"));
}

static void every_scene_gives_its_hash_on_three_threads(void **state)
{
    weir_world_def def = on_threads(3);
    assert_true(check_all(&def, "three threads"));
}

static void any_number_of_threads_gives_one_hash(void **state)
{
    const int32_t threads[] = {2, 8, 16};
    for (int32_t i = 0; i < 3; i++) {
        weir_world_def def = on_threads(threads[i]);
        assert_true(check_few(&def, "many threads"));
    }
}

static void check_simd(weir_simd simd, const char *how)
{
    weir_world_def def = on_threads(1);
    def.simd = simd;
#ifdef WEIR_DEBUG_BUILD
    bool done = check_few(&def, how);
#else
    bool done = check_all(&def, how);
#endif
    if (!done) skip();
}

static void scalar_code_gives_the_same_hashes(void **state)
{
    check_simd(WEIR_SIMD_SCALAR, "scalar");
}

static void avx2_gives_the_same_hashes(void **state)
{
    check_simd(WEIR_SIMD_AVX2, "AVX2");
}

static void avx512_gives_the_same_hashes(void **state)
{
    check_simd(WEIR_SIMD_AVX512, "AVX-512");
}

static void opencl_gives_the_same_hashes(void **state)
{
    weir_world_def def = on_threads(1);
    def.backend = WEIR_BACKEND_OPENCL;
    bool done = test_device_length(1, 0) ? check_all(&def, "OpenCL") : check_few(&def, "OpenCL");
    if (done) return;
    print_message("skipped: %s\n", weir_error_message());
    skip();
}

// A game's jobs: one item at a time, last first, in turn as any of its workers, all on the thread that called.
static void run_backwards(void *user, weir_task *task, void *context, int32_t count)
{
    int64_t *calls = user;
    for (int32_t i = count - 1; i >= 0; i--) task(context, i, i + 1, i % 5);
    ++*calls;
}

static void a_games_own_jobs_in_any_order_give_the_same_hashes(void **state)
{
    int64_t calls = 0;
    weir_world_def def = weir_world_def_default();
    def.jobs = (weir_jobs){run_backwards, 5, &calls};
    assert_true(check_few(&def, "jobs backwards"));
    assert_true(calls > 0);
}

static void games_that_flush_small_numbers_to_zero_get_the_same_hashes(void **state)
{
#ifdef __SSE2__
    const uint32_t flush = 0x8040;  // flush to zero, denormals are zero
    uint32_t before = _mm_getcsr();
    _mm_setcsr(before | flush);
    weir_world_def def = on_threads(1);
    check_few(&def, "flush to zero");
    def.threads = 3;
    check_few(&def, "flush to zero, three threads");
    uint32_t after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after & flush, flush);  // what the game chose is left to it
#else
    skip();
#endif
}

static void the_file_has_no_lines_that_nobody_checks(void **state)
{
    int32_t lines = 0;
    for (int32_t i = 0; scene_at(i); i++)
        for (int32_t s = 0; s < SOLVER_COUNT; s++) lines += test_can_play(scene_at(i)->name, SOLVERS[s]) ? 2 : 0;
    assert_int_equal(golden_count, lines);
}

// ---- The order of bricks ---------------------------------------------------------------------------------------------------

// Water in many bricks, put in brick by brick, from the first to the last or the other way round.
static void pour(weir_world *world, bool backwards)
{
    enum { BRICKS = 4 * 3 * 4 };
    for (int32_t k = 0; k < BRICKS; k++) {
        int32_t i = backwards ? BRICKS - 1 - k : k, x = 8 * (i % 4), y = 8 * (i / 4 % 3), z = 8 * (i / 12);
        test_fill(world, test_box(x, y, z, x + 8, y + 8, z + 8), 0.25f + 0.0625f * (float)(i % 12));
    }
}

static void bricks_in_another_order_give_the_same_hash(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        weir_world_def def = weir_world_def_default();
        def.solver = SOLVERS[s];
        def.threads = 1;
        weir_world *forwards = test_make(&def), *backwards = test_make(&def), *late = test_make(&def);
        // In the third world bricks were born and died before, in other places.
        test_fill(late, test_box(-50, 3, 17, -20, 30, 40), 1);
        test_fill(late, test_box(5, 3, 7, 20, 10, 14), 1);
        test_step(late, 3);
        assert_ok(weir_world_drain(late, test_box(-100, -100, -100, 100, 100, 100)));
        test_step(late, 1);
        assert_int_equal(weir_world_stats(late).bricks, 0);
        test_step(forwards, 4);
        test_step(backwards, 4);

        pour(forwards, false);
        pour(backwards, true);
        pour(late, true);
        assert_true(weir_world_hash(forwards) == weir_world_hash(backwards));
        assert_true(weir_world_hash(forwards) == weir_world_hash(late));
        for (int32_t i = 0; i < test_length(5, 2); i++) {
            test_step(forwards, 5);
            test_step(backwards, 5);
            test_step(late, 5);
            assert_true(weir_world_hash(forwards) == weir_world_hash(backwards));
            assert_true(weir_world_hash(forwards) == weir_world_hash(late));
        }
        weir_world_destroy(forwards);
        weir_world_destroy(backwards);
        weir_world_destroy(late);
    }
}

// ---- Caves -----------------------------------------------------------------------------------------------------------------

// Seven open bricks in solid terrain that touch at faces and at edges: pieces of work that lie in each other's boxes.
static weir_world *make_caves(const weir_world_def *how, weir_solver solver)
{
    static const int32_t dug[7][3] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {1, 0, 2}, {1, 1, 2}, {1, 1, 0}, {2, 1, 0}};
    weir_world_def def = *how;
    def.bounds = test_box(0, 0, 0, 64, 16, 64);
    def.solver = solver;
    weir_world *world;
    weir_status status = weir_world_create(&def, &world);
    if (status == WEIR_ERROR_UNSUPPORTED || status == WEIR_ERROR_DEVICE) return NULL;
    assert_ok(status);
    assert_ok(weir_world_build(world, def.bounds, 255));
    for (int32_t i = 0; i < 7; i++) {
        int32_t x = 8 * dug[i][0], y = 8 * dug[i][1], z = 8 * dug[i][2];
        assert_ok(weir_world_dig(world, test_box(x, y, z, x + 8, y + 8, z + 8)));
    }
    test_fill(world, test_box(0, 0, 0, 8, 3, 24), 1);
    test_fill(world, test_box(8, 8, 0, 12, 16, 8), 1);
    return world;
}

static void caves_keep_every_drop_and_have_one_hash(void **state)
{
    for (int32_t s = 0; s < 2; s++) {
        uint64_t first = 0;
        // 1 to 16 threads, slow builds a few of them; then the widths of SIMD, and a device.
        for (int32_t k = 0; k < 20; k += k < 15 ? test_length(1, 5) : 1) {
            weir_world_def def = on_threads(k < 16 ? k + 1 : 1);
            if (k >= 16) def.simd = (weir_simd)(WEIR_SIMD_SCALAR + k - 16);
            if (k == 19) def.backend = WEIR_BACKEND_OPENCL, def.simd = WEIR_SIMD_AUTO;
            weir_world *world = make_caves(&def, SOLVERS[s]);
            if (!world) continue;
            test_step(world, test_length(60, 30));
            assert_exact(world);
            uint64_t hash = weir_world_hash(world);
            if (k == 0) first = hash;
            if (hash != first) fail_msg("%s: case %d has another hash", weir_solver_name(SOLVERS[s]), k);
            weir_world_destroy(world);
        }
    }
}

// Dust that an open side takes leaves its flow in bricks that are empty from then on.
static void flow_behind_an_open_side_is_the_same_everywhere(void **state)
{
    weir_params params = weir_params_default();
    params.empty = 0;
    uint64_t first = 0;
    for (int32_t k = 0; k < 4; k++) {
        weir_world_def def = on_threads(1);
        def.bounds = test_box(0, 0, 8, 1, 1, 27);
        def.open_sides = WEIR_SIDE_Y_MIN | WEIR_SIDE_Y_MAX | WEIR_SIDE_Z_MIN;
        if (k < 3) def.simd = (weir_simd)(WEIR_SIMD_SCALAR + k);
        if (k == 3) def.backend = WEIR_BACKEND_OPENCL;
        def.params = &params;
        weir_world *world;
        weir_status status = weir_world_create(&def, &world);
        if (status == WEIR_ERROR_UNSUPPORTED || status == WEIR_ERROR_DEVICE) continue;
        assert_ok(status);
        test_fill(world, test_box(0, 0, 8, 1, 1, 24), 6.6e-5f);
        test_step(world, 1);
        uint64_t hash = weir_world_hash(world);
        if (k == 0) first = hash;
        if (hash != first) fail_msg("case %d has another hash", k);
        weir_world_destroy(world);
    }
}

// ---- Mirrors ---------------------------------------------------------------------------------------------------------------

// Largest difference between the cube's water and its image in a mirror across x and across z.
static void mirror_differences(const weir_world *world, float *x_worst, float *z_worst)
{
    weir_box box = weir_world_bounds(world);
    int32_t wide = box.max.x - box.min.x, high = box.max.y - box.min.y;
    float *fills = test_fills(world, box);
    *x_worst = *z_worst = 0;
    for (int32_t z = 0; z < wide; z++) {
        for (int32_t y = 0; y < high; y++) {
            for (int32_t x = 0; x < wide; x++) {
                float own = fills[x + wide * (y + high * z)];
                *x_worst = fmaxf(*x_worst, fabsf(own - fills[wide - 1 - x + wide * (y + high * z)]));
                *z_worst = fmaxf(*z_worst, fabsf(own - fills[x + wide * (y + high * (wide - 1 - z))]));
            }
        }
    }
    free(fills);
}

static void a_falling_cube_is_its_own_mirror_image(void **state)
{
    const int32_t sizes[] = {24, 32, 40};
    for (int32_t s = 0; s < 2; s++) {
        float allowed = SOLVERS[s] == WEIR_SOLVER_MOMENTUM ? 0.0f : 1e-3f;
        for (int32_t i = 0; i < test_length(3, 1); i++) {
            // Long enough for the cube to hit the ground and come back from the walls.
            scene_run *run = test_open("watercube", SOLVERS[s], sizes[i], 0);
            for (int32_t k = 0; k < 5; k++) {
                assert_ok(scene_updates(run, test_length(SOLVERS[s] == WEIR_SOLVER_MOMENTUM ? 40 : 60, 8)));
                float x_worst, z_worst;
                mirror_differences(run->world, &x_worst, &z_worst);
                if (x_worst > allowed || z_worst > allowed)
                    fail_msg("%s, size %d, after %d updates: off by %g in x, %g in z", weir_solver_name(SOLVERS[s]), sizes[i],
                             (int)run->update, (double)x_worst, (double)z_worst);
            }
            assert_true(run->size == sizes[i] && weir_world_ledger(run->world).held > 0);
            scene_close(run);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scene_gives_its_hash_on_one_thread),
        cmocka_unit_test(every_scene_gives_its_hash_on_three_threads),
        cmocka_unit_test(any_number_of_threads_gives_one_hash),
        cmocka_unit_test(scalar_code_gives_the_same_hashes),
        cmocka_unit_test(avx2_gives_the_same_hashes),
        cmocka_unit_test(avx512_gives_the_same_hashes),
        cmocka_unit_test(opencl_gives_the_same_hashes),
        cmocka_unit_test(a_games_own_jobs_in_any_order_give_the_same_hashes),
        cmocka_unit_test(games_that_flush_small_numbers_to_zero_get_the_same_hashes),
        cmocka_unit_test(the_file_has_no_lines_that_nobody_checks),
        cmocka_unit_test(bricks_in_another_order_give_the_same_hash),
        cmocka_unit_test(caves_keep_every_drop_and_have_one_hash),
        cmocka_unit_test(flow_behind_an_open_side_is_the_same_everywhere),
        cmocka_unit_test(a_falling_cube_is_its_own_mirror_image),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
