/* cub/thread/thread_load.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
