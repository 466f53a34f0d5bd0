/* pipeline: copies parts of an array to shared memory while a block processes earlier parts.
 *
 * One thread starts the copy of a part (bulk copies of Hopper, compute capability 9.0). An arrival,
 * which is an mbarrier in shared memory, signals to all threads that the copy is complete. The
 * copies are written to stages of shared memory, which are reused in turn; if threads have written
 * to a stage, they must call release() before a barrier. On the simulator the copy is synchronous,
 * and waiting for it is a barrier of the block. */
#ifndef NUMBALITE_PIPELINE_CUH
#define NUMBALITE_PIPELINE_CUH

#include "numbalite/block_memory.cuh"

namespace numbalite {
namespace nl_pipeline {

typedef unsigned long long arrival;

#ifdef NUMBALITE_SIM
NUMBALITE_FUNCTION void make_arrival(arrival *) {}
NUMBALITE_FUNCTION void publish_arrivals() {}
NUMBALITE_FUNCTION void announce_bytes(arrival *, unsigned int) {}
NUMBALITE_FUNCTION void copy(arrival *, void *to, const void *from, unsigned int bytes) {
    memcpy(to, from, bytes);
}
NUMBALITE_FUNCTION void wait(arrival *, unsigned int) { __syncthreads(); }
NUMBALITE_FUNCTION void release() {}
#else
NUMBALITE_FUNCTION unsigned int shared_address(const void *at) {
    return (unsigned int)__cvta_generic_to_shared(at);
}

/* Initializes an arrival. Must be called by one thread; after the last initialization, call
 * publish_arrivals() and a barrier of the block. */
NUMBALITE_FUNCTION void make_arrival(arrival *a) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" : : "r"(shared_address(a)) : "memory");
}
NUMBALITE_FUNCTION void publish_arrivals() {
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

/* Announces the number of bytes of a copy. Earlier writes of the thread to shared memory become
 * visible to the threads that wait for the arrival. */
NUMBALITE_FUNCTION void announce_bytes(arrival *a, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(a)), "r"(bytes)
                 : "memory");
}

/* Starts a copy; addresses and `bytes` must be multiples of 16. */
NUMBALITE_FUNCTION void copy(arrival *a, void *to, const void *from, unsigned int bytes) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(a))
        : "memory");
}

/* Waits until the announced bytes have arrived; the parity alternates: 0 for the first use of the
 * arrival, 1 for the second, and so on. */
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

/* Orders the thread's writes to shared memory before later bulk copies. */
NUMBALITE_FUNCTION void release() {
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
#endif

} // namespace nl_pipeline
} // namespace numbalite

#endif
