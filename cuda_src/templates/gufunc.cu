/* A kernel of a generalized ufunc: one thread for each loop index. */
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_detail::gufunc_call<${operands}, ${dims}, ${core}> call) {
    using namespace numbalite::nl_detail;
    ${whole} thread = (${whole})blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < (${whole})call.count) {
        ${index} index = (${index})thread;
        auto place = gufunc_find(call, index);
${body}
    }
}
