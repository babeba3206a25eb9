// Which reader a file's name asks for.
#include "formats/voxels.h"

#include <string.h>
#include <strings.h>

weir_status weir_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcasecmp(dot, ".vox") == 0) return weir_vox_read(path, def, voxels);
    if (dot && strcasecmp(dot, ".png") == 0) return weir_height_map_read(path, def, voxels);
    if (dot && !strchr(dot, '/')) return weir_mesh_voxels_read(path, def, voxels);
    *voxels = (weir_voxels){0};
    return format_fail(WEIR_ERROR_ARGUMENT, "%s: its name does not end in .vox, .png, or that of a mesh such as .obj",
                       file_tail(path));
}
