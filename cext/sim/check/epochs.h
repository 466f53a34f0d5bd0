/* sim/check/epochs: for each byte, all accesses that a later access may still conflict with. The
 * exact search for races uses it: an access that is not in here is ordered before one that is, and
 * conflicts with nothing with which that one does not conflict.
 *
 * One of these belongs to a launch whose blocks are interleaved: one thread of the operating system
 * at a time calls anything here. */
#ifndef NL_SIM_CHECK_EPOCHS_H
#define NL_SIM_CHECK_EPOCHS_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/visit.h"

typedef struct nl_sim_epochs nl_sim_epochs;
/* The earlier access of a pair that nothing orders, and the first byte that both touch. */
typedef void nl_sim_epochs_conflict(nl_sim_visit *visit, nl_sim_mark earlier, uintptr_t address);

/* blocks: of the grid. NULL without memory. */
nl_sim_epochs *nl_sim_epochs_open(uint64_t blocks);
void nl_sim_epochs_close(nl_sim_epochs *epochs);
/* Reports conflicts of the access and records it. -1 without memory. */
int nl_sim_epochs_access(nl_sim_epochs *epochs, nl_sim_visit *visit,
                         nl_sim_epochs_conflict *conflict);
/* Is there an atomic or volatile access of another thread to these bytes that nothing orders with
 * this one, which is atomic or volatile too, and does one of them write? Then the schedule decides
 * which comes first. */
int nl_sim_epochs_competes(nl_sim_epochs *epochs, const nl_sim_visit *visit);
/* The block makes a fence: what its threads did can become ordered before accesses of others. */
void nl_sim_epochs_note_fence(nl_sim_epochs *epochs, uint32_t block);
void nl_sim_epochs_note_end(nl_sim_epochs *epochs, uint32_t block);
/* The memory has a new life: drops what is recorded there. -1 without memory. */
int nl_sim_epochs_renew(nl_sim_epochs *epochs, uintptr_t address, size_t size);
/* Drops all records. */
void nl_sim_epochs_forget(nl_sim_epochs *epochs);
/* Calls `find` with each recorded access of the four bytes at `address`, until it returns 1;
 * returns whether it did. */
typedef int nl_sim_epochs_find(void *data, nl_sim_mark mark);
int nl_sim_epochs_search(nl_sim_epochs *epochs, uintptr_t address, nl_sim_epochs_find *find,
                         void *data);

#endif
