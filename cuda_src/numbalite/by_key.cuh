/* by_key: the kernel of reduce by key, which reduces runs of consecutive elements with equal keys.
 *
 * The kernel scans pairs of the number of runs so far and the reduction since the last run began.
 * The first element of a run writes the key of the run, and the last element writes the result. The
 * plan has one dimension, with the strides of the keys (`input`) and of the values (`where`). */
#ifndef NUMBALITE_BY_KEY_CUH
#define NUMBALITE_BY_KEY_CUH

#include "numbalite/scan.cuh"

namespace numbalite {
namespace nl_reduce {

template <class N, class T> struct since_run {
    N runs;
    T value;
};

template <class N, class T, class Op> struct reduce_runs {
    Op op;
    typedef since_run<N, T> pair;
    NUMBALITE_FUNCTION pair operator()(const pair &a, const pair &b) const {
        pair both = b;
        both.runs = a.runs + b.runs;
        if (b.runs == 0)
            both.value = op(a.value, b.value);
        return both;
    }
};

/* S is the type of keys, T of values, N of the integers that count elements. */
template <class S, class T, class N, int K, class Op>
NUMBALITE_FUNCTION void by_key(const plan &p, const void *keys, const void *values, void *out_values,
                               void *memory, void *out_keys, int64 *count, Op op) {
    typedef since_run<N, T> pair;
    int64 tile = p.parts > 1 ? take_ticket((nl_status *)memory) : blockIdx.x;
    const dimension &axis = p.dims[p.kept];
    auto key = [&](int64 i) { return *(const S *)((const char *)keys + i * axis.input); };
    auto begins = [&](int64 i) { return i == 0 || key(i) != key(i - 1); };
    auto load = [&](pair(&v)[K][1], const pieces<1, K> &mine) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            v[k][0] = pair();
            if (mine[k] < p.length) {
                v[k][0].value = *(const T *)((const char *)values + mine[k] * axis.where);
                v[k][0].runs = begins(mine[k]);
            }
        }
    };
    reduce_runs<N, T, Op> both = {op};
    auto store = [&](const maybe<pair> &prefix, const pair(&v)[1], int64 i) {
        if (i >= p.length)
            return;
        pair m = prefix.has ? both(prefix.value, v[0]) : v[0];
        if (v[0].runs)
            ((S *)out_keys)[m.runs - 1] = key(i);
        if (i == p.length - 1)
            *count = m.runs;
        if (i == p.length - 1 || begins(i + 1))
            ((T *)out_values)[m.runs - 1] = m.value;
    };
    scan_tile<pair, 1, K>(p, 0, tile, memory, nothing<pair>(), load, store, both);
}

} // namespace nl_reduce
} // namespace numbalite

#endif
