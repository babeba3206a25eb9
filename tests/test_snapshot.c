// Snapshots: a world goes on from a file as it would have, and no file, however damaged or hostile, harms a world.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "test_memory.h"
#include "world/world.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum { HEADER = 40, PAYLOAD_MAX = 1 << 21 };

static const weir_box BOUNDS = {{-10, -10, -10}, {14, 14, 14}};
static char directory[] = "/tmp/weir-snapshot-XXXXXX";
static char path[64], other_path[64];

// ---- Files -----------------------------------------------------------------------------------------------------------------

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes read_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    bytes b = {malloc(PAYLOAD_MAX), 0};
    assert_non_null(b.data);
    b.size = fread(b.data, 1, PAYLOAD_MAX, file);
    assert_true(b.size < PAYLOAD_MAX);
    fclose(file);
    return b;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint64_t number_at(const uint8_t *from, int32_t size)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < size; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void put_at(uint8_t *to, uint64_t value, int32_t size)
{
    for (int32_t i = 0; i < size; i++) to[i] = (uint8_t)(value >> (8 * i));
}

// The payload of a file, unpacked.
static bytes payload_of(const char *name)
{
    bytes file = read_file(name);
    bytes payload = {malloc(PAYLOAD_MAX), (size_t)number_at(file.data + 16, 8)};
    assert_non_null(payload.data);
    assert_true(payload.size < PAYLOAD_MAX);
    if (number_at(file.data + 12, 4) == 0) {
        memcpy(payload.data, file.data + HEADER, payload.size);
    } else {
#ifdef WEIR_HAVE_ZSTD
        assert_true(ZSTD_decompress(payload.data, payload.size, file.data + HEADER, file.size - HEADER) == payload.size);
#else
        fail_msg("a build without zstd has packed a snapshot");
#endif
    }
    free(file.data);
    return payload;
}

// Writes a payload as a file whose header is right in all respects, not packed.
static void seal(const char *name, const uint8_t *payload, size_t size)
{
    uint8_t *file = malloc(HEADER + size);
    assert_non_null(file);
    memcpy(file, "WEIRSNAP", 8);
    put_at(file + 8, 6, 4);
    put_at(file + 12, 0, 4);
    put_at(file + 16, size, 8);
    put_at(file + 24, size, 8);
    put_at(file + 32, hash_bytes(payload, size, 0), 8);
    memcpy(file + HEADER, payload, size);
    write_file(name, file, HEADER + size);
    free(file);
}

// A parameter is a byte with the length of its name, the name, and four bytes.
#define PARAM_BYTES(name) ((int)sizeof(name) + 4)
#define PLUS_ONE(type, name, min, max, standard, help) +1
#define PLUS_BYTES(type, name, min, max, standard, help) +PARAM_BYTES(#name)

// Where things lie in the payload of the scene below, which has three sources and one channel named "dye".
enum {
    AT_SOLVER = 0,
    AT_BOUNDS = AT_SOLVER + 1 + 8,  // behind "momentum"
    AT_SIDES = AT_BOUNDS + 24,
    AT_PARAMS = AT_SIDES + 4,
    AT_FIRST_PARAM = AT_PARAMS + 4,
    AT_UPDATE = AT_FIRST_PARAM + 3 * PARAM_BYTES("gravity.x") WEIR_SHARED_PARAMS(PLUS_BYTES) WEIR_MOMENTUM_PARAMS(PLUS_BYTES),
    AT_MATERIALS = AT_UPDATE + 16,
    AT_ADDED = AT_MATERIALS + 4,
    AT_REACTIONS = AT_ADDED + 40 * (WEIR_MATERIALS_BUILT_IN - 1),
    AT_CYCLES_NEXT = AT_REACTIONS + 4,
    AT_NEXT_ID = AT_CYCLES_NEXT + 4,
    AT_SOURCE_COUNT = AT_NEXT_ID + 4,
    AT_SOURCES = AT_SOURCE_COUNT + 4,
    SOURCE_BYTES = 64,
    AT_TERRAIN = AT_SOURCES + 3 * SOURCE_BYTES,
    CHANNELS_BYTES = 4 + 1 + 3,
    REST_AT = 12,  // of a brick, behind its coordinate: how it sleeps
    VALUES_AT = REST_AT + 37,
    BRICK_BYTES = VALUES_AT + 6 * 2048
};

static size_t at_bricks(const bytes *payload)
{
    size_t at = AT_TERRAIN + 5;
    for (uint64_t left = number_at(payload->data + AT_TERRAIN + 1, 4); left > 0; left--)
        at += payload->data[at + 12] ? 13 + 512 : 14;
    at += 4 + 4 + CHANNELS_BYTES;  // behind the numbers of boxes that are unloaded, and of bricks of terrain that form
    assert_true(number_at(payload->data + at, 4) * BRICK_BYTES == payload->size - at - 4);
    return at;
}

// Where the value of a parameter lies.
static size_t at_param(const bytes *payload, const char *name)
{
    const size_t length = strlen(name);
    for (size_t at = AT_FIRST_PARAM; at < AT_UPDATE; at += 1 + (size_t)payload->data[at] + 4)
        if (payload->data[at] == length && memcmp(payload->data + at + 1, name, length) == 0) return at + 1 + length;
    fail_msg("there is no %s", name);
    return 0;
}

// ---- Worlds ----------------------------------------------------------------------------------------------------------------

// Dye drifts towards x; enough of a rule for its values to change.
static void dye(const weir_rule_brick *brick, void *user)
{
    (void)user;
    for (int32_t z = 0; z < 8; z++) {
        for (int32_t y = 0; y < 8; y++) {
            for (int32_t x = 0; x < 8; x++) {
                const float *old = brick->old_values[0];
                brick->new_values[0][WEIR_BRICK_INDEX(x, y, z)] =
                    0.5f * (old[WEIR_TILE_INDEX(x, y, z)] + old[WEIR_TILE_INDEX(x - 1, y, z)]);
            }
        }
    }
}

static weir_world *make(weir_box bounds, weir_solver solver, bool with_rule, test_memory *counted)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = bounds;
    def.solver = solver;
    def.threads = 1;
    if (counted) def.allocator = test_memory_hooks(counted);
    weir_world *world;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    const weir_rule_def rule = {
        .name = "dyeing", .place = WEIR_PLACE_AFTER, .channel_count = 1, .channels = {"dye"}, .run = dye};
    if (with_rule) assert_int_equal(weir_world_add_rule(world, &rule), WEIR_OK);
    return world;
}

static weir_world *make_empty(void)
{
    return make((weir_box){{0, 0, 0}, {100, 50, 25}}, WEIR_SOLVER_MOMENTUM, true, NULL);
}

static weir_world *make_scene(weir_solver solver)
{
    weir_world *world = make(BOUNDS, solver, true, NULL);
    assert_int_equal(weir_world_build(world, (weir_box){{-10, -10, -10}, {14, -6, 14}}, 255), WEIR_OK);
    assert_int_equal(weir_world_build_sphere(world, (weir_sphere){{6, -4, 6}, 3}, 130), WEIR_OK);
    assert_int_equal(weir_world_fill(world, (weir_box){{-10, -6, -10}, {0, 6, 4}}, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_fill_sphere(world, (weir_sphere){{3, 6, 3}, 3}, WEIR_WATER, 0.3f), WEIR_OK);
    assert_int_equal(weir_world_set_channel(world, BOUNDS, "dye", 0.5f), WEIR_OK);
    assert_int_equal(weir_world_add_emitter(world, (weir_box){{8, 8, 8}, {10, 10, 10}}, WEIR_WATER, 0.37f, NULL), WEIR_OK);
    assert_int_equal(weir_world_add_drain(world, (weir_box){{-10, -6, -10}, {-8, -5, -8}}, 0.11f, NULL), WEIR_OK);
    assert_int_equal(weir_world_add_force(world, BOUNDS, (weir_vec){0.001f, 0, -0.002f}, NULL), WEIR_OK);
    weir_params params = weir_world_params(world);
    params.noise = 0.01f;
    params.noise_seed = 77;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_OK);
    for (int32_t i = 0; i < 12; i++) assert_int_equal(weir_world_step(world), WEIR_OK);
    return world;
}

static void save_scene(const char *name)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    assert_int_equal(weir_world_save(world, name), WEIR_OK);
    weir_world_destroy(world);
}

// Loads a file that must be refused, and sees that it left no trace but a sentence with the file's name.
static weir_status refuse(weir_world *world, const char *name)
{
    const uint64_t hash = weir_world_hash(world);
    const int32_t bricks = weir_world_bricks(world, NULL, 0);
    weir_status status = weir_world_load(world, name);
    assert_int_not_equal(status, WEIR_OK);
    assert_true(weir_world_hash(world) == hash);
    assert_int_equal(weir_world_bricks(world, NULL, 0), bricks);
    assert_non_null(strstr(weir_error_message(), name));
    return status;
}

// ---- Whole files -----------------------------------------------------------------------------------------------------------

static void a_world_goes_on_from_a_file_as_it_would_have(void **state)
{
    for (int solver = 0; solver < WEIR_SOLVER_SETTLE; solver++) {
        weir_world *straight = make_scene((weir_solver)solver);
        weir_world *resumed = make((weir_box){{0, 0, 0}, {9, 9, 9}}, (weir_solver)solver, true, NULL);
        assert_int_equal(weir_world_fill(resumed, BOUNDS, WEIR_WATER, 1), WEIR_OK);
        assert_int_equal(weir_world_save(straight, path), WEIR_OK);
        assert_int_equal(weir_world_load(resumed, path), WEIR_OK);
        assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        weir_ledger a = weir_world_ledger(straight), b = weir_world_ledger(resumed);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(b.drift, 0);
        for (int32_t i = 0; i < 10; i++) {
            assert_int_equal(weir_world_step(straight), WEIR_OK);
            assert_int_equal(weir_world_step(resumed), WEIR_OK);
            assert_true(weir_world_hash(resumed) == weir_world_hash(straight));
        }
        int32_t id;
        assert_int_equal(weir_world_remove(resumed, 2), WEIR_OK);
        assert_int_equal(weir_world_add_drain(resumed, BOUNDS, 1, &id), WEIR_OK);
        assert_int_equal(id, 4);
        weir_world_destroy(straight);
        weir_world_destroy(resumed);
    }
}

static void an_empty_endless_world_can_be_saved_too(void **state)
{
    weir_world *world = make((weir_box){{0, 0, 0}, {0, 0, 0}}, WEIR_SOLVER_MOMENTUM, false, NULL), *loaded = make_empty();
    assert_int_equal(weir_world_save(world, path), WEIR_OK);
    assert_int_equal(weir_world_load(loaded, path), WEIR_OK);
    assert_int_equal(weir_world_bricks(loaded, NULL, 0), 0);
    assert_int_equal(weir_world_bounds(loaded).max.x, 0);
    assert_int_equal(weir_world_fill(loaded, (weir_box){{-900, 0, 0}, {-899, 1, 1}}, WEIR_WATER, 1), WEIR_OK);
    weir_world_destroy(world);
    weir_world_destroy(loaded);
}

static void to_save_changes_nothing_and_twice_gives_the_same_bytes(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    const uint64_t hash = weir_world_hash(world);
    assert_int_equal(weir_world_save(world, path), WEIR_OK);
    assert_int_equal(weir_world_save(world, other_path), WEIR_OK);
    assert_true(weir_world_hash(world) == hash);
    bytes a = read_file(path), b = read_file(other_path);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
    weir_world_destroy(world);
}

static void after_a_load_everything_has_changed(void **state)
{
    save_scene(path);
    weir_world *world = make_empty();
    int64_t mark = 0;
    for (int32_t i = 0; i < 100; i++) assert_int_equal(weir_world_fill(world, BOUNDS, WEIR_WATER, (float)(i & 1)), WEIR_OK);
    weir_brick_change bricks[512];
    assert_true(weir_world_changed(world, &mark, bricks, 512) > 0);
    assert_int_equal(weir_world_load(world, path), WEIR_OK);
    int32_t there = 0;
    const int32_t count = weir_world_changed(world, &mark, bricks, 512);
    for (int32_t i = 0; i < count; i++) there += !bricks[i].gone;
    assert_int_equal(there, weir_world_bricks(world, NULL, 0));
    weir_world_destroy(world);
}

static void a_plain_file_is_as_good_as_a_packed_one(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    seal(other_path, payload.data, payload.size);
    weir_world *packed = make_empty(), *plain = make_empty();
    assert_int_equal(weir_world_load(packed, path), WEIR_OK);
    assert_int_equal(weir_world_load(plain, other_path), WEIR_OK);
    assert_true(weir_world_hash(packed) == weir_world_hash(plain));
#ifndef WEIR_HAVE_ZSTD
    bytes file = read_file(path);
    file.data[12] = 1;
    write_file(path, file.data, file.size);
    assert_int_equal(refuse(packed, path), WEIR_ERROR_UNSUPPORTED);
    free(file.data);
#endif
    free(payload.data);
    weir_world_destroy(packed);
    weir_world_destroy(plain);
}

static void who_asks_for_it_gets_plain_files(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    seal(other_path, payload.data, payload.size);
    setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1);
    save_scene(path);
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    bytes saved = read_file(path), plain = read_file(other_path);
    assert_int_equal(saved.size, plain.size);
    assert_memory_equal(saved.data, plain.data, plain.size);
    free(payload.data);
    free(saved.data);
    free(plain.data);
}

// ---- The state hash --------------------------------------------------------------------------------------------------------

// A field of the payload, and what is added to its bits to have another sound value there.
typedef struct field {
    const char *name;
    size_t at;
    int32_t size;
    int64_t change;
} field;

// A field that all sources have lies in the first of them.
static size_t first_of_its_kind(size_t at)
{
    return at < AT_SOURCES ? at : AT_SOURCES + (at - AT_SOURCES) % SOURCE_BYTES;
}

static void cover(bool covered[AT_TERRAIN], size_t at, int32_t size)
{
    for (int32_t i = 0; i < size && at < AT_TERRAIN; i++) covered[first_of_its_kind(at + (size_t)i)] = true;
}

static void change_field(bytes *payload, const field *f, int64_t change)
{
    put_at(payload->data + f->at, number_at(payload->data + f->at, f->size) + (uint64_t)change, f->size);
}

static uint64_t hash_of(const bytes *payload)
{
    weir_world *world = make_empty();
    seal(other_path, payload->data, payload->size);
    if (weir_world_load(world, other_path) != WEIR_OK) fail_msg("%s", weir_error_message());
    uint64_t hash = weir_world_hash(world);
    weir_world_destroy(world);
    return hash;
}

// The first open cell that holds water, in the first brick that has one: where its drops lie in the payload.
static size_t first_drops(const bytes *payload)
{
    for (size_t brick = at_bricks(payload) + 4; brick < payload->size; brick += BRICK_BYTES)
        for (size_t at = brick + VALUES_AT; at < brick + VALUES_AT + 2048; at += 4)
            if (number_at(payload->data + at, 4) > 0) return at;
    fail_msg("there is no water");
    return 0;
}

// Whether a parameter of momentum cannot be larger than it is by default.
static bool stands_at_its_end(const char *name, int32_t length)
{
    weir_param param;
    for (int32_t i = 0; weir_params_own(WEIR_SOLVER_MOMENTUM, i, &param); i++)
        if ((size_t)length == strlen(param.name) && strncmp(name, param.name, (size_t)length) == 0)
            return param.default_value == param.max;
    return false;
}

static void every_field_of_a_snapshot_is_in_the_hash(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    const size_t emitter = AT_SOURCES, drain = emitter + SOURCE_BYTES, force = drain + SOURCE_BYTES,
                 water = first_drops(&payload);
    // So that the last source can have another number.
    put_at(payload.data + AT_NEXT_ID, 9, 4);
    const field fields[] = {
        {"bounds.min.x", AT_BOUNDS, 4, -1},
        {"bounds.min.y", AT_BOUNDS + 4, 4, -1},
        {"bounds.min.z", AT_BOUNDS + 8, 4, -1},
        {"bounds.max.x", AT_BOUNDS + 12, 4, 1},
        {"bounds.max.y", AT_BOUNDS + 16, 4, 1},
        {"bounds.max.z", AT_BOUNDS + 20, 4, 1},
        {"open sides", AT_SIDES, 4, 1},
        {"update", AT_UPDATE, 8, 1},
        {"reactions", AT_REACTIONS, 4, 1},
        {"cycles_next", AT_CYCLES_NEXT, 4, 1},
        {"next id", AT_NEXT_ID, 4, 1},
        {"a source's kind", emitter, 4, 1},
        {"a source's number", force + 4, 4, 1},
        {"a source's box", emitter + 8, 4, -1},
        {"a source's box", emitter + 12, 4, -1},
        {"a source's box", emitter + 16, 4, -1},
        {"a source's box", emitter + 20, 4, 1},
        {"a source's box", emitter + 24, 4, 1},
        {"a source's box", emitter + 28, 4, 1},
        {"a drain's material", drain + 32, 4, 1},
        {"an emitter's rate", emitter + 36, 8, 1},
        {"what an emitter owes", emitter + 44, 8, number_at(payload.data + emitter + 44, 8) < 65535 ? 1 : -1},
        {"what a drain owes", drain + 44, 8, number_at(payload.data + drain + 44, 8) < 65535 ? 1 : -1},
        {"force.x", force + 52, 4, 1},
        {"force.y", force + 56, 4, 1},
        {"force.z", force + 60, 4, 1},
        {"a share of terrain", AT_TERRAIN + 5 + 13, 1, -1},
        {"flow_x", water + 2048, 4, 1},
        {"flow_y", water + 2 * 2048, 4, 1},
        {"flow_z", water + 3 * 2048, 4, 1},
        {"pressure", water + 4 * 2048, 4, 1},
        {"dye", water + 5 * 2048, 4, 1},
    };
    // No byte is forgotten: the solver and the number of sources have tests of their own, and the past is not in the hash.
    bool covered[AT_TERRAIN] = {false};
    cover(covered, AT_SOLVER, 9);
    cover(covered, AT_SOURCE_COUNT, 4);
    cover(covered, AT_UPDATE + 8, 8 + 4 + 40 * (WEIR_MATERIALS_BUILT_IN - 1));
    cover(covered, AT_PARAMS, AT_UPDATE - AT_PARAMS);  // below
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) cover(covered, fields[i].at, fields[i].size);
    for (size_t at = 0; at < AT_TERRAIN; at++)
        if (!covered[first_of_its_kind(at)]) fail_msg("byte %zu of the payload is of no field", at);
    const uint64_t hash = hash_of(&payload);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        change_field(&payload, &fields[i], fields[i].change);
        if (hash_of(&payload) == hash) fail_msg("the hash does not know of %s", fields[i].name);
        change_field(&payload, &fields[i], -fields[i].change);
    }
    int32_t params = 0;
    for (size_t at = AT_FIRST_PARAM; at < AT_UPDATE; params++) {
        const char *name = (const char *)payload.data + at + 1;
        const int32_t length = payload.data[at];
        at += 1 + (size_t)length + 4;
        const field value = {"", at - 4, 4, stands_at_its_end(name, length) ? -1 : 1};
        change_field(&payload, &value, value.change);
        if (hash_of(&payload) == hash) fail_msg("the hash does not know of %.*s", length, name);
        change_field(&payload, &value, -value.change);
    }
    assert_int_equal(params, 3 WEIR_SHARED_PARAMS(PLUS_ONE) WEIR_MOMENTUM_PARAMS(PLUS_ONE));
    assert_int_equal(number_at(payload.data + AT_PARAMS, 4), params);
    assert_true(hash_of(&payload) == hash);
    // A drop more is one that was added.
    const field drops = {"mass", water, 4, 1}, added = {"added", AT_ADDED, 8, 1};
    change_field(&payload, &drops, 1);
    change_field(&payload, &added, 1);
    assert_true(hash_of(&payload) != hash);
    free(payload.data);
}

// What a file holds beyond that tells of the past: worlds that differ in it go on alike.
static void the_past_is_not_in_the_hash(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    const field past[] = {{"change", AT_UPDATE + 8, 8, 5},  {"added", AT_ADDED, 8, 12},      {"removed", AT_ADDED + 8, 8, 4},
                          {"drained", AT_ADDED + 16, 8, 5}, {"turned", AT_ADDED + 24, 8, 1}, {"unloaded", AT_ADDED + 32, 8, 2}};
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) change_field(&payload, &past[i], past[i].change);
    seal(other_path, payload.data, payload.size);
    weir_world *one = make_empty(), *other = make_empty();
    assert_int_equal(weir_world_load(one, path), WEIR_OK);
    assert_int_equal(weir_world_load(other, other_path), WEIR_OK);
    for (int32_t i = 0; i < 5; i++) {
        assert_true(weir_world_hash(one) == weir_world_hash(other));
        assert_int_equal(weir_world_step(one), WEIR_OK);
        assert_int_equal(weir_world_step(other), WEIR_OK);
    }
    free(payload.data);
    weir_world_destroy(one);
    weir_world_destroy(other);
}

// Where the water is, and who moves it.
static void the_same_water_elsewhere_or_of_another_solver_has_another_hash(void **state)
{
    uint64_t hash[3];
    for (int32_t i = 0; i < 3; i++) {
        weir_world *world =
            make((weir_box){{0, 0, 0}, {0, 0, 0}}, i == 2 ? WEIR_SOLVER_CLASSIC : WEIR_SOLVER_MOMENTUM, false, NULL);
        int32_t x = i == 1 ? 8 : 0;
        assert_int_equal(weir_world_fill(world, (weir_box){{x, 0, 0}, {x + 8, 8, 8}}, WEIR_WATER, 1), WEIR_OK);
        hash[i] = weir_world_hash(world);
        weir_world_destroy(world);
    }
    assert_true(hash[0] != hash[1] && hash[0] != hash[2]);
}

// ---- Damaged files ---------------------------------------------------------------------------------------------------------

static void a_file_cut_short_is_refused_wherever_it_is_cut(void **state)
{
    save_scene(path);
    bytes file = read_file(path);
    weir_world *world = make_empty();
    for (size_t size = 0; size < file.size; size += size < HEADER + 4 ? 1 : 100) {
        write_file(other_path, file.data, size);
        assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    }
    file.data[file.size++] = 0;
    write_file(other_path, file.data, file.size);
    assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    free(file.data);
    weir_world_destroy(world);
}

static void a_single_changed_byte_is_noticed(void **state)
{
    save_scene(path);
    bytes file = read_file(path);
    weir_world *world = make_empty();
    for (size_t at = 0; at < file.size; at += at < HEADER + 8 ? 1 : 61) {
        file.data[at] ^= 0x10;
        write_file(other_path, file.data, file.size);
        weir_status status = refuse(world, other_path);
        assert_int_equal(status, at >= 8 && at < 12 ? WEIR_ERROR_VERSION : WEIR_ERROR_FORMAT);
        file.data[at] ^= 0x10;
    }
    write_file(other_path, file.data, file.size);
    assert_int_equal(weir_world_load(world, other_path), WEIR_OK);
    free(file.data);
    weir_world_destroy(world);
}

static void a_header_that_claims_too_much_is_not_believed(void **state)
{
    save_scene(path);
    bytes file = read_file(path);
    weir_world *world = make_empty();
    const uint64_t claims[] = {
        0, 1, (uint64_t)1 << 32, (uint64_t)1 << 40, (uint64_t)1 << 62, UINT64_MAX, UINT64_MAX - HEADER + 1};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        for (int32_t at = 16; at <= 24; at += 8) {
            uint64_t kept = number_at(file.data + at, 8);
            put_at(file.data + at, claims[i], 8);
            write_file(other_path, file.data, file.size);
            assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
            put_at(file.data + at, kept, 8);
        }
    }
    // Flags that a later version might use.
    put_at(file.data + 12, 2, 4);
    write_file(other_path, file.data, file.size);
    assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    free(file.data);
    weir_world_destroy(world);
}

static void a_payload_cut_short_is_refused_though_its_checksum_is_right(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    weir_world *world = make_empty();
    for (size_t size = 0; size < payload.size; size += size < at_bricks(&payload) + 20 ? 7 : 4001) {
        seal(other_path, payload.data, size);
        assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    }
    payload.data[payload.size] = 0;
    seal(other_path, payload.data, payload.size + 1);
    assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    free(payload.data);
    weir_world_destroy(world);
}

typedef struct lie {
    size_t at;
    uint64_t value;
    int32_t size;
    const char *sentence;  // a part of it
} lie;

static void lies_with_a_right_checksum_are_found_out(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    const size_t bricks = at_bricks(&payload), channels = bricks - CHANNELS_BYTES, first = bricks + 4,
                 second = first + BRICK_BYTES;
    const uint32_t nan_bits = 0x7fc00000, infinite = 0x7f800000;
    const lie lies[] = {
        {AT_SOLVER, 0, 1, "solver has no sound name"},
        {AT_SOLVER, 200, 1, "solver has no sound name"},
        {AT_SOLVER + 1, 0, 1, "solver has no sound name"},
        {AT_BOUNDS, 1000, 4, "not a box"},
        {AT_BOUNDS + 12, 0x7fffffff, 4, "not a box"},
        {AT_SIDES, 64, 4, "open sides"},
        {AT_PARAMS, 0, 4, "lacks the parameter gravity.x"},
        {AT_PARAMS, number_at(payload.data + AT_PARAMS, 4) - 1, 4, "lacks the parameter"},
        {AT_PARAMS, (uint32_t)-1, 4, "lacks the parameter gravity.x"},
        {AT_PARAMS, 0x7fffffff, 4, "it has a parameter"},
        {AT_FIRST_PARAM, 0, 1, "a parameter \"\", which momentum has not"},
        {AT_FIRST_PARAM, 200, 1, "a parameter \"\", which momentum has not"},
        {AT_FIRST_PARAM + 3, 0, 1, "a parameter \"\", which momentum has not"},
        {AT_FIRST_PARAM + 9, 'w', 1, "a parameter \"gravity.w\", which momentum has not"},
        {AT_FIRST_PARAM + 9, 'y', 1, "the parameter gravity.y twice"},
        {at_param(&payload, "gravity.z"), infinite, 4, "gravity.z is inf"},
        {at_param(&payload, "damping"), nan_bits, 4, "damping is nan"},
        {at_param(&payload, "noise"), 0x3f800001, 4, "noise is 1"},  // the float after 1
        {at_param(&payload, "smooths"), (uint32_t)-1, 4, "smooths is -1"},
        {at_param(&payload, "cycles"), 17, 4, "cycles is 17"},
        {AT_UPDATE, (uint64_t)-1, 8, "counters"},
        {AT_MATERIALS, (uint32_t)-1, 4, "claims -1 materials"},
        {AT_MATERIALS, 31, 4, "claims 31 materials"},
        {AT_MATERIALS, 1, 4, "material 10 has no sound name"},
        {AT_ADDED, (uint64_t)-1, 8, "account"},
        {AT_ADDED, (uint64_t)1 << 62, 8, "account"},
        {AT_ADDED, 12345, 8, "account says"},
        {AT_REACTIONS, (uint32_t)-2, 4, "claims -2 reactions"},
        {AT_REACTIONS, 65, 4, "claims 65 reactions"},
        {AT_REACTIONS, 1, 4, "a reaction is of material"},
        {AT_CYCLES_NEXT, (uint32_t)-1, 4, "carry the number -1"},
        {AT_NEXT_ID, 0, 4, "number 0"},
        {AT_NEXT_ID, 3, 4, "reservoir or heater 3 of 3"},
        {AT_SOURCE_COUNT, 0x7fffffff, 4, "emitters it claims"},
        {AT_SOURCE_COUNT, (uint64_t)-1, 4, "emitters it claims"},
        {AT_SOURCES, 9, 4, "1 of 3 makes no sense"},                                 // kind
        {AT_SOURCES + 4, 2, 4, "2 of 3 makes no sense"},                             // id
        {AT_SOURCES + 8, 10, 4, "1 of 3 makes no sense"},                            // empty box
        {AT_SOURCES + 8, (uint32_t)-900000000, 4, "1 of 3 makes no sense"},          // box too large
        {AT_SOURCES + 32, 0, 4, "1 of 3 makes no sense"},                            // material
        {AT_SOURCES + 36, (uint64_t)-1, 8, "1 of 3 makes no sense"},                 // rate
        {AT_SOURCES + 44, 65536, 8, "1 of 3 makes no sense"},                        // owed
        {AT_SOURCES + 2 * SOURCE_BYTES + 52, nan_bits, 4, "3 of 3 makes no sense"},  // force
        {channels, 0x7fffffff, 4, "channels of rules"},
        {channels, 60, 4, "channels of rules"},
        {channels + 4, 0, 1, "sound name"},
        {channels + 4, 200, 1, "sound name"},
        {channels + 6, 0, 1, "sound name"},
        {AT_TERRAIN + 1, 0x7fffffff, 4, "terrain it claims"},
        {AT_TERRAIN + 1, (uint64_t)-1, 4, "terrain it claims"},
        {AT_TERRAIN + 5, 0x7fffffff, 4, "outside any world"},
        {AT_TERRAIN + 5 + 8, 0, 4, "out of order"},
        {AT_TERRAIN + 5 + 12, 2, 1, "of no kind"},
        {bricks, 0x7fffffff, 4, "claims 2147483647 bricks"},
        {bricks, (uint64_t)-1, 4, "claims -1 bricks"},
        {bricks, (1 << 22) - 1, 4, "does not hold"},
        {first, 0x7fffffff, 4, "outside any world"},
        {first, 0x80000000, 4, "outside any world"},
        {first, 90, 4, "solid throughout"},
        {first + REST_AT, (uint64_t)1 << 60, 8, "sleeps makes no sense"},  // head
        {first + REST_AT + 8, 5, 8, "sleeps makes no sense"},              // owed, and awake
        {first + REST_AT + 16, 1, 2, "sleeps makes no sense"},             // surface
        {first + REST_AT + 18, 64, 1, "sleeps makes no sense"},            // links
        {first + REST_AT + 19, 2, 1, "sleeps makes no sense"},             // asleep
        {first + REST_AT + 20, 65, 1, "sleeps makes no sense"},            // calm
        {first + REST_AT + 22, 255, 1, "sleeps makes no sense"},           // gentle
        {first + REST_AT + 23, 9, 1, "sleeps makes no sense"},             // looks
        {first + REST_AT + 24, 0x7fffffff, 4, "sleeps makes no sense"},    // rise
        {first + REST_AT + 36, 33, 1, "sleeps makes no sense"},            // wild
        {first + VALUES_AT + 4 * 511, 0xffffffff, 4, "holds -1 drops"},
        {first + VALUES_AT + 4 * 511, 0x7fffffff, 4, "holds 2147483647 drops"},
        {first + VALUES_AT, 1, 4, "solid and holds water"},
        {first + VALUES_AT + 2048, 0x3f800000, 4, "solid and has flow_x"},
        {first + VALUES_AT + 4 * 2048, 0x3f800000, 4, "solid and has pressure"},
        {first + VALUES_AT + 4 * 511, 0x01000000, 4, "holds 16777216 drops"},  // four fills
        {first + VALUES_AT + 2 * 2048 + 4 * 511, nan_bits, 4, "flow_y at cell"},
        {first + VALUES_AT + 2 * 2048 + 4 * 511, 0x7f000000, 4, "flow_y at cell"},  // finite, and far too fast
        {first + VALUES_AT + 4 * 2048 + 4 * 511, 0x7f000000, 4, "pressure at cell"},
        {first + VALUES_AT + 5 * 2048, infinite, 4, "a rule's channel at cell"},
    };
    weir_world *world = make_empty();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t kept[8];
        memcpy(kept, payload.data + lies[i].at, 8);
        put_at(payload.data + lies[i].at, lies[i].value, lies[i].size);
        seal(other_path, payload.data, payload.size);
        assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
        if (!strstr(weir_error_message(), lies[i].sentence)) fail_msg("lie %zu: %s", i, weir_error_message());
        memcpy(payload.data + lies[i].at, kept, 8);
    }
    memcpy(payload.data + second, payload.data + first, 12);
    seal(other_path, payload.data, payload.size);
    assert_int_equal(refuse(world, other_path), WEIR_ERROR_FORMAT);
    assert_non_null(strstr(weir_error_message(), "there twice"));
    free(payload.data);
    weir_world_destroy(world);
}

// Whatever is changed, either the file is refused and the world as it was, or the world is sound and goes on.
static void random_changes_with_a_right_checksum_do_no_harm(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    uint8_t *copy = malloc(payload.size);
    assert_non_null(copy);
    weir_world *world = make_empty();
    uint32_t random = 5;
    int32_t loaded = 0;
    for (int32_t i = 0; i < 200; i++) {
        memcpy(copy, payload.data, payload.size);
        for (int32_t k = 0; k < 1 + i % 3; k++) {
            random = random * 1664525u + 1013904223u;
            // Every other change hits the beginning, where the lists and their lengths are.
            size_t at = (random >> 4) % (k % 2 ? payload.size : at_bricks(&payload) + 64);
            random = random * 1664525u + 1013904223u;
            copy[at] = (uint8_t)(random >> 24);
        }
        seal(other_path, copy, payload.size);
        if (weir_world_load(world, other_path) == WEIR_OK) {
            loaded++;
            assert_int_equal(weir_world_step(world), WEIR_OK);
        }
        assert_int_equal(weir_world_ledger(world).drift, 0);
    }
    assert_true(loaded > 0 && loaded < 200);
    free(copy);
    free(payload.data);
    weir_world_destroy(world);
}

// ---- Files that do not fit -------------------------------------------------------------------------------------------------

static void a_file_of_another_solver_or_version_is_refused(void **state)
{
    weir_world *classic = make_scene(WEIR_SOLVER_CLASSIC), *world = make_empty();
    assert_int_equal(weir_world_save(classic, path), WEIR_OK);
    assert_int_equal(refuse(world, path), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "classic"));
    save_scene(path);
    bytes file = read_file(path);
    const char *const sentences[] = {"snapshot of version 5", "snapshot of version 7"};
    for (uint64_t k = 0; k < 2; k++) {
        put_at(file.data + 8, 5 + 2 * k, 4);
        write_file(path, file.data, file.size);
        assert_int_equal(refuse(world, path), WEIR_ERROR_VERSION);
        assert_non_null(strstr(weir_error_message(), sentences[k]));
    }
    free(file.data);
    weir_world_destroy(classic);
    weir_world_destroy(world);
}

// By name, and so in any order.
static void parameters_may_lie_in_another_order(void **state)
{
    save_scene(path);
    bytes payload = payload_of(path);
    const uint64_t hash = hash_of(&payload);
    uint8_t *one = payload.data + at_param(&payload, "gravity.x") - 9,
            *other = payload.data + at_param(&payload, "gravity.y") - 9;
    uint8_t kept[13];
    memcpy(kept, one, sizeof kept);
    memcpy(one, other, sizeof kept);
    memcpy(other, kept, sizeof kept);
    assert_true(hash_of(&payload) == hash);
    free(payload.data);
}

static void parameters_of_other_solvers_are_neither_saved_nor_hashed(void **state)
{
    weir_world *saved = make_scene(WEIR_SOLVER_MOMENTUM), *world = make_empty();
    const uint64_t hash = weir_world_hash(saved);
    weir_params params = weir_world_params(saved);
    params.momentum.viscosity = 0.125f;
    params.classic.iterations = 3;
    assert_int_equal(weir_world_set_params(saved, &params), WEIR_OK);
    assert_true(weir_world_hash(saved) != hash);
    params.momentum.viscosity = 0;
    assert_int_equal(weir_world_set_params(saved, &params), WEIR_OK);
    assert_true(weir_world_hash(saved) == hash);
    assert_int_equal(weir_world_save(saved, path), WEIR_OK);

    params = weir_world_params(world);
    params.momentum.viscosity = 0.125f;
    params.classic.iterations = 5;
    assert_int_equal(weir_world_set_params(world, &params), WEIR_OK);
    assert_int_equal(weir_world_load(world, path), WEIR_OK);
    assert_true(weir_world_hash(world) == hash);
    params = weir_world_params(world);
    assert_true(params.momentum.viscosity == 0 && params.noise_seed == 77 && params.classic.iterations == 5);
    weir_world_destroy(saved);
    weir_world_destroy(world);
}

static void a_file_with_a_channel_that_nobody_has_is_refused(void **state)
{
    save_scene(path);
    weir_world *world = make(BOUNDS, WEIR_SOLVER_MOMENTUM, false, NULL);
    assert_int_equal(refuse(world, path), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "\"dye\""));
    weir_world_destroy(world);
}

static void game_terrain(void *user, weir_coord origin, uint8_t shares[512])
{
    for (int32_t i = 0; i < 512; i++) shares[i] = origin.y + (i >> 3 & 7) < *(int32_t *)user ? 255 : 0;
}

static void terrain_of_the_game_is_asked_and_not_stored(void **state)
{
    int32_t floor_at = 0;
    weir_world_def def = weir_world_def_default();
    def.bounds = BOUNDS;
    def.threads = 1;
    def.terrain = game_terrain;
    def.terrain_user = &floor_at;
    weir_world *world, *again;
    assert_int_equal(weir_world_create(&def, &world), WEIR_OK);
    assert_int_equal(weir_world_create(&def, &again), WEIR_OK);
    assert_int_equal(weir_world_fill(world, (weir_box){{0, 0, 0}, {3, 3, 3}}, WEIR_WATER, 1), WEIR_OK);
    assert_int_equal(weir_world_save(world, path), WEIR_OK);
    assert_int_equal(weir_world_load(again, path), WEIR_OK);
    assert_true(weir_world_hash(again) == weir_world_hash(world));
    assert_int_equal(weir_world_cell(again, (weir_coord){0, -1, 0}).solid, 255);
    floor_at = 2;  // the game's terrain is no longer the one in which the water lay
    assert_int_equal(refuse(again, path), WEIR_ERROR_FORMAT);
    weir_world *own = make_empty();
    assert_int_equal(refuse(own, path), WEIR_ERROR_ARGUMENT);
    weir_world_destroy(world);
    weir_world_destroy(again);
    weir_world_destroy(own);
}

static void files_that_cannot_be_read_or_written_are_told_by_name(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    char name[128];
    snprintf(name, sizeof name, "%s/not-there.weir", directory);
    assert_int_equal(refuse(world, name), WEIR_ERROR_FILE);
    assert_int_equal(refuse(world, directory), WEIR_ERROR_FILE);
    snprintf(name, sizeof name, "%s/no-such-folder/a.weir", directory);
    assert_int_equal(weir_world_save(world, name), WEIR_ERROR_FILE);
    assert_non_null(strstr(weir_error_message(), name));
    // A folder cannot be replaced by a file; what was written beside it must be gone.
    snprintf(name, sizeof name, "%s/folder", directory);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(weir_world_save(world, name), WEIR_ERROR_FILE);
    assert_int_equal(rmdir(name), 0);
    DIR *folder = opendir(directory);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) assert_null(strstr(entry->d_name, ".tmp-"));
    closedir(folder);
    weir_world_destroy(world);
}

static void while_a_step_runs_nothing_is_saved_or_loaded(void **state)
{
    save_scene(path);
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    assert_int_equal(weir_world_step_begin(world), WEIR_OK);
    assert_int_equal(weir_world_save(world, other_path), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_load(world, path), WEIR_ERROR_BUSY);
    assert_int_equal(weir_world_step_end(world), WEIR_OK);
    weir_world_destroy(world);
}

static void without_memory_nothing_is_lost(void **state)
{
    save_scene(path);
    test_memory counted = {0};
    weir_world *world = make(BOUNDS, WEIR_SOLVER_MOMENTUM, true, &counted);
    assert_int_equal(weir_world_fill(world, (weir_box){{0, 0, 0}, {4, 4, 4}}, WEIR_WATER, 1), WEIR_OK);
    const uint64_t hash = weir_world_hash(world);
    int32_t failures = 0;
    for (;; failures++) {
        const int64_t out = counted.bytes;
        counted.fail_at = counted.calls + 1 + failures;
        weir_status status = weir_world_load(world, path);
        counted.fail_at = 0;
        if (status == WEIR_OK) break;
        assert_int_equal(status, WEIR_ERROR_MEMORY);
        assert_true(weir_world_hash(world) == hash);
        assert_true(counted.bytes == out);
    }
    assert_true(failures > 10);
    for (failures = 0;; failures++) {
        counted.fail_at = counted.calls + 1 + failures;
        weir_status status = weir_world_save(world, other_path);
        counted.fail_at = 0;
        if (status == WEIR_OK) break;
        assert_int_equal(status, WEIR_ERROR_MEMORY);
    }
    assert_true(failures > 2);
    weir_world_destroy(world);
    assert_int_equal(counted.bytes, 0);
}

// ---- Crashes ---------------------------------------------------------------------------------------------------------------

static void a_crash_while_saving_leaves_a_whole_file(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM), *loaded = make_empty();
    assert_int_equal(weir_world_save(world, path), WEIR_OK);
    for (int32_t i = 0; i < 25; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (int32_t n = 0;; n++) {
                weir_world_fill(world, (weir_box){{-5, 0, -5}, {5, 9, 5}}, WEIR_WATER, (float)(n % 8) / 8);
                weir_world_save(world, path);
            }
        }
        usleep(3000 + 1700 * (useconds_t)i);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(weir_world_load(loaded, path), WEIR_OK);
        assert_int_equal(weir_world_ledger(loaded).drift, 0);
        char temporary[128];
        snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)child);
        unlink(temporary);
    }
    weir_world_destroy(world);
    weir_world_destroy(loaded);
}

static int make_directory(void **state)
{
    if (!mkdtemp(directory)) return -1;
    snprintf(path, sizeof path, "%s/a.weir", directory);
    snprintf(other_path, sizeof other_path, "%s/b.weir", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(path);
    unlink(other_path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_goes_on_from_a_file_as_it_would_have),
        cmocka_unit_test(an_empty_endless_world_can_be_saved_too),
        cmocka_unit_test(to_save_changes_nothing_and_twice_gives_the_same_bytes),
        cmocka_unit_test(after_a_load_everything_has_changed),
        cmocka_unit_test(a_plain_file_is_as_good_as_a_packed_one),
        cmocka_unit_test(who_asks_for_it_gets_plain_files),
        cmocka_unit_test(every_field_of_a_snapshot_is_in_the_hash),
        cmocka_unit_test(the_past_is_not_in_the_hash),
        cmocka_unit_test(the_same_water_elsewhere_or_of_another_solver_has_another_hash),
        cmocka_unit_test(a_file_cut_short_is_refused_wherever_it_is_cut),
        cmocka_unit_test(a_single_changed_byte_is_noticed),
        cmocka_unit_test(a_header_that_claims_too_much_is_not_believed),
        cmocka_unit_test(a_payload_cut_short_is_refused_though_its_checksum_is_right),
        cmocka_unit_test(lies_with_a_right_checksum_are_found_out),
        cmocka_unit_test(random_changes_with_a_right_checksum_do_no_harm),
        cmocka_unit_test(a_file_of_another_solver_or_version_is_refused),
        cmocka_unit_test(parameters_may_lie_in_another_order),
        cmocka_unit_test(parameters_of_other_solvers_are_neither_saved_nor_hashed),
        cmocka_unit_test(a_file_with_a_channel_that_nobody_has_is_refused),
        cmocka_unit_test(terrain_of_the_game_is_asked_and_not_stored),
        cmocka_unit_test(files_that_cannot_be_read_or_written_are_told_by_name),
        cmocka_unit_test(while_a_step_runs_nothing_is_saved_or_loaded),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(a_crash_while_saving_leaves_a_whole_file),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
