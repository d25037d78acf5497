#include "model/scheduled_sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"

double teacher_forcing_share(const nmt_config *config, uint64_t update)
{
    const double last = config->training.teacher_forcing, span = (double)config->training.forcing_decay;
    const double done = span > 0 ? fmin(1, (double)(update - 1) / span) : 1;
    return 1 - (1 - last) * done;
}

/* The words of step t, whose rows are the first of those of the step before; logits[row] are of hypothesis place[row].
 */
static void choose(const sequences *target, size_t t, double share, const real *logits, size_t words,
                   const size_t *place, rng *generator, int32_t *id)
{
    for (size_t row = 0; row < target->active[t]; row++) {
        if (rng_uniform(generator) >= share) {
            id[target->offset[t] + row] = model_likeliest(logits + place[row] * words, words);
        }
    }
}

/* Hypotheses stand in the order of the sentences at first, and from step 1 on in that of the target's rows. */
static nmt_status decode(decoding *state, const sequences *target, double share, size_t words, rng *generator,
                         int32_t *id, int32_t *previous, size_t *place, nmt_error *error)
{
    const real *logits, *alpha;
    for (size_t row = 0; row < target->count; row++) {
        place[row] = target->order[row];
        previous[place[row]] = id[row];
    }
    for (size_t t = 1; t < target->steps; t++) {
        TRY(model_step(state, previous, &logits, &alpha, error));
        choose(target, t, share, logits, words, place, generator, id);
        TRY(model_reorder(state, place, target->active[t], error));
        for (size_t row = 0; row < target->active[t]; row++) {
            place[row] = row;
            previous[row] = id[target->offset[t] + row];
        }
    }
    return NMT_OK;
}

nmt_status scheduled_sampling(nmt_model *model, const batch *pairs, double share, uint64_t update, int32_t *id,
                              nmt_error *error)
{
    static const char what[] = "scheduled sampling";
    const sequences *target = &pairs->input;
    rng generator = rng_stream(model->config->training.seed, "teacher forcing", update);
    decoding *state;
    int32_t *previous;
    size_t *place;
    memcpy(id, target->id, target->tokens * sizeof *id);
    TRY(memory_new(&previous, target->count, sizeof *previous, what, error));
    nmt_status status = memory_new(&place, target->count, sizeof *place, what, error);
    if (status != NMT_OK) {
        free(previous);
        return status;
    }
    status = model_start(model, &pairs->source, pairs->source.count, &state, error);
    if (status == NMT_OK) {
        status =
            decode(state, target, share, vocabulary_size(model->target_words), &generator, id, previous, place, error);
        model_finish(state);
    }
    free(place);
    free(previous);
    return status;
}
