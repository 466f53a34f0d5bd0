/* core/hostloop: what compiled host code gets from the runtime (host/abi.h): a way out of it when
 * it faults, and loops shared among the threads of a pool. */
#ifndef NL_CORE_HOSTLOOP_H
#define NL_CORE_HOSTLOOP_H

#include "base/fault.h"
#include "host/abi.h"

/* The table that images get. */
extern const nl_host_ops nl_host_runtime;

/* Calls run(argument); 0, or -1 if host code in it faulted, and nl_host_fault_take tells how. */
int nl_host_guard(void (*run)(void *), void *argument);
/* The calling thread's last fault, which it tells but once. */
void nl_host_fault_take(nl_fault *fault);
/* Who makes an exception of it, for code that calls nl_host_ops.raise: gives -1. */
void nl_host_on_raise(int (*raise)(void));

/* Makes integer divisions that trap inside [low, high) give what they give on a GPU; until the
 * range is removed. 0, or -1 if there is no memory. */
int nl_host_range_add(const void *low, const void *high);
void nl_host_range_remove(const void *low);

/* Threads for parallel loops: the most that there may be, and how many the calling thread wants. */
void nl_host_threads_limit(int most);
int nl_host_threads_get(void);
void nl_host_threads_set(int count);

#endif
