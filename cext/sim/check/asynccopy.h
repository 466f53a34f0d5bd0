/* sim/check/asynccopy: pending asynchronous copies, in launches that are checked for races.
 *
 * A copy may read and write at any time between its start and the wait for it. The wait is made by
 * the copy's thread, for the copy's group, or by any thread, for the barrier phase that counts the
 * copy. Until then the bytes are marked in the shadow memory (NL_SIM_COMING, NL_SIM_LEAVING), so
 * that every access to them is checked here. When the wait ends, the copy's accesses are recorded
 * once more with the time of the wait: another thread that uses the bytes without a barrier after
 * the wait has a race (race.h).
 *
 * A copy that a barrier counts is complete when the barrier's phase is complete. It is then
 * recorded as accesses of the thread that completed the phase. That thread, too, must not use the
 * bytes before a thread has observed the end of the phase. */
#ifndef NL_SIM_CHECK_ASYNCCOPY_H
#define NL_SIM_CHECK_ASYNCCOPY_H

#include <stddef.h>
#include <stdint.h>
#include "sim/abi.h"

struct nl_sim_worker;
typedef struct nl_sim_asynccopies nl_sim_asynccopies; /* state of a launch */

void nl_sim_asynccopy_free_all(nl_sim_asynccopies **copies);
/* Implements nl_sim_checker.copying. */
void nl_sim_asynccopy_step(const nl_sim_copying *what, const void *pc);
/* Does the barrier count copies that are not complete? They are complete when its phase is. */
int nl_sim_asynccopy_is_counted(const struct nl_sim_worker *worker, const void *barrier);
void nl_sim_asynccopy_complete(struct nl_sim_worker *worker, const void *barrier);
/* Must be called when the worker's block ends. */
void nl_sim_asynccopy_end_block(struct nl_sim_worker *worker);
/* Does the running thread access bytes of a pending copy in simulated memory? If so, reports it and
 * returns 1. */
int nl_sim_asynccopy_forbids(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                             unsigned kind, const void *pc);

#endif
