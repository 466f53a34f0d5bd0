/* histogram: counts, or adds up weights, by bins. A functor says the bin of an element; what is in none of the `bins`
 * is not counted. Few bins are counted in the shared memory of each block first, by counters that lanes have apart. */
#ifndef NUMBALITE_HISTOGRAM_CUH
#define NUMBALITE_HISTOGRAM_CUH

#include "numbalite/atomics.cuh"
#include "numbalite/convert.cuh"

namespace numbalite {
namespace nl_count {

/* The number itself. */
struct number_bin {
    template <class T> NUMBALITE_FUNCTION int64 operator()(const T &x) const { return (int64)x; }
};

/* Between edges, of which the last one belongs to the last bin. Where bins are equally wide, `first` and `scale`
 * guess the bin; else it is searched for. Edges decide. */
template <class E> struct edge_bin {
    const E *edges;
    int64 count; /* of bins */
    double first, scale;

    template <class T> NUMBALITE_FUNCTION int64 operator()(const T &value) const {
        E x = nl_convert<E>(value);
        if (!(x >= edges[0] && x <= edges[count]))
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
        int64 end = count; /* edges[i] <= x < edges[end], but for the last */
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

/* What is added for an element: one, or its weight. */
template <class W> struct weight {
    template <class A> static NUMBALITE_FUNCTION A of(const void *weights, uint64 i) {
        return nl_convert<A>(((const W *)weights)[i]);
    }
};
template <> struct weight<void> {
    template <class A> static NUMBALITE_FUNCTION A of(const void *, uint64) { return A(1); }
};
/* In shared memory: numbers of elements fit into 32 bits there. */
template <class W, class A> struct counter {
    typedef A type;
};
template <class A> struct counter<void, A> {
    typedef unsigned type;
};

template <class T, class W, class A, class Bin>
NUMBALITE_FUNCTION void histogram(const T *x, const void *weights, A *counts, uint64 n,
                                  uint64 bins, const Bin &bin) {
    typedef typename counter<W, A>::type C;
    constexpr unsigned room = 32768 / sizeof(C);
    constexpr int ahead = 4;
    __shared__ __align__(16) unsigned char raw[room * sizeof(C)];
    C *sums = (C *)raw, zero = C(0);
    uint64 step = (uint64)gridDim.x * blockDim.x;
    uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    bool is_few = bins <= room;
    unsigned apart = 1;
    if (is_few) {
        while (apart < 32 && 2 * apart * bins <= room)
            apart *= 2;
        for (unsigned k = threadIdx.x; k < bins * apart; k += blockDim.x)
            sums[k] = zero;
        __syncthreads();
    }
    C *mine = sums + threadIdx.x % apart;
    for (; i < n; i += ahead * step) {
        T items[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            if (i + k * step < n)
                memcpy(&items[k], &x[i + k * step], sizeof(T));
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            if (i + k * step >= n)
                break;
            int64 at = bin(items[k]);
            if ((uint64)at >= bins)
                continue;
            if (is_few)
                atomic_add(mine + at * apart, weight<W>::template of<C>(weights, i + k * step));
            else
                atomic_add(counts + at, weight<W>::template of<A>(weights, i + k * step));
        }
    }
    if (!is_few)
        return;
    __syncthreads();
    for (unsigned k = threadIdx.x; k < bins; k += blockDim.x) {
        A sum = A(sums[k * apart]);
        for (unsigned other = 1; other < apart; ++other)
            sum = A(sum + A(sums[k * apart + other]));
        if (!(sum == A(0)))
            atomic_add(counts + k, sum);
    }
}

} // namespace nl_count
} // namespace numbalite

/* counts begin as zeros; what they have is added to. */
template <class T, class W, class A>
__global__ void __launch_bounds__(256)
    nl_count_numbers(const void *x, const void *weights, void *counts, unsigned long long n,
                     unsigned long long bins) {
    using namespace numbalite::nl_count;
    histogram<T, W, A>((const T *)x, weights, (A *)counts, n, bins, number_bin());
}

template <class T, class W, class A, class E>
__global__ void __launch_bounds__(256)
    nl_count_between(const void *x, const void *weights, void *counts, unsigned long long n,
                     unsigned long long bins, const void *edges, double first, double scale) {
    using namespace numbalite::nl_count;
    edge_bin<E> bin = {(const E *)edges, (numbalite::int64)bins, first, scale};
    histogram<T, W, A>((const T *)x, weights, (A *)counts, n, bins, bin);
}

#endif
