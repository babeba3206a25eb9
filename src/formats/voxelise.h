// Closed meshes into solid voxels.
#ifndef WEIR_FORMATS_VOXELISE_H
#define WEIR_FORMATS_VOXELISE_H

#include "formats/voxels.h"

// Triangles in units of their own, nine numbers each.
typedef struct triangle_soup {
    float *corners;
    int64_t count;
} triangle_soup;

// Makes every cell solid whose centre lies inside. WEIR_ERROR_FORMAT if the triangles do not enclose anything.
weir_status voxelise(const char *path, const triangle_soup *soup, const weir_voxels_def *def, weir_voxels *voxels);

#endif
