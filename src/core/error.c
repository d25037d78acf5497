#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

nmt_status error_set(nmt_error *error, nmt_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        error->status = status;
    }
    return status;
}
