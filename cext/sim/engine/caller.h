/* sim/engine/caller: the line of the user's text from which a thread has called a function of a
 * header, where the compiler has not inlined it: from the return addresses on the thread's stack.
 */
#ifndef NL_SIM_ENGINE_CALLER_H
#define NL_SIM_ENGINE_CALLER_H

#include "sim/abi.h"
#include "sim/engine/worker.h"

/* `site` is in a header of the toolkit, and the thread is there or waits there. Returns 1, or 0
 * with *call as it was: `site` is in no such header, or the image has no lines. */
int nl_sim_caller_find(const nl_sim_worker *worker, unsigned thread, nl_sim_site site,
                       nl_sim_site *call);
/* The user's line at which a suspended thread is, if the image has lines. Returns 1, or 0 with
 * *site as it was. */
int nl_sim_caller_line(const nl_sim_worker *worker, unsigned thread, nl_sim_site *site);

#endif
