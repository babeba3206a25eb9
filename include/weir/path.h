// The parts of a file's name: folder/stem.ending, cut as Weir's own readers and writers cut it. For programs around Weir that choose by a
// file's ending or name a file in a sentence; weir.h does not include it.
#ifndef WEIR_PATH_H
#define WEIR_PATH_H

#include <stdbool.h>
#include <string.h>

#ifdef _WIN32
#define WEIR_PATH_SLASHES "/\\:"  // what can stand before a name; C:name lies in the current folder of that drive
#else
#define WEIR_PATH_SLASHES "/"
#endif

// The name without its folders; what lies before it is the folder with its slash, or nothing.
static inline const char *weir_path_name(const char *path)
{
    for (const char *slash; (slash = strpbrk(path, WEIR_PATH_SLASHES));) path = slash + 1;
    return path;
}

// Whether it says by itself which file it is, wherever the program stands: /folder/name or, on Windows, C:/folder/name.
static inline bool weir_path_is_absolute(const char *path)
{
#ifdef _WIN32
    if (path[0] && path[1] == ':') return true;
#endif
    return path[0] && strchr(WEIR_PATH_SLASHES, path[0]);
}

// The ending with its dot; empty if there is none. A name's first letter begins no ending: .mp4 is a hidden file.
static inline const char *weir_path_ending(const char *path)
{
    const char *name = weir_path_name(path), *dot = strrchr(name, '.');
    return dot && dot != name ? dot : name + strlen(name);
}

// Whether this is the ending, in capitals or not; it is given in small letters.
static inline bool weir_path_ends_in(const char *path, const char *ending)
{
    const char *has = weir_path_ending(path);
    while (*has && (*has >= 'A' && *has <= 'Z' ? *has - 'A' + 'a' : *has) == *ending) has++, ending++;
    return *has == *ending;
}

// The end of a path, where the name is: a sentence has room for little more.
static inline const char *weir_path_tail(const char *path)
{
    size_t length = strlen(path), most = 80;
    return length > most ? path + length - most : path;
}

#endif
