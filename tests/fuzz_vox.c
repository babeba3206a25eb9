// Throws bytes at the reader of .vox files: libFuzzer makes them, out of some good files to begin with. It must neither crash nor take
// long nor much memory, and what it accepts must make sense.
#include "formats/vox_read.h"
#include "fuzz_seeds.h"
#include <string.h>
#include <weir/formats.h>

enum { VOXELS_MOST = 1 << 16 };

static void write_seed(const char *name, weir_coord size, int32_t every)
{
    const char *path = seed_path(name);
    size_t cells = (size_t)size.x * (size_t)size.y * (size_t)size.z;
    weir_voxels v = {.kind = WEIR_VOXELS_PALETTE, .origin = {-3, 4, 5}, .size = size, .values = calloc(cells, 1)};
    for (size_t i = 0; i < cells && v.values; i += (size_t)every) v.values[i] = (uint8_t)(1 + i % 255);
    v.palette[1][3] = 100;
    if (path && v.values) MUST(weir_vox_write(path, &v) == WEIR_OK);
    weir_voxels_free(&v);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    write_seed("one.vox", (weir_coord){1, 1, 1}, 1);
    write_seed("some.vox", (weir_coord){4, 3, 5}, 2);
    write_seed("several.vox", (weir_coord){300, 2, 20}, 97);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const weir_voxels_def def = {.limit = VOXELS_MOST};
    weir_voxels v;
    weir_status status = vox_read_bytes("fuzz.vox", data, size, &def, &v);
    if (status != WEIR_OK) {
        MUST(v.values == NULL);
        MUST(status == WEIR_ERROR_FORMAT || status == WEIR_ERROR_LIMIT);
        MUST(strncmp(weir_error_message(), "fuzz.vox", 8) == 0);
        return 0;
    }
    int64_t cells = (int64_t)v.size.x * v.size.y * v.size.z, sum = 0;
    MUST(v.kind == WEIR_VOXELS_PALETTE && v.size.x > 0 && v.size.y > 0 && v.size.z > 0 && cells <= VOXELS_MOST);
    MUST(llabs(v.origin.x) <= WEIR_COORD_LIMIT && llabs(v.origin.y) <= WEIR_COORD_LIMIT &&
         llabs(v.origin.z) <= WEIR_COORD_LIMIT);
    for (int64_t i = 0; i < cells; i++) sum += v.values[i];  // so that a sanitizer looks at all of them
    MUST(sum >= 0);
    weir_voxels_free(&v);
    return 0;
}
