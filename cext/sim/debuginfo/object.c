/* sim/debuginfo/object: reads properties of an image that only the dynamic loader has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/debuginfo/object.h"

#include <dlfcn.h>

void nl_sim_object_find_locals(const nl_sim_object *object, uintptr_t *low, uintptr_t *high) {
    void *local = NULL;
#ifdef __GLIBC__
    if (dlinfo(object->handle, RTLD_DI_TLS_DATA, &local) != 0)
        local = NULL;
#endif
    *low = (uintptr_t)local;
    *high = local ? *low + object->locals_size : 0;
}
