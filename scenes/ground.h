// The scene that is played when there is terrain from a file and no scene: a box with walls as large as the file, and water that
// falls onto it unless the file has water of its own. It is made at run time:
//
//     scene_ground *ground;
//     if (scene_ground_open(&voxels, fluid, &ground) != WEIR_OK) return fail(scene_error());
//     scene_run *run;
//     if (scene_open(scene_ground_def(ground), &options, &run) != WEIR_OK) return fail(scene_error());
//     ...
//     scene_close(run);
//     scene_ground_close(ground);
#ifndef SCENES_GROUND_H
#define SCENES_GROUND_H

#include "scenes/scene.h"
#include <weir/formats.h>

typedef struct scene_ground scene_ground;

// The voxels must outlast the scene. `fluid` is the palette's colour that is water, 0: none.
weir_status scene_ground_open(const weir_voxels *voxels, int32_t fluid, scene_ground **ground);

const scene_def *scene_ground_def(const scene_ground *ground);

// After the run that plays it has been closed. NULL is allowed.
void scene_ground_close(scene_ground *ground);

#endif
