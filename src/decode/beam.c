/*
 * Hypotheses share their beginnings: each is a leaf of a tree whose nodes are tokens, so that extending copies nothing
 * and a hypothesis is written out only when it has won its place among the finished. The hypotheses of all sentences
 * still searched are the rows of one step of the model, those of a sentence side by side, the best first.
 */
#include "decode/beam.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "data/vocabulary.h"
#include "ops/log_sum_exp.h"

static const size_t no_node = SIZE_MAX; /* before the first token */

/* A token of the tree. */
typedef struct node {
    size_t before;    /* the token before it, or no_node */
    size_t attention; /* row of beam.attention: what was read for it */
    int32_t token;
    double log_probability; /* of the token */
} node;

/* A hypothesis that goes on. */
typedef struct runner {
    size_t sentence; /* whom it translates */
    size_t last;     /* its last token */
    double log_probability;
} runner;

/* A token that may extend the runner at `row`. */
typedef struct candidate {
    size_t row;
    int32_t token;
    real logit;
    double log_probability; /* of the token */
    double total;           /* of the hypothesis with it */
} candidate;

/* A hypothesis that went on to its end or its limit. */
typedef struct finisher {
    size_t last;
    size_t length;
    double log_probability, score;
    bool ended;
} finisher;

/* What a sentence has come to. */
typedef struct outcome {
    size_t limit;       /* of its words */
    size_t count;       /* finished, up to nbest */
    finisher *finished; /* [nbest], the best first */
} outcome;

typedef struct beam {
    const sequences *sources;
    const size_t *line;
    const search_options *options;
    size_t V;
    size_t length; /* tokens of every runner */

    runner *runners, *next; /* [count * beam] of this step and of the one after it */
    size_t *parents;        /* [count * beam] rows of `next` in this step */
    int32_t *previous;      /* [count * beam] */
    size_t count, next_count;
    const real *logits; /* [count, V] of this step */
    const real *alpha;  /* [count, S] */

    size_t choices;        /* candidates of a runner at the most */
    candidate *candidates; /* [count * beam, choices], the best first */
    size_t *candidate_count;
    candidate *chosen; /* [beam] of a sentence, the best first */

    node *nodes;
    real *attention; /* [attention_rows, S] of all steps so far, where it is kept */
    size_t node_count, node_capacity, attention_rows, attention_capacity;

    outcome *outcomes;   /* [sentences] */
    finisher *finishers; /* [sentences, nbest] */
    size_t *path;        /* nodes of one hypothesis */
    size_t path_capacity;
} beam;

/* ---- extensions of one hypothesis -----------------------------------------------------------------------------------
 */

/* The `count` tokens up to `a` are those up to `b`. */
static bool same_before(const beam *search, size_t a, size_t b, size_t count)
{
    for (; count > 0; count--) {
        if (a == no_node || b == no_node || search->nodes[a].token != search->nodes[b].token) {
            return false;
        }
        a = search->nodes[a].before;
        b = search->nodes[b].before;
    }
    return true;
}

/* The n-gram that `token` completes behind `last` was there before. */
static bool repeats(const beam *search, size_t last, int32_t token, size_t n)
{
    for (size_t at = last; at != no_node; at = search->nodes[at].before) {
        if (search->nodes[at].token == token && same_before(search, search->nodes[at].before, last, n - 1)) {
            return true;
        }
    }
    return false;
}

static bool is_banned(const beam *search, const runner *from, int32_t token)
{
    const search_options *options = search->options;
    switch (token) {
    case TOKEN_START:
        return true;
    case TOKEN_END:
        return search->length < options->min_length;
    case TOKEN_UNKNOWN:
        if (options->ban_unknown) {
            return true;
        }
    }
    return options->no_repeat_ngram > 0 && repeats(search, from->last, token, options->no_repeat_ngram);
}

/* Puts `token` into its place among the best of its row: behind those of the same logit, which have smaller numbers. */
static void insert_token(candidate *list, size_t *count, size_t most, int32_t token, real logit)
{
    size_t place = *count < most ? (*count)++ : most - 1;
    for (; place > 0 && list[place - 1].logit < logit; place--) {
        list[place] = list[place - 1];
    }
    list[place] = (candidate){.token = token, .logit = logit};
}

/* The most probable extensions of a runner, in order of their logits. */
static size_t choose_tokens(const beam *search, size_t row, candidate *list)
{
    const real *logits = search->logits + row * search->V;
    const size_t most = search->choices;
    real least = -(real)INFINITY; /* what a token has to be over */
    size_t count = 0;
    for (size_t i = 0; i < search->V; i++) {
        if (logits[i] > least && !is_banned(search, &search->runners[row], (int32_t)i)) {
            insert_token(list, &count, most, (int32_t)i, logits[i]);
            least = count == most ? list[most - 1].logit : least;
        }
    }
    if (count == 0) {
        insert_token(list, &count, most, TOKEN_END, logits[TOKEN_END]);
    }
    return count;
}

static void choose_rows(void *context, size_t begin, size_t end)
{
    const beam *search = context;
    for (size_t row = begin; row < end; row++) {
        candidate *list = search->candidates + row * search->choices;
        const size_t count = choose_tokens(search, row, list);
        const double normaliser = log_sum_exp(search->logits + row * search->V, search->V);
        for (size_t i = 0; i < count; i++) {
            list[i].row = row;
            list[i].log_probability = (double)list[i].logit - normaliser;
            list[i].total = search->runners[row].log_probability + list[i].log_probability;
        }
        search->candidate_count[row] = count;
    }
}

/* ---- the best extensions of a sentence ------------------------------------------------------------------------------
 */

/* Merges the candidates of the rows first .. end-1 into search->chosen; returns how many. */
static size_t choose_candidates(const beam *search, size_t first, size_t end)
{
    const size_t most = search->options->beam;
    candidate *chosen = search->chosen;
    size_t count = 0;
    for (size_t row = first; row < end; row++) {
        const candidate *list = search->candidates + row * search->choices;
        for (size_t i = 0; i < search->candidate_count[row]; i++) {
            if (count == most && list[i].total <= chosen[most - 1].total) {
                break; /* those behind it are no better */
            }
            size_t place = count < most ? count++ : most - 1;
            for (; place > 0 && chosen[place - 1].total < list[i].total; place--) {
                chosen[place] = chosen[place - 1];
            }
            chosen[place] = list[i];
        }
    }
    return count;
}

static bool comes_before(const finisher *a, const finisher *b)
{
    return a->ended != b->ended ? a->ended : a->score > b->score;
}

static void finish(const beam *search, outcome *of, const candidate *with, size_t last)
{
    const size_t most = search->options->nbest;
    const size_t length = search->length + 1;
    const finisher made = {.last = last,
                           .length = length,
                           .log_probability = with->total,
                           .score = search_score(search->options, with->total, length),
                           .ended = with->token == TOKEN_END};
    if (of->count == most && !comes_before(&made, &of->finished[most - 1])) {
        return;
    }
    size_t place = of->count < most ? of->count++ : most - 1;
    for (; place > 0 && comes_before(&made, &of->finished[place - 1]); place--) {
        of->finished[place] = of->finished[place - 1];
    }
    of->finished[place] = made;
}

static nmt_status add_node(beam *search, const candidate *with, size_t attention_row, nmt_error *error)
{
    TRY(memory_grow(&search->nodes, &search->node_capacity, search->node_count + 1, sizeof *search->nodes, "a search",
                    error));
    search->nodes[search->node_count++] = (node){.before = search->runners[with->row].last,
                                                 .attention = attention_row,
                                                 .token = with->token,
                                                 .log_probability = with->log_probability};
    return NMT_OK;
}

/* Takes the chosen candidates of a sentence: whole hypotheses to the finished, the others to the next step. */
static nmt_status take(beam *search, outcome *of, size_t sentence, size_t chosen, size_t first_attention,
                       nmt_error *error)
{
    for (size_t i = 0; i < chosen; i++) {
        const candidate *with = &search->chosen[i];
        TRY(add_node(search, with, first_attention + with->row, error));
        const size_t last = search->node_count - 1;
        if (with->token == TOKEN_END || search->length + 1 == of->limit) {
            finish(search, of, with, last);
        } else {
            search->parents[search->next_count] = with->row;
            search->next[search->next_count++] = (runner){sentence, last, with->total};
        }
    }
    return NMT_OK;
}

/* Nothing unfinished can come before the last of the finished. The unfinished at rows `first` and on of the next step
 * are all of one length, the most probable first, and so is their bound. */
static bool is_decided(const beam *search, const outcome *of, size_t first)
{
    if (first == search->next_count || of->count < search->options->nbest) {
        return false;
    }
    const double best =
        search_bound(search->options, search->next[first].log_probability, search->length + 1, of->limit);
    return best <= of->finished[of->count - 1].score;
}

/* The sentence of the rows first .. end-1. */
static nmt_status extend_sentence(beam *search, size_t first, size_t end, size_t first_attention, nmt_error *error)
{
    const size_t sentence = search->runners[first].sentence;
    outcome *of = &search->outcomes[sentence];
    for (size_t row = first; row < end; row++) {
        if (!isfinite(search->candidates[row * search->choices].log_probability)) {
            return error_set(error, NMT_NOT_FINITE,
                             "line %zu: the model gives NaN or infinity for token %zu of its translation",
                             search->line[sentence], search->length + 1);
        }
    }
    const size_t next = search->next_count;
    TRY(take(search, of, sentence, choose_candidates(search, first, end), first_attention, error));
    if (is_decided(search, of, next)) {
        search->next_count = next;
    }
    return NMT_OK;
}

/* ---- steps ----------------------------------------------------------------------------------------------------------
 */

/* Keeps what this step read. */
static nmt_status keep_attention(beam *search, nmt_error *error)
{
    const size_t S = search->sources->steps;
    if (!search->options->alpha) {
        return NMT_OK;
    }
    TRY(memory_grow(&search->attention, &search->attention_capacity, (search->attention_rows + search->count) * S,
                    sizeof *search->attention, "the attention of a search", error));
    memcpy(search->attention + search->attention_rows * S, search->alpha, search->count * S * sizeof *search->alpha);
    search->attention_rows += search->count;
    return NMT_OK;
}

/* Extends all sentences; `next` and `parents` then say who goes on. */
static nmt_status extend_all(beam *search, nmt_error *error)
{
    const size_t first_attention = search->attention_rows;
    TRY(keep_attention(search, error));
    search->next_count = 0;
    for (size_t first = 0, end; first < search->count; first = end) {
        for (end = first + 1; end < search->count; end++) {
            if (search->runners[end].sentence != search->runners[first].sentence) {
                break;
            }
        }
        TRY(extend_sentence(search, first, end, first_attention, error));
    }
    return NMT_OK;
}

static nmt_status run(beam *search, decoding *state, nmt_error *error)
{
    while (search->count > 0) {
        for (size_t row = 0; row < search->count; row++) {
            const size_t last = search->runners[row].last;
            search->previous[row] = last == no_node ? TOKEN_START : search->nodes[last].token;
        }
        TRY(model_step(state, search->previous, &search->logits, &search->alpha, error));
        parallel_for(search->count, 1, choose_rows, search);
        TRY(extend_all(search, error));
        runner *const spare = search->runners;
        search->runners = search->next;
        search->next = spare;
        search->count = search->next_count;
        search->length++;
        if (search->count > 0) {
            TRY(model_reorder(state, search->parents, search->count, error));
        }
    }
    return NMT_OK;
}

/* ---- results --------------------------------------------------------------------------------------------------------
 */

static nmt_status write_out(beam *search, const finisher *from, hypothesis *to, nmt_error *error)
{
    TRY(memory_grow(&search->path, &search->path_capacity, from->length, sizeof *search->path, "a search", error));
    size_t at = from->last;
    for (size_t t = from->length; t > 0; t--) {
        search->path[t - 1] = at;
        at = search->nodes[at].before;
    }
    for (size_t t = 0; t < from->length; t++) {
        const node *each = &search->nodes[search->path[t]];
        const real *alpha =
            search->options->alpha ? search->attention + each->attention * search->sources->steps : NULL;
        TRY(hypothesis_append(to, each->token, each->log_probability, alpha, error));
    }
    to->score = from->score;
    return NMT_OK;
}

static nmt_status write_out_all(beam *search, hypothesis *best, nmt_error *error)
{
    const size_t nbest = search->options->nbest;
    for (size_t i = 0; i < search->sources->count; i++) {
        for (size_t k = 0; k < search->outcomes[i].count; k++) {
            TRY(write_out(search, &search->outcomes[i].finished[k], &best[i * nbest + k], error));
        }
    }
    return NMT_OK;
}

/* ---- the call -------------------------------------------------------------------------------------------------------
 */

static nmt_status set_up(beam *search, nmt_error *error)
{
    const size_t sentences = search->sources->count, width = search->options->beam, rows = sentences * width;
    const char *what = "a search";
    TRY(memory_new(&search->runners, rows, sizeof *search->runners, what, error));
    TRY(memory_new(&search->next, rows, sizeof *search->next, what, error));
    TRY(memory_new(&search->parents, rows, sizeof *search->parents, what, error));
    TRY(memory_new(&search->previous, rows, sizeof *search->previous, what, error));
    TRY(memory_new(&search->candidates, rows * search->choices, sizeof *search->candidates, what, error));
    TRY(memory_new(&search->candidate_count, rows, sizeof *search->candidate_count, what, error));
    TRY(memory_new(&search->chosen, width, sizeof *search->chosen, what, error));
    TRY(memory_new(&search->outcomes, sentences, sizeof *search->outcomes, what, error));
    return memory_new(&search->finishers, sentences * search->options->nbest, sizeof *search->finishers, what, error);
}

static void tear_down(beam *search)
{
    free(search->runners);
    free(search->next);
    free(search->parents);
    free(search->previous);
    free(search->candidates);
    free(search->candidate_count);
    free(search->chosen);
    free(search->nodes);
    free(search->attention);
    free(search->outcomes);
    free(search->finishers);
    free(search->path);
}

/* A runner for every sentence. */
static void line_up(beam *search, hypothesis *best)
{
    const size_t nbest = search->options->nbest;
    for (size_t i = 0; i < search->sources->count; i++) {
        const size_t source_length = search->sources->length[search->sources->row[i]];
        search->runners[i] = (runner){.sentence = i, .last = no_node};
        search->outcomes[i] = (outcome){.limit = search_length_limit(search->options, source_length - 1),
                                        .finished = search->finishers + i * nbest};
        for (size_t k = 0; k < nbest; k++) {
            best[i * nbest + k] = (hypothesis){.source_length = source_length};
        }
    }
    search->count = search->sources->count;
}

static nmt_status start_and_run(beam *search, nmt_model *model, hypothesis *best, nmt_error *error)
{
    decoding *state;
    line_up(search, best);
    TRY(model_start(model, search->sources, search->sources->count * search->options->beam, &state, error));
    nmt_status status = run(search, state, error);
    model_finish(state);
    if (status == NMT_OK) {
        status = write_out_all(search, best, error);
    }
    for (size_t i = 0; status != NMT_OK && i < search->sources->count * search->options->nbest; i++) {
        hypothesis_free(&best[i]);
    }
    return status;
}

nmt_status beam_search(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error)
{
    assert(options->nbest >= 1 && options->nbest <= options->beam);
    assert(options->max_length_extra >= 1); /* every sentence takes part in the first step */
    const size_t V = vocabulary_size(model->target_words);
    beam search = {
        .sources = sources, .line = line, .options = options, .V = V, .choices = options->beam < V ? options->beam : V};
    nmt_status status = set_up(&search, error);
    if (status == NMT_OK) {
        status = start_and_run(&search, model, best, error);
    }
    tear_down(&search);
    return status;
}
