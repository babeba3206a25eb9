// Files in and out, for pictures, meshes and voxels. They live in a library of their own, weir-formats, because some of them need
// other libraries; a game that reads and writes no such files does without it and them.
//
// Every writer writes beside the old file first and renames it then, so that nobody ever sees half a file.
#ifndef WEIR_FORMATS_H
#define WEIR_FORMATS_H

#include <weir/mesh.h>
#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes a picture as PNG: rows from the top, red, green and blue bytes. WEIR_ERROR_FILE if it cannot be written,
// WEIR_ERROR_UNSUPPORTED in a build without libpng.
WEIR_API weir_status weir_png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb);

// ---- Meshes ----------------------------------------------------------------------------------------------------------------
// weir/mesh.h makes them. A mesh may be empty or NULL. WEIR_ERROR_FILE if the file cannot be written.

// Writes one mesh as PLY, binary and little endian: x y z nx ny nz as floats, faces as lists of three indices. Positions are in cells,
// relative to the mesh's origin, which stands in a comment.
WEIR_API weir_status weir_ply_write(const char *path, const weir_mesh *mesh);

// Writes water and terrain as OBJ, as two objects of these names with normals. Positions are in cells of the world.
WEIR_API weir_status weir_obj_write(const char *path, const weir_mesh *water, const weir_mesh *terrain);

// Writes water and terrain as glTF 2.0 in its binary form, one file: two meshes of these names with a material each. A node scales cells
// to metres: cell_size of them to a cell, 0 for 0.1, which suits the default gravity at 100 updates per second. WEIR_ERROR_LIMIT if the
// file would be larger than 4 GiB.
WEIR_API weir_status weir_glb_write(const char *path, const weir_mesh *water, const weir_mesh *terrain, double cell_size);

#ifdef __cplusplus
}
#endif
#endif
