/* sim/driver/primary: primary contexts, which are created at the first retain and destroyed at the
 * last release. */
#ifndef NL_SIM_DRIVER_PRIMARY_H
#define NL_SIM_DRIVER_PRIMARY_H

#include "sim/driver/context.h"

int nl_sim_primary_open(int devices);
CUresult nl_sim_primary_retain(int device, nl_sim_context **out);
CUresult nl_sim_primary_release(int device);
/* Waits for all work and destroys all contents of the context; the reference count stays the
 * same. */
void nl_sim_primary_reset(nl_sim_context *context);

#endif
