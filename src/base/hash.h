// Hashes by libxxhash, inlined from its header so that they compile wherever Weir does.
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#define XXH_INLINE_ALL
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

static inline uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

// Mixes one number; for hash tables and noise.
static inline uint32_t hash_mix(uint32_t a)
{
    a ^= a >> 16;
    a *= 0x7feb352du;
    a ^= a >> 15;
    a *= 0x846ca68bu;
    return a ^ (a >> 16);
}

#endif
