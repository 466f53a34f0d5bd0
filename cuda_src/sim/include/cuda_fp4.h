/* cuda_fp4.h: the names of 4-bit floating point, of which the simulator has none: where one is used is an
 * error. */
#pragma once
#include "sim/narrow.h"

enum __nv_fp4_interpretation_t { __NV_E2M1 };
NUMBALITE_SIM_NARROW(4, e2m1, "4-bit floating point (cuda_fp4.h)")
NUMBALITE_SIM_NARROW_CONVERSIONS(4, "4-bit floating point (cuda_fp4.h)")
