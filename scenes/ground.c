#include "scenes/ground.h"

#include <stdlib.h>

struct scene_ground {
    scene_def def;
    weir_world_def world_def;
    weir_params params;
    const weir_voxels *voxels;
    int32_t fluid;
};

static const scene_ground *ground_played(const scene_run *run)
{
    return (const scene_ground *)((const char *)run->def - offsetof(scene_ground, def));
}

static bool has_water(const scene_ground *ground)
{
    const weir_voxels *v = ground->voxels;
    size_t cells = (size_t)v->size.x * (size_t)v->size.y * (size_t)v->size.z;
    for (size_t i = 0; i < cells && ground->fluid > 0; i++)
        if (v->values[i] == ground->fluid) return true;
    return false;
}

// A block over the middle, a ninth of the ground, that fills the upper half of the room above.
static void set_up(scene_run *run)
{
    const scene_ground *ground = ground_played(run);
    const weir_coord top = ground->world_def.bounds.max;
    run->status = weir_voxels_put(run->world, ground->voxels, (weir_coord){0, 0, 0}, ground->fluid);
    if (has_water(ground)) return;
    int32_t low = ground->voxels->size.y + (top.y - ground->voxels->size.y) / 2;
    scene_fill(run, scene_box(top.x / 3, top.x - top.x / 3, low, top.y, top.z / 3, top.z - top.z / 3), 1.0f);
}

static void measure(scene_run *run)
{
    scene_set_probe(run, "volume", scene_volume(run, weir_world_bounds(run->world)));
}

weir_status scene_ground_open(const weir_voxels *voxels, int32_t fluid, scene_ground **out)
{
    scene_ground *ground = *out = calloc(1, sizeof *ground);
    if (!ground) return scene_fail_as_weir(weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for a scene"));
    ground->voxels = voxels;
    ground->fluid = fluid;
    ground->params = weir_params_default();
    ground->world_def.params = &ground->params;
    ground->world_def.bounds =
        scene_box(0, voxels->size.x, 0, voxels->size.y + scene_at_least(voxels->size.y / 2, 16), 0, voxels->size.z);
    ground->def = (scene_def){.name = "terrain",
                              .summary = "water on terrain from a file",
                              .size_meaning = "nothing: the file has its size",
                              .size = 1,
                              .size_min = 1,
                              .size_max = 1,
                              .updates = 1000,
                              .probes = {{"volume", "water in all, full cells"}},
                              .world = &ground->world_def,
                              .set_up = set_up,
                              .measure = measure};
    return WEIR_OK;
}

const scene_def *scene_ground_def(const scene_ground *ground)
{
    return &ground->def;
}

void scene_ground_close(scene_ground *ground)
{
    free(ground);
}
