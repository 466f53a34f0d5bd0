/* cub/block/block_discontinuity.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
