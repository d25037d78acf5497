#include "core/hash.h"

/* Odd, half of its bits set: the golden ratio's fraction. */
static const uint64_t multiplier = 0x9e3779b97f4a7c15u;

/* Bytes as a little-endian number, so that the hash does not depend on the machine. */
static uint64_t load(const char *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    }
    return word;
}

uint64_t hash_join(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * multiplier;
    hash = (hash ^ (hash >> 32)) * multiplier;
    return hash ^ (hash >> 29);
}

uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = length * multiplier;
    size_t at = 0;
    for (; length - at >= 8; at += 8) {
        hash = hash_join(hash, load(bytes + at, 8));
    }
    hash = hash_join(hash, load(bytes + at, length - at));
    return hash_join(hash, length);
}
