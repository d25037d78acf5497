/*
 * The attentional encoder-decoder behind the interface of model.h: it joins encoder, decoder and readout, and owns the
 * workspace that a step lives in.
 */
#ifndef MODEL_SEQ2SEQ_H
#define MODEL_SEQ2SEQ_H

#include "model/decoder.h"
#include "model/model.h"

extern const model_interface seq2seq_interface;

/* Declares the parameters that model->config and the vocabularies ask for. */
nmt_status seq2seq_create(nmt_model *model, nmt_error *error);

/*
 * The share of the summed loss's gradient that arrives at the annotations through the given paths of attention
 * (decoder.h): dannotations[source tokens, 2H], one sentence behind the other in packed order, is overwritten. So is
 * gradient[parameters.size], with what came of that share in the encoder, and of the rest in the decoder.
 */
nmt_status seq2seq_path_gradient(nmt_model *model, const batch *pairs, attention_paths paths, real *gradient,
                                 real *dannotations, nmt_error *error);

/* 2H. */
size_t seq2seq_annotation_size(const nmt_model *model);

#endif
