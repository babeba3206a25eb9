// Scenes written in Lua (docs/scenes-in-lua.md). A script is played once:
//
//     scene_script *script;
//     if (scene_script_open("my.lua", &options, &script) != WEIR_OK) return fail(scene_error());
//     scene_run *run;
//     if (scene_open(scene_script_def(script), &options, &run) != WEIR_OK) return fail(scene_error());
//     ...
//     scene_close(run);
//     scene_script_close(script);
//
// Scripts are strangers: they have no files but terrain beside them, no processes, a limit on their memory and on the instructions of
// each call.
#ifndef SCENES_SCRIPT_H
#define SCENES_SCRIPT_H

#include "scenes/scene.h"

typedef struct scene_script scene_script;

// Reads a script and runs it up to its call of world{...}, which tells what the scene is. WEIR_ERROR_FILE if it cannot be read,
// WEIR_ERROR_ARGUMENT with file and line if it is wrong, WEIR_ERROR_UNSUPPORTED in a build without Lua.
weir_status scene_script_open(const char *path, const scene_options *options, scene_script **script);

const scene_def *scene_script_def(const scene_script *script);

// After the run that plays it has been closed. NULL is allowed.
void scene_script_close(scene_script *script);

#endif
