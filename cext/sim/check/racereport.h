/* sim/check/racereport: checks each access of the threads in launches that are checked for races or
 * hangs, and reports races. */
#ifndef NL_SIM_CHECK_RACEREPORT_H
#define NL_SIM_CHECK_RACEREPORT_H

#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

struct nl_sim_job;
struct nl_sim_worker;

/* Call nl_sim_racereport_begin before and nl_sim_racereport_end after a launch; job->check contains
 * the settings. nl_sim_racereport_begin returns -1 if memory runs out. Call nl_sim_racereport_end
 * even after a failure; it returns the status of the launch. */
int nl_sim_racereport_begin(struct nl_sim_job *job);
CUresult nl_sim_racereport_end(struct nl_sim_job *job);

/* Returns whether other threads should run before the running thread makes an access of this
 * kind. */
int nl_sim_racereport_should_preempt(struct nl_sim_worker *worker, uintptr_t address,
                                     unsigned kind);
/* Compares the access that the running thread is about to make with earlier accesses, and reports
 * a race. */
void nl_sim_racereport_check_access(struct nl_sim_worker *worker, uintptr_t address, size_t size,
                                    unsigned kind, const void *pc);
/* Reports an access to bytes of the asynchronous copy `copy`, made before the program has waited
 * for the copy. `copy` contains the thread that started the copy, the instruction, and whether the
 * copy writes these bytes. */
struct nl_sim_race_side;
void nl_sim_racereport_report_early_read(struct nl_sim_worker *worker, uintptr_t address,
                                         size_t size, unsigned kind, const void *pc,
                                         const struct nl_sim_race_side *copy);
/* Reports accesses of other blocks to the block's shared memory that do not happen before the
 * block's end; called when a block of a cluster ends. */
void nl_sim_racereport_end_shared(struct nl_sim_worker *worker);
/* Returns whether the address is in shared memory of the block, or of another block of its
 * cluster. */
int nl_sim_racereport_is_shared_memory(const struct nl_sim_worker *worker, uintptr_t address);
/* Entries of nl_sim_checker. */
void nl_sim_racereport_record_fence(int is_narrow);
void nl_sim_racereport_run_other_threads(void);

#endif
