/* cub/block/block_load.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
