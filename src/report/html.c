/*
 * Alignments as one page for the browser: page.html, which is built in (see CMakeLists.txt), with the sentences as JSON
 * in its middle. What the page shows it computes itself, from the same digits that the CSV has.
 */
#include <string.h>

#include "report/format.h"
#include "report/page.h"

static const char marker[] = "@SENTENCES@";

static const char *marker_in_page(void)
{
    return strstr(report_page, marker);
}

static void put_tokens(FILE *file, const char *name, char *const *tokens, size_t count)
{
    fprintf(file, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", file);
        put_json_text(file, tokens[i]);
    }
    fputs("],", file);
}

void html_begin(FILE *file, const figure_extent *extent)
{
    (void)extent;
    fwrite(report_page, 1, (size_t)(marker_in_page() - report_page), file);
}

void html_sentence(FILE *file, const alignment_view *view)
{
    fputs(view->sentence > 1 ? ",\n{" : "{", file);
    put_tokens(file, "source", view->source, view->source_count);
    put_tokens(file, "target", view->target, view->target_count);
    fputs("\"weights\":[", file);
    for (size_t t = 0; t < view->target_count; t++) {
        fputs(t > 0 ? ",[" : "[", file);
        for (size_t s = 0; s < view->source_count; s++) {
            fputs(s > 0 ? "," : "", file);
            put_weight(file, view->weights[t * view->stride + s]);
        }
        putc(']', file);
    }
    fputs("]}", file);
}

void html_end(FILE *file)
{
    fputs(marker_in_page() + strlen(marker), file);
}
