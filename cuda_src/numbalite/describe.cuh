/* describe: extracts the types of a kernel's parameters and of a module's variables from the
 * compiler.
 *
 * This header is read before the source, because the source's macros may have any name; the names
 * that are used after the source begin with nl_. nl_kernel_description<decltype(&K)> is a type
 * whose name contains, for each parameter of K, the integers that a launch needs and the
 * parameter's own type. With NVRTC, the name is the lowered name of `nl_describe<that type>`, a
 * name expression; with a host compiler, it is __PRETTY_FUNCTION__. numbalite/types/describe.py
 * parses both, and recognizes the classes that represent NumPy types (complex, __half) by name. */
#ifndef NUMBALITE_DESCRIBE_CUH
#define NUMBALITE_DESCRIBE_CUH

#include "numbalite.cuh"

namespace numbalite {

namespace nl_description {
/* Kind of a parameter: 0 scalar, 1 pointer, 2 array, 3 class passed by value. Dtype: nl_dtype of
 * cext/core/dtype.h, of the value or of the pointed-to type; Itemsize is the size in bytes of the
 * value or of the pointed-to type, or 0 if it is unknown (void). */
template <int Kind, int Size, int Align, int Dtype, int Itemsize, int Ndim, int Layout, int Const,
          class Type>
struct parameter;
template <class... Parameters> struct signature;

template <int Dtype, int Itemsize, class Type, long long... Extents> struct variable;
} // namespace nl_description

namespace nl_detail {

template <class T, bool IsEnum = __is_enum(T)> struct dtype {
    enum { code = 0 };
};
template <class T> struct dtype<T, true> : dtype<__underlying_type(T)> {};
#define NUMBALITE_DTYPE(type, number) \
    template <> struct dtype<type, false> { \
        enum { code = number }; \
    };
NUMBALITE_DTYPE(bool, 1)
NUMBALITE_DTYPE(char, (char)-1 < 0 ? 2 : 6)
NUMBALITE_DTYPE(signed char, 2)
NUMBALITE_DTYPE(short, 3)
NUMBALITE_DTYPE(int, 4)
NUMBALITE_DTYPE(long, sizeof(long) == 8 ? 5 : 4)
NUMBALITE_DTYPE(long long, 5)
NUMBALITE_DTYPE(unsigned char, 6)
NUMBALITE_DTYPE(unsigned short, 7)
NUMBALITE_DTYPE(unsigned int, 8)
NUMBALITE_DTYPE(unsigned long, sizeof(long) == 8 ? 9 : 8)
NUMBALITE_DTYPE(unsigned long long, 9)
NUMBALITE_DTYPE(float, 11)
NUMBALITE_DTYPE(double, 12)
#undef NUMBALITE_DTYPE

/* The element type without const and volatile, and without the extents of a C array. */
template <class T> struct element {
    typedef T type;
    enum { is_const = 0 };
};
template <class T> struct element<const T> : element<T> {
    enum { is_const = 1 };
};
template <class T> struct element<volatile T> : element<T> {};
template <class T> struct element<const volatile T> : element<const T> {};
template <class T> struct element<T[]> : element<T> {};
template <class T, size_t N> struct element<T[N]> : element<T> {};
template <class T, size_t N> struct element<const T[N]> : element<const T> {};
template <class T, size_t N> struct element<volatile T[N]> : element<T> {};
template <class T, size_t N> struct element<const volatile T[N]> : element<const T> {};

template <class T, class = void> struct size_of {
    enum { value = 0 }; /* an incomplete type, a function */
};
template <class T> struct size_of<T, decltype(void(sizeof(T)))> {
    enum { value = sizeof(T) };
};
template <> struct size_of<void, void> {
    enum { value = 0 };
};

template <class T, int Kind, int Dtype, int Itemsize, int Ndim, int Layout, int Const>
struct parameter_as {
    typedef nl_description::parameter<Kind, sizeof(T), alignof(T), Dtype, Itemsize, Ndim, Layout,
                                      Const, T>
        type;
};
template <class T> struct dependent_false { static constexpr bool value = false; };

template <class T>
struct parameter_of
    : parameter_as<T, __is_class(T) || __is_union(T) ? 3 : 0, dtype<T>::code, sizeof(T), 0, 0, 0> {
};
template <class T>
struct parameter_of<T *>
    : parameter_as<T *, 1, dtype<typename element<T>::type>::code,
                   size_of<typename element<T>::type>::value, 0, 0, element<T>::is_const> {};
template <class T, int N, layout L>
struct parameter_of<array<T, N, L>>
    : parameter_as<array<T, N, L>, 2, dtype<typename element<T>::type>::code, sizeof(T), N, (int)L,
                   element<T>::is_const> {};
template <class T> struct parameter_of<T &> {
    static_assert(dependent_false<T>::value,
                  "a kernel cannot have a reference as a parameter: take a value or a pointer");
    typedef void type;
};

template <class F> struct kernel_of;
template <class... A> struct kernel_of<void (*)(A...)> {
    typedef nl_description::signature<typename parameter_of<A>::type...> type;
};
#ifdef __cpp_noexcept_function_type
template <class... A> struct kernel_of<void (*)(A...) noexcept> : kernel_of<void (*)(A...)> {};
#endif

/* Collects the extents of T = E[n][m]... */
template <class T, long long... Extents> struct variable_of {
    typedef typename element<T>::type plain;
    typedef nl_description::variable<dtype<plain>::code, sizeof(plain), plain, Extents...> type;
};
template <class T, size_t N, long long... Extents>
struct variable_of<T[N], Extents...> : variable_of<T, Extents..., (long long)N> {};

} // namespace nl_detail

template <class F> using nl_kernel_description = typename nl_detail::kernel_of<F>::type;
template <class V> using nl_variable_description = typename nl_detail::variable_of<V>::type;

/* The description is the type of a variable, not of a kernel, because a variable of one byte
 * compiles faster. */
template <class Description> __device__ char nl_describe;

} // namespace numbalite

#endif
