/*
 * The wire format of protocol buffers: a message is a row of fields, each a varint (number << 3 | type) and a value. Of
 * SentencePiece's ModelProto, field 1 is a piece (1: text, 2: score, 3: kind), field 2 the trainer's settings (3: type
 * of model, 35: byte_fallback), field 3 the normaliser's (2: its tables, 5: escape_whitespaces, 6: its rules), field 4
 * samples for a self-test, field 5 the denormaliser's. A field that the format has once may come twice; the last one
 * counts, so each is checked.
 */
#include "data/piece_model.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/quote.h"
#include "core/utf8.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

enum {
    MODEL_PIECE = 1,
    MODEL_TRAINER = 2,
    MODEL_NORMALIZER = 3,
    MODEL_SELF_TEST = 4,
    MODEL_DENORMALIZER = 5,
    PIECE_TEXT = 1,
    PIECE_SCORE = 2,
    PIECE_KIND = 3,
    TRAINER_TYPE = 3,
    TRAINER_BYTE_FALLBACK = 35,
    NORMALIZER_TABLES = 2,
    NORMALIZER_ESCAPE = 5,
    NORMALIZER_RULES = 6
};

enum { TYPE_UNIGRAM = 1, TYPE_BPE = 2, KIND_NORMAL = 1, KIND_UNKNOWN = 2, KIND_BYTE = 6 };

static const size_t pieces_limit = 10000000;

/* A message, or what of it is still to be read. */
typedef struct message {
    const unsigned char *at, *end;
} message;

typedef struct field {
    uint64_t number;
    unsigned type;
    uint64_t value; /* of a varint, or the bits of a fixed one */
    message bytes;
} field;

typedef struct findings {
    size_t pieces, unknown;
} findings;

static bool read_varint(message *from, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        const unsigned char byte = *from->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

static bool read_fixed(message *from, size_t size, uint64_t *value)
{
    *value = 0;
    if ((size_t)(from->end - from->at) < size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        *value |= (uint64_t)*from->at++ << 8 * i;
    }
    return true;
}

static bool read_field(message *from, field *next)
{
    uint64_t tag, length;
    *next = (field){0};
    if (!read_varint(from, &tag)) {
        return false;
    }
    next->number = tag >> 3;
    next->type = (unsigned)(tag & 7);
    switch (next->type) {
    case VARINT:
        return read_varint(from, &next->value);
    case FIXED64:
        return read_fixed(from, 8, &next->value);
    case FIXED32:
        return read_fixed(from, 4, &next->value);
    case BYTES:
        if (!read_varint(from, &length) || length > (uint64_t)(from->end - from->at)) {
            return false;
        }
        next->bytes = (message){from->at, from->at + length};
        from->at += length;
        return true;
    default:
        return false;
    }
}

static const char malformed[] = "expected a SentencePiece model, found other bytes";

/* Each check returns what is wrong, or NULL. */

static const char *check_text(message text)
{
    const size_t length = (size_t)(text.end - text.at);
    const char *bytes = (const char *)text.at;
    if (length == 0) {
        return "expected pieces, found an empty one";
    }
    if (utf8_error(bytes, length) < length) {
        return "expected pieces in UTF-8, found other bytes";
    }
    for (size_t i = 0; i < length; i++) {
        if (memchr(" \t\n\r", bytes[i], 5) != NULL) { /* the NUL as well */
            return "expected pieces without white space, found some";
        }
    }
    return NULL;
}

static const char *check_score(uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    float score;
    memcpy(&score, &narrow, sizeof score);
    return isfinite(score) ? NULL : "expected finite scores of pieces, found others";
}

static const char *check_piece(message piece, findings *found)
{
    bool has_text = false;
    uint64_t kind = KIND_NORMAL;
    const char *fault = NULL;
    while (piece.at < piece.end && fault == NULL) {
        field next;
        if (!read_field(&piece, &next)) {
            return malformed;
        }
        if (next.number == PIECE_TEXT) {
            fault = next.type == BYTES ? check_text(next.bytes) : malformed;
            has_text = true;
        } else if (next.number == PIECE_SCORE) {
            fault = next.type == FIXED32 ? check_score(next.value) : malformed;
        } else if (next.number == PIECE_KIND) {
            fault = next.type == VARINT ? NULL : malformed;
            kind = next.value;
        }
    }
    found->pieces++;
    found->unknown += kind == KIND_UNKNOWN;
    if (fault == NULL && kind == KIND_BYTE) {
        return "expected a model without byte_fallback, found pieces that are bytes";
    }
    return fault != NULL || has_text ? fault : "expected pieces, found an empty one";
}

static const char *check_trainer(message trainer)
{
    while (trainer.at < trainer.end) {
        field next;
        if (!read_field(&trainer, &next)) {
            return malformed;
        }
        if (next.number == TRAINER_TYPE && next.value != TYPE_UNIGRAM && next.value != TYPE_BPE) {
            return "expected a model of type bpe or unigram, found another";
        }
        if (next.number == TRAINER_BYTE_FALLBACK && next.value != 0) {
            return "expected a model without byte_fallback, found one with it";
        }
    }
    return NULL;
}

static const char *check_normalizer(message normalizer)
{
    while (normalizer.at < normalizer.end) {
        field next;
        if (!read_field(&normalizer, &next)) {
            return malformed;
        }
        const bool filled = next.type == BYTES && next.bytes.at < next.bytes.end;
        if ((next.number == NORMALIZER_TABLES || next.number == NORMALIZER_RULES) && filled) {
            return "expected a model that leaves text as it is (normalization_rule_name identity), found another";
        }
        if (next.number == NORMALIZER_ESCAPE && next.value == 0) {
            return "expected a model with escape_whitespaces, found one without";
        }
    }
    return NULL;
}

static const char *check_field(const field *next, findings *found)
{
    if (next->number < MODEL_PIECE || next->number > MODEL_DENORMALIZER) {
        return NULL;
    }
    if (next->type != BYTES) {
        return malformed;
    }
    switch (next->number) {
    case MODEL_PIECE:
        return check_piece(next->bytes, found);
    case MODEL_TRAINER:
        return check_trainer(next->bytes);
    case MODEL_SELF_TEST:
        return next->bytes.at == next->bytes.end ? NULL : "expected a model without self-test samples, found some";
    default:
        return check_normalizer(next->bytes);
    }
}

static const char *check_model(message model)
{
    findings found = {0, 0};
    while (model.at < model.end) {
        field next;
        if (!read_field(&model, &next)) {
            return malformed;
        }
        const char *fault = check_field(&next, &found);
        if (fault != NULL) {
            return fault;
        }
    }
    if (found.pieces == 0) {
        return malformed;
    }
    if (found.pieces > pieces_limit) {
        return "expected at most ten million pieces, found more";
    }
    return found.unknown == 1 ? NULL : "expected one piece for what is unknown, found none or several";
}

nmt_status piece_model_check(const char *model, size_t size, const char *path, nmt_error *error)
{
    const unsigned char *bytes = (const unsigned char *)model;
    const char *fault = check_model((message){bytes, bytes + size});
    return fault == NULL ? NMT_OK
                         : error_set(error, NMT_INVALID, "%s: %s", quote_path(&(path_quotation){{0}}, path), fault);
}
