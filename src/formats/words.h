// Numbers of four bytes in the order of the files, least byte first, whatever the machine's.
#ifndef WEIR_FORMATS_WORDS_H
#define WEIR_FORMATS_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline void words_put(uint8_t bytes[4], uint32_t word)
{
    for (int32_t i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> (8 * i));
}

// Writes floats or whole numbers. A failure shows when the file is closed.
static inline void words_write(FILE *file, const void *words, size_t count)
{
    uint8_t bytes[4 * 256];
    while (count > 0) {
        size_t some = count < 256 ? count : 256;
        for (size_t i = 0; i < some; i++) {
            uint32_t word;
            memcpy(&word, (const char *)words + 4 * i, 4);
            words_put(bytes + 4 * i, word);
        }
        fwrite(bytes, 4, some, file);
        words = (const char *)words + 4 * some;
        count -= some;
    }
}

#endif
