// Reports: JSON into a file or to stdout. It is put together in memory and written when it is whole, into a file beside its
// place that is then renamed, so that nobody ever reads half a report. A place that cannot be written is found out when the
// report is opened, before the work.
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct report_file {
    const char *path;  // NULL: no report was asked for; "-": stdout
    FILE *text;        // collects what is written; NULL when closed
    char *memory;
    size_t length;
    int32_t depth;
    bool empty;  // nothing written yet on this level
} report_file;

// path NULL: there will be no report; closing does nothing, and nothing else may be called. Returns 0, or an exit status after
// telling what is wrong.
int report_open(report_file *report, const char *path);

// Puts the report in its place. Returns 0, or an exit status after telling what is wrong.
int report_close(report_file *report);

// Forgets a report that will not be written. Allowed after closing.
void report_abandon(report_file *report);

// Whether the report goes to stdout, where then nothing else may.
bool report_on_stdout(const report_file *report);

// The JSON itself. key is NULL inside an array and for the outermost value.
void report_object(report_file *report, const char *key);
void report_array(report_file *report, const char *key);
void report_end(report_file *report, char bracket);
void report_string(report_file *report, const char *key, const char *value);
void report_integer(report_file *report, const char *key, int64_t value);
void report_number(report_file *report, const char *key, double value);  // null if not finite

// Numbers that a reader's floats could not hold, as strings.
void report_drops(report_file *report, const char *key, int64_t value);
void report_hash(report_file *report, const char *key, uint64_t value);

#endif
