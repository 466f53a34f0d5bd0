/* py/gutrial: whether a kind of gufunc calls is faster with its cores staged in shared memory.
 *
 * It depends on what the function does: one that reads each element once or more gains, one that
 * reads a few of them, or computes much, loses. So the calls themselves are measured: a staged
 * launch and a plain one, each between two events, which nobody waits for. A gufunc has one trial
 * at a time; other kinds of calls are staged meanwhile. What cannot be measured stays staged. */
#ifndef NL_PY_GUTRIAL_H
#define NL_PY_GUTRIAL_H

#include "core/stream.h"

typedef enum nl_py_staging { NL_PY_UNDECIDED, NL_PY_STAGED, NL_PY_PLAIN } nl_py_staging;

typedef struct nl_py_gutrial {
    uint64_t busy;    /* a launch is between begin and end */
    const void *kind; /* whose trial it is, or NULL */
    int launches;
    nl_event *events[4]; /* before and after a staged launch, then a plain one */
    int64_t counts[2];   /* loop indices of both */
} nl_py_gutrial;

/* Before a launch of this kind: how to launch it; *decision, if it is more than NL_PY_UNDECIDED,
 * holds for all later ones. *is_measured: nl_py_gutrial_end is to follow. */
nl_py_staging nl_py_gutrial_begin(nl_py_gutrial *t, const void *kind, nl_device *dev,
                                  CUstream stream, nl_py_staging *decision, int *is_measured);
/* After the launch of `count` loop indices. */
void nl_py_gutrial_end(nl_py_gutrial *t, CUstream stream, int64_t count);
/* With the gufunc. */
void nl_py_gutrial_clear(nl_py_gutrial *t);

#endif
