/* pipelined_scan: running folds of long lines, whose tiles are on their way while those before are scanned.
 *
 * scan.cuh's scan_tiles reads a tile, tells what it folds to, waits for the tiles before it, and writes: the
 * memory is idle while a block waits. Here a block stays, and takes one tile after the other. While it
 * scans one, it has read and told the next one, and the one after that is on its way to shared memory
 * (pipeline.cuh). So what a tile asks for was told a tile's time ago.
 *
 * The time between a tile's ticket and its fold counts, since all later tiles wait for it; so a ticket is taken
 * when the copy begins, and not before. Elements are combined in the same order in each call. */
#ifndef NUMBALITE_PIPELINED_SCAN_CUH
#define NUMBALITE_PIPELINED_SCAN_CUH

#include "numbalite/pipeline.cuh"
#include "numbalite/scan.cuh"

namespace numbalite {
namespace nl_reduce {

/* reduceplan.py has them, too. A piece has 16 bytes. */
enum { PIPELINE_PIECES = 5, PIPELINE_STAGES = 3 };

/* A tile's elements in shared memory, `count` of them there; behind those are T(). */
template <class T, class S, int V>
NUMBALITE_FUNCTION void read_staged(T (&v)[V], const S *stage, int64 i, int64 count) {
    run<S, V> raw = *(const run<S, V> *)(stage + i);
#pragma unroll
    for (int j = 0; j < V; ++j)
        v[j] = i + j < count ? nl_convert<T>(raw.item[j]) : T();
}

/* The stages of a block's tiles, and which tile is in each. */
template <class S> struct tile_stages {
    unsigned char *memory;
    nl_pipeline::arrival *arrivals;
    int64 *numbers;
    int64 bytes; /* of a tile */

    NUMBALITE_FUNCTION S *at(int stage) const { return (S *)(memory + stage * bytes); }

    /* The next tile is on its way; for one thread. There may be none left. */
    NUMBALITE_FUNCTION void fetch(const plan &p, const char *input, nl_letter *tickets, int stage) const {
        int64 number = (int64)atomicAdd(tickets, 1ull);
        int64 tile = quotient(number, p.results), line = number - tile * p.results;
        numbers[stage] = number;
        if (tile >= p.parts) {
            nl_pipeline::expect(&arrivals[stage], 0);
            return;
        }
        int64 left = (p.length - tile * p.chunk) * (int64)sizeof(S);
        int64 there = left < bytes ? left : bytes, whole = there & ~15ll;
        const char *from = input + place_of(p, line, 0, nullptr).input + tile * bytes;
        for (int64 i = whole; i < there; i += sizeof(S))
            *(S *)((char *)at(stage) + i) = *(const S *)(from + i);
        nl_pipeline::expect(&arrivals[stage], (unsigned int)whole);
        if (whole > 0)
            nl_pipeline::copy(&arrivals[stage], at(stage), from, (unsigned int)whole);
    }
};

/* What is before each of a thread's pieces in its warp; nothing is before the first lane's first one. Gives the
 * warp's fold. */
template <class S, int V, class T, int K, class Op>
NUMBALITE_FUNCTION T fold_staged(T (&before)[K], const S *stage, int64 count, Op op) {
    pieces<V, K> mine(0);
    T sum[K], left[K], of_run[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
        T v[V];
        read_staged(v, stage, mine[k], count);
        sum[k] = v[0];
#pragma unroll
        for (int j = 1; j < V; ++j)
            sum[k] = op(sum[k], v[j]);
    }
    scan_runs(sum, left, of_run, op);
    unsigned int follows = bits_if(laneid() > 0);
    before[0] = left[0];
#pragma unroll
    for (int k = 1; k < K; ++k)
        before[k] = chosen(follows, op(of_run[k - 1], left[k]), of_run[k - 1]);
    return of_run[K - 1];
}

/* The fold of the first `count` numbers of an array, one for each lane; the same in all lanes. */
template <class T, class Op> NUMBALITE_FUNCTION maybe<T> fold_first(const T *numbers, int count, Op op) {
    maybe<T> m = nothing<T>();
    if (laneid() < count) {
        m.value = numbers[laneid()];
        m.has = true;
    }
    fold_lanes(m, op);
    return m;
}

template <class S, class T, class O, int V, bool Exclusive, class Op>
NUMBALITE_FUNCTION void pipelined_scan(const plan &p, const void *input, void *out, void *memory, Op op) {
    constexpr int K = PIPELINE_PIECES, stages = PIPELINE_STAGES;
    __shared__ nl_pipeline::arrival arrivals[stages];
    __shared__ int64 numbers[stages];
    __shared__ T of_warps[2][32];       /* of the tile that is scanned and the next one, in turn */
    __shared__ maybe<T> of_windows[32]; /* of the tiles that each warp has looked at */
    __shared__ maybe<T> before_window;
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const dimension &axis = p.dims[p.kept];
    nl_letter *tickets = (nl_letter *)memory;
    int64 total = p.results * p.parts, each = letters_of_windows(p.parts);
    tile_stages<S> ring = {block_memory(), arrivals, numbers, p.chunk * (int64)sizeof(S)};

    auto window_of = [&](int64 number) {
        window<T> w;
        w.all.first = tickets + 1;
        w.all.step = p.results * each;
        w.tile = quotient(number, p.results);
        w.i = (number - w.tile * p.results) * each;
        w.tiles = p.parts;
        return w;
    };
    /* Reads the tile of a stage; gives its number. */
    T before[K];
    auto fold = [&](int stage, int turn) {
        int64 number = numbers[stage], count = p.length - quotient(number, p.results) * p.chunk;
        T own = fold_staged<S, V>(before, ring.at(stage), count, op);
        if (lane == 0)
            of_warps[turn][warp] = own;
        return number;
    };
    auto tell = [&](int64 number, int turn) {
        if (warp > 0 || number >= total)
            return;
        maybe<T> own = fold_first(of_warps[turn], warps, op);
        if (lane == 0)
            window_of(number).post_tile(own.value);
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage)
            nl_pipeline::make_arrival(&arrivals[stage]);
        nl_pipeline::publish_arrivals();
        for (int stage = 0; stage < stages - 1; ++stage)
            ring.fetch(p, (const char *)input, tickets, stage);
    }
    __syncthreads();
    nl_pipeline::wait(&arrivals[0], 0);
    int64 number = fold(0, 0);
    __syncthreads();
    tell(number, 0);

    int stage = 0, turn = 0;
    unsigned int parity = 0; /* of the stage's arrival */
    while (number < total) {
        int next_stage = stage + 1 < stages ? stage + 1 : 0;
        unsigned int next_parity = next_stage > 0 ? parity : parity ^ 1;
        if (threadIdx.x == 0)
            ring.fetch(p, (const char *)input, tickets, stage > 0 ? stage - 1 : stages - 1);
        T here[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            here[k] = before[k];
        window<T> w = window_of(number);
        w.ask();

        nl_pipeline::wait(&arrivals[next_stage], next_parity);
        int64 next = fold(next_stage, turn ^ 1);
        __syncthreads();
        tell(next, turn ^ 1);

        maybe<T> m = w.wait_here(op);
        if (lane == 0)
            of_windows[warp] = m;
        if (warp == 0) {
            maybe<T> line = w.wait_before(op);
            if (w.is_first())
                begin_with(p, line, op);
            if (lane == 0)
                before_window = line;
        }
        __syncthreads();
        maybe<T> base = before_window;
        m = lane < warps ? of_windows[lane] : nothing<T>();
        fold_lanes(m, op);
        append(base, m, op);
        if (warp == 0 && w.is_last_tile()) {
            maybe<T> so_far = base;
            append(so_far, fold_first(of_warps[turn], warps, op), op);
            if (lane == 0)
                w.post_line(so_far.value);
        }
        append(base, fold_first(of_warps[turn], warp, op), op);

        place at = place_of(p, number - w.tile * p.results, 0, nullptr);
        char *y = (char *)out + at.output;
        bool wide = axis.output == sizeof(O) && ((size_t)y & 15) == 0;
        int64 begin = w.tile * p.chunk;
        pieces<V, K> mine(0);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            T v[V];
            read_staged(v, ring.at(stage), mine[k], p.length - begin);
#pragma unroll
            for (int j = 1; j < V; ++j)
                v[j] = op(v[j - 1], v[j]);
            maybe<T> prefix = {here[k], k > 0 || lane > 0};
            if (base.has) {
                T both = op(base.value, here[k]);
                prefix.value = k > 0 ? both : chosen(bits_if(lane > 0), both, base.value);
                prefix.has = true;
            }
            store_piece<O, Exclusive>(prefix, v, y, axis.output, begin + mine[k], p.length, wide, op);
        }
        __syncthreads(); /* the stage can be written to */
        number = next, stage = next_stage, parity = next_parity, turn ^= 1;
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
