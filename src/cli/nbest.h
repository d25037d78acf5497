/*
 * Lists of translations in the form of Moses, a line a translation, those of a sentence together:
 *
 *     SENTENCE ||| TEXT ||| FEATURES ||| SCORE
 *
 * Sentences count from 0. Features are names that end in '=', each with the numbers behind it. The text is what stands
 * between the first " ||| " and the last but one, so that it may hold what the others may not.
 */
#ifndef CLI_NBEST_H
#define CLI_NBEST_H

#include <nmt/translate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct nbest_entry {
    size_t sentence; /* from 0 */
    const char *text;
    size_t text_length;
    size_t features_start, features_end; /* where in the line */
} nbest_entry;

/* Takes a line apart; what it points to is in `line`. `path` and `number` say where it stands. */
nmt_status nbest_parse(nbest_entry *entry, const char *line, size_t length, const char *path, size_t number,
                       nmt_error *error);

/* Whether the line has a feature of this name. */
bool nbest_has_feature(const char *line, const nbest_entry *entry, const char *name);

/* Writes the line with another feature. */
void nbest_write_with(FILE *file, const char *line, const nbest_entry *entry, const char *name, double value);

/* Writes a translation, its features: "logp", the log probability, and "tokens", T. */
void nbest_write(FILE *file, size_t sentence, const nmt_translation *translation);

#endif
