#include "decode/lexicon.h"

#include <nmt/io.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"
#include "data/word_table.h"

struct nmt_lexicon {
    word_table sources;
    char **targets; /* [sources.count] */
    size_t capacity;
    size_t *lines; /* [sources.count] where each stands */
    size_t lines_capacity;
};

/* One token: something, and no space or tab. */
static bool is_token(const char *text, size_t length)
{
    return length > 0 && memchr(text, ' ', length) == NULL && memchr(text, '\t', length) == NULL;
}

static nmt_status add_pair(nmt_lexicon *lexicon, const char *source, size_t source_length, const char *target,
                           const char *path, size_t line, nmt_error *error)
{
    const size_t known = lexicon->sources.count;
    int32_t number;
    TRY(memory_grow(&lexicon->targets, &lexicon->capacity, known + 1, sizeof *lexicon->targets, "the lexicon", error));
    TRY(memory_grow(&lexicon->lines, &lexicon->lines_capacity, known + 1, sizeof *lexicon->lines, "the lexicon",
                    error));
    lexicon->targets[known] = NULL;
    TRY(word_table_add(&lexicon->sources, source, source_length, &number, error));
    if (lexicon->sources.count == known) {
        return error_set(error, NMT_INVALID, "%s:%zu: expected a new source token, %s stands in line %zu already",
                         quote_path(&(path_quotation){{0}}, path), line,
                         quote(&(quotation){{0}}, source, source_length), lexicon->lines[number]);
    }
    lexicon->lines[number] = line;
    return memory_copy_text(&lexicon->targets[number], target, strlen(target), "the lexicon", error);
}

static nmt_status add_line(nmt_lexicon *lexicon, const char *text, size_t length, const char *path, size_t line,
                           nmt_error *error)
{
    const char *tab = memchr(text, '\t', length);
    const char *end = text + length;
    if (tab == NULL || !is_token(text, (size_t)(tab - text)) || !is_token(tab + 1, (size_t)(end - tab - 1))) {
        return error_set(error, NMT_INVALID, "%s:%zu: expected a source token, a tab and a target token, found %s",
                         quote_path(&(path_quotation){{0}}, path), line, quote(&(quotation){{0}}, text, length));
    }
    return add_pair(lexicon, text, (size_t)(tab - text), tab + 1, path, line, error);
}

static nmt_status read_lines(nmt_lexicon *lexicon, nmt_reader *reader, const char *path, nmt_error *error)
{
    for (;;) {
        const char *line;
        size_t length;
        TRY(nmt_reader_next(reader, &line, &length, error));
        if (line == NULL) {
            return NMT_OK;
        }
        TRY(add_line(lexicon, line, length, path, nmt_reader_line(reader), error));
    }
}

nmt_status nmt_lexicon_load(nmt_lexicon **lexicon, const char *path, nmt_error *error)
{
    nmt_reader *reader;
    nmt_lexicon *made;
    TRY(nmt_reader_open(&reader, path, error));
    nmt_status status = memory_new(&made, 1, sizeof *made, "the lexicon", error);
    if (status == NMT_OK) {
        status = read_lines(made, reader, path != NULL ? path : "standard input", error);
        if (status == NMT_OK) {
            *lexicon = made;
        } else {
            nmt_lexicon_free(made);
        }
    }
    nmt_reader_close(reader);
    return status;
}

void nmt_lexicon_free(nmt_lexicon *lexicon)
{
    if (lexicon == NULL) {
        return;
    }
    for (size_t i = 0; i < lexicon->sources.count; i++) {
        free(lexicon->targets[i]);
    }
    free(lexicon->targets);
    free(lexicon->lines);
    word_table_free(&lexicon->sources);
    free(lexicon);
}

const char *lexicon_find(const nmt_lexicon *lexicon, const char *token, size_t length)
{
    const int32_t number = lexicon != NULL ? word_table_find(&lexicon->sources, token, length) : -1;
    return number >= 0 ? lexicon->targets[number] : NULL;
}
