/* sim/check/named: a list of arrays for each thread. The list is cleared when a thread begins,
 * because the previous thread may have ended without removing its arrays. */
#include "sim/check/named.h"

void nl_sim_named_register(nl_sim_named *array) {
    nl_sim_thread *t = &nl_sim_worker_current->thread[nl_sim_worker_current->current];
    array->next = t->named;
    t->named = array;
}

void nl_sim_named_unregister(nl_sim_named *array) {
    nl_sim_thread *t = &nl_sim_worker_current->thread[nl_sim_worker_current->current];
    for (const nl_sim_named **p = &t->named; *p; p = (const nl_sim_named **)&(*p)->next) {
        if (*p == array) {
            *p = array->next;
            return;
        }
    }
}

/* Returns the distance in bytes of the address from the array's elements, or 0 if the address is in
 * their address range. */
static uintptr_t distance_to_elements(const nl_sim_named *a, uintptr_t address) {
    uintptr_t low = (uintptr_t)a->first, high = low + a->item;
    for (unsigned k = 0; k < a->ndim; k++) {
        long long reach = (a->shape[k] - 1) * a->strides[k];
        if (reach < 0)
            low += (uintptr_t)reach;
        else
            high += (uintptr_t)reach;
    }
    return address < low ? low - address : address >= high ? address - high + 1 : 0;
}

const nl_sim_named *nl_sim_named_find_nearest(const nl_sim_worker *w, uintptr_t address,
                                              uintptr_t low, uintptr_t high) {
    const nl_sim_named *best = NULL;
    uintptr_t least = UINTPTR_MAX;
    for (const nl_sim_named *a = w->thread[w->current].named; a; a = a->next) {
        uintptr_t far = distance_to_elements(a, address);
        if ((uintptr_t)a->first - low >= high - low)
            continue;
        /* Several arrays may share memory: the array that begins at the address is preferred. */
        if (far < least || (far == least && (uintptr_t)a->first == address)) {
            best = a;
            least = far;
        }
    }
    return best;
}
