#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_files.h"
#include "train/loader.h"

static const char *const source_list[] = {"<unk>", "<s>", "</s>", "a", "b", "c"};
static const char *const target_list[] = {"<unk>", "<s>", "</s>", "x", "y"};

typedef struct fixture {
    corpus *pairs;
    vocabulary *source_words, *target_words;
    loader loader;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    nmt_error error;
    const corpus_options options = {.source_path = support_write("s", "a b c\nd\n\nb\nc a\n"),
                                    .target_path = support_write("t", "x\ny x y x\ny\nx z\ny y y\n")};
    f = (fixture){0};
    if (corpus_open(&f.pairs, &options, NULL, NULL, &error) != NMT_OK ||
        vocabulary_from_words(&f.source_words, source_list, 6, "s", &error) != NMT_OK ||
        vocabulary_from_words(&f.target_words, target_list, 5, "t", &error) != NMT_OK) {
        return -1;
    }
    f.loader = (loader){.pairs = f.pairs, .source_words = f.source_words, .target_words = f.target_words};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    loader_free(&f->loader);
    corpus_close(f->pairs);
    vocabulary_free(f->source_words);
    vocabulary_free(f->target_words);
    return 0;
}

static void load(fixture *f, const uint32_t *pair, size_t count)
{
    nmt_error error;
    if (loader_load(&f->loader, pair, count, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

/* Token t of sentence i as it was given, however the batch lays it out. */
static int32_t token(const sequences *packed, size_t i, size_t t)
{
    return packed->id[packed->offset[t] + packed->row[i]];
}

static void assert_source(const sequences *packed, size_t i, const int32_t *ids, size_t length)
{
    assert_int_equal(packed->length[packed->row[i]], length);
    for (size_t t = 0; t < length; t++) {
        assert_int_equal(token(packed, i, t), ids[t]);
    }
}

static void pairs_are_loaded_in_the_order_asked_for(void **state)
{
    fixture *f = *state;
    load(f, (const uint32_t[]){3, 0, 1}, 3);
    const batch *pairs = &f->loader.batch;
    assert_int_equal(pairs->source.count, 3);
    assert_source(&pairs->source, 0, (const int32_t[]){5, 3, TOKEN_END}, 3);
    assert_source(&pairs->source, 1, (const int32_t[]){3, 4, 5, TOKEN_END}, 4);
    assert_source(&pairs->source, 2, (const int32_t[]){TOKEN_UNKNOWN, TOKEN_END}, 2);
    assert_source(&pairs->input, 0, (const int32_t[]){TOKEN_START, 4, 4, 4}, 4);
    assert_source(&pairs->input, 1, (const int32_t[]){TOKEN_START, 3}, 2);
    assert_source(&pairs->input, 2, (const int32_t[]){TOKEN_START, 4, 3, 4, 3}, 5);
}

static void one_loader_serves_batches_of_every_size(void **state)
{
    fixture *f = *state;
    load(f, (const uint32_t[]){2}, 1);
    assert_int_equal(f->loader.batch.source.tokens, 2);
    assert_source(&f->loader.batch.input, 0, (const int32_t[]){TOKEN_START, 3, TOKEN_UNKNOWN}, 3);
    load(f, (const uint32_t[]){0, 1, 2, 3}, 4);
    assert_int_equal(f->loader.batch.source.tokens, 4 + 2 + 2 + 3);
    assert_int_equal(f->loader.batch.input.tokens, 2 + 5 + 3 + 4);
    assert_source(&f->loader.batch.source, 3, (const int32_t[]){5, 3, TOKEN_END}, 3);
    load(f, (const uint32_t[]){1}, 1);
    assert_int_equal(f->loader.batch.source.count, 1);
    assert_source(&f->loader.batch.source, 0, (const int32_t[]){TOKEN_UNKNOWN, TOKEN_END}, 2);
    assert_source(&f->loader.batch.input, 0, (const int32_t[]){TOKEN_START, 4, 3, 4, 3}, 5);
}

static void text_that_changed_is_an_error(void **state)
{
    fixture *f = *state;
    nmt_error error;
    FILE *file = fopen(support_path("t"), "r+");
    assert_non_null(file);
    assert_int_equal(fputs("y", file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(loader_load(&f->loader, (const uint32_t[]){1}, 1, &error), NMT_OK);
    assert_int_equal(loader_load(&f->loader, (const uint32_t[]){1, 0}, 2, &error), NMT_INVALID);
    assert_non_null(strstr(error.message, support_path("t:1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pairs_are_loaded_in_the_order_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_loader_serves_batches_of_every_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_changed_is_an_error, set_up, tear_down)};
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
