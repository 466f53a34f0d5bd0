/* pipelined_scan: running folds of long lines, whose tiles are on their way while those before are scanned.
 *
 * scan.cuh's scan_tiles reads a tile, tells what it folds to, waits for the tiles before it, and writes: the
 * memory is idle while a block waits. Here a block stays, and takes one tile after the other. While it
 * scans one, it has read and told the next one, and the one after that is on its way to shared memory
 * (pipeline.cuh). So what a tile asks for was told a tile's time ago.
 *
 * The time between a tile's ticket and its fold counts, since all later tiles wait for it; so a ticket is taken
 * just before the copy begins. Elements are combined in the same order in each call. */
#ifndef NUMBALITE_PIPELINED_SCAN_CUH
#define NUMBALITE_PIPELINED_SCAN_CUH

#include "numbalite/pipeline.cuh"
#include "numbalite/scan.cuh"

namespace numbalite {
namespace nl_reduce {

/* reduceplan.py has them, too. A piece has 16 bytes. */
enum { PIPELINE_PIECES = 8, PIPELINE_STAGES = 3 };

/* V elements of a tile in shared memory, which has `count`; T() behind those. Whole: it has all. */
template <bool Whole, class T, class S, int V>
NUMBALITE_FUNCTION void read_staged(T (&v)[V], const S *stage, int i, int count) {
    run<S, V> raw = *(const run<S, V> *)(stage + i);
#pragma unroll
    for (int j = 0; j < V; ++j)
        v[j] = Whole || i + j < count ? nl_convert<T>(raw.item[j]) : T();
}

/* A thread's pieces of a tile are neighbours of those of the lanes beside it, as in scan.cuh; this is its first. */
template <int V> NUMBALITE_FUNCTION int first_piece() {
    return (int)((threadIdx.x / 32 * PIPELINE_PIECES * 32 + threadIdx.x % 32) * V);
}

/* The folds of a thread's pieces. */
template <bool Whole, int V, class S, class T, int K, class Op>
NUMBALITE_FUNCTION void fold_pieces(T (&sum)[K], const S *stage, int count, Op op) {
    int mine = first_piece<V>();
#pragma unroll
    for (int k = 0; k < K; ++k) {
        T v[V];
        read_staged<Whole>(v, stage, mine + k * 32 * V, count);
        sum[k] = v[0];
#pragma unroll
        for (int j = 1; j < V; ++j)
            sum[k] = op(sum[k], v[j]);
    }
}

/* A line's tile; behind the last one of all lines there are some that are none. */
struct tile_of_line {
    int64 tile, line;
};

/* The stages of a block's tiles, and which tile is in each. */
template <class S> struct tile_stages {
    unsigned char *memory;
    nl_pipeline::arrival *arrivals;
    tile_of_line *tiles;
    int64 bytes; /* of a tile */

    /* What is to be copied; worked out before there is a stage for it. */
    struct request {
        tile_of_line it;
        const char *from;
        unsigned int there; /* bytes */
    };

    NUMBALITE_FUNCTION S *at(int stage) const { return (S *)(memory + stage * bytes); }

    NUMBALITE_FUNCTION request of(nl_letter ticket, const plan &p, const void *input) const {
        int64 tile = quotient((int64)ticket, p.results);
        request r = {{tile, (int64)ticket - tile * p.results}, (const char *)input, 0};
        if (tile < p.parts) {
            int64 left = p.length * (int64)sizeof(S) - tile * bytes;
            r.from += place_of(p, r.it.line, 0, nullptr).input + tile * bytes;
            r.there = (unsigned int)(left < bytes ? left : bytes);
        }
        return r;
    }

    /* The tile is on its way; for one thread. */
    NUMBALITE_FUNCTION void fetch(const request &r, int stage) const {
        unsigned int whole = r.there & ~15u;
        tiles[stage] = r.it;
        for (unsigned int i = whole; i < r.there; i += sizeof(S))
            *(S *)((char *)at(stage) + i) = *(const S *)(r.from + i);
        nl_pipeline::expect(&arrivals[stage], whole);
        if (whole > 0)
            nl_pipeline::copy(&arrivals[stage], at(stage), r.from, whole);
    }
};

/* What is before each of a thread's pieces in its warp; nothing is before the first lane's first one. Gives the
 * warp's fold. */
template <int V, class S, class T, int K, class Op>
NUMBALITE_FUNCTION T fold_staged(T (&before)[K], const S *stage, int count, bool whole, Op op) {
    T sum[K], left[K], of_run[K];
    if (whole) /* in the whole block */
        fold_pieces<true, V>(sum, stage, count, op);
    else
        fold_pieces<false, V>(sum, stage, count, op);
    scan_runs(sum, left, of_run, op);
    unsigned int follows = bits_if(laneid() > 0);
    before[0] = left[0];
#pragma unroll
    for (int k = 1; k < K; ++k)
        before[k] = chosen(follows, op(of_run[k - 1], left[k]), of_run[k - 1]);
    return of_run[K - 1];
}

/* Running folds of a thread's pieces, to where the tile's results are; `base` is before its warp. */
template <bool Whole, bool Exclusive, int V, class S, class T, class O, int K, class Op>
NUMBALITE_FUNCTION void store_staged(const maybe<T> &base, const T (&before)[K], const S *stage, O *,
                                     char *y, int64 step, int count, bool wide, Op op) {
    int lane = laneid(), mine = first_piece<V>();
#pragma unroll
    for (int k = 0; k < K; ++k) {
        int i = mine + k * 32 * V;
        T v[V];
        read_staged<Whole>(v, stage, i, count);
#pragma unroll
        for (int j = 1; j < V; ++j)
            v[j] = op(v[j - 1], v[j]);
        maybe<T> prefix = {before[k], k > 0 || lane > 0};
        if (base.has) {
            T both = op(base.value, before[k]);
            prefix.value = k > 0 ? both : chosen(bits_if(lane > 0), both, base.value);
            prefix.has = true;
        }
        store_piece<O, Exclusive, Whole>(prefix, v, y, step, i, count, wide, op);
    }
}

template <class S, class T, class O, int V, bool Exclusive, class Op>
NUMBALITE_FUNCTION void pipelined_scan(const plan &p, const void *input, void *out, void *memory, Op op) {
    constexpr int K = PIPELINE_PIECES, stages = PIPELINE_STAGES;
    __shared__ nl_pipeline::arrival arrivals[stages];
    __shared__ tile_of_line tiles[stages];
    __shared__ T of_warps[2][32];   /* of the tile that is scanned and the next one, in turn */
    __shared__ T of_windows[32];    /* of the tiles that each warp has looked at */
    __shared__ maybe<T> before_window;
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    bool fetches = threadIdx.x == blockDim.x - 32; /* in the warp that has the least to do beside */
    const dimension &axis = p.dims[p.kept];
    nl_letter *tickets = (nl_letter *)memory;
    int64 each = letters_of_windows(p.parts);
    letters<T> all = {tickets + 1, p.results * each};
    tile_stages<S> ring = {block_memory(), arrivals, tiles, p.chunk * (int64)sizeof(S)};

    auto count_of = [&](const tile_of_line &it) {
        int64 left = p.length - it.tile * p.chunk;
        return (int)(left < p.chunk ? left : p.chunk);
    };
    /* Reads the tile of a stage. */
    T before[K];
    auto fold = [&](int stage, int turn) {
        tile_of_line it = tiles[stage];
        int count = count_of(it);
        T own = fold_staged<V>(before, ring.at(stage), count, count == p.chunk, op);
        if (lane == 0)
            of_warps[turn][warp] = own;
        return it;
    };
    /* All warps take part: lanes that may have parted shuffle slowly. */
    auto tell = [&](const tile_of_line &it, int turn) {
        T own = fold_first(of_warps[turn][lane < warps ? lane : 0], warps, op);
        if (threadIdx.x == 0 && it.tile < p.parts)
            all.post(it.line * each + it.tile, own);
    };

    if (fetches) {
        for (int stage = 0; stage < stages; ++stage)
            nl_pipeline::make_arrival(&arrivals[stage]);
        nl_pipeline::publish_arrivals();
        for (int stage = 0; stage < stages - 1; ++stage)
            ring.fetch(ring.of(atomicAdd(tickets, 1ull), p, input), stage);
    }
    __syncthreads();
    nl_pipeline::wait(&arrivals[0], 0);
    tile_of_line now = fold(0, 0);
    __syncthreads();
    tell(now, 0);

    int stage = 0, turn = 0;
    unsigned int parity = 0; /* of the stage's arrival */
    typename tile_stages<S>::request coming = {};
    if (fetches)
        coming = ring.of(atomicAdd(tickets, 1ull), p, input);
    while (now.tile < p.parts) {
        int next_stage = stage + 1 < stages ? stage + 1 : 0;
        unsigned int next_parity = next_stage > 0 ? parity : parity ^ 1;
        if (fetches)
            ring.fetch(coming, stage > 0 ? stage - 1 : stages - 1);
        T here[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            here[k] = before[k];
        window<T> w(all, now.line * each, now.tile, p.parts);

        nl_pipeline::wait(&arrivals[next_stage], next_parity);
        tile_of_line next = fold(next_stage, turn ^ 1);
        __syncthreads();
        tell(next, turn ^ 1);

        T of_window = w.wait_here(op);
        if (lane == 0)
            of_windows[warp] = of_window;
        if (warp == warps - 1) {
            maybe<T> line = nothing<T>();
            if (w.is_first()) {
                begin_with(p, line, op);
            } else {
                line.value = w.wait_before();
                line.has = true;
            }
            if (lane == 0)
                before_window = line;
        }
        __syncthreads();
        maybe<T> base = before_window;
        T in_window = fold_first(of_windows[lane < warps ? lane : 0], w.warps(), op);
        if (w.warps() > 0)
            append(base, in_window, op);
        T of_warp = of_warps[turn][lane < warps ? lane : 0];
        if (w.is_last_tile()) {
            maybe<T> so_far = base;
            append(so_far, fold_first(of_warp, warps, op), op);
            if (threadIdx.x == 0)
                w.post_line(so_far.value);
        }
        T in_tile = fold_first(of_warp, warp, op);
        if (warp > 0)
            append(base, in_tile, op);
        nl_letter ticket = fetches ? atomicAdd(tickets, 1ull) : 0; /* it comes while results are written */
        int count = count_of(now);
        char *y = (char *)out + place_of(p, now.line, 0, nullptr).output + now.tile * p.chunk * axis.output;
        bool wide = axis.output == sizeof(O) && ((size_t)y & 15) == 0;
        if (count == p.chunk && wide)
            store_staged<true, Exclusive, V>(base, here, ring.at(stage), (O *)0, y, axis.output, count, wide, op);
        else
            store_staged<false, Exclusive, V>(base, here, ring.at(stage), (O *)0, y, axis.output, count, wide, op);
        if (fetches)
            coming = ring.of(ticket, p, input);
        __syncthreads(); /* the stage can be written to */
        now = next, stage = next_stage, parity = next_parity, turn ^= 1;
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
