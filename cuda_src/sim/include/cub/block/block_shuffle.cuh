/* cub/block/block_shuffle.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
