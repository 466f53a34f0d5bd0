/* pipeline: parts of an array on their way to shared memory while a block works on those before them.
 *
 * One thread asks for a part (Hopper's bulk copies, compute capability 9.0); an arrival, an mbarrier in
 * shared memory, tells all threads when it is there. The parts lie in stages, which are used in turn; where
 * threads have written to one, they release it before a barrier. On the simulator the copy is made at once, and
 * waiting for it is a barrier of the block. */
#ifndef NUMBALITE_PIPELINE_CUH
#define NUMBALITE_PIPELINE_CUH

#include "numbalite/block_memory.cuh"

namespace numbalite {
namespace nl_pipeline {

typedef unsigned long long arrival;

#ifdef NUMBALITE_SIM
NUMBALITE_FUNCTION void make_arrival(arrival *) {}
NUMBALITE_FUNCTION void publish_arrivals() {}
NUMBALITE_FUNCTION void expect(arrival *, unsigned int) {}
NUMBALITE_FUNCTION void copy(arrival *, void *to, const void *from, unsigned int bytes) {
    memcpy(to, from, bytes);
}
NUMBALITE_FUNCTION void wait(arrival *, unsigned int) { __syncthreads(); }
NUMBALITE_FUNCTION void release() {}
#else
NUMBALITE_FUNCTION unsigned int shared_address(const void *at) {
    return (unsigned int)__cvta_generic_to_shared(at);
}

/* By one thread, before a barrier of the block; publish_arrivals() after the last of them. */
NUMBALITE_FUNCTION void make_arrival(arrival *a) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" : : "r"(shared_address(a)) : "memory");
}
NUMBALITE_FUNCTION void publish_arrivals() {
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

/* So many bytes will come; what the thread has written to shared memory before comes with them. */
NUMBALITE_FUNCTION void expect(arrival *a, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(a)), "r"(bytes)
                 : "memory");
}

/* Addresses and bytes are multiples of 16. */
NUMBALITE_FUNCTION void copy(arrival *a, void *to, const void *from, unsigned int bytes) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(a))
        : "memory");
}

/* Until what was expected is there: the parity is 0 for the first time, 1 for the second, and so on. */
NUMBALITE_FUNCTION void wait(arrival *a, unsigned int parity) {
    unsigned int there = 0;
    while (!there)
        asm volatile("{\n"
                     " .reg .pred there;\n"
                     " mbarrier.try_wait.parity.shared.b64 there, [%1], %2;\n"
                     " selp.u32 %0, 1, 0, there;\n"
                     "}"
                     : "=r"(there)
                     : "r"(shared_address(a)), "r"(parity)
                     : "memory");
}

/* A copy comes after what the thread has written to shared memory. */
NUMBALITE_FUNCTION void release() {
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
#endif

} // namespace nl_pipeline
} // namespace numbalite

#endif
