/* sim/driver/inflight: implemented by a counter of calls for each device, and a flag that each call
 * reads after incrementing the counter. */
#include "sim/driver/inflight.h"

#include <string.h>
#include "base/lock.h"
#include "sim/engine/limits.h"

static nl_mutex alone = NL_MUTEX_INIT; /* held while a device is closed */
static nl_mutex lock = NL_MUTEX_INIT;
static nl_cond changed = NL_COND_INIT;
static struct { uint64_t calls, closed; } devices[NL_SIM_MAX_DEVICES];

void nl_sim_inflight_end_call(int device) {
    uint64_t before = nl_atomic_sub(&devices[device].calls, 1);
    nl_atomic_fence();
    if (before != 1 || !nl_atomic_load(&devices[device].closed))
        return;
    nl_mutex_lock(&lock);
    nl_cond_broadcast(&changed);
    nl_mutex_unlock(&lock);
}

int nl_sim_inflight_begin_call(int device) {
    nl_atomic_add(&devices[device].calls, 1);
    nl_atomic_fence();
    if (__builtin_expect(!nl_atomic_load(&devices[device].closed), 1))
        return 1;
    nl_sim_inflight_end_call(device);
    return 0;
}

void nl_sim_inflight_close(int device) {
    nl_mutex_lock(&alone);
    nl_mutex_lock(&lock);
    nl_atomic_store(&devices[device].closed, 1);
    nl_atomic_fence();
    while (nl_atomic_load(&devices[device].calls) != 0)
        nl_cond_wait(&changed, &lock);
    nl_mutex_unlock(&lock);
}

void nl_sim_inflight_open(int device) {
    nl_atomic_store(&devices[device].closed, 0);
    nl_mutex_unlock(&alone);
}

void nl_sim_inflight_reset_in_child(void) {
    nl_mutex_init(&alone);
    nl_mutex_init(&lock);
    nl_cond_init(&changed);
    memset(devices, 0, sizeof devices);
}
