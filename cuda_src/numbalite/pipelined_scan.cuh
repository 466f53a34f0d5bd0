/* pipelined_scan: prefix reductions of long rows; tiles are loaded while earlier tiles are scanned.
 *
 * scan_tiles of scan.cuh reads a tile, publishes its total, waits for the earlier tiles, and
 * writes; a waiting block does not use the memory bandwidth. In pipelined_scan, a block is
 * persistent and processes one tile after the other. While a block scans a tile, it has already
 * read the next two tiles and published their totals, and later tiles are being copied to shared
 * memory (pipeline.cuh). When a block needs the totals of the tiles before its own, they have
 * usually been published, even if the blocks do not run in lockstep.
 *
 * A thread scans several neighbouring units of a tile in shared memory. Threads begin with
 * different units and wrap around, so that concurrent accesses are in different banks. The totals
 * before and after the wrap-around are stored separately, so that all elements are combined in
 * order.
 *
 * The time between a tile's ticket and the publication of its total must be short, because all
 * later tiles wait for the total. So a ticket is drawn just before the copy of its tile begins. The
 * order of the operations is the same in each call, so results are reproducible. */
#ifndef NUMBALITE_PIPELINED_SCAN_CUH
#define NUMBALITE_PIPELINED_SCAN_CUH

#include "numbalite/pipeline.cuh"
#include "numbalite/scan.cuh"

namespace numbalite {
namespace nl_reduce {

/* The constants of a pipelined scan have the same values in core/scanplan.c. A unit has at most 16
 * bytes; the units of 8 threads occupy all banks. */
enum { PIPELINE_PIECES = 8, PIPELINE_STAGES = 4, PIPELINE_AHEAD = 2 };

/* Returns the index of the thread's unit in a step. */
NUMBALITE_FUNCTION int unit_of_step(int step) {
    return (int)(step + threadIdx.x) % PIPELINE_PIECES;
}

/* Reads a unit as T; elements past the end of the tile are T(). Whole is set if the tile is
 * complete. */
template <bool Whole, class T, class S, int V>
NUMBALITE_FUNCTION void read_staged_unit(T (&v)[V], const S *stage, int piece, int count) {
    int i = ((int)threadIdx.x * PIPELINE_PIECES + piece) * V;
    run<S, V> raw = *(const run<S, V> *)(stage + i);
#pragma unroll
    for (int j = 0; j < V; ++j)
        v[j] = Whole || i + j < count ? nl_convert<T>(raw.item[j]) : T();
}

/* The reductions of a tile that a thread computes before the prefix of the tile is available. The
 * members of a thread without predecessors are undefined: `first` if its first unit is the first of
 * the row, `left` in the first lane of a warp, and `warps` in the first warp of the block. */
template <class T> struct reductions_of_tile {
    T first; /* total of the thread's units that are earlier in the row than the one it reads first
              */
    T left;  /* total of the earlier lanes in the thread's warp */
    T warps; /* total of the warps before the thread's warp */
    T tile;
};

/* Reduces a thread's units; `first` receives the total of those units that are earlier in the row
 * than the unit that the thread reads first. */
template <bool Whole, int V, class S, class T, class Op>
NUMBALITE_FUNCTION T reduce_pieces(T &first, const S *stage, int count, Op op) {
    T total = T(), behind = T();
#pragma unroll
    for (int step = 0; step < PIPELINE_PIECES; ++step) {
        int piece = unit_of_step(step);
        T v[V];
        read_staged_unit<Whole>(v, stage, piece, count);
#pragma unroll
        for (int j = 1; j < V; ++j)
            v[0] = op(v[0], v[j]);
        if (step == 0) {
            total = v[0];
        } else {
            unsigned int turns = all_bits_if(piece == 0);
            T both = op(total, v[0]);
            behind = select_bits(turns, total, behind);
            total = select_bits(turns, v[0], both);
        }
    }
    first = total;
    return select_bits(all_bits_if(unit_of_step(0) > 0), op(total, behind), total);
}

/* Scans a thread's units in shared memory; `before` is the thread's prefix, which exists if
 * HasBefore is set. */
template <bool Whole, bool HasBefore, bool Exclusive, int V, class S, class T, class O, class Op>
NUMBALITE_FUNCTION void scan_pieces(const maybe<T> &before, const T &first, const S *stage,
                                    O *results, int count, Op op) {
    constexpr bool in_place = sizeof(S) == sizeof(O);
    constexpr int kept = in_place ? 1 : PIPELINE_PIECES;
    T v[kept][V];
    if (!in_place) { /* a barrier is needed, because the results overwrite elements of other
                      * threads */
#pragma unroll
        for (int step = 0; step < PIPELINE_PIECES; ++step)
            read_staged_unit<Whole>(v[step % kept], stage, unit_of_step(step), count);
        __syncthreads();
    }
    unsigned int begins_behind = all_bits_if(unit_of_step(0) > 0);
    maybe<T> begin = before;
    if (HasBefore)
        begin.has = true;
    maybe<T> prefix = begin;
    append(prefix, first, op);
    prefix.value = select_bits(begins_behind, prefix.value, begin.value);
    prefix.has = begin.has || unit_of_step(0) > 0;
#pragma unroll
    for (int step = 0; step < PIPELINE_PIECES; ++step) {
        int piece = unit_of_step(step);
        T(&here)[V] = v[step % kept];
        if (step > 0) {
            prefix.value = select_bits(all_bits_if(piece == 0), begin.value, prefix.value);
            prefix.has = piece == 0 ? begin.has : true;
        }
        if (in_place)
            read_staged_unit<Whole>(here, stage, piece, count);
#pragma unroll
        for (int j = 1; j < V; ++j)
            here[j] = op(here[j - 1], here[j]);
        T so_far = prefix.value;
        run<O, V> items;
#pragma unroll
        for (int j = 0; j < V; ++j) {
            T both = prefix.has ? op(prefix.value, here[j]) : here[j];
            items.item[j] = nl_convert<O>(Exclusive ? so_far : both);
            so_far = both;
        }
        prefix.value = so_far;
        *(run<O, V> *)(results + ((int)threadIdx.x * PIPELINE_PIECES + piece) * V) = items;
    }
}

/* Writes the results of a complete tile, `each` results per thread; neighbouring threads write
 * neighbouring units of 16 bytes. */
template <int each, class O> NUMBALITE_FUNCTION void write_tile(O *y, const O *results) {
    typedef typename word_of<alignment_of_size(each * (int)sizeof(O))>::type word;
    constexpr int count = each * sizeof(O) / sizeof(word);
    word items[count];
#pragma unroll
    for (int k = 0; k < count; ++k)
        items[k] = ((const word *)results)[k * blockDim.x + threadIdx.x];
#pragma unroll
    for (int k = 0; k < count; ++k)
        ((word *)y)[k * blockDim.x + threadIdx.x] = items[k];
}

/* The position of a tile in its row, which one thread computes for the block. */
struct tile_of_line {
    const char *from;
    char *to;
    int64 line; /* index of the row's first status */
    int64 tile;
    int64 window; /* index of the tile's window, and number of earlier tiles in the window */
    int within;
    int count; /* number of elements in the tile, or 0 past the last tile of all rows */
    bool wide; /* set if the tile is complete, and its results are contiguous at a multiple of 16
                * bytes */
};

/* The pipeline stages of a block, and the tile of each stage. */
template <class S, class O> struct tile_stages {
    typedef typename word_of<alignment_of_size((int)sizeof(S))>::type word;
    unsigned char *memory;
    nl_pipeline::arrival *arrivals;
    tile_of_line *tiles;
    int bytes; /* of one stage */

    NUMBALITE_FUNCTION S *at(int stage) const { return (S *)(memory + stage * bytes); }

    /* Computes the position of a ticket's tile, before a stage is free for the tile. */
    NUMBALITE_FUNCTION static tile_of_line of(nl_status ticket, const plan &p, const void *input,
                                              void *out) {
        tile_of_line it = {};
        it.tile = quotient((int64)ticket, p.results);
        if (it.tile >= p.parts)
            return it;
        const dimension &axis = p.dims[p.kept];
        int64 line = (int64)ticket - it.tile * p.results, left = p.length - it.tile * p.chunk;
        place at = locate_part(p, line, 0, nullptr);
        it.from = (const char *)input + at.input + it.tile * p.chunk * (int64)sizeof(S);
        it.to = (char *)out + at.output + it.tile * p.chunk * axis.output;
        it.line = line * window_status_count(p.parts);
        it.window = quotient(it.tile, blockDim.x);
        it.within = (int)(it.tile - it.window * blockDim.x);
        it.count = (int)(left < p.chunk ? left : p.chunk);
        it.wide = left >= p.chunk && axis.output == sizeof(O) && ((size_t)it.to & 15) == 0;
        return it;
    }

    /* Starts the copy of a tile to a stage; called by only one thread. */
    NUMBALITE_FUNCTION void fetch(const tile_of_line &it, int stage) const {
        unsigned int there = it.count * sizeof(S), whole = there & ~15u;
        tiles[stage] = it;
        /* the remaining bytes may begin within an element */
        for (unsigned int i = whole; i < there; i += sizeof(word))
            *(word *)((char *)at(stage) + i) = *(const word *)(it.from + i);
        nl_pipeline::announce_bytes(&arrivals[stage], whole);
        if (whole > 0)
            nl_pipeline::copy(&arrivals[stage], at(stage), it.from, whole);
    }
};

template <class S, class T, class O, int V, bool Exclusive, class Op>
NUMBALITE_FUNCTION void pipelined_scan(const plan &p, const void *input, void *out, void *memory,
                                       Op op) {
    constexpr int stages = PIPELINE_STAGES;
    __shared__ nl_pipeline::arrival arrivals[stages];
    __shared__ tile_of_line tiles[stages];
    __shared__ T of_warps[32];
    /* totals of the tiles that each warp has requested, by window */
    __shared__ T of_window[32], of_window_before[32];
    __shared__ maybe<T> before_windows;
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    /* a thread of the last warp draws tickets, because that warp has the least other work */
    bool fetches = threadIdx.x == blockDim.x - 32;
    nl_status *tickets = (nl_status *)memory;
    tile_states<T> all = {tickets + 1, p.results * window_status_count(p.parts)};
    typedef tile_stages<S, O> ring_of_tiles;
    ring_of_tiles ring = {block_memory(), arrivals, tiles,
                          (int)(p.chunk * (sizeof(S) > sizeof(O) ? sizeof(S) : sizeof(O)))};

    /* Reduces the tile of a stage; the warps exchange their totals. */
    auto reduce = [&](int stage, int count) {
        reductions_of_tile<T> f;
        T sum = count == p.chunk ? reduce_pieces<true, V>(f.first, ring.at(stage), count, op)
                                 : reduce_pieces<false, V>(f.first, ring.at(stage), count, op);
        sum = scan_lanes(sum, op);
        f.left = shfl_up_sync(ALL, sum, 1);
        if (lane == 31)
            of_warps[warp] = sum;
        return f;
    };
    /* All warps execute this function, because shuffles are slow after a branch in which lanes may
     * have diverged. */
    auto publish = [&](reductions_of_tile<T> &f, const tile_of_line &it) {
        T sum = scan_lanes(of_warps[lane < warps ? lane : 0], op);
        f.warps = shfl_sync(ALL, sum, warp > 0 ? warp - 1 : 0);
        f.tile = shfl_sync(ALL, sum, warps - 1);
        if (threadIdx.x == 0 && it.count > 0)
            all.publish(it.line + it.tile, f.tile);
    };

    tile_of_line coming = {};
    if (fetches) {
        for (int stage = 0; stage < stages; ++stage)
            nl_pipeline::make_arrival(&arrivals[stage]);
        nl_pipeline::publish_arrivals();
        for (int stage = 0; stage < stages - 1; ++stage)
            ring.fetch(ring.of(atomicAdd(tickets, 1ull), p, input, out), stage);
        coming = ring.of(atomicAdd(tickets, 1ull), p, input, out);
    }
    __syncthreads();
    /* reductions of the tile that is being scanned and of the next tiles */
    reductions_of_tile<T> of[PIPELINE_AHEAD + 1];
#pragma unroll
    for (int k = 0; k < PIPELINE_AHEAD; ++k) {
        nl_pipeline::wait(&arrivals[k], 0);
        of[k] = reduce(k, tiles[k].count);
        __syncthreads();
        publish(of[k], tiles[k]);
        __syncthreads();
    }

    /* stage of the tile that is being scanned, and stage of the newest published tile */
    int stage = 0, last = PIPELINE_AHEAD;
    unsigned int parity = 0; /* parity of that stage's arrival */
    while (tiles[stage].count > 0) {
        tile_of_line now = tiles[stage];
        window<T> w(all, now.line, now.window, now.within, p.parts);

        nl_pipeline::wait(&arrivals[last], parity);
        tile_of_line newest = tiles[last];
        of[PIPELINE_AHEAD] = reduce(last, newest.count);
        __syncthreads();
        nl_status ticket = 0; /* the ticket is used later, so the atomicAdd runs while the results
                               * are written */
        if (fetches) {
            ring.fetch(coming, stage > 0 ? stage - 1 : stages - 1);
            ticket = atomicAdd(tickets, 1ull);
        }
        publish(of[PIPELINE_AHEAD], newest);

        T here = w.wait_here(op), there = w.wait_there(op);
        if (lane == 0) {
            of_window[warp] = here;
            of_window_before[warp] = there;
        }
        if (warp == warps - 1) {
            maybe<T> line = nothing<T>();
            if (w.begins_line()) {
                begin_with(p, line, op);
            } else {
                line.value = w.wait_before();
                line.has = true;
            }
            if (lane == 0)
                before_windows = line;
        }
        __syncthreads();
        maybe<T> base = before_windows;
        there = reduce_first(of_window_before[lane < warps ? lane : 0], warps, op);
        if (now.window > 0)
            append(base, there, op);
        here = reduce_first(of_window[lane < warps ? lane : 0], w.warps(), op);
        if (w.warps() > 0)
            append(base, here, op);
        if (w.is_last_tile()) {
            maybe<T> so_far = base;
            append(so_far, of[0].tile, op);
            if (threadIdx.x == 0)
                w.publish_line(so_far.value);
        }
        bool follows = base.has; /* the condition is equal in all warps */
        if (warp > 0)
            append(base, of[0].warps, op);
        O *results = (O *)ring.at(stage);
        if (now.wide && follows) {
            T both = op(base.value, of[0].left);
            base.value = select_bits(all_bits_if(lane > 0), both, base.value);
            scan_pieces<true, true, Exclusive, V>(base, of[0].first, ring.at(stage), results,
                                                  now.count, op);
        } else {
            if (lane > 0)
                append(base, of[0].left, op);
            scan_pieces<false, false, Exclusive, V>(base, of[0].first, ring.at(stage), results,
                                                    now.count, op);
        }
        nl_pipeline::release();
        __syncthreads();
        if (now.wide)
            write_tile<PIPELINE_PIECES * V>((O *)now.to, results);
        else
            for (int i = threadIdx.x; i < now.count; i += blockDim.x)
                *(O *)(now.to + i * p.dims[p.kept].output) = results[i];
        if (fetches)
            coming = ring.of(ticket, p, input, out);
#pragma unroll
        for (int k = 0; k < PIPELINE_AHEAD; ++k)
            of[k] = of[k + 1];
        stage = stage + 1 < stages ? stage + 1 : 0;
        last = last + 1 < stages ? last + 1 : 0;
        parity ^= last == 0;
    }
}

} // namespace nl_reduce
} // namespace numbalite

#endif
