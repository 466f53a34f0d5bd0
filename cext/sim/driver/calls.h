/* sim/driver/calls: the parts of the simulated driver's table. Each file fills its part with short
 * functions that check arguments and return the real driver's error codes; other files do the
 * work. */
#ifndef NL_SIM_DRIVER_CALLS_H
#define NL_SIM_DRIVER_CALLS_H

#include "driver/driver.h"
#include "sim/driver/call.h"

void nl_sim_calls_fill_device(nl_driver *table);
void nl_sim_calls_fill_memory(nl_driver *table);
void nl_sim_calls_fill_ipc(nl_driver *table);
void nl_sim_calls_fill_copy(nl_driver *table);
void nl_sim_calls_fill_stream(nl_driver *table);
void nl_sim_calls_fill_module(nl_driver *table);
void nl_sim_calls_fill_launch(nl_driver *table);
void nl_sim_calls_fill_graph(nl_driver *table);
void nl_sim_calls_fill_texture(nl_driver *table);

#endif
