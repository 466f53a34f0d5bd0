/* cub/block/block_radix_rank.cuh: includes sim/cub.h, which declares CUB's names. */
#pragma once
#include "sim/cub.h"
