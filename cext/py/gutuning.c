/* py/gutuning: counts launches until both variants (staged and plain) have been launched and
 * measured, then reads the events when both launches have ended. */
#include "py/gutuning.h"

#include "base/lock.h"
#include "driver/driver.h"

enum { FIRST_STAGED, FIRST_PLAIN, STAGED, PLAIN, MEASURED };

/* During a capture, an event record would become part of the graph, and a query would invalidate
 * the capture. */
static int is_capturing(CUstream stream) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    return nl_cu.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static int record_next(nl_py_gutuning *t, int place, nl_device *dev, CUstream stream) {
    nl_error err;
    return nl_event_create(dev, 1, &t->events[place], &err) == 0 &&
           nl_event_record(t->events[place], stream, &err) == 0;
}

void nl_py_gutuning_clear(nl_py_gutuning *t) {
    for (int i = 0; i < 4; i++) {
        nl_event_destroy(t->events[i]);
        t->events[i] = NULL;
    }
    t->launches = FIRST_STAGED;
}

static nl_py_staging decide(const nl_py_gutuning *t) {
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

/* Chooses the variant of the next launch. */
static nl_py_staging next_variant(nl_py_gutuning *t, nl_device *dev, CUstream stream,
                                  int *is_measured) {
    nl_py_staging decision = NL_PY_UNDECIDED;
    int launch = t->launches;
    if (launch == MEASURED)
        decision = decide(t);
    else if (launch >= STAGED && !record_next(t, 2 * (launch - STAGED), dev, stream))
        decision = NL_PY_STAGED;
    if (decision != NL_PY_UNDECIDED) {
        nl_py_gutuning_clear(t);
        nl_atomic_store32_relaxed(&t->decision, decision);
        return decision;
    }
    *is_measured = launch != MEASURED;
    return launch == PLAIN || launch == FIRST_PLAIN ? NL_PY_PLAIN : NL_PY_STAGED;
}

nl_py_staging nl_py_gutuning_begin(nl_py_gutuning *t, nl_device *dev, CUstream stream,
                                   int *is_measured) {
    nl_py_staging way = (nl_py_staging)nl_atomic_load32_relaxed(&t->decision);
    *is_measured = 0;
    if (way != NL_PY_UNDECIDED)
        return way;
    if (nl_atomic_swap(&t->busy, 1))
        return NL_PY_STAGED;
    way = is_capturing(stream) ? NL_PY_STAGED : next_variant(t, dev, stream, is_measured);
    if (!*is_measured)
        nl_atomic_store(&t->busy, 0);
    return way;
}

void nl_py_gutuning_end(nl_py_gutuning *t, CUstream stream, int64_t count) {
    int launch = t->launches++;
    if (launch >= STAGED) {
        t->counts[launch - STAGED] = count;
        if (!record_next(t, 2 * (launch - STAGED) + 1, t->events[2 * (launch - STAGED)]->device,
                         stream))
            nl_py_gutuning_clear(t); /* the trial begins again */
    }
    nl_atomic_store(&t->busy, 0);
}
