/* stage: copies between global and shared memory by the threads of a warp or a block. */
#ifndef NUMBALITE_STAGE_CUH
#define NUMBALITE_STAGE_CUH

#include "numbalite.cuh"
#include "numbalite/unsigned_types.cuh"

namespace numbalite {
namespace nl_detail {

/* Copies a word to shared memory, asynchronously on devices that support this (compute capability
 * 8.0). */
template <class Word> NUMBALITE_FUNCTION void stage_word(Word *shared, const Word *global) {
#if !defined(NUMBALITE_SIM) && __CUDA_ARCH__ >= 800
    if (sizeof(Word) >= 4) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
        if (sizeof(Word) == 16) /* this variant bypasses L1, whose capacity is reduced by shared
                                 * memory */
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(global) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                         :
                         : "r"(to), "l"(global), "n"(sizeof(Word) == 8 ? 8 : 4)
                         : "memory");
        return;
    }
#endif
    *shared = *global;
}

/* Waits for the calling thread's asynchronous copies. */
NUMBALITE_FUNCTION void wait_for_thread_copies() {
#if !defined(NUMBALITE_SIM) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}
/* Waits for the asynchronous copies of a warp; all lanes must call this function. */
NUMBALITE_FUNCTION void wait_for_warp_copies() {
    wait_for_thread_copies();
    __syncwarp();
}

template <bool Loads, class Word> NUMBALITE_FUNCTION void move_word(Word *global, Word *shared) {
    if (Loads)
        stage_word(shared, (const Word *)global);
    else
        *global = *shared;
}

/* Copies bytes `begin` to `end` - 1, relative to two addresses that are multiples of 16 bytes, by
 * `Threads` threads: by 16-byte units, and by words at the ends. */
template <bool Loads, class Word, int Threads>
NUMBALITE_FUNCTION void copy_to_stage(char *global, char *shared, unsigned begin, unsigned end,
                                   unsigned thread) {
    typedef typename word_of<16>::type piece;
    /* the first half of the threads copies the words before the first 16-byte unit, the other
     * threads copy the words after the last 16-byte unit */
    constexpr int half = Threads / 2;
    const unsigned first = (begin + 15) / 16, last = end / 16;
    piece *from = (piece *)global + first + thread, *to = (piece *)shared + first + thread;
#pragma unroll 1
    for (int left = (int)(last - first - thread); left > 0; left -= 4 * Threads) {
#pragma unroll
        for (int k = 0; k < 4 * Threads; k += Threads)
            if (k < left)
                move_word<Loads>(from + k, to + k);
        from += 4 * Threads;
        to += 4 * Threads;
    }
    const unsigned head = first * 16 < end ? first * 16 : end, tail = first <= last ? last * 16 : end;
    const unsigned at = (thread < half ? begin : tail) + thread % half * (unsigned)sizeof(Word);
    if (at < (thread < half ? head : end))
        move_word<Loads>((Word *)(global + at), (Word *)(shared + at));
}

} // namespace nl_detail
} // namespace numbalite

#endif
