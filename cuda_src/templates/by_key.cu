/* The kernel of a reduction by key; reduce_pair.cu contains the function. */
extern "C" __global__ void __launch_bounds__(${threads}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan p, const void *keys, const void *values,
    void *out_values, void *statuses, void *out_keys, numbalite::int64 *count) {
    numbalite::nl_reduce::${body}
}
