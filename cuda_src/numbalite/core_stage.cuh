/* core_stage: copies the cores of a generalized ufunc to shared memory. A core is the subarray of
 * an operand that is passed to one call of the function. The dimensions of a core are the core
 * dimensions of the gufunc.
 *
 * Without staging, each thread accesses its own core, and the cores of a warp's threads are far
 * apart in memory. So a load of the warp reads a 32-byte sector from each core for one element, and
 * the cores evict each other from the cache before the next element is accessed. So a warp copies
 * the cores of its 32 threads to shared memory with coalesced accesses before the function is
 * called, and copies the results back afterwards. The function works in shared memory, on arrays of
 * the same shape and strides.
 *
 * Short cores (`core_stage`) are copied by words, to addresses at which the same element of all 32
 * cores is in 32 different banks. Shared memory can contain the long cores (`long_core_stage`) of
 * only a part of a warp's lanes; long cores are copied in units of 16 bytes. */
#ifndef NUMBALITE_CORE_STAGE_CUH
#define NUMBALITE_CORE_STAGE_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/gufunc.cuh"
#include "numbalite/row_walk.cuh"
#include "numbalite/stage.cuh"

namespace numbalite {
namespace nl_detail {

#define NUMBALITE_WHOLE_WARP 0xffffffffu

/* Returns the address of another lane's subarray (core). All lanes of the warp must call this
 * function. */
template <class T> NUMBALITE_FUNCTION T *core_of(T *core, int lane) {
    return (T *)__shfl_sync(NUMBALITE_WHOLE_WARP, (unsigned long long)core, lane);
}

/* The contiguous subarrays (cores) of one operand, one per thread of a block; each warp copies
 * those of its 32 threads. */
template <class T> struct core_stage {
    /* The unit of a copy in bytes, which must match gukernel.c. */
    typedef typename word_of<(sizeof(T) < 4 ? 4 : sizeof(T) > 8 ? 8 : sizeof(T))>::type word;

    T *core; /* this thread's subarray in global memory */
    int bytes;
    /* distance in words between two rows in shared memory: an odd number, so that the same element
     * of all rows is in different banks */
    int pitch;
    unsigned char *rows; /* the rows of this warp */

    /* Allocates a row for each of `lanes` lanes of each warp from the free shared memory. */
    NUMBALITE_FUNCTION core_stage(T *core, int64 elements, int lanes, unsigned char *&free)
        : core(core), bytes((int)elements * (int)sizeof(T)) {
        pitch = ((bytes + (int)sizeof(word) - 1) / (int)sizeof(word) | 1) * (int)sizeof(word);
        rows = free + threadIdx.x / 32 * lanes * pitch;
        free += (blockDim.x / 32 * lanes * pitch + 15) / 16 * 16;
    }

    NUMBALITE_FUNCTION T *staged() const { return (T *)(rows + threadIdx.x % 32 * pitch); }

    /* load and store copy the first `count` rows of the warp to or from shared memory; all lanes of
     * the warp must call load and store. */
    NUMBALITE_FUNCTION void load(int count) const { move<true>(count); }
    NUMBALITE_FUNCTION void store(int count) const { move<false>(count); }

    template <bool Loads> NUMBALITE_FUNCTION void move(int count) const {
        if (sizeof(T) >= 4 ||
            (bytes % 4 == 0 && __all_sync(NUMBALITE_WHOLE_WARP, (unsigned long long)core % 4 == 0)))
            move_words<Loads, word>(count);
        else
            move_words<Loads, typename word_of<sizeof(T) < 4 ? sizeof(T) : 4>::type>(count);
    }

    /* Neighbouring lanes copy neighbouring words. */
    template <bool Loads, class Word> NUMBALITE_FUNCTION void move_words(int count) const {
        const int across = bytes / (int)sizeof(Word), words = count * across;
        row_walk at(across);
#pragma unroll 4
        for (int k = 0; k < words / 32; ++k) {
            move_word<Loads>((Word *)core_of(core, at.row) + at.column, staged_word<Word>(at));
            at.go_on();
        }
        Word *last = (Word *)core_of(core, at.row) + at.column;
        if ((int)threadIdx.x % 32 < words % 32)
            move_word<Loads>(last, staged_word<Word>(at));
    }
    template <class Word> NUMBALITE_FUNCTION Word *staged_word(const row_walk &at) const {
        return (Word *)(rows + at.row * pitch) + at.column;
    }
};

/* Stages long subarrays like core_stage. A row in shared memory has the same offset from a multiple
 * of 16 bytes as its subarray in global memory, so that both consist of the same 16-byte units,
 * with words at both ends. The same element of eight rows is in different banks. */
template <class T> struct long_core_stage {
    typedef typename word_of<(sizeof(T) > 8 ? 8 : sizeof(T))>::type word;

    T *core; /* this thread's subarray in global memory */
    int bytes;
    int pitch; /* distance between two rows in shared memory: an odd number of 16-byte units, which
                * must match gukernel.c */
    unsigned char *rows; /* the rows of this warp */

    NUMBALITE_FUNCTION long_core_stage(T *core, int64 elements, int lanes, unsigned char *&free)
        : core(core), bytes((int)elements * (int)sizeof(T)) {
        pitch = ((bytes + 30) / 16 | 1) * 16;
        rows = free + threadIdx.x / 32 * lanes * pitch;
        free += blockDim.x / 32 * lanes * pitch;
    }

    NUMBALITE_FUNCTION T *staged() const {
        return (T *)(rows + threadIdx.x % 32 * pitch + ahead_of(core));
    }

    /* load and store copy the first `count` rows of the warp to or from shared memory; all lanes of
     * the warp must call load and store. */
    NUMBALITE_FUNCTION void load(int count) const { move<true>(count); }
    NUMBALITE_FUNCTION void store(int count) const { move<false>(count); }

    static NUMBALITE_FUNCTION unsigned ahead_of(const T *core) {
        return (unsigned)((unsigned long long)core % 16);
    }
    template <bool Loads> NUMBALITE_FUNCTION void move(int count) const {
        T *next = core_of(core, 0);
        for (int row = 0; row < count; ++row) {
            T *const global = next;
            next = core_of(core, row + 1); /* the address of the next row is computed while the
            current row is copied */
            const unsigned ahead = ahead_of(global);
            copy_to_stage<Loads, word, 32>((char *)global - ahead, (char *)rows + row * pitch, ahead,
                                        ahead + (unsigned)bytes, threadIdx.x % 32);
        }
    }
};

} // namespace nl_detail
} // namespace numbalite

#endif
