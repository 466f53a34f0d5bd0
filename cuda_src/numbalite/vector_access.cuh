/* vector_access: addresses of the elements of a ufunc's operands, and vectorized loads and stores.
 *
 * The parameter structs mirror cext/core/loop.h: slots first, which contain a pointer or a value,
 * then extents, then strides in bytes, outermost dimension first.
 *
 *     `flat`: each operand is contiguous and aligned, or one element for all results.
 *     `rows`: as flat along the last dimension ("columns"); strided in the other dimensions.
 *     `shifted`: as rows, without the alignment that wide accesses need.
 *     `tiled`: some operands are contiguous along the columns, others along the rows, for example
 *     if one of them is transposed.
 *     `strided`: any strides, with 32-bit or 64-bit indices. With 64-bit indices, elements may be
 *     unaligned. With E = 1, also used for contiguous unaligned operands of 8-byte elements.
 *
 * A piece is a group of E elements that one thread computes. Each layout has these members:
 *
 *     `find<E>(piece, place)`: locates a piece; returns false past the last row.
 *     `is_whole<E>(place)`: whether all elements of the piece exist, so that fetch may read it.
 *     `present<E>(place)`: for a piece that is not whole, a mask of the elements that exist, or 0.
 *     `fetch<I>(place, raw)`: loads the elements of operand I, unconverted; raw.get(j) is element j.
 *     `put<I>(place, selected, items)`: stores the selected elements of a whole piece.
 *     `where<I, E>(place, j, size)`: the address of one element.
 *
 * A piece of one element is whole if the element exists, except at the ends of rows if `has_ends`.
 *
 * Loaded values remain in the words that were read until all operands are loaded. Unpack values
 * only after all loads were issued: otherwise each load waits for the previous load, at the end of
 * the branches of an operand's load. */
#ifndef NUMBALITE_VECTOR_ACCESS_CUH
#define NUMBALITE_VECTOR_ACCESS_CUH

#include "numbalite.cuh"
#include "numbalite/ufunc_operand.cuh"
#include "numbalite/unsigned_types.cuh"

namespace numbalite {
namespace nl_ufunc {

enum { BLOCK = 256 }; /* threads */

/* ---- parameters ---- */

struct divider {
    unsigned int magic, shift;
};
/* n / d, for n < 2^31 */
NUMBALITE_FUNCTION unsigned int divide(unsigned int n, divider by) {
    return (__umulhi(n, by.magic) + n) >> by.shift;
}

/* Converts a linear index to one index for each of D dimensions. */
template <int D>
NUMBALITE_FUNCTION void unravel_index(unsigned int rest, const long long *shape, const divider *by,
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
NUMBALITE_FUNCTION void unravel_index(unsigned long long rest, const long long *shape, const divider *,
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

/* Returns a mask of the bits low to high - 1; both limits are clamped to 0..`most`. */
NUMBALITE_FUNCTION unsigned int mask_of_bit_range(long long low, long long high, int most) {
    low = low < 0 ? 0 : low;
    high = high > most ? most : high;
    return high <= low ? 0u : (1u << (high - 1) << 1) - (1u << low);
}
template <int E> constexpr unsigned int ALL_OF = (1u << (E - 1) << 1) - 1;

NUMBALITE_FUNCTION long long divide_64(long long n, long long by) {
    if ((n | by) >> 32)
        return n / by;
    return (unsigned int)n / (unsigned int)by;
}

/* ---- memory ---- */

template <class T, int N> struct alignas(sizeof(T) * N) pack { T item[N]; };

/* E consecutive elements, stored as the words that wide accesses read. */
template <class T, int E> struct bundle {
    enum { size = E * (int)sizeof(T), unit = size < 16 ? size : 16 };
    typedef typename word_of<size % 4 ? size % 4 : 4>::type word_type;
    enum { count = size / (int)sizeof(word_type), each = unit / (int)sizeof(word_type) };
    word_type w[count];

    NUMBALITE_FUNCTION void fetch(const char *from) {
        typedef pack<word_type, each> access;
#pragma unroll
        for (int k = 0; k < count; k += each) {
            access a = *(const access *)(from + k * (int)sizeof(word_type));
#pragma unroll
            for (int i = 0; i < each; ++i)
                w[k + i] = a.item[i];
        }
    }
    NUMBALITE_FUNCTION T get(int j) const {
        T value;
        memcpy(&value, (const char *)w + j * (int)sizeof(T), sizeof(T));
        return value;
    }
    NUMBALITE_FUNCTION void set(int j, T value) {
        memcpy((char *)w + j * (int)sizeof(T), &value, sizeof(T));
    }
    NUMBALITE_FUNCTION void fill(T value) {
#pragma unroll
        for (int j = 0; j < E; ++j)
            set(j, value);
    }
};

/* Elements that are loaded one by one, with the interface of `wide`. */
template <class T, int E> struct loose {
    T item[E];
    NUMBALITE_FUNCTION T get(int j) const { return item[j]; }
};

NUMBALITE_FUNCTION bool is_address_multiple(const char *address, int size) {
    return ((unsigned long long)address & (unsigned long long)(size - 1)) == 0;
}

template <class T, int E> NUMBALITE_FUNCTION void put_run(char *to, const T *items) {
    constexpr int each = bundle<T, E>::unit / (int)sizeof(T);
#pragma unroll
    for (int k = 0; k < E; k += each) {
        pack<T, each> access;
#pragma unroll
        for (int i = 0; i < each; ++i)
            access.item[i] = items[k + i];
        *(pack<T, each> *)(to + k * (int)sizeof(T)) = access;
    }
}

/* A complex number is aligned like its real part. If the address of a complex number is a multiple
 * of its size, the number is loaded with one access, otherwise with one access for each part.
 * Vector types and word types distinguish these cases, because NVRTC 13.0 merges two loads of the
 * same type to one load with the larger alignment. */
template <int Size> struct vector_of : word_of<Size> {};
template <> struct vector_of<8> { typedef uint2 type; };
template <class T> union one_access {
    enum { parts = sizeof(T) / alignof(T) };
    typedef typename vector_of<sizeof(T)>::type type;
    typedef typename word_of<alignof(T)>::type part_type;
    type word;
    part_type part[parts];
    T value;
    NUMBALITE_FUNCTION one_access() {}
};

template <bool Careful, class T> NUMBALITE_FUNCTION T read(const char *at) {
    if constexpr (Careful && sizeof(T) > 1) {
        if (!is_address_multiple(at, sizeof(T))) {
            T value;
            for (int i = 0; i < (int)sizeof(T); ++i)
                ((unsigned char *)&value)[i] = ((const unsigned char *)at)[i];
            return value;
        }
    }
    if constexpr (sizeof(T) > alignof(T)) {
        typedef one_access<T> access;
        access all;
        if (is_address_multiple(at, sizeof(T))) {
            all.word = *(const typename access::type *)at;
        } else {
#pragma unroll
            for (int i = 0; i < access::parts; ++i)
                all.part[i] = ((const typename access::part_type *)at)[i];
        }
        return all.value;
    } else {
        return *(const T *)at;
    }
}
template <bool Careful, class T> NUMBALITE_FUNCTION void write(char *at, const T &value) {
    if constexpr (Careful && sizeof(T) > 1) {
        if (!is_address_multiple(at, sizeof(T))) {
            for (int i = 0; i < (int)sizeof(T); ++i)
                ((unsigned char *)at)[i] = ((const unsigned char *)&value)[i];
            return;
        }
    }
    if constexpr (sizeof(T) > alignof(T)) {
        typedef one_access<T> access;
        access all;
        all.value = value;
        if (is_address_multiple(at, sizeof(T))) {
            *(typename access::type *)at = all.word;
        } else {
#pragma unroll
            for (int i = 0; i < access::parts; ++i)
                ((typename access::part_type *)at)[i] = all.part[i];
        }
    } else {
        *(T *)at = value;
    }
}

/* ---- flat ---- */

template <int N> struct flat {
    enum { is_careful = false, has_ends = false };
    template <class T, int E> using raw = bundle<T, E>;
    struct place {
        long long first;
    };
    slot operands[N];
    long long count;
    unsigned long long advance;

    template <int E> NUMBALITE_FUNCTION bool find(long long piece, place &at) const {
        at.first = piece * E;
        return true;
    }
    template <int E> NUMBALITE_FUNCTION unsigned int present(const place &at) const {
        return mask_of_bit_range(0, count - at.first, E);
    }
    template <int E> NUMBALITE_FUNCTION bool is_whole(const place &at) const {
        return count - at.first >= E;
    }
    template <int I> NUMBALITE_FUNCTION bool is_dense() const { return advance >> I & 1; }
    template <int I, int E> NUMBALITE_FUNCTION char *where(const place &at, int j, int size) const {
        return (char *)operands[I].word[0] + (is_dense<I>() ? (at.first + j) * size : 0);
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void fetch(const place &at, bundle<T, E> &raw) const {
        if (is_dense<I>())
            raw.fetch(where<I, E>(at, 0, sizeof(T)));
        else
            raw.fill(*(const T *)where<I, E>(at, 0, 0));
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void put(const place &at, unsigned int selected, const T (&items)[E]) const {
        char *to = where<I, E>(at, 0, sizeof(T));
        if (selected == ALL_OF<E> && is_dense<I>())
            return put_run<T, E>(to, items);
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                *(T *)where<I, E>(at, j, sizeof(T)) = items[j];
    }
};

/* ---- rows ---- */

template <int N, int D> struct rows {
    enum { is_careful = false, has_ends = false };
    template <class T, int E> using raw = bundle<T, E>;
    struct place {
        int index[D];
        long long column;
    };
    slot operands[N];
    long long count, columns;
    unsigned long long advance;
    /* divides by the number of pieces of a row; magic is 0 if there are too many pieces for 32
     * bits */
    divider by_row;
    long long shape[D];
    divider by[D];
    long long strides[N][D];

    /* Converts the index of a piece to the indices of its row. Each row has `each` pieces. Returns
     * the index of the piece in its row, or -1 past the last row. */
    NUMBALITE_FUNCTION long long find_row(long long piece, long long each, place &at) const {
        if (count == 1) { /* all threads take the same branch, which saves a division */
#pragma unroll
            for (int d = 0; d < D; ++d)
                at.index[d] = 0;
            return piece < each ? piece : -1;
        }
        if (by_row.magic != 0) {
            unsigned int row = divide((unsigned int)piece, by_row);
            unravel_index<D>(row, shape, by, at.index);
            return row < count ? (int)((unsigned int)piece - row * (unsigned int)each) : -1;
        }
        long long row = divide_64(piece, each);
        unravel_index<D>((unsigned int)row, shape, by, at.index);
        return row < count ? piece - row * each : -1;
    }
    template <int E> NUMBALITE_FUNCTION bool find(long long piece, place &at) const {
        long long k = find_row(piece, (columns + E - 1) / E, at);
        at.column = k * E;
        return k >= 0;
    }
    template <int E> NUMBALITE_FUNCTION unsigned int present(const place &at) const {
        return mask_of_bit_range(-at.column, columns - at.column, E);
    }
    template <int E> NUMBALITE_FUNCTION bool is_whole(const place &at) const {
        return columns - at.column >= E;
    }
    template <int I> NUMBALITE_FUNCTION bool is_dense() const {
        return advance >> I & 1;
    }
    template <int I> NUMBALITE_FUNCTION char *row_of(const place &at) const {
        char *start = (char *)operands[I].word[0];
#pragma unroll
        for (int d = 0; d < D; ++d)
            start += (unsigned int)at.index[d] * (unsigned long long)strides[I][d];
        return start;
    }
    template <int I, int E> NUMBALITE_FUNCTION char *where(const place &at, int j, int size) const {
        return row_of<I>(at) + (is_dense<I>() ? (at.column + j) * size : 0);
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void fetch(const place &at, bundle<T, E> &raw) const {
        if (is_dense<I>())
            raw.fetch(where<I, E>(at, 0, sizeof(T)));
        else
            raw.fill(*(const T *)row_of<I>(at));
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void put(const place &at, unsigned int selected, const T (&items)[E]) const {
        char *to = where<I, E>(at, 0, sizeof(T));
        if (selected == ALL_OF<E> && is_dense<I>())
            return put_run<T, E>(to, items);
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                *(T *)where<I, E>(at, j, sizeof(T)) = items[j];
    }
};

/* Contains E consecutive elements and the bytes around them, as the complete 16-byte units (smaller
 * for small pieces) that contain them; the elements begin `shift` bytes after the start. */
template <class T, int E> struct around {
    typedef bundle<T, E> whole;
    enum { count = whole::count, each = whole::each, is_wide = whole::size % 4 == 0 };
    typename whole::word_type w[count + (is_wide ? each : 0)];
    int shift;

    NUMBALITE_FUNCTION void fetch(const char *from, bool is_dense) {
        shift = is_dense ? (int)((unsigned long long)from & (whole::unit - 1)) : 0;
        if (!is_dense) {
            whole same;
            same.fill(*(const T *)from);
            take(same);
        } else if constexpr (is_wide) {
#pragma unroll
            for (int k = 0; k < count; k += each)
                take_unit(from - shift, k);
            take_rest(from - shift);
        } else {
            whole single;
#pragma unroll
            for (int j = 0; j < E; ++j)
                single.set(j, *(const T *)(from + j * (int)sizeof(T)));
            take(single);
        }
    }
    NUMBALITE_FUNCTION void take_unit(const char *from, int k) {
        typedef pack<typename whole::word_type, each> access;
        access a = *(const access *)(from + k * (int)sizeof(typename whole::word_type));
#pragma unroll
        for (int i = 0; i < each; ++i)
            w[k + i] = a.item[i];
    }
    /* Unaligned elements extend into one more unit. For elements of 4 bytes, loads only the needed
     * elements of the additional unit (368 us instead of 374 us); for other elements, loads the
     * complete unit (for bytes 97 us instead of 103 us). */
    NUMBALITE_FUNCTION void take_rest(const char *from) {
        if constexpr (sizeof(T) == 4) {
#pragma unroll
            for (int i = 0; i < each; ++i)
                if (4 * i < shift)
                    w[count + i] = *(const unsigned int *)(from + 4 * (count + i));
        } else if (shift != 0) {
            take_unit(from, count);
        }
    }
    NUMBALITE_FUNCTION void take(const whole &other) {
#pragma unroll
        for (int k = 0; k < count; ++k)
            w[k] = other.w[k];
    }
    /* word(k) returns the 32-bit word k of the elements. The loaded words are shifted down by
     * `shift` bytes in three steps, one for each group of the bits of `shift`: after_8 by 8 bytes
     * (bit 3), after_4 by 4 bytes (bit 2), word by 0 to 3 bytes (bits 1 and 0). A step is omitted
     * if the alignment of T makes its bits zero. */
    NUMBALITE_FUNCTION unsigned int after_8(int k) const {
        if constexpr (each == 4 && alignof(T) <= 8)
            return shift & 8 ? w[k + 2] : w[k];
        return w[k];
    }
    NUMBALITE_FUNCTION unsigned int after_4(int k) const {
        if constexpr (each >= 2 && alignof(T) <= 4)
            return shift & 4 ? after_8(k + 1) : after_8(k);
        return after_8(k);
    }
    NUMBALITE_FUNCTION unsigned int word(int k) const {
        if constexpr (alignof(T) < 4)
            return __funnelshift_r(after_4(k), after_4(k + 1), shift % 4 * 8);
        return after_4(k);
    }
    NUMBALITE_FUNCTION T get(int j) const {
        whole shifted;
#pragma unroll
        for (int k = 0; k < count; ++k) {
            if constexpr (is_wide)
                shifted.w[k] = word(k);
            else
                shifted.w[k] = w[k];
        }
        return shifted.get(j);
    }
};

/* ---- shifted ----
 *
 * The pieces of a row are chosen such that operand Out, whose itemsize is Itemsize, is aligned and
 * stored by wide accesses. If another operand is unaligned at this offset, a thread loads the
 * aligned units that contain its piece, which is one more unit, and shifts them. A piece counts as
 * incomplete if it is so close to an end of the row that its aligned units could be outside of the
 * array. */
template <int N, int D, int Out, int Itemsize> struct shifted : rows<N, D> {
    enum { has_ends = true };
    template <class T, int E> using raw = around<T, E>;
    typedef rows<N, D> base;
    typedef typename base::place place;

    template <int E> NUMBALITE_FUNCTION bool find(long long piece, place &at) const {
        constexpr int unit = E * Itemsize < 16 ? E * Itemsize : 16;
        long long k = base::find_row(piece, (this->columns + 2 * E - 2) / E, at);
        unsigned long long row = (unsigned long long)base::template row_of<Out>(at);
        at.column = k * E - (int)(row & (unit - 1)) / Itemsize;
        return k >= 0;
    }
    template <int E> NUMBALITE_FUNCTION bool is_whole(const place &at) const {
        return at.column >= E && this->columns - at.column >= 2 * E;
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void fetch(const place &at, around<T, E> &raw) const {
        raw.fetch(base::template where<I, E>(at, 0, sizeof(T)), base::template is_dense<I>());
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void put(const place &at, unsigned int selected, const T (&items)[E]) const {
        char *to = base::template where<I, E>(at, 0, sizeof(T));
        if (selected == ALL_OF<E> && base::template is_dense<I>() &&
            is_address_multiple(to, bundle<T, E>::unit))
            return put_run<T, E>(to, items);
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                write<false, T>(base::template where<I, E>(at, j, sizeof(T)), items[j]);
    }
};

/* ---- tiled ----
 *
 * A thread has a square of elements in registers, and loads each operand along the dimension in
 * which the operand is contiguous. A block has 16 x 16 such squares, each warp 8 x 4, so that the
 * addresses of a warp's access form contiguous runs of several threads. */
template <int N, int D> struct tiled {
    enum { is_careful = false, has_ends = false };
    struct place {
        int index[D];
        long long row, column;
    };
    slot operands[N];
    long long count, columns, rows;
    unsigned long long along_columns, along_rows;
    long long shape[D];
    divider by[D];
    long long strides[N][D + 2]; /* the last two strides are row stride and column stride */

    template <int E> static constexpr int side = E >= 16 ? 4 : E >= 4 ? 2 : 1;

    /* The elements of a square, as contiguous runs along the rows or, if is_across, along the
     * columns. */
    template <class T, int E> struct raw {
        bundle<T, side<E>> runs[side<E>];
        bool is_across;

        NUMBALITE_FUNCTION T get(int j) const {
            constexpr int V = side<E>;
            T along = runs[j / V].get(j % V), across = runs[j % V].get(j / V);
            return is_across ? across : along;
        }
    };

    template <int E> NUMBALITE_FUNCTION bool find(long long piece, place &at) const {
        constexpr int V = side<E>, tile = 16 * V;
        long long across = (columns + tile - 1) / tile, down = (rows + tile - 1) / tile;
        long long block = piece / BLOCK, y = divide_64(block, across), x = block - y * across;
        long long outer = divide_64(y, down);
        int lane = (int)(piece % 32), warp = (int)(piece % BLOCK) / 32;
        y -= outer * down;
        unravel_index<D>((unsigned int)outer, shape, by, at.index);
        at.column = x * tile + (lane % 8 + warp % 2 * 8) * V;
        at.row = y * tile + (lane / 8 + warp / 2 * 4) * V;
        return outer < count;
    }
    template <int E> NUMBALITE_FUNCTION unsigned int present(const place &at) const {
        constexpr int V = side<E>;
        unsigned int one_row = mask_of_bit_range(0, columns - at.column, V), selected = 0;
#pragma unroll
        for (int r = 0; r < V; ++r)
            if (at.row + r < rows)
                selected |= one_row << r * V;
        return selected;
    }
    template <int E> NUMBALITE_FUNCTION bool is_whole(const place &at) const {
        return columns - at.column >= side<E> && rows - at.row >= side<E>;
    }
    template <int I> NUMBALITE_FUNCTION char *start(const place &at) const {
        char *from =
            (char *)operands[I].word[0] + at.row * strides[I][D] + at.column * strides[I][D + 1];
#pragma unroll
        for (int d = 0; d < D; ++d)
            from += at.index[d] * strides[I][d];
        return from;
    }
    /* Returns the address of element j of E; j counts along rows of side<E> elements. */
    template <int I, int E> NUMBALITE_FUNCTION char *where(const place &at, int j, int) const {
        return start<I>(at) + j / side<E> * strides[I][D] + j % side<E> * strides[I][D + 1];
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void fetch(const place &at, raw<T, E> &square) const {
        constexpr int V = side<E>;
        const char *from = start<I>(at);
        long long down = strides[I][D], across = strides[I][D + 1];
        square.is_across = !(along_columns >> I & 1) && along_rows >> I & 1;
        long long step = square.is_across ? across : down;
        bool runs = ((along_columns | along_rows) >> I & 1) &&
                    is_address_multiple(from, bundle<T, V>::unit) &&
                    is_address_multiple((const char *)step, bundle<T, V>::unit);
        if (runs) {
#pragma unroll
            for (int k = 0; k < V; ++k)
                square.runs[k].fetch(from + k * step);
        } else {
            long long next = square.is_across ? down : across;
#pragma unroll
            for (int j = 0; j < E; ++j)
                square.runs[j / V].set(j % V,
                                       read<false, T>(from + j / V * step + j % V * next));
        }
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void put(const place &at, unsigned int selected, const T (&items)[E]) const {
        constexpr int V = side<E>, unit = bundle<T, V>::unit;
        char *to = start<I>(at);
        long long down = strides[I][D], across = strides[I][D + 1];
        bool all = selected == ALL_OF<E> && is_address_multiple(to, unit);
        if (all && along_columns >> I & 1 && is_address_multiple((const char *)down, unit)) {
#pragma unroll
            for (int r = 0; r < V; ++r)
                put_run<T, V>(to + r * down, items + r * V);
        } else if (all && along_rows >> I & 1 && is_address_multiple((const char *)across, unit)) {
#pragma unroll
            for (int c = 0; c < V; ++c) {
                T column[V];
#pragma unroll
                for (int r = 0; r < V; ++r)
                    column[r] = items[r * V + c];
                put_run<T, V>(to + c * across, column);
            }
        } else {
#pragma unroll
            for (int j = 0; j < E; ++j)
                if (selected >> j & 1)
                    write<false, T>(to + j / V * down + j % V * across, items[j]);
        }
    }
};

/* ---- strided ---- */

template <class Index> struct index_type { typedef unsigned int type; };
template <> struct index_type<long long> { typedef unsigned long long type; };

/* Consecutive elements of a thread are BLOCK apart, so that each access of a warp is contiguous. */
template <int N, int D, class Index> struct strided {
    enum { is_careful = sizeof(Index) == 8, has_ends = false };
    template <class T, int E> using raw = loose<T, E>;
    typedef typename index_type<Index>::type number;
    struct place {
        number first;
    };
    slot operands[N];
    long long count;
    long long shape[D];
    divider by[D];
    long long strides[N][D];

    template <int E> NUMBALITE_FUNCTION bool find(long long piece, place &at) const {
        at.first = (number)(piece / BLOCK * (BLOCK * E) + piece % BLOCK);
        return true;
    }
    template <int E> NUMBALITE_FUNCTION unsigned int present(const place &at) const {
        unsigned int selected = 0;
#pragma unroll
        for (int j = 0; j < E; ++j)
            selected |= at.first + j * BLOCK < (number)count ? 1u << j : 0u;
        return selected;
    }
    template <int E> NUMBALITE_FUNCTION bool is_whole(const place &at) const {
        return at.first + (E - 1) * BLOCK < (number)count;
    }
    template <int I, int E> NUMBALITE_FUNCTION char *where(const place &at, int j, int) const {
        Index index[D], sum = 0;
        unravel_index<D>(at.first + j * BLOCK, shape, by, index);
#pragma unroll
        for (int d = 0; d < D; ++d)
            sum += index[d] * (Index)strides[I][d];
        return (char *)operands[I].word[0] + sum;
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void fetch(const place &at, loose<T, E> &raw) const {
#pragma unroll
        for (int j = 0; j < E; ++j)
            raw.item[j] = read<is_careful, T>(where<I, E>(at, j, 0));
    }
    template <int I, class T, int E>
    NUMBALITE_FUNCTION void put(const place &at, unsigned int selected, const T (&items)[E]) const {
#pragma unroll
        for (int j = 0; j < E; ++j)
            if (selected >> j & 1)
                write<is_careful, T>(where<I, E>(at, j, 0), items[j]);
    }
};

} // namespace nl_ufunc
} // namespace numbalite

#endif
