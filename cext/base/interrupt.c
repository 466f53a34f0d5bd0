/* base/interrupt: calls the interrupt functions that py/interrupt has registered. */
#include "base/interrupt.h"

#include "base/lock.h"

static const nl_interrupt *installed;

void nl_interrupt_open(const nl_interrupt *how) {
    nl_atomic_store_entry(&installed, how);
}

int nl_interrupt_is_possible(int own) {
    const nl_interrupt *how = nl_atomic_load_entry(&installed);
    return nl_mutex_held == own && how != NULL && how->is_possible();
}

int nl_interrupt_is_requested(void) {
    return nl_atomic_load_entry(&installed)->is_requested();
}

int nl_interrupt_is_pending(void) {
    const nl_interrupt *how = nl_atomic_load_entry(&installed);
    return how != NULL && how->is_pending();
}

void nl_interrupt_report(const char *text) {
    nl_atomic_load_entry(&installed)->report(text);
}
