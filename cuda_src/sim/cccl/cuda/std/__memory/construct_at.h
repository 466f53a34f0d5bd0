/* cuda/std/__memory/construct_at.h: makes libcu++ define std::construct_at itself, as for NVRTC. */
#pragma once
#pragma push_macro("__cpp_lib_constexpr_dynamic_alloc")
#undef __cpp_lib_constexpr_dynamic_alloc
#include_next <cuda/std/__memory/construct_at.h>
#pragma pop_macro("__cpp_lib_constexpr_dynamic_alloc")
