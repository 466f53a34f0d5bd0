/* cuda/std/__cccl/builtin.h: it takes the compiler for NVRTC, which has builtin functions that g++ has not. libcu++ does
 * without those in templates. */
#pragma once
#include_next <cuda/std/__cccl/builtin.h>
#ifndef NUMBALITE_SIM_CLANG
#undef _CCCL_BUILTIN_IS_CONVERTIBLE_TO
/* g++ 13 has it, and mangles no name that it is part of. */
#undef _CCCL_BUILTIN_REMOVE_REFERENCE_T
#endif
