/* cuda/std/__latch/latch.h: replaces libcu++'s latches by latches that report to the checks
 * (sim/latch.h). */
#pragma once
#include <cuda/std/atomic>
#include <cuda/std/limits>

namespace cuda {
namespace std {
inline namespace _LIBCUDACXX_ABI_NAMESPACE {

template <thread_scope scope = thread_scope_system> class __latch_base {
    ptrdiff_t count;

  public:
    explicit __latch_base(ptrdiff_t expected) : count(expected) {
        ::numbalite_sim::latch::init(&count, expected == 0);
    }
    __latch_base(const __latch_base &) = delete;
    __latch_base &operator=(const __latch_base &) = delete;
    static constexpr ptrdiff_t max() noexcept { return numeric_limits<ptrdiff_t>::max(); }
    NUMBALITE_SIM_INLINE void count_down(ptrdiff_t by = 1, NUMBALITE_SIM_SITE) {
        ::numbalite_sim::latch::count_down(&count, by, file, line);
    }
    NUMBALITE_SIM_INLINE bool try_wait(NUMBALITE_SIM_SITE) const noexcept {
        return ::numbalite_sim::latch::is_zero(&count, false, file, line);
    }
    NUMBALITE_SIM_INLINE void wait(NUMBALITE_SIM_SITE) const {
        ::numbalite_sim::latch::wait(&count, file, line);
    }
    NUMBALITE_SIM_INLINE void arrive_and_wait(ptrdiff_t by = 1, NUMBALITE_SIM_SITE) {
        count_down(by, file, line);
        wait(file, line);
    }
};

using latch = __latch_base<>;

} // namespace _LIBCUDACXX_ABI_NAMESPACE
} // namespace std
} // namespace cuda
