/* sim/engine/fault: stores the state of a thread in fields of the fault; the message is formatted
 * later from these fields. */
#include "sim/engine/fault.h"

#include <stdio.h>
#include <string.h>

static nl_sim_dim thread_index(const nl_sim_worker *w, unsigned thread) {
    const nl_sim_dim *block = &w->job->launch.block;
    return (nl_sim_dim){thread % block->x, thread / block->x % block->y,
                        thread / block->x / block->y};
}

/* Returns the name without its prefix for a kernel that was written as a function body: its
 * generated name is nl_<name> in a namespace. */
const char *nl_sim_fault_kernel_name(const nl_sim_kernel *kernel) {
    const char *name = kernel->name, *end = name + strcspn(name, "<("), *last = end;
    while (last > name && last[-1] != ':')
        last--;
    return end - last > 3 && strncmp(last, "nl_", 3) == 0 ? last + 3 : name;
}

static void copy_dim(unsigned to[3], nl_sim_dim from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

void nl_sim_fault_begin(nl_fault *f, const nl_sim_worker *w, uint32_t kind, nl_fault_head head) {
    nl_fault_init(f, kind, head, nl_sim_fault_kernel_name(w->kernel));
    f->at.has_block = 1;
    copy_dim(f->at.block, w->index);
}

void nl_sim_fault_locate(nl_fault_side *side, const nl_sim_worker *w, unsigned thread,
                         nl_sim_site site) {
    side->has_thread = thread != (unsigned)-1;
    if (side->has_thread)
        copy_dim(side->thread, thread_index(w, thread));
    nl_fault_set_location(side, site.file, site.line);
}

nl_text nl_sim_fault_text(nl_fault *f) {
    return nl_text_over_buffer(f->what, sizeof f->what);
}

/* Prints the line that CUDA prints for a failed assert. */
static void print_assert(const nl_sim_worker *w, const char *message, unsigned thread,
                         nl_sim_site site) {
    nl_sim_dim t = thread_index(w, thread);
    fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u], thread: [%u,%u,%u] %s\n",
            site.file ? site.file : "?", site.line, nl_sim_fault_kernel_name(w->kernel), w->index.x,
            w->index.y, w->index.z, t.x, t.y, t.z, message);
}

_Noreturn void nl_sim_fault_raise(nl_sim_worker *w, CUresult status, uint32_t kind,
                                  const char *message, unsigned thread, nl_sim_site site) {
    if (w->replaying)
        nl_sim_worker_leave_block(w, NL_SIM_REPLAYED);
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, kind, NL_FAULT_HEAD_THREAD);
    nl_sim_fault_locate(&fault.at, w, thread, site);
    nl_fault_set_text(&fault, "%s", message);
    if (status == CUDA_ERROR_ASSERT)
        print_assert(w, message, thread, site);
    nl_sim_job_record_fault(w->job, status, &fault);
    nl_sim_worker_leave_block(w, NL_SIM_FAULT);
}

void nl_sim_fault_fail_job(nl_sim_job *job, CUresult status, const char *text) {
    nl_fault fault;
    nl_fault_init(&fault, 0, NL_FAULT_HEAD_NONE, nl_sim_fault_kernel_name(job->kernel));
    nl_fault_set_text(&fault, "%s", text);
    nl_sim_job_record_fault(job, status, &fault);
}
