/* Text in pieces and characters, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/piece_model.h"
#include "data/segmenter.h"

#define SPACE "\xe2\x96\x81"

/* ---- characters ---------------------------------------------------------------------------------------------------
 */

static void assert_cut(const segmenter *by, const char *line, const char *tokens, const char *joined)
{
    text_buffer cut = {0};
    nmt_error error;
    assert_int_equal(segmenter_cut(by, line, strlen(line), &cut, &error), NMT_OK);
    assert_string_equal(cut.bytes, tokens);
    assert_int_equal(cut.length, strlen(tokens));
    segmenter_join(cut.bytes);
    assert_string_equal(cut.bytes, joined);
    text_buffer_free(&cut);
}

static void characters_are_grapheme_clusters(void **state)
{
    (void)state;
    segmenter *by;
    nmt_error error;
    assert_int_equal(segmenter_of_characters(&by, &error), NMT_OK);
    assert_cut(by, "", "", "");
    assert_cut(by, " \t ", "", "");
    assert_cut(by, "ab c", "a b " SPACE " c", "ab c");
    assert_cut(by, "\t ab \t c ", "a b " SPACE " c", "ab c");
    /* e with a combining acute, a flag of two letters, a family joined by ZWJ, a Hangul syllable of three letters. */
    assert_cut(by, "e\xcc\x81x", "e\xcc\x81 x", "e\xcc\x81x");
    assert_cut(by, "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa!", "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa !",
               "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa!");
    assert_cut(by, "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa6", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa6",
               "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa6");
    assert_cut(by, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab",
               "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
    /* A combining mark behind a space stays behind it. */
    assert_cut(by, "a \xcc\x81", "a " SPACE " \xcc\x81", "a \xcc\x81");
    segmenter_free(by);
}

static void the_space_symbol_is_refused(void **state)
{
    (void)state;
    segmenter *by;
    text_buffer cut = {0};
    nmt_error error;
    assert_int_equal(segmenter_of_characters(&by, &error), NMT_OK);
    assert_int_equal(segmenter_cut(by, "ab" SPACE, 5, &cut, &error), NMT_INVALID);
    assert_string_equal(error.message,
                        "byte 3 starts the character U+2581, which stands for the space in segmented text");
    text_buffer_free(&cut);
    segmenter_free(by);
}

/* ---- joining ------------------------------------------------------------------------------------------------------
 */

static void assert_joined(const char *tokens, const char *joined)
{
    char text[128];
    snprintf(text, sizeof text, "%s", tokens);
    segmenter_join(text);
    assert_string_equal(text, joined);
}

static void joining_gives_words(void **state)
{
    (void)state;
    assert_joined(SPACE "a b " SPACE "c", "ab c");
    assert_joined("a " SPACE " " SPACE " b", "a b");
    assert_joined(SPACE " " SPACE "a" SPACE, "a");
    assert_joined("a " SPACE " <unk> b", "a <unk>b");
    assert_joined(SPACE, "");
    assert_joined("", "");
}

static void assert_marked(const char *tokens, const char *marker, const char *joined)
{
    char text[128];
    snprintf(text, sizeof text, "%s", tokens);
    segmenter_join_marked(text, marker);
    assert_string_equal(text, joined);
}

static void marked_tokens_are_joined(void **state)
{
    (void)state;
    assert_marked("a@@ b@@ c d", "@@", "abc d");
    assert_marked("a@@", "@@", "a");
    assert_marked("a@@ @@ b", "@@", "ab");
    assert_marked("a @@b c", "@@", "a @@b c");
    assert_marked("  a@@ \t b ", "@@", "ab");
    assert_marked("@@", "@@", "");
    assert_marked("", "@@", "");
    assert_marked("a b", "", "a b");
    assert_marked("a\xef\xbf\xad b c", "\xef\xbf\xad", "ab c");
}

/* ---- pieces -------------------------------------------------------------------------------------------------------
 */

static const char *const lines[] = {"the old house stands near the older houses", "an older man sees the house",
                                    "holding hands the men stand near an old man",
                                    "\xc3\xbc\x62\x65r alte H\xc3\xa4user"};
enum { LINES = sizeof lines / sizeof *lines };

static nmt_status next_line(void *context, const char **line, size_t *length, nmt_error *error)
{
    size_t *at = context;
    (void)error;
    *line = *at < LINES ? lines[*at] : NULL;
    *length = *at < LINES ? strlen(lines[*at]) : 0;
    (*at)++;
    return NMT_OK;
}

/* A model of the lines; NULL: this build has no SentencePiece. The caller's: free(). */
static char *learn(bool unigram, size_t wanted, size_t *size)
{
    const segmenter_training how = {.unigram = unigram, .size = wanted, .coverage = 1};
    size_t at = 0;
    char *model = NULL;
    nmt_error error;
    const nmt_status status = segmenter_train(&model, size, &how, next_line, &at, &error);
    if (!segmenter_has_pieces()) {
        assert_int_equal(status, NMT_UNSUPPORTED);
        assert_non_null(strstr(error.message, "libsentencepiece-dev"));
        return NULL;
    }
    if (status != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

static segmenter *open_model(const char *model, size_t size)
{
    segmenter *by;
    nmt_error error;
    if (segmenter_of_pieces(&by, model, size, "pieces", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return by;
}

static void assert_round_trip(const segmenter *by, const char *line, const char *words)
{
    text_buffer cut = {0};
    nmt_error error;
    assert_int_equal(segmenter_cut(by, line, strlen(line), &cut, &error), NMT_OK);
    segmenter_join(cut.bytes);
    assert_string_equal(cut.bytes, words);
    text_buffer_free(&cut);
}

/* Whatever the text, known or not: full-width letters, ligatures and no-break spaces stay what they are. */
static void pieces_give_the_words_back(void **state)
{
    (void)state;
    for (int unigram = 0; unigram < 2; unigram++) {
        size_t size;
        char *model = learn(unigram, unigram ? 32 : 45, &size);
        if (model == NULL) {
            skip();
        }
        segmenter *by = open_model(model, size);
        for (size_t i = 0; i < LINES; i++) {
            assert_round_trip(by, lines[i], lines[i]);
        }
        assert_round_trip(by, " \t the\t old   man ", "the old man");
        assert_round_trip(by, "", "");
        assert_round_trip(by, " \t", "");
        assert_round_trip(by, "\xef\xbc\xa1 \xef\xac\x81 x\xc2\xa0y \xe6\xbc\xa2\xe5\xad\x97 e\xcc\x81 <unk> </s>",
                          "\xef\xbc\xa1 \xef\xac\x81 x\xc2\xa0y \xe6\xbc\xa2\xe5\xad\x97 e\xcc\x81 <unk> </s>");
        segmenter_free(by);
        free(model);
    }
}

static void learning_is_deterministic(void **state)
{
    (void)state;
    for (int unigram = 0; unigram < 2; unigram++) {
        size_t size, again_size;
        char *model = learn(unigram, unigram ? 32 : 45, &size);
        if (model == NULL) {
            skip();
        }
        char *again = learn(unigram, unigram ? 32 : 45, &again_size);
        assert_int_equal(size, again_size);
        assert_memory_equal(model, again, size);
        segmenter *a = open_model(model, size), *b = open_model(again, size), *c, *characters;
        nmt_error error;
        assert_int_equal(segmenter_copy(&c, a, &error), NMT_OK);
        assert_int_equal(segmenter_of_characters(&characters, &error), NMT_OK);
        assert_true(segmenter_equal(a, b) && segmenter_equal(a, c) && segmenter_equal(NULL, NULL));
        assert_false(segmenter_equal(a, characters) || segmenter_equal(a, NULL) || segmenter_equal(NULL, characters));
        segmenter_free(a);
        segmenter_free(b);
        segmenter_free(c);
        segmenter_free(characters);
        free(model);
        free(again);
    }
}

static void more_pieces_than_there_are_is_an_error(void **state)
{
    (void)state;
    const segmenter_training how = {.size = 100000, .coverage = 1};
    size_t at = 0, size;
    char *model;
    nmt_error error;
    if (!segmenter_has_pieces()) {
        skip();
    }
    assert_int_equal(segmenter_train(&model, &size, &how, next_line, &at, &error), NMT_INVALID);
    assert_non_null(strstr(error.message, "segmentation.size: no model of 100000 pieces can be learned"));
}

/* A piece that the vocabulary lacks is made of smaller ones that it has. */
static void pieces_outside_the_vocabulary_are_cut(void **state)
{
    (void)state;
    size_t size;
    char *model = learn(false, 45, &size);
    if (model == NULL) {
        skip();
    }
    segmenter *by = open_model(model, size);
    text_buffer cut = {0};
    nmt_error error;
    vocabulary *words;
    const char *const list[] = {"<unk>", "<s>", "</s>", SPACE "t", "h", "e", SPACE};
    assert_int_equal(segmenter_cut(by, "the", 3, &cut, &error), NMT_OK);
    assert_string_equal(cut.bytes, SPACE "the");
    assert_int_equal(vocabulary_from_words(&words, list, 7, "words", &error), NMT_OK);
    assert_int_equal(segmenter_restrict(by, words, &error), NMT_OK);
    assert_int_equal(segmenter_cut(by, "the", 3, &cut, &error), NMT_OK);
    assert_true(strcmp(cut.bytes, SPACE "t h e") == 0 || strcmp(cut.bytes, SPACE " t h e") == 0);
    text_buffer_free(&cut);
    vocabulary_free(words);
    segmenter_free(by);
    free(model);
}

/* ---- models from strangers ----------------------------------------------------------------------------------------
 */

static void assert_model_refused(const void *model, size_t size, const char *message)
{
    nmt_error error;
    assert_int_equal(piece_model_check(model, size, "x", &error), NMT_INVALID);
    assert_string_equal(error.message, message);
}

#define UNKNOWN                                                                                                        \
    "\x0a\x0b\x0a\x02"                                                                                                 \
    "??"                                                                                                               \
    "\x15\0\0\0\0\x18\x02"
#define MODEL(bytes) (bytes), sizeof(bytes) - 1

static void models_that_lie_are_refused(void **state)
{
    (void)state;
    nmt_error error;
    static const char other[] = "x: expected a SentencePiece model, found other bytes";
    assert_int_equal(piece_model_check(MODEL(UNKNOWN "\x0a\x03\x0a\x01"
                                                     "a"),
                                       "x", &error),
                     NMT_OK);
    assert_model_refused(MODEL(""), other);
    assert_model_refused(MODEL("{\"format\": 1}"), other);
    assert_model_refused(MODEL(UNKNOWN "\x0a\x7f\x0a\x01"
                                       "a"),
                         other); /* longer than the file */
    assert_model_refused(MODEL(UNKNOWN "\x0a\x03\x0a\x02"
                                       "a"),
                         other); /* longer than the piece */
    assert_model_refused(MODEL(UNKNOWN "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), other);
    assert_model_refused(MODEL(UNKNOWN "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), other);
    assert_model_refused(MODEL("\x0a\x03\x0a\x01"
                               "a"),
                         "x: expected one piece for what is unknown, found none or several");
    assert_model_refused(MODEL(UNKNOWN UNKNOWN), "x: expected one piece for what is unknown, found none or several");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x02\x0a\0"), "x: expected pieces, found an empty one");
    assert_model_refused(MODEL(UNKNOWN "\x0a\0"), "x: expected pieces, found an empty one");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x03\x0a\x01 "), "x: expected pieces without white space, found some");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x03\x0a\x01\0"), "x: expected pieces without white space, found some");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x03\x0a\x01\xff"), "x: expected pieces in UTF-8, found other bytes");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x08\x0a\x01"
                                       "a\x15\0\0\xc0\x7f"),
                         "x: expected finite scores of pieces, found others");
    assert_model_refused(MODEL(UNKNOWN "\x0a\x05\x0a\x01"
                                       "a\x18\x06"),
                         "x: expected a model without byte_fallback, found pieces that are bytes");
    assert_model_refused(MODEL(UNKNOWN "\x12\x02\x18\x03"),
                         "x: expected a model of type bpe or unigram, found another");
    assert_model_refused(MODEL(UNKNOWN "\x1a\x03\x12\x01"
                                       "t"),
                         "x: expected a model that leaves text as it is (normalization_rule_name identity), found "
                         "another");
    assert_model_refused(MODEL(UNKNOWN "\x2a\x03\x12\x01"
                                       "t"),
                         "x: expected a model that leaves text as it is (normalization_rule_name identity), found "
                         "another");
    assert_model_refused(MODEL(UNKNOWN "\x1a\x02\x28\0"),
                         "x: expected a model with escape_whitespaces, found one without");
    assert_model_refused(MODEL(UNKNOWN "\x22\x02\x0a\0"), "x: expected a model without self-test samples, found some");
}

/* Whatever byte of a model is another: it is refused, or works without harm. */
static void damaged_models_do_no_harm(void **state)
{
    (void)state;
    size_t size;
    char *model = learn(false, 45, &size);
    if (model == NULL) {
        skip();
    }
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            segmenter *by;
            text_buffer cut = {0};
            nmt_error error;
            model[i] ^= (char)(1 << bit);
            if (segmenter_of_pieces(&by, model, size, "pieces", &error) == NMT_OK) {
                segmenter_cut(by, lines[2], strlen(lines[2]), &cut, &error);
                segmenter_free(by);
            }
            text_buffer_free(&cut);
            model[i] ^= (char)(1 << bit);
        }
    }
    for (size_t cut = 0; cut < size; cut++) {
        segmenter *by;
        nmt_error error;
        if (segmenter_of_pieces(&by, model, cut, "pieces", &error) == NMT_OK) {
            segmenter_free(by);
        }
    }
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_grapheme_clusters),
        cmocka_unit_test(the_space_symbol_is_refused),
        cmocka_unit_test(joining_gives_words),
        cmocka_unit_test(marked_tokens_are_joined),
        cmocka_unit_test(pieces_give_the_words_back),
        cmocka_unit_test(learning_is_deterministic),
        cmocka_unit_test(more_pieces_than_there_are_is_an_error),
        cmocka_unit_test(pieces_outside_the_vocabulary_are_cut),
        cmocka_unit_test(models_that_lie_are_refused),
        cmocka_unit_test(damaged_models_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
