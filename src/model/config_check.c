/* What keys require of each other. */
#include <string.h>

#include "core/quote.h"
#include "layers/score.h"
#include "model/config_messages.h"
#include "model/decoder_stack.h"
#include "model/encoder.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static nmt_status check_data(const nmt_config *config, const char *origin, nmt_error *error)
{
    const char *source = config->data.validation_source, *target = config->data.validation_target;
    if ((source == NULL) != (target == NULL)) {
        return config_complain(
            error, origin,
            "data.validation_source and data.validation_target: expected both or neither, found only "
            "%s",
            source != NULL ? "data.validation_source" : "data.validation_target");
    }
    return NMT_OK;
}

/* What is frozen without having been learned elsewhere would never be anything. */
static nmt_status check_embeddings(const nmt_config *config, const char *origin, nmt_error *error)
{
    const bool source = config->training.freeze_source && config->data.source_embeddings == NULL;
    const bool target = config->training.freeze_target && config->data.target_embeddings == NULL;
    if (source || target) {
        const char *side = source ? "source" : "target";
        return config_complain(error, origin,
                               "data.%s_embeddings: expected a path, because training.freeze_%s is true, found null",
                               side, side);
    }
    if (config->model.tied_embeddings == TIED_ALL && config->data.target_embeddings != NULL) {
        return config_complain(
            error, origin,
            "data.target_embeddings: expected null, because model.tied_embeddings is \"all\" and "
            "data.source_embeddings serves both sides, found %s",
            quote(&(quotation){{0}}, config->data.target_embeddings, strlen(config->data.target_embeddings)));
    }
    return NMT_OK;
}

bool config_segments_source(const nmt_config *config)
{
    return config->segmentation.type != SEGMENT_NONE && config->segmentation.sides != SEGMENT_TARGET;
}

bool config_segments_target(const nmt_config *config)
{
    return config->segmentation.type != SEGMENT_NONE && config->segmentation.sides != SEGMENT_SOURCE;
}

/* The vocabulary of a side with pieces holds all of them that were seen. */
static nmt_status check_pieces(const nmt_config *config, const char *origin, nmt_error *error)
{
    static const char because[] = "because segmentation.type is \"sentencepiece\": the vocabulary holds the pieces";
    const bool both = config->segmentation.sides == SEGMENT_BOTH;
    const bool source = config_segments_source(config), target = config_segments_target(config);
    const size_t size = source && config->vocabulary.source_size > 0   ? config->vocabulary.source_size
                        : target && config->vocabulary.target_size > 0 ? config->vocabulary.target_size
                                                                       : 0;
    if (both && config->vocabulary.minimum_count > 1) {
        return config_complain(error, origin, "vocabulary.minimum_count: expected 1, %s, found %zu", because,
                               config->vocabulary.minimum_count);
    }
    if (size > 0) {
        return config_complain(
            error, origin,
            "vocabulary.source_size and vocabulary.target_size: expected 0, %s (segmentation.size), found "
            "%zu",
            because, size);
    }
    if ((source && config->vocabulary.source_file != NULL) || (target && config->vocabulary.target_file != NULL)) {
        return config_complain(error, origin, "vocabulary.source_file and vocabulary.target_file: expected null, %s",
                               because);
    }
    if (both && config->segmentation.joint && config->segmentation.target_file != NULL &&
        !same_text(config->segmentation.source_file, config->segmentation.target_file)) {
        return config_complain(
            error, origin,
            "segmentation.target_file: expected null or the same as segmentation.source_file, because "
            "segmentation.joint is true, found another");
    }
    return NMT_OK;
}

static nmt_status check_segmentation(const nmt_config *config, const char *origin, nmt_error *error)
{
    if (config->segmentation.type == SEGMENT_NONE) {
        return NMT_OK;
    }
    if (config->vocabulary.shared && config->segmentation.sides != SEGMENT_BOTH) {
        return config_complain(
            error, origin, "segmentation.sides: expected \"both\", because vocabulary.shared is true, found one side");
    }
    if (config->validation.join != NULL && config_segments_target(config)) {
        return config_complain(
            error, origin, "validation.join: expected null, because the target side is segmented here, found a marker");
    }
    return config->segmentation.type == SEGMENT_PIECES ? check_pieces(config, origin, error) : NMT_OK;
}

static nmt_status check_vocabulary_size(const char *key, size_t size, const char *origin, nmt_error *error)
{
    if (size > 0 && size < 4) {
        return config_complain(error, origin,
                               "%s: expected 0 or at least 4 (three special entries and a word), found %zu", key, size);
    }
    return NMT_OK;
}

static nmt_status check_vocabulary(const nmt_config *config, const char *origin, nmt_error *error)
{
    const size_t source_size = config->vocabulary.source_size, target_size = config->vocabulary.target_size;
    const char *source_file = config->vocabulary.source_file, *target_file = config->vocabulary.target_file;
    TRY(check_vocabulary_size("vocabulary.source_size", source_size, origin, error));
    TRY(check_vocabulary_size("vocabulary.target_size", target_size, origin, error));
    if (!config->vocabulary.shared) {
        return NMT_OK;
    }
    if (target_file != NULL && !same_text(source_file, target_file)) {
        return config_complain(error, origin,
                               "vocabulary.target_file: expected null or the same as vocabulary.source_file, because "
                               "vocabulary.shared is true, found %s",
                               quote(&(quotation){{0}}, target_file, strlen(target_file)));
    }
    if (target_size != 0 && target_size != source_size) {
        return config_complain(error, origin,
                               "vocabulary.target_size: expected 0 or the same as vocabulary.source_size, because "
                               "vocabulary.shared is true, found %zu",
                               target_size);
    }
    return NMT_OK;
}

/* The source embedding is [V,E] of the source's words, the target's of its own. */
static nmt_status check_tied_sides(const nmt_config *config, const char *origin, nmt_error *error)
{
    static const char because[] = "because model.tied_embeddings is \"all\"";
    if (!config->vocabulary.shared) {
        return config_complain(error, origin, "vocabulary.shared: expected true, %s, found false", because);
    }
    if (config->model.source_embedding != config->model.target_embedding) {
        return config_complain(error, origin,
                               "model.source_embedding: expected %zu as model.target_embedding, %s, found %zu",
                               config->model.target_embedding, because, config->model.source_embedding);
    }
    return NMT_OK;
}

/* The readout's output matrix is [V, what it reads]; the embedding is [V,E]. */
static nmt_status check_tied(const nmt_config *config, const char *origin, nmt_error *error)
{
    const char *tied = config_choice(config, config_key_find("model.tied_embeddings"));
    if (config->model.tied_embeddings == TIED_NONE) {
        return NMT_OK;
    }
    if (config->model.readout == READOUT_LINEAR) {
        return config_complain(
            error, origin,
            "model.readout: expected tanh or maxout, because model.tied_embeddings is \"%s\", found linear", tied);
    }
    if (config->model.readout_size != config->model.target_embedding) {
        return config_complain(
            error, origin,
            "model.readout_size: expected %zu as model.target_embedding, because model.tied_embeddings is "
            "\"%s\", found %zu",
            config->model.target_embedding, tied, config->model.readout_size);
    }
    return config->model.tied_embeddings == TIED_ALL ? check_tied_sides(config, origin, error) : NMT_OK;
}

/* What has no attention cannot shape it. */
static nmt_status check_fixed(const nmt_config *config, const char *origin, nmt_error *error)
{
    static const char because[] = "because model.attention_score is \"fixed\"";
    if (config->model.attention_heads != 1) {
        return config_complain(error, origin, "model.attention_heads: expected 1, %s, found %zu", because,
                               config->model.attention_heads);
    }
    if (config->model.attention_extent != REACH_GLOBAL) {
        return config_complain(error, origin, "model.attention_extent: expected \"global\", %s, found a local one",
                               because);
    }
    if (config->training.coverage > 0) {
        return config_complain(error, origin, "training.coverage: expected 0, %s, found more", because);
    }
    return NMT_OK;
}

static nmt_status check_attention(const nmt_config *config, const char *origin, nmt_error *error)
{
    const attention_score *score = attention_score_find(config->model.attention_score);
    const size_t D = config->model.decoder_hidden, C = 2 * config->model.encoder_hidden;
    const size_t A = config->model.attention_size, heads = config->model.attention_heads;
    if (score->of_halves) {
        return check_fixed(config, origin, error);
    }
    if (heads > 1 && A % heads != 0) {
        return config_complain(error, origin,
                               "model.attention_size: expected a multiple of model.attention_heads, %zu, found %zu",
                               heads, A);
    }
    if (heads == 1 && score->equal_sizes && D != C) {
        return config_complain(error, origin,
                               "model.decoder_hidden: expected %zu, twice model.encoder_hidden, because "
                               "model.attention_score is \"%s\" with one head, found %zu",
                               C, score->name, D);
    }
    return NMT_OK;
}

static nmt_status check_order(const nmt_config *config, const char *origin, nmt_error *error)
{
    if (config->model.order != ORDER_BAHDANAU && config->model.readout_state == READOUT_STATE_PREVIOUS) {
        return config_complain(error, origin,
                               "model.readout_state: expected \"current\", because model.order is \"%s\", found "
                               "\"previous\"",
                               config_choice(config, config_key_find("model.order")));
    }
    if (config->model.decoder_layers > 1 && config->model.readout_state == READOUT_STATE_PREVIOUS) {
        return config_complain(error, origin,
                               "model.readout_state: expected \"current\", because model.decoder_layers is %zu, found "
                               "\"previous\"",
                               config->model.decoder_layers);
    }
    return NMT_OK;
}

static nmt_status check_validation(const nmt_config *config, const char *origin, nmt_error *error)
{
    if (config->validation.metric == METRIC_BLEU && !config->validation.bleu) {
        return config_complain(error, origin,
                               "validation.bleu: expected true, because validation.metric is \"bleu\", found false");
    }
    const char *because = config->validation.bleu                         ? "validation.bleu is true"
                          : config->validation.patience > 0               ? "validation.patience is over 0"
                          : config->training.schedule == SCHEDULE_PLATEAU ? "training.schedule is \"plateau\""
                          : config->output.average_best > 0               ? "output.average_best is over 0"
                                                                          : NULL;
    if (config->data.validation_source == NULL && because != NULL) {
        return config_complain(error, origin, "data.validation_source: expected a path, because %s, found null",
                               because);
    }
    return NMT_OK;
}

/* A key of one schedule beside another would be without effect. */
static nmt_status check_schedule(const nmt_config *config, const char *origin, nmt_error *error)
{
    const size_t every = config->training.halve_every, from = config->training.halve_from;
    if (every > 0 && config->training.schedule != SCHEDULE_HALVING) {
        return config_complain(
            error, origin, "training.halve_every: expected 0, because training.schedule is not \"halving\", found %zu",
            every);
    }
    if (from > 0 && every == 0) {
        return config_complain(error, origin,
                               "training.halve_from: expected 0, because training.halve_every is 0, found %zu", from);
    }
    if (config->training.warmup == 0 && config->training.schedule == SCHEDULE_INVERSE_SQRT) {
        return config_complain(
            error, origin,
            "training.warmup: expected at least 1, because training.schedule is \"inverse_sqrt\", found 0");
    }
    return NMT_OK;
}

nmt_status config_check(const nmt_config *config, const char *origin, nmt_error *error)
{
    TRY(check_data(config, origin, error));
    TRY(check_embeddings(config, origin, error));
    TRY(check_vocabulary(config, origin, error));
    TRY(check_segmentation(config, origin, error));
    TRY(check_validation(config, origin, error));
    TRY(check_schedule(config, origin, error));
    TRY(check_attention(config, origin, error));
    TRY(check_order(config, origin, error));
    return check_tied(config, origin, error);
}
