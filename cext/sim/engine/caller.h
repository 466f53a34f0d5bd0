/* sim/engine/caller: finds the line of the user's source from which a thread called a function of a
 * header that the compiler did not inline. It uses the return addresses on the thread's stack. */
#ifndef NL_SIM_ENGINE_CALLER_H
#define NL_SIM_ENGINE_CALLER_H

#include "sim/abi.h"
#include "sim/engine/worker.h"

/* `site` is in a header of the toolkit; the thread must be there, or wait there. Returns 1, or 0
 * without setting *call: `site` is in no such header, or the image has no line table. */
int nl_sim_caller_find(const nl_sim_worker *worker, unsigned thread, nl_sim_site site,
                       nl_sim_site *call);
/* The user's line at which a suspended thread is. Returns 1, or 0 without setting *site: the image
 * has no line table. */
int nl_sim_caller_line(const nl_sim_worker *worker, unsigned thread, nl_sim_site *site);

#endif
