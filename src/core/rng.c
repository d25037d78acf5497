#include "core/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

rng rng_stream(uint64_t seed, const char *purpose, uint64_t number)
{
    /* FNV-1a over the purpose, so that streams are told apart by name. */
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = purpose; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    }
    uint64_t mix = seed;
    mix = splitmix64(&mix) ^ hash;
    mix = splitmix64(&mix) ^ number;
    rng generator;
    for (int i = 0; i < 4; i++) {
        generator.state[i] = splitmix64(&mix);
    }
    return generator;
}

uint64_t rng_next(rng *generator)
{
    uint64_t *s = generator->state;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_uniform(rng *generator)
{
    return (double)(rng_next(generator) >> 11) * 0x1.0p-53;
}

uint64_t rng_below(rng *generator, uint64_t bound)
{
    /* Draws under `threshold` would make small values more likely. */
    const uint64_t threshold = (0 - bound) % bound;
    for (;;) {
        const uint64_t draw = rng_next(generator);
        if (draw >= threshold) {
            return draw % bound;
        }
    }
}

double rng_normal(rng *generator)
{
    const double pi = 3.14159265358979323846;
    const double radius = sqrt(-2.0 * log(1.0 - rng_uniform(generator)));
    return radius * cos(2.0 * pi * rng_uniform(generator));
}

void rng_shuffle(rng *generator, uint32_t *indices, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)rng_below(generator, i);
        const uint32_t swap = indices[i - 1];
        indices[i - 1] = indices[j];
        indices[j] = swap;
    }
}
