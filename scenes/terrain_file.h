// The scene that is played when there is terrain from a file and no scene: a box with walls as large as the file, and water that
// falls onto it unless the file has water of its own. It is made at run time:
//
//     scene_terrain_file *scene;
//     if (scene_terrain_file_open(&voxels, fluid, &scene) != WEIR_OK) return fail(scene_error());
//     scene_run *run;
//     if (scene_open(scene_terrain_file_def(scene), &options, &run) != WEIR_OK) return fail(scene_error());
//     ...
//     scene_close(run);
//     scene_terrain_file_close(scene);
#ifndef SCENES_TERRAIN_FILE_H
#define SCENES_TERRAIN_FILE_H

#include "scenes/scene.h"
#include <weir/formats.h>

typedef struct scene_terrain_file scene_terrain_file;

// The voxels must outlast the scene. `fluid` is the palette's colour that is water, 0: none.
weir_status scene_terrain_file_open(const weir_voxels *voxels, int32_t fluid, scene_terrain_file **scene);

const scene_def *scene_terrain_file_def(const scene_terrain_file *scene);

// After the run that plays it has been closed. NULL is allowed.
void scene_terrain_file_close(scene_terrain_file *scene);

#endif
