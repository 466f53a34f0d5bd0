/* sim/debuginfo/object: a loaded image, as far as reading it needs. */
#ifndef NL_SIM_DEBUGINFO_OBJECT_H
#define NL_SIM_DEBUGINFO_OBJECT_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_object {
    const void *bytes; /* of the shared object */
    size_t size;
    uintptr_t low, high; /* where it lies */
    void *handle;        /* from dlopen */
    size_t locals_size;  /* of a thread's copies of its thread-local variables */
    const char *names;   /* at places in its source (names.h); NULL: none */
} nl_sim_object;

/* The calling thread's copies of its thread-local variables; 0, 0 if that is not known. */
void nl_sim_object_locals(const nl_sim_object *object, uintptr_t *low, uintptr_t *high);

#endif
