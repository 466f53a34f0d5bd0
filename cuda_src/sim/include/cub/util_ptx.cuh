/* cub/util_ptx.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
