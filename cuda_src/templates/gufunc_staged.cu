/* A kernel of a generalized ufunc: a thread for each loop index, whose cores are staged by its warp. */
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_detail::gufunc_call<${operands}, ${dims}, ${core}> call) {
    using namespace numbalite::nl_detail;
    ${whole} thread = (${whole})blockIdx.x * blockDim.x + threadIdx.x;
    ${whole} first = thread - threadIdx.x % 32;
    if (first >= (${whole})call.count)
        return;
    const bool is_one = thread < (${whole})call.count; /* others help, with the last one's cores */
    const int rows = (int)(call.count - first < 32 ? call.count - first : 32);
    auto place = gufunc_find(call, (${index})(is_one ? thread : (${whole})call.count - 1));
    unsigned char *free = block_memory();
${before}
    await_stage();
    if (is_one) {
${body}
    }
    __syncwarp();
${after}
}
