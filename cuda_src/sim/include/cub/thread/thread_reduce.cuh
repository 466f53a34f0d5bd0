/* cub/thread/thread_reduce.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
