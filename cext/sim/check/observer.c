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

static void enter_image(nl_sim_worker *w) {
    const nl_sim_check *check = w->job->check;
    w->image_low = check->image->low;
    w->image_high = check->image->high;
    w->race = check->race;
    nl_sim_shuffle_clear_state(w);
    if (nl_sim_arena_open(w) < 0)
        nl_sim_fault_fail_job(w->job, CUDA_ERROR_OUT_OF_MEMORY, "no memory for shared memory");
    w->profile = NULL;
    if (check->profile)
        nl_sim_profile_begin_worker(w);
    w->reals = nl_sim_reals_are_trapped(w->job);
    if (w->reals)
        w->modes = nl_sim_reals_enable_exceptions();
}

static void leave_image(nl_sim_worker *w) {
    if (w->reals)
        nl_sim_reals_restore_exceptions(w->modes);
    if (w->profile)
        nl_sim_profile_end_worker(w);
}

static int record_block_begin(nl_sim_worker *w) {
    nl_sim_arena_begin_block(w);
    nl_sim_profile_begin_block(w);
    if (!w->race || nl_sim_race_begin_block(w) == 0)
        return 0;
    nl_sim_fault_fail_job(w->job, CUDA_ERROR_OUT_OF_MEMORY, "no memory to look for races");
    return -1;
}

static void record_block_end(nl_sim_worker *w) {
    if (w->job->check->copies)
        nl_sim_asynccopy_end_block(w);
    nl_sim_profile_end_block(w);
    /* a block that ends because the launch has failed reports no missing synchronization */
    if (w->race && w->cluster && !nl_sim_job_is_stopped(w->job))
        nl_sim_racereport_end_shared(w);
    if (w->race)
        nl_sim_race_end_block(w);
    if (w->cluster)
        nl_sim_arena_end_block(w);
}

/* A thread that has ended counts as arrived at the barrier of its cluster. */
static void record_thread_end(nl_sim_worker *w, unsigned thread) {
    nl_sim_shuffle_forget_value(w, thread);
    if (w->race && w->cluster)
        nl_sim_race_arrive_at_barrier(
            w, thread, (uintptr_t)w->cluster + nl_sim_cluster_next_parity(w, thread));
    if (w->race)
        nl_sim_race_end_thread(w, thread);
}

static void order_all_threads(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_order_block(w);
}

static void cross_grid_barrier(nl_sim_worker *w) {
    nl_sim_profile_count_barrier(w, 0);
    order_all_threads(w);
}

static void cross_block_barrier(nl_sim_worker *w) {
    nl_sim_convergence_check_barrier(w);
    for (unsigned i = 0; i < w->threads; i++) {
        w->thread[i].worked = 1;
        nl_sim_shuffle_forget_value(w, i);
    }
    nl_sim_profile_count_barrier(w, 1);
    order_all_threads(w);
}

static void order_tile(nl_sim_worker *w, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++)
        w->thread[i].worked = 1;
    for (unsigned i = first / NL_SIM_LANES; i < (first + count) / NL_SIM_LANES; i++)
        nl_sim_profile_count_exchange(w, i, w->warp[i].live);
    if (w->race)
        nl_sim_race_order_tile(w, first, count);
}

static void order_all_blocks(nl_sim_job *job) {
    if (job->check->race)
        nl_sim_race_order_grid(job->check->race);
}

static void record_cluster_arrival(nl_sim_worker *w, unsigned thread, unsigned parity) {
    if (w->race)
        nl_sim_race_arrive_at_barrier(w, thread, (uintptr_t)w->cluster + parity);
}

static void record_cluster_wait(nl_sim_worker *w, unsigned thread, unsigned parity) {
    w->thread[thread].worked = 1;
    if (w->race)
        nl_sim_race_end_wait(w, thread, (uintptr_t)w->cluster + parity);
}

static void check_exchange(nl_sim_worker *w, unsigned warp, const nl_sim_group *group) {
    nl_sim_convergence_check_warp(w, warp, group);
    nl_sim_shuffle_mark_values(w, warp, group);
    nl_sim_profile_count_exchange(w, warp, group->arrived);
    if (w->race)
        nl_sim_race_order_warp(w, warp, group->arrived);
}

static void note_active_mask(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_note_activemask(w);
}

static void finish_pending_write(nl_sim_worker *w) {
    if (w->race)
        nl_sim_race_finish_write(w);
}

static void note_allocation(nl_sim_worker *w, uintptr_t address, size_t size) {
    w->job->check->allocates = 1;
    if (w->job->check->wanted.mask & NL_CHECK_ACCESSES)
        nl_sim_heap_mark_unwritten(address);
    if (w->race)
        nl_sim_race_forget_range(w, address, size);
}

/* Reports a quotient that overflows, for which g++ inserts no call into instrumented code. */
static void report_overflow(nl_sim_worker *w, const void *instruction) {
    nl_sim_arithmetic overflow = {.kind = NL_SIM_ARITHMETIC_OVERFLOW, .unknown = 1};
    (void)w;
    nl_sim_arithmetic_check(&overflow, (const char *)instruction + 1);
}

static int observes_accesses(const nl_sim_worker *w) {
    return nl_sim_launch_check_is_on(w, NL_CHECK_MEMORY);
}

static int write_variable_name(const nl_sim_worker *w, uintptr_t address, char *text, size_t size) {
    if (!nl_sim_attribution_can_name(w, address))
        return 0;
    nl_sim_attribution_name(w, address, NULL, text, size);
    return 1;
}

const nl_sim_observer nl_sim_observer_of_checks = {
    .enter = enter_image,
    .leave = leave_image,
    .begin_block = record_block_begin,
    .end_block = record_block_end,
    .end_thread = record_thread_end,
    .barrier = cross_block_barrier,
    .grid_barrier = cross_grid_barrier,
    .tile = order_tile,
    .cross_grid = order_all_blocks,
    .cluster_arrive = record_cluster_arrival,
    .cluster_wait = record_cluster_wait,
    .exchange = nl_sim_shuffle_check_sources,
    .exchanged = check_exchange,
    .active = note_active_mask,
    .pass = finish_pending_write,
    .allocated = note_allocation,
    .overflowed = report_overflow,
    .trapped = nl_sim_reals_handle_trap,
    .is_shared = nl_sim_arena_contains,
    .map_shared = nl_sim_arena_map_address,
    .sees_accesses = observes_accesses,
    .name = write_variable_name,
};

static __attribute__((noinline)) int
check_access(nl_sim_worker *w, void *at, unsigned long long size, unsigned kind, const void *pc) {
    if (w->job->check->profile)
        return 0; /* without memory to count */
    int comes_again = nl_sim_check_access(at, size, kind, pc);
    if (w->doubts && !comes_again)
        nl_sim_shuffle_check_store(w, (uintptr_t)at, size, kind);
    return comes_again;
}

static int check_memory_access(void *at, unsigned long long size, unsigned kind, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (w->profile)
        return nl_sim_profile_count_access(w, (uintptr_t)at, size, kind, pc);
    return check_access(w, at, size, kind, pc);
}

static void check_copy(void *to, const void *from, unsigned long long size, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->job->check->profile) {
        nl_sim_check_copy(to, from, size, pc);
        return;
    }
    nl_sim_profile_count_copy(w, (uintptr_t)to, (uintptr_t)from, size, pc);
    memmove(to, from, size);
}

static int check_phase_step(const nl_sim_phase *what, const void *pc) {
    return nl_sim_worker_current->job->check->profile ? what->is_over
                                                      : nl_sim_phasestep_execute(what, pc);
}

/* Counts an asynchronous copy as a load and a store of the thread that starts it. */
static void check_async_copy_step(const nl_sim_copying *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!w->job->check->profile)
        nl_sim_asynccopy_execute_step(what, pc);
    else if (what->step == NL_SIM_COPY_BEGIN)
        nl_sim_profile_count_copy(w, (uintptr_t)what->to, (uintptr_t)what->from, (size_t)what->size,
                                  pc);
}

void nl_sim_observer_install(void) {
    nl_sim_checker *s = &nl_sim_shadow;
    s->access = check_memory_access;
    s->copy = check_copy;
    s->fill = nl_sim_check_fill;
    s->shared = nl_sim_arena_shared_address;
    s->index = nl_sim_check_index;
    s->subscript = nl_sim_check_subscript;
    s->misaligned = nl_sim_check_misaligned;
    s->fence = nl_sim_racereport_record_fence;
    s->preempt = nl_sim_racereport_run_other_threads;
    s->arithmetic = nl_sim_arithmetic_check;
    s->name = nl_sim_named_register;
    s->unname = nl_sim_named_unregister;
    s->unset = nl_sim_check_report_unset;
    s->copying = check_async_copy_step;
    s->phase = check_phase_step;
    s->loop = nl_sim_profile_count_loop;
    s->counting = nl_sim_profile_counting_offset();
}
