/* cuda_fp8.h for the simulator: e4m3 and e5m2 in software. There is no e8m0: where it is used is an error. */
#pragma once
#include "sim/narrow.h"
#define __CUDA_FP8_TYPES_EXIST__ 1

enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
namespace numbalite_sim {
NUMBALITE_SIM_INLINE unsigned to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
    bool saturates = saturate == __NV_SATFINITE;
    return format == __NV_E5M2 ? e5m2::of(x, saturates) : e4m3::of(x, saturates);
}
NUMBALITE_SIM_INLINE float from_fp8(unsigned x, __nv_fp8_interpretation_t format) {
    return format == __NV_E5M2 ? e5m2::value(x) : e4m3::value(x);
}
} // namespace numbalite_sim
NUMBALITE_SIM_NARROW_CONVERSIONS(fp8, 8, __nv_fp8_interpretation_t, __nv_saturation_t, __nv_fp8_interpretation_t)
NUMBALITE_SIM_NARROW_TYPES(fp8, 8, e4m3)
NUMBALITE_SIM_NARROW_TYPES(fp8, 8, e5m2)

#define NUMBALITE_SIM_NO_E8M0 NUMBALITE_SIM_CANNOT("e8m0 (cuda_fp8.h) cannot run on the CPU simulator")
struct NUMBALITE_SIM_NO_E8M0 __nv_fp8_e8m0 {};
struct NUMBALITE_SIM_NO_E8M0 __nv_fp8x2_e8m0 {};
struct NUMBALITE_SIM_NO_E8M0 __nv_fp8x4_e8m0 {};
