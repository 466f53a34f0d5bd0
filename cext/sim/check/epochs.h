/* sim/check/epochs: for each byte, all accesses with which a later access may still conflict. Used
 * by the exact race search. An access that is not stored is ordered before a stored access, and
 * conflicts only with accesses with which the stored one conflicts as well.
 *
 * One object belongs to a launch whose blocks are interleaved: only one OS thread at a time may
 * call these functions. */
#ifndef NL_SIM_CHECK_EPOCHS_H
#define NL_SIM_CHECK_EPOCHS_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/visit.h"

typedef struct nl_sim_epochs nl_sim_epochs;
/* Called with the earlier access of an unordered pair, and the first byte that both access. */
typedef void nl_sim_epochs_conflict(nl_sim_visit *visit, nl_sim_mark earlier, uintptr_t address);

/* blocks: number of blocks of the grid. NULL without memory. */
nl_sim_epochs *nl_sim_epochs_open(uint64_t blocks);
void nl_sim_epochs_close(nl_sim_epochs *epochs);
/* Reports conflicts of the access and stores it. -1 without memory. */
int nl_sim_epochs_access(nl_sim_epochs *epochs, nl_sim_visit *visit,
                         nl_sim_epochs_conflict *conflict);
/* For an atomic or volatile access: is there an unordered atomic or volatile access of another
 * thread to these bytes, and does one of the two write? Then their order depends on the
 * schedule. */
typedef enum nl_sim_competition {
    NL_SIM_COMPETES_WITH_NONE,
    NL_SIM_COMPETES_FOR_VALUE, /* the order only determines the value in memory */
    NL_SIM_COMPETES,           /* a thread reads a value that the order determines */
} nl_sim_competition;
nl_sim_competition nl_sim_epochs_compete(nl_sim_epochs *epochs, const nl_sim_visit *visit);
/* note_fence: a thread of the block makes a fence, so accesses of the block can later become
 * ordered before accesses of others. note_end: the block has ended. */
void nl_sim_epochs_mark_fenced(nl_sim_epochs *epochs, uint32_t block);
void nl_sim_epochs_mark_ended(nl_sim_epochs *epochs, uint32_t block);
/* The memory was allocated anew: drops its accesses. -1 without memory. */
int nl_sim_epochs_renew(nl_sim_epochs *epochs, uintptr_t address, size_t size);
/* Drops all accesses. */
void nl_sim_epochs_forget(nl_sim_epochs *epochs);
/* Calls `find` with each stored access of the four bytes at `address`, until it returns 1. Returns
 * 1 if it did. */
typedef int nl_sim_epochs_find(void *data, nl_sim_mark mark);
int nl_sim_epochs_search(nl_sim_epochs *epochs, uintptr_t address, nl_sim_epochs_find *find,
                         void *data);

#endif
