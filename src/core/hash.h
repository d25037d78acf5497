/* Hashes of bytes. */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Fast, to notice that text changed; no defence against somebody who wants a collision. The same on every machine. */
uint64_t hash_bytes(const char *bytes, size_t length);

/* The hash of a sequence, one value after the other; start from 0. */
uint64_t hash_join(uint64_t hash, uint64_t value);

/* For tables of words that a stranger chose: who does not know the key finds no words that collide. SipHash (Aumasson
 * and Bernstein 2012) with `rounds` a word and `last_rounds` at the end. */
typedef struct hash_key {
    uint64_t words[2];
} hash_key;
uint64_t hash_siphash(const hash_key *key, const char *bytes, size_t length, int rounds, int last_rounds);

/* SipHash-1-3 with a key that is drawn once a process. */
uint64_t hash_secret(const char *bytes, size_t length);

#endif
