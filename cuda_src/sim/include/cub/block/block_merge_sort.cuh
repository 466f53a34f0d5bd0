/* cub/block/block_merge_sort.cuh: includes sim/cub.h, which declares CUB's names. */
#pragma once
#include "sim/cub.h"
