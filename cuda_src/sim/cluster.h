/* sim/cluster: builtins of thread block clusters (compute capability 9.0). A kernel that was
 * launched without clusters runs in a cluster of one block. */
#ifndef NUMBALITE_SIM_CLUSTER_H
#define NUMBALITE_SIM_CLUSTER_H

namespace numbalite_sim {

NUMBALITE_SIM_OWN dim3 cluster_dim() {
    nl_sim_dim size = ops->cluster_dim();
    return dim3(size.x, size.y, size.z);
}
NUMBALITE_SIM_OWN void cluster_arrive(const char *file, int line) {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    engine_call call;
    ops->cluster_arrive(rank(), nl_sim_site{file, line});
}
NUMBALITE_SIM_OWN void cluster_wait(const char *file, int line) {
    dim3 size = cluster_dim();
    if (size.x * size.y * size.z == 1) {
        barrier(NL_SIM_BARRIER, 0, file, line);
        return;
    }
    engine_call call;
    ops->cluster_wait(rank(), nl_sim_site{file, line});
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
NUMBALITE_SIM_OWN void *cluster_map_address(const void *address, unsigned block, const char *file, int line) {
    return ops->cluster_map_address(address, block, rank(), nl_sim_site{file, line});
}
NUMBALITE_SIM_OWN int cluster_rank_of(const void *address) {
    return ops->cluster_rank_of(address);
}
NUMBALITE_SIM_OWN unsigned long long cluster_complete(unsigned low) {
    return ops->cluster_complete(low);
}

} // namespace numbalite_sim

NUMBALITE_SIM_INLINE dim3 __clusterDim() {
    return numbalite_sim::cluster_dim();
}
NUMBALITE_SIM_INLINE unsigned __clusterDimIsSpecified() {
    return __clusterDim().x * __clusterDim().y * __clusterDim().z > 1;
}
NUMBALITE_SIM_INLINE unsigned __clusterSizeInBlocks() {
    dim3 size = __clusterDim();
    return size.x * size.y * size.z;
}
NUMBALITE_SIM_INLINE dim3 __clusterRelativeBlockIdx() {
    dim3 size = __clusterDim();
    return dim3(blockIdx.x % size.x, blockIdx.y % size.y, blockIdx.z % size.z);
}
NUMBALITE_SIM_INLINE unsigned __clusterRelativeBlockRank() {
    dim3 size = __clusterDim(), at = __clusterRelativeBlockIdx();
    return at.x + size.x * (at.y + size.y * at.z);
}
NUMBALITE_SIM_INLINE dim3 __clusterGridDimInClusters() {
    dim3 size = __clusterDim();
    return dim3(gridDim.x / size.x, gridDim.y / size.y, gridDim.z / size.z);
}
NUMBALITE_SIM_INLINE dim3 __clusterIdx() {
    dim3 size = __clusterDim();
    return dim3(blockIdx.x / size.x, blockIdx.y / size.y, blockIdx.z / size.z);
}
NUMBALITE_SIM_INLINE void __cluster_barrier_arrive(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    numbalite_sim::cluster_arrive(file, line);
}
NUMBALITE_SIM_INLINE void __cluster_barrier_arrive_relaxed(const char *file = __builtin_FILE(),
                                                           int line = __builtin_LINE()) {
    numbalite_sim::cluster_arrive(file, line);
}
NUMBALITE_SIM_INLINE void __cluster_barrier_wait(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    numbalite_sim::cluster_wait(file, line);
}
NUMBALITE_SIM_INLINE void *__cluster_map_shared_rank(const void *address, unsigned block,
                                                     const char *file = __builtin_FILE(),
                                                     int line = __builtin_LINE()) {
    return numbalite_sim::cluster_map_address(address, block, file, line);
}
NUMBALITE_SIM_INLINE unsigned __cluster_query_shared_rank(const void *address) {
    return static_cast<unsigned>(numbalite_sim::cluster_rank_of(address));
}
NUMBALITE_SIM_INLINE unsigned __isClusterShared(const void *address) {
    return numbalite_sim::cluster_rank_of(address) >= 0;
}
NUMBALITE_SIM_INLINE void __threadfence_cluster(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    __threadfence(file, line);
}

#endif
