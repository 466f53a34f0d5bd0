/* sim/driver/calls: declares the functions that fill the simulated driver's table. Each file fills
 * its part of the table with short functions, which check arguments and return the real driver's
 * error codes, and call other files. */
#ifndef NL_SIM_DRIVER_CALLS_H
#define NL_SIM_DRIVER_CALLS_H

#include "driver/driver.h"
#include "sim/driver/call.h"

void nl_sim_calls_device_fill(nl_driver *table);
void nl_sim_calls_memory_fill(nl_driver *table);
void nl_sim_calls_ipc_fill(nl_driver *table);
void nl_sim_calls_copy_fill(nl_driver *table);
void nl_sim_calls_stream_fill(nl_driver *table);
void nl_sim_calls_module_fill(nl_driver *table);
void nl_sim_calls_launch_fill(nl_driver *table);
void nl_sim_calls_graph_fill(nl_driver *table);
void nl_sim_calls_texture_fill(nl_driver *table);

#endif
