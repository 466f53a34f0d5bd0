/* cuda_awbarrier_primitives.h: barriers in shared memory, implemented by cuda::barrier's
 * functions. */
#pragma once
#include <cuda/barrier>

typedef unsigned long long __mbarrier_t;
typedef unsigned long long __mbarrier_token_t;

namespace numbalite_sim {
typedef ::cuda::barrier<::cuda::thread_scope_block> block_barrier;
NUMBALITE_SIM_INLINE block_barrier &barrier_at(__mbarrier_t *place) {
    static_assert(sizeof(block_barrier) == sizeof(__mbarrier_t), "a barrier is one word");
    return *reinterpret_cast<block_barrier *>(place);
}
} // namespace numbalite_sim

NUMBALITE_SIM_INLINE unsigned __mbarrier_maximum_count() {
    return static_cast<unsigned>(numbalite_sim::block_barrier::max());
}
NUMBALITE_SIM_INLINE void __mbarrier_init(__mbarrier_t *b, unsigned expected) {
    init(&numbalite_sim::barrier_at(b), expected);
}
NUMBALITE_SIM_INLINE void __mbarrier_inval(__mbarrier_t *) {}
NUMBALITE_SIM_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *b, NUMBALITE_SIM_SITE) {
    return numbalite_sim::barrier_at(b).arrive(1, file, line);
}
NUMBALITE_SIM_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *b, NUMBALITE_SIM_SITE) {
    return numbalite_sim::barrier_at(b).arrive_and_drop(file, line);
}
NUMBALITE_SIM_INLINE bool __mbarrier_test_wait(__mbarrier_t *b, __mbarrier_token_t token, NUMBALITE_SIM_SITE) {
    return numbalite_sim::barrier_at(b).try_wait(static_cast<__mbarrier_token_t &&>(token), file, line);
}
NUMBALITE_SIM_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t *b, bool parity, NUMBALITE_SIM_SITE) {
    return numbalite_sim::barrier_at(b).try_wait_parity(parity, file, line);
}
/* Returns the number of arrivals that were pending in the token's phase when the token was
 * returned. */
NUMBALITE_SIM_INLINE unsigned __mbarrier_token_pending_count(__mbarrier_token_t token) {
    return numbalite_sim::mbarrier::pending(token);
}
/* The try_wait functions test the phase once. If the phase has not ended, other threads run before
 * the call returns false. */
NUMBALITE_SIM_INLINE bool __mbarrier_try_wait(__mbarrier_t *b, __mbarrier_token_t token, unsigned = 0,
                                              NUMBALITE_SIM_SITE) {
    return numbalite_sim::mbarrier::yield_unless_over(__mbarrier_test_wait(b, token, file, line), file, line);
}
NUMBALITE_SIM_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t *b, bool parity, unsigned = 0, NUMBALITE_SIM_SITE) {
    return numbalite_sim::mbarrier::yield_unless_over(__mbarrier_test_wait_parity(b, parity, file, line), file, line);
}
