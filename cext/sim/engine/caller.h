/* sim/engine/caller: finds the line of the user's source from which a thread called a function of a
 * header that the compiler did not inline. The search uses the return addresses on the thread's
 * stack. */
#ifndef NL_SIM_ENGINE_CALLER_H
#define NL_SIM_ENGINE_CALLER_H

#include "sim/abi.h"
#include "sim/engine/worker.h"

/* `site` is the position at which the thread runs or waits. If `site` is in a header of CUDA's
 * toolkit, sets *call to the line of the user's source that called the header's function and
 * returns 1. Otherwise, or if the image has no line table, returns 0 without setting *call.
 */
int nl_sim_caller_find(const nl_sim_worker *worker, unsigned thread, nl_sim_site site,
                       nl_sim_site *call);
/* Sets *site to the line of the user's source at which a suspended thread has stopped, and returns
 * 1. Returns 0 without setting *site if the image has no line table. */
int nl_sim_caller_line(const nl_sim_worker *worker, unsigned thread, nl_sim_site *site);

#endif
