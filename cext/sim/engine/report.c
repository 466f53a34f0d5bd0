/* sim/engine/report: formats messages about blocks that cannot continue (which threads wait at
 * which line in which operation, and for which threads), and about warp operations whose lanes do
 * not match. */
#include "sim/engine/report.h"

#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "sim/debuginfo/lines.h"
#include "sim/engine/caller.h"
#include "sim/engine/fault.h"
#include "sim/engine/interleave.h"
#include "sim/engine/observer.h"
#include "sim/engine/signal.h"

static void mark_truncation(nl_text *t) {
    if (t->is_cut)
        memcpy(t->at + t->length - 3, "...", 3);
}

/* The names of blocking operations, in the kernel's language. */
enum { IN_CXX, IN_PYTHON };
static const char *const in_block[][2] = {
    {"__syncthreads", "cuda.syncthreads"},
    {"__syncthreads_count", "cuda.syncthreads_count"},
    {"__syncthreads_and", "cuda.syncthreads_and"},
    {"__syncthreads_or", "cuda.syncthreads_or"},
};
static const char *const in_warp[][2] = {
    [NL_SIM_WARP_SYNC] = {"__syncwarp", "cuda.syncwarp"},
    [NL_SIM_WARP_MATCH_ANY] = {"__match_any_sync", "cuda.match_any_sync"},
    [NL_SIM_WARP_MATCH_ALL] = {"__match_all_sync", "cuda.match_all_sync"},
    [NL_SIM_WARP_ADD] = {"__reduce_add_sync"},
    [NL_SIM_WARP_MIN_S] = {"__reduce_min_sync"},
    [NL_SIM_WARP_MAX_S] = {"__reduce_max_sync"},
    [NL_SIM_WARP_MIN_U] = {"__reduce_min_sync"},
    [NL_SIM_WARP_MAX_U] = {"__reduce_max_sync"},
    [NL_SIM_WARP_AND] = {"__reduce_and_sync"},
    [NL_SIM_WARP_OR] = {"__reduce_or_sync"},
    [NL_SIM_WARP_XOR] = {"__reduce_xor_sync"},
    [NL_SIM_WARP_ACTIVE] = {"__activemask", "cuda.activemask"},
    [NL_SIM_WARP_STEP] = {"a volatile access, in step with its warp"},
    [NL_SIM_WARP_MATRIX] = {"an instruction for matrices (mma, ldmatrix, wmma)"},
};

static const char *const in_shuffle[][2] = {
    [NL_SIM_SHUFFLE_UP / 32] = {"__shfl_up_sync", "cuda.shfl_up_sync"},
    [NL_SIM_SHUFFLE_DOWN / 32] = {"__shfl_down_sync", "cuda.shfl_down_sync"},
    [NL_SIM_SHUFFLE_INDEX / 32] = {"__shfl_sync", "cuda.shfl_sync"},
    [NL_SIM_SHUFFLE_XOR / 32] = {"__shfl_xor_sync", "cuda.shfl_xor_sync"},
};
static const char *const in_vote[][2] = {
    [NL_SIM_VOTE_BALLOT] = {"__ballot_sync", "cuda.ballot_sync"},
    [NL_SIM_VOTE_ANY] = {"__any_sync", "cuda.any_sync"},
    [NL_SIM_VOTE_ALL] = {"__all_sync", "cuda.all_sync"},
};

static const char *const in_tile[] = {
    [1] = "the barrier of a tile of 64 threads",   [2] = "the barrier of a tile of 128 threads",
    [3] = "the barrier of a tile of 256 threads",  [4] = "the barrier of a tile of 512 threads",
    [5] = "the barrier of a tile of 1024 threads",
};

static const char *choose_name_for_language(const nl_sim_worker *w, const char *const names[2]) {
    return w->job->is_python && names[IN_PYTHON] ? names[IN_PYTHON] : names[IN_CXX];
}

const char *nl_sim_report_operation(const nl_sim_worker *w, unsigned wait, unsigned argument) {
    if (wait == NL_SIM_WAIT_CLUSTER)
        return "the barrier of the cluster";
    if (wait >= NL_SIM_WAIT_GRID)
        return "the barrier over the grid";
    if (wait > NL_SIM_WAIT_TILE)
        return in_tile[wait - NL_SIM_WAIT_TILE];
    if (wait == NL_SIM_WAIT_WARP + NL_SIM_WARP_SHFL)
        return choose_name_for_language(w, in_shuffle[argument / 32 % 4]);
    if (wait == NL_SIM_WAIT_WARP + NL_SIM_WARP_BALLOT)
        return choose_name_for_language(w, in_vote[argument % 3]);
    if (wait >= NL_SIM_WAIT_WARP && wait - NL_SIM_WAIT_WARP < sizeof in_warp / sizeof in_warp[0])
        return choose_name_for_language(w, in_warp[wait - NL_SIM_WAIT_WARP]);
    if (wait >= NL_SIM_WAIT_BLOCK &&
        wait - NL_SIM_WAIT_BLOCK < sizeof in_block / sizeof in_block[0])
        return choose_name_for_language(w, in_block[wait - NL_SIM_WAIT_BLOCK]);
    return "nothing";
}

static int is_thread_live(const nl_sim_worker *w, unsigned thread) {
    return (int)(w->warp[thread / NL_SIM_LANES].live >> thread % NL_SIM_LANES & 1);
}

/* Returns whether the thread waits. Threads that arrived at different barriers also count as
 * waiting. */
static int is_thread_waiting(const nl_sim_worker *w, unsigned thread) {
    return is_thread_live(w, thread) && w->thread[thread].wait != NL_SIM_WAIT_NONE;
}

static int is_in_warp(const nl_sim_thread *t) {
    return t->wait >= NL_SIM_WAIT_WARP && t->wait < NL_SIM_WAIT_TILE;
}

/* Returns whether the threads wait in the same operation at the same position. For a warp
 * operation, the masks must also be equal. */
static int are_in_same_operation(const nl_sim_thread *a, const nl_sim_thread *b) {
    int warp = is_in_warp(a);
    return a->wait == b->wait && a->site.line == b->site.line && a->site.column == b->site.column &&
           (a->site.file == b->site.file || a->site.line == 0 ||
            strcmp(a->site.file, b->site.file) == 0) &&
           (!warp || a->mask == b->mask);
}

/* Appends "threads 0-15, 32": the threads for which `member` is true. */
typedef int member_fn(const nl_sim_worker *w, unsigned thread, const void *data);

static void append_thread_ranges(nl_text *t, const nl_sim_worker *w, member_fn *member,
                                 const void *data) {
    unsigned count = 0, members = 0;
    for (unsigned i = 0; i < w->threads; i++)
        members += member(w, i, data) != 0;
    for (unsigned i = 0; i < w->threads; i++) {
        if (!member(w, i, data))
            continue;
        unsigned last = i;
        while (last + 1 < w->threads && member(w, last + 1, data))
            last++;
        const char *lead = count ? ", " : members > 1 ? "threads " : "thread ";
        if (count == 12) {
            nl_text_append(t, ", ...");
            return;
        }
        if (last > i)
            nl_text_append(t, "%s%u-%u", lead, i, last);
        else
            nl_text_append(t, "%s%u", lead, i);
        count++;
        i = last;
    }
    if (!count)
        nl_text_append(t, "no thread");
}

static int is_waiting_like(const nl_sim_worker *w, unsigned thread, const void *data) {
    return is_thread_waiting(w, thread) && are_in_same_operation(&w->thread[thread], data);
}

/* Returns whether the thread is missing: it is live, and the mask of the thread `data` includes it,
 * but it does not wait with that thread. */
static int is_thread_missing(const nl_sim_worker *w, unsigned thread, const void *data) {
    const nl_sim_thread *t = data;
    unsigned warp = (unsigned)(t - w->thread) / NL_SIM_LANES;
    return thread / NL_SIM_LANES == warp && (t->mask >> thread % NL_SIM_LANES & 1) &&
           is_thread_live(w, thread) && !is_waiting_like(w, thread, data);
}

static int has_thread_ended(const nl_sim_worker *w, unsigned thread, const void *data) {
    (void)data;
    return !is_thread_live(w, thread);
}

static int has_thread_not_begun(const nl_sim_worker *w, unsigned thread, const void *data) {
    (void)data;
    return is_thread_live(w, thread) && !w->thread[thread].fiber.sp && thread != w->current;
}

/* Returns whether the thread is the first thread that waits in its operation at its position. A
 * message has one entry for all threads that wait in the same operation, at the position of the
 * first thread. */
static int is_first_waiting(const nl_sim_worker *w, unsigned thread) {
    if (!is_thread_waiting(w, thread))
        return 0;
    for (unsigned i = 0; i < thread; i++) {
        if (is_waiting_like(w, i, &w->thread[thread]))
            return 0;
    }
    return 1;
}

static void append_missing_threads(nl_text *t, const nl_sim_worker *w,
                                   const nl_sim_thread *thread) {
    unsigned warp = (unsigned)(thread - w->thread) / NL_SIM_LANES;
    for (unsigned i = 0; i < NL_SIM_LANES && warp * NL_SIM_LANES + i < w->threads; i++) {
        if (is_thread_missing(w, warp * NL_SIM_LANES + i, thread)) {
            nl_text_append(t, ", which also names ");
            append_thread_ranges(t, w, is_thread_missing, thread);
            return;
        }
    }
}

static void append_unstarted_threads(nl_text *t, const nl_sim_worker *w) {
    for (unsigned i = 0; i < w->threads; i++) {
        if (has_thread_not_begun(w, i, NULL)) {
            nl_text_append(t, "; not begun: ");
            append_thread_ranges(t, w, has_thread_not_begun, NULL);
            return;
        }
    }
}

/* Returns whether another thread waits at the same line, but at a different column. */
static int has_equal_line(const nl_sim_worker *w, nl_sim_site site) {
    for (unsigned i = 0; i < w->threads; i++) {
        nl_sim_site other = w->thread[i].site;
        if (is_thread_waiting(w, i) && other.column != site.column) {
            other.column = site.column;
            if (nl_sim_same_site(other, site))
                return 1;
        }
    }
    return 0;
}

/* Appends " at k.cu:3", and the column if another thread waits at the same line. The first position
 * that is appended is also stored as the fault's position. */
static void append_location(nl_fault *f, nl_text *t, const nl_sim_worker *w,
                            const nl_sim_thread *thread) {
    nl_sim_site site = thread->site, call = site;
    int in_header = nl_sim_caller_find(w, (unsigned)(thread - w->thread), site, &call);
    const char *header = in_header ? nl_sim_lines_header(site.file) : NULL;
    if (!f->at.line) {
        nl_fault_set_location(&f->at, call.file, call.line);
        nl_fault_set_header_location(&f->at, header, site.line);
    }
    nl_text_append(t, " at %s:%d", call.file ? call.file : "?", call.line);
    if (header)
        nl_text_append(t, " (%s:%d)", header, site.line);
    else if (site.line && site.column && has_equal_line(w, site))
        nl_text_append(t, ":%d", site.column);
}

/* Describes threads that can run but make no progress. The last address that a thread without
 * progress accessed is most likely the address whose value it waits for. */
static void append_spinning_threads(nl_fault *f, nl_text *t, const nl_sim_worker *w,
                                    const nl_sim_thread *thread) {
    char name[200];
    nl_text_append(t, thread->wait == NL_SIM_WAIT_SPIN ? " spinning" : " running");
    if (thread->site.line)
        append_location(f, t, w, thread);
    else if (thread->wait == NL_SIM_WAIT_SPIN)
        nl_text_append(t, " on volatile memory");
    if (w->observer && thread->touched && w->observer->name(w, thread->touched, name, sizeof name))
        nl_text_append(t, ", after an access of %s", name);
}

/* Appends "threads 0-15 at k.cu:3 in __shfl_sync with mask 0x...; ...", with one entry for each
 * operation and position in which threads wait for which `wanted` is true. If the running thread
 * only waits for its next turn, its entry comes first. */
static void append_waiting_threads(nl_fault *f, nl_text *t, const nl_sim_worker *w,
                                   member_fn *wanted, const void *data) {
    const nl_sim_thread *running = &w->thread[w->current];
    unsigned kinds = 0, first = 0;
    if (is_thread_live(w, w->current) && running->wait == NL_SIM_WAIT_TURN) {
        while (!is_waiting_like(w, first, running))
            first++;
    }
    for (unsigned n = 0; n < w->threads; n++) {
        unsigned i = n == 0 ? first : n <= first ? n - 1 : n;
        if (!is_first_waiting(w, i) || (wanted && !wanted(w, i, data)))
            continue;
        const nl_sim_thread *thread = &w->thread[i];
        if (kinds++)
            nl_text_append(t, "; ");
        if (kinds > 8) {
            nl_text_append(t, "and others elsewhere");
            break;
        }
        append_thread_ranges(t, w, is_waiting_like, thread);
        if (thread->wait > NL_SIM_WAIT_GRID) {
            append_spinning_threads(f, t, w, thread);
            continue;
        }
        if (thread->site.line)
            append_location(f, t, w, thread);
        nl_text_append(t, " in %s", nl_sim_report_operation(w, thread->wait, thread->argument));
        if (is_in_warp(thread) && thread->mask) {
            nl_text_append(t, " with mask 0x%08x", thread->mask);
            append_missing_threads(t, w, thread);
        }
    }
}

_Noreturn void nl_sim_report_stuck_block(nl_sim_worker *w) {
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, NL_CHECK_SYNC, NL_FAULT_HEAD_BLOCK);
    nl_text t = nl_sim_fault_text(&fault);
    int mixed = w->barrier.mixed && w->barrier.arrived == w->live;
    nl_text_append(&t, mixed ? "threads of the block are at different barriers: "
                             : "the block cannot go on: ");
    append_waiting_threads(&fault, &t, w, NULL, NULL);
    if (w->live < w->threads) {
        nl_text_append(&t, "; ended: ");
        append_thread_ranges(&t, w, has_thread_ended, NULL);
    }
    mark_truncation(&t);
    nl_sim_job_record_fault(w->job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
    nl_sim_worker_leave_block(w, NL_SIM_FAULT);
}

/* Appends the reason why the grid was stopped. */
static void append_stop_reason(nl_fault *fault, nl_text *t, const nl_sim_job *job,
                               const char *limit_text) {
    fault->is_timeout = nl_atomic_load32(&job->watch.stopped) != NL_SIM_INTERRUPTED;
    if (!fault->is_timeout)
        nl_text_append(t, "interrupted after %.1f s",
                       (double)(nl_clock_ns() - job->started) / 1000000000);
    else
        nl_text_append(t, "%s after %g s, the limit", limit_text, (double)job->limit_ms / 1000);
}

void nl_sim_report_overdue_job(nl_sim_job *job) {
    nl_fault fault;
    nl_fault_init(&fault, NL_CHECK_HANG, NL_FAULT_HEAD_KERNEL,
                  nl_sim_fault_kernel_name(job->kernel));
    nl_text t = nl_sim_fault_text(&fault);
    append_stop_reason(&fault, &t, job, "stopped");
    nl_sim_job_record_fault(job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
}

/* Finds the source lines of threads that only wait for their next turn, if the image has a line
 * table. */
static void find_lines(nl_sim_worker *w) {
    nl_sim_thread *running = &w->thread[w->current];
    if (running->wait == NL_SIM_WAIT_NONE) {
        running->wait = NL_SIM_WAIT_TURN;
        running->site = (nl_sim_site){.file = NULL};
        /* Prefers the line at which the thread was interrupted. If the line of the interruption is
         * in a function of this library, or is not available, uses the line of the thread's last
         * access. */
        int exact = 0;
        nl_sim_site at = {.file = NULL};
        if (w->trap.signal == NL_SIM_WATCH_SIGNAL && w->job->image &&
            nl_sim_lines_find_near(w->job->image, (const void *)(w->trap.instruction + 1), &at,
                                   &exact) &&
            (exact || !running->pc))
            running->site = at;
    }
    for (unsigned i = 0; i < w->threads; i++) {
        nl_sim_thread *t = &w->thread[i];
        /* the thread's operation is complete: the thread only waits for its next turn */
        if (is_thread_live(w, i) && t->wait != NL_SIM_WAIT_NONE && t->wait < NL_SIM_WAIT_GRID &&
            (w->warp[i / NL_SIM_LANES].ready >> i % NL_SIM_LANES & 1))
            t->wait = NL_SIM_WAIT_TURN;
        if (!is_thread_live(w, i) || t->wait == NL_SIM_WAIT_NONE || t->site.line)
            continue;
        if (w->observer && t->wait > NL_SIM_WAIT_GRID && t->pc)
            (void)nl_sim_lines_find(w->job->image, t->pc, &t->site);
        else
            (void)nl_sim_caller_line(w, i, &t->site);
    }
}

void nl_sim_report_endless_loop(nl_sim_worker *w) {
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, NL_CHECK_HANG, NL_FAULT_HEAD_BLOCK);
    nl_text t = nl_sim_fault_text(&fault);
    append_stop_reason(&fault, &t, w->job, "not done");
    if (w->fibers) {
        find_lines(w);
        nl_text_append(&t, ": ");
        append_waiting_threads(&fault, &t, w, NULL, NULL);
        append_unstarted_threads(&t, w);
    } else if (w->trap.signal == NL_SIM_WATCH_SIGNAL && w->job->image) {
        const void *pc = (const void *)(w->trap.instruction + 1);
        nl_sim_site at;
        int exact;
        if (nl_sim_lines_find(w->job->image, pc, &at)) {
            nl_fault_set_location(&fault.at, at.file, at.line);
            nl_text_append(&t, ": a thread running at %s:%d", at.file, at.line);
        } else if (!nl_sim_lines_find_near(w->job->image, pc, &at, &exact)) {
            nl_text_append(&t, "; lineinfo=True shows the line");
        }
    }
    mark_truncation(&t);
    nl_sim_job_record_fault(w->job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
}

/* Marks threads that only wait for their next turn as spinning: only another thread can end their
 * loops. */
static void mark_spinning(nl_sim_worker *w) {
    for (unsigned i = 0; i < w->threads; i++) {
        if (is_thread_live(w, i) && w->thread[i].wait == NL_SIM_WAIT_TURN)
            w->thread[i].wait = NL_SIM_WAIT_SPIN;
    }
}

/* Describes the waiting threads of at most MAX_BLOCKS other blocks. */
static void append_waiting_blocks(nl_fault *fault, nl_text *t, nl_sim_worker *w) {
    enum { MAX_BLOCKS = 4 };
    unsigned count = 0;
    for (nl_sim_worker *other = NULL; (other = nl_sim_interleave_next_block(w, other));) {
        if (!other->live || ++count > MAX_BLOCKS)
            continue;
        find_lines(other);
        mark_spinning(other);
        nl_text_append(t, "; block (%u,%u,%u): ", other->index.x, other->index.y, other->index.z);
        append_waiting_threads(fault, t, other, NULL, NULL);
    }
    if (count > MAX_BLOCKS)
        nl_text_append(t, "; and threads of %u more block%s", count - MAX_BLOCKS,
                       count == MAX_BLOCKS + 1 ? "" : "s");
}

_Noreturn void nl_sim_report_deadlock(nl_sim_worker *w) {
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, NL_CHECK_HANG, NL_FAULT_HEAD_BLOCK);
    nl_text t = nl_sim_fault_text(&fault);
    w->job->is_deadlocked = 1;
    find_lines(w);
    mark_spinning(w);
    nl_text_append(&t, "deadlock, no thread can end what these wait for: ");
    append_waiting_threads(&fault, &t, w, NULL, NULL);
    append_waiting_blocks(&fault, &t, w);
    mark_truncation(&t);
    nl_sim_job_record_fault(w->job, CUDA_ERROR_LAUNCH_TIMEOUT, &fault);
    nl_sim_worker_leave_block(w, NL_SIM_FAULT);
}

_Noreturn void nl_sim_report_stopped_grid(nl_sim_worker *w) {
    if (nl_atomic_load32(&w->job->watch.stopped))
        nl_sim_report_endless_loop(w);
    nl_sim_worker_leave_block(w, NL_SIM_STOPPED);
}

typedef struct lanes {
    unsigned warp;
    uint32_t set;
} lanes;

static int is_one_of_lanes(const nl_sim_worker *w, unsigned thread, const void *data) {
    const lanes *l = data;
    (void)w;
    return thread / NL_SIM_LANES == l->warp && (l->set >> thread % NL_SIM_LANES & 1);
}

_Noreturn void nl_sim_report_mixed_warp(nl_sim_worker *w, unsigned warp, uint32_t set) {
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, NL_CHECK_SYNC, NL_FAULT_HEAD_BLOCK);
    nl_text t = nl_sim_fault_text(&fault);
    nl_text_append(
        &t, "lanes of a warp that name one another in their masks are at different lines, "
            "and each line is an instruction of its own, which only its own lanes execute: ");
    append_waiting_threads(&fault, &t, w, is_one_of_lanes, &(lanes){warp, set});
    mark_truncation(&t);
    nl_sim_job_record_fault(w->job, CUDA_ERROR_ILLEGAL_INSTRUCTION, &fault);
    nl_sim_worker_leave_block(w, NL_SIM_FAULT);
}

_Noreturn void nl_sim_report_bad_mask(nl_sim_worker *w, unsigned thread) {
    char message[160];
    const nl_sim_thread *t = &w->thread[thread];
    snprintf(message, sizeof message,
             "%s with mask 0x%08x, which does not name the calling lane %u",
             nl_sim_report_operation(w, t->wait, t->argument), t->mask, thread % NL_SIM_LANES);
    nl_sim_fault_raise(w, CUDA_ERROR_ILLEGAL_INSTRUCTION, NL_CHECK_SYNC, message, thread, t->site);
}
