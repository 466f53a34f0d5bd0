/* dualarray: arrays of duals, for the derivatives of generalized ufuncs.
 *
 *     `nl_as_duals<D>(a)`: a's memory as duals: real part = value, imaginary part = derivative.
 *     `nl_seeds(duals, a, i)`: a's elements, as an array over `duals`; element k: direction i + k.
 *     `nl_results(duals, shape)`: an array over `duals`.
 *     `nl_element(a, k)`: the k-th element in C order.
 *     `nl_dot(g, duals, i)`: the sum of g times the derivatives in direction i. */
#ifndef NUMBALITE_DUALARRAY_CUH
#define NUMBALITE_DUALARRAY_CUH

#include "numbalite.cuh"
#include "numbalite/complex.cuh"
#include "numbalite/dual.cuh"

namespace numbalite {

namespace nl_detail {
template <class D, class C> struct like_const { typedef D type; };
template <class D, class C> struct like_const<D, const C> { typedef const D type; };
} // namespace nl_detail

template <class D, class C, int N, layout L>
NUMBALITE_FUNCTION array<typename nl_detail::like_const<D, C>::type, N, L>
nl_as_duals(const array<C, N, L> &a) {
    typedef typename nl_detail::like_const<D, C>::type E;
    static_assert(sizeof(E) == sizeof(C), "a complex number is read as a dual of equal size");
    array<E, N, L> result = array<E, N, L>();
    result.pointer = (E *)(void *)a.pointer;
    for (int k = 0; k < N; ++k) {
        result.shape[k] = a.shape[k];
        result.strides[k] = a.strides[k];
    }
    return result;
}
template <class D, class T> NUMBALITE_FUNCTION D nl_as_duals(const complex<T> &z) {
    return D(z.real(), z.imag());
}

template <class T, int N, layout L>
NUMBALITE_FUNCTION T &nl_element(const array<T, N, L> &a, int64 k) {
    int64 offset = 0;
    for (int axis = N - 1; axis >= 0; --axis) {
        offset += k % a.shape[axis] * a.strides[axis];
        k /= a.shape[axis];
    }
    return *(T *)((char *)a.pointer + offset);
}

template <class D, int N>
NUMBALITE_FUNCTION array<D, N> nl_results(D *duals, const int64 (&shape)[N]) {
    array<D, N> result = array<D, N>();
    result.pointer = duals;
    int64 stride = sizeof(D);
    for (int k = N - 1; k >= 0; --k) {
        result.shape[k] = shape[k];
        result.strides[k] = stride;
        stride *= shape[k];
    }
    return result;
}

template <class D, class T, int N, layout L>
NUMBALITE_FUNCTION array<const D, N> nl_seeds(D *duals, const array<T, N, L> &a, int first) {
    const int64 size = a.size();
    for (int64 k = 0; k < size; ++k)
        duals[k] = nl_seed<D>(nl_element(a, k), first + (int)k);
    return nl_results(duals, a.shape);
}

template <class T, int N, layout L, class D>
NUMBALITE_FUNCTION typename D::value_type nl_dot(const array<T, N, L> &g, const D *duals, int i) {
    typename D::value_type sum = 0;
    const int64 size = g.size();
    for (int64 k = 0; k < size; ++k)
        sum += nl_element(g, k) * duals[k].tangent[i];
    return sum;
}
template <class T, class D, class = typename nl_detail::if_number<T, T>::type>
NUMBALITE_FUNCTION typename D::value_type nl_dot(const T &g, const D *duals, int i) {
    return g * duals[0].tangent[i];
}

} // namespace numbalite

#endif
