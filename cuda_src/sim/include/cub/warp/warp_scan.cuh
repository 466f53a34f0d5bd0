/* cub/warp/warp_scan.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
