/* groups: the part of CUDA's cooperative groups that kernels use most, at a hundredth of its
 * compile time.
 *
 *     thread_block  thread_block_tile<N>  coalesced_group  thread_group  grid_group
 *     cluster_group  (compute capability 9.0)
 *     this_thread_block()  this_cluster()  this_grid()  coalesced_threads()
 *     tiled_partition<N>(g)  tiled_partition(g, n)
 *     binary_partition(g, predicate)  labeled_partition(g, label)
 *     sync(g)  reduce(g, value, op)  inclusive_scan(g, value, op)  exclusive_scan(g, value, op)
 *     invoke_one(g, function, arguments...)  invoke_one_broadcast(g, function, arguments...)
 *     plus  less  greater  bit_and  bit_or  bit_xor
 *
 * in namespace numbalite::groups, which is also called cg, and cooperative_groups where the
 * toolkit's header is not included. Names and meaning are cooperative_groups'. Tiles have at most
 * 32 threads. In blocks that are not one-dimensional, ranks count x fastest, as there. */
#ifndef NUMBALITE_GROUPS_CUH
#define NUMBALITE_GROUPS_CUH

#ifdef NUMBALITE_HOST /* code for the CPU has no grid */
#include "host/nogrid.h"
#else

#include "numbalite.cuh"
#include "numbalite/site.cuh"
#include "numbalite/warp.cuh"

namespace numbalite {
namespace groups {

#define NUMBALITE_METHOD NUMBALITE_FUNCTION

/* ---- the block ---- */

struct thread_block {
    static NUMBALITE_METHOD void sync(NUMBALITE_SITE) { __syncthreads(NUMBALITE_AT_SITE); }
    static NUMBALITE_METHOD void barrier_sync(NUMBALITE_SITE) { __syncthreads(NUMBALITE_AT_SITE); }
    static NUMBALITE_METHOD unsigned int thread_rank() { return numbalite::thread_rank(); }
    static NUMBALITE_METHOD unsigned int num_threads() {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static NUMBALITE_METHOD unsigned int size() { return num_threads(); }
    static NUMBALITE_METHOD dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static NUMBALITE_METHOD dim3 thread_index() {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static NUMBALITE_METHOD dim3 dim_threads() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static NUMBALITE_METHOD dim3 group_dim() { return dim_threads(); }
};
NUMBALITE_FUNCTION thread_block this_thread_block() {
    return thread_block();
}

/* ---- some lanes of a warp ---- */

/* What tiles and coalesced groups have in common: a mask of lanes, in whose order the members are
 * numbered. */
struct lanes {
    unsigned int mask;

    NUMBALITE_METHOD unsigned int num_threads() const { return __popc(mask); }
    NUMBALITE_METHOD unsigned int size() const { return num_threads(); }
    NUMBALITE_METHOD unsigned int thread_rank() const { return __popc(mask & lanemask_lt()); }
    NUMBALITE_METHOD void sync(NUMBALITE_SITE) const { __syncwarp(mask NUMBALITE_AND_HERE); }

    NUMBALITE_METHOD bool any(int predicate NUMBALITE_AND_SITE) const {
        return __any_sync(mask, predicate NUMBALITE_AND_HERE);
    }
    NUMBALITE_METHOD bool all(int predicate NUMBALITE_AND_SITE) const {
        return __all_sync(mask, predicate NUMBALITE_AND_HERE);
    }
    NUMBALITE_METHOD unsigned int ballot(int predicate NUMBALITE_AND_SITE) const {
        return pack(__ballot_sync(mask, predicate NUMBALITE_AND_HERE));
    }
    template <class T> NUMBALITE_METHOD unsigned int match_any(T value NUMBALITE_AND_SITE) const {
        return pack(match_any_sync(mask, value NUMBALITE_AND_HERE));
    }
    template <class T>
    NUMBALITE_METHOD unsigned int match_all(T value, int &all NUMBALITE_AND_SITE) const {
        unsigned int same = match_any_sync(mask, value NUMBALITE_AND_HERE);
        all = __all_sync(mask, same == mask NUMBALITE_AND_HERE);
        return all ? pack(mask) : 0;
    }
    template <class T>
    NUMBALITE_METHOD T shfl(T value, unsigned int rank NUMBALITE_AND_SITE) const {
        return shfl_sync(mask, value, lane_of(rank), 32 NUMBALITE_AND_HERE);
    }
    template <class T>
    NUMBALITE_METHOD T shfl_up(T value, unsigned int delta NUMBALITE_AND_SITE) const {
        unsigned int rank = thread_rank();
        return shfl(value, rank >= delta ? rank - delta : rank NUMBALITE_AND_HERE);
    }
    template <class T>
    NUMBALITE_METHOD T shfl_down(T value, unsigned int delta NUMBALITE_AND_SITE) const {
        unsigned int rank = thread_rank();
        return shfl(value, rank + delta < size() ? rank + delta : rank NUMBALITE_AND_HERE);
    }

  protected:
    /* The lane of a member. */
    NUMBALITE_METHOD int lane_of(unsigned int rank) const {
        if (mask == 0xffffffffu)
            return (int)(rank & 31);
        unsigned int rest = mask;
        for (rank %= num_threads(); rank; --rank)
            rest &= rest - 1;
        return __ffs((int)rest) - 1;
    }
    /* Bits by lane, made bits by rank. */
    NUMBALITE_METHOD unsigned int pack(unsigned int bits) const {
        if (mask == 0xffffffffu)
            return bits;
        unsigned int packed = 0, rank = 0;
        for (unsigned int rest = mask; rest; rest &= rest - 1, ++rank)
            packed |= (bits >> (__ffs((int)rest) - 1) & 1) << rank;
        return packed;
    }
};

struct coalesced_group : lanes {
    NUMBALITE_METHOD explicit coalesced_group(unsigned int m) { mask = m; }
    NUMBALITE_METHOD unsigned int meta_group_rank() const { return 0; }
    NUMBALITE_METHOD unsigned int meta_group_size() const { return 1; }
};
NUMBALITE_FUNCTION coalesced_group coalesced_threads(NUMBALITE_SITE) {
    return coalesced_group(__activemask(NUMBALITE_AT_SITE));
}

/* N neighbouring lanes, N a power of two: shifts do what loops must do above. */
template <unsigned int N, class Parent = void> struct thread_block_tile : lanes {
#ifdef NUMBALITE_SIM
    static_assert(N <= 32, "numbalite: tiles of more than 32 threads cannot run on the CPU simulator");
#endif
    static_assert(
        N >= 1 && N <= 32 && (N & (N - 1)) == 0,
        "a tile has 1, 2, 4, 8, 16 or 32 threads (larger ones: include cooperative_groups.h)");

    NUMBALITE_METHOD thread_block_tile() {
        mask = (N == 32 ? 0xffffffffu : (1u << (N % 32)) - 1) << first();
    }
    /* A tile of a tile of the same size, or without the parent's type, is the same tile. */
    template <class Other>
    NUMBALITE_METHOD thread_block_tile(const thread_block_tile<N, Other> &t) {
        mask = t.mask;
    }
    static NUMBALITE_METHOD constexpr unsigned int num_threads() { return N; }
    static NUMBALITE_METHOD constexpr unsigned int size() { return N; }
    static NUMBALITE_METHOD unsigned int thread_rank() { return laneid() & (N - 1); }
    static NUMBALITE_METHOD unsigned int meta_group_rank() { return numbalite::thread_rank() / N; }
    static NUMBALITE_METHOD unsigned int meta_group_size() {
        return (thread_block::size() + N - 1) / N;
    }

    NUMBALITE_METHOD unsigned int ballot(int predicate NUMBALITE_AND_SITE) const {
        return pack(__ballot_sync(mask, predicate NUMBALITE_AND_HERE));
    }
    template <class T> NUMBALITE_METHOD unsigned int match_any(T value NUMBALITE_AND_SITE) const {
        return pack(match_any_sync(mask, value NUMBALITE_AND_HERE));
    }
    template <class T> NUMBALITE_METHOD T shfl(T value, int rank NUMBALITE_AND_SITE) const {
        return shfl_sync(mask, value, rank, N NUMBALITE_AND_HERE);
    }
    template <class T>
    NUMBALITE_METHOD T shfl_up(T value, unsigned int delta NUMBALITE_AND_SITE) const {
        return shfl_up_sync(mask, value, delta, N NUMBALITE_AND_HERE);
    }
    template <class T>
    NUMBALITE_METHOD T shfl_down(T value, unsigned int delta NUMBALITE_AND_SITE) const {
        return shfl_down_sync(mask, value, delta, N NUMBALITE_AND_HERE);
    }
    template <class T>
    NUMBALITE_METHOD T shfl_xor(T value, unsigned int m NUMBALITE_AND_SITE) const {
        return shfl_xor_sync(mask, value, (int)m, N NUMBALITE_AND_HERE);
    }

  private:
    static NUMBALITE_METHOD unsigned int first() { return (unsigned int)laneid() & ~(N - 1); }
    NUMBALITE_METHOD unsigned int pack(unsigned int bits) const { return (bits & mask) >> first(); }
};

/* ---- any of these, told apart when the kernel runs ---- */

struct thread_group {
    unsigned int mask; /* 0: the whole block */

    NUMBALITE_METHOD thread_group(const thread_block &) : mask(0) {}
    NUMBALITE_METHOD thread_group(const lanes &g) : mask(g.mask) {}
    NUMBALITE_METHOD void sync(NUMBALITE_SITE) const {
        if (mask)
            __syncwarp(mask NUMBALITE_AND_HERE);
        else
            __syncthreads(NUMBALITE_AT_SITE);
    }
    NUMBALITE_METHOD unsigned int num_threads() const {
        return mask ? __popc(mask) : thread_block::size();
    }
    NUMBALITE_METHOD unsigned int size() const { return num_threads(); }
    NUMBALITE_METHOD unsigned int thread_rank() const {
        return mask ? __popc(mask & lanemask_lt()) : numbalite::thread_rank();
    }
};

/* ---- the grid ---- */

struct grid_group {
    /* Was the kernel launched so that its blocks can wait for each other? */
    static NUMBALITE_METHOD bool is_valid() {
#ifdef NUMBALITE_SIM
        return true;
#else
        return workspace() != 0;
#endif
    }
    static NUMBALITE_METHOD unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static NUMBALITE_METHOD unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static NUMBALITE_METHOD unsigned long long num_threads() {
        return num_blocks() * thread_block::size();
    }
    static NUMBALITE_METHOD unsigned long long size() {
        return num_threads();
    }
    static NUMBALITE_METHOD unsigned long long thread_rank() {
        return block_rank() * thread_block::size() + numbalite::thread_rank();
    }
    static NUMBALITE_METHOD dim3 block_index() {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static NUMBALITE_METHOD dim3 dim_blocks() {
        return dim3(gridDim.x, gridDim.y, gridDim.z);
    }
    static NUMBALITE_METHOD dim3 group_dim() {
        return dim_blocks();
    }
#if defined(NUMBALITE_SIM) || __CUDA_ARCH__ >= 900
    static NUMBALITE_METHOD dim3 dim_clusters() {
        return __clusterGridDimInClusters();
    }
    static NUMBALITE_METHOD unsigned long long num_clusters() {
        dim3 all = dim_clusters();
        return (unsigned long long)all.x * all.y * all.z;
    }
    static NUMBALITE_METHOD dim3 cluster_index() {
        return __clusterIdx();
    }
    static NUMBALITE_METHOD unsigned long long cluster_rank() {
        dim3 all = dim_clusters(), at = cluster_index();
        return at.x + (unsigned long long)all.x * (at.y + (unsigned long long)all.y * at.z);
    }
#endif

    /* Waits for all threads of the grid; needs a cooperative launch.
     *
     * The driver gives such a launch a small workspace, whose address is in two special registers
     * and whose second word is a barrier for code like this. Each block adds to it so that one
     * round of all blocks adds up to 2^31: its top bit flips when the last block has come, and the
     * other bits are back to what they were. The toolkit's own implementation counts in the same
     * way, so both can be used in one grid. */
    static NUMBALITE_METHOD void sync(NUMBALITE_SITE) {
#ifdef NUMBALITE_SIM
        numbalite_sim::grid_barrier(file, line);
#else
        unsigned int *word = (unsigned int *)(workspace() + 4);
        if (!is_valid())
            __trap();
        __syncthreads();
        if (numbalite::thread_rank() == 0) {
            unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
            bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
            unsigned int step = first ? 0x80000000u - (blocks - 1) : 1;
            unsigned int before, now;
#if __CUDA_ARCH__ >= 700
            asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                         : "=r"(before)
                         : "l"(word), "r"(step)
                         : "memory");
            do {
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
                NUMBALITE_LEAVE_AFTER_FAULT;
            } while (((before ^ now) & 0x80000000u) == 0);
#else
            __threadfence();
            before = atomicAdd(word, step);
            do {
                now = *(volatile unsigned int *)word;
                NUMBALITE_LEAVE_AFTER_FAULT;
            } while (((before ^ now) & 0x80000000u) == 0);
            __threadfence();
#endif
        }
        __syncthreads();
        NUMBALITE_LEAVE_AFTER_FAULT; /* the grid has not met: whoever goes on would see half of it */
#endif
    }

  private:
#ifndef NUMBALITE_SIM
    static NUMBALITE_METHOD unsigned long long workspace() {
        unsigned int high, low;
        asm("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm("mov.u32 %0, %%envreg2;" : "=r"(low));
        return (unsigned long long)high << 32 | low;
    }
#endif
};
NUMBALITE_FUNCTION grid_group this_grid() {
    return grid_group();
}

/* ---- the cluster ---- */

#include "numbalite/cluster.cuh"

/* ---- parts of groups ---- */

template <unsigned int N>
NUMBALITE_FUNCTION thread_block_tile<N> tiled_partition(const thread_block &) {
    return thread_block_tile<N>();
}
template <unsigned int N, unsigned int M, class Parent>
NUMBALITE_FUNCTION thread_block_tile<N> tiled_partition(const thread_block_tile<M, Parent> &) {
    static_assert(N <= M, "a part is not larger than the group");
    return thread_block_tile<N>();
}
NUMBALITE_FUNCTION thread_group tiled_partition(const thread_block &, unsigned int n) {
    unsigned int lane = (unsigned int)laneid();
    return coalesced_group((n >= 32 ? 0xffffffffu : (1u << n) - 1) << (lane & ~(n - 1) & 31));
}
NUMBALITE_FUNCTION thread_group tiled_partition(const thread_group &g, unsigned int n) {
    return tiled_partition(thread_block(), n < g.size() ? n : g.size());
}

/* The members for which the predicate is the same as for the thread itself. */
NUMBALITE_FUNCTION coalesced_group binary_partition(const lanes &g,
                                                    bool predicate NUMBALITE_AND_SITE) {
    unsigned int yes = __ballot_sync(g.mask, predicate NUMBALITE_AND_HERE);
    return coalesced_group(predicate ? yes & g.mask : g.mask & ~yes);
}
template <class Label>
NUMBALITE_FUNCTION coalesced_group labeled_partition(const lanes &g,
                                                     Label label NUMBALITE_AND_SITE) {
    return coalesced_group(match_any_sync(g.mask, label NUMBALITE_AND_HERE));
}

template <class Group> NUMBALITE_FUNCTION void sync(const Group &g NUMBALITE_AND_SITE) {
    g.sync(NUMBALITE_AT_SITE);
}
template <class Group> NUMBALITE_FUNCTION auto thread_rank(const Group &g) {
    return g.thread_rank();
}
template <class Group> NUMBALITE_FUNCTION auto group_size(const Group &g) {
    return g.size();
}

/* ---- reductions and scans over a tile or a coalesced group ---- */

#define NUMBALITE_OPERATION(name, expression) \
    template <class T = void> struct name { \
        NUMBALITE_FUNCTION T operator()(T a, T b) const { return expression; } \
    }; \
    template <> struct name<void> { \
        template <class T> NUMBALITE_FUNCTION T operator()(T a, T b) const { return expression; } \
    };
NUMBALITE_OPERATION(plus, a + b)
NUMBALITE_OPERATION(less, b < a ? b : a)    /* the smaller one */
NUMBALITE_OPERATION(greater, a < b ? b : a) /* the larger one */
NUMBALITE_OPERATION(bit_and, a &b)
NUMBALITE_OPERATION(bit_or, a | b)
NUMBALITE_OPERATION(bit_xor, a ^ b)
#undef NUMBALITE_OPERATION

/* Every member gets the result. */
template <unsigned int N, class Parent, class T, class Op>
NUMBALITE_FUNCTION T reduce(const thread_block_tile<N, Parent> &g, T value,
                            Op op NUMBALITE_AND_SITE) {
    for (unsigned int step = N / 2; step; step /= 2)
        value = op(value, g.shfl_xor(value, step NUMBALITE_AND_HERE));
    return value;
}
template <class T, class Op>
NUMBALITE_FUNCTION T inclusive_scan(const lanes &g, T value, Op op NUMBALITE_AND_SITE) {
    unsigned int rank = g.thread_rank(), size = g.num_threads();
    for (unsigned int step = 1; step < size; step *= 2) {
        T below = g.shfl_up(value, step NUMBALITE_AND_HERE);
        if (rank >= step)
            value = op(below, value);
    }
    return value;
}
template <class T, class Op>
NUMBALITE_FUNCTION T reduce(const coalesced_group &g, T value, Op op NUMBALITE_AND_SITE) {
    value = inclusive_scan(g, value, op NUMBALITE_AND_HERE);
    return g.shfl(value, g.num_threads() - 1 NUMBALITE_AND_HERE);
}
template <class T> NUMBALITE_FUNCTION T inclusive_scan(const lanes &g, T value NUMBALITE_AND_SITE) {
    return inclusive_scan(g, value, plus<T>() NUMBALITE_AND_HERE);
}
/* The first member gets T(). */
template <class T, class Op>
NUMBALITE_FUNCTION T exclusive_scan(const lanes &g, T value, Op op NUMBALITE_AND_SITE) {
    value = inclusive_scan(g, value, op NUMBALITE_AND_HERE);
    value = g.shfl_up(value, 1 NUMBALITE_AND_HERE);
    return g.thread_rank() == 0 ? T() : value;
}
template <class T> NUMBALITE_FUNCTION T exclusive_scan(const lanes &g, T value NUMBALITE_AND_SITE) {
    return exclusive_scan(g, value, plus<T>() NUMBALITE_AND_HERE);
}

/* ---- one member for all ---- */

template <class Group, class Function, class... Arguments>
NUMBALITE_FUNCTION void invoke_one(const Group &g, Function &&function, Arguments &&...arguments) {
    if (g.thread_rank() == 0)
        function(static_cast<Arguments &&>(arguments)...);
}
/* Every member gets what the function returns. */
template <class Group, class Function, class... Arguments>
NUMBALITE_FUNCTION auto invoke_one_broadcast(const Group &g, Function &&function,
                                             Arguments &&...arguments)
    -> decltype(function(static_cast<Arguments &&>(arguments)...)) {
    decltype(function(static_cast<Arguments &&>(arguments)...)) result{};
    if (g.thread_rank() == 0)
        result = function(static_cast<Arguments &&>(arguments)...);
    return g.shfl(result, 0);
}

#undef NUMBALITE_METHOD

#ifdef NUMBALITE_SIM
#include "sim/groups.h"
#endif

} // namespace groups

namespace cg = groups;
using groups::coalesced_group;
using groups::coalesced_threads;
using groups::grid_group;
using groups::this_grid;
using groups::this_thread_block;
using groups::thread_block;
using groups::thread_block_tile;
using groups::thread_group;
using groups::tiled_partition;

} // namespace numbalite

#ifndef _COOPERATIVE_GROUPS_H_
namespace cooperative_groups = numbalite::groups;
#endif

#endif
#endif
