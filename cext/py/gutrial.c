/* py/gutrial: a trial is a staged launch that is not measured, as the first one does more than
 * launch, then one staged and one plain, and the launches until both have ended. */
#include "py/gutrial.h"

#include "base/lock.h"
#include "driver/driver.h"

enum { FIRST, STAGED, PLAIN, MEASURED };

/* Records and queries would end up in a graph, or spoil it. */
static int is_capturing(CUstream stream) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    return nl_cu.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static int record_next(nl_py_gutrial *t, int place, nl_device *dev, CUstream stream) {
    nl_error err;
    return nl_event_create(dev, 1, &t->events[place], &err) == 0 &&
           nl_event_record(t->events[place], stream, &err) == 0;
}

void nl_py_gutrial_clear(nl_py_gutrial *t) {
    for (int i = 0; i < 4; i++) {
        nl_event_destroy(t->events[i]);
        t->events[i] = NULL;
    }
    t->kind = NULL;
    t->launches = FIRST;
}

static nl_py_staging decide(const nl_py_gutrial *t) {
    float times[2] = {0, 0};
    nl_error err;
    int done[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        nl_event *start = t->events[2 * i], *end = t->events[2 * i + 1];
        if (nl_event_query(end, &done[i], &err) < 0)
            return NL_PY_STAGED;
        if (done[i] && nl_event_elapsed(start, end, &times[i], &err) < 0)
            return NL_PY_STAGED;
    }
    if (!done[0] || !done[1])
        return NL_PY_UNDECIDED;
    return (double)times[1] * (double)t->counts[0] < (double)times[0] * (double)t->counts[1]
               ? NL_PY_PLAIN
               : NL_PY_STAGED;
}

nl_py_staging nl_py_gutrial_begin(nl_py_gutrial *t, const void *kind, nl_device *dev,
                                  CUstream stream, nl_py_staging *decision, int *is_measured) {
    int launch;
    *decision = NL_PY_UNDECIDED;
    *is_measured = 0;
    if (nl_atomic_swap(&t->busy, 1))
        return NL_PY_STAGED;
    if ((t->kind && t->kind != kind) || is_capturing(stream)) {
        nl_atomic_store(&t->busy, 0);
        return NL_PY_STAGED;
    }
    t->kind = kind;
    launch = t->launches;
    if (launch == MEASURED)
        *decision = decide(t);
    else if (launch != FIRST && !record_next(t, 2 * (launch - STAGED), dev, stream))
        *decision = NL_PY_STAGED;
    if (*decision != NL_PY_UNDECIDED)
        nl_py_gutrial_clear(t);
    else if (launch != MEASURED) {
        *is_measured = 1;
        return launch == PLAIN ? NL_PY_PLAIN : NL_PY_STAGED;
    }
    nl_atomic_store(&t->busy, 0);
    return *decision == NL_PY_PLAIN ? NL_PY_PLAIN : NL_PY_STAGED;
}

void nl_py_gutrial_end(nl_py_gutrial *t, CUstream stream, int64_t count) {
    int launch = t->launches++;
    if (launch != FIRST) {
        t->counts[launch - STAGED] = count;
        if (!record_next(t, 2 * (launch - STAGED) + 1, t->events[2 * (launch - STAGED)]->device,
                         stream))
            nl_py_gutrial_clear(t); /* another time */
    }
    nl_atomic_store(&t->busy, 0);
}
