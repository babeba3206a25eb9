// A file that is written beside its place and takes it when it is whole.
#ifndef WEIR_FORMATS_NEW_FILE_H
#define WEIR_FORMATS_NEW_FILE_H

#include "base/plain_numbers.h"
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <weir/formats.h>
#include <weir/path.h>

// Until it is closed, numbers are written with a point on this thread, whatever the game's locale is.
typedef struct new_file {
    FILE *file;
    plain_numbers numbers;
    int failure;  // errno of the first new_file_write that failed; 0: none
    char path[PATH_MAX], temporary[PATH_MAX];
} new_file;

// WEIR_ERROR_FILE with a sentence if it cannot be written; then the file is NULL.
weir_status new_file_open(new_file *f, const char *path);

// As fwrite, but a failure is told by its own reason: a large write that fails leaves nothing in the buffer to fail again at the
// end.
void new_file_write(new_file *f, const void *bytes, size_t size);

// Whether all that was written so far has reached the file, for those whose file is not the last one to be written. It is still to be
// closed.
weir_status new_file_flush(new_file *f);

// Puts the file into its place, or removes it if anything written to it got lost or `whole` is false (the caller has failed and
// said so). Returns WEIR_OK or the failure of the file itself.
weir_status new_file_close(new_file *f, bool whole);

// As status_fail inside the library: keeps the sentence and returns the status.
__attribute__((format(printf, 2, 3))) weir_status format_fail(weir_status status, const char *format, ...);

#endif
