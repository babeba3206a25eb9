// A locale that writes numbers with a comma, as a game may have set it. Include after cmocka.h.
#ifndef WEIR_TEST_LOCALE_H
#define WEIR_TEST_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Sets one that is here, or makes one by localedef. False if there is neither. Ends with test_end_comma.
static inline bool test_begin_comma(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "nl_NL.UTF-8", "pt_BR.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_NUMERIC, names[i])) return true;
    char folder[] = "/tmp/weir-test-locale-XXXXXX", command[256];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    bool made = system(command) != -1;
    setenv("LOCPATH", folder, 1);
    made = made && setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != -1 && made;
}

static inline void test_end_comma(void)
{
    setlocale(LC_NUMERIC, "C");
}

#endif
