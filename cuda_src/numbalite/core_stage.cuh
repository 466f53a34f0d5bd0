/* core_stage: the cores of a generalized ufunc in shared memory.
 *
 * A thread for each core reads and writes a row of memory of its own, and the rows of a warp's threads lie
 * apart: an access of the warp takes a sector of 32 bytes from each row, for one element, and rows drive each
 * other out of the cache before the next element is asked for. So a warp copies the cores of its 32 threads
 * together, by whole lines: to shared memory before the function is called, and results back after it. The
 * function works there, on arrays of the same shape and strides. */
#ifndef NUMBALITE_CORE_STAGE_CUH
#define NUMBALITE_CORE_STAGE_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/gufunc.cuh"
#include "numbalite/row_walk.cuh"

namespace numbalite {
namespace nl_detail {

#define NUMBALITE_WHOLE_WARP 0xffffffffu

/* Asynchronous where the device can (compute capability 8.0). */
template <class Word> NUMBALITE_FUNCTION void stage_word(Word *shared, const Word *global) {
#if !defined(NUMBALITE_SIM) && __CUDA_ARCH__ >= 800
    if (sizeof(Word) >= 4) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :
                     : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global),
                       "n"(sizeof(Word) < 4 ? 4 : sizeof(Word))
                     : "memory");
        return;
    }
#endif
    *shared = *global;
}

/* By a whole warp, after it has asked for words. */
NUMBALITE_FUNCTION void await_stage() {
#if !defined(NUMBALITE_SIM) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
    __syncwarp();
}

/* One operand's cores, without gaps, of the threads of a block; each warp moves its own. */
template <class T> struct core_stage {
    /* What is moved at once; gukernel.c knows it, too. */
    typedef typename word_of<(sizeof(T) < 4 ? 4 : sizeof(T) > 8 ? 8 : sizeof(T))>::type word;

    T *core; /* of this thread, where it lies */
    int bytes;
    int pitch; /* an odd number of words: the same element of all rows is in different banks */
    unsigned char *rows; /* of this warp */

    /* Takes its part of the shared memory that is free: a row for each of `lanes`. */
    NUMBALITE_FUNCTION core_stage(T *core, int64 elements, int lanes, unsigned char *&free)
        : core(core), bytes((int)elements * (int)sizeof(T)) {
        pitch = ((bytes + (int)sizeof(word) - 1) / (int)sizeof(word) | 1) * (int)sizeof(word);
        rows = free + threadIdx.x / 32 * lanes * pitch;
        free += (blockDim.x / 32 * lanes * pitch + 15) / 16 * 16;
    }

    NUMBALITE_FUNCTION T *staged() const { return (T *)(rows + threadIdx.x % 32 * pitch); }

    /* The first `count` rows, by a whole warp. */
    NUMBALITE_FUNCTION void load(int count) const { move<true>(count); }
    NUMBALITE_FUNCTION void store(int count) const { move<false>(count); }

    template <bool Loads> NUMBALITE_FUNCTION void move(int count) const {
        if (sizeof(T) >= 4 ||
            (bytes % 4 == 0 && __all_sync(NUMBALITE_WHOLE_WARP, (unsigned long long)core % 4 == 0)))
            move_words<Loads, word>(count);
        else
            move_words<Loads, typename word_of<sizeof(T) < 4 ? sizeof(T) : 4>::type>(count);
    }

    /* Neighbours move neighbouring words. */
    template <bool Loads, class Word> NUMBALITE_FUNCTION void move_words(int count) const {
        const int across = bytes / (int)sizeof(Word), words = count * across;
        row_walk at(across);
#pragma unroll 4
        for (int k = 0; k < words / 32; ++k) {
            move_word<Loads>((Word *)core_of(at.row) + at.column, staged_word<Word>(at));
            at.go_on();
        }
        Word *last = (Word *)core_of(at.row) + at.column;
        if ((int)threadIdx.x % 32 < words % 32)
            move_word<Loads>(last, staged_word<Word>(at));
    }
    template <class Word> NUMBALITE_FUNCTION Word *staged_word(const row_walk &at) const {
        return (Word *)(rows + at.row * pitch) + at.column;
    }
    NUMBALITE_FUNCTION T *core_of(int row) const {
        return (T *)__shfl_sync(NUMBALITE_WHOLE_WARP, (unsigned long long)core, row);
    }
    template <bool Loads, class Word>
    static NUMBALITE_FUNCTION void move_word(Word *global, Word *shared) {
        if (Loads)
            stage_word(shared, global);
        else
            *global = *shared;
    }
};

} // namespace nl_detail
} // namespace numbalite

#endif
