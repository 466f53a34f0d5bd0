/* cuda/std/__type_traits/is_trivially_destructible.h: libcu++ detects NVRTC and uses its builtin
 * function, which has an older name in g++ (CCCL 3.3). */
#pragma once
#ifndef NUMBALITE_SIM_CLANG
#pragma push_macro("__is_trivially_destructible")
#define __is_trivially_destructible(...) __has_trivial_destructor(__VA_ARGS__)
#endif
#include_next <cuda/std/__type_traits/is_trivially_destructible.h>
#ifndef NUMBALITE_SIM_CLANG
#pragma pop_macro("__is_trivially_destructible")
#undef _CCCL_BUILTIN_IS_TRIVIALLY_DESTRUCTIBLE
#define _CCCL_BUILTIN_IS_TRIVIALLY_DESTRUCTIBLE(...) __has_trivial_destructor(__VA_ARGS__)
#endif
