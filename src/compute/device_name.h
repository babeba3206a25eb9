// How a user names a device: by a part of its name, in capitals or not.
#ifndef WEIR_COMPUTE_DEVICE_NAME_H
#define WEIR_COMPUTE_DEVICE_NAME_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static inline bool device_name_has(const char *name, const char *part)
{
    size_t length = strlen(part);
    for (; *name; name++)
        if (strncasecmp(name, part, length) == 0) return true;
    return false;
}

#endif
