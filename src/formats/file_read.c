// A file as a whole, for readers that look at it from several sides. Its size is looked at before room is made for it.
#include "formats/voxels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static weir_status cannot_read(const char *path, const char *why)
{
    return format_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path), why);
}

weir_status file_read(const char *path, size_t most, uint8_t **bytes, size_t *size)
{
    struct stat info;
    *bytes = NULL;
    *size = 0;
    if (stat(path, &info) != 0) return cannot_read(path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return cannot_read(path, "it is not a plain file");
    if (info.st_size < 0 || (uintmax_t)info.st_size > most) {
        return format_fail(WEIR_ERROR_LIMIT, "%s has %lld bytes; at most %zu can be read", weir_path_tail(path),
                           (long long)info.st_size, most);
    }
    FILE *file = fopen(path, "rb");
    if (!file) return cannot_read(path, strerror(errno));
    weir_status status = WEIR_OK;
    *size = (size_t)info.st_size;
    *bytes = malloc(*size + 1);
    if (!*bytes) {
        status = format_fail(WEIR_ERROR_MEMORY, "memory ran out for the %zu bytes of %s", *size, weir_path_tail(path));
    } else if (fread(*bytes, 1, *size, file) != *size) {
        status = cannot_read(path, ferror(file) ? strerror(errno) : "it became shorter");
    }
    fclose(file);
    if (status == WEIR_OK) return WEIR_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}
