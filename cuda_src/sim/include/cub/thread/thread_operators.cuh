/* cub/thread/thread_operators.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
