/* cuda/__barrier/barrier_block_scope.h: the barrier of a block's threads, as in
 * cuda/std/__barrier/barrier.h. In libcu++'s own barrier, the active lanes arrive together, so its
 * behaviour depends on the schedule. */
#pragma once
#include "../../generic_begin.h"
#include <cuda/std/__barrier/barrier.h>
#include <cuda/__fwd/barrier.h>
#include <cuda/std/__atomic/scopes.h>
#include <cuda/std/cstdint>

namespace cuda {
namespace device {
inline namespace _LIBCUDACXX_ABI_NAMESPACE {
inline ::cuda::std::uint64_t *barrier_native_handle(barrier<thread_scope_block> &b);
}
} // namespace device
inline namespace _LIBCUDACXX_ABI_NAMESPACE {

struct __block_scope_barrier_base {};

template <>
class barrier<thread_scope_block, ::cuda::std::__empty_completion>
    : public __block_scope_barrier_base {
    typedef ::cuda::std::__barrier_base<::cuda::std::__empty_completion, thread_scope_block> base;
    base __barrier;

    friend inline ::cuda::std::uint64_t *
    device::_LIBCUDACXX_ABI_NAMESPACE::barrier_native_handle(barrier<thread_scope_block> &b);

  public:
    typedef base::arrival_token arrival_token;

    barrier() = default;
    barrier(::cuda::std::ptrdiff_t expected, ::cuda::std::__empty_completion = {})
        : __barrier(expected) {}
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    friend void init(barrier *b, ::cuda::std::ptrdiff_t expected,
                     ::cuda::std::__empty_completion = {}) {
        new (&b->__barrier) base(expected);
    }
    static constexpr ::cuda::std::ptrdiff_t max() noexcept { return base::max(); }

    NUMBALITE_SIM_INLINE arrival_token arrive(::cuda::std::ptrdiff_t count = 1,
                                              NUMBALITE_SIM_SITE) {
        return __barrier.arrive(count, file, line);
    }
    NUMBALITE_SIM_INLINE void wait(arrival_token &&token, NUMBALITE_SIM_SITE) const {
        __barrier.wait(static_cast<arrival_token &&>(token), file, line);
    }
    NUMBALITE_SIM_INLINE void wait_parity(bool parity, NUMBALITE_SIM_SITE) const {
        __barrier.wait_parity(parity, file, line);
    }
    NUMBALITE_SIM_INLINE void arrive_and_wait(NUMBALITE_SIM_SITE) {
        __barrier.arrive_and_wait(file, line);
    }
    NUMBALITE_SIM_INLINE void arrive_and_drop(NUMBALITE_SIM_SITE) {
        __barrier.arrive_and_drop(file, line);
    }
    NUMBALITE_SIM_INLINE bool try_wait(arrival_token &&token, NUMBALITE_SIM_SITE) const {
        return __barrier.__try_wait(token, file, line);
    }
    NUMBALITE_SIM_INLINE bool try_wait_parity(bool parity, NUMBALITE_SIM_SITE) const {
        return __barrier.__try_wait_parity(parity, file, line);
    }
    template <class Duration>
    NUMBALITE_SIM_INLINE bool try_wait_for(arrival_token &&token, const Duration &,
                                           NUMBALITE_SIM_SITE) {
        return ::numbalite_sim::mbarrier::yield_unless_over(__barrier.__try_wait(token, file, line),
                                                            file, line);
    }
    template <class Time>
    NUMBALITE_SIM_INLINE bool try_wait_until(arrival_token &&token, const Time &,
                                             NUMBALITE_SIM_SITE) {
        return ::numbalite_sim::mbarrier::yield_unless_over(__barrier.__try_wait(token, file, line),
                                                            file, line);
    }
    template <class Duration>
    NUMBALITE_SIM_INLINE bool try_wait_parity_for(bool parity, const Duration &,
                                                  NUMBALITE_SIM_SITE) {
        return ::numbalite_sim::mbarrier::yield_unless_over(
            __barrier.__try_wait_parity(parity, file, line), file, line);
    }
    template <class Time>
    NUMBALITE_SIM_INLINE bool try_wait_parity_until(bool parity, const Time &, NUMBALITE_SIM_SITE) {
        return ::numbalite_sim::mbarrier::yield_unless_over(
            __barrier.__try_wait_parity(parity, file, line), file, line);
    }
};

} // namespace _LIBCUDACXX_ABI_NAMESPACE
} // namespace cuda
#include "../../generic_end.h"
