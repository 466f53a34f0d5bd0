/* sim/driver/lasterror: stores a thread's last error; faults are large and rare, so memory for a
 * fault is allocated on demand. */
#include "sim/driver/lasterror.h"

#include <stdlib.h>

static _Thread_local nl_fault *reported;
static _Thread_local uint64_t reported_id;
static _Thread_local int interrupted;

void nl_sim_lasterror_store_fault(uint64_t id, const nl_fault *fault) {
    reported = reported ? reported : malloc(sizeof *reported);
    if (reported)
        *reported = *fault;
    reported_id = id;
}

void nl_sim_lasterror_record_interrupt(void) {
    interrupted = 1;
}

int nl_sim_lasterror_pop_interrupt(void) {
    int was = interrupted;
    interrupted = 0;
    return was;
}

void nl_sim_lasterror_clear(void) {
    interrupted = 0;
    if (reported) {
        free(reported);
        reported = NULL;
    }
}

int nl_sim_lasterror_pop_fault(nl_fault *fault, uint64_t *id) {
    if (!reported)
        return 0;
    *fault = *reported;
    nl_sim_lasterror_clear();
    *id = reported_id;
    return 1;
}
