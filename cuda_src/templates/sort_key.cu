/* The kernel that computes the user's key of each element. */
extern "C" __global__ void __launch_bounds__(256) nl_keys(
    const void *from, void *to, unsigned long long count) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const ${T} &x = ((const ${T} *)from)[i];
        ((${O} *)to)[i] = numbalite::nl_convert<${O}>(${call});
    }
}
