/* py/gutuning: measures whether a kind of gufunc call is faster if its cores are staged in shared
 * memory.
 *
 * The result depends on the function: staging is faster if the function reads each element at least
 * once, and slower if it reads few elements or computes much. So calls of the gufunc are measured:
 * staged and plain launches in turn, each between two events. No gufunc call waits for the events
 * of the measurement. The first launch of a kernel loads the kernel, so each kernel is launched
 * once before the measurement. A kind of calls that cannot be measured stays staged. */
#ifndef NL_PY_GUTUNING_H
#define NL_PY_GUTUNING_H

#include "core/event.h"
#include "core/stream.h"

typedef enum nl_py_staging { NL_PY_UNDECIDED, NL_PY_STAGED, NL_PY_PLAIN } nl_py_staging;

/* Measured launches of each variant. One launch each does not decide: another program on the same
 * GPU can delay it. */
enum { NL_PY_GUTUNING_ROUNDS = 3 };

typedef struct nl_py_gutuning_launch {
    nl_event *start, *end;
    int64_t count; /* loop indices */
} nl_py_gutuning_launch;

/* The trial of one kind of calls. All zero: not begun. */
typedef struct nl_py_gutuning {
    uint64_t busy;     /* set between nl_py_gutuning_begin_launch and nl_py_gutuning_end_launch */
    uint32_t decision; /* nl_py_staging: the result */
    int launches;
    nl_py_gutuning_launch measured[2 * NL_PY_GUTUNING_ROUNDS]; /* staged, plain, staged, ... */
} nl_py_gutuning;

/* Called before a launch: returns whether to launch the staged or the plain kernel. If *is_measured
 * is set, the caller must call nl_py_gutuning_end_launch after the launch. */
nl_py_staging nl_py_gutuning_begin_launch(nl_py_gutuning *t, nl_device *dev, CUstream stream,
                                          int *is_measured);
/* Records the event after a launch of `count` loop indices. */
void nl_py_gutuning_end_launch(nl_py_gutuning *t, CUstream stream, int64_t count);
/* Frees the events; call this function before the kernel is freed. */
void nl_py_gutuning_free_events(nl_py_gutuning *t);

#endif
