/* thrust/system/cuda/detail/util.h: the streams of thrust's algorithms, which run on the host.
 * Iterators include this header for their tags (CCCL 3.3), and need only the types. */
#pragma once
#include <thrust/detail/config.h>

THRUST_NAMESPACE_BEGIN
namespace cuda_cub {
template <class> struct execution_policy;
inline _CCCL_HOST_DEVICE cudaStream_t default_stream() { return cudaStream_t(); }
} // namespace cuda_cub
THRUST_NAMESPACE_END
