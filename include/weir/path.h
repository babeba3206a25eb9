// The parts of a file's name: folder/stem.ending, cut as Weir's own readers and writers cut it. For programs around Weir that choose by a
// file's ending or name a file in a sentence; weir.h does not include it.
#ifndef WEIR_PATH_H
#define WEIR_PATH_H

#include <stdbool.h>
#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// The name without its folders; what lies before it is the folder with its slash, or nothing.
WEIR_API const char *weir_path_name(const char *path);

// Whether it says by itself which file it is, wherever the program stands: /folder/name or, on Windows, C:/folder/name.
WEIR_API bool weir_path_is_absolute(const char *path);

// The ending with its dot; empty if there is none. A name's first letter begins no ending: .mp4 is a hidden file.
WEIR_API const char *weir_path_ending(const char *path);

// Whether this is the ending, in capitals or not; it is given in small letters.
WEIR_API bool weir_path_ends_in(const char *path, const char *ending);

// The end of a path, where the name is: a sentence has room for little more.
WEIR_API const char *weir_path_tail(const char *path);

#ifdef __cplusplus
}
#endif

#endif
