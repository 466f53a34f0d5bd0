/* cuda/std/__barrier/barrier.h: replaces libcu++'s barriers by barriers that report to the checks
 * (sim/mbarrier.h). */
#pragma once
#include <cuda/std/__barrier/empty_completion.h>
#include <cuda/std/__barrier/poll_tester.h>
#include <cuda/std/__new_>
#include <cuda/std/atomic>
#include <cuda/std/chrono>
#include <cuda/std/cstddef>

namespace cuda {
namespace std {
inline namespace _LIBCUDACXX_ABI_NAMESPACE {

template <class Completion, thread_scope scope = thread_scope_system>
class __barrier_base : Completion {
    unsigned long long word;

    NUMBALITE_SIM_INLINE unsigned long long change(unsigned arrivals, unsigned dropped,
                                                   const char *file, int line) {
        return ::numbalite_sim::mbarrier::change(&word, arrivals, 0, dropped,
                                                 static_cast<Completion &>(*this), file, line);
    }

  public:
    typedef uint64_t arrival_token;

    __barrier_base() = default;
    __barrier_base(ptrdiff_t expected, Completion completion = Completion())
        : Completion(completion) {
        ::numbalite_sim::mbarrier::init(&word, static_cast<unsigned>(expected));
    }
    __barrier_base(const __barrier_base &) = delete;
    __barrier_base &operator=(const __barrier_base &) = delete;
    static constexpr ptrdiff_t max() noexcept { return ::numbalite_sim::mbarrier::most; }

    NUMBALITE_SIM_INLINE arrival_token arrive(ptrdiff_t count = 1, NUMBALITE_SIM_SITE) {
        return change(static_cast<unsigned>(count), 0, file, line);
    }
    NUMBALITE_SIM_INLINE bool __try_wait(arrival_token token, NUMBALITE_SIM_SITE) const {
        return ::numbalite_sim::mbarrier::is_over(&word, token, file, line);
    }
    NUMBALITE_SIM_INLINE bool __try_wait_parity(bool parity, NUMBALITE_SIM_SITE) const {
        return ::numbalite_sim::mbarrier::is_parity_over(&word, parity, file, line);
    }
    NUMBALITE_SIM_INLINE void wait(arrival_token &&token, NUMBALITE_SIM_SITE) const {
        while (!::numbalite_sim::mbarrier::is_over(&word, token, file, line, true))
            __nanosleep(0, file, line);
    }
    NUMBALITE_SIM_INLINE void wait_parity(bool parity, NUMBALITE_SIM_SITE) const {
        while (!::numbalite_sim::mbarrier::is_parity_over(&word, parity, file, line, true))
            __nanosleep(0, file, line);
    }
    NUMBALITE_SIM_INLINE void arrive_and_wait(NUMBALITE_SIM_SITE) {
        wait(arrive(1, file, line), file, line);
    }
    NUMBALITE_SIM_INLINE void arrive_and_drop(NUMBALITE_SIM_SITE) { change(1, 1, file, line); }
};

template <class Completion = __empty_completion> class barrier : public __barrier_base<Completion> {
  public:
    barrier(ptrdiff_t expected, Completion completion = Completion())
        : __barrier_base<Completion>(expected, completion) {}
};

} // namespace _LIBCUDACXX_ABI_NAMESPACE
} // namespace std
} // namespace cuda
