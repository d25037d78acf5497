/*
 * A set of words, numbered from 0 in the order in which they came. Open addressing with linear probing over at most
 * half full slots; a slot carries the hash, so that a word's bytes are looked at only where it matches and growing
 * moves no text. The hash has a secret: nobody can write a file of words that collide and take quadratic time.
 */
#ifndef DATA_WORD_TABLE_H
#define DATA_WORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct word_slot {
    uint32_t hash;
    uint32_t entry; /* number of the word + 1; 0: free */
} word_slot;

/* Zero-initialise it before the first use. */
typedef struct word_table {
    size_t count;
    char *bytes;      /* the words, a NUL behind each */
    size_t *start;    /* [count] of each word in `bytes` */
    word_slot *slots; /* [slot_count], a power of two */
    size_t bytes_used, bytes_capacity, start_capacity, slot_count;
} word_table;

/* Number of the word, or -1. */
int32_t word_table_find(const word_table *table, const char *word, size_t length);

/* Number of the word, which joins the table where it is new: then `*number` is the old count. */
nmt_status word_table_add(word_table *table, const char *word, size_t length, int32_t *number, nmt_error *error);

/* NUL-terminated; borrowed until the next word is added. */
const char *word_table_word(const word_table *table, int32_t number);
size_t word_table_length(const word_table *table, int32_t number); /* bytes */

void word_table_free(word_table *table);

#endif
