#include "data/segmenter.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"
#include "data/piece_library.h"
#include "data/piece_model.h"

static const char space_symbol[] = "\xe2\x96\x81"; /* U+2581 */
enum { SPACE_SYMBOL_SIZE = sizeof space_symbol - 1 };

struct segmenter {
    const piece_library *library; /* NULL: into characters */
    void *opened;                 /* the library's */
    char *model;
    size_t model_size;
};

/* ---- making one ---------------------------------------------------------------------------------------------------
 */

bool segmenter_has_pieces(void)
{
    const char *why;
    return piece_library_load(&why) != NULL;
}

static nmt_status load_library(const piece_library **library, nmt_error *error)
{
    const char *why;
    *library = piece_library_load(&why);
    return *library != NULL ? NMT_OK : error_set(error, NMT_UNSUPPORTED, "segmentation: %s", why);
}

nmt_status segmenter_of_characters(segmenter **made, nmt_error *error)
{
    return memory_new(made, 1, sizeof **made, "a segmenter", error);
}

nmt_status segmenters_of_characters(segmenters *both, bool source, bool target, nmt_error *error)
{
    *both = (segmenters){NULL, NULL};
    if (source) {
        TRY(segmenter_of_characters(&both->source, error));
    }
    return target ? segmenter_of_characters(&both->target, error) : NMT_OK;
}

static nmt_status open_model(segmenter *by, const char *model, size_t size, const char *path, nmt_error *error)
{
    piece_message why = {{0}};
    TRY(piece_model_check(model, size, path, error));
    TRY(load_library(&by->library, error));
    TRY(memory_copy_text(&by->model, model, size, "a piece model", error));
    by->model_size = size;
    if (!by->library->open(&by->opened, model, size, &why)) {
        return error_set(error, NMT_INVALID, "%s: not taken by SentencePiece: %s",
                         quote_path(&(path_quotation){{0}}, path),
                         quote(&(quotation){{0}}, why.text, strlen(why.text)));
    }
    return NMT_OK;
}

nmt_status segmenter_of_pieces(segmenter **made, const char *model, size_t size, const char *path, nmt_error *error)
{
    segmenter *by;
    *made = NULL;
    TRY(memory_new(&by, 1, sizeof *by, "a segmenter", error));
    const nmt_status status = open_model(by, model, size, path, error);
    if (status != NMT_OK) {
        segmenter_free(by);
        return status;
    }
    *made = by;
    return NMT_OK;
}

nmt_status segmenter_copy(segmenter **copy, const segmenter *from, nmt_error *error)
{
    *copy = NULL;
    if (from == NULL) {
        return NMT_OK;
    }
    return from->library == NULL ? segmenter_of_characters(copy, error)
                                 : segmenter_of_pieces(copy, from->model, from->model_size, "a piece model", error);
}

void segmenter_free(segmenter *by)
{
    if (by == NULL) {
        return;
    }
    if (by->library != NULL) {
        by->library->close(by->opened);
    }
    free(by->model);
    free(by);
}

void segmenters_free(segmenters *both)
{
    segmenter_free(both->source);
    segmenter_free(both->target);
    *both = (segmenters){NULL, NULL};
}

const char *segmenter_model(const segmenter *by, size_t *size)
{
    *size = by != NULL ? by->model_size : 0;
    return by != NULL ? by->model : NULL;
}

bool segmenter_equal(const segmenter *a, const segmenter *b)
{
    if (a == NULL || b == NULL || a->library == NULL || b->library == NULL) {
        return (a == NULL) == (b == NULL) && (a == NULL || a->library == b->library);
    }
    return a->model_size == b->model_size && memcmp(a->model, b->model, a->model_size) == 0;
}

nmt_status segmenter_restrict(segmenter *by, const vocabulary *words, nmt_error *error)
{
    if (by == NULL || by->library == NULL) {
        return NMT_OK;
    }
    const size_t count = vocabulary_size(words);
    const char **list;
    piece_message why = {{0}};
    TRY(memory_new(&list, count, sizeof *list, "a piece model", error));
    for (size_t i = 0; i < count; i++) {
        list[i] = vocabulary_word(words, (int32_t)i);
    }
    const bool done = by->library->restrict_to(by->opened, list, count, &why);
    free(list);
    return done ? NMT_OK : error_set(error, NMT_INVALID, "segmentation: SentencePiece failed: %s", why.text);
}

/* ---- cutting -------------------------------------------------------------------------------------------------------
 */

/* Where tokens are added to; `status` is of the last addition. */
typedef struct token_sink {
    text_buffer *tokens;
    nmt_status status;
    nmt_error *error;
} token_sink;

static bool add_bytes(text_buffer *to, const char *bytes, size_t length, nmt_error *error)
{
    if (memory_grow(&to->bytes, &to->capacity, to->length + length + 2, 1, "a line of text", error) != NMT_OK) {
        return false;
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    to->bytes[to->length] = '\0';
    return true;
}

/* With a space before it, unless it is the first. */
static bool add_token(text_buffer *to, const char *token, size_t length, nmt_error *error)
{
    return (to->length == 0 || add_bytes(to, " ", 1, error)) && add_bytes(to, token, length, error);
}

static bool sink_token(void *context, const char *token, size_t length)
{
    token_sink *sink = context;
    const bool added = add_token(sink->tokens, token, length, sink->error);
    sink->status = added ? NMT_OK : NMT_NO_MEMORY;
    return added;
}

static nmt_status cut_characters(const char *line, size_t length, text_buffer *tokens, nmt_error *error)
{
    const char *cursor = line, *word, *end = line + length;
    size_t word_length;
    bool added = true;
    while (added && text_next_token(&cursor, end, &word, &word_length)) {
        const char *at = word, *character;
        size_t size;
        added = tokens->length == 0 || add_token(tokens, space_symbol, SPACE_SYMBOL_SIZE, error);
        while (added && text_next_character(&at, word + word_length, &character, &size)) {
            added = add_token(tokens, character, size, error);
        }
    }
    return added ? NMT_OK : NMT_NO_MEMORY;
}

static nmt_status encode(const segmenter *by, const text_buffer *words, text_buffer *tokens, nmt_error *error)
{
    token_sink sink = {tokens, NMT_OK, error};
    piece_message why = {{0}};
    if (by->library->encode(by->opened, words->bytes, words->length, sink_token, &sink, &why)) {
        return NMT_OK;
    }
    return sink.status != NMT_OK ? sink.status
                                 : error_set(error, NMT_INVALID, "segmentation: SentencePiece failed: %s", why.text);
}

/* SentencePiece knows the space alone as what stands between words. */
static nmt_status cut_pieces(const segmenter *by, const char *line, size_t length, text_buffer *tokens,
                             nmt_error *error)
{
    text_buffer words = {0};
    const char *cursor = line, *word;
    size_t word_length;
    bool added = true;
    while (added && text_next_token(&cursor, line + length, &word, &word_length)) {
        added = add_token(&words, word, word_length, error);
    }
    const nmt_status status = !added ? NMT_NO_MEMORY : words.length == 0 ? NMT_OK : encode(by, &words, tokens, error);
    text_buffer_free(&words);
    return status;
}

nmt_status segmenter_check(const char *line, size_t length, nmt_error *error)
{
    const char *found = memmem(line, length, space_symbol, SPACE_SYMBOL_SIZE);
    return found == NULL
               ? NMT_OK
               : error_set(error, NMT_INVALID,
                           "byte %zu starts the character U+2581, which stands for the space in segmented text",
                           (size_t)(found - line) + 1);
}

nmt_status segmenter_cut(const segmenter *by, const char *line, size_t length, text_buffer *tokens, nmt_error *error)
{
    tokens->length = 0;
    TRY(memory_grow(&tokens->bytes, &tokens->capacity, 1, 1, "a line of text", error));
    tokens->bytes[0] = '\0';
    TRY(segmenter_check(line, length, error));
    return by->library == NULL ? cut_characters(line, length, tokens, error)
                               : cut_pieces(by, line, length, tokens, error);
}

const char *segmenter_space(void)
{
    return space_symbol;
}

size_t segmenter_spaces(const char *token, size_t size)
{
    size_t count = 0;
    const char *end = token + size;
    for (const char *at = token; (at = memmem(at, (size_t)(end - at), space_symbol, SPACE_SYMBOL_SIZE)) != NULL;) {
        count++;
        at += SPACE_SYMBOL_SIZE;
    }
    return count;
}

/* ---- joining -------------------------------------------------------------------------------------------------------
 */

/* Drops the spaces between tokens and writes one space for each row of space symbols between others. */
void segmenter_join(char *text)
{
    char *to = text;
    bool space = false;
    for (const char *from = text; *from != '\0';) {
        if (*from == ' ') {
            from++;
        } else if (strncmp(from, space_symbol, SPACE_SYMBOL_SIZE) == 0) {
            space = to > text;
            from += SPACE_SYMBOL_SIZE;
        } else {
            if (space) {
                *to++ = ' ';
                space = false;
            }
            *to++ = *from++;
        }
    }
    *to = '\0';
}

void segmenter_join_marked(char *text, const char *marker)
{
    const size_t size = strlen(marker);
    const char *cursor = text, *end = text + strlen(text), *token;
    size_t length;
    char *to = text;
    bool joined = true; /* to what stands before: nothing, or a token with the marker */
    while (text_next_token(&cursor, end, &token, &length)) {
        if (!joined) {
            *to++ = ' ';
        }
        joined = size > 0 && length >= size && memcmp(token + length - size, marker, size) == 0;
        length -= joined ? size : 0;
        memmove(to, token, length);
        to += length;
    }
    *to = '\0';
}

/* ---- learning ------------------------------------------------------------------------------------------------------
 */

typedef struct learning {
    segmenter_lines next;
    void *context;
    text_buffer words; /* of the line, with single spaces */
    char *model;
    size_t model_size;
    nmt_status status; /* of reading and of taking */
    nmt_error *error;
} learning;

static nmt_status next_words(learning *from, bool *ended)
{
    const char *line, *cursor, *word;
    size_t length, word_length;
    TRY(from->next(from->context, &line, &length, from->error));
    *ended = line == NULL;
    if (*ended) {
        return NMT_OK;
    }
    from->words.length = 0;
    for (cursor = line; text_next_token(&cursor, line + length, &word, &word_length);) {
        if (!add_token(&from->words, word, word_length, from->error)) {
            return NMT_NO_MEMORY;
        }
    }
    return NMT_OK;
}

static bool next_line(void *context, const char **line, size_t *length)
{
    learning *from = context;
    bool ended = false;
    do {
        from->status = next_words(from, &ended);
    } while (from->status == NMT_OK && !ended && from->words.length == 0);
    *line = from->words.bytes;
    *length = from->words.length;
    return from->status == NMT_OK && !ended;
}

static bool take_model(void *context, const char *bytes, size_t length)
{
    learning *to = context;
    to->model_size = length;
    to->status = memory_copy_text(&to->model, bytes, length, "a piece model", to->error);
    return to->status == NMT_OK;
}

nmt_status segmenter_train(char **model, size_t *size, const segmenter_training *how, segmenter_lines next,
                           void *context, nmt_error *error)
{
    const piece_library *library;
    const piece_training settings = {how->unigram ? "unigram" : "bpe", how->size, how->coverage};
    learning work = {.next = next, .context = context, .error = error};
    piece_message why = {{0}};
    TRY(load_library(&library, error));
    const bool trained = library->train(&settings, next_line, take_model, &work, &why);
    text_buffer_free(&work.words);
    if (work.status == NMT_OK && !trained) {
        /* It begins with the place in its own source, "file.cc(1) [condition] ", behind which nothing may follow. */
        const char *place = strstr(why.text, "] ");
        const char *sense = place != NULL && place[2] != '\0' ? place + 2 : why.text;
        work.status = error_set(error, NMT_INVALID, "segmentation.size: no model of %zu pieces can be learned: %s",
                                how->size, quote(&(quotation){{0}}, sense, strlen(sense)));
    }
    if (work.status != NMT_OK) {
        free(work.model);
        return work.status;
    }
    *model = work.model;
    *size = work.model_size;
    return NMT_OK;
}
