// Which reader a file's name asks for.
#include "formats/voxels.h"

weir_status weir_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    if (weir_path_ends_in(path, ".vox")) return weir_vox_read(path, def, voxels);
    if (weir_path_ends_in(path, ".png")) return weir_height_map_read(path, def, voxels);
    if (weir_path_ending(path)[0] != '\0') return weir_mesh_voxels_read(path, def, voxels);
    *voxels = (weir_voxels){0};
    return format_fail(WEIR_ERROR_ARGUMENT, "%s: its name does not end in .vox, .png, or that of a mesh such as .obj",
                       weir_path_tail(path));
}
