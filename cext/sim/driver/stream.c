/* sim/driver/stream: schedules the operations of all streams.
 *
 * A stream is idle (nothing queued), blocked (its first operation must wait for another stream),
 * ready, or running. Ready streams are in a list sorted by priority. Scheduler threads remove
 * streams from the list and run them until they are empty. There are as many scheduler threads as
 * the maximum number of simultaneously ready streams so far. A thread that waits for a stream also
 * removes it from the list and runs it: for a launch followed by a wait, this saves two thread
 * switches. Blocked streams are checked again after each operation. */
#include "sim/driver/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/lock.h"
#include "sim/driver/capture.h"
#include "sim/driver/lasterror.h"
#include "sim/driver/streamclock.h"
#include "sim/engine/fault.h"
#include "sim/engine/job.h"
#include "sim/engine/signal.h"
#include "sim/engine/watch.h"

enum { IDLE, BLOCKED, READY, RUNNING };
enum { MAX_THREADS = 1024, EXIT_WAIT_MS = 500, AGAIN_NS = 5000000 };

static struct {
    nl_cond work, done;
    nl_sim_stream *ready, *blocked;
    unsigned ready_count, threads, idle, waiting, running;
    uint64_t issued; /* number of operations issued to all streams, ever */
    int exiting;
    char stopped[1000]; /* message about the launches that the last interrupt stopped */
} sched = {.work = NL_COND_INIT, .done = NL_COND_INIT};

/* References */

void nl_sim_stream_release_lock_held(nl_sim_stream *stream) {
    if (--stream->references)
        return;
    free(stream->fault.fault);
    free(stream);
}

nl_sim_stream *nl_sim_stream_create(nl_sim_context *context, unsigned flags, int priority) {
    nl_sim_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->references = 1;
    nl_sim_streams_lock();
    stream->next = context->streams;
    context->streams = stream;
    nl_sim_streamclock_assign_index(stream);
    nl_sim_streams_unlock();
    return stream;
}

/* Removes a closed stream without operations from its context. */
static void free_closed_stream_lock_held(nl_sim_stream *stream) {
    nl_sim_stream **p = &stream->context->streams;
    while (*p && *p != stream)
        p = &(*p)->next;
    if (!*p)
        return;
    *p = stream->next;
    nl_sim_streamclock_release_index(stream);
    if (stream->fault.status && !stream->context->fault.status) {
        stream->context->fault = stream->fault;
        stream->fault = (nl_sim_pending){.status = CUDA_SUCCESS};
    }
    nl_sim_stream_release_lock_held(stream);
}

void nl_sim_stream_close(nl_sim_stream *stream) {
    nl_sim_streams_lock();
    stream->closed = 1;
    nl_sim_capture_remove_stream_lock_held(stream);
    if (stream->state == IDLE)
        free_closed_stream_lock_held(stream);
    nl_sim_streams_unlock();
}

/* Order of operations */

int nl_sim_stream_add_dependency(nl_sim_op *op, nl_sim_stream *stream, uint64_t ticket) {
    if (!op->after) {
        op->after = op->after_few;
        op->after_capacity = sizeof op->after_few / sizeof op->after_few[0];
    }
    if (op->after_count == op->after_capacity) {
        unsigned capacity = op->after_capacity * 4;
        nl_sim_after *more = malloc(capacity * sizeof *more);
        if (!more)
            return -1;
        memcpy(more, op->after, op->after_count * sizeof *more);
        if (op->after != op->after_few)
            free(op->after);
        op->after = more;
        op->after_capacity = capacity;
    }
    stream->references++;
    op->after[op->after_count++] = (nl_sim_after){stream, ticket};
    return 0;
}

/* Orders `op` after the operations that the rule for the default stream and blocking streams
 * requires. If there is no memory for the list of dependencies, waits for these operations
 * instead. */
static void add_legacy_lock_held(nl_sim_stream *stream, nl_sim_op *op) {
    nl_sim_stream *legacy = stream->context->legacy;
    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return;
    if (stream != legacy) {
        if (legacy->issued != legacy->done &&
            nl_sim_stream_add_dependency(op, legacy, legacy->issued) < 0)
            nl_sim_stream_wait_ticket_lock_held(legacy, legacy->issued);
        return;
    }
    for (nl_sim_stream *s = stream->context->streams; s; s = s->next) {
        if (s != legacy && !(s->flags & CU_STREAM_NON_BLOCKING) && s->issued != s->done &&
            nl_sim_stream_add_dependency(op, s, s->issued) < 0)
            nl_sim_stream_wait_ticket_lock_held(s, s->issued);
    }
}

static nl_sim_after *find_unmet_dependency(nl_sim_op *op) {
    for (unsigned i = 0; i < op->after_count; i++) {
        if (op->after[i].stream->done < op->after[i].ticket)
            return &op->after[i];
    }
    return NULL;
}

static void free_operation(nl_sim_op *op) {
    for (unsigned i = 0; i < op->after_count; i++)
        nl_sim_stream_release_lock_held(op->after[i].stream);
    if (op->after != op->after_few)
        free(op->after);
    if (op->drop)
        op->drop(op);
    free(op->overlap);
    free(op);
}

/* Lists */

static void unlink_stream(nl_sim_stream **list, nl_sim_stream *stream) {
    while (*list != stream)
        list = &(*list)->next_queued;
    *list = stream->next_queued;
}

static void *scheduler_thread(void *unused);

static void add_ready_stream_lock_held(nl_sim_stream *stream) {
    nl_sim_stream **p = &sched.ready;
    while (*p && (*p)->priority <= stream->priority)
        p = &(*p)->next_queued;
    stream->next_queued = *p;
    *p = stream;
    stream->state = READY;
    sched.ready_count++;
    if (sched.ready_count > sched.idle && sched.threads < MAX_THREADS) {
        nl_thread thread;
        nl_error err;
        if (nl_thread_start(&thread, scheduler_thread, NULL, 0, &err) == 0) {
            nl_thread_detach(thread);
            sched.threads++;
        }
    } else {
        nl_cond_signal(&sched.work);
    }
}

static void remove_ready_stream_lock_held(nl_sim_stream *stream) {
    unlink_stream(&sched.ready, stream);
    sched.ready_count--;
}

/* Completes the first operation of a stream, which has run. */
static void complete_operation_lock_held(nl_sim_stream *stream) {
    nl_sim_op *op = stream->head;
    if (op->settle)
        op->settle(op, stream);
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->done++;
    free_operation(op);
    if (sched.waiting)
        nl_cond_broadcast(&sched.done);
}

/* Completes operations at the head of a stream that have no function to run. Returns 0 if the
 * stream is then idle or blocked; returns 1 if its first operation can run: the caller must set the
 * state. */
static int complete_empty_operations_lock_held(nl_sim_stream *stream) {
    for (;;) {
        nl_sim_op *op = stream->head;
        if (!op) {
            stream->state = IDLE;
            if (stream->closed)
                free_closed_stream_lock_held(stream);
            return 0;
        }
        if (find_unmet_dependency(op)) {
            stream->state = BLOCKED;
            stream->next_queued = sched.blocked;
            sched.blocked = stream;
            return 0;
        }
        if (op->run)
            return 1;
        complete_operation_lock_held(stream);
    }
}

/* Makes those blocked streams ready whose first operation can run; call it after an operation has
 * completed. */
static void unblock_streams_lock_held(void) {
    for (nl_sim_stream **p = &sched.blocked; *p;) {
        nl_sim_stream *stream = *p;
        if (find_unmet_dependency(stream->head)) {
            p = &stream->next_queued;
            continue;
        }
        *p = stream->next_queued;
        if (complete_empty_operations_lock_held(stream))
            add_ready_stream_lock_held(stream);
        /* restarts the search, because the completion may allow other blocked streams to
         * continue */
        p = &sched.blocked;
    }
}

/* Running */

static void fail_stream_lock_held(nl_sim_stream *stream, CUresult status, const nl_fault *fault) {
    static uint64_t faults;
    if (stream->done < stream->cancelled && !*sched.stopped)
        nl_fault_sentence(fault, sched.stopped, sizeof sched.stopped);
    if (stream->fault.status)
        return; /* only the first fault is reported */
    stream->fault = (nl_sim_pending){status, ++faults, malloc(sizeof *fault)};
    if (stream->fault.fault)
        *stream->fault.fault = *fault;
}

/* Initializes a fault that consists only of the given message. */
static const nl_fault *make_message_fault(nl_fault *fault, const char *what) {
    nl_fault_init(fault, 0, NL_FAULT_HEAD_NONE, "");
    nl_fault_set_text(fault, "%s", what);
    return fault;
}

/* Returns the kinds of operations that a waiting thread must not run: launches, if the thread can
 * be interrupted, because the thread must check for interrupts. If no scheduler thread could be
 * started, the waiting thread runs all kinds, because no other thread runs them. */
static unsigned excluded_kinds_lock_held(void) {
    if (sched.threads == 0)
        return 0;
    return NL_SIM_OP_HOST | (nl_interrupt_is_possible(1) ? NL_SIM_OP_LAUNCH : 0);
}

static void run_first_operation_lock_held(nl_sim_stream *stream) {
    nl_sim_op *op = stream->head;
    stream->state = RUNNING;
    if ((op->flags & NL_SIM_OP_LAUNCH) && stream->done < stream->cancelled) {
        nl_fault fault;
        fail_stream_lock_held(
            stream, CUDA_ERROR_LAUNCH_TIMEOUT,
            make_message_fault(
                &fault, "a launch after an interrupted launch of the same stream was cancelled"));
        return;
    }
    sched.running++;
    nl_sim_streams_unlock();
    op->run(op, stream);
    nl_sim_streams_lock();
    sched.running--;
}

/* Runs the operations of a stream whose first operation can run, until the stream is idle or
 * blocked. A waiting thread also stops when `ticket` of `goal` has run, or when the next operation
 * is for the scheduler threads. */
static void run_stream_lock_held(nl_sim_stream *stream, nl_sim_stream *goal, uint64_t ticket) {
    unsigned not_for_me = goal ? excluded_kinds_lock_held() : 0;
    stream->references++;
    do {
        if (goal && (goal->done >= ticket || (stream->head->flags & not_for_me))) {
            add_ready_stream_lock_held(stream);
            break;
        }
        run_first_operation_lock_held(stream);
        complete_operation_lock_held(stream);
        unblock_streams_lock_held();
    } while (complete_empty_operations_lock_held(stream) && !sched.exiting);
    unblock_streams_lock_held();
    nl_sim_stream_release_lock_held(stream);
}

static void *scheduler_thread(void *unused) {
    (void)unused;
    nl_sim_signal_block_others();
    nl_sim_streams_lock();
    for (;;) {
        nl_sim_stream *stream = sched.ready;
        if (!stream || sched.exiting) {
            sched.idle++;
            nl_cond_wait(&sched.work, &nl_sim_streams_mutex);
            sched.idle--;
            continue;
        }
        remove_ready_stream_lock_held(stream);
        run_stream_lock_held(stream, NULL, 0);
    }
    return NULL;
}

/* Returns `stream`, or a stream for which it waits, if the calling thread can run its first
 * operation now, or NULL if there is none. */
static nl_sim_stream *find_runnable_stream(nl_sim_stream *stream) {
    unsigned not_for_me = excluded_kinds_lock_held();
    for (int depth = 0; stream && depth < 16; depth++) {
        if (stream->state == READY)
            return stream->head->flags & not_for_me ? NULL : stream;
        if (stream->state != BLOCKED)
            return NULL;
        nl_sim_after *after = find_unmet_dependency(stream->head);
        stream = after ? after->stream : NULL;
    }
    return NULL;
}

static void cancel_operations_lock_held(nl_sim_stream *stream) {
    stream->cancelled = stream->issued;
}

static void stop_running_job_lock_held(nl_sim_stream *stream) {
    if (stream->job && stream->done < stream->cancelled)
        nl_sim_watch_stop_grid(stream->job, NL_SIM_INTERRUPTED);
}

static void visit_streams_lock_held(void (*act)(nl_sim_stream *stream)) {
    for (int i = 0; i < nl_sim_context_count(); i++) {
        for (nl_sim_stream *s = nl_sim_context_at(i)->streams; s; s = s->next)
            act(s);
    }
}

/* State of an interruptible wait. */
typedef struct patience {
    /* time of the next check for interrupts, or of the next attempt to stop launches, or 0 if not
     * yet set */
    uint64_t next;
    int interrupted;
} patience;

static void poll_interrupt_lock_held(patience *p) {
    nl_sim_streams_unlock();
    int asked = nl_interrupt_is_requested();
    nl_sim_streams_lock();
    if (asked) {
        *sched.stopped = '\0';
        visit_streams_lock_held(cancel_operations_lock_held);
    }
    p->interrupted |= asked;
}

/* Waits for the next completion of an operation. Checks for interrupts at intervals. After an
 * interrupt, stops the running launches and cancels later launches, so that the wait for these
 * launches ends. */
static void wait_for_completion_lock_held(patience *p) {
    uint64_t time = nl_clock_ns();
    if (p->next && time >= p->next) {
        poll_interrupt_lock_held(p);
        if (p->interrupted)
            visit_streams_lock_held(stop_running_job_lock_held);
        p->next = 0;
        return; /* the operation may have completed while the lock was released */
    }
    if (!p->next)
        p->next = time + (p->interrupted ? AGAIN_NS : NL_INTERRUPT_NS);
    sched.waiting++;
    nl_cond_wait_for(&sched.done, &nl_sim_streams_mutex, p->next - time);
    sched.waiting--;
}

void nl_sim_stream_wait_ticket_lock_held(nl_sim_stream *stream, uint64_t ticket) {
    int is_interruptible = nl_interrupt_is_possible(1);
    patience patience = {.interrupted = 0};
    stream->references++;
    while (stream->done < ticket && !sched.exiting) {
        nl_sim_stream *other = find_runnable_stream(stream);
        if (other) {
            remove_ready_stream_lock_held(other);
            run_stream_lock_held(other, stream, ticket);
        } else if (is_interruptible) {
            wait_for_completion_lock_held(&patience);
        } else {
            sched.waiting++;
            nl_cond_wait(&sched.done, &nl_sim_streams_mutex);
            sched.waiting--;
        }
    }
    if (patience.interrupted) {
        nl_sim_lasterror_record_interrupt();
        nl_interrupt_report(sched.stopped);
    }
    nl_sim_stream_release_lock_held(stream);
}

uint64_t nl_sim_stream_issue_lock_held(nl_sim_stream *stream, nl_sim_op *op) {
    if (stream->capture) {
        nl_sim_capture_add_op_lock_held(stream, op);
        return 0;
    }
    nl_sim_streamclock_issue_operation(stream, op);
    add_legacy_lock_held(stream, op);
    op->next = NULL;
    op->number = ++sched.issued;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    uint64_t ticket = ++stream->issued;
    if (stream->state != IDLE)
        return ticket;
    int at_once = op->flags & NL_SIM_OP_INLINE;
    if (complete_empty_operations_lock_held(stream)) {
        if (at_once)
            run_stream_lock_held(stream, stream, ticket);
        else
            add_ready_stream_lock_held(stream);
    } else if (stream->state == IDLE) {
        unblock_streams_lock_held();
    }
    return ticket;
}

uint64_t nl_sim_stream_issue(nl_sim_stream *stream, nl_sim_op *op) {
    nl_sim_streams_lock();
    uint64_t ticket = nl_sim_stream_issue_lock_held(stream, op);
    nl_sim_streams_unlock();
    return ticket;
}

void nl_sim_stream_issue_and_wait(nl_sim_stream *stream, nl_sim_op *op) {
    op->flags |= NL_SIM_OP_INLINE;
    nl_sim_streams_lock();
    uint64_t ticket = nl_sim_stream_issue_lock_held(stream, op);
    nl_sim_streamclock_join_host(&stream->clock);
    nl_sim_stream_wait_ticket_lock_held(stream, ticket);
    nl_sim_streams_unlock();
}

/* Updates the host's vector clock: the host has waited for all operations that the rule for default
 * and blocking streams orders before a new operation of the stream. */
static void join_host_clock_lock_held(nl_sim_stream *stream) {
    nl_sim_streamclock_join_host(&stream->clock);
    if (stream != stream->context->legacy)
        return;
    for (nl_sim_stream *s = stream->context->streams; s; s = s->next) {
        if (!(s->flags & CU_STREAM_NON_BLOCKING))
            nl_sim_streamclock_join_host(&s->clock);
    }
}

/* Returns the ticket that the stream's last operation had when `number` operations had been issued
 * to all streams together. */
static uint64_t ticket_at_number_lock_held(const nl_sim_stream *stream, uint64_t number) {
    uint64_t ticket = stream->done;
    for (const nl_sim_op *op = stream->head; op && op->number <= number; op = op->next)
        ticket++;
    return ticket;
}

/* Waits for all streams of a context, except those with one of `flags`. Does not wait for
 * operations that other threads issue during the wait, because such operations may never end. */
static void wait_for_context_lock_held(nl_sim_context *context, unsigned flags) {
    uint64_t now = sched.issued;
restart:
    for (nl_sim_stream *s = context->streams; s && !sched.exiting; s = s->next) {
        uint64_t ticket = s->flags & flags ? s->done : ticket_at_number_lock_held(s, now);
        if (ticket != s->done) {
            nl_sim_stream_wait_ticket_lock_held(s, ticket);
            goto restart; /* the list may have changed */
        }
    }
}

/* Waits for all operations that are ordered before a new operation of the stream. */
static void wait_for_stream_lock_held(nl_sim_stream *stream) {
    join_host_clock_lock_held(stream);
    if (stream == stream->context->legacy)
        wait_for_context_lock_held(stream->context, CU_STREAM_NON_BLOCKING);
    else
        nl_sim_stream_wait_ticket_lock_held(stream, stream->issued);
}

void nl_sim_stream_wait(nl_sim_stream *stream) {
    nl_sim_streams_lock();
    wait_for_stream_lock_held(stream);
    nl_sim_streams_unlock();
}

int nl_sim_stream_is_done(nl_sim_stream *stream) {
    nl_sim_streams_lock();
    int done = stream->issued == stream->done;
    if (stream == stream->context->legacy) {
        for (nl_sim_stream *s = stream->context->streams; s; s = s->next)
            done = done && ((s->flags & CU_STREAM_NON_BLOCKING) || s->issued == s->done);
    }
    if (done)
        join_host_clock_lock_held(stream);
    nl_sim_streams_unlock();
    return done;
}

void nl_sim_stream_wait_for_context(nl_sim_context *context) {
    nl_sim_streams_lock();
    for (nl_sim_stream *s = context->streams; s; s = s->next)
        nl_sim_streamclock_join_host(&s->clock);
    wait_for_context_lock_held(context, 0);
    nl_sim_streams_unlock();
}

/* Faults */

void nl_sim_stream_set_failed(nl_sim_stream *stream, CUresult status, const nl_fault *fault) {
    nl_sim_streams_lock();
    fail_stream_lock_held(stream, status, fault);
    nl_sim_streams_unlock();
}

void nl_sim_stream_set_running_job(nl_sim_stream *stream, struct nl_sim_job *job) {
    nl_sim_streams_lock();
    stream->job = job;
    nl_sim_streams_unlock();
}

static CUresult report_pending_fault(const nl_sim_pending *pending) {
    nl_fault unknown;
    if (pending->status)
        nl_sim_lasterror_store_fault(
            pending->id,
            pending->fault ? pending->fault : make_message_fault(&unknown, "out of memory"));
    return pending->status;
}

CUresult nl_sim_stream_report_fault(nl_sim_context *context, nl_sim_stream *stream) {
    CUresult status = CUDA_SUCCESS;
    int interrupted = nl_sim_lasterror_pop_interrupt();
    nl_sim_streams_lock();
    if (stream)
        status = report_pending_fault(&stream->fault);
    if (!stream || stream == context->legacy) {
        for (nl_sim_stream *s = context->streams; s && !status; s = s->next) {
            if (!stream || !(s->flags & CU_STREAM_NON_BLOCKING))
                status = report_pending_fault(&s->fault);
        }
    }
    if (!status)
        status = report_pending_fault(&context->fault);
    if (!status && interrupted) {
        nl_fault fault;
        nl_sim_lasterror_store_fault(0, make_message_fault(&fault, "interrupted"));
        status = CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    nl_sim_streams_unlock();
    return status;
}

/* Clears a pending fault if its id is `id`, or any fault if `id` is 0. */
static void clear_pending_fault(nl_sim_pending *fault, uint64_t id) {
    if (id && fault->id != id)
        return;
    free(fault->fault);
    *fault = (nl_sim_pending){.status = CUDA_SUCCESS};
}

static void clear_faults_lock_held(nl_sim_context *context, uint64_t id) {
    clear_pending_fault(&context->fault, id);
    for (nl_sim_stream *s = context->streams; s; s = s->next)
        clear_pending_fault(&s->fault, id);
}

void nl_sim_stream_clear_fault(uint64_t id) {
    nl_sim_streams_lock();
    for (int i = 0; i < nl_sim_context_count(); i++)
        clear_faults_lock_held(nl_sim_context_at(i), id);
    nl_sim_streams_unlock();
}

void nl_sim_stream_clear_faults(nl_sim_context *context) {
    nl_sim_streams_lock();
    clear_faults_lock_held(context, 0);
    nl_sim_streams_unlock();
}

/* Process exit */

/* The exit handler of the process, during which operations may be running. Stops running kernels at
 * their next block, and prevents the start of operations. A kernel that never ends does not prevent
 * the exit. */
static void stop_streams_at_exit(void) {
    if (nl_sim_context_is_forked())
        return;
    nl_sim_streams_lock();
    sched.exiting = 1;
    for (int waited = 0; sched.running && waited < EXIT_WAIT_MS; waited++) {
        for (int i = 0; i < nl_sim_context_count(); i++) {
            for (nl_sim_stream *s = nl_sim_context_at(i)->streams; s; s = s->next) {
                if (!s->job)
                    continue;
                nl_sim_fault_fail_job(s->job, CUDA_ERROR_DEINITIALIZED, "the process is ending");
                nl_sim_watch_stop_grid(s->job, NL_SIM_INTERRUPTED);
            }
        }
        nl_sim_streams_unlock();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        nl_sim_streams_lock();
    }
    nl_sim_streams_unlock();
}

void nl_sim_stream_open(void) {
    atexit(stop_streams_at_exit);
}

void nl_sim_stream_reset_in_child(void) {
    nl_mutex_init(&nl_sim_streams_mutex);
    nl_cond_init(&sched.work);
    nl_cond_init(&sched.done);
    sched.ready = sched.blocked = NULL;
    sched.ready_count = sched.threads = sched.idle = sched.waiting = sched.running = 0;
}
