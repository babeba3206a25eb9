// Throws bytes at the reader of height maps: libFuzzer makes them, out of some good pictures to begin with. It must neither crash nor
// take long nor much memory, and what it accepts must make sense.
#include "formats/bytes.h"
#include "formats/voxels.h"
#include "fuzz_seeds.h"
#include <string.h>
#include <weir/formats.h>

enum { VOXELS_MOST = 1 << 16, SIGNATURE_BYTES = 8, CHUNK_BYTES = 12 };  // length, name and checksum of a chunk

static void write_seed(const char *name, int32_t width, int32_t height)
{
    const char *path = seed_path(name);
    uint8_t *rgb = malloc((size_t)width * (size_t)height * 3);
    for (int32_t i = 0; rgb && i < width * height * 3; i++) rgb[i] = (uint8_t)(7 * i);
    if (path && rgb) {
        weir_status status = weir_png_write(path, width, height, rgb);
        MUST(status == WEIR_OK || status == WEIR_ERROR_UNSUPPORTED);
    }
    free(rgb);
}

// The kinds of pictures that weir_png_write does not write: one row of one pixel, its bytes stored as they are.
static void write_kind(const char *name, uint8_t bits, uint8_t colour, uint8_t interlaced, const uint8_t *pixel, uint8_t bytes)
{
    const char *path = seed_path(name);
    FILE *file = path ? fopen(path, "wb") : NULL;
    if (!file) return;
    const uint8_t head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0,      0, 0, 13,         'I', 'H', 'D', 'R', 0,
                            0,    0,   1,   0,   0,    0,    1,    bits, colour, 0, 0, interlaced, 0,   0,   0,   0};
    const uint8_t palette[] = {0, 0, 0, 3, 'P', 'L', 'T', 'E', 10, 20, 30, 0, 0, 0, 0};
    const uint8_t stored = (uint8_t)(1 + bytes);
    const uint8_t data[] = {0, 0,      0, (uint8_t)(11 + stored), 'I',  'D', 'A', 'T', 0x78, 1,
                            1, stored, 0, (uint8_t)~stored,       0xff, 0};
    const uint8_t end[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'I', 'E', 'N', 'D', 0, 0, 0, 0};
    fwrite(head, 1, sizeof head, file);
    if (colour == 3) fwrite(palette, 1, sizeof palette, file);
    fwrite(data, 1, sizeof data, file);
    fwrite(pixel, 1, bytes, file);
    fwrite(end, 1, sizeof end, file);
    MUST(fclose(file) == 0);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    const uint8_t pixel[8] = {200, 1, 2, 3, 4, 5, 6, 7};
    write_seed("one.png", 1, 1);
    write_seed("some.png", 13, 7);
    write_kind("bit.png", 1, 0, 0, pixel, 1);
    write_kind("deep.png", 16, 6, 1, pixel, 8);
    write_kind("palette.png", 8, 3, 0, pixel, 1);
    return 0;
}

// A checksum that does not fit ends the reading, and changed bytes seldom fit; so they are made to, that all of the reader is met.
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint32_t sum = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int32_t bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
}

static uint32_t swapped(uint32_t value)
{
    return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

static void mend_checksums(uint8_t *bytes, size_t size)
{
    for (size_t at = SIGNATURE_BYTES; size - at >= CHUNK_BYTES && at < size;) {
        uint32_t length = swapped(load_u32(bytes + at));
        if (length > size - at - CHUNK_BYTES) return;
        store_u32(bytes + at + 8 + length, swapped(checksum(bytes + at + 4, 4 + length)));
        at += CHUNK_BYTES + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return 0;
    memcpy(bytes, data, size);
    if (size > SIGNATURE_BYTES) mend_checksums(bytes, size);
    const weir_voxels_def def = {.limit = VOXELS_MOST};
    weir_voxels v;
    weir_status status = height_map_read_bytes("fuzz.png", bytes, size, &def, &v);
    free(bytes);
    if (status != WEIR_OK) {
        MUST(v.values == NULL);
        MUST(status == WEIR_ERROR_FORMAT || status == WEIR_ERROR_LIMIT || status == WEIR_ERROR_UNSUPPORTED);
        MUST(strstr(weir_error_message(), "fuzz.png") != NULL);
        return 0;
    }
    int64_t cells = (int64_t)v.size.x * v.size.y * v.size.z, sum = 0;
    MUST(v.kind == WEIR_VOXELS_SHARES && v.size.x > 0 && v.size.y > 0 && v.size.z > 0 && cells <= VOXELS_MOST);
    for (int64_t i = 0; i < cells; i++) sum += v.values[i];  // so that a sanitizer looks at all of them
    MUST(sum >= 0);
    weir_voxels_free(&v);
    return 0;
}
