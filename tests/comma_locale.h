/* A locale that writes 1,5 for one and a half, to see that no number read or written here follows it. */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool comma_locale_is_set(const char *name)
{
    return setlocale(LC_ALL, name) != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Sets one that the system has, or builds one in `directory`; false where neither works. */
static inline bool comma_locale_set(const char *directory)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (comma_locale_is_set(names[i])) {
            return true;
        }
    }
    char command[512];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", directory);
    if (system(command) == -1) {
        return false;
    }
    setenv("LOCPATH", directory, 1);
    const bool set = comma_locale_is_set("de_DE.UTF-8");
    unsetenv("LOCPATH");
    return set;
}

#endif
