/* The C locale, for this thread and a while: functions of the C library read and write numbers by the locale. */
#ifndef CORE_C_LOCALE_H
#define CORE_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>

typedef struct c_locale {
    locale_t c, before;
} c_locale;

/* False when out of memory; else the caller leaves it again. */
bool c_locale_enter(c_locale *scope);
void c_locale_leave(c_locale *scope);

#endif
