/* sim/driver/function: functions of calls_module.c that launches use. */
#ifndef NL_SIM_DRIVER_FUNCTION_H
#define NL_SIM_DRIVER_FUNCTION_H

#include "driver/cuda_abi.h"
#include "sim/driver/module.h"

/* Returns the function of a handle, or NULL if the handle is
 * invalid. */
nl_sim_function *nl_sim_calls_module_function(CUfunction function);
/* Returns the number of blocks of `threads` threads and `dynamic` bytes of dynamic shared memory
 * that fit on a multiprocessor. */
int nl_sim_calls_module_occupancy(const nl_sim_function *function, int threads, size_t dynamic);

#endif
