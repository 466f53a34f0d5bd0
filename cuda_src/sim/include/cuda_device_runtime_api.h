/* cuda_device_runtime_api.h: the declarations for kernels that the prelude does not have. */
#pragma once

/* A grid begins when the earlier grids of its stream have ended. */
NUMBALITE_SIM_INLINE void cudaGridDependencySynchronize() {}
NUMBALITE_SIM_INLINE void cudaTriggerProgrammaticLaunchCompletion() {}
