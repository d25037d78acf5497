/*
 * Lines of text in, translations out. Sentences of similar length share a batch; each result goes to the place of its
 * line, so neither the order nor the size of batches shows.
 */
#include <math.h>
#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "decode/alignment.h"
#include "decode/search.h"
#include "decode/sentence.h"

static const size_t default_batch_size = 64;
static const double default_length_ratio = 3;
static const size_t default_length_extra = 10;

typedef struct translator {
    nmt_model *model;
    search_options search;
    size_t batch_size;
    sentence *sentences;
    size_t *order; /* of the sentences that have tokens */
    size_t order_count;
    sequences sources; /* of a batch, as are the rest: [batch_size] */
    const int32_t **ids;
    size_t *lengths, *lines;
    hypothesis *best;
} translator;

void nmt_translation_clear(nmt_translation *translation)
{
    if (translation == NULL) {
        return;
    }
    free(translation->text);
    nmt_alignment_clear(&translation->alignment);
    *translation = (nmt_translation){0};
}

/* ---- from a hypothesis to a translation -----------------------------------------------------------------------------
 */

static nmt_status join_words(char **text, const hypothesis *from, const vocabulary *words, nmt_error *error)
{
    const size_t count = hypothesis_words(from);
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(vocabulary_word(words, from->ids[i])) + 1;
    }
    TRY(memory_new(text, size, 1, "a translation", error));
    char *end = *text;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            *end++ = ' ';
        }
        end = stpcpy(end, vocabulary_word(words, from->ids[i]));
    }
    return NMT_OK;
}

static nmt_status align_words(nmt_alignment *alignment, const sentence *source, const hypothesis *from,
                              const vocabulary *words, nmt_error *error)
{
    TRY(alignment_create(alignment, source, from->length, error));
    for (size_t t = 0; t < from->length; t++) {
        alignment_set_row(alignment, t, from->alpha + t * from->source_length);
        const char *word = vocabulary_word(words, from->ids[t]);
        TRY(memory_copy_text(&alignment->target[t], word, strlen(word), "an alignment", error));
    }
    return NMT_OK;
}

static nmt_status render(const translator *work, nmt_translation *translation, const sentence *source,
                         const hypothesis *from, nmt_error *error)
{
    TRY(join_words(&translation->text, from, work->model->target_words, error));
    translation->log_probability = from->log_probability;
    return work->search.alpha ? align_words(&translation->alignment, source, from, work->model->target_words, error)
                              : NMT_OK;
}

/* ---- batches --------------------------------------------------------------------------------------------------------
 */

/* Searches for the sentences order[0 .. count-1]; work->best holds a hypothesis for each. */
static nmt_status search_batch(translator *work, const size_t *order, size_t count, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const sentence *source = &work->sentences[order[i]];
        work->ids[i] = source->ids;
        work->lengths[i] = source->length + 1;
        work->lines[i] = order[i] + 1;
    }
    TRY(sequences_set(&work->sources, work->ids, work->lengths, count, error));
    return search_best(work->model, &work->sources, work->lines, &work->search, work->best, error);
}

static nmt_status translate_batch(translator *work, const size_t *order, size_t count, nmt_translation *translations,
                                  nmt_error *error)
{
    TRY(search_batch(work, order, count, error));
    nmt_status status = NMT_OK;
    for (size_t i = 0; i < count; i++) {
        if (status == NMT_OK) {
            status = render(work, &translations[order[i]], &work->sentences[order[i]], &work->best[i], error);
        }
        hypothesis_free(&work->best[i]);
    }
    return status;
}

static nmt_status translate_all(translator *work, size_t count, nmt_translation *translations, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (work->sentences[i].length == 0) {
            TRY(memory_copy_text(&translations[i].text, "", 0, "a translation", error));
        }
    }
    for (size_t first = 0; first < work->order_count; first += work->batch_size) {
        const size_t left = work->order_count - first;
        TRY(translate_batch(work, work->order + first, left < work->batch_size ? left : work->batch_size, translations,
                            error));
    }
    return NMT_OK;
}

/* ---- the call -------------------------------------------------------------------------------------------------------
 */

static nmt_status set_options(translator *work, const nmt_translate_options *options, size_t count, nmt_error *error)
{
    const nmt_translate_options none = {0};
    const nmt_translate_options *chosen = options != NULL ? options : &none;
    if (!isfinite(chosen->max_length_ratio) || chosen->max_length_ratio < 0) {
        return error_set(error, NMT_INVALID, "max_length_ratio: expected a finite number that is not negative");
    }
    const size_t batch_size = chosen->batch_size > 0 ? chosen->batch_size : default_batch_size;
    work->batch_size = batch_size < count ? batch_size : count;
    work->search = (search_options){
        .max_length_ratio = chosen->max_length_ratio > 0 ? chosen->max_length_ratio : default_length_ratio,
        .max_length_extra = chosen->max_length_extra > 0 ? chosen->max_length_extra : default_length_extra,
        .alpha = chosen->alignment};
    return NMT_OK;
}

static nmt_status set_up(translator *work, const char *const *lines, size_t count, nmt_error *error)
{
    const char *what = "a batch of translations";
    TRY(sentences_create(&work->sentences, lines, count, work->model->source_words, work->model->config, "line",
                         error));
    TRY(sentences_by_length(&work->order, &work->order_count, work->sentences, NULL, count, error));
    TRY(memory_new(&work->ids, work->batch_size, sizeof *work->ids, what, error));
    TRY(memory_new(&work->lengths, work->batch_size, sizeof *work->lengths, what, error));
    TRY(memory_new(&work->lines, work->batch_size, sizeof *work->lines, what, error));
    return memory_new(&work->best, work->batch_size, sizeof *work->best, what, error);
}

static void tear_down(translator *work, size_t count)
{
    sentences_free(work->sentences, count);
    free(work->order);
    sequences_free(&work->sources);
    free(work->ids);
    free(work->lengths);
    free(work->lines);
    free(work->best);
}

nmt_status nmt_translate(nmt_model *model, const char *const *lines, size_t count, const nmt_translate_options *options,
                         nmt_translation *translations, nmt_error *error)
{
    translator work = {.model = model};
    for (size_t i = 0; i < count; i++) {
        translations[i] = (nmt_translation){0};
    }
    nmt_status status = set_options(&work, options, count, error);
    if (status == NMT_OK) {
        status = set_up(&work, lines, count, error);
    }
    if (status == NMT_OK) {
        status = translate_all(&work, count, translations, error);
    }
    tear_down(&work, count);
    for (size_t i = 0; status != NMT_OK && i < count; i++) {
        nmt_translation_clear(&translations[i]);
    }
    return status;
}
