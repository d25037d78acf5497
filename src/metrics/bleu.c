/*
 * Corpus BLEU (Papineni et al. 2002). The n-grams of a reference line stand in a trie: its nodes are found through a
 * hash table whose key is (parent node, word), compared exactly, so no two n-grams are ever taken for one. A node keeps
 * how often its n-gram may still be matched; the hypothesis walks the trie from each of its words and uses these counts
 * up, which is the clipping. A line costs time in its length, and memory is that of the longest line.
 */
#include <math.h>
#include <nmt/evaluate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"

enum { ROOT = 0, ABSENT = 0 }; /* nodes and words count from 1 */

typedef struct word {
    const char *text;
    size_t length;
    uint32_t number; /* the place of its first twin in the reference, from 1; ABSENT outside the reference */
} word;

typedef struct word_list {
    word *words;
    size_t count, capacity;
} word_list;

typedef struct slot {
    uint64_t key;   /* parent << 32 | word, or the hash of a word's text */
    uint32_t value; /* node or word number, from 1 */
    uint32_t line;  /* the slot is empty unless this is the current line: clearing costs nothing */
} slot;

typedef struct table {
    slot *slots;
    size_t capacity; /* a power of two */
} table;

typedef struct scorer {
    word_list reference, hypothesis;
    table words, nodes;
    uint32_t *allowed; /* [nodes] matches left for an n-gram */
    size_t allowed_capacity;
    uint32_t line; /* from 1 */
} scorer;

/* What Python's str.split() cuts at, within ASCII. */
static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f);
}

static nmt_status split(word_list *list, const char *text, nmt_error *error)
{
    list->count = 0;
    for (;;) {
        while (is_space(*text)) {
            text++;
        }
        if (*text == '\0') {
            return NMT_OK;
        }
        const char *start = text;
        while (*text != '\0' && !is_space(*text)) {
            text++;
        }
        TRY(memory_grow(&list->words, &list->capacity, list->count + 1, sizeof *list->words, "a line's words", error));
        list->words[list->count++] = (word){start, (size_t)(text - start), ABSENT};
    }
}

/* Room for `entries` at a load of at most a half. */
static nmt_status table_reserve(table *hashed, size_t entries, nmt_error *error)
{
    size_t capacity = 64;
    while (capacity < 2 * entries) {
        capacity *= 2;
    }
    if (capacity <= hashed->capacity) {
        return NMT_OK;
    }
    slot *slots;
    TRY(memory_new(&slots, capacity, sizeof *slots, "the table of n-grams", error));
    free(hashed->slots);
    *hashed = (table){slots, capacity};
    return NMT_OK;
}

static size_t table_start(const table *hashed, uint64_t key)
{
    const uint64_t mixed = (key ^ (key >> 29)) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 20) & (hashed->capacity - 1);
}

/* The slot of (parent, follower), or the empty one where it belongs. */
static slot *find_node(const scorer *state, uint32_t parent, uint32_t follower)
{
    const uint64_t key = (uint64_t)parent << 32 | follower;
    size_t index = table_start(&state->nodes, key);
    while (state->nodes.slots[index].line == state->line && state->nodes.slots[index].key != key) {
        index = (index + 1) & (state->nodes.capacity - 1);
    }
    slot *found = &state->nodes.slots[index];
    if (found->line != state->line) {
        *found = (slot){key, ABSENT, 0};
    }
    return found;
}

/* The slot of a word of the reference, or the empty one where it belongs. */
static slot *find_word(const scorer *state, word token)
{
    const uint64_t key = hash_bytes(token.text, token.length);
    size_t index = table_start(&state->words, key);
    for (;; index = (index + 1) & (state->words.capacity - 1)) {
        slot *found = &state->words.slots[index];
        if (found->line != state->line) {
            *found = (slot){key, ABSENT, 0};
            return found;
        }
        const word *known = &state->reference.words[found->value - 1];
        if (found->key == key && known->length == token.length && memcmp(known->text, token.text, token.length) == 0) {
            return found;
        }
    }
}

/* Numbers the words of both lines, so that equal words of the reference have equal numbers. */
static void number_words(scorer *state)
{
    for (size_t i = 0; i < state->reference.count; i++) {
        slot *found = find_word(state, state->reference.words[i]);
        if (found->line != state->line) {
            found->line = state->line;
            found->value = (uint32_t)i + 1;
        }
        state->reference.words[i].number = found->value;
    }
    for (size_t i = 0; i < state->hypothesis.count; i++) {
        state->hypothesis.words[i].number = find_word(state, state->hypothesis.words[i])->value;
    }
}

static nmt_status reserve(scorer *state, size_t length, nmt_error *error)
{
    if (length > UINT32_MAX / (4 * NMT_BLEU_ORDER)) {
        return error_set(error, NMT_INVALID, "line %lu: expected at most %lu words, found %zu",
                         (unsigned long)state->line, (unsigned long)(UINT32_MAX / (4 * NMT_BLEU_ORDER)), length);
    }
    const size_t nodes = NMT_BLEU_ORDER * length;
    TRY(table_reserve(&state->words, length, error));
    TRY(table_reserve(&state->nodes, nodes, error));
    return memory_grow(&state->allowed, &state->allowed_capacity, nodes + 1, sizeof *state->allowed,
                       "the counts of n-grams", error);
}

/* Builds the trie of the reference line. */
static void count_reference(scorer *state)
{
    const size_t length = state->reference.count;
    uint32_t nodes = 0;
    for (size_t start = 0; start < length; start++) {
        uint32_t parent = ROOT;
        for (size_t order = 0; order < NMT_BLEU_ORDER && start + order < length; order++) {
            slot *found = find_node(state, parent, state->reference.words[start + order].number);
            if (found->line != state->line) {
                found->line = state->line;
                found->value = ++nodes;
                state->allowed[nodes] = 0;
            }
            parent = found->value;
            state->allowed[parent]++;
        }
    }
}

/* Adds the hypothesis line's clipped matches. An n-gram outside the trie ends the walk: no longer one can be inside. */
static void count_matches(scorer *state, nmt_bleu *bleu)
{
    const size_t length = state->hypothesis.count;
    for (size_t start = 0; start < length; start++) {
        uint32_t parent = ROOT;
        for (size_t order = 0; order < NMT_BLEU_ORDER && start + order < length; order++) {
            parent = find_node(state, parent, state->hypothesis.words[start + order].number)->value;
            if (parent == ABSENT) {
                break;
            }
            if (state->allowed[parent] > 0) {
                state->allowed[parent]--;
                bleu->matches[order]++;
            }
        }
    }
}

static nmt_status score_line(scorer *state, nmt_bleu *bleu, const char *hypothesis, const char *reference,
                             nmt_error *error)
{
    TRY(split(&state->hypothesis, hypothesis, error));
    TRY(split(&state->reference, reference, error));
    TRY(reserve(state, state->reference.count, error));
    number_words(state);
    count_reference(state);
    count_matches(state, bleu);
    const size_t length = state->hypothesis.count;
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        bleu->totals[order] += length > order ? length - order : 0;
    }
    bleu->hypothesis_length += length;
    bleu->reference_length += state->reference.count;
    return NMT_OK;
}

/* BLEU = 100 BP exp(mean over orders of log precision); one precision of 0 makes it 0, for nothing is smoothed. */
static void combine(nmt_bleu *bleu)
{
    double log_sum = 0;
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        const double share = bleu->totals[order] > 0 ? (double)bleu->matches[order] / (double)bleu->totals[order] : 0.0;
        bleu->precision[order] = 100 * share;
        log_sum += log(share);
    }
    const double c = (double)bleu->hypothesis_length;
    const double r = (double)bleu->reference_length;
    bleu->brevity_penalty = c >= r ? 1.0 : c > 0 ? exp(1 - r / c) : 0.0;
    bleu->score =
        bleu->matches[NMT_BLEU_ORDER - 1] > 0 ? 100 * bleu->brevity_penalty * exp(log_sum / NMT_BLEU_ORDER) : 0.0;
}

static void scorer_clear(scorer *state)
{
    free(state->reference.words);
    free(state->hypothesis.words);
    free(state->words.slots);
    free(state->nodes.slots);
    free(state->allowed);
}

nmt_status nmt_bleu_corpus(nmt_bleu *bleu, const char *const *hypotheses, const char *const *references, size_t count,
                           nmt_error *error)
{
    memset(bleu, 0, sizeof *bleu);
    if (count == 0 || count >= UINT32_MAX) {
        return error_set(error, NMT_INVALID, "BLEU needs from 1 to %lu lines, found %zu", (unsigned long)UINT32_MAX - 1,
                         count);
    }
    scorer state = {0};
    nmt_status status = NMT_OK;
    for (size_t i = 0; i < count && status == NMT_OK; i++) {
        state.line = (uint32_t)i + 1;
        status = score_line(&state, bleu, hypotheses[i], references[i], error);
    }
    scorer_clear(&state);
    combine(bleu);
    return status;
}

const char *nmt_bleu_signature(void)
{
    return "nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:nmt-" NMT_VERSION;
}
