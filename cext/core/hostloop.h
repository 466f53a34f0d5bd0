/* core/hostloop: the runtime functions of compiled host code (host/abi.h). The runtime functions
 * leave compiled code after a fault, and run parallel loops in a thread pool. */
#ifndef NL_CORE_HOSTLOOP_H
#define NL_CORE_HOSTLOOP_H

#include "base/fault.h"
#include "host/abi.h"

/* The table of functions that is passed to images compiled for the CPU. */
extern const nl_host_ops nl_hostloop_runtime;

/* Calls run(argument). Returns 0, or -1 if host code that run(argument) executed has faulted; after
 * -1, call nl_hostloop_pop_fault. */
int nl_hostloop_run_guarded(void (*run)(void *), void *argument);
/* Removes and returns the calling thread's last fault. */
void nl_hostloop_pop_fault(nl_fault *fault);
/* Sets the function that converts a fault to an exception; compiled code calls it through
 * nl_host_ops.raise. The function must return -1. */
void nl_hostloop_set_raise_hook(int (*raise)(void));

/* Makes integer divisions that trap in [low, high) return the same result as on a GPU, until the
 * range is removed. Returns 0, or -1 if memory ran out. */
int nl_hostloop_add_trap_range(const void *low, const void *high);
void nl_hostloop_remove_trap_range(const void *low);

/* Set and return the number of threads of parallel loops: the maximum of the process, and the
 * setting of the calling thread. */
void nl_hostloop_threads_limit(int most);
int nl_hostloop_threads_get(void);
void nl_hostloop_threads_set(int count);

#endif
