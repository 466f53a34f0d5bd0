/* results: the list of a function's result types: one type, the types of a tuple, or no type.
 * The names begin with nl_, because generated code uses them after a source whose macros may have
 * any other name. */
#ifndef NUMBALITE_RESULTS_CUH
#define NUMBALITE_RESULTS_CUH

#include "numbalite/tuple.cuh"

namespace numbalite {
namespace nl_detail {

template <class T> struct plain { typedef T type; };
template <class T> struct plain<const T> { typedef T type; };
template <class T> struct plain<T &> : plain<T> {};
template <class T> struct plain<T &&> : plain<T> {};

template <class R, int I> struct result { typedef void type; };
template <class R> struct result<R, 0> { typedef typename plain<R>::type type; };
template <class A, class... T, int I> struct result<tuple<A, T...>, I> : result<tuple<T...>, I - 1> {};
template <class A, class... T> struct result<tuple<A, T...>, 0> {
    typedef typename plain<A>::type type;
};
template <int I> struct result<tuple<>, I> { typedef void type; };
template <> struct result<tuple<>, 0> { typedef void type; };

} // namespace nl_detail

template <class T> using nl_plain_of = typename nl_detail::plain<T>::type;
template <class R, int I> using nl_result_of = typename nl_detail::result<R, I>::type;

} // namespace numbalite

#endif
