/* sim/engine/caller: searches the stack for return addresses, and prefers one whose inlined calls
 * lead from the user's source to the given line of the header. If no return address has such
 * inlined calls, uses the first return address in the user's source, which is that of the call of
 * the header's function. */
#include "sim/engine/caller.h"

#include <string.h>
#include "sim/debuginfo/lines.h"
#include "sim/engine/job.h"

enum { MAX_WORDS = 512, OWN_WORDS = 256 };

__attribute__((noinline, no_sanitize_address)) static uintptr_t peek(uintptr_t at) {
    return *(const uintptr_t *)at;
}

static int find_call_on_stack(const nl_sim_worker *w, unsigned thread, nl_sim_site site,
                              nl_sim_site *call) {
    const nl_sim_object *image = w->job->image;
    if (!image)
        return 0;
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[thread].stack];
    uintptr_t low = (uintptr_t)stack->low, at = (uintptr_t)__builtin_frame_address(0);
    if (w->fibers && thread != w->current)
        at = (uintptr_t)w->thread[thread].fiber.sp;
    else if (w->trap.signal)
        at = w->trap.stack;
    if (!at)
        return 0;
    /* If the current stack does not belong to a fiber, only the end at the stack pointer is
     * searched, because a worker's OS stack is large. */
    uintptr_t end = at - low < stack->size ? low + stack->size : at + OWN_WORDS * sizeof at;
    int found = 0;
    at &= ~(uintptr_t)(sizeof at - 1);
    for (unsigned i = 0; i < MAX_WORDS && at + sizeof at <= end; i++, at += sizeof at) {
        uintptr_t word = peek(at);
        nl_sim_site user, header;
        if (word - image->low >= image->high - image->low ||
            !nl_sim_lines_find_call(image, (const void *)word, &user, &header) ||
            nl_sim_lines_is_toolkit_file(user.file))
            continue;
        int is_wanted = !site.file || (header.file && header.line == site.line &&
                                       strcmp(header.file, site.file) == 0);
        if (is_wanted || !found)
            *call = user;
        if (is_wanted)
            return 1;
        found = 1;
    }
    return found;
}

int nl_sim_caller_find(const nl_sim_worker *w, unsigned thread, nl_sim_site site,
                       nl_sim_site *call) {
    return site.file && nl_sim_lines_is_toolkit_file(site.file) &&
           find_call_on_stack(w, thread, site, call);
}

int nl_sim_caller_line(const nl_sim_worker *w, unsigned thread, nl_sim_site *site) {
    return find_call_on_stack(w, thread, (nl_sim_site){.file = NULL}, site);
}
