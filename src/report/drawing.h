/* What drawings have in common: how they begin, and labels: a token, cut where it is very long, whole in its tooltip.
 */
#ifndef REPORT_DRAWING_H
#define REPORT_DRAWING_H

#include <stddef.h>
#include <stdio.h>

/* An SVG element on white, which the caller ends, and what screen readers call it. */
void drawing_begin(FILE *file, size_t width, size_t height, int font_size, const char *title);

/* Pixels that the token's label takes, no less than most fonts need. */
size_t label_width(const char *token);

/* What a label of that width takes of each axis when it leans by 45 degrees. */
size_t label_leaning(size_t width);

/* Attributes for the text element of a label: a token of a right-to-left script is laid out in its own direction. */
#define LABEL_ATTRIBUTES "unicode-bidi=\"plaintext\""

/* What stands in that element, and its end. */
void put_label(FILE *file, const char *token);

#endif
