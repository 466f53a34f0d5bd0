/* cub/block/block_store.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
