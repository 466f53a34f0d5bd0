/* cub/block/block_radix_sort.cuh: includes sim/cub.h, which declares CUB's names. */
#pragma once
#include "sim/cub.h"
