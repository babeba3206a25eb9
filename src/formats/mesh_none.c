// Meshes in, where no process can be made for them to be read in: a sentence. See mesh_read.h.
#include "formats/mesh_read.h"

weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    (void)def;
    *voxels = (weir_voxels){0};
    return format_fail(WEIR_ERROR_UNSUPPORTED, "cannot read %s: Weir reads no meshes on Windows; it does read .vox files",
                       weir_path_tail(path));
}
