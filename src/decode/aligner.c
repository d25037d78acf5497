/*
 * The attention that a model pays while a given translation is fed in. Pairs of similar length share a batch; each
 * result goes to the place of its pair.
 */
#include <math.h>
#include <nmt/translate.h>
#include <stdlib.h>

#include "core/memory.h"
#include "decode/alignment.h"
#include "decode/sentence.h"
#include "model/model.h"

static const size_t default_batch_size = 64;

/* One side of a batch. */
typedef struct side {
    sentence *sentences; /* of all pairs */
    const int32_t **ids; /* [batch_size] */
    size_t *lengths;     /* [batch_size] */
} side;

typedef struct aligner {
    nmt_model *model;
    size_t batch_size;
    side source, target;
    size_t *order; /* of the pairs that have tokens on both sides */
    size_t order_count;
    batch pairs;
    real *alpha; /* [target tokens, longest source] of a batch */
    size_t alpha_capacity;
} aligner;

static nmt_status side_set_up(side *to, const char *const *lines, size_t count, sentence_side which,
                              const aligner *work, const char *what, nmt_error *error)
{
    TRY(sentences_create(&to->sentences, lines, count, work->model, which, what, error));
    TRY(memory_new(&to->ids, work->batch_size, sizeof *to->ids, "a batch of alignments", error));
    return memory_new(&to->lengths, work->batch_size, sizeof *to->lengths, "a batch of alignments", error);
}

static void side_tear_down(side *it, size_t count)
{
    sentences_free(it->sentences, count);
    free(it->ids);
    free(it->lengths);
}

static void side_choose(side *it, const size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        it->ids[i] = it->sentences[order[i]].ids;
        it->lengths[i] = it->sentences[order[i]].length;
    }
}

/* Attention over the pairs order[0 .. count-1], in work->alpha. */
static nmt_status align_batch(aligner *work, const size_t *order, size_t count, nmt_error *error)
{
    batch *pairs = &work->pairs;
    side_choose(&work->source, order, count);
    side_choose(&work->target, order, count);
    TRY(batch_set(pairs, work->source.ids, work->source.lengths, work->target.ids, work->target.lengths, count, error));
    TRY(memory_grow(&work->alpha, &work->alpha_capacity, pairs->input.tokens * pairs->source.steps, sizeof *work->alpha,
                    "the attention of a batch", error));
    return model_align(work->model, pairs, work->alpha, error);
}

/* The alignment of pair `i` of the batch, whose rows lie a time step apart. */
static nmt_status gather(const aligner *work, size_t i, size_t pair, nmt_alignment *alignment, nmt_error *error)
{
    const sequences *input = &work->pairs.input;
    const sentence *target = &work->target.sentences[pair];
    const size_t T = target->length + 1;
    TRY(alignment_create(alignment, &work->source.sentences[pair], T, error));
    for (size_t t = 0; t < T; t++) {
        const real *alpha = work->alpha + (input->offset[t] + input->row[i]) * work->pairs.source.steps;
        if (!isfinite(alpha[0])) { /* a softmax is NaN everywhere or nowhere */
            return error_set(error, NMT_NOT_FINITE, "line %zu: the model gives NaN for target token %zu", pair + 1,
                             t + 1);
        }
        alignment_set_row(alignment, t, alpha);
    }
    return sentence_tokens(target, alignment->target, error);
}

static nmt_status align_all(aligner *work, nmt_alignment *alignments, nmt_error *error)
{
    for (size_t first = 0; first < work->order_count; first += work->batch_size) {
        const size_t *order = work->order + first;
        const size_t left = work->order_count - first;
        const size_t count = left < work->batch_size ? left : work->batch_size;
        TRY(align_batch(work, order, count, error));
        for (size_t i = 0; i < count; i++) {
            TRY(gather(work, i, order[i], &alignments[order[i]], error));
        }
    }
    return NMT_OK;
}

static nmt_status set_up(aligner *work, const char *const *sources, const char *const *targets, size_t count,
                         nmt_error *error)
{
    TRY(side_set_up(&work->source, sources, count, SENTENCE_SOURCE, work, "source line", error));
    TRY(side_set_up(&work->target, targets, count, SENTENCE_TARGET, work, "target line", error));
    return sentences_by_length(&work->order, &work->order_count, work->source.sentences, work->target.sentences, count,
                               error);
}

static void tear_down(aligner *work, size_t count)
{
    side_tear_down(&work->source, count);
    side_tear_down(&work->target, count);
    free(work->order);
    batch_free(&work->pairs);
    free(work->alpha);
}

nmt_status nmt_align(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                     size_t batch_size, nmt_alignment *alignments, nmt_error *error)
{
    const size_t size = batch_size > 0 ? batch_size : default_batch_size;
    aligner work = {.model = model, .batch_size = size < count ? size : count};
    for (size_t i = 0; i < count; i++) {
        alignments[i] = (nmt_alignment){0};
    }
    nmt_status status = set_up(&work, sources, targets, count, error);
    if (status == NMT_OK) {
        status = align_all(&work, alignments, error);
    }
    tear_down(&work, count);
    for (size_t i = 0; status != NMT_OK && i < count; i++) {
        nmt_alignment_clear(&alignments[i]);
    }
    return status;
}
