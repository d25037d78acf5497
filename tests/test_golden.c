/*
 * The whole model against PyTorch: golden/<case>.json, one for each choice of the configuration, holds parameters, a
 * batch and what scripts/reference/make_goldens.py computed from them in double precision. Here the same is computed in
 * float, by way of training and by way of decoding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/json.h"
#include "model/model.h"
#include "train/clipping.h"
#include "train/optimizer.h"

enum { CASES = 32, SENTENCES_MAX = 8, NAME_CAPACITY = 300, GREEDY_MAX = 64 };

static const double tolerance = 1e-5; /* relative */

typedef struct golden {
    char path[NAME_CAPACITY];
    json *root;
    nmt_model *model;
    batch pairs;
} golden;

typedef void (*golden_check)(golden *expected);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static void assert_ok(nmt_status status, const nmt_error *error, const char *path)
{
    if (status != NMT_OK) {
        fail_msg("%s: %s", path, error->message);
    }
}

static const json *member(const json *object, const char *key)
{
    const json *value = json_get(object, key);
    if (value == NULL) {
        fail_msg("the golden has no '%s'", key);
    }
    return value;
}

static vocabulary *numbered_words(size_t size, const char *path)
{
    char text[64][24];
    const char *list[64] = {"<unk>", "<s>", "</s>"};
    assert_in_range(size, TOKEN_FIRST_WORD + 1, 64);
    for (size_t i = TOKEN_FIRST_WORD; i < size; i++) {
        snprintf(text[i], sizeof text[i], "w%zu", i);
        list[i] = text[i];
    }
    vocabulary *words;
    nmt_error error;
    assert_ok(vocabulary_from_words(&words, list, size, path, &error), &error, path);
    return words;
}

/* One side of the batch: its sentences' numbers, each the caller's to free. Returns how many sentences. */
static size_t read_sentences(const json *list, int32_t **ids, size_t *lengths)
{
    size_t count = 0;
    for (const json *sentence = json_first(list); sentence != NULL; sentence = json_next(sentence), count++) {
        assert_true(count < SENTENCES_MAX);
        ids[count] = calloc(json_count(sentence) + 1, sizeof **ids);
        lengths[count] = 0;
        for (const json *token = json_first(sentence); token != NULL; token = json_next(token)) {
            ids[count][lengths[count]++] = (int32_t)json_number(token);
        }
    }
    return count;
}

static void read_batch(golden *expected)
{
    int32_t *sources[SENTENCES_MAX], *targets[SENTENCES_MAX];
    size_t source_lengths[SENTENCES_MAX], target_lengths[SENTENCES_MAX];
    const json *sentences = member(expected->root, "batch");
    const size_t count = read_sentences(member(sentences, "sources"), sources, source_lengths);
    assert_int_equal(read_sentences(member(sentences, "targets"), targets, target_lengths), count);
    nmt_error error;
    assert_ok(batch_set(&expected->pairs, (const int32_t *const *)sources, source_lengths,
                        (const int32_t *const *)targets, target_lengths, count, &error),
              &error, expected->path);
    for (size_t i = 0; i < count; i++) {
        free(sources[i]);
        free(targets[i]);
    }
}

static void read_parameters(golden *expected)
{
    const parameter_table *table = &expected->model->parameters;
    const json *tensors = member(expected->root, "parameters");
    for (size_t i = 0; i < table->count; i++) {
        real *values = expected->model->block + table->tensors[i].offset;
        const json *list = member(member(tensors, table->tensors[i].name), "values");
        assert_int_equal(json_count(list), tensor_size(&table->tensors[i]));
        for (const json *value = json_first(list); value != NULL; value = json_next(value)) {
            *values++ = (real)json_number(value);
        }
    }
}

static void golden_open(golden *expected, const char *path)
{
    *expected = (golden){0};
    snprintf(expected->path, sizeof expected->path, "%s", path);
    char *text;
    size_t length;
    nmt_error error;
    assert_ok(io_read_file(&text, &length, path, 1 << 20, &error), &error, path);
    assert_ok(json_parse(&expected->root, text, length, path, &error), &error, path);
    free(text);
    nmt_config *config;
    assert_ok(config_from_json(&config, member(expected->root, "config"), path, &error), &error, path);
    vocabulary *source_words =
        numbered_words((size_t)json_number(member(expected->root, "source_vocabulary_size")), path);
    vocabulary *target_words =
        numbered_words((size_t)json_number(member(expected->root, "target_vocabulary_size")), path);
    assert_ok(model_create(&expected->model, config, source_words, target_words, &error), &error, path);
    read_parameters(expected);
    read_batch(expected);
}

static void golden_close(golden *expected)
{
    batch_free(&expected->pairs);
    nmt_model_free(expected->model);
    json_free(expected->root);
}

static void for_each_golden(golden_check check)
{
    DIR *directory = opendir("golden");
    assert_non_null(directory);
    size_t count = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strstr(entry->d_name, ".json") == NULL) {
            continue;
        }
        char path[NAME_CAPACITY];
        snprintf(path, sizeof path, "golden/%s", entry->d_name);
        golden expected;
        golden_open(&expected, path);
        check(&expected);
        golden_close(&expected);
        count++;
    }
    closedir(directory);
    assert_int_equal(count, CASES);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static void compare_loss(const golden *expected, double nats, double wanted, const char *what)
{
    if (!(fabs(nats - wanted) <= tolerance * fabs(wanted))) {
        fail_msg("%s: %s is %.9g, expected %.9g", expected->path, what, nats, wanted);
    }
}

static void compare_shape(const golden *expected, const tensor *entry, const json *shape)
{
    const json *rows = json_first(shape);
    const json *columns = json_next(rows);
    if (json_number(rows) != (double)entry->rows ||
        (columns == NULL ? 0 : json_number(columns)) != (double)entry->columns) {
        fail_msg("%s: %s has another shape, [%zu,%zu]", expected->path, entry->name, entry->rows, entry->columns);
    }
}

/* Within the tolerance of the tensor's largest magnitude; and what is zero there, the gradient of a word that did not
 * occur, is zero here. */
static void compare_tensor(const golden *expected, const tensor *entry, const json *wanted, const real *found)
{
    double largest = 0;
    for (const json *value = json_first(wanted); value != NULL; value = json_next(value)) {
        largest = fmax(largest, fabs(json_number(value)));
    }
    size_t i = 0;
    for (const json *value = json_first(wanted); value != NULL; value = json_next(value), i++) {
        const double number = json_number(value);
        const double allowed = number == 0 ? 0 : tolerance * largest;
        if (!(fabs((double)found[i] - number) <= allowed)) {
            fail_msg("%s: %s, element %zu is %.9g, expected %.9g (the largest is %.3g)", expected->path, entry->name, i,
                     (double)found[i], number, largest);
        }
    }
    assert_int_equal(i, tensor_size(entry));
}

static void compare_block(const golden *expected, const json *tensors, const real *block)
{
    const parameter_table *table = &expected->model->parameters;
    assert_int_equal(table->count, json_count(tensors));
    for (size_t i = 0; i < table->count; i++) {
        const tensor *entry = &table->tensors[i];
        const json *wanted = member(tensors, entry->name);
        compare_shape(expected, entry, member(wanted, "shape"));
        compare_tensor(expected, entry, member(wanted, "values"), block + entry->offset);
    }
}

/* ---- training --------------------------------------------------------------------------------------------------- */

static real *new_block(const golden *expected)
{
    real *block = calloc(expected->model->parameters.size, sizeof *block);
    assert_non_null(block);
    return block;
}

static void check_loss_and_gradient(golden *expected)
{
    const double wanted = json_number(member(expected->root, "loss"));
    real *gradient = new_block(expected);
    batch_loss loss;
    nmt_error error;
    assert_ok(model_loss_and_gradient(expected->model, &expected->pairs, NULL, 0, 0, &loss, &error), &error,
              expected->path);
    compare_loss(expected, loss.nats, wanted, "the loss without gradient");
    assert_ok(model_loss_and_gradient(expected->model, &expected->pairs, gradient, 1, 0, &loss, &error), &error,
              expected->path);
    compare_loss(expected, loss.nats, wanted, "the loss");
    compare_loss(expected, loss.objective, json_number(member(expected->root, "objective")), "the objective");
    assert_int_equal(loss.tokens, expected->pairs.input.tokens);
    compare_block(expected, member(expected->root, "gradients"), gradient);
    free(gradient);
}

static void golden_optimizer(optimizer *rule, const golden *expected)
{
    static const optimizer_kind kinds[] = {
        [OPTIMIZER_ADAM] = OPTIMIZE_ADAM, [OPTIMIZER_ADADELTA] = OPTIMIZE_ADADELTA, [OPTIMIZER_SGD] = OPTIMIZE_SGD};
    const nmt_config *config = expected->model->config;
    const optimizer_options options = {.kind = kinds[config->training.optimizer],
                                       .beta1 = config->training.beta1,
                                       .beta2 = config->training.beta2,
                                       .epsilon = config->training.epsilon,
                                       .rho = config->training.rho,
                                       .adadelta_epsilon = config->training.adadelta_epsilon,
                                       .momentum = config->training.momentum};
    nmt_error error;
    assert_ok(optimizer_create(rule, &options, expected->model->parameters.size, &error), &error, expected->path);
}

/* Updates on the mean loss of a target token, the gradient clipped by its norm. */
static void check_updates(golden *expected)
{
    nmt_model *model = expected->model;
    const size_t size = model->parameters.size;
    const json *updates = member(expected->root, "updates");
    real *gradient = new_block(expected);
    optimizer rule;
    golden_optimizer(&rule, expected);
    uint64_t update = 0;
    for (const json *wanted = json_first(member(updates, "losses")); wanted != NULL; wanted = json_next(wanted)) {
        batch_loss loss;
        nmt_error error;
        const real mean = 1 / (real)expected->pairs.input.tokens;
        assert_ok(model_loss_and_gradient(model, &expected->pairs, gradient, mean, update++, &loss, &error), &error,
                  expected->path);
        compare_loss(expected, loss.nats, json_number(wanted), "the loss of an update");
        const double scale = clipping_scale(gradient_norm(gradient, size), model->config->training.clip_norm);
        assert_true(scale < 1);
        optimizer_update(&rule, model->block, gradient, model->config->training.learning_rate, scale);
    }
    compare_block(expected, member(updates, "parameters"), model->block);
    optimizer_free(&rule);
    free(gradient);
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

static double log_probability(const real *logits, size_t count, int32_t token)
{
    double largest = logits[0], sum = 0;
    for (size_t i = 1; i < count; i++) {
        largest = fmax(largest, logits[i]);
    }
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[i] - largest);
    }
    return logits[token] - largest - log(sum);
}

/* Weights of one step over `width` positions: the sentence's own are as expected, those behind exactly 0. */
static void compare_alpha(const golden *expected, const json *wanted, const real *alpha, size_t width)
{
    const json *value = json_first(wanted);
    for (size_t i = 0; i < width; i++) {
        const double number = value == NULL ? 0 : json_number(value);
        if (!(fabs((double)alpha[i] - number) <= tolerance * number)) {
            fail_msg("%s: the attention at source token %zu is %.9g, expected %.9g", expected->path, i,
                     (double)alpha[i], number);
        }
        value = value == NULL ? NULL : json_next(value);
    }
    assert_null(value);
}

static void check_alignment(golden *expected)
{
    const sequences *source = &expected->pairs.source, *input = &expected->pairs.input;
    real *alpha = calloc(input->tokens * source->steps, sizeof *alpha);
    assert_non_null(alpha);
    nmt_error error;
    assert_ok(model_align(expected->model, &expected->pairs, alpha, &error), &error, expected->path);
    size_t sentence = 0, rows = 0;
    const json *matrix = json_first(member(expected->root, "alpha"));
    for (; matrix != NULL; matrix = json_next(matrix), sentence++) {
        size_t t = 0;
        for (const json *weights = json_first(matrix); weights != NULL; weights = json_next(weights), t++, rows++) {
            const size_t row = input->offset[t] + input->row[sentence];
            compare_alpha(expected, weights, alpha + row * source->steps, source->steps);
        }
    }
    assert_int_equal(rows, input->tokens);
    free(alpha);
}

/* The true target fed step by step through the decoding interface: attention and loss as in training. */
static void check_forced_decoding(golden *expected)
{
    nmt_model *model = expected->model;
    const size_t count = expected->pairs.source.count, words = vocabulary_size(model->target_words);
    const json *target[SENTENCES_MAX], *weights[SENTENCES_MAX];
    int32_t previous[SENTENCES_MAX];
    size_t same[SENTENCES_MAX];
    const json *sentence = json_first(member(member(expected->root, "batch"), "targets"));
    const json *matrix = json_first(member(expected->root, "alpha"));
    for (size_t i = 0; i < count; i++, sentence = json_next(sentence), matrix = json_next(matrix)) {
        target[i] = json_first(sentence);
        weights[i] = json_first(matrix);
        previous[i] = TOKEN_START;
        same[i] = i;
    }
    decoding *state;
    nmt_error error;
    assert_ok(model_start(model, &expected->pairs.source, expected->pairs.source.count, &state, &error), &error,
              expected->path);
    double nats = 0;
    for (size_t t = 0; t < expected->pairs.input.steps; t++) {
        const real *logits, *alpha;
        assert_ok(model_step(state, previous, &logits, &alpha, &error), &error, expected->path);
        for (size_t i = 0; i < count; i++) {
            if (weights[i] == NULL) { /* the sentence has ended */
                continue;
            }
            compare_alpha(expected, weights[i], alpha + i * expected->pairs.source.steps, expected->pairs.source.steps);
            previous[i] = target[i] == NULL ? TOKEN_END : (int32_t)json_number(target[i]);
            nats -= log_probability(logits + i * words, words, previous[i]);
            weights[i] = json_next(weights[i]);
            target[i] = target[i] == NULL ? NULL : json_next(target[i]);
        }
        assert_ok(model_reorder(state, same, count, &error), &error, expected->path);
    }
    model_finish(state);
    compare_loss(expected, nats, json_number(member(expected->root, "loss")), "the loss by steps");
}

static int32_t likeliest(const real *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (int32_t)best;
}

static void compare_output(const golden *expected, const json *wanted, const int32_t *output, size_t length,
                           size_t sentence)
{
    if (length != json_count(wanted)) {
        fail_msg("%s: greedy output of sentence %zu has %zu tokens, expected %zu", expected->path, sentence, length,
                 json_count(wanted));
    }
    const json *token = json_first(wanted);
    for (size_t t = 0; t < length; t++, token = json_next(token)) {
        if (output[t] != (int32_t)json_number(token)) {
            fail_msg("%s: greedy token %zu of sentence %zu is %d, expected %g", expected->path, t, sentence, output[t],
                     json_number(token));
        }
    }
}

/* Greedy outputs by sentence, and the hypotheses that have not ended. */
typedef struct greedy_run {
    int32_t output[SENTENCES_MAX][GREEDY_MAX];
    size_t length[SENTENCES_MAX];
    size_t count, sentence[SENTENCES_MAX], parents[SENTENCES_MAX];
    int32_t previous[SENTENCES_MAX];
} greedy_run;

/* Hypotheses that end are left behind, so the others' parents are no longer themselves. */
static void extend(greedy_run *run, const real *logits, size_t words)
{
    size_t going = 0;
    for (size_t i = 0; i < run->count; i++) {
        const int32_t token = likeliest(logits + i * words, words);
        if (token != TOKEN_END) {
            const size_t sentence = run->sentence[i];
            run->output[sentence][run->length[sentence]++] = token;
            run->parents[going] = i;
            run->sentence[going] = sentence;
            run->previous[going++] = token;
        }
    }
    run->count = going;
}

static void check_greedy(golden *expected)
{
    nmt_model *model = expected->model;
    const size_t limit = (size_t)json_number(member(expected->root, "greedy_limit"));
    assert_true(limit <= GREEDY_MAX);
    greedy_run run = {.count = expected->pairs.source.count};
    for (size_t i = 0; i < run.count; i++) {
        run.previous[i] = TOKEN_START;
        run.sentence[i] = i;
    }
    decoding *state;
    nmt_error error;
    assert_ok(model_start(model, &expected->pairs.source, expected->pairs.source.count, &state, &error), &error,
              expected->path);
    for (size_t t = 0; t < limit && run.count > 0; t++) {
        const real *logits, *alpha;
        assert_ok(model_step(state, run.previous, &logits, &alpha, &error), &error, expected->path);
        extend(&run, logits, vocabulary_size(model->target_words));
        assert_ok(model_reorder(state, run.parents, run.count, &error), &error, expected->path);
    }
    model_finish(state);
    const json *wanted = json_first(member(expected->root, "greedy"));
    for (size_t i = 0; i < expected->pairs.source.count; i++, wanted = json_next(wanted)) {
        compare_output(expected, wanted, run.output[i], run.length[i], i);
    }
}

static void test_loss_and_gradients(void **state)
{
    (void)state;
    for_each_golden(check_loss_and_gradient);
}

static void test_updates(void **state)
{
    (void)state;
    for_each_golden(check_updates);
}

static void test_alignment(void **state)
{
    (void)state;
    for_each_golden(check_alignment);
}

static void test_forced_decoding(void **state)
{
    (void)state;
    for_each_golden(check_forced_decoding);
}

static void test_greedy(void **state)
{
    (void)state;
    for_each_golden(check_greedy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_and_gradients), cmocka_unit_test(test_updates), cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_forced_decoding),    cmocka_unit_test(test_greedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
