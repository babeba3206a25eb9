// The name that somebody may have meant who typed another one.
#ifndef APP_NEAR_H
#define APP_NEAR_H

#include <stdint.h>

// A hint for a sentence about a wrong name: give every right one to near_try, then take near_hint.
typedef struct near_name {
    const char *typed;
    char best[64];
    int32_t distance;
    char hint[96];
} near_name;

near_name near_begin(const char *typed);
void near_try(near_name *near, const char *candidate);

// " (did you mean X?)" with what stands before X; empty if nothing is near.
const char *near_hint(near_name *near, const char *before);

#endif
