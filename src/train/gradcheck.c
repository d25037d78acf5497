/*
 * Every gradient of a configured model against central differences, in double precision. Parameters are drawn larger
 * than training starts with, so that gradients of every tensor are far above what the tolerance forgives.
 */
#include <nmt/gradcheck.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "train/gradient_paths.h"
#include "train/loader.h"
#include "train/text.h"

#ifndef NMT_DOUBLE
#error "central differences need double precision: compile this file with NMT_DOUBLE"
#endif

enum { SENTENCES = 3 };
static const double STEP = 1e-5;

typedef struct check {
    nmt_config *config;
    corpus *pairs;
    segmenters by;
    nmt_model *model;
    loader loader;
    double *gradient;
    double scale; /* the loss per target token */
} check;

static void draw_parameters(nmt_model *model, uint64_t seed)
{
    for (size_t t = 0; t < model->parameters.count; t++) {
        const tensor *entry = &model->parameters.tensors[t];
        const double scale = entry->columns > 0 ? 1 / sqrt((double)entry->columns) : 0.3;
        rng generator = rng_stream(seed, entry->name, 0);
        for (size_t i = 0; i < tensor_size(entry); i++) {
            model->block[entry->offset + i] = scale * rng_normal(&generator);
        }
    }
}

/* A model of the configured make with drawn parameters; takes ownership of the vocabularies, also on failure. */
static nmt_status draw_model(check *c, vocabulary *source_words, vocabulary *target_words, nmt_error *error)
{
    nmt_config *config;
    const nmt_status copied = config_copy(&config, c->config, error);
    if (copied != NMT_OK) {
        vocabulary_free(source_words);
        vocabulary_free(target_words);
        return copied;
    }
    TRY(model_create(&c->model, config, source_words, target_words, error));
    draw_parameters(c->model, config->training.seed);
    return NMT_OK;
}

static nmt_status set_up(check *c, const char *model_path, nmt_error *error)
{
    vocabulary *source_words, *target_words;
    if (model_path != NULL) {
        TRY(checkpoint_load_model(&c->model, model_path, error));
    } else {
        TRY(training_segmenters(&c->by, c->config, error));
    }
    const segmenters *by = c->model != NULL ? &c->model->segmenters : &c->by;
    TRY(training_text_open(&c->pairs, &source_words, &target_words, c->config, by, error));
    if (c->model != NULL) {
        vocabulary_free(source_words);
        vocabulary_free(target_words);
    } else {
        TRY(draw_model(c, source_words, target_words, error));
    }
    TRY(memory_new(&c->gradient, c->model->parameters.size, sizeof *c->gradient, "the gradient", error));
    c->loader =
        (loader){.pairs = c->pairs, .source_words = c->model->source_words, .target_words = c->model->target_words};
    uint32_t pair[SENTENCES];
    size_t count = 0;
    for (; count < SENTENCES && count < corpus_size(c->pairs); count++) {
        pair[count] = (uint32_t)count;
    }
    return loader_load(&c->loader, pair, count, error);
}

static void tear_down(check *c)
{
    loader_free(&c->loader);
    nmt_model_free(c->model);
    corpus_close(c->pairs);
    segmenters_free(&c->by);
    nmt_config_free(c->config);
    free(c->gradient);
}

/* The loss that the gradient is of, with the gradient left aside: so that what training adds to the plain loss is in
 * both. */
static nmt_status objective(check *c, double *scratch, double *value, nmt_error *error)
{
    batch_loss loss;
    TRY(model_loss_and_gradient(c->model, &c->loader.batch, scratch, 0, 1, &loss, error));
    *value = c->scale * loss.objective;
    return NMT_OK;
}

static nmt_status check_element(check *c, double *scratch, size_t element, nmt_gradcheck_row *row, nmt_error *error)
{
    double *theta = &c->model->block[element];
    const double kept = *theta;
    double above, below;
    *theta = kept + STEP;
    nmt_status status = objective(c, scratch, &above, error);
    *theta = kept - STEP;
    if (status == NMT_OK) {
        status = objective(c, scratch, &below, error);
    }
    *theta = kept;
    TRY(status);
    const double numeric = (above - below) / (2 * STEP), analytic = c->gradient[element];
    const double difference = fabs(analytic - numeric), size = fmax(fabs(analytic), fabs(numeric));
    row->checked++;
    /* Written so that NaN fails. */
    row->failed += !(difference <= 1e-8 + 1e-6 * size);
    row->largest = fmax(row->largest, fabs(analytic));
    row->worst_absolute = fmax(row->worst_absolute, difference);
    row->worst_relative = fmax(row->worst_relative, difference / fmax(size, 1e-8));
    return NMT_OK;
}

/*
 * Which elements of a tensor: all of them, or half among those with the largest gradients (in an embedding most rows
 * are not in the batch) and half anywhere.
 */
static nmt_status check_tensor(check *c, double *scratch, const tensor *entry, size_t elements, nmt_gradcheck_row *row,
                               nmt_error *error)
{
    const size_t size = tensor_size(entry);
    rng generator = rng_stream(c->config->training.seed, entry->name, 1);
    snprintf(row->name, sizeof row->name, "%s", entry->name);
    row->rows = entry->rows;
    row->columns = entry->columns;
    const size_t wanted = elements == 0 || elements > size ? size : elements;
    for (size_t i = 0; i < wanted; i++) {
        size_t element = wanted == size ? i : (size_t)rng_below(&generator, size);
        for (int other = 0; wanted < size && i % 2 == 0 && other < 64; other++) {
            const size_t candidate = (size_t)rng_below(&generator, size);
            if (fabs(c->gradient[entry->offset + candidate]) > fabs(c->gradient[entry->offset + element])) {
                element = candidate;
            }
        }
        TRY(check_element(c, scratch, entry->offset + element, row, error));
    }
    return NMT_OK;
}

static nmt_status run_check(check *c, nmt_gradcheck_report *report, size_t elements, nmt_error *error)
{
    const parameter_table *table = &c->model->parameters;
    const batch *pairs = &c->loader.batch;
    batch_loss loss;
    c->scale = 1 / (double)pairs->input.tokens;
    TRY(model_loss_and_gradient(c->model, pairs, c->gradient, c->scale, 1, &loss, error));
    report->sentences = pairs->input.count;
    report->source_tokens = pairs->source.tokens;
    report->target_tokens = pairs->input.tokens;
    report->loss = loss.nats;
    TRY(memory_new(&report->rows, table->count, sizeof *report->rows, "the report", error));
    report->row_count = table->count;
    double *scratch;
    TRY(memory_new(&scratch, table->size, sizeof *scratch, "the gradient", error));
    nmt_status status = NMT_OK;
    for (size_t t = 0; t < table->count && status == NMT_OK; t++) {
        status = check_tensor(c, scratch, &table->tensors[t], elements, &report->rows[t], error);
    }
    free(scratch);
    TRY(status);
    return gradient_paths_measure(report, c->model, pairs, error);
}

nmt_status nmt_gradcheck(nmt_gradcheck_report *report, const char *config_path, const char *model_path,
                         const char *const *overrides, size_t override_count, size_t elements, nmt_error *error)
{
    check c = {0};
    memset(report, 0, sizeof *report);
    TRY(nmt_config_load(&c.config, config_path, overrides, override_count, error));
    nmt_status status = set_up(&c, model_path, error);
    if (status == NMT_OK) {
        status = run_check(&c, report, elements, error);
    }
    if (status != NMT_OK) {
        nmt_gradcheck_clear(report);
    }
    tear_down(&c);
    return status;
}

void nmt_gradcheck_clear(nmt_gradcheck_report *report)
{
    for (size_t i = 0; i < report->position_count; i++) {
        free(report->positions[i].word);
    }
    free(report->positions);
    free(report->rows);
    memset(report, 0, sizeof *report);
}
