#include "core/text_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

void text_buffer_add(text_buffer *buffer, const char *bytes, size_t count)
{
    const size_t room = buffer->length + count + 1;
    if (buffer->failed || memory_grow(&buffer->bytes, &buffer->capacity, room, 1, "", NULL) != NMT_OK) {
        buffer->failed = true;
        return;
    }
    memcpy(buffer->bytes + buffer->length, bytes, count);
    buffer->length += count;
    buffer->bytes[buffer->length] = '\0';
}

char *text_buffer_end(text_buffer *buffer)
{
    char *text = buffer->bytes;
    if (buffer->failed) {
        free(text);
        text = NULL;
    }
    *buffer = (text_buffer){0};
    return text;
}

void text_buffer_free(text_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (text_buffer){0};
}
