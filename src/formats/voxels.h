// What the readers and writers of voxels share.
#ifndef WEIR_FORMATS_VOXELS_H
#define WEIR_FORMATS_VOXELS_H

#include "formats/new_file.h"

// Makes a box of empty voxels, or says that it is larger than `def` allows or than there is memory for. Sizes are doubles, so that a
// file may claim anything; they must be whole and at least 1.
weir_status voxels_make(const char *path, const weir_voxels_def *def, double size_x, double size_y, double size_z,
                        weir_voxels *voxels);

static inline size_t voxels_place(const weir_voxels *v, int32_t x, int32_t y, int32_t z)
{
    return (size_t)x + (size_t)v->size.x * ((size_t)y + (size_t)v->size.y * (size_t)z);
}

// The whole way from the bytes of a file; for weir_height_map_read and for the tests that throw bytes at it.
weir_status height_map_read_bytes(const char *path, const uint8_t *bytes, size_t size, const weir_voxels_def *def,
                                  weir_voxels *voxels);

// The whole of a file, to be freed; *size gets its length. WEIR_ERROR_LIMIT above `most` bytes.
weir_status file_read(const char *path, size_t most, uint8_t **bytes, size_t *size);

#endif
