/* The training text and the vocabularies that come from it. */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include "core/error.h"
#include "data/corpus.h"
#include "data/vocabulary.h"
#include "model/config.h"

/* What segments the configured text: piece models are learned from the training text or read from their files. The
 * caller's: segmenters_free. */
nmt_status training_segmenters(segmenters *both, const nmt_config *config, nmt_error *error);

/* Scans the configured training text, as cut by `by` (borrowed by the corpus), and counts or reads the vocabularies.
 * All three are the caller's. */
nmt_status training_text_open(corpus **pairs, vocabulary **source_words, vocabulary **target_words,
                              const nmt_config *config, const segmenters *by, nmt_error *error);

#endif
