/* Alignments as CSV, quoted as RFC 4180 says; lines end with a bare newline, as text does where this runs. */
#include <string.h>

#include "report/format.h"

static void write_field(FILE *file, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            putc('"', file);
        }
        putc(*text, file);
    }
    putc('"', file);
}

void csv_header(FILE *file, const figure_extent *extent)
{
    (void)extent;
    fputs("sentence,target_index,target,source_index,source,weight\n", file);
}

void csv_long(FILE *file, const alignment_view *view)
{
    for (size_t t = 0; t < view->target_count; t++) {
        for (size_t s = 0; s < view->source_count; s++) {
            fprintf(file, "%zu,%zu,", view->sentence, t);
            write_field(file, view->target[t]);
            fprintf(file, ",%zu,", s);
            write_field(file, view->source[s]);
            putc(',', file);
            put_weight(file, view->weights[t * view->stride + s]);
            putc('\n', file);
        }
    }
}

/* The corner cell is empty. Where it stands alone (a sentence without a token) it is quoted, for an empty line is what
 * separates blocks. */
void csv_matrix(FILE *file, const alignment_view *view)
{
    if (view->sentence > 1) {
        putc('\n', file);
    }
    if (view->source_count == 0) {
        fputs("\"\"", file);
    }
    for (size_t s = 0; s < view->source_count; s++) {
        putc(',', file);
        write_field(file, view->source[s]);
    }
    putc('\n', file);
    for (size_t t = 0; t < view->target_count; t++) {
        write_field(file, view->target[t]);
        for (size_t s = 0; s < view->source_count; s++) {
            putc(',', file);
            put_weight(file, view->weights[t * view->stride + s]);
        }
        putc('\n', file);
    }
}
