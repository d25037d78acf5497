/*
 * Beam search over a model whose next token depends on everything before it, in a way that a test can ask for any
 * beginning: small enough that every translation there is can be listed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/memory.h"
#include "decode/beam.h"
#include "decode/greedy.h"
#include "decode/search.h"
#include "support_reals.h"
#include "support_search.h"

enum { V = 5, SENTENCES = 4, LONGEST = 4, MOST_TOKENS = 32, WIDTH = 512, LIST = 4096 };

static const size_t source_length[SENTENCES] = {2, 4, 1, 3}; /* with `</s>`; not in packed order */
static const size_t line_numbers[SENTENCES] = {17, 4, 9, 30};

/* ---- the model
 * ------------------------------------------------------------------------------------------------------- */

typedef struct beginning {
    size_t sentence, length;
    int32_t tokens[MOST_TOKENS];
    bool begun; /* has been fed `<s>` */
} beginning;

typedef struct listed_model {
    uint64_t seed;
    double spread;         /* of the logits */
    double end_bias;       /* added to the logit of `</s>` */
    size_t bad_sentence;   /* whose third token is NaN; SENTENCES: none */
    size_t failing_step;   /* this step, from 1, is an error; 0: none */
    size_t width;          /* as the search asked for it */
    size_t first_sentence; /* number of sentence 0 of the batch */
    size_t steps, finished;
    size_t rows[MOST_TOKENS]; /* hypotheses at each step, as they came */
} listed_model;

typedef struct listed_decoding {
    decoding base;
    listed_model *of;
    size_t rows;
    beginning *past, *spare; /* [width] */
    real *logits, *alpha;    /* [width, V], [width, S] */
    size_t S;
} listed_decoding;

static const model_interface listed_interface;

static rng generator_for(const listed_model *model, const beginning *past, const char *name)
{
    uint64_t key = hash_join(0, past->sentence);
    for (size_t t = 0; t < past->length; t++) {
        key = hash_join(key, (uint64_t)past->tokens[t]);
    }
    return rng_stream(model->seed, name, key);
}

static void listed_logits(const listed_model *model, const beginning *past, real logits[V])
{
    rng generator = generator_for(model, past, "logits");
    for (size_t i = 0; i < V; i++) {
        logits[i] = (real)(rng_normal(&generator) * model->spread);
    }
    logits[TOKEN_END] += (real)model->end_bias;
    if (past->sentence == model->bad_sentence && past->length == 2) {
        logits[V - 1] = (real)NAN;
    }
}

static void listed_alpha(const listed_model *model, const beginning *past, real *alpha, size_t S)
{
    rng generator = generator_for(model, past, "alpha");
    for (size_t s = 0; s < S; s++) {
        alpha[s] = s < source_length[past->sentence] ? (real)rng_uniform(&generator) : 0;
    }
}

static nmt_status listed_start(nmt_model *model, const sequences *sources, size_t width, decoding **state,
                               nmt_error *error)
{
    listed_decoding *made;
    listed_model *of = model->architecture;
    const size_t begun = sources->count < width ? sources->count : width;
    assert_int_equal(memory_new(&made, 1, sizeof *made, "decoding", error), NMT_OK);
    *made = (listed_decoding){.base = {&listed_interface}, .of = of, .rows = begun, .S = sources->steps};
    assert_int_equal(memory_new(&made->past, width, sizeof *made->past, "decoding", error), NMT_OK);
    assert_int_equal(memory_new(&made->spare, width, sizeof *made->spare, "decoding", error), NMT_OK);
    assert_int_equal(memory_new(&made->logits, width * V, sizeof *made->logits, "decoding", error), NMT_OK);
    assert_int_equal(memory_new(&made->alpha, width * made->S, sizeof *made->alpha, "decoding", error), NMT_OK);
    for (size_t i = 0; i < begun; i++) {
        made->past[i].sentence = of->first_sentence + i;
    }
    of->width = width;
    *state = &made->base;
    return NMT_OK;
}

static nmt_status listed_step(decoding *base, const int32_t *previous, const real **logits, const real **alpha,
                              nmt_error *error)
{
    listed_decoding *state = (listed_decoding *)base;
    listed_model *of = state->of;
    assert_true(of->steps < MOST_TOKENS);
    of->rows[of->steps++] = state->rows;
    if (of->steps == of->failing_step) {
        return error_set(error, NMT_NO_MEMORY, "the model ends here");
    }
    for (size_t row = 0; row < state->rows; row++) {
        beginning *past = &state->past[row];
        if (!past->begun) {
            assert_int_equal(previous[row], TOKEN_START);
            past->begun = true;
        } else {
            assert_true(previous[row] != TOKEN_START && previous[row] != TOKEN_END);
            past->tokens[past->length++] = previous[row];
        }
        listed_logits(of, past, state->logits + row * V);
        listed_alpha(of, past, state->alpha + row * state->S, state->S);
    }
    *logits = state->logits;
    *alpha = state->alpha;
    return NMT_OK;
}

static nmt_status listed_reorder(decoding *base, const size_t *parents, size_t count, nmt_error *error)
{
    (void)error;
    listed_decoding *state = (listed_decoding *)base;
    assert_true(count <= state->of->width);
    for (size_t row = 0; row < count; row++) {
        assert_true(parents[row] < state->rows);
        state->spare[row] = state->past[parents[row]];
    }
    memcpy(state->past, state->spare, count * sizeof *state->past);
    state->rows = count;
    return NMT_OK;
}

static nmt_status listed_join(decoding *base, const size_t *sentences, size_t count, nmt_error *error)
{
    (void)error;
    listed_decoding *state = (listed_decoding *)base;
    assert_true(state->rows + count <= state->of->width);
    for (size_t i = 0; i < count; i++) {
        state->past[state->rows++] = (beginning){.sentence = state->of->first_sentence + sentences[i]};
    }
    return NMT_OK;
}

static void listed_finish(decoding *base)
{
    listed_decoding *state = (listed_decoding *)base;
    state->of->finished++;
    free(state->past);
    free(state->spare);
    free(state->logits);
    free(state->alpha);
    free(state);
}

static const model_interface listed_interface = {.name = "a list",
                                                 .start = listed_start,
                                                 .step = listed_step,
                                                 .reorder = listed_reorder,
                                                 .join = listed_join,
                                                 .finish = listed_finish};

/* ---- what a search should find, from the definition ----------------------------------------------------------------
 */

typedef struct translation {
    beginning tokens; /* with `</s>` where it ended */
    double log_probability, score;
    bool ended;
} translation;

static bool has_ngram_twice(const beginning *tokens, size_t n)
{
    for (size_t i = 0; n > 0 && i + n <= tokens->length; i++) {
        for (size_t j = i + 1; j + n <= tokens->length; j++) {
            if (memcmp(tokens->tokens + i, tokens->tokens + j, n * sizeof tokens->tokens[0]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Fills allowed[V] for the token behind `past`. */
static void find_allowed(const search_options *options, const beginning *past, bool allowed[V])
{
    bool any = false;
    for (int32_t token = 0; token < V; token++) {
        beginning longer = *past;
        longer.tokens[longer.length++] = token;
        allowed[token] = token != TOKEN_START && !(token == TOKEN_UNKNOWN && options->ban_unknown) &&
                         !(token == TOKEN_END && past->length < options->min_length) &&
                         (token == TOKEN_END || !has_ngram_twice(&longer, options->no_repeat_ngram));
        any = any || allowed[token];
    }
    allowed[TOKEN_END] = allowed[TOKEN_END] || !any;
}

static double log_softmax(const real *logits, int32_t token)
{
    double sum = 0;
    for (size_t i = 0; i < V; i++) {
        sum += exp((double)logits[i]);
    }
    return (double)logits[token] - log(sum);
}

/* All of the extensions of `from`. */
static size_t extensions(const listed_model *model, const search_options *options, const translation *from,
                         translation list[V])
{
    real logits[V];
    bool allowed[V];
    size_t count = 0;
    const size_t limit = search_length_limit(options, source_length[from->tokens.sentence] - 1);
    listed_logits(model, &from->tokens, logits);
    find_allowed(options, &from->tokens, allowed);
    assert_true(from->tokens.length < limit);
    for (int32_t token = 0; token < V; token++) {
        if (allowed[token]) {
            translation *made = &list[count++];
            *made = *from;
            made->tokens.tokens[made->tokens.length++] = token;
            made->log_probability += log_softmax(logits, token);
            made->ended = token == TOKEN_END;
            made->score = expected_score(options, made->log_probability, made->tokens.length);
        }
    }
    return count;
}

static bool is_whole(const search_options *options, const translation *it)
{
    return it->ended || it->tokens.length == search_length_limit(options, source_length[it->tokens.sentence] - 1);
}

static int ended_and_best_first(const void *left, const void *right)
{
    const translation *a = left, *b = right;
    return a->ended != b->ended ? b->ended - a->ended : (a->score < b->score) - (a->score > b->score);
}

static int most_probable_first(const void *left, const void *right)
{
    const translation *a = left, *b = right;
    return (a->log_probability < b->log_probability) - (a->log_probability > b->log_probability);
}

/* Every translation of the sentence, the best first. */
static size_t list_all(const listed_model *model, const search_options *options, size_t sentence, translation *list)
{
    size_t count = 0, open = 1;
    translation *stack = calloc(LIST, sizeof *stack);
    stack[0] = (translation){.tokens.sentence = sentence};
    while (open > 0) {
        translation longer[V];
        const translation from = stack[--open];
        const size_t found = extensions(model, options, &from, longer);
        for (size_t i = 0; i < found; i++) {
            assert_true(count < LIST && open < LIST);
            if (is_whole(options, &longer[i])) {
                list[count++] = longer[i];
            } else {
                stack[open++] = longer[i];
            }
        }
    }
    free(stack);
    qsort(list, count, sizeof *list, ended_and_best_first);
    return count;
}

/* What a beam finds that never stops before the length limit, the best first. */
static size_t plain_beam(const listed_model *model, const search_options *options, size_t sentence, translation *list)
{
    size_t count = 0, rows = 1;
    translation *now = calloc(WIDTH * V, sizeof *now), *then = calloc(WIDTH * V, sizeof *then);
    now[0] = (translation){.tokens.sentence = sentence};
    while (rows > 0) {
        size_t found = 0, kept = 0;
        for (size_t row = 0; row < rows; row++) {
            found += extensions(model, options, &now[row], then + found);
        }
        qsort(then, found, sizeof *then, most_probable_first);
        for (size_t i = 0; i < found && i < options->beam; i++) {
            if (is_whole(options, &then[i])) {
                list[count++] = then[i];
            } else {
                now[kept++] = then[i];
            }
        }
        rows = kept;
    }
    free(now);
    free(then);
    qsort(list, count, sizeof *list, ended_and_best_first);
    return count;
}

/* ---- a search
 * -------------------------------------------------------------------------------------------------------- */

typedef nmt_status (*search_function)(nmt_model *model, const sequences *sources, const size_t *line,
                                      const search_options *options, hypothesis *best, nmt_error *error);

static const search_options usual = {.max_length_ratio = 1,
                                     .max_length_extra = 1,
                                     .width = 2,
                                     .beam = 3,
                                     .nbest = 1,
                                     .penalty = NMT_LENGTH_NONE,
                                     .alpha = true};

/* Searches for the sentences first .. first+count-1 of the model. */
static nmt_status search_some(search_function search, listed_model *of, size_t first, size_t count,
                              const search_options *options, hypothesis *best, nmt_error *error)
{
    static const char *const words[V] = {"<unk>", "<s>", "</s>", "a", "b"};
    static const int32_t ids[LONGEST] = {3, 4, 3, 4};
    const int32_t *const sides[SENTENCES] = {ids, ids, ids, ids};
    nmt_model model = {.interface = &listed_interface, .architecture = of};
    sequences sources = {0};
    nmt_error scratch;
    assert_int_equal(vocabulary_from_words(&model.target_words, words, V, "words", &scratch), NMT_OK);
    assert_int_equal(sequences_set(&sources, sides, source_length + first, count, &scratch), NMT_OK);
    of->steps = of->finished = 0;
    of->first_sentence = first;
    memset(best, 0xAB, count * options->nbest * sizeof *best); /* overwritten, whatever was there */
    const nmt_status status = search(&model, &sources, line_numbers + first, options, best, error);
    assert_int_equal(of->finished, 1);
    vocabulary_free(model.target_words);
    sequences_free(&sources);
    return status;
}

static void search_well(search_function search, listed_model *of, size_t first, size_t count,
                        const search_options *options, hypothesis *best)
{
    nmt_error error;
    if (search_some(search, of, first, count, options, best, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

/* The attention and the probability of each token are those of the beginning before it. */
static void check_tokens(const listed_model *model, const hypothesis *found, size_t sentence)
{
    beginning past = {.sentence = sentence};
    double sum = 0;
    for (size_t t = 0; t < found->length; t++) {
        real logits[V], alpha[LONGEST];
        listed_logits(model, &past, logits);
        listed_alpha(model, &past, alpha, source_length[sentence]);
        assert_near(found->log_probabilities[t], log_softmax(logits, found->ids[t]), 1e-6);
        assert_memory_equal(found->alpha + t * source_length[sentence], alpha, source_length[sentence] * sizeof *alpha);
        sum += found->log_probabilities[t];
        past.tokens[past.length++] = found->ids[t];
    }
    assert_near(found->log_probability, sum, 1e-9);
}

static void check_list(const listed_model *model, const search_options *options, size_t sentence,
                       const hypothesis *found, const translation *expected, size_t count)
{
    for (size_t k = 0; k < options->nbest; k++) {
        if (k >= count) {
            assert_int_equal(found[k].length, 0);
            assert_null(found[k].ids);
            continue;
        }
        assert_int_equal(found[k].length, expected[k].tokens.length);
        assert_int_equal(found[k].source_length, source_length[sentence]);
        assert_memory_equal(found[k].ids, expected[k].tokens.tokens, found[k].length * sizeof *found[k].ids);
        assert_near(found[k].log_probability, expected[k].log_probability, 1e-5);
        assert_near(found[k].score, expected[k].score, 1e-5);
        assert_true(hypothesis_ended(&found[k]) == expected[k].ended);
        check_tokens(model, &found[k], sentence);
    }
}

/* ---- every kind of score and ban
 * ------------------------------------------------------------------------------------- */

typedef void (*options_check)(const search_options *options, uint64_t number);

static void for_all_scores(search_options base, options_check check)
{
    for (size_t i = 0; i < SEARCH_SCORES; i++) {
        set_score(&base, i);
        check(&base, i + 1);
    }
}

static void for_all_bans(search_options base, options_check check)
{
    for (size_t minimum = 0; minimum <= 2; minimum += 2) {
        for (size_t n = 0; n <= 2; n++) {
            for (int ban = 0; ban <= 1; ban++) {
                base.min_length = minimum;
                base.no_repeat_ngram = n;
                base.ban_unknown = ban == 1;
                for_all_scores(base, check);
            }
        }
    }
}

/* ---- tests
 * ----------------------------------------------------------------------------------------------------------- */

static void compare_with_all(const search_options *options, uint64_t number)
{
    translation *expected = calloc(LIST, sizeof *expected);
    hypothesis *found = calloc(SENTENCES * options->nbest, sizeof *found);
    for (uint64_t seed = 0; seed < 4; seed++) {
        listed_model model = {.seed = 100 * seed + number, .spread = 1.5, .bad_sentence = SENTENCES};
        search_well(beam_search, &model, 0, SENTENCES, options, found);
        for (size_t i = 0; i < SENTENCES; i++) {
            const size_t count = list_all(&model, options, i, expected);
            check_list(&model, options, i, found + i * options->nbest, expected, count);
        }
        free_hypotheses(found, SENTENCES * options->nbest);
    }
    free(expected);
    free(found);
}

/* No step has more than 3^3 hypotheses of 4 extensions each. */
static void a_beam_wide_enough_finds_the_best_there_is(void **state)
{
    (void)state;
    search_options options = usual;
    options.beam = 108;
    for_all_bans(options, compare_with_all);
}

static void a_beam_wide_enough_lists_all_there_is(void **state)
{
    (void)state;
    search_options options = usual;
    options.beam = options.nbest = 128; /* of which not even so many are there */
    for_all_bans(options, compare_with_all);
}

static void compare_with_plain(const search_options *options, uint64_t number)
{
    translation *expected = calloc(LIST, sizeof *expected);
    hypothesis *found = calloc(SENTENCES * options->nbest, sizeof *found);
    for (uint64_t seed = 0; seed < 4; seed++) {
        listed_model model = {
            .seed = 100 * seed + number, .spread = 1.5, .end_bias = seed % 2, .bad_sentence = SENTENCES};
        search_well(beam_search, &model, 0, SENTENCES, options, found);
        for (size_t i = 0; i < SENTENCES; i++) {
            const size_t count = plain_beam(&model, options, i, expected);
            check_list(&model, options, i, found + i * options->nbest, expected, count);
        }
        free_hypotheses(found, SENTENCES * options->nbest);
    }
    free(expected);
    free(found);
}

/* Narrow beams, long limits: what is found is what a beam finds that never stops early. */
static void stopping_early_changes_nothing(void **state)
{
    (void)state;
    search_options options = usual;
    options.max_length_ratio = 2;
    options.max_length_extra = 7;
    for (size_t beam = 1; beam <= 7; beam++) {
        options.beam = beam;
        for (size_t nbest = 1; nbest <= beam; nbest += 2) {
            options.nbest = nbest;
            for_all_scores(options, compare_with_plain);
        }
    }
    options.beam = 4;
    options.nbest = 2;
    for_all_bans(options, compare_with_plain);
}

static void searches_do_stop_early(void **state)
{
    (void)state;
    listed_model model = {.seed = 1, .spread = 1, .end_bias = 8, .bad_sentence = SENTENCES};
    search_options options = usual;
    options.max_length_extra = 20;
    hypothesis found[SENTENCES];
    search_well(beam_search, &model, 0, SENTENCES, &options, found);
    assert_int_equal(model.steps, 1);
    assert_int_equal(model.rows[0], SENTENCES);
    free_hypotheses(found, SENTENCES);

    /* A bonus for length leaves hope for what is as improbable. */
    options.bonus = 1;
    search_well(beam_search, &model, 0, SENTENCES, &options, found);
    assert_in_range(model.steps, 2, 10);
    free_hypotheses(found, SENTENCES);
}

static void compare_with_greedy(const search_options *options, uint64_t number)
{
    hypothesis found[SENTENCES], expected[SENTENCES];
    for (uint64_t seed = 0; seed < 10; seed++) {
        listed_model model = {.seed = 100 * seed + number, .spread = 1, .end_bias = 0.5, .bad_sentence = SENTENCES};
        search_well(beam_search, &model, 0, SENTENCES, options, found);
        search_well(greedy_search, &model, 0, SENTENCES, options, expected);
        for (size_t i = 0; i < SENTENCES; i++) {
            assert_same_hypothesis(&found[i], &expected[i]);
        }
        free_hypotheses(found, SENTENCES);
        free_hypotheses(expected, SENTENCES);
    }
}

static void a_beam_of_one_is_greedy_search(void **state)
{
    (void)state;
    search_options options = usual;
    options.beam = 1;
    options.max_length_ratio = 2;
    options.max_length_extra = 5;
    for_all_scores(options, compare_with_greedy);
}

static void compare_with_alone(const search_options *options, uint64_t number)
{
    const size_t nbest = options->nbest;
    hypothesis *together = calloc(SENTENCES * nbest, sizeof *together), *alone = calloc(nbest, sizeof *alone);
    listed_model model = {.seed = number, .spread = 1, .bad_sentence = SENTENCES};
    search_well(beam_search, &model, 0, SENTENCES, options, together);
    for (size_t i = 0; i < SENTENCES; i++) {
        search_well(beam_search, &model, i, 1, options, alone);
        for (size_t k = 0; k < nbest; k++) {
            assert_same_hypothesis(&together[i * nbest + k], &alone[k]);
        }
        free_hypotheses(alone, nbest);
    }
    free_hypotheses(together, SENTENCES * nbest);
    free(together);
    free(alone);
}

static void the_batch_changes_nothing(void **state)
{
    (void)state;
    search_options options = usual;
    options.max_length_ratio = 3;
    options.max_length_extra = 4;
    options.beam = 5;
    options.nbest = 4;
    for_all_scores(options, compare_with_alone);
}

static void the_limit_cuts_and_what_ended_comes_first(void **state)
{
    (void)state;
    listed_model model = {.seed = 3, .spread = 0.1, .end_bias = -6, .bad_sentence = SENTENCES};
    search_options options = usual;
    options.beam = options.nbest = 3;
    options.max_length_extra = 4;
    options.penalty = NMT_LENGTH_AVERAGE;
    hypothesis found[SENTENCES * 3]; /* more words than places: `</s>` is never among them */
    search_well(beam_search, &model, 0, SENTENCES, &options, found);
    for (size_t i = 0; i < SENTENCES; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_false(hypothesis_ended(&found[3 * i + k]));
            assert_int_equal(found[3 * i + k].length, source_length[i] - 1 + 4);
        }
    }
    free_hypotheses(found, SENTENCES * 3);

    options.beam = 512; /* wide enough for `</s>` to be among the candidates */
    options.nbest = 4;
    search_well(beam_search, &model, 2, 1, &options, found);
    assert_true(hypothesis_ended(&found[0]));
    assert_true(found[0].score < -1.5); /* a cut one has about log(1/4) a token */
    free_hypotheses(found, 4);
}

static void the_attention_is_kept_only_when_asked_for(void **state)
{
    (void)state;
    listed_model model = {.seed = 3, .spread = 1, .bad_sentence = SENTENCES};
    search_options options = usual;
    options.alpha = false;
    hypothesis found[SENTENCES];
    search_well(beam_search, &model, 0, SENTENCES, &options, found);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_null(found[i].alpha);
        assert_true(found[i].length > 0);
    }
    free_hypotheses(found, SENTENCES);
}

static void equal_probabilities_go_to_the_smaller_number(void **state)
{
    (void)state;
    listed_model model = {.seed = 3, .spread = 0, .bad_sentence = SENTENCES};
    search_options options = usual;
    options.max_length_ratio = 1;
    options.max_length_extra = 1;
    options.beam = options.nbest = 4;
    hypothesis found[4];
    search_well(beam_search, &model, 2, 1, &options, found); /* a limit of 1 */
    const int32_t expected[] = {TOKEN_END, TOKEN_UNKNOWN, 3, 4};
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(found[k].length, 1);
        assert_int_equal(found[k].ids[0], expected[k]);
    }
    free_hypotheses(found, 4);

    /* And to the better beginning: all three take up the first of them. */
    options.beam = options.nbest = 3;
    options.min_length = 2;
    search_well(beam_search, &model, 0, 1, &options, found); /* a limit of 2 */
    const int32_t second[] = {TOKEN_UNKNOWN, 3, 4};
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(found[k].length, 2);
        assert_int_equal(found[k].ids[0], TOKEN_UNKNOWN);
        assert_int_equal(found[k].ids[1], second[k]);
    }
    free_hypotheses(found, 3);
}

static void only_bans_keep_a_beam_of_one_from_greedy_search(void **state)
{
    (void)state;
    listed_model model = {.seed = 5, .spread = 0.1, .end_bias = 3, .bad_sentence = SENTENCES};
    search_options options = usual;
    options.beam = 1;
    options.max_length_extra = 8;
    options.min_length = 3;
    options.no_repeat_ngram = 2;
    options.ban_unknown = true;
    hypothesis found[SENTENCES];
    search_well(search_best, &model, 0, SENTENCES, &options, found);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_int_equal(found[i].length, 4); /* `</s>` as soon as it may come */
        for (size_t t = 0; t < 3; t++) {
            assert_in_range(found[i].ids[t], 3, 4);
        }
    }
    free_hypotheses(found, SENTENCES);

    /* Of two words, five tokens at the most have no pair twice: then `</s>` comes early. */
    model.end_bias = -3;
    options.min_length = 7;
    search_well(search_best, &model, 0, SENTENCES, &options, found);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_in_range(hypothesis_words(&found[i]), 2, 5);
        assert_true(hypothesis_ended(&found[i]));
    }
    free_hypotheses(found, SENTENCES);
}

static void no_score_is_over_its_bound(void **state)
{
    (void)state;
    rng generator = rng_stream(1, "bounds", 0);
    const double bonuses[] = {-2, -0.1, 0, 0.1, 2};
    for (size_t i = 0; i < 2000; i++) {
        const search_options options = {.penalty = (nmt_length_penalty)(i % 3),
                                        .penalty_alpha = 3 * rng_uniform(&generator),
                                        .bonus = bonuses[i % 5]};
        const size_t length = (size_t)(10 * rng_uniform(&generator));
        const size_t limit = length + 1 + (size_t)(10 * rng_uniform(&generator));
        const double log_probability = -5 * rng_uniform(&generator);
        const double bound = search_bound(&options, log_probability, length, limit);
        for (size_t T = length + 1; T <= limit; T++) {
            const double score = search_score(&options, log_probability - 0.1 * (double)(i % 2), T);
            assert_true(score <= bound + 1e-12);
        }
        if (options.bonus >= 0) {
            assert_near(search_score(&options, log_probability, limit), bound, 1e-12);
        }
    }
}

static void numbers_that_are_not_finite_name_the_line(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < SENTENCES; bad++) {
        listed_model model = {.seed = 3, .spread = 0.1, .end_bias = -6, .bad_sentence = bad};
        search_options options = usual;
        options.max_length_extra = 4;
        options.nbest = 2;
        hypothesis found[SENTENCES * 2];
        nmt_error error;
        char expected[128];
        assert_int_equal(search_some(beam_search, &model, 0, SENTENCES, &options, found, &error), NMT_NOT_FINITE);
        snprintf(expected, sizeof expected, "line %zu: the model gives NaN or infinity for token 3 of its translation",
                 line_numbers[bad]);
        assert_string_equal(error.message, expected);
        for (size_t i = 0; i < SENTENCES * 2; i++) {
            assert_null(found[i].ids);
            assert_null(found[i].alpha);
        }
    }
}

static void an_error_of_the_model_ends_the_search(void **state)
{
    (void)state;
    listed_model model = {.seed = 3, .spread = 1, .end_bias = -6, .bad_sentence = SENTENCES, .failing_step = 2};
    hypothesis found[SENTENCES];
    nmt_error error;
    search_options options = usual;
    options.max_length_extra = 4;
    assert_int_equal(search_some(beam_search, &model, 0, SENTENCES, &options, found, &error), NMT_NO_MEMORY);
    assert_string_equal(error.message, "the model ends here");
    assert_null(found[0].ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beam_wide_enough_finds_the_best_there_is),
        cmocka_unit_test(a_beam_wide_enough_lists_all_there_is),
        cmocka_unit_test(stopping_early_changes_nothing),
        cmocka_unit_test(searches_do_stop_early),
        cmocka_unit_test(a_beam_of_one_is_greedy_search),
        cmocka_unit_test(the_batch_changes_nothing),
        cmocka_unit_test(the_limit_cuts_and_what_ended_comes_first),
        cmocka_unit_test(the_attention_is_kept_only_when_asked_for),
        cmocka_unit_test(equal_probabilities_go_to_the_smaller_number),
        cmocka_unit_test(only_bans_keep_a_beam_of_one_from_greedy_search),
        cmocka_unit_test(no_score_is_over_its_bound),
        cmocka_unit_test(numbers_that_are_not_finite_name_the_line),
        cmocka_unit_test(an_error_of_the_model_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
