/*
 * Random numbers with explicit state: xoshiro256** (Blackman and Vigna 2021), seeded through splitmix64. Every draw of
 * a run comes from one seed; separate purposes take separate streams, so that one more draw here moves nothing there.
 */
#ifndef CORE_RNG_H
#define CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

/* The stream of `seed` for one purpose ("shuffle", "init") and one number within it (an epoch, an update). */
rng rng_stream(uint64_t seed, const char *purpose, uint64_t number);

uint64_t rng_next(rng *generator);

/* Uniform in [0, 1), 53 bits. */
double rng_uniform(rng *generator);

/* Uniform in 0 .. bound-1, without bias; bound > 0. */
uint64_t rng_below(rng *generator, uint64_t bound);

/* Standard normal (Box and Muller 1958); uses two uniforms and keeps none. */
double rng_normal(rng *generator);

/* Shuffles `count` indices in place (Fisher and Yates). */
void rng_shuffle(rng *generator, uint32_t *indices, size_t count);

#endif
