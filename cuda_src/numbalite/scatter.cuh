/* scatter: implements ufunc.at: a[i] = op(a[i], b[j]) for each j, where i is the j-th index;
 * indices may repeat.
 *
 * The plan's kept dimensions are the dimensions of the array `a`; an index is the number of an
 * element of `a` in C order. The reduced dimensions are the dimensions of b, after broadcasting.
 * `results` is the number of indices, `chunk` the number of elements of a.
 *
 * - Schedule "in order": the indices are sorted; one thread applies all operands of one element.
 * - Schedule "each": one thread for each index, with atomics, if the order does not matter.
 * - Schedule "few": each block computes sums into few elements in shared memory and adds them to
 *   `work`; the last block adds `work` to the array.
 *
 * Negative indices count from the end. If an index is out of bounds, nothing is written: `work`
 * begins with an error number, which is 0, or count - j for the first j whose index is out of
 * bounds. */
#ifndef NUMBALITE_SCATTER_CUH
#define NUMBALITE_SCATTER_CUH

#include "numbalite/atomics.cuh"
#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

template <class A> NUMBALITE_FUNCTION A *element(const plan &p, void *a, int64 i) {
    return (A *)((char *)a + locate_part(p, i, 0, nullptr).input);
}

/* Returns the address of the j-th operand. A scalar operand is stored in the plan itself. */
template <class B> NUMBALITE_FUNCTION const B *operand_of(const plan &p, const void *b, int64 j) {
    if (p.has_initial)
        return (const B *)p.initial;
    return (const B *)((const char *)b + (p.reduced ? element_offsets(p, j).input : 0));
}

/* `places` contains the sorted indices, `order` their original positions. */
template <class A, class B, class T, class Apply>
NUMBALITE_FUNCTION void at_in_order(const plan &p, void *a, const void *b, const int64 *places,
                                    const int64 *order, Apply apply) {
    int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= p.results || (k > 0 && places[k] == places[k - 1]))
        return;
    A *target = element<A>(p, a, places[k]);
    A value = *target;
    for (int64 j = k; j < p.results && places[j] == places[k]; ++j)
        value = nl_convert<A>(apply(nl_convert<T>(value), operand_of<B>(p, b, order[j])));
    *target = value;
}

/* Classes that update an element, by any function or by an addition. */
struct any_update {
    template <class A, class T, class B, class Apply>
    static NUMBALITE_FUNCTION void at(A *target, const B *operand, Apply apply) {
        nl_detail::update(target,
                          [=](A old) { return nl_convert<A>(apply(nl_convert<T>(old), operand)); });
    }
};
struct sum_update {
    template <class A, class T, class B, class Apply>
    static NUMBALITE_FUNCTION void at(A *target, const B *operand, Apply) {
        atomic_add(target, nl_convert<A>(*operand));
    }
};

template <class A, class B, class T, class Update, class I, class Apply>
NUMBALITE_FUNCTION void at_each(const plan &p, void *a, const void *b, const I *places,
                                const uint64 *work, Apply apply) {
    if (*work)
        return;
    int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 j = (int64)blockIdx.x * blockDim.x + threadIdx.x; j < p.results; j += step) {
        int64 i = places[j];
        Update::template at<A, T>(element<A>(p, a, i < 0 ? i + p.chunk : i),
                                  operand_of<B>(p, b, j), apply);
    }
}

/* `work` contains the error number, the counter of finished blocks, and the sums. */
template <class A, class B, class I>
NUMBALITE_FUNCTION void at_few(const plan &p, void *a, const void *b, const I *places,
                               uint64 *work) {
    constexpr int capacity = 32768 / sizeof(A), ahead = 8;
    __shared__ __align__(16) unsigned char raw[capacity * sizeof(A)];
    A *sums = (A *)raw, zero = nl_convert<A>(0);
    unsigned n = (unsigned)p.chunk, apart = 1, thread = threadIdx.x;
    /* several copies of the sums reduce the number of lanes that update the same sum */
    while (apart < 32 && 2 * apart * n <= capacity)
        apart *= 2;
    for (unsigned i = thread; i < n * apart; i += blockDim.x)
        sums[i] = zero;
    __syncthreads();
    int64 step = (int64)gridDim.x * blockDim.x, count = p.results, wrong = 0;
    bool is_one = p.has_initial != 0; /* the plan's scalar is read once, not for each index */
    A one = is_one ? nl_convert<A>(*(const B *)p.initial) : zero;
    A *mine = sums + thread % apart;
    int64 j = (int64)blockIdx.x * blockDim.x + thread;
    for (; j < count; j += ahead * step) {
        I at[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            at[k] = j + k * step < count ? places[j + k * step] : 0;
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            if (j + k * step >= count)
                break;
            int64 i = at[k];
            i = i < 0 ? i + n : i;
            if ((uint64)i >= n)
                wrong = wrong ? wrong : count - (j + k * step);
            else
                atomic_add(mine + i * apart,
                           is_one ? one : nl_convert<A>(*operand_of<B>(p, b, j + k * step)));
        }
    }
    if (wrong)
        atomicMax((unsigned long long *)work, (unsigned long long)wrong);
    __syncthreads();
    A *all = (A *)(work + 2);
    for (unsigned i = thread; i < n; i += blockDim.x) {
        /* each thread begins with another copy, so that threads access different banks */
        A sum = sums[i * apart + i % apart];
        for (unsigned k = 1; k < apart; ++k)
            sum = (A)(sum + sums[i * apart + (i + k) % apart]);
        if (!(sum == zero))
            atomic_add(all + i, sum);
    }
    if (!is_last_block((unsigned int *)(work + 1)) || *(volatile uint64 *)work)
        return;
    for (unsigned i = thread; i < n; i += blockDim.x) {
        A *target = element<A>(p, a, i);
        *target = (A)(*target + all[i]);
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
