/*
 * One table knows every key: where it stands in the file and in the struct, its type, default and range, and what it
 * means. Reading, checking, printing and the help text are loops over that table, so they cannot disagree.
 */
#include "model/config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "layers/scores.h"
#include "model/decoder_stack.h"
#include "model/encoder.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef enum key_type { KEY_BOOLEAN, KEY_INTEGER, KEY_NUMBER, KEY_TEXT, KEY_CHOICE } key_type;

typedef enum key_flag {
    KEY_NULLABLE = 1,      /* text that may be null; null is its default */
    KEY_FOR_TRAINING = 2,  /* required for training */
    KEY_OVER_MINIMUM = 4,  /* the minimum itself is out of range */
    KEY_BELOW_MAXIMUM = 8, /* the maximum itself is out of range */
    KEY_PATH = 16,         /* the text names a file or a directory */
    KEY_WAS_BOOLEAN = 32   /* a choice that was a boolean once: false and true are its first two */
} key_flag;

typedef struct choice {
    const char *name; /* NULL ends a list */
    int value;
} choice;

typedef struct config_key {
    const char *path; /* "training.batch_size" */
    key_type type;
    unsigned flags;
    size_t offset, size; /* of the field */
    double number;       /* default of a boolean, an integer, a number */
    double minimum, maximum;
    const char *text;      /* default of a text or a choice */
    const choice *choices; /* of a choice; or the texts that are allowed */
    const char *meaning;
} config_key;

static const choice gru_choices[] = {{"reset_after", GRU_RESET_AFTER}, {"reset_before", GRU_RESET_BEFORE}, {NULL, 0}};
static const choice initial_state_choices[] = {
    {"backward", INITIAL_STATE_BACKWARD}, {"mean", INITIAL_STATE_MEAN}, {"zero", INITIAL_STATE_ZERO}, {NULL, 0}};
static const choice readout_choices[] = {
    {"linear", READOUT_LINEAR}, {"tanh", READOUT_TANH}, {"maxout", READOUT_MAXOUT}, {NULL, 0}};
static const choice readout_state_choices[] = {
    {"current", READOUT_STATE_CURRENT}, {"previous", READOUT_STATE_PREVIOUS}, {NULL, 0}};
#define SCORE_CHOICE(name) {#name, 0},
static const choice score_choices[] = {ATTENTION_SCORES(SCORE_CHOICE){NULL, 0}};
static const choice extent_choices[] = {
    {"global", REACH_GLOBAL}, {"local_m", REACH_LOCAL_M}, {"local_p", REACH_LOCAL_P}, {NULL, 0}};
static const choice order_choices[] = {{"bahdanau", ORDER_BAHDANAU}, {"luong", ORDER_LUONG}, {NULL, 0}};
static const choice tied_choices[] = {{"none", TIED_NONE}, {"target", TIED_TARGET}, {"all", TIED_ALL}, {NULL, 0}};
static const choice weights_choices[] = {{"normal", WEIGHT_INIT_NORMAL}, {"glorot", WEIGHT_INIT_GLOROT}, {NULL, 0}};
static const choice recurrent_choices[] = {
    {"same", RECURRENT_INIT_SAME}, {"orthogonal", RECURRENT_INIT_ORTHOGONAL}, {NULL, 0}};
static const choice batch_unit_choices[] = {
    {"sentences", BATCH_UNIT_SENTENCES}, {"tokens", BATCH_UNIT_TOKENS}, {NULL, 0}};
static const choice normalization_choices[] = {{"token", LOSS_PER_TOKEN}, {"sentence", LOSS_PER_SENTENCE}, {NULL, 0}};
static const choice optimizer_choices[] = {
    {"adam", OPTIMIZER_ADAM}, {"adadelta", OPTIMIZER_ADADELTA}, {"sgd", OPTIMIZER_SGD}, {NULL, 0}};
static const choice schedule_choices[] = {{"halving", SCHEDULE_HALVING}, {"constant", SCHEDULE_CONSTANT},
                                          {"plateau", SCHEDULE_PLATEAU}, {"inverse_sqrt", SCHEDULE_INVERSE_SQRT},
                                          {"linear", SCHEDULE_LINEAR},   {NULL, 0}};
static const choice segmentation_choices[] = {
    {"none", SEGMENT_NONE}, {"sentencepiece", SEGMENT_PIECES}, {"characters", SEGMENT_CHARACTERS}, {NULL, 0}};
static const choice sides_choices[] = {
    {"both", SEGMENT_BOTH}, {"source", SEGMENT_SOURCE}, {"target", SEGMENT_TARGET}, {NULL, 0}};
static const choice pieces_choices[] = {{"bpe", PIECES_BPE}, {"unigram", PIECES_UNIGRAM}, {NULL, 0}};
static const choice metric_choices[] = {{"loss", METRIC_LOSS}, {"bleu", METRIC_BLEU}, {NULL, 0}};

#define SIZE_LARGEST 65536.0
#define WORDS_LARGEST 2147483647.0 /* words are numbered by int32 */
#define COUNT_LARGEST 1e9
#define AVERAGED_LARGEST 64.0
#define SEED_LARGEST 9007199254740991.0 /* 2^53 - 1: every integer up to it is a JSON number of its own */

#define FIELD(field)                                                                                                   \
    .path = #field, .offset = offsetof(struct nmt_config, field), .size = sizeof(((struct nmt_config *)0)->field)
#define BOOLEAN(field, fallback, means)                                                                                \
    {                                                                                                                  \
        FIELD(field), .type = KEY_BOOLEAN, .number = (fallback), .meaning = (means)                                    \
    }
#define INTEGER(field, fallback, low, high, means)                                                                     \
    {                                                                                                                  \
        FIELD(field), .type = KEY_INTEGER, .number = (fallback), .minimum = (low), .maximum = (high),                  \
                      .meaning = (means)                                                                               \
    }
#define NUMBER(field, fallback, bounds, low, high, means)                                                              \
    {                                                                                                                  \
        FIELD(field), .type = KEY_NUMBER, .number = (fallback), .flags = (bounds), .minimum = (low),                   \
                      .maximum = (high), .meaning = (means)                                                            \
    }
#define TEXT(field, fallback, what, means)                                                                             \
    {                                                                                                                  \
        FIELD(field), .type = KEY_TEXT, .text = (fallback), .flags = (what), .meaning = (means)                        \
    }
#define NAME(field, fallback, list, means)                                                                             \
    {                                                                                                                  \
        FIELD(field), .type = KEY_TEXT, .text = (fallback), .choices = (list), .meaning = (means)                      \
    }
#define CHOICE(field, fallback, list, means)                                                                           \
    {                                                                                                                  \
        FIELD(field), .type = KEY_CHOICE, .text = (fallback), .choices = (list), .meaning = (means)                    \
    }
#define SWITCH(field, fallback, list, means)                                                                           \
    {                                                                                                                  \
        FIELD(field), .type = KEY_CHOICE, .flags = KEY_WAS_BOOLEAN, .text = (fallback), .choices = (list),             \
                      .meaning = (means)                                                                               \
    }

static const config_key keys[] = {
    TEXT(data.train_source, NULL, KEY_PATH | KEY_NULLABLE | KEY_FOR_TRAINING, "Source side of the training text."),
    TEXT(data.train_target, NULL, KEY_PATH | KEY_NULLABLE | KEY_FOR_TRAINING,
         "Target side of the training text, as many lines as the source side."),
    TEXT(data.validation_source, NULL, KEY_PATH | KEY_NULLABLE,
         "Source side of the validation text; null: training is not validated."),
    TEXT(data.validation_target, NULL, KEY_PATH | KEY_NULLABLE, "Target side of the validation text."),
    TEXT(data.source_embeddings, NULL, KEY_PATH | KEY_NULLABLE,
         "Word vectors that the source embedding starts from, in the text format of word2vec, fastText or GloVe; words "
         "without one start as initialization says. null: all do."),
    TEXT(data.target_embeddings, NULL, KEY_PATH | KEY_NULLABLE,
         "The same for the target embedding, and for what is tied to it."),
    BOOLEAN(data.lowercase, false, "Map all text to lower case (Unicode simple case mapping)."),
    BOOLEAN(data.nfc, false, "Bring all text into Unicode normalization form C."),
    INTEGER(data.max_length, 50, 0, COUNT_LARGEST,
            "Leave out training pairs with more tokens than this on either side; they are counted in the log. 0: no "
            "limit."),

    CHOICE(segmentation.type, "none", segmentation_choices,
           "What the model takes for a token: a word of the text; a piece of a SentencePiece model (Kudo and "
           "Richardson 2018); or a character, that is a grapheme cluster. The space between words becomes U+2581, "
           "which the text must not hold. Translations are joined to words again."),
    CHOICE(segmentation.sides, "both", sides_choices, "The sides of the text that are segmented."),
    CHOICE(segmentation.model, "bpe", pieces_choices,
           "The kind of piece model to learn: byte-pair encoding (Sennrich, Haddow and Birch 2016) or a unigram "
           "language model (Kudo 2018). Text is not normalised on the way."),
    INTEGER(segmentation.size, 10000, 2, 1e6, "Pieces of a model, the unknown one among them."),
    BOOLEAN(segmentation.joint, true, "One piece model for both sides, learned from both texts; else one a side."),
    NUMBER(segmentation.coverage, 1, KEY_OVER_MINIMUM, 0, 1,
           "Share of the characters of the text that get pieces; the rarest others are unknown."),
    TEXT(segmentation.source_file, NULL, KEY_PATH | KEY_NULLABLE,
         "Take this SentencePiece model, for both sides where joint; null: learn one from the training text."),
    TEXT(segmentation.target_file, NULL, KEY_PATH | KEY_NULLABLE, "The same for the target side."),

    BOOLEAN(vocabulary.shared, false,
            "One vocabulary for both sides: from source_file, or counted over both texts with source_size."),
    INTEGER(vocabulary.source_size, 0, 0, WORDS_LARGEST,
            "Most entries of the source vocabulary, its three special entries included. 0: no limit."),
    INTEGER(vocabulary.target_size, 0, 0, WORDS_LARGEST, "The same for the target vocabulary."),
    INTEGER(vocabulary.minimum_count, 1, 1, COUNT_LARGEST,
            "Words seen less often in the training text are unknown words."),
    TEXT(vocabulary.source_file, NULL, KEY_PATH | KEY_NULLABLE,
         "Take the source vocabulary from this file, one word a line; null: count the training text."),
    TEXT(vocabulary.target_file, NULL, KEY_PATH | KEY_NULLABLE, "The same for the target vocabulary."),

    INTEGER(model.source_embedding, 256, 1, SIZE_LARGEST, "Size of a source word's embedding."),
    INTEGER(model.target_embedding, 256, 1, SIZE_LARGEST, "Size of a target word's embedding."),
    INTEGER(model.encoder_hidden, 512, 1, SIZE_LARGEST, "Units of the encoder in each direction."),
    INTEGER(model.decoder_hidden, 512, 1, SIZE_LARGEST, "Units of the decoder."),
    INTEGER(model.encoder_layers, 1, 1, ENCODER_LAYERS_MAX,
            "Bidirectional layers of the encoder; each further one reads both directions of the one below."),
    INTEGER(model.decoder_layers, 1, 1, DECODER_LAYERS_MAX,
            "Layers of the decoder. The first is fed, and asks in Bahdanau's order; the last is what the readout sees, "
            "and asks in Luong's order. All start from the same state."),
    BOOLEAN(model.residual, true,
            "A layer above the first adds what it reads to what it gives (He et al. 2016; Wu et al. 2016). Of one "
            "layer there is none."),
    NAME(model.attention_score, "additive", score_choices,
         "How the decoder's state is compared with an annotation: additive (Bahdanau, Cho and Bengio 2015); dot, "
         "general, concat (Luong, Pham and Manning 2015); scaled_dot (Vaswani et al. 2017); gaussian, kernel "
         "regression with a learned width; or fixed, the context without attention: the encoder's final states at "
         "every step."),
    INTEGER(model.attention_size, 512, 1, SIZE_LARGEST,
            "Units of the additive, concat and gaussian scores and of local_p; with several heads the size of all "
            "their queries, keys and values together. One head of dot, scaled_dot or general has none."),
    INTEGER(model.attention_heads, 1, 1, ATTENTION_HEADS_MAX,
            "Several heads each read with the score through projections of their own (Vaswani et al. 2017); the "
            "alignment reported is their mean. 1: no projections."),
    CHOICE(model.attention_extent, "global", extent_choices,
           "What a step sees: all of the source; or the window round the step's own number, local_m, or round a "
           "predicted centre, local_p (Luong, Pham and Manning 2015)."),
    INTEGER(model.attention_window, 10, 1, SIZE_LARGEST, "Tokens to either side of that centre."),
    CHOICE(model.order, "bahdanau", order_choices,
           "Attend with the previous state, then update (Bahdanau, Cho and Bengio 2015); or update, then attend "
           "(Luong, Pham and Manning 2015)."),
    BOOLEAN(model.input_feeding, true,
            "Luong's order: the attentional state is fed to the next step's update. Off trains faster."),
    CHOICE(model.gru, "reset_after", gru_choices,
           "Where the reset gate of a GRU acts: after the recurrent product, or before it as in Bahdanau, Cho and "
           "Bengio 2015."),
    CHOICE(model.initial_state, "backward", initial_state_choices,
           "What the decoder starts from: the backward annotation of the first source token, the mean of the "
           "annotations, or zero."),
    CHOICE(model.readout, "linear", readout_choices,
           "From decoder state, context and previous word to scores of words: linear, or through a hidden layer of "
           "tanh or maxout units."),
    INTEGER(model.readout_size, 512, 1, SIZE_LARGEST,
            "Units of that hidden layer, for maxout after the maximum. A linear readout has none."),
    BOOLEAN(model.readout_embedding, true,
            "The readout sees the embedding of the previous target word; in Luong's order it never does."),
    CHOICE(model.readout_state, "current", readout_state_choices,
           "The decoder state that the readout sees: after this step's update, or before it."),
    BOOLEAN(model.layer_normalization, false,
            "Layer normalisation (Ba, Kiros and Hinton 2016) with gain and bias, epsilon 1e-5: in the GRUs, of the "
            "input's and the state's part of the gates each, r and z together and n alone; in the readout, of its hidden layer "
            "before the activation."),
    SWITCH(model.tied_embeddings, "none", tied_choices,
           "What is one matrix (Press and Wolf 2017): target, the target embedding and the readout's output matrix; "
           "all, the source embedding too, with a shared vocabulary. Their sizes must agree. false and true are read as "
           "none and target."),

    CHOICE(initialization.weights, "normal", weights_choices,
           "Weights start from a normal distribution of mean 0, or from that of Glorot and Bengio 2010."),
    NUMBER(initialization.scale, 0.01, KEY_OVER_MINIMUM, 0, 10,
           "Standard deviation of the normal distribution; attention parameters always start from it."),
    CHOICE(initialization.recurrent, "same", recurrent_choices,
           "Recurrent matrices start as other weights do, or orthogonal."),

    NUMBER(dropout.embedding, 0, KEY_BELOW_MAXIMUM, 0, 1, "Share of the embeddings' numbers dropped, on both sides."),
    NUMBER(dropout.annotation, 0, KEY_BELOW_MAXIMUM, 0, 1, "Share of the encoder's output dropped."),
    NUMBER(dropout.readout, 0, KEY_BELOW_MAXIMUM, 0, 1, "Share dropped of what the readout's output matrix reads."),
    NUMBER(dropout.attention_input, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Share dropped of the decoder's state as attention is asked with it; what the cell keeps and the readout "
           "sees is whole. Attention's other input, the annotations, has dropout.annotation."),
    NUMBER(dropout.decoder_input, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Share dropped of what the decoder's cell is fed at a step: the previous word's embedding, the context or "
           "the attentional state. The readout sees them whole."),
    NUMBER(dropout.recurrent, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Share dropped of the previous state as the recurrent matrices of encoder and decoder read it, one mask a "
           "sequence for all its steps (Gal and Ghahramani 2016); what the update gate keeps is whole."),
    NUMBER(dropout.source_word, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Share of the source's tokens whose whole embedding becomes zero; the others are scaled up."),
    NUMBER(dropout.target_word, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "The same of the target's tokens as the decoder is fed with them; <s> is one of them."),

    INTEGER(training.epochs, 10, 1, COUNT_LARGEST, "Passes over the training text."),
    INTEGER(training.max_updates, 0, 0, COUNT_LARGEST,
            "End the run after so many updates, resumed ones included, or after the epochs. 0: after the epochs."),
    INTEGER(training.batch_size, 64, 1, COUNT_LARGEST, "Size of a batch, in batch_unit."),
    CHOICE(training.batch_unit, "sentences", batch_unit_choices,
           "Count a batch in sentence pairs, or in target tokens with </s>."),
    INTEGER(training.pool, 20, 1, COUNT_LARGEST,
            "Batches whose pairs are sorted by length together; 1 sorts within each batch only."),
    BOOLEAN(training.shuffle, true, "Draw a new order of the pairs in each epoch."),
    INTEGER(training.accumulate, 1, 1, COUNT_LARGEST,
            "Batches whose gradients make one update together, as if they were one batch; fewer at the end of an "
            "epoch."),
    CHOICE(training.loss_normalization, "token", normalization_choices,
           "Divide the loss of a batch by its target tokens, or by its sentences."),
    CHOICE(training.optimizer, "adam", optimizer_choices,
           "Adam (Kingma and Ba 2015), Adadelta (Zeiler 2012), or stochastic gradient descent."),
    NUMBER(training.learning_rate, 0.001, KEY_OVER_MINIMUM, 0, 1000, "Step size; Adadelta is usually run with 1."),
    CHOICE(training.schedule, "halving", schedule_choices,
           "How the learning rate falls: by halves after epochs, as halve_every says; not at all, constant; when "
           "validation finds nothing better, plateau; with the square root of the updates behind the warm-up "
           "(Vaswani et al. 2017); or evenly over the whole run, linear, whose length then stays when it is resumed."),
    INTEGER(training.warmup, 0, 0, COUNT_LARGEST,
            "Updates over which the learning rate first grows from 0, evenly, whatever the schedule. 0: none."),
    INTEGER(training.halve_every, 0, 0, COUNT_LARGEST, "Halve the learning rate after so many epochs. 0: never."),
    INTEGER(training.halve_from, 0, 0, COUNT_LARGEST,
            "The first epoch with half the learning rate; halve_every counts from there. 0: the one behind the first "
            "halve_every epochs."),
    NUMBER(training.plateau_factor, 0.5, KEY_OVER_MINIMUM | KEY_BELOW_MAXIMUM, 0, 1,
           "The plateau schedule multiplies the learning rate by it ..."),
    INTEGER(training.plateau_patience, 1, 1, COUNT_LARGEST,
            "... after so many validations in a row without a better one."),
    NUMBER(training.final_rate, 0, 0, 0, 1,
           "Share of the learning rate that is left at the end of the linear schedule."),
    NUMBER(training.beta1, 0.9, KEY_BELOW_MAXIMUM, 0, 1, "Adam: decay of the mean of gradients."),
    NUMBER(training.beta2, 0.999, KEY_BELOW_MAXIMUM, 0, 1, "Adam: decay of the mean of squared gradients."),
    NUMBER(training.epsilon, 1e-8, KEY_OVER_MINIMUM, 0, 1, "Adam: added to the denominator."),
    NUMBER(training.rho, 0.95, KEY_BELOW_MAXIMUM, 0, 1, "Adadelta: decay of both running means."),
    NUMBER(training.adadelta_epsilon, 1e-6, KEY_OVER_MINIMUM, 0, 1, "Adadelta: added under both square roots."),
    NUMBER(training.momentum, 0, KEY_BELOW_MAXIMUM, 0, 1, "Stochastic gradient descent: momentum. 0: none."),
    NUMBER(training.clip_norm, 5, 0, 0, 1e9,
           "Scale the gradient down to this global norm when it is over it. 0: never."),
    NUMBER(training.weight_decay, 0, 0, 0, 1000,
           "Each update shrinks matrices by this share of the learning rate, apart from the gradient (Loshchilov and "
           "Hutter 2019). 0: none."),
    NUMBER(training.average_decay, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Validate and keep an exponential moving average of the parameters with this decay, at most "
           "(1 + t) / (10 + t) behind update t. 0: the parameters themselves."),
    NUMBER(training.teacher_forcing, 1, 0, 0, 1,
           "Share of the words in the decoder's input that are the reference's; the others are the likeliest by the "
           "model itself (scheduled sampling, Bengio et al. 2015), which costs a second pass. 1: all."),
    INTEGER(training.forcing_decay, 0, 0, COUNT_LARGEST,
            "Batches over which that share falls to it from 1, evenly. 0: from the start."),
    NUMBER(training.label_smoothing, 0, KEY_BELOW_MAXIMUM, 0, 1,
           "Share of the target probability that is spread over all words. 0: none."),
    NUMBER(training.coverage, 0, 0, 0, 1000,
           "Weight of the coverage penalty, for source tokens whose attention weights sum to less than 1 over all "
           "steps. 0: none."),
    BOOLEAN(training.freeze_source, false,
            "The source embedding stays as data.source_embeddings has it; so does what is tied to it."),
    BOOLEAN(training.freeze_target, false, "The same for the target embedding."),
    BOOLEAN(training.skip_not_finite, false,
            "Leave out a batch whose loss or gradient is NaN or infinite, and count it in the log, instead of ending "
            "the run."),
    INTEGER(training.threads, 0, 0, 1024, "Threads to compute with. 0: one a processor."),
    INTEGER(training.seed, 1, 0, SEED_LARGEST, "Every random draw follows from it."),

    INTEGER(validation.every, 0, 0, COUNT_LARGEST, "Validate after so many updates. 0: after each epoch."),
    BOOLEAN(validation.bleu, false, "Translate the validation text greedily and score it with BLEU as well."),
    CHOICE(validation.metric, "loss", metric_choices, "The model that is best by this is kept."),
    INTEGER(validation.patience, 0, 0, COUNT_LARGEST, "Stop after so many validations without a better one. 0: never."),
    INTEGER(validation.batch_size, 64, 1, COUNT_LARGEST, "Sentences validated together; changes no result."),
    TEXT(validation.join, NULL, KEY_NULLABLE,
         "For text that was segmented elsewhere: the marker at the end of a token that goes on in the next, as @@. "
         "BLEU is measured on what is joined. null: none."),

    TEXT(output.directory, "runs/model", KEY_PATH, "Where model, state and log are written; made where it is missing."),
    INTEGER(output.average_best, 0, 0, AVERAGED_LARGEST,
            "At the end, average the parameters of so many of the best validations, and keep that model where it is "
            "better. 0: none."),
};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

/* The first level of the file, in the order of the table. */
static const struct section {
    const char *name, *meaning;
} sections[] = {
    {"data", "Parallel text: UTF-8, one sentence a line, tokens between spaces. Relative paths, here and below, start "
             "at the current directory."},
    {"segmentation", "What is a token: with pieces or characters, lengths count these, and vocabularies hold them."},
    {"vocabulary", "The words that the model knows."},
    {"model", "The parts of the network and their sizes."},
    {"initialization", "How parameters start."},
    {"dropout", "What is left out at random while parameters are learned (Srivastava et al. 2014)."},
    {"training", "How parameters are learned."},
    {"validation", "How training is watched."},
    {"output", "What training leaves behind."},
};

enum { SECTION_COUNT = sizeof sections / sizeof *sections };

static bool in_section(const config_key *key, const char *name, size_t length)
{
    return strncmp(key->path, name, length) == 0 && key->path[length] == '.';
}

/* "batch_size" of "training.batch_size". */
static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

static const config_key *find_key(const char *path)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].path, path) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

/* ---- the struct's fields by offset ------------------------------------------------------------------------------- */

static void field_set_number(nmt_config *config, const config_key *key, double number)
{
    char *field = (char *)config + key->offset;
    if (key->type == KEY_NUMBER) {
        memcpy(field, &number, sizeof number);
    } else if (key->size == sizeof(uint64_t)) {
        memcpy(field, &(uint64_t){(uint64_t)number}, sizeof(uint64_t));
    } else {
        memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
    }
}

static double field_number(const nmt_config *config, const config_key *key)
{
    const char *field = (const char *)config + key->offset;
    double number;
    uint64_t wide;
    uint32_t narrow;
    if (key->type == KEY_NUMBER) {
        memcpy(&number, field, sizeof number);
        return number;
    }
    if (key->size == sizeof wide) {
        memcpy(&wide, field, sizeof wide);
        return (double)wide;
    }
    memcpy(&narrow, field, sizeof narrow);
    return narrow;
}

static bool *field_boolean(const nmt_config *config, const config_key *key)
{
    return (bool *)((char *)config + key->offset);
}

static char **field_text(const nmt_config *config, const config_key *key)
{
    return (char **)((char *)config + key->offset);
}

static nmt_status field_set_text(nmt_config *config, const config_key *key, const char *text, nmt_error *error)
{
    char *copy = NULL;
    if (text != NULL) {
        TRY(memory_copy_text(&copy, text, strlen(text), "the configuration", error));
    }
    free(*field_text(config, key));
    *field_text(config, key) = copy;
    return NMT_OK;
}

static void field_set_choice(nmt_config *config, const config_key *key, const char *name)
{
    for (const choice *each = key->choices; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0) {
            memcpy((char *)config + key->offset, &each->value, sizeof each->value);
        }
    }
}

static const char *field_choice(const nmt_config *config, const config_key *key)
{
    int value;
    memcpy(&value, (const char *)config + key->offset, sizeof value);
    const choice *each = key->choices;
    while (each->name != NULL && each->value != value) {
        each++;
    }
    return each->name;
}

/* ---- what is expected and what was found ------------------------------------------------------------------------- */

/* A line of a message or of the help text; what does not fit is cut. */
typedef struct phrase {
    char text[512];
    size_t length;
} phrase;

__attribute__((format(printf, 2, 3))) static void say(phrase *line, const char *format, ...)
{
    const size_t room = sizeof line->text - line->length;
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    line->length += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1;
}

/* A number as JSON writes it, whatever the locale. */
static void say_number(phrase *line, double number)
{
    json *value = json_new_number(number);
    char *text = json_print(value, false);
    say(line, "%s", text != NULL ? text : "?");
    free(text);
    json_free(value);
}

static void say_range(phrase *line, const config_key *key)
{
    say(line, key->flags & KEY_OVER_MINIMUM ? " above " : " from ");
    say_number(line, key->minimum);
    say(line, key->flags & KEY_BELOW_MAXIMUM ? " to below " : key->flags & KEY_OVER_MINIMUM ? " and up to " : " to ");
    say_number(line, key->maximum);
}

static void say_choices(phrase *line, const choice *choices)
{
    for (const choice *each = choices; each->name != NULL; each++) {
        const char *before = each == choices ? "" : each[1].name == NULL ? " or " : ", ";
        say(line, "%s\"%s\"", before, each->name);
    }
}

static void say_expected(phrase *line, const config_key *key)
{
    switch (key->type) {
    case KEY_BOOLEAN:
        say(line, "true or false");
        break;
    case KEY_INTEGER:
        say(line, "an integer");
        say_range(line, key);
        break;
    case KEY_NUMBER:
        say(line, "a number");
        say_range(line, key);
        break;
    case KEY_TEXT:
    case KEY_CHOICE:
        if (key->choices != NULL) {
            say_choices(line, key->choices);
        } else {
            say(line, "%s%s", key->flags & KEY_PATH ? "a path" : "text", key->flags & KEY_NULLABLE ? " or null" : "");
        }
        break;
    }
}

static void say_found(phrase *line, const json *value)
{
    const json_type type = json_type_of(value);
    if (type == JSON_BOOLEAN) {
        say(line, json_boolean(value) ? "true" : "false");
    } else if (type == JSON_NUMBER) {
        say_number(line, json_number(value));
    } else if (type == JSON_STRING) {
        say(line, "the text %s", quote(&(quotation){{0}}, json_string(value), strlen(json_string(value))));
    } else {
        say(line, "%s", json_type_name(type));
    }
}

/* `origin` is the file, or "--set". */
__attribute__((format(printf, 3, 4))) static nmt_status complain(nmt_error *error, const char *origin,
                                                                 const char *format, ...)
{
    char message[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(error, NMT_INVALID, "%s: %s", quote_path(&(path_quotation){{0}}, origin), message);
}

static nmt_status value_error(const config_key *key, const json *value, const char *origin, nmt_error *error)
{
    phrase expected = {{0}, 0}, found = {{0}, 0};
    say_expected(&expected, key);
    say_found(&found, value);
    return complain(error, origin, "%s: expected %s, found %s", key->path, expected.text, found.text);
}

/* ---- the nearest known key --------------------------------------------------------------------------------------- */

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions and substitutions of bytes from one to the other (Levenshtein 1966). */
static size_t edit_distance(const char *from, const char *to)
{
    enum { LONGEST = 96 };
    size_t row[LONGEST + 1];
    const size_t from_length = strlen(from), to_length = strlen(to);
    if (from_length > LONGEST || to_length > LONGEST) {
        return from_length + to_length;
    }
    for (size_t j = 0; j <= to_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= from_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            const size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (from[i - 1] != to[j - 1]));
            diagonal = above;
        }
    }
    return row[to_length];
}

/* A right name in a wrong section is near as well: one step for the section. */
static const char *nearest_key(const char *path)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const size_t whole = edit_distance(path, keys[i].path);
        const size_t part = 1 + edit_distance(last_part(path), last_part(keys[i].path));
        const size_t distance = whole < part ? whole : part;
        if (distance < least) {
            least = distance;
            nearest = keys[i].path;
        }
    }
    return nearest;
}

static nmt_status unknown_key(const char *path, const char *origin, nmt_error *error)
{
    return complain(error, origin, "unknown key %s; the nearest known key is \"%s\"",
                    quote(&(quotation){{0}}, path, strlen(path)), nearest_key(path));
}

/* A name at the first level that is no section: meant is a section, or a key that lost its section. */
static nmt_status unknown_section(const char *name, const char *origin, nmt_error *error)
{
    const char *nearest = nearest_key(name);
    size_t least = edit_distance(name, last_part(nearest)) + 1;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        const size_t distance = edit_distance(name, sections[i].name);
        if (distance < least) {
            least = distance;
            nearest = sections[i].name;
        }
    }
    return complain(error, origin, "unknown key %s; the nearest known key is \"%s\"",
                    quote(&(quotation){{0}}, name, strlen(name)), nearest);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool number_in_range(const config_key *key, double number)
{
    const bool over = key->flags & KEY_OVER_MINIMUM ? number > key->minimum : number >= key->minimum;
    const bool below = key->flags & KEY_BELOW_MAXIMUM ? number < key->maximum : number <= key->maximum;
    return over && below;
}

static bool text_allowed(const config_key *key, const char *text)
{
    if (key->choices == NULL) {
        return *text != '\0';
    }
    for (const choice *each = key->choices; each->name != NULL; each++) {
        if (strcmp(each->name, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool value_allowed(const config_key *key, const json *value)
{
    const json_type type = json_type_of(value);
    switch (key->type) {
    case KEY_BOOLEAN:
        return type == JSON_BOOLEAN;
    case KEY_INTEGER:
        return type == JSON_NUMBER && number_in_range(key, json_number(value)) &&
               floor(json_number(value)) == json_number(value);
    case KEY_NUMBER:
        return type == JSON_NUMBER && number_in_range(key, json_number(value));
    case KEY_TEXT:
    case KEY_CHOICE:
        break;
    }
    if (type == JSON_BOOLEAN) {
        return key->flags & KEY_WAS_BOOLEAN;
    }
    if (type == JSON_NULL) {
        return key->flags & KEY_NULLABLE;
    }
    return type == JSON_STRING && text_allowed(key, json_string(value));
}

static nmt_status read_value(nmt_config *config, const config_key *key, const json *value, const char *origin,
                             nmt_error *error)
{
    if (!value_allowed(key, value)) {
        return value_error(key, value, origin, error);
    }
    switch (key->type) {
    case KEY_BOOLEAN:
        *field_boolean(config, key) = json_boolean(value);
        break;
    case KEY_INTEGER:
    case KEY_NUMBER:
        field_set_number(config, key, json_number(value));
        break;
    case KEY_TEXT:
        return field_set_text(config, key, json_type_of(value) == JSON_NULL ? NULL : json_string(value), error);
    case KEY_CHOICE:
        field_set_choice(config, key,
                         json_type_of(value) == JSON_BOOLEAN ? key->choices[json_boolean(value)].name
                                                             : json_string(value));
        break;
    }
    return NMT_OK;
}

static nmt_status set_defaults(nmt_config *config, nmt_error *error)
{
    for (const config_key *key = keys; key < keys + KEY_COUNT; key++) {
        switch (key->type) {
        case KEY_BOOLEAN:
            *field_boolean(config, key) = key->number != 0;
            break;
        case KEY_INTEGER:
        case KEY_NUMBER:
            field_set_number(config, key, key->number);
            break;
        case KEY_TEXT:
            TRY(field_set_text(config, key, key->text, error));
            break;
        case KEY_CHOICE:
            field_set_choice(config, key, key->text);
            break;
        }
    }
    return NMT_OK;
}

static nmt_status read_section(nmt_config *config, const json *section, const char *origin, nmt_error *error)
{
    const char *name = json_key(section);
    if (json_type_of(section) != JSON_OBJECT) {
        phrase found = {{0}, 0};
        say_found(&found, section);
        return complain(error, origin, "%s: expected an object, found %s", name, found.text);
    }
    for (const json *value = json_first(section); value != NULL; value = json_next(value)) {
        phrase path = {{0}, 0};
        say(&path, "%s.%s", name, json_key(value));
        const config_key *key = find_key(path.text);
        if (key == NULL) {
            return unknown_key(path.text, origin, error);
        }
        TRY(read_value(config, key, value, origin, error));
    }
    return NMT_OK;
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static nmt_status read_object(nmt_config *config, const json *object, const char *origin, nmt_error *error)
{
    if (json_type_of(object) != JSON_OBJECT) {
        return complain(error, origin, "expected an object, found %s", json_type_name(json_type_of(object)));
    }
    for (const json *section = json_first(object); section != NULL; section = json_next(section)) {
        if (!is_section(json_key(section))) {
            return unknown_section(json_key(section), origin, error);
        }
        TRY(read_section(config, section, origin, error));
    }
    return NMT_OK;
}

/* ---- requirements between keys ----------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static nmt_status check_data(const nmt_config *config, const char *origin, nmt_error *error)
{
    const char *source = config->data.validation_source, *target = config->data.validation_target;
    if ((source == NULL) != (target == NULL)) {
        return complain(error, origin,
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
        return complain(error, origin,
                        "data.%s_embeddings: expected a path, because training.freeze_%s is true, found null", side,
                        side);
    }
    if (config->model.tied_embeddings == TIED_ALL && config->data.target_embeddings != NULL) {
        return complain(
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
        return complain(error, origin, "vocabulary.minimum_count: expected 1, %s, found %zu", because,
                        config->vocabulary.minimum_count);
    }
    if (size > 0) {
        return complain(error, origin,
                        "vocabulary.source_size and vocabulary.target_size: expected 0, %s (segmentation.size), found "
                        "%zu",
                        because, size);
    }
    if ((source && config->vocabulary.source_file != NULL) || (target && config->vocabulary.target_file != NULL)) {
        return complain(error, origin, "vocabulary.source_file and vocabulary.target_file: expected null, %s", because);
    }
    if (both && config->segmentation.joint && config->segmentation.target_file != NULL &&
        !same_text(config->segmentation.source_file, config->segmentation.target_file)) {
        return complain(error, origin,
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
        return complain(error, origin,
                        "segmentation.sides: expected \"both\", because vocabulary.shared is true, found one side");
    }
    if (config->validation.join != NULL && config_segments_target(config)) {
        return complain(error, origin,
                        "validation.join: expected null, because the target side is segmented here, found a marker");
    }
    return config->segmentation.type == SEGMENT_PIECES ? check_pieces(config, origin, error) : NMT_OK;
}

static nmt_status check_vocabulary_size(const char *key, size_t size, const char *origin, nmt_error *error)
{
    if (size > 0 && size < 4) {
        return complain(error, origin, "%s: expected 0 or at least 4 (three special entries and a word), found %zu",
                        key, size);
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
        return complain(error, origin,
                        "vocabulary.target_file: expected null or the same as vocabulary.source_file, because "
                        "vocabulary.shared is true, found %s",
                        quote(&(quotation){{0}}, target_file, strlen(target_file)));
    }
    if (target_size != 0 && target_size != source_size) {
        return complain(error, origin,
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
        return complain(error, origin, "vocabulary.shared: expected true, %s, found false", because);
    }
    if (config->model.source_embedding != config->model.target_embedding) {
        return complain(error, origin, "model.source_embedding: expected %zu as model.target_embedding, %s, found %zu",
                        config->model.target_embedding, because, config->model.source_embedding);
    }
    return NMT_OK;
}

/* The readout's output matrix is [V, what it reads]; the embedding is [V,E]. */
static nmt_status check_tied(const nmt_config *config, const char *origin, nmt_error *error)
{
    const char *tied = tied_choices[config->model.tied_embeddings].name;
    if (config->model.tied_embeddings == TIED_NONE) {
        return NMT_OK;
    }
    if (config->model.readout == READOUT_LINEAR) {
        return complain(error, origin,
                        "model.readout: expected tanh or maxout, because model.tied_embeddings is \"%s\", found linear",
                        tied);
    }
    if (config->model.readout_size != config->model.target_embedding) {
        return complain(error, origin,
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
        return complain(error, origin, "model.attention_heads: expected 1, %s, found %zu", because,
                        config->model.attention_heads);
    }
    if (config->model.attention_extent != REACH_GLOBAL) {
        return complain(error, origin, "model.attention_extent: expected \"global\", %s, found a local one", because);
    }
    if (config->training.coverage > 0) {
        return complain(error, origin, "training.coverage: expected 0, %s, found more", because);
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
        return complain(error, origin,
                        "model.attention_size: expected a multiple of model.attention_heads, %zu, found %zu", heads, A);
    }
    if (heads == 1 && score->equal_sizes && D != C) {
        return complain(error, origin,
                        "model.decoder_hidden: expected %zu, twice model.encoder_hidden, because "
                        "model.attention_score is \"%s\" with one head, found %zu",
                        C, score->name, D);
    }
    return NMT_OK;
}

static nmt_status check_order(const nmt_config *config, const char *origin, nmt_error *error)
{
    if (config->model.order == ORDER_LUONG && config->model.readout_state == READOUT_STATE_PREVIOUS) {
        return complain(error, origin,
                        "model.readout_state: expected \"current\", because model.order is \"luong\", found "
                        "\"previous\"");
    }
    if (config->model.decoder_layers > 1 && config->model.readout_state == READOUT_STATE_PREVIOUS) {
        return complain(error, origin,
                        "model.readout_state: expected \"current\", because model.decoder_layers is %zu, found "
                        "\"previous\"",
                        config->model.decoder_layers);
    }
    return NMT_OK;
}

static nmt_status check_validation(const nmt_config *config, const char *origin, nmt_error *error)
{
    if (config->validation.metric == METRIC_BLEU && !config->validation.bleu) {
        return complain(error, origin,
                        "validation.bleu: expected true, because validation.metric is \"bleu\", found false");
    }
    const char *because = config->validation.bleu                         ? "validation.bleu is true"
                          : config->validation.patience > 0               ? "validation.patience is over 0"
                          : config->training.schedule == SCHEDULE_PLATEAU ? "training.schedule is \"plateau\""
                          : config->output.average_best > 0               ? "output.average_best is over 0"
                                                                          : NULL;
    if (config->data.validation_source == NULL && because != NULL) {
        return complain(error, origin, "data.validation_source: expected a path, because %s, found null", because);
    }
    return NMT_OK;
}

/* A key of one schedule beside another would be without effect. */
static nmt_status check_schedule(const nmt_config *config, const char *origin, nmt_error *error)
{
    const size_t every = config->training.halve_every, from = config->training.halve_from;
    if (every > 0 && config->training.schedule != SCHEDULE_HALVING) {
        return complain(error, origin,
                        "training.halve_every: expected 0, because training.schedule is not \"halving\", found %zu",
                        every);
    }
    if (from > 0 && every == 0) {
        return complain(error, origin, "training.halve_from: expected 0, because training.halve_every is 0, found %zu",
                        from);
    }
    if (config->training.warmup == 0 && config->training.schedule == SCHEDULE_INVERSE_SQRT) {
        return complain(error, origin,
                        "training.warmup: expected at least 1, because training.schedule is \"inverse_sqrt\", found 0");
    }
    return NMT_OK;
}

static nmt_status fill(nmt_config *config, const json *object, const char *origin, nmt_error *error)
{
    TRY(set_defaults(config, error));
    TRY(read_object(config, object, origin, error));
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

nmt_status config_from_json(nmt_config **config, const json *object, const char *path, nmt_error *error)
{
    *config = NULL;
    nmt_config *made;
    TRY(memory_new(&made, 1, sizeof *made, "the configuration", error));
    const nmt_status status = fill(made, object, path, error);
    if (status != NMT_OK) {
        nmt_config_free(made);
        return status;
    }
    *config = made;
    return NMT_OK;
}

nmt_status config_check_training(const nmt_config *config, const char *path, nmt_error *error)
{
    for (const config_key *key = keys; key < keys + KEY_COUNT; key++) {
        if (key->flags & KEY_FOR_TRAINING && *field_text(config, key) == NULL) {
            return complain(error, path, "%s: expected a path, required for training, found nothing", key->path);
        }
    }
    return NMT_OK;
}

nmt_status config_copy(nmt_config **copy, const nmt_config *config, nmt_error *error)
{
    *copy = NULL;
    nmt_config *made;
    TRY(memory_new(&made, 1, sizeof *made, "the configuration", error));
    *made = *config;
    nmt_status status = NMT_OK;
    for (const config_key *key = keys; key < keys + KEY_COUNT; key++) {
        if (key->type == KEY_TEXT) {
            *field_text(made, key) = NULL;
            if (status == NMT_OK) {
                status = field_set_text(made, key, *field_text(config, key), error);
            }
        }
    }
    if (status != NMT_OK) {
        nmt_config_free(made);
        return status;
    }
    *copy = made;
    return NMT_OK;
}

void nmt_config_free(nmt_config *config)
{
    if (config == NULL) {
        return;
    }
    for (const config_key *key = keys; key < keys + KEY_COUNT; key++) {
        if (key->type == KEY_TEXT) {
            free(*field_text(config, key));
        }
    }
    free(config);
}

/* ---- overrides --------------------------------------------------------------------------------------------------- */

static const char override_origin[] = "--set";

/* The value of an override: JSON, or else the bare word; where a key wants text, only a JSON string or null is read as
 * JSON, so that a directory may be called 2024. NULL when out of memory. */
static json *override_value(const config_key *key, const char *text)
{
    json *value = NULL;
    const nmt_status status = json_parse(&value, text, strlen(text), override_origin, NULL);
    if (status == NMT_NO_MEMORY) {
        return NULL;
    }
    if (status == NMT_OK) {
        const json_type type = json_type_of(value);
        const bool wants_text = key->type == KEY_TEXT || key->type == KEY_CHOICE;
        const bool is_switch = type == JSON_BOOLEAN && key->flags & KEY_WAS_BOOLEAN;
        if (!wants_text || type == JSON_STRING || type == JSON_NULL || is_switch) {
            return value;
        }
        json_free(value);
    }
    return json_new_string(text);
}

/* Replaces the value of `key` in the tree. A section that is no object stays: reading the tree reports it. */
static nmt_status replace(json *root, const config_key *key, json *value, nmt_error *error)
{
    phrase section = {{0}, 0};
    say(&section, "%.*s", (int)(last_part(key->path) - key->path - 1), key->path);
    const json *old = json_get(root, section.text);
    if (old != NULL && json_type_of(old) != JSON_OBJECT) {
        json_free(value);
        return NMT_OK;
    }
    json *fresh = old != NULL ? json_copy(old) : json_new_object();
    const bool added = json_add(fresh, last_part(key->path), value);
    if (!added) {
        json_free(fresh);
    }
    if (!added || !json_add(root, section.text, fresh)) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s %s", override_origin, key->path);
    }
    return NMT_OK;
}

static nmt_status apply_override(json *root, const char *text, nmt_error *error)
{
    quotation shown;
    const char *equals = strchr(text, '=');
    if (equals == NULL || utf8_error(text, strlen(text)) < strlen(text)) {
        return complain(error, override_origin, "expected KEY=VALUE in UTF-8, found %s",
                        quote(&shown, text, strlen(text)));
    }
    phrase path = {{0}, 0};
    say(&path, "%.*s", equals - text < 256 ? (int)(equals - text) : 256, text);
    const config_key *key = find_key(path.text);
    if (key == NULL) {
        return unknown_key(path.text, override_origin, error);
    }
    json *value = override_value(key, equals + 1);
    if (value == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s %s", override_origin, key->path);
    }
    if (!value_allowed(key, value)) {
        const nmt_status status = value_error(key, value, override_origin, error);
        json_free(value);
        return status;
    }
    return replace(root, key, value, error);
}

static nmt_status load(nmt_config **config, json *root, const char *path, const char *const *overrides,
                       size_t override_count, nmt_error *error)
{
    if (json_type_of(root) == JSON_OBJECT) {
        for (size_t i = 0; i < override_count; i++) {
            TRY(apply_override(root, overrides[i], error));
        }
    }
    TRY(config_from_json(config, root, path, error));
    const nmt_status status = config_check_training(*config, path, error);
    if (status != NMT_OK) {
        nmt_config_free(*config);
        *config = NULL;
    }
    return status;
}

nmt_status nmt_config_load(nmt_config **config, const char *path, const char *const *overrides, size_t override_count,
                           nmt_error *error)
{
    const size_t limit = (size_t)1 << 24;
    char *text;
    size_t length;
    json *root;
    *config = NULL;
    TRY(io_read_file(&text, &length, path, limit, error));
    nmt_status status = json_parse(&root, text, length, path, error);
    free(text);
    if (status == NMT_OK) {
        status = load(config, root, path, overrides, override_count, error);
    }
    json_free(root);
    return status;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static json *value_to_json(const nmt_config *config, const config_key *key)
{
    switch (key->type) {
    case KEY_BOOLEAN:
        return json_new_boolean(*field_boolean(config, key));
    case KEY_INTEGER:
    case KEY_NUMBER:
        return json_new_number(field_number(config, key));
    case KEY_TEXT:
        return *field_text(config, key) != NULL ? json_new_string(*field_text(config, key)) : json_new_null();
    case KEY_CHOICE:
        return json_new_string(field_choice(config, key));
    }
    return NULL;
}

static json *section_to_json(const nmt_config *config, const char *name)
{
    json *object = json_new_object();
    for (const config_key *key = keys; key < keys + KEY_COUNT && object != NULL; key++) {
        if (in_section(key, name, strlen(name)) &&
            !json_add(object, last_part(key->path), value_to_json(config, key))) {
            json_free(object);
            object = NULL;
        }
    }
    return object;
}

json *config_to_json(const nmt_config *config)
{
    json *root = json_new_object();
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!json_add(root, sections[i].name, section_to_json(config, sections[i].name))) {
            json_free(root);
            return NULL;
        }
    }
    return root;
}

char *nmt_config_json(const nmt_config *config)
{
    json *value = config_to_json(config);
    char *text = json_print(value, true);
    json_free(value);
    return text;
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

enum { HELP_INDENT = 2, HELP_COLUMN = 31, HELP_WIDTH = 100 };

typedef struct help {
    char *text;
    size_t length, capacity;
    bool failed;
} help;

static void help_add(help *out, const char *bytes, size_t count)
{
    if (out->failed || memory_grow(&out->text, &out->capacity, out->length + count + 1, 1, "", NULL) != NMT_OK) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->length, bytes, count);
    out->length += count;
    out->text[out->length] = '\0';
}

static void help_spaces(help *out, size_t count)
{
    while (count-- > 0) {
        help_add(out, " ", 1);
    }
}

/* Words of `text` from the column where the line stands, which is `indent`, broken at the width of the page. */
static void help_wrapped(help *out, const char *text, size_t indent)
{
    size_t column = indent;
    while (*text != '\0') {
        const size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + word > HELP_WIDTH) {
            help_add(out, "\n", 1);
            help_spaces(out, indent);
            column = indent;
        }
        if (column > indent) {
            help_add(out, " ", 1);
            column++;
        }
        help_add(out, text, word);
        column += word;
        text += word + strspn(text + word, " ");
    }
    help_add(out, "\n", 1);
}

static void say_default(phrase *line, const config_key *key)
{
    if (key->flags & KEY_FOR_TRAINING) {
        say(line, "required for training");
        return;
    }
    say(line, "default ");
    if (key->type == KEY_BOOLEAN) {
        say(line, key->number != 0 ? "true" : "false");
    } else if (key->type == KEY_INTEGER || key->type == KEY_NUMBER) {
        say_number(line, key->number);
    } else if (key->text != NULL) {
        say(line, "\"%s\"", key->text);
    } else {
        say(line, "null");
    }
}

static void help_key(help *out, const config_key *key)
{
    phrase kind = {{0}, 0};
    say_expected(&kind, key);
    say(&kind, "; ");
    say_default(&kind, key);
    help_spaces(out, HELP_INDENT);
    help_add(out, key->path, strlen(key->path));
    help_spaces(out, HELP_COLUMN - HELP_INDENT - strlen(key->path));
    help_wrapped(out, kind.text, HELP_COLUMN);
    help_spaces(out, HELP_COLUMN);
    help_wrapped(out, key->meaning, HELP_COLUMN);
}

char *nmt_config_help(void)
{
    help out = {0};
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        phrase title = {{0}, 0};
        say(&title, "%s: %s", sections[i].name, sections[i].meaning);
        if (i > 0) {
            help_add(&out, "\n", 1);
        }
        help_wrapped(&out, title.text, 0);
        for (const config_key *key = keys; key < keys + KEY_COUNT; key++) {
            if (in_section(key, sections[i].name, strlen(sections[i].name))) {
                help_key(&out, key);
            }
        }
    }
    if (out.failed) {
        free(out.text);
        return NULL;
    }
    return out.text;
}

void nmt_free(void *text)
{
    free(text);
}
