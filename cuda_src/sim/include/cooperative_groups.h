/* cooperative_groups.h for the simulator: numbalite's groups under that name. */
#pragma once
#include "numbalite/groups.cuh"
#include "sim/groups.h"
