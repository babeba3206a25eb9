// The parts of a file's name: folder/stem.ending. They are all in here, so that the scenes and the program, which use nothing else of
// the library's inside, cut names as it does.
#ifndef WEIR_BASE_PATH_H
#define WEIR_BASE_PATH_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#ifdef _WIN32
#define PATH_SLASHES "/\\:"  // what can stand before a name; C:name lies in the current folder of that drive
#define PATH_LIST_COMMA ";"  // between the folders of PATH
#define PATH_PROGRAM ".exe"
#else
#define PATH_SLASHES "/"
#define PATH_LIST_COMMA ":"
#define PATH_PROGRAM ""
#endif

// The name without its folders; what lies before it is the folder with its slash, or nothing.
static inline const char *path_name(const char *path)
{
    for (const char *slash; (slash = strpbrk(path, PATH_SLASHES));) path = slash + 1;
    return path;
}

// Whether it says by itself which file it is, wherever the program stands: /folder/name or, on Windows, C:/folder/name.
static inline bool path_is_absolute(const char *path)
{
#ifdef _WIN32
    if (path[0] && path[1] == ':') return true;
#endif
    return path[0] && strchr(PATH_SLASHES, path[0]);
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
