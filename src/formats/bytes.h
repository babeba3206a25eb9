// Numbers in files: little-endian, whatever the machine.
#ifndef WEIR_FORMATS_BYTES_H
#define WEIR_FORMATS_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint32_t load_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline int32_t load_i32(const uint8_t *from)
{
    return (int32_t)load_u32(from);
}

static inline void store_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static inline void store_i32(uint8_t *to, int32_t value)
{
    store_u32(to, (uint32_t)value);
}

static inline void store_u64(uint8_t *to, uint64_t value)
{
    store_u32(to, (uint32_t)value);
    store_u32(to + 4, (uint32_t)(value >> 32));
}

static inline void store_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    store_u32(to, bits);
}

static inline void store_double(uint8_t *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    store_u64(to, bits);
}

// Writes floats or whole numbers of four bytes. A failure shows when the file is closed.
static inline void write_words(FILE *file, const void *words, size_t count)
{
    uint8_t bytes[4 * 256];
    while (count > 0) {
        size_t some = count < 256 ? count : 256;
        for (size_t i = 0; i < some; i++) {
            uint32_t word;
            memcpy(&word, (const char *)words + 4 * i, 4);
            store_u32(bytes + 4 * i, word);
        }
        fwrite(bytes, 4, some, file);
        words = (const char *)words + 4 * some;
        count -= some;
    }
}

#endif
