// Triangle meshes in, by assimp, and made solid.
//
// assimp knows some forty formats, and hostile files can crash some of its readers. So it works in a process of its own, with limits on
// time and memory, that hands over triangles through a pipe: whatever happens there, here it is a sentence.
#include "formats/voxelise.h"

#if WEIR_HAVE_ASSIMP

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 30, TRIANGLES_MOST = 1 << 26, SECONDS_LEAST = 10, SECONDS_BYTES = 1 << 20 };  // a second more per MiB

#define MEMORY_MOST ((rlim_t)8 << 30)

// A sanitizer's own memory is larger than any limit.
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMIT_MEMORY 0
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY 1
#endif

// What comes through the pipe first; then the triangles.
typedef struct mesh_news {
    int64_t count;  // of triangles; -1: there are none, and this is why
    char said[160];
} mesh_news;

// ---- In a process of its own -----------------------------------------------------------------------------------------------

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

// Addresses in use: what the game has mapped counts here as well.
static rlim_t memory_now(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%llu", &pages) != 1) pages = 0;
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void work_apart(const char *path, rlim_t seconds, int pipe_end)
{
    // What the program does when it breaks down is not for this process.
    const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGPIPE};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) signal(deadly[i], SIG_DFL);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (LIMIT_MEMORY) {
        rlim_t most = memory_now() + MEMORY_MOST;
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    const struct aiScene *scene = import(path);
    mesh_news news = {.count = scene ? count_triangles(scene) : -1};
    if (!scene) snprintf(news.said, sizeof news.said, "%s", aiGetErrorString());
    bool sent = send_all(pipe_end, &news, sizeof news);
    for (unsigned m = 0; scene && sent && m < scene->mNumMeshes; m++) sent = send_mesh(pipe_end, scene->mMeshes[m]);
    _exit(sent ? 0 : 1);
}

// ---- Here ------------------------------------------------------------------------------------------------------------------

static bool receive_all(int pipe_end, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t got = read(pipe_end, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

// *whole gets whether all of it came.
static weir_status receive(const char *path, int pipe_end, triangle_soup *soup, bool *whole)
{
    mesh_news news;
    *whole = receive_all(pipe_end, &news, sizeof news);
    if (!*whole) return WEIR_OK;
    news.said[sizeof news.said - 1] = '\0';
    if (news.count < 0)
        return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh cannot be read: %.140s", path_tail(path), news.said);
    if (news.count > TRIANGLES_MOST) {
        return format_fail(WEIR_ERROR_LIMIT, "%s has %lld triangles; at most %d can be read", path_tail(path),
                           (long long)news.count, TRIANGLES_MOST);
    }
    soup->count = news.count;
    soup->corners = malloc((size_t)(news.count + 1) * 9 * sizeof *soup->corners);
    if (!soup->corners) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the triangles of %s", path_tail(path));
    *whole = receive_all(pipe_end, soup->corners, (size_t)news.count * 9 * sizeof *soup->corners);
    return WEIR_OK;
}

static weir_status read_triangles(const char *path, rlim_t seconds, triangle_soup *soup)
{
    int ends[2], how = 0;
    if (pipe(ends) != 0) return format_fail(WEIR_ERROR_FILE, "cannot read %s: %s", path_tail(path), strerror(errno));
    // A process that another thread starts must not hold the pipe open.
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        work_apart(path, seconds, ends[1]);
    }
    int failure = errno;
    close(ends[1]);
    bool whole = false;
    weir_status status = process < 0 ? format_fail(WEIR_ERROR_THREAD, "cannot read %s: no process could be started: %s",
                                                   path_tail(path), strerror(failure))
                                     : receive(path, ends[0], soup, &whole);
    close(ends[0]);
    while (process > 0 && waitpid(process, &how, 0) < 0 && errno == EINTR) {
    }
    if (status != WEIR_OK || whole) return status;
    bool slow = WIFSIGNALED(how) && (WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL);
    return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh cannot be read: its reader %s", path_tail(path),
                       slow ? "takes too long" : "broke down over it");
}

static weir_status check_file(const char *path, rlim_t *seconds)
{
    struct stat info;
    if (stat(path, &info) != 0) return format_fail(WEIR_ERROR_FILE, "cannot read %s: %s", path_tail(path), strerror(errno));
    if (!S_ISREG(info.st_mode)) return format_fail(WEIR_ERROR_FILE, "cannot read %s: it is not a plain file", path_tail(path));
    *seconds = SECONDS_LEAST + (rlim_t)(info.st_size / SECONDS_BYTES);
    if (info.st_size <= FILE_MOST) return WEIR_OK;
    return format_fail(WEIR_ERROR_LIMIT, "%s has %lld bytes; at most %d can be read", path_tail(path), (long long)info.st_size,
                       FILE_MOST);
}

weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    *voxels = (weir_voxels){0};
    triangle_soup soup = {0};
    rlim_t seconds = 0;
    weir_status status = check_file(path, &seconds);
    if (status == WEIR_OK) status = read_triangles(path, seconds, &soup);
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
                       path_tail(path));
}

#endif
