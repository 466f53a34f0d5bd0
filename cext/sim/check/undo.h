/* sim/check/undo: the memory that launches write, so that the same launch can run again from the
 * same memory, in another schedule. */
#ifndef NL_SIM_CHECK_UNDO_H
#define NL_SIM_CHECK_UNDO_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_undo nl_sim_undo;

nl_sim_undo *nl_sim_undo_open(void); /* NULL without memory */
void nl_sim_undo_close(nl_sim_undo *undo);
/* These bytes are about to be written. Without memory the log is of no use from then on. */
void nl_sim_undo_note(nl_sim_undo *undo, uintptr_t address, size_t size);
int nl_sim_undo_is_complete(const nl_sim_undo *undo);
/* The memory is as the first launch left it: remembers that. */
void nl_sim_undo_keep(nl_sim_undo *undo);
/* Makes the memory what it was before all launches; what the first launch left. */
void nl_sim_undo_restore(nl_sim_undo *undo);
void nl_sim_undo_finish(nl_sim_undo *undo);

#endif
