/* ufunc: the kernels of element-wise functions.
 *
 * The generated source defines the operands and the computation of one element. This header and
 * vector_access.cuh define the other parts: conversions between an operand's type in memory and the
 * loop's type, operands that are values instead of arrays, and masks.
 *
 * Each thread computes a group of E elements (a piece). The thread reads all operands of an element
 * before it writes the outputs, so an output may be an input. */
#ifndef NUMBALITE_UFUNC_CUH
#define NUMBALITE_UFUNC_CUH

#include "numbalite.cuh"
#include "numbalite/convert.cuh"
#include "numbalite/vector_access.cuh"

namespace numbalite {
namespace nl_ufunc {

/* ---- operands ---- */

/* Kinds of operands: an input in memory, an input that is a value, a mask, an output. */
template <class Stored, class Type> struct in {};
template <class Type> struct value {};
struct mask {};
template <class Stored, class Type> struct out {};

/* The E elements of an operand that a thread processes at a time. The elements are either those of
 * a complete piece, which is loaded and then converted, or those of a piece of Whole elements from
 * element `first` on. Bit j of `selected` selects element first + j. `idle` has empty functions for
 * the steps that an operand does not need. */
template <class P, int E> struct idle {
    typedef typename P::place place;
    template <int I> NUMBALITE_FUNCTION void fetch(const P &, const place &) {}
    NUMBALITE_FUNCTION void convert() {}
    template <int I, int Whole>
    NUMBALITE_FUNCTION void load(const P &, const place &, int, unsigned int) {}
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const { return selected; }
    template <int I> NUMBALITE_FUNCTION void put(const P &, const place &, unsigned int) const {}
    template <int I, int Whole>
    NUMBALITE_FUNCTION void store(const P &, const place &, int, unsigned int) const {}
};

template <class Operand, class P, int E> struct lane;

template <class Stored, class Type, class P, int E>
struct lane<in<Stored, Type>, P, E> : idle<P, E> {
    typedef typename memory<Stored>::type T;
    typedef typename P::place place;
    typename P::template raw<T, E> raw;
    Type item[E];

    template <int I> NUMBALITE_FUNCTION void fetch(const P &p, const place &at) {
        p.template fetch<I>(at, raw);
    }
    NUMBALITE_FUNCTION void convert() {
#pragma unroll
        for (int j = 0; j < E; ++j)
            item[j] = converted(raw.get(j));
    }
    template <int I, int Whole>
    NUMBALITE_FUNCTION void load(const P &p, const place &at, int first, unsigned int selected) {
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                item[j] = converted(
                    read<P::is_careful, T>(p.template where<I, Whole>(at, first + j, sizeof(T))));
    }
    static NUMBALITE_FUNCTION Type converted(const T &x) {
        return convert_from_memory<Stored, Type>(x);
    }
};

template <class Type, class P, int E> struct lane<value<Type>, P, E> : idle<P, E> {
    Type item[E];

    template <int I> NUMBALITE_FUNCTION void fetch(const P &p, const typename P::place &) {
        Type one = value_in<Type>(p.operands[I]);
#pragma unroll
        for (int j = 0; j < E; ++j)
            item[j] = one;
    }
    template <int I, int Whole>
    NUMBALITE_FUNCTION void load(const P &p, const typename P::place &at, int, unsigned int) {
        fetch<I>(p, at);
    }
};

template <class P, int E> struct lane<mask, P, E> : lane<in<bool, bool>, P, E> {
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1 && !this->item[j])
                selected &= ~(1u << j);
        return selected;
    }
};

template <class Stored, class Type, class P, int E>
struct lane<out<Stored, Type>, P, E> : idle<P, E> {
    typedef typename memory<Stored>::type T;
    typedef typename P::place place;
    Type item[E];

    template <int I>
    NUMBALITE_FUNCTION void put(const P &p, const place &at, unsigned int selected) const {
        T items[E];
#pragma unroll
        for (int j = 0; j < E; ++j)
            items[j] = (T)nl_convert<Stored>(item[j]);
        p.template put<I>(at, selected, items);
    }
    template <int I, int Whole>
    NUMBALITE_FUNCTION void store(const P &p, const place &at, int first,
                                  unsigned int selected) const {
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                write<P::is_careful>(p.template where<I, Whole>(at, first + j, sizeof(T)),
                                     (T)nl_convert<Stored>(item[j]));
    }
};

/* The elements of all operands. Each class stores the elements of one operand, and derives from the
 * class of the next operand. */
template <class P, int E, int I, class... Operands> struct lanes : idle<P, E> {
    typedef typename P::place place;
    NUMBALITE_FUNCTION void fetch(const P &, const place &) {}
    template <int Whole>
    NUMBALITE_FUNCTION void load(const P &, const place &, int, unsigned int) {}
    NUMBALITE_FUNCTION void put(const P &, const place &, unsigned int) const {}
    template <int Whole>
    NUMBALITE_FUNCTION void store(const P &, const place &, int, unsigned int) const {}
};
template <class P, int E, int I, class Operand, class... Rest>
struct lanes<P, E, I, Operand, Rest...> : lanes<P, E, I + 1, Rest...> {
    typedef lanes<P, E, I + 1, Rest...> others;
    typedef typename P::place place;
    lane<Operand, P, E> mine;

    NUMBALITE_FUNCTION void fetch(const P &p, const place &at) {
        mine.template fetch<I>(p, at);
        others::fetch(p, at);
    }
    NUMBALITE_FUNCTION void convert() {
        mine.convert();
        others::convert();
    }
    template <int Whole>
    NUMBALITE_FUNCTION void load(const P &p, const place &at, int first, unsigned int selected) {
        mine.template load<I, Whole>(p, at, first, selected);
        others::template load<Whole>(p, at, first, selected);
    }
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
        return others::select(mine.select(selected));
    }
    NUMBALITE_FUNCTION void put(const P &p, const place &at, unsigned int selected) const {
        mine.template put<I>(p, at, selected);
        others::put(p, at, selected);
    }
    template <int Whole>
    NUMBALITE_FUNCTION void store(const P &p, const place &at, int first,
                                  unsigned int selected) const {
        mine.template store<I, Whole>(p, at, first, selected);
        others::template store<Whole>(p, at, first, selected);
    }
};

/* Element j of operand I. */
template <int I, class P, int E, class Operand, class... Rest>
NUMBALITE_FUNCTION auto &item(lanes<P, E, I, Operand, Rest...> &l, int j) {
    return l.mine.item[j];
}
template <class Type, class T> NUMBALITE_FUNCTION void assign(Type &to, const T &result) {
    to = nl_convert<Type>(result);
}
/* Stores a result, converted to the loop's type. */
template <int I, class Lanes, class T>
NUMBALITE_FUNCTION void put(Lanes &l, int j, const T &result) {
    assign(item<I>(l, j), result);
}

/* ---- the kernels ---- */

template <class... Operands> struct has_mask {
    enum { value = false };
};
template <class... Rest> struct has_mask<mask, Rest...> {
    enum { value = true };
};
template <class First, class... Rest> struct has_mask<First, Rest...> : has_mask<Rest...> {};

/* Element::apply(lanes, j) computes element j. For a complete piece, a thread loads all E elements
 * of the operands before it computes; a mask only selects the elements to compute and store.
 * Incomplete pieces at the ends of arrays are computed a few elements at a time. */
template <class Element, int E, class... Operands, class P>
NUMBALITE_FUNCTION void run(const P &p) {
    constexpr int few = E > 4 ? 4 : 1;
    typename P::place at;
    if (!p.template find<E>((long long)blockIdx.x * BLOCK + threadIdx.x, at))
        return;
    if (p.template is_whole<E>(at)) {
        lanes<P, E, 0, Operands...> all;
        all.fetch(p, at);
        all.convert();
        unsigned int selected = all.select(ALL_OF<E>);
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (!has_mask<Operands...>::value || selected >> j & 1)
                Element::apply(all, j);
        all.put(p, at, selected);
        return;
    }
    if constexpr (E > 1 || P::has_ends) {
        unsigned int selected = p.template present<E>(at);
#pragma unroll 1
        for (int first = 0; first < E; first += few) {
            lanes<P, few, 0, Operands...> some;
            unsigned int part = selected >> first & ALL_OF<few>;
            if (part == 0)
                continue;
            some.template load<E>(p, at, first, part);
            part = some.select(part);
#pragma unroll
            for (int j = 0; j < few; ++j)
                if (part >> j & 1)
                    Element::apply(some, j);
            some.template store<E>(p, at, first, part);
        }
    }
}

} // namespace nl_ufunc
} // namespace numbalite

#endif
