/* Alignments written one sentence after another: a table of formats, and the view of the matrix that each is given. A
 * format that says its size first is held back until the end. */
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
    figure_extent extent;
    FILE *held; /* the sentences of a format that is held back; NULL: none */
    char *held_text;
    size_t held_length;
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
    void (*header)(FILE *file, const figure_extent *extent); /* NULL: none */
    void (*sentence)(FILE *file, const alignment_view *view);
    void (*footer)(FILE *file); /* NULL: none */
    bool needs_end_of_sentence; /* sees `</s>` whatever the caller chose */
    bool held;                  /* its header comes of all sentences */
} format_row;

static const format_row formats[] = {
    [NMT_ALIGNMENT_LONG] = {.header = csv_header, .sentence = csv_long},
    [NMT_ALIGNMENT_MATRIX] = {.sentence = csv_matrix},
    [NMT_ALIGNMENT_PHARAOH] = {.sentence = pharaoh_links, .needs_end_of_sentence = true},
    [NMT_ALIGNMENT_TERMINAL] = {.sentence = terminal_matrix},
    [NMT_ALIGNMENT_SVG] = {.header = svg_begin, .sentence = svg_figure, .footer = svg_end, .held = true},
    [NMT_ALIGNMENT_HTML] = {.header = html_begin, .sentence = html_sentence, .footer = html_end},
};

static nmt_status check_file(FILE *file, nmt_error *error)
{
    return ferror(file) ? error_set(error, NMT_IO, "cannot write the alignments: %s", strerror(errno)) : NMT_OK;
}

static nmt_status no_memory(nmt_error *error)
{
    return error_set(error, NMT_NO_MEMORY, "out of memory for a drawing of alignments");
}

static nmt_status begin(nmt_alignment_writer *writer, nmt_error *error)
{
    const format_row *format = &formats[writer->format];
    if (format->held) {
        writer->held = open_memstream(&writer->held_text, &writer->held_length);
        return writer->held != NULL ? NMT_OK : no_memory(error);
    }
    if (format->header != NULL) {
        format->header(writer->file, &writer->extent);
    }
    return check_file(writer->file, error);
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
    const nmt_status status = begin(created, error);
    if (status != NMT_OK) {
        nmt_alignment_writer_free(created);
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
        .extent = &writer->extent,
    };
    if (writer->held != NULL) {
        format->sentence(writer->held, &view);
        return ferror(writer->held) ? no_memory(error) : NMT_OK;
    }
    format->sentence(writer->file, &view);
    return check_file(writer->file, error);
}

/* Closes what was held back; false when memory ran out on the way. */
static bool release(nmt_alignment_writer *writer)
{
    const bool whole = writer->held == NULL || (fflush(writer->held) == 0 && !ferror(writer->held));
    const bool closed = writer->held == NULL || fclose(writer->held) == 0;
    writer->held = NULL;
    return whole && closed;
}

nmt_status nmt_alignment_writer_finish(nmt_alignment_writer *writer, nmt_error *error)
{
    const format_row *format = &formats[writer->format];
    if (!release(writer)) {
        return no_memory(error);
    }
    if (format->held) {
        format->header(writer->file, &writer->extent);
        fwrite(writer->held_text, 1, writer->held_length, writer->file);
    }
    if (format->footer != NULL) {
        format->footer(writer->file);
    }
    return check_file(writer->file, error);
}

void nmt_alignment_writer_free(nmt_alignment_writer *writer)
{
    if (writer != NULL) {
        release(writer);
        free(writer->held_text);
        free(writer);
    }
}
