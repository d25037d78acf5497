/*
 * What holds for every model, on models drawn at random (support_draws.h): gradients are derivatives, the company of a
 * sentence does not matter, a file gives back what was saved, and a beam that prunes nothing finds the best there is.
 *
 * The seeds are 1 to so many; with NMT_LONG=1, 20 times as many. What fails names its seed and prints the
 * configuration; NMT_SEED=n draws n alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <nmt/score.h>
#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "decode/beam.h"
#include "decode/greedy.h"
#include "decode/search.h"
#include "gradcheck.h"
#include "model/checkpoint.h"
#include "support_draws.h"
#include "support_files.h"
#include "support_loss.h"
#include "support_search.h"

/* ---- draws ------------------------------------------------------------------------------------------------------- */

enum { LONGER = 20 };

static draw *draws;
static size_t draw_count;
static const draw *current; /* the one that is being checked */

/* The seed that was asked for; 0: none. */
static uint64_t chosen_seed(void)
{
    const char *text = getenv("NMT_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static int draw_all(void **state)
{
    const char *longer = getenv("NMT_LONG");
    const uint64_t first = chosen_seed() > 0 ? chosen_seed() : 1;
    draw_count = draw_all_turns(true) * (longer != NULL && strcmp(longer, "1") == 0 ? LONGER : 1);
    draw_count = chosen_seed() > 0 ? 1 : draw_count;
    draws = calloc(draw_count, sizeof *draws);
    for (size_t i = 0; draws != NULL && i < draw_count; i++) {
        draw_make(&draws[i], first + i);
    }
    return draws != NULL ? support_setup(state) : -1;
}

static int free_all(void **state)
{
    for (size_t i = 0; i < draw_count; i++) {
        draw_free(&draws[i]);
    }
    free(draws);
    return support_teardown(state);
}

static void for_all_draws(void (*check)(const draw *one))
{
    for (size_t i = 0; i < draw_count; i++) {
        current = &draws[i];
        check(current);
    }
    current = NULL;
}

/* Behind each test: a draw that is left has failed. */
static int tell_draw(void **state)
{
    (void)state;
    if (current != NULL) {
        json *config = config_to_json(current->config);
        char *text = json_print(config, false);
        fprintf(stderr, "NMT_SEED=%" PRIu64 ": %zu pairs, %zu source and %zu target words, %s\n", current->seed,
                current->count, current->source_words, current->target_words, text);
        free(text);
        json_free(config);
        current = NULL;
    }
    return 0;
}

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

enum { LEVELS = 16 };

typedef struct tally {
    size_t level[LEVELS];
} tally;

static tally *keys_seen; /* [config_key_count] */
static tally pairs_seen, source_seen, target_seen, words_seen;

static void count_levels(const draw *one)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const size_t level = draw_level(one->config, &config_keys[i]);
        keys_seen[i].level[level < LEVELS ? level : LEVELS - 1]++;
    }
    pairs_seen.level[one->count]++;
    words_seen.level[one->target_words]++;
    for (size_t i = 0; i < one->count; i++) {
        source_seen.level[one->source[i].length]++;
        target_seen.level[one->target[i].length]++;
    }
}

static void assert_seen(const char *what, const tally *seen, size_t first, size_t last, size_t least)
{
    for (size_t i = first; i <= last; i++) {
        if (seen->level[i] < least) {
            fail_msg("%s: expected level %zu in %zu draws or more, found it in %zu", what, i, least, seen->level[i]);
        }
    }
}

/* Of every key that shapes the model each level, and more than once but for sizes; of every other key more than the
 * default. */
static void every_choice_is_drawn(void **state)
{
    (void)state;
    if (chosen_seed() > 0) {
        skip();
    }
    keys_seen = calloc(config_key_count, sizeof *keys_seen);
    for_all_draws(count_levels);
    for (size_t i = 0; i < config_key_count; i++) {
        const config_key *key = &config_keys[i];
        if (draw_concerns(key)) {
            assert_seen(key->path, &keys_seen[i], 0, draw_levels(key) - 1, key->type == KEY_INTEGER ? 1 : 3);
        } else if (!draw_leaves(key)) {
            size_t levels = 0;
            for (size_t level = 0; level < LEVELS; level++) {
                levels += keys_seen[i].level[level] > 0;
            }
            if (levels < 2) {
                fail_msg("%s: always the default", key->path);
            }
        }
    }
    assert_seen("pairs", &pairs_seen, 1, DRAW_SENTENCES, 10);
    assert_seen("source tokens", &source_seen, 0, DRAW_TOKENS - 1, 10);
    assert_seen("target tokens", &target_seen, 0, DRAW_TOKENS - 1, 10);
    assert_seen("target words", &words_seen, 4, DRAW_WORDS, 10);
    free(keys_seen);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

enum { ELEMENTS = 24 };

typedef struct gradient_check {
    training_loss loss;
    real *gradient;
} gradient_check;

static size_t elements_checked, elements_bent;

static void take_gradient(gradient_check *of)
{
    gradcheck_prefill(of->gradient, of->loss.model->parameters.size);
    const batch_loss loss =
        loss_of_update(of->loss.model, &of->loss.pairs, of->gradient, of->loss.scale, of->loss.update);
    assert_true(of->loss.scale * loss.objective == objective(&of->loss));
}

/* Layer normalisation of a few numbers that are nearly equal bends within the usual step; and some losses have kinks,
 * where another maxout unit becomes the largest, a token enters a window, or a token's coverage reaches 1. */
static void check_element(const gradient_check *of, const tensor *entry, size_t index)
{
    real *x = of->loss.model->block + entry->offset + index;
    const double a = of->gradient[entry->offset + index] - gradcheck_before;
    double n = gradcheck_difference(x, objective, (void *)&of->loss);
    if (!gradcheck_agrees(a, n)) {
        n = gradcheck_closer(x, objective, (void *)&of->loss);
        elements_bent++;
    }
    if (!gradcheck_agrees(a, n)) {
        fail_msg("%s[%zu]: the gradient is %.12g, the difference quotient %.12g", entry->name, index, a, n);
    }
    elements_checked++;
}

/* One element of each tensor, or of so many: over all draws every kind of tensor has many. */
static void check_gradient(const draw *one)
{
    nmt_model *model = draw_model(one, draw_copy(one), 0.5);
    rng generator = rng_stream(one->seed, "elements", 0);
    batch pairs = {0};
    draw_batch(&pairs, one, NULL, one->count);
    const double divisor =
        one->config->training.loss_normalization == LOSS_PER_TOKEN ? (double)pairs.input.tokens : (double)one->count;
    gradient_check of = {training_loss_of(model, pairs, 1 + one->seed % 4, (real)(1 / divisor)), new_gradient(model)};
    take_gradient(&of);
    const size_t tensors = model->parameters.count;
    for (size_t i = 0; i < tensors && i < ELEMENTS; i++) {
        const size_t chosen = tensors <= ELEMENTS ? i : (size_t)rng_below(&generator, tensors);
        const tensor *entry = &model->parameters.tensors[chosen];
        check_element(&of, entry, (size_t)rng_below(&generator, tensor_size(entry)));
    }
    free(of.gradient);
    training_loss_free(&of.loss);
    nmt_model_free(model);
}

static void gradients_are_derivatives(void **state)
{
    (void)state;
    elements_checked = elements_bent = 0;
    for_all_draws(check_gradient);
    assert_true(elements_bent * 500 <= elements_checked);
}

/* ---- company ----------------------------------------------------------------------------------------------------- */

/* Of a sentence among others, as training and scoring see it. */
typedef struct company {
    nmt_model *model;
    const draw *one;
    real *gradient;
    double nats, objective;
} company;

static void take_loss(company *of, const uint32_t *order, size_t count)
{
    batch pairs = {0};
    draw_batch(&pairs, of->one, order, count);
    const batch_loss loss = loss_and_gradient(of->model, &pairs, of->gradient, 1);
    assert_int_equal(loss.tokens, pairs.input.tokens);
    of->nats += loss.nats;
    of->objective += loss.objective;
    batch_free(&pairs);
}

/* Of sums in another order. Layer normalisation of a few numbers that are nearly equal divides their rounding by
 * sqrt(1e-5), and so does the next layer. */
static double rounding(const nmt_model *model)
{
    return model->config->model.layer_normalization ? 1e-9 : 1e-12;
}

static void compare_losses(const company *found, const company *expected)
{
    const size_t size = found->model->parameters.size;
    const double tolerance = rounding(found->model);
    double largest = 1;
    for (size_t i = 0; i < size; i++) {
        largest = fmax(largest, fabs(expected->gradient[i]));
    }
    assert_all_near(found->gradient, expected->gradient, size, tolerance * largest);
    assert_near(found->nats, expected->nats, tolerance * fmax(1, expected->nats));
    assert_near(found->objective, expected->objective, tolerance * fmax(1, expected->objective));
}

/* The log probabilities of every token, the sentences all together or each by itself. */
static void take_scores(const company *of, size_t batch_size, nmt_pair_score *scores)
{
    drawn_text text[2][DRAW_SENTENCES];
    const char *lines[2][DRAW_SENTENCES];
    nmt_error error;
    for (size_t i = 0; i < of->one->count; i++) {
        lines[0][i] = draw_text(&text[0][i], &of->one->source[i]);
        lines[1][i] = draw_text(&text[1][i], &of->one->target[i]);
    }
    support_ok(nmt_score(of->model, lines[0], lines[1], of->one->count, batch_size, scores, &error), &error);
}

static void compare_scores(const company *of, const double *nats)
{
    nmt_pair_score together[DRAW_SENTENCES], alone[DRAW_SENTENCES];
    const double tolerance = rounding(of->model);
    take_scores(of, 0, together);
    take_scores(of, 1, alone);
    for (size_t i = 0; i < of->one->count; i++) {
        assert_int_equal(together[i].token_count, of->one->target[i].length + 1);
        assert_int_equal(alone[i].token_count, together[i].token_count);
        for (size_t t = 0; t < alone[i].token_count; t++) {
            assert_near(together[i].token_log_probabilities[t], alone[i].token_log_probabilities[t], tolerance);
        }
        assert_near(-together[i].log_probability, nats[i], tolerance * fmax(1, nats[i]));
        nmt_pair_score_clear(&together[i]);
        nmt_pair_score_clear(&alone[i]);
    }
}

/* What is drawn at random is drawn for a place in a batch. */
static nmt_config *without_chance(const draw *one)
{
    nmt_config *config = draw_copy(one);
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        if (is_dropout(key)) {
            config_set_number(config, key, 0);
        }
    }
    config->training.teacher_forcing = 1;
    return config;
}

static void check_company(const draw *one)
{
    nmt_model *model = draw_model(one, without_chance(one), 0.5);
    company together = {model, one, new_gradient(model), 0, 0}, turned = {model, one, new_gradient(model), 0, 0};
    company apart = {model, one, new_gradient(model), 0, 0};
    rng generator = rng_stream(one->seed, "company", 0);
    uint32_t order[DRAW_SENTENCES] = {0, 1, 2, 3, 4};
    double nats[DRAW_SENTENCES];
    for (uint32_t i = 0; i < one->count; i++) {
        const double before = apart.nats;
        take_loss(&apart, &i, 1);
        nats[i] = apart.nats - before;
    }
    take_loss(&together, order, one->count);
    rng_shuffle(&generator, order, one->count);
    take_loss(&turned, order, one->count);
    compare_losses(&together, &apart);
    compare_losses(&turned, &together);
    compare_scores(&together, nats);
    free(together.gradient);
    free(turned.gradient);
    free(apart.gradient);
    nmt_model_free(model);
}

static void company_changes_nothing(void **state)
{
    (void)state;
    for_all_draws(check_company);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void compare_configs(const nmt_config *found, const nmt_config *expected)
{
    nmt_config *const a = (nmt_config *)found, *const b = (nmt_config *)expected; /* only read */
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        bool same = true;
        if (key->type == KEY_TEXT) {
            const char *x = *config_text(a, key), *y = *config_text(b, key);
            same = x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
        } else if (key->type == KEY_CHOICE) {
            same = strcmp(config_choice(a, key), config_choice(b, key)) == 0;
        } else if (key->type == KEY_BOOLEAN) {
            same = *config_boolean(a, key) == *config_boolean(b, key);
        } else {
            same = config_number(a, key) == config_number(b, key);
        }
        if (!same) {
            fail_msg("%s: another value was read than was saved", key->path);
        }
    }
}

static void compare_words(const vocabulary *found, const vocabulary *expected)
{
    assert_int_equal(vocabulary_size(found), vocabulary_size(expected));
    for (int32_t i = 0; i < (int32_t)vocabulary_size(expected); i++) {
        assert_string_equal(vocabulary_word(found, i), vocabulary_word(expected, i));
    }
}

enum { NBEST = 2, TRANSLATIONS = NBEST * DRAW_SENTENCES };

static void translate(nmt_model *model, const draw *one, nmt_translation translations[TRANSLATIONS])
{
    const nmt_translate_options options = {
        .max_length_ratio = 1, .max_length_extra = 2, .beam = 3, .nbest = NBEST, .alignment = true};
    drawn_text text[DRAW_SENTENCES];
    const char *lines[DRAW_SENTENCES];
    nmt_error error;
    for (size_t i = 0; i < one->count; i++) {
        lines[i] = draw_text(&text[i], &one->source[i]);
    }
    support_ok(nmt_translate(model, lines, one->count, &options, translations, &error), &error);
}

static void compare_translations(nmt_model *found, nmt_model *expected, const draw *one)
{
    nmt_translation these[TRANSLATIONS], those[TRANSLATIONS];
    translate(found, one, these);
    translate(expected, one, those);
    for (size_t i = 0; i < NBEST * one->count; i++) {
        const nmt_alignment *pair = &those[i].alignment;
        assert_int_equal(these[i].token_count, those[i].token_count);
        assert_true(these[i].score == those[i].score);
        if (those[i].text != NULL) {
            assert_string_equal(these[i].text, those[i].text);
        }
        assert_int_equal(these[i].alignment.source_count, pair->source_count);
        assert_int_equal(these[i].alignment.target_count, pair->target_count);
        for (size_t k = 0; k < pair->source_count * pair->target_count; k++) {
            assert_true(these[i].alignment.weights[k] == pair->weights[k]);
        }
        nmt_translation_clear(&these[i]);
        nmt_translation_clear(&those[i]);
    }
}

static nmt_model *save_and_load(const nmt_model *model, const char *name)
{
    nmt_model *loaded;
    nmt_error error;
    support_ok(checkpoint_save_model(model, model->block, support_path(name), &error), &error);
    support_ok(nmt_model_load(&loaded, support_path(name), &error), &error);
    return loaded;
}

/* Of some, because each file is flushed to disk: what was read is written as it stood. */
static void check_saving_again(const nmt_model *loaded)
{
    nmt_model_free(save_and_load(loaded, "second"));
    const file_bytes first = read_bytes(support_path("first")), second = read_bytes(support_path("second"));
    assert_true(same_bytes(first, second));
    free(first.bytes);
    free(second.bytes);
}

static void check_saving(const draw *one)
{
    nmt_model *model = draw_model(one, draw_copy(one), 1);
    for (size_t i = 0; i < model->parameters.size; i++) {
        model->block[i] = (real)(float)model->block[i]; /* what files hold */
    }
    nmt_model *loaded = save_and_load(model, "first");
    compare_configs(nmt_model_config(loaded), one->config);
    compare_words(loaded->source_words, model->source_words);
    compare_words(loaded->target_words, model->target_words);
    assert_int_equal(loaded->parameters.size, model->parameters.size);
    assert_memory_equal(loaded->block, model->block, model->parameters.size * sizeof *model->block);
    compare_translations(loaded, model, one);
    if (one->seed % 4 == 0) {
        check_saving_again(loaded);
    }
    nmt_model_free(model);
    nmt_model_free(loaded);
}

static void a_file_gives_back_what_was_saved(void **state)
{
    (void)state;
    for_all_draws(check_saving);
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

enum { LISTED = 48, WANTED = 3 };

/* Sums round at every step, and not the parameters alone. */
enum { ROUNDINGS = 16 };

typedef struct listed {
    int32_t ids[DRAW_TOKENS]; /* with `</s>` */
    size_t length;
    double log_probability;
} listed;

/* Every translation of a sentence up to a length, with what the loss says of it. */
typedef struct listing {
    nmt_model *model;
    const drawn_sentence *source;
    size_t limit; /* tokens, with `</s>` */
    listed entry[LISTED];
    size_t count;
    double moved; /* how far rounding of the parameters moves a log probability, see measure_rounding */
} listing;

static double log_probability(nmt_model *model, const drawn_sentence *source, const int32_t *ids, size_t length)
{
    const int32_t *sides[2] = {source->ids, ids};
    batch pair = {0};
    nmt_error error;
    support_ok(batch_set(&pair, &sides[0], &source->length, &sides[1], &length, 1, &error), &error);
    const double nats = loss_and_gradient(model, &pair, NULL, 1).nats;
    batch_free(&pair);
    return -nats;
}

/* What begins with words[length]. */
static void list_from(listing *all, int32_t *words, size_t length)
{
    assert_true(all->count < LISTED);
    listed *entry = &all->entry[all->count++];
    memcpy(entry->ids, words, length * sizeof *words);
    entry->ids[length] = TOKEN_END;
    entry->length = length + 1;
    entry->log_probability = log_probability(all->model, all->source, words, length);
    for (int32_t word = 0; word < (int32_t)vocabulary_size(all->model->target_words) && entry->length < all->limit;
         word++) {
        if (word != TOKEN_START && word != TOKEN_END) {
            words[length] = word;
            list_from(all, words, length + 1);
        }
    }
}

/*
 * Large parameters over several layers multiply what rounding does, in some draws ten thousand times: the same sums in
 * another order then differ by more than those of a tame model. How far is measured: every parameter is moved by one
 * unit in its last place, up or down by chance, and the largest change of a log probability counts.
 */
static void measure_rounding(listing *all)
{
    enum { TRIALS = 4 };
    real *block = all->model->block;
    const size_t size = all->model->parameters.size;
    real *kept = malloc(size * sizeof *kept);
    listing *moved = malloc(sizeof *moved);
    assert_non_null(kept);
    assert_non_null(moved);
    memcpy(kept, block, size * sizeof *kept);
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        int32_t words[DRAW_TOKENS];
        for (size_t i = 0; i < size; i++) {
            block[i] = nextafter(kept[i], hash_join(trial, i) & 1 ? INFINITY : -INFINITY);
        }
        model_changed(all->model);
        *moved = (listing){.model = all->model, .source = all->source, .limit = all->limit};
        list_from(moved, words, 0);
        for (size_t k = 0; k < all->count; k++) {
            all->moved = fmax(all->moved, fabs(moved->entry[k].log_probability - all->entry[k].log_probability));
        }
    }
    memcpy(block, kept, size * sizeof *kept);
    model_changed(all->model);
    free(moved);
    free(kept);
}

/* The longest limit with which LISTED are enough, and what a beam needs for it to prune nothing: as many hypotheses as
 * there are beginnings, each with all its extensions. */
static size_t find_limit(size_t words, size_t *beam)
{
    const size_t going_on = words - 2;
    size_t limit = 1, count = 1, longest = 1;
    while (count + longest * going_on <= LISTED && limit < DRAW_TOKENS) {
        longest *= going_on;
        count += longest;
        limit++;
    }
    *beam = longest * (going_on + 1);
    return limit;
}

static int falling(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

static const listed *find_listed(const listing *all, const hypothesis *found)
{
    for (size_t i = 0; i < all->count; i++) {
        const listed *entry = &all->entry[i];
        if (entry->length == found->length && memcmp(entry->ids, found->ids, found->length * sizeof *found->ids) == 0) {
            return entry;
        }
    }
    fail_msg("found a translation that is none");
    return NULL;
}

/* The best scores are those of the list, and so is the probability of what has them. */
static void compare_with_list(const hypothesis *found, const listing *all, const search_options *options)
{
    const double tolerance = rounding(all->model);
    const double moved = ROUNDINGS * all->moved; /* a score is a log probability divided by 1 or more */
    double scores[LISTED];
    for (size_t i = 0; i < all->count; i++) {
        scores[i] = expected_score(options, all->entry[i].log_probability, all->entry[i].length);
    }
    qsort(scores, all->count, sizeof *scores, falling);
    for (size_t k = 0; k < options->nbest && k < all->count; k++) {
        const double nats = find_listed(all, &found[k])->log_probability;
        assert_near(found[k].score, scores[k], tolerance * fmax(1, fabs(scores[k])) + moved);
        assert_near(found[k].log_probability, nats, tolerance * fmax(1, fabs(nats)) + moved);
    }
}

static const size_t line_numbers[DRAW_SENTENCES] = {1, 2, 3, 4, 5};

static void compare_with_lists(nmt_model *model, const sequences *sources, const listing *lists, search_options options)
{
    hypothesis found[WANTED * DRAW_SENTENCES];
    nmt_error error;
    for (size_t number = 0; number < SEARCH_SCORES; number++) {
        set_score(&options, number);
        options.nbest = 1 + (current->seed + number) % WANTED;
        support_ok(beam_search(model, sources, line_numbers, &options, found, &error), &error);
        for (size_t i = 0; i < sources->count; i++) {
            compare_with_list(&found[options.nbest * i], &lists[i], &options);
        }
        free_hypotheses(found, options.nbest * sources->count);
    }
}

static void check_wide_beam(nmt_model *model, const draw *one, const sequences *sources)
{
    search_options options = {.max_length_extra = 1};
    const size_t limit = find_limit(one->target_words, &options.beam);
    options.max_length_ratio = (double)(limit - 1) / (DRAW_TOKENS - 1);
    listing *lists = calloc(one->count, sizeof *lists);
    for (size_t i = 0; i < one->count; i++) {
        int32_t words[DRAW_TOKENS];
        const size_t most = 1 + (size_t)(options.max_length_ratio * (double)one->source[i].length);
        lists[i] = (listing){.model = model, .source = &one->source[i], .limit = most};
        list_from(&lists[i], words, 0);
        measure_rounding(&lists[i]);
    }
    options.beam = options.beam > WANTED ? options.beam : WANTED;
    compare_with_lists(model, sources, lists, options);
    free(lists);
}

static void check_narrow_beam(nmt_model *model, const draw *one, const sequences *sources)
{
    search_options options = {.max_length_ratio = 1,
                              .max_length_extra = 3,
                              .width = 1 + one->seed % one->count,
                              .beam = 1,
                              .nbest = 1,
                              .alpha = true};
    hypothesis found[DRAW_SENTENCES], expected[DRAW_SENTENCES];
    nmt_error error;
    set_score(&options, one->seed % SEARCH_SCORES);
    support_ok(beam_search(model, sources, line_numbers, &options, found, &error), &error);
    support_ok(greedy_search(model, sources, line_numbers, &options, expected, &error), &error);
    for (size_t i = 0; i < one->count; i++) {
        assert_same_hypothesis(&found[i], &expected[i]);
    }
    free_hypotheses(found, one->count);
    free_hypotheses(expected, one->count);
}

/* The larger the parameters, the surer the model of what follows: then it pays to go on. */
static void check_search(const draw *one)
{
    nmt_model *model = draw_model(one, draw_copy(one), 1 + (double)(one->seed % 3));
    batch pairs = {0};
    draw_batch(&pairs, one, NULL, one->count);
    check_wide_beam(model, one, &pairs.source);
    check_narrow_beam(model, one, &pairs.source);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void a_beam_that_prunes_nothing_finds_the_best(void **state)
{
    (void)state;
    for_all_draws(check_search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_choice_is_drawn, tell_draw),
        cmocka_unit_test_teardown(gradients_are_derivatives, tell_draw),
        cmocka_unit_test_teardown(company_changes_nothing, tell_draw),
        cmocka_unit_test_teardown(a_file_gives_back_what_was_saved, tell_draw),
        cmocka_unit_test_teardown(a_beam_that_prunes_nothing_finds_the_best, tell_draw),
    };
    return cmocka_run_group_tests(tests, draw_all, free_all);
}
