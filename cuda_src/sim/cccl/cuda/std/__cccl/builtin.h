/* cuda/std/__cccl/builtin.h: libcu++ detects NVRTC, and would use builtin functions that g++ lacks.
 * This header makes it use templates instead. */
#pragma once
#include_next <cuda/std/__cccl/builtin.h>
#ifndef NUMBALITE_SIM_CLANG
#undef _CCCL_BUILTIN_IS_CONVERTIBLE_TO
/* g++ 13 has it, and mangles no name that it is part of. */
#undef _CCCL_BUILTIN_REMOVE_REFERENCE_T
#endif
