/* sim/engine/block: the scheduler.
 *
 * A block starts as a loop on the worker's root fiber, and the same fiber goes on with the next
 * block. If a thread calls an operation that can wait, the loop becomes that thread's fiber, the
 * threads after it become ready, and from then on whoever must wait switches straight to the next
 * ready thread; there is no scheduler fiber in between. A kernel that did this once starts its
 * later blocks as fibers. Threads start lazily: the first runs until it waits, then the second
 * starts, and one that ends without ever waiting leaves its stack to the next, without a switch. */
#include "sim/engine/block.h"

#include <string.h>
#include "base/lock.h"
#include "sim/engine/fault.h"
#include "sim/engine/grid.h"
#include "sim/engine/observer.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/trampoline.h"
#include "sim/engine/interleave.h"
#include "sim/engine/warp.h"

_Noreturn void nl_sim_block_leave(nl_sim_worker *w, nl_sim_leave reason) {
    w->leave = reason;
    nl_fiber_leave(&w->main);
}

enum {
    /* A thread's turns while nothing happens in its block, until other blocks get one. */
    PATIENT_YIELDS = 4,
    PATIENT_SLICES = 256,
    FICKLE_SLICES =
        32, /* where the order is shuffled: after one in at most so many they do anyway */
};

/* One of the bits that are set. */
static unsigned pick_bit(nl_sim_worker *w, uint32_t bits) {
    for (uint64_t n = nl_sim_interleave_random(w->job, (uint64_t)__builtin_popcount(bits)); n; n--)
        bits &= bits - 1;
    return (unsigned)__builtin_ctz(bits);
}

/* Barriers */

static void release_barrier(nl_sim_worker *w) {
    nl_sim_barrier *b = &w->barrier;
    if (b->mixed)
        nl_sim_fault_stuck(w);
    switch ((nl_sim_block_op)b->op) {
    case NL_SIM_BARRIER:
    case NL_SIM_BARRIER_COUNT:
        b->result = (int)b->count;
        break;
    case NL_SIM_BARRIER_AND:
        b->result = b->count == b->arrived;
        break;
    case NL_SIM_BARRIER_OR:
        b->result = b->count != 0;
        break;
    }
    b->arrived = 0;
    if (w->observer)
        w->observer->barrier(w);
    for (unsigned i = 0; i < w->warps; i++) {
        nl_sim_wake(w, i, w->warp[i].barrier);
        w->warp[i].barrier = 0;
    }
}

static int same_site(nl_sim_site a, nl_sim_site b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

NL_SIM_INLINE void note_arrival(nl_sim_worker *w, nl_sim_block_op op, int value, unsigned thread,
                                nl_sim_site site) {
    nl_sim_thread *t = &w->thread[thread];
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    w->barrier.count += value != 0;
    w->barrier.arrived++;
    t->site = site;
    t->wait = (uint8_t)(NL_SIM_WAIT_BLOCK + op);
    warp->barrier |= nl_sim_lane_bit(thread);
    warp->yielded &= ~nl_sim_lane_bit(thread);
}

/* Returns whether `thread` has to wait for others. */
NL_SIM_INLINE int arrive(nl_sim_worker *w, nl_sim_block_op op, int value, unsigned thread,
                         nl_sim_site site) {
    nl_sim_barrier *b = &w->barrier;
    if (b->arrived == 0) {
        b->op = (int)op;
        b->site = site;
        b->count = 0;
        b->mixed = 0;
    } else if (b->op != (int)op || !same_site(b->site, site)) {
        b->mixed = 1;
    }
    note_arrival(w, op, value, thread, site);
    if (b->arrived < w->live)
        return 1;
    release_barrier(w);
    /* the last to arrive goes on at once */
    (void)nl_sim_take_ready(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    w->thread[thread].wait = NL_SIM_WAIT_NONE;
    return 0;
}

#ifdef NL_SIM_TRAMPOLINES
static __attribute__((noinline)) void *
arrive_in_general(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site, void *sp) {
    nl_sim_worker *w = nl_sim_enter(thread);
    if (!arrive(w, op, value, thread, site))
        return NULL;
    unsigned next = nl_sim_pick(w, thread);
    nl_sim_resume(w, next);
    if (next == thread)
        return NULL;
    w->thread[thread].fiber.sp = sp;
    return w->thread[next].fiber.sp;
}

/* Most often others have come to the same barrier, and the next lane can run or start: without a
 * call, so that nothing has to be saved. */
void *nl_sim_block_arrive(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site,
                          void *sp) {
    nl_sim_worker *w = nl_sim_current;
    const nl_sim_barrier *b = &w->barrier;
    unsigned index = thread / NL_SIM_LANES;
    uint32_t later = w->warp[index].ready & nl_sim_above(thread % NL_SIM_LANES);
    if (__builtin_expect(!w->fibers || b->arrived == 0 || b->arrived + 1 >= w->live ||
                             b->op != (int)op || b->site.file != site.file ||
                             b->site.line != site.line || later == 0 || w->active_waiting != 0 ||
                             w->stacks.free_count == 0,
                         0))
        return arrive_in_general(op, value, thread, site, sp);
    note_arrival(w, op, value, thread, site);
    unsigned next = nl_sim_take_ready(w, index, later);
    nl_sim_thread *t = &w->thread[next];
    w->current = next;
    t->wait = NL_SIM_WAIT_NONE;
    w->thread[thread].fiber.sp = sp;
    if (!t->fiber.sp) {
        t->stack = w->stacks.free[--w->stacks.free_count];
        nl_fiber_prepare(&t->fiber, &w->stacks.all[t->stack], w->thread_entry, w);
    }
    return t->fiber.sp;
}
#else
int nl_sim_block_barrier(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter(thread);
    if (arrive(w, op, value, thread, site)) {
        nl_sim_suspend(w, thread);
        w->thread[thread].wait = NL_SIM_WAIT_NONE;
    }
    return w->barrier.result;
}
#endif

/* All live threads of the block are at the grid's barrier: wait for the other blocks. */
static void cross_grid_barrier(nl_sim_worker *w) {
    if (w->observer)
        w->observer->grid_barrier(w);
    if (nl_sim_job_arrive(w->job, w, w->grid_site) < 0)
        nl_sim_fault_stopped(w);
    w->grid_waiting = 0;
    for (unsigned i = 0; i < w->warps; i++) {
        nl_sim_wake(w, i, w->warp[i].grid);
        w->warp[i].grid = 0;
    }
}

void nl_sim_block_grid_barrier(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter(thread);
    if (!w->job->launch.cooperative)
        nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_FAILED, 0,
                           "a barrier over the whole grid needs a cooperative launch", thread,
                           site);
    nl_sim_thread *t = &w->thread[thread];
    t->site = site;
    t->wait = NL_SIM_WAIT_GRID;
    w->grid_site = site;
    w->warp[thread / NL_SIM_LANES].grid |= nl_sim_lane_bit(thread);
    if (++w->grid_waiting < w->live) {
        nl_sim_suspend(w, thread);
    } else {
        cross_grid_barrier(w);
        (void)nl_sim_take_ready(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    }
    t->wait = NL_SIM_WAIT_NONE;
}

/* Who runs when the order is shuffled: any that can. */
unsigned nl_sim_block_pick_any(nl_sim_worker *w) {
    if (w->active_waiting > w->shuffled)
        nl_sim_warp_complete_active(w);
    if (!w->ready_warps)
        nl_sim_fault_stuck(w);
    unsigned warp = pick_bit(w, w->ready_warps);
    return nl_sim_take_ready(w, warp, 1u << pick_bit(w, w->warp[warp].ready));
}

/* Other blocks get a turn. */
static void let_blocks_run(nl_sim_worker *w, int needed) {
    nl_sim_interleave_pass(w, needed);
    if (nl_sim_job_stopped(w->job))
        nl_sim_fault_stopped(w);
}

/* The same once this block's threads have had `most` turns each to no avail. */
static void consider_others(nl_sim_worker *w, unsigned *count, unsigned most) {
    if (!w->job->interleaver || ++*count < most * w->live)
        return;
    *count = 0;
    let_blocks_run(w, 1);
}

/* The thread that follows in a loop over all that can run: the others of its warp may be waiting
 * for another warp. */
static unsigned pick_in_turn(nl_sim_worker *w, unsigned thread) {
    unsigned warp = thread / NL_SIM_LANES;
    if (w->active_waiting)
        nl_sim_warp_complete_active(w);
    uint32_t later = w->warp[warp].ready & nl_sim_above(thread % NL_SIM_LANES);
    if (later)
        return nl_sim_take_ready(w, warp, later);
    uint32_t warps = w->ready_warps & nl_sim_above(warp);
    if (!warps) {
        warps = w->ready_warps;
        if (!w->job->interleaver)
            nl_thread_yield(); /* once around: perhaps another block has to do something first */
    }
    warp = (unsigned)__builtin_ctz(warps);
    return nl_sim_take_ready(w, warp, w->warp[warp].ready);
}

void nl_sim_block_preempt(nl_sim_worker *w) {
    unsigned thread = w->current;
    nl_sim_thread *t = &w->thread[thread];
    t->site = (nl_sim_site){NULL, 0};
    t->wait = NL_SIM_WAIT_TURN;
    if (nl_sim_job_stopped(w->job))
        nl_sim_fault_stopped(w);
    unsigned fickle = w->live < FICKLE_SLICES ? w->live + 1 : FICKLE_SLICES;
    if (w->at_atomic || (w->shuffled && nl_sim_interleave_random(w->job, fickle) == 0)) {
        w->at_atomic = 0;
        let_blocks_run(w, 0);
    }
    consider_others(w, &w->slices, PATIENT_SLICES);
    nl_sim_wake(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    nl_sim_switch_to(w, thread, w->shuffled ? nl_sim_block_pick_any(w) : pick_in_turn(w, thread));
    t->wait = NL_SIM_WAIT_NONE;
}

void nl_sim_block_yield(unsigned thread, nl_sim_site site) {
    nl_sim_worker *w = nl_sim_enter(thread);
    nl_sim_thread *t = &w->thread[thread];
    unsigned warp = thread / NL_SIM_LANES;
    t->site = site;
    t->wait = NL_SIM_WAIT_SPIN;
    if (nl_sim_job_stopped(w->job))
        nl_sim_fault_stopped(w);
    consider_others(w, &w->yields, PATIENT_YIELDS);
    w->warp[warp].yielded |= nl_sim_lane_bit(thread);
    nl_sim_wake(w, warp, nl_sim_lane_bit(thread));
    nl_sim_switch_to(w, thread, w->shuffled ? nl_sim_block_pick_any(w) : pick_in_turn(w, thread));
    t->wait = NL_SIM_WAIT_NONE;
}

/* Ends of threads */

NL_SIM_INLINE void end_lane(nl_sim_worker *w, unsigned thread) {
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    warp->live &= ~nl_sim_lane_bit(thread);
    warp->yielded &= ~nl_sim_lane_bit(thread);
    w->live--;
}

/* A thread has ended: what was only waiting for it goes on. Returns the thread to run next. */
NL_SIM_INLINE unsigned retire(nl_sim_worker *w, unsigned thread) {
    nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    end_lane(w, thread);
    if (w->live == 0) {
        nl_sim_stacks_give(&w->stacks, w->thread[thread].stack);
        nl_sim_block_leave(w, NL_SIM_DONE);
    }
    if (w->barrier.arrived == w->live)
        release_barrier(w);
    if (w->grid_waiting == w->live)
        cross_grid_barrier(w);
    if (warp->group_count)
        nl_sim_warp_complete(w, thread / NL_SIM_LANES);
    return nl_sim_pick(w, thread);
}

/* `next` runs after `ended`. Returns it if it is to be resumed, or NULL if it has not started: it
 * can run on the same stack. */
NL_SIM_INLINE nl_sim_thread *relieve(nl_sim_worker *w, unsigned ended, unsigned next) {
    nl_sim_thread *t = &w->thread[next];
    w->current = next;
    t->wait = NL_SIM_WAIT_NONE;
    if (t->fiber.sp) {
        const char *ahead = t[1].fiber.sp; /* most likely the next: its stack is cold */
        if (ahead) {
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
            __builtin_prefetch(ahead + 128);
        }
        nl_sim_stacks_give(&w->stacks, w->thread[ended].stack);
        return t;
    }
    t->fiber = w->thread[ended].fiber;
    t->stack = w->thread[ended].stack;
    return NULL;
}

/* The running thread's function has returned: who is next? As above. */
NL_SIM_INLINE nl_sim_thread *follow(nl_sim_worker *w) {
    unsigned ended = w->current;
    return relieve(w, ended, retire(w, ended));
}

/* The same; returns if the next thread is to be called, else leaves. */
NL_SIM_INLINE void go_on(nl_sim_worker *w) {
    nl_sim_thread *next = follow(w);
    if (next)
        nl_fiber_leave(&next->fiber);
}

NL_SIM_INLINE void run_threads(nl_sim_worker *w) {
    for (;;) {
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
        go_on(w);
    }
}

#ifdef NL_SIM_TRAMPOLINES
void nl_sim_block_run_current(nl_sim_worker *w, void *unused) {
    (void)unused;
    w->kernel->run_thread(&w->job->launch, w->index, w->current);
}

NL_SIM_INLINE nl_sim_next way_to(const nl_sim_thread *next) {
    if (next)
        return (nl_sim_next){nl_sim_trampoline_resume, next->fiber.sp};
    return (nl_sim_next){nl_sim_block_run_current, NULL};
}

static __attribute__((noinline)) nl_sim_next next_in_general(nl_sim_worker *w) {
    return way_to(follow(w));
}

/* Most often nobody has waited for a thread's end, and the next lane can run: without a call, as
 * above. */
nl_sim_next nl_sim_block_next(nl_sim_worker *w) {
    unsigned ended = w->current, index = ended / NL_SIM_LANES, live = w->live - 1;
    nl_sim_warp *warp = &w->warp[index];
    uint32_t later = warp->ready & nl_sim_above(ended % NL_SIM_LANES);
    if (__builtin_expect(live == 0 || live == w->barrier.arrived || live == w->grid_waiting ||
                             warp->group_count != 0 || w->active_waiting != 0 || later == 0,
                         0))
        return next_in_general(w);
    end_lane(w, ended);
    return way_to(relieve(w, ended, nl_sim_take_ready(w, index, later)));
}
#else
static void nl_sim_trampoline_threads(void *argument) {
    nl_fiber_entered();
    run_threads(argument);
}
#endif

/* The same where somebody hears of every end of a thread. */
static void observed_thread_entry(void *argument) {
    nl_sim_worker *w = argument;
    nl_fiber_entered();
    for (;;) {
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
        w->observer->end_thread(w, w->current);
        go_on(w);
    }
}

void nl_sim_block_lacks_stack(nl_sim_worker *w, unsigned thread) {
    nl_sim_fault_raise(w, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0,
                       "no memory for the stacks of the block's threads", thread,
                       (nl_sim_site){NULL, 0});
}

void nl_sim_block_exit_thread(unsigned thread) {
    nl_sim_worker *w = nl_sim_current;
    if (!w->fibers) {
        w->current = thread;
        nl_sim_block_leave(w, NL_SIM_EXIT);
    }
    if (w->observer)
        w->observer->end_thread(w, thread);
    unsigned next = retire(w, thread);
    w->current = next;
    if (!w->thread[next].fiber.sp)
        nl_sim_start(w, next);
    nl_sim_stacks_give(&w->stacks, w->thread[thread].stack);
    nl_fiber_leave(&w->thread[next].fiber);
}

/* Blocks */

static void enter_block(nl_sim_worker *w) {
    if (w->kernel->enter_block)
        w->kernel->enter_block(&w->job->launch, w->index);
}

/* Threads `first` and later are live and ready; none has started. */
static void begin_fibers(nl_sim_worker *w, unsigned first) {
    w->fibers = 1;
    w->live = w->threads - first;
    w->ready_warps = 0;
    w->grid_waiting = w->yields = w->slices = w->slice = w->at_atomic = 0;
    w->active_waiting = w->shuffled;
    w->barrier.arrived = 0;
    for (unsigned i = 0; i < w->warps; i++) {
        unsigned low = i * NL_SIM_LANES, count = w->threads - low;
        uint32_t lanes = count < NL_SIM_LANES ? (1u << count) - 1 : UINT32_MAX;
        if (first > low)
            lanes = first - low >= NL_SIM_LANES ? 0 : lanes & (UINT32_MAX << (first - low));
        nl_sim_warp *warp = &w->warp[i];
        warp->live = lanes;
        warp->ready = 0;
        warp->barrier = warp->grid = warp->active = warp->yielded = 0;
        warp->group_count = warp->alone = 0;
        nl_sim_wake(w, i, lanes);
    }
    for (unsigned i = first; i < w->threads; i++) {
        w->thread[i].fiber.sp = NULL;
        w->thread[i].wait = NL_SIM_WAIT_NONE;
        w->thread[i].worked = 0;
        w->thread[i].pc = NULL;
        w->thread[i].touched = 0;
        w->thread[i].named = NULL;
    }
}

void nl_sim_block_convert(nl_sim_worker *w, unsigned thread) {
    if (w->replaying)
        nl_sim_block_leave(w, NL_SIM_REPLAYED);
    nl_sim_job_set_synchronises(w->job);
    begin_fibers(w, thread);
    (void)nl_sim_take_ready(w, thread / NL_SIM_LANES, nl_sim_lane_bit(thread));
    w->current = thread;
    w->thread[thread].fiber = w->root;
    w->thread[thread].stack = w->root_stack;
}

/* Steps to the next block taken; 0 if there is none or the grid has stopped. */
static int advance(nl_sim_worker *w) {
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
    return !nl_sim_job_stopped(w->job);
}

static void loop_entry(void *argument) {
    nl_sim_worker *w = argument;
    nl_fiber_entered();
    do {
        w->kernel->run_block(&w->job->launch, w->index, w->first);
        if (w->fibers) {
            go_on(w);
            run_threads(w);
        }
    } while (advance(w));
    nl_sim_stacks_give(&w->stacks, w->root_stack);
    nl_sim_block_leave(w, NL_SIM_DONE);
}

/* From the worker's own stack into the block, until something comes back. */
static void enter(nl_sim_worker *w, nl_fiber *fiber) {
    w->inside = 1;
    nl_fiber_call(&w->main, fiber);
    w->inside = 0;
}

/* Prepares the root fiber; 0, or -1 without memory. */
static int prepare_root(nl_sim_worker *w, void (*entry)(void *)) {
    int stack = nl_sim_stacks_take(&w->stacks);
    if (stack < 0) {
        nl_sim_job_fail(w->job, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                        "no memory for the stacks of the block's threads");
        return -1;
    }
    w->root_stack = (uint16_t)stack;
    nl_fiber_prepare(&w->root, &w->stacks.all[stack], entry, w);
    return 0;
}

/* Which thread of a loop was it that trapped? The loop cannot tell, so the block's threads are run
 * again one at a time until one traps. (What the block writes twice belongs to an abandoned grid.)
 * Returns the thread, or -1 if none trapped this time. */
static void replay_entry(void *argument) {
    nl_sim_worker *w = argument;
    nl_fiber_entered();
    enter_block(w);
    for (; w->current < w->threads; w->current++)
        w->kernel->run_thread(&w->job->launch, w->index, w->current);
    nl_sim_block_leave(w, NL_SIM_DONE);
}

static int replay(nl_sim_worker *w) {
    nl_sim_trap trap = w->trap;
    int found = -1;
    w->replaying = 1;
    for (w->current = w->first; found < 0 && w->current < w->threads; w->current++) {
        nl_sim_stacks_reset(&w->stacks);
        if (prepare_root(w, replay_entry) < 0)
            break;
        enter(w, &w->root);
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

/* Runs the block at worker->next, or in a loop as many as were taken. Returns 0 when the worker
 * should stop. */
static int step(nl_sim_worker *w) {
    w->leave = NL_SIM_DONE;
    w->fibers = 0;
    if (w->observer && w->observer->begin_block(w) < 0)
        return 0;
    if (w->first == 0 && (nl_sim_job_synchronises(w->job) || w->job->interleaver)) {
        enter_block(w);
        begin_fibers(w, 0);
        w->current = w->shuffled ? nl_sim_block_pick_any(w) : nl_sim_take_ready(w, 0, 1);
        nl_sim_thread *t = &w->thread[w->current];
        int stack = nl_sim_stacks_take(&w->stacks);
        if (stack < 0)
            return prepare_root(w, loop_entry); /* says so */
        t->stack = (uint16_t)stack;
        nl_fiber_prepare(&t->fiber, &w->stacks.all[stack], w->thread_entry, w);
        enter(w, &t->fiber);
        if (w->observer)
            w->observer->end_block(w);
    } else {
        if (prepare_root(w, loop_entry) < 0)
            return 0;
        enter(w, &w->root);
    }
    switch (w->leave) {
    case NL_SIM_DONE:
        return w->next >= w->end ? 0 : advance(w);
    case NL_SIM_EXIT:
        nl_sim_stacks_give(&w->stacks, w->root_stack);
        w->first = w->current + 1;
        return w->first < w->threads ? 1 : advance(w);
    case NL_SIM_TRAP:
        nl_sim_fault_trapped(w, w->fibers                               ? (int)w->current
                                : w->trap.signal == NL_SIM_WATCH_SIGNAL ? -1
                                                                        : replay(w));
        break;
    default:
        break;
    }
    nl_sim_stacks_reset(&w->stacks);
    return 0;
}

void nl_sim_block_run(nl_sim_worker *w, nl_sim_job *job) {
    const nl_sim_launch *launch = &job->launch;
    w->kernel = job->kernel;
    w->threads = launch->block.x * launch->block.y * launch->block.z;
    w->warps = (w->threads + NL_SIM_LANES - 1) / NL_SIM_LANES;
    w->shared = w->shared_end - (launch->shared_bytes + 127) / 128 * 128;
    nl_sim_stacks_resize(&w->stacks, job->stack_size);
    nl_fiber_adopt_thread(&w->main);
    nl_sim_fault_scope scope;
    nl_sim_fault_enter(w, &scope);
    w->chunk = 1;
    w->observer = job->observer;
    w->shuffled = job->interleaver && job->shuffled;
    w->thread_entry = w->observer ? observed_thread_entry : nl_sim_trampoline_threads;
    if (w->observer)
        w->observer->enter(w);
    while (nl_sim_job_take(job, w)) {
        uint64_t block = nl_sim_interleave_block(job, w->next), row = block / launch->grid.x;
        w->index.x = (unsigned)(block % launch->grid.x);
        w->index.y = (unsigned)(row % launch->grid.y);
        w->index.z = (unsigned)(row / launch->grid.y);
        w->first = 0;
        while (step(w))
            ;
        nl_sim_job_block_ended(job, w);
    }
    if (w->observer)
        w->observer->leave(w);
    nl_sim_fault_leave(&scope);
}
