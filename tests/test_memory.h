// An allocator for tests: counts what is out, fails when told to, and checks that every block comes back with its size.
//
//     test_memory memory_of_test = {.fail_at = 3};
//     memory mem = memory_make(test_memory_hooks(&memory_of_test));
//     ...
//     assert_int_equal(memory_of_test.bytes, 0);
//
// Include after cmocka.h.
#ifndef WEIR_TEST_MEMORY_H
#define WEIR_TEST_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <weir/base.h>

typedef struct test_memory {
    int64_t calls;    // to alloc so far
    int64_t fail_at;  // the call that fails, from 1; 0: none
    bool fail_after;  // all later calls fail too
    int64_t failures;
    int64_t bytes, blocks;  // out now
    int64_t peak_bytes;
} test_memory;

static inline void *test_memory_alloc(void *user, size_t size)
{
    test_memory *state = user;
    state->calls++;
    if (state->fail_at > 0 && (state->calls == state->fail_at || (state->fail_after && state->calls > state->fail_at))) {
        state->failures++;
        return NULL;
    }
    // The size lies in a cache line of its own in front, so that the block keeps its alignment.
    char *block = aligned_alloc(64, (64 + size + 63) / 64 * 64);
    assert_non_null(block);
    *(size_t *)block = size;
    memset(block + 64, 0xa5, size);  // what is used before it is written shows
    state->bytes += (int64_t)size;
    state->blocks++;
    if (state->bytes > state->peak_bytes) state->peak_bytes = state->bytes;
    return block + 64;
}

static inline void test_memory_free(void *user, void *memory, size_t size)
{
    test_memory *state = user;
    char *block = (char *)memory - 64;
    assert_int_equal(*(size_t *)block, size);
    state->bytes -= (int64_t)size;
    state->blocks--;
    free(block);
}

static inline weir_allocator test_memory_hooks(test_memory *state)
{
    return (weir_allocator){test_memory_alloc, test_memory_free, state};
}

#endif
