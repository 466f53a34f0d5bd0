/* base/interrupt: what py/interrupt has given. */
#include "base/interrupt.h"

#include "base/lock.h"

static const nl_interrupt *known;

void nl_interrupt_open(const nl_interrupt *how) {
    nl_atomic_store_entry(&known, how);
}

int nl_interrupt_heeded(int own) {
    const nl_interrupt *how = nl_atomic_load_entry(&known);
    return nl_mutex_held == own && how != NULL && how->heeds();
}

int nl_interrupt_asked(void) {
    return nl_atomic_load_entry(&known)->asked();
}

void nl_interrupt_tell(const char *text) {
    nl_atomic_load_entry(&known)->told(text);
}
