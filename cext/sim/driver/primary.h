/* sim/driver/primary: a device's context is made with the first who retains it, and destroyed with
 * the last. */
#ifndef NL_SIM_DRIVER_PRIMARY_H
#define NL_SIM_DRIVER_PRIMARY_H

#include "sim/driver/context.h"

int nl_sim_primary_open(int devices);
CUresult nl_sim_primary_retain(int device, nl_sim_context **out);
CUresult nl_sim_primary_release(int device);
/* Waits for everything and destroys all that was made in it; it stays retained as often as it was.
 */
void nl_sim_primary_reset(nl_sim_context *context);

#endif
