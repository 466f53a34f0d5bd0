/* cuda/std/__cccl/compiler.h: makes libcu++ detect NVRTC, so that it does not look for a host
 * library. */
#pragma once
#pragma push_macro("__clang__")
#pragma push_macro("__GNUC__")
#undef __clang__
#undef __GNUC__
#include_next <cuda/std/__cccl/compiler.h>
#pragma pop_macro("__GNUC__")
#pragma pop_macro("__clang__")
