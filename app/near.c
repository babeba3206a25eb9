#include "app/near.h"

#include <stdio.h>
#include <string.h>

#define LETTERS 63

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

// How many letters must be put in, left out or changed to make one name of the other (Levenshtein), row by row of the table.
static int32_t distance(const char *a, const char *b)
{
    const int32_t columns = (int32_t)strlen(b);
    int32_t row[LETTERS + 1];
    for (int32_t j = 0; j <= columns; j++) row[j] = j;
    for (int32_t i = 0; a[i]; i++) {
        int32_t diagonal = row[0];
        row[0] = i + 1;
        for (int32_t j = 0; j < columns; j++) {
            int32_t changed = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(changed, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[columns];
}

near_name near_begin(const char *typed)
{
    // A third of the letters may be wrong, and of a short name one.
    int32_t most = (int32_t)strlen(typed) / 3;
    return (near_name){.typed = typed, .distance = 1 + (most > 1 ? most : 1)};
}

void near_try(near_name *near, const char *candidate)
{
    if (strlen(near->typed) > LETTERS || strlen(candidate) > LETTERS) return;
    int32_t far = distance(near->typed, candidate);
    if (far >= near->distance || far >= (int32_t)strlen(candidate)) return;
    near->distance = far;
    snprintf(near->best, sizeof near->best, "%s", candidate);
}

const char *near_hint(near_name *near, const char *before)
{
    if (near->best[0]) snprintf(near->hint, sizeof near->hint, " (did you mean %.8s%s?)", before, near->best);
    return near->hint;
}
