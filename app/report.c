#include "app/report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "app/plain.h"

// ---- The file --------------------------------------------------------------------------------------------------------------

// Where a report goes and where it is first written. Devices and pipes must not be renamed over, so they are written in
// place; and the file that a link points to is replaced, not the link.
typedef struct report_place {
    char real[PATH_MAX];
    char temporary[PATH_MAX + 32];  // empty: write in place
} report_place;

// 0, or the errno that says why the path is not good.
static int find_place(const char *path, report_place *place)
{
    struct stat info;
    place->temporary[0] = '\0';
    bool exists = stat(path, &info) == 0;
    if (strlen(path) >= sizeof place->real) return ENAMETOOLONG;
    if (exists && S_ISDIR(info.st_mode)) return EISDIR;
    if (!exists || !realpath(path, place->real)) memcpy(place->real, path, strlen(path) + 1);
    if (!exists || S_ISREG(info.st_mode)) {
        snprintf(place->temporary, sizeof place->temporary, "%s.%ld.tmp", place->real, (long)getpid());
    }
    return 0;
}

// Tries whether a report can be written, and leaves nothing behind.
static int try_place(const char *path)
{
    report_place place;
    int reason = find_place(path, &place);
    if (reason) return reason;
    if (!place.temporary[0]) return access(place.real, W_OK) ? errno : 0;
    FILE *file = fopen(place.temporary, "w");
    if (!file) return errno;
    fclose(file);
    remove(place.temporary);
    return 0;
}

static int write_file(const char *path, const char *text, size_t length)
{
    report_place place;
    int reason = find_place(path, &place);
    if (reason) return reason;
    const char *written = place.temporary[0] ? place.temporary : place.real;
    FILE *file = fopen(written, "w");
    if (!file) return errno;
    errno = 0;
    bool good = fwrite(text, 1, length, file) == length;
    good = fclose(file) == 0 && good;
    if (good && place.temporary[0]) good = rename(place.temporary, place.real) == 0;
    if (good) return 0;
    reason = errno ? errno : EIO;
    if (place.temporary[0]) remove(place.temporary);
    return reason;
}

static int write_stdout(const char *text, size_t length)
{
    errno = 0;
    if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0) return 0;
    return errno ? errno : EIO;
}

bool report_on_stdout(const report_file *report)
{
    return report->path && strcmp(report->path, "-") == 0;
}

int report_open(report_file *report, const char *path)
{
    *report = (report_file){.path = path, .empty = true};
    if (!path) return 0;
    int reason = report_on_stdout(report) ? 0 : try_place(path);
    if (reason) return app_fail(EXIT_WRONG, "--report %s cannot be written: %s", path, strerror(reason));
    report->text = open_memstream(&report->memory, &report->length);
    return report->text ? 0 : app_fail(EXIT_FAILED, "memory ran out for the report");
}

int report_close(report_file *report)
{
    if (!report->text) return 0;
    bool whole = fclose(report->text) == 0;
    report->text = NULL;
    if (!whole) return app_fail(EXIT_FAILED, "memory ran out for the report");
    int reason = report_on_stdout(report) ? write_stdout(report->memory, report->length)
                                          : write_file(report->path, report->memory, report->length);
    return reason ? app_fail(EXIT_FAILED, "--report %s could not be written: %s", report->path, strerror(reason)) : 0;
}

void report_abandon(report_file *report)
{
    if (report->text) fclose(report->text);
    report->text = NULL;
    free(report->memory);
    report->memory = NULL;
}

// ---- JSON ------------------------------------------------------------------------------------------------------------------

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    while (*text) {
        size_t bytes = plain_letter(text);
        if (*text == '"' || *text == '\\') {
            fprintf(file, "\\%c", *text);
        } else if (bytes > 0) {
            fwrite(text, 1, bytes, file);
        } else {
            // A control character; or a byte that belongs to no letter, for which Unicode has a sign.
            fprintf(file, "\\u%04x", (unsigned char)*text < 0x80 ? (unsigned)*text : 0xfffdu);
        }
        text += bytes > 0 ? bytes : 1;
    }
    fputc('"', file);
}

// What stands before a value: comma, line, key.
static void begin_value(report_file *report, const char *key)
{
    if (!report->empty) fputc(',', report->text);
    if (report->depth > 0) fprintf(report->text, "\n%*s", 2 * report->depth, "");
    report->empty = false;
    if (!key) return;
    write_text(report->text, key);
    fputs(": ", report->text);
}

static void begin_level(report_file *report, const char *key, char bracket)
{
    begin_value(report, key);
    fputc(bracket, report->text);
    report->depth++;
    report->empty = true;
}

void report_object(report_file *report, const char *key)
{
    begin_level(report, key, '{');
}

void report_array(report_file *report, const char *key)
{
    begin_level(report, key, '[');
}

void report_end(report_file *report, char bracket)
{
    report->depth--;
    if (!report->empty) fprintf(report->text, "\n%*s", 2 * report->depth, "");
    fputc(bracket, report->text);
    if (report->depth == 0) fputc('\n', report->text);
    report->empty = false;
}

void report_string(report_file *report, const char *key, const char *value)
{
    begin_value(report, key);
    write_text(report->text, value);
}

void report_integer(report_file *report, const char *key, int64_t value)
{
    begin_value(report, key);
    fprintf(report->text, "%" PRId64, value);
}

void report_number(report_file *report, const char *key, double value)
{
    begin_value(report, key);
    if (isfinite(value)) {
        fprintf(report->text, "%.9g", value);
    } else {
        fputs("null", report->text);
    }
}

void report_drops(report_file *report, const char *key, int64_t value)
{
    begin_value(report, key);
    fprintf(report->text, "\"%" PRId64 "\"", value);
}

void report_hash(report_file *report, const char *key, uint64_t value)
{
    begin_value(report, key);
    fprintf(report->text, "\"%016" PRIx64 "\"", value);
}
