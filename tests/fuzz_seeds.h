// What the fuzzers begin with: small good files, written into the folder that WEIR_FUZZ_SEEDS names before libFuzzer looks there.
#ifndef WEIR_FUZZ_SEEDS_H
#define WEIR_FUZZ_SEEDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The path of a seed; NULL if none are wanted.
static inline const char *seed_path(const char *name)
{
    static char path[512];
    const char *folder = getenv("WEIR_FUZZ_SEEDS");
    if (!folder) return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

// What must hold, whatever the bytes were.
static inline void must(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "this must hold: %s\n", what);
    abort();
}
#define MUST(condition) must((condition) ? 1 : 0, #condition)

#endif
