/* cuda_pipeline.h: the primitives and nvcuda::experimental::pipeline, of which the simulator has none:
 * where one is used is an error. */
#pragma once
#include <cuda_pipeline_primitives.h>

namespace nvcuda {
namespace experimental {
class NUMBALITE_SIM_CANNOT("pipelines (cuda_pipeline.h) cannot run on the CPU simulator") pipeline {};
template <class... Arguments>
NUMBALITE_SIM_CANNOT("pipelines (cuda_pipeline.h) cannot run on the CPU simulator")
void memcpy_async(Arguments &&...);
} // namespace experimental
} // namespace nvcuda
