/* The training text and the vocabularies that come from it. */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include "core/error.h"
#include "data/corpus.h"
#include "data/vocabulary.h"
#include "model/config.h"

/* Scans the configured training text and counts or reads the vocabularies. All three are the caller's. */
nmt_status training_text_open(corpus **pairs, vocabulary **source_words, vocabulary **target_words,
                              const nmt_config *config, nmt_error *error);

#endif
