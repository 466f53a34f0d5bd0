/* A kernel of a generalized ufunc: one thread for each loop index; its warp copies the cores to
 * shared memory. If the cores are large, some lanes have no loop index and only help to copy. */
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_detail::gufunc_call<${operands}, ${dims}, ${core}> call) {
    using namespace numbalite::nl_detail;
    const ${whole} count = (${whole})call.count;
    const int lanes = (int)call.lanes, lane = (int)threadIdx.x % 32;
    const ${whole} warp = (${whole})blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const ${whole} first = warp * lanes, thread = first + lane;
    if (first >= count)
        return;
    const bool is_one = lane < lanes && thread < count;
    const int rows = (int)(count - first < lanes ? count - first : lanes);
    auto place = gufunc_find(call, (${index})(is_one ? thread : first));
    unsigned char *free = block_memory();
${before}
    wait_for_warp_copies();
    if (is_one) {
${body}
    }
    __syncwarp();
${after}
}
