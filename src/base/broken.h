// What a validate says of a structure that is not as it must be. Debug and sanitizer builds run the validates after every update
// (src/world/life.c); they are there in every build, so that tests can see them find what was broken on purpose.
#ifndef WEIR_BASE_BROKEN_H
#define WEIR_BASE_BROKEN_H

// Returns the sentence (printf style, at most 255 characters), which stays until the next one on this thread.
__attribute__((format(printf, 1, 2))) const char *broken(const char *format, ...);

#endif
