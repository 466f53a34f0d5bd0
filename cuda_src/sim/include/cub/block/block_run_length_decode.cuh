/* cub/block/block_run_length_decode.cuh: includes sim/cub.h, which declares CUB's names. */
#pragma once
#include "sim/cub.h"
