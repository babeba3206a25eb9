// Random worlds of mixture against the plain reading of its laws: every path of the product gives its amounts and heats, cell by cell,
// after every update.
//
// A world is a number: what is built, filled, heated, poured and drained in it follows from that. It is played at once on the plain reading
// (plain/plain_mixture.h) and on a world per path: each width of SIMD this processor has, on one thread and on some, and in every few
// worlds an OpenCL device.
//
//     build/release/tests/test_mixture_worlds --worlds 10000 --seed 1      so many worlds, from this seed on
//     build/release/tests/test_mixture_worlds --worlds 1000 --opencl 1     in every world on OpenCL; 0: in none
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plain/plain_mixture.h"
#include "solvers/mixture/mixture.h"
#include "test_world.h"
#include "world/world.h"
#include <stdio.h>

enum { PATHS_MAX = 4, UPDATES = 40, USUAL_OPENCL_EVERY = 3 };

static int32_t asked_worlds;
static uint64_t asked_seed;
static int32_t opencl_every = USUAL_OPENCL_EVERY;  // worlds, of which one is played on a device too

// ---- Chance --------------------------------------------------------------------------------------------------------------------

static uint64_t chance;

static uint32_t roll(uint32_t sides)
{
    chance += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = chance;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % sides);
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)roll((uint32_t)(high - low + 1));
}

static weir_box roll_box(weir_box in)
{
    weir_box b;
    b.min = (weir_coord){between(in.min.x, in.max.x - 1), between(in.min.y, in.max.y - 1), between(in.min.z, in.max.z - 1)};
    b.max = (weir_coord){between(b.min.x + 1, in.max.x), between(b.min.y + 1, in.max.y), between(b.min.z + 1, in.max.z)};
    return b;
}

// ---- A world on all paths --------------------------------------------------------------------------------------------------------

typedef struct game {
    uint64_t seed;
    weir_world *world[PATHS_MAX + 1];
    int32_t count;
    plain_mixture *plain;
    weir_material material[8];  // of which it is filled
    int32_t materials;
    float point;  // at which its own material melts, 20 K below that at which it boils
} game;

#define ON_ALL(call)                                                                                          \
    for (int32_t path = 0; path < g->count; path++) {                                                         \
        weir_world *world = g->world[path];                                                                   \
        if ((call) != WEIR_OK) fail_msg("world %llu: %s", (unsigned long long)g->seed, weir_error_message()); \
    }

// A reaction of two materials, mostly such as there are; some are refused, as that which has no end.
static void add_reaction(game *g)
{
    const weir_material first = g->material[roll((uint32_t)g->materials)];
    weir_material second = g->material[roll((uint32_t)g->materials)];
    if (second == first) second = between(1, weir_world_material_count(g->world[0]) - 1);
    weir_material to[2];
    for (int32_t i = 0; i < 2; i++) {
        const uint32_t kind = roll(6);
        to[i] = kind == 0   ? WEIR_NOTHING
                : kind == 1 ? WEIR_TERRAIN
                : kind == 2 ? (i ? second : first)
                            : g->material[roll((uint32_t)g->materials)];
        if (kind > 4) to[i] = between(1, weir_world_material_count(g->world[0]) - 1);
    }
    const weir_reaction_def def = {first,
                                   second,
                                   to[0],
                                   to[1],
                                   (float)between(1, 1000) / 1000,
                                   roll(2) ? 0 : (float)between(-9, 9) * (float)between(1, 150)};
    for (int32_t path = 0; path < g->count; path++) weir_world_add_reaction(g->world[path], &def);
}

static void make(game *g, uint64_t seed)
{
    static const weir_simd widths[PATHS_MAX] = {WEIR_SIMD_SCALAR, WEIR_SIMD_AUTO, WEIR_SIMD_AVX2, WEIR_SIMD_AUTO};
    static const int32_t threads[PATHS_MAX] = {1, 3, 1, 1};
    *g = (game){.seed = seed, .point = 293};
    chance = seed * 7919 + 1;
    weir_world_def def = weir_world_def_default();
    def.solver = WEIR_SOLVER_MIXTURE;
    def.bounds.min = (weir_coord){between(-12, 12), between(-12, 12), between(-12, 12)};
    def.bounds.max =
        (weir_coord){def.bounds.min.x + between(2, 18), def.bounds.min.y + between(2, 22), def.bounds.min.z + between(1, 14)};
    def.open_sides = roll(3) == 0 ? roll(64) : 0;
    if (roll(4) == 0) def.change_threshold = 0.01f;
    weir_params params = weir_params_default();
    if (roll(3) == 0) params.mixture.film = between(0, 64);
    if (roll(3) == 0) params.mixture.pressure = roll(2) ? between(1, 1024) : between(1, 8) * 32;
    def.params = &params;
    for (int32_t i = 0; i < PATHS_MAX; i++) {
        def.simd = widths[i];
        def.threads = threads[i];
        if (weir_world_create(&def, &g->world[g->count]) == WEIR_OK) g->count++;
    }
    assert_true(g->count > 0);
    if (opencl_every > 0 && seed % (uint64_t)opencl_every == 0) {
        def.backend = WEIR_BACKEND_OPENCL;
        def.simd = WEIR_SIMD_AUTO;
        const weir_status status = weir_world_create(&def, &g->world[g->count]);
        if (status == WEIR_OK)
            g->count++;
        else if (status != WEIR_ERROR_UNSUPPORTED)
            fail_msg("world %llu: %s", (unsigned long long)seed, weir_error_message());
    }
    static const weir_material built_in[] = {WEIR_WATER, WEIR_OIL,   WEIR_LAVA, WEIR_HONEY, WEIR_MERCURY,
                                             WEIR_STEAM, WEIR_SMOKE, WEIR_ICE,  WEIR_STONE};
    g->materials = between(1, 5);
    for (int32_t i = 0; i < g->materials; i++) g->material[i] = roll(3) == 0 ? WEIR_WATER : built_in[roll(9)];
    if (roll(3) == 0) {
        const float point = g->point = (float)between(200, 500);
        ON_ALL(weir_world_add_material(
            world, &(weir_material_def){"frost", 0.7f, 1, .kind = WEIR_KIND_SOLID, .temperature = 100}, NULL))
        ON_ALL(weir_world_add_material(
            world, &(weir_material_def){"fog", 0.01f, 100, .kind = WEIR_KIND_GAS, .heat_capacity = 0.3f, .temperature = 900},
            NULL))
        const weir_material frost = weir_world_find_material(g->world[0], "frost"), fog = frost + 1;
        weir_material_def dew = {"dew",
                                 0.9f,
                                 3000,
                                 .heat_capacity = 0.8f,
                                 .conductivity = 30,
                                 .temperature = point + 3,
                                 .freezes_to = frost,
                                 .melting_point = point,
                                 .melting_heat = (float)between(1, 90),
                                 .boils_to = fog,
                                 .boiling_point = point + 20,
                                 .boiling_heat = (float)between(1, 300)};
        ON_ALL(weir_world_add_material(world, &dew, NULL))
        g->material[g->materials++] = frost + (int32_t)roll(3);
    }
    if (roll(8) == 0) ON_ALL(weir_world_remove_reaction(world, WEIR_WATER, WEIR_LAVA))
    for (int32_t i = roll(2) ? between(1, 4) : 0; i > 0; i--) add_reaction(g);
    g->plain = plain_mixture_make(g->world[0], def.open_sides);
}

static void end(game *g)
{
    for (int32_t i = 0; i < g->count; i++) weir_world_destroy(g->world[i]);
    plain_mixture_free(g->plain);
}

// ---- Comparing -----------------------------------------------------------------------------------------------------------------

static void compare(const game *g, int32_t path)
{
    const weir_world *world = g->world[path];
    const uint64_t hash = weir_world_hash(world);  // what a device has is here then
    const mixture *s = world->state;
    const plain_mixture *w = g->plain;
    for (weir_coord at = w->box.min; at.z < w->box.max.z; at.z++) {
        for (at.y = w->box.min.y; at.y < w->box.max.y; at.y++) {
            for (at.x = w->box.min.x; at.x < w->box.max.x; at.x++) {
                const plain_mix *c = plain_mixture_at(w, at);
                const int32_t b = bricks_find(&s->cells.pool, brick_of_cell(at)), k = cell_index(at);
                const int32_t heat = b ? bricks_ints(&s->cells.pool, MIXTURE_HEAT, b)[k] : 0;
                for (int32_t m = 1; m < w->kinds; m++) {
                    const int32_t place = mixture_place(&s->order, m);
                    const int32_t amount = b && place >= 0 ? mixture_amounts(&s->cells.pool, &s->order.fluid[place], b)[k] : 0;
                    if (amount != c->amount[m])
                        fail_msg(
                            "world %llu, path %d, update %lld, cell (%d, %d, %d): %d units of %s, and %d in the plain reading",
                            (unsigned long long)g->seed, path, (long long)w->update, at.x, at.y, at.z, amount,
                            w->kind[m].def.name, c->amount[m]);
                }
                if (heat != c->heat)
                    fail_msg("world %llu, path %d, update %lld, cell (%d, %d, %d): heat %d, and %d in the plain reading",
                             (unsigned long long)g->seed, path, (long long)w->update, at.x, at.y, at.z, heat, c->heat);
            }
        }
    }
    const weir_heat_ledger h = weir_world_heat_ledger(world);
    if (h.drift != 0 || h.added != w->heat.added || h.removed != w->heat.removed || h.drained != w->heat.drained ||
        h.turned != w->heat.turned)
        fail_msg("world %llu, path %d, update %lld: heat is booked otherwise than in the plain reading, drift %lld",
                 (unsigned long long)g->seed, path, (long long)w->update, (long long)h.drift);
    for (weir_material m = 1; m < w->kinds; m++) assert_int_equal(weir_world_material_ledger(world, m).drift, 0);
    if (hash != weir_world_hash(g->world[0]))
        fail_msg("world %llu: path %d has another hash", (unsigned long long)g->seed, path);
}

// ---- Playing -------------------------------------------------------------------------------------------------------------------

static void change_something(game *g)
{
    const weir_box box = roll_box(g->plain->bounds);
    const weir_material material = g->material[roll((uint32_t)g->materials)];
    const uint32_t kind = roll(16);
    // Often close to where something melts or boils.
    const float points[4] = {273.25f, 373.25f, 1273, g->point};
    const float fill = roll(2) ? 1.0f : (float)roll(1001) / 1000, close = points[roll(4)] + 0.25f * (float)between(-24, 24);
    const float kelvins = roll(2) ? close : (float)between(1, 1600) + 0.25f * (float)roll(4);
    int32_t id = 0;
    if (kind < 6) {
        ON_ALL(weir_world_fill(world, box, material, fill))
        plain_mixture_fill(g->plain, box, material, fill);
    } else if (kind == 6) {
        ON_ALL(weir_world_drain(world, box))
        plain_mixture_fill(g->plain, box, WEIR_NOTHING, 0);
    } else if (kind < 9) {
        ON_ALL(weir_world_build(world, box, 255))
        plain_mixture_build(g->plain, box, true);
    } else if (kind < 11) {
        ON_ALL(weir_world_dig(world, box))
        plain_mixture_build(g->plain, box, false);
    } else if (kind < 13) {
        ON_ALL(weir_world_set_temperature(world, box, kelvins))
        plain_mixture_warm(g->plain, box, kelvins);
    } else if (roll(12) == 0) {
        add_reaction(g);
        plain_mixture_learn(g->plain, g->world[0]);
    } else if (g->plain->sources < 4) {
        plain_source s = {.box = box, .material = material};
        const float rate = (float)between(1, 4000) / 1000;
        s.rate = (int64_t)(rate * (65536.0 * WEIR_FULL) + 0.5);
        s.kind = kind == 13 ? WEIR_SOURCE_HEATER : kind == 14 ? WEIR_SOURCE_EMITTER : WEIR_SOURCE_DRAIN;
        if (kind == 13) s.rate = 0, s.warm = (int32_t)(kelvins * 4);
        if (kind == 13) ON_ALL(weir_world_add_heater(world, box, kelvins, &id))
        if (kind == 14) ON_ALL(weir_world_add_emitter(world, box, material, rate, &id))
        if (kind == 15) ON_ALL(weir_world_add_drain(world, box, rate, &id))
        plain_mixture_add(g->plain, s);
    }
}

// A world on one path goes through a snapshot.
static void save_and_load(game *g)
{
    weir_world *world = g->world[g->count - 1];
    size_t size;
    assert_ok(weir_world_save_memory(world, NULL, 0, &size));
    uint8_t *bytes = malloc(size);
    assert_ok(weir_world_save_memory(world, bytes, size, &size));
    if (weir_world_load_memory(world, bytes, size) != WEIR_OK)
        fail_msg("world %llu: %s", (unsigned long long)g->seed, weir_error_message());
    free(bytes);
}

static void play(uint64_t seed)
{
    game made, *g = &made;
    make(g, seed);
    const int32_t first = between(2, 8), updates = test_length(UPDATES, 12);
    for (int32_t i = 0; i < first; i++) change_something(g);
    for (int32_t u = 0; u < updates; u++) {
        if (roll(5) == 0) change_something(g);
        if (roll(12) == 0) save_and_load(g);
        plain_mixture_update(g->plain);
        ON_ALL(weir_world_step(world))
        for (int32_t path = 0; path < g->count; path++) compare(g, path);
    }
    end(g);
}

static void worlds_are_as_the_plain_reading_says(void **state)
{
    (void)state;
    const int32_t worlds = asked_worlds > 0 ? asked_worlds : test_length(getenv("WEIR_TEST_SHORT") ? 6 : 16, 6);
    for (int32_t i = 0; i < worlds; i++) {
        play(asked_seed + (uint64_t)i);
        if (asked_worlds > 0 && (i + 1) % 100 == 0) print_message("%d worlds\n", i + 1), fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    asked_seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--worlds") == 0) asked_worlds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--opencl") == 0) opencl_every = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--seed") == 0) asked_seed = strtoull(argv[i + 1], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(worlds_are_as_the_plain_reading_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
