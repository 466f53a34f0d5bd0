/* sim/asynccopy: reports asynchronous copies to the checks. On the simulator, a copy is executed
 * when it is started, which is the earliest possible time on a GPU. A checked image reports copies
 * and waits, so that the checks find an access before the wait (cext/sim/check/asynccopy.h). In
 * images without checks, the functions of this header do nothing. */
#ifndef NUMBALITE_SIM_ASYNCCOPY_H
#define NUMBALITE_SIM_ASYNCCOPY_H

namespace numbalite_sim {
namespace asynccopy {

/* passed instead of a number of groups: also waits for copies that belong to no group */
constexpr unsigned open_too = ~0u;

#ifdef NUMBALITE_HOST /* CPU targets have no checks, and do not include abi.h */
template <class... T> NUMBALITE_SIM_INLINE void begin(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void report_copy(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void commit(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void wait(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void wait_read(T...) {}
#else
#ifdef NUMBALITE_SIM_CHECKED
/* defined in check.h */
NUMBALITE_SIM_OWN void report_step(unsigned step, const void *to, const void *from,
                            unsigned long long size, const void *barrier, unsigned groups,
                            bool bulk);
#else
NUMBALITE_SIM_INLINE void report_step(unsigned, const void *, const void *, unsigned long long,
                               const void *, unsigned, bool) {}
#endif

/* Must be called before (begin) and after (report_copy) a copy of `size` bytes. `barrier` tracks
 * the copy, or is NULL if the copy belongs to a group of its thread. Bulk copies have separate
 * groups. */
NUMBALITE_SIM_INLINE void begin(const void *to, const void *from, unsigned long long size) {
    report_step(NL_SIM_COPY_BEGIN, to, from, size, nullptr, 0, false);
}
NUMBALITE_SIM_INLINE void report_copy(const void *to, const void *from, unsigned long long size,
                               const void *barrier = nullptr, bool bulk = false) {
    report_step(NL_SIM_COPY_MADE, to, from, size, barrier, 0, bulk);
}
/* Combines the thread's copies since the last commit to a group. */
NUMBALITE_SIM_INLINE void commit(bool bulk = false) {
    report_step(NL_SIM_COPY_COMMIT, nullptr, nullptr, 0, nullptr, 0, bulk);
}
/* Records that the thread has waited for all its groups, except the last `but` groups. */
NUMBALITE_SIM_INLINE void wait(unsigned but, bool bulk = false) {
    report_step(NL_SIM_COPY_WAIT, nullptr, nullptr, 0, nullptr, but, bulk);
}
/* Records that the thread has waited until all its groups except the last `but` groups have read
 * their source. */
NUMBALITE_SIM_INLINE void wait_read(unsigned but) {
    report_step(NL_SIM_COPY_WAIT_READ, nullptr, nullptr, 0, nullptr, but, true);
}
/* Binds the copies for which the thread has not waited to a barrier, so that the copies are
 * complete when the current phase of the barrier ends. */
NUMBALITE_SIM_INLINE void bind_to_barrier(const void *barrier) {
    report_step(NL_SIM_COPY_BIND, nullptr, nullptr, 0, barrier, 0, false);
}
/* Records that a thread has observed the end of a phase of the barrier. */
NUMBALITE_SIM_INLINE void report_phase_end(const void *barrier) {
    report_step(NL_SIM_COPY_SEEN, nullptr, nullptr, 0, barrier, 0, false);
}
#endif

} // namespace asynccopy
} // namespace numbalite_sim

#endif
