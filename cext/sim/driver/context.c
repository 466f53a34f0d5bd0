/* sim/driver/context: stores contexts in a static array, so that they never move. */
#include "sim/driver/context.h"

#include "base/lock.h"
#include "sim/engine/limits.h"

static nl_sim_context contexts[NL_SIM_MAX_DEVICES];
static int device_count;
static uint32_t forked;
static _Thread_local nl_sim_context *current;

int nl_sim_context_count(void) {
    return device_count;
}
void nl_sim_context_set_count(int count) {
    device_count = count;
}
nl_sim_context *nl_sim_context_at(int device) {
    return &contexts[device];
}

int nl_sim_context_is_handle(const void *handle) {
    const nl_sim_context *context = handle;
    return context >= contexts && context < contexts + device_count &&
           ((const char *)handle - (const char *)contexts) % (ptrdiff_t)sizeof *contexts == 0;
}

nl_sim_context *nl_sim_context_current(void) {
    return current;
}
void nl_sim_context_set_current(nl_sim_context *context) {
    current = context;
}

int nl_sim_context_is_forked(void) {
    return (int)nl_atomic_load32_relaxed(&forked);
}
void nl_sim_context_reset_in_child(void) {
    nl_atomic_store32(&forked, 1);
}
