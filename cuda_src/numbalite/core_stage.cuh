/* core_stage: the cores of a generalized ufunc in shared memory.
 *
 * A thread for each core reads and writes a row of memory of its own, and the rows of a warp's threads lie
 * apart: an access of the warp takes a sector of 32 bytes from each row, for one element, and rows drive each
 * other out of the cache before the next element is asked for. So a warp copies the cores of its 32 threads
 * together, by whole lines: to shared memory before the function is called, and results back after it. The
 * function works there, on arrays of the same shape and strides.
 *
 * Short cores (`core_stage`) are moved by words, so that the same element of all 32 is in different banks.
 * Of long ones (`long_core_stage`) fewer have room than a warp has banks; they are moved by pieces of 16 bytes. */
#ifndef NUMBALITE_CORE_STAGE_CUH
#define NUMBALITE_CORE_STAGE_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/gufunc.cuh"
#include "numbalite/row_walk.cuh"
#include "numbalite/stage.cuh"

namespace numbalite {
namespace nl_detail {

#define NUMBALITE_WHOLE_WARP 0xffffffffu

/* Where the core of another lane lies. */
template <class T> NUMBALITE_FUNCTION T *core_of(T *core, int lane) {
    return (T *)__shfl_sync(NUMBALITE_WHOLE_WARP, (unsigned long long)core, lane);
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

/* The same for cores that are long. A row begins as far behind a multiple of 16 bytes as its core does, so
 * that both have the same pieces, and words at their ends. Eight rows are in different banks. */
template <class T> struct long_core_stage {
    typedef typename word_of<(sizeof(T) > 8 ? 8 : sizeof(T))>::type word;

    T *core; /* of this thread, where it lies */
    int bytes;
    int pitch; /* an odd number of pieces, of which the ends may be in part; gukernel.c knows it, too */
    unsigned char *rows; /* of this warp */

    NUMBALITE_FUNCTION long_core_stage(T *core, int64 elements, int lanes, unsigned char *&free)
        : core(core), bytes((int)elements * (int)sizeof(T)) {
        pitch = ((bytes + 30) / 16 | 1) * 16;
        rows = free + threadIdx.x / 32 * lanes * pitch;
        free += blockDim.x / 32 * lanes * pitch;
    }

    NUMBALITE_FUNCTION T *staged() const {
        return (T *)(rows + threadIdx.x % 32 * pitch + ahead_of(core));
    }

    /* The first `count` rows, by a whole warp. */
    NUMBALITE_FUNCTION void load(int count) const { move<true>(count); }
    NUMBALITE_FUNCTION void store(int count) const { move<false>(count); }

    static NUMBALITE_FUNCTION unsigned ahead_of(const T *core) {
        return (unsigned)((unsigned long long)core % 16);
    }
    template <bool Loads> NUMBALITE_FUNCTION void move(int count) const {
        T *next = core_of(core, 0);
        for (int row = 0; row < count; ++row) {
            T *const global = next;
            next = core_of(core, row + 1); /* while this one is moved */
            const unsigned ahead = ahead_of(global);
            move_bytes<Loads, word, 32>((char *)global - ahead, (char *)rows + row * pitch, ahead,
                                        ahead + (unsigned)bytes, threadIdx.x % 32);
        }
    }
};

} // namespace nl_detail
} // namespace numbalite

#endif
