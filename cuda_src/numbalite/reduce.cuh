/* reduce: device code of reductions: combines the elements of an array along some axes with an
 * associative operation.
 *
 * The operation need not be commutative: elements are combined in C order, unless the operation is
 * declared commutative (Op::commutes). The order of the operations depends only on sizes and
 * alignment, so equal calls return equal bits.
 *
 * A result is computed from one or several parts, which are contiguous ranges of its elements. If a
 * result has several parts, the parts' results are stored in a scratch array. Then the last block
 * to finish combines the parts, or, if one block cannot do that, a second launch combines them
 * (reduceloops.py plans both). This header has the schedules "rows" and "serial"; those for columns
 * and short rows are in short_axes.cuh.
 *
 * - Schedule "rows": a warp reduces a part, or a block, whose warps reduce contiguous ranges. A
 *   warp reads tiles of 32 * V consecutive elements, V in each lane by one 16-byte load, and
 *   combines the values of the lanes by shuffles. Several tiles share the shuffles: in each step a
 *   lane sends the values of half of its tiles and receives its neighbour's values of the other
 *   half. If the operation is commutative, the threads read 16-byte units round-robin and exchange
 *   values only at the end.
 * - Schedule "serial": a thread reduces a part, and neighbouring threads have neighbouring results.
 *   The schedule "serial" is used for reductions over outer axes, for very short rows, and on the simulator.
 *
 * Elements have the type S in memory, accumulators the type T, and results the type O. Op::from
 * converts the element with index i of a result to a T, or several neighbouring elements at once,
 * if the operation has faster code for that. Op::result converts the final T to an O. */
#ifndef NUMBALITE_REDUCE_CUH
#define NUMBALITE_REDUCE_CUH

#include "numbalite.cuh"
#include "numbalite/convert.cuh"
#include "numbalite/warp.cuh"
#include "numbalite/unsigned_types.cuh"

#ifndef NUMBALITE_REDUCE_DIMS
#define NUMBALITE_REDUCE_DIMS 6
#endif
#ifndef NUMBALITE_REDUCE_INITIAL
#define NUMBALITE_REDUCE_INITIAL 16
#endif

namespace numbalite {
namespace nl_reduce {

/* Strides in bytes, which are 0 for an array that the launch does not use. */
struct dimension {
    int64 length, input, where, output;
};

/* The plan of a launch, whose layout must match core/reducelaunch.c and reduceplan.py. The kept
 * dimensions come first, then the reduced dimensions, outermost first. If is_last is 0, the launch
 * stores the results of parts: all parts of a result contiguously, or, if by_part is set, part k of
 * all results contiguously. */
struct __align__(16) plan {
    /* initial value of type T, which is combined with the result if has_initial is set */
    unsigned char initial[NUMBALITE_REDUCE_INITIAL];
    int64 results, length;     /* elements of one result */
    int64 parts, chunk;        /* elements of one part */
    int32 kept, reduced;
    int32 has_initial;
    int32 team;    /* number of groups of a block (staged_columns.cuh) */
    int32 is_last; /* whether this launch stores final results, not those of parts */
    int32 segment; /* index of the kept dimension that has segments, or -1 */
    int32 by_part;
    int32 by_one; /* set if a single block of any index executes this plan */
    double divisor; /* passed to Op::result */
    dimension dims[NUMBALITE_REDUCE_DIMS];
};

NUMBALITE_FUNCTION unsigned int plan_block(const plan &p) { return p.by_one ? 0 : blockIdx.x; }

/* The plans of a launch whose last block combines the parts that all blocks stored. */
struct plan_of_both {
    plan parts, result;
};

/* Returns whether the calling block is the last block of the launch to call this function. For the
 * last block, the writes of all blocks before their calls are visible. The counter must be 0 before
 * the launch, and is 0 again after it. One thread of each block increments the counter, after a
 * barrier: fences in all threads would cost one microsecond more. */
NUMBALITE_FUNCTION bool is_last_block(unsigned int *counter) {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int last = gridDim.x - 1, before;
#if !defined(NUMBALITE_SIM) && __CUDA_ARCH__ >= 700
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(counter), "r"(last)
                     : "memory");
#else
        __threadfence();
        before = atomicInc(counter, last);
        __threadfence();
#endif
        is_last = before == last;
    }
    __syncthreads();
    return is_last;
}

/* Default members of a reduction operator (see the top of the file), for accumulators of type T. */
template <class Op, class T> struct operation_on {
    template <class S> NUMBALITE_FUNCTION T from(const S &x, int64) const { return nl_convert<T>(x); }
    template <class S, int N> NUMBALITE_FUNCTION T from(const S (&x)[N], int64 i) const {
        const Op &op = static_cast<const Op &>(*this);
        T value = op.from(x[0], i);
#pragma unroll
        for (int k = 1; k < N; ++k)
            value = op(value, op.from(x[k], i + k));
        return value;
    }
    /* Combines two partial results of equally many elements: `a` contains the earlier elements. An
     * operation may override this function with faster code. */
    NUMBALITE_FUNCTION T even(const T &a, const T &b) const {
        return static_cast<const Op &>(*this)(a, b);
    }
    template <class O> NUMBALITE_FUNCTION O result(const T &total, double) const {
        return nl_convert<O>(total);
    }
};

/* Whether passing several elements to the operation at once is faster (Op::in_chunks).
 * An operation with in_chunks is commutative and does not use the indices of the elements. */
template <class Op, class = void> struct takes_chunks { static constexpr bool value = false; };
template <class Op> struct takes_chunks<Op, decltype((void)Op::in_chunks)> {
    static constexpr bool value = Op::in_chunks;
};
/* Whether the operation can quickly add several elements to an existing total (Op::start,
 * Op::extend). */
template <class Op, class = void> struct extends_totals { static constexpr bool value = false; };
template <class Op> struct extends_totals<Op, decltype((void)Op::extends)> {
    static constexpr bool value = Op::extends;
};

template <class T> struct maybe {
    T value;
    bool has;
};

template <class T, class Op> NUMBALITE_FUNCTION void append(maybe<T> &a, const T &b, Op op) {
    a.value = a.has ? op(a.value, b) : b;
    a.has = true;
}

template <class T, class Op> NUMBALITE_FUNCTION void append(maybe<T> &a, const maybe<T> &b, Op op) {
    if (b.has)
        append(a, b.value, op);
}

/* Adds several elements to `total` in one step; the first element has index i. `has` is set if
 * `total` already contains a value. */
template <class T, class S, int N, class Op>
NUMBALITE_FUNCTION void add_chunk_to_total(T &total, bool has, const S (&items)[N], int64 i, Op op) {
    if constexpr (extends_totals<Op>::value) {
        if (!has)
            total = op.start(items[0]);
        op.extend(total, items);
    } else {
        const T made = op.from(items, i);
        total = has ? op(total, made) : made;
    }
}

template <class T> NUMBALITE_FUNCTION maybe<T> nothing() {
    maybe<T> m;
    m.value = T();
    m.has = false;
    return m;
}

/* The byte offsets of a result's first elements, and the range of elements that the thread
 * reduces. */
struct place {
    int64 input, where, output; /* bytes */
    int64 begin, end;
};

NUMBALITE_FUNCTION int64 quotient(int64 a, int64 b) {
    if (((a | b) >> 32) == 0)
        return (int64)((unsigned int)a / (unsigned int)b);
    return a / b;
}

NUMBALITE_FUNCTION place locate_part(const plan &p, int64 result, int64 part, const int64 *segments) {
    place at = {0, 0, 0, part * p.chunk, 0};
    at.end = at.begin + p.chunk < p.length ? at.begin + p.chunk : p.length;
    int64 rest = result;
#pragma unroll 1
    for (int d = p.kept - 1; d >= 0; --d) {
        const dimension &dim = p.dims[d];
        int64 next = d > 0 ? quotient(rest, dim.length) : 0;
        int64 k = rest - next * dim.length;
        rest = next;
        at.input += k * dim.input;
        at.where += k * dim.where;
        at.output += k * dim.output;
        if (d == p.segment) {
            at.begin = segments[2 * k];
            at.end = segments[2 * k + 1];
        }
    }
    return at;
}

/* Returns the offset in bytes from a result's first element to its i-th element. */
struct offsets {
    int64 input, where;
};
NUMBALITE_FUNCTION offsets element_offsets(const plan &p, int64 i) {
    const dimension *dims = p.dims + p.kept;
    offsets at = {0, 0};
#pragma unroll 1
    for (int d = p.reduced - 1; d > 0; --d) {
        int64 next = quotient(i, dims[d].length);
        int64 k = i - next * dims[d].length;
        at.input += k * dims[d].input;
        at.where += k * dims[d].where;
        i = next;
    }
    at.input += i * dims[0].input;
    at.where += i * dims[0].where;
    return at;
}

template <class T, class O, class Op>
NUMBALITE_FUNCTION void store(const plan &p, maybe<T> m, const place &at, int64 result, int64 part,
                              void *out, bool *flags, bool masked, Op op) {
    if (p.is_last) {
        *(O *)((char *)out + at.output) = op.template result<O>(m.value, p.divisor);
    } else {
        int64 i = p.by_part ? part * p.results + result : result * p.parts + part;
        ((T *)out)[i] = m.value;
        if (masked)
            flags[i] = m.has;
    }
}

/* Returns the initial value of the reduction from the bytes in the plan: these bytes are a T,
 * unless the operation has its own conversion (Op::first). */
template <class T, class Op>
NUMBALITE_FUNCTION auto initial_value(const void *bytes, const Op &op, int) -> decltype(op.first(bytes)) {
    return op.first(bytes);
}
template <class T, class Op> NUMBALITE_FUNCTION T initial_value(const void *bytes, const Op &, long) {
    T value;
    memcpy(&value, bytes, sizeof(T));
    return value;
}

template <class T, class Op> NUMBALITE_FUNCTION void begin_with(const plan &p, maybe<T> &m, Op op) {
    if (p.has_initial) {
        maybe<T> first = {initial_value<T>(p.initial, op, 0), true};
        append(first, m, op);
        m = first;
    }
}

/* ---------------------------------------------------------------------------------- sources */

/* Loads an element that need not stay in the caches, because elements are read only once (streaming
 * load). Small inputs are compiled with NUMBALITE_REDUCE_CACHED, because they may already be in the
 * cache, and should stay there for the next call. */
template <class Word> NUMBALITE_FUNCTION Word load_once(const Word *x) {
#ifdef NUMBALITE_REDUCE_CACHED
    return *x;
#else
    return __ldcs(x);
#endif
}

/* The value that one memory access loads. Until the value is unpacked, it is stored as one integer
 * of the same size, because compilers put arrays of small elements into local memory. */
template <class W, class Word = typename word_of<sizeof(W)>::type,
          bool IsWord = sizeof(Word) == sizeof(W)>
struct once {
    Word word;
    static NUMBALITE_FUNCTION once read(const W *x) { return {load_once((const Word *)x)}; }
    NUMBALITE_FUNCTION W get() const {
        W value;
        memcpy(&value, &word, sizeof(W));
        return value;
    }
};
template <class W, class Word> struct once<W, Word, false> {
    W word;
    static NUMBALITE_FUNCTION once read(const W *x) { return {*x}; }
    NUMBALITE_FUNCTION W get() const { return word; }
};
template <class W> NUMBALITE_FUNCTION W read_once(const W *x) { return once<W>::read(x).get(); }

/* A source of contiguous elements, at an address that is a multiple of their size. With several
 * reduced dimensions, a part contains elements of one row only. */
template <class S, class T, bool Masked> struct packed {
    typedef S element;
    enum { count = sizeof(S) < 16 ? 16 / sizeof(S) : 1 };
    typedef uint4 piece;
    const S *first;

    NUMBALITE_FUNCTION packed(const plan &p, const void *input, const void *, const place &at)
        : first((const S *)((const char *)input + at.input)) {
        if (p.reduced > 1)
            first = (const S *)((const char *)first + element_offsets(p, at.begin).input) - at.begin;
    }
    /* Returns the number of elements between the preceding 16-byte boundary and element i. */
    NUMBALITE_FUNCTION int lead(int64 i) const {
        return (int)(((size_t)(first + i) & 15) / sizeof(S));
    }
    NUMBALITE_FUNCTION piece fetch(int64 i) const { return load_once((const uint4 *)(first + i)); }
    template <class Op> static NUMBALITE_FUNCTION T reduce(const piece &raw, int64 i, Op op) {
        S items[count];
        memcpy(items, &raw, sizeof items);
        return op.from(items, i);
    }
    NUMBALITE_FUNCTION bool selects(int64) const { return true; }
    template <class Op> NUMBALITE_FUNCTION T at(int64 i, Op op) const { return op.from(first[i], i); }
};

/* Elements with arbitrary strides. */
template <class S, class T, bool Masked> struct strided {
    typedef S element;
    enum { count = 1 };
    typedef S piece;
    const plan &p;
    const char *first, *where;

    NUMBALITE_FUNCTION strided(const plan &p, const void *input, const void *where, const place &at)
        : p(p), first((const char *)input + at.input), where((const char *)where + at.where) {}
    NUMBALITE_FUNCTION int lead(int64) const { return 0; }
    NUMBALITE_FUNCTION piece fetch(int64 i) const {
        return *(const S *)(first + element_offsets(p, i).input);
    }
    template <class Op> static NUMBALITE_FUNCTION T reduce(const piece &raw, int64 i, Op op) {
        return op.from(raw, i);
    }
    NUMBALITE_FUNCTION bool selects(int64 i) const {
        return !Masked || *(const bool *)(where + element_offsets(p, i).where);
    }
    template <class Op> NUMBALITE_FUNCTION T at(int64 i, Op op) const { return op.from(fetch(i), i); }
};

/* A source of elements of one row with equal strides: with several reduced dimensions this avoids a
 * division for each element. */
template <class S, class T, bool Masked> struct stepped : strided<S, T, Masked> {
    const char *row;
    int64 step;

    NUMBALITE_FUNCTION stepped(const plan &p, const void *input, const void *where, const place &at)
        : strided<S, T, Masked>(p, input, where, at), step(p.dims[p.kept + p.reduced - 1].input) {
        row = this->first + element_offsets(p, at.begin).input - at.begin * step;
    }
    NUMBALITE_FUNCTION S fetch(int64 i) const { return *(const S *)(row + i * step); }
    template <class Op> NUMBALITE_FUNCTION T at(int64 i, Op op) const { return op.from(fetch(i), i); }
};

/* --------------------------------------------------------------------------------- warps */

constexpr unsigned int ALL = 0xffffffffu; /* mask of all lanes */
/* number of warps of a block, which must match core/reduceplan.c */
constexpr int TEAM = 8;

/* Returns all bits or none, as the mask argument of `chosen`. From a plain condition of several
 * selections, compilers generate a branch, and shuffles after a branch wait for lanes that
 * diverged. The empty asm hides from the compiler that the mask is a condition. */
NUMBALITE_FUNCTION unsigned int all_bits_if(bool condition) {
    unsigned int mask = condition ? ~0u : 0u;
#ifndef NUMBALITE_SIM
    asm("" : "+r"(mask));
#endif
    return mask;
}
/* Returns a where the mask is all ones, b where it is 0. */
template <class T> NUMBALITE_FUNCTION T select_bits(unsigned int mask, const T &a, const T &b) {
    constexpr int count = (sizeof(T) + 3) / 4;
    unsigned int of_a[count] = {}, of_b[count] = {};
    memcpy(of_a, &a, sizeof(T));
    memcpy(of_b, &b, sizeof(T));
#pragma unroll
    for (int k = 0; k < count; ++k)
        of_a[k] = (of_a[k] & mask) | (of_b[k] & ~mask);
    T value = b;
    memcpy(&value, of_a, sizeof(T));
    return value;
}

/* Reduces the values of each group of `Lanes` lanes, in lane order; all lanes of the group receive
 * the result. */
template <int Lanes = 32, class T, class Op> NUMBALITE_FUNCTION void reduce_lanes(maybe<T> &m, Op op) {
    const int lane = laneid(), end = lane / Lanes * Lanes + Lanes;
    for (int step = 1; step < Lanes; step *= 2) {
        unsigned int have = __ballot_sync(ALL, m.has);
        T right = shfl_down_sync(ALL, m.value, step);
        /* all lanes combine values, and select the result afterwards, so that they do not
         * diverge */
        if (have == ALL) {
            T both = op(m.value, right);
            m.value = select_bits(all_bits_if(lane + step < end), both, m.value);
        } else if (lane + step < end && (have >> (lane + step) & 1)) {
            append(m, right, op);
        }
    }
    m.has = __ballot_sync(ALL, m.has) >> (end - Lanes) & 1;
    m.value = shfl_sync(ALL, m.value, end - Lanes);
}

/* Combines the lane's value with the value of the lane whose index differs only in `bit`, in lane
 * order. */
template <class T, class Op> NUMBALITE_FUNCTION T with_partner(const T &mine, int bit, Op op) {
    T other = shfl_xor_sync(ALL, mine, bit);
    unsigned int upper = all_bits_if(laneid() & bit);
    return op(select_bits(upper, other, mine), select_bits(upper, mine, other));
}

/* Returns the total of `Tiles` consecutive tiles; v contains the lane's value for each tile. */
template <int Tiles, class T, class Op> NUMBALITE_FUNCTION T reduce_tiles(T (&v)[Tiles], Op op) {
    int lane = laneid(), left = Tiles;
#pragma unroll
    for (int bit = 1; bit < Tiles; bit *= 2) {
        unsigned int upper = all_bits_if(lane & bit);
        left /= 2;
#pragma unroll
        for (int k = 0; k < Tiles / 2; ++k)
            if (k < left) {
                T own = select_bits(upper, v[2 * k + 1], v[2 * k]);
                T got = shfl_xor_sync(ALL, select_bits(upper, v[2 * k], v[2 * k + 1]), bit);
                v[k] = op(select_bits(upper, got, own), select_bits(upper, own, got));
            }
    }
    /* now each lane has a partial result of the tile with the number (lane index modulo Tiles) */
    T value = v[0];
#pragma unroll
    for (int bit = Tiles; bit < 32; bit *= 2)
        value = with_partner(value, bit, op);
#pragma unroll
    for (int bit = 1; bit < Tiles; bit *= 2)
        value = with_partner(value, bit, op);
    return value;
}

/* Reduces `Tiles` complete tiles; i is the index of the lane's first element in the first tile. */
template <int Tiles, class T, class Source, class Op>
NUMBALITE_FUNCTION T reduce_tile_group(const Source &source, int64 i, Op op) {
    typename Source::piece raw[Tiles];
    T v[Tiles];
#pragma unroll
    for (int k = 0; k < Tiles; ++k)
        raw[k] = source.fetch(i + k * 32 * Source::count);
#pragma unroll
    for (int k = 0; k < Tiles; ++k)
        v[k] = Source::reduce(raw[k], i + k * 32 * Source::count, op);
    return reduce_tiles(v, op);
}

/* Reduces groups of `Tiles` tiles between `at` and `end`, at least one group, and advances `at`.
 * The next group is loaded while the current group is reduced: this is faster for operations that
 * compute much for each byte. */
template <int Tiles, class T, class Source, class Op>
NUMBALITE_FUNCTION void reduce_groups(const Source &source, int64 &at, int64 end, maybe<T> &total,
                                    Op op) {
    constexpr int each = 32 * Source::count, group = Tiles * each;
    int64 lane = laneid() * Source::count;
    typename Source::piece raw[Tiles], ahead[Tiles];
#pragma unroll
    for (int k = 0; k < Tiles; ++k)
        raw[k] = ahead[k] = source.fetch(at + k * each + lane);
    for (;;) {
        T v[Tiles];
        int64 first = at + lane;
        at += group;
        bool more = at + group <= end;
        if (more) {
#pragma unroll
            for (int k = 0; k < Tiles; ++k)
                ahead[k] = source.fetch(at + k * each + lane);
        }
#pragma unroll
        for (int k = 0; k < Tiles; ++k)
            v[k] = Source::reduce(raw[k], first + k * each, op);
        append(total, reduce_tiles(v, op), op);
        if (!more)
            return;
#pragma unroll
        for (int k = 0; k < Tiles; ++k)
            raw[k] = ahead[k];
    }
}

/* Reduces the elements from begin to end in one warp; all lanes return the result. */
template <bool Masked, class T, class Source, class Op>
NUMBALITE_FUNCTION maybe<T> reduce_range(const Source &source, int64 begin, int64 end, Op op) {
    constexpr int count = Source::count, tile = 32 * count, few = 4, many = 8;
    maybe<T> total = nothing<T>();
    int64 lane = laneid() * count;
    int64 at = begin;
    if (begin < end)
        at -= source.lead(begin);
    while (at < end) {
        if (!Masked && at >= begin && at + few * tile <= end) {
            if constexpr (count > 4) {
                reduce_groups<few>(source, at, end, total, op);
            } else if (at + many * tile <= end) {
                append(total, reduce_tile_group<many, T>(source, at + lane, op), op);
                at += many * tile;
            } else {
                append(total, reduce_tile_group<few, T>(source, at + lane, op), op);
                at += few * tile;
            }
            continue;
        }
        maybe<T> m = nothing<T>();
        int64 i = at + lane;
        if (!Masked && i >= begin && i + count <= end) {
            m.value = Source::reduce(source.fetch(i), i, op);
            m.has = true;
        } else {
            for (int k = 0; k < count; ++k, ++i)
                if (i >= begin && i < end && source.selects(i))
                    append(m, source.at(i, op), op);
        }
        reduce_lanes(m, op);
        append(total, m, op);
        at += tile;
    }
    return total;
}

/* Reduces the last units of a thread: at most `Most` units, `step` elements apart, from index i on.
 * All loads are issued before the first value is used. */
template <int Most, class T, class Source, class Op>
NUMBALITE_FUNCTION void reduce_last_units(const Source &source, int64 i, int64 step, int64 last,
                                  maybe<T> &total, Op op) {
    typename Source::piece raw[Most];
#pragma unroll
    for (int k = 0; k < Most; ++k)
        if (i + k * step < last)
            raw[k] = source.fetch(i + k * step);
#pragma unroll
    for (int k = 0; k < Most; ++k)
        if (i + k * step < last)
            append(total, Source::reduce(raw[k], i + k * step, op), op);
}

/* Whether the elements of a source have at least 4 bytes. Compilers put arrays of smaller elements
 * into local memory. */
template <class S> struct is_word { static constexpr bool value = sizeof(S) >= 4; };
template <> struct is_word<void> { static constexpr bool value = false; };

/* Adds the elements of several units in one step. */
template <class T, class Source, int N, class Op>
NUMBALITE_FUNCTION void add_units_to_total(maybe<T> &total, const typename Source::piece (&raw)[N],
                                      int64 i, Op op) {
    typename Source::element items[N * Source::count];
    static_assert(sizeof items == sizeof raw, "");
    memcpy(items, raw, sizeof items);
    add_chunk_to_total(total.value, total.has, items, i, op);
    total.has = true;
}

/* Reduces those elements from begin to end that thread `thread` of `Threads` reads: every
 * Threads-th 16-byte unit. Several units at a time are combined as a tree, so that a total of many
 * numbers is as accurate as a total of few numbers. The first threads also read the elements before
 * the first and after the last complete 16-byte unit. */
template <int Threads, class T, class Source, class Op>
NUMBALITE_FUNCTION maybe<T> reduce_interleaved(const Source &source, int64 begin, int64 end, int thread,
                                          Op op) {
    constexpr int count = Source::count, step = Threads * count;
    constexpr int ahead = count > 4 || sizeof(typename Source::piece) <= 4 ? 8 : 4;
    /* Whether the elements are results of parts, from an earlier launch. The last part may have
     * fewer elements than the other parts, so Op::even must not combine it. */
    constexpr bool are_parts = nl_detail::is_same_type<typename Source::element, T>::value;
    constexpr bool together =
        takes_chunks<Op>::value && !are_parts && is_word<typename Source::element>::value;
    maybe<T> total = nothing<T>();
    if (begin >= end)
        return total;
    int64 first = begin + (count - source.lead(begin)) % count;
    first = first < end ? first : end;
    int64 last = end - (end - first) % count;
    for (int64 k = begin + thread; k < first; k += Threads)
        append(total, source.at(k, op), op);
    /* All threads execute the same number of iterations, because a thread with one more iteration
     * would wait once more for memory. */
    int64 at = first;
    for (; at + ahead * step <= last; at += ahead * step) {
        const int64 i = at + thread * count;
        typename Source::piece raw[ahead];
        T v[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            raw[k] = source.fetch(i + k * step);
        if constexpr (together) {
            add_units_to_total<T, Source>(total, raw, i, op);
            continue;
        }
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            v[k] = Source::reduce(raw[k], i + k * step, op);
#pragma unroll
        for (int half = 1; half < ahead; half *= 2)
#pragma unroll
            for (int k = 0; k + half < ahead; k += 2 * half)
                v[k] = are_parts ? op(v[k], v[k + half]) : op.even(v[k], v[k + half]);
        append(total, v[0], op);
    }
    if (at + ahead / 2 * step < last)
        reduce_last_units<ahead>(source, at + thread * count, step, last, total, op);
    else if (at < last)
        reduce_last_units<ahead / 2>(source, at + thread * count, step, last, total, op);
    for (int64 k = last + thread; k < end; k += Threads)
        append(total, source.at(k, op), op);
    return total;
}

/* Reduces the elements from begin to end in one warp; all lanes return the result. */
template <bool Masked, class T, class Source, class Op>
NUMBALITE_FUNCTION maybe<T> reduce_by_warp(const Source &source, int64 begin, int64 end, Op op) {
    if constexpr (Op::commutes && !Masked) {
        maybe<T> total = reduce_interleaved<32, T>(source, begin, end, laneid(), op);
        reduce_lanes(total, op);
        return total;
    } else {
        return reduce_range<Masked, T>(source, begin, end, op);
    }
}

/* Combines the totals of all warps of a block; only the block's first thread receives the
 * result. */
template <class T, class Op> NUMBALITE_FUNCTION void reduce_warps(maybe<T> &total, Op op) {
    __shared__ maybe<T> of_warps[TEAM];
    if (laneid() == 0)
        of_warps[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        maybe<T> others[TEAM]; /* all totals are read before the first total is used */
#pragma unroll
        for (int w = 1; w < TEAM; ++w)
            others[w] = of_warps[w];
#pragma unroll
        for (int w = 1; w < TEAM; ++w)
            append(total, others[w], op);
    }
}

/* Reduces the elements from begin to end in one block; only the block's first thread receives the
 * result. Each warp reduces one range of complete tiles. */
template <bool Masked, class T, class Source, class Op>
NUMBALITE_FUNCTION maybe<T> reduce_by_block(const Source &source, int64 begin, int64 end, Op op) {
    maybe<T> total;
    if constexpr (Op::commutes && !Masked) {
        total = reduce_interleaved<32 * TEAM, T>(source, begin, end, threadIdx.x, op);
        reduce_lanes(total, op);
    } else {
        constexpr int64 tile = 32 * Source::count;
        int64 each = (end - begin + tile * TEAM - 1) / (tile * TEAM) * tile;
        int64 from = begin + threadIdx.x / 32 * each;
        from = from < end ? from : end;
        total = reduce_range<Masked, T>(source, from, from + each < end ? from + each : end, op);
    }
    reduce_warps(total, op);
    return total;
}

/* Combines the totals of threads that share a column: `row` is the thread's row, `left` the number
 * of rows, and `apart` the number of threads between two rows. The thread in row 0 receives the
 * total. `totals` is in shared memory, indexed by thread. All threads of the block must call this
 * function. */
template <class T, class Op>
NUMBALITE_FUNCTION void combine_row_totals(T *totals, T &total, int row, int left, int apart, Op op) {
    /* each iteration combines groups of this many rows, until one row remains */
    constexpr int fewer = 8;
    while (left > 1) {
        const int others = (left + fewer - 1) / fewer;
        if (row < others) {
#pragma unroll
            for (int k = 1; k < fewer; ++k)
                if (row + k * others < left)
                    total = op(total, totals[threadIdx.x + k * others * apart]);
            totals[threadIdx.x] = total;
        }
        left = others;
        __syncthreads();
    }
}

/* The schedule "rows", for blocks of TEAM warps, of which Team warps reduce one part: Team is 1 or
 * TEAM. */
template <class T, class O, class Source, bool Masked, int Team, class Op>
NUMBALITE_FUNCTION void rows(const plan &p, const void *input, const void *where, void *out,
                             bool *flags, const int64 *segments, Op op) {
    int64 slot = Team == 1 ? (int64)plan_block(p) * TEAM + threadIdx.x / 32 : plan_block(p);
    if (slot >= p.results * p.parts)
        return; /* whole warps return, and there is no later barrier */
    int64 result = slot, part = 0;
    if (p.parts > 1) { /* all threads take the same branch, which avoids a division */
        result = quotient(slot, p.parts);
        part = slot - result * p.parts;
    }
    place at = locate_part(p, result, part, segments);
    Source source(p, input, where, at);
    maybe<T> total;
    if constexpr (Team == 1)
        total = reduce_by_warp<Masked, T>(source, at.begin, at.end, op);
    else
        total = reduce_by_block<Masked, T>(source, at.begin, at.end, op);
    if (Team == 1 ? laneid() != 0 : threadIdx.x != 0)
        return;
    if (p.is_last)
        begin_with(p, total, op);
    store<T, O>(p, total, at, result, part, out, flags, Masked, op);
}

/* --------------------------------------------------------------------------------- threads */

/* Reduces `count` elements with equal strides, the first of which has index `first`. A few elements
 * are combined as a tree, and several such groups are combined before they are added to the total,
 * so that a sum of many numbers is as accurate as a sum of few numbers. */
template <class S, bool Masked, class T, class Op>
NUMBALITE_FUNCTION void reduce_strided(maybe<T> &total, const char *x, int64 step, const char *where,
                                 int64 where_step, int64 first, int64 count, Op op) {
    int64 i = 0;
    if (Masked) {
        for (; i < count; ++i)
            if (*(const bool *)(where + i * where_step))
                append(total, op.from(*(const S *)(x + i * step), first + i), op);
        return;
    }
    constexpr int ahead = sizeof(T) <= 8 ? 8 : 4, several = 16;
    while (i + ahead <= count) {
        maybe<T> group = nothing<T>();
        for (int turn = 0; turn < several && i + ahead <= count; ++turn, i += ahead) {
            if constexpr (takes_chunks<Op>::value && !nl_detail::is_same_type<S, T>::value) {
                S items[ahead];
#pragma unroll
                for (int k = 0; k < ahead; ++k)
                    items[k] = *(const S *)(x + (i + k) * step);
                add_chunk_to_total(group.value, group.has, items, first + i, op);
                group.has = true;
                continue;
            }
            T v[ahead];
#pragma unroll
            for (int k = 0; k < ahead; ++k)
                v[k] = op.from(*(const S *)(x + (i + k) * step), first + i + k);
#pragma unroll
            for (int half = 1; half < ahead; half *= 2)
#pragma unroll
                for (int k = 0; k + half < ahead; k += 2 * half)
                    v[k] = op(v[k], v[k + half]);
            append(group, v[0], op);
        }
        append(total, group, op);
    }
    for (; i < count; ++i)
        append(total, op.from(*(const S *)(x + i * step), first + i), op);
}

template <class S, class T, class O, bool Masked, class Op>
NUMBALITE_FUNCTION void serial(const plan &p, const void *input, const void *where, void *out,
                               bool *flags, const int64 *segments, Op op) {
    int64 slot = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= p.results * p.parts)
        return;
    int64 part = quotient(slot, p.results), result = slot - part * p.results;
    place at = locate_part(p, result, part, segments);
    maybe<T> total = nothing<T>();
    if (p.reduced > 0) {
        const dimension &inner = p.dims[p.kept + p.reduced - 1];
        for (int64 i = at.begin; i < at.end;) {
            offsets from = element_offsets(p, i);
            int64 run = at.end - i;
            if (p.reduced > 1) {
                int64 left = inner.length - (i - quotient(i, inner.length) * inner.length);
                run = run < left ? run : left;
            }
            reduce_strided<S, Masked>(total, (const char *)input + at.input + from.input, inner.input,
                                (const char *)where + at.where + from.where, inner.where, i, run,
                                op);
            i += run;
        }
    } else if (!Masked || *((const bool *)where + at.where)) {
        total.value = op.from(*(const S *)((const char *)input + at.input), 0);
        total.has = true;
    }
    if (p.is_last)
        begin_with(p, total, op);
    store<T, O>(p, total, at, result, part, out, flags, Masked, op);
}

} // namespace nl_reduce
} // namespace numbalite

#endif
