/* sim/driver/calls: the files of the simulated driver. Each fills its part of the table with thin
 * functions that check arguments and answer as the real driver does; the work is below them. */
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
