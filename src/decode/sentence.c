#include "decode/sentence.h"

#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/text.h"

/* How one side of the model reads text. */
typedef struct reading {
    const vocabulary *words;
    const segmenter *segmenter;
    text_options options;
    const char *what;
    text_buffer prepared, cut;
} reading;

/* `text` is the line after normalisation. */
static nmt_status encode(sentence *to, size_t number, const char *text, size_t length, const reading *by,
                         nmt_error *error)
{
    const char *cursor = text;
    const char *token;
    size_t token_length;
    const size_t count = text_count_tokens(text, length);
    if (count > NMT_SENTENCE_LIMIT) {
        return error_set(error, NMT_INVALID, "%s %zu: expected a sentence of at most %d tokens, found %zu", by->what,
                         number, NMT_SENTENCE_LIMIT, count);
    }
    TRY(memory_new(&to->ids, count + 1, sizeof *to->ids, "a sentence", error));
    while (text_next_token(&cursor, text + length, &token, &token_length)) {
        to->ids[to->length++] = vocabulary_find(by->words, token, token_length);
    }
    to->ids[to->length] = TOKEN_END;
    return NMT_OK;
}

static nmt_status check_utf8(const char *what, size_t number, const char *line, size_t length, nmt_error *error)
{
    const size_t fault = text_utf8_error(line, length);
    if (fault == length) {
        return NMT_OK;
    }
    return error_set(error, NMT_INVALID, "%s %zu: byte %zu is not valid UTF-8 (0x%02x)", what, number, fault + 1,
                     (unsigned)(unsigned char)line[fault]);
}

/* Replaces the line by its pieces or characters. */
static nmt_status cut(sentence *it, size_t number, reading *by, const char **text, size_t *length, nmt_error *error)
{
    nmt_error own;
    if (segmenter_cut(by->segmenter, *text, *length, &by->cut, &own) != NMT_OK) {
        return error_set(error, own.status, "%s %zu: %s", by->what, number, own.message);
    }
    TRY(memory_copy_text(&it->cut, by->cut.bytes, by->cut.length, "a sentence", error));
    *text = it->line = it->cut;
    *length = it->line_length = by->cut.length;
    return NMT_OK;
}

static nmt_status read_sentence(sentence *it, size_t number, reading *by, nmt_error *error)
{
    const char *text;
    size_t length;
    TRY(check_utf8(by->what, number, it->line, it->line_length, error));
    TRY(text_prepare(&text, &length, it->line, it->line_length, by->options, &by->prepared, error));
    if (by->segmenter != NULL) {
        TRY(cut(it, number, by, &text, &length, error));
    }
    return encode(it, number, text, length, by, error);
}

static nmt_status encode_all(sentence *list, size_t count, reading *by, nmt_error *error)
{
    nmt_status status = NMT_OK;
    for (size_t i = 0; i < count && status == NMT_OK; i++) {
        status = read_sentence(&list[i], i + 1, by, error);
    }
    text_buffer_free(&by->prepared);
    text_buffer_free(&by->cut);
    return status;
}

nmt_status sentences_create(sentence **list, const char *const *lines, size_t count, const nmt_model *model,
                            sentence_side side, const char *what, nmt_error *error)
{
    const bool source = side == SENTENCE_SOURCE;
    reading by = {.words = source ? model->source_words : model->target_words,
                  .segmenter = source ? model->segmenters.source : model->segmenters.target,
                  .options = {.nfc = model->config->data.nfc, .lowercase = model->config->data.lowercase},
                  .what = what};
    sentence *made;
    TRY(memory_new(&made, count, sizeof *made, "the sentences", error));
    for (size_t i = 0; i < count; i++) {
        made[i].text = made[i].line = lines[i];
        made[i].text_length = made[i].line_length = strlen(lines[i]);
    }
    const nmt_status status = encode_all(made, count, &by, error);
    if (status != NMT_OK) {
        sentences_free(made, count);
        return status;
    }
    *list = made;
    return NMT_OK;
}

void sentences_free(sentence *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        free(list[i].ids);
        free(list[i].cut);
    }
    free(list);
}

static const char *token_of(const char *text, size_t length, size_t index, size_t *size)
{
    const char *cursor = text;
    const char *token = cursor;
    *size = 0;
    for (size_t i = 0; i <= index; i++) {
        text_next_token(&cursor, text + length, &token, size);
    }
    return token;
}

/* Neither canonical composition nor case mapping makes or removes a space or a tab, so the line has as many tokens as
 * its normalised form. */
const char *sentence_token(const sentence *from, size_t index, size_t *size)
{
    return token_of(from->line, from->line_length, index, size);
}

/* Each space before the word is in some token, but for the one that may start the first. */
const char *sentence_word(const sentence *from, size_t index, size_t *size)
{
    if (from->cut == NULL) {
        return sentence_token(from, index, size);
    }
    const char *cursor = from->line, *token = cursor;
    const size_t space = strlen(segmenter_space());
    size_t word = 0, length = 0;
    for (size_t i = 0; i <= index && text_next_token(&cursor, from->line + from->line_length, &token, &length); i++) {
        const size_t within = i == index && length > space ? space : length; /* of its words, the first */
        const bool leads = i == 0 && segmenter_spaces(token, length < space ? length : space) > 0;
        word += segmenter_spaces(token, within) - leads;
    }
    return token_of(from->text, from->text_length, word, size);
}

nmt_status sentence_tokens(const sentence *from, char **tokens, nmt_error *error)
{
    const char *cursor = from->line;
    const char *token;
    size_t length;
    for (size_t i = 0; i < from->length && text_next_token(&cursor, from->line + from->line_length, &token, &length);
         i++) {
        TRY(memory_copy_text(&tokens[i], token, length, "the tokens of an alignment", error));
    }
    return memory_copy_text(&tokens[from->length], "</s>", strlen("</s>"), "the tokens of an alignment", error);
}

/* ---- order ----------------------------------------------------------------------------------------------------------
 */

typedef struct sized {
    size_t source_length, target_length, index;
} sized;

static int compare_numbers(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int longest_first(const void *left, const void *right)
{
    const sized *a = left;
    const sized *b = right;
    if (a->source_length != b->source_length) {
        return compare_numbers(b->source_length, a->source_length);
    }
    if (a->target_length != b->target_length) {
        return compare_numbers(b->target_length, a->target_length);
    }
    return compare_numbers(a->index, b->index);
}

nmt_status sentences_by_length(size_t **order, size_t *order_count, const sentence *sources, const sentence *targets,
                               size_t count, nmt_error *error)
{
    sized *list;
    TRY(memory_new(&list, count, sizeof *list, "the order of sentences", error));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t target_length = targets != NULL ? targets[i].length : 1;
        if (sources[i].length > 0 && target_length > 0) {
            list[kept++] = (sized){sources[i].length, target_length, i};
        }
    }
    qsort(list, kept, sizeof *list, longest_first);
    const nmt_status status = memory_new(order, kept, sizeof **order, "the order of sentences", error);
    for (size_t i = 0; status == NMT_OK && i < kept; i++) {
        (*order)[i] = list[i].index;
    }
    *order_count = kept;
    free(list);
    return status;
}
