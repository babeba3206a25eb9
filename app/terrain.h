// `weir run --terrain FILE`: terrain, and perhaps water, from a file that others made.
#ifndef APP_TERRAIN_H
#define APP_TERRAIN_H

#include "app/options.h"
#include "scenes/terrain_file.h"

typedef struct terrain_file {
    weir_voxels voxels;
    scene_terrain_file *scene;  // the scene for it, if none was asked for
} terrain_file;

// Reads the file that the options name, if they name one. Returns 0, or an exit status after telling what is wrong.
int terrain_read(terrain_file *terrain, const app_options *options);

// Puts it into the scene, unless that is made of it.
int terrain_put(const terrain_file *terrain, const app_options *options, scene_run *run);

// After the run has been closed.
void terrain_end(terrain_file *terrain);

#endif
