/* tuple: several values as one, for device functions that return more than one.
 *
 *     return make_tuple(r, phi);         auto [r, phi] = polar(x, y);         get<0>(t)
 *
 * One plain struct for each length up to eight, with public members: structured bindings take such
 * a struct apart without any help from the standard library, which NVRTC does not have. A tuple
 * converts to one of as many other types, so that what a function returns need not be exact. */
#ifndef NUMBALITE_TUPLE_CUH
#define NUMBALITE_TUPLE_CUH

#include "numbalite.cuh"

namespace numbalite {

template <class... T> struct tuple {
    static_assert(sizeof...(T) <= 8, "a tuple has at most eight items");
};
template <class A> struct tuple<A> {
    A item0;
    template <class T0> NUMBALITE_FUNCTION operator tuple<T0>() const { return {(T0)item0}; }
};
template <class A, class B> struct tuple<A, B> {
    A item0;
    B item1;
    template <class T0, class T1> NUMBALITE_FUNCTION operator tuple<T0, T1>() const {
        return {(T0)item0, (T1)item1};
    }
};
template <class A, class B, class C> struct tuple<A, B, C> {
    A item0;
    B item1;
    C item2;
    template <class T0, class T1, class T2> NUMBALITE_FUNCTION operator tuple<T0, T1, T2>() const {
        return {(T0)item0, (T1)item1, (T2)item2};
    }
};
template <class A, class B, class C, class D> struct tuple<A, B, C, D> {
    A item0;
    B item1;
    C item2;
    D item3;
    template <class T0, class T1, class T2, class T3>
    NUMBALITE_FUNCTION operator tuple<T0, T1, T2, T3>() const {
        return {(T0)item0, (T1)item1, (T2)item2, (T3)item3};
    }
};
template <class A, class B, class C, class D, class E> struct tuple<A, B, C, D, E> {
    A item0;
    B item1;
    C item2;
    D item3;
    E item4;
    template <class T0, class T1, class T2, class T3, class T4>
    NUMBALITE_FUNCTION operator tuple<T0, T1, T2, T3, T4>() const {
        return {(T0)item0, (T1)item1, (T2)item2, (T3)item3, (T4)item4};
    }
};
template <class A, class B, class C, class D, class E, class F> struct tuple<A, B, C, D, E, F> {
    A item0;
    B item1;
    C item2;
    D item3;
    E item4;
    F item5;
    template <class T0, class T1, class T2, class T3, class T4, class T5>
    NUMBALITE_FUNCTION operator tuple<T0, T1, T2, T3, T4, T5>() const {
        return {(T0)item0, (T1)item1, (T2)item2, (T3)item3, (T4)item4, (T5)item5};
    }
};
template <class A, class B, class C, class D, class E, class F, class G>
struct tuple<A, B, C, D, E, F, G> {
    A item0;
    B item1;
    C item2;
    D item3;
    E item4;
    F item5;
    G item6;
    template <class T0, class T1, class T2, class T3, class T4, class T5, class T6>
    NUMBALITE_FUNCTION operator tuple<T0, T1, T2, T3, T4, T5, T6>() const {
        return {(T0)item0, (T1)item1, (T2)item2, (T3)item3, (T4)item4, (T5)item5, (T6)item6};
    }
};
template <class A, class B, class C, class D, class E, class F, class G, class H>
struct tuple<A, B, C, D, E, F, G, H> {
    A item0;
    B item1;
    C item2;
    D item3;
    E item4;
    F item5;
    G item6;
    H item7;
    template <class T0, class T1, class T2, class T3, class T4, class T5, class T6, class T7>
    NUMBALITE_FUNCTION operator tuple<T0, T1, T2, T3, T4, T5, T6, T7>() const {
        return {(T0)item0, (T1)item1, (T2)item2, (T3)item3,
                (T4)item4, (T5)item5, (T6)item6, (T7)item7};
    }
};
template <class... T> tuple(T...) -> tuple<T...>;

template <class... T> NUMBALITE_FUNCTION tuple<T...> make_tuple(T... items) {
    return tuple<T...>{items...};
}

namespace nl_detail {
template <int I, class Tuple> NUMBALITE_FUNCTION auto &item(Tuple &t) {
    if constexpr (I == 0)
        return t.item0;
    else if constexpr (I == 1)
        return t.item1;
    else if constexpr (I == 2)
        return t.item2;
    else if constexpr (I == 3)
        return t.item3;
    else if constexpr (I == 4)
        return t.item4;
    else if constexpr (I == 5)
        return t.item5;
    else if constexpr (I == 6)
        return t.item6;
    else
        return t.item7;
}
} // namespace nl_detail

template <int I, class... T> NUMBALITE_FUNCTION auto &get(tuple<T...> &t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}
template <int I, class... T> NUMBALITE_FUNCTION const auto &get(const tuple<T...> &t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}
template <int I, class... T> NUMBALITE_FUNCTION auto get(tuple<T...> &&t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}

template <class... T>
NUMBALITE_FUNCTION bool operator==(const tuple<T...> &a, const tuple<T...> &b) {
    constexpr int n = sizeof...(T);
    bool same = true;
    if constexpr (n > 0)
        same = same && a.item0 == b.item0;
    if constexpr (n > 1)
        same = same && a.item1 == b.item1;
    if constexpr (n > 2)
        same = same && a.item2 == b.item2;
    if constexpr (n > 3)
        same = same && a.item3 == b.item3;
    if constexpr (n > 4)
        same = same && a.item4 == b.item4;
    if constexpr (n > 5)
        same = same && a.item5 == b.item5;
    if constexpr (n > 6)
        same = same && a.item6 == b.item6;
    if constexpr (n > 7)
        same = same && a.item7 == b.item7;
    return same;
}
template <class... T>
NUMBALITE_FUNCTION bool operator!=(const tuple<T...> &a, const tuple<T...> &b) {
    return !(a == b);
}

} // namespace numbalite

#endif
