#include "scenes/terrain_file.h"

#include <stdlib.h>

struct scene_terrain_file {
    scene_def def;
    weir_world_def world_def;
    weir_params params;
    const weir_voxels *voxels;
    int32_t fluid;
};

static const scene_terrain_file *file_played(const scene_run *run)
{
    return (const scene_terrain_file *)((const char *)run->def - offsetof(scene_terrain_file, def));
}

static bool has_water(const scene_terrain_file *scene)
{
    const weir_voxels *v = scene->voxels;
    size_t cells = (size_t)v->size.x * (size_t)v->size.y * (size_t)v->size.z;
    for (size_t i = 0; i < cells && scene->fluid > 0; i++)
        if (v->values[i] == scene->fluid) return true;
    return false;
}

// A block over the middle, a ninth of the ground, that fills the upper half of the room above.
static void set_up(scene_run *run)
{
    const scene_terrain_file *scene = file_played(run);
    const weir_coord top = scene->world_def.bounds.max;
    run->status = weir_voxels_put(run->world, scene->voxels, (weir_coord){0, 0, 0}, scene->fluid);
    if (has_water(scene)) return;
    int32_t low = scene->voxels->size.y + (top.y - scene->voxels->size.y) / 2;
    scene_fill(run, scene_box(top.x / 3, top.x - top.x / 3, low, top.y, top.z / 3, top.z - top.z / 3), 1.0f);
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "volume", scene_volume(run, weir_world_bounds(run->world)));
}

weir_status scene_terrain_file_open(const weir_voxels *voxels, int32_t fluid, scene_terrain_file **out)
{
    scene_terrain_file *scene = *out = calloc(1, sizeof *scene);
    if (!scene) return scene_fail_as_weir(weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for a scene"));
    scene->voxels = voxels;
    scene->fluid = fluid;
    scene->params = weir_params_default();
    scene->world_def.params = &scene->params;
    scene->world_def.bounds =
        scene_box(0, voxels->size.x, 0, voxels->size.y + scene_at_least(voxels->size.y / 2, 16), 0, voxels->size.z);
    scene->def = (scene_def){.name = "terrain",
                             .summary = "water on terrain from a file",
                             .size_meaning = "nothing: the file has its size",
                             .size = 1,
                             .size_min = 1,
                             .size_max = 1,
                             .updates = 1000,
                             .probes = {{"volume", "water in all, full cells"}},
                             .world = &scene->world_def,
                             .set_up = set_up,
                             .measure = measure};
    return WEIR_OK;
}

const scene_def *scene_terrain_file_def(const scene_terrain_file *scene)
{
    return &scene->def;
}

void scene_terrain_file_close(scene_terrain_file *scene)
{
    free(scene);
}
