/* nmt_gradcheck as a caller of the library sees it: only public headers of the model's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <nmt/nmt.h>
#include <stdbool.h>

#include "support_files.h"

/* 3 + 2 + 4 and 2 + 4 + 1 tokens in the first three lines, and `</s>` with each. */
static int write_files(void **state)
{
    if (support_setup(state) != 0) {
        return -1;
    }
    char text[2048];
    support_write("src", "a b a\nc d\nb b a d\na d\nb c a\n");
    support_write("tgt", "x y\ny z x z\nz\ny y y\nx z\n");
    support_write("one.src", "a b\n");
    support_write("one.tgt", "x y z\n");
    snprintf(text, sizeof text,
             "{\"data\": {\"train_source\": \"%s\", \"train_target\": \"%s\"}, \"model\": {\"source_embedding\": 5, "
             "\"target_embedding\": 4, \"encoder_hidden\": 3, \"decoder_hidden\": 6, \"attention_size\": 7, "
             "\"readout_size\": 8}}",
             support_path("src"), support_path("tgt"));
    support_write("config.json", text);
    return 0;
}

static void check(nmt_gradcheck_report *report, size_t elements, const char *const *settings)
{
    nmt_error error;
    size_t count = 0;
    while (settings[count] != NULL) {
        count++;
    }
    if (nmt_gradcheck(report, support_path("config.json"), NULL, settings, count, elements, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

#define SETTINGS(...) ((const char *const[16]){__VA_ARGS__, NULL})

static size_t row_size(const nmt_gradcheck_row *row)
{
    return row->rows * (row->columns > 0 ? row->columns : 1);
}

/* Every row agrees, and on gradients that are not all near 0. */
static void assert_agrees(const nmt_gradcheck_report *report, size_t elements)
{
    assert_true(report->row_count >= 15);
    for (size_t i = 0; i < report->row_count; i++) {
        const nmt_gradcheck_row *row = &report->rows[i];
        const size_t size = row_size(row);
        assert_true(row->name[0] != '\0' && size > 0);
        assert_int_equal(row->checked, elements == 0 || elements > size ? size : elements);
        if (row->failed > 0) {
            fail_msg("%s: %zu elements fail, the worst by %g", row->name, row->failed, row->worst_relative);
        }
        assert_true(row->largest > 1e-4);
        assert_true(row->worst_absolute <= 1e-8 + 1e-6 * row->largest);
        assert_true(row->worst_absolute > 0 && row->worst_relative > 0);
    }
    assert_true(isfinite(report->loss) && report->loss > 0);
    assert_true(report->value_norm > 1e-4 && report->score_norm > 1e-6 && report->total_norm > 1e-4);
    assert_true(report->total_norm <= (report->value_norm + report->score_norm) * (1 + 1e-9));
    assert_true(report->path_residual <= 1e-12 * (1 + report->total_norm));
}

static void check_all(const char *const *settings)
{
    nmt_gradcheck_report report;
    check(&report, 0, settings);
    assert_agrees(&report, 0);
    nmt_gradcheck_clear(&report);
}

static void every_element_of_every_tensor_agrees(void **state)
{
    (void)state;
    check_all(SETTINGS(NULL));
}

static void it_agrees_for_other_choices(void **state)
{
    (void)state;
    check_all(SETTINGS("model.gru=reset_before", "model.readout=maxout", "model.readout_state=previous",
                       "model.initial_state=mean"));
    check_all(SETTINGS("model.readout=tanh", "model.readout_size=4", "model.tied_embeddings=true",
                       "model.readout_embedding=false", "model.initial_state=zero"));
}

static void it_checks_the_loss_that_training_takes(void **state)
{
    (void)state;
    nmt_gradcheck_report plain, trained;
    const char *const *settings =
        SETTINGS("training.label_smoothing=0.2", "dropout.embedding=0.3", "dropout.annotation=0.2",
                 "dropout.readout=0.2", "dropout.attention_input=0.2", "dropout.decoder_input=0.2",
                 "dropout.recurrent=0.2", "dropout.source_word=0.2", "dropout.target_word=0.2");
    check(&plain, 1, SETTINGS(NULL));
    check(&trained, 0, settings);
    assert_agrees(&trained, 0);
    assert_true(trained.loss != plain.loss);
    nmt_gradcheck_clear(&plain);
    nmt_gradcheck_clear(&trained);
}

/* The two paths are taken apart under the same draws of dropout each time. */
static void assert_same_report(const nmt_gradcheck_report *a, const nmt_gradcheck_report *b)
{
    assert_int_equal(a->row_count, b->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        assert_string_equal(a->rows[i].name, b->rows[i].name);
        assert_true(a->rows[i].largest == b->rows[i].largest);
        assert_true(a->rows[i].worst_relative == b->rows[i].worst_relative);
    }
    assert_true(a->loss == b->loss);
    assert_true(a->value_norm == b->value_norm && a->score_norm == b->score_norm && a->total_norm == b->total_norm);
}

static void it_repeats_itself(void **state)
{
    (void)state;
    nmt_gradcheck_report first, second, other;
    const char *const *settings = SETTINGS("dropout.annotation=0.4", "dropout.embedding=0.4");
    check(&first, 2, settings);
    check(&second, 2, settings);
    assert_same_report(&first, &second);
    check(&other, 2, SETTINGS("dropout.annotation=0.4", "dropout.embedding=0.4", "training.seed=2"));
    assert_true(first.loss != other.loss);
    nmt_gradcheck_clear(&first);
    nmt_gradcheck_clear(&second);
    nmt_gradcheck_clear(&other);
}

static void some_elements_are_enough_to_ask_for(void **state)
{
    (void)state;
    nmt_gradcheck_report report;
    check(&report, 4, SETTINGS(NULL));
    assert_agrees(&report, 4);
    nmt_gradcheck_clear(&report);
    check(&report, 1000000, SETTINGS(NULL));
    assert_agrees(&report, 1000000);
    nmt_gradcheck_clear(&report);
}

static void the_batch_is_the_first_pairs_of_the_text(void **state)
{
    (void)state;
    char source[600], target[600];
    nmt_gradcheck_report report;
    check(&report, 1, SETTINGS(NULL));
    assert_int_equal(report.sentences, 3);
    assert_int_equal(report.source_tokens, 3 + 2 + 4 + 3);
    assert_int_equal(report.target_tokens, 2 + 4 + 1 + 3);
    nmt_gradcheck_clear(&report);
    snprintf(source, sizeof source, "data.train_source=%s", support_path("one.src"));
    snprintf(target, sizeof target, "data.train_target=%s", support_path("one.tgt"));
    check(&report, 0, SETTINGS(source, target));
    assert_agrees(&report, 0);
    assert_int_equal(report.sentences, 1);
    assert_int_equal(report.source_tokens, 3);
    assert_int_equal(report.target_tokens, 4);
    nmt_gradcheck_clear(&report);
}

/* As with the shapes of nmt_tensor_info. */
static void rows_carry_the_shapes_of_the_tensors(void **state)
{
    (void)state;
    nmt_gradcheck_report report;
    size_t matrices = 0, vectors = 0;
    check(&report, 1, SETTINGS(NULL));
    for (size_t i = 0; i < report.row_count; i++) {
        const nmt_gradcheck_row *row = &report.rows[i];
        if (strcmp(row->name, "encoder.embedding.weight") == 0) {
            assert_int_equal(row->rows, 3 + 4);
            assert_int_equal(row->columns, 5);
            matrices++;
        }
        if (strcmp(row->name, "readout.output.bias") == 0) {
            assert_int_equal(row->rows, 3 + 3);
            assert_int_equal(row->columns, 0);
            vectors++;
        }
    }
    assert_int_equal(matrices, 1);
    assert_int_equal(vectors, 1);
    nmt_gradcheck_clear(&report);
}

static void errors_leave_nothing_to_free(void **state)
{
    (void)state;
    nmt_error error;
    nmt_gradcheck_report report;
    memset(&report, 0x5a, sizeof report);
    assert_int_equal(nmt_gradcheck(&report, "/nonexistent/config.json", NULL, NULL, 0, 0, &error), NMT_IO);
    assert_non_null(strstr(error.message, "/nonexistent/config.json"));
    assert_null(report.rows);
    const char *const *no_text = SETTINGS("data.train_source=/nonexistent/text");
    assert_int_equal(nmt_gradcheck(&report, support_path("config.json"), NULL, no_text, 1, 0, &error), NMT_IO);
    assert_non_null(strstr(error.message, "/nonexistent/text"));
    assert_null(report.rows);
    const char *const *no_key = SETTINGS("model.layers=2");
    assert_int_equal(nmt_gradcheck(&report, support_path("config.json"), NULL, no_key, 1, 0, &error), NMT_INVALID);
    assert_non_null(strstr(error.message, "model.layers"));
    nmt_gradcheck_clear(&report);
    nmt_gradcheck_clear(&report);
}

/* ---- the paths --------------------------------------------------------------------------------------------------- */

static const nmt_gradcheck_room *room(const nmt_gradcheck_report *report, const char *name)
{
    for (size_t r = 0; r < NMT_GRADCHECK_ROOMS; r++) {
        if (strcmp(report->rooms[r].name, name) == 0) {
            return &report->rooms[r];
        }
    }
    fail_msg("no room %s", name);
    return NULL;
}

/* The norm of a room's whole gradient is that of its tensors, whose largest elements are below it. */
static void rooms_show_which_path_the_gradient_came_through(void **state)
{
    (void)state;
    nmt_gradcheck_report report;
    check(&report, 0, SETTINGS("model.initial_state=zero"));
    const nmt_gradcheck_room *encoder = room(&report, "encoder"), *attention = room(&report, "attention");
    const nmt_gradcheck_room *decoder = room(&report, "decoder"), *readout = room(&report, "readout");
    assert_true(encoder->direct == 0 && encoder->value > 1e-3 && encoder->score > 1e-4);
    assert_true(fabs(encoder->value - encoder->score) <= encoder->whole &&
                encoder->whole <= encoder->value + encoder->score);
    assert_true(attention->direct == 0 && attention->value == 0 && attention->score == attention->whole);
    assert_true(decoder->value == 0 && decoder->direct > 1e-3 && decoder->score > 1e-5);
    assert_true(readout->value == 0 && readout->score == 0 && readout->direct == readout->whole);
    for (size_t i = 0; i < report.row_count; i++) {
        if (strncmp(report.rows[i].name, "decoder.gru", 11) == 0) {
            assert_true(report.rows[i].largest * (double)report.target_tokens <= decoder->whole);
        }
    }
    nmt_gradcheck_clear(&report);
    check(&report, 1, SETTINGS("model.attention_score=fixed"));
    assert_true(room(&report, "decoder")->score == 0 && room(&report, "encoder")->value > 1e-3);
    assert_true(report.score_norm == 0);
    nmt_gradcheck_clear(&report);
    check(&report, 1, SETTINGS("model.attention_heads=7"));
    assert_true(room(&report, "attention")->value > 1e-4 && room(&report, "attention")->score > 1e-5);
    assert_true(report.path_residual <= 1e-12 * (1 + report.total_norm));
    nmt_gradcheck_clear(&report);
}

/* Sentences as they stand in the text, though the longest is packed first; s_0 reads the first annotation alone. */
static void positions_are_the_source_tokens(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b", "a", "</s>", "c", "d", "</s>", "b", "b", "a", "d", "</s>"};
    static const size_t sentences[] = {1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3};
    nmt_gradcheck_report report;
    double value = 0, score = 0;
    check(&report, 1, SETTINGS(NULL));
    assert_int_equal(report.position_count, 12);
    for (size_t i = 0; i < 12; i++) {
        const nmt_gradcheck_position *at = &report.positions[i];
        assert_string_equal(at->word, words[i]);
        assert_int_equal(at->sentence, sentences[i]);
        assert_int_equal(at->direct > 0, i == 0 || i == 4 || i == 7);
        assert_true(at->value > 0 && at->score > 0 && at->whole <= at->direct + at->value + at->score + 1e-12);
        value += at->value * at->value;
        score += at->score * at->score;
    }
    assert_true(fabs(sqrt(value) - report.value_norm) < 1e-12 && fabs(sqrt(score) - report.score_norm) < 1e-12);
    nmt_gradcheck_clear(&report);
}

static void the_drawing_shows_tokens_as_text(void **state)
{
    (void)state;
    char source[600], *drawing;
    size_t length, bars = 0;
    nmt_gradcheck_report report;
    support_write("hostile.src", "<script> \"&\nb\n\xd7\xa9\n");
    support_write("hostile.tgt", "x\ny\nz\n");
    snprintf(source, sizeof source, "data.train_source=%s", support_path("hostile.src"));
    char target[600];
    snprintf(target, sizeof target, "data.train_target=%s", support_path("hostile.tgt"));
    check(&report, 1, SETTINGS(source, target));
    FILE *file = open_memstream(&drawing, &length);
    nmt_gradcheck_draw(file, &report);
    fclose(file);
    assert_null(strstr(drawing, "<script"));
    assert_non_null(strstr(drawing, ">&lt;script&gt;<title>"));
    assert_non_null(strstr(drawing, "&lt;script&gt;, Value path: "));
    for (const char *at = drawing; (at = strstr(at, "width=\"14\"")) != NULL; at++) {
        bars++;
    }
    assert_int_equal(bars, 2 * report.position_count);
    free(drawing);
    nmt_gradcheck_clear(&report);
}

/* Both precisions live in one binary. */
static void the_float_library_works_beside_it(void **state)
{
    (void)state;
    nmt_gradcheck_report report;
    nmt_config *config;
    nmt_error error;
    char setting[600];
    snprintf(setting, sizeof setting, "output.directory=%s", support_directory);
    check(&report, 1, SETTINGS(NULL));
    nmt_gradcheck_clear(&report);
    const char *const *settings = SETTINGS(setting, "training.epochs=60");
    assert_int_equal(nmt_config_load(&config, support_path("config.json"), settings, 2, &error), NMT_OK);
    if (nmt_train(config, NULL, NULL, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    nmt_config_free(config);
    /* The trained model is checked in the place of drawn parameters; some updates have brought its loss down. */
    nmt_gradcheck_report drawn, trained;
    const char *const *few = SETTINGS(NULL);
    check(&drawn, 1, few);
    if (nmt_gradcheck(&trained, support_path("config.json"), support_path("model.safetensors"), few, 0, 0, &error) !=
        NMT_OK) {
        fail_msg("%s", error.message);
    }
    assert_true(trained.loss < drawn.loss);
    assert_int_equal(trained.row_count, drawn.row_count);
    for (size_t i = 0; i < trained.row_count; i++) {
        assert_int_equal(trained.rows[i].failed, 0);
    }
    nmt_gradcheck_clear(&drawn);
    nmt_gradcheck_clear(&trained);
    assert_int_equal(nmt_gradcheck(&trained, support_path("config.json"), "/nonexistent/model", few, 0, 0, &error),
                     NMT_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_element_of_every_tensor_agrees),
                                       cmocka_unit_test(it_agrees_for_other_choices),
                                       cmocka_unit_test(it_checks_the_loss_that_training_takes),
                                       cmocka_unit_test(it_repeats_itself),
                                       cmocka_unit_test(some_elements_are_enough_to_ask_for),
                                       cmocka_unit_test(the_batch_is_the_first_pairs_of_the_text),
                                       cmocka_unit_test(rows_carry_the_shapes_of_the_tensors),
                                       cmocka_unit_test(errors_leave_nothing_to_free),
                                       cmocka_unit_test(rooms_show_which_path_the_gradient_came_through),
                                       cmocka_unit_test(positions_are_the_source_tokens),
                                       cmocka_unit_test(the_drawing_shows_tokens_as_text),
                                       cmocka_unit_test(the_float_library_works_beside_it)};
    return cmocka_run_group_tests(tests, write_files, support_teardown);
}
