/* sim/driver/cublas: computes cuBLAS's functions on the CPU. */
#ifndef NL_SIM_DRIVER_CUBLAS_H
#define NL_SIM_DRIVER_CUBLAS_H

#include "driver/cublas_calls.h"

struct nl_driver;

void nl_sim_cublas_fill(nl_cublas *table, const struct nl_driver *calls);

#endif
