/* sim/check/epochs: stores, for each byte, all accesses with which a later access may still
 * conflict. The exact race search uses this file. An access that is not stored happens before a
 * stored access, and conflicts only with accesses with which the stored access also conflicts.
 *
 * The caller must ensure that only one OS thread at a time calls these functions: the blocks of a
 * launch are interleaved. */
#ifndef NL_SIM_CHECK_EPOCHS_H
#define NL_SIM_CHECK_EPOCHS_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/visit.h"

typedef struct nl_sim_epochs nl_sim_epochs;
/* Callback that receives the earlier access of an unordered pair, and the first byte that both
 * access. */
typedef void nl_sim_epochs_conflict(nl_sim_visit *visit, nl_sim_mark earlier, uintptr_t address);

/* Creates the store of a launch; `blocks` is the number of blocks of the grid. Returns NULL if
 * memory runs out. */
nl_sim_epochs *nl_sim_epochs_open(uint64_t blocks);
void nl_sim_epochs_close(nl_sim_epochs *epochs);
/* Reports stored accesses that conflict with the access, and stores the access. Returns -1 if
 * memory runs out. */
int nl_sim_epochs_record_access(nl_sim_epochs *epochs, nl_sim_visit *visit,
                                nl_sim_epochs_conflict *conflict);
/* For an atomic or volatile access, returns whether another thread has made an unordered atomic or
 * volatile access to these bytes, and one of the two accesses writes. The order of such accesses
 * depends on the schedule. */
typedef enum nl_sim_competition {
    NL_SIM_COMPETES_WITH_NONE,
    NL_SIM_COMPETES_FOR_VALUE, /* the order of the accesses only determines the value in memory */
    NL_SIM_COMPETES, /* a thread reads a value that the order of the accesses determines */
} nl_sim_competition;
nl_sim_competition nl_sim_epochs_find_competition(nl_sim_epochs *epochs, const nl_sim_visit *visit);
/* Call nl_sim_epochs_mark_fenced when a thread of the block makes a fence: accesses of the block
 * can later become ordered before accesses of other blocks. Call nl_sim_epochs_mark_ended when the
 * block has ended. */
void nl_sim_epochs_mark_fenced(nl_sim_epochs *epochs, uint32_t block);
void nl_sim_epochs_mark_ended(nl_sim_epochs *epochs, uint32_t block);
/* Deletes the stored accesses of memory that was allocated again after a free. Returns -1 if memory
 * runs out. */
int nl_sim_epochs_forget_range(nl_sim_epochs *epochs, uintptr_t address, size_t size);
/* Drops all accesses. */
void nl_sim_epochs_forget_all(nl_sim_epochs *epochs);
/* Calls `find` with each stored access of the four bytes at `address`, until `find` returns 1.
 * Returns 1 if `find` returned 1. */
typedef int nl_sim_epochs_find(void *data, nl_sim_mark mark);
int nl_sim_epochs_search(nl_sim_epochs *epochs, uintptr_t address, nl_sim_epochs_find *find,
                         void *data);

#endif
