/* sim/driver/gate: a count of the calls under way for each device, and a flag that whoever comes
 * looks at after counting. */
#include "sim/driver/gate.h"

#include <string.h>
#include "base/lock.h"
#include "sim/engine/limits.h"

static nl_mutex alone = NL_MUTEX_INIT; /* held while a gate is closed */
static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond changed = NL_COND_INIT;
static struct { uint64_t calls, closed; } gates[NL_SIM_MAX_DEVICES];

void nl_sim_gate_leave(int device) {
    uint64_t before = nl_atomic_sub(&gates[device].calls, 1);
    nl_atomic_fence();
    if (before != 1 || !nl_atomic_load(&gates[device].closed))
        return;
    nl_mutex_lock(&lock);
    nl_cond_broadcast(&changed);
    nl_mutex_unlock(&lock);
}

int nl_sim_gate_enter(int device) {
    nl_atomic_add(&gates[device].calls, 1);
    nl_atomic_fence();
    if (__builtin_expect(!nl_atomic_load(&gates[device].closed), 1))
        return 1;
    nl_sim_gate_leave(device);
    return 0;
}

void nl_sim_gate_close(int device) {
    nl_mutex_lock(&alone);
    nl_mutex_lock(&lock);
    nl_atomic_store(&gates[device].closed, 1);
    nl_atomic_fence();
    while (nl_atomic_load(&gates[device].calls) != 0)
        nl_cond_wait(&changed, &lock);
    nl_mutex_unlock(&lock);
}

void nl_sim_gate_open(int device) {
    nl_atomic_store(&gates[device].closed, 0);
    nl_mutex_unlock(&alone);
}

void nl_sim_gate_forget(void) {
    nl_mutex_init(&alone);
    nl_mutex_init(&lock);
    nl_cond_init(&changed);
    memset(gates, 0, sizeof gates);
}
