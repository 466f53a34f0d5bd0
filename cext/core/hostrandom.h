/* core/hostrandom: the random number generators of functions on the CPU, one for each thread. */
#ifndef NL_CORE_HOSTRANDOM_H
#define NL_CORE_HOSTRANDOM_H

#include <stdint.h>

/* A xoroshiro128p_state of random.cuh. */
typedef struct nl_hostrandom {
    uint64_t s0, s1;
} nl_hostrandom;

/* The calling thread's nl_hostrandom, seeded with what nobody can guess unless it was seeded. */
void *nl_hostrandom_state(void);
/* The state that init_xoroshiro128p_state makes, for the calling thread. */
void nl_hostrandom_seed(uint64_t seed);

#endif
