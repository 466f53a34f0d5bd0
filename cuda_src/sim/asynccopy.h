/* sim/asynccopy: what asynchronous copies tell the checks. A copy is made where it is asked for, which is when a
 * GPU begins with it at the earliest; a checked image says so, and says who has waited for it, so that an
 * access before that is found (cext/sim/check/asynccopy.h). Other images do nothing here. */
#ifndef NUMBALITE_SIM_ASYNCCOPY_H
#define NUMBALITE_SIM_ASYNCCOPY_H

namespace numbalite_sim {
namespace asynccopy {

constexpr unsigned open_too = ~0u; /* in the place of a number of groups: also what no group has */

#ifdef NUMBALITE_HOST /* which has no checks, nor abi.h */
template <class... T> NUMBALITE_SIM_INLINE void begin(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void made(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void commit(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void wait(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void wait_read(T...) {}
#else
#ifdef NUMBALITE_SIM_CHECKED
/* in check.h */
NUMBALITE_SIM_OWN void tell(unsigned step, const void *to, const void *from, unsigned long long size,
                            const void *barrier, unsigned groups, bool bulk);
#else
NUMBALITE_SIM_INLINE void tell(unsigned, const void *, const void *, unsigned long long, const void *, unsigned,
                               bool) {}
#endif

/* Around the copy of `size` bytes. `barrier` counts it; NULL: the groups of its thread do. Bulk copies have groups of
 * their own. */
NUMBALITE_SIM_INLINE void begin(const void *to, const void *from, unsigned long long size) {
    tell(NL_SIM_COPY_BEGIN, to, from, size, nullptr, 0, false);
}
NUMBALITE_SIM_INLINE void made(const void *to, const void *from, unsigned long long size,
                               const void *barrier = nullptr, bool bulk = false) {
    tell(NL_SIM_COPY_MADE, to, from, size, barrier, 0, bulk);
}
/* The thread's copies since the last time are a group. */
NUMBALITE_SIM_INLINE void commit(bool bulk = false) {
    tell(NL_SIM_COPY_COMMIT, nullptr, nullptr, 0, nullptr, 0, bulk);
}
/* The thread has waited for all its groups but the last ones. */
NUMBALITE_SIM_INLINE void wait(unsigned but, bool bulk = false) {
    tell(NL_SIM_COPY_WAIT, nullptr, nullptr, 0, nullptr, but, bulk);
}
/* They have read what they copy. */
NUMBALITE_SIM_INLINE void wait_read(unsigned but) {
    tell(NL_SIM_COPY_WAIT_READ, nullptr, nullptr, 0, nullptr, but, true);
}
/* The barrier counts what the thread has not waited for. */
NUMBALITE_SIM_INLINE void bind(const void *barrier) {
    tell(NL_SIM_COPY_BIND, nullptr, nullptr, 0, barrier, 0, false);
}
/* A phase of the barrier is complete; somebody has seen that one is. */
NUMBALITE_SIM_INLINE void complete(const void *barrier) {
    tell(NL_SIM_COPY_COMPLETE, nullptr, nullptr, 0, barrier, 0, false);
}
NUMBALITE_SIM_INLINE void seen(const void *barrier) {
    tell(NL_SIM_COPY_SEEN, nullptr, nullptr, 0, barrier, 0, false);
}
#endif

} // namespace asynccopy
} // namespace numbalite_sim

#endif
