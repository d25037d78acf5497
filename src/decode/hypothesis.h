/* A translation as a search builds it: the tokens chosen so far, what they cost, and what each was read from. */
#ifndef DECODE_HYPOTHESIS_H
#define DECODE_HYPOTHESIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/real.h"

/* Starts as {.source_length = S}. */
typedef struct hypothesis {
    int32_t *ids;              /* [length] tokens; `</s>` stands last where the hypothesis ended by itself */
    double *log_probabilities; /* [length] nats, of each token */
    real *alpha;            /* [length, source_length] the attention paid for each token; NULL where it is not kept */
    size_t length;          /* T */
    size_t source_length;   /* S, with `</s>` */
    double log_probability; /* nats, summed over ids */
    double score;           /* what a search ranks by (search.h) */
    size_t ids_capacity, log_probabilities_capacity, alpha_capacity;
} hypothesis;

/* Adds a token with its log probability. `alpha` [source_length] is copied; NULL for every token
 * keeps none. On failure the hypothesis is as it was. */
nmt_status hypothesis_append(hypothesis *to, int32_t token, double log_probability, const real *alpha,
                             nmt_error *error);

/* True when it holds `</s>`; false when it goes on, or was cut off at its length limit. */
bool hypothesis_ended(const hypothesis *it);

/* Tokens without `</s>`. */
size_t hypothesis_words(const hypothesis *it);

void hypothesis_free(hypothesis *it);

#endif
