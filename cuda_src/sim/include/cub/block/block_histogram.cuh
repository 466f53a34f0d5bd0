/* cub/block/block_histogram.cuh: includes sim/cub.h, which declares CUB's names. */
#pragma once
#include "sim/cub.h"
