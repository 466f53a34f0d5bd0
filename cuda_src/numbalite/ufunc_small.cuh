/* ufunc_small: kernels of element-wise functions for few contiguous elements, with one thread per
 * element.
 *
 * Small kernels compile in a third of the time of the kernels of ufunc.cuh, whose threads have
 * several elements and vectorized accesses, and are as fast for arrays that do not fill a GPU. The
 * generated source reads and writes each operand by its number. */
#ifndef NUMBALITE_UFUNC_SMALL_CUH
#define NUMBALITE_UFUNC_SMALL_CUH

#include "numbalite/ufunc_operand.cuh"

namespace numbalite {
namespace nl_ufunc {

/* The parameter struct, which has the same layout as `flat` (vector_access.cuh). */
template <int N> struct small {
    slot operands[N];
    long long count;
    unsigned long long advance;

    template <class T> NUMBALITE_FUNCTION T *at(int operand, long long i) const {
        return (T *)operands[operand].word[0] + (advance >> operand & 1 ? i : 0);
    }
    template <class Stored, class Type>
    NUMBALITE_FUNCTION Type load(int operand, long long i) const {
        return convert_from_memory<Stored, Type>(*at<const typename memory<Stored>::type>(operand, i));
    }
    template <class Stored, class Type, class T>
    NUMBALITE_FUNCTION void store(int operand, long long i, const T &result) const {
        typedef typename memory<Stored>::type element;
        *at<element>(operand, i) = (element)nl_convert<Stored>(nl_convert<Type>(result));
    }
};

} // namespace nl_ufunc
} // namespace numbalite

#endif
