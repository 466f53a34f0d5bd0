/* host/function: what jit puts around a user's function for the CPU (numbalite/cpu/entries.py
 * writes the uses).
 *
 *     struct nl_block_0 { double p0; array<double, 1> p1; };
 *     static void nl_run_0(void *frame) { ... }
 *     NUMBALITE_FUNCTION_ENTRY(0, nl_block_0, the function's result type)
 *
 * The type of the result is the compiler's business: `results` turns it into the codes that the
 * caller makes Python objects by. */
#ifndef NUMBALITE_HOST_FUNCTION_H
#define NUMBALITE_HOST_FUNCTION_H

#include "numbalite.cuh"
#include "numbalite/describe.cuh"

extern "C" {
#include "function_abi.h"
}

namespace numbalite {
namespace nl_function {

template <class T> struct plain { typedef T type; };
template <class T> struct plain<const T> { typedef T type; };
template <class T> struct plain<T &> : plain<T> {};
template <class T> struct plain<T &&> : plain<T> {};

/* nl_dtype of a type; 0: not a number. */
template <class T> struct code {
    enum { value = nl_detail::dtype<T>::code };
};
#ifdef NUMBALITE_COMPLEX_CUH
template <> struct code<complex<float>> {
    enum { value = 13 };
};
template <> struct code<complex<double>> {
    enum { value = 14 };
};
#endif
#ifdef NUMBALITE_HALF_CUH
template <> struct code<float16> {
    enum { value = 10 };
};
#endif

template <class T> struct is_array {
    enum { value = 0 };
};
template <class T, int N, layout L> struct is_array<array<T, N, L>> {
    enum { value = 1 };
};

/* An array that the extension makes a NumPy array of. C++ functions return none: only the code
 * around Python functions makes views. */
template <class A> struct view { A array; };
template <class A> inline A viewed(A value) {
    return value;
}
template <class T, int N, layout L> inline view<array<T, N, L>> viewed(array<T, N, L> a) {
    return {a};
}

template <class A> struct code<view<A>> {
    enum { value = NL_HOST_VIEW };
};

/* How many slots a value has, and how it is stored. */
template <class T> struct slots {
    enum { value = 1 };
};
template <class T, int N, layout L> struct slots<view<array<T, N, L>>> {
    enum { value = 1 + N };
};
template <class T> inline void store(char *slot, const T &value) {
    *(T *)slot = value;
}
template <class T, int N, layout L>
inline void store(char *slot, const view<array<T, N, L>> &value) {
    int64 *to = (int64 *)slot;
    int64 step = (int64)sizeof(T);
    to[0] = (int64)value.array.pointer;
    for (int k = 0; k < N; ++k) {
        to[1 + k] = value.array.shape[k];
        to[1 + N + k] = value.array.strides[k];
    }
    for (int k = 0; L != layout::any && k < N; ++k) { /* whose strides are not read */
        int axis = L == layout::C ? N - 1 - k : k;
        to[1 + N + axis] = step;
        step *= value.array.shape[axis];
    }
}

/* Result types: how many values, which, and how they are kept. */
template <class R> struct results {
    static_assert(!is_array<R>::value,
                  "a function on the CPU cannot return an array: take it as a parameter and write "
                  "into it");
    static_assert(is_array<R>::value || code<R>::value != 0,
                  "a function on the CPU returns a number, a tuple of numbers, or nothing");
    enum { is_tuple = 0, count = 1, slots = nl_function::slots<R>::value };
    static constexpr unsigned char dtype(int) { return code<R>::value; }
    template <class F> static void keep(char *slot, const F &call) { store(slot, (R)call()); }
};
template <> struct results<void> {
    enum { is_tuple = 0, count = 0, slots = 0 };
    static constexpr unsigned char dtype(int) { return 0; }
    template <class F> static void keep(char *, const F &call) { call(); }
};
#ifdef NUMBALITE_TUPLE_CUH
template <class... T> struct results<tuple<T...>> {
    template <class... U> static constexpr int sum(U... values) {
        const int all[] = {values..., 0};
        int total = 0;
        for (int value : all)
            total += value;
        return total;
    }
    enum { is_tuple = 1, count = sizeof...(T), slots = sum((int)nl_function::slots<T>::value...) };
    static constexpr unsigned char dtype(int k) {
        const unsigned char codes[] = {(unsigned char)code<T>::value..., 0};
        for (int i = 0; i < (int)count; ++i)
            if (codes[i] == 0)
                return 0;
        return codes[k];
    }
    template <int I> static void keep_from(char *slot, const tuple<T...> &items) {
        if constexpr (I < (int)count) {
            auto item = nl_detail::item<I>(items);
            static_assert(code<decltype(item)>::value != 0,
                          "a function on the CPU returns tuples of numbers only");
            store(slot, item);
            keep_from<I + 1>(slot + nl_function::slots<decltype(item)>::value * NL_HOST_SLOT,
                             items);
        }
    }
    template <class F> static void keep(char *slot, const F &call) {
        tuple<T...> items = call();
        keep_from<0>(slot, items);
    }
};

/* These items of a tuple. */
template <class... T> tuple<typename plain<T>::type...> copied(T &&...items) {
    return tuple<typename plain<T>::type...>{items...};
}
template <int... I> struct items {};
template <int... I, class... T> auto views(items<I...>, const tuple<T...> &values) {
    return copied(viewed(nl_detail::item<I>(values))...);
}
template <int... I, class... T> auto only(const tuple<T...> &items) {
    return copied(nl_detail::item<I>(items)...);
}
#endif

template <class R, class F> inline void keep(void *slots, const F &call) {
    results<typename plain<R>::type>::keep((char *)slots, call);
}

template <class Result, class Block> constexpr nl_host_function nl_entry(void (*run)(void *)) {
    typedef results<typename plain<Result>::type> Results;
    static_assert((int)Results::slots <= NL_HOST_SLOTS,
                  "a function on the CPU returns too many arrays, or arrays of too many axes");
    nl_host_function f = {
        NL_HOST_FUNCTION_ABI, sizeof(Block), Results::is_tuple, Results::count, {}, run};
    for (int k = 0; k < f.count; ++k)
        f.dtypes[k] = Results::dtype(k);
    return f;
}

} // namespace nl_function
} // namespace numbalite

#define NUMBALITE_FUNCTION_ENTRY(nl_index, nl_block, ...) \
    extern "C" { \
    __attribute__((__visibility__("default"), \
                   __used__)) extern const nl_host_function nl_function_##nl_index; \
    const nl_host_function nl_function_##nl_index = \
        numbalite::nl_function::nl_entry<__VA_ARGS__, nl_block>(nl_run_##nl_index); \
    }

#endif
