#include "core/c_locale.h"

bool c_locale_enter(c_locale *scope)
{
    scope->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (scope->c == (locale_t)0) {
        return false;
    }
    scope->before = uselocale(scope->c);
    return true;
}

void c_locale_leave(c_locale *scope)
{
    uselocale(scope->before);
    freelocale(scope->c);
}
