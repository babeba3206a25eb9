// Throws bytes at the reader of snapshots. The first byte says how they arrive: as a whole file; as what a file holds behind a header that
// fits, plain or packed, since bytes with the right checksum are hardly found by chance; and for which solver. What is accepted must
// balance its account, and go on; what is refused must leave the world as it was.
#define _GNU_SOURCE  // memfd_create

#include "base/hash.h"
#include "fuzz_seeds.h"
#include "world/snapshot.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weir/weir.h>

enum { MEMORY_MOST = 48 << 20, BRICKS_TO_STEP = 64 };

// The world's memory ends soon, so that a file that wants a lot shows how that is told.
static size_t memory_out;

static void *give(void *user, size_t size)
{
    (void)user;
    if (size > MEMORY_MOST || memory_out + size > MEMORY_MOST) return NULL;
    memory_out += size;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void take_back(void *user, void *memory, size_t size)
{
    (void)user;
    memory_out -= size;
    free(memory);
}

static weir_world *make_world(weir_solver solver)
{
    weir_world_def def = weir_world_def_default();
    def.solver = solver;
    def.threads = 1;
    def.simd = WEIR_SIMD_SCALAR;
    def.allocator = (weir_allocator){give, take_back, NULL};
    weir_world *world;
    MUST(weir_world_create(&def, &world) == WEIR_OK);
    return world;
}

// ---- Seeds -----------------------------------------------------------------------------------------------------------------

// A file of a small world with a bit of everything, with a first byte in front.
static void write_seed(const char *name, weir_solver solver, uint8_t how, size_t skipped)
{
    const char *path = seed_path(name);
    if (!path) return;
    weir_world *world = make_world(solver);
    weir_world_build(world, (weir_box){{0, 0, 0}, {3, 2, 8}}, 200);
    weir_world_fill(world, (weir_box){{0, 2, 0}, {4, 4, 4}}, WEIR_WATER, 0.75f);
    weir_world_add_emitter(world, (weir_box){{1, 5, 1}, {2, 6, 2}}, WEIR_WATER, 0.5f, NULL);
    weir_world_add_force(world, (weir_box){{0, 0, 0}, {8, 8, 8}}, (weir_vec){0.01f, 0, 0}, NULL);
    MUST(weir_world_save(world, path) == WEIR_OK);
    weir_world_destroy(world);
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    MUST(size > skipped && (file = fopen(path, "wb")) != NULL);
    fputc(how, file);
    fwrite(bytes + skipped, 1, size - skipped, file);
    fclose(file);
}

// What a file holds, not packed.
static void write_plain_seed(const char *name, weir_solver solver, uint8_t how)
{
    const char *path = seed_path(name);
    if (!path) return;
    weir_world *world = make_world(solver);
    weir_world_build(world, (weir_box){{-3, 0, 0}, {3, 2, 8}}, 200);
    weir_world_fill(world, (weir_box){{0, 2, 0}, {1, 4, 1}}, WEIR_WATER, 0.75f);
    weir_world_add_drain(world, (weir_box){{1, 5, 1}, {2, 6, 2}}, 0.5f, NULL);
    uint8_t *block = NULL;
    size_t room = 0, size = 0;
    MUST(snapshot_keep(world, &block, &room, &size) == WEIR_OK);
    FILE *file = fopen(path, "wb");
    MUST(file != NULL);
    fputc(how, file);
    fwrite(block, 1, size, file);
    fclose(file);
    memory_free(&world->mem, block, room);
    weir_world_destroy(world);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    write_seed("file", WEIR_SOLVER_MOMENTUM, 0, 0);
    write_seed("packed", WEIR_SOLVER_MOMENTUM, 2, SNAPSHOT_HEADER_BYTES);
    write_plain_seed("plain", WEIR_SOLVER_MOMENTUM, 4);
    write_plain_seed("classic", WEIR_SOLVER_CLASSIC, 5);
    return 0;
}

// ---- Loading ---------------------------------------------------------------------------------------------------------------

static void put_number(uint8_t *to, uint64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

// A file in memory: behind a header that fits the bytes, or without one.
static weir_status load_as_file(weir_world *world, const uint8_t *data, size_t size, bool header)
{
    uint8_t head[SNAPSHOT_HEADER_BYTES] = SNAPSHOT_MAGIC;
    put_number(head + 8, SNAPSHOT_VERSION, 4);
    put_number(head + 12, SNAPSHOT_FLAG_ZSTD, 4);
    // A zstd frame tells the size of what it holds in bytes 5 and 6 here, less 256.
    put_number(head + 16, size > 6 ? (uint64_t)(data[5] | data[6] << 8) + 256 : 0, 8);
    put_number(head + 24, size, 8);
    put_number(head + 32, hash_bytes(data, size, 0), 8);
    int file = memfd_create("fuzz", 0);
    MUST(file >= 0);
    if (header) MUST(write(file, head, sizeof head) == (ssize_t)sizeof head);
    MUST(size == 0 || write(file, data, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    weir_status status = weir_world_load(world, path);
    close(file);
    return status;
}

static void go_on(weir_world *world)
{
    MUST(weir_world_ledger(world).drift == 0);
    if (weir_world_stats(world).bricks > BRICKS_TO_STEP) return;
    weir_status status = weir_world_step(world);
    MUST(status == WEIR_OK || status == WEIR_ERROR_MEMORY || status == WEIR_ERROR_LIMIT);
    MUST(weir_world_ledger(world).drift == 0);
}

// Making a world takes longer than to load one, so each solver has one, and goes back to its beginning after every file.
typedef struct subject {
    weir_world *world;
    uint8_t *beginning;
    size_t room, size;
    uint64_t hash;
} subject;

static subject *subject_of(weir_solver solver)
{
    static subject subjects[WEIR_SOLVER_COUNT];
    subject *s = &subjects[solver];
    if (s->world) return s;
    s->world = make_world(solver);
    MUST(weir_world_fill(s->world, (weir_box){{100, 0, 0}, {101, 1, 1}}, WEIR_WATER, 1) == WEIR_OK);
    MUST(snapshot_keep(s->world, &s->beginning, &s->room, &s->size) == WEIR_OK);
    s->hash = weir_world_hash(s->world);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const uint8_t how = data[0];
    subject *s = subject_of(how & 1 ? WEIR_SOLVER_CLASSIC : WEIR_SOLVER_MOMENTUM);
    weir_status status =
        how & 4 ? snapshot_restore(s->world, data + 1, size - 1) : load_as_file(s->world, data + 1, size - 1, how & 2);
    if (status == WEIR_OK) {
        go_on(s->world);
        MUST(snapshot_restore(s->world, s->beginning, s->size) == WEIR_OK);
    } else {
        MUST(weir_error_message()[0] != '\0');
    }
    MUST(weir_world_hash(s->world) == s->hash);
    return 0;
}
