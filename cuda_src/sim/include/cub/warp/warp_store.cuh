/* cub/warp/warp_store.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
