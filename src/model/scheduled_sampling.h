/*
 * Scheduled sampling (Bengio, Vinyals, Jaitly and Shazeer 2015): in training, at each step and for each sentence by
 * itself, the decoder sees the reference's word, or with some probability the word that it finds likeliest behind what
 * it has seen so far. That word is chosen by decoding step by step with nothing dropped, before the pass that learns,
 * and no gradient goes through the choice.
 */
#ifndef MODEL_SCHEDULED_SAMPLING_H
#define MODEL_SCHEDULED_SAMPLING_H

#include "model/model.h"

/* The share of words that are the reference's in update number `update`, from 1. */
double teacher_forcing_share(const nmt_config *config, uint64_t update);

/* id[input.tokens]: what the decoder is to see in place of pairs->input.id. The same update draws the same. */
nmt_status scheduled_sampling(nmt_model *model, const batch *pairs, double share, uint64_t update, int32_t *id,
                              nmt_error *error);

#endif
