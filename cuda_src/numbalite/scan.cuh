/* scan: prefix reductions along an axis (accumulate).
 *
 * A row (a 1-D slice along the axis) is scanned by one thread (in shared memory, if the row is
 * short), by a warp, or in tiles with a block for each tile. Tiles use the decoupled look-back of
 * lookback.cuh: every element is read and written once. If the first elements of neighbouring rows
 * are adjacent in memory, the rows are called columns, as in a C-contiguous matrix: one thread scans
 * one or several columns (vec.cuh). If there are too few columns for one thread each, columns are
 * scanned in tiles of 32 columns by 64 elements, or, if the columns are few and long, in parts,
 * after other launches have computed and scanned the totals of the parts.
 * Elements are combined in order, as in reduce.cuh, whose plan is also used for scans: the kept
 * dimensions enumerate the rows, and the only reduced dimension is the axis. */
#ifndef NUMBALITE_SCAN_CUH
#define NUMBALITE_SCAN_CUH

#include "numbalite/block_memory.cuh"
#include "numbalite/lookback.cuh"
#include "numbalite/row_walk.cuh"
#include "numbalite/vec.cuh"

namespace numbalite {
namespace nl_reduce {

/* The prefix of a part: the initial value combined with the scanned totals of the earlier parts of
 * the row. */
template <class T, class Op>
NUMBALITE_FUNCTION maybe<T> before_part(const plan &p, const void *before, int64 line, int64 part,
                                        Op op) {
    maybe<T> m = nothing<T>();
    if (part > 0) {
        m.value = ((const T *)before)[line * p.parts + part - 1];
        m.has = true;
    }
    begin_with(p, m, op);
    return m;
}

template <class S, class T, class O, bool Exclusive, class Op>
NUMBALITE_FUNCTION void scan_serial(const plan &p, const void *input, const void *before, void *out,
                                    Op op) {
    int64 slot = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= p.results * p.parts)
        return;
    int64 part = quotient(slot, p.results), line = slot - part * p.results;
    place at = locate_part(p, line, part, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input;
    char *y = (char *)out + at.output;
    maybe<T> total = before_part<T>(p, before, line, part, op);
    constexpr int ahead = 4;
    for (int64 i = at.begin; i < at.end; i += ahead) {
        S items[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            if (i + k < at.end)
                items[k] = *(const S *)(x + (i + k) * axis.input);
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            if (i + k >= at.end)
                return;
            T so_far = total.value;
            append(total, nl_convert<T>(items[k]), op);
            *(O *)(y + (i + k) * axis.output) = nl_convert<O>(Exclusive ? so_far : total.value);
        }
    }
}

/* Scans short rows in shared memory, one row for each lane. A warp reads and writes the rows of all
 * its lanes in memory order. In shared memory the distance between rows is odd, so that the lanes'
 * elements are in different banks. */
template <class S, class T, class O, bool Exclusive, class Op>
NUMBALITE_FUNCTION void scan_rows(const plan &p, const void *input, const void *before, void *out,
                                  Op op) {
    constexpr int ahead = 8;
    const int length = (int)p.length, pitch = length | 1, lane = laneid();
    const int64 first = ((int64)plan_block(p) * (blockDim.x / 32) + threadIdx.x / 32) * 32;
    if (first >= p.results)
        return; /* complete warps return */
    const int count = (int)(p.results - first < 32 ? p.results - first : 32);
    const int elements = count * length;
    const int64 line = first + (lane < count ? lane : 0);
    const dimension &axis = p.dims[p.kept];
    place at = locate_part(p, line, 0, nullptr);
    T *rows = (T *)block_memory() + threadIdx.x / 32 * 32 * pitch;

    row_walk read(length);
    for (int k = lane; k - lane < elements; k += 32 * ahead) {
        S items[ahead];
        row_walk write = read;
#pragma unroll
        for (int j = 0; j < ahead; ++j) {
            const int64 from = shfl_sync(ALL, at.input, read.row) + read.column * axis.input;
            if (k + 32 * j < elements)
                items[j] = *(const S *)((const char *)input + from);
            read.go_on();
        }
#pragma unroll
        for (int j = 0; j < ahead; ++j) {
            if (k + 32 * j < elements)
                rows[write.row * pitch + write.column] = nl_convert<T>(items[j]);
            write.go_on();
        }
    }
    __syncwarp();
    if (lane < count) {
        maybe<T> total = before_part<T>(p, before, line, 0, op);
        for (T *x = rows + lane * pitch, *end = x + length; x != end; ++x) {
            T so_far = total.value;
            append(total, *x, op);
            *x = Exclusive ? so_far : total.value;
        }
    }
    __syncwarp();
    row_walk write(length);
#pragma unroll 4
    for (int k = lane; k - lane < elements; k += 32) {
        const int64 to = shfl_sync(ALL, at.output, write.row) + write.column * axis.output;
        if (k < elements)
            *(O *)((char *)out + to) = nl_convert<O>(rows[write.row * pitch + write.column]);
        write.go_on();
    }
}

/* The indices of a thread's K units of V consecutive elements in a tile; neighbouring threads have
 * neighbouring units. A warp has K consecutive runs of 32 units each. */
template <int V, int K> struct pieces {
    int64 begin; /* of the thread's first piece */
    NUMBALITE_FUNCTION explicit pieces(int64 tile)
        : begin(tile + ((int64)(threadIdx.x / 32) * K * 32 + laneid()) * V) {}
    NUMBALITE_FUNCTION int64 operator[](int k) const { return begin + k * 32 * V; }
};

template <class S, int V> struct __align__(alignment_of_size(V * (int)sizeof(S))) run {
    S item[V];
};
template <class S> struct run<S, 1> { S item[1]; };

/* Returns whether the elements are contiguous and the first address is a multiple of 16 bytes. */
template <class S> NUMBALITE_FUNCTION bool are_packed(const char *x, int64 step) {
    return step == sizeof(S) && ((size_t)x & 15) == 0;
}

template <class S, class T, int V, int K>
NUMBALITE_FUNCTION void read_units(T (&v)[K][V], const char *x, int64 step, int64 end,
                                    const pieces<V, K> &at) {
    if (at[K - 1] + V <= end && (V == 1 || are_packed<S>(x, step))) {
        run<S, V> raw[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            raw[k] = *(const run<S, V> *)(x + at[k] * step);
#pragma unroll
        for (int k = 0; k < K; ++k)
#pragma unroll
            for (int j = 0; j < V; ++j)
                v[k][j] = nl_convert<T>(raw[k].item[j]);
        return;
    }
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
        for (int j = 0; j < V; ++j)
            v[k][j] = at[k] + j < end ? nl_convert<T>(*(const S *)(x + (at[k] + j) * step)) : T();
}

template <class O, int V> NUMBALITE_FUNCTION void write_piece(const O (&items)[V], char *y) {
    constexpr int each = sizeof(O) >= 16 && sizeof(O) % 16 == 0 ? 1 : 16 % sizeof(O) == 0 ? 16 / sizeof(O) : V;
    constexpr int width = V < each ? V : each;
    typedef run<O, width> wide;
#pragma unroll
    for (int j = 0; j < V; j += width) {
        wide w;
#pragma unroll
        for (int i = 0; i < width; ++i)
            w.item[i] = items[j + i];
        *(wide *)(y + j * sizeof(O)) = w;
    }
}

/* Computes the inclusive scan of the lanes' values. */
template <class T, class Op> NUMBALITE_FUNCTION T scan_lanes(T value, Op op) {
    int lane = laneid();
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T both = op(shfl_up_sync(ALL, value, step), value);
        value = select_bits(all_bits_if(lane >= step), both, value);
    }
    return value;
}

/* Scans the totals of the thread's K units across the warp: `left` receives the prefix of each unit
 * in its run (undefined in lane 0), and `of_run` the total of the warp's runs so far. */
template <class T, int K, class Op>
NUMBALITE_FUNCTION void scan_unit_totals(T (&sum)[K], T (&left)[K], T (&of_run)[K], Op op) {
    int lane = laneid();
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        unsigned int follows = all_bits_if(lane >= step);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            T both = op(shfl_up_sync(ALL, sum[k], step), sum[k]);
            sum[k] = select_bits(follows, both, sum[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
        left[k] = shfl_up_sync(ALL, sum[k], 1);
        of_run[k] = shfl_sync(ALL, sum[k], 31);
        if (k > 0)
            of_run[k] = op(of_run[k - 1], of_run[k]);
    }
}

/* Stores the results of one unit, whose first element has index i: `v` is the inclusive scan of the
 * unit, and `prefix` is combined before it. `wide` is set if the results are contiguous and begin
 * at a multiple of 16 bytes. */
template <class O, bool Exclusive, class T, int V, class Op>
NUMBALITE_FUNCTION void store_unit(const maybe<T> &prefix, const T (&v)[V], char *y, int64 step, int64 i,
                                    int64 length, bool wide, Op op) {
    O items[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
        if (Exclusive)
            items[j] = nl_convert<O>(j > 0 ? op(prefix.value, v[j - 1]) : prefix.value);
        else
            items[j] = nl_convert<O>(prefix.has ? op(prefix.value, v[j]) : v[j]);
    }
    if (V > 1 && wide && i + V <= length) {
        write_piece(items, y + i * sizeof(O));
    } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (i + j < length)
                *(O *)(y + (i + j) * step) = items[j];
    }
}

/* Scans each of a thread's units; on return, `sum` contains the total of each unit. */
template <class T, int V, int K, class Op>
NUMBALITE_FUNCTION void scan_units(T (&v)[K][V], T (&sum)[K], Op op) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
        for (int j = 1; j < V; ++j)
            v[k][j] = op(v[k][j - 1], v[k][j]);
        sum[k] = v[k][V - 1];
    }
}

/* Scans one tile of a row by a block: `load` loads a thread's units, `store` receives each scanned
 * unit and its prefix, if any; `start` is the prefix of the row. The order of the operations is the
 * same in each call. Values that are not needed are also computed, but not selected, because
 * diverging lanes would cost more. Threads past the end of a row compute values, too, but no result
 * depends on them. */
template <class T, int V, int K, class Load, class Store, class Op>
NUMBALITE_FUNCTION void scan_tile(const plan &p, int64 line, int64 tile, void *memory,
                                  const maybe<T> &start, Load load, Store store, Op op) {
    __shared__ T of_warps[32];
    __shared__ maybe<T> bases[32]; /* the prefix of each warp */
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    pieces<V, K> mine(tile * p.chunk);

    T v[K][V], left[K], sum[K], of_run[K];
    load(v, mine);
    scan_units(v, sum, op);
    scan_unit_totals(sum, left, of_run, op);
    if (lane == 0)
        of_warps[warp] = of_run[K - 1];
    __syncthreads();

    if (warp == 0) {
        maybe<T> m = start;
        T sums = scan_lanes(of_warps[lane < warps ? lane : 0], op);
        if (p.parts > 1) {
            T own = shfl_sync(ALL, sums, warps - 1);
            nl_status *first = (nl_status *)memory + 1;
            int64 each = row_status_count(p.parts);
            tile_states<T> all = {first, p.results * each};
            append(m, before_tile(all, line * each, tile, p.parts, own, op), op);
        }
        sums = shfl_up_sync(ALL, sums, 1);
        if (lane > 0)
            append(m, sums, op);
        if (lane < warps)
            bases[lane] = m;
    }
    __syncthreads();

    maybe<T> base = bases[warp];
    if (base.has) { /* all threads of a warp take the same branch */
#pragma unroll
        for (int k = 0; k < K; ++k) {
            T before = k > 0 ? op(base.value, of_run[k > 0 ? k - 1 : 0]) : base.value;
            T both = op(before, left[k]);
            maybe<T> prefix = {select_bits(all_bits_if(lane > 0), both, before), true};
            store(prefix, v[k], mine[k]);
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
        maybe<T> prefix = nothing<T>();
        if (k > 0)
            append(prefix, of_run[k - 1], op);
        if (lane > 0)
            append(prefix, left[k], op);
        store(prefix, v[k], mine[k]);
    }
}

/* Scans rows by one block for each tile of each row; the first tiles of all rows have the first
 * blocks.
 * A unit of V elements is read with one access if it is contiguous and at a multiple of 16 bytes.
 * If Exclusive is set, a result does not include its own element, and an initial value is
 * required. */
template <class S, class T, class O, int V, int K, bool Exclusive, class Op>
NUMBALITE_FUNCTION void scan_tiles(const plan &p, const void *input, void *out, void *memory, Op op) {
    int64 number = p.parts > 1 ? take_ticket((nl_status *)memory) : blockIdx.x;
    int64 tile = quotient(number, p.results), line = number - tile * p.results;
    place at = locate_part(p, line, 0, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input;
    char *y = (char *)out + at.output;
    const bool wide = are_packed<O>(y, axis.output);
    maybe<T> start = nothing<T>();
    begin_with(p, start, op);

    auto load = [&](T(&v)[K][V], const pieces<V, K> &mine) {
        read_units<S>(v, x, axis.input, p.length, mine);
    };
    auto store = [&](const maybe<T> &prefix, const T(&v)[V], int64 i) {
        store_unit<O, Exclusive>(prefix, v, y, axis.output, i, p.length, wide, op);
    };
    scan_tile<T, V, K>(p, line, tile, memory, start, load, store, op);
}

/* Constants that must match core/scanplan.c: rows of a tile per thread, and statuses of a
 * column. */
enum { COLUMN_ROWS = 8 };
NUMBALITE_FUNCTION int64 column_status_count(int64 tiles) { return tiles + (tiles + TEAM - 1) / TEAM; }

/* Scans tiles of 32 columns, one column for each lane; each warp of a block scans some rows of the
 * tile. A group has as many tiles as a block has warps; the last tile of a group publishes the
 * totals of the columns so far. A tile waits for the earlier tiles of its group, by one warp for
 * each, and for the total of the earlier groups. So the order of the operations does not depend on
 * timing. */
template <class S, class T, class O, bool Exclusive, class Op>
NUMBALITE_FUNCTION void scan_columns(const plan &p, const void *input, void *out, void *memory, Op op) {
    /* the last row of `of_tiles` contains the total of the earlier groups */
    __shared__ T of_warps[TEAM][32], of_tiles[TEAM][32];
    const int warp = (int)threadIdx.x / 32, lane = laneid();
    const int64 across = (p.results + 31) / 32, number = take_ticket((nl_status *)memory);
    const int64 tile = quotient(number, across), first = (number - tile * across) * 32;
    const int count = (int)(p.results - first < 32 ? p.results - first : 32);
    const int64 line = first + (lane < count ? lane : 0), begin = tile * p.chunk + warp * COLUMN_ROWS;
    const place at = locate_part(p, line, 0, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input + begin * axis.input;
    char *y = (char *)out + at.output + begin * axis.output;
    const tile_states<T> all = {(nl_status *)memory + 1, p.results * column_status_count(p.parts)};

    S items[COLUMN_ROWS];
#pragma unroll
    for (int k = 0; k < COLUMN_ROWS; ++k)
        if (begin + k < p.length)
            items[k] = *(const S *)(x + k * axis.input);
    T v[COLUMN_ROWS];
#pragma unroll
    for (int k = 0; k < COLUMN_ROWS; ++k) {
        v[k] = begin + k < p.length ? nl_convert<T>(items[k]) : T();
        if (k > 0)
            v[k] = op(v[k - 1], v[k]);
    }
    of_warps[warp][lane] = v[COLUMN_ROWS - 1];
    __syncthreads();

    const int within = (int)(tile % TEAM);
    const int64 group = tile / TEAM;
    const bool publishes = warp == 0 && lane < count && tile + 1 < p.parts;
    T own = of_warps[0][lane];
    if (publishes) {
#pragma unroll
        for (int w = 1; w < TEAM; ++w)
            own = op(own, of_warps[w][lane]);
        all.publish(tile * p.results + line, own);
    }
    if (warp < within || (warp == TEAM - 1 && group > 0)) {
        const int64 row = warp < within ? tile - within + warp : p.parts + group - 1;
        typename tile_states<T>::request there = all.load(row * p.results + first, count);
        of_tiles[warp][lane] = all.wait(there);
    }
    __syncthreads();

    maybe<T> before = {of_tiles[TEAM - 1][lane], group > 0};
    if (group == 0)
        begin_with(p, before, op);
    for (int j = 0; j < within; ++j)
        append(before, of_tiles[j][lane], op);
    if (publishes && within == TEAM - 1)
        all.publish((p.parts + group) * p.results + line, op(before.value, own));
    for (int w = 0; w < warp; ++w)
        append(before, of_warps[w][lane], op);
    if (lane >= count)
        return;
#pragma unroll
    for (int k = 0; k < COLUMN_ROWS; ++k) {
        if (begin + k >= p.length)
            return;
        T so_far = k > 0 ? v[k > 0 ? k - 1 : 0] : T();
        if (!Exclusive)
            so_far = before.has ? op(before.value, v[k]) : v[k];
        else
            so_far = k > 0 ? op(before.value, so_far) : before.value;
        *(O *)(y + k * axis.output) = nl_convert<O>(so_far);
    }
}

/* Scans rows of some hundred elements with one warp for each row; V and K have the same meaning as
 * for tiles. */
template <class S, class T, class O, int V, int K, bool Exclusive, class Op>
NUMBALITE_FUNCTION void scan_warps(const plan &p, const void *input, void *out, Op op) {
    constexpr int turn = 32 * V * K;
    const int warp = (int)threadIdx.x / 32, lane = laneid();
    const int64 line = (int64)plan_block(p) * (blockDim.x / 32) + warp;
    if (line >= p.results)
        return; /* complete warps return */
    const place at = locate_part(p, line, 0, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input;
    char *y = (char *)out + at.output;
    const bool wide = are_packed<O>(y, axis.output);
    maybe<T> start = nothing<T>();
    begin_with(p, start, op);
    for (int64 first = 0; first < p.length; first += turn) {
        const pieces<V, K> mine(first - warp * turn);
        T v[K][V], left[K], sum[K], of_run[K];
        read_units<S>(v, x, axis.input, p.length, mine);
        scan_units(v, sum, op);
        scan_unit_totals(sum, left, of_run, op);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            maybe<T> before = start, prefix = {left[k], lane > 0};
            if (k > 0)
                append(before, of_run[k > 0 ? k - 1 : 0], op);
            if (before.has) { /* all lanes take the same branch */
                prefix.value = select_bits(all_bits_if(lane > 0), op(before.value, left[k]), before.value);
                prefix.has = true;
            }
            store_unit<O, Exclusive>(prefix, v[k], y, axis.output, mine[k], p.length, wide, op);
        }
        append(start, of_run[K - 1], op);
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
