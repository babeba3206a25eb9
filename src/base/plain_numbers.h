// Numbers with a point, whatever the game's locale makes of it, on the thread that asks:
//
//     plain_numbers numbers = plain_numbers_begin();
//     snprintf(text, sizeof text, "%g", 0.5);
//     plain_numbers_end(&numbers);
//
// They are all in here, so that the library of files, which sees no function of the other's inside, can use them.
#ifndef WEIR_BASE_PLAIN_NUMBERS_H
#define WEIR_BASE_PLAIN_NUMBERS_H

#include <locale.h>

typedef struct plain_numbers {
    locale_t plain, games;
} plain_numbers;

static inline plain_numbers plain_numbers_begin(void)
{
    plain_numbers n = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (n.plain) n.games = uselocale(n.plain);
    return n;
}

static inline void plain_numbers_end(plain_numbers *n)
{
    if (!n->plain) return;
    uselocale(n->games);
    freelocale(n->plain);
}

#endif
