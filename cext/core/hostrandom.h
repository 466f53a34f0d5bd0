/* core/hostrandom: the random number generators of functions on the CPU, one for each thread. */
#ifndef NL_CORE_HOSTRANDOM_H
#define NL_CORE_HOSTRANDOM_H

#include <stdint.h>
#include "host/function_abi.h"

/* The calling thread's state; seeded with what nobody can guess, unless it was seeded. */
nl_host_random *nl_hostrandom_state(void);
/* The state that init_xoroshiro128p_state makes, for the calling thread. */
void nl_hostrandom_seed(uint64_t seed);

#endif
