/* sim/check/check: stores the settings of checks, and checks memory accesses.
 *
 * A thread that makes an invalid access ends, as if it had returned, and all other threads of the
 * grid continue. So one run finds several errors, and no invalid access changes memory. Invalid
 * accesses are reported for any mask of checks, if the image's accesses are instrumented. A read of
 * memory that was not written is reported and then executed. */
#include "sim/check/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "sim/check/arena.h"
#include "sim/check/asynccopy.h"
#include "sim/check/attribution.h"
#include "sim/check/racereport.h"
#include "sim/debuginfo/names.h"
#include "sim/engine/job.h"
#include "sim/engine/shadow.h"
#include "sim/engine/thread.h"

static _Thread_local nl_checks own;
static _Thread_local int has_own;
static nl_checks process;
static nl_checks_compile_fn compiler;

void nl_sim_check_set_thread(const nl_checks *checks) {
    has_own = checks != NULL;
    if (checks)
        own = *checks;
}

void nl_sim_check_set_process(const nl_checks *checks, nl_checks_compile_fn compile) {
    process = *checks;
    nl_atomic_store_entry(&compiler, compile);
}

const nl_checks *nl_sim_check_of_thread(void) {
    return has_own ? &own : &process;
}

uint32_t nl_sim_check_mask_of_thread(void) {
    return nl_sim_check_of_thread()->mask;
}

nl_checks_compile_fn nl_sim_check_get_compiler(void) {
    return nl_atomic_load_entry(&compiler);
}

/* A launch */

nl_sim_check *nl_sim_check_begin_launch(const nl_checks *wanted, const nl_sim_object *image) {
    nl_sim_check *c = nl_mem_zalloc(sizeof *c, NULL);
    if (!c)
        return NULL;
    c->wanted = *wanted;
    c->image = image;
    nl_sim_findings_init(&c->findings);
    return c;
}

CUresult nl_sim_check_end_launch(nl_sim_check *c, const char *kernel, nl_fault *fault) {
    CUresult status = CUDA_SUCCESS;
    if (c->findings.total) {
        nl_sim_findings_report(&c->findings, kernel, c->image, fault);
        fault->is_shuffled = c->wanted.shuffled;
        fault->seed = c->wanted.seed;
        fault->is_exact = c->wanted.exact;
        status = CUDA_ERROR_LAUNCH_FAILED;
    }
    nl_sim_findings_clear(&c->findings);
    nl_sim_asynccopy_free_all(&c->copies);
    nl_mem_free(c);
    return status;
}

/* Accesses */

static const char *verb_of_access(unsigned kind) {
    if (kind & NL_SIM_ACCESS_ATOMIC)
        return "updates";
    return kind & NL_SIM_ACCESS_WRITE ? "writes" : "reads";
}

static nl_sim_finding access_finding(unsigned check, const void *pc, uintptr_t address, size_t size,
                                     unsigned kind) {
    return (nl_sim_finding){
        .kind = check, .pc = pc, .access = verb_of_access(kind), .address = address, .size = size};
}

static int is_reported(nl_sim_worker *w, unsigned bit, const void *pc, uint64_t variable) {
    return nl_sim_findings_contain(&w->job->check->findings, bit, pc, (nl_sim_site){.file = NULL},
                                   variable, w->next);
}

_Noreturn static void report_forbidden_access(nl_sim_worker *w, uintptr_t address, size_t size,
                                              unsigned kind, const void *pc) {
    if (!is_reported(w, NL_CHECK_MEMORY, pc, 0)) {
        nl_sim_finding f = access_finding(NL_CHECK_MEMORY, pc, address, size, kind);
        nl_sim_attribution_describe(w, &f);
        nl_sim_launch_check_report(w, &f);
    }
    nl_sim_thread_exit(w->current);
}

static void report_misaligned(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                              const void *pc) {
    if (!nl_sim_launch_check_is_on(w, NL_CHECK_MEMORY))
        return;
    if (!is_reported(w, NL_CHECK_MEMORY, pc, 0)) {
        nl_sim_finding f = access_finding(NL_CHECK_MEMORY, pc, address, size, kind);
        char name[200];
        nl_sim_attribution_name(w, address, &f.element, name, sizeof name);
        snprintf(f.text, sizeof f.text,
                 "%s %zu bytes at once at the misaligned address 0x%llx (%s), "
                 "which is no multiple of %zu",
                 f.access, size, (unsigned long long)address, name, size);
        nl_sim_launch_check_report(w, &f);
    }
    nl_sim_thread_exit(w->current);
}

static void report_assumed_alignment(nl_sim_worker *w, uintptr_t address, unsigned align,
                                     const void *pc) {
    if (!nl_sim_launch_check_is_on(w, NL_CHECK_MEMORY))
        return;
    if (!is_reported(w, NL_CHECK_MEMORY, pc, 0)) {
        nl_sim_finding f = access_finding(NL_CHECK_MEMORY, pc, address, 1, 0);
        char name[200];
        nl_sim_attribution_name(w, address, &f.element, name, sizeof name);
        snprintf(f.text, sizeof f.text,
                 "__builtin_assume_aligned: the address 0x%llx (%s) is no multiple of %u",
                 (unsigned long long)address, name, align);
        nl_sim_launch_check_report(w, &f);
    }
    nl_sim_thread_exit(w->current);
}

static void report_unwritten_read(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                  const void *pc) {
    uint64_t variable = nl_sim_attribution_variable_id(w, address);
    if (!nl_sim_launch_check_is_on(w, NL_CHECK_UNWRITTEN) ||
        is_reported(w, NL_CHECK_UNWRITTEN, pc, variable))
        return;
    nl_sim_finding f = access_finding(NL_CHECK_UNWRITTEN, pc, address, size, kind);
    char name[200];
    f.variable = variable;
    nl_sim_attribution_name(w, address, &f.element, name, sizeof name);
    snprintf(f.text, sizeof f.text, "%s %s, which nothing has written", f.access, name);
    nl_sim_launch_check_report(w, &f);
}

/* Returns whether the shadow memory marks all bytes as allocated and written. Handles only aligned
 * accesses of 4 or 8 bytes; returns 0 for other accesses. */
static int is_written_word(uintptr_t address, size_t size) {
    const unsigned char *shadow = nl_sim_shadow.shadow + (address - nl_sim_shadow.low);
    uint64_t word = 0, wanted = UINT64_C(0x0303030303030303);
    if (size == 4) {
        memcpy(&word, shadow, 4);
        return word == (uint32_t)wanted && address % 4 == 0;
    }
    if (size == 8) {
        memcpy(&word, shadow, 8);
        return word == wanted && address % 8 == 0;
    }
    return 0;
}

/* Checks an access to simulated memory. Returns 1 if the race check must also check the access, 0
 * if the access was already reported. */
static int check_simulated_access(nl_sim_worker *w, uintptr_t address, size_t size, unsigned kind,
                                  const void *pc) {
    if (is_written_word(address, size))
        return 1;
    if (nl_sim_shadow_valid_length(address, size) < size)
        report_forbidden_access(w, address, size, kind, pc);
    if (!(kind & NL_SIM_ACCESS_RANGE) && address % size)
        report_misaligned(w, address, size, kind, pc);
    int writes = NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC | NL_SIM_ACCESS_BLIND;
    int reads = !(kind & NL_SIM_ACCESS_WRITE) ||
                (kind & writes) == (NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_ATOMIC);
    if (nl_sim_asynccopy_forbids_access(w, address, size, kind, pc))
        return 0;
    if (reads && !nl_sim_shadow_any_written(address, size))
        report_unwritten_read(w, address, size, kind, pc);
    if (kind & NL_SIM_ACCESS_WRITE)
        nl_sim_shadow_set(address, size, NL_SIM_THERE | NL_SIM_WRITTEN);
    return 1;
}

/* Ends the thread if its stack is nearly full: the stack must not overflow later in the checker,
 * which holds locks. */
static void end_thread_if_stack_is_full(nl_sim_worker *w, const void *pc) {
    enum { ROOM = 8192 };
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[w->current].stack];
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)stack->low;
    if (here - low >= ROOM)
        return;
    w->trap = (nl_sim_trap){
        .signal = SIGSEGV, .address = low - 1, .instruction = (uintptr_t)pc - 1, .stack = here};
    nl_sim_worker_leave_block(w, NL_SIM_TRAP);
}

int nl_sim_check_access(void *at, unsigned long long size, unsigned kind, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    uintptr_t address = (uintptr_t)at;
    int is_outside = 0;
    end_thread_if_stack_is_full(w, pc);
    if (w->job->check->every && nl_sim_racereport_should_preempt(w, address, kind))
        return 1;
    if (address - nl_sim_shadow.low < nl_sim_shadow.span)
        is_outside = !check_simulated_access(w, address, size, kind, pc);
    else if (!nl_sim_attribution_is_allowed(w, address, size))
        report_forbidden_access(w, address, size, kind, pc);
    if (w->job->check->every && !is_outside && !(kind & NL_SIM_ACCESS_UNTOLD))
        nl_sim_racereport_check_access(w, address, size, kind, pc);
    return 0;
}

/* Checks a copy by a function of the C library, which is not instrumented, and then makes the
 * copy. */
void nl_sim_check_copy(void *to, const void *from, unsigned long long size, const void *pc) {
    if (!size)
        return;
    nl_sim_worker *w = nl_sim_worker_current;
    uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
    end_thread_if_stack_is_full(w, pc);
    int from_ours = source - nl_sim_shadow.low < nl_sim_shadow.span;
    int to_ours = target - nl_sim_shadow.low < nl_sim_shadow.span;
    if (from_ours ? nl_sim_shadow_valid_length(source, size) < size
                  : !nl_sim_attribution_is_allowed(w, source, size))
        report_forbidden_access(w, source, size, NL_SIM_ACCESS_RANGE, pc);
    if (to_ours ? nl_sim_shadow_valid_length(target, size) < size
                : !nl_sim_attribution_is_allowed(w, target, size))
        report_forbidden_access(w, target, size, NL_SIM_ACCESS_RANGE | NL_SIM_ACCESS_WRITE, pc);
    if (w->job->check->every) {
        unsigned reads = NL_SIM_ACCESS_RANGE, writes = NL_SIM_ACCESS_RANGE | NL_SIM_ACCESS_WRITE;
        if (!from_ours || !nl_sim_asynccopy_forbids_access(w, source, size, reads, pc))
            nl_sim_racereport_check_access(w, source, size, reads, pc);
        if (!to_ours || !nl_sim_asynccopy_forbids_access(w, target, size, writes, pc))
            nl_sim_racereport_check_access(w, target, size, writes, pc);
    }
    if (to_ours)
        nl_sim_shadow_copy(target, source, size);
    else if (from_ours && !nl_sim_shadow_any_written(source, size))
        report_unwritten_read(w, source, size, NL_SIM_ACCESS_RANGE, pc);
    memmove(to, from, size);
}

void nl_sim_check_fill(void *to, int value, unsigned long long size) {
    memset(to, value, size);
}

__attribute__((noreturn)) void nl_sim_check_index(const struct nl_sim_index *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    uint64_t variable = nl_sim_attribution_variable_id(w, (uintptr_t)what->array);
    if (!is_reported(w, NL_CHECK_MEMORY, pc, variable)) {
        nl_sim_finding f = {.kind = NL_CHECK_MEMORY, .pc = pc, .variable = variable};
        nl_sim_attribution_describe_index(w, what, &f);
        nl_sim_launch_check_report(w, &f);
    }
    nl_sim_thread_exit(w->current);
}

/* Formats "uses t[5], but t has 4 elements", or states the axis if the array has several
 * dimensions. `type` is for example "float[3][4]", without quotes. The type alone does not
 * determine the axis: for `float t[3][4]`, the row t[1] has the type float[4], as a 1-D array has.
 * If the elements are numbers, the number of indices after the name determines the axis. */
static void describe_subscript(const char *type, long long index, unsigned long long extent,
                               unsigned ndim, const nl_sim_name *name, nl_sim_finding *f) {
    size_t length = strcspn(type, "'"), element = strcspn(type, "[");
    int numbers = strspn(type, "abcdefghijklmnopqrstuvwxyz_0123456789 ") >= element;
    f->element.indices = 1;
    f->element.index[0] = index;
    if (name && (name->indices == 1 || (numbers && name->indices >= ndim)))
        nl_fault_set_name(&f->element, name->text);
    if (name && name->indices == 1)
        snprintf(f->text, sizeof f->text, "uses %s[%lld], but %s has %llu elements", name->text,
                 index, name->text, extent);
    else if (name && numbers && name->indices >= ndim)
        snprintf(f->text, sizeof f->text,
                 "uses index %lld of %s along axis %u, but %s has %llu elements there", index,
                 name->text, name->indices - ndim, name->text, extent);
    else
        snprintf(f->text, sizeof f->text, "uses index %lld of an array of %llu elements (%.*s%s%s)",
                 index, extent, (int)length, type, name ? ", in " : "", name ? name->text : "");
}

/* Skips arrays in shared memory of the arena, because accesses to the arena are checked by
 * address. */
void nl_sim_check_subscript(const char *type, long long index, nl_sim_site site, unsigned column,
                            const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    unsigned long long extents[4];
    unsigned ndim = 0;
    for (const char *at = strchr(type, '['); at && ndim < 4; at = strchr(at + 1, '['))
        extents[ndim++] = strtoull(at + 1, NULL, 10);
    if (!ndim || !nl_sim_launch_check_is_on(w, NL_CHECK_MEMORY) ||
        nl_sim_arena_has_subarray(w, ndim, extents))
        return;
    if (!is_reported(w, NL_CHECK_MEMORY, pc, 0)) {
        nl_sim_finding f = {.kind = NL_CHECK_MEMORY, .pc = pc};
        nl_sim_name name;
        int is_named = nl_sim_names_find(w->job->check->image, site, column, &name);
        describe_subscript(*type == '\'' ? type + 1 : type, index, extents[0], ndim,
                           is_named ? &name : NULL, &f);
        nl_sim_launch_check_report(w, &f);
    }
    nl_sim_thread_exit(w->current);
}

void nl_sim_check_report_unset(const struct nl_sim_local *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    if (!nl_sim_launch_check_is_on(w, NL_CHECK_UNWRITTEN) ||
        is_reported(w, NL_CHECK_UNWRITTEN, pc, 0))
        return;
    nl_sim_finding f = {.kind = NL_CHECK_UNWRITTEN, .pc = pc, .access = verb_of_access(0)};
    char element[80] = "";
    nl_fault_set_name(&f.element, what->name);
    for (int i = 0, at = 0; i < what->count; i++) {
        at += snprintf(element + at, sizeof element - (size_t)at, "[%lld]", what->indices[i]);
        f.element.index[f.element.indices++] = what->indices[i];
    }
    snprintf(f.text, sizeof f.text, "reads %s%s%s, which nothing has written",
             what->count < 0 ? "a field of " : "", what->name, element);
    nl_sim_launch_check_report(w, &f);
}

/* Checks only global and shared memory: on a GPU, the compiler decides how the stack is aligned. */
void nl_sim_check_misaligned(void *at, unsigned align, int kind, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    uintptr_t address = (uintptr_t)at;
    if (address - nl_sim_shadow.low >= nl_sim_shadow.span || address % align == 0 ||
        !nl_sim_shadow_valid_length(address, 1))
        return;
    if (kind == NL_SIM_ASSUMED_ALIGNMENT)
        report_assumed_alignment(w, address, align, pc);
    else
        report_misaligned(w, address, align, kind == 1 ? NL_SIM_ACCESS_WRITE : 0, pc);
}
