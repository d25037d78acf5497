#include "cli/json_text.h"

void json_text(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f) {
            fprintf(file, "\\u%04x", byte);
        } else {
            fprintf(file, "%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
        }
    }
    putc('"', file);
}
