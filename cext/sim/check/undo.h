/* sim/check/undo: saves the memory that launches write, so that a launch can be repeated from the
 * same state with another schedule. */
#ifndef NL_SIM_CHECK_UNDO_H
#define NL_SIM_CHECK_UNDO_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_undo nl_sim_undo;

nl_sim_undo *nl_sim_undo_open(void); /* returns NULL if memory runs out */
void nl_sim_undo_close(nl_sim_undo *undo);
/* Saves these bytes; call this function before they are written. If memory runs out, the log
 * becomes incomplete and must not be used. */
void nl_sim_undo_record(nl_sim_undo *undo, uintptr_t address, size_t size);
int nl_sim_undo_is_complete(const nl_sim_undo *undo);
/* Saves the results of the first launch; call this function after it. */
void nl_sim_undo_record_results(nl_sim_undo *undo);
/* nl_sim_undo_restore restores the memory contents before all launches; nl_sim_undo_restore_results
 * restores the results of the first launch. */
void nl_sim_undo_restore(nl_sim_undo *undo);
void nl_sim_undo_restore_results(nl_sim_undo *undo);

#endif
