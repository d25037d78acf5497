/* How good the model is on text it does not learn from. */
#ifndef TRAIN_VALIDATION_H
#define TRAIN_VALIDATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "data/corpus.h"
#include "data/epoch.h"
#include "model/model.h"
#include "train/loader.h"

typedef struct validation_result {
    double loss; /* nats per target token, teacher-forced; perplexity is exp of it */
    double bleu; /* greedy, 0 to 100; only where it was asked for */
} validation_result;

typedef struct text_lines {
    char **text; /* [count] */
    size_t count;
} text_lines;

typedef struct validation {
    corpus *pairs;
    loader loader;
    epoch_plan plan;
    size_t batch_size;
    bool bleu;
    text_lines sources, references; /* every line of the files, for BLEU */
} validation;

/* Opens the configured validation text. The caller's: validation_close. */
nmt_status validation_open(validation *set, const nmt_model *model, nmt_error *error);
void validation_close(validation *set);

nmt_status validation_run(validation *set, nmt_model *model, validation_result *result, nmt_error *error);

#endif
