/* sim/check/observer: passes each event of the engine or the image to the checkers that need it. */
#include "sim/check/observer.h"

#include <string.h>
#include "sim/check/arena.h"
#include "sim/check/arithmetic.h"
#include "sim/check/asynccopy.h"
#include "sim/check/attribution.h"
#include "sim/check/check.h"
#include "sim/check/racereport.h"
#include "sim/check/convergence.h"
#include "sim/check/named.h"
#include "sim/check/phasestep.h"
#include "sim/check/profile.h"
#include "sim/check/race.h"
#include "sim/check/reals.h"
#include "sim/check/shuffle.h"
#include "sim/engine/cluster.h"
#include "sim/engine/fault.h"
#include "sim/engine/heap.h"
#include "sim/engine/job.h"
#include "sim/engine/shadow.h"

static void enter(nl_sim_worker *w) {
    const nl_sim_check *check = w->job->check;
    w->image_low = check->image->low;
    w->image_high = check->image->high;
    w->race = check->race;
    nl_sim_shuffle_enter(w);
    if (nl_sim_arena_open(w) < 0)
        nl_sim_fault_fail(w->job, CUDA_ERROR_OUT_OF_MEMORY, "no memory for shared memory");
    w->profile = NULL;
    if (check->profile)
        nl_sim_profile_enter(w);
    w->reals = nl_sim_reals_are_trapped(w->job);
    if (w->reals)
        w->modes = nl_sim_reals_enter();
}

static void leave(nl_sim_worker *w) {
    if (w->reals)
        nl_sim_reals_leave(w->modes);
    if (w->profile)
        nl_sim_profile_leave(w);
}

static int begin_block(nl_sim_worker *w) {
    nl_sim_arena_block(w);
    nl_sim_profile_begin_block(w);
    if (!w->race || nl_sim_race_begin_block(w) == 0)
        return 0;
    nl_sim_fault_fail(w->job, CUDA_ERROR_OUT_OF_MEMORY, "no memory to look for races");
    return -1;
}

static void end_block(nl_sim_worker *w) {
    if (w->job->check->copies)
        nl_sim_asynccopy_end_block(w);
    nl_sim_profile_end_block(w);
    /* a block that ends because the launch has failed reports no missing synchronization */
    if (w->race && w->cluster && !nl_sim_job_stopped(w->job))
        nl_sim_racereport_end_shared(w);
    if (w->race)
        nl_sim_race_end_block(w);
    if (w->cluster)
        nl_sim_arena_end(w);
}

/* A thread that has ended counts as arrived at the barrier of its cluster. */
static void end_thread(nl_sim_worker *w, unsigned thread) {
    nl_sim_shuffle_finish(w, thread);
    if (w->race && w->cluster)
        nl_sim_race_arrive(w, thread,
                           (uintptr_t)w->cluster + nl_sim_cluster_next_parity(w, thread));
    if (w->race)
        nl_sim_race_end_thread(w, thread);
}

static void order_all(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_barrier(w);
}

static void grid_barrier(nl_sim_worker *w) {
    nl_sim_profile_barrier(w, 0);
    order_all(w);
}

static void barrier(nl_sim_worker *w) {
    nl_sim_convergence_at_barrier(w);
    for (unsigned i = 0; i < w->threads; i++) {
        w->thread[i].worked = 1;
        nl_sim_shuffle_finish(w, i);
    }
    nl_sim_profile_barrier(w, 1);
    order_all(w);
}

static void tile(nl_sim_worker *w, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++)
        w->thread[i].worked = 1;
    for (unsigned i = first / NL_SIM_LANES; i < (first + count) / NL_SIM_LANES; i++)
        nl_sim_profile_exchanged(w, i, w->warp[i].live);
    if (w->race)
        nl_sim_race_tile(w, first, count);
}

static void cross_grid(nl_sim_job *job) {
    if (job->check->race)
        nl_sim_race_cross_grid(job->check->race);
}

static void cluster_arrive(nl_sim_worker *w, unsigned thread, unsigned parity) {
    if (w->race)
        nl_sim_race_arrive(w, thread, (uintptr_t)w->cluster + parity);
}

static void cluster_wait(nl_sim_worker *w, unsigned thread, unsigned parity) {
    w->thread[thread].worked = 1;
    if (w->race)
        nl_sim_race_wait(w, thread, (uintptr_t)w->cluster + parity);
}

static void exchanged(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    nl_sim_convergence_of_warp(w, warp, group);
    nl_sim_shuffle_mark(w, warp, group);
    nl_sim_profile_exchanged(w, warp, group->arrived);
    if (w->race)
        nl_sim_race_warp(w, warp, group->arrived);
}

static void active(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_active(w);
}

static void pass(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_finish_write(w);
}

static void allocated(nl_sim_worker *w, uintptr_t address, size_t size) {
    w->job->check->allocates = 1;
    if (w->job->check->wanted.mask & NL_CHECK_ACCESSES)
        nl_sim_heap_unwritten(address);
    if (w->race)
        nl_sim_race_renew(w, address, size);
}

/* Reports a quotient that overflows, for which g++ inserts no call into instrumented code. */
static void overflowed(nl_sim_worker *w, const void *instruction) {
    nl_sim_arithmetic overflow = {.kind = NL_SIM_ARITHMETIC_OVERFLOW, .unknown = 1};
    (void)w;
    nl_sim_arithmetic_check(&overflow, (const char *)instruction + 1);
}

static int sees_accesses(const nl_sim_worker *w) {
    return nl_sim_launch_check_is_on(w, NL_CHECK_MEMORY);
}

static int name(const nl_sim_worker *w, uintptr_t address, char *text, size_t size) {
    if (!nl_sim_attribution_knows(w, address))
        return 0;
    nl_sim_attribution_name(w, address, NULL, text, size);
    return 1;
}

const nl_sim_observer nl_sim_observer_of_checks = {
    .enter = enter,
    .leave = leave,
    .begin_block = begin_block,
    .end_block = end_block,
    .end_thread = end_thread,
    .barrier = barrier,
    .grid_barrier = grid_barrier,
    .tile = tile,
    .cross_grid = cross_grid,
    .cluster_arrive = cluster_arrive,
    .cluster_wait = cluster_wait,
    .exchange = nl_sim_shuffle_check_sources,
    .exchanged = exchanged,
    .active = active,
    .pass = pass,
    .allocated = allocated,
    .overflowed = overflowed,
    .trapped = nl_sim_reals_trapped,
    .is_shared = nl_sim_arena_has,
    .map_shared = nl_sim_arena_map,
    .sees_accesses = sees_accesses,
    .name = name,
};

static __attribute__((noinline)) int
check_access(nl_sim_worker *w, void *at, unsigned long long size, unsigned kind, const void *pc) {
    if (w->job->check->profile)
        return 0; /* without memory to count */
    int comes_again = nl_sim_check_access(at, size, kind, pc);
    if (w->doubts && !comes_again)
        nl_sim_shuffle_access(w, (uintptr_t)at, size, kind);
    return comes_again;
}

static int access(void *at, unsigned long long size, unsigned kind, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (w->profile)
        return nl_sim_profile_access(w, (uintptr_t)at, size, kind, pc);
    return check_access(w, at, size, kind, pc);
}

static void copy(void *to, const void *from, unsigned long long size, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->job->check->profile) {
        nl_sim_check_copy(to, from, size, pc);
        return;
    }
    nl_sim_profile_copy(w, (uintptr_t)to, (uintptr_t)from, size, pc);
    memmove(to, from, size);
}

static int phase(const nl_sim_phase *what, const void *pc) {
    return nl_sim_worker_current->job->check->profile ? what->is_over
                                                      : nl_sim_phasestep_take(what, pc);
}

/* Counts an asynchronous copy as a load and a store of the thread that starts it. */
static void copying(const nl_sim_copying *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->job->check->profile)
        nl_sim_asynccopy_step(what, pc);
    else if (what->step == NL_SIM_COPY_BEGIN)
        nl_sim_profile_copy(w, (uintptr_t)what->to, (uintptr_t)what->from, (size_t)what->size, pc);
}

void nl_sim_observer_install(void) {
    nl_sim_checker *s = &nl_sim_shadow;
    s->access = access;
    s->copy = copy;
    s->fill = nl_sim_check_fill;
    s->shared = nl_sim_arena_shared;
    s->index = nl_sim_check_index;
    s->subscript = nl_sim_check_subscript;
    s->misaligned = nl_sim_check_misaligned;
    s->fence = nl_sim_racereport_fence;
    s->preempt = nl_sim_racereport_preempt;
    s->arithmetic = nl_sim_arithmetic_check;
    s->name = nl_sim_named_begin;
    s->unname = nl_sim_named_end;
    s->unset = nl_sim_check_unset;
    s->copying = copying;
    s->phase = phase;
    s->loop = nl_sim_profile_loop;
    s->counting = nl_sim_profile_counting_offset();
}
