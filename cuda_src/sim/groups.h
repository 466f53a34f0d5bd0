/* sim/groups: the functions of cooperative_groups.h that numbalite/groups.cuh lacks: tiles of
 * several warps, and updates of atomic variables by groups. */
#ifndef NUMBALITE_SIM_GROUPS_H
#define NUMBALITE_SIM_GROUPS_H

namespace numbalite {
namespace groups {

/* ---- tiles of several warps ---- */

/* Memory by which tiles of several warps exchange values on GPUs before compute capability 8.0.
 * The simulator does not use this memory, because the engine exchanges the values. */
template <unsigned int threads = 1024> struct alignas(8) block_tile_memory {
    char nl_memory[32 + threads / 32 * 8];
};
template <unsigned int threads>
NUMBALITE_SIM_INLINE thread_block this_thread_block(block_tile_memory<threads> &) {
    return thread_block();
}

/* The members of a tile of several warps. As on a GPU, such tiles have no ballot and no match, and
 * shfl as their only shuffle; each of these operations is also a barrier of the tile. */
template <unsigned int N> struct tile_members<N, false> {
    static_assert(N <= 1024 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, ... or 1024 threads");
    static constexpr ::cuda::thread_scope thread_scope = ::cuda::thread_scope_block;

    static constexpr unsigned int num_threads() { return N; }
    static constexpr unsigned int size() { return N; }
    static NUMBALITE_SIM_INLINE unsigned int thread_rank() { return numbalite::thread_rank() & (N - 1); }
    NUMBALITE_SIM_INLINE void sync(NUMBALITE_SIM_SITE) const { numbalite_sim::exchange_in_tile(N, 0, 0, file, line); }
    /* All threads must read from the same thread, because a GPU stores one value for the tile. */
    template <class T> NUMBALITE_SIM_INLINE T shfl(T value, unsigned int rank, NUMBALITE_SIM_SITE) const {
        return exchange(value, rank < N ? rank | NL_SIM_TILE_ONE_SOURCE : rank, file, line);
    }
    NUMBALITE_SIM_INLINE int any(int predicate, NUMBALITE_SIM_SITE) const {
        return warp().any(of_warps(warp().any(predicate, file, line), file, line), file, line);
    }
    NUMBALITE_SIM_INLINE int all(int predicate, NUMBALITE_SIM_SITE) const {
        return warp().all(of_warps(warp().all(predicate, file, line), file, line), file, line);
    }

    /* Lane i of each warp receives the value of warp i modulo the number of warps. */
    template <class T> NUMBALITE_SIM_INLINE T of_warps(T value, const char *file, int line) const {
        return exchange(value, laneid() % (N / 32) * 32, file, line);
    }
    template <class T>
    static NUMBALITE_SIM_INLINE T exchange(T value, unsigned int source, const char *file, int line) {
        static_assert(sizeof(T) <= 8, "tiles of more than 32 threads exchange values of at most 8 bytes");
        unsigned long long word = 0;
        __builtin_memcpy(&word, &value, sizeof(T));
        word = numbalite_sim::exchange_in_tile(N, word, source, file, line);
        __builtin_memcpy(&value, &word, sizeof(T));
        return value;
    }
    static NUMBALITE_SIM_INLINE tile_members<32> warp() { return tile_members<32>(); }
    static NUMBALITE_SIM_INLINE tile_members<N / 32> warps() { return tile_members<N / 32>(); }
};

/* Reduces in the same order as a GPU: first within each warp, then across the warps. */
template <unsigned int N, class T, class Op>
NUMBALITE_SIM_INLINE T reduce(const tile_members<N, false> &g, T value, Op op, NUMBALITE_SIM_SITE) {
    value = g.of_warps(reduce(g.warp(), value, op, file, line), file, line);
    return reduce(g.warps(), value, op, file, line);
}
/* Returns the exclusive prefix of the warps for a scan, which is T() in the first warp. */
template <unsigned int N, class T, class Op>
NUMBALITE_SIM_INLINE T prefix_of_warps(const tile_members<N, false> &g, T sum, Op op, const char *file, int line) {
    sum = exclusive_scan(g.warps(), g.of_warps(sum, file, line), op, file, line);
    return g.warps().shfl(sum, g.thread_rank() / 32, file, line);
}
template <unsigned int N, class T, class Op>
NUMBALITE_SIM_INLINE T inclusive_scan(const tile_members<N, false> &g, T value, Op op, NUMBALITE_SIM_SITE) {
    value = inclusive_scan(g.warp(), value, op, file, line);
    T before = prefix_of_warps(g, g.warp().shfl(value, 31, file, line), op, file, line);
    return g.thread_rank() < 32 ? value : op(value, before);
}
template <unsigned int N, class T, class Op>
NUMBALITE_SIM_INLINE T exclusive_scan(const tile_members<N, false> &g, T value, Op op, NUMBALITE_SIM_SITE) {
    value = inclusive_scan(g.warp(), value, op, file, line);
    T before = prefix_of_warps(g, g.warp().shfl(value, 31, file, line), op, file, line);
    value = g.warp().shfl_up(value, 1, file, line);
    if (laneid() == 0)
        return before;
    return g.thread_rank() < 32 ? value : op(value, before);
}

/* ---- atomic variables ---- */

/* The first member of a group updates an atomic variable for all members; all members receive the
 * old value. On a GPU, the update is asynchronous; on the simulator, it is complete when the first
 * member returns. */
template <class Atomic, class T, class Op> NUMBALITE_SIM_INLINE T update_of(Atomic &atomic, const T &value, Op &op) {
    auto old = atomic.load();
    while (!atomic.compare_exchange_weak(old, op(old, value)))
        ;
    return old;
}
template <class Group, class Atomic, class T, class Op>
NUMBALITE_SIM_INLINE void reduce_update_async(const Group &g, Atomic &atomic, T &&value, Op &&op, NUMBALITE_SIM_SITE) {
    auto all = reduce(g, value, op, file, line);
    if (g.thread_rank() == 0)
        update_of(atomic, all, op);
}
template <class Group, class Atomic, class T, class Op>
NUMBALITE_SIM_INLINE void reduce_store_async(const Group &g, Atomic &atomic, T &&value, Op &&op, NUMBALITE_SIM_SITE) {
    auto all = reduce(g, value, op, file, line);
    if (g.thread_rank() == 0)
        atomic.store(all);
}
template <class Group, class To, class T, class Op>
NUMBALITE_SIM_INLINE void reduce_store_async(const Group &g, To *to, T &&value, Op &&op, NUMBALITE_SIM_SITE) {
    auto all = reduce(g, value, op, file, line);
    if (g.thread_rank() == 0)
        *to = all;
}
/* Makes a scan that starts at the value of an atomic variable, and adds the group's sum to the
 * variable. */
template <class Group, class Atomic, class T, class Op>
NUMBALITE_SIM_INLINE T inclusive_scan_update(const Group &g, Atomic &atomic, T value, Op op, NUMBALITE_SIM_SITE) {
    value = inclusive_scan(g, value, op, file, line);
    T all = g.shfl(value, g.num_threads() - 1, file, line), old = all;
    if (g.thread_rank() == 0)
        old = update_of(atomic, all, op);
    return op(g.shfl(old, 0, file, line), value);
}
template <class Group, class Atomic, class T, class Op>
NUMBALITE_SIM_INLINE T exclusive_scan_update(const Group &g, Atomic &atomic, T value, Op op, NUMBALITE_SIM_SITE) {
    bool is_first = g.thread_rank() == 0;
    T below = exclusive_scan(g, value, op, file, line);
    T all = g.shfl(is_first ? value : op(value, below), g.num_threads() - 1, file, line), old = all;
    if (is_first)
        old = update_of(atomic, all, op);
    old = g.shfl(old, 0, file, line);
    return is_first ? old : op(old, below);
}
template <class Group, class Atomic, class T>
NUMBALITE_SIM_INLINE T inclusive_scan_update(const Group &g, Atomic &atomic, T value, NUMBALITE_SIM_SITE) {
    return inclusive_scan_update(g, atomic, value, plus<T>(), file, line);
}
template <class Group, class Atomic, class T>
NUMBALITE_SIM_INLINE T exclusive_scan_update(const Group &g, Atomic &atomic, T value, NUMBALITE_SIM_SITE) {
    return exclusive_scan_update(g, atomic, value, plus<T>(), file, line);
}

} // namespace groups
} // namespace numbalite

#endif
