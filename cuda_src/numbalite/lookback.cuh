/* lookback: computes the prefix of a tile in the same launch that reads the tile (decoupled
 * look-back).
 *
 * Tiles publish their totals (Merrill and Garland, Single-pass parallel prefix scan with decoupled
 * look-back, 2016). In the paper of Merrill and Garland, a tile combines the values that are
 * available at its look-back, so a sum of floating-point numbers differs from run to run. In this
 * implementation, the order of operations is always the same: 32 tiles are a group, whose last tile
 * publishes the total of the group; 32 groups are a range, whose last tile publishes the total of
 * the row so far. A tile waits for the earlier tiles of its group, the earlier groups of its range,
 * and the previous range.
 *
 * Blocks get the indices of their tiles by tickets (take_ticket), so that a block waits only for
 * blocks that have started. The memory of the statuses must be zero before the launch. */
#ifndef NUMBALITE_LOOKBACK_CUH
#define NUMBALITE_LOOKBACK_CUH

#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

typedef unsigned long long nl_status;

/* Writes a status by one access, which other blocks see without a fence. */
NUMBALITE_FUNCTION void publish_status(nl_status *at, nl_status value) {
#ifdef NUMBALITE_SIM
    atomicExch(at, value);
#else
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
#endif
}
NUMBALITE_FUNCTION nl_status read_status(nl_status *at) {
#ifdef NUMBALITE_SIM
    return atomicAdd(at, 0ull);
#else
    nl_status value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
#endif
}

/* Reduces the values of the first `count` lanes (at least one); all lanes return the result. */
template <class T, class Op> NUMBALITE_FUNCTION T reduce_first(T value, int count, Op op) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T both = op(value, shfl_down_sync(ALL, value, step));
        value = select_bits(all_bits_if(laneid() + step < count), both, value);
    }
    return shfl_sync(ALL, value, 0);
}

/* The values that tiles publish for other blocks, as in CUB's ScanTileState. Each 4 bytes of a
 * value have their own status word, which includes a valid bit: no block reads a half-written
 * value, and no fence is needed. The first words of all values are stored first, then the second
 * words. */
template <class T> struct tile_states {
    enum { words = (sizeof(T) + 3) / 4 };
    nl_status *first;
    int64 step; /* between two words of a value */

    NUMBALITE_FUNCTION void publish(int64 i, const T &value) const {
        unsigned int part[words] = {};
        memcpy(part, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < words; ++k)
            publish_status(first + k * step + i, part[k] | 1ull << 32);
    }
    /* A warp's request of `count` values from index i on, one value for each lane; the struct
     * contains the words that were read so far. The loads of several requests overlap, so all
     * requests of a tile take as long as one request. */
    struct request {
        int64 i;
        int count;
        nl_status found[words];
    };
    NUMBALITE_FUNCTION request load(int64 i, int count) const {
        int lane = laneid();
        request a;
        /* lanes without a value read the first value and ignore it */
        a.i = i + (lane < count ? lane : 0);
        a.count = count;
#pragma unroll
        for (int k = 0; k < words; ++k)
            a.found[k] = read_status(first + k * step + a.i);
        return a;
    }
    NUMBALITE_FUNCTION static bool is_there(const request &a) {
        bool there = true;
#pragma unroll
        for (int k = 0; k < words; ++k)
            there = there && a.found[k] >> 32 != 0;
        return there;
    }
    /* Waits until all requested values are valid; returns the lane's value. All lanes of a warp
     * must call this function. */
    NUMBALITE_FUNCTION T wait(request &a) const {
        while (!__all_sync(ALL, a.count == 0 || is_there(a))) {
#ifdef NUMBALITE_SIM
            __nanosleep(100);
#endif
#pragma unroll
            for (int k = 0; k < words; ++k)
                a.found[k] = read_status(first + k * step + a.i);
        }
        unsigned int part[words];
#pragma unroll
        for (int k = 0; k < words; ++k)
            part[k] = (unsigned int)a.found[k];
        T value = T();
        memcpy(&value, part, sizeof(T));
        return value;
    }
    /* Waits for the request and returns the reduction of its values; all lanes return the
     * result. */
    template <class Op> NUMBALITE_FUNCTION maybe<T> wait_and_reduce(request &a, Op op) const {
        maybe<T> m = nothing<T>();
        if (a.count > 0) {
            m.value = reduce_first(wait(a), a.count, op);
            m.has = true;
        }
        return m;
    }
};

/* Returns the number of statuses of a row: one for each tile, group and range, including incomplete
 * groups and ranges. status_count in reduceplan.py and count_tile_statuses in core/scanplan.c must
 * compute the same number. */
NUMBALITE_FUNCTION int64 row_status_count(int64 tiles) {
    return tiles + (tiles + 31) / 32 + (tiles + 1023) / 1024;
}

/* Publishes the total `own` of tile number `tile` of a row's `tiles`, and returns the tile's
 * prefix; `i` is the index of the row's first status. All lanes of a warp must call this function;
 * all return the result. */
template <class T, class Op>
NUMBALITE_FUNCTION maybe<T> before_tile(const tile_states<T> &all, int64 i, int64 tile, int64 tiles,
                                        const T &own, Op op) {
    int lane = laneid();
    int64 group = tile / 32, range = tile / 1024;
    int64 groups = i + tiles, ranges = groups + (tiles + 31) / 32;
    bool ends_group = tile % 32 == 31, ends_range = tile % 1024 == 1023;
    if (lane == 0)
        all.publish(i + tile, own);
    typename tile_states<T>::request tiles_here = all.load(i + group * 32, tile % 32);
    typename tile_states<T>::request groups_here = all.load(groups + range * 32, group % 32);
    typename tile_states<T>::request range_before = all.load(ranges + (range > 0 ? range - 1 : 0), range > 0);
    maybe<T> here = all.wait_and_reduce(tiles_here, op);
    if (ends_group && lane == 0)
        all.publish(groups + group, op(here.value, own));
    maybe<T> before = all.wait_and_reduce(range_before, op);
    append(before, all.wait_and_reduce(groups_here, op), op);
    append(before, here, op);
    if (ends_range && lane == 0)
        all.publish(ranges + range, op(before.value, own));
    return before;
}

/* Returns the number of statuses of a row that is scanned in windows: one for each tile, and one
 * for each window, where a window has as many tiles as a block has threads. count_tile_statuses in
 * core/scanplan.c must compute the same number. */
NUMBALITE_FUNCTION int64 window_status_count(int64 tiles) {
    return tiles + (tiles + blockDim.x - 1) / blockDim.x;
}

/* The prefix of a tile, computed by all warps of a block: each warp requests 32 tiles of the tile's
 * window and 32 tiles of the previous window. One warp also requests the row's total up to the last
 * tile of the window before these two, which is already published, unlike the total of the previous
 * window's last tile. The constructor starts the loads, so the block can do other work before it
 * waits. The caller must have published the tile's own total. */
template <class T> struct window {
    const tile_states<T> &all;
    int64 number, of_lines; /* index of the window; index of the first window total */
    int within;             /* earlier tiles in the window */
    typename tile_states<T>::request here, there, before;

    /* `i` is the index of the row's first status; `within` is the number of earlier tiles in the
     * window. */
    NUMBALITE_FUNCTION window(const tile_states<T> &all, int64 i, int64 number, int within, int64 tiles)
        : all(all), number(number), of_lines(i + tiles), within(within) {
        int first = (int)(threadIdx.x / 32 * 32), count = within - first;
        int64 begin = i + number * blockDim.x;
        here = all.load(count > 0 ? begin + first : i, count < 0 ? 0 : count < 32 ? count : 32);
        there = all.load(number > 0 ? begin + first - blockDim.x : i, number > 0 ? 32 : 0);
        before = all.load(begins_line() ? i : of_lines + number - 2, !begins_line());
    }
    /* Returns whether no window precedes this window and the previous window. */
    NUMBALITE_FUNCTION bool begins_line() const { return number < 2; }
    NUMBALITE_FUNCTION bool is_last_tile() const { return within == (int)blockDim.x - 1; }
    /* Returns the number of warps that requested tiles of this window. */
    NUMBALITE_FUNCTION int warps() const { return (within + 31) / 32; }
    /* Returns the total of the tiles that the warp requested, in this window and in the previous
     * window. The result is undefined if the warp requested no tiles. */
    template <class Op> NUMBALITE_FUNCTION T wait_here(Op op) {
        return reduce_first(all.wait(here), here.count, op);
    }
    template <class Op> NUMBALITE_FUNCTION T wait_there(Op op) {
        return reduce_first(all.wait(there), there.count, op);
    }
    /* Returns the row's total before this window and the previous window. Call this function in
     * only one warp, and only if begins_line() is false. */
    NUMBALITE_FUNCTION T wait_before() { return all.wait(before); }
    NUMBALITE_FUNCTION void publish_line(const T &so_far) const { all.publish(of_lines + number, so_far); }
};

/* Returns the block's index in the order in which blocks start; the first word of the memory is the
 * counter. */
NUMBALITE_FUNCTION int64 take_ticket(nl_status *memory) {
    __shared__ nl_status ticket;
    if (threadIdx.x == 0)
        ticket = atomicAdd(memory, 1ull);
    __syncthreads();
    return (int64)ticket;
}

} // namespace nl_reduce
} // namespace numbalite

#endif
