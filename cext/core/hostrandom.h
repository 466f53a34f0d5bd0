/* core/hostrandom: the random number generators of functions on the CPU, one per thread. */
#ifndef NL_CORE_HOSTRANDOM_H
#define NL_CORE_HOSTRANDOM_H

#include <stdint.h>

/* The state of a generator, with the layout of xoroshiro128p_state in random.cuh. */
typedef struct nl_hostrandom {
    uint64_t s0, s1;
} nl_hostrandom;

/* Returns the calling thread's nl_hostrandom. If the thread has not called nl_hostrandom_seed, the
 * state is seeded unpredictably. */
void *nl_hostrandom_state(void);
/* Sets the calling thread's state to the state that init_xoroshiro128p_state computes from the
 * seed. */
void nl_hostrandom_seed(uint64_t seed);

#endif
