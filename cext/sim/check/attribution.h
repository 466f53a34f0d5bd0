/* sim/check/attribution: describes an address in the terms of the kernel's source: which parameter,
 * which shared variable, which element. */
#ifndef NL_SIM_CHECK_ATTRIBUTION_H
#define NL_SIM_CHECK_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

/* For an invalid access: sets the finding's text, as "writes out[127], but out has 100 elements",
 * and its element. The other members must be set. */
void nl_sim_attribution_describe(const nl_sim_worker *w, nl_sim_finding *finding);
/* The same for an index out of bounds: "uses index 127 of out, but out has 100 elements". */
void nl_sim_attribution_describe_index(const nl_sim_worker *w, const struct nl_sim_index *what,
                                       nl_sim_finding *finding);
/* Writes "out[12]", or "the memory at 0x...", and sets *element, unless element is NULL. */
void nl_sim_attribution_name(const nl_sim_worker *w, uintptr_t address, nl_fault_element *element,
                             char *text, size_t text_size);
/* Is the address in a named variable or argument that has not been freed? */
int nl_sim_attribution_knows(const nl_sim_worker *w, uintptr_t address);
/* A number that is different for each variable or allocation. */
uint64_t nl_sim_attribution_identity(const nl_sim_worker *w, uintptr_t address);
/* May a kernel access this address outside of the simulated memory (a local variable, a variable of
 * the module)? */
int nl_sim_attribution_is_allowed(const nl_sim_worker *w, uintptr_t address, size_t size);

#endif
