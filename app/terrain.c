#include "app/terrain.h"

#include <string.h>

#include "app/app.h"

static int fail(weir_status status)
{
    return app_fail(app_exit_status(status), "--terrain: %s", weir_error_message());
}

static bool wants_own_scene(const app_options *options)
{
    return options->name_count == 0 || (options->name_count == 1 && strcmp(options->names[0], "terrain") == 0);
}

int terrain_read(terrain_file *terrain, const app_options *options)
{
    if (!options->terrain) {
        if (options->terrain_scale != 0) return app_fail(EXIT_WRONG, "--terrain-scale needs --terrain FILE");
        if (options->fluid_index != 0) return app_fail(EXIT_WRONG, "--fluid-index needs --terrain FILE");
        return 0;
    }
    if (options->load && !wants_own_scene(options))
        return app_fail(EXIT_WRONG, "--terrain and --load cannot go together: the snapshot has its terrain already");
    const weir_voxels_def def = {.scale = options->terrain_scale};
    weir_status status = weir_voxels_read(options->terrain, &def, &terrain->voxels);
    if (status != WEIR_OK) return fail(status);
    if (options->fluid_index != 0 && terrain->voxels.kind != WEIR_VOXELS_PALETTE)
        return app_fail(EXIT_WRONG, "--fluid-index is for .vox files: %s has no palette", options->terrain);
    if (!wants_own_scene(options)) return 0;
    if (options->terrain_placed)
        return app_fail(EXIT_WRONG, "--terrain %s: a place is for scenes; without one the world is the file's",
                        options->terrain);
    if (options->size_given)
        return app_fail(EXIT_WRONG, "--size is for scenes; without one the world is as large as %s", options->terrain);
    status = scene_terrain_file_open(&terrain->voxels, options->fluid_index, &terrain->scene);
    return status == WEIR_OK ? 0 : app_fail(app_exit_status(status), "%s", scene_error());
}

int terrain_put(const terrain_file *terrain, const app_options *options, scene_run *run)
{
    if (!terrain->voxels.values || terrain->scene) return 0;
    weir_coord at = options->terrain_placed ? options->terrain_at : weir_world_bounds(run->world).min;
    weir_status status = weir_voxels_put(run->world, &terrain->voxels, at, options->fluid_index);
    return status == WEIR_OK ? 0 : fail(status);
}

void terrain_end(terrain_file *terrain)
{
    scene_terrain_file_close(terrain->scene);
    weir_voxels_free(&terrain->voxels);
}
