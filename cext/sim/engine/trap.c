/* sim/engine/trap: finds the cause of a signal from its address: in the guard below a stack, in the
 * guard after shared memory, or near an allocation. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/trap.h"

#include "sim/debuginfo/lines.h"
#include "sim/engine/fault.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/observer.h"
#include "sim/engine/report.h"
#include "sim/engine/signal.h"

#ifndef SI_KERNEL
#define SI_KERNEL 0x80
#endif

/* Returns 1 and describes the access if the address is in the guard after the block's dynamic
 * shared memory, else 0. */
static int describe_shared_overflow(const nl_sim_worker *w, uintptr_t address, nl_text *text) {
    uintptr_t end = (uintptr_t)w->shared_end;
    if (address < end || address >= end + 65536)
        return 0;
    nl_text_append(text, ", %zu bytes after the end of %u bytes of dynamic shared memory",
                   (size_t)(address - end), w->job->launch.shared_bytes);
    return 1;
}

static CUresult describe_trap(const nl_sim_worker *w, nl_fault *fault, nl_text *text) {
    const nl_sim_trap *trap = &w->trap;
    switch (trap->signal) {
    case SIGFPE:
        nl_text_append(text, "arithmetic exception");
        return CUDA_ERROR_LAUNCH_FAILED;
    case SIGILL:
    case SIGTRAP:
        nl_text_append(
            text, "illegal instruction (a trap, or code that the compiler considers unreachable)");
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
        break;
    }
    fault->kind = NL_CHECK_MEMORY;
    if (trap->code == SI_KERNEL) {
        nl_text_append(
            text, "access to a misaligned address, or to an address outside of the address space");
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    }
    if (nl_sim_stacks_overflown(&w->stacks, trap->address)) {
        fault->kind = NL_CHECK_STACK;
        nl_text_append(text,
                       "stack overflow: the thread uses more than %zu bytes of stack; "
                       "end the recursion earlier, or store large local arrays in device memory "
                       "(a GPU has %d bytes of local memory for each thread)",
                       w->stacks.size, NL_SIM_LOCAL_PER_THREAD);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    fault->address = trap->address;
    nl_text_append(text, "illegal access to address 0x%llx", (unsigned long long)trap->address);
    if (!describe_shared_overflow(w, trap->address, text)) {
        char where[NL_SIM_MEMORY_TEXT] = "";
        nl_sim_memory_describe(trap->address, where, sizeof where);
        nl_text_append(text, "%s", where);
    }
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* Reads a word of another stack; compiled without the address sanitizer, because the word may be
 * poisoned. */
__attribute__((noinline, no_sanitize_address)) static uintptr_t peek(uintptr_t at) {
    return *(const uintptr_t *)at;
}

/* Finds the user's source line of a trap, if the image has a line table (checks, lineinfo=True). If
 * the trap was in a function of a library, uses the first return address in the user's code on the
 * stack, which is that of the call of the function. */
static void find_line(const nl_sim_worker *w, int thread, nl_sim_site *site) {
    enum { MAX_WORDS = 256 };
    const nl_sim_object *image = w->job->image;
    if (!image || nl_sim_lines_find(image, (const char *)w->trap.instruction + 1, site) ||
        thread < 0)
        return;
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[thread].stack];
    uintptr_t low = (uintptr_t)stack->low, at = w->trap.stack, end = low + stack->size;
    at = (at < low ? low : at) & ~(uintptr_t)(sizeof at - 1);
    for (unsigned i = 0; i < MAX_WORDS && at < end; i++, at += sizeof at) {
        uintptr_t word = peek(at);
        if (word - image->low < image->high - image->low &&
            nl_sim_lines_find(image, (const void *)word, site))
            return;
    }
}

/* Appends the advice to enable checks, if checks would report more details. */
static void append_advice(int has_line, CUresult status, nl_text *text) {
    int has_address =
        status == CUDA_ERROR_ILLEGAL_ADDRESS || status == CUDA_ERROR_MISALIGNED_ADDRESS;
    if (has_line && !has_address)
        return;
    nl_text_append(text, "; run it under `with cuda.checks():` to see %s%s%s",
                   has_line ? "" : "the line", has_line || !has_address ? "" : " and ",
                   has_address ? "the array" : "");
}

void nl_sim_trap_record(nl_sim_worker *w, int thread) {
    nl_fault fault;
    nl_sim_site site = {.file = NULL};
    if (w->trap.signal == NL_SIM_WATCH_SIGNAL) {
        nl_sim_report_endless_loop(w);
        return;
    }
    find_line(w, thread, &site);
    nl_sim_fault_begin(&fault, w, 0, NL_FAULT_HEAD_THREAD);
    nl_sim_fault_locate(&fault.at, w, (unsigned)thread, site);
    nl_text text = nl_sim_fault_text(&fault);
    CUresult status = describe_trap(w, &fault, &text);
    if (!w->observer || !w->observer->sees_accesses(w))
        append_advice(site.file != NULL, status, &text);
    nl_sim_job_record_fault(w->job, status, &fault);
}
