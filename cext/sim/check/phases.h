/* sim/check/phases: barriers that are objects in memory or have a number: mbarrier, cuda::barrier,
 * and PTX's barriers 0 to 15. Threads arrive in phases, and wait for the end of a phase. All
 * accesses that the threads of a phase made before they arrived happen before everything that
 * follows a wait for this phase.
 *
 * For an exact search, these functions also decide whether that order is the same in each schedule.
 * The order is the same in each schedule if - each thread arrives in a phase only after the end of
 * the phase before, so that its arrival
 *   counts for this phase in each schedule;
 * - each wait for a parity happens before the end of the next phase, so that the thread cannot miss
 *   a phase;
 * - each thread that asks whether a phase has ended repeats the question until it has. If a thread
 * would learn of the end of a phase when it asks for the first time, the answer is that the phase
 * has not ended, as in another schedule. The thread must then return to the same question in the
 * same state.
 *
 * One object belongs to a launch whose blocks are interleaved: only one OS thread at a time may
 * call these functions. */
#ifndef NL_SIM_CHECK_PHASES_H
#define NL_SIM_CHECK_PHASES_H

#include <stdint.h>
#include "sim/check/happensbefore.h"

struct nl_sim_worker;
typedef struct nl_sim_phases nl_sim_phases;

/* A thread that uses a barrier. `phase` is the number of the current phase, of which only the lower
 * three bits are used. */
typedef struct nl_sim_phase_use {
    const struct nl_sim_worker *worker;
    nl_sim_happensbefore *order;
    unsigned thread;
    uint16_t era; /* number of grid barriers that the launch has passed */
    uintptr_t barrier;
    unsigned phase;
    int shared; /* in shared memory */
} nl_sim_phase_use;

/* For each thread of a block, its last test of a phase (by token or parity) that returned 0. If the
 * end of the phase depends on the schedule, the test returns 1 only when the thread repeats the
 * test in the same state. All zeros: no tests. */
typedef struct nl_sim_phase_questions {
    unsigned count;
    struct {
        uintptr_t barrier; /* 0: none */
        int64_t phase;
        uint64_t state; /* of the thread (deadlock.h) */
        unsigned repeats;
    } of[NL_SIM_ORDER_THREADS];
} nl_sim_phase_questions;

nl_sim_phases *nl_sim_phases_open(void); /* NULL without memory */
void nl_sim_phases_close(nl_sim_phases *phases);
/* Returns whether memory has run out. */
int nl_sim_phases_are_starved(const nl_sim_phases *phases);
/* These functions return whether any barrier is known, or a barrier at this address. */
int nl_sim_phases_exist(const nl_sim_phases *phases);
int nl_sim_phases_have(const nl_sim_phases *phases, uintptr_t address);
/* Returns whether the order of the barriers depends on the schedule. Resets the answer. */
int nl_sim_phases_depend(nl_sim_phases *phases);

void nl_sim_phases_make(nl_sim_phases *phases, const nl_sim_phase_use *use);
void nl_sim_phases_forget(nl_sim_phases *phases, uintptr_t barrier);
void nl_sim_phases_arrive(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* A barrier's completion function runs in one thread. After `acquire`, the accesses that the
 * phase's threads made before their arrival happen before the accesses of the completion function.
 * After `release`, the accesses of the completion function happen before the end of the phase. */
void nl_sim_phases_acquire(nl_sim_phases *phases, const nl_sim_phase_use *use);
void nl_sim_phases_release(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* The current phase ends. */
void nl_sim_phases_complete(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* Has a phase ended? The thread asks whether a phase has ended: the phase in which it received a
 * token, whose lower bits are `value`, or, with by_parity, the latest phase of the parity `value`.
 * Returns the answer for the thread, which is not 1 before the phase ends. `questions` is NULL if
 * the order in other schedules does not matter, or if the thread asks until the answer is 1. */
int nl_sim_phases_test(nl_sim_phases *phases, const nl_sim_phase_use *use,
                       nl_sim_phase_questions *questions, int by_parity, unsigned value);
/* Records that the thread must ask for the current phase, which is about to end, before it does
 * anything else.
 */
void nl_sim_phases_begin_test(nl_sim_phases *phases, const nl_sim_phase_use *use,
                              nl_sim_phase_questions *questions);
/* The thread does something else. Returns the barrier for which the thread must ask, or 0. */
static inline uintptr_t nl_sim_phases_end_test(nl_sim_phase_questions *questions, unsigned thread) {
    uintptr_t barrier = questions->count ? questions->of[thread].barrier : 0;
    questions->count -= barrier != 0;
    questions->of[thread].barrier = 0;
    return barrier;
}

#endif
