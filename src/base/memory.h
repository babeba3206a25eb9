// Memory through the game's allocator, with an exact count of what is held.
#ifndef WEIR_BASE_MEMORY_H
#define WEIR_BASE_MEMORY_H

#include <weir/base.h>

typedef struct memory {
    weir_allocator hooks;
    int64_t bytes;  // held now
    int64_t limit;  // that may be held; 0: any
} memory;

// Completes hooks that are zero with aligned_alloc and free.
memory memory_make(weir_allocator hooks);

// 64-byte aligned, not cleared; NULL when there is none. A size of 0 gives NULL.
void *memory_alloc(memory *mem, size_t size);
void *memory_alloc_zero(memory *mem, size_t size);

// size is what was asked for. NULL is allowed.
void memory_free(memory *mem, void *block, size_t size);

// A block of new_size with the first min(old_size, new_size) bytes of the old one, which is freed; NULL leaves the old one whole.
void *memory_resize(memory *mem, void *block, size_t old_size, size_t new_size);

#endif
