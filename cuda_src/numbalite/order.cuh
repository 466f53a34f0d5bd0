/* order: defines sort keys, which map elements to unsigned integers in NumPy's sort order, so that
 * sorting compares integers.
 *
 * A key type K defines `item`, the element as stored in memory, and of(item), its `key`. flipped()
 * inverts the bits of the key that are set in `flip`, an argument of the kernels: all bits for
 * descending order, the sign bit for signed integers. ordered<K>(item, flip) calls of() and
 * flipped(); less() compares keys that it returned. `places` is the number of 8-bit digits of the
 * key; the last digit is the most significant. NaNs are last and equal to each other; both zeros
 * are equal. */
#ifndef NUMBALITE_ORDER_CUH
#define NUMBALITE_ORDER_CUH

#include "numbalite.cuh"

namespace numbalite {
namespace nl_sort {

template <class U> struct whole {
    typedef U item;
    typedef U key;
    enum { places = sizeof(U) };
    static NUMBALITE_FUNCTION key of(const item &x) { return x; }
    static NUMBALITE_FUNCTION key flipped(const key &k, uint64 flip) { return (U)(k ^ (U)flip); }
    static NUMBALITE_FUNCTION unsigned digit(const key &k, int place) {
        return (unsigned)(k >> (8 * place)) & 255;
    }
    static NUMBALITE_FUNCTION bool less(const key &a, const key &b) { return a < b; }
    static NUMBALITE_FUNCTION key last() { return (U) ~(U)0; }
};

template <class K>
NUMBALITE_FUNCTION typename K::key ordered(const typename K::item &x, uint64 flip) {
    return K::flipped(K::of(x), flip);
}

template <class U> struct sign_bit { static constexpr U value = (U)((U)1 << (8 * sizeof(U) - 1)); };

/* The key of a date: NaT, the smallest integer, is sorted last. */
template <class U> struct date : whole<U> {
    static NUMBALITE_FUNCTION U of(U x) { return (U)((U)(x ^ sign_bit<U>::value) - 1); }
};

/* The bits of infinity, where all exponent bits are set. */
template <class U> struct infinity;
template <> struct infinity<uint16> { static constexpr uint16 value = 0x7c00; };
template <> struct infinity<uint32> { static constexpr uint32 value = 0x7f800000; };
template <> struct infinity<uint64> { static constexpr uint64 value = 0x7ff0000000000000; };

template <class U> NUMBALITE_FUNCTION U real_key(U x) {
    U key = x & sign_bit<U>::value ? (U)(0 - x)
                                   /* 0 - x gives -0 the same key as 0 */
                                   : (U)(x | sign_bit<U>::value);
    return (U)(x << 1) > (U)(infinity<U>::value << 1) ? (U) ~(U)0 : key;
}

template <class U> struct real : whole<U> {
    static NUMBALITE_FUNCTION U of(U x) { return real_key(x); }
};

/* The key of a complex number, ordered by real part, then imaginary part. Numbers with NaN are
 * sorted last: first those with a NaN imaginary part, then those with a NaN real part, then those
 * with both. */
template <class U> struct complex_item { U re, im; };
template <class U> struct complex_key {
    U re, im;
    uint32 nans;
};
template <class U> struct pair {
    typedef complex_item<U> item;
    typedef complex_key<U> key;
    enum { places = 2 * sizeof(U) + 1 };
    static NUMBALITE_FUNCTION key of(const item &x) {
        U re = real_key(x.re), im = real_key(x.im), nan = (U) ~(U)0;
        key k = {re, im, (uint32)(2 * (re == nan) + (im == nan))};
        return k;
    }
    static NUMBALITE_FUNCTION key flipped(const key &k, uint64 flip) {
        key t = {(U)(k.re ^ (U)flip), (U)(k.im ^ (U)flip), k.nans ^ ((uint32)flip & 255)};
        return t;
    }
    static NUMBALITE_FUNCTION unsigned digit(const key &k, int place) {
        if (place >= 2 * (int)sizeof(U))
            return k.nans;
        U part = place < (int)sizeof(U) ? k.im : k.re;
        return (unsigned)(part >> (8 * (place & (sizeof(U) - 1)))) & 255;
    }
    static NUMBALITE_FUNCTION bool less(const key &a, const key &b) {
        if (a.nans != b.nans)
            return a.nans < b.nans;
        return a.re != b.re ? a.re < b.re : a.im < b.im;
    }
    static NUMBALITE_FUNCTION key last() {
        key k = {(U) ~(U)0, (U) ~(U)0, 255};
        return k;
    }
};

} // namespace nl_sort
} // namespace numbalite

#endif
