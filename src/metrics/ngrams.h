/*
 * The n-grams of one line's references, for counting how many of a hypothesis's match. They stand in a trie whose nodes
 * are found through a hash table with the key (parent node, symbol), compared exactly, so no two n-grams are ever taken
 * for one. A line costs time in its length, and memory is that of the longest line.
 */
#ifndef METRICS_NGRAMS_H
#define METRICS_NGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* A line as numbers, equal ones for what is equal: its words, or its characters. */
typedef struct symbols {
    uint32_t *items;
    size_t count, capacity;
} symbols;

typedef struct ngram_slot {
    uint64_t key;  /* parent << 32 | symbol */
    uint64_t line; /* the slot is empty unless this is the current line: clearing costs nothing */
    uint32_t node; /* from 1 */
} ngram_slot;

typedef struct ngram_node {
    uint32_t allowed;   /* matches left: the most that one reference has of the n-gram */
    uint32_t seen;      /* in the reference that is being added */
    uint32_t reference; /* its number */
} ngram_node;

/* Zero-initialise it. */
typedef struct ngram_set {
    ngram_slot *slots; /* [slot_count], a power of two */
    size_t slot_count;
    ngram_node *nodes; /* [node_count + 1] */
    size_t node_count, node_capacity;
    uint64_t line;
    uint32_t references;
} ngram_set;

/* Starts a line whose references have `length` symbols together; n-grams up to `order` will be asked for. */
nmt_status ngrams_begin(ngram_set *set, size_t length, size_t order, nmt_error *error);

/* Adds the n-grams of another reference. */
void ngrams_add(ngram_set *set, const symbols *reference, size_t order);

/* matches[order] += the clipped matches of each order; uses them up. */
void ngrams_match(ngram_set *set, const symbols *hypothesis, size_t order, uint64_t *matches);

/* N-grams of `order` symbols in a line of `length`. */
size_t ngrams_in(size_t length, size_t order);

void ngrams_free(ngram_set *set);

#endif
