/* cuda_fp8.h for the simulator: e4m3, e5m2 and e8m0 in software. */
#pragma once
#include "sim/fp8_types.h"
#define __CUDA_FP8_TYPES_EXIST__ 1

enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
namespace numbalite_sim {
NUMBALITE_SIM_INLINE unsigned to_fp8(double x, __nv_saturation_t saturate,
                                     __nv_fp8_interpretation_t format) {
    bool saturates = saturate == __NV_SATFINITE;
    return format == __NV_E5M2 ? e5m2::of(x, saturates) : e4m3::of(x, saturates);
}
NUMBALITE_SIM_INLINE float from_fp8(unsigned x, __nv_fp8_interpretation_t format) {
    return format == __NV_E5M2 ? e5m2::value(x) : e4m3::value(x);
}
} // namespace numbalite_sim
NUMBALITE_SIM_NARROW_CONVERSIONS(fp8, 8, __nv_fp8_interpretation_t, __nv_saturation_t,
                                 __nv_fp8_interpretation_t)
NUMBALITE_SIM_NARROW_TYPES(fp8, 8, e4m3)
NUMBALITE_SIM_NARROW_TYPES(fp8, 8, e5m2)

namespace numbalite_sim {
NUMBALITE_SIM_INLINE unsigned to_e8m0(double x, __nv_saturation_t saturate, cudaRoundMode mode) {
    return e8m0::of(x, saturate == __NV_SATFINITE, mode != cudaRoundPosInf);
}
} // namespace numbalite_sim
typedef __nv_fp8_storage_t __nv_e8m0_storage_t; /* for the macro */
typedef __nv_fp8x2_storage_t __nv_e8m0x2_storage_t;
NUMBALITE_SIM_NARROW_FROM(e8m0, 8, __nv_saturation_t, cudaRoundMode, double, double, double2,
                          double2)
NUMBALITE_SIM_NARROW_FROM(e8m0, 8, __nv_saturation_t, cudaRoundMode, float, float, float2, float2)
NUMBALITE_SIM_NARROW_FROM(e8m0, 8, __nv_saturation_t, cudaRoundMode, bfloat16raw, __nv_bfloat16_raw,
                          bfloat162raw, __nv_bfloat162_raw)
NUMBALITE_SIM_INLINE __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x) {
    return __nv_bfloat16_raw{numbalite_sim::bfloat16_from_float(numbalite_sim::e8m0::value(x))};
}
NUMBALITE_SIM_INLINE __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x) {
    return __nv_bfloat162_raw{__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x,
                              __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x};
}
NUMBALITE_SIM_NARROW_TYPES(
    fp8, 8, e8m0,
    explicit operator __nv_bfloat162() const { return __nv_cvt_e8m0x2_to_bf162raw(__x); })
