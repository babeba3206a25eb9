// Meshes in: a process of its own reads the file, and here its triangles are taken and made solid; see mesh_read.h.
#include "formats/mesh_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 30, SECONDS_LEAST = 20, SECONDS_BYTES = 1 << 19 };  // bytes of a file that get a second more
enum { TRIANGLES_MOST = 1 << 26, TRIANGLES_FIRST = 4096, TRIANGLE_BYTES = 9 * sizeof(float) };  // room before any has come

#define MEMORY_MOST ((uint64_t)8 << 30)

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

// ---- The process of its own ------------------------------------------------------------------------------------------------

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

static void limit_itself(const mesh_limits *limits)
{
    // Processor time ends it also where nobody is left to wait for it. The first limit's signal is told from being killed.
    const rlim_t seconds = (rlim_t)limits->seconds + 1;
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (LIMIT_MEMORY) {
        rlim_t most = memory_now() + (rlim_t)limits->memory;
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
}

static void work_apart(const char *path, const mesh_limits *limits, int pipe_end)
{
    // What the program does when it breaks down is not for this process.
    const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGPIPE};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) signal(deadly[i], SIG_DFL);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    limit_itself(limits);
    _exit(mesh_import(path, pipe_end));
}

// ---- Here ------------------------------------------------------------------------------------------------------------------

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// False when it got too late for bytes to come. That the pipe has ended is for the reading to find out.
static bool wait_for_bytes(int pipe_end, double deadline)
{
    for (;;) {
        double left = deadline - seconds_now();
        if (left <= 0) return false;
        struct pollfd waited = {.fd = pipe_end, .events = POLLIN};
        int ready = poll(&waited, 1, left < 1000 ? (int)(1000 * left) + 1 : 1000000);
        if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    }
}

static mesh_answer receive_all(int pipe_end, double deadline, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        if (!wait_for_bytes(pipe_end, deadline)) return MESH_TOO_SLOW;
        ssize_t got = read(pipe_end, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return MESH_CUT_SHORT;
        at += got;
        size -= (size_t)got;
    }
    return MESH_WHOLE;
}

static weir_status cannot_read(const char *path, const char *why)
{
    return format_fail(WEIR_ERROR_FORMAT, "%s: the mesh cannot be read: %.140s", weir_path_tail(path), why);
}

// Room is made as they come: so many are only said to come.
static weir_status receive_triangles(const char *path, int pipe_end, double deadline, int64_t count, triangle_soup *soup,
                                     mesh_answer *answer)
{
    while (soup->count < count && *answer == MESH_WHOLE) {
        int64_t room = soup->count ? 2 * soup->count : TRIANGLES_FIRST;
        if (room > count) room = count;
        float *corners = realloc(soup->corners, (size_t)room * TRIANGLE_BYTES);
        if (!corners) return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the triangles of %s", weir_path_tail(path));
        soup->corners = corners;
        *answer = receive_all(pipe_end, deadline, corners + 9 * soup->count, (size_t)(room - soup->count) * TRIANGLE_BYTES);
        if (*answer == MESH_WHOLE) soup->count = room;
    }
    return WEIR_OK;
}

weir_status mesh_receive(const char *path, int pipe_end, double seconds, triangle_soup *soup, mesh_answer *answer)
{
    const double deadline = seconds_now() + seconds;
    mesh_header header;
    *soup = (triangle_soup){0};
    *answer = receive_all(pipe_end, deadline, &header, sizeof header);
    if (*answer != MESH_WHOLE) return WEIR_OK;
    header.said[sizeof header.said - 1] = '\0';
    if (header.count < 0)
        return cannot_read(path, strstr(header.said, "bad_alloc") ? "its reader needs too much memory" : header.said);
    if (header.count > TRIANGLES_MOST) {
        return format_fail(WEIR_ERROR_LIMIT, "%s has %lld triangles; at most %d can be read", weir_path_tail(path),
                           (long long)header.count, TRIANGLES_MOST);
    }
    return receive_triangles(path, pipe_end, deadline, header.count, soup, answer);
}

// Why not all came, by how the process ended.
static const char *tell_end(mesh_answer answer, int how)
{
    if (answer == MESH_TOO_SLOW || (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU)) return "its reader takes too long";
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) return "its reader was killed, perhaps because memory ran out";
    return "its reader broke down over it";
}

weir_status mesh_triangles_read(const char *path, const mesh_limits *limits, triangle_soup *soup)
{
    int ends[2], how = 0;
    *soup = (triangle_soup){0};
    if (pipe(ends) != 0) return format_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path), strerror(errno));
    // A process that another thread starts must not hold the pipe open.
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        work_apart(path, limits, ends[1]);
    }
    int failure = errno;
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return format_fail(WEIR_ERROR_THREAD, "cannot read %s: no process could be started: %s", weir_path_tail(path),
                           strerror(failure));
    }
    mesh_answer answer;
    weir_status status = mesh_receive(path, ends[0], limits->seconds, soup, &answer);
    close(ends[0]);
    if (answer != MESH_CUT_SHORT) kill(process, SIGKILL);  // it has nothing more to say that we wait for
    while (waitpid(process, &how, 0) < 0 && errno == EINTR) {
    }
    return status != WEIR_OK || answer == MESH_WHOLE ? status : cannot_read(path, tell_end(answer, how));
}

static weir_status check_file(const char *path, mesh_limits *limits)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return format_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path), strerror(errno));
    if (!S_ISREG(info.st_mode))
        return format_fail(WEIR_ERROR_FILE, "cannot read %s: it is not a plain file", weir_path_tail(path));
    *limits = (mesh_limits){.seconds = SECONDS_LEAST + (double)info.st_size / SECONDS_BYTES, .memory = MEMORY_MOST};
    if (info.st_size <= FILE_MOST) return WEIR_OK;
    return format_fail(WEIR_ERROR_LIMIT, "%s has %lld bytes; at most %d can be read", weir_path_tail(path),
                       (long long)info.st_size, FILE_MOST);
}

weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels)
{
    *voxels = (weir_voxels){0};
    triangle_soup soup = {0};
    mesh_limits limits;
    weir_status status = check_file(path, &limits);
    if (status == WEIR_OK && !mesh_can_import())
        status = format_fail(WEIR_ERROR_UNSUPPORTED, "cannot read %s: this build of Weir has no assimp (Debian: libassimp-dev)",
                             weir_path_tail(path));
    if (status == WEIR_OK) status = mesh_triangles_read(path, &limits, &soup);
    if (status == WEIR_OK) status = voxelise(path, &soup, def, voxels);
    free(soup.corners);
    return status;
}
