/* sim/mbarrier: implements PTX's mbarrier in shared memory, which is one word. The word contains
 * the number of pending arrivals of the phase, the number of arrivals per phase, the announced
 * bytes of copies that have not arrived, and the number of the phase. A phase is complete when the
 * pending arrivals and the pending bytes are 0. cuda::barrier uses the same word. */
#ifndef NUMBALITE_SIM_MBARRIER_H
#define NUMBALITE_SIM_MBARRIER_H

namespace numbalite_sim {
namespace mbarrier {

typedef unsigned long long word;
constexpr unsigned most = (1u << 20) - 1;

NUMBALITE_SIM_INLINE unsigned pending(word w) {
    return static_cast<unsigned>(w) & most;
}
NUMBALITE_SIM_INLINE unsigned expected(word w) {
    return static_cast<unsigned>(w >> 20) & most;
}
NUMBALITE_SIM_INLINE long long bytes(word w) { /* signed */
    return static_cast<long long>(w << 3) >> 43;
}
NUMBALITE_SIM_INLINE unsigned phase(word w) {
    return static_cast<unsigned>(w >> 61);
}
NUMBALITE_SIM_INLINE word pack_word(unsigned pending, unsigned expected, long long bytes,
                               unsigned phase) {
    return pending | static_cast<word>(expected) << 20 |
           (static_cast<word>(bytes) & 0x1fffff) << 40 | static_cast<word>(phase) << 61;
}

NUMBALITE_SIM_INLINE void init(word *at, unsigned count, const char *file = __builtin_FILE(),
                               int line = __builtin_LINE()) {
    if (count == 0 || count > most)
        fault(719, "an mbarrier expects 1 to 1048575 arrivals", file, line);
    phases::init(at);
    __atomic_store_n(at, pack_word(count, count, 0, 0), __ATOMIC_RELAXED);
}
/* Records that the word is no longer a barrier. */
NUMBALITE_SIM_INLINE void invalidate(word *at) {
    phases::remove_barrier(at);
    __atomic_store_n(at, 0, __ATOMIC_RELAXED);
}

/* A completion function that does nothing. */
struct nothing {
    void operator()() const {}
};

/* Returns whether the phase is complete after this number of arrivals, and this number of
 * additional announced bytes. */
NUMBALITE_SIM_INLINE bool is_last(word w, unsigned arrivals, long long more) {
    return pending(w) == arrivals && bytes(w) + more == 0 && (arrivals || more);
}
/* Returns the state word of an mbarrier at the start of the next phase. */
NUMBALITE_SIM_INLINE word next_phase(word w) {
    return pack_word(expected(w), expected(w), bytes(w), (phase(w) + 1) & 7);
}
/* Announces bytes (or, if negative, retracts them), removes threads from future phases, and
 * arrives; `finish` is called between the last arrival and the next phase. Returns the previous
 * word. */
template <class Finish>
NUMBALITE_SIM_INLINE word change(word *at, unsigned arrivals, long long more, unsigned dropped,
                                 Finish &finish, const char *file, int line) {
    constexpr bool at_once = __is_empty(Finish);
    word old = update(at, [=](word w) {
        word after = pack_word(pending(w) - arrivals, expected(w) - dropped, bytes(w) + more, phase(w));
        return at_once && is_last(w, arrivals, more) ? next_phase(after) : after;
    });
    if (arrivals > pending(old))
        fault(719, "more threads arrive at a barrier (cuda::barrier, mbarrier) "
                   "than its expected number of arrivals",
              file, line);
    phases::arrive(at, phase(old));
    if (is_last(old, arrivals, more)) {
        phases::complete(at, phase(old), finish);
        if (!at_once)
            update(at, [](word w) { return next_phase(w); });
    }
    return old;
}
NUMBALITE_SIM_INLINE word arrive(word *at, unsigned count = 1, long long more = 0,
                                 unsigned dropped = 0, const char *file = __builtin_FILE(),
                                 int line = __builtin_LINE()) {
    nothing none;
    return change(at, count, more, dropped, none, file, line);
}
/* Records that `count` bytes of a copy have arrived. */
NUMBALITE_SIM_INLINE void complete(word *at, long long count, const char *file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
    nothing none;
    change(at, 0, -count, 0, none, file, line);
}

NUMBALITE_SIM_INLINE word load_word(const word *at, const char *file, int line) {
    spin(file, line);
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
NUMBALITE_SIM_INLINE bool report_ended_phase(const word *at, bool is_over) {
    if (is_over)
        asynccopy::report_phase_end(at);
    return is_over;
}
/* is_over returns whether the phase in which `state` was returned has ended. is_parity_over returns
 * whether the latest phase of this parity has ended. The argument
 * `blocks` is true if the caller repeats the call until the phase has ended. */
NUMBALITE_SIM_INLINE bool is_over(const word *at, word state, const char *file = __builtin_FILE(),
                                  int line = __builtin_LINE(), bool blocks = false) {
    unsigned current = phase(load_word(at, file, line));
    return report_ended_phase(at, phases::is_token_over(at, current, phase(state), current != phase(state), blocks));
}
NUMBALITE_SIM_INLINE bool is_parity_over(const word *at, unsigned parity,
                                         const char *file = __builtin_FILE(),
                                         int line = __builtin_LINE(), bool blocks = false) {
    unsigned current = phase(load_word(at, file, line));
    return report_ended_phase(at, phases::is_parity_over(at, current, parity, (current & 1) != parity, blocks));
}
/* Returns `is_over`. If the phase is not over, lets other threads run first. */
NUMBALITE_SIM_INLINE bool yield_unless_over(bool is_over, const char *file = __builtin_FILE(),
                                int line = __builtin_LINE()) {
    if (!is_over)
        yield(file, line);
    return is_over;
}

} // namespace mbarrier

/* Executes a bulk copy of the async proxy, in multiples of 16 bytes. */
NUMBALITE_SIM_INLINE void bulk_copy(unsigned long long to, unsigned long long from, unsigned size,
                                    const void *barrier = nullptr,
                                    const char *file = __builtin_FILE(),
                                    int line = __builtin_LINE()) {
    if ((to | from | size) % 16)
        fault(716, "a bulk copy's addresses and size must be multiples of 16", file, line);
    asynccopy::begin((void *)to, (const void *)from, size);
    for (unsigned i = 0; i < size; i += 8)
        *(unsigned long long *)(to + i) = *(const unsigned long long *)(from + i);
    asynccopy::report_copy((void *)to, (const void *)from, size, barrier, true);
}
NUMBALITE_SIM_INLINE void bulk_copy_tx(unsigned long long to, unsigned long long from,
                                       unsigned size, unsigned long long barrier,
                                       const char *file = __builtin_FILE(),
                                       int line = __builtin_LINE()) {
    bulk_copy(to, from, size, (const void *)barrier, file, line);
    mbarrier::complete((mbarrier::word *)barrier, size, file, line);
}
/* Copies to the same address in all blocks of the cluster that the mask includes, and signals their
 * barriers. */
NUMBALITE_SIM_INLINE void bulk_copy_all(unsigned long long to, unsigned long long from,
                                        unsigned size, unsigned long long barrier, unsigned blocks,
                                        const char *file = __builtin_FILE(),
                                        int line = __builtin_LINE()) {
    for (unsigned i = 0; i < 16; i++)
        if (blocks >> i & 1)
            bulk_copy_tx(
                (unsigned long long)cluster_map_address((const void *)to, i, file, line), from, size,
                (unsigned long long)cluster_map_address((const void *)barrier, i, file, line), file, line);
}
template <class T, class Change>
NUMBALITE_SIM_INLINE void bulk_reduce(unsigned long long to, unsigned long long from, unsigned size,
                                      Change change, const void *barrier = nullptr,
                                      const char *file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    if ((to | from | size) % 16)
        fault(716, "a bulk reduction's addresses and size must be multiples of 16", file, line);
    for (unsigned i = 0; i < size; i += sizeof(T))
        change((T *)(to + i), *(const T *)(from + i));
    /* `to` is not marked as pending, because other threads may also change that memory */
    asynccopy::report_copy(nullptr, (const void *)from, size, barrier, true);
}

} // namespace numbalite_sim

#endif
