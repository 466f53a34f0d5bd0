/* cub/block/block_adjacent_difference.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
