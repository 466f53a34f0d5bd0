/* groups: the most frequently used part of CUDA's cooperative groups, at one hundredth of its
 * compile time.
 *
 * Types: thread_block, thread_block_tile<N>, coalesced_group, thread_group, grid_group, and
 * cluster_group (compute capability 9.0).
 * `this_thread_block()`, `this_cluster()`, `this_grid()`, `coalesced_threads()`,
 * `tiled_partition<N>(g)`, `tiled_partition(g, n)`, `binary_partition(g, predicate)` and
 * `labeled_partition(g, label)` return groups.
 * `sync(g)`, `reduce(g, value, op)`, `inclusive_scan(g, value, op)`, `exclusive_scan(g, value,
 * op)`, `invoke_one(g, function, arguments...)` and `invoke_one_broadcast(...)` are collectives.
 * `plus`, `less`, `greater`, `bit_and`, `bit_or` and `bit_xor` are operations.
 *
 * These names are in the namespace numbalite::groups, whose alias is cg, and also
 * cooperative_groups if the toolkit's header is not included. Names and behaviour are those of
 * cooperative_groups. Tiles have at most 32 threads; larger tiles need the toolkit's header. In
 * blocks with several dimensions, x varies fastest in ranks, as in cooperative_groups. */
#ifndef NUMBALITE_GROUPS_CUH
#define NUMBALITE_GROUPS_CUH

#ifdef NUMBALITE_HOST /* code for the CPU has no grid */
#include "host/nogrid.h"
#else

#include "numbalite.cuh"
#include "numbalite/site.cuh"
#include "numbalite/warp.cuh"

namespace numbalite {
namespace nl_detail {

/* The types that match operations accept: numbers. Labels may also be pointers, but not
 * floating-point numbers. */
template <class T> struct is_matched {
    static constexpr bool value = !(__is_class(T) || __is_union(T) || __is_enum(T));
};
template <class T> struct is_matched<T *> { static constexpr bool value = false; };
template <class T> struct is_label : is_matched<T> {};
template <class T> struct is_label<T *> { static constexpr bool value = true; };
template <> struct is_label<float> { static constexpr bool value = false; };
template <> struct is_label<double> { static constexpr bool value = false; };

} // namespace nl_detail

namespace groups {

#define NUMBALITE_METHOD NUMBALITE_FUNCTION
/* defined by the simulator's cooperative_groups.h for cuda::atomic */
#ifndef NUMBALITE_THREAD_SCOPE
#define NUMBALITE_THREAD_SCOPE(scope)
#endif

/* ---- the block ---- */

struct thread_block {
    struct arrival_token {};
    NUMBALITE_THREAD_SCOPE(block)

    static NUMBALITE_METHOD void sync(NUMBALITE_SITE) { __syncthreads(NUMBALITE_AT_SITE); }
    static NUMBALITE_METHOD arrival_token barrier_arrive() { return arrival_token(); }
    static NUMBALITE_METHOD void barrier_wait(arrival_token && NUMBALITE_AND_SITE) {
        __syncthreads(NUMBALITE_AT_SITE);
    }
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

/* The common base class of tiles and coalesced groups. A group is a mask of lanes; its members are
 * numbered in lane order. */
struct lanes {
    unsigned int mask;
    NUMBALITE_THREAD_SCOPE(block)

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
        return pack(same_as(value NUMBALITE_AND_HERE));
    }
    template <class T>
    NUMBALITE_METHOD unsigned int match_all(T value, int &all NUMBALITE_AND_SITE) const {
        unsigned int same = same_as(value NUMBALITE_AND_HERE);
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
    template <class T> NUMBALITE_METHOD unsigned int same_as(T value NUMBALITE_AND_SITE) const {
        static_assert(nl_detail::is_matched<T>::value, "groups match integers and floating-point numbers");
        return match_any_sync(mask, value NUMBALITE_AND_HERE);
    }
    /* Returns the lane of the member with this rank. */
    NUMBALITE_METHOD int lane_of(unsigned int rank) const {
        if (mask == 0xffffffffu)
            return (int)(rank & 31);
        unsigned int rest = mask;
        for (rank %= num_threads(); rank; --rank)
            rest &= rest - 1;
        return __ffs((int)rest) - 1;
    }
    /* Converts a bit mask by lane to a bit mask by rank. */
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
    NUMBALITE_METHOD explicit coalesced_group(unsigned int m, unsigned int rank = 0,
                                              unsigned int count = 1)
        : meta_rank(rank), meta_size(count) {
        mask = m;
    }
    NUMBALITE_METHOD unsigned int meta_group_rank() const { return meta_rank; }
    NUMBALITE_METHOD unsigned int meta_group_size() const { return meta_size; }

  private:
    unsigned int meta_rank, meta_size;
};
NUMBALITE_FUNCTION coalesced_group coalesced_threads(NUMBALITE_SITE) {
    return coalesced_group(__activemask(NUMBALITE_AT_SITE));
}

/* ---- A tile consists of neighbouring threads, whose number is a power of two. ---- */

template <unsigned int N, bool is_of_a_warp = (N <= 32)> struct tile_members {
    static_assert(is_of_a_warp, "a tile has 1, 2, 4, 8, 16 or 32 threads (larger ones: include cooperative_groups.h)");
};
/* The overrides for tiles of a warp use shifts instead of loops. */
template <unsigned int N> struct tile_members<N, true> : lanes {
    static_assert(N >= 1 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

    NUMBALITE_METHOD tile_members() {
        mask = (N == 32 ? 0xffffffffu : (1u << (N % 32)) - 1) << first();
    }
    static NUMBALITE_METHOD constexpr unsigned int num_threads() { return N; }
    static NUMBALITE_METHOD constexpr unsigned int size() { return N; }
    static NUMBALITE_METHOD unsigned int thread_rank() { return laneid() & (N - 1); }

    NUMBALITE_METHOD unsigned int ballot(int predicate NUMBALITE_AND_SITE) const {
        return pack(__ballot_sync(mask, predicate NUMBALITE_AND_HERE));
    }
    template <class T> NUMBALITE_METHOD unsigned int match_any(T value NUMBALITE_AND_SITE) const {
        return pack(same_as(value NUMBALITE_AND_HERE));
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

/* A tile; meta_group_rank is its index among the tiles of the parent. */
template <unsigned int N, class Parent = void> struct thread_block_tile : tile_members<N> {
    static NUMBALITE_METHOD unsigned int meta_group_rank() { return Parent::thread_rank() / N; }
    static NUMBALITE_METHOD unsigned int meta_group_size() {
        return (Parent::size() + N - 1) / N;
    }
};
template <unsigned int N> struct thread_block_tile<N, void> : tile_members<N> {
    template <class Parent>
    NUMBALITE_METHOD thread_block_tile(const thread_block_tile<N, Parent> &t)
        : tile_members<N>(t), meta_rank(t.meta_group_rank()), meta_size(t.meta_group_size()) {}
    NUMBALITE_METHOD unsigned int meta_group_rank() const { return meta_rank; }
    NUMBALITE_METHOD unsigned int meta_group_size() const { return meta_size; }

  private:
    unsigned int meta_rank, meta_size;
};
NUMBALITE_FUNCTION thread_block_tile<1> this_thread() {
    return thread_block_tile<1, thread_block_tile<1, thread_block>>();
}

/* ---- the grid ---- */

struct grid_group {
    struct arrival_token {};
    NUMBALITE_THREAD_SCOPE(device)

    /* Returns whether the launch is cooperative, which sync() requires. */
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
    static NUMBALITE_METHOD dim3 thread_index() {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
    static NUMBALITE_METHOD dim3 dim_threads() {
        return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
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

    /* Waits for all threads of the grid; requires a cooperative launch.
     *
     * The driver passes a small workspace to a cooperative launch: its address is in two special
     * registers, and the 32-bit counter at byte 4 is the barrier. Each time that all blocks arrive,
     * they together add 2^31 to the counter. The top bit flips when the last block arrives, and the
     * other bits return to their previous values. The toolkit's own implementation counts in the
     * same manner, so both can be used in one grid. */
    static NUMBALITE_METHOD void sync(NUMBALITE_SITE) {
#ifdef NUMBALITE_SIM
        numbalite_sim::grid_barrier(file, line);
#else
        unsigned int *counter = (unsigned int *)(workspace() + 4);
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
                         : "l"(counter), "r"(step)
                         : "memory");
            do {
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
                NUMBALITE_LEAVE_AFTER_FAULT;
            } while (((before ^ now) & 0x80000000u) == 0);
#else
            __threadfence();
            before = atomicAdd(counter, step);
            do {
                now = *(volatile unsigned int *)counter;
                NUMBALITE_LEAVE_AFTER_FAULT;
            } while (((before ^ now) & 0x80000000u) == 0);
            __threadfence();
#endif
        }
        __syncthreads();
        /* not all threads have reached the barrier: a thread that continued would read incomplete
         * results */
        NUMBALITE_LEAVE_AFTER_FAULT;
#endif
    }

    static NUMBALITE_METHOD arrival_token barrier_arrive() {
        return arrival_token();
    }
    static NUMBALITE_METHOD void barrier_wait(arrival_token && NUMBALITE_AND_SITE) {
        sync(NUMBALITE_AT_SITE);
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

/* ---- A group whose type is determined at run time. ---- */

struct thread_group {
    NUMBALITE_THREAD_SCOPE(device)

    NUMBALITE_METHOD thread_group(const lanes &g) : type(of_lanes), mask(g.mask) {}
    NUMBALITE_METHOD thread_group(const thread_block &) : type(of_block), mask(0) {}
    NUMBALITE_METHOD thread_group(const grid_group &) : type(of_grid), mask(0) {}
    NUMBALITE_METHOD unsigned int get_type() const { return type; }
    NUMBALITE_METHOD bool is_of_lanes() const { return type == of_lanes; }
    NUMBALITE_METHOD coalesced_group as_lanes() const { return coalesced_group(mask); }

#if defined(NUMBALITE_SIM) || __CUDA_ARCH__ >= 900
    NUMBALITE_METHOD thread_group(const cluster_group &) : type(of_cluster), mask(0) {}
#define NUMBALITE_OF_CLUSTER(what) type == of_cluster ? cluster_group::what:
#else
#define NUMBALITE_OF_CLUSTER(what)
#endif
#define NUMBALITE_OF_GROUP(what) \
    type == of_lanes ? as_lanes().what : type == of_grid ? grid_group::what : \
        NUMBALITE_OF_CLUSTER(what) thread_block::what
    NUMBALITE_METHOD void sync(NUMBALITE_SITE) const {
        NUMBALITE_OF_GROUP(sync(NUMBALITE_AT_SITE));
    }
    NUMBALITE_METHOD unsigned long long num_threads() const {
        return NUMBALITE_OF_GROUP(num_threads());
    }
    NUMBALITE_METHOD unsigned long long size() const { return num_threads(); }
    NUMBALITE_METHOD unsigned long long thread_rank() const {
        return NUMBALITE_OF_GROUP(thread_rank());
    }
#undef NUMBALITE_OF_GROUP
#undef NUMBALITE_OF_CLUSTER

  private:
    enum { of_lanes = 1, of_grid = 3, of_block = 4, of_cluster = 6 }; /* the toolkit's numbers */
    unsigned int type, mask;
};

/* ---- partitions of groups ---- */

template <unsigned int N>
NUMBALITE_FUNCTION thread_block_tile<N, thread_block> tiled_partition(const thread_block &) {
    return thread_block_tile<N, thread_block>();
}
template <unsigned int N, unsigned int M, class Parent>
NUMBALITE_FUNCTION thread_block_tile<N, thread_block_tile<M, Parent>>
tiled_partition(const thread_block_tile<M, Parent> &) {
    static_assert(N < M, "a tile of a tile must be smaller than its parent");
    return thread_block_tile<N, thread_block_tile<M, Parent>>();
}
/* Creates tiles whose size is only available at run time; the last tile may be smaller. */
NUMBALITE_FUNCTION coalesced_group tiled_partition(const coalesced_group &g, unsigned int n) {
    if (n == 0 || n > 32 || (n & (n - 1)) != 0)
        __trap();
    unsigned int rank = g.thread_rank(), mask = g.mask, part = 0;
    for (unsigned int i = 0; mask; mask &= mask - 1, ++i)
        part |= i / n == rank / n ? mask & (0u - mask) : 0;
    return coalesced_group(part, rank / n, (g.size() + n - 1) / n);
}
NUMBALITE_FUNCTION thread_group tiled_partition(const thread_block &, unsigned int n) {
    unsigned int first = numbalite::thread_rank() & ~31u, left = thread_block::size() - first;
    return tiled_partition(
        coalesced_group(left < 32 ? (1u << left) - 1 : 0xffffffffu), n);
}
NUMBALITE_FUNCTION thread_group tiled_partition(const thread_group &g, unsigned int n) {
    return g.is_of_lanes() ? thread_group(tiled_partition(g.as_lanes(), n))
                           : tiled_partition(thread_block(), n);
}

/* Returns the group of members whose predicate equals that of the calling thread. */
NUMBALITE_FUNCTION coalesced_group binary_partition(const lanes &g,
                                                    bool predicate NUMBALITE_AND_SITE) {
    unsigned int yes = __ballot_sync(g.mask, predicate NUMBALITE_AND_HERE) & g.mask;
    if (yes == 0 || yes == g.mask)
        return coalesced_group(g.mask);
    return coalesced_group(predicate ? yes : g.mask & ~yes, predicate, 2);
}
/* Returns the group of members with the same label; the groups are numbered in the order of their
 * first members. */
template <class Label>
NUMBALITE_FUNCTION coalesced_group labeled_partition(const lanes &g,
                                                     Label label NUMBALITE_AND_SITE) {
    static_assert(nl_detail::is_label<Label>::value, "a label is an integer or a pointer");
    unsigned int same = match_any_sync(g.mask, label NUMBALITE_AND_HERE);
    unsigned int leader = same & (0u - same);
    unsigned int leaders = __ballot_sync(g.mask, (lanemask_lt() & same) == 0 NUMBALITE_AND_HERE);
    return coalesced_group(same, __popc(leaders & (leader - 1)), __popc(leaders & g.mask));
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

template <class T, class U> struct is_same { static constexpr bool value = false; };
template <class T> struct is_same<T, T> { static constexpr bool value = true; };
#define NUMBALITE_SAME_TYPE(T, op, v) \
    static_assert(groups::is_same<T, decltype(op(v, v))>::value, \
                  "the operation's result type differs from its operand type")

/* All members receive the result. */
template <unsigned int N, class T, class Op>
NUMBALITE_FUNCTION T reduce(const tile_members<N, true> &g, T value, Op op NUMBALITE_AND_SITE) {
    NUMBALITE_SAME_TYPE(T, op, value);
    for (unsigned int step = N / 2; step; step /= 2)
        value = op(value, g.shfl_xor(value, step NUMBALITE_AND_HERE));
    return value;
}
template <class T, class Op>
NUMBALITE_FUNCTION T inclusive_scan(const lanes &g, T value, Op op NUMBALITE_AND_SITE) {
    NUMBALITE_SAME_TYPE(T, op, value);
    unsigned int rank = g.thread_rank(), size = g.num_threads();
    for (unsigned int step = 1; step < size; step *= 2) {
        T below = g.shfl_up(value, step NUMBALITE_AND_HERE);
        if (rank >= step)
            value = op(value, below);
    }
    return value;
}
template <class T, class Op>
NUMBALITE_FUNCTION T reduce(const coalesced_group &g, T value, Op op NUMBALITE_AND_SITE) {
    if (g.num_threads() == 32)
        return reduce(tile_members<32>(), value, op NUMBALITE_AND_HERE);
    value = inclusive_scan(g, value, op NUMBALITE_AND_HERE);
    return g.shfl(value, g.num_threads() - 1 NUMBALITE_AND_HERE);
}
/* The first member receives T(). */
template <class T, class Op>
NUMBALITE_FUNCTION T exclusive_scan(const lanes &g, T value, Op op NUMBALITE_AND_SITE) {
    value = inclusive_scan(g, value, op NUMBALITE_AND_HERE);
    value = g.shfl_up(value, 1 NUMBALITE_AND_HERE);
    return g.thread_rank() == 0 ? T() : value;
}
template <class Group, class T>
NUMBALITE_FUNCTION T inclusive_scan(const Group &g, T value NUMBALITE_AND_SITE) {
    return inclusive_scan(g, value, plus<T>() NUMBALITE_AND_HERE);
}
template <class Group, class T>
NUMBALITE_FUNCTION T exclusive_scan(const Group &g, T value NUMBALITE_AND_SITE) {
    return exclusive_scan(g, value, plus<T>() NUMBALITE_AND_HERE);
}

/* ---- calls by one member ---- */

template <class Group, class Function, class... Arguments>
NUMBALITE_FUNCTION void invoke_one(const Group &g, Function &&function, Arguments &&...arguments) {
    if (g.thread_rank() == 0)
        function(static_cast<Arguments &&>(arguments)...);
}
/* All members of the group receive the function's result. */
template <class Group, class Function, class... Arguments>
NUMBALITE_FUNCTION auto invoke_one_broadcast(const Group &g, Function &&function,
                                             Arguments &&...arguments)
    -> decltype(function(static_cast<Arguments &&>(arguments)...)) {
    decltype(function(static_cast<Arguments &&>(arguments)...)) result{};
    if (g.thread_rank() == 0)
        result = function(static_cast<Arguments &&>(arguments)...);
    return g.shfl(result, 0);
}

#undef NUMBALITE_SAME_TYPE
#undef NUMBALITE_METHOD
#undef NUMBALITE_THREAD_SCOPE

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
