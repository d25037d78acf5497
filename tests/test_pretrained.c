/* Embeddings that start from word vectors: frozen ones stay, to the bit, whatever else moves; the others learn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/checkpoint.h"
#include "support_training.h"

enum { SOURCE_SIZE = 5, TARGET_SIZE = 4 };

/* Vectors of three of the seven words of either side, and of a word that the text does not have. */
static const char *const source_vectors = "4 5\ns0 1 2 3 4 5\ns9 9 9 9 9 9\ns3 5 4 3 2 1\ns6 0.5 0.25 -1 -2 8\n";
static const char *const target_vectors = "t0 1 2 3 4\nt5 -4 -3 -2 -1\nt9 9 9 9 9\n";

static const tensor *find(const nmt_model *model, const char *name)
{
    for (size_t t = 0; t < model->parameters.count; t++) {
        if (strcmp(model->parameters.tensors[t].name, name) == 0) {
            return &model->parameters.tensors[t];
        }
    }
    fail_msg("the model has no %s", name);
    return NULL;
}

static nmt_model *trained(const char *epochs, const char *rule, const char *freeze, training_run *run)
{
    char source[600], target[600];
    nmt_model *model;
    nmt_error error;
    snprintf(source, sizeof source, "data.source_embeddings=%s", support_write("source.vec", source_vectors));
    snprintf(target, sizeof target, "data.target_embeddings=%s", support_write("target.vec", target_vectors));
    train_anew(run, SETTINGS(source, target, epochs, rule, freeze, "training.weight_decay=0.1",
                             "training.average_decay=0.5", "dropout.source_word=0.1"));
    if (checkpoint_load_model(&model, run_path("model.safetensors"), &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

static void assert_vector(const nmt_model *model, const char *name, const vocabulary *words, const char *word,
                          const real *expected, bool same)
{
    const tensor *entry = find(model, name);
    const int32_t number = vocabulary_find(words, word, strlen(word));
    assert_true(number >= TOKEN_FIRST_WORD);
    const real *found = model->block + entry->offset + (size_t)number * entry->columns;
    assert_int_equal(memcmp(found, expected, entry->columns * sizeof *found) == 0, same);
}

static void check_rule(const char *rule)
{
    static const real s3[SOURCE_SIZE] = {5, 4, 3, 2, 1}, s6[SOURCE_SIZE] = {0.5, 0.25, -1, -2, 8};
    static const real t0[TARGET_SIZE] = {1, 2, 3, 4};
    training_run run;
    nmt_model *once = trained("training.epochs=1", rule, "training.freeze_source=true", &run);
    assert_contains(run.log, "source embeddings: 3 of 7 words found; frozen\n");
    assert_contains(run.log, "target embeddings: 2 of 7 words found\n");
    end_run(&run);
    nmt_model *more = trained("training.epochs=3", rule, "training.freeze_source=true", &run);
    end_run(&run);
    assert_vector(more, "encoder.embedding.weight", more->source_words, "s3", s3, true);
    assert_vector(more, "encoder.embedding.weight", more->source_words, "s6", s6, true);
    assert_vector(more, "decoder.embedding.weight", more->target_words, "t0", t0, false);
    const tensor *frozen = find(once, "encoder.embedding.weight"), *free_one = find(once, "decoder.embedding.weight");
    assert_memory_equal(once->block + frozen->offset, more->block + frozen->offset, tensor_size(frozen) * sizeof(real));
    assert_memory_not_equal(once->block + free_one->offset, more->block + free_one->offset,
                            tensor_size(free_one) * sizeof(real));
    nmt_model_free(once);
    nmt_model_free(more);
}

static void frozen_embeddings_stay(void **state)
{
    (void)state;
    check_rule("training.optimizer=adam");
    check_rule("training.optimizer=adadelta");
    check_rule("training.optimizer=sgd");
}

static void others_start_from_their_vectors_and_learn(void **state)
{
    (void)state;
    static const real s3[SOURCE_SIZE] = {5, 4, 3, 2, 1};
    training_run run;
    nmt_model *model =
        trained("training.epochs=1", "training.learning_rate=0.001", "training.freeze_source=false", &run);
    assert_contains(run.log, "source embeddings: 3 of 7 words found\n");
    assert_vector(model, "encoder.embedding.weight", model->source_words, "s3", s3, false);
    const tensor *entry = find(model, "encoder.embedding.weight");
    const real *found =
        model->block + entry->offset + (size_t)vocabulary_find(model->source_words, "s3", 2) * entry->columns;
    for (size_t i = 0; i < SOURCE_SIZE; i++) {
        assert_true(found[i] > s3[i] - 0.1F && found[i] < s3[i] + 0.1F);
    }
    nmt_model_free(model);
    end_run(&run);
}

static void a_file_of_another_size_ends_the_run(void **state)
{
    (void)state;
    char source[600];
    training_run run = {0};
    snprintf(source, sizeof source, "data.source_embeddings=%s", support_write("source.vec", "s0 1 2 3 4\n"));
    remove_run();
    train(&run, false, SETTINGS(source));
    assert_fails(&run, NMT_INVALID);
    assert_contains(run.error.message, "source.vec:1: expected a word and 5 numbers");
    end_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(frozen_embeddings_stay, remove_run_after),
        cmocka_unit_test_teardown(others_start_from_their_vectors_and_learn, remove_run_after),
        cmocka_unit_test_teardown(a_file_of_another_size_ends_the_run, remove_run_after),
    };
    return cmocka_run_group_tests(tests, training_setup, support_teardown);
}
