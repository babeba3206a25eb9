// Files in and out, for pictures, meshes and voxels. They live in a library of their own, weir-formats, because some of them need
// other libraries; a game that reads and writes no such files does without it and them.
//
// Every writer writes beside the old file first and renames it then, so that nobody ever sees half a file.
#ifndef WEIR_FORMATS_H
#define WEIR_FORMATS_H

#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes a picture as PNG: rows from the top, red, green and blue bytes. WEIR_ERROR_FILE if it cannot be written,
// WEIR_ERROR_UNSUPPORTED in a build without libpng.
WEIR_API weir_status weir_png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb);

#ifdef __cplusplus
}
#endif
#endif
