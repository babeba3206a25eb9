#include "app/video.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/app.h"
#include <weir/path.h>

extern char **environ;

// Between the folders of PATH, and at the end of a program's name.
#ifdef _WIN32
#define LIST_COMMA ";"
#define PROGRAM_ENDING ".exe"
#else
#define LIST_COMMA ":"
#define PROGRAM_ENDING ""
#endif

// What ffmpeg is told for each kind of film. Films of odd sizes get a row or column more, which mp4 and webm need.
#define EVEN "pad=ceil(iw/2)*2:ceil(ih/2)*2"
#define KIND_WORDS 12

typedef struct video_kind {
    const char *ending, *format;
    const char *words[KIND_WORDS];
} video_kind;

static const video_kind kinds[] = {
    {".mp4", "mp4", {"-vf", EVEN, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"}},
    {".webm", "webm", {"-vf", EVEN, "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", "-crf", "28", "-b:v", "0"}},
    // A palette for each picture: one for the whole film would keep the film in memory.
    {".gif", "gif", {"-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"}},
};

static const video_kind *kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (weir_path_ends_in(path, kinds[i].ending)) return &kinds[i];
    return NULL;
}

int video_check(const char *path)
{
    if (strlen(path) >= PATH_MAX) return app_fail(EXIT_WRONG, "--video: the name of the film is too long");
    if (!kind_of(path)) return app_fail(EXIT_WRONG, "--video %s: a film's name must end in .mp4, .webm or .gif", path);
    return app_check_path("video", path);
}

bool video_possible(void)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        char name[PATH_MAX];
        size_t length = strcspn(path, LIST_COMMA);
        int written = snprintf(name, sizeof name, "%.*s/ffmpeg" PROGRAM_ENDING, (int)length, path);
        if (written > 0 && written < (int)sizeof name && access(name, X_OK) == 0) return true;
        path += length + (path[length] != '\0');
    }
    return false;
}

// ---- Starting --------------------------------------------------------------------------------------------------------------

// Its own group, so that Ctrl-C ends the run and not the film.
static int spawn(video *v, char *const words[], int from)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t manner;
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    if (posix_spawnattr_init(&manner) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int reason = posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO);
    if (!reason) reason = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!reason) reason = posix_spawn_file_actions_adddup2(&files, fileno(v->words), STDERR_FILENO);
    if (!reason) reason = posix_spawnattr_setpgroup(&manner, 0);
    if (!reason) reason = posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETPGROUP);
    if (!reason) reason = posix_spawnp(&v->process, "ffmpeg", &files, &manner, words, environ);
    if (reason) v->process = 0;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&manner);
    return reason;
}

static int start(video *v, const video_kind *kind, int32_t width, int32_t height, int32_t fps)
{
    char size[32], rate[16];
    snprintf(size, sizeof size, "%dx%d", width, height);
    snprintf(rate, sizeof rate, "%d", fps);
    const char *words[16 + KIND_WORDS + 8] = {"ffmpeg", "-v",   "error", "-y", "-f", "rawvideo", "-pix_fmt",
                                              "rgb24",  "-s:v", size,    "-r", rate, "-i",       "pipe:0"};
    int32_t count = 14;
    for (int32_t i = 0; i < KIND_WORDS && kind->words[i]; i++) words[count++] = kind->words[i];
    words[count++] = "-f";
    words[count++] = kind->format;
    words[count++] = v->temporary;

    int ends[2];
    if (pipe(ends) != 0) return errno;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int reason = spawn(v, (char *const *)words, ends[0]);
    close(ends[0]);
    v->pipe = ends[1];
    if (reason) close(ends[1]);
    return reason;
}

int video_open(video *v, const char *path, int32_t width, int32_t height, int32_t fps)
{
    *v = (video){.path = path};
    // A name that begins with a dash, or looks like an address, must stay a file's name for ffmpeg.
    snprintf(v->temporary, sizeof v->temporary, "%s%s.tmp-%ld", weir_path_is_absolute(path) ? "" : "./", path, (long)getpid());
    FILE *trial = fopen(v->temporary, "wb");
    if (!trial) return app_fail(EXIT_WRONG, "--video %s cannot be written: %s", path, strerror(errno));
    fclose(trial);
    v->words = tmpfile();
    int reason = v->words ? start(v, kind_of(path), width, height, fps) : errno;
    if (!reason) {
        signal(SIGPIPE, SIG_IGN);  // an ffmpeg that has ended is told by write
        return 0;
    }
    unlink(v->temporary);
    if (v->words) fclose(v->words);
    v->words = NULL;
    return app_fail(EXIT_FAILED, "--video %s: ffmpeg could not be started: %s", path, strerror(reason));
}

// ---- Writing ---------------------------------------------------------------------------------------------------------------

static int tell_failure(video *v)
{
    char line[256] = "";
    rewind(v->words);
    if (!fgets(line, sizeof line, v->words) || line[0] == '\n') snprintf(line, sizeof line, "it does not say why");
    line[strcspn(line, "\n")] = '\0';
    return app_fail(EXIT_FAILED, "--video %s: ffmpeg failed: %s", v->path, line);
}

// Waits for ffmpeg to end, and puts the film into its place unless it is not whole; `told` is what to say if ffmpeg is content all the
// same.
static int end_video(video *v, bool whole, const char *told)
{
    int status = 0, result = 0;
    close(v->pipe);
    pid_t ended;
    while ((ended = waitpid(v->process, &status, 0)) < 0 && errno == EINTR) {
    }
    v->process = 0;
    bool good = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if ((whole || told) && !good) result = tell_failure(v);
    if (told && good) result = app_fail(EXIT_FAILED, "--video %s: %s", v->path, told);
    if (whole && good && rename(v->temporary, v->path) != 0)
        result = app_fail(EXIT_FAILED, "--video %s could not be written: %s", v->path, strerror(errno));
    if (!whole || result) unlink(v->temporary);
    fclose(v->words);
    v->words = NULL;
    return result;
}

int video_close(video *v, bool whole)
{
    if (v->process == 0) return 0;
    if (!whole) kill(v->process, SIGKILL);
    return end_video(v, whole, NULL);
}

int video_add(video *v, const uint8_t *rgb, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(v->pipe, rgb, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return end_video(v, false, "ffmpeg ended too early");
        rgb += written;
        bytes -= (size_t)written;
    }
    return 0;
}
