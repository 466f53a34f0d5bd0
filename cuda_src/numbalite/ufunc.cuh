/* ufunc: the kernels of element-wise functions.
 *
 * A generated source says what the operands are and how one element is computed; everything around
 * it is here: where elements lie, conversions between an operand's type in memory and the loop's,
 * accesses of 16 bytes, masks. Parameter structs mirror cext/core/loop.h: slots first, which hold
 * a pointer or a value, then extents, then strides in bytes, dimensions outermost first.
 *
 *     flat      every operand is dense, or one element for all
 *     rows      dense or one element along the last dimension ("columns"), strided in the others
 *     strided   anything, with indices of 32 or 64 bits; 64 also takes elements that are unaligned
 *
 * There is a thread for each piece of V elements. It reads all of them before it writes, so that an
 * output may be an input. */
#ifndef NUMBALITE_UFUNC_CUH
#define NUMBALITE_UFUNC_CUH

#include "numbalite.cuh"
#include "numbalite/convert.cuh"

namespace numbalite {
namespace nl_ufunc {

/* ---- memory ---- */

/* How a number lies in memory: a bool is a byte, and not 0 is true. */
template <class T> struct memory { typedef T type; };
template <> struct memory<bool> { typedef unsigned char type; };

template <class T> struct part {
    enum { size = sizeof(T) };
};
#ifdef NUMBALITE_COMPLEX_CUH
template <class T> struct part<complex<T>> {
    enum { size = sizeof(T) };
};
#endif

template <class T, int N> struct alignas(sizeof(T) * N) pack { T item[N]; };

template <class T, int V> struct packs {
    enum { each = V * (int)sizeof(T) > 16 ? 16 / (int)sizeof(T) : V };
    enum { count = V / each };
    typedef pack<T, each> type;
};

template <bool Careful, class T> NUMBALITE_FUNCTION T read(const char *at) {
    if constexpr (Careful && part<T>::size > 1) {
        if ((unsigned long long)at % part<T>::size) {
            T value;
            for (int i = 0; i < (int)sizeof(T); ++i)
                ((unsigned char *)&value)[i] = ((const unsigned char *)at)[i];
            return value;
        }
    }
    return *(const T *)at;
}
template <bool Careful, class T> NUMBALITE_FUNCTION void write(char *at, const T &value) {
    if constexpr (Careful && part<T>::size > 1) {
        if ((unsigned long long)at % part<T>::size) {
            for (int i = 0; i < (int)sizeof(T); ++i)
                ((unsigned char *)at)[i] = ((const unsigned char *)&value)[i];
            return;
        }
    }
    *(T *)at = value;
}

/* ---- parameters ---- */

struct alignas(16) slot {
    unsigned long long word[2];
};
template <class T> NUMBALITE_FUNCTION T value_in(const slot &s) {
    unsigned long long words[2] = {s.word[0], s.word[1]};
    typename memory<T>::type value;
    memcpy(&value, words, sizeof(value));
    return (T)value;
}

struct divider {
    unsigned int magic, shift;
};
/* n / d for n < 2^31 */
NUMBALITE_FUNCTION unsigned int divide(unsigned int n, divider by) {
    return (__umulhi(n, by.magic) + n) >> by.shift;
}

/* Takes an index apart into one for each of D dimensions. */
template <int D>
NUMBALITE_FUNCTION void take_apart(unsigned int rest, const long long *shape, const divider *by,
                                   int *index) {
#pragma unroll
    for (int d = D - 1; d > 0; --d) {
        unsigned int next = divide(rest, by[d]);
        index[d] = (int)(rest - next * (unsigned int)shape[d]);
        rest = next;
    }
    index[0] = (int)rest;
}
template <int D>
NUMBALITE_FUNCTION void take_apart(unsigned long long rest, const long long *shape, const divider *,
                                   long long *index) {
#pragma unroll
    for (int d = D - 1; d > 0; --d) {
        unsigned long long n = (unsigned long long)shape[d], next;
        if ((rest | n) >> 32)
            next = rest / n;
        else
            next = (unsigned int)rest / (unsigned int)n;
        index[d] = (long long)(rest - next * n);
        rest = next;
    }
    index[0] = (long long)rest;
}

/* Each struct of parameters knows how many pieces of work there are (of V elements each), where a
 * piece is, and how many bytes from its start an operand's first element of the piece lies.
 * has_runs: dense operands are runs of elements, aligned for wide accesses. */
template <int N> struct flat {
    enum { is_careful = false, has_runs = true };
    struct place {
        long long first;
    };
    slot operands[N];
    long long count;
    unsigned long long advance;

    template <int V> NUMBALITE_FUNCTION long long pieces() const { return (count + V - 1) / V; }
    template <int V> NUMBALITE_FUNCTION int find(long long piece, place &at) const {
        at.first = piece * V;
        return count - at.first < V ? (int)(count - at.first) : V;
    }
    template <int I> NUMBALITE_FUNCTION bool is_dense() const { return advance >> I & 1; }
    template <int I> NUMBALITE_FUNCTION long long offset(const place &at, int itemsize) const {
        return is_dense<I>() ? at.first * itemsize : 0;
    }
};

template <int N, int D> struct rows {
    enum { is_careful = false, has_runs = true };
    struct place {
        int index[D];
        long long column;
    };
    slot operands[N];
    long long count, columns;
    unsigned long long advance;
    long long shape[D];
    divider by[D];
    long long strides[N][D];

    template <int V> NUMBALITE_FUNCTION long long pieces() const {
        return count * ((columns + V - 1) / V);
    }
    template <int V> NUMBALITE_FUNCTION int find(long long piece, place &at) const {
        long long each = (columns + V - 1) / V, row;
        if ((piece | each) >> 32)
            row = piece / each;
        else
            row = (unsigned int)piece / (unsigned int)each;
        at.column = (piece - row * each) * V;
        take_apart<D>((unsigned int)row, shape, by, at.index);
        return columns - at.column < V ? (int)(columns - at.column) : V;
    }
    template <int I> NUMBALITE_FUNCTION bool is_dense() const { return advance >> I & 1; }
    template <int I> NUMBALITE_FUNCTION long long offset(const place &at, int itemsize) const {
        long long sum = is_dense<I>() ? at.column * itemsize : 0;
#pragma unroll
        for (int d = 0; d < D; ++d)
            sum += at.index[d] * strides[I][d];
        return sum;
    }
};

template <class Index> struct index_type { typedef unsigned int type; };
template <> struct index_type<long long> { typedef unsigned long long type; };

template <int N, int D, class Index> struct strided {
    enum { is_careful = sizeof(Index) == 8, has_runs = false };
    struct place {
        Index index[D];
    };
    slot operands[N];
    long long count;
    long long shape[D];
    divider by[D];
    long long strides[N][D];

    template <int V> NUMBALITE_FUNCTION long long pieces() const { return count; }
    template <int V> NUMBALITE_FUNCTION int find(long long piece, place &at) const {
        take_apart<D>((typename index_type<Index>::type)piece, shape, by, at.index);
        return 1;
    }
    template <int I> NUMBALITE_FUNCTION bool is_dense() const { return true; }
    template <int I> NUMBALITE_FUNCTION Index offset(const place &at, int) const {
        Index sum = 0;
#pragma unroll
        for (int d = 0; d < D; ++d)
            sum += at.index[d] * (Index)strides[I][d];
        return sum;
    }
};

/* ---- operands ---- */

/* Kinds of operands: an input in memory, one given by value, a mask, an output. */
template <class Stored, class Type> struct in {};
template <class Type> struct value {};
struct mask {};
template <class Stored, class Type> struct out {};

/* The V elements of an operand that one thread has in hand. `selected` has a bit for each of them.
 */
template <class Operand, int V> struct lane;

template <class Stored, class Type, int V> struct lane<in<Stored, Type>, V> {
    Type item[V];

    template <int I, class P>
    NUMBALITE_FUNCTION void load(const P &p, const typename P::place &at, unsigned int selected) {
        typedef typename memory<Stored>::type T;
        const char *from =
            (const char *)p.operands[I].word[0] + p.template offset<I>(at, sizeof(T));
        if (!p.template is_dense<I>()) {
            Type one = nl_convert<Type>(as_stored(read<P::is_careful, T>(from)));
#pragma unroll
            for (int j = 0; j < V; ++j)
                item[j] = one;
        } else if (!P::has_runs || selected != (1u << V) - 1) {
#pragma unroll
            for (int j = 0; j < V; ++j)
                item[j] = selected >> j & 1
                              ? nl_convert<Type>(
                                    as_stored(read<P::is_careful, T>(from + j * (int)sizeof(T))))
                              : item[0];
        } else {
            typedef packs<T, V> whole;
            typename whole::type pack[whole::count];
#pragma unroll
            for (int k = 0; k < whole::count; ++k)
                pack[k] = ((const typename whole::type *)from)[k];
#pragma unroll
            for (int j = 0; j < V; ++j)
                item[j] = nl_convert<Type>(as_stored(pack[j / whole::each].item[j % whole::each]));
        }
    }
    static NUMBALITE_FUNCTION Stored as_stored(const typename memory<Stored>::type &x) {
        if constexpr (nl_detail::is_same_type<Stored, bool>::value)
            return x != 0;
        else
            return x;
    }
    template <int I, class P>
    NUMBALITE_FUNCTION void store(const P &, const typename P::place &, unsigned int) const {}
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
        return selected;
    }
};

template <class Type, int V> struct lane<value<Type>, V> {
    Type item[V];

    template <int I, class P>
    NUMBALITE_FUNCTION void load(const P &p, const typename P::place &, unsigned int) {
        Type one = value_in<Type>(p.operands[I]);
#pragma unroll
        for (int j = 0; j < V; ++j)
            item[j] = one;
    }
    template <int I, class P>
    NUMBALITE_FUNCTION void store(const P &, const typename P::place &, unsigned int) const {}
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
        return selected;
    }
};

template <int V> struct lane<mask, V> : lane<in<bool, bool>, V> {
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
        unsigned int wanted = 0;
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (selected >> j & 1)
                wanted |= this->item[j] ? 1u << j : 0;
        return wanted;
    }
};

template <class Stored, class Type, int V> struct lane<out<Stored, Type>, V> {
    Type item[V];

    template <int I, class P>
    NUMBALITE_FUNCTION void load(const P &, const typename P::place &, unsigned int) {}
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const { return selected; }

    template <int I, class P>
    NUMBALITE_FUNCTION void store(const P &p, const typename P::place &at,
                                  unsigned int selected) const {
        typedef typename memory<Stored>::type T;
        char *to = (char *)p.operands[I].word[0] + p.template offset<I>(at, sizeof(T));
        if (!P::has_runs || selected != (1u << V) - 1 || !p.template is_dense<I>()) {
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (selected >> j & 1)
                    write<P::is_careful, T>(to + j * (int)sizeof(T),
                                            (T)nl_convert<Stored>(item[j]));
        } else {
            typedef packs<T, V> whole;
            typename whole::type pack[whole::count];
#pragma unroll
            for (int j = 0; j < V; ++j)
                pack[j / whole::each].item[j % whole::each] = (T)nl_convert<Stored>(item[j]);
#pragma unroll
            for (int k = 0; k < whole::count; ++k)
                ((typename whole::type *)to)[k] = pack[k];
        }
    }
};

/* All operands' lanes, the first one outermost. */
template <int V, int I, class... Operands> struct lanes {
    template <class P>
    NUMBALITE_FUNCTION void load(const P &, const typename P::place &, unsigned int) {}
    template <class P>
    NUMBALITE_FUNCTION void store(const P &, const typename P::place &, unsigned int) const {}
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const { return selected; }
};
template <int V, int I, class Operand, class... Rest>
struct lanes<V, I, Operand, Rest...> : lanes<V, I + 1, Rest...> {
    typedef lanes<V, I + 1, Rest...> others;
    lane<Operand, V> mine;

    template <class P>
    NUMBALITE_FUNCTION void load(const P &p, const typename P::place &at, unsigned int selected) {
        mine.template load<I>(p, at, selected);
        others::load(p, at, selected);
    }
    template <class P>
    NUMBALITE_FUNCTION void store(const P &p, const typename P::place &at,
                                  unsigned int selected) const {
        mine.template store<I>(p, at, selected);
        others::store(p, at, selected);
    }
    NUMBALITE_FUNCTION unsigned int select(unsigned int selected) const {
        return others::select(mine.select(selected));
    }
};

/* Operand I of element j. */
template <int I, int V, class Operand, class... Rest>
NUMBALITE_FUNCTION auto &item(lanes<V, I, Operand, Rest...> &l, int j) {
    return l.mine.item[j];
}
template <class Type, class T> NUMBALITE_FUNCTION void assign(Type &to, const T &result) {
    to = nl_convert<Type>(result);
}
/* Puts a result there, as the loop's type. */
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

/* Element::apply(lanes, j) computes element j. Where elements are missing at the end, the first one
 * stands in for them: all are computed side by side, without a branch for each, unless that would
 * be noticed (Element::has_effects). */
template <class Element, int V, class... Operands, class P>
NUMBALITE_FUNCTION void run(const P &p) {
    const long long piece = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= p.template pieces<V>())
        return;
    typename P::place at;
    int n = p.template find<V>(piece, at);
    unsigned int selected = V == 1 ? 1u : (1u << n) - 1;
    lanes<V, 0, Operands...> all;
    all.load(p, at, selected);
    selected = all.select(selected);
#pragma unroll
    for (int j = 0; j < V; ++j)
        if (!(has_mask<Operands...>::value || Element::has_effects) || (selected >> j & 1))
            Element::apply(all, j);
    all.store(p, at, selected);
}

} // namespace nl_ufunc
} // namespace numbalite

#endif
