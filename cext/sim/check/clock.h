/* sim/check/clock: what is known of threads elsewhere: up to which moment of a thread, or of a
 * whole block, everything has happened before. A set of such facts, shared by those who know the
 * same and copied when one of them learns more. */
#ifndef NL_SIM_CHECK_CLOCK_H
#define NL_SIM_CHECK_CLOCK_H

#include <stdint.h>

typedef struct nl_sim_clock nl_sim_clock;

/* NULL is a clock too: one that knows nothing. */
nl_sim_clock *nl_sim_clock_retain(nl_sim_clock *clock);
void nl_sim_clock_release(nl_sim_clock **clock);

/* What is known of a block: all that its threads did at times before `time`; of one thread: all
 * that it did at `time` and before. Keys are never 0. */
static inline uint64_t nl_sim_clock_block(uint32_t block) {
    return ((uint64_t)block + 1) << 12;
}
static inline uint64_t nl_sim_clock_thread(uint32_t block, unsigned thread) {
    return nl_sim_clock_block(block) | (thread + 1);
}
static inline uint64_t nl_sim_clock_reads(uint32_t block, unsigned thread) {
    return nl_sim_clock_block(block) | 1 << 11 | thread;
}

uint32_t nl_sim_clock_get(const nl_sim_clock *clock, uint64_t key); /* 0: nothing */
/* Learns more. Without memory *clock stays as it is, and -1 is returned. */
int nl_sim_clock_raise(nl_sim_clock **clock, uint64_t key, uint32_t time);
int nl_sim_clock_join(nl_sim_clock **clock, nl_sim_clock *other);

#endif
