/* cuda/std/__tuple_dir/tuple_size.h: hides libcu++'s definitions of std::tuple_size, which are for
 * NVRTC. The host library has the same definitions. */
#pragma once
#include <utility>
#include <cuda/std/detail/__config>
#pragma push_macro("_CCCL_FREESTANDING")
#undef _CCCL_FREESTANDING
#define _CCCL_FREESTANDING() 0
#include_next <cuda/std/__tuple_dir/tuple_size.h>
#pragma pop_macro("_CCCL_FREESTANDING")
