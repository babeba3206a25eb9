// Small files for tests of readers and writers: their bytes, made and looked at. Include after cmocka.h.
#ifndef WEIR_TEST_FILES_H
#define WEIR_TEST_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Bytes that grow as they are put together.
typedef struct test_bytes {
    uint8_t *at;
    size_t size, room;
} test_bytes;

static inline void test_put(test_bytes *b, const void *from, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size) + 64;
        b->at = realloc(b->at, b->room);
        assert_non_null(b->at);
    }
    if (size > 0) memcpy(b->at + b->size, from, size);
    b->size += size;
}

static inline void test_put_i32(test_bytes *b, int64_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    test_put(b, bytes, 4);
}

static inline int32_t test_i32(const uint8_t *at)
{
    return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

static inline uint64_t test_u64(const uint8_t *at)
{
    return (uint32_t)test_i32(at) | (uint64_t)(uint32_t)test_i32(at + 4) << 32;
}

// A name for a file of this process in the folder for temporary ones, valid until the next call but three.
static inline const char *test_path(const char *ending)
{
    static char paths[4][256];
    static int next;
    const char *folder = getenv("TMPDIR");
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/weir-test-%ld%s", folder ? folder : "/tmp", (long)getpid(), ending);
    return path;
}

static inline void test_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (size > 0) assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline test_bytes test_read(const char *path)
{
    test_bytes b = {0};
    char part[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) test_put(&b, part, got);
    fclose(file);
    return b;
}

#endif
