// Snapshots without files: in memory and through functions of the game's own. The bytes are those of a file, in whatever pieces they
// come, and a function that fails leaves the world as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_files.h"
#include "test_memory.h"
#include "test_world.h"

// A game's own place for bytes. It takes and gives odd pieces, and fails at a call if told to.
typedef struct stream {
    test_bytes bytes;
    size_t at;        // read so far
    int64_t piece;    // most bytes per call; 0: any
    int64_t calls;    // so far
    int64_t fail_at;  // the call that fails, from 1; 0: none
    int64_t answer;   // of the call that fails
} stream;

static int64_t piece_of(stream *s, int64_t size)
{
    int64_t piece = s->piece > 0 ? 1 + (s->calls * 7919) % s->piece : size;
    return piece < size ? piece : size;
}

static int64_t stream_write(void *user, const void *bytes, int64_t size)
{
    stream *s = user;
    assert_true(size > 0);
    if (++s->calls == s->fail_at) return s->answer;
    int64_t piece = piece_of(s, size);
    test_put(&s->bytes, bytes, (size_t)piece);
    return piece;
}

static int64_t stream_read(void *user, void *bytes, int64_t size)
{
    stream *s = user;
    assert_true(size > 0);
    if (++s->calls == s->fail_at) return s->answer;
    int64_t left = (int64_t)(s->bytes.size - s->at), piece = piece_of(s, size);
    if (piece > left) piece = left;
    memcpy(bytes, s->bytes.at + s->at, (size_t)piece);
    s->at += (size_t)piece;
    return piece;
}

static weir_world *make(weir_solver solver, test_memory *counted)
{
    weir_world_def def = test_def(solver, 40, 24, 24);
    if (counted) def.allocator = test_memory_hooks(counted);
    return test_make(&def);
}

static weir_world *make_scene(weir_solver solver)
{
    weir_world *world = make(solver, NULL);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 40, 3, 24), 255));
    test_fill(world, test_box(0, 3, 0, 17, 20, 24), 1);
    assert_ok(weir_world_add_emitter(world, test_box(30, 18, 8, 33, 20, 11), WEIR_WATER, 0.37f, NULL));
    assert_ok(weir_world_add_force(world, test_box(0, 0, 0, 40, 24, 24), (weir_vec){0.001f, 0, -0.002f}, NULL));
    test_step(world, 15);
    return world;
}

// The bytes of a file of a world.
static test_bytes file_of(const weir_world *world)
{
    const char *path = test_path(".weir");
    assert_ok(weir_world_save(world, path));
    test_bytes bytes = test_read(path);
    unlink(path);
    return bytes;
}

static void assert_same(const test_bytes *a, const test_bytes *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->at, b->at, a->size);
}

static void assert_as_before(const weir_world *world, uint64_t hash, int32_t bricks)
{
    assert_true(weir_world_hash(world) == hash);
    assert_int_equal(weir_world_bricks(world, NULL, 0), bricks);
    assert_exact(world);
}

static void memory_holds_the_bytes_of_a_file_and_gives_the_world_back(void **state)
{
    for (int solver = 0; solver < TEST_FLOW_SOLVERS; solver++) {
        weir_world *world = make_scene((weir_solver)solver), *loaded = make((weir_solver)solver, NULL);
        const uint64_t hash = weir_world_hash(world);
        test_bytes file = file_of(world);
        size_t size = 0, again = 0;
        assert_ok(weir_world_save_memory(world, NULL, 0, &size));
        assert_int_equal(size, file.size);
        uint8_t *bytes = malloc(size + 64);
        memset(bytes, 0xee, size + 64);
        assert_ok(weir_world_save_memory(world, bytes, size + 64, &again));
        assert_int_equal(again, size);
        assert_memory_equal(bytes, file.at, size);
        assert_int_equal(bytes[size], 0xee);
        assert_true(weir_world_hash(world) == hash);

        assert_ok(weir_world_load_memory(loaded, bytes, size));
        assert_true(weir_world_hash(loaded) == hash);
        test_step(world, 5);
        test_step(loaded, 5);
        assert_true(weir_world_hash(loaded) == weir_world_hash(world));
        weir_ledger a = weir_world_ledger(world), b = weir_world_ledger(loaded);
        assert_memory_equal(&a, &b, sizeof a);
        free(bytes);
        free(file.at);
        weir_world_destroy(world);
        weir_world_destroy(loaded);
    }
}

static void too_little_room_is_told_and_never_written_past(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    size_t size, needed;
    assert_ok(weir_world_save_memory(world, NULL, 0, &size));
    uint8_t *bytes = malloc(size);
    for (size_t room = 0; room < size; room = room < 64 ? room + 1 : 3 * room) {
        memset(bytes, 0xee, size);
        assert_int_equal(weir_world_save_memory(world, bytes, room, &needed), WEIR_ERROR_LIMIT);
        assert_int_equal(needed, size);
        for (size_t i = room; i < size; i++) assert_int_equal(bytes[i], 0xee);
        char numbers[96];
        snprintf(numbers, sizeof numbers, "%zu bytes, and there is room for %zu", size, room);
        assert_non_null(strstr(weir_error_message(), numbers));
        assert_int_not_equal(weir_world_load_memory(world, bytes, room), WEIR_OK);
    }
    assert_int_equal(weir_world_save_memory(world, bytes, size - 1, &needed), WEIR_ERROR_LIMIT);
    assert_ok(weir_world_save_memory(world, bytes, size, &needed));
    free(bytes);
    weir_world_destroy(world);
}

static void pieces_of_any_size_give_the_same_bytes_and_the_same_world(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    const uint64_t hash = weir_world_hash(world);
    test_bytes file = file_of(world);
    const int64_t pieces[] = {0, 1, 3, 39, 41, 1000, 65537};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        stream s = {.piece = pieces[i]};
        assert_ok(weir_world_save_to(world, stream_write, &s));
        assert_same(&s.bytes, &file);
        // What follows the snapshot in a game's file stays there.
        test_put(&s.bytes, "behind", 6);
        weir_world *loaded = make(WEIR_SOLVER_MOMENTUM, NULL);
        assert_ok(weir_world_load_from(loaded, stream_read, &s));
        assert_true(weir_world_hash(loaded) == hash);
        assert_int_equal(s.at, file.size);
        assert_exact(loaded);
        weir_world_destroy(loaded);
        free(s.bytes.at);
    }
    free(file.at);
    weir_world_destroy(world);
}

// More bytes than the room that a reader begins with, so that it grows; and plain ones.
static void a_large_plain_snapshot_goes_through_functions_too(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_CLASSIC), *loaded = make(WEIR_SOLVER_CLASSIC, NULL);
    stream s = {.piece = 100000};
    setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1);
    assert_ok(weir_world_save_to(world, stream_write, &s));
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    assert_true(s.bytes.size > 1 << 18);
    assert_ok(weir_world_load_from(loaded, stream_read, &s));
    assert_true(weir_world_hash(loaded) == weir_world_hash(world));
    free(s.bytes.at);
    weir_world_destroy(world);
    weir_world_destroy(loaded);
}

static void a_function_that_fails_at_any_call_ends_it_with_a_sentence(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM), *other = make(WEIR_SOLVER_MOMENTUM, NULL);
    test_fill(other, test_box(0, 0, 0, 5, 5, 5), 1);
    const int64_t piece = test_length(5000, 40000);
    stream whole = {.piece = piece};
    assert_ok(weir_world_save_to(world, stream_write, &whole));
    const int64_t writes = whole.calls;
    whole.calls = 0;
    assert_ok(weir_world_load_from(world, stream_read, &whole));
    const int64_t reads = whole.calls;
    assert_true(writes > 2 && reads > 2);
    const uint64_t hash = weir_world_hash(world), other_hash = weir_world_hash(other);
    const int32_t bricks = weir_world_bricks(world, NULL, 0), other_bricks = weir_world_bricks(other, NULL, 0);
    // A failure, more than was asked for, and what is a failure of writing alone.
    const int64_t answers[] = {-1, INT64_MIN, INT64_MAX, 1 << 30, 0};
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        for (int64_t i = 1; i <= writes; i++) {
            stream s = {.piece = piece, .fail_at = i, .answer = answers[k]};
            assert_int_equal(weir_world_save_to(world, stream_write, &s), WEIR_ERROR_FILE);
            assert_int_equal(s.calls, i);  // it is not asked again
            char after[64];
            snprintf(after, sizeof after, "writing a snapshot failed after %zu bytes", s.bytes.size);
            assert_non_null(strstr(weir_error_message(), after));
            assert_as_before(world, hash, bricks);
            free(s.bytes.at);
        }
        for (int64_t i = 1; i <= reads && answers[k] != 0; i++) {
            stream s = {.bytes = whole.bytes, .piece = piece, .fail_at = i, .answer = answers[k]};
            assert_int_equal(weir_world_load_from(other, stream_read, &s), WEIR_ERROR_FILE);
            assert_int_equal(s.calls, i);
            char after[64];
            snprintf(after, sizeof after, "reading a snapshot failed after %zu bytes", s.at);
            assert_non_null(strstr(weir_error_message(), after));
            assert_as_before(other, other_hash, other_bricks);
        }
    }
    free(whole.bytes.at);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

static void cut_and_damaged_bytes_are_refused_wherever_they_come_from(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM), *other = make(WEIR_SOLVER_MOMENTUM, NULL);
    test_fill(other, test_box(0, 0, 0, 5, 5, 5), 1);
    const uint64_t hash = weir_world_hash(other);
    const int32_t bricks = weir_world_bricks(other, NULL, 0);
    test_bytes file = file_of(world);
    for (size_t size = 0; size < file.size; size += size < 50 ? 1 : (size_t)test_length(997, 9970)) {
        // A copy that ends there, so that a byte read past it shows.
        uint8_t *cut = malloc(size + 1);
        memcpy(cut, file.at, size);
        cut = realloc(cut, size ? size : 1);
        assert_int_equal(weir_world_load_memory(other, cut, size), WEIR_ERROR_FORMAT);
        assert_as_before(other, hash, bricks);
        stream s = {.bytes = {cut, size, size}, .piece = 333};
        assert_int_equal(weir_world_load_from(other, stream_read, &s), WEIR_ERROR_FORMAT);
        assert_as_before(other, hash, bricks);
        free(cut);
    }
    assert_int_equal(weir_world_load_memory(other, NULL, 0), WEIR_ERROR_FORMAT);
    for (size_t at = 0; at < file.size; at += at < 50 ? 1 : (size_t)test_length(499, 9980)) {
        file.at[at] ^= 0x10;
        assert_int_not_equal(weir_world_load_memory(other, file.at, file.size), WEIR_OK);
        assert_non_null(strstr(weir_error_message(), "the snapshot in memory"));
        assert_as_before(other, hash, bricks);
        stream s = {.bytes = file};
        assert_int_not_equal(weir_world_load_from(other, stream_read, &s), WEIR_OK);
        assert_non_null(strstr(weir_error_message(), "the snapshot that was read"));
        assert_as_before(other, hash, bricks);
        file.at[at] ^= 0x10;
    }
    // A byte too many is damage in memory, where the end is known.
    test_put(&file, "", 1);
    assert_int_equal(weir_world_load_memory(other, file.at, file.size), WEIR_ERROR_FORMAT);
    free(file.at);
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// A header that claims more than any machine has costs no more than what follows it.
static void a_claim_of_many_bytes_is_not_believed(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    test_bytes file = file_of(world);
    test_memory counted = {0};
    weir_world *other = make(WEIR_SOLVER_MOMENTUM, &counted);
    counted.peak_bytes = counted.bytes;
    const int64_t before = counted.bytes;
    for (int32_t shift = 40; shift < 64; shift++) {
        for (int32_t i = 0; i < 8; i++) file.at[24 + i] = (uint8_t)(((uint64_t)1 << shift) >> (8 * i));
        stream s = {.bytes = file};
        assert_int_equal(weir_world_load_from(other, stream_read, &s), WEIR_ERROR_FORMAT);
        assert_int_equal(counted.bytes, before);
    }
    assert_true(counted.peak_bytes - before < 4 * (int64_t)file.size + (1 << 18));
    free(file.at);
    weir_world_destroy(world);
    weir_world_destroy(other);
    assert_int_equal(counted.bytes, 0);
}

static void while_a_step_runs_the_answers_are_those_of_files(void **state)
{
    weir_world *world = make_scene(WEIR_SOLVER_MOMENTUM);
    stream s = {.piece = 100};
    assert_ok(weir_world_save_to(world, stream_write, &s));
    s.calls = 0;
    size_t size = 7;
    const char *path = test_path(".weir");
    assert_ok(weir_world_step_begin(world));
    assert_int_equal(weir_world_save(world, path), WEIR_ERROR_BUSY);
    char said[256];
    snprintf(said, sizeof said, "%s", weir_error_message());
    assert_int_equal(weir_world_save_to(world, stream_write, &s), WEIR_ERROR_BUSY);
    assert_string_equal(weir_error_message(), said);
    assert_int_equal(weir_world_save_memory(world, NULL, 0, &size), WEIR_ERROR_BUSY);
    assert_string_equal(weir_error_message(), said);
    assert_int_equal(size, 0);
    assert_int_equal(weir_world_load(world, path), WEIR_ERROR_BUSY);
    snprintf(said, sizeof said, "%s", weir_error_message());
    assert_int_equal(weir_world_load_from(world, stream_read, &s), WEIR_ERROR_BUSY);
    assert_string_equal(weir_error_message(), said);
    assert_int_equal(weir_world_load_memory(world, s.bytes.at, s.bytes.size), WEIR_ERROR_BUSY);
    assert_string_equal(weir_error_message(), said);
    assert_int_equal(s.calls, 0);  // nobody was asked for anything
    assert_ok(weir_world_step_end(world));
    free(s.bytes.at);
    weir_world_destroy(world);
}

static void without_memory_nothing_is_lost(void **state)
{
    weir_world *scene = make_scene(WEIR_SOLVER_MOMENTUM);
    stream s = {.piece = 9000};
    setenv("WEIR_PLAIN_SNAPSHOTS", "1", 1);  // large, so that the reader's room grows
    assert_ok(weir_world_save_to(scene, stream_write, &s));
    unsetenv("WEIR_PLAIN_SNAPSHOTS");
    test_memory counted = {0};
    weir_world *world = make(WEIR_SOLVER_MOMENTUM, &counted);
    test_fill(world, test_box(0, 0, 0, 5, 5, 5), 1);
    const uint64_t hash = weir_world_hash(world);
    uint8_t *room = malloc(1 << 20);
    int32_t failures[4] = {0};
    for (int32_t way = 0; way < 4; way++) {
        for (;; failures[way]++) {
            const int64_t out = counted.bytes;
            stream written = {0};
            size_t size;
            s.at = 0;
            counted.fail_at = counted.calls + 1 + failures[way];
            weir_status status = way == 0   ? weir_world_save_to(world, stream_write, &written)
                                 : way == 1 ? weir_world_save_memory(world, room, 1 << 20, &size)
                                 : way == 2 ? weir_world_load_from(world, stream_read, &s)
                                            : weir_world_load_memory(world, s.bytes.at, s.bytes.size);
            counted.fail_at = 0;
            free(written.bytes.at);
            if (status == WEIR_OK) break;
            assert_int_equal(status, WEIR_ERROR_MEMORY);
            assert_true(counted.bytes == out);
            if (way < 3) assert_true(weir_world_hash(world) == hash);
            assert_exact(world);
        }
    }
    assert_true(failures[0] > 1 && failures[1] > 1 && failures[3] > 5);
    assert_true(failures[2] > failures[3] + 2);  // the room that grows
    assert_true(weir_world_hash(world) == weir_world_hash(scene));
    free(room);
    free(s.bytes.at);
    weir_world_destroy(world);
    weir_world_destroy(scene);
    assert_int_equal(counted.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_holds_the_bytes_of_a_file_and_gives_the_world_back),
        cmocka_unit_test(too_little_room_is_told_and_never_written_past),
        cmocka_unit_test(pieces_of_any_size_give_the_same_bytes_and_the_same_world),
        cmocka_unit_test(a_large_plain_snapshot_goes_through_functions_too),
        cmocka_unit_test(a_function_that_fails_at_any_call_ends_it_with_a_sentence),
        cmocka_unit_test(cut_and_damaged_bytes_are_refused_wherever_they_come_from),
        cmocka_unit_test(a_claim_of_many_bytes_is_not_believed),
        cmocka_unit_test(while_a_step_runs_the_answers_are_those_of_files),
        cmocka_unit_test(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
