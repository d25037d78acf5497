/* A text that grows; zero-initialise, text_buffer_free or text_buffer_end when done. */
#ifndef CORE_TEXT_BUFFER_H
#define CORE_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct text_buffer {
    char *bytes; /* NULL while there are none */
    size_t length, capacity;
    bool failed; /* text_buffer_add found no memory */
} text_buffer;

/* Running out of memory is found once, at the end. */
void text_buffer_add(text_buffer *buffer, const char *bytes, size_t count);

/* The text, which is the caller's: free. NULL when out of memory, or where nothing was added. */
char *text_buffer_end(text_buffer *buffer);

void text_buffer_free(text_buffer *buffer);

#endif
