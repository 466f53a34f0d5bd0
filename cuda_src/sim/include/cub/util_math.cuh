/* cub/util_math.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
