/* short_sort: sorts rows that fit in a block, in one launch, by a bitonic network (Batcher 1968).
 *
 * A block sorts `together` rows, each padded to `width` entries, a power of two; entries past the
 * end of a row are sorted last. Equal keys are compared by their positions, so the sort is stable.
 *
 * The network compares entries that are 1, 2, 4, ... apart. A thread has 2^Log entries in
 * registers, whose indices differ in Log adjacent bits: the thread executes the steps of these bits
 * before it writes the entries back to shared memory. As long as a warp's entries are neighbours,
 * the network needs no barrier of the block. */
#ifndef NUMBALITE_SHORT_SORT_CUH
#define NUMBALITE_SHORT_SORT_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/order.cuh"

namespace numbalite {
namespace nl_sort {

/* Converts an index to an index in shared memory, where a gap follows each 16 entries: without
 * gaps, threads whose entries are 8 apart would have bank conflicts. */
NUMBALITE_FUNCTION unsigned index_with_gaps(unsigned i) {
    return i + i / 16;
}

/* The entries of a block: an entry is a key and the original position of its element. Short keys
 * are combined with the position to one integer. */
template <class K, bool Short = sizeof(typename K::key) <= 4> struct entries {
    typedef uint64 entry;
    uint64 *memory;

    NUMBALITE_FUNCTION entries(unsigned char *start, unsigned) : memory((uint64 *)start) {}
    static NUMBALITE_FUNCTION entry make(const typename K::key &key, unsigned place) {
        return (uint64)key << 16 | place;
    }
    static NUMBALITE_FUNCTION unsigned place(entry e) { return (unsigned)e & 0xffff; }
    static NUMBALITE_FUNCTION bool less(entry a, entry b) { return a < b; }
    NUMBALITE_FUNCTION entry get(unsigned i) const { return memory[i]; }
    NUMBALITE_FUNCTION void set(unsigned i, entry e) const { memory[i] = e; }
};

template <class K> struct entries<K, false> {
    struct entry {
        typename K::key key;
        unsigned place;
    };
    typename K::key *keys;
    uint16 *places;

    NUMBALITE_FUNCTION entries(unsigned char *start, unsigned count)
        : keys((typename K::key *)start), places((uint16 *)(keys + index_with_gaps(count))) {}
    static NUMBALITE_FUNCTION entry make(const typename K::key &key, unsigned place) {
        entry e = {key, place};
        return e;
    }
    static NUMBALITE_FUNCTION unsigned place(const entry &e) { return e.place; }
    static NUMBALITE_FUNCTION bool less(const entry &a, const entry &b) {
        return K::less(a.key, b.key) || (!K::less(b.key, a.key) && a.place < b.place);
    }
    NUMBALITE_FUNCTION entry get(unsigned i) const { return make(keys[i], places[i]); }
    NUMBALITE_FUNCTION void set(unsigned i, const entry &e) const {
        keys[i] = e.key;
        places[i] = (uint16)e.place;
    }
};

/* The calling thread's registers of the sorting network. */
template <class K, int LOG> struct network {
    typedef entries<K> memory;
    typedef typename memory::entry entry;
    enum { EACH = 1 << LOG };
    memory all;
    unsigned width;
    entry mine[EACH];

    NUMBALITE_FUNCTION network(unsigned char *start, unsigned count, unsigned width)
        : all(start, count), width(width) {}

    /* Returns the index of the thread's first entry, if the thread's entries differ in the bits
     * from `low` on. */
    static NUMBALITE_FUNCTION unsigned index(unsigned low) {
        return (threadIdx.x & ((1u << low) - 1)) | threadIdx.x >> low << (low + LOG);
    }
    NUMBALITE_FUNCTION void fetch(unsigned low) {
        unsigned first = index(low);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            mine[e] = all.get(index_with_gaps(first + (e << low)));
    }
    NUMBALITE_FUNCTION void store(unsigned low) const {
        unsigned first = index(low);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            all.set(index_with_gaps(first + (e << low)), mine[e]);
    }
    /* Compares and swaps the entries that differ in bit `low` + Bit; runs of `run` entries are
     * ascending and descending alternately. */
    template <int Bit> NUMBALITE_FUNCTION void step(unsigned low, unsigned run) {
        unsigned first = index(low);
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            int other = e | 1 << Bit;
            if (other == e)
                continue;
            bool up = !((first + (e << low)) & (width - 1) & run);
            entry a = mine[e], b = mine[other];
            bool wrong = memory::less(b, a) == up;
            mine[e] = wrong ? b : a;
            mine[other] = wrong ? a : b;
        }
    }
    /* Executes the steps of the bits high, high - 1, ..., low, which are at most LOG bits. */
    NUMBALITE_FUNCTION void steps(unsigned high, unsigned low, unsigned run) {
        unsigned bits = high - low;
        if (LOG > 2 && bits >= 2)
            step<LOG - 1>(low, run);
        if (bits >= 1)
            step<1>(low, run);
        step<0>(low, run);
    }
    /* Redistributes the entries in registers from the bits `from` to the bits `to`, through shared
     * memory. Each thread later overwrites only the locations from which it reads, so one barrier,
     * after the writes, is enough. */
    NUMBALITE_FUNCTION void move(unsigned from, unsigned to) {
        if (from == to)
            return;
        store(from);
        if (from <= 5 && to <= 5)
            __syncwarp();
        else
            __syncthreads();
        fetch(to);
    }
    /* Sorts the entries; before and after this function, a thread's registers contain entries whose
     * indices differ in the lowest bits. */
    NUMBALITE_FUNCTION void sort() {
        unsigned held = 0;
        for (unsigned run = 2, high = 0; run <= width; run *= 2, ++high)
            for (unsigned bit = high;;) {
                unsigned low = bit >= LOG ? bit - (LOG - 1) : 0;
                move(held, low);
                held = low;
                steps(bit, low, run);
                if (low == 0)
                    break;
                bit = low - 1;
            }
    }
};

} // namespace nl_sort
} // namespace numbalite

/* Sorts rows of n <= width elements: `to` and `places_to` (the original positions) may be null;
 * `to` may be `from`. The number of threads of a block must be a multiple of 32; the shared memory
 * must have space for 2^Log entries per thread. */
template <class K, int Log>
__global__ void __launch_bounds__(1024)
    nl_sort_short(const void *from, void *to, long long *places_to, unsigned long long rows,
                  unsigned n, unsigned width, unsigned together, unsigned long long flip) {
    using namespace numbalite;
    using namespace numbalite::nl_sort;
    typedef typename K::item item;
    typedef network<K, Log> sorter;
    constexpr unsigned each = sorter::EACH;
    unsigned shift = 31 - __clz((int)width), count = together * width;
    uint64 first = (uint64)blockIdx.x * together;
    sorter s(block_memory(), blockDim.x * each, width);
#pragma unroll
    for (unsigned e = 0; e < each; ++e) {
        unsigned i = threadIdx.x * each + e, place = i & (width - 1);
        uint64 row = first + (i >> shift);
        bool is_there = i < count && place < n && row < rows;
        s.mine[e] = sorter::memory::make(
            is_there ? ordered<K>(((const item *)from)[row * n + place], flip) : K::last(), place);
    }
    s.sort();
    __syncthreads();
    uint16 *order = (uint16 *)block_memory();
#pragma unroll
    for (unsigned e = 0; e < each; ++e)
        order[threadIdx.x * each + e] = (uint16)sorter::memory::place(s.mine[e]);
    __syncthreads();
    /* Elements are read again, because a key does not determine its element; all reads are made
     * before the first write. */
    item items[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
        unsigned i = threadIdx.x + k * blockDim.x;
        uint64 row = first + (i >> shift);
        if (to && i < count && (i & (width - 1)) < n && row < rows)
            items[k] = ((const item *)from)[row * n + order[i]];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
        unsigned i = threadIdx.x + k * blockDim.x, place = i & (width - 1);
        uint64 row = first + (i >> shift);
        if (i < count && place < n && row < rows) {
            if (to)
                ((item *)to)[row * n + place] = items[k];
            if (places_to)
                places_to[row * n + place] = order[i];
        }
    }
}

#endif
