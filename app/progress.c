#include "app/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "app/plain.h"

#define BAR_WIDTH 40
#define REDRAW_SECONDS 0.1

static bool shown;  // a bar stands on the terminal's last line; there is one at a time

double progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

progress_bar progress_begin(const char *label, int64_t total, bool quiet)
{
    return (progress_bar){.label = label, .total = total, .on = !quiet && isatty(STDERR_FILENO)};
}

void progress_show(progress_bar *bar, int64_t done)
{
    if (!bar->on) return;
    double now = progress_clock();
    if (now - bar->drawn < REDRAW_SECONDS) return;
    bar->drawn = now;

    char drawing[BAR_WIDTH + 1];
    int64_t filled = bar->total > 0 ? done * BAR_WIDTH / bar->total : 0;
    for (int32_t i = 0; i < BAR_WIDTH; i++) drawing[i] = i < filled ? '#' : '.';
    drawing[BAR_WIDTH] = '\0';
    fputc('\r', stderr);
    plain_write(stderr, bar->label);
    fprintf(stderr, " [%s] %lld/%lld", drawing, (long long)done, (long long)bar->total);
    fflush(stderr);
    shown = true;
}

void progress_wipe(void)
{
    if (shown) fprintf(stderr, "\r\033[K");
    shown = false;
}

void progress_end(progress_bar *bar)
{
    progress_wipe();
    bar->on = false;
}
