#include "formats/new_file.h"

#include "base/status.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

weir_status format_fail(weir_status status, const char *format, ...)
{
    char sentence[STATUS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return weir_error_set(status, sentence);
}

static weir_status cannot_write(const char *path, const char *why)
{
    return format_fail(WEIR_ERROR_FILE, "cannot write %s: %s", weir_path_tail(path), why);
}

weir_status new_file_open(new_file *f, const char *path)
{
    struct stat info;
    f->file = NULL;
    f->failure = 0;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return cannot_write(path, "it is not a plain file");
    // Through a link to the file itself, so that the rename does not put a file in the link's place.
    if (!realpath(path, f->path)) {
        if (strlen(path) >= sizeof f->path) return cannot_write(path, strerror(ENAMETOOLONG));
        strcpy(f->path, path);
    }
    if (snprintf(f->temporary, sizeof f->temporary, "%s.tmp-%ld", f->path, (long)getpid()) >= (int)sizeof f->temporary)
        return cannot_write(path, strerror(ENAMETOOLONG));
    f->file = fopen(f->temporary, "wb");
    if (!f->file) return cannot_write(path, strerror(errno));
    f->numbers = plain_numbers_begin();
    return WEIR_OK;
}

void new_file_write(new_file *f, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, f->file) != size && !f->failure) f->failure = errno;
}

static weir_status cannot_finish(const new_file *f)
{
    return cannot_write(f->path, f->failure ? strerror(f->failure) : "it could not be written in full");
}

// Whether nothing got lost; keeps the reason if something did.
static bool flush(new_file *f)
{
    errno = 0;
    bool written = fflush(f->file) == 0 && !ferror(f->file);
    if (!written && !f->failure) f->failure = errno;
    return written;
}

weir_status new_file_flush(new_file *f)
{
    return flush(f) ? WEIR_OK : cannot_finish(f);
}

weir_status new_file_close(new_file *f, bool whole)
{
    if (!f->file) return WEIR_OK;
    plain_numbers_end(&f->numbers);
    bool written = flush(f);
    if (fclose(f->file) != 0 && written) {
        f->failure = errno;
        written = false;
    }
    f->file = NULL;
    if (whole && written && rename(f->temporary, f->path) == 0) return WEIR_OK;
    if (whole && written) f->failure = errno;
    unlink(f->temporary);
    return whole ? cannot_finish(f) : WEIR_OK;
}
