/* driver/cudalib: dlopen counts its users itself, and a library of CUDA's cannot be unloaded while
 * its work may be under way: so none is closed. */
#include "driver/cudalib.h"

#include <dlfcn.h>
#include <string.h>

int nl_cudalib_find(const char *path, const char *name, nl_cudalib_function *out, nl_error *err) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        return nl_error_set(err, NL_ERR_SUPPORT, "a CUDA library cannot be loaded (%s)",
                            reason != NULL ? reason : path);
    }
    void *symbol = dlsym(library, name);
    if (symbol == NULL)
        return nl_error_set(err, NL_ERR_SUPPORT, "%s has no %s", path, name);
    memcpy(out, &symbol, sizeof symbol);
    return 0;
}

int nl_cudalib_call(nl_cudalib_function function, const uintptr_t w[NL_CUDALIB_WORDS]) {
    return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                    w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23]);
}
