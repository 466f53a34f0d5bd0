/* cooperative_groups/reduce.h: a part of numbalite's groups. */
#pragma once
#include "numbalite/groups.cuh"
