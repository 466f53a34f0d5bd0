/* cuda_fp6.h: the names of 6-bit floating point, of which the simulator has none: where one is used is an
 * error. */
#pragma once
#include "sim/narrow.h"

enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
NUMBALITE_SIM_NARROW(6, e2m3, "6-bit floating point (cuda_fp6.h)")
NUMBALITE_SIM_NARROW(6, e3m2, "6-bit floating point (cuda_fp6.h)")
NUMBALITE_SIM_NARROW_CONVERSIONS(6, "6-bit floating point (cuda_fp6.h)")
