/* sim/debuginfo/object: describes a loaded image, for the readers of debug information. */
#ifndef NL_SIM_DEBUGINFO_OBJECT_H
#define NL_SIM_DEBUGINFO_OBJECT_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_object {
    const void *bytes; /* of the shared library's file */
    size_t size;
    uintptr_t low, high; /* address range */
    void *handle;        /* from dlopen */
    size_t locals_size;  /* size in bytes of each thread's copy of the thread-local variables */
    const char *names;   /* table of names at source positions (names.h), or NULL */
} nl_sim_object;

/* Sets [*low, *high) to the address range of the calling thread's copy of the image's thread-local
 * variables, or to 0, 0 if the thread has no copy yet. */
void nl_sim_object_find_locals(const nl_sim_object *object, uintptr_t *low, uintptr_t *high);

#endif
