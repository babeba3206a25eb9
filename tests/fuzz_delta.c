// Throws bytes at the reader of deltas. The first byte says how they arrive: as they are, or as what stands behind a header that fits, plain or
// packed, since bytes with the right checksum are hardly found by chance; and in which world. What is accepted must balance the account and go
// on; what is refused must leave the world as it was.
#include "base/hash.h"
#include "fuzz_seeds.h"
#include "world/delta.h"
#include "world/solver.h"
#include <string.h>
#include <weir/weir.h>

enum { DELTA_MOST = 1 << 16, BRICKS_TO_STEP = 64, PLAIN = 1, PACKED = 2, FLOW = 4, SETTLE = 8 };

static weir_world *make_world(weir_solver solver)
{
    weir_world_def def = weir_world_def_default();
    def.solver = solver;
    def.threads = 1;
    def.simd = WEIR_SIMD_SCALAR;
    def.memory_limit = 48 << 20;
    weir_world *world;
    MUST(weir_world_create(&def, &world) == WEIR_OK);
    MUST(weir_world_build(world, (weir_box){{0, 0, 0}, {3, 2, 8}}, 200) == WEIR_OK);
    return world;
}

// Where the payload of a delta begins.
static size_t payload_of(const uint8_t *delta)
{
    size_t at = DELTA_HEADER_BYTES;
    while (delta[at] & 0x80) at++;
    return at + 1;
}

static void write_seed(const char *name, weir_solver solver, uint8_t how)
{
    static uint8_t bytes[DELTA_MOST];
    const char *path = seed_path(name);
    if (!path) return;
    weir_world *world = make_world(solver);
    MUST(weir_world_fill(world, (weir_box){{0, 2, 0}, {9, 4, 9}}, WEIR_WATER, 0.75f) == WEIR_OK);
    MUST(weir_world_step(world) == WEIR_OK);
    size_t size;
    int64_t mark = 0;
    MUST(setenv("WEIR_PLAIN_SNAPSHOTS", how & PLAIN ? "1" : "0", 1) == 0);
    MUST(weir_world_delta(world, &mark, how & FLOW ? WEIR_DELTA_FLOW : 0, bytes, sizeof bytes, &size) == WEIR_OK);
    const size_t begin = how & (PLAIN | PACKED) ? payload_of(bytes) : 0;
    FILE *file = fopen(path, "wb");
    MUST(file != NULL);
    fputc(how, file);
    fwrite(bytes + begin, 1, size - begin, file);
    fclose(file);
    weir_world_destroy(world);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    write_seed("whole", WEIR_SOLVER_SETTLE, SETTLE);
    write_seed("plain", WEIR_SOLVER_SETTLE, PLAIN | SETTLE);
    write_seed("packed", WEIR_SOLVER_MOMENTUM, PACKED);
    write_seed("flow", WEIR_SOLVER_MOMENTUM, PLAIN | FLOW);
    return 0;
}

// Behind a header that fits.
static size_t wrap(uint8_t to[DELTA_MOST + 64], uint8_t how, const uint8_t *data, size_t size)
{
    uint64_t payload = size;
    // A small zstd frame tells the size of what it holds in byte 5, a larger one in bytes 5 and 6, less 256.
    if (how & PACKED) payload = size > 6 && data[4] & 0x40 ? (uint64_t)(data[5] | data[6] << 8) + 256 : size > 5 ? data[5] : 0;
    memcpy(to, DELTA_MAGIC, 4);
    to[4] = DELTA_VERSION;
    to[5] = (uint8_t)((how & PACKED ? DELTA_PACKED : 0) | (how & FLOW ? DELTA_FLOW : 0));
    size_t number = 0;
    for (; payload >= 0x80; payload >>= 7) to[DELTA_HEADER_BYTES + number++] = (uint8_t)(payload | 0x80);
    to[DELTA_HEADER_BYTES + number++] = (uint8_t)payload;
    const uint64_t check = hash_bytes(data, size, hash_bytes(to + DELTA_HEADER_BYTES, number, to[5]));
    for (int32_t i = 0; i < 4; i++) to[6 + i] = (uint8_t)(check >> 8 * i);
    memcpy(to + DELTA_HEADER_BYTES + number, data, size);
    return DELTA_HEADER_BYTES + number + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t wrapped[DELTA_MOST + 64];
    static weir_world *worlds[2];
    if (size == 0 || size > DELTA_MOST) return 0;
    const uint8_t how = *data++;
    weir_world **world = &worlds[(how & SETTLE) != 0];
    if (!*world) *world = make_world(how & SETTLE ? WEIR_SOLVER_SETTLE : WEIR_SOLVER_MOMENTUM);
    const uint64_t hash = weir_world_hash(*world);
    const bool wraps = how & (PLAIN | PACKED);
    size = wraps ? wrap(wrapped, how, data, size - 1) : size - 1;
    if (weir_world_apply_delta(*world, wraps ? wrapped : data, size) != WEIR_OK) {
        MUST(weir_error_message()[0] != '\0');
        MUST(weir_world_hash(*world) == hash);
        return 0;
    }
    MUST(weir_world_ledger(*world).drift == 0);
    if (weir_world_bricks(*world, NULL, 0) <= BRICKS_TO_STEP) MUST(weir_world_step(*world) == WEIR_OK);
    MUST(weir_world_ledger(*world).drift == 0);
    weir_world_destroy(*world);
    *world = NULL;
    return 0;
}
