/* lookback: what lies before a tile of a line, in the same launch that reads the tile.
 *
 * Tiles publish what they fold to (Merrill and Garland, Single-pass parallel prefix
 * scan with decoupled look-back, 2016). There, a tile combines what it happens to find, and a sum of
 * floating-point numbers differs from run to run. Here it is always the same tree: 32 tiles are a
 * group, whose last tile publishes the fold of the group; 32 groups are a range, whose last tile publishes
 * the fold of the line so far. A tile waits for the tiles before it in its group, the groups before
 * that in its range, and the range before.
 *
 * Blocks take their tiles by tickets (next_ticket): who waits, waits for blocks that have begun, in
 * whatever order the device begins them. The memory is zeros before the launch. */
#ifndef NUMBALITE_LOOKBACK_CUH
#define NUMBALITE_LOOKBACK_CUH

#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

typedef unsigned long long nl_status;

/* Seen by other blocks as one, and soon. */
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

/* The fold of the first lanes' values, at least one; the same in all lanes. */
template <class T, class Op> NUMBALITE_FUNCTION T fold_first(T value, int count, Op op) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T both = op(value, shfl_down_sync(ALL, value, step));
        value = chosen(bits_if(laneid() + step < count), both, value);
    }
    return shfl_sync(ALL, value, 0);
}

/* The values that tiles publish for other blocks, as CUB's ScanTileState. Each 4 bytes of one have a status
 * word of their own, with a bit that says that they are valid: what is read is never half of a value, and no fence is needed. The first
 * words of all values come first, then the second ones. */
template <class T> struct tile_states {
    enum { words = (sizeof(T) + 3) / 4 };
    nl_status *first;
    int64 step; /* from word to word of a value */

    NUMBALITE_FUNCTION void publish(int64 i, const T &value) const {
        unsigned int part[words] = {};
        memcpy(part, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < words; ++k)
            publish_status(first + k * step + i, part[k] | 1ull << 32);
    }
    /* `count` values from number i on, one for each lane, which a warp has requested: what was there. The loads of
     * several requests are on their way together, so that all that a tile waits for takes the time of one. */
    struct request {
        int64 i;
        int count;
        nl_status found[words];
    };
    NUMBALITE_FUNCTION request load(int64 i, int count) const {
        int lane = laneid();
        request a;
        a.i = i + (lane < count ? lane : 0); /* the other lanes read the first one in vain */
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
    /* Until the values that the warp has requested are there; the lane's own. */
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
    /* The fold of what was requested, for which the warp waits; the same in all lanes. */
    template <class Op> NUMBALITE_FUNCTION maybe<T> wait_and_fold(request &a, Op op) const {
        maybe<T> m = nothing<T>();
        if (a.count > 0) {
            m.value = fold_first(wait(a), a.count, op);
            m.has = true;
        }
        return m;
    }
};

/* statuses_of in reduceplan.py and core/scanplan.c count the same: groups and ranges that are begun
   count. */
NUMBALITE_FUNCTION int64 statuses_of_line(int64 tiles) {
    return tiles + (tiles + 31) / 32 + (tiles + 1023) / 1024;
}

/* What is before tile number `tile` of `tiles` of a line, whose own fold is `own`; `i` is where the
 * line's statuses begin. For a whole warp; the same in all lanes. */
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
    maybe<T> here = all.wait_and_fold(tiles_here, op);
    if (ends_group && lane == 0)
        all.publish(groups + group, op(here.value, own));
    maybe<T> before = all.wait_and_fold(range_before, op);
    append(before, all.wait_and_fold(groups_here, op), op);
    append(before, here, op);
    if (ends_range && lane == 0)
        all.publish(ranges + range, op(before.value, own));
    return before;
}

/* core/scanplan.c's statuses_of counts the same. A window is as many tiles as a block has threads. */
NUMBALITE_FUNCTION int64 statuses_of_windows(int64 tiles) {
    return tiles + (tiles + blockDim.x - 1) / blockDim.x;
}

/* What lies before a tile, for all warps of a block: each looks at 32 tiles of the tile's window and at 32 of the
 * one before; and one at what the last tile of the window before those publishes, the fold of the line so far. That
 * was published long ago: of the window just before, its last tile may be on its way. Between the constructor, which
 * loads, and waiting a block can do something else; it has posted the tile's own fold before. */
template <class T> struct window {
    const tile_states<T> &all;
    int64 number, of_lines; /* which window; where the folds of the line so far are */
    int within;             /* tiles of the window before this one */
    typename tile_states<T>::request here, there, before;

    /* The line's statuses begin at i; the tile has `within` tiles before it in its window. */
    NUMBALITE_FUNCTION window(const tile_states<T> &all, int64 i, int64 number, int within, int64 tiles)
        : all(all), number(number), of_lines(i + tiles), within(within) {
        int first = (int)(threadIdx.x / 32 * 32), count = within - first;
        int64 begin = i + number * blockDim.x;
        here = all.load(count > 0 ? begin + first : i, count < 0 ? 0 : count < 32 ? count : 32);
        there = all.load(number > 0 ? begin + first - blockDim.x : i, number > 0 ? 32 : 0);
        before = all.load(begins_line() ? i : of_lines + number - 2, !begins_line());
    }
    /* Is there no window before those two? */
    NUMBALITE_FUNCTION bool begins_line() const { return number < 2; }
    NUMBALITE_FUNCTION bool is_last_tile() const { return within == (int)blockDim.x - 1; }
    /* So many warps have looked at tiles of this window. */
    NUMBALITE_FUNCTION int warps() const { return (within + 31) / 32; }
    /* What the warp's tiles fold to, if it has any: of this window and of the one before. */
    template <class Op> NUMBALITE_FUNCTION T wait_here(Op op) {
        return fold_first(all.wait(here), here.count, op);
    }
    template <class Op> NUMBALITE_FUNCTION T wait_there(Op op) {
        return fold_first(all.wait(there), there.count, op);
    }
    /* The line before the two windows, which do not begin it; for one warp. */
    NUMBALITE_FUNCTION T wait_before() { return all.wait(before); }
    NUMBALITE_FUNCTION void publish_line(const T &so_far) const { all.publish(of_lines + number, so_far); }
};

/* The block's number, in the order in which blocks begin; the memory's first word counts them. */
NUMBALITE_FUNCTION int64 next_ticket(nl_status *memory) {
    __shared__ nl_status ticket;
    if (threadIdx.x == 0)
        ticket = atomicAdd(memory, 1ull);
    __syncthreads();
    return (int64)ticket;
}

} // namespace nl_reduce
} // namespace numbalite

#endif
