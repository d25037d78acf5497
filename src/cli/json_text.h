/* Text as JSON. */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <stdio.h>

/* A string in its quotes; control characters become escapes. */
void json_text(FILE *file, const char *text);

#endif
