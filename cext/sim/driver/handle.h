/* sim/driver/handle: stores the set of valid handles, so that an invalid or destroyed handle causes
 * an error and not a crash. */
#ifndef NL_SIM_DRIVER_HANDLE_H
#define NL_SIM_DRIVER_HANDLE_H

typedef enum nl_sim_handle_kind {
    NL_SIM_HANDLE_STREAM = 1,
    NL_SIM_HANDLE_EVENT,
    NL_SIM_HANDLE_MODULE,
    NL_SIM_HANDLE_FUNCTION,
    NL_SIM_HANDLE_GRAPH,
    NL_SIM_HANDLE_EXEC,
    NL_SIM_HANDLE_ARRAY,
} nl_sim_handle_kind;

/* Adds a handle to the set. Returns 0, or -1 if memory runs out. */
int nl_sim_handle_add(nl_sim_handle_kind kind, int device, const void *object);
/* Removes a handle. Returns 1 if the handle was in the set, else 0. */
int nl_sim_handle_remove(nl_sim_handle_kind kind, const void *object);
int nl_sim_handle_is_registered(nl_sim_handle_kind kind, const void *object);
/* Removes and returns any handle of that kind and device, or NULL. */
void *nl_sim_handle_remove_any(nl_sim_handle_kind kind, int device);
void nl_sim_handle_reset_lock_in_child(void); /* call this in a forked child */

#endif
