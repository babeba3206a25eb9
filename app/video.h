// A film being written: pictures go through a pipe to ffmpeg, which writes beside the film's place; it is renamed when it is whole.
#ifndef APP_VIDEO_H
#define APP_VIDEO_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct video {
    const char *path;
    char temporary[PATH_MAX + 32];
    pid_t process;  // 0: none
    int pipe;       // to its standard input
    FILE *words;    // what it says
} video;

// Whether a film can have this name: by its ending. Returns 0, or an exit status after telling what is wrong.
int video_check(const char *path);

// Whether ffmpeg is there.
bool video_possible(void);

// Starts ffmpeg. Returns 0, or an exit status after telling what is wrong.
int video_open(video *v, const char *path, int32_t width, int32_t height, int32_t fps);

// One picture more, rows from the top. Returns 0, or an exit status after telling what is wrong.
int video_add(video *v, const uint8_t *rgb, size_t bytes);

// Ends the film and puts it in its place, or, when `whole` is false, throws it away. Allowed twice. Returns 0, or an exit status after
// telling what is wrong.
int video_close(video *v, bool whole);

#endif
