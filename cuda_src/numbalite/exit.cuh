/* exit: ends one thread after a failure in a kernel. */
#ifndef NUMBALITE_EXIT_CUH
#define NUMBALITE_EXIT_CUH

namespace numbalite {
namespace nl_detail {

[[noreturn]] static __device__ __forceinline__ void exit_thread() {
#ifdef NUMBALITE_SIM
    __nl_sim_exit();
#else
    asm volatile("exit;");
    __builtin_unreachable();
#endif
}

} // namespace nl_detail
} // namespace numbalite

#endif
