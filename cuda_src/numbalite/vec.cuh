/* vec: a vector of several neighbouring elements that kernels treat as one element; operations are
 * applied to each of its elements.
 *
 * The columns of an array with three columns are consecutive elements of 12 bytes, so the schedules
 * for rows can scan them. If an array has many columns, several columns are accessed together, with
 * up to 16 bytes. */
#ifndef NUMBALITE_VEC_CUH
#define NUMBALITE_VEC_CUH

#include "numbalite/convert.cuh"

namespace numbalite {
namespace nl_reduce {

/* Returns the largest power of two that divides a size, up to 16; must match core/scanplan.c. */
NUMBALITE_FUNCTION constexpr int alignment_of_size(int size) { return size % 16 == 0 ? 16 : size & -size; }

template <class T, int N> struct __align__(alignment_of_size(N * (int)sizeof(T))) vec {
    typedef T element;
    T item[N];
};

/* Applies an operation to each element of a vector. */
template <class T, int N, class Op> struct on_vec {
    Op op;
    NUMBALITE_FUNCTION vec<T, N> operator()(const vec<T, N> &a, const vec<T, N> &b) const {
        vec<T, N> both;
#pragma unroll
        for (int k = 0; k < N; ++k)
            both.item[k] = op(a.item[k], b.item[k]);
        return both;
    }
};

} // namespace nl_reduce

template <class To, class From, int N>
NUMBALITE_FUNCTION To nl_convert(const nl_reduce::vec<From, N> &x) {
    To y;
#pragma unroll
    for (int k = 0; k < N; ++k)
        y.item[k] = nl_convert<typename To::element>(x.item[k]);
    return y;
}

} // namespace numbalite

#endif
