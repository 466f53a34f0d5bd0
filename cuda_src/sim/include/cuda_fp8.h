/* cuda_fp8.h: the names of 8-bit floating point, of which the simulator has none: where one is used is an
 * error. */
#pragma once
#include "sim/narrow.h"

enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
NUMBALITE_SIM_NARROW(8, e4m3, "8-bit floating point (cuda_fp8.h)")
NUMBALITE_SIM_NARROW(8, e5m2, "8-bit floating point (cuda_fp8.h)")
NUMBALITE_SIM_NARROW(8, e8m0, "8-bit floating point (cuda_fp8.h)")
NUMBALITE_SIM_NARROW_CONVERSIONS(8, "8-bit floating point (cuda_fp8.h)")
