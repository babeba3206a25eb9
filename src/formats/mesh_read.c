// Triangle meshes in, by assimp, and made solid.
#include "formats/voxelise.h"

#if WEIR_HAVE_ASSIMP

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_MOST = 1 << 30 };

static const struct aiScene *import(const char *path)
{
    struct aiPropertyStore *wishes = aiCreatePropertyStore();
    if (!wishes) return NULL;
    aiSetImportPropertyInteger(wishes, AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_POINT | aiPrimitiveType_LINE);
    const struct aiScene *scene = aiImportFileExWithProperties(
        path, aiProcess_Triangulate | aiProcess_SortByPType | aiProcess_PreTransformVertices, NULL, wishes);
    aiReleasePropertyStore(wishes);
    return scene;
}

static bool is_triangle(const struct aiMesh *mesh, const struct aiFace *face)
{
    if (face->mNumIndices != 3) return false;
    for (int32_t i = 0; i < 3; i++)
        if (face->mIndices[i] >= mesh->mNumVertices) return false;
    return true;
}

static bool gather(const struct aiScene *scene, triangle_soup *soup)
{
    int64_t room = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; m++) room += scene->mMeshes[m]->mNumFaces;
    soup->count = 0;
    soup->corners = malloc((size_t)(room + 1) * 9 * sizeof *soup->corners);
    if (!soup->corners) return false;
    for (unsigned m = 0; m < scene->mNumMeshes; m++) {
        const struct aiMesh *mesh = scene->mMeshes[m];
        for (unsigned f = 0; f < mesh->mNumFaces; f++) {
            if (!is_triangle(mesh, &mesh->mFaces[f])) continue;
            float *to = soup->corners + 9 * soup->count++;
            for (int32_t i = 0; i < 3; i++) {
                const struct aiVector3D *at = &mesh->mVertices[mesh->mFaces[f].mIndices[i]];
                to[3 * i] = (float)at->x, to[3 * i + 1] = (float)at->y, to[3 * i + 2] = (float)at->z;
            }
        }
    }
    return true;
}

static weir_status check_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        uint8_t *bytes;
        size_t size;
        return file_read(path, 0, &bytes, &size);  // which says why not
    }
    if (info.st_size <= FILE_MOST) return WEIR_OK;
    return format_fail(WEIR_ERROR_LIMIT, "%s has %lld bytes; at most %d can be read", file_tail(path), (long long)info.st_size,
                       FILE_MOST);
}

weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    *voxels = (weir_voxels){0};
    weir_status status = check_file(path);
    if (status != WEIR_OK) return status;
    const struct aiScene *scene = import(path);
    if (!scene)
        return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh cannot be read: %.140s", file_tail(path), aiGetErrorString());
    triangle_soup soup = {0};
    if (!gather(scene, &soup))
        status = format_fail(WEIR_ERROR_MEMORY, "memory ran out for the triangles of %s", file_tail(path));
    aiReleaseImport(scene);
    if (status == WEIR_OK) status = voxelise(path, &soup, def, voxels);
    free(soup.corners);
    return status;
}

#else

weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    (void)def;
    *voxels = (weir_voxels){0};
    return format_fail(WEIR_ERROR_UNSUPPORTED, "cannot read %s: this build of Weir has no assimp (Debian: libassimp-dev)",
                       file_tail(path));
}

#endif
