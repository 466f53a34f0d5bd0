/* sim/engine/block: runs a block as a loop over its threads, or with a fiber for each thread
 * (scheduler.h). Control returns to this file when the block has ended or an error has occurred. */
#include "sim/engine/block.h"

#include "sim/engine/cluster.h"
#include "sim/engine/fault.h"
#include "sim/engine/gridbarrier.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/observer.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/signal.h"
#include "sim/engine/thread.h"
#include "sim/engine/trap.h"

static void call_enter_block(nl_sim_worker *w) {
    if (w->kernel->enter_block)
        w->kernel->enter_block(&w->job->launch, w->index);
}

/* Moves to the worker's next block; returns 0 if the worker has no more blocks or the grid was
 * stopped. */
static int advance_to_block(nl_sim_worker *w) {
    const nl_sim_dim *grid = &w->job->launch.grid;
    w->first = 0;
    if (++w->next >= w->end)
        return 0;
    if (++w->index.x == grid->x) {
        w->index.x = 0;
        if (++w->index.y == grid->y) {
            w->index.y = 0;
            w->index.z++;
        }
    }
    return !nl_sim_job_is_stopped(w->job);
}

static void run_threads_as_loop(void *argument) {
    nl_sim_worker *w = argument;
    nl_sim_fiber_entered();
    do {
        w->kernel->run_block(&w->job->launch, w->index, w->first);
        if (w->fibers)
            nl_sim_thread_ended(w);
    } while (advance_to_block(w));
    nl_sim_stacks_release(&w->stacks, w->root_stack);
    nl_sim_worker_leave_block(w, NL_SIM_DONE);
}

/* Switches from the worker's own stack to the block, until the block switches back. */
static void switch_to_block(nl_sim_worker *w, nl_sim_fiber *fiber) {
    w->inside = 1;
    nl_sim_fiber_call(&w->main, fiber);
    w->inside = 0;
}

/* Prepares the root fiber of a block. Returns 0, or -1 if memory runs out; the job then has a
 * fault. */
static int prepare_root_fiber(nl_sim_worker *w, void (*entry)(void *)) {
    int stack = nl_sim_stacks_acquire(&w->stacks);
    if (stack < 0) {
        nl_sim_fault_fail_job(w->job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                              "not enough memory for the stacks of the block's threads");
        return -1;
    }
    w->root_stack = (uint16_t)stack;
    nl_sim_fiber_prepare(&w->root, &w->stacks.all[stack], entry, w);
    return 0;
}

/* Finds the thread that trapped while the block's threads ran as a loop. The loop does not record
 * its position, so the threads are run again one at a time until one traps. The repeated writes are
 * harmless, because the grid has failed already. replay returns the thread, or -1 if no thread
 * trapped this time. */
static void replay_threads(void *argument) {
    nl_sim_worker *w = argument;
    nl_sim_fiber_entered();
    call_enter_block(w);
    for (; w->current < w->threads; w->current++)
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
    nl_sim_worker_leave_block(w, NL_SIM_DONE);
}

static int replay_block(nl_sim_worker *w) {
    nl_sim_trap trap = w->trap;
    int found = -1;
    w->replaying = 1;
    for (w->current = w->first; found < 0 && w->current < w->threads; w->current++) {
        nl_sim_stacks_reset(&w->stacks);
        if (prepare_root_fiber(w, replay_threads) < 0)
            break;
        switch_to_block(w, &w->root);
        if (w->leave == NL_SIM_TRAP) {
            found = (int)w->current;
            trap = w->trap;
        } else if (w->leave == NL_SIM_DONE) {
            break;
        }
    }
    w->replaying = 0;
    w->trap = trap;
    return found;
}

static unsigned first_thread(nl_sim_worker *w) {
    if (w->job->schedule)
        nl_sim_interleave_begin_block(
            w, w->index.x + (uint64_t)w->job->launch.grid.x *
                                (w->index.y + (uint64_t)w->job->launch.grid.y * w->index.z));
    if (w->shuffled)
        return nl_sim_scheduler_pick_random_thread(w);
    int chosen = nl_sim_scheduler_take_scheduled_thread(w);
    return chosen >= 0 ? (unsigned)chosen : nl_sim_take_ready_lane(w, 0, 1);
}

/* Runs the block worker->next. If the block's threads need no stacks, also runs all other blocks
 * that the worker has reserved. Returns 0 when the worker must stop. */
static int run_next_block(nl_sim_worker *w) {
    w->leave = NL_SIM_DONE;
    w->fibers = 0;
    if (w->observer && w->observer->begin_block(w) < 0)
        return 0;
    if (w->first == 0 && (nl_sim_job_synchronises(w->job) || w->job->interleaver || w->cluster)) {
        call_enter_block(w);
        nl_sim_scheduler_begin(w, 0);
        w->current = first_thread(w);
        nl_sim_thread *t = &w->thread[w->current];
        int stack = nl_sim_stacks_acquire(&w->stacks);
        if (stack < 0)
            /* this call also fails, and reports that memory has run out */
            return prepare_root_fiber(w, run_threads_as_loop);
        t->stack = (uint16_t)stack;
        nl_sim_fiber_prepare(&t->fiber, &w->stacks.all[stack], w->thread_entry, w);
        switch_to_block(w, &t->fiber);
        if (w->observer)
            w->observer->end_block(w);
    } else {
        if (prepare_root_fiber(w, run_threads_as_loop) < 0)
            return 0;
        switch_to_block(w, &w->root);
    }
    switch (w->leave) {
    case NL_SIM_DONE:
        return w->next >= w->end ? 0 : advance_to_block(w);
    case NL_SIM_EXIT:
        nl_sim_stacks_release(&w->stacks, w->root_stack);
        w->first = w->current + 1;
        return w->first < w->threads ? 1 : advance_to_block(w);
    case NL_SIM_TRAP:
        nl_sim_trap_record(w, w->fibers                               ? (int)w->current
                              : w->trap.signal == NL_SIM_WATCH_SIGNAL ? -1
                                                                      : replay_block(w));
        break;
    default:
        break;
    }
    nl_sim_stacks_reset(&w->stacks);
    return 0;
}

/* Runs the n-th block of a launch with clusters. */
static void run_block_of_cluster(nl_sim_worker *w, uint64_t n) {
    w->index = nl_sim_cluster_block_index(&w->job->launch, n);
    if (nl_sim_cluster_begin_block(w, n) == 0)
        (void)run_next_block(w);
    nl_sim_cluster_end_block(w);
}

void nl_sim_block_run(nl_sim_worker *w, nl_sim_job *job) {
    const nl_sim_launch *launch = &job->launch;
    w->kernel = job->kernel;
    w->threads = launch->block.x * launch->block.y * launch->block.z;
    w->warps = (w->threads + NL_SIM_LANES - 1) / NL_SIM_LANES;
    w->shared = w->shared_end - (launch->shared_bytes + 127) / 128 * 128;
    nl_sim_stacks_resize(&w->stacks, job->stack_size);
    nl_sim_fiber_adopt_thread(&w->main);
    nl_sim_signal_scope scope;
    nl_sim_signal_begin_kernel(w, &scope);
    w->chunk = 1;
    w->taken = 0;
    w->observer = job->observer;
    w->shuffled = job->interleaver && job->shuffled;
    w->thread_entry =
        w->observer || job->clusters ? nl_sim_thread_entry_observed : nl_sim_thread_entry;
    if (w->observer)
        w->observer->enter(w);
    while (nl_sim_job_next_blocks(job, w)) {
        uint64_t block = nl_sim_interleave_nth_block(job, w->next), row = block / launch->grid.x;
        w->index.x = (unsigned)(block % launch->grid.x);
        w->index.y = (unsigned)(row % launch->grid.y);
        w->index.z = (unsigned)(row / launch->grid.y);
        w->first = 0;
        if (job->clusters) {
            run_block_of_cluster(w, block);
        } else {
            while (run_next_block(w))
                ;
        }
        nl_sim_gridbarrier_block_ended(w);
    }
    if (w->observer)
        w->observer->leave(w);
    if (w->fibers)
        nl_sim_stacks_trim(&w->stacks);
    nl_sim_signal_end_kernel(&scope);
}
