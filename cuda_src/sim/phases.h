/* sim/phases: reports the operations on barriers with phases (mbarrier.h, namedbarrier.h) to the
 * checks (cext/sim/check/phases.h). In images without checks, these functions do nothing. */
#ifndef NUMBALITE_SIM_PHASES_H
#define NUMBALITE_SIM_PHASES_H

namespace numbalite_sim {
namespace phases {

#ifdef NUMBALITE_HOST /* CPU targets have no checks, and do not include abi.h */
template <class... T> NUMBALITE_SIM_INLINE void init(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void remove_barrier(T...) {}
template <class... T> NUMBALITE_SIM_INLINE void arrive(T...) {}
template <class Finish> NUMBALITE_SIM_INLINE void complete(const void *, unsigned, Finish &finish) {
    finish();
}
NUMBALITE_SIM_INLINE bool is_token_over(const void *, unsigned, unsigned, bool is_over, bool = false) {
    return is_over;
}
NUMBALITE_SIM_INLINE bool is_parity_over(const void *, unsigned, unsigned, bool is_over, bool = false) {
    return is_over;
}
#else
#ifdef NUMBALITE_SIM_CHECKED
/* defined in check.h */
NUMBALITE_SIM_OWN int report_step(unsigned step, const void *barrier, unsigned phase, unsigned value,
                           bool is_over, bool blocks);
#else
NUMBALITE_SIM_INLINE int report_step(unsigned, const void *, unsigned, unsigned, bool is_over, bool) {
    return is_over;
}
#endif

/* `phase` is the number of the current phase. */
NUMBALITE_SIM_INLINE void init(const void *barrier, bool has_number = false) {
    report_step(has_number ? NL_SIM_PHASE_NUMBER : NL_SIM_PHASE_INIT, barrier, 0, 0, false, false);
}
NUMBALITE_SIM_INLINE void remove_barrier(const void *barrier) {
    report_step(NL_SIM_PHASE_FORGET, barrier, 0, 0, false, false);
}
NUMBALITE_SIM_INLINE void arrive(const void *barrier, unsigned phase) {
    report_step(NL_SIM_PHASE_ARRIVE, barrier, phase, 0, false, false);
}
/* Must be called when the thread completes the phase; calls `finish` on behalf of all threads. */
template <class Finish>
NUMBALITE_SIM_INLINE void complete(const void *barrier, unsigned phase, Finish &finish) {
    if (!__is_empty(Finish)) {
        report_step(NL_SIM_PHASE_FINISH, barrier, phase, 0, false, false);
        finish();
        report_step(NL_SIM_PHASE_FINISHED, barrier, phase, 0, false, false);
    }
    report_step(NL_SIM_PHASE_COMPLETE, barrier, phase, 0, false, false);
}
/* These functions return whether the phase of a token (or the latest phase of a parity) has ended,
 * as far as the thread can observe. is_over is the result without checks. blocks is set if the
 * thread repeats the call until the phase has ended. */
NUMBALITE_SIM_INLINE bool is_token_over(const void *barrier, unsigned phase, unsigned of, bool is_over,
                                bool blocks = false) {
    return report_step(NL_SIM_PHASE_TOKEN, barrier, phase, of, is_over, blocks);
}
NUMBALITE_SIM_INLINE bool is_parity_over(const void *barrier, unsigned phase, unsigned of, bool is_over,
                                 bool blocks = false) {
    return report_step(NL_SIM_PHASE_PARITY, barrier, phase, of, is_over, blocks);
}
#endif

} // namespace phases
} // namespace numbalite_sim

#endif
