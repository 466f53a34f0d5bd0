/* short_axes: reductions of neighbouring columns, and of rows that are too short for a warp. The
 * plan, the operators and the results are those of reduce.cuh.
 *
 * - Schedule "columns": the elements of neighbouring results are adjacent in memory, like the
 *   columns of a C-contiguous matrix. A thread reduces V neighbouring columns by 16-byte loads; the
 *   warps of a block reduce contiguous ranges of a part.
 * - Schedule "teams" is for rows of 16 to 512 bytes: one lane reads each 16-byte unit of a row.
 * - Schedule "short rows" is for rows of up to some hundred elements, of any length and alignment:
 *   a few lanes reduce each row, for commutative operations.
 * - Schedule "gapped rows" is for several short rows per result, with gaps between the rows, as
 *   in a reduction over axes 0 and 2 of three.
 * - Schedule "stripes" is for columns of a few elements: a thread reduces V whole columns.
 * - Schedule "narrow" is for few and long columns in short rows, or several groups of such columns:
 *   the threads of a block read rows round-robin, for commutative operations. */
#ifndef NUMBALITE_SHORT_AXES_CUH
#define NUMBALITE_SHORT_AXES_CUH

#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

constexpr int BLOCK = 32 * TEAM; /* threads */

/* ------------------------------------------------------------------------------- columns */

/* V elements that one access reads or writes, with at most 16 bytes. Results may be wider than the
 * elements; then their access is split. */
template <class S, int V> struct __align__(sizeof(S) * V < 16 ? sizeof(S) * V : 16) neighbours {
    S item[V];
};

/* Adds the next Ahead elements of V neighbouring columns to their totals, in one step for each
 * column. */
template <int Ahead, class S, int V, class T, class Op>
NUMBALITE_FUNCTION void add_chunks_to_totals(T (&total)[V], bool has,
                                    const once<neighbours<S, V>> (&raw)[Ahead], int64 first,
                                    Op op) {
    neighbours<S, V> next[Ahead];
#pragma unroll
    for (int k = 0; k < Ahead; ++k)
        next[k] = raw[k].get();
#pragma unroll
    for (int v = 0; v < V; ++v) {
        S items[Ahead];
#pragma unroll
        for (int k = 0; k < Ahead; ++k)
            items[k] = next[k].item[v];
        add_chunk_to_total(total[v], has, items, first, op);
    }
}

/* Adds the next elements of V neighbouring columns to their totals: Ahead elements, or `count` if
 * All is false. All loads are issued before the first value is used. */
template <bool All, int Ahead, class S, int V, class T, class Op>
NUMBALITE_FUNCTION void add_next_elements(T (&total)[V], bool has, const char *x, int64 step, int64 first,
                                  int count, Op op) {
    typedef neighbours<S, V> wide;
    once<wide> raw[Ahead];
#pragma unroll
    for (int k = 0; k < Ahead; ++k)
        if (All || k < count)
            raw[k] = once<wide>::read((const wide *)(x + k * step));
    if constexpr (takes_chunks<Op>::value && !nl_detail::is_same_type<S, T>::value) {
        if (All || count == Ahead) {
            add_chunks_to_totals<Ahead, S, V>(total, has, raw, first, op);
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < Ahead; ++k)
        if (All || k < count) {
            const wide w = raw[k].get();
#pragma unroll
            for (int v = 0; v < V; ++v) {
                const T next = op.from(w.item[v], first + k);
                total[v] = k > 0 || has ? op(total[v], next) : next;
            }
        }
}

/* Reduces `count` elements of V neighbouring columns; the first element has index `first`, and the
 * strides are equal. */
template <int Ahead, class S, int V, class T, class Op>
NUMBALITE_FUNCTION void reduce_columns(T (&total)[V], bool &has, const char *x, int64 step,
                                     int64 first, int64 count, Op op) {
    int64 i = 0;
    for (; i + Ahead <= count; i += Ahead, has = true)
        add_next_elements<true, Ahead, S, V>(total, has, x + i * step, step, first + i, Ahead, op);
    if (i < count) {
        add_next_elements<false, Ahead, S, V>(total, has, x + i * step, step, first + i, (int)(count - i), op);
        has = true;
    }
}

/* Stores V neighbouring results, the first of which has index `result`, by one access if the output
 * is contiguous and aligned. */
template <class O, int V, class T, class Op>
NUMBALITE_FUNCTION void store_columns(const plan &p, const T (&total)[V], bool has, place at,
                                      int64 result, int64 part, void *out, Op op) {
    typedef neighbours<O, V> wide;
    const int64 step = p.dims[p.kept - 1].output;
    wide results;
    const bool together = p.is_last && step == (int64)sizeof(O) &&
                          ((size_t)out + (size_t)at.output) % alignof(wide) == 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
        maybe<T> all = {has ? total[v] : T(), has};
        if (p.is_last)
            begin_with(p, all, op);
        if (together)
            results.item[v] = op.template result<O>(all.value, p.divisor);
        else
            store<T, O>(p, all, at, result + v, part, out, nullptr, false, op);
        at.output += step;
    }
    if (together)
        *(wide *)((char *)out + at.output - V * step) = results;
}

/* Reduces columns by blocks of WARPS warps. A lane's V results are neighbours along the last kept
 * dimension, whose length must be a multiple of V. */
template <class S, class T, class O, int V, class Op>
NUMBALITE_FUNCTION void columns(const plan &p, const void *input, void *out, Op op) {
    constexpr int WARPS = TEAM, ahead = sizeof(neighbours<S, V>) >= 8 && sizeof(S) > 1 ? 4 : 8;
    __shared__ neighbours<T, V> others[WARPS - 1][32];
    __shared__ bool have[WARPS];
    int64 across = (p.results / V + 31) / 32, part = quotient(blockIdx.x, across);
    int64 piece = (blockIdx.x - part * across) * 32 + laneid();
    int warp = threadIdx.x / 32;
    bool inside = piece * V < p.results;
    place at = locate_part(p, inside ? piece * V : 0, part, nullptr);
    int64 each = (at.end - at.begin + WARPS - 1) / WARPS, begin = at.begin + warp * each;
    int64 end = begin + each < at.end ? begin + each : at.end;
    T total[V];
    bool has = false;
    const dimension &inner = p.dims[p.kept + p.reduced - 1];
    for (int64 i = begin; i < end && inside;) {
        int64 run = end - i;
        if (p.reduced > 1) {
            int64 left = inner.length - (i - quotient(i, inner.length) * inner.length);
            run = run < left ? run : left;
        }
        const char *from = (const char *)input + at.input + element_offsets(p, i).input;
        reduce_columns<ahead, S, V>(total, has, from, inner.input, i, run, op);
        i += run;
    }
    if (warp > 0 && has) {
        neighbours<T, V> mine;
#pragma unroll
        for (int v = 0; v < V; ++v)
            mine.item[v] = total[v];
        others[warp - 1][laneid()] = mine;
    }
    if (laneid() == 0)
        have[warp] = has;
    __syncthreads();
    if (warp > 0 || !inside)
        return;
    for (int w = 1; w < WARPS; ++w) {
        if (!have[w])
            continue;
        neighbours<T, V> other = others[w - 1][laneid()];
#pragma unroll
        for (int v = 0; v < V; ++v)
            total[v] = has ? op(total[v], other.item[v]) : other.item[v];
        has = true;
    }
    if (!p.is_last && p.by_part) {
        neighbours<T, V> mine;
#pragma unroll
        for (int v = 0; v < V; ++v)
            mine.item[v] = total[v];
        ((neighbours<T, V> *)out)[part * (p.results / V) + piece] = mine;
        return;
    }
    store_columns<O>(p, total, has, at, piece * V, part, out, op);
}

/* ------------------------------------------------------------------------------ short axes */

/* Combines two totals, in any order. Each total is of the same number of elements, unless the
 * elements are results of parts. Op::even may depend on the order, except in operators with
 * in_chunks. */
template <bool AreParts, class T, class Op>
NUMBALITE_FUNCTION T merge_totals(const T &a, const T &b, Op op) {
    return AreParts || !takes_chunks<Op>::value ? op(a, b) : op.even(a, b);
}

/* Reduces rows of Lanes 16-byte units: `Lanes` lanes reduce a row, and each lane loads several rows
 * at a time. */
template <class S, class T, class O, int Lanes, class Op>
NUMBALITE_FUNCTION void teams(const plan &p, const void *input, void *out, Op op) {
    typedef packed<S, T, false> source;
    constexpr int rows = BLOCK / Lanes, several = 4;
    /* Whether the elements are results of parts, from an earlier launch. The last part may have
     * fewer elements than the other parts, so Op::even must not combine it. */
    constexpr bool are_parts = nl_detail::is_same_type<S, T>::value;
    int64 first = (int64)blockIdx.x * (rows * several) + threadIdx.x / Lanes;
    uint4 raw[several];
    place at[several];
#pragma unroll
    for (int k = 0; k < several; ++k) {
        int64 row = first + k * rows;
        at[k] = locate_part(p, row < p.results ? row : 0, 0, nullptr);
        raw[k] =
            load_once((const uint4 *)((const char *)input + at[k].input) + threadIdx.x % Lanes);
    }
    if constexpr (Op::commutes && Lanes >= several) {
        /* In each step a lane keeps half of its rows and sends its values of the other rows to its
         * partner, until one row remains. */
        const int lane = threadIdx.x % Lanes;
        T value[several];
        int number = 0; /* index of the remaining row among the lane's rows */
#pragma unroll
        for (int k = 0; k < several; ++k)
            value[k] = source::reduce(raw[k], lane * source::count, op);
#pragma unroll
        for (int left = several / 2, bit = 1; left > 0; left /= 2, bit *= 2) {
            const unsigned int upper = all_bits_if(lane & bit);
#pragma unroll
            for (int k = 0; k < several / 2; ++k)
                if (k < left) {
                    const T own = select_bits(upper, value[left + k], value[k]);
                    value[k] = merge_totals<are_parts>(
                        own, shfl_xor_sync(ALL, select_bits(upper, value[k], value[left + k]), bit), op);
                }
            number += lane & bit ? left : 0;
        }
#pragma unroll
        for (int bit = several; bit < Lanes; bit *= 2)
            value[0] = merge_totals<are_parts>(value[0], shfl_xor_sync(ALL, value[0], bit), op);
        place there = at[0];
#pragma unroll
        for (int k = 1; k < several; ++k)
            if (k == number)
                there = at[k];
        const int64 row = first + number * rows;
        if (lane < several && row < p.results) {
            maybe<T> mine = {value[0], true};
            begin_with(p, mine, op);
            store<T, O>(p, mine, there, row, 0, out, nullptr, false, op);
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < several; ++k) {
        T value = source::reduce(raw[k], threadIdx.x % Lanes * source::count, op);
#pragma unroll
        for (int step = 1; step < Lanes; step *= 2) {
            T right = shfl_down_sync(ALL, value, step);
            if (threadIdx.x % (2 * step) == 0)
                value = are_parts ? op(value, right) : op.even(value, right);
        }
        int64 row = first + k * rows;
        if (threadIdx.x % Lanes == 0 && row < p.results) {
            maybe<T> all = {value, true};
            begin_with(p, all, op);
            store<T, O>(p, all, at[k], row, 0, out, nullptr, false, op);
        }
    }
}

/* Reduces rows of any length and alignment, each with `Lanes` lanes. */
template <class T, class O, class Source, int Lanes, class Op>
NUMBALITE_FUNCTION void short_rows(const plan &p, const void *input, void *out, Op op) {
    const int64 row = (int64)plan_block(p) * (BLOCK / Lanes) + threadIdx.x / Lanes;
    const int lane = (int)threadIdx.x % Lanes;
    /* lanes without a row reduce row 0, because shuffles need all lanes */
    const bool inside = row < p.results;
    place at = locate_part(p, inside ? row : 0, 0, nullptr);
    Source source(p, input, nullptr, at);
    maybe<T> total = reduce_interleaved<Lanes, T>(source, at.begin, at.end, lane, op);
    reduce_lanes<Lanes>(total, op);
    if (lane != 0 || !inside)
        return;
    begin_with(p, total, op);
    store<T, O>(p, total, at, row, 0, out, nullptr, false, op);
}

/* Reduces several rows for each result, with gaps between them: `Lanes` lanes reduce a row, and the
 * groups of lanes process rows round-robin. A part consists of complete rows and is reduced by one
 * block. */
template <class T, class O, class Source, int Lanes, class Op>
NUMBALITE_FUNCTION void gapped_rows(const plan &p, const void *input, void *out, Op op) {
    const int64 slot = plan_block(p), length = p.dims[p.kept + p.reduced - 1].length;
    int64 result = slot, part = 0;
    if (p.parts > 1) {
        result = quotient(slot, p.parts);
        part = slot - result * p.parts;
    }
    const place at = locate_part(p, result, part, nullptr);
    maybe<T> total = nothing<T>();
    for (int64 begin = at.begin + threadIdx.x / Lanes * length; begin < at.end;
         begin += BLOCK / Lanes * length) {
        place row = at;
        row.begin = begin;
        Source source(p, input, nullptr, row);
        append(total,
               reduce_interleaved<Lanes, T>(source, begin, begin + length, threadIdx.x % Lanes, op), op);
    }
    reduce_lanes(total, op);
    reduce_warps(total, op);
    if (threadIdx.x != 0)
        return;
    if (p.is_last)
        begin_with(p, total, op);
    store<T, O>(p, total, at, result, part, out, nullptr, false, op);
}

/* Reduces V neighbouring columns per thread along one reduced dimension, reading Ahead elements of
 * each column at a time. */
template <class S, class T, class O, int V, int Ahead, class Op>
NUMBALITE_FUNCTION void stripes(const plan &p, const void *input, void *out, Op op) {
    int64 piece = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (piece * V >= p.results)
        return;
    place at = locate_part(p, piece * V, 0, nullptr);
    const char *x = (const char *)input + at.input;
    const int64 step = p.dims[p.kept].input;
    const int length = (int)p.length;
    T total[V];
    /* without bounds checks, because they would make small accesses slower */
    if (Ahead == 8 && sizeof(S) < 4) {
        bool has = false;
        reduce_columns<Ahead, S, V>(total, has, x, step, 0, length, op);
    } else {
        for (int i = 0; i < length; i += Ahead)
            add_next_elements<false, Ahead, S, V>(total, i > 0, x + i * step, step, i, length - i, op);
    }
    store_columns<O>(p, total, true, at, piece * V, 0, out, op);
}

/* Reduces at most BLOCK columns: a thread reduces V neighbouring columns. The parts of a group of
 * columns have interleaved rows, so that the rows that are read at the same time are contiguous. */
template <class S, class T, class O, int V, class Op>
NUMBALITE_FUNCTION void narrow(const plan &p, const void *input, void *out, Op op) {
    typedef neighbours<S, V> wide;
    constexpr int ahead = sizeof(T) * V <= 16 ? 8 : 4;
    __shared__ neighbours<T, V> totals[BLOCK];
    const int columns = (int)p.dims[p.kept - 1].length, lanes = columns / V, rows = BLOCK / lanes;
    const int lane = (int)threadIdx.x % lanes, row = (int)threadIdx.x / lanes;
    const int64 group = quotient(plan_block(p), p.parts), part = plan_block(p) - group * p.parts;
    const int64 result = group * columns + lane * V;
    place at = locate_part(p, result, part, nullptr);
    const char *x = (const char *)input + at.input;
    int64 step = p.dims[p.kept].input, turn = p.parts * rows, first = part * rows;
    /* number of rows of threads that have elements */
    int left = first + rows < p.length ? rows : (int)(p.length - first);
    neighbours<T, V> total;
    if (row < left) {
        int64 i = first + row;
        wide w = read_once((const wide *)(x + i * step));
#pragma unroll
        for (int v = 0; v < V; ++v)
            total.item[v] = op.from(w.item[v], i);
        for (i += turn; i + (ahead - 1) * turn < p.length; i += ahead * turn) {
            once<wide> raw[ahead];
#pragma unroll
            for (int k = 0; k < ahead; ++k)
                raw[k] = once<wide>::read((const wide *)(x + (i + k * turn) * step));
            if constexpr (takes_chunks<Op>::value && !nl_detail::is_same_type<S, T>::value) {
                add_chunks_to_totals<ahead, S, V>(total.item, true, raw, i, op);
                continue;
            }
#pragma unroll
            for (int k = 0; k < ahead; ++k) {
                const wide next = raw[k].get();
#pragma unroll
                for (int v = 0; v < V; ++v)
                    total.item[v] = op(total.item[v], op.from(next.item[v], i + k * turn));
            }
        }
        constexpr int few = sizeof(S) > 1 ? ahead - 1 : 1;
        for (; i < p.length; i += few * turn) { /* reduces the remaining rows; all loads are issued
        first */
            wide rest[few];
#pragma unroll
            for (int k = 0; k < few; ++k)
                if (i + k * turn < p.length)
                    rest[k] = read_once((const wide *)(x + (i + k * turn) * step));
#pragma unroll
            for (int k = 0; k < few; ++k)
                if (i + k * turn < p.length)
#pragma unroll
                    for (int v = 0; v < V; ++v)
                        total.item[v] = op(total.item[v], op.from(rest[k].item[v], i + k * turn));
        }
        totals[threadIdx.x] = total;
    }
    __syncthreads();
    auto each = [op](neighbours<T, V> a, const neighbours<T, V> &b) {
#pragma unroll
        for (int v = 0; v < V; ++v)
            a.item[v] = op(a.item[v], b.item[v]);
        return a;
    };
    combine_row_totals(totals, total, row, left, lanes, each);
    if (row > 0)
        return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
        maybe<T> all = {total.item[v], true};
        if (p.is_last)
            begin_with(p, all, op);
        store<T, O>(p, all, at, result + v, part, out, nullptr, false, op);
        at.output += p.dims[p.kept - 1].output;
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
