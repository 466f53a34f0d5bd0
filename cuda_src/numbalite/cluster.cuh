/* cluster: the cooperative group of a thread block cluster (compute capability 9.0). groups.cuh
 * includes this header inside its namespace. */

#if defined(NUMBALITE_SIM) || __CUDA_ARCH__ >= 900
struct cluster_group {
    struct arrival_token {};
    NUMBALITE_THREAD_SCOPE(device)

    static NUMBALITE_METHOD void sync(NUMBALITE_SITE) {
        __cluster_barrier_arrive(NUMBALITE_AT_SITE);
        __cluster_barrier_wait(NUMBALITE_AT_SITE);
    }
    static NUMBALITE_METHOD arrival_token barrier_arrive(NUMBALITE_SITE) {
        __cluster_barrier_arrive(NUMBALITE_AT_SITE);
        return arrival_token();
    }
    static NUMBALITE_METHOD void barrier_wait(NUMBALITE_SITE) {
        __cluster_barrier_wait(NUMBALITE_AT_SITE);
    }
    static NUMBALITE_METHOD void barrier_wait(arrival_token && NUMBALITE_AND_SITE) {
        __cluster_barrier_wait(NUMBALITE_AT_SITE);
    }
    /* query_shared_rank returns the rank of the block whose shared memory contains the address.
     * map_shared_rank returns the address of the same variable in the block with the given rank. */
    static NUMBALITE_METHOD unsigned int query_shared_rank(const void *address) {
        return __cluster_query_shared_rank(address);
    }
    template <class T>
    static NUMBALITE_METHOD T *map_shared_rank(T *address, int rank NUMBALITE_AND_SITE) {
        return (T *)__cluster_map_shared_rank((const void *)address,
                                              (unsigned int)rank NUMBALITE_AND_HERE);
    }
    static NUMBALITE_METHOD dim3 block_index() { return __clusterRelativeBlockIdx(); }
    static NUMBALITE_METHOD unsigned int block_rank() { return __clusterRelativeBlockRank(); }
    static NUMBALITE_METHOD dim3 dim_blocks() { return __clusterDim(); }
    static NUMBALITE_METHOD unsigned int num_blocks() { return __clusterSizeInBlocks(); }
    static NUMBALITE_METHOD dim3 thread_index() {
        dim3 at = block_index();
        return dim3(at.x * blockDim.x + threadIdx.x, at.y * blockDim.y + threadIdx.y,
                    at.z * blockDim.z + threadIdx.z);
    }
    static NUMBALITE_METHOD unsigned int thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static NUMBALITE_METHOD dim3 dim_threads() {
        dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    static NUMBALITE_METHOD unsigned int num_threads() {
        return num_blocks() * thread_block::size();
    }
    static NUMBALITE_METHOD unsigned int size() { return num_threads(); }
};
NUMBALITE_FUNCTION cluster_group this_cluster() {
    return cluster_group();
}
#endif
