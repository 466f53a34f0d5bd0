/* cuda/std/__internal/features.h: clang++ has the suffixes of C++20's <chrono> (1y, 1d) from that standard on. */
#pragma once
#include_next <cuda/std/__internal/features.h>
#if defined(NUMBALITE_SIM_CLANG) && __cplusplus < 202002L
#undef _LIBCUDACXX_HAS_CXX20_CHRONO_LITERALS
#define _LIBCUDACXX_HAS_CXX20_CHRONO_LITERALS() 0
#endif
