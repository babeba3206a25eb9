// Deltas: a second world shows the same fluid, to the drop, however it came to it; and bytes from strangers do no harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "test_memory.h"
#include "test_world.h"
#include "world/delta.h"
#include <math.h>

enum { ROOM = 1 << 22, X = 48, Y = 32, Z = 40 };

static uint8_t bytes[ROOM];

static weir_world_def def_of(weir_solver solver)
{
    return test_def(solver, X, Y, Z);
}

static bool has_opencl(void)
{
    weir_device device;
    return weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device) == WEIR_OK;
}

static size_t take(const weir_world *server, int64_t *mark, uint32_t parts)
{
    size_t size;
    assert_ok(weir_world_delta(server, mark, parts, bytes, sizeof bytes, &size));
    assert_true(size > 0 && size <= sizeof bytes);
    return size;
}

// Sends what changed since the client's mark.
static size_t send(const weir_world *server, weir_world *client)
{
    int64_t mark = weir_world_delta_mark(client);
    const size_t size = take(server, &mark, 0);
    assert_ok(weir_world_apply_delta(client, bytes, size));
    assert_true(weir_world_delta_mark(client) == mark);
    return size;
}

static void assert_shows(const weir_world *client, const weir_world *server)
{
    const weir_box all = test_box(0, 0, 0, X, Y, Z);
    float *there = test_fills(server, all), *here = test_fills(client, all);
    assert_memory_equal(here, there, (size_t)X * Y * Z * sizeof *there);
    assert_exact(client);
    const weir_box_sum a = weir_world_box_sum(server, all), b = weir_world_box_sum(client, all);
    assert_true(a.drops == b.drops && a.wet_cells == b.wet_cells);
    for (int32_t x = 1; x < X; x += 7) {
        const double s = weir_world_surface(server, x, 9, 0, Y), c = weir_world_surface(client, x, 9, 0, Y);
        assert_true(s == c || (isnan(s) && isnan(c)));
    }
    free(there);
    free(here);
}

// Where the world's fluid has come from: hills, a lake, rain, and a game that digs and builds. What is done to terrain is done to all.
static void play(weir_world *server, weir_world *const *clients, int32_t count, int32_t update, scene_random *random)
{
    const int32_t x = scene_random_between(random, 0, X - 9), y = scene_random_between(random, 0, Y - 9),
                  z = scene_random_between(random, 0, Z - 9), kind = scene_random_between(random, 0, 11);
    const weir_box box =
        test_box(x, y, z, x + scene_random_between(random, 1, 9), y + scene_random_between(random, 1, 9), z + 7);
    if (update == 0) test_fill(server, test_box(0, 0, 0, X / 2, Y / 2, Z), 1);
    if (kind == 0) test_fill(server, box, 0.7f);
    if (kind == 1) assert_ok(weir_world_drain(server, box));
    if (kind == 2 || kind == 3) {
        const uint8_t share = kind == 2 ? 255 : (uint8_t)scene_random_between(random, 1, 255);
        assert_ok(weir_world_build(server, box, share));
        for (int32_t i = 0; i < count; i++) assert_ok(weir_world_build(clients[i], box, share));
    }
    if (kind == 4) {
        assert_ok(weir_world_dig(server, box));
        for (int32_t i = 0; i < count; i++) assert_ok(weir_world_dig(clients[i], box));
    }
    if (kind == 5) assert_ok(weir_world_drain(server, test_box(0, 4, 0, X, Y, Z)));
    test_step(server, 1);
}

// One client hears of every update, one of every fifth, and one runs its own water in between.
static void follow(weir_solver solver, weir_backend of_server, weir_backend of_client, int32_t updates)
{
    weir_world_def def = def_of(solver);
    def.backend = of_server;
    weir_world *server = test_make(&def), *clients[3];
    def.backend = of_client;
    for (int32_t i = 0; i < 3; i++) clients[i] = test_make(&def);
    scene_random random = scene_random_seeded(77 + (uint32_t)solver);
    for (int32_t update = 0; update < updates; update++) {
        play(server, clients, 3, update, &random);
        send(server, clients[0]);
        assert_shows(clients[0], server);
        if (update % 5 == 4) {
            send(server, clients[1]);
            assert_shows(clients[1], server);
        }
        if (update % 9 == 8) {
            // A client that has gone its own way gets everything.
            int64_t mark = 0;
            const size_t size = take(server, &mark, 0);
            assert_ok(weir_world_apply_delta(clients[2], bytes, size));
            assert_shows(clients[2], server);
            test_step(clients[2], 12);
            assert_exact(clients[2]);
        }
    }
    assert_true(weir_world_bricks(clients[0], NULL, 0) <= weir_world_bricks(server, NULL, 0) + 200);
    for (int32_t i = 0; i < 3; i++) weir_world_destroy(clients[i]);
    weir_world_destroy(server);
}

static void a_client_shows_what_its_server_holds(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++)
        follow(solver, WEIR_BACKEND_CPU, WEIR_BACKEND_CPU, test_length(120, 10));
}

// Terrain that is built deep in a lake pushes water aside: on the server the lake rises. On a client it must not be pushed into bricks of which
// the delta has nothing to say.
static void what_is_built_in_a_lake_is_told_whole(void **state)
{
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *server = test_make(&def), *client = test_make(&def);
    test_fill(server, test_box(0, 0, 0, X, 24, Z), 1);
    test_step(server, 40);
    assert_int_equal(weir_world_stats(server).awake_bricks, 0);
    send(server, client);
    for (int32_t i = 0; i < 6; i++) {
        const weir_box box = test_box(6, 2, 4 + 5 * i, 9 + i, 6, 8 + 5 * i);
        assert_ok(weir_world_build(server, box, i % 2 ? 255 : 200));
        assert_ok(weir_world_build(client, box, i % 2 ? 255 : 200));
        test_step(server, 3);
        send(server, client);
        assert_shows(client, server);
    }
    weir_world_destroy(server);
    weir_world_destroy(client);
}

// A client that begins with the server's snapshot has still water as well; what is told of a part of it leaves the rest as it is.
static void a_client_may_begin_with_a_snapshot(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        const weir_world_def def = def_of(solver);
        weir_world *server = test_make(&def), *client = test_make(&def);
        scene_random random = scene_random_seeded(5);
        for (int32_t update = 0; update < test_length(120, 20); update++) {
            play(server, &client, 1, update, &random);
            if (update % 20 == 10) {
                size_t size;
                test_step(server, 20);
                assert_ok(weir_world_save_memory(server, bytes, sizeof bytes, &size));
                assert_ok(weir_world_load_memory(client, bytes, size));
                assert_true(weir_world_delta_mark(client) == 0);
                assert_shows(client, server);
            }
            send(server, client);
            assert_shows(client, server);
        }
        weir_world_destroy(server);
        weir_world_destroy(client);
    }
}

static void devices_serve_and_follow_too(void **state)
{
    if (!has_opencl()) skip();
    follow(WEIR_SOLVER_MOMENTUM, WEIR_BACKEND_OPENCL, WEIR_BACKEND_OPENCL, test_device_length(27, 10));
    follow(WEIR_SOLVER_CLASSIC, WEIR_BACKEND_OPENCL, WEIR_BACKEND_CPU, test_device_length(18, 5));
}

// Water that stands is no other fluid than water that moves, and a client of another solver shows it too.
static void a_client_may_have_another_solver(void **state)
{
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *server = test_make(&def);
    def.solver = WEIR_SOLVER_MOMENTUM;
    weir_world *client = test_make(&def);
    test_fill(server, test_box(4, 0, 4, 20, 13, 30), 0.9f);
    for (int32_t i = 0; i < 12; i++) {
        test_step(server, 10);
        send(server, client);
        assert_shows(client, server);
    }
    // Drops that settle cannot count.
    size_t size;
    int64_t mark = 0;
    test_step(client, 3);
    assert_ok(weir_world_delta(client, &mark, 0, bytes, sizeof bytes, &size));
    const uint64_t hash = weir_world_hash(server);
    assert_int_equal(weir_world_apply_delta(server, bytes, size), WEIR_ERROR_UNSUPPORTED);
    assert_true(weir_world_hash(server) == hash);
    weir_world_destroy(client);
    weir_world_destroy(server);
}

static void flow_is_told_where_it_is_asked_for(void **state)
{
    enum { CELLS = X * Y * Z };
    static weir_vec there[CELLS], here[CELLS];
    for (weir_solver solver = 0; (int)solver < TEST_FLOW_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        weir_world *server = test_make(&def), *client = test_make(&def);
        int64_t mark = 0;
        float most = 0;
        for (int32_t i = 0; i < 10; i++) {
            if (i == 0) test_fill(server, test_box(0, 0, 0, 20, 24, Z), 1);
            if (i == 6) assert_ok(weir_world_drain(server, test_box(0, 8, 0, X, Y, Z)));
            test_step(server, 4);
            const size_t size = take(server, &mark, WEIR_DELTA_FLOW);
            assert_ok(weir_world_apply_delta(client, bytes, size));
            assert_shows(client, server);
            assert_ok(weir_world_read_flow(server, def.bounds, there));
            assert_ok(weir_world_read_flow(client, def.bounds, here));
            float largest = 0;
            for (int32_t c = 0; c < CELLS; c++) {
                const float *a = &there[c].x, *b = &here[c].x;
                for (int32_t k = 0; k < 3; k++) {
                    largest = fmaxf(largest, fabsf(a[k] - b[k]));
                    most = fmaxf(most, fabsf(a[k]));
                }
            }
            assert_true(largest <= 0.5f / DELTA_FLOW_STEPS + 1e-6f);
        }
        assert_true(most > 0.02f);
        test_step(client, 2);
        weir_world_destroy(client);
        weir_world_destroy(server);
    }
}

// ---- Marks -----------------------------------------------------------------------------------------------------------------

static void what_is_missing_or_late_is_told(void **state)
{
    static uint8_t first[ROOM], second[ROOM], third[ROOM];
    size_t sizes[3];
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *server = test_make(&def), *client = test_make(&def);
    int64_t mark = 0;
    uint8_t *to[3] = {first, second, third};
    for (int32_t i = 0; i < 3; i++) {
        test_fill(server, test_box(8 * i, 0, 0, 8 * i + 7, 20, 9), 1);
        test_step(server, 3);
        assert_ok(weir_world_delta(server, &mark, 0, to[i], ROOM, &sizes[i]));
    }
    assert_ok(weir_world_apply_delta(client, first, sizes[0]));
    const uint64_t hash = weir_world_hash(client);
    assert_int_equal(weir_world_apply_delta(client, third, sizes[2]), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "is missing"));
    assert_true(weir_world_hash(client) == hash);
    assert_ok(weir_world_apply_delta(client, second, sizes[1]));
    assert_ok(weir_world_apply_delta(client, third, sizes[2]));
    assert_shows(client, server);
    assert_int_equal(weir_world_apply_delta(client, second, sizes[1]), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "came late"));
    assert_ok(weir_world_apply_delta(client, third, sizes[2]));  // once more is no harm
    assert_shows(client, server);
    // From further back than need be, as a server sends it that has not heard of the last one yet.
    mark = 0;
    assert_ok(weir_world_apply_delta(client, bytes, take(server, &mark, 0)));
    assert_shows(client, server);
    assert_true(mark == weir_world_delta_mark(client));
    weir_world_destroy(client);
    weir_world_destroy(server);
}

static void room_that_is_too_small_leaves_the_mark(void **state)
{
    weir_world_def def = def_of(WEIR_SOLVER_MOMENTUM);
    weir_world *server = test_make(&def);
    test_fill(server, test_box(0, 0, 0, 20, 20, 20), 1);
    test_step(server, 2);
    int64_t mark = 0;
    size_t size, again;
    assert_ok(weir_world_delta(server, &mark, 0, NULL, 0, &size));
    assert_true(mark == 0);
    assert_int_equal(weir_world_delta(server, &mark, 0, bytes, size - 1, &again), WEIR_ERROR_LIMIT);
    assert_true(mark == 0 && again == size);
    assert_ok(weir_world_delta(server, &mark, 0, bytes, size, &again));
    assert_true(mark > 0 && again == size);
    assert_ok(weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size));
    assert_true(size < 32);  // nothing has changed
    int64_t wrong = mark + 1000;
    assert_int_equal(weir_world_delta(server, &wrong, 0, bytes, sizeof bytes, &size), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_world_delta(server, &mark, 2, bytes, sizeof bytes, &size), WEIR_ERROR_ARGUMENT);
    weir_world_destroy(server);
}

static void a_background_step_does_not_disturb_a_delta(void **state)
{
    static uint8_t before[ROOM];
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        def.threads = 3;
        weir_world *server = test_make(&def), *client = test_make(&def);
        test_fill(server, test_box(0, 0, 0, 20, 20, Z), 1);
        test_step(server, 5);
        int64_t mark = 0, during = 0;
        size_t size, here;
        assert_ok(weir_world_delta(server, &mark, 0, before, sizeof before, &size));
        assert_ok(weir_world_step_begin(server));
        assert_ok(weir_world_delta(server, &during, 0, bytes, sizeof bytes, &here));
        assert_true(here == size && during == mark && memcmp(bytes, before, size) == 0);
        assert_ok(weir_world_step_end(server));
        assert_ok(weir_world_step_begin(client));
        assert_int_equal(weir_world_apply_delta(client, bytes, here), WEIR_ERROR_BUSY);
        assert_ok(weir_world_step_end(client));
        assert_ok(weir_world_apply_delta(client, bytes, here));
        assert_true(weir_world_ledger(client).held > 0);
        weir_world_destroy(client);
        weir_world_destroy(server);
    }
}

// ---- Size ------------------------------------------------------------------------------------------------------------------

static void level_water_takes_few_bytes(void **state)
{
    assert_int_equal(setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1), 0);
    weir_world_def def = test_def(WEIR_SOLVER_SETTLE, 256, 16, 256);
    weir_world *server = test_make(&def);
    test_fill(server, test_box(0, 0, 0, 256, 9, 256), 0.5f);
    test_step(server, 60);
    int64_t mark = 0;
    const size_t bricks = (size_t)weir_world_bricks(server, NULL, 0);
    assert_true(take(server, &mark, 0) < 9 * bricks);
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    weir_world_destroy(server);
}

// ---- Bytes from strangers ----------------------------------------------------------------------------------------------------

static void water_in_stone_is_refused(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        weir_world_def def = def_of(solver);
        weir_world *server = test_make(&def), *client = test_make(&def);
        assert_ok(weir_world_build(client, test_box(3, 0, 3, 4, 5, 4), 255));
        test_fill(client, test_box(20, 0, 20, 30, 5, 30), 1);
        test_fill(server, test_box(0, 0, 0, 20, 20, Z), 1);
        const uint64_t hash = weir_world_hash(client);
        int64_t mark = 0;
        const size_t size = take(server, &mark, 0);
        assert_int_equal(weir_world_apply_delta(client, bytes, size), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), "terrain"));
        assert_true(weir_world_hash(client) == hash && weir_world_delta_mark(client) == 0);
        assert_ok(weir_world_dig(client, test_box(3, 0, 3, 4, 5, 4)));
        assert_ok(weir_world_apply_delta(client, bytes, size));
        assert_shows(client, server);
        weir_world_destroy(client);
        weir_world_destroy(server);
    }
}

// With the checksum that goes with it.
static void seal(uint8_t *delta, size_t size)
{
    size_t number = 1;
    while (DELTA_HEADER_BYTES + number < size && delta[DELTA_HEADER_BYTES + number - 1] & 0x80) number++;
    if (DELTA_HEADER_BYTES + number > size) return;
    const uint8_t *stored = delta + DELTA_HEADER_BYTES + number;
    const uint64_t check =
        hash_bytes(stored, size - DELTA_HEADER_BYTES - number, hash_bytes(delta + DELTA_HEADER_BYTES, number, delta[5]));
    for (int32_t i = 0; i < 4; i++) delta[6 + i] = (uint8_t)(check >> 8 * i);
}

static void damaged_bytes_change_nothing(void **state)
{
    static uint8_t whole[ROOM], damaged[ROOM];
    for (int32_t plain = 0; plain < 2; plain++) {
        assert_int_equal(setenv("WEIR_PLAIN_SNAPSHOTS", plain ? "1" : "0", 1), 0);
        weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
        weir_world *server = test_make(&def), *client = test_make(&def), *reference = test_make(&def);
        test_fill(server, test_box(0, 0, 0, 9, 3, 9), 0.5f);
        test_step(server, 2);
        int64_t mark = 0;
        size_t size;
        assert_ok(weir_world_delta(server, &mark, 0, whole, sizeof whole, &size));
        const uint64_t hash = weir_world_hash(client);
        for (size_t cut = 0; cut < size; cut += 1 + cut / 24) {
            memcpy(damaged, whole, size);
            for (int32_t sealed = 0; sealed < 2; sealed++) {
                if (sealed && cut > DELTA_HEADER_BYTES) seal(damaged, cut);
                assert_int_equal(weir_world_apply_delta(client, damaged, cut), WEIR_ERROR_FORMAT);
            }
            assert_true(weir_world_hash(client) == hash);
        }
        // Whatever is accepted keeps the account.
        scene_random random = scene_random_seeded(99);
        for (int32_t i = 0; i < test_length(2000, 200); i++) {
            memcpy(damaged, whole, size);
            const int32_t at = scene_random_between(&random, 0, (int32_t)size - 1);
            damaged[at] ^= (uint8_t)(1 << scene_random_between(&random, 0, 7));
            assert_int_not_equal(weir_world_apply_delta(reference, damaged, size), WEIR_OK);
            seal(damaged, size);
            const uint64_t before = weir_world_hash(reference);
            if (weir_world_apply_delta(reference, damaged, size) != WEIR_OK) assert_true(weir_world_hash(reference) == before);
            assert_exact(reference);
        }
        weir_world_destroy(reference);
        weir_world_destroy(client);
        weir_world_destroy(server);
    }
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
}

// Nothing is no material that a cell could hold: such a brick would be looked at as one that is dry.
static void water_of_no_material_is_refused(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        for (int32_t material = 0; material < 2; material++) {
            // From mark 0 to 5 in update 3, in units of 2^14 drops, no materials, one brick at the origin, all of it full.
            uint8_t delta[] = {'W',
                               'D',
                               'L',
                               'T',
                               DELTA_VERSION,
                               0,
                               0,
                               0,
                               0,
                               0,
                               14,
                               0,
                               5,
                               3,
                               14,
                               0,
                               1,
                               DELTA_MATERIAL | DELTA_STILL,
                               0,
                               0,
                               0,
                               (uint8_t)material,
                               DELTA_FULL | DELTA_RUN_LONG << 2,
                               ((BRICK_CELLS - 1 - DELTA_RUN_LONG) & 0x7f) | 0x80,
                               (BRICK_CELLS - 1 - DELTA_RUN_LONG) >> 7};
            weir_world_def def = def_of(solver);
            weir_world *client = test_make(&def);
            delta[10] = sizeof delta - 11;
            seal(delta, sizeof delta);
            test_fill(client, test_box(4, 0, 0, 8, 4, 8), 1);
            const uint64_t hash = weir_world_hash(client);
            assert_int_equal(weir_world_apply_delta(client, delta, sizeof delta), material ? WEIR_OK : WEIR_ERROR_FORMAT);
            assert_exact(client);
            assert_true(material || weir_world_hash(client) == hash);
            weir_world_destroy(client);
        }
    }
}

static void another_worlds_materials_are_refused(void **state)
{
    weir_world_def def = def_of(WEIR_SOLVER_SETTLE);
    weir_world *server = test_make(&def), *client = test_make(&def);
    weir_material material;
    assert_ok(weir_world_add_material(server, &(weir_material_def){"brine", 1.1f, 1, {0, 0, 1}}, &material));
    test_fill(server, test_box(0, 0, 0, 9, 3, 9), 0.5f);
    int64_t mark = 0;
    const size_t size = take(server, &mark, 0);
    assert_int_equal(weir_world_apply_delta(client, bytes, size), WEIR_ERROR_ARGUMENT);
    assert_non_null(strstr(weir_error_message(), "brine"));
    assert_ok(weir_world_add_material(client, &(weir_material_def){"brine", 1.1f, 1, {0, 0, 1}}, &material));
    assert_ok(weir_world_apply_delta(client, bytes, size));
    weir_world_destroy(client);
    weir_world_destroy(server);
}

static void memory_may_end_anywhere(void **state)
{
    for (weir_solver solver = 0; solver < (weir_solver)TEST_REGION_SOLVERS; solver++) {
        test_memory of_server = {0}, of_client = {0};
        weir_world_def def = def_of(solver);
        def.allocator = test_memory_hooks(&of_server);
        weir_world *server = test_make(&def);
        def.allocator = test_memory_hooks(&of_client);
        weir_world *client = test_make(&def);
        test_fill(server, test_box(0, 0, 0, 20, 20, 20), 1);
        test_step(server, 3);
        int64_t mark = 0;
        size_t size = 0;
        weir_status status = WEIR_ERROR_MEMORY;
        for (int64_t n = 1; status != WEIR_OK; n++) {
            const int64_t out = of_server.bytes;
            of_server.fail_at = of_server.calls + n;
            status = weir_world_delta(server, &mark, 0, bytes, sizeof bytes, &size);
            assert_true(status == WEIR_OK || (status == WEIR_ERROR_MEMORY && mark == 0));
            assert_true(of_server.bytes == out);
        }
        of_server.fail_at = 0;
        const uint64_t hash = weir_world_hash(client);
        status = WEIR_ERROR_MEMORY;
        for (int64_t n = 1; status != WEIR_OK; n += 1 + n / 16) {
            of_client.fail_at = of_client.calls + n;
            status = weir_world_apply_delta(client, bytes, size);
            of_client.fail_at = 0;
            assert_true(status == WEIR_OK || (status == WEIR_ERROR_MEMORY && weir_world_hash(client) == hash));
            assert_exact(client);
        }
        assert_shows(client, server);
        weir_world_destroy(client);
        weir_world_destroy(server);
        assert_true(of_server.bytes == 0 && of_client.bytes == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_shows_what_its_server_holds),
        cmocka_unit_test(what_is_built_in_a_lake_is_told_whole),
        cmocka_unit_test(a_client_may_begin_with_a_snapshot),
        cmocka_unit_test(devices_serve_and_follow_too),
        cmocka_unit_test(a_client_may_have_another_solver),
        cmocka_unit_test(flow_is_told_where_it_is_asked_for),
        cmocka_unit_test(what_is_missing_or_late_is_told),
        cmocka_unit_test(room_that_is_too_small_leaves_the_mark),
        cmocka_unit_test(a_background_step_does_not_disturb_a_delta),
        cmocka_unit_test(level_water_takes_few_bytes),
        cmocka_unit_test(water_in_stone_is_refused),
        cmocka_unit_test(damaged_bytes_change_nothing),
        cmocka_unit_test(water_of_no_material_is_refused),
        cmocka_unit_test(another_worlds_materials_are_refused),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
