// The parts of a file's name, for Weir's own readers and writers and for programs around it.
#include <weir/path.h>

#include <string.h>

#ifdef _WIN32
#define SLASHES "/\\:"  // what can stand before a name; C:name lies in the current folder of that drive
#else
#define SLASHES "/"
#endif

const char *weir_path_name(const char *path)
{
    for (const char *slash; (slash = strpbrk(path, SLASHES));) path = slash + 1;
    return path;
}

bool weir_path_is_absolute(const char *path)
{
#ifdef _WIN32
    if (path[0] && path[1] == ':') return true;
#endif
    return path[0] && strchr(SLASHES, path[0]);
}

const char *weir_path_ending(const char *path)
{
    const char *name = weir_path_name(path), *dot = strrchr(name, '.');
    return dot && dot != name ? dot : name + strlen(name);
}

bool weir_path_ends_in(const char *path, const char *ending)
{
    const char *has = weir_path_ending(path);
    while (*has && (*has >= 'A' && *has <= 'Z' ? *has - 'A' + 'a' : *has) == *ending) has++, ending++;
    return *has == *ending;
}

const char *weir_path_tail(const char *path)
{
    const size_t length = strlen(path), most = 80;
    return length > most ? path + length - most : path;
}
