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

#ifdef _WIN32

#include <stdio.h>
#include <string.h>

// Windows has no locale to hold in the hand, but can let a thread have its own.
typedef struct plain_numbers {
    int threads;     // whether this one had its own
    char games[96];  // the locale's name
} plain_numbers;

static inline plain_numbers plain_numbers_begin(void)
{
    plain_numbers n = {.threads = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE)};
    const char *games = setlocale(LC_NUMERIC, NULL);
    if (games && strlen(games) < sizeof n.games) strcpy(n.games, games);
    if (n.games[0]) setlocale(LC_NUMERIC, "C");
    return n;
}

static inline void plain_numbers_end(plain_numbers *n)
{
    if (n->games[0]) setlocale(LC_NUMERIC, n->games);
    if (n->threads > 0) _configthreadlocale(n->threads);
}

#else

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

#endif
