/* sim/warp: collective operations of the 32 threads of a warp.
 *
 * The engine collects a value of at most 64 bits from each lane of the mask and returns a result to
 * each lane. The image computes the source lane of a shuffle, as PTX does: the lane offset has five
 * bits, and for a source outside of the lane's segment of `width` lanes, the result is the lane's
 * own value. */
#ifndef NUMBALITE_SIM_WARP_H
#define NUMBALITE_SIM_WARP_H

namespace numbalite_sim {

NUMBALITE_SIM_OWN unsigned long long call_warp_operation(nl_sim_warp_op op, unsigned mask,
                                             unsigned long long value, unsigned argument,
                                             const char *file, int line) {
    engine_call call;
    return ops->warp(op, mask, value, argument, rank(), nl_sim_site{file, line});
}

template <class T> NUMBALITE_SIM_INLINE unsigned long long raw(T value) {
    return bits<typename word<sizeof(T)>::type>(value);
}

template <class T>
NUMBALITE_SIM_INLINE T shuffle(unsigned mask, T value, nl_sim_shuffle how, unsigned source,
                               const char *file, int line) {
    typedef typename word<sizeof(T)>::type Word;
    unsigned argument = source | static_cast<unsigned>(how);
    return bits<T>(
        static_cast<Word>(call_warp_operation(NL_SIM_WARP_SHFL, mask, raw(value), argument, file, line)));
}

NUMBALITE_SIM_INLINE unsigned vote(unsigned mask, bool value, nl_sim_vote which, const char *file, int line) {
    return static_cast<unsigned>(call_warp_operation(NL_SIM_WARP_BALLOT, mask, value, which, file, line));
}

/* These functions return the source lane of a shuffle. `segment` selects the bits of the lane that
 * identify its segment. */
NUMBALITE_SIM_INLINE unsigned source_from_index(unsigned index, int width) {
    unsigned segment = 32u - static_cast<unsigned>(width);
    return (lane() & segment) | (index & 31 & ~segment);
}
NUMBALITE_SIM_INLINE unsigned source_from_up(unsigned delta, int width) {
    unsigned me = lane(), first = me & (32u - static_cast<unsigned>(width));
    delta &= 31;
    return me >= first + delta ? me - delta : me;
}
NUMBALITE_SIM_INLINE unsigned source_from_down(unsigned delta, int width) {
    unsigned me = lane(), last = me | (static_cast<unsigned>(width) - 1);
    delta &= 31;
    return me + delta <= last ? me + delta : me;
}
NUMBALITE_SIM_INLINE unsigned source_from_xor(unsigned lanes, int width) {
    unsigned me = lane(), last = me | (static_cast<unsigned>(width) - 1);
    unsigned other = me ^ (lanes & 31);
    return other <= last ? other : me;
}

} // namespace numbalite_sim

/* This template is also instantiated for types of other headers (such as __half) with 2, 4 or 8
 * bytes. */
#define NUMBALITE_SIM_SHUFFLES(T) \
    NUMBALITE_SIM_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32, \
                                       NUMBALITE_SIM_SITE) { \
        return numbalite_sim::shuffle( \
            mask, value, NL_SIM_SHUFFLE_INDEX, numbalite_sim::source_from_index(static_cast<unsigned>(source), width), file, \
            line); \
    } \
    NUMBALITE_SIM_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, \
                                          NUMBALITE_SIM_SITE) { \
        return numbalite_sim::shuffle(mask, value, NL_SIM_SHUFFLE_UP, \
                                      numbalite_sim::source_from_up(delta, width), file, line); \
    } \
    NUMBALITE_SIM_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, \
                                            int width = 32, NUMBALITE_SIM_SITE) { \
        return numbalite_sim::shuffle(mask, value, NL_SIM_SHUFFLE_DOWN, \
                                      numbalite_sim::source_from_down(delta, width), file, line); \
    } \
    NUMBALITE_SIM_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, \
                                           NUMBALITE_SIM_SITE) { \
        return numbalite_sim::shuffle( \
            mask, value, NL_SIM_SHUFFLE_XOR, numbalite_sim::source_from_xor(static_cast<unsigned>(lanes), width), file, \
            line); \
    }
#define NUMBALITE_SIM_MATCHES(T) \
    NUMBALITE_SIM_INLINE unsigned __match_any_sync(unsigned mask, T value, NUMBALITE_SIM_SITE) { \
        return static_cast<unsigned>(numbalite_sim::call_warp_operation( \
            NL_SIM_WARP_MATCH_ANY, mask, numbalite_sim::raw(value), 0, file, line)); \
    } \
    NUMBALITE_SIM_INLINE unsigned __match_all_sync(unsigned mask, T value, int *all, \
                                                   NUMBALITE_SIM_SITE) { \
        unsigned lanes = static_cast<unsigned>(numbalite_sim::call_warp_operation( \
            NL_SIM_WARP_MATCH_ALL, mask, numbalite_sim::raw(value), 0, file, line)); \
        *all = lanes != 0; \
        return lanes; \
    }
#define NUMBALITE_SIM_EACH(T) NUMBALITE_SIM_SHUFFLES(T) NUMBALITE_SIM_MATCHES(T)
NUMBALITE_SIM_EACH(int)
NUMBALITE_SIM_EACH(unsigned)
NUMBALITE_SIM_EACH(long)
NUMBALITE_SIM_EACH(unsigned long)
NUMBALITE_SIM_EACH(long long)
NUMBALITE_SIM_EACH(unsigned long long)
NUMBALITE_SIM_EACH(float)
NUMBALITE_SIM_EACH(double)
#undef NUMBALITE_SIM_EACH
#undef NUMBALITE_SIM_MATCHES

/* ---- votes ---- */

NUMBALITE_SIM_INLINE void __syncwarp(unsigned mask = 0xffffffffu, NUMBALITE_SIM_SITE) {
    numbalite_sim::call_warp_operation(NL_SIM_WARP_SYNC, mask, 0, 0, file, line);
}
NUMBALITE_SIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate, NUMBALITE_SIM_SITE) {
    return numbalite_sim::vote(mask, predicate != 0, NL_SIM_VOTE_BALLOT, file, line);
}
NUMBALITE_SIM_INLINE int __any_sync(unsigned mask, int predicate, NUMBALITE_SIM_SITE) {
    return numbalite_sim::vote(mask, predicate != 0, NL_SIM_VOTE_ANY, file, line) != 0;
}
NUMBALITE_SIM_INLINE int __all_sync(unsigned mask, int predicate, NUMBALITE_SIM_SITE) {
    return numbalite_sim::vote(mask, predicate == 0, NL_SIM_VOTE_ALL, file, line) == 0;
}
NUMBALITE_SIM_INLINE int __uni_sync(unsigned mask, int predicate, NUMBALITE_SIM_SITE) {
    return numbalite_sim::call_warp_operation(NL_SIM_WARP_MATCH_ALL, mask, predicate != 0, 0, file, line) != 0;
}
NUMBALITE_SIM_INLINE unsigned __activemask(NUMBALITE_SIM_SITE) {
    return static_cast<unsigned>(numbalite_sim::call_warp_operation(NL_SIM_WARP_ACTIVE, 0, 0, 0, file, line));
}

/* ---- reductions ---- */

#define NUMBALITE_SIM_REDUCE(name, T, op) \
    NUMBALITE_SIM_INLINE T __reduce_##name##_sync(unsigned mask, T value, NUMBALITE_SIM_SITE) { \
        return static_cast<T>(numbalite_sim::call_warp_operation(NL_SIM_WARP_##op, mask, \
                                                  static_cast<unsigned>(value), 0, file, line)); \
    }
NUMBALITE_SIM_REDUCE(add, unsigned, ADD)
NUMBALITE_SIM_REDUCE(add, int, ADD)
NUMBALITE_SIM_REDUCE(min, unsigned, MIN_U)
NUMBALITE_SIM_REDUCE(min, int, MIN_S)
NUMBALITE_SIM_REDUCE(max, unsigned, MAX_U)
NUMBALITE_SIM_REDUCE(max, int, MAX_S)
NUMBALITE_SIM_REDUCE(and, unsigned, AND)
NUMBALITE_SIM_REDUCE(or, unsigned, OR)
NUMBALITE_SIM_REDUCE(xor, unsigned, XOR)
#undef NUMBALITE_SIM_REDUCE

#endif
