/* sim/check/vectorclock: a vector clock contains, for other threads or complete blocks, the time up
 * to which all their accesses happened before the owner's next access. Clocks are
 * reference-counted, and copied on write. */
#ifndef NL_SIM_CHECK_VECTORCLOCK_H
#define NL_SIM_CHECK_VECTORCLOCK_H

#include <stdint.h>

typedef struct nl_sim_vectorclock nl_sim_vectorclock;

/* NULL is the empty clock. */
nl_sim_vectorclock *nl_sim_vectorclock_retain(nl_sim_vectorclock *clock);
void nl_sim_vectorclock_release(nl_sim_vectorclock **clock);

/* The entry of a block covers all accesses of its threads at times less than `time`; the entry of a
 * thread covers its accesses at times up to and including `time`, and a `reads` entry only its
 * reads. Keys are never 0. */
static inline uint64_t nl_sim_vectorclock_block_key(uint32_t block) {
    return ((uint64_t)block + 1) << 12;
}
static inline uint64_t nl_sim_vectorclock_thread_key(uint32_t block, unsigned thread) {
    return nl_sim_vectorclock_block_key(block) | (thread + 1);
}
static inline uint64_t nl_sim_vectorclock_reads_key(uint32_t block, unsigned thread) {
    return nl_sim_vectorclock_block_key(block) | 1 << 11 | thread;
}

uint32_t nl_sim_vectorclock_get(const nl_sim_vectorclock *clock, uint64_t key); /* 0: no entry */
/* Returns whether the clock covers a write of this thread at this time. */
static inline int nl_sim_vectorclock_covers_write(const nl_sim_vectorclock *clock, uint32_t block,
                                                  unsigned thread, uint32_t time) {
    return time < nl_sim_vectorclock_get(clock, nl_sim_vectorclock_block_key(block)) ||
           time <= nl_sim_vectorclock_get(clock, nl_sim_vectorclock_thread_key(block, thread));
}
/* Add entries to the clock. If memory runs out, these functions return -1, and the clock contains
 * only the entries that were added before. */
int nl_sim_vectorclock_raise(nl_sim_vectorclock **clock, uint64_t key, uint32_t time);
int nl_sim_vectorclock_join(nl_sim_vectorclock **clock, nl_sim_vectorclock *other);

#endif
