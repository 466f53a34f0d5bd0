/* cub/warp/warp_exchange.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
