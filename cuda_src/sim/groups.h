/* sim/groups: what cooperative_groups.h has beyond numbalite/groups.cuh, which includes this inside of its namespace,
 * and the names of what the simulator does not have. */

#define NUMBALITE_SIM_GROUP(name) "cooperative_groups::" name " cannot run on the CPU simulator"
#define NUMBALITE_SIM_NO_GROUP(name) NUMBALITE_SIM_CANNOT(NUMBALITE_SIM_GROUP(name))

class NUMBALITE_SIM_NO_GROUP("multi_grid_group") multi_grid_group {};
NUMBALITE_SIM_NO_GROUP("this_multi_grid") int this_multi_grid();
template <unsigned int threads>
struct block_tile_memory NUMBALITE_SIM_CANNOT_BE(block_tile_memory,
                                                 NUMBALITE_SIM_GROUP("block_tile_memory"));
template <unsigned int threads>
NUMBALITE_SIM_NO_GROUP("block_tile_memory")
thread_block this_thread_block(block_tile_memory<threads> &);
#undef NUMBALITE_SIM_NO_GROUP
#undef NUMBALITE_SIM_GROUP

/* What a group's first member does to an atomic variable for all of them; gives what the variable was. They are
 * asynchronous on a GPU: here it is done when the first member has been there. */
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
/* A scan that goes on from an atomic variable, to which the group's sum is added. */
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
    value = inclusive_scan(g, value, op, file, line);
    T all = g.shfl(value, g.num_threads() - 1, file, line), old = all, below = g.shfl_up(value, 1, file, line);
    if (g.thread_rank() == 0)
        old = update_of(atomic, all, op);
    old = g.shfl(old, 0, file, line);
    return g.thread_rank() == 0 ? old : op(old, below);
}
template <class Group, class Atomic, class T>
NUMBALITE_SIM_INLINE T inclusive_scan_update(const Group &g, Atomic &atomic, T value, NUMBALITE_SIM_SITE) {
    return inclusive_scan_update(g, atomic, value, plus<T>(), file, line);
}
template <class Group, class Atomic, class T>
NUMBALITE_SIM_INLINE T exclusive_scan_update(const Group &g, Atomic &atomic, T value, NUMBALITE_SIM_SITE) {
    return exclusive_scan_update(g, atomic, value, plus<T>(), file, line);
}
