// Closed meshes in. assimp knows some forty formats, and hostile files can crash some of its readers. So it works in a process of its
// own, with limits on time and memory, that hands over triangles through a pipe: whatever happens there, here it is a sentence.
//
//     mesh_import.c  in the process of its own: assimp, from a file to triangles
//     mesh_read.c    here: starts it, waits for it, takes what it sends
//     voxelise.c     from triangles to solid voxels
#ifndef WEIR_FORMATS_MESH_READ_H
#define WEIR_FORMATS_MESH_READ_H

#include "formats/voxels.h"

// What comes through the pipe first; then the triangles.
typedef struct mesh_header {
    int64_t count;  // of triangles; -1: there are none, and this is why
    char said[160];
} mesh_header;

// Triangles in units of their own, nine numbers each.
typedef struct triangle_soup {
    float *corners;
    int64_t count;
} triangle_soup;

// What the process may take.
typedef struct mesh_limits {
    double seconds;   // until it has sent everything, and of a processor's time
    uint64_t memory;  // bytes beyond what the program had
} mesh_limits;

// Whether all came that should.
typedef enum mesh_answer { MESH_WHOLE, MESH_CUT_SHORT, MESH_TOO_SLOW } mesh_answer;

// Whether this build has assimp.
bool mesh_can_import(void);

// Reads a file and sends its triangles. For the process of its own, whose exit status it returns.
int mesh_import(const char *path, int pipe_end);

// Takes what mesh_import sends. Waits up to `seconds` for all of it. A failure that is not one of the answer has its sentence. The
// corners are to be freed in any case.
weir_status mesh_receive(const char *path, int pipe_end, double seconds, triangle_soup *soup, mesh_answer *answer);

// Both of them, in two processes.
weir_status mesh_triangles_read(const char *path, const mesh_limits *limits, triangle_soup *soup);

// Makes every cell solid whose centre lies inside. WEIR_ERROR_FORMAT if the triangles do not enclose anything.
weir_status voxelise(const char *path, const triangle_soup *soup, const weir_voxels_def *def, weir_voxels *voxels);

#endif
