/* thread_reduce: defines NumPy's reductions over all elements of an array, which
 * each calling thread computes alone.
 *
 *     `np_sum<R>(a)`, `np_prod<R>(a)`, `np_nansum<R>(a)`, `np_nanprod<R>(a)`: compute in R.
 *     `np_mean<R>(a)`, `np_var<R>(a)`, `np_std<R>(a)`, `np_nanmean<R>(a)`, `np_nanvar<R>(a)`,
 *     `np_nanstd<R>(a)`: compute in the type R.
 *     `np_min(a)`, `np_max(a)`: NaN if an element is NaN; raise an exception if a has no elements.
 *     `np_nanmin(a)`, `np_nanmax(a)`: NaN only if all elements are NaN.
 *     `np_argmin(a)`, `np_argmax(a)`: the index in C order; the first NaN is the extreme.
 *     `np_all(a)`, `np_any(a)`, `np_count_nonzero(a)`: test the elements for nonzero.
 *
 * Elements are combined one after the other, in C order. */
#ifndef NUMBALITE_THREAD_REDUCE_CUH
#define NUMBALITE_THREAD_REDUCE_CUH

#include "numbalite/python.cuh"

namespace numbalite {

namespace nl_detail {
/* r = f(r, element) for all elements. */
template <class T, int N, layout L, class R, class F>
NUMBALITE_FUNCTION R reduce_elements(array<T, N, L> a, R r, const F &f) {
    for (int64 i = 0; i < a.shape[0]; ++i) {
        if constexpr (N == 1)
            r = f(r, a[i]);
        else
            r = reduce_elements(a[i], r, f);
    }
    return r;
}
/* Reduces the elements of the view() of a captured array, whose type is constant_array. */
template <class A, class R, class F>
NUMBALITE_FUNCTION auto reduce_elements(const A &constant, R r, const F &f) -> decltype(reduce_elements(constant.view(), r, f)) {
    return reduce_elements(constant.view(), r, f);
}
template <class T> NUMBALITE_FUNCTION bool is_no_number(const T &x) {
    return x != x;
}
/* The best element so far, its index, and the index of the next element. */
template <class T> struct best {
    T value;
    int64 at, next;
};
template <class T> struct plain { typedef T type; };
template <class T> struct plain<const T> { typedef T type; };
template <class T, int N, layout L> __device__ typename plain<T>::type element_of(const array<T, N, L> &);
template <class A> __device__ auto element_of(const A &constant) -> decltype(element_of(constant.view()));

/* Finds the best element and its index; before(x, y) returns whether x is better than y. */
template <class A, class F> NUMBALITE_FUNCTION auto find_best(const A &a, const F &before) {
    typedef decltype(element_of(a)) T;
    if (a.size() == 0)
        NUMBALITE_RAISE("ValueError: zero-size array to reduction operation not possible");
    return reduce_elements(a, best<T>{T(), 0, 0}, [&](best<T> r, const T &x) {
        bool wins = r.next == 0 ||
                    (!is_no_number(r.value) && (is_no_number(x) || before(x, r.value)));
        return wins ? best<T>{x, r.next, r.next + 1} : best<T>{r.value, r.at, r.next + 1};
    });
}
} // namespace nl_detail

template <class R, class A> NUMBALITE_FUNCTION R np_sum(const A &a) {
    return nl_detail::reduce_elements(a, R(0), [](R r, const auto &x) { return R(r + R(x)); });
}
template <class R, class A> NUMBALITE_FUNCTION R np_prod(const A &a) {
    return nl_detail::reduce_elements(a, R(1), [](R r, const auto &x) { return R(r * R(x)); });
}
template <class R, class A> NUMBALITE_FUNCTION R np_nansum(const A &a) {
    return nl_detail::reduce_elements(a, R(0), [](R r, const auto &x) {
        return nl_detail::is_no_number(x) ? r : R(r + R(x));
    });
}
template <class R, class A> NUMBALITE_FUNCTION R np_nanprod(const A &a) {
    return nl_detail::reduce_elements(a, R(1), [](R r, const auto &x) {
        return nl_detail::is_no_number(x) ? r : R(r * R(x));
    });
}
template <class A> NUMBALITE_FUNCTION int64 np_count_nonzero(const A &a) {
    return nl_detail::reduce_elements(a, int64(0), [](int64 r, const auto &x) { return r + (x != 0); });
}
template <class A> NUMBALITE_FUNCTION bool np_all(const A &a) {
    return nl_detail::reduce_elements(a, true, [](bool r, const auto &x) { return r & (x != 0); });
}
template <class A> NUMBALITE_FUNCTION bool np_any(const A &a) {
    return nl_detail::reduce_elements(a, false, [](bool r, const auto &x) { return r | (x != 0); });
}

template <class R, class A> NUMBALITE_FUNCTION R np_mean(const A &a) {
    return np_sum<R>(a) / R(a.size());
}
template <class R, class A> NUMBALITE_FUNCTION R np_var(const A &a) {
    R mean = np_mean<R>(a);
    return nl_detail::reduce_elements(a, R(0), [=](R r, const auto &x) {
        R off = R(x) - mean;
        return R(r + off * off);
    }) / R(a.size());
}
template <class R, class A> NUMBALITE_FUNCTION R np_std(const A &a) {
    return ::sqrt(np_var<R>(a));
}
namespace nl_detail {
template <class A> NUMBALITE_FUNCTION int64 count_numbers(const A &a) {
    return reduce_elements(a, int64(0), [](int64 r, const auto &x) { return r + !is_no_number(x); });
}
} // namespace nl_detail
template <class R, class A> NUMBALITE_FUNCTION R np_nanmean(const A &a) {
    return np_nansum<R>(a) / R(nl_detail::count_numbers(a));
}
template <class R, class A> NUMBALITE_FUNCTION R np_nanvar(const A &a) {
    R mean = np_nanmean<R>(a);
    return nl_detail::reduce_elements(a, R(0), [=](R r, const auto &x) {
        R off = R(x) - mean;
        return nl_detail::is_no_number(x) ? r : R(r + off * off);
    }) / R(nl_detail::count_numbers(a));
}
template <class R, class A> NUMBALITE_FUNCTION R np_nanstd(const A &a) {
    return ::sqrt(np_nanvar<R>(a));
}

#define NUMBALITE_BEST(most, symbol) \
    template <class A> NUMBALITE_FUNCTION auto np_##most(const A &a) { \
        return nl_detail::find_best(a, [](const auto &x, const auto &y) { return x symbol y; }).value; \
    } \
    template <class A> NUMBALITE_FUNCTION int64 np_arg##most(const A &a) { \
        return nl_detail::find_best(a, [](const auto &x, const auto &y) { return x symbol y; }).at; \
    } \
    template <class A> NUMBALITE_FUNCTION auto np_nan##most(const A &a) { \
        typedef decltype(nl_detail::element_of(a)) T; \
        T first = nl_detail::find_best(a, [](const T &x, const T &y) { return x symbol y; }).value; \
        return nl_detail::reduce_elements(a, first, [](T r, const T &x) { \
            return nl_detail::is_no_number(r) || x symbol r ? x : r; \
        }); \
    }
NUMBALITE_BEST(min, <)
NUMBALITE_BEST(max, >)
#undef NUMBALITE_BEST

} // namespace numbalite

#endif
