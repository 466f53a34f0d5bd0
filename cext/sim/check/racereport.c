/* sim/check/racereport: passes accesses from the checks (check.h) to the race search (race.h) and
 * the thread scheduler (interleave.h), and formats race reports. */
#include "sim/check/racereport.h"

#include <stdio.h>
#include "base/lock.h"
#include "sim/check/arena.h"
#include "sim/check/attribution.h"
#include "sim/check/launch.h"
#include "sim/check/overlap.h"
#include "sim/check/race.h"
#include "sim/check/undo.h"
#include "sim/debuginfo/lines.h"
#include "sim/engine/cluster.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/fault.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/schedule.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/shadow.h"

typedef enum space { PRIVATE, SHARED, GLOBAL } space;

/* Reports */

static nl_sim_dim thread_index(const nl_sim_worker *w, unsigned thread) {
    const nl_sim_dim *block = &w->job->launch.block;
    return (nl_sim_dim){thread % block->x, thread / block->x % block->y,
                        thread / block->x / block->y};
}

static nl_sim_dim block_index(const nl_sim_worker *w, uint64_t block) {
    const nl_sim_dim *grid = &w->job->launch.grid;
    return (nl_sim_dim){(unsigned)(block % grid->x), (unsigned)(block / grid->x % grid->y),
                        (unsigned)(block / grid->x / grid->y)};
}

static const char *access_verb(const nl_sim_race_side *side) {
    if (side->atomic)
        return side->write ? "updates" : "reads";
    return side->write ? "writes" : "reads";
}

/* Hints for reports, with the function names of the kernel's language (C++ or Python). */
typedef struct words {
    const char *atomic_of_grid, *atomic_of_block, *warp, *block, *phase, *lock, *fence, *flag;
} words;

#define ORDERLESS ", with nothing that orders the blocks"
#define BOTH ": both threads update the value, which needs an atomic operation "
#define LANES " between (the lanes of a warp are not in lockstep)"

#define WORDS(atomics, syncthreads, syncwarp, threadfence) \
    { \
        ORDERLESS BOTH "(" atomics ", ...)", \
            ", with no barrier between" BOTH "(" atomics ", ...), or " syncthreads \
            " if they take turns", \
            ", with no " syncwarp LANES, ", with no barrier between: " syncthreads, \
            ", with no barrier between: " syncthreads \
            ", or a wait for the phase of a barrier in which the other thread arrives", \
            ", with nothing that orders them: a lock does with " threadfence \
            " after it is taken and before it is released", \
            ORDERLESS ": a fence of block scope is for the threads of one block, " threadfence \
                      " for all", \
            ORDERLESS ": a flag does with " threadfence " before it is set and after it is read" \
    }

static const words in_cxx =
    WORDS("atomicAdd, atomicMax", "__syncthreads()", "__syncwarp()", "__threadfence()");
static const words in_python = WORDS("cuda.atomic.add, cuda.atomic.max", "cuda.syncthreads()",
                                     "cuda.syncwarp()", "cuda.threadfence()");

/* Returns the hint for a race: the synchronization that would have ordered the two accesses, or the
 * atomic that would have replaced them. A value that some thread updates by an atomic is most
 * likely shared by the block, even if the two threads are of one warp. */
static const char *find_hint(const nl_sim_worker *w, const nl_sim_race_conflict *c,
                             const words *in) {
    nl_sim_race_scope scope = nl_sim_race_conflict_scope(c);
    int by_atomic = c->earlier.atomic || c->later.atomic;
    if (scope == NL_SIM_RACE_WARP && by_atomic && w->threads > NL_SIM_LANES)
        scope = NL_SIM_RACE_BLOCK;
    if (c->lock && !by_atomic)
        return in->lock;
    if (c->updates)
        return scope >= NL_SIM_RACE_CLUSTER ? in->atomic_of_grid : in->atomic_of_block;
    if (c->has_phases && !by_atomic && scope <= NL_SIM_RACE_BLOCK)
        return in->phase;
    if (scope == NL_SIM_RACE_WARP)
        return in->warp;
    if (scope == NL_SIM_RACE_CLUSTER)
        return ", with nothing that orders the blocks of the cluster (cluster.sync() does)";
    if (scope == NL_SIM_RACE_BLOCK)
        return in->block;
    if (c->earlier.narrow || c->later.narrow)
        return ORDERLESS ": atomics of block scope are for the threads of one block";
    if (c->narrow_fences)
        return in->fence;
    return c->flag && !by_atomic ? in->flag : ORDERLESS;
}

/* Returns whether the variable is in the image but is not the user's (a variable of this library or
 * of the compiler), and no line of the user's source makes either access. */
static int is_internal_variable(const nl_sim_worker *w, const nl_sim_race_conflict *c) {
    const nl_sim_object *image = w->job->check->image;
    nl_sim_site site;
    return c->address - w->image_low < w->image_high - w->image_low &&
           !nl_sim_lines_find(image, c->later.pc, &site) &&
           !nl_sim_lines_find(image, c->earlier.pc, &site);
}

static void report_race(nl_sim_worker *w, const nl_sim_race_conflict *c) {
    char name[200], whose[80];
    if (is_internal_variable(w, c))
        return;
    nl_sim_dim thread = thread_index(w, c->earlier.thread);
    nl_sim_dim block = block_index(w, c->earlier.block);
    nl_sim_finding f = {.kind = NL_CHECK_RACE,
                        .pc = c->later.pc,
                        .other_pc = c->earlier.pc,
                        .variable = (uintptr_t)c->earlier.pc,
                        .remedy = find_hint(w, c, w->job->is_python ? &in_python : &in_cxx),
                        .access = access_verb(&c->later),
                        .address = c->address,
                        .other = {access_verb(&c->earlier), block, thread},
                        .block = block_index(w, c->later.block),
                        .thread = thread_index(w, c->later.thread),
                        .order = w->next};
    snprintf(whose, sizeof whose, "thread (%u,%u,%u)", thread.x, thread.y, thread.z);
    if (c->earlier.block != c->later.block)
        snprintf(whose, sizeof whose, "thread (%u,%u,%u) of block (%u,%u,%u)", thread.x, thread.y,
                 thread.z, block.x, block.y, block.z);
    nl_sim_attribution_name(w, c->address, &f.element, name, sizeof name);
    snprintf(f.text, sizeof f.text, "%s %s%s, and %s %s it%s at %%o", f.access, name,
             c->later.atomic ? " with an atomic" : "", whose, f.other.access,
             c->earlier.atomic ? " with an atomic" : "");
    if (c->is_reported)
        nl_sim_findings_replace(&w->job->check->findings, &f);
    else
        nl_sim_findings_add(&w->job->check->findings, &f);
}

void nl_sim_racereport_report_early_read(nl_sim_worker *w, uintptr_t address, size_t size,
                                         unsigned kind, const void *pc,
                                         const nl_sim_race_side *copy) {
    char name[200], whose[80];
    uint64_t variable = (uintptr_t)copy->pc;
    if (nl_sim_findings_contain(&w->job->check->findings, NL_CHECK_RACE, pc,
                                (nl_sim_site){.file = NULL}, variable, w->next))
        return;
    nl_sim_dim thread = thread_index(w, copy->thread), block = block_index(w, copy->block);
    nl_sim_race_side now = {.write = (kind & NL_SIM_ACCESS_WRITE) != 0,
                            .atomic = (kind & NL_SIM_ACCESS_ATOMIC) != 0};
    nl_sim_finding f = {.kind = NL_CHECK_RACE,
                        .pc = pc,
                        .other_pc = copy->pc,
                        .variable = variable,
                        .remedy = ": wait for the copy before this access (wait_group, "
                                  "__pipeline_wait_prior, consumer_wait, barrier.wait)",
                        .access = access_verb(&now),
                        .address = address,
                        .size = size,
                        .other = {access_verb(copy), block, thread}};
    snprintf(whose, sizeof whose, "thread (%u,%u,%u)", thread.x, thread.y, thread.z);
    nl_sim_attribution_name(w, address, &f.element, name, sizeof name);
    snprintf(f.text, sizeof f.text,
             "%s %s, and the asynchronous copy of %s at %%o, for which no thread has waited, %s it",
             f.access, name, whose, f.other.access);
    nl_sim_launch_check_report(w, &f);
}

void nl_sim_racereport_end_shared(nl_sim_worker *w) {
    nl_sim_arena_entry e;
    nl_sim_race_side late;
    uintptr_t address;
    char name[200];
    for (unsigned n = 0; nl_sim_arena_get_variable(w, n, &e); n++) {
        if (!nl_sim_race_find_access_after_end(w, e.base, e.size, &late, &address))
            continue;
        nl_sim_finding f = {.kind = NL_CHECK_RACE,
                            .pc = late.pc,
                            .variable = e.base,
                            .access = access_verb(&late),
                            .address = address,
                            .remedy = ", and no synchronization keeps that block alive: "
                                      "cluster.sync() before it ends",
                            .block = block_index(w, late.block),
                            .thread = thread_index(w, late.thread),
                            .order = w->next};
        nl_sim_attribution_name(w, address, &f.element, name, sizeof name);
        snprintf(f.text, sizeof f.text,
                 "%s %s of block (%u,%u,%u), which may have ended before this access", f.access,
                 name, w->index.x, w->index.y, w->index.z);
        nl_sim_findings_add(&w->job->check->findings, &f);
    }
}

/* Launches */

static uint64_t count_blocks(const nl_sim_dim *grid) {
    return (uint64_t)grid->x * grid->y * grid->z;
}

int nl_sim_racereport_begin(nl_sim_job *job) {
    const nl_checks *wanted = &job->check->wanted;
    int every = (wanted->mask & (NL_CHECK_RACE | NL_CHECK_HANG | NL_CHECK_STREAM)) &&
                (wanted->mask & NL_CHECK_ACCESSES);
    job->seed = wanted->seed;
    job->shuffled = wanted->shuffled;
    job->limit_ms = wanted->mask & NL_CHECK_HANG ? wanted->limit_ms : 0;
    job->interleaved = every || job->shuffled || (wanted->mask & NL_CHECK_PROFILE);
    job->check->every = every;
    if (every)
        nl_sim_shadow_set_every_access(1);
    if (wanted->mask & NL_CHECK_RACE) {
        job->check->race =
            nl_sim_race_open((const void *)(uintptr_t)job->kernel->run_thread, report_race,
                             wanted->exact ? count_blocks(&job->launch.grid) : 0);
        if (!job->check->race)
            return -1;
    }
    return 0;
}

CUresult nl_sim_racereport_end(nl_sim_job *job) {
    int wanted = (job->check->wanted.mask & NL_CHECK_RACE) != 0;
    if (job->check->every)
        nl_sim_shadow_set_every_access(-1);
    if (wanted && (!job->check->race || nl_sim_race_lacks_memory(job->check->race))) {
        nl_fault fault;
        nl_fault_init(&fault, 0, NL_FAULT_HEAD_KERNEL, nl_sim_fault_kernel_name(job->kernel));
        nl_fault_set_text(&fault, "there is not enough memory to search for races");
        nl_sim_job_record_fault(job, CUDA_ERROR_OUT_OF_MEMORY, &fault);
    }
    job->check->depends = job->check->race && nl_sim_race_depends_on_schedule(job->check->race);
    nl_sim_race_close(job->check->race);
    job->check->race = NULL;
    return job->status;
}

/* Accesses */

int nl_sim_racereport_is_shared_memory(const nl_sim_worker *w, uintptr_t address) {
    return nl_sim_arena_contains(w, address) ||
           (w->cluster && address - nl_sim_shadow.low < nl_sim_shadow.span &&
            nl_sim_cluster_find_owner(w, address));
}

/* Returns the memory space of an address. */
static space address_space_of(const nl_sim_worker *w, uintptr_t address) {
    if (nl_sim_racereport_is_shared_memory(w, address))
        return SHARED;
    if (address - nl_sim_shadow.low < nl_sim_shadow.span)
        return GLOBAL;
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[w->current].stack];
    if (address - (uintptr_t)stack->low < stack->size)
        return PRIVATE;
    if (address - w->image_low < w->image_high - w->image_low)
        return GLOBAL;
    return PRIVATE;
}

/* Returns whether other threads should run before an access to this address: not for local memory,
 * because no other thread can observe the access. Other threads also do not run between the change
 * of a barrier's word and the simulator's report of the barrier. */
int nl_sim_racereport_should_preempt(nl_sim_worker *w, uintptr_t address, unsigned kind) {
    unsigned strong = kind & (NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_VOLATILE);
    if (w->job->schedule)
        return address_space_of(w, address) != PRIVATE &&
               nl_sim_schedule_is_due(w, strong, kind & NL_SIM_ACCESS_WRITE, address);
    if (strong && nl_sim_interleave_is_due_at_atomic(w->job)) {
        w->at_atomic = 1;
        return 1;
    }
    if (w->slice) {
        w->slice--;
        return 0;
    }
    if (address_space_of(w, address) == PRIVATE)
        return 0;
    w->slice = nl_sim_interleave_slice_length(w->job);
    return 1;
}

/* Compares the access with accesses of operations in other streams, and reports a conflict. */
static void check_other_streams(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                const void *pc) {
    nl_sim_overlap_clash clash;
    int writes = (kind & NL_SIM_ACCESS_WRITE) != 0, atomic = (kind & NL_SIM_ACCESS_ATOMIC) != 0;
    if (!nl_sim_overlap_record_access(w->job->overlap, address, size, writes, atomic, &clash) ||
        nl_sim_findings_contain(&w->job->check->findings, NL_CHECK_STREAM, pc,
                                (nl_sim_site){.file = NULL}, clash.number, w->next))
        return;
    nl_sim_finding f = {.kind = NL_CHECK_STREAM,
                        .pc = pc,
                        .variable = clash.number,
                        .remedy = nl_sim_overlap_remedy,
                        .access = !writes  ? "reads"
                                  : atomic ? "updates"
                                           : "writes",
                        .address = clash.address,
                        .size = size};
    char name[160];
    nl_sim_attribution_name(w, clash.address, &f.element, name, sizeof name);
    snprintf(f.text, sizeof f.text, "%s %s %s, and %s %s it", f.access, name,
             nl_sim_overlap_stream_name(w->job->overlap), clash.who, clash.verb);
    nl_sim_launch_check_report(w, &f);
}

void nl_sim_racereport_check_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                    const void *pc) {
    nl_sim_thread *t = &w->thread[w->current];
    t->pc = pc;
    if (address - nl_sim_shadow.low < nl_sim_shadow.span)
        t->touched = address;
    t->worked |= kind & NL_SIM_ACCESS_WRITE;
    if (w->job->overlap && !nl_sim_racereport_is_shared_memory(w, address))
        check_other_streams(w, address, size, kind, pc);
    space where = w->race ? address_space_of(w, address) : PRIVATE;
    if (where != PRIVATE && w->job->schedule)
        nl_sim_deadlock_record_access(w, address, size, kind & NL_SIM_ACCESS_WRITE);
    if (where == GLOBAL && w->job->check->undo && (kind & NL_SIM_ACCESS_WRITE))
        nl_sim_undo_record(w->job->check->undo, address, size);
    if (where != PRIVATE)
        nl_sim_race_check_access(w, w->current, address, size, kind, pc, where == SHARED);
}

void nl_sim_racereport_record_fence(int is_narrow) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (w->race)
        nl_sim_race_make_fence(w, w->current, is_narrow ? NL_SIM_ORDER_NARROW : NL_SIM_ORDER_WIDE);
}

void nl_sim_racereport_run_other_threads(void) {
    nl_sim_scheduler_preempt(nl_sim_worker_current);
}
