/* sim/engine/deadlock: detects deadlocks in launches with a schedule (schedule.h). A thread that
 * yields and returns to the same state (registers and stack), while no memory has changed and no
 * barrier was crossed, is in an endless loop, unless another thread changes memory. If all live
 * threads are in such loops or wait at barriers, the launch is deadlocked. */
#ifndef NL_SIM_ENGINE_DEADLOCK_H
#define NL_SIM_ENGINE_DEADLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdint.h>

struct nl_sim_worker;

/* Call when a block begins. */
void nl_sim_deadlock_begin(struct nl_sim_worker *worker);
/* Records an access; call this function before the running thread accesses shared or global
 * memory. */
void nl_sim_deadlock_record_access(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                                   int writes);
/* Returns a hash of the running thread's state; two hashes are equal if the thread is at the same
 * position with the same local variables. Returns 0 if the hash is not implemented for this
 * processor. */
uint64_t nl_sim_deadlock_state(const struct nl_sim_worker *worker);
/* Checks for a deadlock; call this function when the running thread yields. Returns 1 if all
 * threads wait or are in loops that cannot end. */
int nl_sim_deadlock_is_detected(struct nl_sim_worker *worker);

#endif
