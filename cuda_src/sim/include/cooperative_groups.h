/* cooperative_groups.h for the simulator: declares numbalite's groups under that name. */
#pragma once
#include <cuda/atomic>
#define NUMBALITE_THREAD_SCOPE(scope) \
    static constexpr ::cuda::thread_scope thread_scope = ::cuda::thread_scope_##scope;
#include "numbalite/groups.cuh"
#include "sim/groups.h"
