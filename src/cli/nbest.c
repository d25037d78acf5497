#include "cli/nbest.h"

#include <string.h>

#include "cli/options.h"
#include "cli/scores.h"

static const char mark[] = " ||| ";
enum { MARK = sizeof mark - 1, SHOWN = 120 };

static nmt_status fault(nmt_error *error, const char *path, size_t number, const char *expected, const char *found,
                        size_t length)
{
    error->status = NMT_INVALID;
    snprintf(error->message, sizeof error->message, "%.400s:%zu: expected %s, found '%.*s%s'", path, number, expected,
             (int)(length < SHOWN ? length : SHOWN), found, length < SHOWN ? "" : "...");
    return NMT_INVALID;
}

/* The last mark that ends at `end` or before; NULL: none. */
static const char *last_mark(const char *line, const char *end)
{
    for (size_t at = (size_t)(end - line); at >= MARK; at--) {
        if (memcmp(line + at - MARK, mark, MARK) == 0) {
            return line + at - MARK;
        }
    }
    return NULL;
}

/* Names and numbers, a name first. */
static bool are_features(const char *text, const char *end)
{
    bool named = false;
    while (text < end) {
        const size_t length = strcspn(text, " ");
        char token[64];
        double value;
        if (length > 1 && text[length - 1] == '=') {
            named = true;
        } else if (length > 0) {
            snprintf(token, sizeof token, "%.*s", (int)(length < sizeof token ? length : 0), text);
            if (!named || !options_number(&value, token)) {
                return false;
            }
        }
        text += length + 1;
    }
    return true;
}

static bool parse_sentence(size_t *sentence, const char *text, const char *end)
{
    size_t sum = 0;
    for (const char *digit = text; digit < end; digit++) {
        if (*digit < '0' || *digit > '9' || sum > SIZE_MAX / 10 - 1) {
            return false;
        }
        sum = 10 * sum + (size_t)(*digit - '0');
    }
    *sentence = sum;
    return text < end;
}

nmt_status nbest_parse(nbest_entry *entry, const char *line, size_t length, const char *path, size_t number,
                       nmt_error *error)
{
    const char *end = line + length;
    const char *first = strstr(line, mark);
    const char *third = first != NULL ? last_mark(line, end) : NULL;
    const char *second = third != NULL ? last_mark(line, third) : NULL;
    double score;
    if (second == NULL || second < first + MARK) {
        return fault(error, path, number, "SENTENCE ||| TEXT ||| FEATURES ||| SCORE", line, length);
    }
    if (!parse_sentence(&entry->sentence, line, first)) {
        return fault(error, path, number, "the number of a sentence", line, (size_t)(first - line));
    }
    if (!are_features(second + MARK, third)) {
        return fault(error, path, number, "features NAME= NUMBER", second + MARK, (size_t)(third - second - MARK));
    }
    if (!options_number(&score, third + MARK)) {
        return fault(error, path, number, "a score", third + MARK, (size_t)(end - third - MARK));
    }
    entry->text = first + MARK;
    entry->text_length = (size_t)(second - entry->text);
    entry->features_start = (size_t)(second + MARK - line);
    entry->features_end = (size_t)(third - line);
    return NMT_OK;
}

bool nbest_has_feature(const char *line, const nbest_entry *entry, const char *name)
{
    const size_t wanted = strlen(name);
    size_t length;
    for (size_t at = entry->features_start; at < entry->features_end; at += length + 1) {
        length = strcspn(line + at, " ");
        if (length == wanted + 1 && memcmp(line + at, name, wanted) == 0 && line[at + wanted] == '=') {
            return true;
        }
    }
    return false;
}

void nbest_write_with(FILE *file, const char *line, const nbest_entry *entry, const char *name, double value)
{
    const bool more = entry->features_end > 0 && line[entry->features_end - 1] != ' ';
    fwrite(line, 1, entry->features_end, file);
    fprintf(file, "%s%s= ", more ? " " : "", name);
    scores_write(file, value);
    fprintf(file, "%s\n", line + entry->features_end);
}

void nbest_write(FILE *file, size_t sentence, const nmt_translation *translation)
{
    fprintf(file, "%zu%s%s%slogp= ", sentence, mark, translation->text, mark);
    scores_write(file, translation->log_probability);
    fprintf(file, " tokens= %zu%s", translation->token_count, mark);
    scores_write(file, translation->score);
    putc('\n', file);
}
