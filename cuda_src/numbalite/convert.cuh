/* convert: one number as another type, as a cast does it; complex to real takes the real part.
 *
 * Included after half and complex, of which it knows what is in scope. */
#ifndef NUMBALITE_CONVERT_CUH
#define NUMBALITE_CONVERT_CUH

#include "numbalite.cuh"

namespace numbalite {

namespace nl_detail {
template <class To, class From> struct conversion {
    static NUMBALITE_FUNCTION To of(const From &value) { return (To)value; }
};
#ifdef NUMBALITE_COMPLEX_CUH
template <class To, class From> struct conversion<complex<To>, From> {
    static NUMBALITE_FUNCTION complex<To> of(const From &value) {
        return complex<To>((To)value, To());
    }
};
template <class To, class From> struct conversion<To, complex<From>> {
    static NUMBALITE_FUNCTION To of(const complex<From> &value) { return (To)value.re; }
};
template <class From> struct conversion<bool, complex<From>> {
    static NUMBALITE_FUNCTION bool of(const complex<From> &value) {
        return value.re != 0 || value.im != 0;
    }
};
template <class To, class From> struct conversion<complex<To>, complex<From>> {
    static NUMBALITE_FUNCTION complex<To> of(const complex<From> &value) {
        return complex<To>((To)value.re, (To)value.im);
    }
};
#endif
} // namespace nl_detail

template <class To, class From> NUMBALITE_FUNCTION To convert(const From &value) {
    return nl_detail::conversion<To, From>::of(value);
}

} // namespace numbalite

#endif
