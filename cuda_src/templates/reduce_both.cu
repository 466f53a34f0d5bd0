/* The kernel of a reduction whose last block combines the parts of all blocks; reduce_pair.cu
 * contains the function. */
extern "C" __global__ void __launch_bounds__(${threads}, ${blocks}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan_of_both plan, const void *input,
    const void *where, void *output, bool *flags, void *parts, unsigned int *counter) {
    const numbalite::int64 *segments = nullptr;
    {
        const numbalite::nl_reduce::plan &p = plan.parts;
        void *output = parts;
        numbalite::nl_reduce::${body}
    }
    if (!numbalite::nl_reduce::is_last_block(counter))
        return;
    {
        const numbalite::nl_reduce::plan &p = plan.result;
        const void *input = parts, *where = flags;
        numbalite::nl_reduce::${last_body}
    }
}
