/* A kernel of a reduction, a scan or ufunc.at; the function that combines two elements is
 * in reduce_pair.cu or reduce_at.cu. Four blocks must fit on a multiprocessor, or one with a
 * pipeline: with fewer, memory bandwidth is not used fully. */
extern "C" __global__ void __launch_bounds__(${threads}, ${blocks}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan p, const void *input, const void *where,
    void *output, bool *flags, const numbalite::int64 *segments) {
    numbalite::nl_reduce::${body}
}
