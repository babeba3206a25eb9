#include "app/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// As its first byte says; 0 for one that begins none.
static size_t letter_bytes(uint8_t first)
{
    if (first < 0x80) return 1;
    if (first < 0xc0) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
}

size_t plain_letter(const char *text)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800,
                                      0x10000};  // below it a shorter form would do, which UTF-8 demands then
    const uint8_t first = (uint8_t)text[0];
    const size_t bytes = letter_bytes(first);
    if (bytes == 0) return 0;
    uint32_t code = bytes == 1 ? first : first & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (((uint8_t)text[i] & 0xc0) != 0x80) return 0;  // the text's end too
        code = code << 6 | ((uint8_t)text[i] & 0x3f);
    }
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0), surrogate = code >= 0xd800 && code < 0xe000;
    return control || surrogate || code < least[bytes] || code > 0x10ffff ? 0 : bytes;
}

void plain_write(FILE *file, const char *text)
{
    while (*text) {
        size_t bytes = plain_letter(text);
        if (bytes > 0)
            fwrite(text, 1, bytes, file);
        else
            fputc(strchr("\t\n\v\f\r", *text) ? ' ' : '?', file);
        text += bytes > 0 ? bytes : 1;
    }
}
