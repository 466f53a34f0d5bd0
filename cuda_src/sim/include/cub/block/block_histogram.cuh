/* cub/block/block_histogram.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
