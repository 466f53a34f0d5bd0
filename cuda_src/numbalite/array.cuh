/* array: a NumPy-like view of memory, passed to kernels by value.
 *
 * Members: `a[i]`, `a(i, j, ...)`, `a[i][j]`, `a.shape[k]`, `a.strides[k]` (in bytes), `a.size()`,
 * `a.ndim`, `a.data()`, `a.begin()`, `a.end()`; loops `for (float &v : a)`, `for (auto row : a)`.
 *
 * `array<T, N, L>` is exactly { T *pointer; int64 shape[N]; int64 strides[N]; }, which the launch
 * writes; `array<float, 2>{p, {n, m}, {row, column}}` creates an array in a kernel. L is the layout
 * at compile time: layout::any (the strides are used), or contiguous in C or Fortran order (the
 * strides exist but are not read). An array converts to an array of const elements, and to an array
 * of layout `any`. Like a pointer, a const array allows writes to its elements; array<const T> does
 * not.
 *
 * For N > 1, a[i] is the array of the remaining dimensions. With NUMBALITE_DEBUG every index is
 * checked (check.cuh). Without NUMBALITE_DEBUG an index is a plain number, and only the address
 * arithmetic remains, in 64 bits; a 32-bit index into contiguous memory costs the same as with a
 * pointer. Instrumented images of the simulator also check every index. */
#ifndef NUMBALITE_ARRAY_CUH
#define NUMBALITE_ARRAY_CUH

namespace numbalite {

enum class layout : int { any, C, F, nl_any = 0, nl_C, nl_F };

template <class T, int N = 1, layout L = layout::any> struct array;

typedef layout nl_layout;
template <class T, int N = 1, layout L = layout::any> using nl_array = array<T, N, L>;

namespace nl_detail {

#ifdef NUMBALITE_SIM_UNCOUNTED
/* Reads a member of an array (sim/attributes.h). The optimizer knows the members of views of
 * constant arrays. */
template <class T, layout L> struct members {
    template <class V> static NUMBALITE_FUNCTION V read(const V &value) {
        return numbalite_sim::uncounted(value);
    }
};
template <class T> struct members<const T, layout::C> {
    template <class V> static NUMBALITE_FUNCTION V read(const V &value) { return value; }
};
#define NUMBALITE_MEMBER(x) (nl_detail::members<T, L>::read(x))
#else
#define NUMBALITE_MEMBER(x) (x)
#endif

#ifdef NUMBALITE_DEBUG
#define NUMBALITE_INDEX(i, axis) nl_detail::checked(i, axis, shape, N, pointer)
#else
typedef int64 index;
#ifdef NUMBALITE_SIM_CHECKED
/* Checks an index, for instrumented images: the engine reports a wrong index, and the thread
 * ends. */
template <class T, layout L>
NUMBALITE_FUNCTION int64 checked(int64 i, int axis, const int64 *shape, int ndim,
                                 const void *pointer) {
    if (__builtin_expect(i < 0 || i >= NUMBALITE_MEMBER(shape[axis]), 0))
        numbalite_sim::bad_index(i, axis, shape, ndim, pointer);
    return i;
}
#define NUMBALITE_INDEX(i, axis) nl_detail::checked<T, L>(i, axis, shape, N, pointer)
#else
#define NUMBALITE_INDEX(i, axis) (i)
#endif
#endif

/* Returns element i of elements that are `stride` bytes apart. */
template <class T> NUMBALITE_FUNCTION T &strided(T *pointer, int64 i, int64 stride) {
#ifdef NUMBALITE_SIM
    /* with this test, the host compiler compiles a separate, faster loop over a block's threads for
     * contiguous elements */
    if (__builtin_expect(stride == (int64)sizeof(T), 1))
        return pointer[i];
#endif
    return *(T *)((char *)pointer + i * stride);
}

/* The type and value of a[i]. */
template <class T, int N, layout L> struct row {
    typedef array<T, N - 1, L == layout::C ? layout::C : layout::any> type;
    static NUMBALITE_FUNCTION type at(const array<T, N, L> &a, int64 i) {
        type r = type();
        int64 offset = i * (L == layout::F ? (int64)sizeof(T) : a.strides[0]);
        if (L == layout::C) {
            offset = i * (int64)sizeof(T);
            for (int k = 1; k < N; ++k)
                offset *= a.shape[k];
        }
        r.pointer = (T *)((char *)a.pointer + offset);
        for (int k = 1; k < N; ++k) {
            r.shape[k - 1] = a.shape[k];
            r.strides[k - 1] = a.strides[k];
        }
        return r;
    }
};
template <class T, layout L> struct row<T, 1, L> {
    typedef T &type;
    static NUMBALITE_FUNCTION T &at(const array<T, 1, L> &a, int64 i) {
        return L == layout::any
                   ? strided(NUMBALITE_MEMBER(a.pointer), i, NUMBALITE_MEMBER(a.strides[0]))
                   : NUMBALITE_MEMBER(a.pointer)[i];
    }
};

/* The position of a loop over a[0], a[1], ... The iterator contains a copy of the array, because
 * the array may be a temporary row. */
template <class T, int N, layout L> struct iterator {
    array<T, N, L> all;
    int64 at;

    NUMBALITE_FUNCTION typename row<T, N, L>::type operator*() const {
        return row<T, N, L>::at(all, at);
    }
    NUMBALITE_FUNCTION iterator &operator++() {
        ++at;
        return *this;
    }
    NUMBALITE_FUNCTION bool operator==(const iterator &other) const { return at == other.at; }
    NUMBALITE_FUNCTION bool operator!=(const iterator &other) const { return at != other.at; }
};

/* The array types to which array<T, ..., L> converts implicitly. */
template <class T, class U> struct same_or_const {};
template <class T> struct same_or_const<T, T> { typedef int yes; };
template <class T> struct same_or_const<T, const T> { typedef int yes; };
template <class T> struct same_or_const<const T, const T> { typedef int yes; };
template <layout L, layout K> struct same_or_any {};
template <layout L> struct same_or_any<L, L> { typedef int yes; };
template <layout L> struct same_or_any<L, layout::any> { typedef int yes; };
template <> struct same_or_any<layout::any, layout::any> { typedef int yes; };

} // namespace nl_detail

template <class T, int N, layout L> struct array {
    static_assert(N >= 1, "an array has at least one dimension");

    T *pointer;
    int64 shape[N];
    int64 strides[N];

    static constexpr int ndim = N;

    NUMBALITE_FUNCTION T *data() const { return NUMBALITE_MEMBER(pointer); }

    NUMBALITE_FUNCTION int64 size() const {
        int64 n = NUMBALITE_MEMBER(shape[0]);
        if (N > 1) /* without a loop, which the profiler would count */
            for (int k = 1; k < N; ++k)
                n *= NUMBALITE_MEMBER(shape[k]);
        return n;
    }

    NUMBALITE_FUNCTION typename nl_detail::row<T, N, L>::type operator[](nl_detail::index i) const {
        return nl_detail::row<T, N, L>::at(*this, NUMBALITE_INDEX(i, 0));
    }

    NUMBALITE_FUNCTION nl_detail::iterator<T, N, L> begin() const { return {*this, 0}; }
    NUMBALITE_FUNCTION nl_detail::iterator<T, N, L> end() const { return {*this, shape[0]}; }

#define NUMBALITE_DIMENSIONS(n) \
    static_assert(N == n, "a(i, j, ...) takes one index for each dimension of the array")
/* Returns the element at a byte offset plus the last index times its stride, or the element at an
 * index in C or Fortran order. */
#define NUMBALITE_ELEMENT(offset, last, axis, c, f) \
    return L == layout::any \
               ? nl_detail::strided((T *)((char *)NUMBALITE_MEMBER(pointer) + (offset)), last, \
                                    NUMBALITE_MEMBER(strides[axis])) \
               : NUMBALITE_MEMBER(pointer)[L == layout::C ? (c) : (f)]

    NUMBALITE_FUNCTION T &operator()(nl_detail::index i0) const {
        NUMBALITE_DIMENSIONS(1);
        int64 i = NUMBALITE_INDEX(i0, 0);
        NUMBALITE_ELEMENT(0, i, 0, i, i);
    }
    NUMBALITE_FUNCTION T &operator()(nl_detail::index i0, nl_detail::index i1) const {
        NUMBALITE_DIMENSIONS(2);
        int64 i = NUMBALITE_INDEX(i0, 0), j = NUMBALITE_INDEX(i1, 1);
        NUMBALITE_ELEMENT(i * NUMBALITE_MEMBER(strides[0]), j, 1,
                          i * NUMBALITE_MEMBER(shape[1]) + j, i + j * NUMBALITE_MEMBER(shape[0]));
    }
    NUMBALITE_FUNCTION T &operator()(nl_detail::index i0, nl_detail::index i1,
                                     nl_detail::index i2) const {
        NUMBALITE_DIMENSIONS(3);
        int64 i = NUMBALITE_INDEX(i0, 0), j = NUMBALITE_INDEX(i1, 1), k = NUMBALITE_INDEX(i2, 2);
        NUMBALITE_ELEMENT(i * strides[0] + j * strides[1], k, 2, (i * shape[1] + j) * shape[2] + k,
                          i + (j + k * shape[1]) * shape[0]);
    }
    template <class... More>
    NUMBALITE_FUNCTION T &operator()(nl_detail::index i0, nl_detail::index i1, nl_detail::index i2,
                                     nl_detail::index i3, More... more) const {
        NUMBALITE_DIMENSIONS(4 + (int)sizeof...(More));
        const nl_detail::index at[] = {i0, i1, i2, i3, nl_detail::index(more)...};
        int64 offset = 0, c = 0, f = 0;
        for (int k = 0; k < N; ++k) {
            int64 i = NUMBALITE_INDEX(at[k], k);
            offset += i * strides[k];
            c = c * shape[k] + i;
        }
        for (int k = N - 1; k >= 0; --k)
            f = f * shape[k] + (int64)at[k];
        NUMBALITE_ELEMENT(offset, 0, 0, c, f);
    }
#undef NUMBALITE_DIMENSIONS
#undef NUMBALITE_ELEMENT

    template <class U, layout K, class = typename nl_detail::same_or_const<T, U>::yes,
              class = typename nl_detail::same_or_any<L, K>::yes>
    NUMBALITE_FUNCTION operator array<U, N, K>() const {
        array<U, N, K> r = array<U, N, K>();
        r.pointer = pointer;
        for (int k = 0; k < N; ++k) {
            r.shape[k] = shape[k];
            r.strides[k] = strides[k];
        }
        return r;
    }
};

} // namespace numbalite

#undef NUMBALITE_INDEX
#undef NUMBALITE_MEMBER

#ifndef NUMBALITE_DEBUG
#define NUMBALITE_LEAVE_AFTER_FAULT static_cast<void>(0)
#endif

#endif
