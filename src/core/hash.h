/* A fast hash of bytes for tables and for noticing that text changed; no defence against somebody who wants a
 * collision. The same on every machine. */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const char *bytes, size_t length);

/* The hash of a sequence, one value after the other; start from 0. */
uint64_t hash_join(uint64_t hash, uint64_t value);

#endif
