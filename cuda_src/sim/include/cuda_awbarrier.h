/* cuda_awbarrier.h: the primitives and nvcuda::experimental::awbarrier, of which the simulator has none:
 * where one is used is an error. */
#pragma once
#include <cuda_awbarrier_primitives.h>

namespace nvcuda {
namespace experimental {
class NUMBALITE_SIM_CANNOT("barriers (cuda_awbarrier.h) cannot run on the CPU simulator") awbarrier {};
} // namespace experimental
} // namespace nvcuda
