/* Alignments written one sentence after another: a table of formats, and the view of the matrix that each is given. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "report/format.h"

struct nmt_alignment_writer {
    FILE *file;
    nmt_alignment_format format;
    bool end_of_sentence;
    size_t sentences;
};

/* How many of the tokens are `</s>`: the last one, but a translation cut off at its limit has none. No word of a
 * vocabulary is spelled so. */
static size_t ends(char *const *tokens, size_t count)
{
    return count > 0 && strcmp(tokens[count - 1], "</s>") == 0 ? 1 : 0;
}

/* A link from each target token to the source token of most weight (the first of equals); a token that reads `</s>`
 * most has none. The view has the `</s>` of both sides. */
static void pharaoh_links(FILE *file, const alignment_view *view)
{
    const char *separator = "";
    const size_t targets = view->target_count - ends(view->target, view->target_count);
    const size_t sources = view->source_count - ends(view->source, view->source_count);
    for (size_t t = 0; t < targets; t++) {
        const float *row = view->weights + t * view->stride;
        size_t best = 0;
        for (size_t s = 1; s < view->source_count; s++) {
            if (row[s] > row[best]) {
                best = s;
            }
        }
        if (best < sources) {
            fprintf(file, "%s%zu-%zu", separator, best, t);
            separator = " ";
        }
    }
    putc('\n', file);
}

typedef struct format_row {
    void (*header)(FILE *file); /* NULL: none */
    void (*sentence)(FILE *file, const alignment_view *view);
    bool needs_end_of_sentence; /* sees `</s>` whatever the caller chose */
} format_row;

static const format_row formats[] = {
    [NMT_ALIGNMENT_LONG] = {csv_header, csv_long, false},
    [NMT_ALIGNMENT_MATRIX] = {NULL, csv_matrix, false},
    [NMT_ALIGNMENT_PHARAOH] = {NULL, pharaoh_links, true},
    [NMT_ALIGNMENT_TERMINAL] = {NULL, terminal_matrix, false},
};

static nmt_status check_file(FILE *file, nmt_error *error)
{
    return ferror(file) ? error_set(error, NMT_IO, "cannot write the alignments: %s", strerror(errno)) : NMT_OK;
}

nmt_status nmt_alignment_writer_create(nmt_alignment_writer **writer, FILE *file, nmt_alignment_format format,
                                       bool end_of_sentence, nmt_error *error)
{
    if ((size_t)format >= sizeof formats / sizeof formats[0]) {
        return error_set(error, NMT_INVALID, "unknown alignment format number %d", (int)format);
    }
    nmt_alignment_writer *created;
    TRY(memory_new(&created, 1, sizeof *created, "the alignment writer", error));
    *created = (nmt_alignment_writer){.file = file, .format = format, .end_of_sentence = end_of_sentence};
    if (formats[format].header != NULL) {
        formats[format].header(file);
    }
    const nmt_status status = check_file(file, error);
    if (status != NMT_OK) {
        free(created);
        return status;
    }
    *writer = created;
    return NMT_OK;
}

nmt_status nmt_alignment_writer_add(nmt_alignment_writer *writer, const nmt_alignment *alignment, nmt_error *error)
{
    const format_row *format = &formats[writer->format];
    const bool whole = writer->end_of_sentence || format->needs_end_of_sentence;
    const alignment_view view = {
        .sentence = ++writer->sentences,
        .source_count = alignment->source_count - (whole ? 0 : ends(alignment->source, alignment->source_count)),
        .target_count = alignment->target_count - (whole ? 0 : ends(alignment->target, alignment->target_count)),
        .stride = alignment->source_count,
        .source = alignment->source,
        .target = alignment->target,
        .weights = alignment->weights,
    };
    format->sentence(writer->file, &view);
    return check_file(writer->file, error);
}

void nmt_alignment_writer_free(nmt_alignment_writer *writer)
{
    free(writer);
}
