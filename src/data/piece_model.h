/* What a SentencePiece model must be before its library sees it. */
#ifndef DATA_PIECE_MODEL_H
#define DATA_PIECE_MODEL_H

#include <stddef.h>

#include "core/error.h"

/*
 * Checks a serialised ModelProto from the first byte to the last, without SentencePiece. NMT_INVALID that names `path`:
 * what is no such message; pieces that are empty, no UTF-8 or hold a space; scores that are not finite; a model of
 * another kind than byte-pair encoding and unigram; bytes as pieces (byte_fallback); a normalisation other than
 * identity: joining would not give the text back, and its tables are followed by the library without looking.
 */
nmt_status piece_model_check(const char *model, size_t size, const char *path, nmt_error *error);

#endif
