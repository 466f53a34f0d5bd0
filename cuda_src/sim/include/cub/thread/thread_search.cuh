/* cub/thread/thread_search.cuh: a part of CUB. */
#pragma once
#include "sim/cub.h"
