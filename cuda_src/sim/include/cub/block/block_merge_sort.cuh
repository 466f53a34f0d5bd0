/* cub/block/block_merge_sort.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
