/* cub/config.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
