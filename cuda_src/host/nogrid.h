/* host/nogrid: declares the functions of numbalite.cuh that need a grid, for CPU targets: their use
 * is a compile error with an explanation. */
#ifndef NUMBALITE_HOST_NOGRID_H
#define NUMBALITE_HOST_NOGRID_H

namespace numbalite {

#define NUMBALITE_HOST_ABSENT(name) \
    template <class... Arguments> NUMBALITE_HOST_NO_GRID(#name "()") int name(Arguments...);
NUMBALITE_HOST_ABSENT(laneid)
NUMBALITE_HOST_ABSENT(warpid)
NUMBALITE_HOST_ABSENT(lanemask_lt)
NUMBALITE_HOST_ABSENT(thread_rank)
NUMBALITE_HOST_ABSENT(shfl_sync)
NUMBALITE_HOST_ABSENT(shfl_up_sync)
NUMBALITE_HOST_ABSENT(shfl_down_sync)
NUMBALITE_HOST_ABSENT(shfl_xor_sync)
NUMBALITE_HOST_ABSENT(match_any_sync)
NUMBALITE_HOST_ABSENT(eq_sync)
NUMBALITE_HOST_ABSENT(this_thread_block)
NUMBALITE_HOST_ABSENT(this_grid)
NUMBALITE_HOST_ABSENT(coalesced_threads)
#undef NUMBALITE_HOST_ABSENT

} // namespace numbalite

#endif
