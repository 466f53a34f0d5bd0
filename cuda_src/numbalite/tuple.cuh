/* tuple: several values as one: tuple arguments, constants, and multiple results of device
 * functions.
 *
 *     return make_tuple(r, phi);         auto [r, phi] = polar(x, y);         get<0>(t)  t[i]
 *
 * There is one plain struct with public members for each length up to eight, because structured
 * bindings support such structs without the standard library, which NVRTC does not have. If there
 * are more than eight items, the further items are in a nested tuple. A tuple converts to a tuple
 * of the same length with other types, so that a function may return a tuple of other types than
 * declared. t[i] with a run-time index is defined if all items have the same type. Launches write
 * tuples with this layout (cext/py/aggregate.c, by the offsets of Tuple in
 * numbalite/types/classes.py). */
#ifndef NUMBALITE_TUPLE_CUH
#define NUMBALITE_TUPLE_CUH

#include "numbalite.cuh"

namespace numbalite {

template <class... T> struct tuple {};
template <class... T> using nl_tuple = tuple<T...>;

namespace nl_detail {
template <class... T> NUMBALITE_FUNCTION constexpr auto tuple_at(const tuple<T...> &t, int i);
}
#define NUMBALITE_TUPLE_INDEX \
    NUMBALITE_FUNCTION constexpr auto operator[](int i) const { return nl_detail::tuple_at(*this, i); }

template <class A> struct tuple<A> {
    NUMBALITE_TUPLE_INDEX
    A item0;
    template <class T0> NUMBALITE_FUNCTION operator tuple<T0>() const { return {(T0)item0}; }
};
template <class A, class B> struct tuple<A, B> {
    NUMBALITE_TUPLE_INDEX
    A item0;
    B item1;
    template <class T0, class T1> NUMBALITE_FUNCTION operator tuple<T0, T1>() const {
        return {(T0)item0, (T1)item1};
    }
};
template <class A, class B, class C> struct tuple<A, B, C> {
    NUMBALITE_TUPLE_INDEX
    A item0;
    B item1;
    C item2;
    template <class T0, class T1, class T2> NUMBALITE_FUNCTION operator tuple<T0, T1, T2>() const {
        return {(T0)item0, (T1)item1, (T2)item2};
    }
};
template <class A, class B, class C, class D> struct tuple<A, B, C, D> {
    NUMBALITE_TUPLE_INDEX
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
    NUMBALITE_TUPLE_INDEX
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
    NUMBALITE_TUPLE_INDEX
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
    NUMBALITE_TUPLE_INDEX
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
    NUMBALITE_TUPLE_INDEX
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
template <class A, class B, class C, class D, class E, class F, class G, class H, class... More>
struct tuple<A, B, C, D, E, F, G, H, More...> {
    NUMBALITE_TUPLE_INDEX
    A item0;
    B item1;
    C item2;
    D item3;
    E item4;
    F item5;
    G item6;
    H item7;
    tuple<More...> more;
};
#undef NUMBALITE_TUPLE_INDEX
template <class... T> tuple(T...) -> tuple<T...>;

/* An item that is a dtype. */
template <class T> struct type_of {
    typedef T type;
};
template <class T> using nl_type_of = type_of<T>;

template <class... T> NUMBALITE_FUNCTION constexpr tuple<T...> make_tuple(T... items) {
    return tuple<T...>{items...};
}

namespace nl_detail {
template <int I, class Tuple> NUMBALITE_FUNCTION constexpr auto &item(Tuple &t) {
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
    else if constexpr (I == 7)
        return t.item7;
    else
        return item<I - 8>(t.more);
}
template <class A, class... T> struct all_same {
    enum { value = 1 };
};
template <class A, class B, class... T> struct all_same<A, B, T...> {
    enum { value = 0 };
};
template <class A, class... T> struct all_same<A, A, T...> : all_same<A, T...> {};

template <int I, int N, class T, class Tuple>
NUMBALITE_FUNCTION constexpr T item_at(const Tuple &t, int i) {
    if constexpr (I == N - 1)
        return item<I>(t);
    else
        return i == I ? item<I>(t) : item_at<I + 1, N, T>(t, i);
}
template <class... T> NUMBALITE_FUNCTION constexpr auto tuple_at(const tuple<T...> &t, int i) {
    static_assert(all_same<T...>::value,
                  "t[i] needs a tuple whose items have the same type: get<0>(t), auto [a, b] = t");
    return item_at<0, (int)sizeof...(T), decltype(t.item0)>(t, i);
}
} // namespace nl_detail

template <int I, class... T> NUMBALITE_FUNCTION constexpr auto &get(tuple<T...> &t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}
template <int I, class... T> NUMBALITE_FUNCTION constexpr const auto &get(const tuple<T...> &t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}
template <int I, class... T> NUMBALITE_FUNCTION constexpr auto get(tuple<T...> &&t) {
    static_assert(I >= 0 && I < (int)sizeof...(T), "get<I>: the tuple has no such item");
    return nl_detail::item<I>(t);
}

template <class... T>
NUMBALITE_FUNCTION constexpr bool operator==(const tuple<T...> &a, const tuple<T...> &b) {
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
    if constexpr (n > 8)
        same = same && a.more == b.more;
    return same;
}
template <class... T>
NUMBALITE_FUNCTION constexpr bool operator!=(const tuple<T...> &a, const tuple<T...> &b) {
    return !(a == b);
}

} // namespace numbalite

#endif
