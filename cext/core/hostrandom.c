/* core/hostrandom: stores the state of xoroshiro128+ in thread-local memory. A thread without an
 * explicit seed is seeded from the clock, the address of its state and a counter, so that seeds
 * differ between threads. */
#include "core/hostrandom.h"

#include <time.h>
#include "base/lock.h"

static NL_THREAD_LOCAL nl_hostrandom state;
static uint64_t counter;

static uint64_t mix_bits(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

void nl_hostrandom_seed(uint64_t seed) {
    state.s0 = state.s1 = mix_bits(seed + 0x9e3779b97f4a7c15ULL);
    if (!state.s0)
        state.s0 = state.s1 = 1; /* state 0 never changes */
}

void *nl_hostrandom_state(void) {
    if (!(state.s0 | state.s1)) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t seed = mix_bits((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
        seed = mix_bits(seed ^ (uintptr_t)&state);
        nl_hostrandom_seed(mix_bits(seed + nl_atomic_add(&counter, 1)));
    }
    return &state;
}
