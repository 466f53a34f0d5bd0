/* sim/debuginfo/names: what the user calls an array that is neither a parameter nor a variable with
 * an address that the engine knows.
 *
 * An instrumented image brings two kinds of names: a table of the places in the source where a name
 * stands before an index (from compilers/places.py), and the arrays that generated code hands to
 * the user's (NUMBALITE_NAMED in cuda_src/numbalite/gufunc.cuh), which each thread lists while it
 * has them. */
#ifndef NL_SIM_DEBUGINFO_NAMES_H
#define NL_SIM_DEBUGINFO_NAMES_H

#include "sim/abi.h"
#include "sim/engine/worker.h"

enum { NL_SIM_NAME = 64 };

struct nl_sim_module;

typedef struct nl_sim_name {
    char text[NL_SIM_NAME];
    unsigned indices; /* that follow it there: 2 in t[i][j] */
} nl_sim_name;

/* The name at a line and column (of its beginning, or of one of its brackets). Returns 1, or 0. */
int nl_sim_names_find(const struct nl_sim_module *image, nl_sim_site site, unsigned column,
                      nl_sim_name *name);
/* The same for the instruction before the return address `pc`. */
int nl_sim_names_find_pc(const struct nl_sim_module *image, const void *pc, nl_sim_name *name);

/* What images call (nl_sim_checker): the running thread has this array from now on, or no longer.
 */
void nl_sim_names_begin(nl_sim_named *array);
void nl_sim_names_end(nl_sim_named *array);
/* Of the running thread's, the one whose elements are nearest to the address among those that begin
 * in [low, high); NULL: none. */
const nl_sim_named *nl_sim_names_nearest(const nl_sim_worker *worker, uintptr_t address,
                                         uintptr_t low, uintptr_t high);

#endif
