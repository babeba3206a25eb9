// How the materials of a world look in files of meshes.
#include "formats/mesh_part.h"

#include <assert.h>
#include <math.h>

const part_look WATER_LOOK = {{0.05f, 0.27f, 0.45f}, 0.6f, 0.05f, 0, 0};
const part_look TERRAIN_LOOK = {{0.38f, 0.33f, 0.27f}, 1, 0.95f, 0, 0};

// What a colour does not tell of those that are built in. Of others their kind must do.
static const weir_mesh_part built_in[WEIR_MATERIALS_BUILT_IN] = {
    [WEIR_WATER] = {.opacity = 0.6f, .roughness = 0.05f},
    [WEIR_OIL] = {.opacity = 0.9f, .roughness = 0.1f},
    [WEIR_LAVA] = {.opacity = 1, .roughness = 0.8f, .glow = 1},
    [WEIR_HONEY] = {.opacity = 0.85f, .roughness = 0.1f},
    [WEIR_MERCURY] = {.opacity = 1, .roughness = 0.05f, .metal = 1},
    [WEIR_STEAM] = {.opacity = 0.25f, .roughness = 1},
    [WEIR_SMOKE] = {.opacity = 0.4f, .roughness = 1},
    [WEIR_ICE] = {.opacity = 0.85f, .roughness = 0.2f},
    [WEIR_STONE] = {.opacity = 1, .roughness = 0.95f},
};

static const weir_mesh_part of_kind[WEIR_KIND_COUNT] = {
    [WEIR_KIND_LIQUID] = {.opacity = 0.8f, .roughness = 0.1f},
    [WEIR_KIND_GAS] = {.opacity = 0.3f, .roughness = 1},
    [WEIR_KIND_SOLID] = {.opacity = 1, .roughness = 0.9f},
};

weir_mesh_part weir_mesh_part_of(const weir_world *world, weir_material material, const weir_mesh *mesh)
{
    weir_material_def def;
    if (material == WEIR_TERRAIN)
        return (weir_mesh_part){
            .name = "terrain", .mesh = mesh, .colour = {0.65f, 0.61f, 0.56f}, .opacity = 1, .roughness = 0.95f};
    const bool found = weir_world_material(world, material, &def);
    assert(found);
    if (!found) return (weir_mesh_part){.name = "nothing", .mesh = mesh, .opacity = 1};
    weir_mesh_part part = material < WEIR_MATERIALS_BUILT_IN ? built_in[material] : of_kind[def.kind];
    part.name = def.name;
    part.mesh = mesh;
    for (int32_t i = 0; i < 3; i++) part.colour[i] = def.colour[i];
    return part;
}

weir_status mesh_parts_check(const char *path, int32_t count)
{
    if (count >= 0 && count <= WEIR_MESH_PARTS_MAX) return WEIR_OK;
    return format_fail(WEIR_ERROR_ARGUMENT, "cannot write %s: %d meshes in one file; there may be 0 to %d",
                       weir_path_tail(path), count, WEIR_MESH_PARTS_MAX);
}

// NaN becomes the least.
static float within(float value, float least, float most)
{
    return value > least ? value < most ? value : most : least;
}

// From a screen's curve (sRGB).
static float light_of(float shown)
{
    shown = within(shown, 0, 1);
    return shown <= 0.04045f ? shown / 12.92f : powf((shown + 0.055f) / 1.055f, 2.4f);
}

part_look mesh_part_look(const weir_mesh_part *part)
{
    part_look look = {.opacity = part->opacity == 0 ? 1 : within(part->opacity, 0, 1),
                      .roughness = within(part->roughness, 0, 1),
                      .metal = within(part->metal, 0, 1),
                      .glow = within(part->glow, 0, 1)};
    for (int32_t i = 0; i < 3; i++) look.light[i] = light_of(part->colour[i]);
    return look;
}
