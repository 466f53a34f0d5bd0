/* cooperative_groups/reduce.h: a part of numbalite's groups, with half precision, as the toolkit's brings it. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "../cooperative_groups.h"
