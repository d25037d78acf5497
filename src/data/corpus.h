/*
 * Parallel text as a resumable stream of sentence pairs. One pass over both files checks every line, counts words and
 * notes where each kept pair starts and how long it is; text is read again when a batch wants it, so memory grows by a
 * few bytes a pair and not with the text.
 */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "data/segmenter.h"
#include "data/text.h"
#include "data/vocabulary.h"

typedef struct corpus corpus;

/* Why its files must be regular. */
#define CORPUS_IS_READ_AGAIN "a corpus is read more than once"

typedef struct corpus_options {
    const char *source_path, *target_path;
    text_options text;
    const segmenter *source_segmenter, *target_segmenter; /* borrowed; NULL: tokens are words */
    size_t max_length; /* tokens on either side, without `</s>`; longer pairs are left out and counted; 0: no bound */
} corpus_options;

/* What the scan found. */
typedef struct corpus_summary {
    uint64_t lines;                        /* pairs in the files */
    uint64_t kept;                         /* pairs that training sees */
    uint64_t empty;                        /* left out: at least one side without a token */
    uint64_t too_long;                     /* left out: a side over max_length */
    uint64_t source_tokens, target_tokens; /* of the kept pairs, without `</s>` */
    uint64_t fingerprint; /* hash of every line of both files: a resumed run checks that the text is the same */
} corpus_summary;

/* Scans both files, which must be regular files: text is read more than once. `source_counts` and `target_counts` take
 * the words of the kept pairs; they may be the same object (a shared vocabulary), or NULL. The corpus is the caller's:
 * corpus_close.
 * Errors: unequal line counts (both are named), invalid UTF-8 (file, line, byte), no pair kept. */
nmt_status corpus_open(corpus **pairs, const corpus_options *options, word_counts *source_counts,
                       word_counts *target_counts, nmt_error *error);
void corpus_close(corpus *pairs);

corpus_summary corpus_summarise(const corpus *pairs);
size_t corpus_size(const corpus *pairs); /* kept pairs */

/* Lengths of pair `index`, in tokens without `</s>`. */
size_t corpus_source_length(const corpus *pairs, size_t index);
size_t corpus_target_length(const corpus *pairs, size_t index);

/* The line of both files (from 1) that pair `index` stands on. */
uint64_t corpus_line(const corpus *pairs, size_t index);

/* Reads pair `index` as word numbers, without `</s>`, into `source` and `target`, which hold the lengths above.
 * Errors: NMT_IO; NMT_INVALID naming path and line when the text is not what it was at the scan. */
nmt_status corpus_read(corpus *pairs, size_t index, const vocabulary *source_words, const vocabulary *target_words,
                       int32_t *source, int32_t *target, nmt_error *error);

/* Share of tokens of the corpus outside the vocabulary, source and target, in 0..1. Reads all the text. */
nmt_status corpus_unknown_rates(corpus *pairs, const vocabulary *source_words, const vocabulary *target_words,
                                double *source_rate, double *target_rate, nmt_error *error);

#endif
