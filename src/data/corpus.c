#include "data/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/gzip.h"
#include "core/hash.h"
#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"

enum { SOURCE, TARGET, SIDES };

/* Where a kept pair stands: 48 bytes are all the memory that it takes. */
typedef struct pair_place {
    uint64_t offset[SIDES]; /* of the line, in bytes */
    uint32_t bytes[SIDES];  /* of the line */
    uint32_t hash[SIDES];   /* of those bytes: the text must still be the same when it is read again */
    uint32_t tokens[SIDES];
    uint32_t line; /* from 1 */
} pair_place;

/* One of the two files. */
typedef struct side {
    char *path;
    int file; /* -1: not open */
    char *line;
    size_t line_capacity;
    text_buffer prepared, cut;
    const segmenter *segmenter;
} side;

struct corpus {
    text_options text;
    size_t max_length;
    corpus_summary summary;
    side sides[SIDES];
    pair_place *places; /* [summary.kept] */
    size_t places_capacity;
};

/* ---- the scan -----------------------------------------------------------------------------------------------------
 */

/* A line of one side during the scan. */
typedef struct scanned_line {
    const char *raw, *text; /* as in the file; prepared */
    size_t raw_length, text_length;
    uint64_t offset, hash;
    size_t tokens;
} scanned_line;

/* A line as tokens: `*text` of `*length` bytes, which it replaces, borrowed until the next call. `number` is the
 * line's, for messages. */
static nmt_status tokenise(corpus *pairs, side *from, const char **text, size_t *length, size_t number,
                           nmt_error *error)
{
    nmt_error own;
    TRY(text_prepare(text, length, *text, *length, pairs->text, &from->prepared, error));
    if (from->segmenter == NULL) {
        return NMT_OK;
    }
    if (segmenter_cut(from->segmenter, *text, *length, &from->cut, &own) != NMT_OK) {
        return error_set(error, own.status, "%s:%zu: %s", quote_path(&(path_quotation){{0}}, from->path), number,
                         own.message);
    }
    *text = from->cut.bytes;
    *length = from->cut.length;
    return NMT_OK;
}

/* Reads the next line of one side and measures it; `line->raw` is NULL at the end. */
static nmt_status scan_line(corpus *pairs, int which, nmt_reader *reader, scanned_line *line, nmt_error *error)
{
    TRY(nmt_reader_next(reader, &line->raw, &line->raw_length, error));
    if (line->raw == NULL) {
        return NMT_OK;
    }
    side *from = &pairs->sides[which];
    if (line->raw_length > UINT32_MAX || nmt_reader_line(reader) > UINT32_MAX) {
        return error_set(error, NMT_INVALID,
                         "%s:%zu: a corpus may have %" PRIu32 " lines, of as many bytes, at the most",
                         quote_path(&(path_quotation){{0}}, from->path), nmt_reader_line(reader), UINT32_MAX);
    }
    line->text = line->raw;
    line->text_length = line->raw_length;
    TRY(tokenise(pairs, from, &line->text, &line->text_length, nmt_reader_line(reader), error));
    line->offset = io_reader_offset(reader);
    line->hash = hash_bytes(line->raw, line->raw_length);
    line->tokens = text_count_tokens(line->text, line->text_length);
    return NMT_OK;
}

static nmt_status count_words(word_counts *counts, const scanned_line *line, nmt_error *error)
{
    const char *cursor = line->text;
    const char *token;
    size_t length;
    while (counts != NULL && text_next_token(&cursor, line->text + line->text_length, &token, &length)) {
        TRY(word_counts_add(counts, token, length, error));
    }
    return NMT_OK;
}

static nmt_status keep_pair(corpus *pairs, const scanned_line *lines, nmt_error *error)
{
    TRY(memory_grow(&pairs->places, &pairs->places_capacity, (size_t)pairs->summary.kept + 1, sizeof *pairs->places,
                    "the places of sentence pairs", error));
    pair_place *place = &pairs->places[pairs->summary.kept++];
    place->line = (uint32_t)pairs->summary.lines;
    for (int which = 0; which < SIDES; which++) {
        place->offset[which] = lines[which].offset;
        place->bytes[which] = (uint32_t)lines[which].raw_length;
        place->hash[which] = (uint32_t)lines[which].hash;
        place->tokens[which] = (uint32_t)lines[which].tokens;
    }
    pairs->summary.source_tokens += lines[SOURCE].tokens;
    pairs->summary.target_tokens += lines[TARGET].tokens;
    return NMT_OK;
}

static nmt_status scan_pair(corpus *pairs, const scanned_line *lines, word_counts *const *counts, nmt_error *error)
{
    corpus_summary *summary = &pairs->summary;
    const size_t source = lines[SOURCE].tokens;
    const size_t target = lines[TARGET].tokens;
    summary->lines++;
    summary->fingerprint = hash_join(hash_join(summary->fingerprint, lines[SOURCE].hash), lines[TARGET].hash);
    if (source == 0 || target == 0) {
        summary->empty++;
        return NMT_OK;
    }
    if (pairs->max_length > 0 && (source > pairs->max_length || target > pairs->max_length)) {
        summary->too_long++;
        return NMT_OK;
    }
    TRY(count_words(counts[SOURCE], &lines[SOURCE], error));
    TRY(count_words(counts[TARGET], &lines[TARGET], error));
    return keep_pair(pairs, lines, error);
}

/* One file has ended and the other has not: says how many lines each has. */
static nmt_status unequal_lines(const corpus *pairs, nmt_reader *const *readers, nmt_error *error)
{
    for (int which = 0; which < SIDES; which++) {
        const char *line;
        size_t length;
        do {
            TRY(nmt_reader_next(readers[which], &line, &length, error));
        } while (line != NULL);
    }
    path_quotation source, target;
    return error_set(error, NMT_INVALID, "%s has %zu lines and %s has %zu: each line needs its translation",
                     quote_path(&source, pairs->sides[SOURCE].path), nmt_reader_line(readers[SOURCE]),
                     quote_path(&target, pairs->sides[TARGET].path), nmt_reader_line(readers[TARGET]));
}

static nmt_status scan(corpus *pairs, nmt_reader *const *readers, word_counts *const *counts, nmt_error *error)
{
    for (;;) {
        scanned_line lines[SIDES];
        for (int which = 0; which < SIDES; which++) {
            TRY(scan_line(pairs, which, readers[which], &lines[which], error));
        }
        if (lines[SOURCE].raw == NULL && lines[TARGET].raw == NULL) {
            return NMT_OK;
        }
        if (lines[SOURCE].raw == NULL || lines[TARGET].raw == NULL) {
            return unequal_lines(pairs, readers, error);
        }
        TRY(scan_pair(pairs, lines, counts, error));
    }
}

static nmt_status scan_files(corpus *pairs, word_counts *const *counts, nmt_error *error)
{
    nmt_reader *readers[SIDES] = {NULL, NULL};
    nmt_status status = nmt_reader_open(&readers[SOURCE], pairs->sides[SOURCE].path, error);
    if (status == NMT_OK) {
        status = nmt_reader_open(&readers[TARGET], pairs->sides[TARGET].path, error);
    }
    if (status == NMT_OK) {
        status = scan(pairs, readers, counts, error);
    }
    nmt_reader_close(readers[SOURCE]);
    nmt_reader_close(readers[TARGET]);
    if (status != NMT_OK || pairs->summary.kept > 0) {
        return status;
    }
    path_quotation source, target;
    return error_set(error, NMT_INVALID,
                     "%s and %s: no sentence pair to use: %" PRIu64 " lines, %" PRIu64 " with an empty side, %" PRIu64
                     " over %zu tokens",
                     quote_path(&source, pairs->sides[SOURCE].path), quote_path(&target, pairs->sides[TARGET].path),
                     pairs->summary.lines, pairs->summary.empty, pairs->summary.too_long, pairs->max_length);
}

/* ---- opening and closing ------------------------------------------------------------------------------------------
 */

/* What is read again by its place is read from an expanded copy. */
static nmt_status expand_gzip(side *opened, nmt_error *error)
{
    char start[GZIP_MAGIC_SIZE];
    int expanded;
    const ssize_t count = pread(opened->file, start, sizeof start, 0);
    if (count < 0 || !gzip_is(start, (size_t)count)) {
        return NMT_OK; /* what cannot be read, the scan reports */
    }
    TRY(gzip_expand(&expanded, opened->file, opened->path, error));
    close(opened->file);
    opened->file = expanded;
    return NMT_OK;
}

static nmt_status side_open(side *opened, const char *path, nmt_error *error)
{
    TRY(memory_copy_text(&opened->path, path, strlen(path), "a path", error));
    TRY(io_check_regular(path, CORPUS_IS_READ_AGAIN, error));
    opened->file = open(path, O_RDONLY | O_CLOEXEC);
    return opened->file >= 0 ? expand_gzip(opened, error) : io_failure(error, path, "cannot be opened", errno);
}

nmt_status corpus_open(corpus **pairs, const corpus_options *options, word_counts *source_counts,
                       word_counts *target_counts, nmt_error *error)
{
    word_counts *const counts[SIDES] = {source_counts, target_counts};
    *pairs = NULL;
    corpus *opened;
    TRY(memory_new(&opened, 1, sizeof *opened, "a corpus", error));
    opened->text = options->text;
    opened->max_length = options->max_length;
    opened->sides[SOURCE].segmenter = options->source_segmenter;
    opened->sides[TARGET].segmenter = options->target_segmenter;
    opened->sides[SOURCE].file = -1;
    opened->sides[TARGET].file = -1;
    nmt_status status = side_open(&opened->sides[SOURCE], options->source_path, error);
    if (status == NMT_OK) {
        status = side_open(&opened->sides[TARGET], options->target_path, error);
    }
    if (status == NMT_OK) {
        status = scan_files(opened, counts, error);
    }
    if (status != NMT_OK) {
        corpus_close(opened);
        return status;
    }
    *pairs = opened;
    return NMT_OK;
}

void corpus_close(corpus *pairs)
{
    if (pairs == NULL) {
        return;
    }
    for (int which = 0; which < SIDES; which++) {
        side *closed = &pairs->sides[which];
        if (closed->file >= 0) {
            close(closed->file);
        }
        free(closed->path);
        free(closed->line);
        text_buffer_free(&closed->prepared);
        text_buffer_free(&closed->cut);
    }
    free(pairs->places);
    free(pairs);
}

corpus_summary corpus_summarise(const corpus *pairs)
{
    return pairs->summary;
}

size_t corpus_size(const corpus *pairs)
{
    return (size_t)pairs->summary.kept;
}

size_t corpus_source_length(const corpus *pairs, size_t index)
{
    return pairs->places[index].tokens[SOURCE];
}

size_t corpus_target_length(const corpus *pairs, size_t index)
{
    return pairs->places[index].tokens[TARGET];
}

uint64_t corpus_line(const corpus *pairs, size_t index)
{
    return pairs->places[index].line;
}

/* ---- reading again ------------------------------------------------------------------------------------------------
 */

/* Fills side->line with `bytes` bytes from `offset`; `*length` is less where the file ends earlier. */
static nmt_status read_bytes(side *from, uint64_t offset, size_t bytes, size_t *length, nmt_error *error)
{
    TRY(memory_grow(&from->line, &from->line_capacity, bytes, 1, "a line of text", error));
    for (*length = 0; *length < bytes;) {
        const ssize_t count = pread(from->file, from->line + *length, bytes - *length, (off_t)(offset + *length));
        if (count < 0 && errno != EINTR) {
            return io_failure(error, from->path, "cannot be read", errno);
        }
        if (count == 0) {
            break;
        }
        *length += count > 0 ? (size_t)count : 0;
    }
    return NMT_OK;
}

static nmt_status text_changed(const side *from, const pair_place *place, nmt_error *error)
{
    return error_set(error, NMT_INVALID, "%s:%" PRIu32 ": the text changed while it was being read",
                     quote_path(&(path_quotation){{0}}, from->path), place->line);
}

static nmt_status read_side(corpus *pairs, int which, size_t index, const vocabulary *words, int32_t *ids,
                            nmt_error *error)
{
    side *from = &pairs->sides[which];
    const pair_place *place = &pairs->places[index];
    size_t length;
    TRY(read_bytes(from, place->offset[which], place->bytes[which], &length, error));
    if (length < place->bytes[which] || (uint32_t)hash_bytes(from->line, length) != place->hash[which]) {
        return text_changed(from, place, error);
    }
    const char *cursor = from->line;
    TRY(tokenise(pairs, from, &cursor, &length, place->line, error));
    const char *end = cursor + length;
    for (uint32_t t = 0; t < place->tokens[which]; t++) {
        const char *token;
        if (!text_next_token(&cursor, end, &token, &length)) { /* other text with the same hash */
            return text_changed(from, place, error);
        }
        ids[t] = vocabulary_find(words, token, length);
    }
    return NMT_OK;
}

nmt_status corpus_read(corpus *pairs, size_t index, const vocabulary *source_words, const vocabulary *target_words,
                       int32_t *source, int32_t *target, nmt_error *error)
{
    TRY(read_side(pairs, SOURCE, index, source_words, source, error));
    return read_side(pairs, TARGET, index, target_words, target, error);
}

static uint64_t count_unknown(const int32_t *ids, size_t length)
{
    uint64_t unknown = 0;
    for (size_t t = 0; t < length; t++) {
        unknown += ids[t] == TOKEN_UNKNOWN;
    }
    return unknown;
}

/* Share of the tokens of one side that the vocabulary lacks; `ids` holds the longest line. */
static nmt_status unknown_rate(corpus *pairs, int which, const vocabulary *words, int32_t *ids, double *rate,
                               nmt_error *error)
{
    uint64_t unknown = 0;
    uint64_t tokens = 0;
    for (size_t i = 0; i < corpus_size(pairs); i++) {
        TRY(read_side(pairs, which, i, words, ids, error));
        unknown += count_unknown(ids, pairs->places[i].tokens[which]);
        tokens += pairs->places[i].tokens[which];
    }
    *rate = (double)unknown / (double)tokens;
    return NMT_OK;
}

nmt_status corpus_unknown_rates(corpus *pairs, const vocabulary *source_words, const vocabulary *target_words,
                                double *source_rate, double *target_rate, nmt_error *error)
{
    size_t longest = 0;
    for (size_t i = 0; i < corpus_size(pairs); i++) {
        for (int which = 0; which < SIDES; which++) {
            const size_t length = pairs->places[i].tokens[which];
            longest = length > longest ? length : longest;
        }
    }
    int32_t *ids;
    TRY(memory_new(&ids, longest, sizeof *ids, "a sentence", error));
    nmt_status status = unknown_rate(pairs, SOURCE, source_words, ids, source_rate, error);
    if (status == NMT_OK) {
        status = unknown_rate(pairs, TARGET, target_words, ids, target_rate, error);
    }
    free(ids);
    return status;
}
