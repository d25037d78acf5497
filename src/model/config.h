/*
 * The configuration: one struct, filled, checked, printed and explained by one table (config.c). Adding a key is a
 * field here and a row there.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include <nmt/config.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/json.h"

typedef enum gru_form { GRU_RESET_AFTER, GRU_RESET_BEFORE } gru_form;
typedef enum readout_form { READOUT_LINEAR, READOUT_TANH, READOUT_MAXOUT } readout_form;
typedef enum readout_state { READOUT_STATE_CURRENT, READOUT_STATE_PREVIOUS } readout_state;
typedef enum initial_state { INITIAL_STATE_BACKWARD, INITIAL_STATE_MEAN, INITIAL_STATE_ZERO } initial_state;
typedef enum order_of_work { ORDER_BAHDANAU, ORDER_LUONG, ORDER_CONDITIONAL } order_of_work;
typedef enum attention_reach { REACH_GLOBAL, REACH_LOCAL_M, REACH_LOCAL_P } attention_reach;
typedef enum tied_embeddings { TIED_NONE, TIED_TARGET, TIED_ALL } tied_embeddings;
typedef enum weight_init { WEIGHT_INIT_NORMAL, WEIGHT_INIT_GLOROT } weight_init;
typedef enum recurrent_init { RECURRENT_INIT_SAME, RECURRENT_INIT_ORTHOGONAL } recurrent_init;
typedef enum loss_normalization { LOSS_PER_TOKEN, LOSS_PER_SENTENCE } loss_normalization;
typedef enum optimizer_type { OPTIMIZER_ADAM, OPTIMIZER_ADADELTA, OPTIMIZER_SGD } optimizer_type;
typedef enum schedule_kind {
    SCHEDULE_HALVING,
    SCHEDULE_CONSTANT,
    SCHEDULE_PLATEAU,
    SCHEDULE_INVERSE_SQRT,
    SCHEDULE_LINEAR
} schedule_kind;
typedef enum batch_unit_key { BATCH_UNIT_SENTENCES, BATCH_UNIT_TOKENS } batch_unit_key;
typedef enum segmentation_type { SEGMENT_NONE, SEGMENT_PIECES, SEGMENT_CHARACTERS } segmentation_type;
typedef enum segmented_sides { SEGMENT_BOTH, SEGMENT_SOURCE, SEGMENT_TARGET } segmented_sides;
typedef enum piece_model_kind { PIECES_BPE, PIECES_UNIGRAM } piece_model_kind;
typedef enum validation_metric { METRIC_LOSS, METRIC_BLEU } validation_metric;

struct nmt_config {
    struct {
        char *train_source, *train_target;           /* required for training */
        char *validation_source, *validation_target; /* NULL: no validation */
        char *source_embeddings, *target_embeddings; /* word vectors that embeddings start from, or NULL */
        bool lowercase, nfc;
        size_t max_length; /* 0: none */
    } data;
    struct {
        segmentation_type type;
        segmented_sides sides;
        piece_model_kind model;
        size_t size; /* pieces of a model */
        bool joint;  /* one model for both sides */
        double coverage;
        char *source_file, *target_file; /* NULL: learned from the training text */
    } segmentation;
    struct {
        bool shared;
        size_t source_size, target_size; /* 0: no limit */
        size_t minimum_count;
        char *source_file, *target_file; /* NULL: counted from the training text */
    } vocabulary;
    struct {
        size_t source_embedding, target_embedding; /* E */
        size_t encoder_hidden;                     /* H, per direction */
        size_t decoder_hidden;                     /* D */
        size_t encoder_layers, decoder_layers;
        bool residual;
        char *attention_score;                     /* a row of the table in layers/scores.h: "additive" */
        size_t attention_size;                     /* A, of all heads together */
        size_t attention_heads;
        attention_reach attention_extent;
        size_t attention_window; /* tokens to either side, of a local extent */
        order_of_work order;
        bool input_feeding; /* Luong's order */
        gru_form gru;
        initial_state initial_state;
        readout_form readout;
        size_t readout_size;     /* tanh: units; maxout: units after the maximum (L) */
        bool layer_normalization;
        bool readout_embedding;  /* E y_{t-1} among the features */
        readout_state readout_state;
        tied_embeddings tied_embeddings; /* target: with the readout's output matrix; all: the source's as well */
    } model;
    struct {
        double embedding;  /* of both sides */
        double annotation; /* of the encoder's output */
        double readout;    /* of what the output matrix reads */
        double attention_input; /* of the state that asks */
        double decoder_input;   /* of what the decoder's cell is fed */
        double recurrent;       /* of both sides' states as their recurrent matrices read them */
        double source_word, target_word; /* of whole words */
    } dropout;
    struct {
        weight_init weights;
        double scale; /* standard deviation of WEIGHT_INIT_NORMAL, and of attention parameters always */
        recurrent_init recurrent;
    } initialization;
    struct {
        size_t epochs;
        size_t max_updates; /* 0: as many as the epochs have */
        size_t batch_size;
        batch_unit_key batch_unit;
        size_t pool;
        bool shuffle;
        size_t accumulate; /* batches an update */
        loss_normalization loss_normalization;
        optimizer_type optimizer;
        double learning_rate;
        schedule_kind schedule;
        size_t warmup;      /* updates of linear warm-up, before any schedule */
        size_t halve_every; /* epochs; 0: never */
        size_t halve_from;  /* the first epoch with half the rate; 0: that behind halve_every epochs */
        double plateau_factor;
        size_t plateau_patience; /* validations */
        double final_rate;       /* share of the rate at the end of the linear schedule */
        double beta1, beta2, epsilon; /* Adam */
        double rho, adadelta_epsilon;
        double momentum; /* SGD */
        double clip_norm; /* 0: none */
        double weight_decay;
        double average_decay; /* of the moving average of the parameters; 0: none */
        double teacher_forcing; /* share of the decoder's input that is the reference */
        size_t forcing_decay;   /* batches until it is that share; 0: from the start */
        double label_smoothing;
        double coverage; /* lambda of the coverage penalty */
        bool freeze_source, freeze_target; /* embeddings that stay as they start */
        bool skip_not_finite; /* batches whose loss or gradient is NaN or infinite */
        size_t threads;   /* 0: one a processor */
        uint64_t seed;
    } training;
    struct {
        size_t every;   /* updates; 0: after each epoch */
        bool bleu;      /* greedy BLEU as well */
        validation_metric metric; /* what "best" means */
        size_t patience; /* validations without a better one before stopping; 0: never */
        size_t batch_size;
        char *join; /* the marker of tokens that go on in the next; NULL: none */
    } validation;
    struct {
        char *directory;
        size_t average_best; /* how many of the best models are averaged at the end; 0: none */
    } output;
};

/* From a JSON object: unknown keys, wrong types, values out of range and unmet requirements between keys are errors
 * that name `path` and the key. The caller's: nmt_config_free. */
nmt_status config_from_json(nmt_config **config, const json *object, const char *path, nmt_error *error);

/* What keys require of each other; `origin` begins the message. */
nmt_status config_check(const nmt_config *config, const char *origin, nmt_error *error);

/* The keys that only training needs (a loaded model does without): those that are missing are an error that names
 * `path`. */
nmt_status config_check_training(const nmt_config *config, const char *path, nmt_error *error);

/* Whether a side of the text is segmented. */
bool config_segments_source(const nmt_config *config);
bool config_segments_target(const nmt_config *config);

/* The caller's: nmt_config_free. */
nmt_status config_copy(nmt_config **copy, const nmt_config *config, nmt_error *error);

/* Every key of the resolved configuration, in the order of the table. NULL when out of memory. */
json *config_to_json(const nmt_config *config);

#endif
