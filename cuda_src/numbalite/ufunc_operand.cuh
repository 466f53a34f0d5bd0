/* ufunc_operand: the operands of a ufunc's kernel, as cext/core/loop.h passes them: each is an
 * address or a value. */
#ifndef NUMBALITE_UFUNC_OPERAND_CUH
#define NUMBALITE_UFUNC_OPERAND_CUH

#include "numbalite.cuh"
#include "numbalite/convert.cuh"

namespace numbalite {
namespace nl_ufunc {

struct alignas(16) slot {
    unsigned long long word[2];
};

/* The type of an element in memory: a bool is a byte, where any nonzero value is true. */
template <class T> struct memory { typedef T type; };
template <> struct memory<bool> { typedef unsigned char type; };

template <class T> NUMBALITE_FUNCTION T value_in(const slot &s) {
    unsigned long long words[2] = {s.word[0], s.word[1]};
    typename memory<T>::type value;
    memcpy(&value, words, sizeof(value));
    return (T)value;
}

/* Converts an element to the loop's type. */
template <class Stored, class Type>
NUMBALITE_FUNCTION Type convert_from_memory(const typename memory<Stored>::type &x) {
    if constexpr (nl_detail::is_same_type<Stored, bool>::value)
        return nl_convert<Type>(x != 0);
    else
        return nl_convert<Type>(x);
}

} // namespace nl_ufunc
} // namespace numbalite

#endif
