/*
 * The table holds the words alone, and the three special entries stand outside it: so looking up a word that is spelled
 * like one of them finds nothing, which makes it unknown.
 */
#include "data/vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "data/word_table.h"

struct word_counts {
    word_table words;
    uint64_t *counts; /* [words.count] */
    size_t capacity;
};

struct vocabulary {
    word_table words; /* word i has the number TOKEN_FIRST_WORD + i */
};

static const char *const special[TOKEN_FIRST_WORD] = {"<unk>", "<s>", "</s>"};

static bool is_special(const char *word, size_t length, size_t number)
{
    return strlen(special[number]) == length && memcmp(special[number], word, length) == 0;
}

static bool is_any_special(const char *word, size_t length)
{
    return is_special(word, length, 0) || is_special(word, length, 1) || is_special(word, length, 2);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

nmt_status word_counts_create(word_counts **counts, nmt_error *error)
{
    return memory_new(counts, 1, sizeof **counts, "word counts", error);
}

nmt_status word_counts_add(word_counts *counts, const char *word, size_t length, nmt_error *error)
{
    /* Room comes first: where it fails, no word stands without its count. */
    TRY(memory_grow(&counts->counts, &counts->capacity, counts->words.count + 1, sizeof *counts->counts, "word counts",
                    error));
    const size_t known = counts->words.count;
    int32_t number;
    TRY(word_table_add(&counts->words, word, length, &number, error));
    if (counts->words.count > known) {
        counts->counts[number] = 0;
    }
    counts->counts[number]++;
    return NMT_OK;
}

void word_counts_free(word_counts *counts)
{
    if (counts != NULL) {
        word_table_free(&counts->words);
        free(counts->counts);
        free(counts);
    }
}

/* ---- making a vocabulary ------------------------------------------------------------------------------------------
 */

typedef struct candidate {
    uint64_t count;
    const char *word;
    size_t length;
} candidate;

/* Most frequent first, then by bytes. */
static int compare_candidates(const void *left, const void *right)
{
    const candidate *a = left;
    const candidate *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    const int order = memcmp(a->word, b->word, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static size_t collect_candidates(candidate *candidates, const word_counts *counts, uint64_t minimum_count)
{
    size_t found = 0;
    for (size_t i = 0; i < counts->words.count; i++) {
        const char *word = word_table_word(&counts->words, (int32_t)i);
        const size_t length = word_table_length(&counts->words, (int32_t)i);
        if (counts->counts[i] >= minimum_count && !is_any_special(word, length)) {
            candidates[found++] = (candidate){counts->counts[i], word, length};
        }
    }
    qsort(candidates, found, sizeof *candidates, compare_candidates);
    return found;
}

static nmt_status vocabulary_create(vocabulary **words, nmt_error *error)
{
    return memory_new(words, 1, sizeof **words, "a vocabulary", error);
}

/* Ends a function that has filled `*words`: a failure frees them. */
static nmt_status finish(vocabulary **words, nmt_status status)
{
    if (status != NMT_OK) {
        vocabulary_free(*words);
        *words = NULL;
    }
    return status;
}

nmt_status vocabulary_from_counts(vocabulary **words, const word_counts *counts, size_t size_limit,
                                  uint64_t minimum_count, nmt_error *error)
{
    candidate *candidates;
    *words = NULL;
    TRY(memory_new(&candidates, counts->words.count, sizeof *candidates, "a vocabulary", error));
    size_t size = collect_candidates(candidates, counts, minimum_count);
    if (size_limit > 0) {
        const size_t limit = size_limit > TOKEN_FIRST_WORD ? size_limit - TOKEN_FIRST_WORD : 0;
        size = size < limit ? size : limit;
    }
    nmt_status status = vocabulary_create(words, error);
    for (size_t i = 0; status == NMT_OK && i < size; i++) {
        int32_t number;
        status = word_table_add(&(*words)->words, candidates[i].word, candidates[i].length, &number, error);
    }
    free(candidates);
    return finish(words, status);
}

/* What keeps a text from being a word, or NULL. */
static const char *word_fault(const char *word, size_t length)
{
    if (length == 0) {
        return "is empty";
    }
    for (size_t i = 0; i < length; i++) {
        if (strchr(" \t\n", word[i]) != NULL) { /* finds the NUL as well */
            return "holds a space, a tab or a newline";
        }
    }
    if (utf8_error(word, length) < length) {
        return "is not valid UTF-8";
    }
    if (is_any_special(word, length)) {
        return "is reserved: <unk>, <s> and </s> may only be the first three entries, in this order";
    }
    return NULL;
}

/* Where words come from, for messages: "PATH:7" in a file of lines, "PATH: entry 7" else. */
typedef struct word_list {
    const char *path;
    bool lines;
    size_t specials; /* entries before the first word */
} word_list;

typedef struct place_text {
    char text[QUOTE_PATH_CAPACITY + 40];
} place_text;

static const char *show_place(place_text *place, const word_list *list, size_t entry)
{
    snprintf(place->text, sizeof place->text, "%s%s%zu", quote_path(&(path_quotation){{0}}, list->path),
             list->lines ? ":" : ": entry ", entry);
    return place->text;
}

/* Adds entry number `entry` (from 1) of the list. */
static nmt_status add_entry(vocabulary *words, const char *word, size_t length, const word_list *list, size_t entry,
                            nmt_error *error)
{
    const char *fault = word_fault(word, length);
    if (fault != NULL) {
        return error_set(error, NMT_INVALID, "%s: a word was expected, %s %s",
                         show_place(&(place_text){{0}}, list, entry), quote(&(quotation){{0}}, word, length), fault);
    }
    const size_t known = words->words.count;
    int32_t number;
    TRY(word_table_add(&words->words, word, length, &number, error));
    if (words->words.count == known) {
        return error_set(error, NMT_INVALID, "%s: a new word was expected, %s is %s %zu already",
                         show_place(&(place_text){{0}}, list, entry), quote(&(quotation){{0}}, word, length),
                         list->lines ? "line" : "entry", list->specials + (size_t)number + 1);
    }
    return NMT_OK;
}

static nmt_status expected_special(const word_list *list, const char *word, size_t length, nmt_error *error)
{
    return error_set(error, NMT_INVALID, "%s: %s was expected, %s was found",
                     show_place(&(place_text){{0}}, list, list->specials + 1), special[list->specials],
                     word != NULL ? quote(&(quotation){{0}}, word, length) : "nothing");
}

/* The special entries may lead a file, all three of them. */
static nmt_status read_words(vocabulary *words, nmt_reader *reader, word_list *list, nmt_error *error)
{
    const char *line;
    size_t length;
    for (;;) {
        TRY(nmt_reader_next(reader, &line, &length, error));
        const size_t number = nmt_reader_line(reader);
        const bool in_front = list->specials < TOKEN_FIRST_WORD && words->words.count == 0;
        if (in_front && line != NULL && is_special(line, length, list->specials)) {
            list->specials++;
        } else if (in_front && list->specials > 0) {
            return expected_special(list, line, length, error);
        } else if (line != NULL) {
            TRY(add_entry(words, line, length, list, number, error));
        } else {
            break;
        }
    }
    if (words->words.count == 0) {
        return error_set(error, NMT_INVALID, "%s: one word a line was expected, no word was found",
                         quote_path(&(path_quotation){{0}}, list->path));
    }
    return NMT_OK;
}

nmt_status vocabulary_from_file(vocabulary **words, const char *path, nmt_error *error)
{
    nmt_reader *reader;
    word_list list = {path, true, 0};
    *words = NULL;
    TRY(nmt_reader_open(&reader, path, error));
    nmt_status status = vocabulary_create(words, error);
    if (status == NMT_OK) {
        status = read_words(*words, reader, &list, error);
    }
    nmt_reader_close(reader);
    return finish(words, status);
}

nmt_status vocabulary_from_words(vocabulary **words, const char *const *list, size_t count, const char *path,
                                 nmt_error *error)
{
    word_list place = {path, false, 0};
    *words = NULL;
    for (; place.specials < TOKEN_FIRST_WORD; place.specials++) {
        const char *word = place.specials < count ? list[place.specials] : NULL;
        const size_t length = word != NULL ? strlen(word) : 0;
        if (word == NULL || !is_special(word, length, place.specials)) {
            return expected_special(&place, word, length, error);
        }
    }
    nmt_status status = vocabulary_create(words, error);
    for (size_t i = TOKEN_FIRST_WORD; status == NMT_OK && i < count; i++) {
        status = add_entry(*words, list[i], strlen(list[i]), &place, i + 1, error);
    }
    return finish(words, status);
}

nmt_status vocabulary_copy(vocabulary **copy, const vocabulary *words, nmt_error *error)
{
    *copy = NULL;
    nmt_status status = vocabulary_create(copy, error);
    for (size_t i = 0; status == NMT_OK && i < words->words.count; i++) {
        int32_t number = (int32_t)i;
        status = word_table_add(&(*copy)->words, word_table_word(&words->words, number),
                                word_table_length(&words->words, number), &number, error);
    }
    return finish(copy, status);
}

void vocabulary_free(vocabulary *words)
{
    if (words != NULL) {
        word_table_free(&words->words);
        free(words);
    }
}

/* ---- looking up ---------------------------------------------------------------------------------------------------
 */

size_t vocabulary_size(const vocabulary *words)
{
    return TOKEN_FIRST_WORD + words->words.count;
}

int32_t vocabulary_find(const vocabulary *words, const char *word, size_t length)
{
    const int32_t number = word_table_find(&words->words, word, length);
    return number >= 0 ? TOKEN_FIRST_WORD + number : TOKEN_UNKNOWN;
}

const char *vocabulary_word(const vocabulary *words, int32_t number)
{
    return number < TOKEN_FIRST_WORD ? special[number] : word_table_word(&words->words, number - TOKEN_FIRST_WORD);
}
