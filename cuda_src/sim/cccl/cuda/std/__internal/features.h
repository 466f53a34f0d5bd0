/* cuda/std/__internal/features.h: disables libcu++'s suffixes of <chrono> (1y, 1d) in C++20,
 * because clang++ already has them. */
#pragma once
#include_next <cuda/std/__internal/features.h>
#if defined(NUMBALITE_SIM_CLANG) && __cplusplus < 202002L
#undef _LIBCUDACXX_HAS_CXX20_CHRONO_LITERALS
#define _LIBCUDACXX_HAS_CXX20_CHRONO_LITERALS() 0
#endif
