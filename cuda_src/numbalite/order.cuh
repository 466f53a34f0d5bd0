/* order: elements as whole numbers that have NumPy's order, so that sorting compares integers.
 *
 * A Kind says how: `item` is the element as it lies in memory, `key` what is compared, made by
 * of(item, flips). places: how many digits of 8 bits the key has, the last of which counts most.
 * NaNs are last and alike, both zeros are alike. */
#ifndef NUMBALITE_ORDER_CUH
#define NUMBALITE_ORDER_CUH

#include "numbalite.cuh"

namespace numbalite {
namespace nl_sort {

/* Given to each kernel: what is done to integers. `sign` exchanges the halves of signed numbers, `bias` is
 * subtracted then (1 takes NaT from the first place to the last), `reverse` turns the order round. */
struct flips {
    uint64 sign, bias, reverse;
};

template <class U> struct whole {
    typedef U item;
    typedef U key;
    enum { places = sizeof(U) };
    static NUMBALITE_FUNCTION key of(const item &x, const flips &f) {
        return (U)((U)((U)(x ^ (U)f.sign) - (U)f.bias) ^ (U)f.reverse);
    }
    static NUMBALITE_FUNCTION unsigned digit(const key &k, int place) {
        return (unsigned)(k >> (8 * place)) & 255;
    }
    static NUMBALITE_FUNCTION bool less(const key &a, const key &b) { return a < b; }
    static NUMBALITE_FUNCTION key last() { return (U)~(U)0; }
};

/* Where the exponent's bits are, all of them set: infinity. */
template <class U> struct infinity;
template <> struct infinity<uint16> {
    static constexpr uint16 value = 0x7c00;
};
template <> struct infinity<uint32> {
    static constexpr uint32 value = 0x7f800000;
};
template <> struct infinity<uint64> {
    static constexpr uint64 value = 0x7ff0000000000000;
};

template <class U> NUMBALITE_FUNCTION U real_key(U x) {
    constexpr U sign = (U)((U)1 << (8 * sizeof(U) - 1)), inf = infinity<U>::value;
    constexpr U lowest = (U)~(U)(inf | sign), range = (U)((U)(inf | sign) - lowest);
    U key = x & sign ? (U)~x : (U)(x | sign);
    if (key == (U)(sign - 1)) /* -0 */
        key = sign;
    return (U)(key - lowest) > range ? (U)~(U)0 : key; /* below -infinity, above infinity: NaNs */
}

template <class U> struct real : whole<U> {
    static NUMBALITE_FUNCTION U of(U x, const flips &f) { return (U)(real_key(x) ^ (U)f.reverse); }
};

/* Complex numbers, in the order of their real parts, then the imaginary ones. Those with a NaN are last: first
 * those with an imaginary one, then a real one, then two. */
template <class U> struct complex_item {
    U re, im;
};
template <class U> struct complex_key {
    U re, im;
    uint32 nans;
};
template <class U> struct pair {
    typedef complex_item<U> item;
    typedef complex_key<U> key;
    enum { places = 2 * sizeof(U) + 1 };
    static NUMBALITE_FUNCTION key of(const item &x, const flips &f) {
        U re = real_key(x.re), im = real_key(x.im), nan = (U)~(U)0;
        key k = {(U)(re ^ (U)f.reverse), (U)(im ^ (U)f.reverse),
                 (uint32)((2 * (re == nan) + (im == nan)) ^ (f.reverse & 255))};
        return k;
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
        key k = {(U)~(U)0, (U)~(U)0, 255};
        return k;
    }
};

} // namespace nl_sort
} // namespace numbalite

#endif
