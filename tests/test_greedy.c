/* Greedy search over a scripted model, whose logits and attention at every step are known numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "decode/greedy.h"
#include "decode/search.h"
#include "ops/log_sum_exp.h"
#include "support_reals.h"

enum { V = 7, SENTENCES = 3, STEPS = 40, WIDTH = 8 };

static const size_t source_length[SENTENCES] = {2, 4, 3}; /* with `</s>`; not in packed order */
enum { LONGEST = 4 };

/* ---- the scripted model
 * ---------------------------------------------------------------------------------------------- */

typedef struct script {
    real logits[SENTENCES][STEPS][V];
    size_t rows[STEPS]; /* hypotheses at each step, as they came */
    size_t steps, finished, width;
    size_t failing_step; /* this step, from 1, is an error; 0: none */
} script;

typedef struct scripted_decoding {
    decoding base;
    script *played;
    size_t rows, sentence[WIDTH], step[WIDTH]; /* each row's own step, from 0 */
    int32_t chosen[WIDTH];                     /* what each row is to be fed */
    real logits[WIDTH * V], alpha[WIDTH * LONGEST];
} scripted_decoding;

static const model_interface scripted_interface;

/* Sums to 1 over the sentence's own length. */
static real scripted_alpha(size_t sentence, size_t step, size_t position)
{
    const size_t S = source_length[sentence];
    const size_t total = S * (S + 1) / 2;
    return position < S ? (real)((position + step) % S + 1) / (real)total : 0;
}

static void scripted_begin(scripted_decoding *state, size_t sentence)
{
    assert_true(state->rows < state->played->width);
    state->sentence[state->rows] = sentence;
    state->step[state->rows] = 0;
    state->chosen[state->rows++] = TOKEN_START;
}

static nmt_status scripted_start(nmt_model *model, const sequences *sources, size_t width, decoding **state,
                                 nmt_error *error)
{
    scripted_decoding *made;
    script *played = model->architecture;
    played->width = width;
    assert_int_equal(sources->steps, LONGEST);
    if (memory_new(&made, 1, sizeof *made, "a scripted decoding", error) != NMT_OK) {
        return NMT_NO_MEMORY;
    }
    made->base.interface = &scripted_interface;
    made->played = played;
    for (size_t row = 0; row < width && row < sources->count; row++) {
        scripted_begin(made, row);
    }
    *state = &made->base;
    return NMT_OK;
}

static nmt_status scripted_step(decoding *base, const int32_t *previous, const real **logits, const real **alpha,
                                nmt_error *error)
{
    scripted_decoding *state = (scripted_decoding *)base;
    const size_t step = state->played->steps++;
    assert_true(step < STEPS);
    state->played->rows[step] = state->rows;
    if (step + 1 == state->played->failing_step) {
        return error_set(error, NMT_NO_MEMORY, "the script ends here");
    }
    for (size_t row = 0; row < state->rows; row++) {
        const size_t sentence = state->sentence[row];
        assert_int_equal(previous[row], state->chosen[row]);
        memcpy(state->logits + row * V, state->played->logits[sentence][state->step[row]], V * sizeof(real));
        for (size_t s = 0; s < LONGEST; s++) {
            state->alpha[row * LONGEST + s] = scripted_alpha(sentence, state->step[row], s);
        }
    }
    *logits = state->logits;
    *alpha = state->alpha;
    return NMT_OK;
}

/* The word that the script wants at a step: the first of the largest logits that is not `<s>`. */
static int32_t wanted(const real logits[V])
{
    int32_t best = 0;
    for (int32_t i = 2; i < V; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

static nmt_status scripted_reorder(decoding *base, const size_t *parents, size_t count, nmt_error *error)
{
    (void)error;
    scripted_decoding *state = (scripted_decoding *)base;
    assert_true(count <= state->rows);
    for (size_t row = 0; row < count; row++) {
        const size_t parent = parents[row];
        assert_true(parent >= row && parent < state->rows);
        state->sentence[row] = state->sentence[parent];
        state->chosen[row] = wanted(state->played->logits[state->sentence[row]][state->step[parent]]);
        state->step[row] = state->step[parent] + 1;
    }
    state->rows = count;
    return NMT_OK;
}

static nmt_status scripted_join(decoding *base, const size_t *sentences, size_t count, nmt_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; i++) {
        scripted_begin((scripted_decoding *)base, sentences[i]);
    }
    return NMT_OK;
}

static void scripted_finish(decoding *base)
{
    ((scripted_decoding *)base)->played->finished++;
    free(base);
}

static const model_interface scripted_interface = {.name = "a script",
                                                   .start = scripted_start,
                                                   .step = scripted_step,
                                                   .reorder = scripted_reorder,
                                                   .join = scripted_join,
                                                   .finish = scripted_finish};

/* ---- a search
 * -------------------------------------------------------------------------------------------------------- */

typedef struct fixture {
    script played;
    nmt_model model;
    sequences sources;
    search_options options;
    hypothesis best[SENTENCES];
    nmt_error error;
} fixture;

static const size_t line_numbers[SENTENCES] = {17, 4, 9};

/* Small random logits, the word `3 + step % 4` above them: no sentence ends. */
static void write_script(script *played)
{
    rng generator = rng_stream(1, "script", 0);
    memset(played, 0, sizeof *played);
    for (size_t b = 0; b < SENTENCES; b++) {
        for (size_t t = 0; t < STEPS; t++) {
            for (size_t i = 0; i < V; i++) {
                played->logits[b][t][i] = (real)rng_uniform(&generator);
            }
            played->logits[b][t][3 + t % 4] = 2;
        }
    }
}

static void open_search(fixture *it)
{
    static const char *const words[V] = {"<unk>", "<s>", "</s>", "a", "b", "c", "d"};
    static const int32_t ids[SENTENCES][LONGEST] = {{3, 2}, {3, 4, 5, 2}, {5, 3, 2}};
    const int32_t *const sides[SENTENCES] = {ids[0], ids[1], ids[2]};
    memset(it, 0, sizeof *it);
    write_script(&it->played);
    it->model.interface = &scripted_interface;
    it->model.architecture = &it->played;
    assert_int_equal(vocabulary_from_words(&it->model.target_words, words, V, "words", &it->error), NMT_OK);
    assert_int_equal(sequences_set(&it->sources, sides, source_length, SENTENCES, &it->error), NMT_OK);
    it->options = (search_options){
        .max_length_ratio = 2, .max_length_extra = 3, .width = SENTENCES, .beam = 1, .nbest = 1, .alpha = true};
}

static nmt_status run_search(fixture *it)
{
    memset(it->best, 0xAB, sizeof it->best); /* overwritten, whatever was there */
    const nmt_status status = search_best(&it->model, &it->sources, line_numbers, &it->options, it->best, &it->error);
    assert_int_equal(it->played.finished, 1);
    return status;
}

static void run_well(fixture *it)
{
    if (run_search(it) != NMT_OK) {
        fail_msg("%s", it->error.message);
    }
}

static void close_search(fixture *it)
{
    for (size_t i = 0; i < SENTENCES; i++) {
        hypothesis_free(&it->best[i]);
    }
    vocabulary_free(it->model.target_words);
    sequences_free(&it->sources);
}

static double log_softmax(const real *logits, int32_t token)
{
    double sum = 0;
    for (size_t i = 0; i < V; i++) {
        sum += exp((double)logits[i]);
    }
    return (double)logits[token] - log(sum);
}

/* ---- tests
 * ----------------------------------------------------------------------------------------------------------- */

static void check_against_script(const fixture *it, size_t sentence, size_t length)
{
    const hypothesis *best = &it->best[sentence];
    const size_t S = source_length[sentence];
    double log_probability = 0;
    assert_int_equal(best->length, length);
    assert_int_equal(best->source_length, S);
    for (size_t t = 0; t < length; t++) {
        const real *logits = it->played.logits[sentence][t];
        assert_int_equal(best->ids[t], wanted(logits));
        log_probability += log_softmax(logits, wanted(logits));
        for (size_t s = 0; s < S; s++) {
            assert_true(best->alpha[t * S + s] == scripted_alpha(sentence, t, s));
        }
    }
    assert_near(best->log_probability, log_probability, 1e-6);
}

static void end_after_3_1_and_4(script *played)
{
    played->logits[0][2][TOKEN_END] = 5;
    played->logits[1][0][TOKEN_END] = 5;
    played->logits[2][3][TOKEN_END] = 5;
}

static void check_3_1_and_4(const fixture *it)
{
    check_against_script(it, 0, 3);
    check_against_script(it, 1, 1);
    check_against_script(it, 2, 4);
}

static void sentences_that_end_leave_the_batch(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    end_after_3_1_and_4(&it.played);
    run_well(&it);
    check_3_1_and_4(&it);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_true(hypothesis_ended(&it.best[i]));
        assert_int_equal(hypothesis_words(&it.best[i]), it.best[i].length - 1);
    }
    const size_t rows[] = {3, 2, 2, 1};
    assert_int_equal(it.played.steps, 4);
    assert_memory_equal(it.played.rows, rows, sizeof rows);
    close_search(&it);
}

/* As above, but with room for one or two at a time. */
static void who_waits_takes_the_place_of_who_ended(void **state)
{
    (void)state;
    static const size_t rows[2][8] = {{1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 1, 1}}, steps[2] = {8, 5};
    for (size_t width = 1; width <= 2; width++) {
        fixture it;
        open_search(&it);
        it.options.width = width;
        end_after_3_1_and_4(&it.played);
        run_well(&it);
        check_3_1_and_4(&it);
        assert_int_equal(it.played.width, width);
        assert_int_equal(it.played.steps, steps[width - 1]);
        assert_memory_equal(it.played.rows, rows[width - 1], steps[width - 1] * sizeof **rows);
        close_search(&it);
    }
}

static void equal_logits_go_to_the_smaller_number(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    it.played.logits[0][0][5] = it.played.logits[0][0][6] = 9;
    it.played.logits[1][0][TOKEN_UNKNOWN] = it.played.logits[1][0][TOKEN_END] = 9;
    it.played.logits[2][0][TOKEN_END] = it.played.logits[2][0][3] = 9;
    run_well(&it);
    assert_int_equal(it.best[0].ids[0], 5);
    assert_int_equal(it.best[1].ids[0], TOKEN_UNKNOWN);
    assert_int_equal(it.best[2].ids[0], TOKEN_END);
    assert_int_equal(it.best[2].length, 1);
    close_search(&it);
}

static void start_of_sentence_is_never_chosen(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    for (size_t t = 0; t < STEPS; t++) {
        it.played.logits[1][t][TOKEN_START] = 30;
    }
    it.played.logits[1][2][TOKEN_END] = 20;
    run_well(&it);
    check_against_script(&it, 1, 3);
    assert_int_equal(it.best[1].ids[0], 3);
    assert_true(it.best[1].log_probability < -60); /* `<s>` has its share of the probability all the same */
    close_search(&it);
}

static void a_limit_cuts_without_end_of_sentence(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    it.options.max_length_ratio = 1.5;
    it.played.logits[2][5][TOKEN_END] = 5; /* as the last token that its limit allows */
    run_well(&it);
    check_against_script(&it, 0, 1 + 3);
    check_against_script(&it, 1, 4 + 3);
    check_against_script(&it, 2, 3 + 3);
    assert_false(hypothesis_ended(&it.best[0]));
    assert_int_equal(hypothesis_words(&it.best[0]), 4);
    assert_false(hypothesis_ended(&it.best[1]));
    assert_true(hypothesis_ended(&it.best[2]));
    assert_int_equal(it.played.steps, 7);
    close_search(&it);
}

static void limits(void **state)
{
    (void)state;
    const search_options usual = {.max_length_ratio = 3, .max_length_extra = 10};
    assert_int_equal(search_length_limit(&usual, 0), 10);
    assert_int_equal(search_length_limit(&usual, 7), 31);
    const search_options small = {.max_length_ratio = 0.7, .max_length_extra = 1};
    assert_int_equal(search_length_limit(&small, 1), 1);
    assert_int_equal(search_length_limit(&small, 9), 7);
    const search_options large = {.max_length_ratio = 1e300, .max_length_extra = SIZE_MAX};
    assert_true(search_length_limit(&large, 1000) == SIZE_MAX);
    const search_options wide = {.max_length_ratio = 1e300, .max_length_extra = 1};
    assert_true(search_length_limit(&wide, 1000) > 1000000000);
}

static void attention_is_kept_only_when_asked_for(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    it.options.alpha = false;
    run_well(&it);
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_null(it.best[i].alpha);
        assert_true(it.best[i].length > 0);
    }
    close_search(&it);
}

static void assert_nothing_is_owned(const fixture *it)
{
    for (size_t i = 0; i < SENTENCES; i++) {
        assert_null(it->best[i].ids);
        assert_null(it->best[i].alpha);
        assert_int_equal(it->best[i].length, 0);
    }
}

static void numbers_that_are_not_finite_name_the_line(void **state)
{
    (void)state;
    const real bad[] = {(real)NAN, (real)INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t token = 0; token < V; token++) {
            fixture it;
            open_search(&it);
            it.played.logits[0][0][TOKEN_END] = 5; /* the rows have moved up by then */
            it.played.logits[2][2][token] = bad[i];
            assert_int_equal(run_search(&it), NMT_NOT_FINITE);
            assert_string_equal(it.error.message,
                                "line 9: the model gives NaN or infinity for token 3 of its translation");
            assert_nothing_is_owned(&it);
            close_search(&it);
        }
    }
}

static void an_error_of_the_model_ends_the_search(void **state)
{
    (void)state;
    fixture it;
    open_search(&it);
    it.played.failing_step = 3;
    assert_int_equal(run_search(&it), NMT_NO_MEMORY);
    assert_string_equal(it.error.message, "the script ends here");
    assert_nothing_is_owned(&it);
    close_search(&it);
}

/* ---- the normaliser
 * -------------------------------------------------------------------------------------------------- */

static void log_sum_exp_is_exact(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 7, 33, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        real *logits = normal_reals(counts[i], 3, 5);
        double sum = 0;
        for (size_t k = 0; k < counts[i]; k++) {
            sum += exp((double)logits[k]);
        }
        assert_near(log_sum_exp(logits, counts[i]), log(sum), 1e-6);
        free(logits);
    }
}

static void log_sum_exp_neither_overflows_nor_hides(void **state)
{
    (void)state;
    const real inf = (real)INFINITY;
    assert_near(log_sum_exp((const real[]){10000, 10000}, 2), 10000 + log(2), 1e-9);
    assert_near(log_sum_exp((const real[]){-10000, -10001}, 2), -10000 + log(1 + exp(-1)), 1e-7);
    assert_near(log_sum_exp((const real[]){-inf, 1}, 2), 1, 0);
    assert_false(isfinite(log_sum_exp((const real[]){-inf, -inf}, 2)));
    assert_false(isfinite(log_sum_exp((const real[]){1, inf}, 2)));
    for (size_t i = 0; i < 19; i++) {
        real logits[19] = {0};
        logits[i] = (real)NAN;
        assert_false(isfinite(log_sum_exp(logits, 19)));
    }
}

static void the_largest_is_found_wherever_it_stands(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 511, 512, 513, 1500};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const size_t count = counts[i];
        real *values = normal_reals(count, 1, 7);
        for (size_t place = 0; place < count; place += count < 3 ? 1 : count / 3 - 1) {
            const real before = values[place];
            values[place] = 10;
            assert_int_equal(largest_place(values, count), place);
            const real last = values[count - 1];
            values[count - 1] = 10; /* the first among equals */
            assert_int_equal(largest_place(values, count), place);
            values[count - 1] = last;
            values[place] = before;
        }
        free(values);
    }
    const real low[] = {-(real)INFINITY, -(real)INFINITY, -3};
    assert_int_equal(largest_place(low, 3), 2);
    assert_int_equal(largest_place(low, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_that_end_leave_the_batch),
        cmocka_unit_test(who_waits_takes_the_place_of_who_ended),
        cmocka_unit_test(equal_logits_go_to_the_smaller_number),
        cmocka_unit_test(start_of_sentence_is_never_chosen),
        cmocka_unit_test(a_limit_cuts_without_end_of_sentence),
        cmocka_unit_test(limits),
        cmocka_unit_test(attention_is_kept_only_when_asked_for),
        cmocka_unit_test(numbers_that_are_not_finite_name_the_line),
        cmocka_unit_test(an_error_of_the_model_ends_the_search),
        cmocka_unit_test(log_sum_exp_is_exact),
        cmocka_unit_test(log_sum_exp_neither_overflows_nor_hides),
        cmocka_unit_test(the_largest_is_found_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
