/* sim/namedbarrier: implements PTX's sixteen numbered barriers of a block. Barrier 0 is the barrier
 * of __syncthreads() if all threads participate. Each barrier is one word, which contains the
 * number of arrived threads and, from bit 32 on, the number of the phase. */
#ifndef NUMBALITE_SIM_NAMEDBARRIER_H
#define NUMBALITE_SIM_NAMEDBARRIER_H

namespace numbalite_sim {
namespace namedbarrier {

typedef unsigned long long word;
struct words {
    word of[16];
};

/* Returns the block's barriers; the first thread that calls this function initializes them. */
NUMBALITE_SIM_INLINE word *block_barriers(const char *file, int line) {
#ifdef NUMBALITE_SIM_CHECKED
    words &own = shared_variable<words, ~0u>("the barriers with numbers");
#else
    static __thread words own;
#endif
    if (here.named == 0) {
        here.named = 1;
        for (word &each : own.of) {
            phases::init(&each, true);
            __atomic_store_n(&each, 0, __ATOMIC_RELAXED);
        }
        here.named = 2;
    }
    while (here.named != 2)
        yield(file, line);
    return own.of;
}
NUMBALITE_SIM_INLINE word *find_barrier(unsigned id, const char *file, int line) {
    if (id > 15)
        fault(719, "barriers have the numbers 0 to 15", file, line);
    return block_barriers(file, line) + id;
}
/* Returns how many arrivals the thread counts for: the first lane of an incomplete last warp also
 * counts for the missing lanes. */
NUMBALITE_SIM_INLINE unsigned count_arrivals() {
    unsigned rest = block_threads() % 32;
    return rest && rank() == block_threads() - rest ? 33 - rest : 1;
}
/* Arrives at the barrier; returns the number of the phase. */
NUMBALITE_SIM_INLINE unsigned arrive(word *at, unsigned count, const char *file, int line) {
    if (count == 0 || count % 32)
        fault(719, "the number of threads of a barrier must be a multiple of 32", file, line);
    unsigned more = count_arrivals();
    word old = update(at, [=](word w) {
        unsigned come = static_cast<unsigned>(w) + more;
        return come < count ? w + more : ((w >> 32) + 1) << 32;
    });
    if (static_cast<unsigned>(old) + more > count)
        fault(719, "more threads arrive at a numbered barrier than it expects", file, line);
    unsigned phase = static_cast<unsigned>(old >> 32);
    phases::arrive(at, phase);
    mbarrier::nothing none;
    if (static_cast<unsigned>(old) + more == count)
        phases::complete(at, phase, none);
    return phase;
}
NUMBALITE_SIM_INLINE bool is_over(const word *at, unsigned phase) {
    unsigned current = static_cast<unsigned>(__atomic_load_n(at, __ATOMIC_ACQUIRE) >> 32);
    return phases::is_token_over(at, current, phase, current != phase, true);
}
NUMBALITE_SIM_INLINE void wait(const word *at, unsigned phase, const char *file, int line) {
    while (!is_over(at, phase))
        yield(file, line);
}

} // namespace namedbarrier
} // namespace numbalite_sim

NUMBALITE_SIM_INLINE void __barrier_sync_count(unsigned id, unsigned count, NUMBALITE_SIM_SITE) {
    using namespace numbalite_sim;
    if (id == 0 && count >= block_threads()) {
        barrier(NL_SIM_BARRIER, 0, file, line);
    } else {
        namedbarrier::word *at = namedbarrier::find_barrier(id, file, line);
        namedbarrier::wait(at, namedbarrier::arrive(at, count, file, line), file, line);
    }
}
NUMBALITE_SIM_INLINE void __barrier_sync(unsigned id, NUMBALITE_SIM_SITE) {
    __barrier_sync_count(id, (numbalite_sim::block_threads() + 31) / 32 * 32, file, line);
}
NUMBALITE_SIM_INLINE void __barrier_arrive(unsigned id, unsigned count, NUMBALITE_SIM_SITE) {
    using namespace numbalite_sim;
    namedbarrier::arrive(namedbarrier::find_barrier(id, file, line), count, file, line);
}

#endif
