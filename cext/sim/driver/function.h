/* sim/driver/function: what launching needs to know of functions. */
#ifndef NL_SIM_DRIVER_FUNCTION_H
#define NL_SIM_DRIVER_FUNCTION_H

#include "driver/cuda_abi.h"
#include "sim/driver/module.h"

/* NULL if the handle is none. */
nl_sim_function *nl_sim_calls_function(CUfunction function);
/* Blocks of so many threads, with so much dynamic shared memory, that fit a multiprocessor. */
int nl_sim_calls_occupancy(const nl_sim_function *function, int threads, size_t dynamic);

#endif
