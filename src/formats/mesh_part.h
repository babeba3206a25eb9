// How a mesh looks in a file, with light as light: the formats of meshes tell colours so, and not as a screen shows them.
#ifndef WEIR_FORMATS_MESH_PART_H
#define WEIR_FORMATS_MESH_PART_H

#include "formats/new_file.h"

typedef struct part_look {
    float light[3];
    float opacity, roughness, metal, glow;
} part_look;

// The looks of weir_glb_write and weir_obj_write, which know no materials.
extern const part_look WATER_LOOK, TERRAIN_LOOK;

// Whether there is anything of a part to write.
static inline bool mesh_part_seen(const weir_mesh_part *part)
{
    return part->mesh && part->mesh->triangle_count > 0;
}

weir_status mesh_parts_check(const char *path, int32_t count);

// Clamps what a caller gives to what there is.
part_look mesh_part_look(const weir_mesh_part *part);

#endif
