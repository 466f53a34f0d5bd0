/* cuda/std/__cccl/builtin.h: on the simulator, libcu++ assumes the builtin functions of NVRTC. g++
 * lacks some of them. This header undefines the macros of the missing builtins, so that libcu++
 * uses templates. */
#pragma once
#include_next <cuda/std/__cccl/builtin.h>
#ifndef NUMBALITE_SIM_CLANG
#undef _CCCL_BUILTIN_IS_CONVERTIBLE_TO
/* g++ 13 has this builtin, but cannot mangle the names of functions whose types contain it. */
#undef _CCCL_BUILTIN_REMOVE_REFERENCE_T
#endif
