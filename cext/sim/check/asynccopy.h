/* sim/check/asynccopy: asynchronous copies that are under way, in launches that are checked for
 * races.
 *
 * A copy reads and writes at any time from where it is asked for until somebody has waited for it:
 * its thread, for the group that it is in, or any thread for the phase of a barrier that counts it.
 * The bytes are marked in the shadow meanwhile (NL_SIM_COMING, NL_SIM_LEAVING), so that accesses of
 * them come here, and nothing else does. When the wait is over, what the copy did counts as done
 * once more, then: who goes on without a barrier after the wait races with it (race.h).
 *
 * A copy that a barrier counts has landed when the phase is complete: it counts as done by the
 * thread that completed it, which may not use it either before somebody has seen that the phase is
 * over. */
#ifndef NL_SIM_CHECK_ASYNCCOPY_H
#define NL_SIM_CHECK_ASYNCCOPY_H

#include <stddef.h>
#include <stdint.h>
#include "sim/abi.h"

struct nl_sim_worker;
typedef struct nl_sim_asynccopies nl_sim_asynccopies; /* of a launch */

void nl_sim_asynccopies_free(nl_sim_asynccopies **copies);
/* nl_sim_checker.copying */
void nl_sim_asynccopy_step(const nl_sim_copying *what, const void *pc);
/* The worker's block ends. */
void nl_sim_asynccopy_end_block(struct nl_sim_worker *worker);
/* Does the running thread's access of simulated memory come too early? It is reported then. */
int nl_sim_asynccopy_forbids(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                             unsigned kind, const void *pc);

#endif
