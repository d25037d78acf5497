#include "data/word_vectors.h"

#include <math.h>
#include <nmt/io.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"

typedef struct vector_file {
    const char *path;
    nmt_reader *reader;
    const vocabulary *words;
    size_t size, vectors; /* numbers of a vector; lines with one */
    size_t promised;      /* vectors, by the line in front; SIZE_MAX: there is none */
    real *table, *row;    /* row[size]: the line's numbers */
    bool *seen;           /* [words] */
    size_t found;
} vector_file;

typedef struct field {
    const char *text;
    size_t length;
} field;

/* ---- fields and numbers ------------------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The last field of text[0 .. *end), before which *end is moved; an empty one where there is none. */
static field take_last(const char *text, size_t *end)
{
    size_t stop = *end;
    while (stop > 0 && is_space(text[stop - 1])) {
        stop--;
    }
    size_t start = stop;
    while (start > 0 && !is_space(text[start - 1])) {
        start--;
    }
    *end = start;
    return (field){text + start, stop - start};
}

static size_t count_fields(const char *text, size_t length)
{
    size_t count = 0;
    while (take_last(text, &length).length > 0) {
        count++;
    }
    return count;
}

/* Digits from *at on into *value, `scale` going down or not; how many. */
static size_t take_digits(const field *from, size_t *at, double *value)
{
    const size_t start = *at;
    for (; *at < from->length && from->text[*at] >= '0' && from->text[*at] <= '9'; (*at)++) {
        *value = *value * 10 + (from->text[*at] - '0');
    }
    return *at - start;
}

static bool take_sign(const field *from, size_t *at)
{
    const bool negative = *at < from->length && from->text[*at] == '-';
    *at += *at < from->length && (negative || from->text[*at] == '+');
    return negative;
}

/* Digits with a point among or around them, a sign before and an exponent behind: whatever the locale, unlike strtod.
 * Double arithmetic is off by a few units of its last place at the most, far below those of a float. */
static bool parse_number(const field *from, double *number)
{
    size_t at = 0, behind = 0;
    double value = 0, exponent = 0;
    const bool negative = take_sign(from, &at);
    size_t digits = take_digits(from, &at, &value);
    if (at < from->length && from->text[at] == '.') {
        at++;
        behind = take_digits(from, &at, &value);
        digits += behind;
    }
    if (digits > 0 && at < from->length && (from->text[at] == 'e' || from->text[at] == 'E')) {
        at++;
        const bool down = take_sign(from, &at);
        digits = take_digits(from, &at, &exponent);
        exponent = down ? -exponent : exponent;
    }
    value *= pow(10, exponent - (double)behind);
    *number = negative ? -value : value;
    return digits > 0 && at == from->length;
}

/* A count as the line in front has it. */
static bool parse_count(const field *from, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < from->length; i++) {
        if (from->text[i] < '0' || from->text[i] > '9' || *count > SIZE_MAX / 16) {
            return false;
        }
        *count = *count * 10 + (size_t)(from->text[i] - '0');
    }
    return from->length > 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Whether the first line is one that says how many vectors there are, and of which size. */
static nmt_status read_front(vector_file *file, const char *line, size_t length, bool *is_front, nmt_error *error)
{
    size_t end = length, count, size;
    const field second = take_last(line, &end), first = take_last(line, &end);
    *is_front = count_fields(line, length) == 2 && parse_count(&first, &count) && parse_count(&second, &size);
    if (*is_front && size != file->size) {
        return error_set(error, NMT_INVALID, "%s:1: expected vectors of %zu numbers, as the embedding has, found %zu",
                         quote_path(&(path_quotation){{0}}, file->path), file->size, size);
    }
    if (*is_front) {
        file->promised = count;
    }
    return NMT_OK;
}

/* Numbers at the end of a line. */
static size_t count_numbers(const char *line, size_t length)
{
    size_t count = 0;
    double number;
    for (field last = take_last(line, &length); last.length > 0 && parse_number(&last, &number);
         last = take_last(line, &length)) {
        count++;
    }
    return count;
}

static nmt_status line_error(const vector_file *file, const char *line, size_t length, nmt_error *error)
{
    const size_t numbers = count_numbers(line, length), fields = count_fields(line, length);
    return error_set(error, NMT_INVALID,
                     "%s:%zu: expected a word and %zu numbers, as the embedding has, found %zu fields, the last %zu of "
                     "them numbers: %s",
                     quote_path(&(path_quotation){{0}}, file->path), nmt_reader_line(file->reader), file->size, fields,
                     numbers, quote(&(quotation){{0}}, line, length));
}

static nmt_status number_error(const vector_file *file, const field *found, nmt_error *error)
{
    return error_set(error, NMT_INVALID, "%s:%zu: expected finite numbers, found %s",
                     quote_path(&(path_quotation){{0}}, file->path), nmt_reader_line(file->reader),
                     quote(&(quotation){{0}}, found->text, found->length));
}

/* The numbers from the back, into file->row; what stands before them is the word. */
static nmt_status read_numbers(vector_file *file, const char *line, size_t length, size_t *end, nmt_error *error)
{
    *end = length;
    for (size_t i = file->size; i-- > 0;) {
        double number;
        const field last = take_last(line, end);
        if (!parse_number(&last, &number)) {
            return line_error(file, line, length, error);
        }
        file->row[i] = (real)number;
        if (!isfinite(file->row[i])) {
            return number_error(file, &last, error);
        }
    }
    return NMT_OK;
}

/* The number of the word that is spelled so, a special entry's as well; -1 where there is none. */
static int32_t find_word(const vocabulary *words, const field *word)
{
    for (int32_t special = 0; special < TOKEN_FIRST_WORD; special++) {
        const char *spelled = vocabulary_word(words, special);
        if (strlen(spelled) == word->length && memcmp(spelled, word->text, word->length) == 0) {
            return special;
        }
    }
    const int32_t number = vocabulary_find(words, word->text, word->length);
    return number != TOKEN_UNKNOWN ? number : -1;
}

static nmt_status read_vector(vector_file *file, const char *line, size_t length, nmt_error *error)
{
    size_t end;
    double number;
    TRY(read_numbers(file, line, length, &end, error));
    const field word = take_last(line, &end);
    const bool several = count_fields(line, end) > 0;
    /* A further number where a word with spaces would have its last part is a vector of another size. */
    if (word.length == 0 || (several && parse_number(&word, &number))) {
        return line_error(file, line, length, error);
    }
    file->vectors++;
    const int32_t id = several ? -1 : find_word(file->words, &word);
    if (id >= 0 && !file->seen[id]) {
        file->seen[id] = true;
        file->found += id >= TOKEN_FIRST_WORD;
        memcpy(file->table + (size_t)id * file->size, file->row, file->size * sizeof *file->row);
    }
    return NMT_OK;
}

static nmt_status read_lines(vector_file *file, nmt_error *error)
{
    for (;;) {
        const char *line;
        size_t length;
        bool is_front = false;
        TRY(nmt_reader_next(file->reader, &line, &length, error));
        if (line == NULL) {
            break;
        }
        if (nmt_reader_line(file->reader) == 1) {
            TRY(read_front(file, line, length, &is_front, error));
        }
        if (!is_front) {
            TRY(read_vector(file, line, length, error));
        }
    }
    if (file->promised != SIZE_MAX && file->promised != file->vectors) {
        return error_set(error, NMT_INVALID, "%s: expected %zu vectors, as its first line says, found %zu",
                         quote_path(&(path_quotation){{0}}, file->path), file->promised, file->vectors);
    }
    return NMT_OK;
}

static nmt_status read_file(vector_file *file, nmt_error *error)
{
    TRY(memory_new(&file->row, file->size, sizeof *file->row, "a word vector", error));
    TRY(memory_new(&file->seen, vocabulary_size(file->words), sizeof *file->seen, "word vectors", error));
    TRY(nmt_reader_open(&file->reader, file->path, error));
    return read_lines(file, error);
}

nmt_status word_vectors_read(real *table, size_t *found, const vocabulary *words, size_t size, const char *path,
                             nmt_error *error)
{
    vector_file file = {.path = path, .words = words, .size = size, .promised = SIZE_MAX, .table = table};
    const nmt_status status = read_file(&file, error);
    nmt_reader_close(file.reader);
    free(file.row);
    free(file.seen);
    *found = file.found;
    return status;
}
