#include "core/text_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

void text_buffer_add(text_buffer *buffer, const char *bytes, size_t count)
{
    const size_t room = buffer->length + count + 1;
    if (buffer->failed || memory_grow(&buffer->text, &buffer->capacity, room, 1, "", NULL) != NMT_OK) {
        buffer->failed = true;
        return;
    }
    memcpy(buffer->text + buffer->length, bytes, count);
    buffer->length += count;
    buffer->text[buffer->length] = '\0';
}

char *text_buffer_end(text_buffer *buffer)
{
    char *text = buffer->text;
    if (buffer->failed) {
        free(text);
        text = NULL;
    }
    *buffer = (text_buffer){0};
    return text;
}
