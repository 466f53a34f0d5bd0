/* sim/engine/deadlock: launches with a schedule (schedule.h) in which no thread can go on for ever.
 * A thread that lets others run and comes back in the same state (registers and stack), while no
 * memory has changed and no barrier has been crossed, is in a loop that only another thread can
 * end. If all live threads are in such loops or wait at barriers, none can. */
#ifndef NL_SIM_ENGINE_DEADLOCK_H
#define NL_SIM_ENGINE_DEADLOCK_H

#include <stddef.h>
#include <stdint.h>

struct nl_sim_worker;

/* A block begins. */
void nl_sim_deadlock_begin(struct nl_sim_worker *worker);
/* The running thread makes an access of shared or global memory next. */
void nl_sim_deadlock_note_access(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                                 int writes);
/* Threads go on that waited at a barrier or for a collective; a thread has ended. */
void nl_sim_deadlock_note_progress(struct nl_sim_worker *worker);
/* The running thread lets others run: is it, like all others, in a loop that none can end? */
int nl_sim_deadlock_is_reached(struct nl_sim_worker *worker);

#endif
