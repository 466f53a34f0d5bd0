/* cuda_device_runtime_api.h: the prelude has the rest of what it declares for kernels. */
#pragma once

/* A grid begins when those before it in its stream have ended. */
NUMBALITE_SIM_INLINE void cudaGridDependencySynchronize() {}
NUMBALITE_SIM_INLINE void cudaTriggerProgrammaticLaunchCompletion() {}
