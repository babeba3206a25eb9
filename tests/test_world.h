// Short words for tests that make worlds and play scenes. Include after cmocka.h.
#ifndef WEIR_TEST_WORLD_H
#define WEIR_TEST_WORLD_H

#include "scenes/scene.h"
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

// Builds with asserts and sanitizers are some twenty times slower: they do the same with less.
static inline int32_t test_length(int32_t usual, int32_t slow)
{
#ifdef WEIR_DEBUG_BUILD
    (void)usual;
    return slow;
#else
    (void)slow;
    return usual;
#endif
}

// With OpenCL the time goes into the device, which is the same for every build: the release build does all, the others little.
static inline int32_t test_device_length(int32_t usual, int32_t slow)
{
    return getenv("WEIR_TEST_SHORT") ? slow : test_length(usual, slow);
}

// The solvers before this one have flow that can be set, forces and rules of the game's own, and run on devices too.
enum { TEST_FLOW_SOLVERS = WEIR_SOLVER_SETTLE };

// The solvers before this one let parts of their worlds leave and come back, and are told by deltas.
enum { TEST_REGION_SOLVERS = WEIR_SOLVER_MIXTURE + 1 };

// Whether a scene asks for nothing that the solver has not. Of those that are not its own mixture plays a few.
static inline bool test_can_play(const char *scene, weir_solver solver)
{
    static const char *const few[] = {"dambreak", "tube", "fountain", "waterfall", "lavawater"};
    const scene_def *def = scene_find(scene);
    if (solver != WEIR_SOLVER_MIXTURE && def && def->solver == WEIR_SOLVER_MIXTURE) return false;
    if (solver == WEIR_SOLVER_MIXTURE && def && def->solver != WEIR_SOLVER_MIXTURE) {
        for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
            if (strcmp(scene, few[i]) == 0) return true;
        return false;
    }
    if (strcmp(scene, "burst") == 0) return solver == WEIR_SOLVER_MOMENTUM;        // a gas
    if (strcmp(scene, "lavawater") == 0) return (int)solver >= TEST_FLOW_SOLVERS;  // several liquids
    return (int)solver < TEST_FLOW_SOLVERS || strcmp(scene, "random") != 0;
}

#define assert_ok(call) assert_int_equal(call, WEIR_OK)

static inline weir_box test_box(int32_t x0, int32_t y0, int32_t z0, int32_t x1, int32_t y1, int32_t z1)
{
    return (weir_box){{x0, y0, z0}, {x1, y1, z1}};
}

// A definition of a world from the origin to (x, y, z), on one thread.
static inline weir_world_def test_def(weir_solver solver, int32_t x, int32_t y, int32_t z)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = test_box(0, 0, 0, x, y, z);
    def.solver = solver;
    def.threads = 1;
    return def;
}

static inline weir_world *test_make(const weir_world_def *def)
{
    weir_world *world;
    assert_ok(weir_world_create(def, &world));
    return world;
}

static inline void test_fill(weir_world *world, weir_box box, float fill)
{
    assert_ok(weir_world_fill(world, box, WEIR_WATER, fill));
}

static inline void test_step(weir_world *world, int32_t count)
{
    for (int32_t i = 0; i < count; i++) assert_ok(weir_world_step(world));
}

static inline void assert_exact(const weir_world *world)
{
    weir_ledger ledger = weir_world_ledger(world);
    assert_int_equal(ledger.drift, 0);
    assert_int_equal(ledger.held, ledger.added - ledger.removed - ledger.drained - ledger.turned - ledger.unloaded);
}

// Fills of all cells of a box; free it.
static inline float *test_fills(const weir_world *world, weir_box box)
{
    size_t count = (size_t)(box.max.x - box.min.x) * (size_t)(box.max.y - box.min.y) * (size_t)(box.max.z - box.min.z);
    float *fills = malloc(count * sizeof *fills);
    assert_non_null(fills);
    assert_ok(weir_world_read_fill(world, box, fills));
    return fills;
}

// Opens a scene of one solver on one thread; size 0 is the scene's own.
static inline scene_run *test_open(const char *scene, weir_solver solver, int32_t size, int64_t updates)
{
    scene_options options = scene_options_default();
    options.size = size;
    options.updates = updates;
    options.def.solver = solver;
    options.def.threads = 1;
    scene_run *run;
    if (scene_open(scene_find(scene), &options, &run) != WEIR_OK) fail_msg("%s: %s", scene, scene_error());
    return run;
}

// Scenes that have many more cells than the others at their smallest, and get fewer updates.
static inline bool test_is_large(const scene_def *scene)
{
    static const char *const large[] = {"tsunami", "shallowwave", "lake", "puddle", "locus"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        if (strcmp(scene->name, large[i]) == 0) return true;
    return false;
}

// A dam break in a box of 24, with a pillar in its way.
static inline void test_fill_dam(weir_world *world)
{
    assert_ok(weir_world_build(world, test_box(14, 0, 9, 17, 12, 13), 255));
    test_fill(world, test_box(0, 0, 0, 9, 18, 24), 1.0f);
}

static inline weir_world *test_dam(weir_solver solver)
{
    weir_world_def def = test_def(solver, 24, 24, 24);
    weir_world *world = test_make(&def);
    test_fill_dam(world);
    return world;
}

#endif
