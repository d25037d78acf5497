#include "core/hash.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

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

/* ---- with a key -----------------------------------------------------------------------------------------------------
 */

static uint64_t rotate(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word, int rounds)
{
    v[3] ^= word;
    mix(v, rounds);
    v[0] ^= word;
}

uint64_t hash_siphash(const hash_key *key, const char *bytes, size_t length, int rounds, int last_rounds)
{
    const uint64_t k0 = key->words[0], k1 = key->words[1];
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    size_t at = 0;
    for (; length - at >= 8; at += 8) {
        absorb(v, load(bytes + at, 8), rounds);
    }
    absorb(v, load(bytes + at, length - at) | (uint64_t)length << 56, rounds);
    v[2] ^= 0xff;
    mix(v, last_rounds);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static hash_key secret;
static pthread_once_t drawn = PTHREAD_ONCE_INIT;

static void draw_secret(void)
{
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) { /* a system without: the best */
        struct timespec now;                                                          /* that there is */
        clock_gettime(CLOCK_REALTIME, &now);
        secret.words[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
        secret.words[1] = (uint64_t)getpid() * multiplier ^ (uint64_t)(uintptr_t)&now;
    }
}

uint64_t hash_secret(const char *bytes, size_t length)
{
    pthread_once(&drawn, draw_secret);
    return hash_siphash(&secret, bytes, length, 1, 3);
}
