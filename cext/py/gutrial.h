/* py/gutrial: whether a kind of gufunc calls is faster with its cores staged in shared memory.
 *
 * It depends on what the function does: one that reads each element once or more gains, one that
 * reads a few of them, or computes much, loses. So the calls themselves are measured: a staged
 * launch and a plain one, each between two events, which nobody waits for. The first launch of a
 * kernel loads it, so there is one of each before. What cannot be measured stays staged. */
#ifndef NL_PY_GUTRIAL_H
#define NL_PY_GUTRIAL_H

#include "core/stream.h"

typedef enum nl_py_staging { NL_PY_UNDECIDED, NL_PY_STAGED, NL_PY_PLAIN } nl_py_staging;

/* All zero: has not begun. Of one kind of calls. */
typedef struct nl_py_gutrial {
    uint64_t busy;     /* a launch is between begin and end */
    uint32_t decision; /* nl_py_staging: what has been found */
    int launches;
    nl_event *events[4]; /* before and after a staged launch, then a plain one */
    int64_t counts[2];   /* loop indices of both */
} nl_py_gutrial;

/* Before a launch: how to launch. *is_measured: nl_py_gutrial_end is to follow. */
nl_py_staging nl_py_gutrial_begin(nl_py_gutrial *t, nl_device *dev, CUstream stream,
                                  int *is_measured);
/* After the launch of `count` loop indices. */
void nl_py_gutrial_end(nl_py_gutrial *t, CUstream stream, int64_t count);
/* With the kernel. */
void nl_py_gutrial_clear(nl_py_gutrial *t);

#endif
