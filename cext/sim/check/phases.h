/* sim/check/phases: tracks barriers that are objects in memory or have a number: mbarrier,
 * cuda::barrier, and PTX's barriers 0 to 15. Threads arrive at a barrier in phases, and wait for
 * the end of a phase. All accesses before the arrivals of a phase happen before all accesses after
 * a wait for this phase.
 *
 * For an exact search, this file also determines whether this order of accesses is the same in
 * each schedule. It is the same if three conditions are true:
 * - Each thread arrives in a phase only after the end of the previous phase, so that its arrival
 *   counts for this phase in each schedule.
 * - Each wait for a parity happens before the end of the next phase, so that the thread cannot miss
 *   a phase.
 * - Each thread that tests whether a phase has ended repeats the test until the phase has ended.
 * If a thread's first test would find that the phase has ended, the test returns 0, as in another
 * schedule. If the thread's next test finds its registers and memory unchanged, this test
 * returns 1.
 *
 * The caller must ensure that only one OS thread at a time calls these functions: the blocks of a
 * launch are interleaved. */
#ifndef NL_SIM_CHECK_PHASES_H
#define NL_SIM_CHECK_PHASES_H

#include <stdint.h>
#include "sim/check/happensbefore.h"

struct nl_sim_worker;
typedef struct nl_sim_phases nl_sim_phases;

/* A use of a barrier by a thread. `phase` is the number of the current phase, modulo 8. */
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
 * test in the same state. The caller sets `count` and each `barrier` to 0 when a block begins. */
typedef struct nl_sim_phase_questions {
    unsigned count; /* of threads with such a test */
    struct {
        uintptr_t barrier; /* 0: no such test */
        int64_t phase;
        uint64_t state; /* of the thread (deadlock.h) */
        unsigned repeats;
    } of[NL_SIM_ORDER_THREADS];
} nl_sim_phase_questions;

nl_sim_phases *nl_sim_phases_open(void); /* returns NULL if memory runs out */
void nl_sim_phases_close(nl_sim_phases *phases);
/* Returns whether memory has run out. */
int nl_sim_phases_lack_memory(const nl_sim_phases *phases);
/* Return whether any barrier is tracked, and whether a barrier at this address is tracked. */
int nl_sim_phases_is_any_tracked(const nl_sim_phases *phases);
int nl_sim_phases_is_tracked(const nl_sim_phases *phases, uintptr_t address);
/* Returns whether the order of the barriers depends on the schedule. Resets this state. */
int nl_sim_phases_pop_dependence(nl_sim_phases *phases);

void nl_sim_phases_make_barrier(nl_sim_phases *phases, const nl_sim_phase_use *use);
void nl_sim_phases_forget_barrier(nl_sim_phases *phases, uintptr_t barrier);
void nl_sim_phases_arrive(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* A barrier's completion function runs in one thread. After `acquire`, the accesses that the
 * phase's threads made before their arrival happen before the accesses of the completion function.
 * After `release`, the accesses of the completion function happen before the end of the phase. */
void nl_sim_phases_acquire(nl_sim_phases *phases, const nl_sim_phase_use *use);
void nl_sim_phases_release(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* Ends the current phase. */
void nl_sim_phases_end_phase(nl_sim_phases *phases, const nl_sim_phase_use *use);
/* Tests whether a phase has ended. The phase is that of a token, whose lower bits are `value`, or,
 * with by_parity, the latest phase of the parity `value`. Returns the result for the thread, which
 * is 0 before the phase has ended. `questions` is NULL if the order in other schedules does not
 * matter, or if the thread repeats the test until it returns 1. */
int nl_sim_phases_test(nl_sim_phases *phases, const nl_sim_phase_use *use,
                       nl_sim_phase_questions *questions, int by_parity, unsigned value);
/* Records that the thread must test the current phase, which is about to end, before its next
 * event. */
void nl_sim_phases_begin_test(nl_sim_phases *phases, const nl_sim_phase_use *use,
                              nl_sim_phase_questions *questions);
/* Called for each event of the thread that is not a test of a phase. Returns the barrier that the
 * thread must test, or 0. */
static inline uintptr_t nl_sim_phases_end_test(nl_sim_phase_questions *questions, unsigned thread) {
    uintptr_t barrier = questions->count ? questions->of[thread].barrier : 0;
    questions->count -= barrier != 0;
    questions->of[thread].barrier = 0;
    return barrier;
}

#endif
