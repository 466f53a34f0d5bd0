/* sim/cccl: precedes a source that is compiled with the toolkit's CUB, Thrust and libcu++
 * (numbalite/compilers/cccl.py). */
#ifndef NUMBALITE_SIM_CCCL_H
#define NUMBALITE_SIM_CCCL_H

#define CCCL_DISABLE_NVFP8_SUPPORT
#define CCCL_DISABLE_NVFP6_SUPPORT
#define CCCL_DISABLE_NVFP4_SUPPORT
#define __NV_BUILTIN_INITIALIZER_LIST 1 /* as in NVRTC, which has a built-in
                                         * std::initializer_list */
#define _LIBCUDACXX_USE_IS_NOTHROW_DESTRUCTIBLE_FALLBACK /* clang++ has not that builtin */

/* Replaces unsupported PTX by a fault at the time when the instruction is executed. */
#define NUMBALITE_SIM_ASM_LATER(instruction) \
    ::numbalite_sim::fault(801, "PTX " instruction " cannot run on the CPU simulator", "", 0)

#endif
