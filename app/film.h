// The pictures of a run: PNG files in a folder, a film, or both, at a frame rate that is tied to the simulated time.
#ifndef APP_FILM_H
#define APP_FILM_H

#include "app/options.h"
#include "app/video.h"

typedef struct film {
    bool on;
    weir_picture_def def;
    double updates_per_frame;
    int64_t first;  // update of the first picture
    int64_t count;  // pictures that it has
    int64_t drawn;  // and how many of them were drawn; the others show the same update again
    uint8_t *rgb;
    const char *folder;  // NULL: no files
    char made_folder[PATH_MAX];
    video video;
    bool has_video, lacks_ffmpeg;
    float *draw_ms;  // one per drawing
    int64_t room;
    int64_t removed;  // pictures of an earlier run that followed the last one
} film;

// Checks the options before anything else is done. Returns 0, or an exit status after telling what is wrong.
int film_check(const app_options *options);

// Makes ready for the pictures of a scene. Without --frames and --video the film stays off. Returns 0, or an exit status.
int film_open(film *f, const app_options *options, const scene_run *run);

// Draws all pictures that are due at the run's update. Returns 0, or an exit status after telling what is wrong.
int film_show(film *f, const scene_run *run);

// Ends the film. Returns 0, or an exit status after telling what is wrong.
int film_close(film *f);

// Removes the pictures of an earlier, longer run that follow the last one without a gap.
void film_remove_older(film *f);

// Throws a film away that was not ended.
void film_free(film *f);

// The median and the longest time that drawing a picture took, milliseconds. Sorts the times.
void film_times(film *f, double *median, double *longest);

#endif
