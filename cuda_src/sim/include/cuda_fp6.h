/* cuda_fp6.h for the simulator: e2m3 and e3m2 in software. */
#pragma once
#include "cuda_fp8.h"
#define __CUDA_FP6_TYPES_EXIST__ 1

typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
namespace numbalite_sim {
NUMBALITE_SIM_INLINE unsigned to_fp6(double x, __nv_fp6_interpretation_t format, cudaRoundMode mode) {
    bool to_zero = mode == cudaRoundZero;
    return format == __NV_E2M3 ? e2m3::of(x, true, to_zero) : e3m2::of(x, true, to_zero);
}
NUMBALITE_SIM_INLINE float from_fp6(unsigned x, __nv_fp6_interpretation_t format) {
    return format == __NV_E2M3 ? e2m3::value(x) : e3m2::value(x);
}
} // namespace numbalite_sim
NUMBALITE_SIM_NARROW_CONVERSIONS(fp6, 8, __nv_fp6_interpretation_t, __nv_fp6_interpretation_t, cudaRoundMode)
NUMBALITE_SIM_NARROW_TYPES(fp6, 8, e2m3)
NUMBALITE_SIM_NARROW_TYPES(fp6, 8, e3m2)
