/* driver/driver_sim_function: what launching needs to know of functions. */
#ifndef NL_DRIVER_DRIVER_SIM_FUNCTION_H
#define NL_DRIVER_DRIVER_SIM_FUNCTION_H

#include "driver/cuda_abi.h"
#include "sim/module.h"

/* NULL if the handle is none. */
nl_sim_function *nl_driver_sim_function(CUfunction function);
/* Blocks of so many threads, with so much dynamic shared memory, that fit a multiprocessor. */
int nl_driver_sim_occupancy(const nl_sim_function *function, int threads, size_t dynamic);

#endif
