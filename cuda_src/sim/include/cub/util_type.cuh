/* cub/util_type.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
