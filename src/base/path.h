// The parts of a file's name: folder/stem.ending. They are all in here, so that the scenes and the program, which use nothing else of
// the library's inside, cut names as it does.
#ifndef WEIR_BASE_PATH_H
#define WEIR_BASE_PATH_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

// The name without its folders; what lies before it is the folder with its slash, or nothing.
static inline const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The ending with its dot; empty if there is none. A name's first letter begins no ending: .mp4 is a hidden file.
static inline const char *path_ending(const char *path)
{
    const char *name = path_name(path), *dot = strrchr(name, '.');
    return dot && dot != name ? dot : name + strlen(name);
}

// Whether this is the ending, in capitals or not.
static inline bool path_ends_in(const char *path, const char *ending)
{
    return strcasecmp(path_ending(path), ending) == 0;
}

// The end of a path, where the name is: a sentence has room for little more.
static inline const char *path_tail(const char *path)
{
    size_t length = strlen(path), most = 80;
    return length > most ? path + length - most : path;
}

#endif
