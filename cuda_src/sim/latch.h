/* sim/latch: the count of a latch, which arriving threads decrement to 0. For the checks, a latch
 * is a barrier with one phase (phases.h). This header is used by <cuda/latch> and by the latch of
 * libcu++. */
#ifndef NUMBALITE_SIM_LATCH_H
#define NUMBALITE_SIM_LATCH_H

namespace numbalite_sim {
namespace latch {

NUMBALITE_SIM_INLINE void complete(const long *count) {
    mbarrier::nothing none;
    phases::complete(count, 0, none);
}
/* Initializes a latch in the checks; must be called after the count was stored. */
NUMBALITE_SIM_INLINE void init(const long *count, bool is_zero) {
    phases::init(count);
    if (is_zero)
        complete(count);
}
NUMBALITE_SIM_INLINE void count_down(long *count, long by, const char *file, int line) {
    long left = __atomic_sub_fetch(count, by, __ATOMIC_SEQ_CST);
    if (left < 0)
        fault(719, "the count of a latch is decremented below zero", file, line);
    phases::arrive(count, 0);
    if (left == 0)
        complete(count);
}
/* `blocks` is set if the caller repeats this call until it returns true. */
NUMBALITE_SIM_INLINE bool is_zero(const long *count, bool blocks, const char *file, int line) {
    spin(file, line);
    bool is_over = __atomic_load_n(count, __ATOMIC_SEQ_CST) == 0;
    return phases::is_token_over(count, is_over, 0, is_over, blocks);
}
NUMBALITE_SIM_INLINE void wait(const long *count, const char *file, int line) {
    while (!is_zero(count, true, file, line))
        __nanosleep(0, file, line);
}

} // namespace latch
} // namespace numbalite_sim

#endif
