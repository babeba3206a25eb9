// Meshes by assimp, in a process of its own; see mesh_read.h.
#include "formats/mesh_read.h"

#if WEIR_HAVE_ASSIMP

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <errno.h>
#include <unistd.h>

static bool send_all(int pipe_end, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = write(pipe_end, at, size);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

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

static int64_t count_triangles(const struct aiScene *scene)
{
    int64_t count = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; m++)
        for (unsigned f = 0; f < scene->mMeshes[m]->mNumFaces; f++)
            count += is_triangle(scene->mMeshes[m], &scene->mMeshes[m]->mFaces[f]);
    return count;
}

static bool send_mesh(int pipe_end, const struct aiMesh *mesh)
{
    enum { BATCH = 512 };
    float corners[BATCH][9];
    size_t count = 0;
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        if (!is_triangle(mesh, &mesh->mFaces[f])) continue;
        for (int32_t i = 0; i < 3; i++) {
            const struct aiVector3D *at = &mesh->mVertices[mesh->mFaces[f].mIndices[i]];
            float *to = &corners[count][3 * i];
            to[0] = (float)at->x, to[1] = (float)at->y, to[2] = (float)at->z;
        }
        if (++count < BATCH) continue;
        if (!send_all(pipe_end, corners, sizeof corners)) return false;
        count = 0;
    }
    return send_all(pipe_end, corners, count * sizeof corners[0]);
}

bool mesh_can_import(void)
{
    return true;
}

int mesh_import(const char *path, int pipe_end)
{
    const struct aiScene *scene = import(path);
    mesh_header header = {.count = scene ? count_triangles(scene) : -1};
    if (!scene) snprintf(header.said, sizeof header.said, "%s", aiGetErrorString());
    bool sent = send_all(pipe_end, &header, sizeof header);
    for (unsigned m = 0; scene && sent && m < scene->mNumMeshes; m++) sent = send_mesh(pipe_end, scene->mMeshes[m]);
    return sent ? 0 : 1;
}

#else

bool mesh_can_import(void)
{
    return false;
}

int mesh_import(const char *path, int pipe_end)
{
    (void)path;
    (void)pipe_end;
    return 1;
}

#endif
