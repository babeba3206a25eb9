// The game's allocator with a count beside it. The count is of sizes asked for, so that it is the same with every allocator.
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define ALIGNMENT 64             // a cache line, and the widest SIMD register
#define PAGE (2u * 1024 * 1024)  // a huge page

static void *default_alloc(void *user, size_t size)
{
    (void)user;
    // A pass jumps between many bricks; with huge pages the processor finds them without walking its page tables each time.
    size_t alignment = size >= 2 * (size_t)PAGE ? PAGE : ALIGNMENT;
    // aligned_alloc wants a multiple of the alignment; the sum must not wrap around to a small one.
    if (size > SIZE_MAX - (alignment - 1)) return NULL;
    size_t whole = (size + alignment - 1) & ~(alignment - 1);
#ifdef _WIN32
    // Huge pages are for those there to whom an administrator has granted them.
    return _aligned_malloc(whole, alignment);
#else
    void *block = aligned_alloc(alignment, whole);
#ifdef MADV_HUGEPAGE
    if (block && alignment == PAGE) madvise(block, whole, MADV_HUGEPAGE);
#endif
    return block;
#endif
}

static void default_free(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
#ifdef _WIN32
    _aligned_free(block);
#else
    free(block);
#endif
}

memory memory_make(weir_allocator hooks)
{
    // Only as a pair: memory of one allocator must not go back to another.
    if (!hooks.alloc) hooks = (weir_allocator){default_alloc, default_free, NULL};
    return (memory){.hooks = hooks, .bytes = 0};
}

void *memory_alloc(memory *mem, size_t size)
{
    if (size == 0 || (mem->limit > 0 && (int64_t)size > mem->limit - mem->bytes)) return NULL;
    void *block = mem->hooks.alloc(mem->hooks.user, size);
    if (block) mem->bytes += (int64_t)size;
    return block;
}

void *memory_alloc_zero(memory *mem, size_t size)
{
    void *block = memory_alloc(mem, size);
    if (block) memset(block, 0, size);
    return block;
}

void memory_free(memory *mem, void *block, size_t size)
{
    if (!block) return;
    mem->bytes -= (int64_t)size;
    if (mem->hooks.free) mem->hooks.free(mem->hooks.user, block, size);
}

void *memory_resize(memory *mem, void *block, size_t old_size, size_t new_size)
{
    void *moved = memory_alloc(mem, new_size);
    if (!moved) return NULL;
    if (block) memcpy(moved, block, old_size < new_size ? old_size : new_size);
    memory_free(mem, block, old_size);
    return moved;
}
