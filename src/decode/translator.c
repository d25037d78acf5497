/*
 * Lines of text in, translations out. Sentences of similar length share a batch; each result goes to the place of its
 * line, so neither the order nor the size of batches shows.
 */
#include <math.h>
#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "decode/alignment.h"
#include "decode/lexicon.h"
#include "decode/search.h"
#include "decode/sentence.h"

static const size_t default_batch_size = 64;

/* What is encoded at once, where a search refills places: source tokens in all, and how many times the batch. */
static const size_t group_tokens = 4096, group_batches = 8;
static const double largest_alpha = 10, largest_bonus = 100;

/* A token as it is written: not NUL-terminated. */
typedef struct piece {
    const char *text;
    size_t size;
    bool word; /* among pieces or characters: stands between spaces */
} piece;

typedef struct translator {
    nmt_model *model;
    search_options search;
    size_t group_size; /* sentences searched for at once, at the most */
    bool replace_unknown, alignment;
    const nmt_lexicon *lexicon;
    const char *join;
    sentence *sentences;
    size_t *order; /* of the sentences that have tokens */
    size_t order_count;
    sequences sources; /* of a group, as are the rest: [group_size] */
    const int32_t **ids;
    size_t *lengths, *lines;
    hypothesis *best; /* [group_size, nbest] */
    piece *pieces;    /* of one translation */
    size_t pieces_capacity;
} translator;

void nmt_join(char *text, const char *marker)
{
    segmenter_join_marked(text, marker);
}

void nmt_translation_clear(nmt_translation *translation)
{
    if (translation == NULL) {
        return;
    }
    free(translation->text);
    free(translation->token_log_probabilities);
    nmt_alignment_clear(&translation->alignment);
    *translation = (nmt_translation){0};
}

/* ---- from a hypothesis to a translation -----------------------------------------------------------------------------
 */

/* For an unknown token: the source word that it was read from most, or what the lexicon has for that. Where both sides
 * are cut, the piece or character of the source: it fits between those of the target. */
static piece replacement(const translator *work, const sentence *source, const real *alpha)
{
    size_t best = 0, size;
    for (size_t s = 1; s < source->length; s++) { /* `</s>` behind them is no word */
        best = alpha[s] > alpha[best] ? s : best;
    }
    const bool target_cut = work->model->segmenters.target != NULL;
    const bool word = source->cut == NULL || !target_cut;
    const char *token = word ? sentence_word(source, best, &size) : sentence_token(source, best, &size);
    const char *known = lexicon_find(work->lexicon, token, size);
    return known != NULL ? (piece){known, strlen(known), word} : (piece){token, size, word};
}

/* What is written for each token of a hypothesis, in work->pieces. */
static nmt_status choose_pieces(translator *work, const sentence *source, const hypothesis *from, nmt_error *error)
{
    TRY(memory_grow(&work->pieces, &work->pieces_capacity, from->length, sizeof *work->pieces, "a translation", error));
    for (size_t t = 0; t < from->length; t++) {
        const char *word = vocabulary_word(work->model->target_words, from->ids[t]);
        work->pieces[t] = work->replace_unknown && from->ids[t] == TOKEN_UNKNOWN
                              ? replacement(work, source, from->alpha + t * from->source_length)
                              : (piece){word, strlen(word), false};
    }
    return NMT_OK;
}

/* With single spaces between them; `space` stands on both sides of words among what is no word. */
static nmt_status join_pieces(char **text, const piece *pieces, size_t count, const char *space, nmt_error *error)
{
    const size_t around = strlen(space);
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += pieces[i].size + 1 + 2 * around;
    }
    TRY(memory_new(text, size, 1, "a translation", error));
    char *end = *text;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            *end++ = ' ';
        }
        const char *beside = pieces[i].word ? space : "";
        end = stpcpy(end, beside);
        memcpy(end, pieces[i].text, pieces[i].size);
        end = stpcpy(end + pieces[i].size, beside);
    }
    *end = '\0';
    return NMT_OK;
}

static nmt_status align_pieces(nmt_alignment *alignment, const sentence *source, const hypothesis *from,
                               const piece *pieces, nmt_error *error)
{
    TRY(alignment_create(alignment, source, from->length, error));
    for (size_t t = 0; t < from->length; t++) {
        alignment_set_row(alignment, t, from->alpha + t * from->source_length);
        TRY(memory_copy_text(&alignment->target[t], pieces[t].text, pieces[t].size, "an alignment", error));
    }
    return NMT_OK;
}

static nmt_status render(translator *work, nmt_translation *translation, const sentence *source, const hypothesis *from,
                         nmt_error *error)
{
    TRY(choose_pieces(work, source, from, error));
    const bool cut = work->model->segmenters.target != NULL;
    TRY(join_pieces(&translation->text, work->pieces, hypothesis_words(from), cut ? segmenter_space() : "", error));
    if (cut) {
        segmenter_join(translation->text);
    }
    if (work->join != NULL) {
        segmenter_join_marked(translation->text, work->join);
    }
    TRY(memory_new(&translation->token_log_probabilities, from->length, sizeof *translation->token_log_probabilities,
                   "a translation", error));
    memcpy(translation->token_log_probabilities, from->log_probabilities,
           from->length * sizeof *from->log_probabilities);
    translation->token_count = from->length;
    translation->log_probability = from->log_probability;
    translation->score = from->score;
    return work->alignment ? align_pieces(&translation->alignment, source, from, work->pieces, error) : NMT_OK;
}

/* ---- groups ---------------------------------------------------------------------------------------------------------
 */

/* Searches for the sentences order[0 .. count-1]; work->best holds the hypotheses of each. */
static nmt_status search_group(translator *work, const size_t *order, size_t count, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const sentence *source = &work->sentences[order[i]];
        work->ids[i] = source->ids;
        work->lengths[i] = source->length + 1;
        work->lines[i] = order[i] + 1;
    }
    TRY(sequences_set(&work->sources, work->ids, work->lengths, count, error));
    return search_best(work->model, &work->sources, work->lines, &work->search, work->best, error);
}

/* `translations` and work->best have nbest places a sentence. */
static nmt_status translate_group(translator *work, const size_t *order, size_t count, nmt_translation *translations,
                                  nmt_error *error)
{
    const size_t nbest = work->search.nbest;
    TRY(search_group(work, order, count, error));
    nmt_status status = NMT_OK;
    for (size_t i = 0; i < count * nbest; i++) {
        const size_t index = order[i / nbest];
        if (status == NMT_OK && work->best[i].length > 0) {
            status =
                render(work, &translations[index * nbest + i % nbest], &work->sentences[index], &work->best[i], error);
        }
        hypothesis_free(&work->best[i]);
    }
    return status;
}

/* How many of the next `left` sentences make a group: a batch, and as many more as are welcome. */
static size_t next_group(const translator *work, const size_t *order, size_t left)
{
    const size_t most = left < work->group_size ? left : work->group_size;
    size_t count = 0;
    for (size_t tokens = 0; count < most; count++) {
        tokens += work->sentences[order[count]].length + 1;
        if (count >= work->search.width && tokens > group_tokens) {
            break;
        }
    }
    return count;
}

static nmt_status translate_all(translator *work, size_t count, nmt_translation *translations, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (work->sentences[i].length == 0) {
            TRY(memory_copy_text(&translations[i * work->search.nbest].text, "", 0, "a translation", error));
        }
    }
    for (size_t first = 0, size; first < work->order_count; first += size) {
        size = next_group(work, work->order + first, work->order_count - first);
        TRY(translate_group(work, work->order + first, size, translations, error));
    }
    return NMT_OK;
}

/* ---- the call -------------------------------------------------------------------------------------------------------
 */

static nmt_status check_options(const nmt_translate_options *chosen, size_t beam, size_t nbest, nmt_error *error)
{
    if (!isfinite(chosen->max_length_ratio) || chosen->max_length_ratio < 0) {
        return error_set(error, NMT_INVALID, "max_length_ratio: expected a finite number that is not negative");
    }
    if (beam > NMT_BEAM_LIMIT) {
        return error_set(error, NMT_INVALID, "beam: expected at most %d, found %zu", NMT_BEAM_LIMIT, beam);
    }
    if (nbest > beam) {
        return error_set(error, NMT_INVALID, "nbest: expected at most the beam, %zu, found %zu", beam, nbest);
    }
    if (!(chosen->length_alpha >= 0 && chosen->length_alpha <= largest_alpha)) {
        return error_set(error, NMT_INVALID, "length_alpha: expected a number from 0 to %g", largest_alpha);
    }
    if (!(fabs(chosen->length_bonus) <= largest_bonus)) {
        return error_set(error, NMT_INVALID, "length_bonus: expected a number from -%g to %g", largest_bonus,
                         largest_bonus);
    }
    return NMT_OK;
}

/* Of `count` sentences. A width of 1 means one by one. */
static size_t largest_group(const search_options *search, size_t count)
{
    const size_t batches = search->width > 1 && search_refills(search) ? group_batches : 1;
    return search->width < count / batches ? search->width * batches : count;
}

static nmt_status set_options(translator *work, const nmt_translate_options *options, size_t count, nmt_error *error)
{
    const nmt_translate_options none = {0};
    const nmt_translate_options *chosen = options != NULL ? options : &none;
    const size_t batch_size = chosen->batch_size > 0 ? chosen->batch_size : default_batch_size;
    const size_t beam = chosen->beam > 0 ? chosen->beam : 1, nbest = chosen->nbest > 0 ? chosen->nbest : 1;
    TRY(check_options(chosen, beam, nbest, error));
    work->replace_unknown = chosen->replace_unknown;
    work->lexicon = chosen->lexicon;
    work->join = chosen->join;
    work->alignment = chosen->alignment;
    work->search = (search_options){
        .max_length_ratio =
            chosen->max_length_ratio > 0 ? chosen->max_length_ratio : search_length_ratio(work->model->length_ratio),
        .max_length_extra =
            chosen->max_length_extra > 0 ? chosen->max_length_extra : search_length_extra(chosen->min_length),
        .width = batch_size < count ? batch_size : count,
        .beam = beam,
        .nbest = nbest,
        .penalty = chosen->length_penalty,
        .penalty_alpha = chosen->length_alpha,
        .bonus = chosen->length_bonus,
        .min_length = chosen->min_length,
        .no_repeat_ngram = chosen->no_repeat_ngram,
        .ban_unknown = chosen->ban_unknown,
        .alpha = chosen->alignment || chosen->replace_unknown};
    work->group_size = largest_group(&work->search, count);
    return NMT_OK;
}

static nmt_status set_up(translator *work, const char *const *lines, size_t count, nmt_error *error)
{
    const char *what = "a batch of translations";
    TRY(sentences_create(&work->sentences, lines, count, work->model, SENTENCE_SOURCE, "line", error));
    TRY(sentences_by_length(&work->order, &work->order_count, work->sentences, NULL, count, error));
    TRY(memory_new(&work->ids, work->group_size, sizeof *work->ids, what, error));
    TRY(memory_new(&work->lengths, work->group_size, sizeof *work->lengths, what, error));
    TRY(memory_new(&work->lines, work->group_size, sizeof *work->lines, what, error));
    return memory_new(&work->best, work->group_size * work->search.nbest, sizeof *work->best, what, error);
}

static void tear_down(translator *work, size_t count)
{
    sentences_free(work->sentences, count);
    free(work->order);
    sequences_free(&work->sources);
    free(work->ids);
    free(work->lengths);
    free(work->lines);
    free(work->best);
    free(work->pieces);
}

nmt_status nmt_translate(nmt_model *model, const char *const *lines, size_t count, const nmt_translate_options *options,
                         nmt_translation *translations, nmt_error *error)
{
    translator work = {.model = model};
    const size_t places = count * (options != NULL && options->nbest > 0 ? options->nbest : 1);
    for (size_t i = 0; i < places; i++) {
        translations[i] = (nmt_translation){0};
    }
    nmt_status status = set_options(&work, options, count, error);
    if (status == NMT_OK) {
        status = set_up(&work, lines, count, error);
    }
    if (status == NMT_OK) {
        status = translate_all(&work, count, translations, error);
    }
    tear_down(&work, count);
    for (size_t i = 0; status != NMT_OK && i < places; i++) {
        nmt_translation_clear(&translations[i]);
    }
    return status;
}
