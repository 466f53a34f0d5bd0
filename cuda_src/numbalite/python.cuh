/* python: defines Python's operations for which C++ has a different meaning. Kernels with
 * Python bodies call these functions; kernels in CUDA C++ may call the functions as well.
 *
 *     `py::floor_div(a, b)`, `py::floor_mod(a, b)`: round down, as in Python.
 *     `py::power(a, n)`: a to an integer power, by multiplications.
 *     `py::round_to(x, digits)`, `py::numpy_round(x, digits)`: x rounded to a number of digits, as
 *     by Python's round and by numpy.round.
 *     `py::pick(test, a, b)`: test ? a : b, after both were evaluated.
 *     `py::frexp`, `py::modf`, `py::remquo`, `py::sincos`, `py::sincospi`: return tuples.
 *     `py::wrap(i, n)`: an index, where a negative index counts from the end.
 *     `py::view(a, py::slice(start, stop, step), i, ...)`, `py::transposed(a)`: views of an array.
 *     `py::as_array(s)`: a C array as array<T, N, layout::C>; the length of an extern __shared__
 *     array is that of the launch's dynamic shared memory.
 *     `py::range_size(start, stop, step)`: the number of items of a range.
 *     `py::fields<T>(a, offset)`: a view of a field of each record of an array.
 *     `py::of_one(x)`: an element as an array of length 1.
 *     `py::fill(a, value)`, `py::assign(a, b)`: a[...] = value, a[...] = b.
 *     `py::assign_items(a, x, y, ...)`: a[:] = (x, y, ...).
 *     `py::prange(start, stop, body)`, `py::combine(step)`: parallel loops on the CPU.
 *     `NUMBALITE_RAISE("ValueError: text")`: ends the thread; debug=True raises the error.
 *     `NUMBALITE_DIVISOR(b)`: b, after checking that b is not 0.
 *     `NUMBALITE_ITEM(i, n)`: py::wrap(i, n), for an index of a tuple of n items.
 *     `py::match_all(mask, value)`: the mask and the predicate, as a tuple. */
#ifndef NUMBALITE_PYTHON_CUH
#define NUMBALITE_PYTHON_CUH

#include "numbalite.cuh"
#ifndef NUMBALITE_HOST
#include "numbalite/exit.cuh"
#endif
#include "numbalite/none.cuh"
#include "numbalite/tuple.cuh"

namespace numbalite {
template <class T> struct complex;

namespace py {

template <class T> struct same { typedef T type; };
#define NUMBALITE_SAME(T) typename ::numbalite::py::same<T>::type

/* --- numbers ------------------------------------------------------------------------------------ */

template <class T> constexpr bool is_real = T(0.5) != T(0);

template <class T> NUMBALITE_FUNCTION T floor_mod(T a, NUMBALITE_SAME(T) b) {
    if constexpr (is_real<T>) {
        T r = ::fmod(a, b);
        if (r == 0)
            return ::copysign(T(0), b);
        return (r < 0) != (b < 0) ? r + b : r;
    } else {
        T r = a % b;
        return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : T(0));
    }
}
template <class T> NUMBALITE_FUNCTION T floor_div(T a, NUMBALITE_SAME(T) b) {
    if constexpr (is_real<T>) {
        if (b == 0)
            return a / b;
        T r = ::fmod(a, b);
        T q = (a - r) / b;
        if (r != 0 && (r < 0) != (b < 0))
            q -= 1;
        if (q == 0)
            return ::copysign(T(0), a / b);
        T whole = ::floor(q);
        return q - whole > T(0.5) ? whole + 1 : whole;
    } else {
        T q = a / b; /* avoids a second division for a % b */
        T r = T(uint64(a) - uint64(q) * uint64(b));
        return q - ((r != 0) & ((a < 0) != (b < 0)) ? 1 : 0);
    }
}

/* An integer to a negative power is 0, except for the bases 1 and -1. */
template <class T> NUMBALITE_FUNCTION T power(T a, int64 n) {
    bool negative = n < 0, whole = T(1) / T(2) == T(0);
    if (negative && whole && a != T(0) && a != T(1) && a != T(-1))
        return T(0); /* returned directly, because the product could overflow to 0, whose inverse
                      * does not exist */
    uint64 left = negative ? 0 - uint64(n) : uint64(n);
    T result = T(1), factor = a;
    while (left) {
        if (left & 1)
            result = result * factor;
        left >>= 1;
        if (left)
            factor = factor * factor;
    }
    return negative ? T(1) / result : result;
}

/* Rounds an integer to a multiple of 10^-digits; ties go to the even multiple. */
template <class T> NUMBALITE_FUNCTION T round_integer(T x, int64 digits) {
    if (digits >= 0)
        return x;
    if (digits < -19)
        return T(0);
    uint64 size = x < T(0) ? 0 - uint64(x) : uint64(x);
    uint64 step = power(uint64(10), -digits);
    uint64 multiple = size / step, rest = size % step;
    multiple += rest > step - rest || (rest == step - rest && multiple % 2);
    return T(x < T(0) ? 0 - multiple * step : multiple * step);
}

/* Multiplies, rounds and divides in the type of x, as numpy.round does. */
template <class T> NUMBALITE_FUNCTION T round_scaled(T x, int64 digits) {
    T scale = T(power(10.0, digits < 0 ? -digits : digits));
    T y = digits < 0 ? x / scale : x * scale;
    if (!(y - y == T(0))) /* too large for the digit */
        return x;
    if constexpr (sizeof(T) == 2)
        y = T(::rint(float(y)));
    else
        y = ::rint(y);
    T result = digits < 0 ? y * scale : y / scale;
    return result == result ? result : y;
}

/* Rounds the exact value of x, as Python's round does for a float: the product with the scale is
 * compared with the middle between two integers before the product is rounded. */
NUMBALITE_FUNCTION double round_exactly(double x, int64 digits) {
    double scale = power(10.0, digits < 0 ? -digits : digits);
    double low = ::floor(digits < 0 ? x / scale : x * scale);
    if (digits < -22 || digits > 22 || !(::fabs(low) < 4503599627370496.0))
        return round_scaled(x, digits);
    double middle = low + 0.5;
    double above = digits < 0 ? -::fma(middle, scale, -x) : ::fma(x, scale, -middle);
    bool is_odd = ::fmod(low, 2.0) != 0;
    double y = ::copysign(above > 0 || (above == 0 && is_odd) ? low + 1 : low, x);
    return digits < 0 ? y * scale : y / scale;
}

template <class T> NUMBALITE_FUNCTION T round_to(T x, int64 digits) {
    if constexpr (__is_class(T)) /* half types */
        return round_scaled(x, digits);
    else if constexpr (is_real<T> && sizeof(T) == sizeof(double))
        return round_exactly(x, digits);
    else if constexpr (is_real<T>)
        return round_scaled(x, digits);
    else
        return round_integer(x, digits);
}

template <class T> NUMBALITE_FUNCTION T numpy_round(T x, int64 digits) {
    if constexpr (__is_class(T))
        return round_scaled(x, digits);
    else if constexpr (is_real<T>)
        return round_scaled(x, digits);
    else
        return digits < 0 ? T(round_scaled(double(x), digits)) : x;
}
template <class T> NUMBALITE_FUNCTION complex<T> numpy_round(const complex<T> &x, int64 digits) {
    return {numpy_round(x.real(), digits), numpy_round(x.imag(), digits)};
}
template <class T> NUMBALITE_FUNCTION complex<T> numpy_round(const complex<T> &x) {
    return {::rint(x.real()), ::rint(x.imag())};
}

/* C's output parameters, returned as a tuple. */
#define NUMBALITE_TUPLES(T, f) \
    NUMBALITE_FUNCTION tuple<T, int> frexp(T x) { \
        int exponent; \
        T fraction = ::frexp##f(x, &exponent); \
        return {fraction, x - x == 0 ? exponent : 0}; \
    } \
    NUMBALITE_FUNCTION tuple<T, T> modf(T x) { \
        T whole; \
        T fraction = ::modf##f(x, &whole); \
        return {fraction, whole}; \
    } \
    NUMBALITE_FUNCTION tuple<T, int> remquo(T x, T y) { \
        int quotient; \
        T rest = ::remquo##f(x, y, &quotient); \
        return {rest, quotient}; \
    } \
    NUMBALITE_FUNCTION tuple<T, T> sincos(T x) { \
        T s, c; \
        ::sincos##f(x, &s, &c); \
        return {s, c}; \
    } \
    NUMBALITE_FUNCTION tuple<T, T> sincospi(T x) { \
        T s, c; \
        ::sincospi##f(x, &s, &c); \
        return {s, c}; \
    }
NUMBALITE_TUPLES(double, )
NUMBALITE_TUPLES(float, f)
#undef NUMBALITE_TUPLES
/* In this product, zero times infinity is zero, as in Python's cmath. */
template <class T> NUMBALITE_FUNCTION complex<T> rect(T r, T angle) {
    bool infinite = r != 0 && r * 2 == r;
    if (angle - angle != 0 && (r == 0 || infinite)) /* the angle is infinite or NaN */
        return infinite ? complex<T>(r, angle) : complex<T>();
    T x = ::cos(angle), y = ::sin(angle);
    return complex<T>(x == 0 && infinite ? x / r : x * r, y == 0 && infinite ? y / r : y * r);
}
template <class Z> NUMBALITE_FUNCTION auto polar(Z z) -> tuple<decltype(z.real()), decltype(z.real())> {
    return {abs(z), arg(z)};
}
NUMBALITE_FUNCTION tuple<float, float> fast_sincos(float x) {
    float s, c;
    __sincosf(x, &s, &c);
    return {s, c};
}

/* Returns the number of items of a range. */
NUMBALITE_FUNCTION int64 range_size(int64 start, int64 stop, int64 step) {
    if (step > 0)
        return stop > start ? (stop - start - 1) / step + 1 : 0;
    return start > stop && step < 0 ? (start - stop - 1) / -step + 1 : 0;
}

/* a or b; both were evaluated */
template <class T> NUMBALITE_FUNCTION T pick(bool test, T a, NUMBALITE_SAME(T) b) {
    return test ? a : b;
}

/* --- arrays ------------------------------------------------------------------------------------- */

NUMBALITE_FUNCTION int64 wrap(int64 i, int64 n) {
    return i < 0 ? i + n : i;
}

/* A C array as a view. */
template <class T, int N, layout L> NUMBALITE_FUNCTION array<T, N, L> as_array(array<T, N, L> a) {
    return a;
}
template <class T, int64 A> NUMBALITE_FUNCTION array<T, 1, layout::C> as_array(T (&a)[A]) {
    return {a, {A}, {int64(sizeof(T))}};
}
template <class T, int64 A, int64 B>
NUMBALITE_FUNCTION array<T, 2, layout::C> as_array(T (&a)[A][B]) {
    return {a[0], {A, B}, {int64(sizeof(a[0])), int64(sizeof(T))}};
}
template <class T, int64 A, int64 B, int64 C>
NUMBALITE_FUNCTION array<T, 3, layout::C> as_array(T (&a)[A][B][C]) {
    return {a[0][0], {A, B, C}, {int64(sizeof(a[0])), int64(sizeof(a[0][0])), int64(sizeof(T))}};
}
template <class T, int64 A, int64 B, int64 C, int64 D>
NUMBALITE_FUNCTION array<T, 4, layout::C> as_array(T (&a)[A][B][C][D]) {
    return {a[0][0][0],
            {A, B, C, D},
            {int64(sizeof(a[0])), int64(sizeof(a[0][0])), int64(sizeof(a[0][0][0])),
             int64(sizeof(T))}};
}

#ifndef NUMBALITE_HOST
NUMBALITE_FUNCTION unsigned int dynamic_bytes() {
#ifdef NUMBALITE_SIM
    return (unsigned int)numbalite_sim::here.dynamic_bytes;
#else
    unsigned int bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
#endif
}
template <class T> NUMBALITE_FUNCTION array<T, 1, layout::C> as_array(T (&a)[]) {
    return {a, {int64(dynamic_bytes() / sizeof(T))}, {int64(sizeof(T))}};
}
#endif

/* A slice start:stop:step; omitted parts have the type none_type. */
template <class Start, class Stop, class Step> struct slice_of {
    Start start;
    Stop stop;
    Step step;
};
template <class Start = none_type, class Stop = none_type, class Step = none_type>
NUMBALITE_FUNCTION slice_of<Start, Stop, Step> slice(Start start = Start(), Stop stop = Stop(),
                                                     Step step = Step()) {
    return {start, stop, step};
}

NUMBALITE_FUNCTION int64 value_or(int64 given, int64) { return given; }
NUMBALITE_FUNCTION int64 value_or(none_type, int64 otherwise) { return otherwise; }

NUMBALITE_FUNCTION int64 clamped_index(int64 i, int64 n, int64 low, int64 high) {
    i = wrap(i, n);
    return i < low ? low : i > high ? high : i;
}

template <class A> NUMBALITE_FUNCTION char *select(const A &, char *at, int, int64 *, int64 *) {
    return at;
}
template <class A, class... More>
NUMBALITE_FUNCTION char *select(const A &a, char *at, int axis, int64 *shape, int64 *strides, int64 i,
                                More... more);
template <class A, class Start, class Stop, class Step, class... More>
NUMBALITE_FUNCTION char *select(const A &a, char *at, int axis, int64 *shape, int64 *strides,
                                slice_of<Start, Stop, Step> s, More... more) {
    int64 n = a.shape[axis], step = value_or(s.step, 1);
    int64 low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    int64 start = clamped_index(value_or(s.start, step < 0 ? n - 1 : 0), n, low, high);
    int64 stop = step < 0 && __is_class(Stop) ? -1 : clamped_index(value_or(s.stop, n), n, low, high);
    int64 count = step < 0 ? (start - stop - step - 1) / -step : (stop - start + step - 1) / step;
    *shape = count < 0 ? 0 : count;
    *strides = a.strides[axis] * step;
    at += start * a.strides[axis];
    return select(a, at, axis + 1, shape + 1, strides + 1, more...);
}
template <class A, class... More>
NUMBALITE_FUNCTION char *select(const A &a, char *at, int axis, int64 *shape, int64 *strides, int64 i,
                                More... more) {
    return select(a, at + i * a.strides[axis], axis + 1, shape, strides, more...);
}

template <class Item> struct drops { static constexpr int value = 1; };
template <class Start, class Stop, class Step> struct drops<slice_of<Start, Stop, Step>> {
    static constexpr int value = 0;
};
template <class... Items> struct dropped { static constexpr int value = 0; };
template <class Item, class... Items> struct dropped<Item, Items...> {
    static constexpr int value = drops<Item>::value + dropped<Items...>::value;
};

/* Whether the indices are followed by one slice without a step: then the view remains
 * contiguous. */
template <class... Items> struct is_run { static constexpr bool value = false; };
template <class Start, class Stop> struct is_run<slice_of<Start, Stop, none_type>> {
    static constexpr bool value = true;
};
template <class Item, class Next, class... Items> struct is_run<Item, Next, Items...> {
    static constexpr bool value = drops<Item>::value == 1 && is_run<Next, Items...>::value;
};

template <class T, int N, layout L, class... Items>
NUMBALITE_FUNCTION auto view(array<T, N, L> a, Items... items) {
    constexpr int given = sizeof...(Items), kept = given - dropped<Items...>::value;
    constexpr layout order = L == layout::C && is_run<Items...>::value ? layout::C : layout::any;
    array<T, N - dropped<Items...>::value, order> r = {};
    r.pointer = (T *)select(a, (char *)a.pointer, 0, r.shape, r.strides, items...);
    for (int k = given; k < N; ++k) {
        r.shape[kept + k - given] = a.shape[k];
        r.strides[kept + k - given] = a.strides[k];
    }
    return r;
}
template <class A, class... Items>
NUMBALITE_FUNCTION auto view(const A &constant, Items... items) -> decltype(view(constant.view(), items...)) {
    return view(constant.view(), items...);
}

template <class T, int N, layout L>
NUMBALITE_FUNCTION auto transposed(array<T, N, L> a) {
    array<T, N, L == layout::C ? layout::F : L == layout::F ? layout::C : layout::any> r = {};
    r.pointer = a.pointer;
    for (int k = 0; k < N; ++k) {
        r.shape[k] = a.shape[N - 1 - k];
        r.strides[k] = a.strides[N - 1 - k];
    }
    return r;
}

/* Returns a view of the real parts (0) or the imaginary parts (1). */
template <class Z, class T> struct part_of { typedef T type; };
template <class Z, class T> struct part_of<const Z, T> { typedef const T type; };
template <class Z, int N, layout L>
NUMBALITE_FUNCTION auto complex_parts(array<Z, N, L> a, int which) {
    typedef typename part_of<Z, decltype(a.pointer->real())>::type T;
    array<T, N> r = {};
    r.pointer = (T *)a.pointer + which;
    for (int k = 0; k < N; ++k) {
        r.shape[k] = a.shape[k];
        r.strides[k] = a.strides[k];
    }
    return r;
}
template <class T, int N, class... Extents>
NUMBALITE_FUNCTION auto reshaped(array<T, N, layout::C> a, Extents... extents) {
    constexpr int M = sizeof...(Extents);
    array<T, M, layout::C> r = {a.pointer, {extents...}, {}};
    int64 count = 1, stride = sizeof(T);
    for (int k = 0; k < M; ++k)
        count *= r.shape[k] < 0 ? 1 : r.shape[k];
    for (int k = M - 1; k >= 0; --k) {
        if (r.shape[k] < 0)
            r.shape[k] = count ? a.size() / count : 0;
        r.strides[k] = stride;
        stride *= r.shape[k];
    }
    return r;
}
/* Returns the memory at a pointer as an array. */
template <class T, class... Extents>
NUMBALITE_FUNCTION auto array_at(T *pointer, Extents... extents) {
    return reshaped(array<T, 1, layout::C>{pointer, {}, {}}, extents...);
}
/* Returns an element as an array of length 1. */
template <class T> NUMBALITE_FUNCTION array<const T, 1, layout::C> of_one(const T &element) {
    return {&element, {1}, {sizeof(T)}};
}
/* Returns a view of a field: the element of type T at the same offset in each record. */
template <class T, class R, int N, layout L>
NUMBALITE_FUNCTION auto fields(array<R, N, L> a, int64 offset) {
    array<typename part_of<R, T>::type, N> r = {};
    r.pointer = (typename part_of<R, T>::type *)((char *)a.pointer + offset);
    for (int k = 0; k < N; ++k) {
        r.shape[k] = a.shape[k];
        r.strides[k] = a.strides[k];
    }
    return r;
}
/* Returns a view of the same bytes as elements of another type. */
template <class U, class T, int N, layout L> NUMBALITE_FUNCTION auto viewed(array<T, N, L> a) {
    typedef typename part_of<T, U>::type E;
    constexpr int last = L == layout::F ? 0 : N - 1;
    array<E, N, L> r = {};
    r.pointer = (E *)a.pointer;
    for (int k = 0; k < N; ++k) {
        r.shape[k] = k == last ? a.shape[k] * int64(sizeof(T)) / int64(sizeof(U)) : a.shape[k];
        r.strides[k] = k == last ? int64(sizeof(U)) : a.strides[k];
    }
    return r;
}

template <class T, int N, layout L, class V> NUMBALITE_FUNCTION void fill(array<T, N, L> a, V value) {
    for (int64 i = 0; i < a.shape[0]; ++i) {
        if constexpr (N == 1)
            a[i] = value;
        else
            fill(a[i], value);
    }
}
template <class T, int N, layout L, class U, int M, layout K>
NUMBALITE_FUNCTION void assign(array<T, N, L> a, array<U, M, K> b) {
    for (int64 i = 0; i < a.shape[0]; ++i) {
        if constexpr (M < N)
            assign(a[i], b);
        else if constexpr (N == 1)
            a[i] = T(b[b.shape[0] == 1 ? 0 : i]);
        else
            assign(a[i], b[b.shape[0] == 1 ? 0 : i]);
    }
}

/* --- exceptions --------------------------------------------------------------------------------- */

#if defined(NUMBALITE_HOST)
#define NUMBALITE_RAISE_AT(text, function, line, file) ::numbalite_sim::fault(710, text, file, line)
#elif defined(NUMBALITE_FAIL) /* check.cuh */
#define NUMBALITE_RAISE_AT(text, function, line, file) \
    NUMBALITE_FAIL_AT(fault_raise, text, function, line, file)
#else
#define NUMBALITE_RAISE_AT(text, function, line, file) ::numbalite::nl_detail::exit_thread()
#endif
#define NUMBALITE_RAISE(text) NUMBALITE_RAISE_AT(text, __FUNCTION__, __LINE__, __FILE__)

template <class T, int N, layout L, class... V>
NUMBALITE_FUNCTION void assign_items(array<T, N, L> a, V... values) {
    const T given[] = {static_cast<T>(values)...};
    if (a.shape[0] != int64(sizeof...(values)))
        NUMBALITE_RAISE("ValueError: cannot assign slice from input of different size");
    for (int64 i = 0; i < int64(sizeof...(values)); ++i)
        a[i] = given[i];
}

template <class T>
NUMBALITE_FUNCTION T checked_divisor(T b, const char *function, int line, const char *file) {
    if (b == T(0))
        NUMBALITE_RAISE_AT("ZeroDivisionError: division by zero", function, line, file);
    return b;
}
#define NUMBALITE_DIVISOR(...) \
    ::numbalite::py::checked_divisor(__VA_ARGS__, __FUNCTION__, __LINE__, __FILE__)

NUMBALITE_FUNCTION int64 checked_item(int64 i, int64 n, const char *function, int line, const char *file) {
    if (i < -n || i >= n)
        NUMBALITE_RAISE_AT("IndexError: tuple index out of range", function, line, file);
    return wrap(i, n);
}
#define NUMBALITE_ITEM(i, n) ::numbalite::py::checked_item(i, n, __FUNCTION__, __LINE__, __FILE__)

/* Computes out[...] = f(a[...], ...); inputs with fewer dimensions or one element are broadcast. */
template <int N, class T, int M, layout L>
NUMBALITE_FUNCTION decltype(auto) along(const array<T, M, L> &a, int64 i) {
    if constexpr (M < N)
        return (a);
    else
        return a[a.shape[0] == 1 ? 0 : i];
}
template <class T, int N, layout L, class F, class... Inputs>
NUMBALITE_FUNCTION void map_elements(array<T, N, L> out, F f, const Inputs &...inputs) {
    for (int64 i = 0; i < out.shape[0]; ++i) {
        if constexpr (N == 1)
            out[i] = f(along<N>(inputs, i)...);
        else
            map_elements(out[i], f, along<N>(inputs, i)...);
    }
}

/* --- Runs body(first, last) for sub-ranges of start..stop, which may run in parallel. ------- */

#if defined(NUMBALITE_HOST) && !defined(NUMBALITE_SERIAL)
template <class Body>
static void run_range(char *const *data, long long count, const long long *, const void *body) {
    long long first = (long long)(__INTPTR_TYPE__)data[0];
    (*(const Body *)body)((int64)first, (int64)(first + count));
}
template <class Body> inline void prange(int64 start, int64 stop, const Body &body) {
    if (start >= stop)
        return;
    char *const data[1] = {(char *)(__INTPTR_TYPE__)start};
    const long long stride = 1;
    /* nanoseconds per iteration: high enough that the loop is always shared among threads */
    const float cost = 1e6f;
    unsigned bits;
    __builtin_memcpy(&bits, &cost, sizeof bits);
    if (numbalite_sim::ops->parallel(run_range<Body>, 1, data, stop - start, &stride, &body, &bits) < 0)
        numbalite_sim::ops->leave();
}
/* Runs `step` under a lock, one thread at a time. */
template <class Combine> inline void combine(const Combine &step) {
    static int taken;
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) {
    }
    step();
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}
#else
template <class Body> NUMBALITE_FUNCTION void prange(int64 start, int64 stop, const Body &body) {
    if (start < stop)
        body(start, stop);
}
template <class Combine> NUMBALITE_FUNCTION void combine(const Combine &step) {
    step();
}
#endif

/* --- Returns whether a datetime64 or timedelta64 is NaT, the smallest number.
 * -------------------------------------- */

NUMBALITE_FUNCTION constexpr bool is_nat(int64 t) {
    return t == -0x7fffffffffffffff - 1;
}
constexpr int64 NAT = -0x7fffffffffffffff - 1;
NUMBALITE_FUNCTION int64 time_sum(int64 a, int64 b) {
    return is_nat(a) || is_nat(b) ? NAT : a + b;
}
NUMBALITE_FUNCTION int64 time_difference(int64 a, int64 b) {
    return is_nat(a) || is_nat(b) ? NAT : a - b;
}
template <class X> NUMBALITE_FUNCTION int64 time_times(int64 a, X x) {
    if constexpr (is_real<X>)
        return is_nat(a) || x - x != 0 ? NAT : int64(a * x);
    else
        return is_nat(a) ? NAT : a * int64(x);
}
template <class X> NUMBALITE_FUNCTION int64 time_over(int64 a, X x) {
    if constexpr (is_real<X>)
        return is_nat(a) || x == 0 || x != x ? NAT : int64(a / x);
    else
        return is_nat(a) || x == 0 ? NAT : a / int64(x);
}
NUMBALITE_FUNCTION double time_ratio(int64 a, int64 b) {
    return is_nat(a) || is_nat(b) ? ::nan("") : double(a) / double(b);
}
NUMBALITE_FUNCTION int64 time_floor_div(int64 a, int64 b) {
    return is_nat(a) || is_nat(b) || b == 0 ? NAT : floor_div(a, b);
}
NUMBALITE_FUNCTION int64 time_floor_mod(int64 a, int64 b) {
    return is_nat(a) || is_nat(b) || b == 0 ? NAT : floor_mod(a, b);
}
NUMBALITE_FUNCTION bool time_less(int64 a, int64 b) {
    return !is_nat(a) && !is_nat(b) && a < b;
}
NUMBALITE_FUNCTION bool time_less_equal(int64 a, int64 b) {
    return !is_nat(a) && !is_nat(b) && a <= b;
}
NUMBALITE_FUNCTION bool time_equal(int64 a, int64 b) {
    return !is_nat(a) && a == b;
}

/* --- warps -------------------------------------------------------------------------------------- */

#ifndef NUMBALITE_HOST
template <class T> NUMBALITE_FUNCTION tuple<int, bool> match_all(unsigned int mask, T value) {
    int all = 0;
    int found = __match_all_sync(mask, value, &all);
    return {found, all != 0};
}
#endif
#undef NUMBALITE_SAME

} // namespace py
} // namespace numbalite

#endif
