// From the models and nodes of a MagicaVoxel file to one box of voxels.
//
// Nodes are a tree of transforms, groups and shapes. Every node may be met once, so that neither a loop nor a node with many parents
// can keep us busy, and a tree is at most VOX_DEEPEST deep. A transform turns and shifts all below it; a shape's model has its middle,
// which is size / 2 rounded down, at the place that the transforms above it make of 0. All of it is whole numbers: a voxel's centre is
// half a voxel beside a whole number on every axis, and a quarter turn keeps it so.
#include "formats/bytes.h"
#include "formats/vox_read.h"

#include <stdlib.h>
#include <string.h>

typedef struct placed {
    const vox_shape *model;
    vox_turn turn;
} placed;

typedef struct scene {
    vox_file *file;
    placed *parts;
    int32_t count, room;
    int64_t voxels;  // of all parts
} scene;

// ---- The tree --------------------------------------------------------------------------------------------------------------

static const vox_turn AS_IT_IS = {.from = {0, 1, 2}, .sign = {1, 1, 1}};

// First `inner`, then `outer`.
static vox_turn compose(const vox_turn *outer, const vox_turn *inner)
{
    vox_turn turn;
    for (int32_t i = 0; i < 3; i++) {
        int32_t from = outer->from[i];
        turn.from[i] = inner->from[from];
        turn.sign[i] = (int8_t)(outer->sign[i] * inner->sign[from]);
        turn.shift[i] = outer->sign[i] * inner->shift[from] + outer->shift[i];
    }
    return turn;
}

static int compare_nodes(const void *a, const void *b)
{
    int32_t x = ((const vox_node *)a)->id, y = ((const vox_node *)b)->id;
    return (x > y) - (x < y);
}

static vox_node *find_node(const vox_file *file, int32_t id)
{
    const vox_node key = {.id = id};
    return bsearch(&key, file->nodes, (size_t)file->node_count, sizeof key, compare_nodes);
}

static bool layer_hidden(const vox_file *file, int32_t layer)
{
    for (int32_t i = 0; i < file->layer_count; i++)
        if (file->hidden_layers[i] == layer) return true;
    return false;
}

static weir_status add_part(scene *s, int32_t model, const vox_turn *turn)
{
    if (model < 0 || model >= s->file->model_count)
        return vox_damaged(s->file->path, "a shape wants model %d; there are %d", model, s->file->model_count);
    if (s->count == s->room) {
        int32_t room = s->room ? 2 * s->room : 64;
        placed *parts = realloc(s->parts, (size_t)room * sizeof *parts);
        if (!parts) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the parts of %s", weir_path_tail(s->file->path));
        s->parts = parts;
        s->room = room;
    }
    s->parts[s->count++] = (placed){&s->file->models[model], *turn};
    s->voxels += s->file->models[model].count;
    return WEIR_OK;
}

static weir_status walk(scene *s, int32_t id, const vox_turn *above, int32_t depth)
{
    vox_node *node = find_node(s->file, id);
    if (!node) return vox_damaged(s->file->path, "node %d is not there", id);
    if (node->seen) return vox_damaged(s->file->path, "node %d lies in a loop or has two parents", id);
    if (depth >= VOX_DEEPEST) return vox_damaged(s->file->path, "its nodes are nested more than %d deep", VOX_DEEPEST);
    node->seen = true;
    bool transform = node->kind == VOX_TRANSFORM;
    if (node->hidden || (transform && layer_hidden(s->file, node->layer))) return WEIR_OK;
    vox_turn turn = transform ? compose(above, &node->turn) : *above;
    for (int32_t i = 0; i < node->child_count; i++) {
        int32_t child = load_i32(node->children + 4 * (size_t)i);
        weir_status status = node->kind == VOX_SHAPE ? add_part(s, child, &turn) : walk(s, child, &turn, depth + 1);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

// Without nodes there is one model, or the frames of an animation; its lowest corner is the place 0.
static weir_status place_models(scene *s)
{
    vox_file *file = s->file;
    if (file->node_count == 0) {
        const int32_t *size = file->models[0].size;
        vox_turn turn = AS_IT_IS;
        turn.shift[0] = size[0] / 2;
        turn.shift[1] = size[1] / 2 - size[1];  // so that their y from 0 on becomes our z from 0 on
        turn.shift[2] = size[2] / 2;
        return add_part(s, 0, &turn);
    }
    qsort(file->nodes, (size_t)file->node_count, sizeof *file->nodes, compare_nodes);
    for (int32_t i = 1; i < file->node_count; i++)
        if (file->nodes[i].id == file->nodes[i - 1].id)
            return vox_damaged(file->path, "there are two nodes %d", file->nodes[i].id);
    return walk(s, file->nodes[0].id, &AS_IT_IS, 0);
}

// ---- Voxels ----------------------------------------------------------------------------------------------------------------

// Where a model's voxel goes, in the file's axes. In halves everything is whole, and an odd number of halves rounds down.
static void place_voxel(const placed *part, const int32_t voxel[3], int64_t place[3])
{
    int64_t halves[3];
    for (int32_t i = 0; i < 3; i++) halves[i] = 2 * (int64_t)voxel[i] + 1 - 2 * (int64_t)(part->model->size[i] / 2);
    for (int32_t i = 0; i < 3; i++) place[i] = (part->turn.sign[i] * halves[part->turn.from[i]] - 1) / 2 + part->turn.shift[i];
}

typedef struct reach {
    int64_t min[3], max[3];  // inclusive
} reach;

static reach reach_of(const scene *s)
{
    reach r = {{INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MIN, INT64_MIN, INT64_MIN}};
    for (int32_t p = 0; p < s->count; p++) {
        const int32_t *size = s->parts[p].model->size;
        for (int32_t end = 0; end < 2; end++) {
            const int32_t corner[3] = {end ? size[0] - 1 : 0, end ? size[1] - 1 : 0, end ? size[2] - 1 : 0};
            int64_t place[3];
            place_voxel(&s->parts[p], corner, place);
            for (int32_t i = 0; i < 3; i++) {
                if (place[i] < r.min[i]) r.min[i] = place[i];
                if (place[i] > r.max[i]) r.max[i] = place[i];
            }
        }
    }
    return r;
}

// The place in our axes: (x, z, -1 - y).
static void fill_part(const placed *part, const reach *r, const uint8_t shown[256], weir_voxels *voxels)
{
    for (int32_t i = 0; i < part->model->count; i++) {
        const uint8_t *v = part->model->voxels + 4 * (size_t)i;
        const int32_t voxel[3] = {v[0], v[1], v[2]};
        int64_t place[3];
        place_voxel(part, voxel, place);
        size_t at = voxels_place(voxels, (int32_t)(place[0] - r->min[0]), (int32_t)(place[2] - r->min[2]),
                                 (int32_t)(r->max[1] - place[1]));
        if (v[3]) voxels->values[at] = shown[v[3]];
    }
}

// ---- Colours ---------------------------------------------------------------------------------------------------------------

// Files of old have no palette and mean this one: a cube of six steps of each colour from white on, blue changing first, without its
// black end; then ten darker steps of red, of green, of blue and of grey.
static void usual_palette(uint8_t palette[256][4])
{
    static const uint8_t steps[10] = {0xee, 0xdd, 0xbb, 0xaa, 0x88, 0x77, 0x55, 0x44, 0x22, 0x11};
    for (int32_t i = 0; i < 215; i++) {
        const uint8_t colour[4] = {(uint8_t)(255 - 51 * (i / 36)), (uint8_t)(255 - 51 * (i / 6 % 6)),
                                   (uint8_t)(255 - 51 * (i % 6)), 255};
        memcpy(palette[1 + i], colour, 4);
    }
    for (int32_t i = 0; i < 40; i++) {
        const int32_t part = i / 10;
        uint8_t *to = palette[216 + i];
        for (int32_t c = 0; c < 3; c++) to[c] = part == c || part == 3 ? steps[i % 10] : 0;
        to[3] = 255;
    }
}

// The number that the editor shows for each colour of the file; a file whose order is none counts as in order.
static void shown_numbers(const vox_file *file, uint8_t shown[256])
{
    bool met[256] = {false}, sound = file->order != NULL;
    for (int32_t i = 0; i < 256; i++) shown[i] = (uint8_t)i;
    for (int32_t i = 0; i < 255 && sound; i++) {
        uint8_t colour = file->order[i];
        sound = colour != 0 && !met[colour];
        met[colour] = true;
    }
    for (int32_t i = 0; i < 255 && sound; i++) shown[file->order[i]] = (uint8_t)(i + 1);
}

static void set_colours(const vox_file *file, const uint8_t shown[256], weir_voxels *voxels)
{
    uint8_t palette[256][4] = {{0}};
    if (file->palette)
        memcpy(palette[1], file->palette, 4 * 255);
    else
        usual_palette(palette);
    for (int32_t i = 1; i < 256; i++) memcpy(voxels->palette[shown[i]], palette[i], 4);
}

static weir_status make_voxels(const scene *s, const weir_voxels_def *def, weir_voxels *voxels)
{
    const char *path = s->file->path;
    int64_t most = def && def->limit > 0 && def->limit < WEIR_VOXELS_LIMIT ? def->limit : WEIR_VOXELS_LIMIT;
    if (s->count == 0) return vox_damaged(path, "it shows no model");
    if (s->voxels > most)
        return vox_damaged(path, "its models place %lld voxels, more than %lld", (long long)s->voxels, (long long)most);
    reach r = reach_of(s);
    for (int32_t i = 0; i < 3; i++)
        if (r.min[i] < -WEIR_COORD_LIMIT || r.max[i] >= WEIR_COORD_LIMIT)
            return vox_damaged(path, "it places a model outside any world");
    weir_status status = voxels_make(path, def, (double)(r.max[0] - r.min[0] + 1), (double)(r.max[2] - r.min[2] + 1),
                                     (double)(r.max[1] - r.min[1] + 1), voxels);
    if (status != WEIR_OK) return status;
    uint8_t shown[256];
    shown_numbers(s->file, shown);
    voxels->kind = WEIR_VOXELS_PALETTE;
    voxels->origin = (weir_coord){(int32_t)r.min[0], (int32_t)r.min[2], (int32_t)(-1 - r.max[1])};
    set_colours(s->file, shown, voxels);
    for (int32_t i = 0; i < s->count; i++) fill_part(&s->parts[i], &r, shown, voxels);
    return WEIR_OK;
}

weir_status vox_assemble(vox_file *file, const weir_voxels_def *def, weir_voxels *voxels)
{
    scene s = {.file = file};
    weir_status status = place_models(&s);
    if (status == WEIR_OK) status = make_voxels(&s, def, voxels);
    free(s.parts);
    return status;
}
