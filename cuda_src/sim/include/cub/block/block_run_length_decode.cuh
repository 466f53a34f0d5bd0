/* cub/block/block_run_length_decode.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
