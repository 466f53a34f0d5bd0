/* cuda/std/__tuple_dir/structured_bindings.h: hides libcu++'s declaration of std::tuple_size, which
 * is for NVRTC. libcu++'s declaration would conflict with that of the host library. */
#pragma once
#include <utility>
#include <cuda/std/__fwd/array.h>
#include <cuda/std/__fwd/complex.h>
#include <cuda/std/__fwd/pair.h>
#include <cuda/std/__fwd/subrange.h>
#include <cuda/std/__fwd/tuple.h>
#include <cuda/std/__tuple_dir/tuple_element.h>
#include <cuda/std/__tuple_dir/tuple_size.h>
#include <cuda/std/__type_traits/integral_constant.h>
#pragma push_macro("_CCCL_COMPILER_NVRTC")
#undef _CCCL_COMPILER_NVRTC
#define _CCCL_COMPILER_NVRTC() _CCCL_VERSION_INVALID()
#include_next <cuda/std/__tuple_dir/structured_bindings.h>
#pragma pop_macro("_CCCL_COMPILER_NVRTC")
