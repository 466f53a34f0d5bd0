/* cuda_awbarrier.h: declares the barrier primitives, and nvcuda::experimental::awbarrier. */
#pragma once
#include <cuda_awbarrier_primitives.h>

namespace nvcuda {
namespace experimental {

class awbarrier {
    __mbarrier_t word;

  public:
    class arrival_token {
        __mbarrier_token_t token;
        friend class awbarrier;
        arrival_token(__mbarrier_token_t token) : token(token) {}

      public:
        arrival_token() = default;
        unsigned pending_count() const { return __mbarrier_token_pending_count(token); }
    };
    awbarrier() = default;
    awbarrier(const awbarrier &) = delete;
    awbarrier &operator=(const awbarrier &) = delete;
    static constexpr ptrdiff_t max() { return numbalite_sim::block_barrier::max(); }
    friend void init(awbarrier *b, ptrdiff_t expected) { __mbarrier_init(&b->word, static_cast<unsigned>(expected)); }
    friend void inval(awbarrier *b) { __mbarrier_inval(&b->word); }
    arrival_token arrive(NUMBALITE_SIM_SITE) { return __mbarrier_arrive(&word, file, line); }
    void wait(arrival_token token, NUMBALITE_SIM_SITE) {
        while (!__mbarrier_test_wait(&word, token.token, file, line))
            __nanosleep(0, file, line);
    }
    /* The time limit is ignored: each call tests the phase only once. If the phase has not ended,
     * other threads run before the call returns false. */
    bool timed_wait(arrival_token token, unsigned, NUMBALITE_SIM_SITE) { return try_wait(token, 0, file, line); }
    bool timed_wait_parity(bool parity, unsigned, NUMBALITE_SIM_SITE) { return try_wait_parity(parity, 0, file, line); }
    bool try_wait(arrival_token token, unsigned, NUMBALITE_SIM_SITE) {
        return __mbarrier_try_wait(&word, token.token, 0, file, line);
    }
    bool try_wait_parity(bool parity, unsigned, NUMBALITE_SIM_SITE) {
        return __mbarrier_try_wait_parity(&word, parity, 0, file, line);
    }
    void arrive_and_wait(NUMBALITE_SIM_SITE) { wait(arrive(file, line), file, line); }
    arrival_token arrive_and_drop(NUMBALITE_SIM_SITE) { return __mbarrier_arrive_and_drop(&word, file, line); }
};

} // namespace experimental
} // namespace nvcuda
