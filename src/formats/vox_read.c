// The chunks of a MagicaVoxel file. It may come from anywhere: every length is compared with what is there before it is used, and
// nothing is copied but what a node or a model is, so that a file takes a few times its own size at most.
#include "formats/vox_read.h"
#include "formats/bytes.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MOST ((size_t)1 << 31)
#define LAYERS_MOST 256  // hidden ones; every node looks through them

weir_status vox_damaged(const char *path, const char *format, ...)
{
    char what[150];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return format_fail(WEIR_ERROR_FORMAT, "%s: %s", weir_path_tail(path), what);
}

// ---- Reading ---------------------------------------------------------------------------------------------------------------

// Past the end everything reads as 0 and `ended` is set.
typedef struct cursor {
    const uint8_t *at, *end;
    bool ended;
} cursor;

static const uint8_t *take(cursor *c, int64_t size)
{
    if (size < 0 || size > c->end - c->at) {
        c->ended = true;
        c->at = c->end;
        return NULL;
    }
    c->at += size;
    return c->at - size;
}

static int32_t take_i32(cursor *c)
{
    const uint8_t *from = take(c, 4);
    return from ? load_i32(from) : 0;
}

typedef struct word {
    const char *letters;
    int32_t length;
} word;

static word take_word(cursor *c)
{
    int32_t length = take_i32(c);
    const uint8_t *letters = take(c, length);
    return (word){(const char *)letters, letters ? length : 0};
}

static bool word_is(word w, const char *text)
{
    return w.length == (int32_t)strlen(text) && memcmp(w.letters, text, (size_t)w.length) == 0;
}

// The whole numbers in a word, `count` of them; false if there are others or fewer.
static bool word_numbers(word w, int64_t *numbers, int32_t count)
{
    char text[80];
    if (w.length >= (int32_t)sizeof text) return false;
    memcpy(text, w.letters ? w.letters : "", (size_t)w.length);
    text[w.length] = '\0';
    char *at = text;
    for (int32_t i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtoll(at, &end, 10);
        if (end == at || numbers[i] < -WEIR_COORD_LIMIT || numbers[i] > WEIR_COORD_LIMIT) return false;
        at = end;
    }
    return *at == '\0';
}

// Room for one more: the array moves when it is full. NULL if memory ran out.
static void *with_room(void *array, int32_t count, int32_t *room, size_t size)
{
    if (count < *room) return array;
    int32_t larger = *room ? 2 * *room : 16;
    void *moved = realloc(array, (size_t)larger * size);
    if (moved) *room = larger;
    return moved;
}

static weir_status no_memory(const vox_file *file)
{
    return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the parts of %s", weir_path_tail(file->path));
}

// ---- Models ----------------------------------------------------------------------------------------------------------------

// SIZE opens a model, the XYZI after it has its voxels.
static weir_status read_size(vox_file *file, cursor c)
{
    if (file->model_count > 0 && !file->models[file->model_count - 1].voxels)
        return vox_damaged(file->path, "model %d has a size and no voxels", file->model_count - 1);
    vox_shape *models = with_room(file->models, file->model_count, &file->model_room, sizeof *models);
    if (!models) return no_memory(file);
    file->models = models;
    vox_shape *m = &models[file->model_count];
    *m = (vox_shape){0};
    for (int32_t i = 0; i < 3; i++) m->size[i] = take_i32(&c);
    for (int32_t i = 0; i < 3; i++) {
        if (m->size[i] >= 1 && m->size[i] <= VOX_MODEL_EDGE) continue;
        return vox_damaged(file->path, "model %d is %d x %d x %d; a side is 1 to %d voxels", file->model_count, m->size[0],
                           m->size[1], m->size[2], VOX_MODEL_EDGE);
    }
    file->model_count++;
    return WEIR_OK;
}

static weir_status read_voxels(vox_file *file, cursor c)
{
    vox_shape *m = file->model_count > 0 ? &file->models[file->model_count - 1] : NULL;
    if (!m || m->voxels) return vox_damaged(file->path, "there are voxels that belong to no model");
    m->count = take_i32(&c);
    m->voxels = take(&c, 4 * (int64_t)m->count);
    if (!m->voxels)
        return vox_damaged(file->path, "model %d has no room for the %d voxels it claims", file->model_count - 1, m->count);
    for (int32_t i = 0; i < m->count; i++) {
        const uint8_t *v = m->voxels + 4 * (size_t)i;
        if (v[0] < m->size[0] && v[1] < m->size[1] && v[2] < m->size[2]) continue;
        return vox_damaged(file->path, "model %d has a voxel at (%d, %d, %d), outside its %d x %d x %d", file->model_count - 1,
                           v[0], v[1], v[2], m->size[0], m->size[1], m->size[2]);
    }
    return WEIR_OK;
}

// ---- Nodes -----------------------------------------------------------------------------------------------------------------

// Row i of the matrix has one number that is not 0, at from[i]; two bits each for the first two rows, then three signs.
static bool unpack_rotation(int64_t packed, vox_turn *turn)
{
    uint8_t first = packed & 3, second = packed >> 2 & 3;
    if (packed < 0 || packed > 127 || first > 2 || second > 2 || first == second) return false;
    const uint8_t from[3] = {first, second, (uint8_t)(3 - first - second)};
    memcpy(turn->from, from, sizeof from);
    for (int32_t i = 0; i < 3; i++) turn->sign[i] = packed >> (4 + i) & 1 ? -1 : 1;
    return true;
}

static weir_status read_frame(const vox_file *file, cursor *c, vox_node *node)
{
    int32_t pairs = take_i32(c);
    for (int32_t i = 0; i < pairs && !c->ended; i++) {
        word key = take_word(c), value = take_word(c);
        int64_t packed;
        if (word_is(key, "_t") && !word_numbers(value, node->turn.shift, 3))
            return vox_damaged(file->path, "the translation of node %d is not three whole numbers", node->id);
        if (word_is(key, "_r") && (!word_numbers(value, &packed, 1) || !unpack_rotation(packed, &node->turn)))
            return vox_damaged(file->path, "the rotation of node %d makes no sense", node->id);
    }
    return WEIR_OK;
}

static void read_attributes(cursor *c, bool *hidden)
{
    int32_t pairs = take_i32(c);
    for (int32_t i = 0; i < pairs && !c->ended; i++) {
        word key = take_word(c), value = take_word(c);
        if (word_is(key, "_hidden") && word_is(value, "1")) *hidden = true;
    }
}

// Of several frames, which are an animation, the first counts.
static weir_status read_transform(vox_file *file, cursor *c, vox_node *node)
{
    node->children = take(c, 4);
    node->child_count = 1;
    take_i32(c);
    node->layer = take_i32(c);
    int32_t frames = take_i32(c);
    return frames > 0 ? read_frame(file, c, node) : WEIR_OK;
}

static weir_status read_node(vox_file *file, cursor c, vox_node_kind kind)
{
    vox_node *nodes = with_room(file->nodes, file->node_count, &file->node_room, sizeof *nodes);
    if (!nodes) return no_memory(file);
    file->nodes = nodes;
    vox_node *node = &nodes[file->node_count];
    *node = (vox_node){.kind = kind, .id = take_i32(&c), .turn = {.from = {0, 1, 2}, .sign = {1, 1, 1}}};
    read_attributes(&c, &node->hidden);
    weir_status status = WEIR_OK;
    if (kind == VOX_TRANSFORM) {
        status = read_transform(file, &c, node);
    } else {
        node->child_count = take_i32(&c);
        // A shape has a model and the attributes of it; further ones are an animation.
        if (kind == VOX_SHAPE && node->child_count > 1) node->child_count = 1;
        node->children = take(&c, 4 * (int64_t)node->child_count);
    }
    if (status != WEIR_OK) return status;
    if (c.ended) return vox_damaged(file->path, "node %d ends too early", node->id);
    file->node_count++;
    return WEIR_OK;
}

static weir_status read_layer(vox_file *file, cursor c)
{
    int32_t layer = take_i32(&c);
    bool hidden = false;
    read_attributes(&c, &hidden);
    if (!hidden) return WEIR_OK;
    if (file->layer_count == LAYERS_MOST) return vox_damaged(file->path, "more than %d of its layers are hidden", LAYERS_MOST);
    int32_t *layers = with_room(file->hidden_layers, file->layer_count, &file->layer_room, sizeof *layers);
    if (!layers) return no_memory(file);
    file->hidden_layers = layers;
    layers[file->layer_count++] = layer;
    return WEIR_OK;
}

// ---- The file --------------------------------------------------------------------------------------------------------------

static weir_status read_chunk(vox_file *file, const char *id, cursor own)
{
    if (memcmp(id, "SIZE", 4) == 0) return read_size(file, own);
    if (memcmp(id, "XYZI", 4) == 0) return read_voxels(file, own);
    if (memcmp(id, "nTRN", 4) == 0) return read_node(file, own, VOX_TRANSFORM);
    if (memcmp(id, "nGRP", 4) == 0) return read_node(file, own, VOX_GROUP);
    if (memcmp(id, "nSHP", 4) == 0) return read_node(file, own, VOX_SHAPE);
    if (memcmp(id, "LAYR", 4) == 0) return read_layer(file, own);
    if (memcmp(id, "RGBA", 4) == 0) file->palette = take(&own, 4 * 256);
    if (memcmp(id, "IMAP", 4) == 0) file->order = take(&own, 256);
    return own.ended ? vox_damaged(file->path, "its %.4s is too short", id) : WEIR_OK;
}

static weir_status read_chunks(vox_file *file, cursor c)
{
    while (c.at < c.end) {
        const char *id = (const char *)take(&c, 4);
        int32_t own = take_i32(&c), children = take_i32(&c);
        const uint8_t *content = take(&c, own);
        if (c.ended || children < 0 || !take(&c, children))
            return vox_damaged(file->path, "a part of it is longer than the file");
        weir_status status = read_chunk(file, id, (cursor){content, content + own, false});
        if (status != WEIR_OK) return status;
    }
    if (file->model_count == 0) return vox_damaged(file->path, "it has no model");
    if (!file->models[file->model_count - 1].voxels)
        return vox_damaged(file->path, "model %d has a size and no voxels", file->model_count - 1);
    return WEIR_OK;
}

weir_status vox_read_bytes(const char *path, const uint8_t *bytes, size_t size, const weir_voxels_def *def, weir_voxels *voxels)
{
    *voxels = (weir_voxels){0};
    cursor c = {bytes, bytes + size, false};
    const uint8_t *magic = take(&c, 4);
    if (!magic || memcmp(magic, "VOX ", 4) != 0) return vox_damaged(path, "this is not a MagicaVoxel file");
    take_i32(&c);  // Versions 150 and 200 differ in what newer editors put into attributes.
    const uint8_t *id = take(&c, 4);
    int32_t own = take_i32(&c);
    take_i32(&c);  // Some writers get the length of all children wrong; the chunks tell their own.
    take(&c, own);
    if (c.ended || memcmp(id, "MAIN", 4) != 0) return vox_damaged(path, "it ends before its main part");
    vox_file file = {.path = path};
    weir_status status = read_chunks(&file, c);
    if (status == WEIR_OK) status = vox_assemble(&file, def, voxels);
    free(file.models);
    free(file.nodes);
    free(file.hidden_layers);
    return status;
}

weir_status weir_vox_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    uint8_t *bytes;
    size_t size;
    *voxels = (weir_voxels){0};
    if (def && def->scale != 0)
        return format_fail(WEIR_ERROR_ARGUMENT, "%s is made of voxels: it has no scale to set", weir_path_tail(path));
    weir_status status = file_read(path, FILE_MOST, &bytes, &size);
    if (status != WEIR_OK) return status;
    status = vox_read_bytes(path, bytes, size, def, voxels);
    free(bytes);
    return status;
}
