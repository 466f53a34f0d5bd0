/* atomics: atomic operations for all integer and floating types; CUDA has atomic operations for
 * only some types.
 *
 * `atomic_add(address, value)` and the functions for sub, max, min, nanmax, nanmin, inc, dec, and,
 * or, xor and exch return the old value, as does `atomic_cas(address, expected, value)`. The forms
 * of numba.cuda.atomic accept an array and an index instead of the address: `atomic_add(a, i,
 * value)`, `atomic_add(a, {i, j}, value)`. The value is converted to the element's type.
 *
 * In max and min of floating-point numbers, a NaN in memory stays, and a NaN value changes nothing.
 * The functions nanmax and nanmin treat a NaN in memory as a missing value. The
 * function inc counts up to the value, then restarts at 0; dec counts down, and from 0 (or from
 * numbers above the value) continues at the value.
 *
 * Hardware atomics are used if available. Other operations are loops of compare-and-swap; for types
 * of one and two bytes, the loop changes the 32-bit word that contains the value (the simulator
 * accesses only the value's bytes). A maximum or minimum that would not change the element is not
 * stored. */
#ifndef NUMBALITE_ATOMICS_CUH
#define NUMBALITE_ATOMICS_CUH

#include "numbalite.cuh"

namespace numbalite {

template <class T> struct complex;

namespace nl_detail {

template <class T> struct same { typedef T type; };
template <class T> struct same<const T> {}; /* const: cannot be updated */

template <class To, class From> NUMBALITE_FUNCTION To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "types of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/* The integer type with which the hardware's compare-and-swap is called. */
template <int Size> struct word { typedef unsigned int type; /* for 1 and 2 bytes see narrow */ };
template <> struct word<8> { typedef unsigned long long type; };

template <int Size> struct narrow;
template <> struct narrow<1> { typedef unsigned char type; };
template <> struct narrow<2> { typedef unsigned short type; };

/* The storage of a value: a complete machine word, or some bits of a word. */
template <class T, bool Whole = (sizeof(T) >= 4)> struct cell {
    typedef typename word<sizeof(T)>::type Word;
    Word *place;

    NUMBALITE_FUNCTION explicit cell(T *address) : place((Word *)address) {}
    NUMBALITE_FUNCTION T get(Word w) const { return bits_as<T>(w); }
    NUMBALITE_FUNCTION Word put(Word, T value) const { return bits_as<Word>(value); }
};
#ifdef NUMBALITE_SIM_CHECKED
template <class T> struct cell<T, false> {
    typedef typename narrow<sizeof(T)>::type Word;
    Word *place;

    NUMBALITE_FUNCTION explicit cell(T *address) : place((Word *)address) {}
    NUMBALITE_FUNCTION T get(Word w) const { return bits_as<T>(w); }
    NUMBALITE_FUNCTION Word put(Word, T value) const { return bits_as<Word>(value); }
};
NUMBALITE_FUNCTION unsigned char compare_and_swap_byte(unsigned char *place, unsigned char old,
                                         unsigned char value) {
    __atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}
#else
template <class T> struct cell<T, false> {
    typedef unsigned int Word;
    typedef typename narrow<sizeof(T)>::type Narrow;
    Word *place;
    unsigned int shift;

    NUMBALITE_FUNCTION explicit cell(T *address)
        : place((Word *)((unsigned long long)address & ~3ull)),
          shift(8u * (unsigned int)((unsigned long long)address & 3)) {}
    NUMBALITE_FUNCTION T get(Word w) const { return bits_as<T>((Narrow)(w >> shift)); }
    NUMBALITE_FUNCTION Word put(Word w, T value) const {
        Word mask = (Word)(Narrow)-1 << shift;
        return (w & ~mask) | ((Word)bits_as<Narrow>(value) << shift);
    }
};
#endif
template <class Word> NUMBALITE_FUNCTION Word compare_and_swap_byte(Word *place, Word old, Word value) {
    return atomicCAS(place, old, value);
}

/* Repeats *address = change(*address) while wanted(*address) is true, until the compare-and-swap
 * succeeds; returns the old value. */
template <class T, class Wanted, class Change>
NUMBALITE_FUNCTION T update_while(T *address, Wanted wanted, Change change) {
    cell<T> c(address);
    typename cell<T>::Word old = *(volatile typename cell<T>::Word *)c.place, seen;
    while (wanted(c.get(old))) {
        seen = compare_and_swap_byte(c.place, old, c.put(old, change(c.get(old))));
        if (seen == old)
            break;
        old = seen;
    }
    return c.get(old);
}
template <class T, class Change> NUMBALITE_FUNCTION T update(T *address, Change change) {
    return update_while(
        address, [](T) { return true; }, change);
}

} // namespace nl_detail

#define NUMBALITE_VALUE(T) typename nl_detail::same<T>::type

/* ---- for any type: loops ---- */

#define NUMBALITE_UPDATE(name, expression) \
    template <class T> NUMBALITE_FUNCTION T name(T *address, NUMBALITE_VALUE(T) value) { \
        return nl_detail::update(address, [value](T old) { return (T)(expression); }); \
    }
#define NUMBALITE_UPDATE_IF(name, condition) \
    template <class T> NUMBALITE_FUNCTION T name(T *address, NUMBALITE_VALUE(T) value) { \
        return nl_detail::update_while( \
            address, [value](T old) { return condition; }, [value](T) { return value; }); \
    }
NUMBALITE_UPDATE(atomic_add, old + value)
NUMBALITE_UPDATE(atomic_sub, old - value)
NUMBALITE_UPDATE(atomic_and, old &value)
NUMBALITE_UPDATE(atomic_or, old | value)
NUMBALITE_UPDATE(atomic_xor, old ^ value)
NUMBALITE_UPDATE(atomic_inc, old >= value ? T(0) : T(old + 1))
NUMBALITE_UPDATE(atomic_dec, old == T(0) || old > value ? value : T(old - 1))
NUMBALITE_UPDATE(atomic_exch, value)
NUMBALITE_UPDATE_IF(atomic_max, old < value)
NUMBALITE_UPDATE_IF(atomic_min, old > value)
NUMBALITE_UPDATE_IF(atomic_nanmax, old < value || (old != old && value == value))
NUMBALITE_UPDATE_IF(atomic_nanmin, old > value || (old != old && value == value))
#undef NUMBALITE_UPDATE
#undef NUMBALITE_UPDATE_IF

template <class T>
NUMBALITE_FUNCTION T atomic_cas(T *address, NUMBALITE_VALUE(T) expected, NUMBALITE_VALUE(T) value) {
    nl_detail::cell<T> c(address);
    typename nl_detail::cell<T>::Word old = *(volatile typename nl_detail::cell<T>::Word *)c.place,
                                      seen;
    /* the other bits of the word may change during the operation, so only the bits of the value are
     * compared */
    while (c.put(old, expected) == old) {
        seen = nl_detail::compare_and_swap_byte(c.place, old, c.put(old, value));
        if (seen == old)
            break;
        old = seen;
    }
    return c.get(old);
}

/* Updates the real and the imaginary part separately: the sum is correct, but the parts of the
 * returned old value may belong to different times. */
template <class T>
NUMBALITE_FUNCTION complex<T> atomic_add(complex<T> *address, NUMBALITE_VALUE(complex<T>) value) {
    T re = atomic_add((T *)address, value.real());
    return complex<T>(re, atomic_add((T *)address + 1, value.imag()));
}
template <class T>
NUMBALITE_FUNCTION complex<T> atomic_sub(complex<T> *address, NUMBALITE_VALUE(complex<T>) value) {
    return atomic_add(address, -value);
}

/* ---- hardware atomics ---- */

#define NUMBALITE_NATIVE(name, T, Word, call) \
    NUMBALITE_FUNCTION T name(T *address, T value) { \
        return (T)call((Word *)address, (Word)value); \
    }
#define NUMBALITE_NATIVE_SUB(T, Word) \
    NUMBALITE_FUNCTION T atomic_sub(T *address, T value) { \
        return (T)atomicAdd((Word *)address, (Word)(0 - (Word)value)); \
    }
#define NUMBALITE_NATIVE_INTEGER(T, Unsigned, Word) \
    NUMBALITE_NATIVE(atomic_add, T, Unsigned, atomicAdd) \
    NUMBALITE_NATIVE_SUB(T, Unsigned) \
    NUMBALITE_NATIVE(atomic_and, T, Unsigned, atomicAnd) \
    NUMBALITE_NATIVE(atomic_or, T, Unsigned, atomicOr) \
    NUMBALITE_NATIVE(atomic_xor, T, Unsigned, atomicXor) \
    NUMBALITE_NATIVE(atomic_exch, T, Unsigned, atomicExch) \
    NUMBALITE_NATIVE(atomic_max, T, Word, atomicMax) \
    NUMBALITE_NATIVE(atomic_min, T, Word, atomicMin) \
    NUMBALITE_NATIVE(atomic_nanmax, T, Word, atomicMax) \
    NUMBALITE_NATIVE(atomic_nanmin, T, Word, atomicMin)
NUMBALITE_NATIVE_INTEGER(int, unsigned int, int)
NUMBALITE_NATIVE_INTEGER(unsigned int, unsigned int, unsigned int)
NUMBALITE_NATIVE_INTEGER(long long, unsigned long long, long long)
NUMBALITE_NATIVE_INTEGER(unsigned long long, unsigned long long, unsigned long long)
#ifndef _WIN32 /* long has 64 bits */
NUMBALITE_NATIVE_INTEGER(long, unsigned long long, long long)
NUMBALITE_NATIVE_INTEGER(unsigned long, unsigned long long, unsigned long long)
#endif
NUMBALITE_NATIVE(atomic_inc, unsigned int, unsigned int, atomicInc)
NUMBALITE_NATIVE(atomic_dec, unsigned int, unsigned int, atomicDec)
NUMBALITE_NATIVE(atomic_add, float, float, atomicAdd)
NUMBALITE_NATIVE(atomic_exch, float, float, atomicExch)
NUMBALITE_FUNCTION float atomic_sub(float *address, float value) {
    return atomicAdd(address, -value);
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
NUMBALITE_NATIVE(atomic_add, double, double, atomicAdd)
NUMBALITE_FUNCTION double atomic_sub(double *address, double value) {
    return atomicAdd(address, -value);
}
#endif
#undef NUMBALITE_NATIVE_INTEGER
#undef NUMBALITE_NATIVE_SUB
#undef NUMBALITE_NATIVE

/* ---- The forms of numba.cuda.atomic, with an array and an index instead of an address. ---- */

namespace nl_detail {

#ifdef NUMBALITE_DEBUG
typedef index coordinate;
#else
/* Converts indices of other integer types, so that an index in braces is not a narrowing error. */
struct coordinate {
    int64 value;
    template <class I> NUMBALITE_FUNCTION coordinate(I i) : value((int64)i) {}
    NUMBALITE_FUNCTION operator int64() const { return value; }
};
#endif

/* Returns a reference to the element at M indices, followed by further indices. */
template <int M> struct place_of {
    template <class T, int N, layout L, class... More>
    static NUMBALITE_FUNCTION T &in(const array<T, N, L> &a, const coordinate *at,
                                    const More &...more) {
        return place_of<M - 1>::in(a, at, at[M - 1], more...);
    }
};
template <> struct place_of<0> {
    template <class T, int N, layout L, class... All>
    static NUMBALITE_FUNCTION T &in(const array<T, N, L> &a, const coordinate *,
                                    const All &...all) {
        return a(all...);
    }
};

template <int M> struct several { typedef int yes; };
template <> struct several<1> {}; /* {i} is the same as i */

} // namespace nl_detail

#define NUMBALITE_INDEXED(name) \
    template <class T, layout L> \
    NUMBALITE_FUNCTION T name(const array<T, 1, L> &a, nl_detail::index i, \
                              NUMBALITE_VALUE(T) value) { \
        return name(&a[i], value); \
    } \
    template <class T, int N, layout L, int M, class = typename nl_detail::several<M>::yes> \
    NUMBALITE_FUNCTION T name(const array<T, N, L> &a, const nl_detail::coordinate(&at)[M], \
                              NUMBALITE_VALUE(T) value) { \
        return name(&nl_detail::place_of<M>::in(a, at), value); \
    }
NUMBALITE_INDEXED(atomic_add)
NUMBALITE_INDEXED(atomic_sub)
NUMBALITE_INDEXED(atomic_and)
NUMBALITE_INDEXED(atomic_or)
NUMBALITE_INDEXED(atomic_xor)
NUMBALITE_INDEXED(atomic_inc)
NUMBALITE_INDEXED(atomic_dec)
NUMBALITE_INDEXED(atomic_exch)
NUMBALITE_INDEXED(atomic_max)
NUMBALITE_INDEXED(atomic_min)
NUMBALITE_INDEXED(atomic_nanmax)
NUMBALITE_INDEXED(atomic_nanmin)
#undef NUMBALITE_INDEXED
template <class T, layout L>
NUMBALITE_FUNCTION T atomic_cas(const array<T, 1, L> &a, nl_detail::index i,
                                NUMBALITE_VALUE(T) expected, NUMBALITE_VALUE(T) value) {
    return atomic_cas(&a[i], expected, value);
}
template <class T, int N, layout L, int M, class = typename nl_detail::several<M>::yes>
NUMBALITE_FUNCTION T atomic_cas(const array<T, N, L> &a, const nl_detail::coordinate (&at)[M],
                                NUMBALITE_VALUE(T) expected, NUMBALITE_VALUE(T) value) {
    return atomic_cas(&nl_detail::place_of<M>::in(a, at), expected, value);
}

#undef NUMBALITE_VALUE

} // namespace numbalite

#endif
