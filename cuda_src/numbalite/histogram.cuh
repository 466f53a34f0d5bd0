/* histogram: counts elements by bins, or sums the elements' weights. A functor computes the bin of
 * an element; elements outside of all bins are ignored. If there are few bins, each block first
 * counts in shared memory, in several copies of the bins that warps share. */
#ifndef NUMBALITE_HISTOGRAM_CUH
#define NUMBALITE_HISTOGRAM_CUH

#include "numbalite/atomics.cuh"
#include "numbalite/convert.cuh"
#include "numbalite/each_element.cuh"

namespace numbalite {
namespace nl_count {

/* Returns the element's value as its bin (for bincount). */
struct number_bin {
    template <class T> NUMBALITE_FUNCTION int64 operator()(const T &x) const { return (int64)x; }
};

/* Returns the bin between two edges that contains the element; the last edge belongs to the last
 * bin. Returns -1 for an element outside of all bins. If the bins have equal width, `first` and
 * `scale` estimate the bin, and the edges correct the estimate; otherwise the bin is found by
 * bisection. */
template <class E> struct edge_bin {
    const E *edges;
    int64 count; /* number of bins */
    double first, scale;
    E low, high; /* the first and the last edge */

    template <class T> NUMBALITE_FUNCTION int64 operator()(const T &value) const {
        E x = nl_convert<E>(value);
        if (!(x >= low && x <= high))
            return -1;
        int64 i;
        if (scale > 0) {
            i = (int64)((nl_convert<double>(x) - first) * scale);
            i = i < 0 ? 0 : i < count ? i : count - 1;
            while (i > 0 && x < edges[i])
                --i;
            while (i < count - 1 && x >= edges[i + 1])
                ++i;
            return i;
        }
        int64 end = count; /* edges[i] <= x < edges[end], except for the last edge */
        for (i = 0; end - i > 1;) {
            int64 middle = i + (end - i) / 2;
            if (x >= edges[middle])
                i = middle;
            else
                end = middle;
        }
        return i;
    }
};

/* The amount that an element adds to its bin: 1, or the element's weight. */
template <class W> struct weight {
    template <class A> static NUMBALITE_FUNCTION A of(const void *weights, uint64 i) {
        return nl_convert<A>(((const W *)weights)[i]);
    }
};
template <> struct weight<void> {
    template <class A> static NUMBALITE_FUNCTION A of(const void *, uint64) { return A(1); }
};
/* The type of counters in shared memory, for which 32 bits are enough: a block counts less than
 * 2^32 elements. */
template <class W, class A> struct counter {
    typedef A type;
};
template <class A> struct counter<void, A> {
    typedef unsigned type;
};

constexpr int THREADS = 1024; /* maximum number of bins per block, which must match
                               * algorithms/counting.py */

/* The counters of a block: with few bins, copies of all bins in shared memory, each used by one or
 * several warps; with many bins, the result itself. */
template <class W, class A> struct counters {
    typedef typename counter<W, A>::type C;
    static constexpr unsigned capacity = 32768 / sizeof(C), most = THREADS / 64;
    C *mine;
    A *counts;
    uint64 bins;
    bool is_few;

    NUMBALITE_FUNCTION void add(int64 at, const void *weights, uint64 i) const {
        if ((uint64)at >= bins)
            return;
        if (is_few)
            atomic_add(mine + at, weight<W>::template of<C>(weights, i));
        else
            atomic_add(counts + at, weight<W>::template of<A>(weights, i));
    }
};

template <class T, class W, class A, class Bin>
NUMBALITE_FUNCTION void histogram(const T *x, const void *weights, A *counts, uint64 n,
                                  uint64 bins, const Bin &bin) {
    typedef counters<W, A> own;
    typedef typename own::C C;
    __shared__ __align__(16) unsigned char raw[own::capacity * sizeof(C)];
    C *sums = (C *)raw, zero = C(0);
    uint64 step = (uint64)gridDim.x * blockDim.x;
    uint64 thread = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    bool is_few = bins < own::capacity;
    /* the padding puts the copies of a bin in different banks */
    unsigned copies = 1, apart = (unsigned)bins + 1;
    if (is_few) {
        while (copies < own::most && 64 * copies < blockDim.x && 2 * copies * apart <= own::capacity)
            copies *= 2;
        for (unsigned k = threadIdx.x; k < apart * copies; k += blockDim.x)
            sums[k] = zero;
        __syncthreads();
    }
    own to = {sums + threadIdx.x / 32 % copies * apart, counts, bins, is_few};

    nl_walk::each_element<2>(x, n, thread, step, [&](const T &item, uint64 i) {
        to.add(bin(item), weights, i);
    });
    if (!is_few)
        return;
    __syncthreads();
    for (unsigned k = threadIdx.x; k < bins; k += blockDim.x) {
        A sum = A(sums[k]);
        for (unsigned other = 1; other < copies; ++other)
            sum = A(sum + A(sums[other * apart + k]));
        if (!(sum == A(0)))
            atomic_add(counts + k, sum);
    }
}

} // namespace nl_count
} // namespace numbalite

/* Adds to the counts in the output, which must be initialized. */
template <class T, class W, class A>
__global__ void __launch_bounds__(numbalite::nl_count::THREADS)
    nl_count_numbers(const void *x, const void *weights, void *counts, unsigned long long n,
                     unsigned long long bins) {
    using namespace numbalite::nl_count;
    histogram<T, W, A>((const T *)x, weights, (A *)counts, n, bins, number_bin());
}

template <class T, class W, class A, class E>
__global__ void __launch_bounds__(numbalite::nl_count::THREADS)
    nl_count_between(const void *x, const void *weights, void *counts, unsigned long long n,
                     unsigned long long bins, const void *edges, double first, double scale) {
    using namespace numbalite::nl_count;
    const E *of_bins = (const E *)edges;
    edge_bin<E> bin = {of_bins, (numbalite::int64)bins, first, scale, of_bins[0], of_bins[bins]};
    histogram<T, W, A>((const T *)x, weights, (A *)counts, n, bins, bin);
}

#endif
