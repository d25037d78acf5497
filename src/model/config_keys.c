#include "model/config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "layers/scores.h"
#include "model/decoder_stack.h"
#include "model/encoder.h"

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
static const choice order_choices[] = {
    {"bahdanau", ORDER_BAHDANAU}, {"luong", ORDER_LUONG}, {"conditional", ORDER_CONDITIONAL}, {NULL, 0}};
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

const config_key config_keys[] = {
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
            "Layers of the decoder. The first is fed; the last is what the readout sees. In Luong's order the last "
            "asks, else the first. All start from the same state."),
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
           "Attend with the previous state, then update (Bahdanau, Cho and Bengio 2015); update, then attend (Luong, "
           "Pham and Manning 2015); or conditional: update from the word, attend, and update from the context with a "
           "second cell (Sennrich et al. 2017)."),
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
           "The decoder state that the readout sees: after this step's update, or, in Bahdanau's order, before it."),
    BOOLEAN(model.layer_normalization, false,
            "Layer normalisation (Ba, Kiros and Hinton 2016) with gain and bias, epsilon 1e-5: in the GRUs, of the "
            "input's and the state's part of the gates each, r and z together and n alone; in the readout, of its "
            "hidden layer "
            "before the activation."),
    SWITCH(
        model.tied_embeddings, "none", tied_choices,
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
           "Share dropped of what the decoder's cells are fed at a step: the previous word's embedding, the context or "
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

const size_t config_key_count = sizeof config_keys / sizeof *config_keys;

/* The first level of the file, in the order of the table. */
const config_section config_sections[] = {
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

const size_t config_section_count = sizeof config_sections / sizeof *config_sections;

bool config_key_is_in(const config_key *key, const char *name, size_t length)
{
    return strncmp(key->path, name, length) == 0 && key->path[length] == '.';
}

const char *config_key_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

const config_key *config_key_find(const char *path)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (strcmp(config_keys[i].path, path) == 0) {
            return &config_keys[i];
        }
    }
    return NULL;
}

/* ---- the struct's fields by offset ------------------------------------------------------------------------------- */

void config_set_number(nmt_config *config, const config_key *key, double number)
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

double config_number(const nmt_config *config, const config_key *key)
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

bool *config_boolean(const nmt_config *config, const config_key *key)
{
    return (bool *)((char *)config + key->offset);
}

char **config_text(const nmt_config *config, const config_key *key)
{
    return (char **)((char *)config + key->offset);
}

nmt_status config_set_text(nmt_config *config, const config_key *key, const char *text, nmt_error *error)
{
    char *copy = NULL;
    if (text != NULL) {
        TRY(memory_copy_text(&copy, text, strlen(text), "the configuration", error));
    }
    free(*config_text(config, key));
    *config_text(config, key) = copy;
    return NMT_OK;
}

void config_set_choice(nmt_config *config, const config_key *key, const char *name)
{
    for (const choice *each = key->choices; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0) {
            memcpy((char *)config + key->offset, &each->value, sizeof each->value);
        }
    }
}

const char *config_choice(const nmt_config *config, const config_key *key)
{
    int value;
    memcpy(&value, (const char *)config + key->offset, sizeof value);
    const choice *each = key->choices;
    while (each->name != NULL && each->value != value) {
        each++;
    }
    return each->name;
}
