/* cuda_fp4.h for the simulator: e2m1 in software. */
#pragma once
#include "cuda_fp6.h"
#define __CUDA_FP4_TYPES_EXIST__ 1

typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
namespace numbalite_sim {
NUMBALITE_SIM_INLINE unsigned to_fp4(double x, __nv_fp4_interpretation_t, cudaRoundMode mode) {
    return e2m1::of(x, true, mode == cudaRoundZero);
}
NUMBALITE_SIM_INLINE float from_fp4(unsigned x, __nv_fp4_interpretation_t) {
    return e2m1::value(x);
}
} // namespace numbalite_sim
NUMBALITE_SIM_NARROW_CONVERSIONS(fp4, 4, __nv_fp4_interpretation_t, __nv_fp4_interpretation_t, cudaRoundMode)
NUMBALITE_SIM_NARROW_TYPES(fp4, 4, e2m1)
