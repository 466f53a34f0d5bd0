/* vec: neighbouring elements as one, each of which is combined with its like.
 *
 * The columns of an array of three are elements of 12 bytes that follow one another: what scans rows scans them, too.
 * Several of many columns are one access of up to 16 bytes. */
#ifndef NUMBALITE_VEC_CUH
#define NUMBALITE_VEC_CUH

#include "numbalite/convert.cuh"

namespace numbalite {
namespace nl_reduce {

/* The largest power of two in a size, up to 16; core/scanplan.c has the same. */
NUMBALITE_FUNCTION constexpr int alignment_in(int size) { return size % 16 == 0 ? 16 : size & -size; }

template <class T, int N> struct __align__(alignment_in(N * (int)sizeof(T))) vec {
    typedef T element;
    T item[N];
};

/* An operation on each element. */
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
