#include "train/validation.h"

#include <nmt/evaluate.h>
#include <nmt/translate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"
#include "decode/sentence.h"

static text_options text_options_of(const nmt_config *config)
{
    return (text_options){.nfc = config->data.nfc, .lowercase = config->data.lowercase};
}

/* All lines of a file, prepared as the model's text is. */
static nmt_status read_lines(text_lines *lines, const char *path, text_options options, nmt_error *error)
{
    nmt_reader *reader;
    text_buffer buffer = {0};
    size_t capacity = 0;
    TRY(nmt_reader_open(&reader, path, error));
    nmt_status status;
    for (;;) {
        const char *line, *prepared;
        size_t length;
        status = nmt_reader_next(reader, &line, &length, error);
        if (status != NMT_OK || line == NULL) {
            break;
        }
        status = text_prepare(&prepared, &length, line, length, options, &buffer, error);
        if (status == NMT_OK) {
            status = memory_grow(&lines->text, &capacity, lines->count + 1, sizeof *lines->text, "the validation text",
                                 error);
        }
        if (status == NMT_OK) {
            status = memory_copy_text(&lines->text[lines->count], prepared, length, "the validation text", error);
        }
        if (status != NMT_OK) {
            break;
        }
        lines->count++;
    }
    text_buffer_free(&buffer);
    nmt_reader_close(reader);
    return status;
}

/* Translating them all comes after an epoch's work, which a line that cannot be read would cost. */
static nmt_status check_sources(const validation *set, const nmt_model *model, const char *path, nmt_error *error)
{
    sentence *read;
    char what[QUOTE_PATH_CAPACITY + 8];
    snprintf(what, sizeof what, "%s: line", quote_path(&(path_quotation){{0}}, path));
    TRY(sentences_create(&read, (const char *const *)set->sources.text, set->sources.count, model, SENTENCE_SOURCE,
                         what, error));
    sentences_free(read, set->sources.count);
    return NMT_OK;
}

static nmt_status open_text(validation *set, const nmt_model *model, nmt_error *error)
{
    const nmt_config *config = model->config;
    const corpus_options options = {.source_path = config->data.validation_source,
                                    .target_path = config->data.validation_target,
                                    .text = text_options_of(config),
                                    .source_segmenter = model->segmenters.source,
                                    .target_segmenter = model->segmenters.target};
    TRY(corpus_open(&set->pairs, &options, NULL, NULL, error));
    const epoch_options order = {.unit = BATCH_SENTENCES,
                                 .batch_size = config->validation.batch_size,
                                 .pool = corpus_size(set->pairs) / config->validation.batch_size + 1};
    TRY(epoch_plan_create(&set->plan, set->pairs, &order, 1, error));
    if (set->bleu) {
        TRY(read_lines(&set->sources, options.source_path, options.text, error));
        TRY(read_lines(&set->references, options.target_path, options.text, error));
        TRY(check_sources(set, model, options.source_path, error));
        if (set->references.count != set->sources.count) {
            return error_set(error, NMT_INVALID, "%s: the text changed while it was being read", options.target_path);
        }
        for (size_t i = 0; config->validation.join != NULL && i < set->references.count; i++) {
            segmenter_join_marked(set->references.text[i], config->validation.join);
        }
    }
    return NMT_OK;
}

nmt_status validation_open(validation *set, const nmt_model *model, nmt_error *error)
{
    *set = (validation){.batch_size = model->config->validation.batch_size, .bleu = model->config->validation.bleu};
    const nmt_status status = open_text(set, model, error);
    if (status != NMT_OK) {
        validation_close(set);
        return status;
    }
    set->loader =
        (loader){.pairs = set->pairs, .source_words = model->source_words, .target_words = model->target_words};
    return NMT_OK;
}

static void free_lines(text_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->text[i]);
    }
    free(lines->text);
}

void validation_close(validation *set)
{
    free_lines(&set->sources);
    free_lines(&set->references);
    epoch_plan_free(&set->plan);
    loader_free(&set->loader);
    corpus_close(set->pairs);
    memset(set, 0, sizeof *set);
}

static nmt_status measure_loss(validation *set, nmt_model *model, double *loss, nmt_error *error)
{
    double nats = 0, tokens = 0;
    for (size_t i = 0; i < set->plan.batches; i++) {
        const size_t first = set->plan.start[i];
        batch_loss one;
        TRY(loader_load(&set->loader, set->plan.pair + first, set->plan.start[i + 1] - first, error));
        TRY(model_loss_and_gradient(model, &set->loader.batch, NULL, 0, 0, &one, error));
        nats += one.nats;
        tokens += (double)one.tokens;
    }
    *loss = nats / tokens;
    return NMT_OK;
}

static nmt_status measure_bleu(const validation *set, nmt_model *model, double *score, nmt_error *error)
{
    nmt_translation *translations;
    const char **hypotheses;
    nmt_bleu bleu;
    TRY(memory_new(&translations, set->sources.count, sizeof *translations, "the validation translations", error));
    nmt_status status =
        memory_new(&hypotheses, set->sources.count, sizeof *hypotheses, "the validation translations", error);
    if (status != NMT_OK) {
        free(translations);
        return status;
    }
    const nmt_translate_options options = {.batch_size = set->batch_size, .join = model->config->validation.join};
    status =
        nmt_translate(model, (const char *const *)set->sources.text, set->sources.count, &options, translations, error);
    if (status == NMT_OK) {
        for (size_t i = 0; i < set->sources.count; i++) {
            hypotheses[i] = translations[i].text;
        }
        status =
            nmt_bleu_corpus(&bleu, hypotheses, (const char *const *)set->references.text, set->sources.count, error);
        *score = bleu.score;
        for (size_t i = 0; i < set->sources.count; i++) {
            nmt_translation_clear(&translations[i]);
        }
    }
    free(hypotheses);
    free(translations);
    return status;
}

nmt_status validation_run(validation *set, nmt_model *model, validation_result *result, nmt_error *error)
{
    *result = (validation_result){0};
    TRY(measure_loss(set, model, &result->loss, error));
    return set->bleu ? measure_bleu(set, model, &result->bleu, error) : NMT_OK;
}
