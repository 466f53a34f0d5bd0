/* A kernel of a ufunc for few elements, with one thread per element. */
extern "C" __global__ void __launch_bounds__(${threads})
${kernel}(const __grid_constant__ nl_ufunc::${parameter} p) {
    const long long i = (long long)blockIdx.x * ${threads} + threadIdx.x;
    if (i < p.count${mask}) {
${body}
    }
}
