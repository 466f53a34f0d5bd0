/* py/gutuning: launches the staged and the plain variant in turn between two events, and reads the
 * events when all these launches have ended. */
#include "py/gutuning.h"

#include <math.h>

#include "base/lock.h"
#include "driver/driver.h"

/* Launches of a trial: one of each variant that loads the kernel, then the measured launches.
 * Launches with even numbers are staged. */
enum { UNMEASURED = 2, ALL_LAUNCHES = UNMEASURED + 2 * NL_PY_GUTUNING_ROUNDS };

/* During a capture, an event record would become part of the graph, and a query would invalidate
 * the capture. */
static int is_capturing(CUstream stream) {
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    return nl_cu.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static int record_event(nl_event **event, nl_device *dev, CUstream stream) {
    nl_error err;
    return nl_event_create(dev, 1, event, &err) == 0 && nl_event_record(*event, stream, &err) == 0;
}

void nl_py_gutuning_free_events(nl_py_gutuning *t) {
    for (int i = 0; i < 2 * NL_PY_GUTUNING_ROUNDS; i++) {
        nl_event_destroy(t->measured[i].start);
        nl_event_destroy(t->measured[i].end);
        t->measured[i].start = t->measured[i].end = NULL;
    }
    t->launches = 0;
}

/* Compares the smallest time per loop index of each variant: work of other programs makes a launch
 * slower, never faster. */
static nl_py_staging fastest_variant(const nl_py_gutuning *t) {
    double least[2] = {INFINITY, INFINITY};
    nl_error err;
    for (int i = 0; i < 2 * NL_PY_GUTUNING_ROUNDS; i++) {
        float time = 0;
        int is_done = 0;
        if (nl_event_query(t->measured[i].end, &is_done, &err) < 0)
            return NL_PY_STAGED;
        if (!is_done)
            return NL_PY_UNDECIDED;
        if (nl_event_elapsed(t->measured[i].start, t->measured[i].end, &time, &err) < 0)
            return NL_PY_STAGED;
        least[i % 2] = fmin(least[i % 2], time / (double)t->measured[i].count);
    }
    return least[1] < least[0] ? NL_PY_PLAIN : NL_PY_STAGED;
}

/* Chooses the variant of the next launch. */
static nl_py_staging choose_next_variant(nl_py_gutuning *t, nl_device *dev, CUstream stream,
                                         int *is_measured) {
    nl_py_staging decision = NL_PY_UNDECIDED;
    int launch = t->launches;
    if (launch == ALL_LAUNCHES)
        decision = fastest_variant(t);
    else if (launch >= UNMEASURED &&
             !record_event(&t->measured[launch - UNMEASURED].start, dev, stream))
        decision = NL_PY_STAGED;
    if (decision != NL_PY_UNDECIDED) {
        nl_py_gutuning_free_events(t);
        nl_atomic_store32_relaxed(&t->decision, decision);
        return decision;
    }
    *is_measured = launch != ALL_LAUNCHES;
    return *is_measured && launch % 2 ? NL_PY_PLAIN : NL_PY_STAGED;
}

nl_py_staging nl_py_gutuning_begin_launch(nl_py_gutuning *t, nl_device *dev, CUstream stream,
                                          int *is_measured) {
    nl_py_staging way = (nl_py_staging)nl_atomic_load32_relaxed(&t->decision);
    *is_measured = 0;
    if (way != NL_PY_UNDECIDED)
        return way;
    if (nl_atomic_swap(&t->busy, 1))
        return NL_PY_STAGED;
    way = is_capturing(stream) ? NL_PY_STAGED : choose_next_variant(t, dev, stream, is_measured);
    if (!*is_measured)
        nl_atomic_store(&t->busy, 0);
    return way;
}

void nl_py_gutuning_end_launch(nl_py_gutuning *t, CUstream stream, int64_t count) {
    int launch = t->launches++;
    if (launch >= UNMEASURED) {
        nl_py_gutuning_launch *m = &t->measured[launch - UNMEASURED];
        m->count = count;
        if (!record_event(&m->end, m->start->device, stream))
            nl_py_gutuning_free_events(t); /* the trial begins again */
    }
    nl_atomic_store(&t->busy, 0);
}
