/* sim/check/attribution: describes an address in terms of the kernel's source: the parameter,
 * shared variable or element. */
#ifndef NL_SIM_CHECK_ATTRIBUTION_H
#define NL_SIM_CHECK_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

/* Describes an invalid access: sets the finding's text, as "writes out[127], but out has 100
 * elements", and its element. The finding's other members must be set before the call. */
void nl_sim_attribution_describe(const nl_sim_worker *w, nl_sim_finding *finding);
/* Describes an index that is out of bounds, with the text "uses index 127 of out, but out has 100
 * elements". */
void nl_sim_attribution_describe_index(const nl_sim_worker *w, const struct nl_sim_index *what,
                                       nl_sim_finding *finding);
/* Writes the name of an element, as "out[12]" or "the memory at 0x...", and sets *element, unless
 * `element` is NULL. */
void nl_sim_attribution_name(const nl_sim_worker *w, uintptr_t address, nl_fault_element *element,
                             char *text, size_t text_size);
/* Returns whether the address is in a variable or argument whose name was found and whose memory
 * was not freed. */
int nl_sim_attribution_can_name(const nl_sim_worker *w, uintptr_t address);
/* Returns a number that identifies the variable or allocation that contains the address. */
uint64_t nl_sim_attribution_variable_id(const nl_sim_worker *w, uintptr_t address);
/* Returns whether a kernel may access this address outside of the simulated memory (a local
 * variable or a variable of the module). */
int nl_sim_attribution_is_allowed(const nl_sim_worker *w, uintptr_t address, size_t size);

#endif
