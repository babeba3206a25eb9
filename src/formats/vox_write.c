// MagicaVoxel files out, as github.com/ephtracy/voxel-model describes them: chunks within a chunk,
//
//     "VOX " 150 | MAIN { SIZE XYZI | SIZE XYZI ... | nTRN nGRP | nTRN nSHP | nTRN nSHP ... | RGBA | MATL ... }
//
// A chunk is id, bytes of its own, bytes of its children, and these. Models are at most 256 voxels each way. A shape's transform tells
// where its model's middle goes, which is voxel size / 2 rounded down.
//
// Their z is up: our (x, y, z) is their (x, -1 - z, y), a quarter turn that mirrors nothing.
#include "formats/bytes.h"
#include "formats/voxels.h"

#include <stdlib.h>

enum { VOX_VERSION = 150, MODEL_EDGE = 256, HEADER_BYTES = 20, CHUNK_BYTES = 12 };

// A tile of the voxels that becomes a model, in our axes.
typedef struct vox_model {
    weir_coord min, size;
    int32_t count;  // of its voxels
} vox_model;

typedef struct vox_models {
    vox_model *models;
    int32_t count;
} vox_models;

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t count_voxels(const weir_voxels *v, const vox_model *m)
{
    int32_t count = 0;
    for (int32_t z = m->min.z; z < m->min.z + m->size.z; z++) {
        for (int32_t y = m->min.y; y < m->min.y + m->size.y; y++) {
            const uint8_t *row = v->values + voxels_place(v, m->min.x, y, z);
            for (int32_t x = 0; x < m->size.x; x++) count += row[x] != 0;
        }
    }
    return count;
}

// Tiles that hold anything; the first tile also if it does not, so that a file has a model. So that reading gives the same box again,
// tiles at the box's lowest and highest corner are kept too.
static bool make_models(const weir_voxels *v, vox_models *made)
{
    const int32_t n[3] = {(v->size.x - 1) / MODEL_EDGE + 1, (v->size.y - 1) / MODEL_EDGE + 1, (v->size.z - 1) / MODEL_EDGE + 1};
    const int64_t tiles = (int64_t)n[0] * n[1] * n[2];
    made->count = 0;
    made->models = malloc((size_t)tiles * sizeof *made->models);
    if (!made->models) return false;
    for (int64_t i = 0; i < tiles; i++) {
        vox_model m = {.min = {MODEL_EDGE * (int32_t)(i % n[0]), MODEL_EDGE * (int32_t)(i / n[0] % n[1]),
                               MODEL_EDGE * (int32_t)(i / n[0] / n[1])}};
        m.size = (weir_coord){least(v->size.x - m.min.x, MODEL_EDGE), least(v->size.y - m.min.y, MODEL_EDGE),
                              least(v->size.z - m.min.z, MODEL_EDGE)};
        m.count = count_voxels(v, &m);
        if (m.count > 0 || i == 0 || i == tiles - 1) made->models[made->count++] = m;
    }
    return true;
}

// ---- Chunks ----------------------------------------------------------------------------------------------------------------

static void put_i32(FILE *file, int32_t value)
{
    uint8_t bytes[4];
    store_i32(bytes, value);
    fwrite(bytes, 1, sizeof bytes, file);
}

static void begin_chunk(FILE *file, const char *id, int64_t own, int64_t children)
{
    fwrite(id, 1, 4, file);
    put_i32(file, (int32_t)own);
    put_i32(file, (int32_t)children);
}

static int64_t word_bytes(const char *word)
{
    return 4 + (int64_t)strlen(word);
}

static void put_word(FILE *file, const char *word)
{
    put_i32(file, (int32_t)strlen(word));
    fwrite(word, 1, strlen(word), file);
}

// The chunks are written twice, the first time only to be measured: then `file` is NULL. All return how many bytes they take.

static int64_t put_model(FILE *file, const weir_voxels *v, const vox_model *m)
{
    const int64_t voxel_bytes = 4 + 4 * (int64_t)m->count;
    if (!file) return CHUNK_BYTES + 12 + CHUNK_BYTES + voxel_bytes;
    begin_chunk(file, "SIZE", 12, 0);
    put_i32(file, m->size.x);
    put_i32(file, m->size.z);
    put_i32(file, m->size.y);
    begin_chunk(file, "XYZI", voxel_bytes, 0);
    put_i32(file, m->count);
    for (int32_t z = 0; z < m->size.z; z++) {
        for (int32_t y = 0; y < m->size.y; y++) {
            const uint8_t *row = v->values + voxels_place(v, m->min.x, m->min.y + y, m->min.z + z);
            uint8_t voxels[MODEL_EDGE][4];
            size_t count = 0;
            for (int32_t x = 0; x < m->size.x; x++) {
                const uint8_t voxel[4] = {(uint8_t)x, (uint8_t)(m->size.z - 1 - z), (uint8_t)y, row[x]};
                if (row[x]) memcpy(voxels[count++], voxel, 4);
            }
            fwrite(voxels, 4, count, file);
        }
    }
    return 0;
}

static int64_t put_transform(FILE *file, int32_t node, int32_t child, int32_t layer, const char *place)
{
    const int64_t frame = place ? word_bytes("_t") + word_bytes(place) : 0;
    const int64_t own = 4 + 4 + 4 * 4 + 4 + frame;
    if (!file) return CHUNK_BYTES + own;
    begin_chunk(file, "nTRN", own, 0);
    put_i32(file, node);
    put_i32(file, 0);
    put_i32(file, child);
    put_i32(file, -1);
    put_i32(file, layer);
    put_i32(file, 1);
    put_i32(file, place ? 1 : 0);
    if (place) {
        put_word(file, "_t");
        put_word(file, place);
    }
    return 0;
}

static int64_t put_group(FILE *file, int32_t node, int32_t children, int32_t first, int32_t step)
{
    const int64_t own = 4 + 4 + 4 + 4 * (int64_t)children;
    if (!file) return CHUNK_BYTES + own;
    begin_chunk(file, "nGRP", own, 0);
    put_i32(file, node);
    put_i32(file, 0);
    put_i32(file, children);
    for (int32_t i = 0; i < children; i++) put_i32(file, first + step * i);
    return 0;
}

static int64_t put_shape(FILE *file, int32_t node, int32_t model)
{
    if (!file) return CHUNK_BYTES + 20;
    begin_chunk(file, "nSHP", 20, 0);
    put_i32(file, node);
    put_i32(file, 0);
    put_i32(file, 1);
    put_i32(file, model);
    put_i32(file, 0);
    return 0;
}

static int64_t put_scene(FILE *file, const weir_voxels *v, const vox_models *made)
{
    int64_t bytes = put_transform(file, 0, 1, -1, NULL) + put_group(file, 1, made->count, 2, 2);
    for (int32_t i = 0; i < made->count; i++) {
        const vox_model *m = &made->models[i];
        const int64_t x = (int64_t)v->origin.x + m->min.x, y = (int64_t)v->origin.y + m->min.y;
        const int64_t z = -1 - ((int64_t)v->origin.z + m->min.z + m->size.z - 1);  // the lowest of their y
        char place[80];
        snprintf(place, sizeof place, "%lld %lld %lld", (long long)(x + m->size.x / 2), (long long)(z + m->size.z / 2),
                 (long long)(y + m->size.y / 2));
        bytes += put_transform(file, 2 + 2 * i, 3 + 2 * i, 0, place) + put_shape(file, 3 + 2 * i, i);
    }
    return bytes;
}

static int64_t put_palette(FILE *file, const weir_voxels *v)
{
    if (!file) return CHUNK_BYTES + 4 * 256;
    const uint8_t none[4] = {0, 0, 0, 0};
    begin_chunk(file, "RGBA", 4 * 256, 0);
    fwrite(v->palette[1], 4, 255, file);
    fwrite(none, 1, 4, file);
    return 0;
}

static int64_t put_glass(FILE *file, int32_t colour, uint8_t alpha)
{
    char clear[16];
    snprintf(clear, sizeof clear, "%.3f", 1 - alpha / 255.0);
    const char *const words[] = {"_type", "_glass", "_weight", clear, "_rough", "0.05",
                                 "_ior",  "0.333",  "_trans",  clear, "_alpha", clear};
    const int32_t count = sizeof words / sizeof words[0];
    int64_t own = 4 + 4;
    for (int32_t i = 0; i < count; i++) own += word_bytes(words[i]);
    if (!file) return CHUNK_BYTES + own;
    begin_chunk(file, "MATL", own, 0);
    put_i32(file, colour);
    put_i32(file, count / 2);
    for (int32_t i = 0; i < count; i++) put_word(file, words[i]);
    return 0;
}

static int64_t put_children(FILE *file, const weir_voxels *v, const vox_models *made)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < made->count; i++) bytes += put_model(file, v, &made->models[i]);
    bytes += put_scene(file, v, made) + put_palette(file, v);
    for (int32_t i = 1; i < 256; i++)
        if (v->palette[i][3] > 0 && v->palette[i][3] < 255) bytes += put_glass(file, i, v->palette[i][3]);
    return bytes;
}

static weir_status write_file(const char *path, const weir_voxels *v, const vox_models *made)
{
    const int64_t children = put_children(NULL, v, made);
    if (children > INT32_MAX - HEADER_BYTES) {
        return format_fail(WEIR_ERROR_LIMIT, "cannot write %s: it would have %lld bytes, and a .vox file holds 2 GiB",
                           weir_path_tail(path), (long long)children);
    }
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    fwrite("VOX ", 1, 4, f.file);
    put_i32(f.file, VOX_VERSION);
    begin_chunk(f.file, "MAIN", 0, children);
    put_children(f.file, v, made);
    return new_file_close(&f, true);
}

weir_status weir_vox_write(const char *path, const weir_voxels *voxels)
{
    if (voxels->kind != WEIR_VOXELS_PALETTE || !voxels->values)
        return format_fail(WEIR_ERROR_ARGUMENT, "cannot write %s: a .vox file holds voxels of a palette", weir_path_tail(path));
    vox_models made;
    if (!make_models(voxels, &made))
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the models of %s", weir_path_tail(path));
    weir_status status = write_file(path, voxels, &made);
    free(made.models);
    return status;
}
