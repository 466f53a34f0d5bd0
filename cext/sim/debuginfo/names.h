/* sim/debuginfo/names: what the user calls an array that is neither a parameter nor a variable with
 * an address that the engine knows.
 *
 * An instrumented image brings a table of the places in the source where a name stands before an
 * index (from numbalite/compilers/sim/places.py). */
#ifndef NL_SIM_DEBUGINFO_NAMES_H
#define NL_SIM_DEBUGINFO_NAMES_H

#include "sim/abi.h"
#include "sim/debuginfo/object.h"

enum { NL_SIM_NAME = 64 };

typedef struct nl_sim_name {
    char text[NL_SIM_NAME];
    unsigned indices; /* that follow it there: 2 in t[i][j] */
} nl_sim_name;

/* The name at a line and column (of its beginning, or of one of its brackets). Returns 1, or 0. */
int nl_sim_names_find(const nl_sim_object *image, nl_sim_site site, unsigned column,
                      nl_sim_name *name);
/* The same for the instruction before the return address `pc`. */
int nl_sim_names_find_pc(const nl_sim_object *image, const void *pc, nl_sim_name *name);

#endif
