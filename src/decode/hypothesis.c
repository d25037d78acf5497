#include "decode/hypothesis.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/vocabulary.h"

nmt_status hypothesis_append(hypothesis *to, int32_t token, double log_probability, const real *alpha, nmt_error *error)
{
    const size_t S = to->source_length;
    TRY(memory_grow(&to->ids, &to->ids_capacity, to->length + 1, sizeof *to->ids, "a translation", error));
    TRY(memory_grow(&to->log_probabilities, &to->log_probabilities_capacity, to->length + 1,
                    sizeof *to->log_probabilities, "a translation", error));
    if (alpha != NULL) {
        TRY(memory_grow(&to->alpha, &to->alpha_capacity, (to->length + 1) * S, sizeof *to->alpha,
                        "the attention of a translation", error));
        memcpy(to->alpha + to->length * S, alpha, S * sizeof *alpha);
    }
    to->ids[to->length] = token;
    to->log_probabilities[to->length++] = log_probability;
    to->log_probability += log_probability;
    return NMT_OK;
}

bool hypothesis_ended(const hypothesis *it)
{
    return it->length > 0 && it->ids[it->length - 1] == TOKEN_END;
}

size_t hypothesis_words(const hypothesis *it)
{
    return it->length - (hypothesis_ended(it) ? 1 : 0);
}

void hypothesis_free(hypothesis *it)
{
    free(it->ids);
    free(it->log_probabilities);
    free(it->alpha);
    *it = (hypothesis){0};
}
