/* sim/check/attribution: whose memory an address is, in the words of the kernel's author: which
 * parameter, which shared variable, which element. */
#ifndef NL_SIM_CHECK_ATTRIBUTION_H
#define NL_SIM_CHECK_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/finding.h"
#include "sim/engine/worker.h"

/* "writes out[127], but out has 100 elements": the text and the element of an access that is not
 * possible, of which the rest is known. */
void nl_sim_attribution_describe(const nl_sim_worker *w, nl_sim_finding *finding);
/* "uses index 127 of out, but out has 100 elements": the same of an index that an array does not
 * have. */
void nl_sim_attribution_describe_index(const nl_sim_worker *w, const struct nl_sim_index *what,
                                       nl_sim_finding *finding);
/* "out[12]", or "the address 0x..."; and as data, unless element is NULL. */
void nl_sim_attribution_name(const nl_sim_worker *w, uintptr_t address, nl_fault_element *element,
                             char *text, size_t text_size);
/* Is the address in a variable, or an argument, that has a name and has not been freed? */
int nl_sim_attribution_knows(const nl_sim_worker *w, uintptr_t address);
/* Tells variables apart. */
uint64_t nl_sim_attribution_identity(const nl_sim_worker *w, uintptr_t address);
/* An address outside of the simulated memory: may kernels use it (a local variable, a variable of
 * the module)? */
int nl_sim_attribution_is_allowed(const nl_sim_worker *w, uintptr_t address, size_t size);

#endif
