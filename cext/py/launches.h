/* py/launches: the launches of a reduction, a scan or a selection, and the scratch arrays between
 * them. A launch is a kernel, its configuration and the plan that the kernel reads. */
#ifndef NL_PY_LAUNCHES_H
#define NL_PY_LAUNCHES_H

#include "py/state.h"
#include "core/launch.h"
#include "core/reducelaunch.h"

enum {
    NL_PY_MAX_STEPS = NL_REDUCE_MAX_STEPS,
    NL_PY_MAX_SCRATCH = NL_REDUCE_MAX_SCRATCH,
    NL_PY_GIVEN = NL_REDUCE_SCRATCH, /* input, mask, output, segments */
};

/* The objects are strong references. */
typedef struct nl_py_step {
    PyObject *kernel;   /* a Dispatcher */
    PyObject *launcher; /* cached scratch array for the default stream, or NULL */
    PyObject *plan;     /* numpy.void */
    nl_launch shape;
    int slot_count;
    /* indices of the kernel's arrays: first those in `given`, then those of scratch arrays */
    uint8_t slots[NL_REDUCE_MAX_SLOTS];
} nl_py_step;

typedef struct nl_py_scratch {
    PyObject *descr;
    int64_t count;
    int is_zeroed;
    /* each launch resets the scratch array to zeros, so that the next launch on the stream can
     * reuse it */
    int is_kept;
} nl_py_scratch;

typedef struct nl_py_launches {
    nl_py_state *state;
    /* strong reference to the object whose cached scratch arrays are used, or NULL */
    PyObject *owner;
    int step_count, scratch_count;
    nl_py_step steps[NL_PY_MAX_STEPS];
    nl_py_scratch scratch[NL_PY_MAX_SCRATCH];
} nl_py_launches;

/* Initializes a step whose kernel, plan and slots the caller sets afterwards. Returns 0, or -1 with
 * an exception if the launch is too large. */
int nl_py_launches_start_step(nl_py_step *s, int64_t grid, int threads, int64_t shared);
/* Initializes an empty list of launches; each entry is initialized when it is used. */
void nl_py_launches_init(nl_py_launches *l, nl_py_state *state, PyObject *owner);
void nl_py_launches_clear(nl_py_launches *l);
/* Enqueues the launches. `given` contains the four arrays of the call; an entry that the launches
 * do not use may be any object. `stream` is NULL for the default stream. 0, or -1 with an
 * exception. */
int nl_py_launches_run(nl_py_launches *l, PyObject *const *given, PyObject *stream);
/* Releases the cached scratch arrays of an owner. Call this function before the owner is freed. */
void nl_py_launches_release_scratch(nl_py_state *state, PyObject *owner);

#endif
