/*
 * Random models for property tests. What a seed draws is always the same: a configuration, from the keys of the table,
 * with sizes up to 9; vocabularies of a few words; and a few short sentence pairs. What the configuration's check
 * refuses is drawn again.
 *
 * A key that shapes the model or its loss has levels: the values of a choice, the numbers of a size, off and on of a
 * rate. Each seed is made to have one of them, its neighbour the next; and of one of the other keys, by turns,
 * something else than the default.
 */
#ifndef SUPPORT_DRAWS_H
#define SUPPORT_DRAWS_H

#include <stdbool.h>
#include <string.h>

#include "core/rng.h"
#include "model/config_keys.h"
#include "support_model.h"

enum { DRAW_SIZE = 9, DRAW_SENTENCES = 5, DRAW_TOKENS = 8, DRAW_WORDS = 9, DRAW_ATTEMPTS = 10000 };

typedef struct drawn_sentence {
    size_t length; /* below DRAW_TOKENS, which counts `</s>` */
    int32_t ids[DRAW_TOKENS];
} drawn_sentence;

typedef struct draw {
    uint64_t seed;
    nmt_config *config;
    size_t source_words, target_words; /* of the vocabularies, the three special entries among them */
    size_t count;
    drawn_sentence source[DRAW_SENTENCES], target[DRAW_SENTENCES];
} draw;

/* ---- keys and their levels --------------------------------------------------------------------------------------- */

/* Whether the key shapes the model or its loss. */
static inline bool draw_concerns(const config_key *key)
{
    static const char *const others[] = {"vocabulary.shared",      "training.label_smoothing",
                                         "training.coverage",      "training.teacher_forcing",
                                         "training.forcing_decay", "training.loss_normalization"};
    bool concerns =
        config_key_is_in(key, "model", strlen("model")) || config_key_is_in(key, "dropout", strlen("dropout"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        concerns = concerns || strcmp(key->path, others[i]) == 0;
    }
    return concerns;
}

/* A model whose text is cut would need a piece model, or words of one letter. */
static inline bool draw_leaves(const config_key *key)
{
    return strcmp(key->path, "segmentation.type") == 0;
}

static inline size_t draw_levels(const config_key *key)
{
    size_t count = 0;
    if (key->choices != NULL) {
        while (key->choices[count].name != NULL) {
            count++;
        }
        return count;
    }
    return key->type == KEY_INTEGER ? (size_t)(fmin(key->maximum, DRAW_SIZE) - key->minimum) + 1 : 2;
}

static inline void draw_set(nmt_config *config, const config_key *key, size_t level, rng *generator)
{
    nmt_error error;
    switch (key->type) {
    case KEY_BOOLEAN:
        *config_boolean(config, key) = level == 1;
        break;
    case KEY_INTEGER:
        config_set_number(config, key, key->minimum + (double)level);
        break;
    case KEY_NUMBER:
        config_set_number(config, key, level == 0 ? key->number : 0.05 + 0.5 * rng_uniform(generator));
        break;
    case KEY_CHOICE:
        config_set_choice(config, key, key->choices[level].name);
        break;
    case KEY_TEXT:
        support_ok(config_set_text(config, key,
                                   key->choices != NULL ? key->choices[level].name
                                   : level == 0         ? key->text
                                                        : "a \"path\"\\\xC3\xA9",
                                   &error),
                   &error);
        break;
    }
}

/* The level that it has. */
static inline size_t draw_level(const nmt_config *config, const config_key *key)
{
    size_t level = 0;
    switch (key->type) {
    case KEY_BOOLEAN:
        return *config_boolean((nmt_config *)config, key);
    case KEY_INTEGER:
        return (size_t)(config_number(config, key) - key->minimum);
    case KEY_NUMBER:
        return config_number(config, key) != key->number;
    case KEY_CHOICE:
    case KEY_TEXT:
        break;
    }
    const char *text = key->type == KEY_CHOICE ? config_choice(config, key) : *config_text((nmt_config *)config, key);
    if (key->choices == NULL) {
        return text != key->text && (text == NULL || key->text == NULL || strcmp(text, key->text) != 0);
    }
    while (strcmp(key->choices[level].name, text) != 0) {
        level++;
    }
    return level;
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

/* One in so many draws another value than the default; 1: any value. What costs time, layers, or hides the rest, rates,
 * mostly stays as it is. So do the keys that are not the model's: many of them require others. */
static inline size_t draw_odds(const config_key *key, bool concerns)
{
    if (!concerns) {
        return key->type == KEY_TEXT ? 2 : 6;
    }
    const bool layers = key->type == KEY_INTEGER && key->maximum <= DRAW_SIZE;
    return key->type == KEY_NUMBER || layers ? 4 : 1;
}

/* Of the sizes, whose default is too large for here, some must agree: half of them are the common one. */
static inline void draw_key(nmt_config *config, const config_key *key, size_t common, rng *generator)
{
    const bool concerns = draw_concerns(key);
    const bool size = concerns && key->type == KEY_INTEGER && key->number > DRAW_SIZE;
    if (rng_below(generator, draw_odds(key, concerns)) > 0) {
        return;
    }
    const size_t level = (size_t)rng_below(generator, draw_levels(key));
    draw_set(config, key, size && rng_below(generator, 2) == 0 ? common - (size_t)key->minimum : level, generator);
}

/* How many draws in a row are made to have something of a key: of those that shape the model each level, of the others
 * (`concerns` false) what is not the default. */
static inline size_t draw_turns(const config_key *key, bool concerns)
{
    return draw_concerns(key) != concerns || draw_leaves(key) ? 0 : concerns ? draw_levels(key) : 1;
}

static inline size_t draw_all_turns(bool concerns)
{
    size_t count = 0;
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        count += draw_turns(key, concerns);
    }
    return count;
}

/* The key whose turn it is, and which of its turns. */
static inline const config_key *draw_turn(uint64_t seed, bool concerns, size_t *turn)
{
    const config_key *key = config_keys;
    *turn = (size_t)(seed % draw_all_turns(concerns));
    while (*turn >= draw_turns(key, concerns)) {
        *turn -= draw_turns(key, concerns);
        key++;
    }
    return key;
}

/* A level that is not the one that it has. */
static inline void draw_other(nmt_config *config, const config_key *key, rng *generator)
{
    const size_t now = draw_level(config, key), count = draw_levels(key);
    const size_t step = 1 + (size_t)rng_below(generator, count - 1);
    draw_set(config, key, now < count ? (now + step) % count : step, generator);
}

/* What each try is made to have. */
typedef struct draw_turns_of {
    const config_key *shaping, *other;
    size_t level; /* of the former */
} draw_turns_of;

static inline void draw_try(nmt_config *config, const draw_turns_of *turns, rng *generator)
{
    const size_t common = 1 + (size_t)rng_below(generator, DRAW_SIZE);
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        if (key == turns->shaping) {
            draw_set(config, key, turns->level, generator);
        } else if (key == turns->other) {
            draw_other(config, key, generator);
        } else if (!draw_leaves(key)) {
            draw_key(config, key, common, generator);
        }
    }
}

static inline void draw_config(draw *one, rng *generator)
{
    nmt_config *defaults = support_config("{}");
    nmt_error error;
    draw_turns_of turns;
    size_t turn;
    turns.shaping = draw_turn(one->seed, true, &turns.level);
    turns.other = draw_turn(one->seed, false, &turn);
    for (size_t attempt = 0; attempt < 10 * DRAW_ATTEMPTS && one->config == NULL; attempt++) {
        turns.other = attempt < DRAW_ATTEMPTS ? turns.other : NULL; /* a few exclude each other */
        support_ok(config_copy(&one->config, defaults, &error), &error);
        draw_try(one->config, &turns, generator);
        if (config_check(one->config, "the draw", &error) != NMT_OK) {
            nmt_config_free(one->config);
            one->config = NULL;
        }
    }
    nmt_config_free(defaults);
    if (one->config == NULL) {
        fail_msg("seed %zu: refused each time, at last with %s", (size_t)one->seed, error.message);
    }
}

/* ---- words and sentences ----------------------------------------------------------------------------------------- */

static inline void draw_sentence(drawn_sentence *made, size_t words, rng *generator)
{
    made->length = (size_t)rng_below(generator, DRAW_TOKENS);
    for (size_t t = 0; t < made->length; t++) {
        const size_t word = 2 + (size_t)rng_below(generator, words - 2);
        made->ids[t] = word == 2 ? TOKEN_UNKNOWN : (int32_t)word;
    }
}

/* The caller's: draw_free. */
static inline void draw_make(draw *one, uint64_t seed)
{
    rng generator = rng_stream(seed, "a draw", 0);
    *one = (draw){.seed = seed};
    draw_config(one, &generator);
    one->target_words = 4 + (size_t)rng_below(&generator, DRAW_WORDS - 3);
    one->source_words =
        one->config->vocabulary.shared ? one->target_words : 4 + (size_t)rng_below(&generator, DRAW_WORDS - 3);
    one->count = 1 + (size_t)rng_below(&generator, DRAW_SENTENCES);
    for (size_t i = 0; i < one->count; i++) {
        draw_sentence(&one->source[i], one->source_words, &generator);
        draw_sentence(&one->target[i], one->target_words, &generator);
    }
}

static inline void draw_free(draw *one)
{
    nmt_config_free(one->config);
    *one = (draw){0};
}

/* The `count` pairs that order[] names, or all where it is NULL; zero-initialise `pairs` before, batch_free after. */
static inline void draw_batch(batch *pairs, const draw *one, const uint32_t *order, size_t count)
{
    const int32_t *ids[2][DRAW_SENTENCES];
    size_t length[2][DRAW_SENTENCES];
    nmt_error error;
    for (size_t i = 0; i < count; i++) {
        const size_t s = order != NULL ? order[i] : i;
        ids[0][i] = one->source[s].ids;
        ids[1][i] = one->target[s].ids;
        length[0][i] = one->source[s].length;
        length[1][i] = one->target[s].length;
    }
    support_ok(batch_set(pairs, ids[0], length[0], ids[1], length[1], count, &error), &error);
}

typedef struct drawn_text {
    char line[8 * DRAW_TOKENS];
} drawn_text;

static inline const char *draw_text(drawn_text *text, const drawn_sentence *from)
{
    size_t used = 0;
    text->line[0] = '\0';
    for (size_t t = 0; t < from->length; t++) {
        char word[16] = "?"; /* in no vocabulary */
        if (from->ids[t] != TOKEN_UNKNOWN) {
            snprintf(word, sizeof word, "w%d", (int)from->ids[t]);
        }
        used += (size_t)snprintf(text->line + used, sizeof text->line - used, "%s%s", t > 0 ? " " : "", word);
    }
    return text->line;
}

/* With parameters from N(0, scale^2) and another configuration, which is taken; the caller's: nmt_model_free. */
static inline nmt_model *draw_model(const draw *one, nmt_config *config, double scale)
{
    return support_model_of(config, one->source_words, one->target_words, scale);
}

static inline nmt_config *draw_copy(const draw *one)
{
    nmt_config *copy;
    nmt_error error;
    support_ok(config_copy(&copy, one->config, &error), &error);
    return copy;
}

#endif
