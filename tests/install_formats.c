// A stranger's program that writes and reads files, for test_install.sh: install_formats BEGINNING-OF-FILE-NAMES.
#include <stdio.h>
#include <weir/formats.h>
#include <weir/weir.h>

int main(int count, char **words)
{
    char vti[512], vox[512];
    weir_world_def def = weir_world_def_default();
    weir_world *world;
    weir_voxels voxels, again;
    if (count != 2 || weir_world_create(&def, &world) != WEIR_OK) return 1;
    snprintf(vti, sizeof vti, "%s.vti", words[1]);
    snprintf(vox, sizeof vox, "%s.vox", words[1]);
    const weir_box box = {{0, 0, 0}, {8, 8, 8}};
    if (weir_world_fill(world, box, WEIR_WATER, 1) != WEIR_OK || weir_vti_write(vti, world, NULL) != WEIR_OK) return 1;
    if (weir_voxels_of_world(world, NULL, &voxels) != WEIR_OK || weir_vox_write(vox, &voxels) != WEIR_OK) return 1;
    if (weir_voxels_read(vox, NULL, &again) != WEIR_OK || again.size.x != 8 || again.values[0] != WEIR_VOX_WATER) return 1;
    // These may be missing from the build, but not from the library.
    weir_status status = weir_voxels_read("nothing.png", NULL, &voxels);
    if (status != WEIR_ERROR_FILE && status != WEIR_ERROR_UNSUPPORTED) return 1;
    status = weir_voxels_read("nothing.obj", NULL, &voxels);
    if (status != WEIR_ERROR_FILE && status != WEIR_ERROR_UNSUPPORTED) return 1;
    weir_voxels_free(&again);
    weir_world_destroy(world);
    return 0;
}
