// A progress bar on stderr, shown on a terminal only.
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress_bar {
    const char *label;
    int64_t total;
    double drawn;  // when the bar was last drawn, seconds
    bool on;
} progress_bar;

// Seconds since some moment in the past.
double progress_clock(void);

progress_bar progress_begin(const char *label, int64_t total, bool quiet);
void progress_show(progress_bar *bar, int64_t done);

// Wipes the bar, if one is shown, so that what is printed next stands on a clean line; the next progress_show draws it again.
void progress_wipe(void);

// Wipes the bar for good.
void progress_end(progress_bar *bar);

#endif
