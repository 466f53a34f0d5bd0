/* cuda_awbarrier.h: the primitives, and nvcuda::experimental::awbarrier. */
#pragma once
#include <cuda_awbarrier_primitives.h>

namespace nvcuda {
namespace experimental {

class awbarrier {
    __mbarrier_t word;

  public:
    typedef __mbarrier_token_t arrival_token;
    awbarrier() = default;
    awbarrier(const awbarrier &) = delete;
    awbarrier &operator=(const awbarrier &) = delete;
    static constexpr ptrdiff_t max() { return numbalite_sim::block_barrier::max(); }
    friend void init(awbarrier *b, ptrdiff_t expected) { __mbarrier_init(&b->word, static_cast<unsigned>(expected)); }
    arrival_token arrive(NUMBALITE_SIM_SITE) { return __mbarrier_arrive(&word, file, line); }
    void wait(arrival_token token, NUMBALITE_SIM_SITE) {
        while (!__mbarrier_test_wait(&word, token, file, line))
            __nanosleep(0, file, line);
    }
    bool timed_wait(arrival_token token, unsigned, NUMBALITE_SIM_SITE) {
        return __mbarrier_test_wait(&word, token, file, line);
    }
    void arrive_and_wait(NUMBALITE_SIM_SITE) { wait(arrive(file, line), file, line); }
    void arrive_and_drop(NUMBALITE_SIM_SITE) { (void)__mbarrier_arrive_and_drop(&word, file, line); }
};

} // namespace experimental
} // namespace nvcuda
