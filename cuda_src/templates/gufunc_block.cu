/* A kernel of a generalized ufunc: one block for each loop index. */
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_detail::gufunc_call<${operands}, ${dims}, ${core}> call) {
    using namespace numbalite::nl_detail;
    for (long long index = blockIdx.x; index < call.count; index += gridDim.x) {
        auto place = gufunc_find(call, (${index})index);
${body}
        __syncthreads();
    }
}
