/* sim/check/asynccopy: tracks pending asynchronous copies in launches that are checked for races.
 *
 * A copy may read and write at any time between its start and its wait. The wait is either the
 * copy's thread waiting for the copy's group, or any thread waiting for the barrier phase that
 * tracks the copy. Until the wait, the shadow memory marks the bytes (NL_SIM_COMING,
 * NL_SIM_LEAVING), so that this file checks every access to these bytes. When the wait ends, the
 * copy's accesses are recorded once more with the time of the wait: another thread that uses the
 * bytes without a barrier after the wait has a race (race.h).
 *
 * A copy that a barrier tracks is complete when the barrier's phase is complete. When the phase is
 * complete, the copy is recorded as accesses of the thread that completed the phase. Even the
 * thread that completed the phase must not use the bytes before it has observed the end of the
 * phase. */
#ifndef NL_SIM_CHECK_ASYNCCOPY_H
#define NL_SIM_CHECK_ASYNCCOPY_H

#include <stddef.h>
#include <stdint.h>
#include "sim/abi.h"

struct nl_sim_worker;
typedef struct nl_sim_asynccopies nl_sim_asynccopies; /* state of a launch */

void nl_sim_asynccopy_free_all(nl_sim_asynccopies **copies);
/* Implements nl_sim_checker.copying. */
void nl_sim_asynccopy_execute_step(const nl_sim_copying *what, const void *pc);
/* Returns whether the barrier tracks copies that are not complete. The tracked copies are complete
 * when the barrier's phase is complete. */
int nl_sim_asynccopy_has_tracked(const struct nl_sim_worker *worker, const void *barrier);
void nl_sim_asynccopy_complete_tracked(struct nl_sim_worker *worker, const void *barrier);
/* Must be called when the worker's block ends. */
void nl_sim_asynccopy_end_block(struct nl_sim_worker *worker);
/* If the running thread accesses bytes of a pending copy in simulated memory, reports the access
 * and returns 1. */
int nl_sim_asynccopy_forbids_access(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                                    unsigned kind, const void *pc);

#endif
