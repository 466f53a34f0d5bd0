/* sim/driver/variables: synchronizes the variables of a module with those of its instrumented twin,
 * which has its own copies.
 *
 * Copies and kernels without checks use the module's variables; checked kernels use those of the
 * twin. Before and after each checked launch, changed bytes are copied to the other module. */
#ifndef NL_SIM_DRIVER_VARIABLES_H
#define NL_SIM_DRIVER_VARIABLES_H

#include "sim/debuginfo/object.h"

typedef struct nl_sim_variables nl_sim_variables;

/* Finds the pairs of variables that have the same name in both libraries. Returns NULL if memory
 * runs out. */
nl_sim_variables *nl_sim_variables_create(const nl_sim_object *module, const nl_sim_object *twin);
void nl_sim_variables_destroy(nl_sim_variables *variables); /* accepts NULL */
/* Call nl_sim_variables_copy_to_twin before a checked launch: copies changes from the module to the
 * twin. Call nl_sim_variables_copy_from_twin after the launch: copies changes back. */
void nl_sim_variables_copy_to_twin(nl_sim_variables *variables);
void nl_sim_variables_copy_from_twin(nl_sim_variables *variables);

#endif
