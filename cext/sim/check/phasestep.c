/* sim/check/phasestep: passes each step to the race search (race.h) and to the list of asynchronous
 * copies (asynccopy.h). */
#include "sim/check/phasestep.h"

#include "sim/check/asynccopy.h"
#include "sim/check/race.h"
#include "sim/check/racereport.h"
#include "sim/engine/worker.h"

/* The copies that the barrier tracks are complete when the phase is complete. The accesses of the
 * copies are recorded as accesses of the thread that completes the phase, but do not order this
 * thread after other threads' accesses. */
static void complete_phase(nl_sim_worker *w, const nl_sim_race_phase *barrier) {
    const void *address = (const void *)barrier->address;
    if (nl_sim_asynccopy_has_tracked(w, address)) {
        nl_sim_vectorclock *begun;
        nl_sim_race_begin_completion(w, barrier, &begun);
        nl_sim_asynccopy_complete_tracked(w, address);
        nl_sim_race_end_completion(w, barrier, &begun);
    }
    nl_sim_race_complete_phase(w, barrier);
}

int nl_sim_phasestep_execute(const nl_sim_phase *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    nl_sim_race_phase barrier = {.address = (uintptr_t)what->barrier, .phase = what->phase};
    if (!w->race)
        return what->is_over;
    barrier.shared = nl_sim_racereport_is_shared_memory(w, barrier.address);
    switch (what->step) {
    case NL_SIM_PHASE_INIT:
        nl_sim_race_forget_barrier(w, barrier.address);
        nl_sim_racereport_check_access(w, barrier.address, sizeof(uint64_t), NL_SIM_ACCESS_WRITE,
                                       pc);
        nl_sim_race_make_barrier(w, &barrier);
        break;
    case NL_SIM_PHASE_NUMBER:
        nl_sim_race_make_barrier(w, &barrier);
        break;
    case NL_SIM_PHASE_FORGET:
        nl_sim_race_forget_barrier(w, barrier.address);
        nl_sim_racereport_check_access(w, barrier.address, sizeof(uint64_t), NL_SIM_ACCESS_WRITE,
                                       pc);
        break;
    case NL_SIM_PHASE_ARRIVE:
        nl_sim_race_arrive_in_phase(w, &barrier);
        break;
    case NL_SIM_PHASE_FINISH:
        nl_sim_race_begin_completion(w, &barrier, NULL);
        break;
    case NL_SIM_PHASE_FINISHED:
        nl_sim_race_end_completion(w, &barrier, NULL);
        break;
    case NL_SIM_PHASE_COMPLETE:
        complete_phase(w, &barrier);
        break;
    case NL_SIM_PHASE_TOKEN:
    case NL_SIM_PHASE_PARITY:
        return nl_sim_race_test_phase(w, &barrier, what->step == NL_SIM_PHASE_PARITY, what->value,
                                      what->blocks);
    }
    return 0;
}
