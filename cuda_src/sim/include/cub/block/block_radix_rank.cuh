/* cub/block/block_radix_rank.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
