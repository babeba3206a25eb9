// MagicaVoxel files in: vox_read.c reads the chunks, vox_scene.c puts the models together.
#ifndef WEIR_FORMATS_VOX_READ_H
#define WEIR_FORMATS_VOX_READ_H

#include "formats/voxels.h"

enum { VOX_MODEL_EDGE = 256, VOX_DEEPEST = 256 };

// A model: its voxels lie in the file, four bytes each: x, y, z, colour.
typedef struct vox_shape {
    int32_t size[3];
    const uint8_t *voxels;
    int32_t count;
} vox_shape;

// A turn and a shift in whole voxels: axis i of the outcome is sign[i] times axis from[i] of what went in, plus shift[i].
typedef struct vox_turn {
    uint8_t from[3];
    int8_t sign[3];
    int64_t shift[3];
} vox_turn;

typedef enum vox_node_kind { VOX_TRANSFORM, VOX_GROUP, VOX_SHAPE } vox_node_kind;

typedef struct vox_node {
    vox_node_kind kind;
    int32_t id;
    bool hidden, seen;
    int32_t layer;            // transform
    vox_turn turn;            // transform
    const uint8_t *children;  // transform, group: ids of nodes; shape: that of a model
    int32_t child_count;
} vox_node;

typedef struct vox_file {
    const char *path;
    vox_shape *models;
    int32_t model_count, model_room;
    vox_node *nodes;  // by id
    int32_t node_count, node_room;
    int32_t *hidden_layers;
    int32_t layer_count, layer_room;
    const uint8_t *palette;  // 256 times red, green, blue, alpha; NULL: the usual one
    const uint8_t *order;    // 256 colours in the order in which the editor shows them; NULL: as they are
} vox_file;

__attribute__((format(printf, 2, 3))) weir_status vox_damaged(const char *path, const char *format, ...);

// Makes voxels of what has been read.
weir_status vox_assemble(vox_file *file, const weir_voxels_def *def, weir_voxels *voxels);

// The whole way from the bytes of a file; for weir_vox_read and for the tests that throw bytes at it.
weir_status vox_read_bytes(const char *path, const uint8_t *bytes, size_t size, const weir_voxels_def *def,
                           weir_voxels *voxels);

#endif
