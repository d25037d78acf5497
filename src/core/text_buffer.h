/* A text that grows. Running out of memory is found once, at its end. */
#ifndef CORE_TEXT_BUFFER_H
#define CORE_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct text_buffer {
    char *text; /* NULL while nothing was added */
    size_t length, capacity;
    bool failed;
} text_buffer;

void text_buffer_add(text_buffer *buffer, const char *bytes, size_t count);

/* The text, which is the caller's: free. NULL when out of memory, or where nothing was added. */
char *text_buffer_end(text_buffer *buffer);

#endif
