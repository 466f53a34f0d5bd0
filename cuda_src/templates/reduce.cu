/* A kernel of a reduction, a scan or ufunc.at; reduce_pair.cu or reduce_at.cu contains the function
 * that combines two elements. Four blocks must fit on a multiprocessor, or one block with a
 * pipeline; otherwise memory bandwidth is not fully used. */
extern "C" __global__ void __launch_bounds__(${threads}, ${blocks}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan p, const void *input, const void *where,
    void *output, bool *flags, const numbalite::int64 *segments) {
    numbalite::nl_reduce::${body}
}
