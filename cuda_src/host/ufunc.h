/* host/ufunc: inner loops of ufuncs on the CPU.
 *
 * The generated source (numbalite/ufuncs/hostloops.py) defines a class Call, whose static function
 * apply is the user's, and one function per loop with the signature of a NumPy inner loop:
 *
 *     int nl_loop_0(void *, char *const *data, const long long *count, const long long *strides,
 *                   void *)
 *     { return numbalite_host::run<ufunc<Call, types<float, float>, types<float>>, ...>(...); }
 *
 * One kernel over contiguous operands does all the work, because the compiler can vectorize it.
 * Blocks of an operand that is not contiguous are copied to a small buffer (results: from the
 * buffer), because copying costs less than a loop that is not vectorized. A broadcast element is
 * copied once. A plain loop is used only if an iteration reads an element that another iteration
 * writes (accumulate, a reduction), or for a few elements. A reduction of a complete axis keeps its
 * value in a register.
 *
 * NumPy receives no floating-point flags, because vectorized code also computes unused lanes. */
#ifndef NUMBALITE_HOST_UFUNC_H
#define NUMBALITE_HOST_UFUNC_H

#include "numbalite/tuple.cuh"

#if defined(NUMBALITE_CPU_CUH) /* random numbers must be drawn in order */
#define NUMBALITE_HOST_INDEPENDENT
#elif defined(__clang__)
#define NUMBALITE_HOST_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define NUMBALITE_HOST_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Prevents unrolling of a loop that calls the user's function, or that runs once per call:
 * unrolling would take half of the compile time without making the loop faster. The compiler
 * decides whether to unroll loops in the user's function. */
#if defined(__clang__)
#define NUMBALITE_HOST_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define NUMBALITE_HOST_ROLLED
#endif

namespace numbalite_host {

typedef long long size;

template <class... T> struct types {};
template <int...> struct indices {};
template <int n, int... rest> struct count_to : count_to<n - 1, n - 1, rest...> {};
template <int... all> struct count_to<0, all...> { typedef indices<all...> type; };

/* ---- elements ---- */

template <class T> NUMBALITE_SIM_INLINE T load(const T *p) {
    return *p;
}
/* Returns a bool from a byte of a NumPy bool array, which may have any value. */
NUMBALITE_SIM_INLINE bool load(const bool *p) {
    return *reinterpret_cast<const unsigned char *>(p) != 0;
}

template <class R, class Out> NUMBALITE_SIM_INLINE void put(const R &r, Out *out) {
    *out = (Out)r;
}
template <int k, class R> NUMBALITE_SIM_INLINE void store_items(const R &) {}
template <int k, class R, class Out, class... More>
NUMBALITE_SIM_INLINE void store_items(const R &r, Out *out, More *...more) {
    *out = (Out)numbalite::get<k>(r);
    store_items<k + 1>(r, more...);
}
template <class R, class First, class Second, class... More>
NUMBALITE_SIM_INLINE void put(const R &r, First *first, Second *second, More *...more) {
    store_items<0>(r, first, second, more...);
}

/* An unsigned integer type of the size of T, or T if there is no such type. */
template <class T, size_t = sizeof(T)> struct same_size { typedef T type; };
template <class T> struct same_size<T, 1> { typedef unsigned char type; };
template <class T> struct same_size<T, 2> { typedef unsigned short type; };
template <class T> struct same_size<T, 4> { typedef unsigned int type; };
template <class T> struct same_size<T, 8> { typedef unsigned long long type; };

/* Copies strided elements to or from a contiguous buffer. Never inlined, so that all operands with
 * elements of one size share a function: unrolling and vectorizing the copies takes the compiler
 * long. */
template <class T>
static __attribute__((noinline)) void gather_as(T *to, const char *from, size stride, size n) {
    for (size k = 0; k < n; ++k)
        to[k] = *reinterpret_cast<const T *>(from + k * stride);
}
template <class T>
static __attribute__((noinline)) void scatter_as(char *to, const T *from, size stride, size n) {
    for (size k = 0; k < n; ++k)
        *reinterpret_cast<T *>(to + k * stride) = from[k];
}
template <class T>
NUMBALITE_SIM_INLINE void gather(void *to, const char *from, size stride, size n) {
    typedef typename same_size<T>::type element;
    gather_as(static_cast<element *>(to), from, stride, n);
}
template <class T>
NUMBALITE_SIM_INLINE void scatter(char *to, const void *from, size stride, size n) {
    typedef typename same_size<T>::type element;
    scatter_as(to, static_cast<const element *>(from), stride, n);
}

/* Saves the state of the floating-point unit; the destructor restores it. */
struct flags {
#if defined(__x86_64__)
    unsigned state;
    NUMBALITE_SIM_INLINE flags() : state(__builtin_ia32_stmxcsr()) {}
    NUMBALITE_SIM_INLINE ~flags() {
        __builtin_ia32_ldmxcsr(state);
    }
#elif defined(__aarch64__)
    unsigned long state;
    NUMBALITE_SIM_INLINE flags() {
        __asm__ volatile("mrs %0, fpsr" : "=r"(state));
    }
    NUMBALITE_SIM_INLINE ~flags() {
        __asm__ volatile("msr fpsr, %0" : : "r"(state));
    }
#endif
};

/* ---- loops ---- */

/* The operands of a loop, inputs first: their number and element sizes. */
struct layout {
    int nin, operands;
    const int *sizes;
};

/* Returns whether the iterations are independent, that is, no iteration accesses the output of
 * another. */
static bool are_iterations_independent(char *const *data, size n, const size *strides, layout of) {
    NUMBALITE_HOST_ROLLED
    for (int o = of.nin; o < of.operands; ++o) {
        size step = strides[o] < 0 ? -strides[o] : strides[o];
        if (step < of.sizes[o])
            return false;
        const char *low = strides[o] < 0 ? data[o] + (n - 1) * strides[o] : data[o];
        const char *high = low + (n - 1) * step + of.sizes[o];
        NUMBALITE_HOST_ROLLED
        for (int p = 0; p < of.operands; ++p) {
            if (p == o || (data[p] == data[o] && strides[p] == strides[o] && p < of.nin))
                continue;
            size reach = (n - 1) * strides[p];
            const char *begin = reach < 0 ? data[p] + reach : data[p];
            const char *end = begin + (reach < 0 ? -reach : reach) + of.sizes[p];
            if (begin < high && low < end)
                return false;
        }
    }
    return true;
}

template <class Call, class In, class Out> struct ufunc;
template <class Call, class... In, class... Out> struct ufunc<Call, types<In...>, types<Out...>> {
    enum { nin = sizeof...(In), nout = sizeof...(Out), operands = nin + nout };
    enum { few = 8, block = 256 };
    typedef typename count_to<nin>::type ins;
    typedef typename count_to<nout>::type outs;
    static constexpr int sizes[] = {sizeof(In)..., sizeof(Out)...};

    static constexpr int largest() {
        int most = 0;
        for (int s : sizes)
            most = s > most ? s : most;
        return most;
    }

    /* Computes the loop, whose iterations must be independent. Never inlined, so that there is one
     * copy of the vectorized code. */
    static __attribute__((noinline)) void dense(size n, const In *...in, Out *...out) {
        NUMBALITE_HOST_INDEPENDENT
        for (size k = 0; k < n; ++k)
            put(Call::apply(load(in + k)...), out + k...);
    }
    template <int... i, int... o>
    static NUMBALITE_SIM_INLINE void dense_at(char *const *at, size n, indices<i...>,
                                              indices<o...>) {
        dense(n, reinterpret_cast<const In *>(at[i])..., reinterpret_cast<Out *>(at[nin + o])...);
    }

    template <int... i, int... o>
    static __attribute__((noinline)) void strided(char *const *data, size n, const size *strides,
                                                  indices<i...>, indices<o...>) {
        char *const at[] = {data[i]..., data[nin + o]...};
        const size step[] = {strides[i]..., strides[nin + o]...};
        NUMBALITE_HOST_ROLLED
        for (size k = 0; k < n; ++k)
            put(Call::apply(load(reinterpret_cast<const In *>(at[i] + k * step[i]))...),
                reinterpret_cast<Out *>(at[nin + o] + k * step[nin + o])...);
    }

    template <int... i, int... o>
    static __attribute__((noinline)) void blocked(char *const *data, size n, const size *strides,
                                                  indices<i...>, indices<o...>) {
        __attribute__((aligned(64))) char buffers[operands][block * largest()];
        char *at[operands];
        bool copied[operands];
        NUMBALITE_HOST_ROLLED
        for (int p = 0; p < operands; ++p) {
            copied[p] = strides[p] != sizes[p];
            at[p] = copied[p] ? buffers[p] : data[p];
        }
        NUMBALITE_HOST_ROLLED
        for (size first = 0; first < n; first += block) {
            size count = n - first < block ? n - first : block;
            ((copied[i] && (strides[i] != 0 || first == 0)
                  ? gather<In>(buffers[i], data[i] + first * strides[i], strides[i], count)
                  : void()),
             ...);
            dense_at(at, count, ins(), outs());
            ((copied[nin + o] ? scatter<Out>(data[nin + o] + first * strides[nin + o],
                                             buffers[nin + o], strides[nin + o], count)
                              : void()),
             ...);
            NUMBALITE_HOST_ROLLED
            for (int p = 0; p < operands; ++p)
                if (!copied[p])
                    at[p] += block * (size)sizes[p];
        }
    }

    static bool all_dense(const size *strides) {
        NUMBALITE_HOST_ROLLED
        for (int p = 0; p < operands; ++p)
            if (strides[p] != sizes[p])
                return false;
        return true;
    }

    static void any(char *const *data, size n, const size *strides, const void *) {
        if (n < few)
            strided(data, n, strides, ins(), outs());
        else if (all_dense(strides))
            dense_at(data, n, ins(), outs());
        else
            blocked(data, n, strides, ins(), outs());
    }

    /* Computes value = apply(value, x) over all elements: a reduction, whose output and first input
     * are the same element. */
    template <class T, class X> static void reduce(T *out, const char *x, size n, size stride) {
        T value = load(out);
        NUMBALITE_HOST_ROLLED
        for (size k = 0; k < n; ++k)
            put(Call::apply(value, load(reinterpret_cast<const X *>(x + k * stride))), &value);
        *out = value;
    }
    template <class A, class B>
    static bool is_reduction(char *const *data, size n, const size *strides, types<A, B>,
                             types<A>) {
        if (data[0] != data[2] || strides[0] != 0 || strides[2] != 0)
            return false;
        reduce<A, B>(reinterpret_cast<A *>(data[0]), data[1], n, strides[1]);
        return true;
    }
    template <class A, class R> static bool is_reduction(char *const *, size, const size *, A, R) {
        return false;
    }

    static void dependent(char *const *data, size n, const size *strides, const void *) {
        if (!is_reduction(data, n, strides, types<In...>(), types<Out...>()))
            strided(data, n, strides, ins(), outs());
    }
};
template <class Call, class... In, class... Out>
constexpr int ufunc<Call, types<In...>, types<Out...>>::sizes[];

/* ---- execution ---- */

struct call {
    nl_host_loop loop;
    char *const *data;
    size count;
    const size *strides;
    const void *extra;
    static void run(void *p) {
        const call *c = static_cast<call *>(p);
        c->loop(c->data, c->count, c->strides, c->extra);
    }
};

/* guarded: the code may fault. */
template <bool guarded>
NUMBALITE_SIM_INLINE int run_serially(nl_host_loop loop, char *const *data, size n, const size *strides,
                                  const void *extra) {
    if (!guarded) {
        loop(data, n, strides, extra);
        return 0;
    }
    call c = {loop, data, n, strides, extra};
    return numbalite_sim::ops->guard(call::run, &c) < 0 ? numbalite_sim::ops->raise() : 0;
}

template <class Loop, bool parallel, bool guarded>
NUMBALITE_SIM_INLINE int run(char *const *data, size n, const size *strides) {
    static unsigned cost;
    flags kept;
    if (n >= Loop::few &&
        !are_iterations_independent(data, n, strides, layout{Loop::nin, Loop::operands, Loop::sizes}))
        return run_serially<guarded>(Loop::dependent, data, n, strides, 0);
    if (parallel && n >= Loop::block)
        return numbalite_sim::ops->parallel(Loop::any, Loop::operands, data, n, strides, 0, &cost) <
                       0
                   ? numbalite_sim::ops->raise()
                   : 0;
    return run_serially<guarded>(Loop::any, data, n, strides, 0);
}

} // namespace numbalite_host

#endif
